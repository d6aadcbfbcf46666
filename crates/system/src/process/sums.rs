//! Sums over tasks, which do not decrease when a task ends.

/// Sums of running totals. They include the last values of ended tasks.
#[derive(Debug)]
pub(super) struct Sums<const N: usize>([u64; N]);

/// The last values of one task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Last<const N: usize>([u64; N]);

impl<const N: usize> Default for Sums<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> Default for Last<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> Sums<N> {
    /// Adds the increase of a task's running total to the sum, and returns the running total. If the running total has
    /// decreased, returns its last value instead.
    #[inline]
    pub(super) fn add(&mut self, last: &mut Last<N>, index: usize, value: u64) -> u64 {
        let before = last.0[index];
        if value <= before {
            return before;
        }
        last.0[index] = value;
        self.0[index] = self.0[index].wrapping_add(value - before);
        value
    }

    pub(super) fn get(&self, index: usize) -> u64 {
        self.0[index]
    }
}

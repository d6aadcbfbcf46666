//! Sums over tasks that do not go back when a task ends.

/// Sums of values that count up. What a task had when it was last seen stays in.
#[derive(Debug)]
pub(super) struct Sums<const N: usize>([u64; N]);

/// The values of one task as they were last seen.
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
    /// Adds what one value of a task rose by, and gives the value back; one that went back stays where it was.
    #[inline]
    pub(super) fn take(&mut self, last: &mut Last<N>, place: usize, value: u64) -> u64 {
        let before = last.0[place];
        if value <= before {
            return before;
        }
        last.0[place] = value;
        self.0[place] = self.0[place].wrapping_add(value - before);
        value
    }

    pub(super) fn of(&self, place: usize) -> u64 {
        self.0[place]
    }
}

//! Busy time of the machine that belongs to no process.

/// Processor time that is neither idle, nor spent in interrupts, nor attributed to a process: running totals in ticks, user
/// time, then system time.
///
/// The kernel measures the time of processes by the clock, and that of processors by counting ticks. So the time of the
/// processes can temporarily exceed that of the processors. This excess is subtracted from later remainders.
#[derive(Debug, Default)]
pub(super) struct Unattributed {
    totals: [u64; 2],
    /// The time of the machine minus that of the processes at the last sample.
    remainder: [i64; 2],
    /// Time to be added to the totals. A negative sum is the excess of the processes.
    pending: [i64; 2],
    has_sample: bool,
}

impl Unattributed {
    /// Adds a sample: the time of the machine and that of all processes. Of the processes' excess, up to `max_excess` is
    /// subtracted from later remainders; the rest is dropped.
    pub(super) fn update(&mut self, machine: [u64; 2], processes: [u64; 2], max_excess: u64) {
        for index in 0..2 {
            let remainder = machine[index].wrapping_sub(processes[index]) as i64;
            let added = remainder.wrapping_sub(self.remainder[index]);
            self.pending[index] = self.pending[index].saturating_add(added);
            self.remainder[index] = remainder;
        }
        if !self.has_sample {
            // The excess since boot can be arbitrarily large, and must not reduce later intervals.
            self.has_sample = true;
            self.totals = self.pending.map(|pending| pending.max(0) as u64);
            self.pending = [0; 2];
            return;
        }
        let sum = self.pending[0].saturating_add(self.pending[1]);
        let max_excess = max_excess.min(i64::MAX as u64) as i64;
        if sum > 0 {
            // User or system time alone can exceed the sum, because the kernel divides the time of a process into these two in
            // another way than the time of a processor.
            let user = self.pending[0].clamp(0, sum);
            for (index, added) in [user, sum - user].into_iter().enumerate() {
                self.totals[index] = self.totals[index].saturating_add(added as u64);
                self.pending[index] -= added;
            }
        } else if sum < -max_excess {
            let lower = usize::from(self.pending[1] < self.pending[0]);
            self.pending[lower] = self.pending[lower].saturating_sub(sum + max_excess);
        }
    }

    /// User time and system time.
    pub(super) fn totals(&self) -> [u64; 2] {
        self.totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_totals_never_decrease_and_add_up_to_the_time_of_the_machine() {
        let mut unattributed = Unattributed::default();
        unattributed.update([100, 50], [70, 60], 0);
        assert_eq!(unattributed.totals(), [30, 0]);
        // 10 of user time and 5 of system time remain.
        unattributed.update([120, 60], [80, 65], 100);
        assert_eq!(unattributed.totals(), [40, 5]);
        // Processes have 8 more than the machine, which the next sample makes up for.
        unattributed.update([130, 70], [98, 75], 100);
        assert_eq!(unattributed.totals(), [40, 5]);
        unattributed.update([140, 90], [98, 75], 100);
        assert_eq!(unattributed.totals(), [42, 25]);
        // 30 of user time were counted as system time.
        unattributed.update([170, 90], [98, 105], 100);
        assert_eq!(unattributed.totals(), [42, 25]);
    }

    #[test]
    fn a_lasting_excess_of_processes_is_dropped() {
        let mut unattributed = Unattributed::default();
        unattributed.update([0, 0], [0, 0], 100);
        unattributed.update([0, 0], [5000, 5000], 100);
        unattributed.update([150, 0], [5000, 5000], 100);
        assert_eq!(unattributed.totals().iter().sum::<u64>(), 50);
    }
}

//! A provider that plays the rows of a recording.

use std::sync::Arc;

use tachograph_counters::Status;
use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, Provider, Rows};

use crate::recording::Recording;

/// Plays a set of a recording. After the last sample it begins again with the first, but totals continue to grow.
pub(crate) struct ReplayedSet {
    info: Arc<CounterSetInfo>,
    recording: Arc<Recording>,
    set: usize,
    /// The index of the next sample; each repetition of the recording continues the numbering.
    next: usize,
}

impl ReplayedSet {
    /// Machines begin at different samples.
    pub(crate) fn new(
        recording: &Arc<Recording>,
        set: usize,
        info: Arc<CounterSetInfo>,
        machine: usize,
    ) -> Self {
        Self { info, recording: Arc::clone(recording), set, next: machine * 17 }
    }
}

impl Provider for ReplayedSet {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let (set, samples) = (self.recording.recorded(self.set), self.recording.samples());
        let (rounds, sample) = (self.next / samples, self.next % samples);
        if rows.width() > 0 {
            self.next += 1;
        }
        for (row, key) in set.instances.iter().enumerate() {
            if !rows.wants_instance(key.full_name(), key.id()) {
                continue;
            }
            let mut values = rows.push(key);
            for (column, counter) in set.counters.iter().enumerate() {
                if !values.wants(counter.id) {
                    continue;
                }
                let [first, last, now] =
                    [0, samples - 1, sample].map(|sample| set.value(sample, row, column));
                if now.status != Status::VALID_DATA {
                    values.omit(counter.id);
                    continue;
                }
                // Each repetition adds to a total its growth over the recording.
                let grown = |first: i64, last: i64, now: i64| match counter.is_total {
                    true => now.wrapping_add(last.wrapping_sub(first).wrapping_mul(rounds as i64)) as u64,
                    false => now as u64,
                };
                let value = grown(first.first, last.first, now.first);
                match counter.has_base {
                    true => {
                        values.set_with_base(counter.id, value, grown(first.second, last.second, now.second))
                    }
                    false => values.set(counter.id, value),
                }
            }
        }
        Ok(())
    }
}

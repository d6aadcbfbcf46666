//! Writing a log of raw values.

use std::sync::Arc;

use tachograph_counters::sample::Sample;
use tachograph_counters::set::{CounterSet, Extent};
use tachograph_logs::{LogError, LogWriter};

use crate::{FlowError, Sink};

/// Hands samples to a log writer as they are, raw.
pub struct LogSink<W> {
    writer: W,
    /// The descriptions seen last.
    sets: Vec<Arc<CounterSet>>,
}

impl<W: LogWriter> LogSink<W> {
    /// A sink over `writer`.
    pub fn new(writer: W) -> Self {
        Self { writer, sets: Vec::new() }
    }

    /// A log keeps the time base of a counter once, for all its samples; logs of two boots may differ in it.
    fn check_clocks(&mut self, sample: &Sample) -> Result<(), LogError> {
        let same = self.sets.len() == sample.groups.len()
            && self.sets.iter().zip(&sample.groups).all(|(set, group)| Arc::ptr_eq(set, &group.set));
        if same {
            return Ok(());
        }
        // A block describes itself.
        let pairs = self.sets.iter().zip(&sample.groups).filter(|(set, _)| set.extent != Extent::Table);
        for (set, group) in pairs {
            let before = set.counters.first().map(|counter| counter.time_base);
            if let Some(counter) = group.set.counters.first()
                && let Some(before) = before
                && before != counter.time_base
            {
                return Err(LogError::unsupported(format!(
                    r"a BLG keeps one clock per counter, and that of '\\{}\{}\{}' changes from {before} to {} ticks a second (the machine was started anew): relog the logs apart, or to CSV",
                    set.machine, set.name, counter.name, counter.time_base
                )));
            }
        }
        self.sets.clear();
        self.sets.extend(sample.groups.iter().map(|group| Arc::clone(&group.set)));
        Ok(())
    }
}

impl<W: LogWriter> Sink for LogSink<W> {
    fn take(&mut self, sample: &Sample) -> Result<(), FlowError> {
        self.check_clocks(sample)?;
        Ok(self.writer.write(sample)?)
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        Ok(self.writer.finish()?)
    }
}

//! Writing a log of raw values.

use std::sync::Arc;

use tachograph_counters::sample::Sample;
use tachograph_counters::set::{CounterSet, Extent};
use tachograph_logs::archive::ArchiveWriter;
use tachograph_logs::{LogError, LogWriter};

use crate::{FlowError, Sink};

/// Writes raw samples with a log writer.
pub struct LogSink<W> {
    writer: W,
    /// The descriptions of the last sample.
    sets: Vec<Arc<CounterSet>>,
}

impl<W: LogWriter> LogSink<W> {
    /// A sink over `writer`.
    pub fn new(writer: W) -> Self {
        Self { writer, sets: Vec::new() }
    }

    /// Returns an error if the time base of a counter changes, as it can after a reboot: a log stores one time base for all
    /// samples.
    fn check_clocks(&mut self, sample: &Sample) -> Result<(), LogError> {
        if sample.has_sets(self.sets.iter()) {
            return Ok(());
        }
        // A table is written with its own description in each record.
        let pairs = self.sets.iter().zip(&sample.groups).filter(|(set, _)| set.extent != Extent::Table);
        for (set, group) in pairs {
            let mut counters = set.counters.iter().zip(&group.set.counters);
            if let Some((before, now)) = counters.find(|(before, now)| before.time_base != now.time_base) {
                return Err(LogError::unsupported(format!(
                    r"a BLG stores one clock per counter, and that of '\\{}\{}\{}' changes from {} to {} ticks per second (the machine was restarted): relog the logs separately, or to CSV",
                    set.machine, set.name, now.name, before.time_base, now.time_base
                )));
            }
        }
        self.sets.clear();
        self.sets.extend(sample.groups.iter().map(|group| Arc::clone(&group.set)));
        Ok(())
    }
}

impl<W: LogWriter> Sink for LogSink<W> {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        self.check_clocks(sample)?;
        Ok(self.writer.write(sample)?)
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        Ok(self.writer.finish()?)
    }
}

/// Writes raw samples into an archive. It does not finish the writer, because several machines are written one after another.
pub struct ArchiveSink<'a>(pub &'a mut ArchiveWriter);

impl Sink for ArchiveSink<'_> {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        Ok(self.0.write(sample)?)
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        Ok(())
    }
}

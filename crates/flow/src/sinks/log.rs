//! Writing a log of raw values.

use tachograph_counters::sample::Sample;
use tachograph_logs::LogWriter;

use crate::{FlowError, Sink};

/// Hands samples to a log writer as they are, raw.
pub struct LogSink<W> {
    writer: W,
}

impl<W: LogWriter> LogSink<W> {
    /// A sink over `writer`.
    pub fn new(writer: W) -> Self {
        Self { writer }
    }
}

impl<W: LogWriter> Sink for LogSink<W> {
    fn take(&mut self, sample: &Sample) -> Result<(), FlowError> {
        Ok(self.writer.write(sample)?)
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        Ok(self.writer.finish()?)
    }
}

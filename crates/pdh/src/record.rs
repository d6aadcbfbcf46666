//! One record of a log as bytes.

use std::io::Cursor;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_flow::sinks::TextSink;
use tachograph_flow::{FlowError, Sink, UnionScan};
use tachograph_logs::blg::raw::Log;
use tachograph_logs::blg::raw::buffer::BUFFER_HEADER_BYTES;
use tachograph_logs::blg::raw::event::{EVENT_HEADER_BYTES, SAMPLE};
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};
use tachograph_logs::{Format, LogFacts, LogWriter};

use crate::log::LogType;
use crate::source::Logs;
use crate::{DataSource, PdhStatus, Result};

/// A record of a log as its format has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "PDH_RAW_LOG_RECORD")]
pub struct RawLogRecord {
    /// The type of the log.
    pub record_type: LogType,
    /// Of a BLG the sample's envelope with all its records (docs/blg.md); of text the line without its end, in UTF-8.
    pub bytes: Vec<u8>,
}

impl DataSource {
    /// The record of this local time, or the last one before it, as bytes of the log's format.
    ///
    /// What the log holds in several buffers, or in another encoding of text, comes as one whole: the record is read, and
    /// written as a log of the same format has it. Of several logs, the format is that of the first; of several machines, a
    /// record is what a collection gives: at the moments of the first one, with what the others have for them.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::DATA_SOURCE_IS_REAL_TIME`] for a machine, [`PdhStatus::ENTRY_NOT_IN_LOG_FILE`] where no record is so
    /// early; what reading the log fails with.
    #[doc(alias = "PdhReadRawLogRecord")]
    pub fn read_raw_log_record(&self, at: FileTime) -> Result<RawLogRecord> {
        let logs = self.logs()?;
        let sample = last_until(logs, at)?.ok_or(PdhStatus::ENTRY_NOT_IN_LOG_FILE)?;
        let facts = logs.facts();
        let bytes = match facts.format {
            Format::Blg => binary(&sample, facts),
            Format::Csv | Format::Tsv | Format::Json => line(&sample, facts),
        };
        Ok(RawLogRecord {
            record_type: facts.format.into(),
            bytes: bytes.map_err(|error| logs.status_of(&error))?,
        })
    }
}

/// The last sample that is not after a local time.
fn last_until(logs: &Logs, at: FileTime) -> Result<Option<Sample>> {
    let status_of = |error: FlowError| logs.status_of(&error);
    let query = logs.query();
    // As collections and the time range have it; of one machine, without what only other records have.
    let pipeline = if logs.scan()?.is_one_stretch {
        query.samples()
    } else {
        query.table(|_| Ok(())).map(|(_, pipeline)| pipeline)
    };
    let mut source = pipeline.map_err(status_of)?.source;
    let (mut sample, mut last) = (Sample::default(), None);
    // Local times need not rise in a log that somebody else wrote.
    while source.next(&mut sample).map_err(status_of)? {
        let local = sample.at.local();
        if local <= at && last.as_ref().is_none_or(|last: &Sample| last.at.local() <= local) {
            std::mem::swap(last.get_or_insert_default(), &mut sample);
        }
    }
    Ok(last)
}

/// The payload of a sample's event, its parts joined.
fn binary(sample: &Sample, facts: &LogFacts) -> std::result::Result<Vec<u8>, FlowError> {
    let mut options = BlgWriterOptions::new(facts.zone.clone());
    options.performance_frequency = facts.performance_frequency.unwrap_or(options.performance_frequency);
    let buffer_bytes = options.buffer_bytes;
    let mut file = Vec::new();
    let mut writer = BlgWriter::new(Cursor::new(&mut file), options)?;
    writer.write(sample)?;
    writer.finish()?;
    drop(writer);
    let log = Log::decode(&file).map_err(tachograph_logs::LogError::corrupt)?;
    let mut payload = Vec::new();
    for (number, buffer) in log.buffers.iter().enumerate() {
        // The first buffer of the file is that of the header.
        let mut begin = (number + 1) * buffer_bytes + BUFFER_HEADER_BYTES;
        for event in &buffer.events {
            let size = usize::from(event.header.size.get());
            if event.header.kind == SAMPLE {
                payload.extend_from_slice(
                    file.get(begin + EVENT_HEADER_BYTES..begin + size).unwrap_or_default(),
                );
            }
            begin += tachograph_logs::blg::raw::round_up_8(size);
        }
    }
    Ok(payload)
}

/// The line of a sample.
fn line(sample: &Sample, facts: &LogFacts) -> std::result::Result<Vec<u8>, FlowError> {
    let mut scan = UnionScan::default();
    scan.take(sample)?;
    let mut text = Vec::new();
    let mut sink = TextSink::new(&mut text, facts.format, facts.zone.clone(), &scan)?.without_header();
    sink.take(sample)?;
    sink.finish()?;
    drop(sink);
    let end = text.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |last| last + 1);
    text.truncate(end);
    Ok(text)
}

//! Log records as raw bytes.

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

/// A record of a log in the log's format.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "PDH_RAW_LOG_RECORD")]
pub struct RawLogRecord {
    /// The type of the log.
    pub record_type: LogType,
    /// For BLG, the sample record, which contains the records of all counters (docs/blg.md). For text, the line in
    /// UTF-8 without its line ending.
    pub bytes: Vec<u8>,
}

impl DataSource {
    /// Returns the last record at or before a local time, in the log's format.
    ///
    /// The sample is decoded, then re-encoded in the same format. The result is thus complete even if the log splits
    /// the record across buffers, and UTF-8 even if the log has another text encoding. With several logs, the format of
    /// the first is used. With several machines, a record contains a sample of the first machine, at its time, and the
    /// corresponding samples of the others, as in [`Query::collect`](crate::Query::collect).
    ///
    /// # Errors
    ///
    /// [`PdhStatus::DATA_SOURCE_IS_REAL_TIME`] for a machine, [`PdhStatus::ENTRY_NOT_IN_LOG_FILE`] if all records are
    /// later; errors while reading the log.
    #[doc(alias = "PdhReadRawLogRecord")]
    pub fn read_raw_log_record(&self, at: FileTime) -> Result<RawLogRecord> {
        let logs = self.logs()?;
        let sample = last_at_or_before(logs, at)?.ok_or(PdhStatus::ENTRY_NOT_IN_LOG_FILE)?;
        let facts = &logs.facts;
        let bytes = match facts.format {
            Format::Blg | Format::Archive | Format::Sql => encode_blg(&sample, facts),
            Format::Csv | Format::Tsv | Format::Json => encode_line(&sample, facts),
        };
        Ok(RawLogRecord {
            record_type: facts.format.into(),
            bytes: bytes.map_err(|error| logs.status_of(&error))?,
        })
    }
}

/// The last sample at or before a local time.
fn last_at_or_before(logs: &Logs, at: FileTime) -> Result<Option<Sample>> {
    let status_of = |error: FlowError| logs.status_of(&error);
    let query = logs.query();
    // Read the logs in the same way as a query.
    let pipeline = if logs.scan()?.is_one_machine {
        query.samples()
    } else {
        query.table(|_| Ok(())).map(|(_, pipeline)| pipeline)
    };
    let mut source = pipeline.map_err(status_of)?.source;
    let (mut sample, mut last) = (Sample::default(), None);
    // Local times may go backwards in logs written by other programs, so all samples must be checked.
    while source.next(&mut sample).map_err(status_of)? {
        let local = sample.at.local();
        if local <= at && last.as_ref().is_none_or(|last: &Sample| last.at.local() <= local) {
            std::mem::swap(last.get_or_insert_default(), &mut sample);
        }
    }
    Ok(last)
}

/// Encodes a sample as BLG, and returns the concatenated payloads of its events.
fn encode_blg(sample: &Sample, facts: &LogFacts) -> std::result::Result<Vec<u8>, FlowError> {
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
    for (index, buffer) in log.buffers.iter().enumerate() {
        // The first buffer of the file is the header, which is not in `buffers`.
        let mut begin = (index + 1) * buffer_bytes + BUFFER_HEADER_BYTES;
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

/// Encodes a sample as a line of text, without the line ending.
fn encode_line(sample: &Sample, facts: &LogFacts) -> std::result::Result<Vec<u8>, FlowError> {
    let mut scan = UnionScan::default();
    scan.push(sample)?;
    let mut text = Vec::new();
    let mut sink = TextSink::new(&mut text, facts.format, facts.zone.clone(), &scan)?.without_header();
    sink.push(sample)?;
    sink.finish()?;
    drop(sink);
    let end = text.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |last| last + 1);
    text.truncate(end);
    Ok(text)
}

//! Going on with logs.

use std::io::Cursor;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_logs::blg::BlgWriter;
use tachograph_logs::{LogError, LogWriter};

use super::rewritten::{options_with, samples_of, varied_samples, write};
use super::shown::show;

pub const FREQUENCY: i64 = FileTime::PER_SECOND;

/// Appends samples to a log, flushing after each.
pub fn append_at(file: &[u8], samples: &[Sample], frequency: i64) -> Result<Vec<u8>, LogError> {
    let mut file = Cursor::new(file.to_vec());
    let mut writer = BlgWriter::append(&mut file, frequency)?;
    for sample in samples {
        writer.write(sample)?;
        writer.flush()?;
    }
    writer.finish()?;
    let bytes = writer.bytes_written();
    drop(writer);
    assert_eq!(bytes, file.get_ref().len() as u64);
    Ok(file.into_inner())
}

/// As [`append_at`], of a performance counter of 10 MHz.
pub fn append(file: &[u8], samples: &[Sample]) -> Result<Vec<u8>, LogError> {
    append_at(file, samples, FREQUENCY)
}

/// What must stay the same of samples.
pub fn shown(samples: &[Sample]) -> Vec<String> {
    samples.iter().map(show).collect()
}

/// The samples of a log written in UTC, so that their moments are what the log says.
pub fn utc_samples(count: i64) -> Vec<Sample> {
    samples_of(&write(&varied_samples(count), options_with(0x10000)))
}

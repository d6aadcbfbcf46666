//! Failed writes, for example on a full disk: the file is restored to its last complete sample.

use crate::fixture;

use std::io::{Cursor, Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};

use fixture::appended::{shown, utc_samples};
use fixture::rewritten::{options_with, samples_of, write};
use fixture::shown::{Shown, read};
use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::blg::raw::Log;
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};
use tachograph_logs::text::{Column, TextWriter};
use tachograph_logs::{Format, LogError, LogWriter, SetLength};

/// A file on which writes fail.
struct FailingFile<'a> {
    file: &'a mut Cursor<Vec<u8>>,
    failure: Failure,
}

#[derive(Clone, Copy)]
enum Failure {
    None,
    /// The maximum length of the file.
    Room(u64),
    /// A write fails after this number of bytes.
    Once(u64),
}

impl Read for FailingFile<'_> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        self.file.read(out)
    }
}

impl Write for FailingFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let room = match self.failure {
            Failure::None => u64::MAX,
            Failure::Room(room) => {
                room.max(self.file.get_ref().len() as u64).saturating_sub(self.file.position())
            }
            Failure::Once(left) => left,
        };
        let written = self.file.write(&bytes[..bytes.len().min(room as usize)])?;
        match &mut self.failure {
            Failure::Once(left) if *left == 0 => {
                self.failure = Failure::None;
                return Err(Error::other("a temporary failure"));
            }
            Failure::Once(left) => *left -= written as u64,
            Failure::Room(_) if written == 0 && !bytes.is_empty() => {
                return Err(ErrorKind::StorageFull.into());
            }
            _ => {}
        }
        Ok(written)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Seek for FailingFile<'_> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.file.seek(to)
    }
}

impl SetLength for FailingFile<'_> {
    fn set_length(&mut self, bytes: u64) -> Result<()> {
        self.file.set_length(bytes)
    }
}

/// Writes samples until a write fails, then aborts; returns the number of flushed samples, or `None` if all were
/// written.
fn recorded(mut writer: BlgWriter<FailingFile<'_>>, samples: &[Sample]) -> Option<usize> {
    let mut flushed = 0;
    let mut record = || -> std::result::Result<(), LogError> {
        for sample in samples {
            writer.write(sample)?;
            writer.flush()?;
            flushed += 1;
        }
        writer.finish()
    };
    record().is_err().then(|| {
        writer.abort().expect("truncate file");
        flushed
    })
}

/// Failures at every offset of the file, and at every write.
fn failures(file: &[u8]) -> impl Iterator<Item = Failure> {
    let steps = |end: usize| (0..end as u64).step_by(149);
    // Flushed events are written twice.
    steps(file.len()).map(Failure::Room).chain(steps(file.len() * 3).map(Failure::Once))
}

#[test]
fn a_new_log_is_restored() {
    let samples = utc_samples(24);
    let whole = write(&samples, options_with(1024));
    for failure in failures(&whole) {
        let mut file = Cursor::new(Vec::new());
        let out = FailingFile { file: &mut file, failure };
        let Ok(writer) = BlgWriter::new(out, options_with(1024)) else { continue };
        let Some(flushed) = recorded(writer, &samples) else { continue };
        if flushed == 0 {
            assert!(file.get_ref().is_empty());
            continue;
        }
        assert_eq!(read(file.get_ref()), Shown { samples: shown(&samples[..flushed]), problems: Vec::new() });
        // The log can be continued once there is space.
        let mut writer = BlgWriter::append(&mut file, FileTime::PER_SECOND).expect("a log");
        for sample in &samples[flushed..] {
            writer.write(sample).expect("written");
        }
        writer.finish().expect("written");
        drop(writer);
        assert_eq!(read(file.get_ref()), Shown { samples: shown(&samples), problems: Vec::new() });
        let log = Log::decode(file.get_ref()).expect("whole buffers");
        assert_eq!(log.header.start.buffers_written.get() as usize, file.get_ref().len() / 1024);
        assert_eq!(log.header.start.end_time.get(), samples.last().expect("samples").at.utc.0);
    }
}

#[test]
fn the_header_of_a_restored_log_has_its_end() {
    let samples = utc_samples(9);
    let mut file = Cursor::new(Vec::new());
    let out = FailingFile { file: &mut file, failure: Failure::None };
    let mut writer = BlgWriter::new(out, options_with(1024)).expect("options");
    for sample in &samples[..8] {
        writer.write(sample).expect("written");
        writer.flush().expect("written");
    }
    writer.write(&samples[8]).expect("written");
    let length = writer.abort().expect("a file");
    assert_eq!(length, file.get_ref().len() as u64);
    assert_eq!(read(file.get_ref()), Shown { samples: shown(&samples[..8]), problems: Vec::new() });
    file.get_mut().resize(length.next_multiple_of(1024) as usize, 0xFF);
    let header = Log::decode(file.get_ref()).expect("whole buffers").header;
    assert_eq!(header.start.end_time.get(), samples[7].at.utc.0);
    assert_eq!(u64::from(header.start.buffers_written.get()), length.div_ceil(1024));
}

#[test]
fn an_appended_log_is_restored() {
    let samples = utc_samples(24);
    let before = write(&samples[..7], options_with(1024));
    let all = write(&samples, options_with(1024));
    for failure in failures(&all) {
        let mut file = Cursor::new(before.clone());
        let out = FailingFile { file: &mut file, failure };
        let writer = BlgWriter::append(out, FileTime::PER_SECOND).expect("a log");
        let Some(flushed) = recorded(writer, &samples[7..]) else { continue };
        let expected = shown(&samples[..7 + flushed]);
        assert_eq!(read(file.get_ref()), Shown { samples: expected, problems: Vec::new() });
        if flushed == 0 {
            assert_eq!(*file.get_ref(), before);
        }
    }
}

#[test]
fn a_circular_log_is_restored() {
    let samples = utc_samples(90);
    let options = BlgWriterOptions { circular_bytes: Some(20 << 10), ..options_with(1024) };
    let whole = write(&samples, options.clone());
    let without_failure: Vec<_> = (0..=samples.len())
        .map(
            |count| if count == 0 { 0 } else { samples_of(&write(&samples[..count], options.clone())).len() },
        )
        .collect();
    assert!(without_failure[90] < 60, "the ring did not wrap around");
    let rooms = (0..whole.len() as u64).step_by(149).map(Failure::Room);
    for failure in rooms.chain((0..250_000).step_by(397).map(Failure::Once)) {
        let mut file = Cursor::new(Vec::new());
        let out = FailingFile { file: &mut file, failure };
        let Ok(writer) = BlgWriter::new(out, options.clone()) else { continue };
        let Some(flushed) = recorded(writer, &samples) else { continue };
        if flushed == 0 || flushed == samples.len() {
            assert_eq!(file.get_ref().is_empty(), flushed == 0);
            continue;
        }
        let Shown { samples: kept, problems } = read(file.get_ref());
        assert_eq!((problems, kept.is_empty()), (Vec::new(), false), "after {flushed}");
        assert_eq!(kept, shown(&samples[flushed - kept.len()..flushed]));
        // Only the samples that the failed write overwrote are lost.
        assert!(kept.len() + 1 >= without_failure[flushed + 1], "{} of {flushed}", kept.len());
    }
}

#[test]
fn a_text_log_is_restored() {
    let columns = || (0..3).map(|n| Column { path: format!(r"\\HERE\Set\Counter {n}") }).collect::<Vec<_>>();
    let start = 130_057_734_000_000_000;
    let row = |n: i64| (FileTime(start + n * FileTime::PER_SECOND), [Some(n as f64 / 3.0), None, Some(1.0)]);
    let write = |failure| {
        let mut file = Cursor::new(Vec::new());
        let out = FailingFile { file: &mut file, failure };
        let mut writer = TextWriter::new(out, Format::Csv, TimeZone::utc(), columns()).expect("a text");
        let mut lengths = vec![0];
        let failed = (0..9).any(|n| {
            let (at, values) = row(n);
            let at = tachograph_counters::civil::Moment::from_local(at, 0);
            let written = writer.write_row(at, values.into_iter()).and_then(|()| writer.flush());
            lengths.extend(written.is_ok().then(|| writer.bytes_written()));
            written.is_err()
        });
        let last = *lengths.last().expect("a length");
        if failed {
            assert!(writer.flush().is_err(), "no retry");
            assert_eq!(writer.abort().expect("a file"), last);
        } else {
            drop(writer);
        }
        (file.into_inner(), last)
    };
    let (whole, _) = write(Failure::None);
    let sizes = 0..whole.len() as u64;
    for failure in sizes.clone().map(Failure::Room).chain(sizes.map(Failure::Once)) {
        let (file, last) = write(failure);
        assert_eq!(file, whole[..last as usize]);
    }
}

#[test]
fn a_dropped_text_writer_does_not_retry() {
    let mut file = Cursor::new(Vec::new());
    let out = FailingFile { file: &mut file, failure: Failure::Once(20) };
    let columns = vec![Column { path: r"\\HERE\Set\Counter".to_owned() }];
    let mut writer = TextWriter::new(out, Format::Csv, TimeZone::utc(), columns).expect("a text");
    assert!(writer.finish().is_err());
    drop(writer);
    assert_eq!(file.get_ref().len(), 20);
}

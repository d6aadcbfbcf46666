//! Writing that fails, on a full disk or otherwise: the file is taken back to its last whole sample.

use crate::made;

use std::io::{Cursor, Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};

use made::appended::{shown, utc_samples};
use made::rewritten::{options_with, samples_of, write};
use made::shown::{Shown, read};
use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::blg::raw::Log;
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};
use tachograph_logs::text::{Column, TextWriter};
use tachograph_logs::{Format, LogError, LogWriter, SetLength};

/// A file that cannot be written to as one likes.
struct Troubled<'a> {
    file: &'a mut Cursor<Vec<u8>>,
    trouble: Trouble,
}

#[derive(Clone, Copy)]
enum Trouble {
    None,
    /// The file cannot become longer than this.
    Room(u64),
    /// After so many bytes one write fails within.
    Once(u64),
}

impl Read for Troubled<'_> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        self.file.read(out)
    }
}

impl Write for Troubled<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let room = match self.trouble {
            Trouble::None => u64::MAX,
            Trouble::Room(room) => {
                room.max(self.file.get_ref().len() as u64).saturating_sub(self.file.position())
            }
            Trouble::Once(left) => left,
        };
        let written = self.file.write(&bytes[..bytes.len().min(room as usize)])?;
        match &mut self.trouble {
            Trouble::Once(left) if *left == 0 => {
                self.trouble = Trouble::None;
                return Err(Error::other("a bad moment"));
            }
            Trouble::Once(left) => *left -= written as u64,
            Trouble::Room(_) if written == 0 && !bytes.is_empty() => {
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

impl Seek for Troubled<'_> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.file.seek(to)
    }
}

impl SetLength for Troubled<'_> {
    fn set_length(&mut self, bytes: u64) -> Result<()> {
        self.file.set_length(bytes)
    }
}

/// Writes samples until that fails, and gives up; gives how many were flushed, or `None` where all were.
fn recorded(mut writer: BlgWriter<Troubled<'_>>, samples: &[Sample]) -> Option<usize> {
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
        writer.give_up().expect("a file that can be cut");
        flushed
    })
}

/// Every place of the file, and every write, where it can fail.
fn troubles(of: &[u8]) -> impl Iterator<Item = Trouble> {
    let steps = |most: usize| (0..most as u64).step_by(149);
    // What is flushed is written twice.
    steps(of.len()).map(Trouble::Room).chain(steps(of.len() * 3).map(Trouble::Once))
}

#[test]
fn a_new_log() {
    let samples = utc_samples(24);
    let whole = write(&samples, options_with(1024));
    for trouble in troubles(&whole) {
        let mut file = Cursor::new(Vec::new());
        let out = Troubled { file: &mut file, trouble };
        let Ok(writer) = BlgWriter::new(out, options_with(1024)) else { continue };
        let Some(flushed) = recorded(writer, &samples) else { continue };
        if flushed == 0 {
            assert!(file.get_ref().is_empty());
            continue;
        }
        assert_eq!(read(file.get_ref()), Shown { samples: shown(&samples[..flushed]), problems: Vec::new() });
        // As soon as there is room, the log goes on.
        let mut writer = BlgWriter::append(&mut file, FileTime::PER_SECOND).expect("a log");
        for sample in &samples[flushed..] {
            writer.write(sample).expect("room");
        }
        writer.finish().expect("room");
        drop(writer);
        assert_eq!(read(file.get_ref()), Shown { samples: shown(&samples), problems: Vec::new() });
        let log = Log::decode(file.get_ref()).expect("whole buffers");
        assert_eq!(log.header.start.buffers_written.get() as usize, file.get_ref().len() / 1024);
        assert_eq!(log.header.start.end_time.get(), samples.last().expect("samples").at.utc.0);
    }
}

#[test]
fn the_header_knows_the_end() {
    let samples = utc_samples(9);
    let mut file = Cursor::new(Vec::new());
    let out = Troubled { file: &mut file, trouble: Trouble::None };
    let mut writer = BlgWriter::new(out, options_with(1024)).expect("options");
    for sample in &samples[..8] {
        writer.write(sample).expect("room");
        writer.flush().expect("room");
    }
    writer.write(&samples[8]).expect("room");
    let length = writer.give_up().expect("a file");
    assert_eq!(length, file.get_ref().len() as u64);
    assert_eq!(read(file.get_ref()), Shown { samples: shown(&samples[..8]), problems: Vec::new() });
    file.get_mut().resize(length.next_multiple_of(1024) as usize, 0xFF);
    let header = Log::decode(file.get_ref()).expect("whole buffers").header;
    assert_eq!(header.start.end_time.get(), samples[7].at.utc.0);
    assert_eq!(u64::from(header.start.buffers_written.get()), length.div_ceil(1024));
}

#[test]
fn behind_a_log_that_was_there() {
    let samples = utc_samples(24);
    let before = write(&samples[..7], options_with(1024));
    let all = write(&samples, options_with(1024));
    for trouble in troubles(&all) {
        let mut file = Cursor::new(before.clone());
        let out = Troubled { file: &mut file, trouble };
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
fn a_circular_log() {
    let samples = utc_samples(90);
    let options = BlgWriterOptions { circular_bytes: Some(20 << 10), ..options_with(1024) };
    let whole = write(&samples, options.clone());
    let without_trouble: Vec<_> = (0..=samples.len())
        .map(
            |count| if count == 0 { 0 } else { samples_of(&write(&samples[..count], options.clone())).len() },
        )
        .collect();
    assert!(without_trouble[90] < 60, "it went round");
    let rooms = (0..whole.len() as u64).step_by(149).map(Trouble::Room);
    for trouble in rooms.chain((0..250_000).step_by(397).map(Trouble::Once)) {
        let mut file = Cursor::new(Vec::new());
        let out = Troubled { file: &mut file, trouble };
        let Ok(writer) = BlgWriter::new(out, options.clone()) else { continue };
        let Some(flushed) = recorded(writer, &samples) else { continue };
        if flushed == 0 || flushed == samples.len() {
            assert_eq!(file.get_ref().is_empty(), flushed == 0);
            continue;
        }
        let Shown { samples: kept, problems } = read(file.get_ref());
        assert_eq!((problems, kept.is_empty()), (Vec::new(), false), "after {flushed}");
        assert_eq!(kept, shown(&samples[flushed - kept.len()..flushed]));
        // No more is lost than what the failed sample needed.
        assert!(kept.len() + 1 >= without_trouble[flushed + 1], "{} of {flushed}", kept.len());
    }
}

#[test]
fn a_text() {
    let columns = || (0..3).map(|n| Column { path: format!(r"\\HERE\Set\Counter {n}") }).collect::<Vec<_>>();
    let start = 130_057_734_000_000_000;
    let row = |n: i64| (FileTime(start + n * FileTime::PER_SECOND), [Some(n as f64 / 3.0), None, Some(1.0)]);
    let write = |trouble| {
        let mut file = Cursor::new(Vec::new());
        let out = Troubled { file: &mut file, trouble };
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
            assert!(writer.flush().is_err(), "nothing is tried again");
            assert_eq!(writer.give_up().expect("a file"), last);
        } else {
            drop(writer);
        }
        (file.into_inner(), last)
    };
    let (whole, _) = write(Trouble::None);
    let sizes = 0..whole.len() as u64;
    for trouble in sizes.clone().map(Trouble::Room).chain(sizes.map(Trouble::Once)) {
        let (file, last) = write(trouble);
        assert_eq!(file, whole[..last as usize]);
    }
}

#[test]
fn a_text_that_is_dropped_tries_nothing_again() {
    let mut file = Cursor::new(Vec::new());
    let out = Troubled { file: &mut file, trouble: Trouble::Once(20) };
    let columns = vec![Column { path: r"\\HERE\Set\Counter".to_owned() }];
    let mut writer = TextWriter::new(out, Format::Csv, TimeZone::utc(), columns).expect("a text");
    assert!(writer.finish().is_err());
    drop(writer);
    assert_eq!(file.get_ref().len(), 20);
}

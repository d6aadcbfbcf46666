//! Reading logs while they are recorded: a reader sees a prefix of complete samples, and no damage.

use crate::fixture;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use fixture::appended::{FREQUENCY, shown, utc_samples};
use fixture::recorder::{Recorder, Written, write_at};
use fixture::rewritten::{options_with, varied_samples, write};
use fixture::shown::show;
use tachograph_counters::sample::Sample;
use tachograph_logs::blg::{BlgReader, BlgWriter, BlgWriterOptions};
use tachograph_logs::{LogError, LogReader, LogWriter};

/// A file to which a recorder writes a few pieces whenever a reader reads or seeks.
struct Growing<'a> {
    file: Vec<u8>,
    at: u64,
    /// The pieces that have not been written yet.
    remaining: std::iter::Copied<std::slice::Iter<'a, (u64, &'a [u8])>>,
    /// The number of pieces that are written per call.
    pieces_per_call: usize,
}

impl<'a> Growing<'a> {
    /// A file that starts with `base` and has the first `written` pieces.
    fn new(base: &[u8], pieces: &'a [(u64, &'a [u8])], written: usize, pieces_per_call: usize) -> Self {
        let mut growing =
            Self { file: base.to_vec(), at: 0, remaining: pieces.iter().copied(), pieces_per_call };
        growing.grow(written);
        growing
    }

    fn grow(&mut self, count: usize) {
        for (at, bytes) in self.remaining.by_ref().take(count) {
            write_at(&mut self.file, at, bytes);
        }
    }
}

impl Read for Growing<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.grow(self.pieces_per_call);
        let rest = self.file.get(self.at as usize..).unwrap_or_default();
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Growing<'_> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.grow(self.pieces_per_call);
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::End(back) => (self.file.len() as u64).saturating_add_signed(back),
            SeekFrom::Current(further) => self.at.saturating_add_signed(further),
        };
        Ok(self.at)
    }
}

/// The writes, each divided at `cuts` offsets.
fn pieces(writes: &[Written], cuts: usize) -> Vec<(u64, &[u8])> {
    let mut pieces = Vec::new();
    for (at, bytes) in writes {
        let mut from = 0;
        for cut in 1..=cuts + 1 {
            let to = bytes.len() * cut / (cuts + 1);
            pieces.push((at + from as u64, &bytes[from..to]));
            from = to;
        }
    }
    pieces
}

/// The samples and problems that a reader of the growing file returns; `None` if there is no counter list yet.
fn read_growing(stream: Growing<'_>) -> Option<(Vec<String>, Vec<String>)> {
    let mut reader = match BlgReader::new(stream) {
        Ok(reader) => reader,
        Err(error) => {
            assert!(error.is_corrupt(), "{error}");
            return None;
        }
    };
    let mut sample = Sample::default();
    let mut samples = Vec::new();
    while reader.next(&mut sample).expect("readable") {
        samples.push(show(&sample));
    }
    Some((samples, reader.problems().list().iter().map(ToString::to_string).collect()))
}

/// The range of `found` in `expected`. The samples must be consecutive.
#[track_caller]
fn range_of(found: &[String], expected: &[String], context: &str) -> Range<usize> {
    let Some(first) = found.first() else { return 0..0 };
    let first = expected.iter().position(|sample| sample == first).expect("one of the samples");
    let run = first..first + found.len();
    assert_eq!(expected.get(run.clone()).unwrap_or_default(), found, "{context}: consecutive samples");
    run
}

/// Reads from every state of the file while the remaining pieces are written at several paces.
fn read_at_every_pace(base: &[u8], writes: &[Written], expected: &[String], is_ring: bool) {
    let mut longest = 0;
    for cuts in [0, 1, 4] {
        let pieces = pieces(writes, cuts);
        for pace in [1, 3, 20] {
            for written in (0..=pieces.len()).step_by(1 + cuts) {
                let context = format!("{cuts} cuts, {pace} at a call, {written} before");
                let Some((samples, problems)) = read_growing(Growing::new(base, &pieces, written, pace))
                else {
                    continue;
                };
                assert_eq!(problems, [""; 0], "{context}");
                if is_ring {
                    // If buffers are overwritten while others are read, there are gaps between complete samples.
                    let mut rest = expected.iter();
                    assert!(samples.iter().all(|sample| rest.any(|other| other == sample)), "{context}");
                } else {
                    assert_eq!(range_of(&samples, expected, &context).start, 0, "{context}");
                }
                longest = longest.max(samples.len());
            }
        }
    }
    assert!(is_ring || longest == expected.len(), "{longest} samples");
}

/// Writes samples, flushing after each; returns the writes.
fn recorded(samples: &[Sample], options: BlgWriterOptions) -> Vec<Written> {
    let recorder = Recorder::default();
    let mut writer = BlgWriter::new(recorder.clone(), options).expect("options");
    flush_each(&mut writer, samples).expect("written");
    let writes = recorder.writes();
    writes.clone()
}

fn flush_each(writer: &mut impl LogWriter, samples: &[Sample]) -> Result<(), LogError> {
    for sample in samples {
        writer.write(sample)?;
        writer.flush()?;
    }
    writer.finish()
}

#[test]
fn a_log_can_be_read_while_it_is_recorded() {
    let samples = varied_samples(12);
    let expected: Vec<_> = samples.iter().map(show).collect();
    for buffer_bytes in [1024, 4096] {
        read_at_every_pace(&[], &recorded(&samples, options_with(buffer_bytes)), &expected, false);
    }
}

#[test]
fn a_log_can_be_read_while_it_is_appended_to() {
    let samples = utc_samples(12);
    let base = write(&samples[..5], options_with(1024));
    let recorder = Recorder::with_file(&base);
    let mut writer = BlgWriter::append(recorder.clone(), FREQUENCY).expect("a log");
    flush_each(&mut writer, &samples[5..]).expect("written");
    let writes = recorder.writes().clone();
    read_at_every_pace(&base, &writes, &shown(&samples), false);
}

#[test]
fn a_ring_can_be_read_while_it_is_recorded() {
    let mut samples = varied_samples(60);
    samples.retain(|sample| sample.groups[1].values.len() < 10);
    let expected: Vec<_> = samples.iter().map(show).collect();
    let options = BlgWriterOptions { circular_bytes: Some(8 * 1024), ..options_with(1024) };
    read_at_every_pace(&[], &recorded(&samples, options), &expected, true);
}

/// A recorder runs on another thread while the file is read repeatedly.
#[test]
fn readers_see_complete_samples_of_a_concurrent_recorder() {
    const READINGS: usize = 600;
    let samples = varied_samples(300);
    let expected: Vec<_> = samples.iter().map(show).collect();
    for buffer_bytes in [1024, 0x10000] {
        let name = format!("{}-growing-{buffer_bytes}.blg", std::process::id());
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let is_enough = AtomicBool::new(false);
        let (damaged, grown) = std::thread::scope(|scope| {
            let recorder = scope.spawn(|| {
                // Many logs, so that readers see each state often.
                while !is_enough.load(Ordering::Relaxed) {
                    // A new file, because a truncated one is not a growing log.
                    let _ = std::fs::remove_file(&path);
                    let file = File::create_new(&path).expect("a writable folder");
                    let mut writer = BlgWriter::new(file, options_with(buffer_bytes)).expect("options");
                    flush_each(&mut writer, &samples).expect("written");
                }
            });
            let (mut damaged, mut grown, mut read) = (Vec::new(), 0, 0);
            while read < READINGS && !recorder.is_finished() {
                let Ok(reader) =
                    File::open(&path).map_err(drop).and_then(|file| BlgReader::new(file).map_err(drop))
                else {
                    continue;
                };
                read += 1;
                grown += usize::from(check_reading(reader, &expected, &mut damaged));
            }
            is_enough.store(true, Ordering::Relaxed);
            (damaged, grown)
        });
        std::fs::remove_file(&path).expect("the log");
        assert_eq!(
            damaged,
            [""; 0],
            "{} of {READINGS} readings with buffers of {buffer_bytes}",
            damaged.len()
        );
        assert!(grown > 0, "no reader found a log that was being written");
    }
}

/// Reads a log to its end, and adds what is wrong with it to `damaged`; returns whether the log was unfinished.
fn check_reading(mut reader: BlgReader<File>, expected: &[String], damaged: &mut Vec<String>) -> bool {
    let mut sample = Sample::default();
    let mut count = 0;
    while reader.next(&mut sample).expect("readable") {
        if expected.get(count) != Some(&show(&sample)) {
            damaged.push(format!("sample {count} is {}", show(&sample)));
            return true;
        }
        count += 1;
    }
    damaged.extend(reader.problems().list().first().map(ToString::to_string));
    count < expected.len()
}

//! Appending after a crash, and crashes while appending. All offsets are tried if TACHO_LONG is set.

use crate::fixture;

use fixture::appended::{FREQUENCY, append, shown, utc_samples};
use fixture::recorder::{Recorder, write_at};
use fixture::rewritten::{options_with, write};
use fixture::shown::{Shown, read, try_read};
use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_logs::LogWriter;
use tachograph_logs::blg::BlgWriter;

/// Runs a test for every offset if TACHO_LONG is set; without optimization, this takes minutes.
fn if_long(test: impl Fn(&dyn Fn(usize) -> bool)) {
    if std::env::var_os("TACHO_LONG").is_some() {
        test(&|_| true);
    }
}

/// Whether an offset is tried by default: every offset in a buffer's header, and enough others to hit every field.
fn is_usual(at: usize) -> bool {
    at % 1024 <= 72 || at % 11 == 4
}

#[test]
fn a_log_can_be_appended_to_after_a_kill() {
    killed(&|byte| byte % 13 == 4 || byte < 16);
}

#[test]
fn long_a_log_can_be_appended_to_after_a_kill_at_every_byte() {
    if_long(killed);
}

fn killed(is_tried: &dyn Fn(usize) -> bool) {
    let samples = utc_samples(16);
    let base = write(&samples[..6], options_with(1024));
    let recorder = Recorder::with_file(&base);
    let mut flushed = Vec::new();
    let mut writer = BlgWriter::append(recorder.clone(), FREQUENCY).expect("a log");
    for sample in &samples[6..] {
        writer.write(sample).expect("written");
        writer.flush().expect("flushed");
        flushed.push(recorder.writes().len());
    }
    writer.finish().expect("finished");
    let expected = shown(&samples);
    let mut file = base;
    for (number, (at, bytes)) in recorder.writes().iter().enumerate() {
        let durable = 6 + flushed.iter().filter(|&&writes| writes <= number).count();
        for (offset, byte) in bytes.iter().enumerate() {
            write_at(&mut file, at + offset as u64, &[*byte]);
            if !is_tried(offset) {
                continue;
            }
            let Shown { samples: shown, problems } = read(&file);
            assert_eq!(problems, [""; 0], "write {number}, byte {offset}");
            assert!(shown.len() >= durable, "write {number}, byte {offset}: {} of {durable}", shown.len());
            assert!(expected.starts_with(&shown), "write {number}, byte {offset}");
        }
    }
    assert_eq!(read(&file), Shown { samples: expected, problems: Vec::new() });
}

/// Asserts that two samples can be appended to the log that a crash left, and that all readable samples stay readable.
#[track_caller]
fn assert_appendable(file: &[u8], new: &[Sample], context: &str) {
    let Ok(before) = try_read(file) else { return };
    let appended = append(file, new).unwrap_or_else(|error| panic!("{context}: {error}"));
    let after = read(&appended);
    assert_eq!(after.samples, [before.samples.clone(), shown(new)].concat(), "{context}");
    assert!(after.problems.len() <= before.problems.len(), "{context}: {before:?} {after:?}");
    // Append again.
    let mut later = new.to_vec();
    for sample in &mut later {
        sample.at.utc = sample.at.utc.saturating_add(1000 * FileTime::PER_SECOND);
        for group in &mut sample.groups {
            group.read_at = group.read_at.saturating_add(1000 * FileTime::PER_SECOND);
        }
    }
    let again = read(&append(&appended, &later).unwrap_or_else(|error| panic!("{context}: {error}")));
    assert_eq!(again.samples, [after.samples, shown(&later)].concat(), "{context}");
    assert!(again.problems.len() <= after.problems.len(), "{context}");
}

#[test]
fn logs_of_killed_recorders_are_appended_to() {
    append_after_kill(&|cut| cut <= 72 || cut % 24 == 4);
}

#[test]
fn long_logs_of_killed_recorders_are_appended_to() {
    if_long(append_after_kill);
}

fn append_after_kill(is_tried: &dyn Fn(usize) -> bool) {
    let samples = utc_samples(9);
    let recorder = Recorder::default();
    let mut writer = BlgWriter::new(recorder.clone(), options_with(1024)).expect("options");
    for sample in &samples[..7] {
        writer.write(sample).expect("written");
        writer.flush().expect("flushed");
    }
    writer.finish().expect("finished");
    let mut file = Vec::new();
    for (number, (at, bytes)) in recorder.writes().iter().enumerate() {
        for cut in (1..bytes.len()).filter(|&cut| is_tried(cut)).chain([bytes.len()]) {
            let mut file = file.clone();
            write_at(&mut file, *at, &bytes[..cut]);
            assert_appendable(&file, &samples[7..], &format!("write {number}, byte {cut}"));
        }
        write_at(&mut file, *at, bytes);
    }
}

#[test]
fn truncated_logs_are_appended_to() {
    append_after_truncation(&is_usual);
}

#[test]
fn long_logs_truncated_anywhere_are_appended_to() {
    if_long(append_after_truncation);
}

fn append_after_truncation(is_tried: &dyn Fn(usize) -> bool) {
    let samples = utc_samples(9);
    let file = write(&samples[..7], options_with(1024));
    for length in (0..file.len()).filter(|&length| is_tried(length)) {
        assert_appendable(&file[..length], &samples[7..], &format!("cut at {length}"));
    }
}

#[test]
fn appending_to_a_damaged_log_succeeds_or_is_refused() {
    flipped(&|bit| is_usual(bit / 8) && (bit / 8 % 1024 <= 72 || bit % 3 == 0));
}

#[test]
fn long_a_log_with_any_flipped_bit_is_appended_to_or_refused() {
    if_long(flipped);
}

fn flipped(is_tried: &dyn Fn(usize) -> bool) {
    let samples = utc_samples(5);
    let mut file = write(&samples[..3], options_with(1024));
    let new = shown(&samples[3..]);
    for at in 0..file.len() {
        for bit in (0..8).filter(|bit| is_tried(8 * at + bit)) {
            file[at] ^= 1 << bit;
            match append(&file, &samples[3..]) {
                Ok(appended) => {
                    let before = read(&file).samples;
                    let after = read(&appended).samples;
                    assert_eq!(after[..before.len()], before, "byte {at:#x}, bit {bit}");
                    assert!(after.len() == before.len() + 2 || at < 1024, "byte {at:#x}, bit {bit}: {new:?}");
                }
                Err(error) => assert!(error.is_corrupt() || error.is_unsupported(), "byte {at:#x}: {error}"),
            }
            file[at] ^= 1 << bit;
        }
    }
}

//! A killed recorder leaves all flushed samples in the file.

use crate::fixture;

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use fixture::recorder::{Recorder, write_at};
use fixture::rewritten::{options_with, samples_of, varied_samples};
use fixture::shown::{read, try_read};
use fixture::{Entry, LogBuilder};
use tachograph_counters::sample::Sample;
use tachograph_logs::LogWriter;
use tachograph_logs::blg::BlgWriter;

const LOG: &str = "TACHO_TEST_CRASH_LOG";
/// Length of a circular log with buffers of 1,024 bytes.
const RING: u64 = 20 * 1024;

/// Not a test, but the code of the process that is killed.
#[test]
fn the_process_to_be_killed() {
    let Some(path) = std::env::var_os(LOG) else { return };
    // The name of the log selects its options: in every tenth round the buffers are small, and a "ring" is circular.
    let name = path.to_string_lossy();
    let mut options = options_with(if name.ends_with("0.blg") { 1024 } else { 0x10000 });
    if name.contains("ring") {
        options.circular_bytes = Some(if options.buffer_bytes == 1024 { RING } else { 64 * RING });
    }
    let samples = varied_samples(400);
    let out = File::create(Path::new(&path)).expect("a writable folder");
    let mut writer = BlgWriter::new(out, options).expect("options");
    let mut stdout = std::io::stdout();
    for number in 1.. {
        writer.write(&samples[number % samples.len()]).expect("written");
        writer.flush().expect("flushed");
        // The line is a single write, so that it is either complete or absent.
        stdout.write_all(format!("\nflushed {number}\n").as_bytes()).expect("a parent process that reads");
    }
}

/// Kills the recorder after sample `min` or later; returns the index of the last flushed sample, and the log.
fn killed(name: &str, min: u64) -> (u64, Vec<u8>) {
    let tests = std::env::current_exe().expect("this binary");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
    let mut child = Command::new(&tests)
        .args(["--exact", "blg_crash::the_process_to_be_killed", "--nocapture"])
        .env(LOG, &path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("start child");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut flushed = 0;
    let mut receive = |line: Option<std::io::Result<String>>| match line {
        Some(Ok(line)) => {
            flushed = line.strip_prefix("flushed ").and_then(|n| n.parse().ok()).unwrap_or(flushed);
            Some(flushed)
        }
        _ => None,
    };
    while receive(lines.next()).is_some_and(|flushed| flushed < min) {}
    child.kill().expect("a running child");
    child.wait().expect("a child");
    while receive(lines.next()).is_some() {}
    assert!(flushed >= min, "the child process ended too early");
    let file = std::fs::read(&path).expect("the log");
    std::fs::remove_file(&path).expect("the log");
    (flushed, file)
}

#[test]
fn flushed_samples_survive_a_kill() {
    let samples = varied_samples(400);
    let expected: Vec<_> = samples.iter().map(fixture::shown::show).collect();
    for round in 0..20_u64 {
        let (flushed, file) = killed(&format!("crash-{round}.blg"), 1 + round * round * 7 % 331);
        let shown = read(&file);
        assert!(shown.samples.len() as u64 >= flushed, "{} of {flushed} samples", shown.samples.len());
        assert!(shown.samples.len() as u64 <= flushed + 2, "more samples than were written");
        for (number, sample) in shown.samples.iter().enumerate() {
            assert_eq!(*sample, expected[(number + 1) % expected.len()]);
        }
    }
}

#[test]
fn flushed_samples_of_a_ring_survive_a_kill() {
    let samples = varied_samples(400);
    let expected: Vec<_> = samples.iter().map(fixture::shown::show).collect();
    for round in 0..20_u64 {
        let (flushed, file) = killed(&format!("crash-ring-{round}.blg"), 300 + round * round * 7 % 331);
        assert!(file.len() as u64 <= 64 * RING);
        let shown = read(&file);
        // Consecutive samples up to the last flushed one, or one of those being written.
        let last = (flushed..=flushed + 2)
            .rev()
            .find(|&last| shown.samples.last() == Some(&expected[last as usize % expected.len()]));
        let last = last.unwrap_or_else(|| panic!("{flushed} is missing: {shown:?}"));
        for (back, sample) in shown.samples.iter().rev().enumerate() {
            assert_eq!(*sample, expected[(last as usize - back) % expected.len()]);
        }
        assert!(shown.samples.len() >= 8, "{}", shown.samples.len());
    }
}

/// Writes samples, optionally flushing after each, and reads the file after every byte.
#[track_caller]
fn read_after_every_byte(samples: &[Sample], flushes: bool) {
    let recorder = Recorder::default();
    // For each sample: the number of writes when it was flushed.
    let mut flushed = Vec::new();
    let mut writer = BlgWriter::new(recorder.clone(), options_with(1024)).expect("options");
    for sample in samples {
        writer.write(sample).expect("written");
        if flushes {
            writer.flush().expect("flushed");
            flushed.push(recorder.writes().len());
        }
    }
    writer.finish().expect("finished");
    let writes = recorder.writes();

    let mut file: Vec<u8> = Vec::new();
    let whole = {
        let mut whole = Vec::new();
        for (at, bytes) in writes.iter() {
            write_at(&mut whole, *at, bytes);
        }
        read(&whole)
    };
    assert_eq!(whole.samples.len(), samples.len());
    assert!(whole.problems.is_empty(), "{:?}", whole.problems);
    for (number, (at, bytes)) in writes.iter().enumerate() {
        let safe = flushed.iter().filter(|&&writes| writes <= number).count();
        for (offset, byte) in bytes.iter().enumerate() {
            write_at(&mut file, at + offset as u64, &[*byte]);
            let shown = match try_read(&file) {
                Ok(shown) => shown,
                Err(error) => {
                    assert!(safe == 0 && error.is_corrupt(), "write {number}, byte {offset}: {error}");
                    // The first write is buffer 0.
                    assert!(
                        (number == 0 && offset + 1 < bytes.len())
                            || error.to_string()
                                == "the log has no counter list yet: its recording has just begun",
                        "write {number}, byte {offset}: {error}"
                    );
                    continue;
                }
            };
            assert!(
                shown.samples.len() >= safe,
                "write {number}, byte {offset}: {} of {safe} samples",
                shown.samples.len()
            );
            assert!(whole.samples.starts_with(&shown.samples), "write {number}, byte {offset}: {shown:#?}");
            // A log that is being written is not damaged.
            assert_eq!(shown.problems, [""; 0], "write {number}, byte {offset}");
        }
    }
}

#[test]
fn logs_of_multi_records_are_readable_at_every_length() {
    // The 5th and 9th samples have several parts in several buffers.
    read_after_every_byte(&varied_samples(11), true);
    read_after_every_byte(&varied_samples(11), false);
}

#[test]
fn logs_of_block_records_are_readable_at_every_length() {
    use fixture::block::{Block, Counter, Instance, Object};
    let count = Counter { name_index: 6, counter_type: 0x1_0100, bytes: 8 };
    let mut builder = LogBuilder::new(0x10000);
    builder.list(&[Entry::block("Process")]);
    for n in 0..8 {
        let rows: Vec<_> = (0..n * 3 % 8).map(|row| Instance::new(&row.to_string(), &[n])).collect();
        builder.sample(n, &[Block::new(n, &[Object::new(230, &[count], &rows)]).record()]);
    }
    read_after_every_byte(&samples_of(&builder.file()), true);
}

#[test]
fn an_unfinished_log_is_readable_up_to_its_last_flush() {
    let samples = varied_samples(50);
    for buffer_bytes in [1024, 0x10000] {
        let mut file = Cursor::new(Vec::new());
        let mut writer = BlgWriter::new(&mut file, options_with(buffer_bytes)).expect("options");
        for sample in &samples {
            writer.write(sample).expect("written");
        }
        writer.flush().expect("flushed");
        drop(writer);
        let shown = read(file.get_ref());
        assert_eq!(shown.samples.len(), 50);
        assert_eq!(shown.problems, [""; 0], "an unfinished log is not damaged");
    }
}

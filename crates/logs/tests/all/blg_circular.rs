//! Circular logs: the file never exceeds its size and has the latest samples at any time.

use crate::fixture;

use std::io::Cursor;
use std::ops::Range;

use fixture::recorder::{Recorder, write_at};
use fixture::rewritten::{options_with, samples_of, varied_samples, write};
use fixture::shown::{Shown, read, show, try_read};
use fixture::{Entry, LogBuilder, multi, single};
use tachograph_counters::sample::Sample;
use tachograph_logs::blg::raw::Log;
use tachograph_logs::blg::{BlgReader, BlgWriter, BlgWriterOptions};
use tachograph_logs::{LogError, LogReader, LogWriter};

const BUFFER: u64 = 1024;

/// The options of a circular log, which these tests call a ring, of this many buffers.
fn ring(buffers: u64) -> BlgWriterOptions {
    BlgWriterOptions { circular_bytes: Some(buffers * BUFFER), ..options_with(BUFFER as usize) }
}

/// The range of samples in a log, which must be consecutive.
#[track_caller]
fn range_of(shown: &Shown, expected: &[String]) -> Range<usize> {
    let Some(first) = shown.samples.first() else { return 0..0 };
    let first = expected.iter().position(|sample| sample == first).expect("one of the samples");
    let run = first..first + shown.samples.len();
    assert_eq!(expected.get(run.clone()).unwrap_or_default(), shown.samples, "consecutive samples");
    run
}

#[test]
fn the_file_has_the_latest_samples_and_its_maximum_size() {
    let samples = varied_samples(300);
    let expected: Vec<_> = samples.iter().map(show).collect();
    for buffers in [9, 10, 23, 64] {
        for flushes in [true, false] {
            let recorder = Recorder::default();
            let mut writer = BlgWriter::new(recorder.clone(), ring(buffers)).expect("options");
            for sample in &samples {
                writer.write(sample).expect("written");
                if flushes {
                    writer.flush().expect("flushed");
                }
                assert!(writer.bytes_written() <= buffers * BUFFER);
            }
            writer.finish().expect("finished");
            let file = recorder.file();
            assert_eq!(file.len() as u64, buffers * BUFFER);
            assert_eq!(writer.bytes_written(), file.len() as u64);
            let shown = read(&file);
            assert_eq!(shown.problems, [""; 0], "{buffers} buffers");
            let run = range_of(&shown, &expected);
            assert_eq!(run.end, 300);
            // A sample has 1,076 bytes on average, and one buffer is being overwritten.
            assert!(run.len() as u64 + 4 >= (buffers - 4) * 8 / 10, "{} in {buffers} buffers", run.len());
        }
    }
}

#[test]
fn a_ring_that_is_not_full_is_a_plain_log() {
    let samples = varied_samples(5);
    let file = write(&samples, ring(100));
    assert_eq!(read(&file).samples, samples.iter().map(show).collect::<Vec<_>>());
    assert!(file.len() < 20 * BUFFER as usize);
}

#[test]
fn the_header_counts_the_fixed_buffers() {
    let file = write(&varied_samples(200), ring(20));
    let log = Log::decode(&file).expect("a whole log");
    let start = log.header.start;
    assert_eq!(start.log_file_mode.get(), 0x3002_0802);
    assert_eq!(start.maximum_file_size.get(), 1);
    assert_eq!(start.buffers_written.get(), 20);
    // The fixed buffers, which are never overwritten: the header and the counter list.
    assert_eq!(start.start_buffers.get(), 2);
    let sequence: Vec<_> = log.buffers.iter().map(|buffer| buffer.header.sequence_number.get()).collect();
    assert_eq!(sequence[0], 1);
    let newest = *sequence.iter().max().expect("buffers");
    for (number, &sequence) in sequence.iter().enumerate().skip(1) {
        assert_eq!((sequence - 2) % 18, number as u64 - 1, "each buffer is at its index");
        assert!(sequence + 18 > newest, "the latest 18");
    }
    let last: Vec<_> = log.buffers.iter().filter(|buffer| buffer.header.flags.get() & 1 != 0).collect();
    assert_eq!(last.len(), 1);
    assert_eq!(last[0].header.sequence_number.get(), newest);
}

/// Reads the file after every write, and after writes torn at a sector boundary.
fn read_after_every_write(samples: &[Sample], options: BlgWriterOptions, flushes: bool) {
    let expected: Vec<_> = samples.iter().map(show).collect();
    let recorder = Recorder::default();
    let mut writer = BlgWriter::new(recorder.clone(), options).expect("options");
    // After each sample: the number of writes, and the samples in the log.
    let mut steps = vec![(recorder.writes().len(), 0..0)];
    for sample in samples {
        writer.write(sample).expect("written");
        if flushes {
            writer.flush().expect("flushed");
        }
        let run = try_read(&recorder.file()).map_or(0..0, |shown| range_of(&shown, &expected));
        if flushes {
            assert_eq!(run.end, steps.len());
        }
        steps.push((recorder.writes().len(), run));
    }
    writer.finish().expect("finished");
    steps.push((recorder.writes().len(), range_of(&read(&recorder.file()), &expected)));
    let writes = recorder.writes();
    let mut file = Vec::new();
    for (number, (at, bytes)) in writes.iter().enumerate() {
        let after = steps.partition_point(|&(count, _)| count <= number).clamp(1, steps.len() - 1);
        let (before, following) = (&steps[after - 1].1, &steps[after].1);
        let sectors = (1..bytes.len()).filter(|offset| (at + *offset as u64).is_multiple_of(512));
        for torn in sectors.chain([bytes.len()]) {
            write_at(&mut file, *at, &bytes[..torn]);
            let shown = match try_read(&file) {
                Ok(shown) => shown,
                Err(error) => {
                    assert!(before.end == 0 && error.is_corrupt(), "write {number}: {error}");
                    continue;
                }
            };
            let run = range_of(&shown, &expected);
            let context = format!("write {number}, {torn} of {} bytes: {run:?}", bytes.len());
            assert_eq!(shown.problems, [""; 0], "{context}");
            if run.is_empty() {
                assert!(before.is_empty(), "{context}");
                continue;
            }
            // Flushed samples are present, except those being overwritten.
            assert!(run.end >= before.end && run.end <= following.end.max(before.end + 1), "{context}");
            assert!(run.start <= following.start.max(before.start), "{context}, following {following:?}");
        }
    }
}

#[test]
fn a_ring_killed_after_any_write_has_its_flushed_samples() {
    read_after_every_write(&varied_samples(120), ring(12), true);
    read_after_every_write(&varied_samples(120), ring(12), false);
    read_after_every_write(&varied_samples(40), ring(50), true);
}

#[test]
fn samples_can_span_many_buffers() {
    let names: Vec<_> = (0..200).map(|n| format!("instance number {n}")).collect();
    let mut builder = LogBuilder::new(0x10000);
    builder.list(&[Entry::multi("Disk", "Reads")]);
    for n in 0..30 {
        let rows: Vec<_> = names.iter().skip(n as usize % 7).map(|name| (name.as_str(), n, -1)).collect();
        builder.sample(n, &[multi(n, &rows)]);
    }
    let samples = samples_of(&builder.file());
    let size = 40;
    let file = write(&samples, ring(size));
    let shown = read(&file);
    assert_eq!(shown.problems, [""; 0]);
    let run = range_of(&shown, &samples.iter().map(show).collect::<Vec<_>>());
    assert!(run.end == 30 && run.len() >= 2, "{run:?}");
    read_after_every_write(&samples, ring(size), true);
}

#[test]
fn limits_that_are_too_small_are_refused() {
    let refused = |result: Result<(), LogError>| {
        let error = result.expect_err("too small");
        assert!(error.is_unsupported());
        error.to_string()
    };
    let new = |buffers| BlgWriter::new(Cursor::new(Vec::new()), ring(buffers));
    assert_eq!(
        refused(new(4).map(drop)),
        "a circular log of 4096 bytes is too small for a header, a counter list and two samples: it takes at least 5120 bytes"
    );
    let samples = varied_samples(14);
    let mut file = Cursor::new(Vec::new());
    let mut writer = BlgWriter::new(&mut file, ring(5)).expect("options");
    writer.write(&samples[0]).expect("a short sample");
    assert_eq!(
        refused(writer.write(&samples[13])),
        "a circular log of 5120 bytes is too small for two samples of 1464 bytes: it takes at least 7168 bytes"
    );
    // Existing samples stay readable, and shorter ones are accepted.
    writer.write(&samples[9]).expect("a short sample");
    writer.finish().expect("finished");
    drop(writer);
    assert_eq!(read(file.get_ref()).samples, [show(&samples[0]), show(&samples[9])]);

    // A counter list that leaves no room for samples.
    let mut builder = LogBuilder::new(0x10000);
    let entries: Vec<_> = (0..40).map(|_| Entry::single("System", None, "Calls")).collect();
    builder.list(&entries);
    builder.sample(0, &vec![single(0, 1, 2); 40]);
    let samples = samples_of(&builder.file());
    let mut writer = new(10).expect("options");
    assert!(refused(writer.write(&samples[0])).contains("two samples of 1928 bytes: it takes at least "));
    assert_eq!(writer.bytes_written(), 2 * BUFFER);
}

#[test]
fn new_names_of_block_records_are_refused() {
    use fixture::block::{Block, Counter, Instance, Object};
    let count = Counter { name_index: 9006, counter_type: 0x1_0100, bytes: 8 };
    let mut builder = LogBuilder::new(0x10000);
    builder.names(r"\\MADE", &[(230, "Process"), (9006, "Own"), (9008, "Late")]);
    builder.list(&[Entry::block("Process")]);
    for n in 0..60 {
        let rows: Vec<_> = (0..n * 3 % 8).map(|row| Instance::new(&row.to_string(), &[n])).collect();
        let counter = if n == 59 { Counter { name_index: 9008, ..count } } else { count };
        builder.sample(n, &[Block::new(n, &[Object::new(230, &[counter], &rows)]).record()]);
    }
    let samples = samples_of(&builder.file());
    let shown = read(&write(&samples[..59], ring(20)));
    assert_eq!(shown.problems, [""; 0]);
    let run = range_of(&shown, &samples.iter().map(show).collect::<Vec<_>>());
    assert!(run.end == 59 && (5..40).contains(&run.len()), "{run:?}");

    let mut writer = BlgWriter::new(Cursor::new(Vec::new()), ring(20)).expect("options");
    writer.write(&samples[0]).expect("written");
    for _ in 0..2 {
        let error = writer.write(&samples[59]).expect_err("a new name");
        assert!(error.to_string().contains("cannot store names"), "{error}");
    }
}

#[test]
fn a_ring_can_be_overwritten_while_it_is_read() {
    let samples = varied_samples(200);
    let recorder = Recorder::default();
    let mut writer = BlgWriter::new(recorder.clone(), ring(20)).expect("options");
    let mut record = |range: Range<usize>| {
        for sample in &samples[range] {
            writer.write(sample).expect("written");
            writer.flush().expect("flushed");
        }
    };
    record(0..100);
    let mut read_with = |between: Range<usize>| {
        let mut reader = BlgReader::new(recorder.reopened()).expect("a log");
        let mut sample = Sample::default();
        let mut times = Vec::new();
        while reader.next(&mut sample).expect("readable") {
            times.push(sample.at.local());
            if times.len() == 1 {
                record(between.clone());
            }
        }
        times
    };
    let times = read_with(100..106);
    assert!(times.is_sorted(), "{times:?}");
    assert!(times.len() > 5 && times.last() == Some(&samples[99].at.local()), "{times:?}");
    // All buffers are overwritten, so only the buffer that the reader has loaded is left.
    let times = read_with(106..200);
    assert!(times.is_sorted() && times.len() < 5, "{times:?}");
}

#[test]
fn every_bit_flip_loses_at_most_one_sample() {
    let mut samples = varied_samples(60);
    // Each sample is one part, so a flip damages only one sample.
    samples.retain(|sample| sample.groups[1].values.len() < 10);
    let mut file = write(&samples, ring(7));
    let whole = read(&file);
    assert!(whole.samples.len() >= 4 && whole.problems.is_empty());
    for at in 0..file.len() {
        for bit in 0..8 {
            file[at] ^= 1 << bit;
            match try_read(&file) {
                Ok(shown) => {
                    let lost = whole.samples.iter().filter(|sample| !shown.samples.contains(sample)).count();
                    let in_list = (1024..2048).contains(&at);
                    assert!(lost <= 1 || in_list || at < 4, "byte {at:#x}, bit {bit}: {lost} lost");
                    assert!(shown.samples.len() <= whole.samples.len(), "byte {at:#x}, bit {bit}");
                }
                Err(error) => {
                    assert!(error.is_corrupt(), "byte {at:#x}: {error}");
                    assert!(at < 4 || (1024..2048).contains(&at), "byte {at:#x}: {error}");
                }
            }
            file[at] ^= 1 << bit;
        }
    }
    for length in (0..file.len()).step_by(7) {
        match try_read(&file[..length]) {
            Ok(shown) => assert!(shown.samples.iter().all(|sample| whole.samples.contains(sample))),
            Err(error) => assert!(error.is_corrupt(), "{error}"),
        }
    }
}

//! Real logs of Windows, if the environment variable TACHO_CORPUS names their folder; they are not part of the
//! repository. Expected values: docs/blg.md, section 14.

#![allow(clippy::excessive_precision, reason = "expected values are copied from the reference")]

use crate::fixture;

use std::fs::File;
use std::path::PathBuf;

use fixture::rewritten::{assert_same, options_of, samples_of, write};
use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_counters::set::{Counter, Instance};
use tachograph_counters::{FormatOptions, Intervals, Series, Statistics};
use tachograph_logs::blg::raw::{Event, Log, Payload, Record};
use tachograph_logs::blg::{BlgReader, raw};
use tachograph_logs::open;

/// A file of the corpus; `None`, with a notice, if there is no corpus.
fn corpus(name: &str) -> Option<(PathBuf, Vec<u8>)> {
    let Some(folder) = std::env::var_os("TACHO_CORPUS") else {
        eprintln!("skipped: no corpus (set TACHO_CORPUS to its folder)");
        return None;
    };
    let path = PathBuf::from(folder).join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Some((path, bytes))
}

// The logs that docs/blg.md calls T and P.
const T: &str = "BasicPerfCounters.blg";
const P: &str = "SampleLog.blg";

/// Each instance and counter of a sample, with the indexes of its group, row and column.
fn counters(sample: &Sample) -> impl Iterator<Item = (String, [usize; 3])> {
    sample.groups.iter().enumerate().flat_map(|(group_number, group)| {
        let rows = group.instances.iter().enumerate();
        rows.flat_map(move |(row, instance): (usize, &std::sync::Arc<Instance>)| {
            group.set.counters.iter().enumerate().map(move |(column, counter): (usize, &Counter)| {
                let path = group.set.path(instance, counter);
                (
                    path.trim_start_matches('\\').split_once('\\').expect("a path").1.to_owned(),
                    [group_number, row, column],
                )
            })
        })
    })
}

/// The value of a counter at a sample, computed from this sample and the previous one.
fn value(samples: &[Sample], at: usize, path: &str) -> Option<f64> {
    let find = |sample: &Sample| {
        let index = counters(sample).find(|(found, _)| found == path).map(|(_, index)| index)?;
        let group = &sample.groups[index[0]];
        let columns = group.set.counters.len();
        Some((group.values[index[1] * columns + index[2]], group.set.counters[index[2]].clone()))
    };
    let (newer, counter) = find(&samples[at])?;
    let older = at.checked_sub(1).and_then(|before| find(&samples[before])).map(|(raw, _)| raw);
    counter.calculator().format(older.as_ref(), &newer, &FormatOptions::default()).ok()
}

#[track_caller]
fn close(left: f64, right: f64) {
    assert!((left - right).abs() <= right.abs() * 1e-13, "{left:?} is not {right:?}");
}

#[test]
fn values_of_t_equal_the_reference() {
    let Some((_, file)) = corpus(T) else { return };
    let samples = samples_of(&file);
    assert_eq!(samples.len(), 601);
    assert_eq!(samples[0].at.rfc3339(), "2013-02-19T18:50:17.844-08:00");
    let paths: Vec<_> = counters(&samples[0]).map(|(path, _)| path).collect();
    assert_eq!(paths.len(), 10);
    let row = |at| paths.iter().map(|path| value(&samples, at, path)).collect::<Vec<_>>();
    assert_eq!(row(0), [None; 10]);
    let second = [
        0.0,
        8795.4285714285706,
        0.039698570851449351,
        0.0,
        0.039698570851449351,
        15.628037390653937,
        7.8158186305293036,
        6.2533748785043697,
        7.8158186305293036,
        9.378262382554226,
    ];
    for (left, right) in row(1).into_iter().zip(second) {
        close(left.expect("a value"), right);
    }
}

#[test]
fn statistics_of_t_equal_the_reference() {
    let Some((_, file)) = corpus(T) else { return };
    let samples = samples_of(&file);
    let total = r"Processor(_Total)\% Processor Time";
    let (_, [group, row, column]) =
        counters(&samples[0]).find(|(path, _)| path == total).expect("the counter");
    let counter = &samples[0].groups[group].set.counters[column];
    let calculator = counter.calculator();
    let mut series = Series::new(Statistics::new(calculator.formula(), Intervals::All, None));
    for sample in &samples {
        let columns = sample.groups[group].set.counters.len();
        let raw = &sample.groups[group].values[row * columns + column];
        series.add(&calculator, raw, sample.at);
    }
    let summary = series.statistics().summary();
    assert_eq!((summary.values, summary.errors), (600, 0));
    let three = |value: Option<f64>| format!("{:.3}", value.expect("a value"));
    assert_eq!(
        [summary.last, summary.average, summary.minimum, summary.maximum].map(three),
        ["32.816", "11.527", "1.569", "53.908"]
    );
    for (at, expected) in
        [9.37826238255423, 5.86541344045712, 8.20410303650782, 3.1283808195094].iter().enumerate()
    {
        close(value(&samples, at + 1, total).expect("a value"), *expected);
    }
}

#[test]
fn values_of_p_equal_the_reference() {
    let Some((_, file)) = corpus(P) else { return };
    let samples = samples_of(&file);
    assert_eq!(samples.len(), 11);
    assert!(samples.iter().all(|sample| sample.groups.len() == 8));
    assert_eq!(samples.iter().map(Sample::len).sum::<usize>(), 18_164);
    let at =
        samples.iter().position(|sample| sample.at.rfc3339().starts_with("2007-08-14T15:41:38.614-04:00"));
    let at = at.expect("the second sample");
    for (path, expected) in [
        (r"Processor(_Total)\% Processor Time", 82.148113155322605),
        (r"System\System Up Time", 2062.1157831),
        (r"Memory\% Committed Bytes In Use", 42.143595908399263),
        (r"LogicalDisk(C:)\% Disk Time", 31.173144160171478),
        (r"Process(svchost#3)\Elapsed Time", 2009.7261346),
    ] {
        close(value(&samples, at, path).unwrap_or_else(|| panic!("{path} has a value")), expected);
    }
    let paths: std::collections::BTreeSet<_> =
        samples.iter().flat_map(counters).map(|(path, _)| path).collect();
    assert_eq!(paths.len(), 1832);
}

#[test]
fn names_of_p_equal_the_reference() {
    let Some((_, file)) = corpus(P) else { return };
    let log = Log::decode(&file).expect("whole");
    let mut names = std::collections::BTreeMap::new();
    for event in events(&log).filter(|event| event.header.kind == raw::event::NAME_TABLE) {
        let Payload::Bytes(payload) = &event.payload else { panic!("names are bytes") };
        let (machine, mut at) = raw::utf16_until_nul(payload);
        assert_eq!(machine, r"\\ZACH-PC");
        while at < payload.len() {
            let (index, index_bytes) = raw::utf16_until_nul(&payload[at..]);
            let (name, name_bytes) = raw::utf16_until_nul(&payload[at + index_bytes..]);
            names.insert(index.parse::<u32>().expect("a title index"), name);
            at += index_bytes + name_bytes;
        }
    }
    assert_eq!(names.len(), 1839);
    assert_eq!(names[&6], "% Processor Time");
}

fn events(log: &Log) -> impl Iterator<Item = &Event> {
    log.buffers.iter().flat_map(|buffer| &buffer.events)
}

#[test]
fn raw_layer_reproduces_t_byte_for_byte() {
    let Some((_, file)) = corpus(T) else { return };
    let log = Log::decode(&file).expect("whole");
    assert!(log.encode() == file, "differs");
    // Every sample is decoded, not kept as bytes.
    assert!(events(&log).all(|event| !matches!(event.payload, Payload::Bytes(_))));
}

#[test]
fn raw_layer_reproduces_p_except_undefined_padding() {
    let Some((_, file)) = corpus(P) else { return };
    let log = Log::decode(&file).expect("whole");
    let again = log.encode();
    assert_eq!(again.len(), file.len());
    let mut padding = std::collections::BTreeSet::new();
    let size = log.first.buffer_size.get() as usize;
    for (number, buffer) in log.buffers.iter().enumerate() {
        let mut at = (number + 1) * size + 0x48;
        for event in &buffer.events {
            let end = at + usize::from(event.header.size.get());
            padding.extend(end..end.next_multiple_of(8));
            at = end.next_multiple_of(8);
        }
    }
    let differ: Vec<_> = (0..file.len()).filter(|&at| file[at] != again[at]).collect();
    assert!(differ.iter().all(|at| padding.contains(at) && again[*at] == 0));
    // docs/blg.md counts 66, including padding inside block records, which are kept as bytes here.
    assert_eq!(differ.len(), 31);
}

#[test]
fn a_text_named_blg_is_refused() {
    let Some((path, _)) = corpus("CorruptBlg.blg") else { return };
    let error = open(&path).err().expect("no log");
    assert!(error.is_corrupt());
    assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    assert!(BlgReader::new(File::open(&path).expect("readable")).is_err_and(|error| error.is_corrupt()));
}

#[test]
fn rewritten_logs_have_equal_samples() {
    for name in [T, P] {
        let Some((_, file)) = corpus(name) else { return };
        let samples = samples_of(&file);
        let again = write(&samples, options_of(&file));
        assert_same(&samples_of(&again), &samples);
    }
}

/// An event without the fields that can differ:
///
/// * thread and process id of the event: Tachograph writes constants;
/// * the size of multi records, of their samples and events: unlike the recorder of C, that of T rounds the length of each
///   name up to 8. Names, their offsets, values, times and MultiCounts (0 in T) are compared.
fn comparable(event: &Event) -> Event {
    let mut event = event.clone();
    event.header.thread_id = Default::default();
    event.header.process_id = Default::default();
    event.header.size = Default::default();
    if let Payload::Sample(records) = &mut event.payload {
        for record in records {
            if let Record::Multi(multi) = record {
                multi.head.head.size = Default::default();
                multi.head.inner_size = Default::default();
            }
        }
    }
    event
}

#[test]
fn rewritten_t_equals_the_log_of_windows() {
    let Some((_, file)) = corpus(T) else { return };
    let options = options_of(&file);
    let original = Log::decode(&file).expect("whole");
    let bytes = write(&samples_of(&file), options);
    let written = Log::decode(&bytes).expect("whole");
    assert!(written.encode() == bytes, "logs of our writer have no undefined bytes");

    assert_eq!(events(&written).count(), events(&original).count());
    for (written, original) in events(&written).zip(events(&original)) {
        assert_eq!(comparable(written), comparable(original));
    }

    // The header event, except writer, time, version of Windows, processor, and number of buffers.
    let mut header = original.header.clone();
    let ours = &written.header;
    header.system.thread_id = ours.system.thread_id;
    header.system.process_id = ours.system.process_id;
    header.system.kernel_time = ours.system.kernel_time;
    header.system.user_time = ours.system.user_time;
    header.system.utc_time = ours.system.utc_time;
    header.start.version = ours.start.version;
    header.start.build = ours.start.build;
    header.start.cpu_mhz = ours.start.cpu_mhz;
    header.start.end_time = ours.start.end_time;
    header.start.buffers_written = ours.start.buffers_written;
    header.end.start_time = ours.end.start_time;
    assert_eq!(*ours, header);
    assert_eq!(written.first, original.first, "header of buffer 0");
    let second = FileTime::PER_SECOND;
    assert!((ours.end.start_time.get() - original.header.end.start_time.get()).abs() < 2 * second);
    assert!((ours.start.end_time.get() - original.header.start.end_time.get()).abs() < 2 * second);
    assert_eq!(bytes.len() % 0x10000, 0);
    assert_eq!(ours.start.buffers_written.get() as usize, bytes.len() / 0x10000);
    assert_eq!(ours.start.end_time, written.buffers.last().expect("a buffer").header.flushed_at);

    // The headers of data buffers, by docs/blg.md, section 13, rule 6.
    let mut flushed_at = 0;
    for (number, buffer) in written.buffers.iter().enumerate() {
        let last = number + 1 == written.buffers.len();
        let theirs = original.buffers[if last { original.buffers.len() - 1 } else { 0 }].header;
        let header = buffer.header;
        let next = match written.buffers.get(number + 1) {
            Some(next) => usize::from(next.events[0].header.size.get()).next_multiple_of(8) as u32,
            None => 0x10000,
        };
        assert_eq!(header.saved_offset, header.offset);
        assert_eq!(header.current_offset.get(), header.offset.get() + next);
        assert_eq!(header.sequence_number.get(), number as u64 + 1);
        assert!(header.flushed_at.get() >= flushed_at);
        flushed_at = header.flushed_at.get();
        assert_eq!(
            (header.buffer_size, header.state, header.flags, header.kind, header.alignment, header.clock),
            (theirs.buffer_size, theirs.state, theirs.flags, theirs.kind, theirs.alignment, theirs.clock)
        );
        assert_eq!(header.stale, [0; 16], "stale pointers of the recorder in the original");
    }
}

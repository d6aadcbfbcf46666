//! Samples in memory: read whole logs, write them anew, compare.

use std::io::Cursor;
use std::sync::Arc;

use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::blg::{BlgReader, BlgWriter, BlgWriterOptions};
use tachograph_logs::{LogReader, LogWriter, Problem};

use super::{Entry, Made, multi, single};

/// All samples of a log without problems.
#[track_caller]
pub fn samples_of(file: &[u8]) -> Vec<Sample> {
    let (samples, problems) = samples_and_problems_of(file);
    assert_eq!(problems, [], "no problems");
    samples
}

/// All samples of a log, and its problems.
#[track_caller]
pub fn samples_and_problems_of(file: &[u8]) -> (Vec<Sample>, Vec<Problem>) {
    let mut reader = BlgReader::new(Cursor::new(file)).expect("a log");
    let mut sample = Sample::default();
    let mut samples = Vec::new();
    while reader.next(&mut sample).expect("readable") {
        samples.push(sample.clone());
    }
    (samples, reader.problems().list().to_vec())
}

/// The options that make a log like this one.
pub fn options_of(file: &[u8]) -> BlgWriterOptions {
    let reader = BlgReader::new(Cursor::new(file)).expect("a log");
    let header = reader.header();
    let facts = reader.facts();
    let guid = header.logger_name.parse::<uuid::Uuid>().ok().map(|uuid| uuid.to_bytes_le());
    BlgWriterOptions {
        boot_time: facts.boot_time,
        performance_frequency: header.end.performance_frequency.get(),
        file_name: header.file_name.clone(),
        buffer_bytes: header.start.buffer_size.get() as usize,
        guid,
        ..BlgWriterOptions::new(facts.zone.clone())
    }
}

/// Writes samples into a log in memory.
#[track_caller]
pub fn write(samples: &[Sample], options: BlgWriterOptions) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    let mut writer = BlgWriter::new(&mut file, options).expect("options that can be written");
    for sample in samples {
        writer.write(sample).expect("a sample that can be written");
    }
    writer.finish().expect("written");
    drop(writer);
    file.into_inner()
}

/// Samples that differ in length: `count` times one single and up to 30 instances.
pub fn varied_samples(count: i64) -> Vec<Sample> {
    let names: Vec<_> = (0..30).map(|n| format!("instance {n}")).collect();
    let mut made = Made::new(0x10000);
    made.list(&[Entry::single("System", None, "Calls"), Entry::multi("Disk", "Reads")]);
    for n in 0..count {
        let rows: Vec<_> =
            names.iter().take((n * 7 % 31) as usize).map(|name| (name.as_str(), n, -1)).collect();
        made.sample(n, &[single(n, n, -1), multi(n, &rows)]);
    }
    samples_of(&made.file())
}

/// Options with buffers of this size.
pub fn options_with(buffer_bytes: usize) -> BlgWriterOptions {
    BlgWriterOptions { buffer_bytes, ..BlgWriterOptions::new(TimeZone::utc()) }
}

/// Asserts that two lists of samples say the same.
#[track_caller]
pub fn assert_same(left: &[Sample], right: &[Sample]) {
    assert_eq!(left.len(), right.len(), "number of samples");
    for (number, (left, right)) in left.iter().zip(right).enumerate() {
        assert_eq!(left.at, right.at, "time of sample {number}");
        assert_eq!(left.is_baseline, right.is_baseline, "sample {number}");
        assert_eq!(left.groups.len(), right.groups.len(), "groups of sample {number}");
        for (left, right) in left.groups.iter().zip(&right.groups) {
            let place = format!("sample {number}, {}", left.set.name);
            assert_eq!(*left.set, *right.set, "description, {place}");
            let labels = |instances: &tachograph_counters::set::Instances| {
                instances.iter().map(|instance| Arc::clone(instance).label().to_owned()).collect::<Vec<_>>()
            };
            assert_eq!(labels(&left.instances), labels(&right.instances), "instances, {place}");
            assert_eq!(left.values, right.values, "values, {place}");
            assert_eq!(left.status, right.status, "status, {place}");
            assert_eq!(left.read_at, right.read_at, "time of the machine, {place}");
            assert_eq!(left.clocks, right.clocks, "clocks, {place}");
        }
    }
}

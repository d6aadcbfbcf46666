//! Compares the writer and the reader with a Python decoder that was written from the description of the format
//! alone.

use crate::fixture;

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use fixture::python;
use fixture::rewritten::{samples_of, write};
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Clocks, Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, TitleIndexes};
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::{CounterType, RawValue, Status};
use tachograph_logs::LogWriter;
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};

/// The output of the Python decoder; `None`, with a notice, if Python is missing.
fn decoded(file: &[u8], name: &str) -> Option<Vec<String>> {
    let text = python::output_of("independent_blg.py", file, name, &[])?;
    Some(text.lines().map(str::to_owned).collect())
}

/// The lines that the decoder should print for samples.
fn lines(samples: &[Sample]) -> Vec<String> {
    let mut lines = Vec::new();
    for sample in samples {
        for group in &sample.groups {
            for (instance, row) in group.instances.iter().zip(group.rows()) {
                for (counter, raw) in group.set.counters.iter().zip(row) {
                    lines.push(format!(
                        r#"{{"time":{},"path":"{}","first":{},"second":{},"status":{}}}"#,
                        sample.at.local().0,
                        group.set.path(instance, counter).replace('\\', r"\\"),
                        raw.first,
                        raw.second,
                        raw.status.0
                    ));
                }
            }
        }
    }
    lines
}

#[track_caller]
fn check(file: &[u8], samples: &[Sample], name: &str) {
    let Some(decoded) = decoded(file, name) else { return };
    let expected = lines(samples);
    assert!(!expected.is_empty());
    assert_eq!(decoded.len(), expected.len());
    for (decoded, expected) in decoded.iter().zip(&expected) {
        assert_eq!(decoded, expected);
    }
}

fn set(name: &str, extent: Extent, types: &[CounterType]) -> CounterSet {
    let mut set = CounterSet::new("BÜRO", name, extent);
    set.indexes = Some(TitleIndexes { name: 8000, help: 8001 });
    for (number, &counter_type) in types.iter().enumerate() {
        let index = 9000 + 2 * number as u32;
        let mut counter = Counter::new(format!("Counter {number} ß"), counter_type, 1000);
        counter.indexes = Some(TitleIndexes { name: index, help: index + 1 });
        set.counters.push(counter);
    }
    set
}

/// A group of rows whose values depend on their position.
fn group(set: &Arc<CounterSet>, instances: &[Instance], at: Moment) -> Group {
    let number = at.utc.0 / FileTime::PER_SECOND;
    let clocks = Clocks {
        ticks: 1000 * number,
        frequency: 1000,
        system_time: at.utc,
        object_time: 7 * number,
        object_frequency: 7,
    };
    let mut group = Group { clocks, ..Group::new(Arc::clone(set)) };
    group.instances = instances.iter().cloned().map(Arc::new).collect();
    let mut value = i64::MAX - number;
    for _ in 0..instances.len() {
        for counter in &set.counters {
            value -= 1;
            // A block has these numbers once for all values.
            let second = match counter.counter_type {
                CounterType::BULK_COUNT => clocks.ticks,
                CounterType::TIMER_100NS => clocks.system_time.0,
                CounterType::ELAPSED_TIME => clocks.object_time,
                CounterType::LARGE_RAWCOUNT => 0,
                _ => -value,
            };
            group.values.push(RawValue::new(value, second));
        }
    }
    group
}

fn samples(groups: impl Fn(i64, Moment) -> Vec<Group>) -> Vec<Sample> {
    let moment = |number| Moment::from_local(FileTime(fixture::local(number)), 60);
    (0..40)
        .map(|number| Sample {
            at: moment(number),
            groups: groups(number, moment(number)),
            ..Sample::default()
        })
        .collect()
}

fn instances(number: i64) -> Vec<Instance> {
    // Instances appear and disappear; one name is repeated.
    let mut instances = vec![Instance::new(None, "_Total", 0), Instance::new(None, "größe 😀", 0)];
    if number % 3 != 0 {
        instances.push(Instance::new(None, "twice", 0));
        instances.push(Instance::new(None, "twice", 1));
    }
    instances
}

fn zone() -> TimeZone {
    TimeZone::fixed("W. Europe Standard Time", 60)
}

#[test]
fn the_decoder_reads_single_and_multi_records() {
    let mut single = set("Single", Extent::Row, &[CounterType::BULK_COUNT]);
    let of_single = Instance::new(Some("parent"), "child", 2);
    single.instance = Some(Arc::new(of_single.clone()));
    let mut alone = set("Alone", Extent::Row, &[CounterType::LARGE_RAWCOUNT]);
    alone.has_instances = false;
    let column = set("Column", Extent::Columns, &[CounterType::TIMER_100NS]);
    let [single, alone, column] = [single, alone, column].map(Arc::new);
    let samples = samples(|number, at| {
        let mut groups = vec![
            group(&single, std::slice::from_ref(&of_single), at),
            group(&alone, &[Instance::none()], at),
            group(&column, &instances(number), at),
        ];
        if number == 5 {
            groups[0].values[0] = RawValue::error(Status::NO_MACHINE);
        }
        groups
    });
    for buffer_bytes in [1024, 0x10000] {
        let file = write(&samples, BlgWriterOptions { buffer_bytes, ..BlgWriterOptions::new(zone()) });
        check(&file, &samples, &format!("multi-{buffer_bytes}.blg"));
    }
}

#[test]
fn the_decoder_reads_circular_and_appended_logs() {
    let column = Arc::new(set("Column", Extent::Columns, &[CounterType::TIMER_100NS]));
    let samples = samples(|number, at| vec![group(&column, &instances(number), at)]);
    for (buffer_bytes, buffers) in [(1024, 8), (1024, 11), (1536, 12), (0x10000, 5)] {
        let mut options = BlgWriterOptions { buffer_bytes, ..BlgWriterOptions::new(zone()) };
        options.circular_bytes = Some(buffers * buffer_bytes as u64);
        let file = write(&samples, options);
        let left = samples_of(&file).len();
        assert!(left == 40 || left < 30, "{left} are left of {buffers} buffers");
        check(&file, &samples[40 - left..], &format!("circular-{buffer_bytes}-{buffers}.blg"));
    }
    for buffer_bytes in [1024, 0x10000] {
        let options = BlgWriterOptions { buffer_bytes, ..BlgWriterOptions::new(zone()) };
        let frequency = options.performance_frequency;
        let mut file = Cursor::new(write(&samples[..15], options));
        for part in [15..16, 16..40] {
            let mut writer = BlgWriter::append(&mut file, frequency).expect("a log");
            for sample in &samples[part] {
                writer.write(sample).expect("written");
            }
            writer.finish().expect("finished");
        }
        check(file.get_ref(), &samples, &format!("appended-{buffer_bytes}.blg"));
    }
}

#[test]
fn the_decoder_reads_block_records() {
    use CounterType as T;
    let types = [
        T::BULK_COUNT,
        T::TIMER_100NS,
        T::ELAPSED_TIME,
        T::LARGE_RAWCOUNT,
        T::AVERAGE_BULK,
        T::PRECISION_100NS_TIMER,
    ];
    let table = Arc::new(set("Table", Extent::Table, &types));
    let mut alone = set("Alone", Extent::Table, &types[..2]);
    alone.has_instances = false;
    let alone = Arc::new(alone);
    let threads = Arc::new(set("Thread", Extent::Table, &types[..1]));
    let samples = samples(|number, at| {
        let children = [Some("idle"), Some("shell"), Some("shell")]
            .map(|parent| Instance::new(parent, &number.to_string(), 0));
        vec![
            group(&table, &instances(number), at),
            group(&alone, &[Instance::none()], at),
            group(&threads, &children[..2], at),
        ]
    });
    for buffer_bytes in [1024, 0x10000] {
        let file = write(&samples, BlgWriterOptions { buffer_bytes, ..BlgWriterOptions::new(zone()) });
        check(&file, &samples, &format!("block-{buffer_bytes}.blg"));
    }
}

#[test]
fn the_reader_agrees_on_real_logs() {
    let Some(folder) = std::env::var_os("TACHO_CORPUS") else {
        eprintln!("skipped: no corpus (set TACHO_CORPUS to its folder)");
        return;
    };
    for name in ["BasicPerfCounters.blg", "SampleLog.blg"] {
        let file = std::fs::read(Path::new(&folder).join(name)).expect("a log of the corpus");
        check(&file, &samples_of(&file), name);
    }
}

#[test]
fn without_python_a_check_is_skipped() {
    assert_eq!(
        fixture::python::run("no-such-python", false, "independent_blg.py", b"", "skipped.blg", &[]),
        None
    );
}

#[test]
#[should_panic(expected = "no-such-python cannot be run")]
fn without_python_a_required_check_fails() {
    fixture::python::run("no-such-python", true, "independent_blg.py", b"", "required.blg", &[]);
}

//! Generates BLGs of multi records (one counter, all instances) with one sample per second. The same shape results in the same
//! bytes.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, InstanceTable, Instances};
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::{CounterType, RawValue};
use tachograph_logs::LogWriter;
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};

/// The number of counters, of instances per counter, and of samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) counters: usize,
    pub(crate) instances: usize,
    pub(crate) samples: u64,
}

/// 2026-01-05 00:00 UTC, in 100 ns units since 1601.
const START: i64 = 134_120_448_000_000_000;

const TYPES: [CounterType; 4] = [
    CounterType::TIMER_100NS,
    CounterType::BULK_COUNT,
    CounterType::LARGE_RAWCOUNT,
    CounterType::AVERAGE_BULK,
];

/// Writes a log.
pub(crate) fn write_log(path: &Path, shape: Shape) {
    let mut table = InstanceTable::default();
    let instances: Instances =
        (0..shape.instances).map(|number| table.intern(None, &format!("i{number:03}"), 0)).collect();
    let mut sample = Sample::default();
    for number in 0..shape.counters {
        let mut set = CounterSet::new("BENCH", "Synthetic", Extent::Columns);
        let name = format!("Counter {number}");
        set.counters = vec![Counter::new(name.as_str(), TYPES[number % TYPES.len()], 10_000_000)];
        let mut group = Group::new(Arc::new(set));
        group.instances = Arc::clone(&instances);
        group.values = vec![RawValue::new(0, 0); shape.instances];
        sample.groups.push(group);
    }
    let mut options = BlgWriterOptions::new(TimeZone::utc());
    options.guid = Some([7; 16]);
    let file = BufWriter::with_capacity(1 << 20, File::create(path).expect("the folder is writable"));
    let mut writer = BlgWriter::new(file, options).expect("a writer");
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for second in 0..shape.samples as i64 {
        let now = START + second * FileTime::PER_SECOND;
        sample.at = Moment { utc: FileTime(now), bias_minutes: 0 };
        for group in &mut sample.groups {
            let kind = group.set.counters[0].counter_type;
            for raw in &mut group.values {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let step = (random % 5_000_000) as i64;
                raw.multi_count = 1;
                match kind {
                    CounterType::LARGE_RAWCOUNT => raw.first = step,
                    CounterType::AVERAGE_BULK => {
                        (raw.first, raw.second) = (raw.first + step, raw.second + step / 4096);
                    }
                    _ => (raw.first, raw.second) = (raw.first + step, now),
                }
            }
        }
        writer.write(&sample).expect("a sample can be written");
    }
    writer.finish().expect("a log can be finished");
}

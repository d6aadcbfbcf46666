//! Generates logs for benchmarks: the same arguments always produce the same bytes.
//!
//! The machine of the log has processes with 28 counters of the types of Windows' `Process` (timers, rates, counts, an
//! elapsed time, an average with its base), sampled once per second. Two of three instances are busy: their counters increase
//! by pseudo-random steps. Every third instance is idle, as most processes are.

use std::io::{Cursor, Seek, Write};
use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, InstanceTable, Instances, TitleIndexes};
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::{CounterType, RawValue, Subtype, TimeBase};
use tachograph_logs::LogWriter;
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};

/// The kind of records of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Records {
    /// One multi record per counter.
    Multi,
    /// One block record for all counters.
    Block,
}

const FREQUENCY: i64 = 10_000_000;
/// 2026-01-05 00:00 UTC, in 100 ns units since 1601.
const START: i64 = 134_120_448_000_000_000;

const TYPES: [CounterType; 7] = [
    CounterType::TIMER_100NS,
    CounterType::BULK_COUNT,
    CounterType::LARGE_RAWCOUNT,
    CounterType::COUNTER_COUNTER,
    CounterType::AVERAGE_BULK,
    CounterType::ELAPSED_TIME,
    CounterType::LARGE_RAW_FRACTION,
];
const COUNTERS: usize = 28;

/// Writes a log of at least `bytes` bytes; returns its number of raw values.
pub(crate) fn write_log<W: Write + Seek>(out: W, records: Records, instances: usize, bytes: u64) -> u64 {
    let mut options = BlgWriterOptions::new(TimeZone::utc());
    options.guid = Some([7; 16]);
    let mut writer = BlgWriter::new(out, options).expect("the log is created");
    let mut machine = Machine::new(records, instances);
    // Every multi record contains names in addition to 24 bytes per value.
    let value_bytes = match records {
        Records::Multi => 44,
        Records::Block => 13,
    };
    let mut values = 0;
    while values * value_bytes < bytes {
        let sample = machine.next();
        values += sample.len() as u64;
        writer.write(sample).expect("the sample is written");
    }
    writer.finish().expect("the log is finished");
    values
}

/// A log in memory, with its number of raw values.
#[allow(dead_code, reason = "not all programs that include this file use it")]
pub(crate) fn log_in_memory(records: Records, instances: usize, bytes: u64) -> (Vec<u8>, u64) {
    let mut log = Cursor::new(Vec::new());
    let values = write_log(&mut log, records, instances, bytes);
    (log.into_inner(), values)
}

struct Machine {
    sample: Sample,
    second: i64,
    random: u64,
}

impl Machine {
    fn new(records: Records, count: usize) -> Self {
        let mut table = InstanceTable::default();
        let instances: Instances = (0..count)
            .map(|index| table.intern(None, &format!("proc{:03}", index / 4), index as u32 % 4))
            .collect();
        let counters: Vec<_> = (0..COUNTERS)
            .map(|index| {
                let mut counter = Counter::new(
                    format!("Counter {index}/sec").as_str(),
                    TYPES[index % TYPES.len()],
                    FREQUENCY,
                );
                counter.indexes = Some(TitleIndexes { name: 6000 + 2 * index as u32, help: 0 });
                counter
            })
            .collect();
        let set = |counters: Vec<Counter>, extent| {
            let mut set = CounterSet::new("BENCH", "Generated Process", extent);
            set.counters = counters;
            set.indexes = Some(TitleIndexes { name: 5000, help: 5001 });
            Arc::new(set)
        };
        let sets = match records {
            Records::Multi => {
                counters.into_iter().map(|counter| set(vec![counter], Extent::Columns)).collect()
            }
            Records::Block => vec![set(counters, Extent::Table)],
        };
        let mut sample = Sample::default();
        for set in sets {
            let mut group = Group::new(set);
            group.instances = Arc::clone(&instances);
            group.values = vec![RawValue::default(); count * group.set.counters.len()];
            group.clocks.frequency = FREQUENCY;
            group.clocks.object_frequency = FREQUENCY;
            sample.groups.push(group);
        }
        Self { sample, second: 0, random: 0x9E37_79B9_7F4A_7C15 }
    }

    fn next(&mut self) -> &Sample {
        let now = START + self.second * FileTime::PER_SECOND;
        self.second += 1;
        self.sample.at = Moment { utc: FileTime(now), bias_minutes: 0 };
        for group in &mut self.sample.groups {
            group.clocks.ticks = now - START;
            group.clocks.system_time = FileTime(now);
            group.clocks.object_time = now;
            let width = group.set.counters.len();
            let ticks = group.clocks.ticks;
            for (row, values) in group.values.chunks_exact_mut(width).enumerate() {
                for (raw, counter) in values.iter_mut().zip(&group.set.counters) {
                    self.random ^= self.random << 13;
                    self.random ^= self.random >> 7;
                    self.random ^= self.random << 17;
                    let busy = row % 3 != 0;
                    let step = if busy { (self.random % 5_000_000) as i64 } else { 0 };
                    advance(raw, counter, step, ticks, now);
                }
            }
        }
        &self.sample
    }
}

fn advance(raw: &mut RawValue, counter: &Counter, step: i64, ticks: i64, now: i64) {
    let kind = counter.counter_type;
    raw.multi_count = 1;
    match (kind.subtype(), kind.time_base()) {
        (Subtype::Decimal, _) => *raw = RawValue::new(step, 0),
        (Subtype::Elapsed, _) => *raw = RawValue::new(START, now),
        (Subtype::Fraction, _) if kind == CounterType::LARGE_RAW_FRACTION => {
            *raw = RawValue::new(step, 5_000_000)
        }
        (Subtype::Fraction, _) => {
            raw.first += step;
            raw.second += step / 4096;
        }
        (_, TimeBase::HundredNs) => *raw = RawValue::new(raw.first + step, now),
        _ => *raw = RawValue::new((raw.first + step) & 0xFFFF_FFFF_FFFF, ticks),
    }
}

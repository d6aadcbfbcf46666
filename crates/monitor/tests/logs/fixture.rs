//! Generated logs: processes that start and end, disks, and restarts of the machine.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, InstanceTable, TitleIndexes};
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::{CounterType, RawValue, Status};
use tachograph_flow::sinks::TextSink;
use tachograph_flow::{Sink, UnionScan};
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};
use tachograph_logs::{Format, LogWriter};

/// 2026-01-05 00:00 UTC, in 100 ns units since 1601.
pub(crate) const START: i64 = 134_120_448_000_000_000;

/// A pseudo-random sequence.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, max: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % max
    }

    pub(crate) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// The events that occur on the generated machine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Life {
    /// Processes start and end, and process ids are reused.
    pub(crate) processes_change: bool,
    /// Occasionally, a sample is marked: as a baseline, as the first one of another log, or as the first after a restart.
    pub(crate) has_marks: bool,
    /// Occasionally, a sample lacks the values of a group.
    pub(crate) groups_miss: bool,
    /// The disks change their counters.
    pub(crate) has_other_disks: bool,
    /// Processes are in one block record instead of multi records.
    pub(crate) has_blocks: bool,
}

pub(crate) struct Machine {
    life: Life,
    random: Random,
    table: InstanceTable,
    disks: Vec<Arc<Instance>>,
    process: Vec<Arc<CounterSet>>,
    disk: Vec<Arc<CounterSet>>,
    /// The index of the name, and the identity, of each running process.
    processes: Vec<(usize, u64)>,
    identity: u64,
    pub(crate) now: i64,
    boot_time: i64,
    log: u32,
    total: i64,
}

const FREQUENCY: i64 = 10_000_000;

impl Machine {
    pub(crate) fn new(name: &str, seed: u64, life: Life) -> Self {
        let counter = |name: &str, kind, number: u32| {
            let mut counter = Counter::new(name, kind, FREQUENCY);
            counter.indexes = Some(TitleIndexes { name: 5000 + 2 * number, help: 0 });
            counter
        };
        let processes = vec![
            counter("% Processor Time", CounterType::TIMER_100NS, 1),
            counter("IO/sec", CounterType::BULK_COUNT, 2),
            counter("Threads", CounterType::RAWCOUNT, 3),
            counter("ID Process", CounterType::LARGE_RAWCOUNT, 4),
            counter("Elapsed Time", CounterType::ELAPSED_TIME, 8),
        ];
        let mut disks = vec![
            counter("Bytes/Read", CounterType::AVERAGE_BULK, 5),
            counter("% Free", CounterType::LARGE_RAW_FRACTION, 6),
        ];
        if life.has_other_disks {
            disks[1] = counter("Queue", CounterType::RAWCOUNT, 7);
        }
        let set = |set: &str, index, counters: Vec<Counter>, extent| {
            let mut set = CounterSet::new(name, set, extent);
            set.counters = counters;
            set.indexes = Some(TitleIndexes { name: index, help: 0 });
            Arc::new(set)
        };
        let each = |name: &str, index, counters: Vec<Counter>| -> Vec<_> {
            let sets = counters.into_iter().map(|counter| set(name, index, vec![counter], Extent::Columns));
            sets.collect()
        };
        let mut table = InstanceTable::default();
        Self {
            life,
            random: Random(seed),
            disks: ["C:", "D:"].map(|name| table.intern(None, name, 0)).to_vec(),
            table,
            process: if life.has_blocks {
                vec![set("Process", 4000, processes, Extent::Table)]
            } else {
                each("Process", 4000, processes)
            },
            disk: each("Disk", 4002, disks),
            processes: vec![(0, 1), (1, 2), (0, 3)],
            identity: 3,
            now: START,
            boot_time: START - 1000,
            log: 0,
            total: 0,
        }
    }

    pub(crate) fn sample(&mut self) -> Sample {
        self.now += 3_000_000 + self.random.below(20_000_000) as i64;
        if self.random.one_in(40) {
            self.now += 600_000_000;
        }
        self.total += self.random.below(5_000_000) as i64;
        if self.life.processes_change {
            self.change_processes();
        }
        let mut is_baseline = false;
        if self.life.has_marks && self.random.one_in(12) {
            match self.random.below(3) {
                0 => is_baseline = true,
                1 => self.log += 1,
                _ => {
                    self.boot_time = self.now - 10;
                    self.total = 0;
                }
            }
        }
        let mut groups = Vec::new();
        for set in self.process.clone().iter().chain(&self.disk.clone()) {
            groups.push(self.group(set));
        }
        Sample {
            at: Moment { utc: FileTime(self.now), bias_minutes: 0 },
            groups,
            is_baseline,
            log: self.log,
            boot_time: FileTime(self.boot_time),
        }
    }

    fn change_processes(&mut self) {
        if self.random.one_in(5) && self.processes.len() > 1 {
            let ended = self.random.below(self.processes.len() as u64) as usize;
            self.processes.remove(ended);
        }
        if self.random.one_in(5) && self.processes.len() < 8 {
            self.identity += 1;
            let index = self.random.below(self.processes.len() as u64 + 1) as usize;
            self.processes.insert(index, (self.random.below(3) as usize, self.identity));
        }
    }

    fn group(&mut self, set: &Arc<CounterSet>) -> Group {
        let mut group = Group::new(Arc::clone(set));
        group.clocks.frequency = FREQUENCY;
        group.clocks.ticks = self.now - START;
        group.clocks.system_time = FileTime(self.now);
        (group.clocks.object_time, group.clocks.object_frequency) = (self.now - START, FREQUENCY);
        if self.life.groups_miss && self.random.one_in(4) {
            group.status = Status::ITEM_NOT_VALIDATED;
            return group;
        }
        let rows: Vec<(Arc<Instance>, u64)> = if &*set.name == "Disk" {
            self.disks.iter().cloned().zip([100, 101]).collect()
        } else {
            let mut counts = [0; 3];
            let processes = self.processes.iter();
            processes
                .map(|&(name, identity)| {
                    counts[name] += 1;
                    (self.table.intern(None, ["a", "b", "c"][name], counts[name] - 1), identity)
                })
                .collect()
        };
        group.instances = rows.iter().map(|(instance, _)| Arc::clone(instance)).collect();
        for (_, identity) in rows {
            for counter in &set.counters {
                group.values.push(self.value(counter, identity as i64));
            }
        }
        group
    }

    fn value(&mut self, counter: &Counter, identity: i64) -> RawValue {
        let sum = self.total * (identity % 5) + identity;
        match counter.counter_type {
            CounterType::TIMER_100NS => RawValue::new(sum / 3, self.now),
            CounterType::BULK_COUNT => RawValue::new(sum, self.now - START),
            CounterType::AVERAGE_BULK => RawValue::new(sum, sum / 100_000),
            CounterType::LARGE_RAW_FRACTION => RawValue::new(self.random.below(1000) as i64, 1000),
            CounterType::ELAPSED_TIME => RawValue::new(identity - 1000, self.now - START),
            _ if &*counter.name == "ID Process" => RawValue::new(identity, 0),
            _ => RawValue::new(self.random.below(100) as i64, 0),
        }
    }

    pub(crate) fn samples(&mut self, count: usize) -> Vec<Sample> {
        (0..count).map(|_| self.sample()).collect()
    }
}

pub(crate) fn write_blg(folder: &Path, name: &str, samples: &[Sample]) -> PathBuf {
    write_blg_with(folder, name, samples, |_| {})
}

pub(crate) fn write_blg_with(
    folder: &Path,
    name: &str,
    samples: &[Sample],
    set: impl FnOnce(&mut BlgWriterOptions),
) -> PathBuf {
    let path = folder.join(name);
    // The buffers are so small that samples extend over several.
    let mut options = BlgWriterOptions { buffer_bytes: 1024, ..BlgWriterOptions::new(TimeZone::utc()) };
    options.boot_time = samples.first().map(|sample| sample.boot_time);
    set(&mut options);
    let mut writer =
        BlgWriter::new(File::create(&path).expect("a log is written"), options).expect("a log is written");
    for sample in samples {
        writer.write(sample).expect("a log is written");
    }
    writer.finish().expect("a log is written");
    path
}

/// A log whose counter list changes midway: the buffers of two logs in one file.
pub(crate) fn write_joined(folder: &Path, name: &str, parts: &[&[Sample]]) -> PathBuf {
    let mut joined = Vec::new();
    for part in parts {
        let path = write_blg(folder, "part", part);
        let bytes = std::fs::read(&path).expect("a log is written");
        joined.extend_from_slice(if joined.is_empty() { &bytes } else { &bytes[1024..] });
        std::fs::remove_file(path).expect("a log is written");
    }
    let path = folder.join(name);
    std::fs::write(&path, joined).expect("a log is written");
    path
}

pub(crate) fn write_csv(folder: &Path, name: &str, samples: &[Sample]) -> PathBuf {
    let path = folder.join(name);
    let mut scan = UnionScan::default();
    samples.iter().for_each(|sample| scan.push(sample).expect("a log is written"));
    let file = File::create(&path).expect("a log is written");
    let mut sink = TextSink::new(file, Format::Csv, TimeZone::utc(), &scan).expect("a log is written");
    samples.iter().for_each(|sample| sink.push(sample).expect("a log is written"));
    sink.finish().expect("a log is written");
    path
}

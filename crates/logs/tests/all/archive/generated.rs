//! Generated recordings with everything that a log can contain.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Clocks, Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, InstanceTable};
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::{CounterType, RawValue, Status};
use tachograph_logs::archive::{ArchiveOptions, ArchiveWriter, archive_inputs, complete_files};
use tachograph_logs::{LogWriter, open};

/// 2026-11-25 23:59:30 UTC, so that the samples are from two dates.
const START: i64 = 134_401_247_700_000_000;

/// A folder that is removed when dropped.
pub(crate) struct TempFolder(pub(crate) PathBuf);

impl TempFolder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("tacho-archive-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).expect("a temporary folder");
        Self(path)
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A generator of random numbers with a fixed sequence.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A recording of all counter types on a machine that is restarted; instances appear, disappear and restart.
pub(crate) fn recording(seed: u64, samples: usize) -> Vec<Sample> {
    let mut random = Random::new(seed);
    let types: Vec<CounterType> = CounterType::all().collect();
    let counter = |(index, counter_type): (usize, &CounterType)| {
        let mut counter = Counter::new(format!("Counter {index}"), *counter_type, 10_000_000);
        counter.data_is_32_bit = index % 3 == 0;
        counter.default_scale = index as i32 % 5 - 2;
        counter
    };
    let counters: Vec<Counter> = types.iter().enumerate().map(counter).collect();
    let mut set_of = |name: &str, extent: Extent, counters: &[Counter], instance: Option<Arc<Instance>>| {
        let mut set = CounterSet::new("web-1", name, extent);
        set.counters = counters.to_vec();
        set.has_instances = name != "Memory";
        set.instance = instance;
        set.default_counter = random.below(2) as u32;
        Arc::new(set)
    };
    let mut table = InstanceTable::default();
    let fixed = table.intern(Some("parent"), "fixed", 3);
    let sets = [
        set_of("Memory", Extent::Table, &counters, None),
        set_of("Process", Extent::Columns, &counters, None),
        // A counter occurs twice: in its own group and in that of its set.
        set_of("Process", Extent::Columns, &counters[..1], None),
        set_of("Thread", Extent::Row, &counters[5..7], Some(Arc::clone(&fixed))),
    ];
    let mut random = Random::new(seed ^ 0xABCD);
    let mut boot_time = FileTime(START - 1_000_000_000);
    let mut utc = START;
    // Indexed by set, instance and column.
    let mut raws: std::collections::HashMap<(usize, String, usize), RawValue> =
        std::collections::HashMap::new();
    let mut alive: Vec<(String, u64)> = (0..40).map(|pid| (format!("worker{}", pid % 7), pid + 1)).collect();
    let mut generated = Vec::new();
    for index in 0..samples {
        utc += 10_000_000 + random.below(2000) as i64 - 1000;
        if random.one_in(40) {
            boot_time = FileTime(utc - 50);
            raws.clear();
        }
        if random.one_in(5) {
            let at = random.below(alive.len() as u64) as usize;
            alive.remove(at);
            alive.push((format!("worker{}", random.below(9)), 1000 + index as u64));
        }
        let mut sample = Sample {
            at: Moment { utc: FileTime(utc), bias_minutes: if index < samples / 2 { -60 } else { -120 } },
            is_baseline: index == 0 && seed.is_multiple_of(2),
            log: (index / 50) as u32,
            boot_time,
            groups: Vec::new(),
        };
        for (at, set) in sets.iter().enumerate() {
            // The list of groups changes.
            if at == 3 && (20..25).contains(&(index % 30)) {
                continue;
            }
            let mut group = Group::new(Arc::clone(set));
            if at == 2 && random.one_in(7) {
                group.status = Status::ITEM_NOT_VALIDATED;
                sample.groups.push(group);
                continue;
            }
            let labels: Vec<(Arc<Instance>, u64)> = match at {
                0 => vec![(Arc::new(Instance::none()), 0)],
                3 if index % 11 == 10 => Vec::new(),
                3 => vec![(Arc::clone(&fixed), 0)],
                _ => {
                    let mut used = std::collections::HashMap::new();
                    let instance = |(name, pid): &(String, u64)| {
                        let number: &mut u32 = used.entry(name.clone()).or_default();
                        *number += 1;
                        (table.intern(None, name, *number - 1), *pid)
                    };
                    alive.iter().map(instance).collect()
                }
            };
            if at == 0 {
                group.clocks = Clocks { ticks: utc * 3, frequency: 10, ..Clocks::default() };
                group.read_at = FileTime(utc + 7);
            }
            group.identities = labels.iter().map(|(_, pid)| *pid).collect();
            group.instances = labels.iter().map(|(instance, _)| Arc::clone(instance)).collect();
            for (instance, _) in &labels {
                for column in 0..set.counters.len() {
                    let key = (at, instance.label().to_owned(), column);
                    let raw =
                        raws.entry(key).or_insert_with(|| RawValue::new(random.below(1000) as i64, utc));
                    advance(raw, set.counters[column].counter_type, &mut random, utc);
                    let shown = if random.one_in(60) { RawValue::error(Status::NO_INSTANCE) } else { *raw };
                    group.values.push(shown);
                }
            }
            sample.groups.push(group);
        }
        generated.push(sample);
    }
    generated
}

fn advance(raw: &mut RawValue, counter_type: CounterType, random: &mut Random, utc: i64) {
    if counter_type == CounterType::DOUBLE_RAW {
        raw.first = (random.below(1000) as f64 / 7.0).to_bits() as i64;
    } else if !random.one_in(3) {
        raw.first = raw.first.wrapping_add(random.below(5000) as i64);
    }
    raw.second = utc;
    match random.below(100) {
        // A reset.
        0 => raw.first = 0,
        1 => raw.first = i64::MIN + 5,
        2 => raw.first = -1,
        3 => raw.second = 0,
        4 => raw.multi_count = random.below(5) as u32,
        5 => raw.status = Status::NEW_DATA,
        6 => raw.status = Status::VALID_DATA,
        7 => raw.status = Status(0x8123_4567),
        8 => raw.first = i64::MAX - 3,
        _ => raw.status = Status::VALID_DATA,
    }
}

/// Writes samples into a folder.
pub(super) fn write(folder: &Path, samples: &[Sample], block_values: usize) {
    let mut options = ArchiveOptions::new(TimeZone::utc());
    options.block_values = block_values;
    options.performance_frequency = Some(10_000_000);
    let mut writer = ArchiveWriter::new(folder, options);
    samples.iter().for_each(|sample| writer.write(sample).expect("the sample is written"));
    writer.finish().expect("the archive is complete");
}

/// Reads all samples of the machines of an archive, one machine after another.
pub(super) fn read(folder: &Path) -> Vec<Sample> {
    let mut samples = Vec::new();
    for input in archive_inputs(folder).expect("an archive") {
        let mut reader = open(&input.folder).expect("the machine can be opened");
        let mut sample = Sample::default();
        while reader.next(&mut sample).expect("the samples can be read") {
            samples.push(sample.clone());
        }
    }
    samples
}

/// A sample as text, without identities, which logs do not store. Rows are sorted by instance, because all samples of a
/// row group in an archive have the same order.
pub(super) fn shown(sample: &Sample) -> String {
    let mut text = format!(
        "{} {} baseline {} log {} boot {}\n",
        sample.at.utc.0, sample.at.bias_minutes, sample.is_baseline, sample.log, sample.boot_time.0
    );
    for group in &sample.groups {
        let Group { status, read_at, clocks, boot_time, .. } = group;
        text += &format!(
            " {} {:?} {:?} {} counters {status:?} {read_at:?} {clocks:?} {boot_time:?}\n",
            group.set.name,
            group.set.extent,
            group.set.instance,
            group.set.counters.len(),
        );
        let mut rows: Vec<_> = group.instances.iter().zip(group.rows()).collect();
        rows.sort_by_key(|(instance, _)| instance.label().to_owned());
        for (instance, row) in rows {
            let name = (instance.parent(), instance.name(), instance.index());
            for (counter, raw) in group.set.counters.iter().zip(row) {
                text += &format!("  {name:?} {counter:?} {raw:?}\n");
            }
        }
    }
    text
}

/// The files of an archive.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let machines = archive_inputs(folder).expect("an archive").into_iter();
    let files = machines.flat_map(|input| complete_files(&input.folder).expect("files"));
    files.map(|file| file.path).collect()
}

/// The bytes of a file.
pub(super) fn bytes(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).expect("the file can be read");
    bytes
}

//! Generates archives for `bench/sql`, and measures its baseline: only decoding the columns of a query.
//!
//! `machine_days generate FOLDER DAYS` writes DAYS machines with one day each and 12 values per second (1,036,800 rows
//! a day). `machine_days decode FOLDER` decodes on all processors the columns and rows that a query of `average(*)` of
//! one counter per machine and hour reads, and prints the number of rows.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, InstanceTable, Instances};
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::{CounterType, RawValue};
use tachograph_logs::LogWriter as _;
use tachograph_logs::archive::{
    ARCHIVE_COLUMNS, ArchiveOptions, ArchiveRows, ArchiveWriter, ColumnValues, RowColumn, archive_inputs,
    complete_files,
};

/// 2026-03-01 00:00:00 UTC.
const START: i64 = 134_168_832_000_000_000;
const SECOND: i64 = 10_000_000;
const DAY_SECONDS: i64 = 86_400;
/// The counter of the query.
const COUNTER: &str = "Avg. Disk sec/Read";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["generate", folder, days] => match days.parse() {
            Ok(days) => generate(Path::new(folder), days),
            Err(_) => Err(format!("{days}: not a number of days")),
        },
        ["decode", folder] => decode(Path::new(folder)),
        _ => Err("usage: machine_days generate FOLDER DAYS | decode FOLDER".to_owned()),
    };
    match outcome {
        Ok(rows) => {
            println!("{rows} rows");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("machine_days: {message}");
            ExitCode::FAILURE
        }
    }
}

/// One counter set of a machine, its instances and raw values.
struct GeneratedSet {
    set: Arc<CounterSet>,
    instances: Instances,
    raws: Vec<RawValue>,
}

fn sets(machine: &str) -> Vec<GeneratedSet> {
    let set = |name: &str, instances: &[&str], counters: &[(&str, CounterType)]| {
        let mut set = CounterSet::new(machine, name, Extent::Table);
        set.has_instances = !instances.is_empty();
        set.counters = counters.iter().map(|(name, kind)| Counter::new(*name, *kind, SECOND)).collect();
        let mut table = InstanceTable::default();
        let named = instances.iter().map(|name| table.intern(None, name, 0));
        let rows: Vec<Arc<Instance>> =
            if instances.is_empty() { vec![Arc::new(Instance::none())] } else { named.collect() };
        let raws = vec![RawValue::new(1000, 1000); rows.len() * counters.len()];
        GeneratedSet { set: Arc::new(set), instances: rows.into(), raws }
    };
    vec![
        set(
            "Memory",
            &[],
            &[("Available Bytes", CounterType::LARGE_RAWCOUNT), ("Pages/sec", CounterType::COUNTER_COUNTER)],
        ),
        set(
            "PhysicalDisk",
            &["0 C:", "_Total"],
            &[
                (COUNTER, CounterType::AVERAGE_TIMER),
                ("Avg. Disk sec/Write", CounterType::AVERAGE_TIMER),
                ("Disk Reads/sec", CounterType::COUNTER_COUNTER),
                ("Disk Read Bytes/sec", CounterType::BULK_COUNT),
            ],
        ),
        set(
            "Processor",
            &["_Total"],
            &[
                ("% Processor Time", CounterType::TIMER_INV_100NS),
                ("Interrupts/sec", CounterType::COUNTER_COUNTER),
            ],
        ),
    ]
}

fn generate(folder: &Path, days: usize) -> Result<u64, String> {
    let mut rows = 0;
    for day in 0..days {
        let mut random = day as u64 * 0x9E37_79B9 + 1;
        let mut below = |end: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % end
        };
        let mut generated = sets(&format!("web-{day:04}"));
        let mut writer = ArchiveWriter::new(folder, ArchiveOptions::new(TimeZone::utc()));
        let mut sample = Sample::default();
        for second in 0..DAY_SECONDS {
            let utc = START + second * SECOND + below(2000) as i64;
            sample.at = Moment { utc: FileTime(utc), bias_minutes: 0 };
            sample.groups.clear();
            for GeneratedSet { set, instances, raws } in &mut generated {
                let width = set.counters.len();
                for (index, raw) in raws.iter_mut().enumerate() {
                    let is_operation = set.counters[index % width].counter_type == CounterType::AVERAGE_TIMER;
                    let activity = if below(3) == 0 { 0 } else { below(1 + index as u64 * 30_000) as i64 };
                    raw.first += activity;
                    raw.second = if is_operation { raw.second + activity / 2000 } else { utc };
                }
                let mut group = Group::new(Arc::clone(set));
                group.instances = Arc::clone(instances);
                group.values.clone_from(raws);
                rows += raws.len() as u64;
                sample.groups.push(group);
            }
            writer.write(&sample).map_err(|error| error.to_string())?;
        }
        writer.finish().map_err(|error| error.to_string())?;
    }
    Ok(rows)
}

fn decode(folder: &Path) -> Result<u64, String> {
    let inputs = archive_inputs(folder).map_err(|error| error.to_string())?;
    let mut files: Vec<PathBuf> = Vec::new();
    for input in inputs {
        let complete = complete_files(&input.folder).map_err(|error| error.to_string())?;
        files.extend(complete.into_iter().map(|file| file.path));
    }
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let decode = || {
            let mut rows = 0;
            while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                rows += decode_file(file).map_err(|error| error.to_string())?;
            }
            Ok(rows)
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(decode)).collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a thread failed".to_owned())))
            .sum()
    })
}

fn decode_file(path: &Path) -> Result<u64, tachograph_logs::LogError> {
    use RowColumn::{Den, Factor, MultiCount, Num, Time, Type, Value};
    let mut file = ArchiveRows::open(path)?;
    let groups = file.row_groups().count();
    let mut rows = 0;
    for index in 0..groups {
        let group = file.row_group(index)?;
        let total = file.row_groups().nth(index).map_or(0, |span| span.rows);
        let all = 0..total;
        let ColumnValues::Texts(counters) =
            file.column(&group, RowColumn::Counter, std::slice::from_ref(&all))?
        else {
            continue;
        };
        let wanted_text =
            counters.dictionary.iter().position(|name| name == COUNTER).map(|index| index as u32);
        let (mut ranges, mut row) = (Vec::new(), 0);
        for (text, len) in counters.runs {
            if text == wanted_text {
                ranges.push(row..row + len);
            }
            row += len;
        }
        for column in ARCHIVE_COLUMNS {
            if matches!(column, Type | Factor | Num | Den | Value | MultiCount | Time) {
                std::hint::black_box(file.column(&group, column, &ranges)?);
            }
        }
        rows += ranges.iter().map(|range| range.len() as u64).sum::<u64>();
    }
    Ok(rows)
}

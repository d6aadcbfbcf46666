//! Generates the log that the C programs read.
//!
//! Machine BOX, 11 samples, one second apart, with a bias of 480 minutes (UTC-8):
//!
//! - `Memory`, without instances: `Available Bytes` = 5,000,000,000 + 1,000 n.
//! - `PhysicalDisk`, instances `0 C:` and `_Total`: `Avg. Disk sec/Read` has one read of 150 ms (2147727 ticks of a clock of
//!   14318180 Hz) between the first and the second sample, and none later, so that the mean of displayed values differs from
//!   the average. `Disk Reads/sec` is 10.
//! - `Process`, instances `busy`, `idle` and `idle#1`: `% Processor Time` is 300, 0 and 50.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_counters::RawValue;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance};
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::LogWriter;
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};

/// 2013-02-19 12:00:00, local.
const START: i64 = 130_057_488_000_000_000;
const BIAS_MINUTES: i32 = 480;
const SAMPLES: i64 = 11;
/// Ticks per second of the disks' clock.
const CLOCK: i64 = 14_318_180;

/// A group with one counter.
fn group(
    set: &str,
    counter: (&str, u32, i64),
    instances: &[(&str, u32)],
    extent: Extent,
    values: Vec<RawValue>,
) -> Group {
    let mut set = CounterSet::new("BOX", set, extent);
    set.counters.push(Counter::new(counter.0, CounterType(counter.1), counter.2));
    let mut rows: Vec<Arc<Instance>> =
        instances.iter().map(|(name, index)| Arc::new(Instance::new(None, name, *index))).collect();
    if extent == Extent::Row {
        rows = vec![Arc::new(Instance::none())];
        set.has_instances = false;
        set.instance = rows.first().cloned();
    }
    let mut group = Group::new(Arc::new(set));
    group.instances = rows.into();
    group.values = values;
    group
}

fn sample(n: i64) -> Sample {
    let read = if n == 0 { RawValue::new(0, 0) } else { RawValue::new(2_147_727, 1) };
    let rate = RawValue::new(10 * n, CLOCK * n);
    let now = FileTime::PER_SECOND * n;
    let disks = [("0 C:", 0), ("_Total", 0)];
    let processes = [("busy", 0), ("idle", 0), ("idle", 1)];
    let shares = [3 * now, 0, now / 2].map(|used| RawValue::new(used, START + now));
    Sample {
        at: Moment::from_local(FileTime(START + now), BIAS_MINUTES),
        groups: vec![
            group(
                "Memory",
                ("Available Bytes", 0x0001_0100, CLOCK),
                &[],
                Extent::Row,
                vec![RawValue::new(5_000_000_000 + 1_000 * n, 0)],
            ),
            group(
                "PhysicalDisk",
                ("Avg. Disk sec/Read", 0x3002_0400, CLOCK),
                &disks,
                Extent::Columns,
                vec![read; 2],
            ),
            group(
                "PhysicalDisk",
                ("Disk Reads/sec", 0x1041_0400, CLOCK),
                &disks,
                Extent::Columns,
                vec![rate; 2],
            ),
            group(
                "Process",
                ("% Processor Time", 0x2051_0500, FileTime::PER_SECOND),
                &processes,
                Extent::Columns,
                shares.to_vec(),
            ),
        ],
        ..Sample::default()
    }
}

/// Writes the log.
pub(crate) fn write(path: &Path) {
    let zone = TimeZone::fixed("Pacific Standard Time", BIAS_MINUTES);
    let file = File::create_new(path).expect("a new file");
    let mut writer = BlgWriter::new(file, BlgWriterOptions::new(zone)).expect("a log");
    let first = sample(0);
    for n in 0..SAMPLES {
        let mut next = sample(n);
        // Samples share their descriptions, as those of a recorder do.
        for (group, described) in next.groups.iter_mut().zip(&first.groups) {
            group.set = Arc::clone(&described.set);
            group.instances = Arc::clone(&described.instances);
        }
        writer.write(&next).expect("written");
    }
    writer.finish().expect("written");
}

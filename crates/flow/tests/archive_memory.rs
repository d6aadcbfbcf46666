//! Tests that the memory for merging files does not depend on their size, and that a short time range is read without the
//! rest of the archive. A separate test program, because it counts allocations.

use std::path::Path;
use std::sync::Arc;

use peak_alloc::PeakAlloc;
use tachograph_counters::civil::{FileTime, Moment, TimeArgument};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, InstanceTable};
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::{CounterType, RawValue};
use tachograph_flow::archive::ArchiveStore;
use tachograph_flow::query::LogQuery;
use tachograph_flow::{Selection, WindowBounds};
use tachograph_logs::LogWriter as _;
use tachograph_logs::archive::{ArchiveOptions, ArchiveWriter, DiskStorage, complete_files};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// 2024-03-05 00:00:00 UTC.
const MIDNIGHT: FileTime = FileTime(133_540_704_000_000_000);

/// Generates samples of a machine with one set, whose counters grow irregularly.
struct Generated {
    sample: Sample,
    state: u64,
}

impl Generated {
    fn new(instances: u32, counters: usize) -> Self {
        let mut set = CounterSet::new("M", "Process", Extent::Columns);
        set.counters.extend(
            (0..counters).map(|at| Counter::new(format!("C{at}"), CounterType::BULK_COUNT, 10_000_000)),
        );
        let mut table = InstanceTable::default();
        let mut group = Group::new(Arc::new(set));
        group.instances = (0..instances).map(|at| table.intern(None, &format!("process {at}"), 0)).collect();
        group.values = vec![RawValue::new(0, 0); instances as usize * counters];
        Self { sample: Sample { groups: vec![group], ..Sample::default() }, state: 0x2545_F491_4F6C_DD1D }
    }

    /// The sample at a time.
    fn at(&mut self, utc: FileTime) -> &Sample {
        self.sample.at = Moment { utc, bias_minutes: 0 };
        for value in &mut self.sample.groups[0].values {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            // Most processes are idle.
            value.first += if self.state.is_multiple_of(8) { (self.state >> 40) as i64 } else { 0 };
            value.second = utc.0;
        }
        &self.sample
    }
}

/// Writes a file with a sample every `step` units of 100 ns.
fn write(folder: &Path, generated: &mut Generated, first: FileTime, step: i64, samples: i64) {
    let options = ArchiveOptions { level: 1, ..ArchiveOptions::new(TimeZone::fixed("UTC", 0)) };
    let mut writer = ArchiveWriter::new(folder, options);
    for index in 0..samples {
        writer.write(generated.at(first.saturating_add(index * step))).expect("disk space");
    }
    writer.finish().expect("disk space");
}

#[test]
fn merging_archives_takes_little_memory_and_only_the_requested_hour_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = folder.path().join("A");
    // Files of 1.1 million values each.
    let mut generated = Generated::new(2000, 28);
    for file in 0..4 {
        let first = MIDNIGHT.saturating_add(file * 10 * FileTime::PER_MINUTE);
        write(&archive, &mut generated, first, 30 * FileTime::PER_SECOND, 20);
    }
    drop(generated);
    let store = ArchiveStore::new(&archive, "M", Arc::new(DiskStorage)).expect("a short name");
    store.create_folders().expect("disk space");
    let date = store.dates_to_merge(MIDNIGHT.saturating_add(FileTime::PER_DAY)).expect("folders").remove(0);
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let merged = store.merge(&date, &|| false).expect("disk space");
    let peak = ALLOCATED.peak_usage().saturating_sub(before);
    assert_eq!(merged.files, (4, 1));
    assert!(peak < 256 << 20, "{peak} bytes");

    // Thirty days of 10 counters of 50 instances, every minute.
    let month = folder.path().join("M");
    let mut generated = Generated::new(50, 10);
    for day in 1..31 {
        let first = MIDNIGHT.saturating_add(day * FileTime::PER_DAY);
        write(&month, &mut generated, first, 60 * FileTime::PER_SECOND, 24 * 60);
    }
    let mut query = LogQuery::new(vec![month.clone()]);
    let begin = MIDNIGHT.saturating_add(17 * FileTime::PER_DAY + 14 * 60 * FileTime::PER_MINUTE);
    let end = begin.saturating_add(60 * FileTime::PER_MINUTE);
    query.bounds = WindowBounds { begin: Some(TimeArgument::Utc(begin)), end: Some(TimeArgument::Utc(end)) };
    let path = PathPattern::parse(r"\Process(process 7)\C3").expect("a path");
    query.selection = Selection::new(vec![path]);
    let mut pipeline = query.samples().expect("an archive");
    let (mut sample, mut counted) = (Sample::default(), 0);
    while pipeline.source.next(&mut sample).expect("readable files") {
        counted += u64::from(!sample.is_baseline);
    }
    assert_eq!(counted, 60);
    let read = pipeline.reports[0].bytes_read();
    let files = complete_files(&month.join("machine=M")).expect("files");
    let total: u64 = files.iter().map(|file| std::fs::metadata(&file.path).expect("a file").len()).sum();
    assert!(read * 100 < total, "{read} of {total} bytes");
}

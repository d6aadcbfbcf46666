//! Writing allocates nothing in the steady state. A separate test program, because it counts allocations.

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use peak_alloc::PeakAlloc;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, Instances};
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::{CounterType, IgnorePoison, RawValue, Status};
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};
use tachograph_logs::text::{Column, TextWriter};
use tachograph_logs::{Format, LogWriter};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Held during a measurement, because the tests of this binary share one allocator.
static MEASURED: Mutex<()> = Mutex::new(());

/// Runs `run` several times, and returns the minimum of the peaks of allocated bytes, because the test harness can
/// allocate on another thread.
fn min_allocated(mut run: impl FnMut()) -> usize {
    let measured = |run: &mut dyn FnMut()| {
        let before = ALLOCATED.current_usage();
        ALLOCATED.reset_peak_usage();
        run();
        ALLOCATED.peak_usage().saturating_sub(before)
    };
    (0..10).map(|_| measured(&mut run)).min().unwrap_or_default()
}

fn instances(count: usize, first: usize) -> Instances {
    (first..first + count).map(|n| Arc::new(Instance::new(None, &format!("process {n}"), 0))).collect()
}

/// A recorder's sample: 40 counters of 500 instances.
fn sample() -> Sample {
    let instances = instances(500, 0);
    let groups = (0..40).map(|number| {
        let mut set = CounterSet::new("HERE", "Process", Extent::Columns);
        set.counters.push(Counter::new(format!("Counter {number}"), CounterType::BULK_COUNT, 10_000_000));
        let mut group = Group::new(Arc::new(set));
        group.instances = Arc::clone(&instances);
        group.values = (0..500).map(|row| RawValue::new(row, 2)).collect();
        group
    });
    let at = Moment::from_local(FileTime(130_057_734_000_000_000), 0);
    Sample { at, groups: groups.collect(), ..Sample::default() }
}

fn assert_steady_state_allocates_nothing<W: std::io::Write + std::io::Seek>(mut writer: BlgWriter<W>) {
    let mut sample = sample();
    // Every second value of one group is an error.
    for raw in sample.groups[3].values.iter_mut().step_by(2) {
        *raw = RawValue::error(Status::NO_INSTANCE);
    }
    // Instances change: the same number, with names of the same length.
    let other_instances = [instances(500, 100), instances(500, 200)];
    let write_next_second = |sample: &mut Sample, writer: &mut BlgWriter<W>| {
        sample.at.utc = sample.at.utc.saturating_add(FileTime::PER_SECOND);
        writer.write(sample).expect("written");
        writer.flush().expect("flushed");
    };
    for instances in &other_instances {
        sample.groups[5].instances = Arc::clone(instances);
        write_next_second(&mut sample, &mut writer);
    }
    write_next_second(&mut sample, &mut writer);
    let mut turn = 0;
    let allocated = min_allocated(|| {
        turn += 1;
        sample.groups[5].instances = Arc::clone(&other_instances[turn % 2]);
        write_next_second(&mut sample, &mut writer);
    });
    assert_eq!(allocated, 0, "bytes for a sample");
}

#[test]
fn writing_a_binary_log_allocates_nothing() {
    let _alone = MEASURED.lock().ignore_poison();
    let options = BlgWriterOptions::new(TimeZone::utc());
    let room = || Cursor::new(vec![0; 64 << 20]);
    assert_steady_state_allocates_nothing(
        BlgWriter::new(room(), options.clone()).expect("the options are valid"),
    );
    let ring = BlgWriterOptions { circular_bytes: Some(4 << 20), ..options.clone() };
    assert_steady_state_allocates_nothing(BlgWriter::new(room(), ring).expect("the options are valid"));

    // Appending does not allocate either.
    let mut writer = BlgWriter::new(Cursor::new(Vec::new()), options.clone()).expect("the options are valid");
    let mut first = sample();
    first.at.utc = first.at.utc.saturating_sub(FileTime::PER_SECOND);
    writer.write(&first).expect("written");
    writer.finish().expect("finished");
    let mut file = writer.get_ref().clone();
    file.get_mut().reserve(64 << 20);
    assert_steady_state_allocates_nothing(
        BlgWriter::append(file, options.performance_frequency).expect("the log can be appended to"),
    );
}

#[test]
fn writing_a_text_log_allocates_nothing() {
    let _alone = MEASURED.lock().ignore_poison();
    let columns = (0..20_000).map(|n| Column { path: format!(r"\\HERE\Process(process {n})\Counter") });
    let out = Cursor::new(vec![0; 64 << 20]);
    let mut writer =
        TextWriter::new(out, Format::Csv, TimeZone::utc(), columns.collect()).expect("the header is written");
    let mut second = 0;
    let mut write = || {
        second += 1;
        let at = Moment::from_local(FileTime(130_057_734_000_000_000 + second * FileTime::PER_SECOND), 0);
        let values = (0..20_000).map(|n| (n % 7 > 0).then_some(f64::from(n) / 3.0 + second as f64));
        writer.write_row(at, values).expect("written");
        writer.flush().expect("flushed");
    };
    write();
    assert_eq!(min_allocated(write), 0, "bytes for a row");
}

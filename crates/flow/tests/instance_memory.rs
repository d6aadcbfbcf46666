//! Tests that the memory of statistics and selections depends on the number of instances, not on their ids. A separate test
//! program, since it counts allocations.

use std::sync::{Arc, Mutex, MutexGuard};

use peak_alloc::PeakAlloc;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, InstanceTable};
use tachograph_counters::{CounterType, IgnorePoison, RawValue};
use tachograph_flow::sinks::{StatisticsOptions, StatisticsSink};
use tachograph_flow::{FlowError, Select, Selection, Sink, Source};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Locked during a measurement: the tests of this binary share one allocator.
static MEASURED: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    MEASURED.lock().ignore_poison()
}

/// Peak of the memory that `run` allocates, in bytes.
fn peak(run: impl FnOnce()) -> usize {
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    run();
    ALLOCATED.peak_usage().saturating_sub(before)
}

const MANY: u32 = 20_000;
const GROUPS: usize = 300;

/// A sample of a hostile log: one record of many instances, then many records of the instance `a#index`.
fn sample(index: u32) -> Sample {
    let mut table = InstanceTable::default();
    let mut group = |counter: String, indexes: &mut dyn Iterator<Item = u32>| {
        let mut set = CounterSet::new("M", "Process", Extent::Columns);
        set.counters.push(Counter::new(counter, CounterType::RAWCOUNT, 0));
        let mut group = Group::new(Arc::new(set));
        group.instances = indexes.map(|index| table.intern(None, "a", index)).collect();
        group.values = vec![RawValue::new(1, 0); group.instances.len()];
        group
    };
    let mut groups = vec![group("All".into(), &mut (0..MANY))];
    groups.extend((0..GROUPS).map(|number| group(format!("Of One {number}"), &mut std::iter::once(index))));
    Sample { at: Moment { utc: FileTime(1), bias_minutes: 0 }, groups, ..Sample::default() }
}

/// Asserts that an instance with the last of many indexes needs no more memory than one with the first.
#[track_caller]
fn assert_high_index_needs_no_memory(bytes_of: impl Fn(Sample) -> usize) {
    let (first, last) = (bytes_of(sample(0)), bytes_of(sample(MANY - 1)));
    assert!(last < first + first / 10, "{last} bytes for the last instance, {first} for the first");
}

#[test]
fn memory_of_statistics_does_not_depend_on_ids() {
    let _alone = alone();
    assert_high_index_needs_no_memory(|sample| {
        peak(|| {
            let options = StatisticsOptions { without_quantiles: true, ..StatisticsOptions::default() };
            let mut sink = StatisticsSink::new(options);
            sink.push(&sample).expect("few counters");
            assert_eq!(sink.len(), MANY as usize + GROUPS);
        })
    });
}

struct Once(Option<Sample>);

impl Source for Once {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        let next = self.0.take();
        let has_next = next.is_some();
        *sample = next.unwrap_or_default();
        Ok(has_next)
    }
}

#[test]
fn memory_of_a_selection_does_not_depend_on_ids() {
    let _alone = alone();
    let path = PathPattern::parse(r"\Process(*)\Of One*").expect("a path");
    assert_high_index_needs_no_memory(|sample| {
        let mut select = Select::new(Once(Some(sample)), Selection::new(vec![path.clone()]));
        let mut out = Sample::default();
        let peak = peak(|| assert!(select.next(&mut out).expect("no error")));
        assert_eq!(out.len(), GROUPS);
        peak
    });
}

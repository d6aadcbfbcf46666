//! Sums over the instances with the same name.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, InstanceTable};
use tachograph_counters::{CounterType, RawValue, Status};
use tachograph_flow::sinks::{StatisticsOptions, StatisticsRow, StatisticsSink};
use tachograph_flow::{NameSums, NameSumsSink, run};

use crate::fixture::{Samples, sample};

const CLOCK: i64 = 1_000;

fn set(counters: &[(&str, CounterType)], extent: Extent) -> Arc<CounterSet> {
    let mut set = CounterSet::new("M", "Process", extent);
    set.counters = counters.iter().map(|&(name, kind)| Counter::new(name, kind, CLOCK)).collect();
    Arc::new(set)
}

fn group(set: &Arc<CounterSet>, table: &mut InstanceTable, rows: &[(u32, u64, Vec<RawValue>)]) -> Group {
    let mut group = Group::new(Arc::clone(set));
    group.instances = rows.iter().map(|(index, ..)| table.intern(None, "svchost", *index)).collect();
    group.identities = rows.iter().map(|(_, identity, _)| *identity).collect();
    group.values = rows.iter().flat_map(|(.., values)| values.clone()).collect();
    group
}

/// Statistics of the sums.
fn sums(samples: Vec<Sample>) -> Vec<StatisticsRow> {
    let mut sink = NameSumsSink::new(StatisticsSink::new(StatisticsOptions::default()));
    run(&mut Samples::new(samples), &mut sink, || {}).expect("no error");
    sink.sink.rows()
}

fn shown(samples: Vec<Sample>) -> Vec<String> {
    sums(samples).iter().map(|row| format!("{} {:?}", row.path, row.summary)).collect()
}

/// Two processes with the same name, and counters of every kind. The second process starts and ends while the first one runs.
#[test]
fn each_formula_sums_the_processes_of_a_name() {
    let kinds = [
        ("Handle Count", CounterType::RAWCOUNT),
        ("Reads/sec", CounterType::BULK_COUNT),
        ("% Processor Time", CounterType::TIMER_100NS),
        ("Avg. Bytes/Read", CounterType::AVERAGE_BULK),
        ("Avg. sec/Read", CounterType::AVERAGE_TIMER),
        ("% Hits", CounterType::SAMPLE_FRACTION),
        ("% Full", CounterType::RAW_FRACTION),
        ("% Idle", CounterType::TIMER_INV_100NS),
        ("Elapsed Time", CounterType::ELAPSED_TIME),
        ("ID Process", CounterType::RAWCOUNT),
    ];
    let set = set(&kinds, Extent::Columns);
    let mut table = InstanceTable::default();
    let raw = RawValue::new;
    // Totals of a process that started at second `from` and does `n` operations per second.
    let values = |n: i64, from: i64, second: i64| {
        let (total, time) = (n * (second - from), second * CLOCK);
        vec![
            raw(10 * n, 0),
            raw(total, time),
            raw(total, time),
            raw(8 * n * total, total),
            raw(CLOCK * total, total),
            raw(total / 2, total),
            raw(n, 4 * n * n),
            raw(total, time),
            raw(from * CLOCK, time),
            raw(100 + n, 0),
        ]
    };
    let samples = (0..10i64).map(|second| {
        let mut rows = vec![(0, 1, values(2, -1, second))];
        if (3..7).contains(&second) {
            rows.push((1, 2, values(6, -1, second)));
        }
        sample(second, vec![group(&set, &mut table, &rows)])
    });
    let rows = sums(samples.collect());
    let of = |counter: &str| {
        let found = rows.iter().find(|row| &*row.counter.name == counter).expect("a row");
        assert_eq!(found.path, format!(r"\\M\Process(svchost)\{counter}"));
        let summary = &found.summary;
        (summary.values, summary.minimum, summary.maximum, summary.average)
    };
    // The first process has 20; in 4 of 10 samples, both processes together have 80.
    assert_eq!(of("Handle Count"), (10, Some(20.0), Some(80.0), Some((6.0 * 20.0 + 4.0 * 80.0) / 10.0)));
    // The first process has 2; in 3 of 9 intervals, both have 8: the interval in which a process starts does not include it.
    let rate = (6.0 * 2.0 + 3.0 * 8.0) / 9.0;
    assert_eq!(of("Reads/sec"), (9, Some(2.0), Some(8.0), Some(rate)));
    assert_eq!(of("% Processor Time").3, Some(rate / 10.0));
    // 2 reads of 16 bytes and 6 reads of 48 bytes: the average is (16 * 2 + 48 * 6) / 8 = 40.
    assert_eq!(
        of("Avg. Bytes/Read"),
        (9, Some(16.0), Some(40.0), Some((6.0 * 32.0 + 3.0 * 320.0) / (9.0 * rate)))
    );
    assert_eq!(of("Avg. sec/Read").3, Some(1.0));
    assert_eq!(of("% Hits").3, Some(50.0));
    // The first process has 2 of 16; both have 8 of 160.
    let (_, low, high, _) = of("% Full");
    assert_eq!((low, high), (Some(5.0), Some(12.5)));
    // There is a value only while the name has a single instance. The samples before and after a change do not form an
    // interval.
    assert_eq!(of("% Idle"), (4, Some(99.8), Some(99.8), Some(99.8)));
    assert_eq!(of("Elapsed Time").0, 6);
    assert_eq!(of("ID Process"), (6, Some(102.0), Some(102.0), Some(102.0)));
}

#[test]
fn a_replaced_process_has_no_interval() {
    let set = set(&[("Reads/sec", CounterType::BULK_COUNT)], Extent::Columns);
    let mut table = InstanceTable::default();
    let samples = (0..6i64).map(|second| {
        let (identity, total) = if second < 3 { (1, 1000 + 5 * second) } else { (2, 5 * second) };
        let rows = [(0, identity, vec![RawValue::new(total, second * CLOCK)])];
        sample(second, vec![group(&set, &mut table, &rows)])
    });
    let rows = sums(samples.collect());
    let summary = &rows[0].summary;
    assert_eq!(
        (summary.values, summary.errors, summary.minimum, summary.maximum),
        (4, 0, Some(5.0), Some(5.0))
    );
}

#[test]
fn a_sum_with_an_unknown_value_is_an_error() {
    let set = set(&[("Reads/sec", CounterType::BULK_COUNT)], Extent::Columns);
    let mut table = InstanceTable::default();
    let samples = (0..9i64).map(|second| {
        let raw = RawValue::new(second, second * CLOCK);
        let failed = RawValue::error(Status::NO_DATA);
        // The total of the second process decreases at second 6.
        let other = if second < 6 { 100 + second } else { second };
        let other = if second == 3 { failed } else { RawValue::new(other, second * CLOCK) };
        sample(second, vec![group(&set, &mut table, &[(0, 1, vec![raw]), (1, 2, vec![other])])])
    });
    let rows = sums(samples.collect());
    let summary = &rows[0].summary;
    // The two intervals at second 3, and one at second 6.
    assert_eq!(
        (summary.values, summary.errors, summary.minimum, summary.maximum),
        (5, 3, Some(2.0), Some(2.0))
    );
}

#[test]
fn sets_without_instances_are_unchanged() {
    let mut memory = CounterSet::new("M", "Memory", Extent::Row);
    memory.has_instances = false;
    memory.counters = vec![Counter::new("Free", CounterType::RAWCOUNT, 0)];
    let memory = Arc::new(memory);
    let mut sums = NameSums::default();
    for second in 0..3 {
        let mut group = Group::new(Arc::clone(&memory));
        group.instances = Arc::new([Arc::new(Instance::none())]);
        group.values = vec![RawValue::new(second, 0)];
        let sample = sample(second, vec![group]);
        let found = sums.push(&sample);
        assert_eq!((found.at, &found.groups[0].values), (sample.at, &sample.groups[0].values));
        assert!(Arc::ptr_eq(&found.groups[0].set, &memory));
    }
}

/// The total of each process that exists in a sample; `None` if it is absent.
type Life = Vec<Option<i64>>;

fn lives() -> impl Strategy<Value = Vec<Life>> {
    let process = prop_oneof![3 => (0i64..50).prop_map(Some), 1 => Just(None)];
    prop::collection::vec(prop::collection::vec(process, 4), 2..40).prop_map(|mut samples| {
        for process in 0..4 {
            let mut total = 0;
            for life in &mut samples {
                life[process] = life[process].map(|step| {
                    total += step;
                    total
                });
            }
        }
        samples
    })
}

/// The samples, with one group of all instances or with a group per instance. A new log starts at each index in `starts`.
fn samples(lives: &[Life], starts: &[usize], has_group_each: bool) -> Vec<Sample> {
    let counters = [("Reads/sec", CounterType::BULK_COUNT)];
    let (mut table, mut all, mut log) = (InstanceTable::default(), set(&counters, Extent::Columns), 0);
    let mut fixed = Vec::new();
    let mut samples = Vec::new();
    for (second, life) in lives.iter().enumerate() {
        if starts.contains(&second) {
            (table, all, log) = (InstanceTable::default(), set(&counters, Extent::Columns), log + 1);
            fixed.clear();
        }
        if fixed.is_empty() {
            fixed = (0..life.len() as u32)
                .map(|index| {
                    let mut one = CounterSet::clone(&all);
                    one.extent = Extent::Row;
                    one.instance = Some(table.intern(None, "svchost", index));
                    Arc::new(one)
                })
                .collect();
        }
        let raw = |total: i64| RawValue::new(total, second as i64 * CLOCK);
        let groups = if has_group_each {
            let row = |(index, total): (usize, &Option<i64>)| {
                let value = total.map_or(RawValue::error(Status::NO_INSTANCE), raw);
                group(&fixed[index], &mut table, &[(index as u32, 0, vec![value])])
            };
            life.iter().enumerate().map(row).collect()
        } else {
            let present = life.iter().enumerate().filter_map(|(index, total)| Some((index, (*total)?)));
            let rows: Vec<_> = present.map(|(index, total)| (index as u32, 0, vec![raw(total)])).collect();
            vec![group(&all, &mut table, &rows)]
        };
        let mut sample = sample(second as i64, groups);
        sample.log = log;
        samples.push(sample);
    }
    samples
}

proptest! {
    /// The sum in each interval includes the processes that exist at both of its ends.
    #[test]
    fn sums_are_those_of_paired_processes(
        lives in lives(),
        starts in prop::collection::vec(1usize..40, 0..4),
        has_group_each in any::<bool>(),
    ) {
        let mut expected = BTreeMap::new();
        for (second, pair) in lives.windows(2).enumerate() {
            let both = pair[0].iter().zip(&pair[1]).filter_map(|(older, newer)| Some(newer.as_ref()? - older.as_ref()?));
            let both: Vec<i64> = both.collect();
            if !both.is_empty() {
                expected.insert(second + 1, both.iter().sum::<i64>());
            }
        }
        let rows = sums(samples(&lives, &[], has_group_each));
        if let [row] = &rows[..] {
            prop_assert_eq!(row.summary.values, expected.len() as u64);
            prop_assert_eq!(row.summary.errors, 0);
            prop_assert_eq!(row.summary.average.unwrap_or(0.0), match expected.len() {
                0 => 0.0,
                count => expected.values().sum::<i64>() as f64 / count as f64,
            });
            prop_assert_eq!(row.summary.maximum, expected.values().max().map(|&it| it as f64));
            prop_assert_eq!(row.summary.minimum, expected.values().min().map(|&it| it as f64));
        } else {
            prop_assert!(rows.is_empty() && expected.is_empty());
        }
        let whole = shown(samples(&lives, &[], has_group_each));
        prop_assert_eq!(shown(samples(&lives, &starts, has_group_each)), whole);
    }
}

//! The statistics sink: which values are paired.

use proptest::prelude::*;
use tachograph_counters::sample::Sample;
use tachograph_counters::set::Counter;
use tachograph_counters::{CounterType, RawValue, Statistics, Status};
use tachograph_flow::sinks::{StatisticsOptions, StatisticsRow, StatisticsSink};
use tachograph_flow::{FlowError, Sink, run};
use tachograph_logs::Budget;

use crate::fixture::{Samples, Table, sample, single};

fn statistics(samples: Vec<Sample>) -> Vec<StatisticsRow> {
    let mut sink = StatisticsSink::new(StatisticsOptions::default());
    run(&mut Samples::new(samples), &mut sink, || {}).expect("no error");
    sink.rows()
}

#[test]
fn a_counter_that_occurs_twice_in_a_sample_counts_once() {
    let mut table = Table::typed("M", "Set", &["X"], CounterType::BULK_COUNT, 1);
    let samples = (0..4)
        .map(|at| {
            let raw = RawValue::new(at * 10, at);
            let counter = Counter::new("X", CounterType::BULK_COUNT, 1);
            sample(at, vec![table.group(&[("a", &[(at * 10, at)])]), single("M", "Set", "a", counter, raw)])
        })
        .collect();
    let rows = statistics(samples);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].summary.values, rows[0].summary.average), (3, Some(10.0)));
}

/// A sample whose counters need more memory than the budget has is refused before their statistics are allocated.
#[test]
fn memory_is_reserved_before_statistics_are_allocated() {
    const BYTES: u64 = 1 << 20;
    let mut table = Table::typed("M", "Set", &["X"], CounterType::BULK_COUNT, 1);
    let names: Vec<_> = (0..5000).map(|number| number.to_string()).collect();
    let rows: Vec<_> = names.iter().map(|name| (name.as_str(), [(1, 1)])).collect();
    let rows: Vec<_> = rows.iter().map(|(name, values)| (*name, &values[..])).collect();
    let sample = sample(0, vec![table.group(&rows)]);
    let mut sink = StatisticsSink::new(StatisticsOptions::default());
    let budget = Budget::new(BYTES);
    sink.count_memory(budget.reserve(0).expect("an empty reservation"));
    let error = sink.push(&sample).expect_err("more memory than the budget has");
    assert!(matches!(error, FlowError::Log(ref error) if error.is_over_budget()), "{error}");
    assert!(sink.len() > 500 && sink.len() as u64 * 1000 < BYTES, "{}", sink.len());
    assert!(budget.used() > BYTES / 2);
}

#[test]
fn values_of_different_clocks_are_not_paired() {
    let part = |log: u32, time_base: i64, from: i64, ticks: i64| {
        let mut table = Table::typed("M", "Set", &["X"], CounterType::BULK_COUNT, time_base);
        (0..3).map(move |at| {
            let second = ticks + at * time_base;
            let mut sample = sample(from + at, vec![table.group(&[("a", &[(at * 10, second)])])]);
            sample.log = log;
            sample
        })
    };
    // The first value of the second part is far ahead, on another clock: an interval that ended with it would be
    // meaningless.
    let mut second: Vec<_> = part(1, 3000, 10, 50_000).collect();
    second.iter_mut().for_each(|sample| sample.groups[0].values[0].first += 1_000_000);
    let rows = statistics(part(0, 1000, 0, 0).chain(second).collect());
    assert_eq!((rows[0].summary.values, rows[0].summary.average), (4, Some(10.0)));
    assert_eq!((rows[0].summary.errors, rows[0].summary.maximum), (0, Some(10.0)));
}

#[test]
fn a_restart_of_one_of_several_machines_breaks_only_its_pairs() {
    let (mut left, mut right) = (
        Table::typed("L", "Set", &["X"], CounterType::BULK_COUNT, 1),
        Table::typed("R", "Set", &["X"], CounterType::BULK_COUNT, 1),
    );
    let samples = (0..4)
        .map(|at| {
            let ahead = if at < 2 { 0 } else { 1000 };
            let mut groups =
                vec![left.group(&[("a", &[(at * 5, at)])]), right.group(&[("a", &[(at * 7 + ahead, at)])])];
            groups[1].boot_time = tachograph_counters::civil::FileTime(if at < 2 { 10 } else { 20 });
            let mut sample = sample(at, groups);
            sample.boot_time = tachograph_counters::civil::FileTime(5);
            sample
        })
        .collect();
    let rows = statistics(samples);
    assert_eq!((rows[0].summary.values, rows[0].summary.maximum), (3, Some(5.0)));
    assert_eq!((rows[1].summary.values, rows[1].summary.maximum), (2, Some(7.0)));
}

#[test]
fn values_are_paired_across_any_number_of_parts_of_a_log() {
    let mut table = Table::typed("M", "Set", &["X"], CounterType::BULK_COUNT, 1);
    let samples = (0..5000i64)
        .map(|at| {
            let mut sample = sample(at, vec![table.group(&[("a", &[(at * 3, at)])])]);
            sample.log = at as u32;
            sample
        })
        .collect();
    let rows = statistics(samples);
    assert_eq!((rows[0].summary.values, rows[0].summary.average), (4999, Some(3.0)));
}

#[test]
fn cuts_merge_into_the_statistics_of_the_whole() {
    let mut table = Table::typed("M", "Set", &["X"], CounterType::BULK_COUNT, 10);
    let samples: Vec<_> = (0..50)
        .map(|at| sample(at, vec![table.group(&[("a", &[(at * at, at * 10)]), ("b", &[(7, at * 10)])])]))
        .collect();
    let whole = statistics(samples.clone());
    let options = StatisticsOptions { without_quantiles: true, ..StatisticsOptions::default() };
    let mut sink = StatisticsSink::new(options);
    let mut merged: Vec<Option<Statistics>> = vec![None; 2];
    let mut averages = Vec::new();
    for (number, sample) in samples.iter().enumerate() {
        sink.push(sample).expect("no error");
        if number % 7 == 6 || number == 49 {
            sink.cut(|series, state| {
                if series == 0 {
                    averages.extend(state.summary().average);
                }
                match &mut merged[series] {
                    Some(known) => known.merge(&state).expect("one formula"),
                    empty => *empty = Some(state),
                }
            });
        }
    }
    // The first cut begins at the first sample; every later cut begins at the last sample of the cut before it.
    assert_eq!(averages[0], 36.0 / 6.0);
    assert_eq!(averages[1], (13.0 * 13.0 - 36.0) / 7.0);
    for (row, state) in whole.iter().zip(merged) {
        let summary = state.expect("values").summary();
        assert_eq!(summary.quantiles, None);
        let quantiles = row.summary.quantiles;
        assert_eq!(tachograph_counters::Summary { quantiles, ..summary }, row.summary);
    }
    sink.cut(|_, _| panic!("no sample was added since the last cut"));
}

#[test]
fn quantiles_across_machines_do_not_depend_on_the_order_of_the_logs() {
    let machine = |name: &str, count: i64, factor: i64| {
        let mut table = Table::new(name, "Set", &["X"]);
        let samples =
            (0..count).map(|at| sample(at, vec![table.group(&[("a", &[(at * factor % 1009, 0)])])]));
        samples.collect::<Vec<_>>()
    };
    let machines = [("A", 200, 7919), ("B", 100, 104_729), ("C", 300, 31)];
    let across = |order: [usize; 3]| {
        let options = StatisticsOptions { across_machines: true, ..StatisticsOptions::default() };
        let mut sink = StatisticsSink::new(options);
        let samples_of = |index: usize| machine(machines[index].0, machines[index].1, machines[index].2);
        let mut source = Samples::new(order.into_iter().flat_map(samples_of));
        run(&mut source, &mut sink, || {}).expect("no error");
        let rows = sink.rows();
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].path.as_str(), rows[0].summary.values), (r"\Set(a)\X", 600));
        rows[0].summary.clone()
    };
    let first = across([0, 1, 2]);
    for _ in 0..10 {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(across(order), first, "{order:?}");
        }
    }
}

/// A row of a sample: the number of its instance, the identity of its process, and a number that chooses its place.
type Row = (usize, u64, i64);

/// Samples whose instances begin, end, move, and pass to other processes; values can decrease or be invalid.
fn changing_samples() -> impl Strategy<Value = Vec<Sample>> {
    let row = (0..14usize, prop_oneof![20 => Just(0u64), 1 => 1..4u64], -2..40i64);
    let step = (
        prop_oneof![3 => Just(None), 2 => prop::collection::vec(row, 0..4).prop_map(Some)],
        0..30u8,
        -3..60i64,
    );
    prop::collection::vec(step, 1..200).prop_map(|steps| {
        let mut table = Table::typed("M", "Set", &["X", "Y"], CounterType::BULK_COUNT, 1);
        let mut rows: Vec<Row> = (0..6).map(|number| (number, 0, 0)).collect();
        let mut totals = [0i64; 14];
        let mut instances = None;
        let make = |(at, (change, special, increase)): (usize, (Option<Vec<Row>>, u8, i64))| {
            if let Some(change) = change {
                for (number, identity, place) in change {
                    let known = rows.iter().position(|row| row.0 == number);
                    match known {
                        Some(row) if identity > 0 => rows[row].1 = identity,
                        Some(row) => drop(rows.remove(row)),
                        None => rows
                            .insert(place.unsigned_abs() as usize % (rows.len() + 1), (number, identity, 0)),
                    }
                }
                instances = None;
            }
            for (number, ..) in &rows {
                totals[*number] = (totals[*number] + increase * *number as i64).max(0);
            }
            let second = at as i64;
            let names: Vec<_> = rows.iter().map(|row| row.0.to_string()).collect();
            let values = rows.iter().map(|row| [(totals[row.0], second), (totals[row.0] / 2, second)]);
            let values: Vec<_> = values.collect();
            let lines = names.iter().zip(&values).map(|(name, values)| (name.as_str(), &values[..]));
            let mut group = table.group(&lines.collect::<Vec<_>>());
            // Usually, the list of instances is shared as long as it does not change.
            group.instances = instances.get_or_insert(group.instances.clone()).clone();
            group.identities = rows.iter().map(|row| row.1).collect();
            match (special, group.values.first_mut()) {
                (0, Some(value)) => value.status = Status::INVALID_DATA,
                (1, Some(value)) => value.second += 1,
                _ => {}
            }
            let mut sample = sample(at as i64, vec![group]);
            sample.is_baseline = special == 2;
            sample
        };
        steps.into_iter().enumerate().map(make).collect()
    })
}

proptest! {
    /// The sink collects the values of several samples before it adds them to their series. This does not change the statistics,
    /// nor which samples are needed to get them again.
    #[test]
    fn statistics_do_not_depend_on_when_values_are_added(samples in changing_samples(), window in 1..50usize) {
        let mut late = StatisticsSink::new(StatisticsOptions::default());
        let mut at_once = StatisticsSink::new(StatisticsOptions::default());
        for (index, sample) in samples.iter().enumerate() {
            late.push(sample).expect("no error");
            at_once.push(sample).expect("no error");
            let _ = at_once.states().count();
            if (index + 1) % window == 0 {
                prop_assert_eq!(late.states().count(), at_once.states().count());
                // Intervals that start within the window need only its own samples.
                let first = (index + 1 - window) as u64;
                prop_assert_eq!(late.take_oldest_needed().min(first), at_once.take_oldest_needed().min(first));
            }
        }
        late.finish().expect("no error");
        at_once.finish().expect("no error");
        let summaries = |sink: &StatisticsSink| -> Vec<_> {
            sink.rows().into_iter().map(|row| (row.path, row.summary)).collect()
        };
        prop_assert_eq!(summaries(&late), summaries(&at_once));
    }
}

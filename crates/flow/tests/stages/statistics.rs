//! The statistics sink: which values are paired.

use tachograph_counters::set::Counter;
use tachograph_counters::{CounterType, RawValue, Statistics};
use tachograph_flow::sinks::{StatisticsOptions, StatisticsRow, StatisticsSink};
use tachograph_flow::{FlowError, Sink, run};
use tachograph_logs::Budget;

use crate::fixture::{Samples, Table, sample, single};

fn statistics(samples: Vec<tachograph_counters::sample::Sample>) -> Vec<StatisticsRow> {
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

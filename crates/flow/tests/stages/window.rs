//! Windows and thinning.

use tachograph_counters::civil::TimeArgument;
use tachograph_counters::sample::Sample;
use tachograph_flow::sinks::{StatisticsOptions, StatisticsSink};
use tachograph_flow::{Thin, Window, WindowBounds, run};

use crate::fixture::{Samples, Table, all, cells, sample};

fn ten() -> Vec<tachograph_counters::sample::Sample> {
    let mut table = Table::new("M", "X", &["C"]);
    (0..10).map(|at| sample(at, vec![table.group(&[("a", &[(at, 0)])])])).collect()
}

#[test]
fn the_last_sample_before_a_window_is_its_baseline_and_the_end_is_exclusive() {
    let samples = ten();
    let bounds = WindowBounds {
        begin: Some(TimeArgument::Utc(samples[4].at.utc)),
        end: Some(TimeArgument::Local(samples[7].at.local())),
    };
    let out = all(Window::new(Samples::new(samples), bounds));
    let seen: Vec<_> = out.iter().map(|sample| (cells(sample)[0].clone(), sample.is_baseline)).collect();
    let expected = [("a.C=3", true), ("a.C=4", false), ("a.C=5", false), ("a.C=6", false)];
    assert_eq!(seen, expected.map(|(cell, is_baseline)| (cell.to_owned(), is_baseline)));
}

#[test]
fn an_empty_window_has_no_baseline() {
    let samples = ten();
    let late = TimeArgument::Utc(samples[9].at.utc.saturating_add(1));
    let bounds = WindowBounds { begin: Some(late), end: None };
    assert!(all(Window::new(Samples::new(samples), bounds)).is_empty());
}

/// Samples with the given numbers, each with different counters.
fn lists(numbers: std::ops::Range<i64>, counters: i64) -> impl Iterator<Item = Sample> {
    numbers.map(move |number| {
        let groups = (0..counters).map(|counter| {
            let name = format!("Counter {number}.{counter} of a list that does not come again");
            Table::new("M", &name, &["C"]).group(&[("a", &[(number, 0)])])
        });
        sample(number, groups.collect())
    })
}

#[test]
fn the_memory_of_baselines_is_limited() {
    let begin = TimeArgument::Utc(sample(2_000, Vec::new()).at.utc);
    let bounds = WindowBounds { begin: Some(begin), end: None };
    let mut table = Table::new("M", "X", &["C"]);
    let mut samples: Vec<_> = lists(0..2_000, 100).collect();
    samples.extend((2_000..2_003).map(|at| sample(at, vec![table.group(&[("a", &[(at, 0)])])])));
    let out = all(Window::new(Samples::new(samples), bounds));
    let baselines = out.iter().filter(|sample| sample.is_baseline).count();
    // A sample of 100 groups needs about 40 kB; all samples together would need 80 MB.
    assert!((500..1_900).contains(&baselines), "{baselines}");
    assert_eq!(out.len(), baselines + 3);
    // The last samples are kept, in order.
    let times: Vec<_> = out.iter().map(|sample| sample.at.utc).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(times.last(), Some(&sample(2_002, Vec::new()).at.utc));
    assert_eq!(times[baselines - 1], sample(1_999, Vec::new()).at.utc);
}

#[test]
fn a_recurring_list_keeps_its_baseline() {
    // Two lists alternate among others that occur once.
    let mut tables = [Table::new("M", "X", &["C"]), Table::new("M", "Y", &["C"])];
    let mut samples: Vec<_> = lists(0..3_000, 100).collect();
    for at in (0..3_000).step_by(10) {
        let table = &mut tables[at / 10 % 2];
        samples[at] = sample(at as i64, vec![table.group(&[("a", &[(at as i64, 0)])])]);
    }
    let begin = TimeArgument::Utc(samples[2_985].at.utc);
    let out = all(Window::new(Samples::new(samples), WindowBounds { begin: Some(begin), end: None }));
    let of = |cell: &str| out.iter().filter(|sample| sample.is_baseline && cells(sample) == [cell]).count();
    assert_eq!((of("a.C=2980"), of("a.C=2970"), of("a.C=2960")), (1, 1, 0));
}

#[test]
fn counters_without_a_sample_in_the_window_have_no_statistics() {
    let mut samples: Vec<_> = lists(0..50, 3).collect();
    let mut table = Table::new("M", "X", &["C"]);
    samples.extend((50..53).map(|at| sample(at, vec![table.group(&[("a", &[(at, 0)])])])));
    let begin = TimeArgument::Utc(samples[51].at.utc);
    for across_machines in [false, true] {
        let bounds = WindowBounds { begin: Some(begin), end: None };
        let mut sink = StatisticsSink::new(StatisticsOptions { across_machines, ..Default::default() });
        run(&mut Window::new(Samples::new(samples.clone()), bounds), &mut sink, || {}).expect("no error");
        let rows = sink.rows();
        assert_eq!(rows.len(), 1);
        assert!(rows[0].path.ends_with(r"\X(a)\C"), "{}", rows[0].path);
        assert_eq!(rows[0].summary.values, 2);
    }
}

#[test]
fn alternating_lists_are_thinned_separately() {
    let mut tables = [Table::new("M", "X", &["C"]), Table::new("M", "Y", &["C"])];
    let mut samples: Vec<_> =
        (0..12i64).map(|at| sample(at, vec![tables[at as usize % 2].group(&[("a", &[(at, 0)])])])).collect();
    // After more other lists than thinning remembers, the counts of both lists restart.
    samples.extend(lists(12..20_012, 1));
    samples.extend(
        (20_012..20_018).map(|at| sample(at, vec![tables[at as usize % 2].group(&[("a", &[(at, 0)])])])),
    );
    let out = all(Thin::new(Samples::new(samples), 3));
    let of_two: Vec<_> =
        out.iter().map(|sample| cells(sample).concat()).filter(|cell| cell.starts_with("a.C")).collect();
    let (first, rest) = of_two.split_at(4);
    assert_eq!(first, ["a.C=0", "a.C=1", "a.C=6", "a.C=7"]);
    assert_eq!(
        rest.len(),
        20_002,
        "the first sample of each list, and once more that of the two alternating lists"
    );
}

#[test]
fn thinning_keeps_every_third_sample_and_every_baseline() {
    let mut samples = ten();
    samples[0].is_baseline = true;
    let seen: Vec<_> =
        all(Thin::new(Samples::new(samples), 3)).iter().map(|sample| cells(sample).concat()).collect();
    assert_eq!(seen, ["a.C=0", "a.C=1", "a.C=4", "a.C=7"]);
}

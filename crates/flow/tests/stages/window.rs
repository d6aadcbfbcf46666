//! Windows of time, and thinning out.

use tachograph_counters::civil::TimeArgument;
use tachograph_flow::{Thin, Window, WindowBounds};

use crate::made::{Samples, Table, all, cells, sample};

fn ten() -> Vec<tachograph_counters::sample::Sample> {
    let mut table = Table::new("M", "X", &["C"]);
    (0..10).map(|at| sample(at, vec![table.group(&[("a", &[(at, 0)])])])).collect()
}

#[test]
fn the_sample_before_the_window_is_its_baseline_and_the_end_is_outside() {
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
fn a_window_without_samples_has_no_baseline_either() {
    let samples = ten();
    let late = TimeArgument::Utc(samples[9].at.utc.saturating_add(1));
    let bounds = WindowBounds { begin: Some(late), end: None };
    assert!(all(Window::new(Samples::new(samples), bounds)).is_empty());
}

#[test]
fn every_third_sample_and_every_baseline() {
    let mut samples = ten();
    samples[0].is_baseline = true;
    let seen: Vec<_> =
        all(Thin::new(Samples::new(samples), 3)).iter().map(|sample| cells(sample).concat()).collect();
    assert_eq!(seen, ["a.C=0", "a.C=1", "a.C=4", "a.C=7"]);
}

//! Unions, time zones, and JSON keys.

use tachograph_counters::Status;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::sinks::JsonSink;
use tachograph_flow::{InZone, Interleaved, Joined, SideBySide, Source, Union, UnionScan, run};

use crate::fixture::{SECOND, Samples, Table, all, cells, sample};

#[test]
fn a_missing_group_is_marked() {
    let mut x = Table::new("M", "X", &["C"]);
    let mut y = Table::new("M", "Y", &["C"]);
    let mut samples =
        vec![sample(0, vec![x.group(&[("a", &[(1, 0)])])]), sample(1, vec![y.group(&[("b", &[(2, 0)])])])];
    samples[1].log = 1;
    let mut scan = UnionScan::default();
    run(&mut Samples::new(samples.clone()), &mut scan, || {}).expect("no error");
    let out = all(Union::scanned(Samples::new(samples), &scan));
    assert_eq!(out[0].groups.len(), 2);
    assert_eq!((cells(&out[0]), cells(&out[1])), (vec!["a.C=1".to_owned()], vec!["b.C=2".to_owned()]));
    assert_eq!(out[0].groups[1].status, Status::ITEM_NOT_VALIDATED);
    assert_eq!(out[1].groups[0].status, Status::ITEM_NOT_VALIDATED);
}

/// The machines of a folder are scanned one after another, whatever their times.
#[test]
fn the_time_range_of_machines_has_the_earliest_and_the_latest_sample() {
    let mut one = Table::new("A", "X", &["C"]);
    let mut other = Table::new("B", "X", &["C"]);
    let mut samples: Vec<_> =
        [100, 101, 102].map(|at| sample(at, vec![one.group(&[("", &[(1, 0)])])])).into();
    samples.extend([3, 4, 5].map(|at| sample(at, vec![other.group(&[("", &[(1, 0)])])])));
    let times = [samples[3].at, samples[2].at];
    let mut scan = UnionScan::default();
    run(&mut Samples::new(samples), &mut scan, || {}).expect("no error");
    assert_eq!(scan.time_range(), Some((times[0], times[1])));
    assert_eq!(scan.typical_interval(), Some(SECOND));
}

#[test]
fn names_of_sets_and_counters_are_compared_case_insensitively() {
    let mut upper = Table::new("SRV", "Memory", &["Pages/sec"]);
    let mut lower = Table::new("srv", "memory", &["pages/sec"]);
    let mut samples = vec![
        sample(0, vec![upper.group(&[("", &[(1, 0)])])]),
        sample(1, vec![lower.group(&[("", &[(2, 0)])])]),
    ];
    samples[1].log = 1;
    let mut scan = UnionScan::default();
    run(&mut Samples::new(samples), &mut scan, || {}).expect("no error");
    assert_eq!(scan.groups().len(), 1);
    assert_eq!(scan.groups()[0].set.counters.len(), 1);
}

#[test]
fn converting_time_zones_does_not_change_utc_times() {
    let mut table = Table::new("M", "X", &["C"]);
    let mut samples = vec![sample(0, vec![table.group(&[("a", &[(1, 0)])])])];
    samples[0].groups[0].read_at = samples[0].at.local();
    let out = all(InZone::new(Samples::new(samples.clone()), TimeZone::fixed("There", -60)));
    assert_eq!(out[0].at.utc, samples[0].at.utc);
    assert_eq!(out[0].at.bias_minutes, -60);
    assert_eq!(out[0].groups[0].read_at, out[0].at.local());
}

#[test]
fn there_is_one_row_per_sample_of_the_first_machine() {
    let mut lead = Table::new("L", "X", &["C"]);
    let mut other = Table::new("R", "X", &["C"]);
    let leader = [0, 10, 20, 30].map(|at| sample(at, vec![lead.group(&[("l", &[(at, 0)])])]));
    // The latest earlier sample within 5 s is used: 8 for 10, 16 for 20; 24 is too early for 30.
    let follower = [8, 16, 24, 31].map(|at| sample(at, vec![other.group(&[("r", &[(at, 0)])])]));
    let stage =
        SideBySide::new(Box::new(Samples::new(leader)), vec![Box::new(Samples::new(follower))], 10 * SECOND);
    let dropped_samples = stage.dropped_samples();
    let rows: Vec<_> = all(stage).iter().map(cells).collect();
    assert_eq!(rows, [vec!["l.C=0"], vec!["l.C=10", "r.C=8"], vec!["l.C=20", "r.C=16"], vec!["l.C=30"]]);
    assert_eq!(dropped_samples.load(std::sync::atomic::Ordering::Relaxed), 2);
}

#[test]
fn interleaved_machines_join_samples_of_the_same_moment() {
    let mut tables = ["L", "R"].map(|name| Table::new(name, "X", &["C"]));
    let mut of = |machine: usize, times: &[i64]| -> Vec<_> {
        times.iter().map(|&at| sample(at, vec![tables[machine].group(&[("a", &[(at, 0)])])])).collect()
    };
    let (left, mut right) = (of(0, &[0, 10, 20, 30]), of(1, &[0, 7, 20, 31]));
    right[2..].iter_mut().for_each(|sample| (sample.log, sample.boot_time.0) = (1, 77));
    let mut scan = UnionScan::default();
    run(&mut Samples::new(left.clone()), &mut scan, || {}).expect("no error");
    run(&mut Samples::new(right.clone()), &mut scan, || {}).expect("no error");
    let machines: Vec<Box<dyn Source>> = vec![Box::new(Samples::new(left)), Box::new(Samples::new(right))];
    let out = all(Joined::new(Union::scanned(Interleaved::new(machines), &scan)));
    let rows: Vec<_> = out.iter().map(cells).collect();
    let expected =
        [&["a.C=0", "a.C=0"][..], &["a.C=7"], &["a.C=10"], &["a.C=20", "a.C=20"], &["a.C=30"], &["a.C=31"]];
    assert_eq!(rows, expected);
    assert!(out.windows(2).all(|pair| pair[0].log <= pair[1].log), "log ids ascend");
    // Only one of the machines was restarted.
    let boots: Vec<_> = out[3].groups.iter().map(|group| out[3].boot_time_of(group).0).collect();
    assert_eq!(boots, [0, 77]);
}

#[test]
fn instances_that_differ_in_case_have_different_keys() {
    let mut table = Table::new("M", "Process", &["C"]);
    let samples = vec![sample(0, vec![table.group(&[("w3wp", &[(1, 0)]), ("W3WP", &[(2, 0)])])])];
    let mut scan = UnionScan::default();
    run(&mut Samples::new(samples.clone()), &mut scan, || {}).expect("no error");
    let mut out = Vec::new();
    run(&mut Samples::new(samples), &mut JsonSink::new(&mut out, &scan), || {}).expect("no error");
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(text.contains(r#""\\\\M\\Process(w3wp)\\C":1,"\\\\M\\Process(W3WP)\\C":2"#), "{text}");
}

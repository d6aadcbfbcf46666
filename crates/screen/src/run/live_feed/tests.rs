//! Samples between those of the schedule.

use tachograph_flow::live::LiveOptions;
use tachograph_perflib::FREQUENCY;

use super::super::machine::{Machine, Process};
use super::*;

const TICKS: &str = r"\Process(*)\Ticks/sec";
const ID: &str = r"\Process(*)\ID Process";

fn paths(paths: &[&str]) -> Vec<PathPattern> {
    paths.iter().map(|path| PathPattern::parse(path).expect("a path")).collect()
}

fn feed(sampled: &[&str]) -> LiveFeed {
    let machine = Machine::default();
    machine.set(&[Process::new("a", 1)]);
    let sampled = paths(sampled);
    let (board, _) =
        LiveBoard::open(&machine.registry(), &sampled, 20, LiveOptions::default()).expect("this machine");
    let live = Live {
        board,
        unmatched: |_: &Selection| Vec::new(),
        reason: |_, _| None,
        name: "FAKE".to_owned(),
        about: String::new(),
        zone: TimeZone::utc(),
        frequency: FREQUENCY,
        properties: None,
    };
    LiveFeed::new(live, sampled, Duration::from_secs(3600))
}

/// The number of intervals of a rate.
fn intervals(feed: &mut LiveFeed) -> u64 {
    let span = feed.live.board.span().expect("samples");
    let reduced = feed.reduce(span, 1, &paths(&[TICKS])).expect("no error");
    reduced.series.first().map_or(0, |series| series.summary.values)
}

/// A chart that opens a table shows other counters at once. In the few milliseconds between the two samples, a processor can
/// have been busy for longer than that by its kernel's clock ticks.
#[test]
fn a_sample_for_new_counters_does_not_make_an_interval_short() {
    let mut feed = feed(&[TICKS]);
    feed.collect_if_due();
    let due = feed.cadence.due();
    feed.set_paths(paths(&[TICKS, ID]));
    assert_eq!(intervals(&mut feed), 0);
    assert!(feed.cadence.due() > due, "the next sample is an interval after this one");
    // The new sample begins the next interval, also that of earlier counters.
    feed.collect();
    assert_eq!(intervals(&mut feed), 1);
    // A step of a frozen chart shows the next sample that is due.
    assert!(feed.step().is_empty());
    feed.last_collected = Instant::now().checked_sub(MIN_INTERVAL);
    feed.set_paths(paths(&[TICKS]));
    assert_eq!(intervals(&mut feed), 2);
}

//! Clocks during a recording: steps of the wall clock, sleep, the end of daylight saving time.

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_flow::Sink;

use crate::fixture::{Disk, MILLISECOND, Machine, options, read, statistics};
use crate::whole::{PATHS, shown};

/// Records ten samples, one every 100 ms; `happens` is called before each sample with its index. Returns the samples
/// that were read back.
#[track_caller]
fn recorded(happens: impl Fn(&Machine, usize)) -> Vec<Sample> {
    let (machine, disk) = (Machine::new(&["ann"]), Disk::default());
    let mut recorder = disk.recorder(options("a.blg")).expect("a new file");
    let mut source = machine.source(&PATHS);
    let mut taken = Vec::new();
    for number in 0..10 {
        happens(&machine, number);
        let mut sample = Sample::default();
        source.collect(&mut sample);
        recorder.push(&sample).expect("disk space");
        taken.push(sample);
        machine.advance(100 * MILLISECOND);
    }
    recorder.finish().expect("disk space");
    let (samples, problems) = read(&disk.file("a.blg"));
    // No sample is lost or changed.
    assert_eq!((shown(&samples), problems), (shown(&taken), 0));
    for pair in samples.windows(2) {
        assert!(pair[0].at.utc < pair[1].at.utc && pair[0].at.local() < pair[1].at.local(), "times ascend");
    }
    let figures = statistics(&disk, &disk.names());
    let busy =
        figures.iter().find(|(path, _)| path == r"\\FAKE\Worker(ann)\% Busy Time").expect("the counter");
    // The wall clock does not affect values: in each interval, the worker was busy for half of the time.
    let (average, minimum, maximum) = (busy.1.average, busy.1.minimum, busy.1.maximum);
    assert_eq!((busy.1.values, busy.1.errors), (9, 0));
    for figure in [average, minimum, maximum] {
        assert!(figure.is_some_and(|figure| (figure - 50.0).abs() < 1e-3), "{figures:?}");
    }
    let requests = figures.iter().find(|(path, _)| path.ends_with("Requests/sec")).expect("the counter");
    assert_eq!((requests.1.values, requests.1.errors), (9, 0));
    assert!(requests.1.minimum.is_some_and(|minimum| minimum > 0.0), "{figures:?}");
    samples
}

fn milliseconds(samples: &[Sample]) -> Vec<i64> {
    samples.iter().map(|sample| sample.at.utc.since(samples[0].at.utc) / FileTime::PER_MILLISECOND).collect()
}

#[test]
fn steady_clocks_give_regular_samples() {
    let samples = recorded(|_, _| {});
    assert_eq!(milliseconds(&samples), [0, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
}

#[test]
fn setting_the_wall_clock_forward_loses_no_sample() {
    let samples = recorded(|machine, number| {
        if number == 4 {
            machine.step(5_000 * MILLISECOND);
        }
    });
    assert_eq!(milliseconds(&samples), [0, 100, 200, 300, 5400, 5500, 5600, 5700, 5800, 5900]);
}

#[test]
fn setting_the_wall_clock_back_loses_no_sample() {
    let samples = recorded(|machine, number| {
        if number == 4 {
            machine.step(-250 * MILLISECOND);
        }
    });
    // Samples are 1 ms apart until the clock has caught up.
    assert_eq!(milliseconds(&samples), [0, 100, 200, 300, 301, 302, 350, 450, 550, 650]);
}

#[test]
fn setting_the_wall_clock_back_by_hours_loses_no_sample() {
    let samples = recorded(|machine, number| {
        if number == 2 {
            machine.step(-7_200_000 * MILLISECOND);
        }
    });
    assert_eq!(milliseconds(&samples), [0, 100, 101, 102, 103, 104, 105, 106, 107, 108]);
}

#[test]
fn suspended_time_is_a_gap() {
    let samples = recorded(|machine, number| {
        if number == 6 {
            machine.advance(3_600_000 * MILLISECOND);
        }
    });
    assert_eq!(milliseconds(&samples)[5..7], [500, 3_600_600]);
}

#[test]
fn local_times_do_not_repeat_when_daylight_saving_ends() {
    // The UTC offset at the start applies to the whole recording, so no hour of local time is repeated.
    let samples = recorded(|machine, number| {
        if number == 5 {
            machine.advance(3_600_000 * MILLISECOND);
        }
    });
    assert!(samples.iter().all(|sample| sample.at.bias_minutes == 480));
}

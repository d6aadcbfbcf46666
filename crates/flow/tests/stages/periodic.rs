//! Statistics of consecutive time ranges equal those of windows with the same bounds.

use proptest::prelude::*;
use tachograph_counters::civil::{FileTime, Moment, TimeArgument};
use tachograph_counters::sample::Sample;
use tachograph_counters::set::Extent;
use tachograph_flow::sinks::{PeriodicStatistics, StatisticsOptions, StatisticsSink, StatisticsSpan};
use tachograph_flow::{Window, WindowBounds, run};

use crate::fixture::{SECOND, Samples, Table, sample};
use crate::segments::{extra, moment, samples, shown};

fn options() -> StatisticsOptions {
    StatisticsOptions { extra: extra(), ..StatisticsOptions::default() }
}

/// The time ranges and the figures of their rows.
fn periods(samples: Vec<Sample>, length: i64) -> Vec<(StatisticsSpan, Vec<String>)> {
    let mut periods = Vec::new();
    let mut sink = PeriodicStatistics::new(options(), length, |span, rows| {
        periods.push((span, shown(&rows)));
        Ok(())
    });
    run(&mut Samples::new(samples), &mut sink, || {}).expect("no error");
    drop(sink);
    periods
}

/// The figures of a window.
fn window(samples: Vec<Sample>, span: StatisticsSpan) -> Vec<String> {
    let bound = |moment: Moment| Some(TimeArgument::Local(moment.local()));
    let bounds = WindowBounds { begin: bound(span.begin), end: bound(span.end) };
    let mut sink = StatisticsSink::new(options());
    run(&mut Window::new(Samples::new(samples), bounds), &mut sink, || {}).expect("no error");
    shown(&sink.rows())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The samples come from several logs and include restarts and gaps. Instances are missing, fail or are replaced at any time.
    #[test]
    fn every_row_equals_that_of_a_window(
        mut moments in prop::collection::vec(moment(), 1..60),
        starts in prop::collection::vec(1usize..60, 0..4),
        is_missing in prop::collection::vec(prop::bool::weighted(0.2), 60),
        is_table in any::<bool>(),
        seconds in 1i64..20,
    ) {
        // Every sample has all groups, because a window keeps one baseline for each combination of groups, not for each group.
        moments.iter_mut().for_each(|moment| moment.has_processes = true);
        let extent = if is_table { Extent::Table } else { Extent::Columns };
        let mut samples = samples(&moments, &starts, extent);
        let mut index = 0;
        samples.retain(|_| { index += 1; !is_missing[index - 1] });
        let periods = periods(samples.clone(), seconds * SECOND);
        prop_assert!(periods.windows(2).all(|pair| pair[0].0.end.utc <= pair[1].0.begin.utc));
        for (span, rows) in periods {
            prop_assert_eq!(span.end.utc.since(span.begin.utc), seconds * SECOND);
            prop_assert_eq!(rows, window(samples.clone(), span));
        }
        // The counter has exactly one row if there is any sample.
        let counts = |rows: &[String]| rows.iter().filter(|row| row.contains(r"Memory\Threads")).count();
        prop_assert_eq!(counts(&window(samples.clone(), StatisticsSpan {
            begin: Moment { utc: FileTime(0), bias_minutes: 0 },
            end: Moment { utc: FileTime(i64::MAX), bias_minutes: 0 },
        })), usize::from(!samples.is_empty()));
    }
}

/// Samples every 10 minutes. The UTC offset changes at the sample with the index `change`.
fn days(begin: Moment, samples: i64, change: i64, bias_after: i32) -> Vec<Sample> {
    let mut table = Table::new("M", "X", &["C"]);
    let at = |index: i64| Moment {
        utc: begin.utc.saturating_add(index * 600 * SECOND),
        bias_minutes: if index < change { begin.bias_minutes } else { bias_after },
    };
    (0..samples)
        .map(|index| Sample { at: at(index), ..sample(0, vec![table.group(&[("a", &[(index, 0)])])]) })
        .collect()
}

/// The bounds of each time range, and the number of values of its only row.
fn spans(samples: Vec<Sample>, hours: i64) -> Vec<String> {
    let values = |rows: &[String]| {
        let (_, rest) = rows[0].split_once("values: ").expect("a count");
        rest.split(',').next().expect("a number").to_owned()
    };
    periods(samples, hours * 3600 * SECOND)
        .iter()
        .map(|(span, rows)| format!("{} {} {}", span.begin.rfc3339(), span.end.rfc3339(), values(rows)))
        .collect()
}

#[test]
fn time_ranges_follow_local_time_when_clocks_change() {
    // The end of summer time: 2024-10-27 03:00 becomes 02:00. The day has 25 hours, and 02:00 occurs twice.
    let autumn = Moment::parse_rfc3339("2024-10-27T00:00:00+02:00").expect("a time");
    let samples = days(autumn, 6 * 26, 18, -60);
    assert_eq!(
        spans(samples.clone(), 24),
        [
            "2024-10-27T00:00:00.000+02:00 2024-10-28T00:00:00.000+01:00 150",
            "2024-10-28T00:00:00.000+01:00 2024-10-29T00:00:00.000+01:00 6"
        ]
    );
    assert_eq!(
        spans(samples, 1)[1..5],
        [
            "2024-10-27T01:00:00.000+02:00 2024-10-27T02:00:00.000+02:00 6",
            "2024-10-27T02:00:00.000+02:00 2024-10-27T03:00:00.000+02:00 6",
            "2024-10-27T02:00:00.000+01:00 2024-10-27T03:00:00.000+01:00 6",
            "2024-10-27T03:00:00.000+01:00 2024-10-27T04:00:00.000+01:00 6",
        ]
    );
    // The beginning of summer time: 2024-03-31 02:00 becomes 03:00.
    let spring = Moment::parse_rfc3339("2024-03-31T00:00:00+01:00").expect("a time");
    let samples = days(spring, 6 * 24, 12, -120);
    assert_eq!(
        spans(samples.clone(), 24),
        [
            "2024-03-31T00:00:00.000+01:00 2024-04-01T00:00:00.000+02:00 138",
            "2024-04-01T00:00:00.000+02:00 2024-04-02T00:00:00.000+02:00 6"
        ]
    );
    assert_eq!(
        spans(samples, 1)[1..3],
        [
            "2024-03-31T01:00:00.000+01:00 2024-03-31T02:00:00.000+01:00 6",
            "2024-03-31T03:00:00.000+02:00 2024-03-31T04:00:00.000+02:00 6",
        ]
    );
}

/// Time ranges begin at full hours of the log's local time, here in a zone whose offset is not a whole number of hours.
#[test]
fn bounds_are_those_of_the_wall_clock() {
    let begin = Moment::parse_rfc3339("2024-03-05T09:57:00+05:45").expect("a time");
    let found = spans(days(begin, 9, 9, begin.bias_minutes), 1);
    assert_eq!(
        found,
        [
            "2024-03-05T09:00:00.000+05:45 2024-03-05T10:00:00.000+05:45 1",
            "2024-03-05T10:00:00.000+05:45 2024-03-05T11:00:00.000+05:45 6",
            "2024-03-05T11:00:00.000+05:45 2024-03-05T12:00:00.000+05:45 2",
        ]
    );
}

//! The time range of `-b` and `-e`. A time can depend on the logs: a time of day is on their first day, `+30s` counts from their first
//! sample, and `-10m` back from their last one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tachograph_counters::civil::{FileTime, Moment, TimeArgument};
use tachograph_counters::sample::Sample;
use tachograph_flow::logs::{LogSource, last_sample_time};
use tachograph_flow::{Source as _, WindowBounds};
use tachograph_logs::ReadOptions;

use super::interval::parse_length;
use crate::failure::Failure;

/// The times of the first and the last sample of some logs; `None` if they have none.
pub(super) trait Span {
    fn first(&mut self) -> Result<Option<Moment>, Failure>;
    fn last(&mut self) -> Result<Option<FileTime>, Failure>;
}

/// Reads the times from the logs, each at most once.
pub(super) struct SpanOfLogs<'a> {
    logs: &'a [PathBuf],
    reading: &'a ReadOptions,
    first: Option<Option<Moment>>,
    last: Option<Option<FileTime>>,
}

impl<'a> SpanOfLogs<'a> {
    pub(super) fn new(logs: &'a [PathBuf], reading: &'a ReadOptions) -> Self {
        Self { logs, reading, first: None, last: None }
    }
}

impl Span for SpanOfLogs<'_> {
    fn first(&mut self) -> Result<Option<Moment>, Failure> {
        let Self { logs, reading, first, .. } = self;
        known_or(first, || {
            let firsts = logs.iter().map(|log| first_sample_time(log, reading));
            let firsts: Vec<_> = firsts.collect::<Result<_, _>>()?;
            Ok(firsts.into_iter().flatten().min_by_key(|at| at.utc))
        })
    }

    fn last(&mut self) -> Result<Option<FileTime>, Failure> {
        let Self { logs, reading, last, .. } = self;
        known_or(last, || {
            let lasts = logs.iter().map(|log| Ok(last_sample_time(log, reading)?));
            let lasts: Vec<_> = lasts.collect::<Result<_, Failure>>()?;
            Ok(lasts.into_iter().max().flatten())
        })
    }
}

fn first_sample_time(log: &Path, reading: &ReadOptions) -> Result<Option<Moment>, Failure> {
    let mut sample = Sample::default();
    Ok(LogSource::open_with(log, reading)?.next(&mut sample)?.then_some(sample.at))
}

fn known_or<T: Copy>(known: &mut Option<T>, find: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    match *known {
        Some(known) => Ok(known),
        None => Ok(*known.insert(find()?)),
    }
}

/// The time range of the texts after `-b` and `-e`. `span` is asked only for times that depend on the logs.
pub(super) fn window_bounds(
    begin: Option<&str>,
    end: Option<&str>,
    span: &mut dyn Span,
) -> Result<WindowBounds, Failure> {
    let parsed_begin = begin.map(|text| time_of("-b", text, None, span)).transpose()?;
    let parsed_end = end.map(|text| time_of("-e", text, parsed_begin, span)).transpose()?;
    let bounds = WindowBounds { begin: parsed_begin, end: parsed_end };
    if bounds.are_empty() {
        let [begin, end] = [begin, end].map(Option::unwrap_or_default);
        return Err(Failure::usage(format!(
            "-b '{begin}' is not before -e '{end}': the time range is empty"
        )));
    }
    Ok(bounds)
}

/// The time that a text describes. `+30s` counts from `from`, or else from the first sample.
fn time_of(
    option: &str,
    text: &str,
    from: Option<TimeArgument>,
    span: &mut dyn Span,
) -> Result<TimeArgument, Failure> {
    let without_samples = |what: &str| {
        Failure::usage(format!("{option} '{text}': {what}, but these have no samples; write date and time"))
    };
    let trimmed = text.trim_ascii();
    if let Some(length) = trimmed.strip_prefix('-') {
        let last = span.last()?.ok_or_else(|| without_samples("counts back from the end of the logs"))?;
        return Ok(TimeArgument::Utc(last.saturating_sub(length_of(option, length)?)));
    }
    if let Some(length) = trimmed.strip_prefix('+') {
        let length = length_of(option, length)?;
        return Ok(match from {
            Some(TimeArgument::Local(from)) => TimeArgument::Local(from.saturating_add(length)),
            Some(TimeArgument::Utc(from)) => TimeArgument::Utc(from.saturating_add(length)),
            None => {
                let first =
                    span.first()?.ok_or_else(|| without_samples("counts from the start of the logs"))?;
                TimeArgument::Utc(first.utc.saturating_add(length))
            }
        });
    }
    let invalid = |error| {
        Failure::usage(format!(
            "{option} '{text}': {error}, '14:05' for a time on the first day of the logs, '-10m' for ten minutes before their end"
        ))
    };
    match TimeArgument::parse_time_of_day(text) {
        Some(after_midnight) => {
            let after_midnight = after_midnight.map_err(invalid)?;
            let first = span
                .first()?
                .ok_or_else(|| without_samples("a time without a date is on the first day of the logs"))?;
            Ok(TimeArgument::Local(first.local().midnight().saturating_add(after_midnight)))
        }
        None => TimeArgument::parse(text).map_err(invalid),
    }
}

/// A length of time in 100 ns units.
fn length_of(option: &str, text: &str) -> Result<i64, Failure> {
    let length: Duration =
        parse_length(text).map_err(|error| Failure::usage(format!("{option}: '{text}': {error}")))?;
    Ok(i64::try_from(length.as_nanos() / 100).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use tachograph_logs::Budget;

    use super::*;

    /// Logs with the given times, which count how often they are read.
    struct Counted {
        times: Option<(Moment, FileTime)>,
        reads: u32,
    }

    impl Span for Counted {
        fn first(&mut self) -> Result<Option<Moment>, Failure> {
            self.reads += 1;
            Ok(self.times.map(|(first, _)| first))
        }

        fn last(&mut self) -> Result<Option<FileTime>, Failure> {
            self.reads += 1;
            Ok(self.times.map(|(_, last)| last))
        }
    }

    const SECOND: i64 = FileTime::PER_SECOND;

    /// Logs that start at 08:00 local time, which is 10:00 UTC, and last an hour.
    fn logs() -> Counted {
        let first = Moment { utc: at(0), bias_minutes: 120 };
        Counted { times: Some((first, at(3600))), reads: 0 }
    }

    /// The time in UTC this many seconds after the start of the logs.
    fn at(seconds: i64) -> FileTime {
        FileTime(130_000_000_000_000_000).midnight().saturating_add((36_000 + seconds) * SECOND)
    }

    fn utc(seconds: i64) -> Option<TimeArgument> {
        Some(TimeArgument::Utc(at(seconds)))
    }

    /// The local time this many seconds after the start of the logs.
    fn local(seconds: i64) -> Option<TimeArgument> {
        Some(TimeArgument::Local(at(seconds - 7200)))
    }

    #[track_caller]
    fn assert_bounds(begin: Option<&str>, end: Option<&str>, expected: [Option<TimeArgument>; 2]) {
        let [begin_time, end_time] = expected;
        let expected = WindowBounds { begin: begin_time, end: end_time };
        let bounds = window_bounds(begin, end, &mut logs()).unwrap_or_else(|failure| panic!("{failure:?}"));
        assert_eq!(bounds, expected, "{begin:?} {end:?}");
    }

    #[test]
    fn times_are_relative_to_the_logs() {
        assert_bounds(Some("-10m"), None, [utc(3000), None]);
        assert_bounds(Some(" -1.5h "), Some("-90s"), [utc(-1800), utc(3510)]);
        assert_bounds(Some("+30s"), Some("+1m"), [utc(30), utc(90)]);
        assert_bounds(None, Some("+1m"), [None, utc(60)]);
        assert_bounds(Some("08:10"), Some("+1m"), [local(600), local(660)]);
        assert_bounds(Some("08:10"), Some("-1m"), [local(600), utc(3540)]);
        assert_bounds(Some("-5"), Some("+0:02"), [utc(3595), utc(3597)]);
    }

    #[test]
    fn the_logs_are_read_only_if_needed() {
        let reads = |begin, end| {
            let mut logs = logs();
            window_bounds(Some(begin), Some(end), &mut logs)
                .map(|_| logs.reads)
                .map_err(|failure| format!("{failure:?}"))
        };
        assert_eq!(reads("2024-01-01", "2024-01-02"), Ok(0));
        assert_eq!(reads("08:00", "+1m"), Ok(1));
        assert!(reads("-1m", "-2m").is_err_and(|error| error.contains("-b '-1m' is not before -e '-2m'")));
    }

    #[test]
    fn logs_without_samples_have_no_relative_times() {
        for text in ["-1m", "+1m", "08:00"] {
            let mut logs = Counted { times: None, reads: 0 };
            let failure = window_bounds(Some(text), None, &mut logs).expect_err(text);
            let failure = format!("{failure:?}");
            assert!(failure.contains("no samples"), "{failure}");
        }
    }

    #[test]
    fn invalid_lengths_are_refused() {
        for text in ["-", "-1x", "+", "-0s", "+-1m", "-1e300d"] {
            assert!(window_bounds(Some(text), None, &mut logs()).is_err(), "{text}");
        }
    }

    #[test]
    fn the_logs_are_read_once_and_with_the_given_options() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("a.csv");
        let text =
            "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\M\\Memory\\Free\"\r\n\"01/02/2024 10:00:00.000\",\"1\"\r\n";
        std::fs::write(&log, text).expect("written");
        let bounds = |reading: &ReadOptions| {
            let logs = std::slice::from_ref(&log);
            let mut span = SpanOfLogs::new(logs, reading);
            window_bounds(Some("10:00"), None, &mut span)?;
            // A second question needs no log.
            std::fs::rename(&log, folder.path().join("away.csv")).expect("renamed");
            let again = window_bounds(Some("10:00"), Some("+1m"), &mut span);
            std::fs::rename(folder.path().join("away.csv"), &log).expect("renamed");
            again
        };
        assert!(bounds(&ReadOptions::default()).is_ok());
        let options = ReadOptions { budget: Budget::new(16), ..ReadOptions::default() };
        assert!(bounds(&options).is_err(), "more memory than the options allow");
    }
}

//! Series in responses: names, statistics, charts, and limits on the number of series.

use std::collections::HashMap;

use serde::Serialize;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::set::{Counter, CounterSet, Instance};
use tachograph_counters::{AverageKind, Summary};
use tachograph_monitor::figures::Unit;
use tachograph_monitor::{Reduced, ReducedSeries, largest_possible};

use crate::response::ApiError;

/// Maximum number of points (series x columns) in a chart. A point takes a few hundred bytes while the chart is computed.
const MAX_POINTS: usize = 500_000;

/// Maximum number of series in a chart or in statistics.
const MAX_SERIES: usize = 50_000;

pub(crate) fn check_series(series: usize) -> Result<(), ApiError> {
    match series > MAX_SERIES {
        true => Err(ApiError::too_large(format!("more than {MAX_SERIES} counters: select fewer"))),
        false => Ok(()),
    }
}

pub(crate) fn check_points(series: usize, columns: usize) -> Result<(), ApiError> {
    match series.saturating_mul(columns) > MAX_POINTS {
        true => Err(ApiError::too_large(format!(
            "{series} series with {columns} columns exceed the limit of {MAX_POINTS} points: select fewer counters or columns"
        ))),
        false => Ok(()),
    }
}

/// The names and attributes of a series.
#[derive(Serialize)]
pub(crate) struct SeriesName<'a> {
    path: &'a str,
    machine: Option<&'a str>,
    set: &'a str,
    parent: Option<&'a str>,
    instance: Option<&'a str>,
    counter: &'a str,
    #[serde(rename = "type")]
    counter_type: String,
    unit: String,
    format: UnitFormat,
    default_scale: i32,
    /// The largest possible value, if it is known.
    bound: Option<f64>,
    /// `raw` if averages are computed from raw values, `arithmetic` if they are means of formatted values.
    average_kind: &'static str,
}

/// How the terminal monitor formats the values of a counter, so that clients can format them in the same way.
#[derive(Serialize)]
pub(crate) struct UnitFormat {
    kind: &'static str,
    symbol: String,
    /// Converts values to the unit without a prefix: 1024 for KB.
    factor: f64,
}

impl UnitFormat {
    pub(crate) fn for_counter(counter: &Counter) -> Self {
        let unit = Unit::of(counter);
        let form = unit.form();
        Self { kind: form.kind, symbol: form.symbol.to_owned(), factor: form.factor }
    }
}

impl<'a> SeriesName<'a> {
    /// Marks the averages as means of formatted values.
    pub(crate) fn set_arithmetic(&mut self) {
        self.average_kind = "arithmetic";
    }

    /// `instance` is ignored for sets without instances.
    pub(crate) fn new(
        path: &'a str,
        set: &'a CounterSet,
        instance: Option<&'a Instance>,
        counter: &'a Counter,
    ) -> Self {
        let instance = instance.filter(|_| set.has_instances);
        let parent = instance.and_then(Instance::parent);
        let label = instance.map(Instance::label);
        Self {
            path,
            machine: Some(&*set.machine).filter(|machine| !machine.is_empty()),
            set: &set.name,
            parent,
            // Without `parent/`.
            instance: label.map(|label| parent.map_or(label, |parent| &label[parent.len() + 1..])),
            counter: &counter.name,
            counter_type: counter.counter_type.to_string(),
            unit: counter.unit().into_owned(),
            format: UnitFormat::for_counter(counter),
            default_scale: counter.default_scale,
            bound: largest_possible(set.english_name.as_deref().unwrap_or(&set.name), counter),
            average_kind: "raw",
        }
    }
}

/// The statistics of a series.
#[derive(Serialize)]
pub(crate) struct Statistics {
    values: u64,
    errors: u64,
    last: Option<f64>,
    average: Option<f64>,
    minimum: Option<f64>,
    maximum: Option<f64>,
}

impl Statistics {
    pub(crate) fn new(summary: &Summary, counter: &Counter) -> Self {
        // As in `tacho stats`, ids of several objects have no average.
        let has_average = summary.minimum == summary.maximum || !counter.is_identifier();
        Self {
            values: summary.values,
            errors: summary.errors,
            last: summary.last,
            average: summary.average.filter(|_| has_average),
            minimum: summary.minimum,
            maximum: summary.maximum,
        }
    }
}

#[derive(Serialize)]
struct Chart<'a> {
    #[serde(flatten)]
    name: SeriesName<'a>,
    /// Whether the last sample of the machine in the range has no raw value of the series. Omitted if it has one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_ended: bool,
    statistics: Statistics,
    average: Vec<Option<f64>>,
    minimum: Vec<Option<f64>>,
    maximum: Vec<Option<f64>>,
}

impl<'a> Chart<'a> {
    /// `filled` are the indices of the columns to include, `last` is the time of the last sample of the machine.
    fn from_series(series: &'a ReducedSeries, filled: &[usize], last: Option<Moment>) -> Self {
        let ReducedSeries { info, summary, columns } = series;
        let mut name = SeriesName::new(&info.path, &info.set, info.instance.as_deref(), &info.counter);
        if summary.average_kind == AverageKind::Arithmetic {
            name.set_arithmetic();
        }
        Self {
            name,
            has_ended: summary.last_time < last,
            statistics: Statistics::new(summary, &info.counter),
            average: filled.iter().map(|&column| columns[column].average).collect(),
            minimum: filled.iter().map(|&column| columns[column].minimum).collect(),
            maximum: filled.iter().map(|&column| columns[column].maximum).collect(),
        }
    }
}

/// A path that selects nothing.
#[derive(Serialize)]
pub(crate) struct MissingPath<'a> {
    path: &'a str,
    reason: &'a str,
}

/// The response to a request for series.
#[derive(Default, Serialize)]
pub(crate) struct Charts<'a> {
    begin: Option<String>,
    end: Option<String>,
    /// The number of columns, including those without values, which the vectors omit.
    columns: usize,
    /// The times of the columns, in Unix seconds.
    times: Vec<f64>,
    /// The time of the first sample in the range.
    first_time: Option<String>,
    last_time: Option<String>,
    series: Vec<Chart<'a>>,
    missing: Vec<MissingPath<'a>>,
}

impl<'a> Charts<'a> {
    pub(crate) fn from_reduced(reduced: &'a Reduced, missing: &'a [(String, String)]) -> Self {
        let covered = reduced.covered();
        let has_value = |&column: &usize| {
            reduced.series.iter().any(|series| {
                let column = &series.columns[column];
                column.average.is_some() || column.minimum.is_some()
            })
        };
        let filled: Vec<_> = (0..reduced.columns).filter(has_value).collect();
        // Machines are sampled at different times.
        let mut last_times = HashMap::new();
        for ReducedSeries { info, summary, .. } in &reduced.series {
            let last = last_times.entry(&*info.set.machine).or_insert(summary.last_time);
            *last = (*last).max(summary.last_time);
        }
        let last_time_of =
            |series: &ReducedSeries| last_times.get(&*series.info.set.machine).copied().flatten();
        Self {
            begin: Some(rfc3339(reduced.span.begin())),
            end: Some(rfc3339(reduced.span.end())),
            columns: reduced.columns,
            times: filled.iter().map(|&column| unix_seconds(reduced.time_of(column))).collect(),
            first_time: covered.map(|(first, _)| rfc3339(first.utc)),
            last_time: covered.map(|(_, last)| rfc3339(last.utc)),
            series: reduced
                .series
                .iter()
                .map(|series| Chart::from_series(series, &filled, last_time_of(series)))
                .collect(),
            missing: missing_paths(missing),
        }
    }

    /// The response before the first sample.
    pub(crate) fn empty(missing: &'a [(String, String)]) -> Self {
        Self { missing: missing_paths(missing), ..Self::default() }
    }
}

pub(crate) fn missing_paths(missing: &[(String, String)]) -> Vec<MissingPath<'_>> {
    missing.iter().map(|(path, reason)| MissingPath { path, reason }).collect()
}

/// Seconds since 1970, UTC.
pub(crate) fn unix_seconds(time: FileTime) -> f64 {
    time.since(FileTime::UNIX_EPOCH) as f64 / FileTime::PER_SECOND as f64
}

/// The time in RFC 3339, UTC, with seven decimals. Times outside the years 0 to 9999 become the first or the last
/// moment of this range.
pub(crate) fn rfc3339(time: FileTime) -> String {
    let Some(civil) = time.to_civil() else {
        return match time > FileTime::UNIX_EPOCH {
            true => "9999-12-31T23:59:59.9999999Z".to_owned(),
            false => "0000-01-01T00:00:00.0000000Z".to_owned(),
        };
    };
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:07}Z",
        civil.year(),
        civil.month(),
        civil.day(),
        civil.hour(),
        civil.minute(),
        civil.second(),
        civil.subsec_nanosecond() / 100
    )
}

//! Expected results: the pipeline of `tacho stats` over a window, cut into columns.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use tachograph_counters::Summary;
use tachograph_counters::civil::TimeArgument;
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::query::LogQuery;
use tachograph_flow::sinks::{StatisticsOptions, StatisticsSink};
use tachograph_flow::{Selection, WindowBounds, run};
use tachograph_monitor::{Board, Column, LogBoard, LogProgress, Reducer, Reduction, SeriesTable, Span};

/// Statistics by path and formula.
pub(crate) type Rows = BTreeMap<String, Summary>;

pub(crate) fn patterns(paths: &[&str]) -> Vec<PathPattern> {
    paths.iter().map(|path| PathPattern::parse(path).unwrap()).collect()
}

pub(crate) fn keep_going(_: LogProgress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn query(files: &[PathBuf], paths: &[PathPattern], span: Span) -> LogQuery {
    let bounds = WindowBounds {
        begin: Some(TimeArgument::Utc(span.begin())),
        end: Some(TimeArgument::Utc(span.end())),
    };
    LogQuery { bounds, selection: Selection::new(paths.to_vec()), ..LogQuery::new(files.to_vec()) }
}

/// The result of `tacho stats -b BEGIN -e END`, without counters whose only value precedes the window.
pub(crate) fn statistics(files: &[PathBuf], paths: &[PathPattern], span: Span) -> Rows {
    let mut pipeline = query(files, paths, span).samples().unwrap();
    let options = StatisticsOptions { without_quantiles: true, ..StatisticsOptions::default() };
    let mut sink = StatisticsSink::new(options);
    run(&mut *pipeline.source, &mut sink, || {}).unwrap();
    let rows = sink.rows().into_iter();
    rows.map(|row| (key(&row.path, &row.counter), row.summary)).filter(|(_, row)| has_any(row)).collect()
}

fn key(path: &str, counter: &tachograph_counters::set::Counter) -> String {
    format!("{path} {:?}", counter.counter_type.formula())
}

fn has_any(row: &Summary) -> bool {
    row.values > 0 || row.errors > 0
}

/// The columns from one pass over the window.
fn columns(
    files: &[PathBuf],
    paths: &[PathPattern],
    span: Span,
    count: usize,
) -> (BTreeMap<String, Vec<Column>>, bool) {
    let mut pipeline = query(files, paths, span).samples().unwrap();
    let (mut reduction, mut table) = (Reduction::new(span, count), SeriesTable::default());
    let mut reducer = Reducer::default();
    let mut sample = Sample::default();
    let mut has_baselines = false;
    let mut machine = None;
    while pipeline.source.next(&mut sample).unwrap() {
        let of_this = sample.groups.first().map(|group| Arc::clone(&group.set.machine));
        if machine.is_some() && of_this.is_some() && machine != of_this {
            reducer.cut(&mut reduction, &mut table);
            reducer = Reducer::default();
        }
        machine = of_this.or(machine);
        has_baselines |= sample.is_baseline && sample.at.utc >= span.begin();
        reducer.push(&sample, &mut reduction, &mut table).unwrap();
    }
    reducer.cut(&mut reduction, &mut table);
    let series = reduction.finish(&table, &[]).series.into_iter();
    let columns = series.map(|series| (key(&series.info.path, &series.info.counter), series.columns));
    (columns.collect(), has_baselines)
}

/// Checks a span of a board in which `paths` are charted: its statistics and its columns.
#[track_caller]
pub(crate) fn check(board: &mut LogBoard, span: Span, count: usize) {
    let (files, paths) = (board.files().to_vec(), board.paths().to_vec());
    let expected = statistics(&files, &paths, span);
    let (expected_columns, has_baselines) = columns(&files, &paths, span, count);
    let reduced = board.reduce(span, count, &[]).unwrap();
    let mut found = Rows::new();
    for series in &reduced.series {
        let key = key(&series.info.path, &series.info.counter);
        assert_eq!(series.columns.len(), count);
        if has_any(&series.summary) {
            check_columns(&key, &series.columns, &expected_columns[&key], has_baselines);
            assert!(found.insert(key.clone(), series.summary.clone()).is_none(), "{key} twice");
        }
    }
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (key, expected) in &expected {
        check_summary(key, &found[key], expected, has_baselines);
    }
}

#[track_caller]
fn check_summary(key: &str, found: &Summary, expected: &Summary, has_baselines: bool) {
    let context = format!("{key}: {found:?}, expected {expected:?}");
    assert_eq!((found.values, found.errors), (expected.values, expected.errors), "{context}");
    assert_eq!(found.last.map(f64::to_bits), expected.last.map(f64::to_bits), "{context}");
    assert_eq!(found.minimum, expected.minimum, "{context}");
    assert_eq!(found.maximum, expected.maximum, "{context}");
    assert_eq!(found.average_kind, expected.average_kind, "{context}");
    if expected.values > 0 && !has_baselines {
        assert_eq!(found.last_time, expected.last_time, "{context}");
    }
    assert!(are_equal(key, found.average, expected.average), "{context}");
}

#[track_caller]
fn check_columns(key: &str, found: &[Column], expected: &[Column], has_baselines: bool) {
    for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
        let context = format!("{key}, column {number}: {found:?}, expected {expected:?}");
        assert!(are_equal(key, found.average, expected.average), "{context}");
        let rest = |column: &Column| Column { average: None, at: None, ..*column };
        assert_eq!(rest(found), rest(expected), "{context}");
        // The time of a baseline within the span can be in either of two adjacent columns.
        if expected.values > 0 && !has_baselines {
            assert_eq!(found.at, expected.at, "{context}");
        }
    }
}

/// Whether two numbers are equal. Sums of doubles depend on the order, so they need only be nearly equal.
fn are_equal(key: &str, found: Option<f64>, expected: Option<f64>) -> bool {
    let is_sum = key.ends_with("Some(Fraction)") || key.ends_with("Some(Double)");
    match (found, expected) {
        (Some(found), Some(expected)) if is_sum => (found - expected).abs() <= expected.abs() * 1e-12,
        (found, expected) => found.map(f64::to_bits) == expected.map(f64::to_bits),
    }
}

/// Checks that each column equals a separate window, for logs without special events.
#[track_caller]
pub(crate) fn check_columns_apart(board: &mut LogBoard, span: Span, count: usize) {
    let (files, paths) = (board.files().to_vec(), board.paths().to_vec());
    let reduced = board.reduce(span, count, &[]).unwrap();
    for number in 0..count {
        let column = Span::new(span.column_begin(number, count), span.column_begin(number + 1, count));
        let expected = statistics(&files, &paths, column);
        for series in &reduced.series {
            let key = key(&series.info.path, &series.info.counter);
            let found = series.columns[number];
            let Some(expected) = expected.get(&key) else {
                assert_eq!((found.values, found.errors), (0, 0), "{key}, column {number}");
                continue;
            };
            assert!(are_equal(&key, found.average, expected.average), "{key}, column {number}");
            assert_eq!(found.minimum, expected.minimum, "{key}, column {number}");
            assert_eq!(found.maximum, expected.maximum, "{key}, column {number}");
            assert_eq!((found.values, found.errors), (expected.values, expected.errors), "{key}");
        }
    }
}

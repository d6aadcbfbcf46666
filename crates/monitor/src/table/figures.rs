//! The figures of a table: a reduction in which an instance is split if its name belonged to several processes.

use std::collections::HashMap;

use tachograph_counters::Summary;
use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_flow::FlowError;

use super::columns::Identity;
use crate::board::Board;
use crate::reduced::{Column, Reduced, ReducedSeries};
use crate::series::SeriesInfo;
use crate::span::Span;

/// The figures of a table over a time range. They equal those of `tacho stats -b BEGIN -e END`.
///
/// Several processes can have the same instance name one after another, because the number after `#` and process ids are
/// reused. Such an instance is split into one part for each process, with the figures of the time in which the process had
/// the name.
#[derive(Clone, Debug)]
pub struct TableFigures {
    /// The series; those of split instances come last.
    pub reduced: Reduced,
    /// For each series, the number of its part, from 1, or 0 if the instance is not split. Series after the end of the list
    /// have the number 0.
    parts: Vec<u32>,
    /// Whether rates have no values yet, but will have some when the next sample is taken.
    pub(super) await_rates: bool,
}

/// Maximum number of reductions to split instances; each takes a few milliseconds for a log. After that, instances are not
/// split, and their figures cover all their processes.
const MAX_REDUCTIONS: usize = 200;

/// Maximum number of columns of a reduction that searches for changes of the process.
const MAX_COLUMNS: usize = 2048;

/// The start time of a process, computed from its elapsed time, varies slightly from sample to sample. Start times that
/// differ by more than this, in units of 100 ns, belong to different processes.
pub(super) const START_TOLERANCE: i64 = 2 * FileTime::PER_SECOND;

/// An instance: machine, set, label.
type InstanceKey<'a> = (&'a str, &'a str, &'a str);

fn key_of(info: &SeriesInfo) -> InstanceKey<'_> {
    let label = info.instance.as_ref().map_or("", |instance| instance.label());
    (info.machine.as_deref().unwrap_or_default(), &info.set.name, label)
}

impl TableFigures {
    /// Reduces a span of a board to the figures of a table.
    ///
    /// # Errors
    ///
    /// Those of [`Board::reduce`].
    pub fn read(board: &mut dyn Board, span: Span, paths: &[PathPattern]) -> Result<Self, FlowError> {
        let reduced = board.reduce(span, 0, paths)?;
        let mixed = mixed_instances(&reduced);
        let samples = reduced.series.iter().map(|series| series.summary.values).max().unwrap_or(0);
        let await_rates = board.is_live() && samples < 2;
        let mut figures = Self { parts: vec![0; reduced.series.len()], reduced, await_rates };
        let mut reductions = MAX_REDUCTIONS;
        for (pattern, info) in mixed {
            let Some(spans) = part_spans(board, span, samples, &pattern, &mut reductions)? else { continue };
            if spans.len() < 2 || spans.len() > reductions {
                continue;
            }
            reductions -= spans.len();
            figures.remove(key_of(&info));
            for (part, span) in spans.into_iter().enumerate() {
                let reduced = board.reduce(span, 0, std::slice::from_ref(&pattern))?;
                let selected = reduced.series.into_iter().filter(|series| {
                    paths.is_empty() || paths.iter().any(|path| series.info.is_selected_by(path))
                });
                figures.reduced.series.extend(selected);
                figures.parts.resize(figures.reduced.series.len(), part as u32 + 1);
            }
        }
        Ok(figures)
    }

    /// The number of the part, from 1, to which the series with this index belongs; 0 if its instance is not split.
    pub fn part(&self, series: usize) -> u32 {
        self.parts.get(series).copied().unwrap_or_default()
    }

    fn remove(&mut self, key: InstanceKey<'_>) {
        let mut parts = Vec::with_capacity(self.parts.len());
        let mut kept = self.reduced.series.iter().zip(&self.parts).map(|(series, part)| {
            let is_kept = key_of(&series.info) != key;
            if is_kept {
                parts.push(*part);
            }
            is_kept
        });
        let kept: Vec<bool> = kept.by_ref().collect();
        let mut index = 0;
        self.reduced.series.retain(|_| {
            index += 1;
            kept[index - 1]
        });
        self.parts = parts;
    }
}

impl From<Reduced> for TableFigures {
    /// Figures without parts.
    fn from(reduced: Reduced) -> Self {
        Self { reduced, parts: Vec::new(), await_rates: false }
    }
}

/// The start time of a process, from its elapsed time (in seconds) at a moment.
fn start(at: Option<FileTime>, elapsed: Option<f64>) -> Option<FileTime> {
    Some(at?.saturating_sub((elapsed? * FileTime::PER_SECOND as f64) as i64))
}

/// Whether the values of an identity counter are those of several processes.
pub(super) fn is_mixed(identity: Identity, summary: &Summary) -> bool {
    match identity {
        Identity::Process | Identity::Thread => summary.minimum != summary.maximum,
        Identity::Parent => false,
        Identity::Elapsed => {
            let time = |at: Option<tachograph_counters::civil::Moment>| at.map(|at| at.utc);
            // Within a process, elapsed time only grows, so the first value is the smallest and the last one the largest.
            let first = start(time(summary.first_time), summary.minimum);
            let last = start(time(summary.last_time), summary.last);
            let largest = start(time(summary.last_time), summary.maximum);
            let started_differently = |one: Option<FileTime>| match (one, last) {
                (Some(one), Some(last)) => one.since(last).abs() > START_TOLERANCE,
                _ => false,
            };
            started_differently(first) || started_differently(largest)
        }
    }
}

/// The instances whose name belonged to several processes, each with the path that selects its counters.
fn mixed_instances(reduced: &Reduced) -> Vec<(PathPattern, std::sync::Arc<SeriesInfo>)> {
    let mut mixed: HashMap<InstanceKey<'_>, &ReducedSeries> = HashMap::new();
    // The identity of each counter, by the address of its name. Searched from the end, because neighbouring series share
    // counters.
    let mut known: Vec<(*const u8, Option<Identity>)> = Vec::new();
    for series in &reduced.series {
        let counter = &series.info.counter;
        let address = counter.name.as_ptr();
        let identity = match known.iter().rev().find(|(known, _)| *known == address) {
            Some((_, identity)) => *identity,
            None => {
                let identity = Identity::of(counter);
                known.push((address, identity));
                identity
            }
        };
        let Some(identity) = identity else { continue };
        if is_mixed(identity, &series.summary) && !super::rows::is_reserved(&series.info) {
            mixed.entry(key_of(&series.info)).or_insert(series);
        }
    }
    let mut mixed: Vec<_> = mixed.into_values().map(|series| &series.info).collect();
    mixed.sort_unstable_by_key(|info| info.id);
    let pattern = |info: &SeriesInfo| {
        let instance = info.path.strip_suffix(&*info.counter.name)?;
        let pattern = PathPattern::parse(&format!("{instance}*")).ok()?;
        // A name with wildcards would select other instances too.
        pattern.instance().is_some_and(|instance| instance.is_literal()).then_some(pattern)
    };
    mixed.into_iter().filter_map(|info| Some((pattern(info)?, std::sync::Arc::clone(info)))).collect()
}

/// The process of an instance at one moment: the ids of process and thread, and the start time.
#[derive(Clone, Copy, Debug, Default)]
struct Identities {
    ids: [Option<f64>; 2],
    started: Option<FileTime>,
}

impl Identities {
    fn is_same(&self, other: &Self) -> bool {
        let started_differently =
            |one: Option<f64>, other: Option<f64>| matches!((one, other), (Some(a), Some(b)) if a != b);
        let is_other_start =
            matches!((self.started, other.started), (Some(a), Some(b)) if a.since(b).abs() > START_TOLERANCE);
        !(0..2).any(|id| started_differently(self.ids[id], other.ids[id])) && !is_other_start
    }
}

/// Splits a span into parts, so that the instance is a single process in each part. `None` if this would take too many
/// reductions.
fn part_spans(
    board: &mut dyn Board,
    span: Span,
    samples: u64,
    pattern: &PathPattern,
    reductions: &mut usize,
) -> Result<Option<Vec<Span>>, FlowError> {
    let mut begins = vec![span.begin()];
    let mut before: Option<Identities> = None;
    // Spans that are still to be searched, from the last to the first.
    let mut pending = vec![(span, samples)];
    while let Some((span, samples)) = pending.pop() {
        if *reductions == 0 {
            return Ok(None);
        }
        *reductions -= 1;
        // With two columns per sample, most columns contain at most one sample.
        let columns = usize::try_from(samples.saturating_mul(2)).unwrap_or(MAX_COLUMNS).clamp(8, MAX_COLUMNS);
        let reduced = board.reduce(span, columns, std::slice::from_ref(pattern))?;
        let identity = |series: &ReducedSeries| Identity::of(&series.info.counter);
        let series: Vec<_> =
            reduced.series.iter().filter_map(|series| Some((identity(series)?, series))).collect();
        for index in 0..columns {
            let mut now = Identities::default();
            let mut has_several = false;
            let mut values = 0;
            for (identity, series) in &series {
                let Some(column) = series.columns.get(index).filter(|column| column.values > 0) else {
                    continue;
                };
                values = values.max(column.values);
                match identity {
                    Identity::Process => now.ids[0] = column.last,
                    Identity::Thread => now.ids[1] = column.last,
                    Identity::Elapsed => now.started = start(column.at, column.last),
                    Identity::Parent => {}
                }
                has_several |= column.values > 1 && is_mixed_column(*identity, column);
            }
            if values == 0 {
                continue;
            }
            let column = span.column(index, columns);
            if has_several && column.length() > 1 {
                // Searches this column in more detail next, and then the rest of the span after it.
                if column.end() < span.end() {
                    pending.push((Span::new(column.end(), span.end()), samples));
                }
                pending.push((column, values));
                break;
            }
            if before.is_some_and(|before| !before.is_same(&now)) {
                begins.push(column.begin());
            }
            before = Some(now);
        }
    }
    let ends = begins.iter().skip(1).copied().chain([span.end()]);
    Ok(Some(begins.iter().zip(ends).map(|(begin, end)| Span::new(*begin, end)).collect()))
}

/// Whether a column has the values of several processes.
fn is_mixed_column(identity: Identity, column: &Column) -> bool {
    match identity {
        Identity::Process | Identity::Thread => column.minimum != column.maximum,
        // Within a process, elapsed time only grows.
        Identity::Elapsed => column.last < column.maximum,
        Identity::Parent => false,
    }
}

//! The order of the rows: by path, by a figure, or by the average of a counter.

use std::collections::HashMap;

use tachograph_counters::Summary;
use tachograph_counters::wildcard::{eq_ignore_case, fold_case};
use tachograph_flow::Selection;
use tachograph_flow::sinks::{ExtraFigures, StatisticsRow};
use tachograph_monitor::has_no_rank;

use crate::arguments::StatsArguments;
use crate::failure::Failure;
use crate::ranking::{counter_name, descending};

/// The order of the rows, and how many of them are shown.
pub(super) struct RowOrder {
    key: Key,
    top: Option<usize>,
    /// The paths of the command. Totals that they name are ranked.
    selection: Selection,
    /// Whether the counter of the key has occurred.
    is_counter_known: bool,
    /// Whether rows are sorted by averages, weighted with the time for which an instance was present.
    weighs_averages: bool,
    /// Whether rows are sorted by a figure that has the unit of the counter.
    has_unit: bool,
    /// See [`omitted`](Self::omitted).
    omitted: Vec<OmittedRow>,
}

/// A row that `--top` omitted.
pub(super) struct OmittedRow {
    pub(super) row: StatisticsRow,
    /// The figure by which rows are sorted; the average if this is a weighted average.
    pub(super) figure: Option<f64>,
}

enum Key {
    Path,
    /// Sorts the rows of each counter by a figure.
    Figure(Figure),
    /// Sorts instances by the average of a counter.
    Counter(String),
}

/// Returns a figure of a row.
type Figure = Box<dyn Fn(&StatisticsRow) -> Option<f64>>;

impl RowOrder {
    /// The order that the arguments request. With `--top` alone, the largest averages are first.
    pub(super) fn new(
        arguments: &StatsArguments,
        extra: &ExtraFigures,
        selection: Selection,
    ) -> Result<Self, Failure> {
        let key = match arguments.sort.as_deref() {
            None if arguments.rows.top.is_none() => Key::Path,
            None => Key::Figure(Box::new(|row| row.summary.rank())),
            Some(text) => Key::parse(text, extra)?,
        };
        if arguments.rows.top.is_some() && matches!(key, Key::Path) {
            return Err(Failure::usage(
                "--top needs an order: use --sort with a counter or a figure such as average",
            ));
        }
        let sort = arguments.sort.as_deref().map(figure_name);
        let weighs_averages = match &key {
            Key::Path => false,
            Key::Counter(_) => true,
            Key::Figure(_) => sort.as_deref().is_none_or(|sort| sort == "average"),
        };
        let has_unit =
            !matches!(sort.as_deref(), Some("values" | "errors" | "slope")) && !matches!(key, Key::Path);
        Ok(Self {
            key,
            top: arguments.rows.top,
            selection,
            is_counter_known: false,
            weighs_averages,
            has_unit,
            omitted: Vec::new(),
        })
    }

    /// Whether rows are sorted by averages.
    pub(super) fn is_by_average(&self) -> bool {
        self.weighs_averages
    }

    /// The first rows of `_Exited` and `_Unattributed` that `--top` omitted although they are larger than a row that is shown.
    pub(super) fn omitted(&self) -> &[OmittedRow] {
        &self.omitted
    }

    /// Changes the order of rows from path order to the requested order. With `--top`, keeps the first rows of each counter, or the
    /// first instances of each set if the key is a counter.
    pub(super) fn apply(&mut self, mut rows: Vec<StatisticsRow>) -> Vec<StatisticsRow> {
        let is_ranked_last = |row: &StatisticsRow| is_ranked_last(&self.selection, row);
        let no_owner: Vec<StatisticsRow> = match self.top {
            Some(_) if self.has_unit && self.omitted.len() < NO_OWNER.len() => {
                rows.iter().filter(|row| has_no_owner(row) && is_ranked_last(row)).cloned().collect()
            }
            _ => Vec::new(),
        };
        let rows = match &self.key {
            Key::Path => rows,
            Key::Figure(figure) => {
                let group = |row: &StatisticsRow| (fold_case(&row.set.name), fold_case(&row.counter.name));
                rows.sort_by_cached_key(|row| (group(row), is_ranked_last(row)));
                rows.chunk_by_mut(|one, other| {
                    (group(one), is_ranked_last(one)) == (group(other), is_ranked_last(other))
                })
                .for_each(|rows| rows.sort_by(|one, other| descending(figure(one), figure(other))));
                let mut shown: HashMap<_, usize> = HashMap::new();
                self.keep_top(rows, |row, top| {
                    let count = shown.entry(group(row)).or_default();
                    *count += 1;
                    *count <= top
                })
            }
            Key::Counter(counter) => {
                let instance = |row: &StatisticsRow| {
                    let label = row.instance.as_ref().map(|instance| instance.label().to_owned());
                    (row.machine.clone(), fold_case(&row.set.name), label)
                };
                let key_rows = rows.iter().filter(|row| eq_ignore_case(&row.counter.name, counter));
                let averages: HashMap<_, _> =
                    key_rows.map(|row| (instance(row), row.summary.rank())).collect();
                self.is_counter_known |= !averages.is_empty();
                let average = |row: &StatisticsRow| averages.get(&instance(row)).copied();
                rows.sort_by(|one, other| {
                    let sets = fold_case(&one.set.name).cmp(&fold_case(&other.set.name));
                    let lasts = is_ranked_last(one).cmp(&is_ranked_last(other));
                    let averages = descending(average(one).flatten(), average(other).flatten());
                    sets.then(lasts).then(averages).then_with(|| instance(one).cmp(&instance(other)))
                });
                let mut shown: HashMap<_, Vec<_>> = HashMap::new();
                self.keep_top(rows, |row, top| {
                    let instances = shown.entry(fold_case(&row.set.name)).or_default();
                    if instances.last() != Some(&instance(row)) {
                        instances.push(instance(row));
                    }
                    instances.len() <= top
                })
            }
        };
        no_owner.into_iter().for_each(|row| self.record_omitted(row, &rows));
        rows
    }

    /// Records a row that `--top` omitted if its figure is larger than the smallest one that is shown.
    fn record_omitted(&mut self, row: StatisticsRow, shown: &[StatisticsRow]) {
        let figure = |row: &StatisticsRow| match &self.key {
            Key::Path => None,
            Key::Figure(figure) => figure(row),
            Key::Counter(counter) => {
                eq_ignore_case(&row.counter.name, counter).then(|| row.summary.rank())?
            }
        };
        let is_of_counter = |other: &&StatisticsRow| {
            eq_ignore_case(&other.set.name, &row.set.name)
                && eq_ignore_case(&other.counter.name, &row.counter.name)
        };
        let smallest = shown.iter().filter(is_of_counter).filter_map(figure).min_by(f64::total_cmp);
        let is_known = self.omitted.iter().any(|known| name_of(&known.row) == name_of(&row));
        let value = figure(&row);
        if !is_known && value > Some(smallest.unwrap_or(0.0)) {
            let figure = if self.weighs_averages { row.summary.average } else { value };
            self.omitted.push(OmittedRow { row, figure });
        }
    }

    /// Returns an error if no row had the counter of `--sort`.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match &self.key {
            Key::Counter(counter) if !self.is_counter_known => Err(Failure::usage(format!(
                "--sort '{counter}': no such counter in the result; name one of its counters, or last, average, minimum, \
                 maximum, a percentile (p95), values or errors"
            ))),
            _ => Ok(()),
        }
    }

    /// Whether the rows of a counter have different numbers of intervals, and are sorted by averages weighted with them.
    pub(super) fn is_weighted<'a>(&self, rows: impl Iterator<Item = &'a StatisticsRow>) -> bool {
        if !self.weighs_averages {
            return false;
        }
        let mut intervals: HashMap<_, u64> = HashMap::new();
        rows.filter(|row| row.summary.intervals > 0).any(|row| {
            let counter = (fold_case(&row.set.name), fold_case(&row.counter.name));
            *intervals.entry(counter).or_insert(row.summary.intervals) != row.summary.intervals
        })
    }

    /// Whether the counter of `--sort` has occurred. True if `--sort` names no counter.
    pub(super) fn is_known(&self) -> bool {
        self.is_counter_known || !matches!(self.key, Key::Counter(_))
    }

    /// With `--top`, keeps the rows for which `is_shown` returns true, and removes rows without a rank: identifiers, and unless
    /// a path names them, totals and sets without instances.
    fn keep_top(
        &self,
        mut rows: Vec<StatisticsRow>,
        mut is_shown: impl FnMut(&StatisticsRow, usize) -> bool,
    ) -> Vec<StatisticsRow> {
        if let Some(top) = self.top {
            let named = &self.selection;
            rows.retain(|row| !is_ranked_last(named, row) && is_ranked(named, row) && is_shown(row, top));
        }
        rows
    }
}

/// The instances of processes that have the time of processes without a row, or the rest of the processors' time.
const NO_OWNER: [&str; 2] = ["_Exited", "_Unattributed"];

fn has_no_owner(row: &StatisticsRow) -> bool {
    row.instance.as_ref().is_some_and(|instance| instance.index() == 0 && NO_OWNER.contains(&name_of(row)))
}

/// The name of the instance; in old logs, that of `Process V2` ends with `:0`.
fn name_of(row: &StatisticsRow) -> &str {
    let name = row.instance.as_ref().map_or("", |instance| instance.name());
    name.strip_suffix(":0").unwrap_or(name)
}

fn is_ranked_last(named: &Selection, row: &StatisticsRow) -> bool {
    let has_no_rank = |instance| has_no_rank(&row.set.name, instance);
    row.instance.as_deref().is_some_and(has_no_rank) && !is_named(named, row)
}

/// Whether a row can be ranked: it belongs to an instance, or a path names it; and its counter is not an identifier.
fn is_ranked(named: &Selection, row: &StatisticsRow) -> bool {
    (row.instance.is_some() || is_named(named, row)) && !row.counter.is_identifier()
}

fn is_named(named: &Selection, row: &StatisticsRow) -> bool {
    named.names_instance(&row.set, &row.counter, row.instance.as_deref())
}

impl Key {
    fn parse(text: &str, extra: &ExtraFigures) -> Result<Self, Failure> {
        fn from_summary(figure: impl Fn(&Summary) -> Option<f64> + 'static) -> Figure {
            Box::new(move |row| figure(&row.summary))
        }
        let name = figure_name(text);
        let quantile = |index: usize| from_summary(move |it| it.quantiles.map(|quantiles| quantiles[index]));
        let position = |name: &str| extra.names().iter().position(|known| known == name);
        let requested = |name: &str, option: &str| match position(name) {
            Some(index) => {
                Ok(Box::new(move |row: &StatisticsRow| row.extra.get(index).copied().flatten()) as Figure)
            }
            None => Err(Failure::usage(format!("--sort {text} needs {option}"))),
        };
        Ok(Self::Figure(match name.as_str() {
            "path" => return Ok(Self::Path),
            "last" => from_summary(|it| it.last),
            "average" => from_summary(Summary::rank),
            "minimum" => from_summary(|it| it.minimum),
            "maximum" => from_summary(|it| it.maximum),
            "values" => from_summary(|it| Some(it.values as f64)),
            "errors" => from_summary(|it| Some(it.errors as f64)),
            "p50" => quantile(0),
            "p90" => quantile(1),
            "p95" => quantile(2),
            "p99" => quantile(3),
            "deviation" => requested("standard_deviation", "--deviation")?,
            "slope" => requested("slope_per_hour", "--slope")?,
            percentile if percentage_of(percentile).is_some() => {
                requested(percentile, &format!("--percentile {}", &percentile[1..]))?
            }
            _ => return Ok(Self::Counter(counter_name(text))),
        }))
    }
}

/// Normalizes the name of a figure: `P90.0` becomes `p90`.
pub(super) fn figure_name(text: &str) -> String {
    let name = text.to_ascii_lowercase();
    percentage_of(&name).map_or(name, |percentage| format!("p{percentage}"))
}

/// The percentage in a name such as `p99.9`. Names of counters can begin with p, so `pinf` is not a percentage.
fn percentage_of(name: &str) -> Option<f64> {
    let number =
        name.strip_prefix('p').filter(|number| number.starts_with(|first: char| first.is_ascii_digit()))?;
    number.parse().ok().filter(|percentage| (0.0..=100.0).contains(percentage))
}

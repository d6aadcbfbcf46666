//! The columns of the table of statistics.

use tachograph_counters::AverageKind;
use tachograph_counters::civil::Moment;
use tachograph_flow::sinks::{ExtraFigures, StatisticsRow};
use tachograph_monitor::figures::{NumberForm, SEVERAL};

use super::super::list;
use super::output::TableRow;
use super::row_order::figure_name;
use crate::table::{Column, grouped, select_columns, value_text, widths};

/// The columns of a table of statistics, and the cells of a row.
pub(super) struct StatisticsTable {
    columns: Vec<Column>,
    contents: Vec<Content>,
    shared: SharedPath,
    /// What the titles above groups of rows have, if there are titles.
    titles: Option<Title>,
    form: NumberForm,
    /// The heading of the column that is never dropped, because the rows are sorted by it.
    sorted_by: String,
}

/// The part of the paths that all rows have in common. It is shown once, above the table.
#[derive(Debug, Default)]
enum SharedPath {
    #[default]
    None,
    /// A prefix of this length: the machine, or machine and set.
    Start(usize),
    /// Everything but the instance.
    Counter,
}

/// The part of the path that consecutive rows have in common, shown as a title above them.
#[derive(Clone, Copy, Debug)]
enum Title {
    /// `\Set(instance)`; the rows have the counters.
    Instance,
    /// `\Set(*)\Counter`; the rows have the instances.
    Counter,
}

/// A group of rows gets a title if the groups have at least this many rows on average.
const MIN_GROUP: usize = 2;

/// Names are shortened to these widths, in terminal columns, to make room for a column: the number of values; the unit;
/// minimum and maximum.
const MIN_PATH_FOR_VALUES: usize = 32;
const MIN_PATH_FOR_UNIT: usize = 24;
const MIN_PATH_FOR_EXTREMES: usize = 20;

/// What a column shows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Content {
    /// The start of the time range.
    From,
    Counter,
    Unit,
    Last,
    Average,
    Minimum,
    Maximum,
    MaximumTime,
    /// One of [`Summary::quantiles`](tachograph_counters::Summary::quantiles).
    Quantile(usize),
    /// One of [`StatisticsRow::extra`].
    Extra(usize),
    Values,
    Errors,
}

/// The percentiles that are shown by default, with their indexes in the summary. The summary has four, but the table has
/// room for only three.
const DEFAULT_PERCENTILES: [(f64, usize); 3] = [(50.0, 0), (95.0, 2), (99.0, 3)];

impl StatisticsTable {
    /// Creates a table with the requested additional figures and, with `has_spans`, the time range of each row.
    /// Percentiles are in ascending order. The column `sorted_by` is never dropped; nor is the number of values if
    /// `is_weighted`, because it explains the order.
    pub(super) fn new(
        extra: &ExtraFigures,
        has_spans: bool,
        rows: &[TableRow],
        sorted_by: Option<&str>,
        is_weighted: bool,
        form: NumberForm,
    ) -> Self {
        let mut percentiles: Vec<_> = DEFAULT_PERCENTILES
            .iter()
            .map(|&(percentage, index)| (percentage, Content::Quantile(index)))
            .collect();
        // The column by which the rows are sorted is shown even if it is not a default one.
        let sorted_by = sorted_by.map(figure_name).unwrap_or_default();
        if sorted_by == "p90" {
            percentiles.push((90.0, Content::Quantile(1)));
        }
        for (index, &percentage) in extra.percentiles.iter().enumerate() {
            percentiles.retain(|(known, _)| *known != percentage);
            percentiles.push((percentage, Content::Extra(index)));
        }
        percentiles.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let mut table = Self {
            columns: Vec::new(),
            contents: Vec::new(),
            shared: SharedPath::None,
            titles: None,
            form,
            sorted_by,
        };
        if has_spans {
            table.add("from", Content::From, 0);
        }
        table.add("counter", Content::Counter, 0);
        // In other forms, each value includes its unit.
        if form == NumberForm::Raw {
            table.add("unit", Content::Unit, 3);
        }
        table.add("last", Content::Last, 5);
        table.add("average", Content::Average, 0);
        table.add("minimum", Content::Minimum, 2);
        table.add("maximum", Content::Maximum, 1);
        if extra.maximum_time {
            table.add("time of maximum", Content::MaximumTime, 0);
        }
        for (percentage, content) in percentiles {
            let rank = match content {
                Content::Quantile(2) => 6,
                Content::Quantile(3) => 7,
                Content::Quantile(_) => 8,
                _ => 0,
            };
            table.add(&format!("p{percentage}"), content, rank);
        }
        let others = [("deviation", extra.standard_deviation), ("slope/h", extra.slope_per_hour)];
        let others = others.into_iter().filter(|(_, is_requested)| *is_requested);
        for (index, (heading, _)) in others.enumerate() {
            table.add(heading, Content::Extra(extra.percentiles.len() + index), 0);
        }
        table.add("values", Content::Values, if is_weighted { 0 } else { 4 });
        // Errors are never hidden.
        let has_errors = rows.iter().any(|row| row.row.summary.errors > 0);
        table.add("errors", Content::Errors, if has_errors { 0 } else { 9 });
        table
    }

    /// Arranges the table for a terminal of this width, and returns the part of the paths that all rows have in common, and
    /// the widths of the columns. If paths leave no room for average, minimum, maximum and number of values, groups of rows
    /// get a title, and the rows the rest of their paths.
    pub(super) fn arrange(&mut self, rows: &[TableRow], max_width: usize) -> (Option<String>, Vec<usize>) {
        let shared = self.share_paths(rows);
        let all_widths = widths(&self.columns, rows, |row| self.cells(row));
        let mut fitted = all_widths.clone();
        let (_, dropped) = select_columns(&self.columns, &mut fitted, max_width);
        let loses_column = dropped.iter().any(|&index| self.columns[index].shortens_to < usize::MAX);
        if (!loses_column && fitted == all_widths) || matches!(self.shared, SharedPath::Counter) {
            return (shared, all_widths);
        }
        let groups = |title: Title| {
            let titles = rows.iter().map(|TableRow { row, .. }| title.key(row));
            let mut last = None;
            titles.filter(|title| last.replace(*title) != Some(*title)).count()
        };
        let (title, groups) = [Title::Instance, Title::Counter]
            .map(|title| (title, groups(title)))
            .into_iter()
            .min_by_key(|(_, groups)| *groups)
            .unwrap_or((Title::Instance, usize::MAX));
        if groups.saturating_mul(MIN_GROUP) > rows.len() {
            return (shared, all_widths);
        }
        self.titles = Some(title);
        if let Title::Counter = title {
            self.rename(Content::Counter, "instance");
        }
        // Each title has the set.
        self.shared = SharedPath::None;
        let machine = shared_machine(rows);
        if let Some(machine) = &machine {
            self.shared = SharedPath::Start(machine.len());
        }
        (machine, widths(&self.columns, rows, |row| self.cells(row)))
    }

    /// The title above the row, unless the previous row has the same one.
    pub(super) fn title(&self, TableRow { row, .. }: &TableRow) -> Option<String> {
        let start = match self.shared {
            SharedPath::Start(length) => length,
            _ => 0,
        };
        let own = row.path.get(start..).unwrap_or_default();
        Some(match self.titles? {
            Title::Counter if row.instance.is_some() => {
                let machine = row.machine.as_ref().filter(|_| start == 0);
                let machine = machine.map(|it| format!(r"\\{it}")).unwrap_or_default();
                format!(r"{machine}\{}(*)\{}", row.set.name, row.counter.name)
            }
            _ => {
                let end = own.len().saturating_sub(row.counter.name.len() + 1);
                own.get(..end).unwrap_or_default().to_owned()
            }
        })
    }

    /// Removes from the rows the part of the paths that all have in common, and returns it: the machine; machine and
    /// set; or machine, set and counter.
    fn share_paths(&mut self, rows: &[TableRow]) -> Option<String> {
        let first = &rows.first()?.row;
        let set = |row: &StatisticsRow| format!(r"{}\{}", machine_start(row), row.set.name);
        let own_set = set(first);
        if all_start(rows, &own_set, set) {
            let is_same =
                |row: &StatisticsRow| row.instance.is_some() && row.counter.name == first.counter.name;
            if rows.iter().all(|row| is_same(&row.row)) {
                self.shared = SharedPath::Counter;
                self.rename(Content::Counter, "instance");
                return Some(format!(r"{own_set}(*)\{}", first.counter.name));
            }
            self.shared = SharedPath::Start(own_set.len());
            return Some(own_set);
        }
        let machine = shared_machine(rows)?;
        self.shared = SharedPath::Start(machine.len());
        Some(machine)
    }

    fn rename(&mut self, content: Content, heading: &str) {
        let found = self.contents.iter().zip(&mut self.columns).find(|(known, _)| **known == content);
        if let Some((_, column)) = found {
            heading.clone_into(&mut column.heading);
        }
    }

    fn add(&mut self, heading: &str, content: Content, drop_rank: u8) {
        let is_number =
            !matches!(content, Content::From | Content::Counter | Content::Unit | Content::MaximumTime);
        let drop_rank = if heading == self.sorted_by { 0 } else { drop_rank };
        let can_shrink = content == Content::Counter;
        let shortens_to = match content {
            Content::Values => MIN_PATH_FOR_VALUES,
            Content::Unit => MIN_PATH_FOR_UNIT,
            Content::Minimum | Content::Maximum => MIN_PATH_FOR_EXTREMES,
            _ => usize::MAX,
        };
        self.columns.push(Column {
            heading: heading.to_owned(),
            is_number,
            drop_rank,
            can_shrink,
            shortens_to,
        });
        self.contents.push(content);
    }

    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub(super) fn cells(&self, row: &TableRow) -> Vec<String> {
        let instance = || row.row.instance.as_ref().map(|instance| instance.label().to_owned());
        let cell = |content: &Content| match (content, &self.titles, &self.shared) {
            (Content::Counter, Some(title), _) => {
                let instance = if let Title::Counter = title { instance() } else { None };
                format!("{INDENT}{}", instance.unwrap_or_else(|| row.row.counter.name.to_string()))
            }
            (Content::Counter, None, SharedPath::Counter) => instance().unwrap_or_default(),
            (Content::Counter, None, SharedPath::Start(length)) => {
                row.row.path.get(*length..).unwrap_or_default().to_owned()
            }
            (content, ..) => cell(*content, row, self.form),
        };
        self.contents.iter().map(cell).collect()
    }
}

/// The indent of rows below a title.
const INDENT: &str = "  ";

impl Title {
    /// The key by which consecutive rows share a title: machine, set, and the instance or the counter.
    fn key(self, row: &StatisticsRow) -> (Option<&str>, &str, Option<&str>) {
        let instance = row.instance.as_ref().map(|instance| instance.label());
        let part = match self {
            Self::Instance => instance,
            Self::Counter => instance.map(|_| &*row.counter.name),
        };
        (row.machine.as_deref(), &row.set.name, part)
    }
}

/// The part of a path before the set: `\\machine`, or nothing.
fn machine_start(row: &StatisticsRow) -> String {
    row.machine.as_ref().map(|machine| format!(r"\\{machine}")).unwrap_or_default()
}

/// Whether all paths start with this text, which `of` returns for a row.
fn all_start(rows: &[TableRow], start: &str, of: impl Fn(&StatisticsRow) -> String) -> bool {
    rows.iter().all(|TableRow { row, .. }| of(row) == start && row.path.starts_with(start))
}

/// The start `\\machine` of all paths, if they have the same.
fn shared_machine(rows: &[TableRow]) -> Option<String> {
    let machine = machine_start(&rows.first()?.row);
    (!machine.is_empty() && all_start(rows, &machine, machine_start)).then_some(machine)
}

fn cell(content: Content, TableRow { span, row }: &TableRow, form: NumberForm) -> String {
    let summary = &row.summary;
    let shown = |value: Option<f64>| value_text(&row.counter, value, form);
    let is_mean = matches!(content, Content::Average | Content::Quantile(_) | Content::Extra(_));
    if is_mean && row.counter.is_identifier() && summary.values > 0 {
        return if summary.minimum == summary.maximum { shown(summary.last) } else { SEVERAL.to_owned() };
    }
    match content {
        Content::From => span.map(|span| local_seconds(span.begin)).unwrap_or_default(),
        Content::Counter => row.path.clone(),
        Content::Unit => row.counter.unit().into_owned(),
        Content::Last => shown(summary.last),
        Content::Average => {
            let mark = if summary.average_kind == AverageKind::Arithmetic { "*" } else { "" };
            shown(summary.average) + mark
        }
        Content::Minimum => shown(summary.minimum),
        Content::Maximum => shown(summary.maximum),
        Content::MaximumTime => row.maximum_time.map(local_seconds).unwrap_or_default(),
        Content::Quantile(index) => shown(summary.quantiles.map(|quantiles| quantiles[index])),
        Content::Extra(index) => shown(row.extra.get(index).copied().flatten()),
        Content::Values => grouped(&summary.values.to_string()),
        Content::Errors => grouped(&summary.errors.to_string()),
    }
}

/// The local time: `2024-03-05 10:05:00`, with milliseconds if there are any.
fn local_seconds(moment: Moment) -> String {
    let text = list::local(moment);
    text.strip_suffix(".000").map_or(text.clone(), str::to_owned)
}

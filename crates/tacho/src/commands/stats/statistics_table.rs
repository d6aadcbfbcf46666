//! The columns of the table of statistics.

use tachograph_counters::AverageKind;
use tachograph_counters::civil::Moment;
use tachograph_flow::sinks::{ExtraFigures, StatisticsRow};
use tachograph_monitor::figures::{NumberForm, SEVERAL};

use super::super::list;
use super::output::TableRow;
use super::row_order::figure_name;
use crate::table::{Column, figure, grouped};

/// The columns of a table of statistics, and the cells of a row.
pub(super) struct StatisticsTable {
    columns: Vec<Column>,
    contents: Vec<Content>,
    shared: SharedPath,
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
        let mut table =
            Self { columns: Vec::new(), contents: Vec::new(), shared: SharedPath::None, form, sorted_by };
        if has_spans {
            table.add("from", Content::From, 0);
        }
        table.add("counter", Content::Counter, 0);
        // In other forms, each value includes its unit.
        if form == NumberForm::Raw {
            table.add("unit", Content::Unit, 2);
        }
        table.add("last", Content::Last, 3);
        table.add("average", Content::Average, 0);
        table.add("minimum", Content::Minimum, 4);
        table.add("maximum", Content::Maximum, 1);
        for (percentage, content) in percentiles {
            let rank = match content {
                Content::Quantile(2) => 5,
                Content::Quantile(3) => 6,
                Content::Quantile(_) => 7,
                _ => 0,
            };
            table.add(&format!("p{percentage}"), content, rank);
        }
        let others = [("deviation", extra.standard_deviation), ("slope/h", extra.slope_per_hour)];
        let others = others.into_iter().filter(|(_, is_requested)| *is_requested);
        for (index, (heading, _)) in others.enumerate() {
            table.add(heading, Content::Extra(extra.percentiles.len() + index), 0);
        }
        table.add("values", Content::Values, if is_weighted { 0 } else { 8 });
        // Errors are never hidden.
        let has_errors = rows.iter().any(|row| row.row.summary.errors > 0);
        table.add("errors", Content::Errors, if has_errors { 0 } else { 9 });
        table
    }

    /// Removes from the rows the part of the paths that all have in common, and returns it: the machine; machine and
    /// set; or machine, set and counter.
    pub(super) fn share_paths(&mut self, rows: &[TableRow]) -> Option<String> {
        let first = &rows.first()?.row;
        let machine =
            |row: &StatisticsRow| row.machine.as_ref().map(|it| format!(r"\\{it}")).unwrap_or_default();
        let set = |row: &StatisticsRow| format!(r"{}\{}", machine(row), row.set.name);
        let starts = |start: &str, prefix_of: &dyn Fn(&StatisticsRow) -> String| {
            rows.iter().all(|TableRow { row, .. }| prefix_of(row) == start && row.path.starts_with(start))
        };
        let (own_machine, own_set) = (machine(first), set(first));
        if starts(&own_set, &set) {
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
        if own_machine.is_empty() || !starts(&own_machine, &machine) {
            return None;
        }
        self.shared = SharedPath::Start(own_machine.len());
        Some(own_machine)
    }

    fn rename(&mut self, content: Content, heading: &str) {
        let found = self.contents.iter().zip(&mut self.columns).find(|(known, _)| **known == content);
        if let Some((_, column)) = found {
            heading.clone_into(&mut column.heading);
        }
    }

    fn add(&mut self, heading: &str, content: Content, drop_rank: u8) {
        let is_number = !matches!(content, Content::From | Content::Counter | Content::Unit);
        let drop_rank = if heading == self.sorted_by { 0 } else { drop_rank };
        let can_shrink = content == Content::Counter;
        self.columns.push(Column { heading: heading.to_owned(), is_number, drop_rank, can_shrink });
        self.contents.push(content);
    }

    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub(super) fn cells(&self, row: &TableRow) -> Vec<String> {
        let cell = |content: &Content| match (content, &self.shared) {
            (Content::Counter, SharedPath::Counter) => {
                row.row.instance.as_ref().map(|instance| instance.label().to_owned()).unwrap_or_default()
            }
            (Content::Counter, SharedPath::Start(length)) => {
                row.row.path.get(*length..).unwrap_or_default().to_owned()
            }
            (content, _) => cell(*content, row, self.form),
        };
        self.contents.iter().map(cell).collect()
    }
}

fn cell(content: Content, TableRow { span, row }: &TableRow, form: NumberForm) -> String {
    let summary = &row.summary;
    let shown = |value: Option<f64>| figure(&row.counter, value, form);
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

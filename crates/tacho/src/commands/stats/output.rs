//! Writes the rows: JSON and CSV immediately, a table at the end, when its column widths are known.

use std::io::{self, BufWriter, StdoutLock, Write};

use tachograph_counters::AverageKind;
use tachograph_flow::FlowError;
use tachograph_flow::sinks::{
    CounterErrors, ErrorCause, ExtraFigures, ReportForm, StatisticsReport, StatisticsRow, StatisticsSpan,
};

use super::row_order::{OmittedRow, RowOrder, figure_name};
use super::statistics_table::StatisticsTable;
use crate::arguments::{ReportFormat, StatsArguments};
use crate::failure::{Failure, notify};
use crate::pager::PagedOutput;
use crate::table::{
    grouped, line, push_wrapped, terminal_width, value_text, widths, write_groups, write_table,
};

/// Maximum number of rows of a table with rows per time range, because it is kept in memory until the end.
const MAX_TABLE_ROWS: usize = 1 << 20;

/// The output of `stats`.
pub(super) struct Output<'a> {
    arguments: &'a StatsArguments,
    extra: ExtraFigures,
    order: RowOrder,
    /// JSON or CSV; `None` before the first rows, so that a command that fails prints nothing.
    report: Option<StatisticsReport<BufWriter<StdoutLock<'static>>>>,
    /// The rows of the table.
    rows: Vec<TableRow>,
    /// Rows for JSON or CSV that wait until the counter of `--sort` occurs.
    waiting: Vec<(StatisticsSpan, Vec<StatisticsRow>)>,
    waiting_rows: usize,
    /// Whether the logs have values that `--top` omits.
    omits_rows: bool,
}

/// A row of the table, with its time range if `--every` is used.
pub(super) struct TableRow {
    pub(super) span: Option<StatisticsSpan>,
    pub(super) row: StatisticsRow,
}

impl<'a> Output<'a> {
    pub(super) fn new(arguments: &'a StatsArguments, extra: ExtraFigures, order: RowOrder) -> Self {
        Self {
            arguments,
            extra,
            order,
            report: None,
            rows: Vec::new(),
            waiting: Vec::new(),
            waiting_rows: 0,
            omits_rows: false,
        }
    }

    /// Whether there have been no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.report.is_none() && self.waiting.is_empty()
    }

    /// Adds the rows of the whole log. Nothing is written if they cannot be sorted as requested.
    pub(super) fn push_all(&mut self, rows: Vec<StatisticsRow>) -> Result<(), Failure> {
        if rows.is_empty() {
            return Ok(());
        }
        let rows = self.in_order(rows);
        self.order.check()?;
        if rows.is_empty() {
            return Ok(());
        }
        Ok(self.write(None, rows)?)
    }

    /// Adds the rows of a time range.
    pub(super) fn push(&mut self, span: StatisticsSpan, rows: Vec<StatisticsRow>) -> Result<(), FlowError> {
        if rows.is_empty() {
            return Ok(());
        }
        let rows = self.in_order(rows);
        if rows.is_empty() {
            return Ok(());
        }
        if !self.order.is_known() && self.arguments.format != ReportFormat::Table {
            // Nothing is written until the counter of --sort is known to exist.
            self.waiting_rows += rows.len();
            if self.waiting_rows > MAX_TABLE_ROWS {
                let message = format!("--sort: the counter is not in the first {MAX_TABLE_ROWS} rows");
                return Err(FlowError::Output(io::Error::other(message)));
            }
            self.waiting.push((span, rows));
            return Ok(());
        }
        for (span, rows) in std::mem::take(&mut self.waiting) {
            self.write(Some(span), rows)?;
        }
        self.write(Some(span), rows)
    }

    fn in_order(&mut self, rows: Vec<StatisticsRow>) -> Vec<StatisticsRow> {
        let count = rows.len();
        let rows = self.order.apply(rows);
        self.omits_rows |= rows.len() < count;
        rows
    }

    fn write(&mut self, span: Option<StatisticsSpan>, rows: Vec<StatisticsRow>) -> Result<(), FlowError> {
        let form = match self.arguments.format {
            ReportFormat::Json => ReportForm::Json,
            ReportFormat::Csv => ReportForm::Csv,
            ReportFormat::Table if span.is_some() && self.rows.len() + rows.len() > MAX_TABLE_ROWS => {
                return Err(FlowError::Output(io::Error::other(format!(
                    "a table has at most {} rows: use -f csv or -f json, which have no limit, or fewer counters (-c)",
                    grouped(&MAX_TABLE_ROWS.to_string())
                ))));
            }
            ReportFormat::Table => {
                self.rows.extend(rows.into_iter().map(|row| TableRow { span, row }));
                return Ok(());
            }
        };
        let report = match &mut self.report {
            Some(report) => report,
            None => {
                let out = BufWriter::new(io::stdout().lock());
                let report = StatisticsReport::new(form, &self.extra, span.is_some(), out);
                self.report.insert(report.map_err(FlowError::Output)?)
            }
        };
        rows.iter().try_for_each(|row| report.push(span, row)).map_err(FlowError::Output)
    }

    /// Returns an error if `--top` omits all rows.
    pub(super) fn check_top(&self) -> Result<(), Failure> {
        match self.is_empty() && self.omits_rows {
            true => Err(Failure::usage(
                "--top omits totals, identifiers and sets without instances, and the logs have values only of these; name a \
                 total or a set in a path (-c), or omit --top",
            )),
            false => Ok(()),
        }
    }

    /// Reports `_Exited` and `_Unattributed` if `--top` omits them although they are larger than a row that is shown.
    pub(super) fn notify_omitted(&self) {
        for OmittedRow { row, figure } in self.order.omitted() {
            let name = row.instance.as_ref().map_or("", |instance| instance.name());
            let meaning = match name.starts_with("_Exited") {
                true => "processes that started or ended between two samples",
                false => "what belongs to no visible process",
            };
            let figure = value_text(&row.counter, *figure, self.arguments.numbers.form());
            let counter = &row.counter.name;
            let sort = self.arguments.sort.as_deref().map(figure_name);
            let statistic = match &self.order {
                order if order.is_by_average() => "average",
                _ => sort.as_deref().unwrap_or("average"),
            };
            let range = if self.arguments.every.is_some() { " in a time range" } else { "" };
            notify(format_args!("--top omits {name}, {meaning}: {counter}, {statistic} {figure}{range}"));
        }
    }

    /// Returns an error if the rows cannot be sorted as requested.
    pub(super) fn check_order(&self) -> Result<(), Failure> {
        self.order.check()
    }

    /// Writes the table with its remarks and errors. With JSON and CSV, completes the output, and reports the errors on
    /// standard error.
    pub(super) fn finish(self, errors: &[CounterErrors], has_formatted_log: bool) -> io::Result<()> {
        if let Some(report) = self.report {
            for error in errors {
                let [path, status, count, first, last] = error_cells(error);
                notify(format_args!("{path}: {status}, {count} times between {first} and {last}"));
            }
            return report.finish();
        }
        let mut out = BufWriter::new(PagedOutput::new(!self.arguments.rows.no_pager));
        let max_width = terminal_width().filter(|_| !self.arguments.rows.wide);
        let sorted_by = self.arguments.sort.as_deref();
        let has_spans = self.arguments.every.is_some();
        let form = self.arguments.numbers.form();
        let is_weighted = self.order.is_weighted(self.rows.iter().map(|row| &row.row));
        let mut table =
            StatisticsTable::new(&self.extra, has_spans, &self.rows, sorted_by, is_weighted, form);
        let (shared, widths) = match max_width {
            Some(max_width) => table.arrange(&self.rows, max_width),
            None => (None, widths(table.columns(), &self.rows, |row| table.cells(row))),
        };
        if let Some(shared) = shared {
            out.write_all(line(shared).as_bytes())?;
        }
        let (title, cells) = (|row: &TableRow| table.title(row), |row: &TableRow| table.cells(row));
        let dropped = write_groups(&mut out, table.columns(), (widths, max_width), &self.rows, title, cells)?;
        if !dropped.is_empty() {
            let mut note = String::from("\n");
            let text = format!("No room for {}; --wide shows all columns.", dropped.join(", "));
            push_wrapped(&mut note, "", &text, max_width.unwrap_or(usize::MAX));
            out.write_all(note.as_bytes())?;
        }
        if self.rows.iter().any(|row| row.row.summary.average_kind == AverageKind::Arithmetic) {
            out.write_all(ARITHMETIC.as_bytes())?;
            if has_formatted_log {
                out.write_all(RECORDED.as_bytes())?;
            }
        }
        if is_weighted {
            out.write_all(WEIGHTED.as_bytes())?;
        }
        if self.arguments.only_active {
            out.write_all(b"\nOnly intervals with activity; averages are the same either way.\n")?;
        }
        if !errors.is_empty() {
            out.write_all(b"\n")?;
            write_table(&mut out, ERROR_HEADER, 2, errors, error_cells)?;
        }
        out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
    }
}

const WEIGHTED: &str = "\nSorted by average x values, which counts the time an instance was present.\n";

const ARITHMETIC: &str = "\n* arithmetic mean: the log has only formatted values of this counter, so the average by the \
counter's type cannot be computed.\n";

/// Shown only for text logs, not for a BLG that was converted from one.
const RECORDED: &str = "  A .blg recorded at the same time has the correct average.\n";

const ERROR_HEADER: [&str; 5] = ["errors of", "status", "number", "first", "last"];

fn error_cells(error: &CounterErrors) -> [String; 5] {
    let ErrorCause { status, count, first, last } = &error.cause;
    [
        error.path.clone(),
        match status.map(|status| (status, status.meaning())) {
            Some((status, Some(meaning))) => format!("{status} ({meaning})"),
            Some((status, None)) => status.to_string(),
            None => "others".to_owned(),
        },
        grouped(&count.to_string()),
        first.rfc3339(),
        last.rfc3339(),
    ]
}

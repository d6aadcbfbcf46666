//! The table of `tacho compare`.

use std::io::{self, BufWriter, Write};

use tachograph_counters::AverageKind;
use tachograph_flow::sinks::{AverageChange, ComparisonOrder, ComparisonRow, InstancePairing};
use tachograph_monitor::figures::NumberForm;

use crate::arguments::CompareArguments;
use crate::pager::PagedOutput;
use crate::table::{Column, grouped, line, push_wrapped, terminal_width, value_text, widths, write_groups};

/// A row of the table, and the number of further counters of its instance that changed.
pub(super) type TableRow = (ComparisonRow, usize);

/// The headings, whether the cells are numbers, and the order in which columns are dropped.
const COLUMNS: [(&str, bool, u8); 9] = [
    ("counter", false, 0),
    ("before", true, 0),
    ("after", true, 0),
    ("difference", true, 2),
    ("ratio", true, 0),
    ("more", true, 0),
    (INSTANCES, true, 1),
    ("values before", true, 4),
    ("values after", true, 3),
];

/// The width of the notes where the terminal's width is unknown.
const NOTE_WIDTH: usize = 120;

/// The heading of the numbers of instances.
const INSTANCES: &str = "instances";

/// Paths are shortened to this width, in terminal columns, to make room for the numbers of instances.
const MIN_PATH_FOR_INSTANCES: usize = 36;

/// What the table says about the logs besides the rows.
pub(super) struct Frame<'a> {
    /// A line per log: its name, time range and number of samples.
    pub(super) logs: [String; 2],
    /// The rows of the main totals, whether or not they changed; empty if the counters were selected.
    pub(super) totals: Vec<ComparisonRow>,
    /// The number of rows of all counters.
    pub(super) all: usize,
    /// The sets that were omitted, and the sets that they repeat.
    pub(super) omitted: &'a [(&'a str, &'a str)],
}

/// Writes the lines of the logs, the main totals, the rows and notes.
pub(super) fn write(
    arguments: &CompareArguments,
    mut rows: Vec<TableRow>,
    frame: Frame<'_>,
) -> io::Result<()> {
    let Frame { logs, totals, all, omitted } = frame;
    let instances = rows.len();
    let has_all_counters = instances == all;
    rows.truncate(arguments.rows.top.unwrap_or(usize::MAX));
    let totals_count = totals.len();
    rows.splice(0..0, totals.into_iter().map(|row| (row, 0)));
    let rows = rows;
    let mut out = BufWriter::new(PagedOutput::new(!arguments.rows.no_pager));
    let max_width = terminal_width().filter(|_| !arguments.rows.wide);
    let form = arguments.numbers.form();
    let is_used = |heading: &str| match heading {
        "more" => rows.iter().any(|(_, others)| *others > 0),
        INSTANCES => rows.iter().any(|(row, _)| row.pairing != InstancePairing::Instance),
        _ => true,
    };
    let used = COLUMNS.map(|(heading, ..)| is_used(heading));
    let columns = COLUMNS.into_iter().zip(used).filter(|(_, is_used)| *is_used);
    let columns: Vec<_> = columns
        .map(|((heading, is_number, drop_rank), _)| Column {
            heading: heading.to_owned(),
            is_number,
            drop_rank,
            can_shrink: !is_number,
            shortens_to: if heading == INSTANCES { MIN_PATH_FOR_INSTANCES } else { usize::MAX },
        })
        .collect();
    let machine = shared_machine(&rows).filter(|_| max_width.is_some());
    for log in logs {
        out.write_all(line(&log).as_bytes())?;
    }
    if let Some(machine) = &machine {
        out.write_all(line(machine).as_bytes())?;
    }
    out.write_all(b"\n")?;
    let start = machine.as_ref().map_or(0, |machine| machine.len());
    let cells = |row: &TableRow| {
        let cells = cells(row, start, form).into_iter().zip(used);
        cells.filter(|(_, is_used)| *is_used).map(|(cell, _)| cell).collect()
    };
    let widths = (widths(&columns, &rows, cells), max_width);
    let (totals, changes) = rows.split_at(totals_count);
    let mut dropped = Vec::new();
    if !totals.is_empty() {
        dropped = write_groups(&mut out, &columns, widths.clone(), totals, |_| None, cells)?;
        out.write_all(b"\n")?;
    }
    if totals.is_empty() || !changes.is_empty() {
        dropped = write_groups(&mut out, &columns, widths, changes, |_| None, cells)?;
    }
    let mut notes = Vec::new();
    if arguments.sort == ComparisonOrder::Weight && changes.len() > 1 {
        notes.push(
            "Sorted by weight: the relative change, in which very small values and short lives count little (--sort for \
             other orders)."
                .to_owned(),
        );
    }
    let shown = grouped(&changes.len().to_string());
    if !has_all_counters {
        notes.push(format!(
            "{shown} of {} instances, each with the counter that is first in this order{} (--all-counters shows all {}).",
            grouped(&instances.to_string()),
            if is_used("more") { "; more: how many of its other counters changed" } else { "" },
            grouped(&all.to_string())
        ));
    } else if changes.len() < all {
        notes.push(format!("{shown} of {} rows.", grouped(&all.to_string())));
    }
    if rows.iter().any(|(row, _)| is_sum(row)) {
        notes.push(
            "NAME#*: the sum over all instances of the name, because their numbers (#1) mean other processes in the \
             second log, or because there are more or fewer of them (--group-by instance compares them by number)."
                .to_owned(),
        );
    }
    if rows.iter().any(|(row, _)| row.pairing == InstancePairing::Replaced) {
        notes.push("other: another process with this name (ID Process differs).".to_owned());
    }
    if let [(first, _), ..] = omitted {
        let sets: Vec<_> = omitted.iter().map(|(set, of)| format!("{set} (see {of})")).collect();
        notes.push(format!(
            "Without sets that repeat others: {} ('{}' selects it).",
            sets.join(", "),
            format_args!(r"\{first}(*)\*")
        ));
    }
    if !dropped.is_empty() {
        notes.push(format!("No room for {}; --wide shows all columns.", dropped.join(", ")));
    }
    if rows.iter().any(|(row, _)| is_arithmetic(row)) {
        notes.push("* arithmetic mean: a log has only formatted values of this counter.".to_owned());
    }
    if !notes.is_empty() {
        let mut text = String::from("\n");
        push_wrapped(&mut text, "", &notes.join(" "), terminal_width().unwrap_or(NOTE_WIDTH));
        out.write_all(text.as_bytes())?;
    }
    out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
}

/// The common prefix `\\machine` of all paths, if any.
fn shared_machine(rows: &[TableRow]) -> Option<String> {
    let machine = format!(r"\\{}", rows.first()?.0.machine.as_ref()?);
    let is_shared =
        |(row, _): &TableRow| row.path.strip_prefix(&machine).is_some_and(|rest| rest.starts_with('\\'));
    rows.iter().all(is_shared).then_some(machine)
}

fn is_arithmetic(row: &ComparisonRow) -> bool {
    let summaries = [&row.before, &row.after].into_iter().flatten();
    summaries.into_iter().any(|summary| summary.average_kind == AverageKind::Arithmetic)
}

fn is_sum(row: &ComparisonRow) -> bool {
    matches!(row.pairing, InstancePairing::Sum { .. })
}

/// The path from `start` on. That of a sum shows which instances are summed: `bash#*`.
fn path(row: &ComparisonRow, start: usize) -> String {
    let path = row.path.get(start..).unwrap_or_default();
    match path
        .len()
        .checked_sub(row.counter.name.len() + r")\".len())
        .and_then(|end| path.split_at_checked(end))
    {
        Some((instance, rest)) if is_sum(row) => format!("{instance}#*{rest}"),
        _ => path.to_owned(),
    }
}

fn cells((row, others): &TableRow, start: usize, form: NumberForm) -> [String; COLUMNS.len()] {
    let shown = |value: Option<f64>| value_text(&row.counter, value, form);
    let is_negligible = is_negligible(row, form);
    let values = |summary: &Option<tachograph_counters::Summary>| {
        summary.as_ref().map_or_else(String::new, |summary| grouped(&summary.values.to_string()))
    };
    let mark = if is_arithmetic(row) { "*" } else { "" };
    let difference = if is_negligible { Some(0.0) } else { row.difference() };
    let sign = if difference.is_some_and(|difference| difference > 0.0) { "+" } else { "" };
    let difference = shown(difference);
    let difference = match difference.strip_suffix(" %") {
        // `+5 %` would look like a relative change.
        Some(number) => format!("{sign}{number} points"),
        None => format!("{sign}{difference}"),
    };
    [
        path(row, start),
        shown(row.average_before()) + mark,
        shown(row.average_after()) + mark,
        difference,
        if is_negligible { "same".to_owned() } else { ratio(row) },
        if *others > 0 { format!("+{}", grouped(&others.to_string())) } else { String::new() },
        match row.pairing {
            InstancePairing::Instance => String::new(),
            InstancePairing::Replaced => "other".to_owned(),
            InstancePairing::Sum { before, after } => format!("{before}, {after}"),
        },
        values(&row.before),
        values(&row.after),
    ]
}

/// Whether the difference is too small to be shown, and both averages look the same: `99.9 %`, not `<0.00001 %`.
fn is_negligible(row: &ComparisonRow, form: NumberForm) -> bool {
    let text = |value: Option<f64>| value_text(&row.counter, value, form);
    let is_too_small = |text: &str| text.starts_with(['<', '>']);
    let before = text(row.average_before());
    before == text(row.average_after()) && !is_too_small(&before) && is_too_small(&text(row.difference()))
}

/// The factor by which an average rose (`x 2.50`) or fell (`/ 2.50`), or which log has the instance.
fn ratio(row: &ComparisonRow) -> String {
    let factor = |factor: f64| match factor {
        factor if factor >= 999.5 => grouped(&format!("{factor:.0}")),
        factor if factor >= 99.95 => format!("{factor:.0}"),
        factor if factor >= 9.995 => format!("{factor:.1}"),
        factor => format!("{factor:.2}"),
    };
    match row.average_change() {
        AverageChange::OnlyAfter => "only after".to_owned(),
        AverageChange::OnlyBefore => "only before".to_owned(),
        AverageChange::Unknown => "-".to_owned(),
        AverageChange::Same => "same".to_owned(),
        AverageChange::FromZero => "from 0".to_owned(),
        AverageChange::ToZero => "to 0".to_owned(),
        AverageChange::SignChanged => "sign".to_owned(),
        AverageChange::Multiplied(times) => format!("x {}", factor(times)),
        AverageChange::Divided(times) => format!("/ {}", factor(times)),
    }
}

//! The averages of two logs side by side.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::sync::Arc;

use serde::Serialize;
use tachograph_counters::Summary;
use tachograph_counters::set::{Counter, CounterSet, Instance};

use super::report::{ReportForm, into_io, number};
use super::statistics::StatisticsRow;

/// One counter of one instance in two logs. At least one of them has it.
#[derive(Clone, Debug)]
pub struct ComparisonRow {
    /// The full path: that of the second log, or of the first one if only that has it.
    pub path: String,
    /// The machine; `None` if the log does not name one.
    pub machine: Option<Arc<str>>,
    /// The counter set.
    pub set: Arc<CounterSet>,
    /// The counter.
    pub counter: Counter,
    /// The instance; `None` for a set without instances.
    pub instance: Option<Arc<Instance>>,
    /// The statistics in the first log.
    pub before: Option<Summary>,
    /// The statistics in the second log.
    pub after: Option<Summary>,
}

impl ComparisonRow {
    fn new(row: StatisticsRow) -> (Self, Summary) {
        let StatisticsRow { path, machine, set, counter, instance, summary, .. } = row;
        (Self { path, machine, set, counter, instance, before: None, after: None }, summary)
    }

    /// The average in the first log.
    pub fn average_before(&self) -> Option<f64> {
        self.before.as_ref()?.average
    }

    /// The average in the second log.
    pub fn average_after(&self) -> Option<f64> {
        self.after.as_ref()?.average
    }

    /// The second average minus the first; `None` if one of them is missing.
    pub fn difference(&self) -> Option<f64> {
        Some(self.average_after()? - self.average_before()?)
    }

    /// The second average divided by the first; `None` if one of them is missing, and if the first one is 0.
    pub fn ratio(&self) -> Option<f64> {
        let before = self.average_before().filter(|before| *before != 0.0)?;
        Some(self.average_after()? / before)
    }

    /// By how much the averages differ relative to each other: `|ln(after / before)|`, so that a rise to the double is as large
    /// as a fall to a half. 0 if they are equal; infinite if only one of them is 0, or if their signs differ. `None` if one of
    /// them is missing.
    pub fn change(&self) -> Option<f64> {
        let (before, after) = (self.average_before()?, self.average_after()?);
        if before == after {
            return Some(0.0);
        }
        let ratio = after / before;
        Some(if ratio > 0.0 { ratio.ln().abs() } else { f64::INFINITY })
    }
}

/// Pairs the rows of two logs by their paths, in any case. Machines are compared only if one of the logs has several.
///
/// The result is sorted by [`change`](ComparisonRow::change), largest first, and by path. Rows that only one of the logs
/// has are last.
pub fn compare(before: Vec<StatisticsRow>, after: Vec<StatisticsRow>) -> Vec<ComparisonRow> {
    let has_machines = has_several_machines(&before) || has_several_machines(&after);
    let key = |row: &StatisticsRow| {
        let lower = |text: &str| text.to_lowercase();
        let machine = row.machine.as_deref().filter(|_| has_machines).map(lower);
        // On Linux, names of instances can differ in case only.
        let instance = row.instance.as_ref().map(|instance| instance.label().to_owned());
        (machine, lower(&row.set.name), instance, lower(&row.counter.name))
    };
    let mut rows: Vec<ComparisonRow> = Vec::with_capacity(after.len());
    let mut positions = HashMap::with_capacity(after.len());
    for row in after {
        positions.insert(key(&row), rows.len());
        let (row, summary) = ComparisonRow::new(row);
        rows.push(ComparisonRow { after: Some(summary), ..row });
    }
    for row in before {
        match positions.entry(key(&row)) {
            Entry::Occupied(found) => rows[*found.get()].before = Some(row.summary),
            Entry::Vacant(_) => {
                let (row, summary) = ComparisonRow::new(row);
                rows.push(ComparisonRow { before: Some(summary), ..row });
            }
        }
    }
    rows.sort_by_cached_key(|row| row.path.to_lowercase());
    rows.sort_by(|one, other| match (one.change(), other.change()) {
        (Some(one), Some(other)) => other.total_cmp(&one),
        (None, None) => Ordering::Equal,
        (one, _) => {
            if one.is_some() {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
    });
    rows
}

fn has_several_machines(rows: &[StatisticsRow]) -> bool {
    rows.iter().any(|row| row.machine != rows[0].machine)
}

/// A row for JSON and CSV. A missing value is `null` in JSON and empty in CSV. Schema: docs/json.md.
#[derive(Serialize)]
struct ComparisonRecord<'a> {
    path: &'a str,
    machine: Option<&'a str>,
    set: &'a str,
    parent: Option<&'a str>,
    instance: Option<&'a str>,
    index: Option<u32>,
    counter: &'a str,
    #[serde(rename = "type")]
    counter_type: String,
    unit: String,
    #[serde(serialize_with = "number")]
    before: Option<f64>,
    #[serde(serialize_with = "number")]
    after: Option<f64>,
    #[serde(serialize_with = "number")]
    difference: Option<f64>,
    #[serde(serialize_with = "number")]
    ratio: Option<f64>,
    values_before: u64,
    values_after: u64,
}

/// The columns of [`ComparisonRecord`], in order.
const COLUMNS: [&str; 15] = [
    "path",
    "machine",
    "set",
    "parent",
    "instance",
    "index",
    "counter",
    "type",
    "unit",
    "before",
    "after",
    "difference",
    "ratio",
    "values_before",
    "values_after",
];

impl<'a> From<&'a ComparisonRow> for ComparisonRecord<'a> {
    fn from(row: &'a ComparisonRow) -> Self {
        let values = |summary: &Option<Summary>| summary.as_ref().map_or(0, |summary| summary.values);
        Self {
            path: &row.path,
            machine: row.machine.as_deref(),
            set: &row.set.name,
            parent: row.instance.as_ref().and_then(|instance| instance.parent()),
            instance: row.instance.as_ref().map(|instance| instance.name()),
            index: row.instance.as_ref().map(|instance| instance.index()),
            counter: &row.counter.name,
            counter_type: row.counter.counter_type.to_string(),
            unit: row.counter.unit().into_owned(),
            before: row.average_before(),
            after: row.average_after(),
            difference: row.difference(),
            ratio: row.ratio(),
            values_before: values(&row.before),
            values_after: values(&row.after),
        }
    }
}

/// Writes a comparison with full precision: as a JSON array with one object per line, or as CSV with a header line.
///
/// # Errors
///
/// When writing fails.
pub fn write_comparison(
    rows: &[ComparisonRow],
    form: ReportForm,
    out: &mut impl io::Write,
) -> io::Result<()> {
    match form {
        ReportForm::Json => {
            out.write_all(b"[")?;
            for (index, row) in rows.iter().enumerate() {
                out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
                serde_json::to_writer(&mut *out, &ComparisonRecord::from(row))?;
            }
            out.write_all(b"\n]\n")?;
        }
        ReportForm::Csv => {
            let mut csv = csv::WriterBuilder::new().has_headers(false).from_writer(&mut *out);
            csv.write_record(COLUMNS).map_err(into_io)?;
            rows.iter().try_for_each(|row| csv.serialize(ComparisonRecord::from(row))).map_err(into_io)?;
            csv.flush()?;
        }
    }
    out.flush()
}

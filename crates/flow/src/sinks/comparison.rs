//! The averages of two logs side by side.

mod compared_log;
mod order;
mod pairing;
mod strongest;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use tachograph_counters::Summary;
use tachograph_counters::set::{Counter, CounterSet, Instance};

pub use compared_log::{ComparedLog, ComparedRows};
pub use order::{ComparisonOrder, sort_comparison};
pub use pairing::InstancePairing;
use pairing::{name_key, pair_all_instances, rows_to_compare};
pub use strongest::{remove_equal_totals, strongest_rows};

/// How an average changed from the first log to the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AverageChange {
    /// Only the first log has the counter or the instance.
    OnlyBefore,
    /// Only the second log has the counter or the instance.
    OnlyAfter,
    /// One of the averages is missing.
    Unknown,
    /// The averages are equal.
    Same,
    /// Only the first average is 0.
    FromZero,
    /// Only the second average is 0.
    ToZero,
    /// One average is negative, the other one positive.
    SignChanged,
    /// The second average is larger by this factor, which is above 1.
    Multiplied(f64),
    /// The second average is smaller by this factor, which is above 1.
    Divided(f64),
}

impl AverageChange {
    /// The name of the variant in responses and files: `only_before`, `divided`, ...
    pub fn name(self) -> &'static str {
        match self {
            Self::OnlyBefore => "only_before",
            Self::OnlyAfter => "only_after",
            Self::Unknown => "unknown",
            Self::Same => "same",
            Self::FromZero => "from_zero",
            Self::ToZero => "to_zero",
            Self::SignChanged => "sign_changed",
            Self::Multiplied(_) => "multiplied",
            Self::Divided(_) => "divided",
        }
    }

    /// The factor, if there is one.
    pub fn factor(self) -> Option<f64> {
        match self {
            Self::Multiplied(factor) | Self::Divided(factor) => Some(factor),
            _ => None,
        }
    }
}

use super::report::{Figure, IDENTITY_COLUMNS, ReportForm, RowFrame, RowIdentity};
use super::statistics::StatisticsRow;

/// One counter of one instance in two logs. At least one of the logs has it.
#[derive(Clone, Debug)]
pub struct ComparisonRow {
    /// The full path in the second log, or in the first log if the counter is only there. Without the machine if two
    /// machines are compared with each other.
    pub path: String,
    /// The machine; `None` if the log does not name one, or if two machines are compared with each other.
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
    /// How the instances of the two logs were paired.
    pub pairing: InstancePairing,
    /// The index of the instance, or of the set without instances, to which the counter belongs.
    subject: usize,
    /// Whether the log without the instance has this counter for other instances, so that the instance did not exist when that
    /// log was recorded.
    is_missing_instance: bool,
    /// The share of the intervals of each log in which the instance was present, from 0 to 1; 1 for a set without
    /// instances.
    presence: [f64; 2],
}

impl ComparisonRow {
    /// Splits `row` into a row without statistics and its statistics.
    fn new(row: StatisticsRow) -> (Self, Summary) {
        let StatisticsRow { path, machine, set, counter, instance, summary, .. } = row;
        let row = Self {
            path,
            machine,
            set,
            counter,
            instance,
            before: None,
            after: None,
            pairing: InstancePairing::Instance,
            subject: 0,
            is_missing_instance: false,
            presence: [1.0; 2],
        };
        (row, summary)
    }

    /// Sets the statistics in a log that has this number of intervals.
    fn set(&mut self, log: Log, summary: Summary, intervals: u64) {
        if self.instance.is_some() && intervals > 0 {
            self.presence[log as usize] = summary.intervals as f64 / intervals as f64;
        }
        match log {
            Log::Before => self.before = Some(summary),
            Log::After => self.after = Some(summary),
        }
    }

    /// The numbers of instances in the first and the second log whose values are summed; 1 for a single instance and for
    /// a set without instances, and 0 if the log does not have it.
    pub fn instances(&self) -> [u64; 2] {
        match self.pairing {
            InstancePairing::Sum { before, after } => [before as u64, after as u64],
            _ => [&self.before, &self.after].map(|summary| u64::from(summary.is_some())),
        }
    }

    /// Whether both rows belong to the same instance, or to the same set without instances.
    pub fn is_of_same_instance(&self, other: &Self) -> bool {
        self.subject == other.subject
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

    /// The second average divided by the first; `None` if one of them is missing or the first one is 0.
    pub fn ratio(&self) -> Option<f64> {
        let before = self.average_before().filter(|before| *before != 0.0)?;
        Some(self.average_after()? / before)
    }

    /// By how much the averages differ relative to each other: `|ln(after / before)|`, so that doubling counts as much
    /// as halving. 0 if they are equal; infinite if only one of them is 0, or if their signs differ. `None` if one of
    /// them is missing.
    pub fn change(&self) -> Option<f64> {
        let (before, after) = (self.average_before()?, self.average_after()?);
        if before == after {
            return Some(0.0);
        }
        let ratio = after / before;
        Some(if ratio > 0.0 { ratio.ln().abs() } else { f64::INFINITY })
    }

    /// How the average changed.
    pub fn average_change(&self) -> AverageChange {
        match (&self.before, &self.after) {
            (None, _) => AverageChange::OnlyAfter,
            (_, None) => AverageChange::OnlyBefore,
            _ => match self.change() {
                None => AverageChange::Unknown,
                Some(0.0) => AverageChange::Same,
                Some(change) if change.is_infinite() => match (self.average_before(), self.average_after()) {
                    (Some(0.0), _) => AverageChange::FromZero,
                    (_, Some(0.0)) => AverageChange::ToZero,
                    _ => AverageChange::SignChanged,
                },
                Some(change) if self.ratio().is_some_and(|ratio| ratio > 1.0) => {
                    AverageChange::Multiplied(change.exp())
                }
                Some(change) => AverageChange::Divided(change.exp()),
            },
        }
    }

    fn remove_machine(&mut self) {
        if let Some(machine) = self.machine.take()
            && let Some(path) = self.path.strip_prefix(&format!(r"\\{machine}"))
        {
            self.path = path.to_owned();
        }
    }

    fn english_set_name(&self) -> &str {
        self.set.english_name.as_deref().unwrap_or(&self.set.name)
    }
}

/// One of the two logs.
#[derive(Clone, Copy)]
enum Log {
    Before,
    After,
}

/// Pairs the rows of two logs by their paths, case-insensitively. Machine names are compared only if one of the logs has
/// several machines. If each log has a single machine, but not the same, the rows name no machine. Identifiers are omitted. Instances that are not the same in both logs are compared as [`InstancePairing`]
/// says. The result is sorted by [weight](ComparisonOrder::Weight).
pub fn compare(before: impl Into<ComparedRows>, after: impl Into<ComparedRows>) -> Vec<ComparisonRow> {
    let (before, after) = (before.into(), after.into());
    let has_machines = has_several_machines(&before.instances) || has_several_machines(&after.instances);
    let is_of_two_machines = match [before.machine(), after.machine()] {
        [Some(before), Some(after)] => before.to_lowercase() != after.to_lowercase(),
        _ => false,
    };
    let pairings = pair_all_instances([&before, &after], has_machines);
    // The rows of sums have at most as many intervals.
    let intervals = [&before, &after].map(|log| max_intervals(&log.instances));
    let [before, after] = [before, after].map(|log| rows_to_compare(log, &pairings, has_machines));
    let lower_case = |text: &str| text.to_lowercase();
    let counter_key = |row: &StatisticsRow| (lower_case(&row.set.name), lower_case(&row.counter.name));
    let subject_key = |row: &StatisticsRow| {
        let machine = row.machine.as_deref().filter(|_| has_machines).map(lower_case);
        // On Linux, the names of two instances can differ only in case.
        let instance = row.instance.as_ref().map(|instance| instance.label().to_owned());
        (machine, lower_case(&row.set.name), instance)
    };
    let counters = [&before, &after].map(|rows| rows.iter().map(counter_key).collect::<HashSet<_>>());
    let mut rows: Vec<ComparisonRow> = Vec::with_capacity(after.len());
    let mut positions: HashMap<_, usize> = HashMap::with_capacity(after.len());
    let mut subjects: HashMap<_, usize> = HashMap::new();
    for (log, statistics) in [(Log::After, after), (Log::Before, before)] {
        for row in statistics.into_iter().filter(|row| !row.counter.is_identifier()) {
            let other = Log::After as usize - log as usize;
            let is_missing_instance = row.instance.is_some() && counters[other].contains(&counter_key(&row));
            let intervals = intervals[log as usize].get(&interval_key(&row)).copied().unwrap_or_default();
            let next = subjects.len();
            let subject = *subjects.entry(subject_key(&row)).or_insert(next);
            let position = positions.entry((subject, lower_case(&row.counter.name)));
            let pairing = name_key(&row, has_machines).and_then(|name| pairings.get(&name).copied());
            let (row, summary) = ComparisonRow::new(row);
            match (log, position) {
                (Log::Before, Entry::Occupied(found)) => rows[*found.get()].set(log, summary, intervals),
                (_, position) => {
                    position.insert_entry(rows.len());
                    let pairing = pairing.unwrap_or(InstancePairing::Instance);
                    let mut row = ComparisonRow { is_missing_instance, pairing, subject, ..row };
                    row.set(log, summary, intervals);
                    rows.push(row);
                }
            }
        }
    }
    if is_of_two_machines {
        rows.iter_mut().for_each(ComparisonRow::remove_machine);
    }
    sort_comparison(&mut rows, ComparisonOrder::Weight);
    rows
}

/// Removes the sets that repeat another set of the rows, and returns them. `repeats` has English names: that of a set that
/// can be removed, and that of the set that it repeats.
pub fn remove_repeating_sets(
    rows: &mut Vec<ComparisonRow>,
    repeats: impl IntoIterator<Item = (&'static str, &'static str)>,
) -> Vec<(&'static str, &'static str)> {
    let names: HashSet<&str> = rows.iter().map(ComparisonRow::english_set_name).collect();
    let is_present = |(set, of): &(&str, &str)| names.contains(set) && names.contains(of);
    let removed: Vec<_> = repeats.into_iter().filter(is_present).collect();
    rows.retain(|row| !removed.iter().any(|(set, _)| row.english_set_name() == *set));
    removed
}

/// The machine of a row, and whether its values need two samples. If they do, the log has one interval less than samples.
fn interval_key(row: &StatisticsRow) -> (Option<Arc<str>>, bool) {
    (row.machine.clone(), row.counter.counter_type.needs_two_samples())
}

/// For each [key](interval_key), the log's number of intervals: the largest number of intervals of a row with this key.
fn max_intervals(rows: &[StatisticsRow]) -> HashMap<(Option<Arc<str>>, bool), u64> {
    let mut intervals: HashMap<_, u64> = HashMap::new();
    for row in rows {
        let max = intervals.entry(interval_key(row)).or_default();
        *max = row.summary.intervals.max(*max);
    }
    intervals
}

fn has_several_machines(rows: &[StatisticsRow]) -> bool {
    rows.iter().any(|row| row.machine != rows[0].machine)
}

/// The columns after the [`IDENTITY_COLUMNS`]: the figures, then the numbers of values. Schema: docs/json.md.
const FIGURES: [&str; 4] = ["before", "after", "difference", "ratio"];
const COUNTS: [&str; 4] = ["values_before", "values_after", "instances_before", "instances_after"];

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
    let columns = IDENTITY_COLUMNS.into_iter().chain(FIGURES).chain(COUNTS);
    let mut frame = RowFrame::new(form, columns, out)?;
    for row in rows {
        let identity = || {
            RowIdentity::new(&row.path, row.machine.as_ref(), &row.set, &row.counter, row.instance.as_ref())
        };
        let values = |summary: &Option<Summary>| summary.as_ref().map_or(0, |summary| summary.values);
        let figures = [row.average_before(), row.average_after(), row.difference(), row.ratio()];
        let [before, after] = row.instances();
        let counts = [values(&row.before), values(&row.after), before, after];
        frame.push(
            |line| {
                line.write_figures(
                    &identity(),
                    FIGURES.into_iter().zip(figures),
                    COUNTS.into_iter().zip(counts),
                )
            },
            || (identity(), figures.map(Figure), counts),
        )?;
    }
    frame.finish()
}

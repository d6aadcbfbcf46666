//! Where samples end: statistics, logs, text, JSON.

mod json;
mod log;
mod report;
mod statistics;
mod text;

pub use json::JsonSink;
pub use log::LogSink;
pub use report::{StatisticsRecord, write_statistics_csv, write_statistics_json};
pub use statistics::{StatisticsOptions, StatisticsRow, StatisticsSink};
pub use text::TextSink;

use std::sync::Arc;

use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::CounterSet;
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_counters::{Calculator, FormatOptions, RawValue, Status};

use crate::union::{ScannedGroup, UnionScan};

/// Formats the groups of a union sample after sample, into one cell per column: every counter of every instance that
/// occurs anywhere, in the order of the union.
///
/// Pairs by name, as Windows does when it writes text: a `#n` that was renumbered is paired with its predecessor.
struct Formatter {
    groups: Vec<FormattedGroup>,
    cells: Vec<Option<f64>>,
}

struct FormattedGroup {
    scanned: ScannedGroup,
    calculators: Vec<Calculator>,
    /// The first of the group's cells.
    first: usize,
    /// The set that `calculators` and `columns` were made for.
    set: Arc<CounterSet>,
    /// For each column of a sample's group, its place among the scanned columns.
    columns: Vec<usize>,
    instances: tachograph_counters::set::Instances,
    /// For each row of a sample's group, its first cell.
    rows: Vec<usize>,
    /// By cell of the group: the raw value before.
    previous: Vec<Option<RawValue>>,
    /// When the group's machine was started, or 0.
    boot_time: i64,
}

/// A column of text output.
struct FormattedColumn<'a> {
    group: &'a ScannedGroup,
    instance: &'a tachograph_counters::set::Instance,
    counter: &'a tachograph_counters::set::Counter,
}

impl Formatter {
    fn new(scan: &UnionScan) -> Self {
        let mut first = 0;
        let groups = scan
            .groups()
            .iter()
            .map(|scanned| {
                let count = scanned.instances.len() * scanned.set.counters.len();
                let group = FormattedGroup {
                    scanned: scanned.clone(),
                    calculators: Vec::new(),
                    first,
                    // Another set than any sample's, so that the first sample finds its columns.
                    set: Arc::new(CounterSet::clone(&scanned.set)),
                    columns: Vec::new(),
                    instances: Default::default(),
                    rows: Vec::new(),
                    previous: vec![None; count],
                    boot_time: 0,
                };
                first += count;
                group
            })
            .collect();
        Self { groups, cells: vec![None; first] }
    }

    fn columns(&self) -> impl Iterator<Item = FormattedColumn<'_>> {
        self.groups.iter().flat_map(|group| {
            group.scanned.instances.iter().flat_map(|instance| {
                group.scanned.set.counters.iter().map(|counter| FormattedColumn {
                    group: &group.scanned,
                    instance,
                    counter,
                })
            })
        })
    }

    /// The formatted values of a sample that has the groups of the union; `None` where there is no value.
    fn format(&mut self, sample: &Sample) -> &[Option<f64>] {
        self.cells.fill(None);
        for (formatted, group) in self.groups.iter_mut().zip(&sample.groups) {
            if !group.is_present() {
                continue;
            }
            let boot_time = sample.boot_time_of(group).0;
            if boot_time != 0 {
                let before = std::mem::replace(&mut formatted.boot_time, boot_time);
                if before != 0 && before != boot_time {
                    formatted.previous.fill(None);
                }
            }
            formatted.format(group, &mut self.cells);
        }
        &self.cells
    }
}

impl FormattedGroup {
    fn format(&mut self, group: &Group, cells: &mut [Option<f64>]) {
        if !Arc::ptr_eq(&self.set, &group.set) {
            self.take_columns(group);
        }
        if !Arc::ptr_eq(&self.instances, &group.instances) {
            self.take_rows(group);
        }
        let options = FormatOptions::default();
        for (&row, values) in self.rows.iter().zip(group.rows()) {
            for ((raw, calculator), &column) in values.iter().zip(&self.calculators).zip(&self.columns) {
                let at = row + column;
                if raw.status == Status::NO_INSTANCE {
                    self.previous[at - self.first] = None;
                    continue;
                }
                let previous = self.previous[at - self.first].replace(*raw);
                cells[at] = calculator.format(previous.as_ref(), raw, &options).ok();
            }
        }
    }

    fn take_columns(&mut self, group: &Group) {
        // Values of another type (displayed ones, of a text log merged with a BLG) or of another clock make no pair.
        let kinds = |set: &CounterSet| -> Vec<_> {
            set.counters.iter().map(|counter| (counter.counter_type, counter.time_base)).collect()
        };
        if kinds(&self.set) != kinds(&group.set) {
            self.previous.fill(None);
        }
        self.set = Arc::clone(&group.set);
        self.calculators.clear();
        self.columns.clear();
        for counter in &group.set.counters {
            let known = &self.scanned.set.counters;
            // The scan saw every description, so every counter has its place.
            let place =
                known.iter().position(|known| eq_ignore_case(&known.name, &counter.name)).unwrap_or_default();
            self.calculators.push(counter.calculator());
            self.columns.push(place);
        }
        self.instances = Default::default();
        self.rows.clear();
    }

    fn take_rows(&mut self, group: &Group) {
        let width = self.scanned.set.counters.len();
        let before = std::mem::take(&mut self.rows);
        self.instances = Arc::clone(&group.instances);
        self.rows = group
            .instances
            .iter()
            .map(|instance| self.first + self.scanned.place_of(instance).unwrap_or_default() * width)
            .collect();
        // What went away has no value before when it comes back.
        let mut now = self.rows.clone();
        now.sort_unstable();
        for gone in before.into_iter().filter(|row| now.binary_search(row).is_err()) {
            let at = gone - self.first;
            self.previous[at..at + width].fill(None);
        }
    }
}

//! Sinks: statistics, logs, text and JSON.

mod comparison;
mod json;
mod late;
mod live_json;
mod live_values;
mod log;
mod periodic;
mod report;
mod statistics;
mod text;

pub use comparison::{
    AverageChange, ComparedLog, ComparedRows, ComparisonOrder, ComparisonRow, InstancePairing, compare,
    remove_equal_totals, remove_repeating_sets, sort_comparison, strongest_rows, write_comparison,
};
pub use json::JsonSink;
pub use late::LateInstances;
pub use live_json::LiveJsonSink;
pub use live_values::{LiveGroupValues, LiveValues};
pub use log::{ArchiveSink, LogSink};
pub use periodic::PeriodicStatistics;
pub use report::{ReportForm, StatisticsReport, write_statistics_csv, write_statistics_json};
pub use statistics::{
    CounterErrors, ErrorCause, ExtraFigures, MAX_CAUSES, StatisticsOptions, StatisticsRow, StatisticsSink,
    StatisticsSpan,
};
pub use text::{TextForm, TextSink};

use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, Instances};
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_counters::{Calculator, FormatOptions, Origin, Pairer};

use crate::union::{ScannedGroup, UnionScan};

/// Formats samples of a [`Union`](crate::Union) into one cell per output column. There is a column for every counter of
/// every instance of the union. The columns of a group are ordered by instance if it is a table ([`Extent::Table`]),
/// otherwise by counter.
///
/// Values are paired by name, as Windows does when it writes text: `name#2` is paired with the previous `name#2`, even
/// if that was another process. For a live source, and for logs that were not written by Windows, they are paired by identity
/// too.
struct Formatter {
    groups: Vec<FormattedGroup>,
    cells: Vec<Option<f64>>,
    pairs_by_identity: bool,
    /// For a live source: counts the instances that appeared after the scan.
    late_instances: Option<LateInstances>,
}

/// The cells of a group of the union.
struct FormattedGroup {
    scanned: ScannedGroup,
    calculators: Vec<Calculator>,
    /// The index of the group's first cell.
    first: usize,
    /// Distance between the cells of consecutive instances (`row_step`) and of consecutive counters (`column_step`).
    row_step: usize,
    column_step: usize,
    /// The set for which `calculators` and `columns` are valid.
    set: Arc<CounterSet>,
    /// For each column of a sample's group, the index of the scanned counter.
    columns: Vec<usize>,
    instances: Instances,
    /// For each row of a sample's group, the index of the scanned instance, or [`NO_ROW`].
    rows: Vec<usize>,
    /// One per cell of the group.
    pairers: Vec<Pairer>,
    /// The boot time in the previous sample.
    boot_time: FileTime,
}

/// Marks an instance that appeared after the scan and so has no cell.
const NO_ROW: usize = usize::MAX;

struct FormattedColumn<'a> {
    group: &'a ScannedGroup,
    instance: &'a Instance,
    counter: &'a Counter,
}

impl Formatter {
    fn new(scan: &UnionScan) -> Self {
        let mut first = 0;
        let groups = scan
            .groups()
            .iter()
            .map(|scanned| {
                let (rows, columns) = (scanned.instances.len(), scanned.set.counters.len());
                let is_by_row = scanned.set.extent == Extent::Table;
                let (row_step, column_step) = if is_by_row { (columns, 1) } else { (1, rows) };
                let group = FormattedGroup {
                    scanned: scanned.clone(),
                    calculators: Vec::new(),
                    first,
                    row_step,
                    column_step,
                    // A copy, so that the first sample's description differs and updates the columns.
                    set: Arc::new(CounterSet::clone(&scanned.set)),
                    columns: Vec::new(),
                    instances: Instances::default(),
                    rows: Vec::new(),
                    pairers: vec![Pairer::default(); rows * columns],
                    boot_time: FileTime(0),
                };
                first += rows * columns;
                group
            })
            .collect();
        Self { groups, cells: vec![None; first], pairs_by_identity: false, late_instances: None }
    }

    /// Prepares for samples of a live source: values of two processes with the same name are not paired, and instances
    /// that appeared after the scan are counted and skipped.
    fn use_live_rules(&mut self) -> LateInstances {
        let late = LateInstances::default();
        late.add_known(self.groups.iter().map(|group| &group.scanned));
        self.late_instances = Some(late.clone());
        self.pairs_by_identity = true;
        late
    }

    fn columns(&self) -> impl Iterator<Item = FormattedColumn<'_>> {
        self.groups.iter().flat_map(|group| {
            let ScannedGroup { instances, set, .. } = &group.scanned;
            (0..group.pairers.len()).map(move |cell| FormattedColumn {
                group: &group.scanned,
                instance: &instances[cell / group.row_step % instances.len()],
                counter: &set.counters[cell / group.column_step % set.counters.len()],
            })
        })
    }

    /// The formatted values of a sample, which must have the groups of the union. A missing value is `None`.
    fn format(&mut self, sample: &Sample) -> &[Option<f64>] {
        self.cells.fill(None);
        for (formatted, group) in self.groups.iter_mut().zip(&sample.groups) {
            if !group.is_present() {
                continue;
            }
            formatted.format(
                group,
                sample.boot_time_of(group),
                self.pairs_by_identity,
                self.late_instances.as_ref(),
                &mut self.cells,
            );
        }
        &self.cells
    }

    /// The number of values of the last formatted sample.
    fn value_count(&self) -> usize {
        self.cells.iter().flatten().count()
    }
}

impl FormattedGroup {
    fn format(
        &mut self,
        group: &Group,
        boot_time: FileTime,
        pairs_by_identity: bool,
        late_instances: Option<&LateInstances>,
        cells: &mut [Option<f64>],
    ) {
        let is_described = Arc::ptr_eq(&self.set, &group.set);
        if !is_described {
            self.update_columns(group);
        }
        // Two logs can share the instance list of a set without instances, so a new description also updates the rows.
        let has_new_rows = !is_described || !Arc::ptr_eq(&self.instances, &group.instances);
        if has_new_rows {
            self.update_rows(group, late_instances);
        }
        let restarted = std::mem::replace(&mut self.boot_time, boot_time) != boot_time;
        // Whether the cells can have other origins than in the previous sample.
        let has_new_origins = has_new_rows || restarted || pairs_by_identity;
        let options = FormatOptions::default();
        for (at, (&row, values)) in self.rows.iter().zip(group.rows()).enumerate() {
            if row == NO_ROW {
                continue;
            }
            let identity =
                group.identities.get(at).filter(|_| pairs_by_identity).copied().unwrap_or_default();
            for ((raw, calculator), &column) in values.iter().zip(&self.calculators).zip(&self.columns) {
                let cell = row * self.row_step + column * self.column_step;
                let pairer = &mut self.pairers[cell];
                if has_new_origins {
                    pairer.follow(Origin::new(calculator, identity, boot_time));
                }
                cells[self.first + cell] = calculator.format(pairer.pair(raw).as_ref(), raw, &options).ok();
            }
        }
    }

    fn update_columns(&mut self, group: &Group) {
        self.set = Arc::clone(&group.set);
        self.calculators.clear();
        self.columns.clear();
        for counter in &group.set.counters {
            let mut known = self.scanned.set.counters.iter();
            // The scan contains the counters of every description.
            let index = known.position(|known| eq_ignore_case(&known.name, &counter.name));
            self.calculators.push(counter.calculator());
            self.columns.push(index.unwrap_or_default());
        }
    }

    fn update_rows(&mut self, group: &Group, late: Option<&LateInstances>) {
        let before = std::mem::take(&mut self.rows);
        self.instances = Arc::clone(&group.instances);
        let row_of = |instance: &Arc<Instance>| {
            self.scanned.index_of(instance).unwrap_or_else(|| {
                if let Some(late) = late {
                    late.add(&self.scanned.set, instance);
                }
                NO_ROW
            })
        };
        self.rows = group.instances.iter().map(row_of).collect();
        // An instance that returns later starts without a previous value.
        let mut now = self.rows.clone();
        now.sort_unstable();
        let is_gone = |row: &usize| *row != NO_ROW && now.binary_search(row).is_err();
        for gone in before.into_iter().filter(is_gone) {
            for column in 0..self.scanned.set.counters.len() {
                self.pairers[gone * self.row_step + column * self.column_step].interrupt();
            }
        }
    }
}

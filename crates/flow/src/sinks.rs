//! Where samples end: statistics, logs, text, JSON.

mod json;
mod late;
mod live_json;
mod live_values;
mod log;
mod report;
mod statistics;
mod text;

pub use json::JsonSink;
pub use late::LateInstances;
pub use live_json::LiveJsonSink;
pub use live_values::{LiveGroupValues, LiveValues};
pub use log::LogSink;
pub use report::{StatisticsRecord, write_statistics_csv, write_statistics_json};
pub use statistics::{
    CounterErrors, ErrorCause, MAX_CAUSES, StatisticsOptions, StatisticsRow, StatisticsSink,
};
pub use text::{TextForm, TextSink};

use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::CounterSet;
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_counters::{Calculator, FormatOptions, Origin, Pairer};

use crate::union::{ScannedGroup, UnionScan};

/// Formats the groups of a union sample after sample, into one cell per column: every counter of every instance that
/// occurs anywhere, in the order of the union.
///
/// Pairs by name, as Windows does when it writes text: a `#n` that was renumbered is paired with its predecessor. Over a
/// live source ([`Formatter::live`]) it pairs by identity too.
struct Formatter {
    groups: Vec<FormattedGroup>,
    cells: Vec<Option<f64>>,
    /// Over a live source: the instances that came after the scan.
    late: Option<LateInstances>,
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
    /// For each row of a sample's group, its first cell, or [`NO_CELL`].
    rows: Vec<usize>,
    /// By cell of the group.
    pairers: Vec<Pairer>,
}

/// In place of a row's first cell: the instance came after the scan, so that it has no column.
const NO_CELL: usize = usize::MAX;

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
                    pairers: vec![Pairer::default(); count],
                };
                first += count;
                group
            })
            .collect();
        Self { groups, cells: vec![None; first], late: None }
    }

    /// For samples of a live source: a name behind which there is another process now makes no pair, and instances that
    /// came after the scan are noted and left out.
    fn live(&mut self) -> LateInstances {
        let late = LateInstances::default();
        late.note_known(self.groups.iter().map(|group| &group.scanned));
        self.late = Some(late.clone());
        late
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
            formatted.format(group, sample.boot_time_of(group), self.late.as_ref(), &mut self.cells);
        }
        &self.cells
    }

    /// How many raw values of the sample that was formatted last have a cell.
    fn values_of(&self, sample: &Sample) -> usize {
        let present = self.groups.iter().zip(&sample.groups).filter(|(_, group)| group.is_present());
        let values = |(formatted, group): (&FormattedGroup, &Group)| {
            let rows = formatted.rows.iter().zip(group.rows());
            rows.filter(|&(&row, _)| row != NO_CELL).map(|(_, values)| values.len()).sum::<usize>()
        };
        present.map(values).sum()
    }
}

impl FormattedGroup {
    fn format(
        &mut self,
        group: &Group,
        boot_time: FileTime,
        late: Option<&LateInstances>,
        cells: &mut [Option<f64>],
    ) {
        let is_described = Arc::ptr_eq(&self.set, &group.set);
        if !is_described {
            self.take_columns(group);
        }
        // Another log's rows are others, also where there are none: all that were there have gone.
        if !is_described || !Arc::ptr_eq(&self.instances, &group.instances) {
            self.take_rows(group, late);
        }
        let options = FormatOptions::default();
        for (at, (&row, values)) in self.rows.iter().zip(group.rows()).enumerate() {
            if row == NO_CELL {
                continue;
            }
            // Text of logs pairs by names alone, as Windows does.
            let identity = group.identities.get(at).filter(|_| late.is_some()).copied().unwrap_or_default();
            for ((raw, calculator), &column) in values.iter().zip(&self.calculators).zip(&self.columns) {
                let at = row + column;
                let pairer = &mut self.pairers[at - self.first];
                pairer.follow(Origin::new(calculator, identity, boot_time));
                cells[at] = calculator.format(pairer.pair(raw).as_ref(), raw, &options).ok();
            }
        }
    }

    fn take_columns(&mut self, group: &Group) {
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
    }

    fn take_rows(&mut self, group: &Group, late: Option<&LateInstances>) {
        let width = self.scanned.set.counters.len();
        let before = std::mem::take(&mut self.rows);
        self.instances = Arc::clone(&group.instances);
        let first_cell =
            |instance: &Arc<tachograph_counters::set::Instance>| match self.scanned.place_of(instance) {
                Some(place) => self.first + place * width,
                None => {
                    if let Some(late) = late {
                        late.note(&self.scanned.set, instance);
                    }
                    NO_CELL
                }
            };
        self.rows = group.instances.iter().map(first_cell).collect();
        // What went away has no value before when it comes back.
        let mut now = self.rows.clone();
        now.sort_unstable();
        let is_gone = |row: &usize| *row != NO_CELL && now.binary_search(row).is_err();
        for gone in before.into_iter().filter(is_gone) {
            let at = gone - self.first;
            self.pairers[at..at + width].iter_mut().for_each(Pairer::interrupt);
        }
    }
}

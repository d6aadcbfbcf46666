//! The rows of a table: one for each instance in the figures of a time range.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::Summary;
use tachograph_counters::civil::FileTime;
use tachograph_counters::set::Instance;
use tachograph_counters::wildcard::eq_ignore_case;

use super::TableFigures;
use super::columns::{Figure, Identity, TableColumn};
use super::figures::{START_TOLERANCE, is_mixed};
use crate::reduced::Reduced;
use crate::series::SeriesInfo;

/// Id of a row; never reused within a table. A process keeps it as long as it is in the table. Another process that gets
/// its name or its id has another row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(u64);

/// A row: an instance, and the ids of its process or thread.
#[derive(Clone, Debug)]
pub struct TableRow {
    /// Its id.
    pub id: RowId,
    /// The series of one of its counters, from which its names are taken.
    pub info: Arc<SeriesInfo>,
    /// The id of the process.
    pub process: Option<u64>,
    /// The id of the thread.
    pub thread: Option<u64>,
    /// The id of the parent.
    pub parent: Option<u64>,
    /// When it started, if known.
    pub started: Option<FileTime>,
    /// Whether it is a total or another instance that does not represent one object: `_Total`, `Idle`, `_Exited`,
    /// `_Unattributed`. These are not ranked.
    pub is_reserved: bool,
    /// Whether it is a name that several processes or threads had in the range, so that it has no id.
    pub has_several_ids: bool,
    /// The number of intervals of the range in which it has values.
    pub intervals: u64,
    /// Which part of a split instance it is; see [`TableFigures::part`].
    pub(super) part: u32,
}

impl TableRow {
    /// The instance's name; empty for a set without instances.
    pub fn label(&self) -> &str {
        self.info.instance.as_ref().map_or("", |instance| instance.label())
    }

    /// The name as the table shows it: with `#n` only if no id distinguishes instances of the same name.
    pub fn name(&self) -> &str {
        let Some(instance) = &self.info.instance else { return "" };
        if self.process.is_some() && instance.parent().is_none() { instance.name() } else { instance.label() }
    }

    /// The machine; empty if unknown.
    pub fn machine(&self) -> &str {
        self.info.machine.as_deref().unwrap_or_default()
    }
}

/// The names of instances that providers reserve, in lower case, without an id that follows after a colon.
const RESERVED: [&str; 4] = ["_total", "idle", "_exited", "_unattributed"];

/// Whether an instance of a set has no rank among the others, because it stands for several of them, for time without an owner,
/// or for idle time: `_Total`, `0,_Total`, `Idle`, `_Exited`, `_Unattributed`, and the root of control groups.
pub fn has_no_rank(set: &str, instance: &Instance) -> bool {
    // With an index, it is another instance that happens to have such a name.
    if instance.index() != 0 {
        return false;
    }
    let name = instance.name();
    // The name may begin with a node or a parent: `0,_Total`.
    let last = name.rsplit([',', '/']).next().unwrap_or(name);
    let last = last.split(':').next().unwrap_or(last);
    set == "Cgroup" && name == "/" || RESERVED.iter().any(|reserved| eq_ignore_case(last, reserved))
}

pub(super) fn is_reserved(info: &SeriesInfo) -> bool {
    info.instance.as_ref().is_some_and(|instance| has_no_rank(&info.set.name, instance))
}

/// Index of the series of a missing value.
const MISSING: u32 = u32::MAX;

/// The rows of the last figures. Rows that are in successive figures keep their ids.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<TableRow>,
    /// For each row and column, the index of the series in the figures, or [`MISSING`].
    cells: Vec<u32>,
    /// The number of columns.
    width: usize,
    /// The ids of the rows of the last figures.
    known_ids: HashMap<Key, Known>,
    next_id: u64,
}

/// The identity of a row, apart from its start time: machine, label, part, process id, thread id.
type Key = (Option<Arc<str>>, Box<str>, u32, Option<u64>, Option<u64>);

/// A row of the last figures: its id, and its start time to compare with.
#[derive(Clone, Copy, Debug)]
struct Known {
    id: RowId,
    started: Option<FileTime>,
}

/// The use of a counter in a table: the index of the column that shows it, and what its values identify.
#[derive(Clone, Copy)]
struct Role {
    column: Option<usize>,
    identity: Option<Identity>,
}

impl Rows {
    /// Replaces the rows by those of new figures.
    pub(super) fn update(&mut self, set: &str, columns: &[TableColumn], figures: &TableFigures) {
        self.rows.clear();
        self.cells.clear();
        self.width = columns.len();
        let mut by_instance: HashMap<(&str, &str, u32), usize> = HashMap::with_capacity(self.known_ids.len());
        // The role of each counter, by the address of its name. Searched from the end, because neighbouring series share
        // counters.
        let mut roles: Vec<(*const u8, Role)> = Vec::new();
        for (index, series) in figures.reduced.series.iter().enumerate() {
            let info = &series.info;
            let (name, english) = (&info.set.name, info.set.english_name.as_deref());
            if &**name != set && english != Some(set) {
                continue;
            }
            let label = info.instance.as_ref().map_or("", |instance| instance.label());
            let machine = info.machine.as_deref().unwrap_or_default();
            let part = figures.part(index);
            let row = *by_instance.entry((machine, label, part)).or_insert_with(|| {
                self.rows.push(TableRow {
                    id: RowId(0),
                    info: Arc::clone(info),
                    process: None,
                    thread: None,
                    parent: None,
                    started: None,
                    is_reserved: is_reserved(info),
                    has_several_ids: false,
                    intervals: 0,
                    part,
                });
                self.cells.resize(self.cells.len() + self.width, MISSING);
                self.rows.len() - 1
            });
            self.rows[row].intervals = self.rows[row].intervals.max(series.summary.intervals);
            let address = info.counter.name.as_ptr();
            let role = match roles.iter().rev().find(|(known, _)| *known == address) {
                Some((_, role)) => *role,
                None => {
                    let role = Role::of(columns, info);
                    roles.push((address, role));
                    role
                }
            };
            // A name that several processes had has no id.
            if role.identity.is_some_and(|identity| is_mixed(identity, &series.summary)) {
                self.rows[row].has_several_ids = true;
                continue;
            }
            if let Some(column) = role.column {
                self.cells[row * self.width + column] = index as u32;
            }
            if let (Some(identity), Some(value)) = (role.identity, series.summary.last) {
                let row = &mut self.rows[row];
                match identity {
                    // In a log of formatted values, an id may have decimals, which are cut off.
                    Identity::Process => row.process = Some(value as u64),
                    Identity::Thread => row.thread = Some(value as u64),
                    Identity::Parent => row.parent = Some(value as u64),
                    Identity::Elapsed => {
                        let units = (value * FileTime::PER_SECOND as f64) as i64;
                        row.started = series.summary.last_time.map(|at| at.utc.saturating_sub(units));
                    }
                }
            }
        }
        self.assign_ids();
    }

    fn assign_ids(&mut self) {
        let mut before = std::mem::take(&mut self.known_ids);
        self.known_ids.reserve(self.rows.len());
        for row in &mut self.rows {
            if row.is_reserved {
                // The id of a total does not identify a process.
                (row.process, row.thread, row.parent) = (None, None, None);
            }
            let machine = row.info.machine.clone();
            let key: Key = (machine, row.label().into(), row.part, row.process, row.thread);
            let is_same = |known: &Known| match (known.started, row.started) {
                (Some(before), Some(now)) => before.since(now).abs() <= START_TOLERANCE,
                _ => true,
            };
            let known = before.remove(&key).filter(is_same).unwrap_or_else(|| {
                self.next_id += 1;
                Known { id: RowId(self.next_id), started: row.started }
            });
            row.id = known.id;
            self.known_ids.insert(key, known);
        }
    }

    /// The value of a cell; `None` if missing.
    pub(super) fn value(&self, reduced: &Reduced, row: usize, column: usize, figure: Figure) -> Option<f64> {
        let summary = self.summary(reduced, row, column)?;
        match figure {
            Figure::Average => summary.average,
            Figure::Last => summary.last,
        }
    }

    /// The value by which a row is ranked; see [`Summary::rank`].
    pub(super) fn rank(&self, reduced: &Reduced, row: usize, column: usize, figure: Figure) -> Option<f64> {
        let summary = self.summary(reduced, row, column)?;
        match figure {
            Figure::Average => summary.rank(),
            Figure::Last => summary.last,
        }
    }

    fn summary<'a>(&self, reduced: &'a Reduced, row: usize, column: usize) -> Option<&'a Summary> {
        let index = *self.cells.get(row * self.width + column)?;
        Some(&reduced.series.get(index as usize)?.summary)
    }

    /// The series of a cell.
    pub(super) fn series(&self, row: usize, column: usize) -> Option<usize> {
        let index = *self.cells.get(row * self.width + column)?;
        (index != MISSING).then_some(index as usize)
    }
}

impl Role {
    fn of(columns: &[TableColumn], info: &SeriesInfo) -> Self {
        let column = columns.iter().position(|column| {
            column.counter().is_some_and(|counter| {
                counter.name == info.counter.name
                    || (counter.english_name.is_some() && counter.english_name == info.counter.english_name)
            })
        });
        Self { column, identity: Identity::of(&info.counter) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_have_no_rank() {
        for (set, parent, name, index, expected) in [
            ("Process", None, "_Total", 0, true),
            ("Processor Information", None, "0,_Total", 0, true),
            ("Thread", Some("Idle"), "0", 0, false),
            ("Thread", Some("_Total"), "_Total", 0, true),
            ("Process", None, "idle", 0, true),
            ("Process", None, "_Exited", 0, true),
            ("Process", None, "_Unattributed", 0, true),
            ("Process V2", None, "_Total:0", 0, true),
            ("Process", None, "_Exited", 1, false),
            ("Process", None, "Idler", 0, false),
            ("Cgroup", None, "/", 0, true),
            ("LogicalDisk", None, "/", 0, false),
        ] {
            assert_eq!(has_no_rank(set, &Instance::new(parent, name, index)), expected, "{set} {name}");
        }
    }
}

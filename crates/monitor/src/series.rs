//! The series of a board. A series is one counter of one instance.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::set::{Counter, CounterSet, Instance};
use tachograph_flow::sinks::StatisticsRow;

/// Id of a series on one board; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeriesId(pub u64);

/// Describes a series.
#[derive(Clone, Debug)]
pub struct SeriesInfo {
    /// The series' id on the board.
    pub id: SeriesId,
    /// The full path: `\\machine\set(instance)\counter`.
    pub path: String,
    /// The machine; `None` where the source names none.
    pub machine: Option<Arc<str>>,
    /// The counter set.
    pub set: Arc<CounterSet>,
    /// The counter.
    pub counter: Counter,
    /// The instance; `None` for a set without instances.
    pub instance: Option<Arc<Instance>>,
}

impl SeriesInfo {
    /// Whether the path selects this series, by its names or by its English names.
    pub fn is_selected_by(&self, path: &PathPattern) -> bool {
        let matches = |name: &Arc<str>, english: &Option<Arc<str>>, test: &dyn Fn(&str) -> bool| {
            test(name) || english.as_ref().is_some_and(|name| test(name))
        };
        let instance = self.instance.as_ref().map(|instance| instance.label());
        let is_set = |name: &str| path.matches_set(name, instance.is_some());
        path.matches_machine(&self.set.machine)
            && matches(&self.set.name, &self.set.english_name, &is_set)
            && path.matches_instance(instance)
            && matches(&self.counter.name, &self.counter.english_name, &|name| path.matches_counter(name))
    }

    /// The path without its machine.
    pub fn path_without_machine(&self) -> &str {
        let Some(rest) = self.path.strip_prefix(r"\\") else { return &self.path };
        rest.find('\\').map_or(self.path.as_str(), |index| &rest[index..])
    }

    /// The instance's name as a legend shows it: without its parent, but with `#n`; `None` for a set without instances.
    pub fn instance_name(&self) -> Option<&str> {
        let instance = self.instance.as_ref()?;
        let label = instance.label();
        Some(instance.parent().map_or(label, |parent| &label[parent.len() + 1..]))
    }

    /// The name of the instance's parent, if the instance has one.
    pub fn parent(&self) -> Option<&str> {
        self.instance.as_ref().and_then(|instance| instance.parent())
    }
}

/// The series of a board, by path and formula.
#[derive(Debug, Default)]
pub struct SeriesTable {
    infos: HashMap<SeriesId, Arc<SeriesInfo>>,
    by_key: HashMap<String, SeriesId>,
    next_id: u64,
}

impl SeriesTable {
    /// The id of the series that a row belongs to. A series that is not in the table yet is added with a new id.
    pub fn id_of(&mut self, row: &StatisticsRow) -> SeriesId {
        // Counters with the same path but different formulas are different series; a log written by two systems can
        // have both.
        let key = format!("{}\0{:?}", row.path, row.counter.counter_type.formula());
        *self.by_key.entry(key).or_insert_with(|| {
            let id = SeriesId(self.next_id);
            self.next_id += 1;
            let info = SeriesInfo {
                id,
                path: row.path.clone(),
                machine: row.machine.clone(),
                set: Arc::clone(&row.set),
                counter: row.counter.clone(),
                instance: row.instance.clone(),
            };
            self.infos.insert(id, Arc::new(info));
            id
        })
    }

    /// The series with this id.
    pub fn get(&self, id: SeriesId) -> Option<&Arc<SeriesInfo>> {
        self.infos.get(&id)
    }

    /// The number of series.
    pub fn len(&self) -> usize {
        self.infos.len()
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.infos.is_empty()
    }

    /// Drops the series that `is_kept` rejects; if one returns, it gets a new id.
    pub fn retain(&mut self, mut is_kept: impl FnMut(SeriesId) -> bool) {
        self.infos.retain(|&id, _| is_kept(id));
        self.by_key.retain(|_, id| self.infos.contains_key(id));
    }
}

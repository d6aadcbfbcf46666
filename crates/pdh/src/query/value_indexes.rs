//! Finds the values of a query's counters in samples.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, Instances};
use tachograph_counters::wildcard::fold_case;
use tachograph_counters::{Origin, RawValue, Status};

/// The layout of the last sample. As long as it does not change, all indexes stay valid.
#[derive(Default)]
pub(super) struct Layout {
    sets: Vec<Arc<CounterSet>>,
    shapes: Vec<Shape>,
    /// The columns of each counter, by the counter's [key](key_of).
    columns: HashMap<String, Vec<Column>>,
}

/// The properties of a group that can change between samples.
struct Shape {
    instances: Instances,
    values: usize,
    is_present: bool,
}

/// The position of a counter in a sample.
#[derive(Clone, Copy)]
struct Column {
    group: usize,
    column: usize,
}

/// How a sample's layout differs from the previous sample's.
#[derive(Clone, Copy)]
pub(super) enum Change<'a> {
    /// Same layout.
    None,
    /// Only the groups' instances or presence changed.
    Rows,
    /// The counter sets changed.
    Columns(&'a Layout),
}

impl Change<'_> {
    pub(super) fn is_none(self) -> bool {
        matches!(self, Self::None)
    }
}

impl Layout {
    /// Updates `self` to the sample's layout and returns what changed.
    pub(super) fn update(&mut self, sample: &Sample) -> Change<'_> {
        let groups = &sample.groups;
        let has_sets = sample.has_sets(self.sets.iter());
        if has_sets && self.shapes.iter().zip(groups).all(|(shape, group)| shape.matches(group)) {
            return Change::None;
        }
        self.shapes.clear();
        self.shapes.extend(groups.iter().map(Shape::new));
        if has_sets {
            return Change::Rows;
        }
        self.sets.clear();
        self.sets.extend(groups.iter().map(|group| Arc::clone(&group.set)));
        self.columns.clear();
        for (group, set) in self.sets.iter().enumerate() {
            for (column, counter) in set.counters.iter().enumerate() {
                let key = key_of(&set.machine, &set.name, &counter.name, set.has_instances);
                self.columns.entry(key).or_default().push(Column { group, column });
            }
        }
        Change::Columns(self)
    }

    /// A [`Change::Columns`] with this layout, to initialise counters just added.
    pub(super) fn as_change(&self) -> Change<'_> {
        Change::Columns(self)
    }
}

impl Shape {
    fn new(group: &Group) -> Self {
        Self {
            instances: Arc::clone(&group.instances),
            values: group.values.len(),
            is_present: group.is_present(),
        }
    }

    fn matches(&self, group: &Group) -> bool {
        Arc::ptr_eq(&self.instances, &group.instances)
            && self.values == group.values.len()
            && self.is_present == group.is_present()
    }
}

/// Identifies a counter of a source, ignoring case.
fn key_of(machine: &str, set: &str, counter: &str, has_instances: bool) -> String {
    let [machine, set, counter] = [machine, set, counter].map(fold_case);
    let kind = if has_instances { '1' } else { '0' };
    format!("{machine}\0{set}\0{counter}\0{kind}")
}

/// The positions of a counter's values in the last sample.
pub(super) struct ValueIndexes {
    key: String,
    has_wildcard: bool,
    /// Whether the source is a log. In a log, a path with a wildcard must also match groups of one instance
    /// ([`Extent::Row`]). A live sample has a group of all matching instances for such a path, so groups of one
    /// instance are ignored.
    pub(super) is_log: bool,
    columns: Vec<Column>,
    values: Vec<ValueIndex>,
}

/// The position of a value in a sample.
#[derive(Clone, Copy)]
pub(super) struct ValueIndex {
    column: Column,
    row: usize,
}

impl ValueIndexes {
    pub(super) fn new(pattern: &PathPattern, has_wildcard: bool, is_log: bool) -> Self {
        let path = pattern.path();
        let machine = path.machine.as_deref().unwrap_or_default();
        let key = key_of(machine, &path.set, &path.counter, path.instance.is_some());
        Self { key, has_wildcard, is_log, columns: Vec::new(), values: Vec::new() }
    }

    pub(super) fn update(&mut self, pattern: &PathPattern, sample: &Sample, change: Change<'_>) {
        match change {
            Change::None => return,
            Change::Rows => {}
            Change::Columns(layout) => {
                self.columns.clear();
                let is_eligible = |column: &&Column| {
                    !self.has_wildcard || self.is_log || layout.sets[column.group].extent != Extent::Row
                };
                let columns = layout.columns.get(&self.key).into_iter().flatten();
                self.columns.extend(columns.filter(is_eligible));
            }
        }
        self.find(pattern, sample);
    }

    /// The indexes of the values, one per instance.
    pub(super) fn values(&self) -> &[ValueIndex] {
        &self.values
    }

    /// The groups that have the counter.
    pub(super) fn groups<'a>(&self, sample: &'a Sample) -> impl Iterator<Item = &'a Group> + Clone {
        self.columns.iter().filter_map(|column| sample.groups.get(column.group))
    }

    fn find(&mut self, pattern: &PathPattern, sample: &Sample) {
        let (mut indexes, mut singles) = (Vec::new(), Vec::new());
        for &column in &self.columns {
            let Some(group) = sample.groups.get(column.group).filter(|group| group.is_present()) else {
                continue;
            };
            let width = group.set.counters.len().max(1);
            let rows = group.instances.len().min(group.values.len() / width);
            let matches = |&row: &usize| {
                pattern.matches_instance(group.set.has_instances.then(|| group.instances[row].label()))
            };
            let matching = (0..rows).filter(matches).map(|row| ValueIndex { column, row });
            if group.set.extent == Extent::Row { singles.extend(matching) } else { indexes.extend(matching) }
        }
        self.values.clear();
        if self.has_wildcard {
            self.select_all(sample, indexes, singles);
        } else {
            self.select_one(pattern, sample, indexes, singles);
        }
    }

    /// Selects every instance once. The instance of a group of one instance may also occur in another group, possibly
    /// with different capitalisation.
    fn select_all(&mut self, sample: &Sample, indexes: Vec<ValueIndex>, singles: Vec<ValueIndex>) {
        let mut exact = HashSet::new();
        self.values.extend(indexes.into_iter().filter(|index| exact.insert(index.label(sample))));
        if !singles.is_empty() {
            let mut known: HashSet<String> =
                self.values.iter().map(|index| fold_case(index.label(sample))).collect();
            self.values
                .extend(singles.into_iter().filter(|index| known.insert(fold_case(index.label(sample)))));
        }
    }

    /// Selects one instance. Prefers one that is present and whose name has the same case (on Linux, `x` and `X`
    /// differ), then one that is present, then one whose name has the same case.
    fn select_one(
        &mut self,
        pattern: &PathPattern,
        sample: &Sample,
        indexes: Vec<ValueIndex>,
        singles: Vec<ValueIndex>,
    ) {
        let name = pattern.path().instance.as_ref().map_or("", |name| name.as_str());
        let all_indexes = || indexes.iter().chain(&singles);
        let is_present = |index: &&ValueIndex| index.value(sample).status != Status::NO_INSTANCE;
        let is_exact = |index: &&ValueIndex| index.label(sample) == name;
        let one = all_indexes().find(|index| is_exact(index) && is_present(index));
        let one = one
            .or_else(|| all_indexes().find(is_present))
            .or_else(|| all_indexes().find(is_exact))
            .or_else(|| all_indexes().next());
        self.values.extend(one);
    }
}

impl ValueIndex {
    fn group<'a>(&self, sample: &'a Sample) -> Option<&'a Group> {
        sample.groups.get(self.column.group)
    }

    pub(super) fn counter<'a>(&self, sample: &'a Sample) -> Option<&'a Counter> {
        self.group(sample)?.set.counters.get(self.column.column)
    }

    pub(super) fn instance<'a>(&self, sample: &'a Sample) -> Option<&'a Arc<Instance>> {
        self.group(sample)?.instances.get(self.row)
    }

    fn label<'a>(&self, sample: &'a Sample) -> &'a str {
        self.instance(sample).map_or("", |instance| instance.label())
    }

    pub(super) fn value(&self, sample: &Sample) -> RawValue {
        let value = self
            .group(sample)
            .and_then(|group| group.values.get(self.row * group.set.counters.len() + self.column.column));
        value.copied().unwrap_or(RawValue::error(Status::CSTATUS_INVALID_DATA))
    }

    /// The origin of the raw value. It determines whether the value is paired with the instance's previous value.
    pub(super) fn origin(&self, sample: &Sample) -> Origin {
        let Some((group, counter)) = self.group(sample).zip(self.counter(sample)) else {
            return Origin::default();
        };
        let identity = group.identities.get(self.row).copied().unwrap_or_default();
        Origin::new(&counter.calculator(), identity, sample.boot_time_of(group))
    }
}

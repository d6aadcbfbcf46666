//! Where the values of a query's counters stand in its samples.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, Instances};
use tachograph_counters::wildcard::fold_case;
use tachograph_counters::{Origin, RawValue, Status};

/// The layout of the last sample: while it holds, every value is where it was.
#[derive(Default)]
pub(super) struct Layout {
    sets: Vec<Arc<CounterSet>>,
    shapes: Vec<Shape>,
    /// By the [key](key_of) of a counter: its groups and columns.
    columns: HashMap<String, Vec<Column>>,
}

/// What of a group may change from sample to sample.
struct Shape {
    instances: Instances,
    values: usize,
    is_present: bool,
}

/// A column of a group.
#[derive(Clone, Copy)]
struct Column {
    group: usize,
    column: usize,
}

/// What changed since the sample before.
#[derive(Clone, Copy)]
pub(super) enum Change<'a> {
    /// Nothing.
    None,
    /// Instances.
    Rows,
    /// Everything.
    Columns(&'a Layout),
}

impl Change<'_> {
    pub(super) fn is_none(self) -> bool {
        matches!(self, Self::None)
    }
}

impl Layout {
    /// Takes over the layout of a sample; gives what changed.
    pub(super) fn follow(&mut self, sample: &Sample) -> Change<'_> {
        let groups = &sample.groups;
        let has_sets = self.sets.len() == groups.len()
            && self.sets.iter().zip(groups).all(|(set, group)| Arc::ptr_eq(set, &group.set));
        if has_sets && self.shapes.iter().zip(groups).all(|(shape, group)| shape.is_of(group)) {
            return Change::None;
        }
        self.shapes.clear();
        self.shapes.extend(groups.iter().map(Shape::of));
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

    /// The layout as a change of everything, for counters that are new.
    pub(super) fn anew(&self) -> Change<'_> {
        Change::Columns(self)
    }
}

impl Shape {
    fn of(group: &Group) -> Self {
        Self {
            instances: Arc::clone(&group.instances),
            values: group.values.len(),
            is_present: group.is_present(),
        }
    }

    fn is_of(&self, group: &Group) -> bool {
        Arc::ptr_eq(&self.instances, &group.instances)
            && self.values == group.values.len()
            && self.is_present == group.is_present()
    }
}

/// What tells a counter of a source from others; names without case.
fn key_of(machine: &str, set: &str, counter: &str, has_instances: bool) -> String {
    let [machine, set, counter] = [machine, set, counter].map(fold_case);
    let kind = if has_instances { '1' } else { '0' };
    format!("{machine}\0{set}\0{counter}\0{kind}")
}

/// The places of one counter's values.
pub(super) struct Places {
    key: String,
    is_wild: bool,
    /// Of logs, a pattern takes also what is recorded by itself; a machine's sample has a group of the whole pattern.
    is_of_logs: bool,
    columns: Vec<Column>,
    values: Vec<Place>,
}

/// The place of a value in a sample.
#[derive(Clone, Copy)]
pub(super) struct Place {
    column: Column,
    row: usize,
}

impl Places {
    pub(super) fn new(pattern: &PathPattern, is_wild: bool, is_of_logs: bool) -> Self {
        let path = pattern.path();
        let machine = path.machine.as_deref().unwrap_or_default();
        let key = key_of(machine, &path.set, &path.counter, path.instance.is_some());
        Self { key, is_wild, is_of_logs, columns: Vec::new(), values: Vec::new() }
    }

    /// Takes over what changed.
    pub(super) fn follow(&mut self, pattern: &PathPattern, sample: &Sample, change: Change<'_>) {
        match change {
            Change::None => return,
            Change::Rows => {}
            Change::Columns(layout) => {
                self.columns.clear();
                let is_own = |column: &&Column| {
                    !self.is_wild || self.is_of_logs || layout.sets[column.group].extent != Extent::Value
                };
                let columns = layout.columns.get(&self.key).into_iter().flatten();
                self.columns.extend(columns.filter(is_own));
            }
        }
        self.find(pattern, sample);
    }

    /// The places of the values, one for each instance.
    pub(super) fn values(&self) -> &[Place] {
        &self.values
    }

    /// Whether the samples are records of logs.
    pub(super) fn is_of_logs(&self) -> bool {
        self.is_of_logs
    }

    /// The groups that the counter is in.
    pub(super) fn groups<'a>(&self, sample: &'a Sample) -> impl Iterator<Item = &'a Group> + Clone {
        self.columns.iter().filter_map(|column| sample.groups.get(column.group))
    }

    fn find(&mut self, pattern: &PathPattern, sample: &Sample) {
        let (mut places, mut singles) = (Vec::new(), Vec::new());
        for &column in &self.columns {
            let Some(group) = sample.groups.get(column.group).filter(|group| group.is_present()) else {
                continue;
            };
            let width = group.set.counters.len().max(1);
            let rows = group.instances.len().min(group.values.len() / width);
            let is_taken = |&row: &usize| {
                pattern.matches_instance(group.set.has_instances.then(|| group.instances[row].label()))
            };
            let taken = (0..rows).filter(is_taken).map(|row| Place { column, row });
            if group.set.extent == Extent::Value { singles.extend(taken) } else { places.extend(taken) }
        }
        self.values.clear();
        if self.is_wild {
            self.take_all(sample, places, singles);
        } else {
            self.take_one(pattern, sample, places, singles);
        }
    }

    /// Every instance once. What is recorded by itself may be among the others too, in another case even.
    fn take_all(&mut self, sample: &Sample, places: Vec<Place>, singles: Vec<Place>) {
        let mut exact = HashSet::new();
        self.values.extend(places.into_iter().filter(|place| exact.insert(place.label(sample))));
        if !singles.is_empty() {
            let mut known: HashSet<String> =
                self.values.iter().map(|place| fold_case(place.label(sample))).collect();
            self.values
                .extend(singles.into_iter().filter(|place| known.insert(fold_case(place.label(sample)))));
        }
    }

    /// The instance that is there, of the same letters if one is: on Linux `x` and `X` are two.
    fn take_one(&mut self, pattern: &PathPattern, sample: &Sample, places: Vec<Place>, singles: Vec<Place>) {
        let wanted = pattern.path().instance.as_ref().map_or("", |name| name.as_str());
        let all = || places.iter().chain(&singles);
        let is_there = |place: &&Place| place.value(sample).status != Status::NO_INSTANCE;
        let is_exact = |place: &&Place| place.label(sample) == wanted;
        let one = all().find(|place| is_exact(place) && is_there(place));
        let one =
            one.or_else(|| all().find(is_there)).or_else(|| all().find(is_exact)).or_else(|| all().next());
        self.values.extend(one);
    }
}

impl Place {
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

    /// The raw value.
    pub(super) fn value(&self, sample: &Sample) -> RawValue {
        let value = self
            .group(sample)
            .and_then(|group| group.values.get(self.row * group.set.counters.len() + self.column.column));
        value.copied().unwrap_or(RawValue::error(Status::CSTATUS_INVALID_DATA))
    }

    /// Where the raw value is from.
    pub(super) fn origin(&self, sample: &Sample) -> Origin {
        let Some((group, counter)) = self.group(sample).zip(self.counter(sample)) else {
            return Origin::default();
        };
        let identity = group.identities.get(self.row).copied().unwrap_or_default();
        Origin::new(&counter.calculator(), identity, sample.boot_time_of(group))
    }
}

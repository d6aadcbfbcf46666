//! Only what was asked for: groups, columns and rows by counter paths.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{CounterSet, Extent, Instance, Instances, rows_before};

use crate::identity::{identity_counter, key_of};
use crate::selection::takes_row;
use crate::{FlowError, Selection, Source};

/// Passes on what a [`Selection`] takes, and leaves out the rest.
pub struct Select<S> {
    source: S,
    selection: Selection,
    /// What the source yields; chosen values go from here into the sample that is passed on.
    whole: Sample,
    /// One choice per group of the source, made anew when the group's description or instances change.
    choices: Vec<Choice>,
    /// Where identities are kept: by machine and set, the patterns that take a counter of it.
    taking: HashMap<(String, String), Vec<usize>>,
}

/// What is taken of one group.
struct Choice {
    set: Arc<CounterSet>,
    instances: Instances,
    parts: Vec<Part>,
    /// Everything is passed on as it is.
    is_whole: bool,
}

/// A rectangle of rows and columns.
struct Part {
    /// The patterns that take these columns.
    patterns: Vec<usize>,
    set: Arc<CounterSet>,
    columns: Vec<usize>,
    rows: Vec<usize>,
    instances: Instances,
    /// For each row of the group, whether it is taken.
    is_taken: Vec<bool>,
}

impl<S: Source> Select<S> {
    /// A stage over `source`.
    pub fn new(source: S, selection: Selection) -> Self {
        Self { source, selection, whole: Sample::default(), choices: Vec::new(), taking: HashMap::new() }
    }

    pub(crate) fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// Finds the patterns that take a counter of each set, and chooses again where a description changed: what one group
    /// takes can hang on another.
    fn find_taking(&mut self) {
        let groups = &self.whole.groups;
        let is_known = self.choices.len() == groups.len()
            && self.choices.iter().zip(groups).all(|(choice, group)| Arc::ptr_eq(&choice.set, &group.set));
        if is_known {
            return;
        }
        self.choices.clear();
        self.taking.clear();
        for group in groups {
            let counters = group.set.counters.iter();
            let taking = counters.flat_map(|counter| self.selection.patterns_of(&group.set, counter));
            self.taking.entry(key_of(&group.set)).or_default().extend(taking);
        }
        for patterns in self.taking.values_mut() {
            patterns.sort_unstable();
            patterns.dedup();
        }
    }

    /// Whether a sample is passed on as it is, as the choices made so far say.
    fn takes_all_of(&self, sample: &Sample) -> bool {
        self.choices.len() == sample.groups.len()
            && self.choices.iter().zip(&sample.groups).all(|(choice, group)| {
                choice.is_whole
                    && Arc::ptr_eq(&choice.set, &group.set)
                    && Arc::ptr_eq(&choice.instances, &group.instances)
            })
    }
}

impl<S: Source> Source for Select<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if self.selection.is_everything() {
            return self.source.next(sample);
        }
        if !self.source.next(sample)? {
            return Ok(false);
        }
        if self.takes_all_of(sample) {
            return Ok(true);
        }
        std::mem::swap(sample, &mut self.whole);
        sample.take_head(&self.whole);
        if self.selection.keeps_identities() {
            self.find_taking();
        }
        self.choices.truncate(self.whole.groups.len());
        let mut count = 0;
        for (number, group) in self.whole.groups.iter_mut().enumerate() {
            match self.choices.get_mut(number) {
                None => self.choices.push(Choice::new(group, &self.selection, &self.taking)),
                Some(choice) if !Arc::ptr_eq(&choice.set, &group.set) => {
                    *choice = Choice::new(group, &self.selection, &self.taking);
                }
                Some(choice) if !Arc::ptr_eq(&choice.instances, &group.instances) => {
                    choice.take_rows(group, &self.selection);
                }
                Some(_) => {}
            }
            let choice = &self.choices[number];
            for part in &choice.parts {
                if count == sample.groups.len() {
                    sample.groups.push(Group::new(Arc::clone(&part.set)));
                }
                let out = &mut sample.groups[count];
                count += 1;
                if choice.is_whole {
                    std::mem::swap(out, group);
                } else {
                    part.copy(group, out);
                }
            }
        }
        sample.groups.truncate(count);
        Ok(true)
    }
}

impl Choice {
    fn new(group: &Group, selection: &Selection, taking: &HashMap<(String, String), Vec<usize>>) -> Self {
        let set = &group.set;
        selection.note_set(set);
        let mut columns = Vec::new();
        for (column, counter) in set.counters.iter().enumerate() {
            if set.instance.as_ref().is_some_and(|instance| selection.excepts(set, instance, counter)) {
                continue;
            }
            let mut patterns: Vec<usize> = selection.patterns_of(set, counter).collect();
            if selection.keeps_identities() && identity_counter(counter).is_some() {
                let of_set = taking.get(&key_of(set)).map_or(&[][..], Vec::as_slice);
                let takes_fixed = |&&number: &&usize| {
                    let pattern = &selection.patterns[number];
                    set.instance.as_ref().is_none_or(|instance| takes_row(pattern, set, instance.label()))
                };
                let is_unasked = patterns.is_empty();
                patterns = of_set.iter().filter(takes_fixed).copied().collect();
                if is_unasked && !patterns.is_empty() {
                    selection.note_identity(set, counter);
                }
            }
            if !patterns.is_empty() {
                columns.push((column, patterns));
            }
        }
        let mut choice = Self {
            set: Arc::clone(set),
            instances: Instances::default(),
            parts: Vec::new(),
            is_whole: false,
        };
        choice.part_columns(columns, selection);
        choice.take_rows(group, selection);
        choice
    }

    /// One part for all columns where every column is asked for with the same instances, all of them; else one part a column.
    fn part_columns(&mut self, columns: Vec<(usize, Vec<usize>)>, selection: &Selection) {
        let filters = |patterns: &[usize]| {
            let mut filters: Vec<_> = patterns
                .iter()
                .map(|&number| {
                    selection.patterns[number]
                        .path()
                        .instance
                        .as_ref()
                        .map(|name| name.as_str().to_lowercase())
                })
                .collect();
            filters.sort();
            filters.dedup();
            filters
        };
        let Some((_, first)) = columns.first() else { return };
        let first = filters(first);
        let is_same = columns.iter().all(|(_, patterns)| filters(patterns) == first);
        if is_same && !selection.has_exceptions(&self.set) {
            let mut patterns: Vec<_> = columns.iter().flat_map(|(_, patterns)| patterns.clone()).collect();
            patterns.sort_unstable();
            patterns.dedup();
            let columns = columns.into_iter().map(|(column, _)| column).collect();
            self.parts.push(self.part(columns, patterns, self.set.extent));
        } else {
            for (column, patterns) in columns {
                self.parts.push(self.part(vec![column], patterns, Extent::Column));
            }
        }
    }

    fn part(&self, columns: Vec<usize>, patterns: Vec<usize>, extent: Extent) -> Part {
        let set = if columns.len() == self.set.counters.len() && extent == self.set.extent {
            Arc::clone(&self.set)
        } else {
            let mut set = CounterSet::clone(&self.set);
            set.counters = columns.iter().map(|&column| self.set.counters[column].clone()).collect();
            set.extent = extent;
            Arc::new(set)
        };
        Part {
            patterns,
            set,
            columns,
            rows: Vec::new(),
            instances: Instances::default(),
            is_taken: Vec::new(),
        }
    }

    /// Chooses rows among the instances that there are now.
    fn take_rows(&mut self, group: &Group, selection: &Selection) {
        let rows_before = rows_before(&self.instances, &group.instances);
        let has_new = rows_before.contains(&None);
        self.instances = Arc::clone(&group.instances);
        for part in &mut self.parts {
            let was_taken = std::mem::take(&mut part.is_taken);
            part.is_taken = group
                .instances
                .iter()
                .zip(&rows_before)
                .map(|(instance, row)| match row {
                    Some(row) => was_taken[*row],
                    None => part.takes(instance, &self.set, selection),
                })
                .collect();
            let rows = part.is_taken.iter().enumerate().filter_map(|(row, taken)| taken.then_some(row));
            part.rows.clear();
            part.rows.extend(rows);
            if has_new {
                selection.note_instances(&part.patterns, &self.set, &group.instances);
            }
            part.instances = if part.rows.len() == group.instances.len() {
                Arc::clone(&group.instances)
            } else {
                part.rows.iter().map(|&row| Arc::clone(&group.instances[row])).collect()
            };
        }
        self.is_whole = matches!(
            self.parts.as_slice(),
            [only] if Arc::ptr_eq(&only.set, &self.set) && only.rows.len() == group.instances.len()
        );
    }
}

impl Part {
    /// Whether a row of `set` is taken; notes the patterns that take it.
    fn takes(&self, instance: &Instance, set: &CounterSet, selection: &Selection) -> bool {
        let mut is_taken = false;
        for &number in &self.patterns {
            if takes_row(&selection.patterns[number], set, instance.label()) {
                is_taken = true;
                selection.note_match(number);
            }
        }
        // A part of several columns has no exceptions.
        let first = self.set.counters.first();
        is_taken && !first.is_some_and(|counter| selection.excepts(set, instance, counter))
    }

    fn copy(&self, group: &Group, out: &mut Group) {
        let width = group.set.counters.len();
        out.describe(&self.set);
        out.set_rows(&self.instances);
        out.status = group.status;
        out.read_at = group.read_at;
        out.clocks = group.clocks;
        out.boot_time = group.boot_time;
        out.values.clear();
        out.identities.clear();
        for &row in &self.rows {
            let values = &group.values[row * width..(row + 1) * width];
            out.values.extend(self.columns.iter().map(|&column| values[column]));
        }
        if !group.identities.is_empty() {
            out.identities.extend(self.rows.iter().map(|&row| group.identities[row]));
        }
    }
}

//! Selecting groups, columns and rows by counter paths.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{CounterSet, Extent, Instance, Instances, rows_before};

use crate::identity::{identity_counter, key_of};
use crate::selection::selects_row;
use crate::{FlowError, Selection, Source};

/// Passes the parts of samples that a [`Selection`] selects.
pub struct Select<S> {
    source: S,
    selection: Selection,
    /// Buffer for the source's sample.
    source_sample: Sample,
    /// One per group of the source's sample; updated when the group's description or instances change.
    choices: Vec<Choice>,
    /// The indexes of the patterns that select any counter of a set, keyed by machine and set. Filled only if identities are
    /// added.
    patterns: HashMap<(String, String), Vec<usize>>,
}

/// The selected parts of a group.
struct Choice {
    set: Arc<CounterSet>,
    instances: Instances,
    parts: Vec<Part>,
    /// Whether the group is passed unchanged.
    is_whole: bool,
}

/// A rectangle of rows and columns.
struct Part {
    /// The indexes of the patterns that select these columns.
    patterns: Vec<usize>,
    /// The description with the selected columns only.
    set: Arc<CounterSet>,
    /// The selected columns and rows of the group.
    columns: Vec<usize>,
    rows: Vec<usize>,
    /// The instances of the selected rows.
    instances: Instances,
    /// For each row of the group, whether it is selected.
    is_selected: Vec<bool>,
}

impl<S: Source> Select<S> {
    /// A stage over `source`.
    pub fn new(source: S, selection: Selection) -> Self {
        Self {
            source,
            selection,
            source_sample: Sample::default(),
            choices: Vec::new(),
            patterns: HashMap::new(),
        }
    }

    /// The source.
    pub fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// Finds the patterns that select a counter of each set. If a description has changed, all choices are recomputed,
    /// since they can depend on other groups.
    fn find_patterns(&mut self) {
        if self.source_sample.has_sets(self.choices.iter().map(|choice| &choice.set)) {
            return;
        }
        self.choices.clear();
        self.patterns.clear();
        for group in &self.source_sample.groups {
            let counters = group.set.counters.iter();
            let patterns_of_set =
                counters.flat_map(|counter| self.selection.patterns_of(&group.set, counter));
            self.patterns.entry(key_of(&group.set)).or_default().extend(patterns_of_set);
        }
        for patterns in self.patterns.values_mut() {
            patterns.sort_unstable();
            patterns.dedup();
        }
    }

    /// Whether the current choices pass the sample unchanged.
    fn is_all_selected(&self, sample: &Sample) -> bool {
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
        if self.is_all_selected(sample) {
            return Ok(true);
        }
        std::mem::swap(sample, &mut self.source_sample);
        sample.copy_head(&self.source_sample);
        if self.selection.adds_identities() {
            self.find_patterns();
        }
        self.choices.truncate(self.source_sample.groups.len());
        let mut count = 0;
        for (index, group) in self.source_sample.groups.iter_mut().enumerate() {
            match self.choices.get_mut(index) {
                None => self.choices.push(Choice::new(group, &self.selection, &self.patterns)),
                Some(choice) if !Arc::ptr_eq(&choice.set, &group.set) => {
                    *choice = Choice::new(group, &self.selection, &self.patterns);
                }
                Some(choice) if !Arc::ptr_eq(&choice.instances, &group.instances) => {
                    choice.select_rows(group, &self.selection);
                }
                Some(_) => {}
            }
            let choice = &self.choices[index];
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
    fn new(
        group: &Group,
        selection: &Selection,
        patterns_of_set: &HashMap<(String, String), Vec<usize>>,
    ) -> Self {
        let set = &group.set;
        selection.record_set(set);
        let mut columns = Vec::new();
        for (column, counter) in set.counters.iter().enumerate() {
            if set.instance.as_ref().is_some_and(|instance| selection.excepts(set, instance, counter)) {
                continue;
            }
            let mut patterns: Vec<usize> = selection.patterns_of(set, counter).collect();
            if selection.adds_identities() && identity_counter(counter).is_some() {
                let of_set = patterns_of_set.get(&key_of(set)).map_or(&[][..], Vec::as_slice);
                let selects_fixed = |&&index: &&usize| {
                    let pattern = &selection.patterns[index];
                    set.instance.as_ref().is_none_or(|instance| selects_row(pattern, set, instance.label()))
                };
                let is_added = patterns.is_empty();
                patterns = of_set.iter().filter(selects_fixed).copied().collect();
                if is_added && !patterns.is_empty() {
                    selection.record_identity(set, counter);
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
        choice.add_parts(columns, selection);
        choice.select_rows(group, selection);
        choice
    }

    /// Adds a single part with all columns if the same instances are selected for each of them, otherwise one part per
    /// column.
    fn add_parts(&mut self, columns: Vec<(usize, Vec<usize>)>, selection: &Selection) {
        let filters = |patterns: &[usize]| {
            let mut filters: Vec<_> = patterns
                .iter()
                .map(|&index| {
                    selection.patterns[index]
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
                let extent = if self.set.extent == Extent::Row { Extent::Row } else { Extent::Columns };
                self.parts.push(self.part(vec![column], patterns, extent));
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
            is_selected: Vec::new(),
        }
    }

    fn select_rows(&mut self, group: &Group, selection: &Selection) {
        let rows_before = rows_before(&self.instances, &group.instances);
        let has_new = rows_before.contains(&None);
        self.instances = Arc::clone(&group.instances);
        for part in &mut self.parts {
            let was_selected = std::mem::take(&mut part.is_selected);
            part.is_selected = group
                .instances
                .iter()
                .zip(&rows_before)
                .map(|(instance, row)| match row {
                    Some(row) => was_selected[*row],
                    None => part.selects(instance, &self.set, selection),
                })
                .collect();
            let rows =
                part.is_selected.iter().enumerate().filter_map(|(row, selected)| selected.then_some(row));
            part.rows.clear();
            part.rows.extend(rows);
            if has_new {
                selection.record_instances(&part.patterns, &self.set, &group.instances);
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
    /// Whether `instance`, a row of `set`, is selected. Records the patterns that select it.
    fn selects(&self, instance: &Instance, set: &CounterSet, selection: &Selection) -> bool {
        let mut is_selected = false;
        for &index in &self.patterns {
            if selects_row(&selection.patterns[index], set, instance.label()) {
                is_selected = true;
                selection.record_match(index);
            }
        }
        // A part with several columns has no exceptions, so the first column is enough.
        let first = self.set.counters.first();
        is_selected && !first.is_some_and(|counter| selection.excepts(set, instance, counter))
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

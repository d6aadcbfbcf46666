//! The instances of groups, and the positions of their rows in a block.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{CounterSet, Instance, Instances};

use super::super::table::InstanceRuns;
use super::rows::{Rows, SeriesIndexes};
use super::series::{BlockTime, RowRun, Series};

/// Whether a sample contains the group of a slot, and the rows of that group.
#[derive(Clone, Copy)]
pub(super) enum Presence<'a> {
    /// No group.
    Missing,
    /// A group that is not part of the sample.
    NotValidated,
    /// A group with rows.
    Rows(GroupRows<'a>),
}

/// The rows of a group.
#[derive(Clone, Copy)]
pub(super) struct GroupRows<'a> {
    instances: &'a Instances,
    identities: &'a [u64],
    boot_time: FileTime,
    /// The number of rows; `None` if the set has no counters.
    rows: Option<usize>,
}

impl<'a> Presence<'a> {
    /// For a slot whose set has `width` counters. `group` is the slot's group in the sample.
    pub(super) fn new(group: Option<&'a Group>, width: usize, sample: &Sample) -> Self {
        match group {
            None => Self::Missing,
            Some(group) if !group.is_present() => Self::NotValidated,
            Some(group) => Self::Rows(GroupRows {
                instances: &group.instances,
                identities: &group.identities,
                boot_time: sample.boot_time_of(group),
                rows: group.values.len().checked_div(width).map(|rows| rows.min(group.instances.len())),
            }),
        }
    }

    /// The number of values of a set with `width` counters.
    pub(super) fn values(&self, width: usize) -> usize {
        if let Self::Rows(GroupRows { rows: Some(rows), .. }) = self { rows * width } else { 0 }
    }

    /// Whether the two are the same for an [`InstanceHistory`].
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Missing, Self::Missing) | (Self::NotValidated, Self::NotValidated) => true,
            (Self::Rows(one), Self::Rows(other)) => {
                Arc::ptr_eq(one.instances, other.instances)
                    && one.identities == other.identities
                    && (one.boot_time, one.rows) == (other.boot_time, other.rows)
            }
            _ => false,
        }
    }
}

/// The instances of the groups of one slot, or of several slots whose groups have the same instances in every sample.
/// For example, a BLG stores the counters of processes as one group each.
#[derive(Clone)]
pub(super) struct InstanceHistory {
    /// For each group that is part of its sample: the sample's index and the machine's boot time.
    groups: Vec<(u32, FileTime)>,
    /// The indexes in `groups` of groups before which a sample of the same log has no group. No interval ends at such a group.
    groups_after_gap: Vec<u32>,
    last_log: Option<u32>,
    /// Whether a sample of the same log after the last group has no group.
    has_gap: bool,
    spans: Vec<Span>,
    /// The number of rows of all groups.
    row_count: usize,
    instances: Vec<InstanceState>,
    /// The indexes of `instances` in the order of rows.
    row_order: Vec<u32>,
    by_label: HashMap<Box<str>, u32>,
    /// The part of `row_order` that has rows in the block; set when the block is written.
    instances_with_rows: Vec<u32>,
    /// The instances of the last group, and for each of them the index in `instances`.
    last_instances: Instances,
    last_indexes: Vec<u32>,
    /// A buffer for `last_indexes` of the previous group.
    previous_indexes: Vec<u32>,
    last_identities: Vec<u64>,
}

/// Consecutive groups whose rows are the same instances.
#[derive(Clone)]
struct Span {
    /// The first of the groups, counted from 0 in the block, and their number.
    first: u32,
    groups: u32,
    /// The index of their first row.
    first_row: usize,
    /// The number of rows of each group.
    rows_per_group: usize,
}

impl Span {
    fn end(&self) -> u32 {
        self.first + self.groups
    }
}

/// The row of an instance in the groups of a span.
#[derive(Clone)]
struct SpanRow {
    span: u32,
    row: u32,
}

#[derive(Clone)]
struct InstanceState {
    instance: Arc<Instance>,
    /// Its rows in the block.
    rows: Vec<SpanRow>,
    /// Its identities, each with the first span that has it.
    identities: Vec<(u32, u64)>,
    dictionary_indexes: Option<SeriesIndexes>,
    /// Whether the last group of the previous block had the instance.
    is_continued: bool,
    /// Whether `update_instances` has already found the instance in the group that it processes.
    is_in_update: bool,
    /// The row of the instance in the last group that had it.
    last_row: u32,
}

impl InstanceHistory {
    pub(super) fn new() -> Self {
        Self {
            groups: Vec::new(),
            groups_after_gap: Vec::new(),
            last_log: None,
            has_gap: false,
            spans: Vec::new(),
            row_count: 0,
            instances: Vec::new(),
            row_order: Vec::new(),
            by_label: HashMap::new(),
            instances_with_rows: Vec::new(),
            last_instances: Instances::default(),
            last_indexes: Vec::new(),
            previous_indexes: Vec::new(),
            last_identities: Vec::new(),
        }
    }

    /// Adds a sample of a log.
    pub(super) fn push(&mut self, presence: Presence<'_>, sample: u32, log: u32) {
        match presence {
            Presence::Missing => self.has_gap |= self.last_log == Some(log),
            Presence::NotValidated => {}
            Presence::Rows(group) => {
                let ordinal = self.groups.len() as u32;
                self.groups.push((sample, group.boot_time));
                if std::mem::take(&mut self.has_gap) {
                    self.groups_after_gap.push(ordinal);
                }
                self.last_log = Some(log);
                self.push_rows(&group, ordinal);
            }
        }
    }

    fn push_rows(&mut self, group: &GroupRows<'_>, ordinal: u32) {
        let is_same = Arc::ptr_eq(&self.last_instances, group.instances);
        if !is_same {
            self.update_instances(group.instances);
        }
        let Some(rows) = group.rows else { return };
        let is_same = is_same && self.last_identities == group.identities;
        match self.spans.last_mut() {
            Some(span) if is_same && span.rows_per_group == rows && span.end() == ordinal => span.groups += 1,
            _ => self.begin_span(ordinal, rows, group.identities),
        }
        self.row_count += rows;
    }

    /// Begins a span with the group of this ordinal.
    fn begin_span(&mut self, first: u32, rows: usize, identities: &[u64]) {
        let index = self.spans.len() as u32;
        self.spans.push(Span { first, groups: 1, first_row: self.row_count, rows_per_group: rows });
        for (row, &instance_index) in self.last_indexes.iter().take(rows).enumerate() {
            let instance = &mut self.instances[instance_index as usize];
            instance.rows.push(SpanRow { span: index, row: row as u32 });
            let identity = identities.get(row).copied().unwrap_or_default();
            if instance.identities.last().map_or(0, |&(_, known)| known) != identity {
                instance.identities.push((index, identity));
            }
        }
        self.last_identities.clear();
        self.last_identities.extend_from_slice(identities);
    }

    /// Finds the instances of the next group, adds new ones, and sets `last_indexes`.
    fn update_instances(&mut self, instances: &Instances) {
        let before = std::mem::replace(&mut self.last_instances, Arc::clone(instances));
        std::mem::swap(&mut self.last_indexes, &mut self.previous_indexes);
        self.last_indexes.clear();
        // Most instances follow the same instance as before, so they are found without their label.
        let mut next_before = 0;
        // A new instance is inserted after the one that precedes it in the group.
        let mut position = 0;
        for (row, instance) in instances.iter().enumerate() {
            let is_next = before.get(next_before).is_some_and(|next| Arc::ptr_eq(next, instance));
            let next = self.previous_indexes.get(next_before).filter(|_| is_next);
            let known = next.or_else(|| self.by_label.get(instance.label())).copied();
            // A group must not have an instance twice; if it has, both are kept.
            let is_new = |instance_index: &u32| {
                !std::mem::replace(&mut self.instances[*instance_index as usize].is_in_update, true)
            };
            let known = known.filter(is_new);
            let instance_index = known.unwrap_or_else(|| {
                let instance_index = self.instances.len() as u32;
                self.instances.push(InstanceState::new(instance));
                self.by_label.insert(instance.label().into(), instance_index);
                self.row_order.insert(position, instance_index);
                instance_index
            });
            let last_row =
                std::mem::replace(&mut self.instances[instance_index as usize].last_row, row as u32);
            if known.is_some() {
                next_before = last_row as usize + 1;
                let found = self.row_order[position..].iter().position(|&other| other == instance_index);
                position += found.unwrap_or_default();
            }
            position = (position + 1).min(self.row_order.len());
            self.last_indexes.push(instance_index);
        }
        self.last_indexes
            .iter()
            .for_each(|&instance_index| self.instances[instance_index as usize].is_in_update = false);
    }

    /// The number of instances.
    pub(super) fn len(&self) -> usize {
        self.instances.len()
    }

    /// Whether no sample was added.
    pub(super) fn is_new(&self) -> bool {
        self.last_log.is_none()
    }

    /// Determines the instances that have rows in the block.
    pub(super) fn collect_instances(&mut self) {
        self.instances_with_rows.clear();
        let has_rows = |instance_index: &u32| !self.instances[*instance_index as usize].rows.is_empty();
        self.instances_with_rows.extend(self.row_order.iter().copied().filter(has_rows));
    }

    /// The instances that have rows in the block, in the order of rows.
    pub(super) fn instance_runs(&self) -> Vec<InstanceRuns> {
        let runs = |instance_index: &u32| {
            let InstanceState { instance, rows, .. } = &self.instances[*instance_index as usize];
            let mut runs: Vec<Range<u32>> = Vec::new();
            for span in rows.iter().map(|row| &self.spans[row.span as usize]) {
                match runs.last_mut() {
                    Some(run) if run.end == span.first => run.end = span.end(),
                    _ => runs.push(span.first..span.end()),
                }
            }
            InstanceRuns {
                parent: instance.parent().map(str::to_owned),
                name: instance.name().to_owned(),
                index: instance.index(),
                runs,
            }
        };
        self.instances_with_rows.iter().map(runs).collect()
    }

    /// Finds the rows of an instance. `instance` is an index into [`instance_runs`](Self::instance_runs).
    pub(super) fn find_rows(&self, instance: usize, times: &[BlockTime], series: &mut Series) {
        series.clear();
        let Some(&instance_index) = self.instances_with_rows.get(instance) else { return };
        series.instance = instance_index as usize;
        let instance = &self.instances[instance_index as usize];
        let mut identities = instance.identities.iter().peekable();
        let (mut identity, mut end) = (0, None);
        for span_row in &instance.rows {
            while let Some(&(_, next)) = identities.next_if(|(from, _)| *from <= span_row.span) {
                identity = next;
            }
            let span = &self.spans[span_row.span as usize];
            let is_adjacent = match end {
                Some(end) => end == span.first,
                None => span.first == 0 && instance.is_continued,
            };
            end = Some(span.end());
            let mut row = span.first_row + span_row.row as usize;
            for ordinal in span.first..span.end() {
                let (sample, boot_time) = self.groups[ordinal as usize];
                let BlockTime { time, is_baseline } = times[sample as usize];
                let is_interrupted = (ordinal == span.first && !is_adjacent)
                    || (!self.groups_after_gap.is_empty()
                        && self.groups_after_gap.binary_search(&ordinal).is_ok());
                series.push(row, time, RowRun { rows: 1, is_interrupted, identity, boot_time, is_baseline });
                row += span.rows_per_group;
            }
        }
    }

    /// The dictionary indexes of an instance. `instance` is an index into all instances.
    pub(super) fn dictionary_indexes(
        &mut self,
        instance: usize,
        set: &CounterSet,
        rows: &mut Rows,
    ) -> SeriesIndexes {
        let InstanceState { instance, dictionary_indexes, .. } = &mut self.instances[instance];
        *dictionary_indexes.get_or_insert_with(|| rows.instance_indexes(set, instance))
    }

    /// Whether the next group can continue the series of a block that was taken.
    pub(super) fn has_series(&self) -> bool {
        !self.has_gap && self.last_log.is_some()
    }

    /// Removes the groups, but keeps the instances of the last group. Returns their previous indexes.
    pub(super) fn take(&mut self) -> Vec<u32> {
        let groups = self.groups.len() as u32;
        let mut new_indexes = HashMap::new();
        let mut kept_instances = Vec::new();
        let mut kept_indexes = Vec::new();
        for (instance_index, mut instance) in std::mem::take(&mut self.instances).into_iter().enumerate() {
            // If this block has no group, the last group is that of the previous block.
            let is_current = match instance.rows.last() {
                Some(row) => self.spans[row.span as usize].end() == groups,
                None => groups == 0 && instance.is_continued,
            };
            if is_current {
                new_indexes.insert(instance_index as u32, kept_instances.len() as u32);
                instance.continue_in_next();
                kept_instances.push(instance);
                kept_indexes.push(instance_index as u32);
            } else {
                self.by_label.remove(instance.instance.label());
            }
        }
        self.instances = kept_instances;
        self.row_order = self
            .row_order
            .iter()
            .filter_map(|instance_index| new_indexes.get(instance_index).copied())
            .collect();
        self.by_label.values_mut().for_each(|instance_index| {
            *instance_index = new_indexes.get(instance_index).copied().unwrap_or_default()
        });
        self.last_indexes = self
            .last_indexes
            .iter()
            .filter_map(|instance_index| new_indexes.get(instance_index).copied())
            .collect();
        self.groups.clear();
        self.groups_after_gap.clear();
        self.spans.clear();
        self.row_count = 0;
        kept_indexes
    }
}

impl InstanceState {
    fn new(instance: &Arc<Instance>) -> Self {
        Self {
            instance: Arc::clone(instance),
            rows: Vec::new(),
            identities: Vec::new(),
            dictionary_indexes: None,
            is_continued: false,
            is_in_update: true,
            last_row: 0,
        }
    }

    fn continue_in_next(&mut self) {
        self.is_continued = true;
        self.rows.clear();
        // The first span of the next block has the last identity.
        self.identities = self.identities.last().map(|&(_, identity)| (0, identity)).into_iter().collect();
        self.dictionary_indexes = None;
    }
}

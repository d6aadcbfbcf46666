//! A slot: the groups of one description in the samples of a block.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Instance, Instances};
use tachograph_counters::{Calculator, Origin, Pairer, RawValue};

use super::super::interval::{self, Interval, interval};
use super::super::table::{GroupHead, GroupHeads, InstanceRuns, Slot};
use super::rows::{Row, Rows, SeriesWords};

/// Collects the groups of one description.
pub(super) struct SlotBuilder {
    pub(super) set: Arc<CounterSet>,
    /// The index of the set's description in the file; `None` if the file has no group of the slot yet.
    pub(super) set_index: Option<u32>,
    calculators: Vec<Calculator>,
    /// The dictionary indexes of each counter, once a series has needed them.
    words: Vec<Option<SeriesWords>>,
    heads: GroupHeads,
    /// For each group that is part of its sample: the sample's index and the machine's boot time.
    present: Vec<(u32, FileTime)>,
    /// The groups before which a sample of the same log has no group of the slot. No interval ends at such a group.
    breaks: Vec<u32>,
    last_log: Option<u32>,
    is_missing: bool,
    /// The values of all groups, one group after another.
    values: Vec<RawValue>,
    spans: Vec<Span>,
    instances: Vec<InstanceBuilder>,
    /// The indexes of `instances` in the order of rows.
    order: Vec<u32>,
    by_label: HashMap<Box<str>, u32>,
    /// The part of `order` that has rows in the block; set when the block is written.
    with_rows: Vec<u32>,
    /// The instances of the last group, and for each of them the index in `instances`.
    last_instances: Instances,
    last_rows: Vec<u32>,
    last_identities: Vec<u64>,
}

/// Consecutive groups whose rows are the same instances.
struct Span {
    /// The first of the groups, counted from 0 in the block, and their number.
    first: u32,
    groups: u32,
    /// The index of their first value in [`SlotBuilder::values`].
    at: usize,
    /// The number of rows of each group.
    rows: usize,
}

impl Span {
    fn end(&self) -> u32 {
        self.first + self.groups
    }
}

/// The row of an instance in the groups of a span.
struct SpanRow {
    span: u32,
    row: u32,
}

/// The time of a sample of a block.
#[derive(Clone, Copy)]
pub(super) struct BlockTime {
    /// In the unit of the column `time`.
    pub(super) time: i64,
    pub(super) is_baseline: bool,
}

/// One instance of the slot.
struct InstanceBuilder {
    instance: Arc<Instance>,
    /// Its rows in the block.
    rows: Vec<SpanRow>,
    /// Its identities, each with the first span that has it.
    identities: Vec<(u32, u64)>,
    words: Option<SeriesWords>,
    /// For each counter, the raw value before the block, with which the first one of the block is paired.
    pairers: Vec<Pairer>,
    /// Whether the last group of the previous block had the instance.
    is_continued: bool,
    /// Whether `update_instances` has already found the instance in the group that it processes.
    is_in_update: bool,
}

impl SlotBuilder {
    pub(super) fn new(set: &Arc<CounterSet>, set_index: u32) -> Self {
        Self {
            set: Arc::clone(set),
            set_index: Some(set_index),
            calculators: set.counters.iter().map(Counter::calculator).collect(),
            words: vec![None; set.counters.len()],
            heads: GroupHeads::default(),
            present: Vec::new(),
            breaks: Vec::new(),
            last_log: None,
            is_missing: false,
            values: Vec::new(),
            spans: Vec::new(),
            instances: Vec::new(),
            order: Vec::new(),
            by_label: HashMap::new(),
            with_rows: Vec::new(),
            last_instances: Instances::default(),
            last_rows: Vec::new(),
            last_identities: Vec::new(),
        }
    }

    /// Adds the group of a sample.
    pub(super) fn push(&mut self, group: &Group, sample: &Sample, index: u32) {
        let Group { status, read_at, clocks, boot_time, .. } = *group;
        let head = GroupHead { status, read_at, clocks, boot_time };
        self.heads.push(head);
        if !head.is_present() {
            return;
        }
        let ordinal = self.present.len() as u32;
        self.present.push((index, sample.boot_time_of(group)));
        if std::mem::take(&mut self.is_missing) {
            self.breaks.push(ordinal);
        }
        self.last_log = Some(sample.log);
        let width = self.calculators.len();
        let is_same = Arc::ptr_eq(&self.last_instances, &group.instances);
        if !is_same {
            self.update_instances(&group.instances);
        }
        if width == 0 {
            return;
        }
        let rows = self.last_rows.len().min(group.values.len() / width);
        let values = &group.values[..rows * width];
        let is_same = is_same && self.last_identities == group.identities;
        match self.spans.last_mut() {
            Some(span) if is_same && span.rows == rows && span.end() == ordinal => span.groups += 1,
            _ => self.begin_span(ordinal, rows, &group.identities),
        }
        self.values.extend_from_slice(values);
    }

    /// Begins a span with the group of this ordinal.
    fn begin_span(&mut self, first: u32, rows: usize, identities: &[u64]) {
        let index = self.spans.len() as u32;
        self.spans.push(Span { first, groups: 1, at: self.values.len(), rows });
        for (row, &at) in self.last_rows[..rows].iter().enumerate() {
            let instance = &mut self.instances[at as usize];
            instance.rows.push(SpanRow { span: index, row: row as u32 });
            let identity = identities.get(row).copied().unwrap_or_default();
            if instance.identities.last().map_or(0, |&(_, known)| known) != identity {
                instance.identities.push((index, identity));
            }
        }
        self.last_identities.clear();
        self.last_identities.extend_from_slice(identities);
    }

    /// Records that the group is missing from a sample of this log.
    pub(super) fn miss(&mut self, log: u32) {
        self.is_missing |= self.last_log == Some(log);
    }

    fn update_instances(&mut self, instances: &Instances) {
        self.last_instances = Arc::clone(instances);
        self.last_rows.clear();
        // A new instance is inserted after the one that precedes it in the group.
        let mut position = 0;
        for instance in instances.iter() {
            // A group must not have an instance twice; if it has, both are kept.
            let is_new = |at: &u32| !std::mem::replace(&mut self.instances[*at as usize].is_in_update, true);
            let known = self.by_label.get(instance.label()).copied().filter(is_new);
            let at = known.unwrap_or_else(|| {
                let at = self.instances.len() as u32;
                self.instances.push(InstanceBuilder::new(instance, self.calculators.len()));
                self.by_label.insert(instance.label().into(), at);
                self.order.insert(position, at);
                at
            });
            if known.is_some() {
                let found = self.order[position..].iter().position(|&other| other == at);
                position += found.unwrap_or_default();
            }
            position = (position + 1).min(self.order.len());
            self.last_rows.push(at);
        }
        self.last_rows.iter().for_each(|&at| self.instances[at as usize].is_in_update = false);
    }

    /// Determines the instances that have rows in the block.
    pub(super) fn collect_instances(&mut self) {
        self.with_rows.clear();
        let has_rows = |at: &u32| !self.instances[*at as usize].rows.is_empty();
        self.with_rows.extend(self.order.iter().copied().filter(has_rows));
    }

    /// The instances that have rows in the block, in the order of rows.
    pub(super) fn instance_runs(&self) -> Vec<InstanceRuns> {
        let runs = |at: &u32| {
            let InstanceBuilder { instance, rows, .. } = &self.instances[*at as usize];
            let mut runs: Vec<std::ops::Range<u32>> = Vec::new();
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
        self.with_rows.iter().map(runs).collect()
    }

    /// Appends the rows of a counter of an instance. `instance` is an index into
    /// [`instance_runs`](Self::instance_runs).
    pub(super) fn push_rows(&mut self, instance: usize, column: usize, times: &[BlockTime], rows: &mut Rows) {
        let Some(&at) = self.with_rows.get(instance) else { return };
        let Self { set, instances, calculators, words, present, breaks, values, spans, .. } = self;
        let instance = &mut instances[at as usize];
        let calculator = &calculators[column];
        let formula = calculator.formula();
        let counter = *words[column].get_or_insert_with(|| rows.counter_words(set, &set.counters[column]));
        let of_instance = *instance.words.get_or_insert_with(|| rows.instance_words(set, &instance.instance));
        let rows_before = rows.len();
        let pairer = &mut instance.pairers[column];
        let mut previous = RawValue::new(0, 0);
        let width = calculators.len();
        let mut identities = instance.identities.iter().peekable();
        let (mut identity, mut end) = (0, None);
        for span_row in &instance.rows {
            while let Some(&(_, next)) = identities.next_if(|(from, _)| *from <= span_row.span) {
                identity = next;
            }
            let span = &spans[span_row.span as usize];
            let is_adjacent = match end {
                Some(end) => end == span.first,
                None => span.first == 0 && instance.is_continued,
            };
            if !is_adjacent {
                pairer.interrupt();
            }
            end = Some(span.end());
            let first = span.at + span_row.row as usize * width + column;
            let raws = values[first..].iter().step_by(span.rows * width);
            for (ordinal, raw) in (span.first..span.end()).zip(raws) {
                let (sample, boot_time) = present[ordinal as usize];
                if !breaks.is_empty() && breaks.binary_search(&ordinal).is_ok() {
                    pairer.interrupt();
                }
                pairer.follow(Origin::new(calculator, identity, boot_time));
                let older = pairer.pair(raw);
                let BlockTime { time, is_baseline } = times[sample as usize];
                // A baseline only starts intervals; it is not counted.
                let interval = match is_baseline {
                    true => Interval::default(),
                    false => interval(calculator, older.as_ref(), raw),
                };
                let multi_count = (raw.multi_count != previous.multi_count).then_some(raw.multi_count);
                let restored = interval::restore(formula, &previous, &interval, raw.multi_count, raw.status);
                let raws = (restored != *raw).then_some((raw.first, raw.second));
                rows.push(&Row { time, interval, raws, multi_count, status: raw.status });
                previous = *raw;
            }
        }
        let words = std::array::from_fn(|index| counter[index].or(of_instance[index]));
        rows.end_series(words, rows.len() - rows_before);
    }

    /// Whether the block has a group of the slot.
    pub(super) fn has_groups(&self) -> bool {
        self.heads.len() > 0
    }

    /// Whether the next group of the slot can continue the series of a block that was taken.
    pub(super) fn has_series(&self) -> bool {
        !self.is_missing && self.last_log.is_some()
    }

    /// Removes the groups, but keeps the state of the last group's instances. `None` if the block has no group of the slot.
    pub(super) fn take(&mut self) -> Option<Slot> {
        let set = self.set_index.filter(|_| self.has_groups())?;
        let groups = self.present.len() as u32;
        let mut moved = HashMap::new();
        let mut kept = Vec::new();
        for (at, mut instance) in std::mem::take(&mut self.instances).into_iter().enumerate() {
            // If this block has no group, the last group is that of the previous block.
            let is_current = match instance.rows.last() {
                Some(row) => self.spans[row.span as usize].end() == groups,
                None => groups == 0 && instance.is_continued,
            };
            if is_current {
                moved.insert(at as u32, kept.len() as u32);
                instance.continue_in_next();
                kept.push(instance);
            } else {
                self.by_label.remove(instance.instance.label());
            }
        }
        self.instances = kept;
        self.order = self.order.iter().filter_map(|at| moved.get(at).copied()).collect();
        self.by_label.values_mut().for_each(|at| *at = moved.get(at).copied().unwrap_or_default());
        self.last_rows = self.last_rows.iter().filter_map(|at| moved.get(at).copied()).collect();
        self.present.clear();
        self.breaks.clear();
        self.values.clear();
        self.spans.clear();
        self.words.fill(None);
        Some(Slot { set, heads: std::mem::take(&mut self.heads) })
    }
}

impl InstanceBuilder {
    fn new(instance: &Arc<Instance>, columns: usize) -> Self {
        Self {
            instance: Arc::clone(instance),
            rows: Vec::new(),
            identities: Vec::new(),
            words: None,
            pairers: vec![Pairer::default(); columns],
            is_continued: false,
            is_in_update: true,
        }
    }

    fn continue_in_next(&mut self) {
        self.is_continued = true;
        self.rows.clear();
        // The first span of the next block has the last identity.
        self.identities = self.identities.last().map(|&(_, identity)| (0, identity)).into_iter().collect();
        self.words = None;
    }
}

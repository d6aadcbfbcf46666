//! The groups of one description in the samples of a block.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Instance, Instances};
use tachograph_counters::{Calculator, Origin, Pairer, RawValue};

use super::super::interval::{self, Interval, interval};
use super::super::table::{GroupHead, GroupHeads, InstanceRuns, SampleHead, Slot};
use super::rows::{Row, Rows, SeriesFacts};

/// Collects the groups of one description.
pub(super) struct SlotBuilder {
    pub(super) set: Arc<CounterSet>,
    pub(super) set_index: u32,
    calculators: Vec<Calculator>,
    heads: GroupHeads,
    /// For each group that is part of its sample: the sample's index and the machine's boot time.
    present: Vec<(u32, FileTime)>,
    /// The groups before which the slot was missing from a sample of its log, so that no interval ends at them.
    breaks: Vec<u32>,
    last_log: Option<u32>,
    is_missing: bool,
    instances: Vec<InstanceBuilder>,
    /// The indexes of `instances` in the order of rows.
    order: Vec<u32>,
    by_label: HashMap<Box<str>, u32>,
    /// The part of `order` that has rows in the block; set when the block is written.
    with_rows: Vec<u32>,
    /// The instances of the last group, and for each of them the index in `instances`.
    last_instances: Instances,
    last_rows: Vec<u32>,
}

/// One instance: its values, counter by counter.
struct InstanceBuilder {
    instance: Arc<Instance>,
    /// The ranges of groups that have a row for it.
    runs: Vec<std::ops::Range<u32>>,
    /// Its identities, each with the index of the first row that has it.
    identities: Vec<(usize, u64)>,
    columns: Vec<Vec<RawValue>>,
    /// The state of each counter before the block.
    pairers: Vec<Pairer>,
    /// Whether the last group of the previous block had the instance.
    is_continued: bool,
    /// Whether the list of instances that is being processed already had it.
    is_in_update: bool,
}

impl SlotBuilder {
    pub(super) fn new(set: &Arc<CounterSet>, set_index: u32) -> Self {
        Self {
            set: Arc::clone(set),
            set_index,
            calculators: set.counters.iter().map(Counter::calculator).collect(),
            heads: GroupHeads::default(),
            present: Vec::new(),
            breaks: Vec::new(),
            last_log: None,
            is_missing: false,
            instances: Vec::new(),
            order: Vec::new(),
            by_label: HashMap::new(),
            with_rows: Vec::new(),
            last_instances: Instances::default(),
            last_rows: Vec::new(),
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
        if !Arc::ptr_eq(&self.last_instances, &group.instances) {
            self.update_instances(&group.instances);
        }
        let width = self.calculators.len();
        if width == 0 {
            return;
        }
        for (row, (&at, values)) in self.last_rows.iter().zip(group.values.chunks_exact(width)).enumerate() {
            let instance = &mut self.instances[at as usize];
            match instance.runs.last_mut() {
                Some(run) if run.end == ordinal => run.end += 1,
                _ => instance.runs.push(ordinal..ordinal + 1),
            }
            let identity = group.identities.get(row).copied().unwrap_or_default();
            if instance.identities.last().map_or(0, |&(_, known)| known) != identity {
                instance.identities.push((instance.columns[0].len(), identity));
            }
            instance.columns.iter_mut().zip(values).for_each(|(column, raw)| column.push(*raw));
        }
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
        let has_rows = |at: &u32| !self.instances[*at as usize].runs.is_empty();
        self.with_rows.extend(self.order.iter().copied().filter(has_rows));
    }

    /// The instances that have rows in the block, in the order of rows.
    pub(super) fn instance_runs(&self) -> Vec<InstanceRuns> {
        let runs = |at: &u32| {
            let InstanceBuilder { instance, runs, .. } = &self.instances[*at as usize];
            InstanceRuns {
                parent: instance.parent().map(str::to_owned),
                name: instance.name().to_owned(),
                index: instance.index(),
                runs: runs.clone(),
            }
        };
        self.with_rows.iter().map(runs).collect()
    }

    /// Appends the rows of a counter of an instance. `instance` is an index into
    /// [`instance_runs`](Self::instance_runs).
    pub(super) fn push_rows(
        &mut self,
        instance: usize,
        column: usize,
        samples: &[SampleHead],
        rows: &mut Rows,
    ) {
        let Some(&at) = self.with_rows.get(instance) else { return };
        let Self { set, instances, calculators, present, breaks, .. } = self;
        let instance = &mut instances[at as usize];
        let calculator = &calculators[column];
        let formula = calculator.formula();
        let facts = SeriesFacts { set, counter: &set.counters[column], instance: &instance.instance };
        rows.begin_series(&facts);
        let pairer = &mut instance.pairers[column];
        let mut previous = RawValue::new(0, 0);
        let mut identities = instance.identities.iter().peekable();
        let mut identity = 0;
        let mut values = instance.columns[column].iter().enumerate();
        for run in &instance.runs {
            if run.start > 0 || !instance.is_continued {
                pairer.interrupt();
            }
            for ordinal in run.clone() {
                let Some((row, raw)) = values.next() else { return };
                let (sample, boot_time) = present[ordinal as usize];
                if breaks.binary_search(&ordinal).is_ok() {
                    pairer.interrupt();
                }
                while let Some(&(_, next)) = identities.next_if(|(from, _)| *from <= row) {
                    identity = next;
                }
                pairer.follow(Origin::new(calculator, identity, boot_time));
                let older = pairer.pair(raw);
                let head = &samples[sample as usize];
                // A baseline only starts intervals; it is not counted.
                let interval = match head.is_baseline {
                    true => Interval::default(),
                    false => interval(calculator, older.as_ref(), raw),
                };
                let multi_count = (raw.multi_count != previous.multi_count).then_some(raw.multi_count);
                let restored = interval::restore(formula, &previous, &interval, raw.multi_count, raw.status);
                let utc = head.at.utc.0;
                let raws = (restored != *raw).then_some((raw.first, raw.second));
                rows.push(&Row { utc, interval, raws, multi_count, status: raw.status });
                previous = *raw;
            }
        }
    }

    /// Removes the groups, but keeps the state of the instances of the last one.
    pub(super) fn take(&mut self) -> Slot {
        let groups = self.present.len() as u32;
        let mut moved = HashMap::new();
        let mut kept = Vec::new();
        for (at, mut instance) in std::mem::take(&mut self.instances).into_iter().enumerate() {
            // If this block has no group, the last one of the previous block counts.
            let is_current = match instance.runs.last() {
                Some(run) => run.end == groups,
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
        Slot { set: self.set_index, heads: std::mem::take(&mut self.heads) }
    }
}

impl InstanceBuilder {
    fn new(instance: &Arc<Instance>, columns: usize) -> Self {
        Self {
            instance: Arc::clone(instance),
            runs: Vec::new(),
            identities: Vec::new(),
            columns: vec![Vec::new(); columns],
            pairers: vec![Pairer::default(); columns],
            is_continued: false,
            is_in_update: true,
        }
    }

    fn continue_in_next(&mut self) {
        self.is_continued = true;
        self.runs.clear();
        // The next block starts with the last identity.
        self.identities = self.identities.last().map(|&(_, identity)| (0, identity)).into_iter().collect();
        self.columns.iter_mut().for_each(Vec::clear);
    }
}

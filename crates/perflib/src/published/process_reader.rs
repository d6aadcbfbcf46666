//! Reads one process of a published set into rows.

use std::sync::Arc;

use tachograph_shm::Instance;

use super::instance_keys::{InstanceKeys, identity};
use super::member::Member;
use super::read_plan::ReadPlan;
use super::source::{Source, Sources, Stamps, mismatch_text};
use super::total_row::{TOTAL, TotalRow};
use crate::registration::{CounterSetInfo, InstanceType};
use crate::{ErrorCode, Failure, InstanceKey, Rows};

/// Maximum number of instances of a set.
pub const MAX_INSTANCES: usize = 1 << 20;

/// Maximum number of values of a set in one collection.
pub const MAX_VALUES: usize = 4_000_000;

/// Maximum number of attempts to read a history that is changing.
const MAX_HISTORY_READS: usize = 16;

/// Reads the instances that one process publishes, and keeps their keys from one collection to the next.
#[derive(Debug)]
pub(super) struct ProcessReader {
    pub(super) member: Arc<Member>,
    pub(super) sources: Sources,
    plan: ReadPlan,
    pub(super) keys: InstanceKeys,
    /// The instance key for errors that concern the whole process.
    process_key: Arc<InstanceKey>,
    /// The message for counters that the file does not have, or has with another type.
    mismatch: Arc<str>,
    /// Why the process was omitted from the last collection. The failure is reused if it does not change, because
    /// reasons are compared by pointer.
    pub(super) failure: Option<Failure>,
    /// Whether this collection can read the process.
    pub(super) is_ready: bool,
    /// Whether the last collection read the process; `None` before the first collection.
    pub(super) was_read: Option<bool>,
}

/// Specifies which rows a collection needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestedRows {
    /// Whether instances have rows.
    wants_instances: bool,
    /// Whether the aggregate has a row.
    pub(super) wants_total: bool,
    /// Whether all instances are selected.
    wants_all_names: bool,
}

impl RequestedRows {
    pub(super) fn new(instance_type: InstanceType, rows: &Rows) -> Self {
        let all_names = rows.wants_all_instances();
        let wants_total = || all_names || rows.wants_instance(TOTAL, 0);
        let (instances, total) = match instance_type {
            InstanceType::Single | InstanceType::Multiple => (true, false),
            InstanceType::SingleAggregate | InstanceType::SingleAggregateHistory => (false, true),
            InstanceType::MultipleAggregate | InstanceType::InstanceAggregate => (true, wants_total()),
        };
        Self { wants_instances: instances, wants_total: total, wants_all_names: all_names }
    }
}

impl ProcessReader {
    pub(super) fn new(info: &CounterSetInfo, member: Arc<Member>) -> Self {
        let sources = Sources::new(info, &member.description);
        let label = member.label();
        Self {
            sources,
            plan: ReadPlan::default(),
            keys: InstanceKeys::default(),
            process_key: Arc::new(InstanceKey::new(label, member.process as u32, identity(member.unique, 0))),
            mismatch: mismatch_text(member.process),
            failure: None,
            is_ready: true,
            was_read: None,
            member,
        }
    }

    /// Sets whether this collection can read the process and, if not, the reason.
    pub(super) fn set_outcome(&mut self, outcome: Result<(), Failure>) {
        self.is_ready = outcome.is_ok();
        match outcome {
            // Keep an equal failure, so that the pointer of its reason does not change.
            Err(failure) if self.failure.as_ref().is_some_and(|known| *known == failure) => {}
            outcome => self.failure = outcome.err(),
        }
    }

    /// Records whether this collection has read the process. If this differs from the last collection, the total gets a
    /// new identity, so that values counted while the process was omitted do not appear as growth. For a new process,
    /// the total gets a new identity only if its instances make the total incomparable with earlier totals.
    pub(super) fn set_was_read(&mut self, is_read: bool, total: &mut TotalRow) {
        let is_reset = match self.was_read.replace(is_read) {
            Some(was_read) => was_read != is_read,
            None => is_read && self.keys.len() > 0 && total.is_reset_by_new_instances(&self.sources),
        };
        total.epoch += u64::from(is_reset);
    }

    /// Reports why the process has no rows.
    pub(super) fn report_failure(&self, rows: &mut Rows) {
        if let Some(failure) = &self.failure {
            rows.fail_instance(&self.process_key, &failure.reason);
        }
    }

    /// Adds the rows of the process; no rows if an error occurs, for example if there are more than `max_instances`
    /// instances.
    pub(super) fn read(
        &mut self,
        info: &CounterSetInfo,
        rows: &mut Rows,
        requested: RequestedRows,
        wants_total: &mut TotalRow,
        max_instances: usize,
    ) -> Result<(), Failure> {
        if self.sources.is_empty() {
            return Err(Failure::new(ErrorCode::INVALID_DATA, Arc::clone(&self.mismatch)));
        }
        if self.sources.differs {
            let has_source = |&position: &usize| self.sources.get(position).is_some();
            if !rows.positions().iter().all(has_source) {
                rows.fail_instance(&self.process_key, &self.mismatch);
            }
        }
        let first_row = rows.instances().len();
        wants_total.save();
        let has_history = info.instance_type == InstanceType::SingleAggregateHistory;
        for _ in 0..MAX_HISTORY_READS {
            let is_consistent =
                self.read_once(info, rows, requested, wants_total, max_instances).inspect_err(|_| {
                    rows.truncate(first_row);
                    wants_total.restore();
                })?;
            if is_consistent || !has_history {
                return Ok(());
            }
            rows.truncate(first_row);
            wants_total.restore();
        }
        let reason = format!(
            "{}: instances end faster than the history of ended instances can be read",
            self.member.program
        );
        Err(Failure::new(ErrorCode::NO_DATA, reason))
    }

    /// Reads the instances and the history once. Returns whether they are consistent with each other.
    fn read_once(
        &mut self,
        info: &CounterSetInfo,
        rows: &mut Rows,
        requested: RequestedRows,
        wants_total: &mut TotalRow,
        max_instances: usize,
    ) -> Result<bool, Failure> {
        let Self { member, sources, plan, keys, process_key, .. } = self;
        plan.update(rows.positions(), sources);
        let stamps = Stamps::new(&rows.timestamps());
        let (unique, process) = (member.unique, member.process as u32);
        let is_single = info.instance_type == InstanceType::Single;
        let is_aggregate = requested.wants_total;
        let mut exceeds_limits = false;
        let mut has_history = false;
        let count_before = keys.len();
        keys.begin();
        let outcome = member.reader().read(|instance| {
            if let Some(count) = instance.history() {
                if is_aggregate && count > 0 && !std::mem::replace(&mut has_history, true) {
                    let value = |source: &Source| source.read(instance, &stamps);
                    wants_total.push_history(sources, value, count);
                }
                return;
            }
            if is_single && keys.len() > 0 || exceeds_limits {
                return;
            }
            exceeds_limits = keys.len() >= max_instances || rows.all_values().len() >= MAX_VALUES;
            let Some(key) = keys.next(instance, |name| match is_single {
                true => {
                    InstanceKey::new(process_key.full_name(), process, identity(unique, instance.serial()))
                }
                false => InstanceKey::new(name, instance.id(), identity(unique, instance.serial())),
            }) else {
                return;
            };
            // An instance with an empty name has no row, because paths and identifiers cannot select it.
            let has_row = requested.wants_instances
                && !key.full_name().is_empty()
                && (requested.wants_all_names || rows.wants_instance(key.full_name(), key.id()));
            if !has_row && !is_aggregate {
                return;
            }
            rows.push_with(key, |values| plan.read(sources, instance, &stamps, values));
            let row = rows.instances().len() - 1;
            if !instance.is_consistent() {
                rows.truncate(row);
                keys.pop();
                return;
            }
            if is_aggregate {
                wants_total.push(sources, rows.values(row));
            }
            if !has_row {
                rows.truncate(row);
            }
        });
        let is_any_gone = keys.end();
        let is_any_new = keys.len() > count_before || is_any_gone;
        let is_reset = is_any_gone && info.instance_type != InstanceType::SingleAggregateHistory;
        if is_reset || is_any_new && count_before > 0 && wants_total.is_reset_by_new_instances(sources) {
            wants_total.epoch += 1;
        }
        if exceeds_limits {
            let reason = format!("more than {MAX_INSTANCES} instances or {MAX_VALUES} values");
            return Err(Failure::new(ErrorCode::NO_SYSTEM_RESOURCES, reason));
        }
        outcome.map_err(|problem| {
            let path = member.folder.path().join(&*member.file_name);
            Failure::new(ErrorCode::INVALID_DATA, format!("{}: {problem}", path.display()))
        })
    }
}

pub(super) fn count_instances(member: &Member) -> usize {
    let mut count = 0;
    let counted = member.reader().read(|instance: &Instance<'_>| {
        count += usize::from(instance.history().is_none());
    });
    counted.map_or(0, |_| count)
}

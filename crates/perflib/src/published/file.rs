//! One process of a published set, read into rows.

use std::sync::Arc;

use tachograph_shm::Instance;

use super::keys::{Keys, identity};
use super::member::Member;
use super::plan::Plan;
use super::source::{Source, Sources, Stamps, otherwise};
use super::total::Total;
use crate::registration::{CounterSetInfo, InstanceType};
use crate::{ErrorCode, Failure, InstanceKey, Rows};

/// Most instances of a set.
pub const MAX_INSTANCES: usize = 1 << 20;

/// Most values of a set in one collection.
pub const MAX_VALUES: usize = 4_000_000;

/// How often a history is read again that changed meanwhile.
const HISTORY_TRIES: usize = 16;

/// One process of the set.
#[derive(Debug)]
pub(super) struct File {
    pub(super) member: Arc<Member>,
    pub(super) sources: Sources,
    plan: Plan,
    pub(super) keys: Keys,
    /// What stands for the process where it has no instance.
    place: Arc<InstanceKey>,
    otherwise: Arc<str>,
    /// Why it was left out of the last collection; kept, so that it is said once.
    pub(super) failure: Option<Failure>,
    /// Whether it is to be read in this collection.
    pub(super) is_ready: bool,
    /// Whether it was read in the last collection; nothing before its first.
    pub(super) was_read: Option<bool>,
}

/// What the rows of one collection are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wants {
    /// Whether the instances are rows.
    pub(super) instances: bool,
    /// Whether the aggregate is a row.
    pub(super) total: bool,
    /// Whether the rows are for all names.
    pub(super) every_name: bool,
}

impl File {
    pub(super) fn new(info: &CounterSetInfo, member: Arc<Member>) -> Self {
        let sources = Sources::new(info, member.description());
        let label = member.label();
        Self {
            sources,
            plan: Plan::default(),
            keys: Keys::default(),
            place: Arc::new(InstanceKey::new(label, member.process() as u32, identity(member.unique(), 0))),
            otherwise: otherwise(member.process()),
            failure: None,
            is_ready: true,
            was_read: None,
            member,
        }
    }

    /// Notes whether it is to be read, and why not.
    pub(super) fn take(&mut self, outcome: Result<(), Failure>) {
        self.is_ready = outcome.is_ok();
        match outcome {
            // Said again, it is the same text.
            Err(failure) if self.failure.as_ref().is_some_and(|known| *known == failure) => {}
            outcome => self.failure = outcome.err(),
        }
    }

    /// Says why it has no rows.
    pub(super) fn complain(&self, rows: &mut Rows) {
        if let Some(failure) = &self.failure {
            rows.complain(&self.place, &failure.reason);
        }
    }

    /// Reads its instances, at most so many. On a failure there are no rows of it.
    pub(super) fn read(
        &mut self,
        info: &CounterSetInfo,
        rows: &mut Rows,
        wants: Wants,
        total: &mut Total,
        most: usize,
    ) -> Result<(), Failure> {
        if self.sources.is_empty() {
            return Err(Failure::new(ErrorCode::INVALID_DATA, Arc::clone(&self.otherwise)));
        }
        if self.sources.is_otherwise {
            let has_source = |&position: &usize| self.sources.get(position).is_some();
            if !rows.positions().iter().all(has_source) {
                rows.complain(&self.place, &self.otherwise);
            }
        }
        let first_row = rows.instances().len();
        total.remember();
        let has_history = info.instance_type == InstanceType::SingleAggregateHistory;
        for _ in 0..HISTORY_TRIES {
            let is_whole = self.read_once(info, rows, wants, total, most).inspect_err(|_| {
                rows.truncate(first_row);
                total.go_back();
            })?;
            if is_whole || !has_history {
                return Ok(());
            }
            rows.truncate(first_row);
            total.go_back();
        }
        let reason =
            format!("{}: instances end faster than their history can be read", self.member.program());
        Err(Failure::new(ErrorCode::NO_DATA, reason))
    }

    /// Gives whether the history belongs to the instances.
    fn read_once(
        &mut self,
        info: &CounterSetInfo,
        rows: &mut Rows,
        wants: Wants,
        total: &mut Total,
        most: usize,
    ) -> Result<bool, Failure> {
        let Self { member, sources, plan, keys, place, .. } = self;
        plan.follow(rows.positions(), sources);
        let stamps = Stamps::of(&rows.at());
        let (unique, process) = (member.unique(), member.process() as u32);
        let is_single = info.instance_type == InstanceType::Single;
        let is_aggregate = wants.total;
        let mut is_too_much = false;
        let mut has_history = false;
        let count_before = keys.len();
        keys.begin();
        let outcome = member.reader().read(|instance| {
            if let Some(count) = instance.history() {
                if is_aggregate && count > 0 && !std::mem::replace(&mut has_history, true) {
                    let value = |source: &Source| source.read(instance, &stamps);
                    total.take(sources, value, Some(count));
                }
                return;
            }
            if is_single && keys.len() > 0 || is_too_much {
                return;
            }
            is_too_much = keys.len() >= most || rows.all_values().len() >= MAX_VALUES;
            let Some(key) = keys.next(instance, |name| match is_single {
                true => InstanceKey::new(place.full_name(), process, identity(unique, instance.number())),
                false => InstanceKey::new(name, instance.id(), identity(unique, instance.number())),
            }) else {
                return;
            };
            // No path and no identifier can mean an empty name.
            let is_row = wants.instances
                && !key.full_name().is_empty()
                && (wants.every_name || rows.wants_instance(key.full_name(), key.id()));
            if !is_row && !is_aggregate {
                return;
            }
            rows.push_with(key, |values| plan.read(sources, instance, &stamps, values));
            let row = rows.instances().len() - 1;
            if !instance.is_whole() {
                rows.truncate(row);
                keys.take_back();
                return;
            }
            if is_aggregate {
                total.take_row(sources, rows.values(row));
            }
            if !is_row {
                rows.truncate(row);
            }
        });
        let has_left = keys.end();
        let has_come = keys.len() > count_before || has_left;
        let is_gone = has_left && info.instance_type != InstanceType::SingleAggregateHistory;
        if is_gone || has_come && count_before > 0 && total.is_changed_by_who_comes(sources) {
            total.epoch += 1;
        }
        if is_too_much {
            let reason = format!("more than {MAX_INSTANCES} instances or {MAX_VALUES} values");
            return Err(Failure::new(ErrorCode::NO_SYSTEM_RESOURCES, reason));
        }
        outcome.map_err(|problem| {
            let path = super::catalog::path_of(member);
            Failure::new(ErrorCode::INVALID_DATA, format!("{}: {problem}", path.display()))
        })
    }
}

/// How many instances a process has now.
pub(super) fn count_instances(member: &Member) -> usize {
    let mut count = 0;
    let counted = member.reader().read(|instance: &Instance<'_>| {
        count += usize::from(instance.history().is_none());
    });
    counted.map_or(0, |_| count)
}

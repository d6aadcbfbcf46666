//! A published set as a provider: the instances of all its processes.

use std::sync::Arc;
use std::time::Instant;

use tachograph_counters::{RawValue, Status};
use tachograph_shm::Instance;
use tachograph_shm::control::Kind;

use super::aggregate::{Aggregated, Functions};
use super::catalog::Catalog;
use super::control::DEADLINE;
use super::group::Group;
use super::keys::{Keys, identity};
use super::member::Member;
use super::source::{Sources, otherwise};
use crate::registration::{CounterSetInfo, InstanceType};
use crate::{ErrorCode, Failure, InstanceKey, Provider, Rows};

/// Most instances of a set.
pub const MAX_INSTANCES: usize = 1 << 20;

/// Most values of a set in one collection.
pub const MAX_VALUES: usize = 4_000_000;

/// How often a history is read again that changed meanwhile.
const HISTORY_TRIES: usize = 16;

/// The aggregate's name.
const TOTAL: &str = "_Total";

/// The provider of a published set.
#[derive(Debug)]
pub(crate) struct PublishedSet {
    info: Arc<CounterSetInfo>,
    catalog: Arc<Catalog>,
    group: Arc<Group>,
    /// That of the group when `files` was made.
    generation: u64,
    files: Vec<File>,
    total: Total,
}

/// One process of the set.
#[derive(Debug)]
struct File {
    member: Arc<Member>,
    sources: Sources,
    keys: Keys,
    /// What stands for the process where it has no instance.
    place: Arc<InstanceKey>,
    otherwise: Arc<str>,
    /// Why it was left out of the last collection; kept, so that it is said once.
    failure: Option<Failure>,
    /// Whether it is to be read in this collection.
    is_ready: bool,
}

/// The aggregate of the instances.
#[derive(Debug)]
struct Total {
    functions: Functions,
    /// By column.
    columns: Vec<Aggregated>,
    /// As they were before a file, to go back to.
    before: Vec<Aggregated>,
    key: Arc<InstanceKey>,
    /// Another number when what is added up is not that of before with more.
    epoch: u64,
    instances: usize,
}

/// What the rows of one collection are.
#[derive(Clone, Copy, Debug)]
struct Wants {
    /// Whether the instances are rows.
    instances: bool,
    /// Whether the aggregate is a row.
    total: bool,
    /// Whether the rows are for all names.
    every_name: bool,
}

impl PublishedSet {
    pub(super) fn new(info: Arc<CounterSetInfo>, catalog: Arc<Catalog>, group: Arc<Group>) -> Self {
        let total = Total {
            functions: Functions::new(&info),
            columns: Vec::new(),
            before: Vec::new(),
            key: Arc::default(),
            epoch: 0,
            instances: 0,
        };
        Self { info, catalog, group, generation: 0, files: Vec::new(), total }
    }

    /// Takes the processes that there are now.
    fn follow(&mut self) {
        let generation = self.group.generation();
        if generation == self.generation {
            return;
        }
        self.generation = generation;
        let members = self.group.members();
        let mut before = std::mem::take(&mut self.files);
        self.files = members
            .into_iter()
            .map(|member| {
                let known = before.iter().position(|file| Arc::ptr_eq(&file.member, &member));
                known.map(|place| before.swap_remove(place)).unwrap_or_else(|| File::new(&self.info, member))
            })
            .collect();
        if before.iter().any(|file| file.keys.len() > 0) {
            self.total.epoch += 1;
        }
    }

    /// Takes out processes that are gone.
    fn bury_dead(&mut self) {
        let dead: Vec<_> = self
            .files
            .iter()
            .filter(|file| !file.member.is_alive())
            .map(|file| Arc::clone(&file.member))
            .collect();
        if !dead.is_empty() {
            dead.iter().for_each(|member| self.catalog.bury(member));
            self.follow();
        }
    }

    /// Asks the processes that want to be asked, all at once, and waits for those that answer in time.
    fn ask(&mut self, kind: Kind, at: i64) {
        let wanted = self.group.wanted();
        let mut is_asked = false;
        for file in &mut self.files {
            file.is_ready = true;
            if file.member.has_control() {
                is_asked = true;
                let asked = file.member.connection().ask(&file.member, wanted, kind);
                file.take(asked);
            }
        }
        if !is_asked {
            return;
        }
        let deadline = Instant::now() + DEADLINE;
        for file in self.files.iter_mut().filter(|file| file.is_ready && file.member.has_control()) {
            // Whoever let another set of this collection wait is not waited for again.
            let who = (file.member.key().owner, file.member.process());
            let deadline = if self.catalog.was_late(who, at) { Instant::now() } else { deadline };
            let answered = file.member.connection().wait(&file.member, deadline);
            if answered.as_ref().is_err_and(|failure| failure.code == ErrorCode::TIMEOUT) {
                self.catalog.note_late(who, at);
            }
            file.take(answered);
        }
    }

    fn say_end(&mut self) {
        for file in self.files.iter().filter(|file| file.is_ready && file.member.has_control()) {
            file.member.connection().end(&file.member);
        }
    }

    fn wants(&self, rows: &Rows) -> Wants {
        let every_name = rows.wants_all_instances();
        let wants_total = || every_name || rows.wants_instance(TOTAL, 0);
        let (instances, total) = match self.info.instance_type {
            InstanceType::Single | InstanceType::Multiple => (true, false),
            InstanceType::SingleAggregate | InstanceType::SingleAggregateHistory => (false, true),
            InstanceType::MultipleAggregate | InstanceType::InstanceAggregate => (true, wants_total()),
        };
        Wants { instances, total, every_name }
    }

    /// Reads all files into rows.
    fn read(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let wants = self.wants(rows);
        self.total.begin(rows.width());
        let mut first_failure = None;
        let mut has_read = false;
        for place in 0..self.files.len() {
            let file = &mut self.files[place];
            if !file.is_ready {
                let failure = file.failure.clone();
                file.complain(rows);
                first_failure = first_failure.or(failure);
                continue;
            }
            let read = file.read(&self.info, rows, wants, &mut self.total);
            match read {
                Ok(()) => has_read = true,
                Err(failure) => {
                    if failure.code == ErrorCode::NO_SYSTEM_RESOURCES {
                        return Err(failure);
                    }
                    file.take(Err(failure.clone()));
                    file.complain(rows);
                    first_failure = first_failure.or(Some(failure));
                }
            }
        }
        match first_failure {
            // The others are told with a trouble each.
            Some(failure) if !has_read => Err(failure),
            _ => {
                if wants.total {
                    self.total.push(rows, self.info.instance_type);
                }
                Ok(())
            }
        }
    }
}

impl Provider for PublishedSet {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let at = rows.at().ticks;
        self.catalog.look(at);
        self.follow();
        self.bury_dead();
        self.ask(if rows.width() == 0 { Kind::EnumInstances } else { Kind::CollectStart }, at);
        let outcome = self.read(rows);
        if rows.width() > 0 {
            self.say_end();
        }
        outcome
    }
}

impl File {
    fn new(info: &CounterSetInfo, member: Arc<Member>) -> Self {
        let sources = Sources::new(info, member.description());
        let label = member.label();
        Self {
            sources,
            keys: Keys::default(),
            place: Arc::new(InstanceKey::new(label, member.process() as u32, identity(member.unique(), 0))),
            otherwise: otherwise(member.process()),
            failure: None,
            is_ready: true,
            member,
        }
    }

    /// Notes whether it is to be read, and why not.
    fn take(&mut self, outcome: Result<(), Failure>) {
        self.is_ready = outcome.is_ok();
        match outcome {
            // Said again, it is the same text.
            Err(failure) if self.failure.as_ref().is_some_and(|known| *known == failure) => {}
            outcome => self.failure = outcome.err(),
        }
    }

    /// Says why it has no rows.
    fn complain(&self, rows: &mut Rows) {
        if let Some(failure) = &self.failure {
            rows.complain(&self.place, &failure.reason);
        }
    }

    /// Reads its instances. On a failure there are no rows of it.
    fn read(
        &mut self,
        info: &CounterSetInfo,
        rows: &mut Rows,
        wants: Wants,
        total: &mut Total,
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
            let is_whole = self.read_once(info, rows, wants, total).inspect_err(|_| {
                rows.truncate(first_row);
                total.go_back();
            })?;
            if is_whole || !has_history {
                return Ok(());
            }
            rows.truncate(first_row);
            total.go_back();
        }
        let reason = format!("{}: instances end faster than their history can be read", self.member.program());
        Err(Failure::new(ErrorCode::NO_DATA, reason))
    }

    /// Gives whether the history belongs to the instances.
    fn read_once(
        &mut self,
        info: &CounterSetInfo,
        rows: &mut Rows,
        wants: Wants,
        total: &mut Total,
    ) -> Result<bool, Failure> {
        let Self { member, sources, keys, place, .. } = self;
        let at = rows.at();
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
                    total.take(rows.positions(), sources, |source| source.read(instance, &at), Some(count));
                }
                return;
            }
            if is_single && keys.len() > 0 || is_too_much {
                return;
            }
            is_too_much = keys.len() >= MAX_INSTANCES || rows.all_values().len() >= MAX_VALUES;
            let key = keys.next(instance, |name| match is_single {
                true => InstanceKey::new(place.full_name(), process, identity(unique, instance.number())),
                false => InstanceKey::new(name, instance.id(), identity(unique, instance.number())),
            });
            // Without a name it is nothing that a path or an identifier can mean; `_Total` is the aggregate's.
            let is_nameless = key.full_name().is_empty();
            let is_row = wants.instances
                && !is_nameless
                && !(info.instance_type == InstanceType::MultipleAggregate && key.full_name() == TOTAL)
                && (wants.every_name || rows.wants_instance(key.full_name(), key.id()));
            if !is_row && !is_aggregate {
                return;
            }
            rows.push_with(key, |position| match sources.get(position) {
                Some(source) => source.read(instance, &at),
                None => RawValue::error(Status::CSTATUS_INVALID_DATA),
            });
            let row = rows.instances().len() - 1;
            if !instance.is_whole() {
                rows.truncate(row);
                keys.take_back();
                return;
            }
            if is_aggregate {
                let mut values = rows.values(row).iter();
                let next = |_: &_| values.next().copied().unwrap_or_default();
                total.take_row(rows.positions(), sources, next);
            }
            if !is_row {
                rows.truncate(row);
            }
        });
        let has_left = keys.end();
        let has_come = keys.len() > count_before || has_left;
        let changes_by_coming = || total.functions.is_changed_by_who_comes() || sources.has_cells_beside();
        let is_gone = has_left && info.instance_type != InstanceType::SingleAggregateHistory;
        if is_gone || has_come && count_before > 0 && changes_by_coming() {
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

impl Total {
    fn begin(&mut self, width: usize) {
        self.columns.clear();
        self.columns.resize(width, Aggregated::default());
        self.instances = 0;
    }

    fn remember(&mut self) {
        self.before.clone_from(&self.columns);
    }

    fn go_back(&mut self) {
        self.columns.clone_from(&self.before);
    }

    /// Takes the values of what instances that ended have left.
    fn take(
        &mut self,
        positions: &[usize],
        sources: &Sources,
        value: impl Fn(&super::source::Source) -> RawValue,
        history: Option<u64>,
    ) {
        self.instances += 1;
        for (column, &position) in self.columns.iter_mut().zip(positions) {
            if let Some(source) = sources.get(position) {
                self.functions.take(column, position, source, value(source), history);
            }
        }
    }

    /// Takes the values of an instance, by column.
    fn take_row(&mut self, positions: &[usize], sources: &Sources, mut next: impl FnMut(&usize) -> RawValue) {
        self.instances += 1;
        for (column, position) in self.columns.iter_mut().zip(positions) {
            let raw = next(position);
            if let Some(source) = sources.get(*position) {
                self.functions.take(column, *position, source, raw, None);
            }
        }
    }

    /// Adds the row of the aggregate, where there is anything to aggregate.
    fn push(&mut self, rows: &mut Rows, instance_type: InstanceType) {
        if self.instances == 0 {
            return;
        }
        let identity = identity(0, self.epoch + 1);
        if self.key.identity() != identity {
            let name = if instance_type == InstanceType::MultipleAggregate { TOTAL } else { "" };
            self.key = Arc::new(InstanceKey::new(name, 0, identity));
        }
        let mut columns = self.columns.iter();
        let functions = &self.functions;
        rows.push_with(&self.key, |position| match columns.next() {
            Some(column) => functions.value(column, position),
            None => RawValue::error(Status::CSTATUS_INVALID_DATA),
        });
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

//! A published set as a provider: the instances of all its processes.

use std::sync::Arc;
use std::time::Instant;

use tachograph_shm::control::Kind;

use super::catalog::Catalog;
use super::file::{File, MAX_INSTANCES, Wants};
use super::group::Group;
use super::total::{TOTAL, Total};
use crate::registration::{CounterSetInfo, InstanceType};
use crate::{CollectionId, ErrorCode, Failure, Provider, Rows};

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

impl PublishedSet {
    pub(super) fn new(info: Arc<CounterSetInfo>, catalog: Arc<Catalog>, group: Arc<Group>) -> Self {
        let total = Total::new(&info);
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
        if before.iter().any(|file| file.was_read == Some(true)) {
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

    /// Asks the processes that want to be asked, all at once.
    fn ask_processes(&mut self, kind: Kind, collection: CollectionId) {
        let wanted = self.group.wanted();
        for file in &mut self.files {
            file.is_ready = true;
            if file.member.has_control() {
                file.member.connection().ask(&file.member, wanted, kind, collection);
            }
        }
    }

    /// Waits for the answers of the processes that were asked; those that do not answer are not read.
    fn wait_for_processes(&mut self, collection: CollectionId, until: Instant) {
        let wanted = self.group.wanted();
        let mut is_one_missing = false;
        for file in self.files.iter_mut().filter(|file| file.member.has_control()) {
            let answered = file.member.connection().wait(&file.member, wanted, collection, until);
            is_one_missing |= answered.is_err();
            file.take(answered);
        }
        // One that has ended is gone, and nothing failed.
        if is_one_missing {
            self.bury_dead();
        }
    }

    fn say_end(&mut self) {
        let wanted = self.group.wanted();
        for file in self.files.iter().filter(|file| file.is_ready && file.member.has_control()) {
            file.member.connection().end(&file.member, wanted);
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
        self.total.begin(rows.positions());
        let mut first_failure = None;
        let mut has_read = false;
        let mut instances_left = MAX_INSTANCES;
        for place in 0..self.files.len() {
            let file = &mut self.files[place];
            if !file.is_ready {
                let failure = file.failure.clone();
                file.complain(rows);
                self.total.note(file, false);
                first_failure = first_failure.or(failure);
                continue;
            }
            let read = file.read(&self.info, rows, wants, &mut self.total, instances_left);
            match read {
                Ok(()) => {
                    has_read = true;
                    instances_left = instances_left.saturating_sub(file.keys.len());
                    self.total.note(file, true);
                }
                Err(failure) => {
                    if failure.code == ErrorCode::NO_SYSTEM_RESOURCES {
                        return Err(failure);
                    }
                    file.take(Err(failure.clone()));
                    file.complain(rows);
                    self.total.note(file, false);
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

    fn ask(&mut self, rows: &Rows, collection: CollectionId) {
        self.catalog.look(collection);
        self.follow();
        self.bury_dead();
        let kind = if rows.width() == 0 { Kind::EnumInstances } else { Kind::CollectStart };
        self.ask_processes(kind, collection);
    }

    fn prepare(&mut self, _rows: &Rows, collection: CollectionId, until: Instant) {
        self.wait_for_processes(collection, until);
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let outcome = self.read(rows);
        if rows.width() > 0 {
            self.say_end();
        }
        outcome
    }

    /// Processes that have ended are let go: nobody else looks after a set that is not asked for.
    fn rest(&mut self) {
        self.bury_dead();
    }
}

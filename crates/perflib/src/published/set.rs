//! The provider of a published set, which combines the instances of all processes that publish it.

use std::sync::Arc;
use std::time::Instant;

use tachograph_shm::control::Kind;

use super::catalog::Catalog;
use super::group::MemberGroup;
use super::process_reader::{MAX_INSTANCES, ProcessReader, RequestedRows};
use super::total_row::TotalRow;
use crate::registration::CounterSetInfo;
use crate::{CollectionId, ErrorCode, Failure, Provider, Rows};

/// A counter set that one or more processes of the same user publish.
#[derive(Debug)]
pub(super) struct PublishedSet {
    info: Arc<CounterSetInfo>,
    catalog: Arc<Catalog>,
    group: Arc<MemberGroup>,
    /// The group's generation when `processes` was last updated.
    generation: u64,
    processes: Vec<ProcessReader>,
    total: TotalRow,
}

impl PublishedSet {
    pub(super) fn new(info: Arc<CounterSetInfo>, catalog: Arc<Catalog>, group: Arc<MemberGroup>) -> Self {
        let total = TotalRow::new(&info);
        Self { info, catalog, group, generation: 0, processes: Vec::new(), total }
    }

    /// Updates the list of processes if the members of the group have changed.
    fn update_processes(&mut self) {
        let generation = self.group.generation();
        if generation == self.generation {
            return;
        }
        self.generation = generation;
        let mut before = std::mem::take(&mut self.processes);
        self.processes = self
            .group
            .members()
            .into_iter()
            .map(|member| match before.iter().position(|process| Arc::ptr_eq(&process.member, &member)) {
                Some(index) => before.swap_remove(index),
                None => ProcessReader::new(&self.info, member),
            })
            .collect();
        if before.iter().any(|process| process.was_read == Some(true)) {
            self.total.epoch += 1;
        }
    }

    /// Removes processes that have exited.
    fn retire_dead(&mut self) {
        let is_dead = |process: &&ProcessReader| !process.member.is_alive();
        let dead: Vec<_> =
            self.processes.iter().filter(is_dead).map(|process| Arc::clone(&process.member)).collect();
        if !dead.is_empty() {
            dead.iter().for_each(|member| self.catalog.retire(member));
            self.update_processes();
        }
    }

    fn read(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let requested = RequestedRows::new(self.info.instance_type, rows);
        self.total.begin(rows.positions());
        let mut first_failure = None;
        let mut has_read = false;
        let mut instances_left = MAX_INSTANCES;
        for process in &mut self.processes {
            if process.is_ready {
                match process.read(&self.info, rows, requested, &mut self.total, instances_left) {
                    Ok(()) => {
                        has_read = true;
                        instances_left = instances_left.saturating_sub(process.keys.len());
                        process.set_was_read(true, &mut self.total);
                        continue;
                    }
                    Err(failure) if failure.code == ErrorCode::NO_SYSTEM_RESOURCES => return Err(failure),
                    Err(failure) => process.set_outcome(Err(failure)),
                }
            }
            process.report_failure(rows);
            process.set_was_read(false, &mut self.total);
            first_failure = first_failure.or_else(|| process.failure.clone());
        }
        match first_failure {
            // If any process was read, the set does not fail: the failures of the others have been reported in `rows`.
            Some(failure) if !has_read => Err(failure),
            _ => {
                if requested.wants_total {
                    self.total.push_to(rows, self.info.instance_type);
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

    fn request(&mut self, rows: &Rows, collection: CollectionId) {
        self.catalog.scan(collection);
        self.update_processes();
        self.retire_dead();
        let kind = if rows.width() == 0 { Kind::EnumInstances } else { Kind::CollectStart };
        let requested = self.group.requested();
        for process in &mut self.processes {
            process.is_ready = true;
            if process.member.has_control {
                process.member.connection().start(&process.member, requested, kind, collection);
            }
        }
    }

    /// Waits for the answers. Processes that do not answer are not read.
    fn prepare(&mut self, _rows: &Rows, collection: CollectionId, until: Instant) {
        let requested = self.group.requested();
        let mut has_missing_answer = false;
        for process in self.processes.iter_mut().filter(|process| process.member.has_control) {
            let outcome = process.member.connection().wait(&process.member, requested, collection, until);
            has_missing_answer |= outcome.is_err();
            process.set_outcome(outcome);
        }
        // If a process does not answer because it has exited, this is not a failure.
        if has_missing_answer {
            self.retire_dead();
        }
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let outcome = self.read(rows);
        if rows.width() > 0 {
            let requested = self.group.requested();
            for process in self.processes.iter().filter(|process| process.is_ready) {
                if process.member.has_control {
                    process.member.connection().finish(&process.member, requested);
                }
            }
        }
        outcome
    }

    /// Removes processes that have exited, because no scan will find them while the set is idle.
    fn idle(&mut self) {
        self.retire_dead();
    }
}

//! Processor time and page faults of processes that ended.
//!
//! When a process ends and its parent reaps it, the kernel adds its counts, and those of the children that it has reaped,
//! to its parent's counts of reaped children (`cutime`, `cstime`, `cminflt`, `cmajflt`). So the growth of
//! these counts is the time of all processes that ended, including those that no sample has found. The part that
//! earlier samples have already shown is subtracted: the last counts of each process that has disappeared.
//!
//! The kernel drops the counts of a process whose parent ignores `SIGCHLD`. Nothing may then be subtracted, so the last
//! counts of a process are subtracted only from the growth of a process that can have reaped it: its parent, or the
//! nearest living ancestors if its parent has ended too (orphans are adopted by init or a subreaper, which are ancestors).
//! If the kernel's records of ended processes are available, the dropped time is taken from them.

use self::dropped::DroppedTime;
use super::exit_record::ExitRecord;
use super::ticks::Ticks;

mod dropped;
mod tracker;

pub(super) use tracker::{Counts, Entry, Tracker};

/// Tracks the times and page faults of processes that end, and of those that start, between samples.
#[derive(Debug, Default)]
pub(super) struct EndedProcesses {
    tracker: Tracker,
    dropped_time: DroppedTime,
}

impl EndedProcesses {
    /// Begins a sample, after the processes were listed and before they are read. `listed` are their ids, sorted. The
    /// processes of an unfinished sample are dropped.
    pub(super) fn begin(&mut self, listed: &[u32]) {
        self.tracker.begin();
        self.dropped_time.set_listed(listed);
    }

    /// Adds the kernel's record of an ended process. All records that have arrived must be added both just before the
    /// processes are listed and after they have been read.
    pub(super) fn add_record(&mut self, record: ExitRecord) {
        self.dropped_time.add(record);
    }

    /// Notes that some of the records that were to be added are missing.
    pub(super) fn lose_some_records(&mut self) {
        self.dropped_time.lose_some();
    }

    /// Notes that all records that have not been added are missing. Records that are added later belong to later samples.
    pub(super) fn lose_all_records(&mut self) {
        self.dropped_time.lose_all();
    }

    /// Adds a process of the current sample. Processes must be added in the order of their ids.
    pub(super) fn add(&mut self, entry: Entry) {
        self.tracker.add(entry);
    }

    /// Keeps the counts of a process whose file cannot be parsed now.
    pub(super) fn keep_counts(&mut self, pid: u32) {
        self.tracker.keep_counts(pid);
    }

    /// Ends the sample, which was taken `at` this time, in 100 ns since boot. `is_alive` reports whether a process with
    /// this id and identity still exists.
    pub(super) fn finish(&mut self, at: u64, ticks: Ticks, is_alive: impl FnMut(u32, u64) -> bool) {
        let Self { tracker, dropped_time } = self;
        tracker.compare(at);
        let [user, system] = dropped_time.update(&tracker.previous, &mut tracker.current, ticks);
        tracker::add(&mut tracker.ended_counts, &[user, system, 0]);
        tracker.finish(is_alive);
    }

    /// The counts of ended processes that no sample shows.
    pub(super) fn ended_counts(&self) -> &Counts {
        self.tracker.ended_counts()
    }

    /// The counts that living processes had in their first sample.
    pub(super) fn started_counts(&self) -> &Counts {
        &self.tracker.started_counts
    }

    /// The time that was taken from records, in 100 ns.
    #[cfg(test)]
    pub(super) fn dropped_time(&self) -> u64 {
        self.dropped_time.time()
    }

    /// The number of records that are kept.
    #[cfg(test)]
    pub(super) fn record_count(&self) -> usize {
        self.dropped_time.records()
    }
}

#[cfg(test)]
mod tests;

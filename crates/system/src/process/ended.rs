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

use self::dropped::{Children, DroppedTime};
use super::exit_record::ExitRecord;
use super::stat::Stat;
use super::ticks::Ticks;

mod dropped;

/// User time and system time in ticks, and page faults.
pub(super) type Counts = [u64; 3];

/// Tracks the counts of processes that end, and of those that start, between samples.
#[derive(Debug, Default)]
pub(super) struct EndedProcesses {
    /// The processes of the current sample, by id.
    current: Vec<Entry>,
    /// The processes of the previous sample, by id.
    previous: Vec<Entry>,
    /// Processes that have disappeared, and whose last counts are not subtracted from any growth yet.
    pending_processes: Vec<Pending>,
    /// The processes that can have reaped an orphan, by their indexes in `current`.
    reapers: Vec<usize>,
    /// The counts of ended processes that no sample shows.
    ended_counts: Counts,
    /// The counts that living processes had in their first sample.
    started_counts: Counts,
    /// When the previous sample was taken, in 100 ns since boot.
    sampled_at: Option<u64>,
    dropped_time: DroppedTime,
}

/// A process in one sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pid: u32,
    parent: u32,
    /// Whether the process has ended, but has not been reaped. Its children then have another parent.
    is_zombie: bool,
    /// Distinguishes processes that reuse an id.
    identity: u64,
    /// When the process started, in 100 ns since boot.
    start: u64,
    /// The counts that the sample shows for the process.
    own: Counts,
    /// The counts of the children that the process has reaped, including the counts of the children that they had reaped.
    reaped: Counts,
    /// The growth of `reaped` since the previous sample, minus what earlier samples have shown.
    growth: Counts,
    /// When the growth began.
    baseline: Baseline,
    children: Children,
}

/// When the growth of a process began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Baseline {
    /// In the previous sample.
    Previous,
    /// At the start of the process, which is later than the previous sample.
    Start,
    /// The process cannot be read now.
    Unread,
    /// There is no growth, because the process was hidden in the previous sample, or there was no previous sample.
    None,
}

/// A process that has disappeared.
#[derive(Clone, Copy, Debug)]
struct Pending {
    entry: Entry,
    /// Whether the parent has ended, so that another ancestor can have reaped the process.
    is_orphan: bool,
    /// Whether the process disappeared in an earlier sample. Its parent was then read before it ended.
    is_late: bool,
}

/// The maximum number of ancestors to examine. Ids are reused, so the recorded parents can form a ring.
const MAX_DEPTH: usize = 256;

/// The start time of a process has the precision of a tick. This is more than a tick, in 100 ns.
const START_TOLERANCE: u64 = 200_000;

impl EndedProcesses {
    /// Begins a sample, after the processes were listed and before they are read. `listed` are their ids, sorted. The
    /// processes of an unfinished sample are dropped.
    pub(super) fn begin(&mut self, listed: &[u32]) {
        self.current.clear();
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
        self.current.push(entry);
    }

    /// Keeps the counts of a process whose file cannot be parsed now.
    pub(super) fn keep_counts(&mut self, pid: u32) {
        if let Some(index) = position(&self.previous, pid) {
            let baseline = Baseline::Unread;
            self.current.push(Entry { growth: Counts::default(), baseline, ..self.previous[index] });
        }
    }

    /// Ends the sample, which was taken `at` this time, in 100 ns since boot. `is_alive` reports whether a process with
    /// this id and identity still exists.
    pub(super) fn finish(&mut self, at: u64, ticks: Ticks, is_alive: impl FnMut(u32, u64) -> bool) {
        match self.sampled_at.replace(at) {
            None => {
                self.current.iter_mut().for_each(|entry| entry.growth = entry.reaped);
                self.add_dropped(ticks);
            }
            Some(sampled_at) => {
                self.compare(sampled_at);
                self.add_dropped(ticks);
                self.subtract_shown();
                self.subtract_unnoticed(is_alive);
            }
        }
        for entry in &self.current {
            add(&mut self.ended_counts, &entry.growth);
        }
        std::mem::swap(&mut self.current, &mut self.previous);
    }

    /// The counts of ended processes that no sample shows.
    pub(super) fn ended_counts(&self) -> &Counts {
        &self.ended_counts
    }

    /// The counts that living processes had in their first sample.
    pub(super) fn started_counts(&self) -> &Counts {
        &self.started_counts
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

    /// Adds the time that the kernel has dropped.
    fn add_dropped(&mut self, ticks: Ticks) {
        let [user, system] = self.dropped_time.update(&self.previous, &mut self.current, ticks);
        add(&mut self.ended_counts, &[user, system, 0]);
    }

    /// Computes the growth of each process and finds the processes that have disappeared.
    fn compare(&mut self, sampled_at: u64) {
        let mut previous = self.previous.iter().peekable();
        let pending_processes = &mut self.pending_processes;
        let mut disappeared = |entry: &Entry| {
            pending_processes.push(Pending { entry: *entry, is_orphan: false, is_late: false });
        };
        for entry in &mut self.current {
            while let Some(old) = previous.next_if(|old| old.pid < entry.pid) {
                disappeared(old);
            }
            let old = previous.next_if(|old| old.pid == entry.pid);
            match old {
                Some(old) if old.identity == entry.identity => {
                    for (index, reaped) in entry.reaped.iter_mut().enumerate() {
                        *reaped = (*reaped).max(old.reaped[index]);
                        entry.growth[index] = *reaped - old.reaped[index];
                    }
                    if entry.baseline != Baseline::Unread {
                        entry.baseline = Baseline::Previous;
                        entry.children = old.children.next();
                    }
                    continue;
                }
                Some(old) => disappeared(old),
                None => {}
            }
            // A process that started earlier was hidden until now. Its counts belong to earlier intervals.
            if entry.start.saturating_add(START_TOLERANCE) >= sampled_at {
                entry.growth = entry.reaped;
                entry.baseline = Baseline::Start;
                add(&mut self.started_counts, &entry.own);
            }
        }
        previous.for_each(disappeared);
    }

    /// Subtracts the last counts of disappeared processes from the growth of the processes that reaped them.
    fn subtract_shown(&mut self) {
        let Self { current, previous, pending_processes, reapers, .. } = self;
        // First the processes that only their parent can have reaped, then orphans.
        pending_processes.retain_mut(|ended| {
            let parent = ended.entry.parent;
            match position(previous, parent).and_then(|index| find_living(current, &previous[index])) {
                Some(index) if !ended.is_orphan && !current[index].is_zombie => {
                    let is_late = std::mem::replace(&mut ended.is_late, true);
                    !current[index].subtract(&ended.entry.shown_counts()) && !is_late
                }
                _ => {
                    ended.is_orphan = true;
                    true
                }
            }
        });
        pending_processes.retain_mut(|ended| {
            if !ended.is_orphan {
                return true;
            }
            find_reapers(current, previous, ended.entry.parent, reapers);
            if subtract_from_all(current, reapers, &ended.entry.shown_counts()) {
                return false;
            }
            let (Some(&nearest), false) = (reapers.first(), ended.is_late) else { return false };
            ended.entry.parent = current[nearest].pid;
            ended.is_late = true;
            true
        });
    }

    /// Finds processes that ended after they were read and before their parent was read. The growth of the parent then
    /// includes counts that this sample also shows for the process.
    fn subtract_unnoticed(&mut self, mut is_alive: impl FnMut(u32, u64) -> bool) {
        for index in 0..self.current.len() {
            let entry = self.current[index];
            // Processes are read in the order of their ids.
            if entry.parent < entry.pid {
                continue;
            }
            let Some(parent) = position(&self.current, entry.parent) else { continue };
            let shown = entry.shown_counts();
            let is_suspect = shown != Counts::default() && self.current[parent].covers(&shown);
            if is_suspect && !is_alive(entry.pid, entry.identity) {
                self.current[parent].subtract(&shown);
                let entry = &mut self.current[index];
                (entry.own, entry.reaped) = (Counts::default(), Counts::default());
            }
        }
    }
}

impl Entry {
    /// `own` are the counts that the sample shows for the process.
    pub(super) fn new(pid: u32, identity: u64, stat: &Stat, ticks: Ticks, own: Counts) -> Self {
        Self {
            pid,
            parent: stat.parent,
            is_zombie: stat.is_zombie(),
            identity,
            start: ticks.hundred_ns(stat.start),
            own,
            reaped: [stat.reaped_user, stat.reaped_system, stat.reaped_faults],
            growth: Counts::default(),
            baseline: Baseline::None,
            children: Children::default(),
        }
    }

    /// The counts that samples have shown for the process and for the children that it reaped.
    fn shown_counts(&self) -> Counts {
        let mut counts = self.own;
        add(&mut counts, &self.reaped);
        counts
    }

    /// Whether the growth is at least as large as these counts.
    fn covers(&self, counts: &Counts) -> bool {
        self.growth.iter().zip(counts).all(|(growth, count)| growth >= count)
    }

    /// Subtracts counts from the growth if it covers them; returns whether it does.
    fn subtract(&mut self, counts: &Counts) -> bool {
        let covers = self.covers(counts);
        if covers {
            self.growth.iter_mut().zip(counts).for_each(|(growth, count)| *growth -= count);
        }
        covers
    }
}

/// The index of a process of the previous sample that is still alive.
fn find_living(current: &[Entry], known: &Entry) -> Option<usize> {
    position(current, known.pid).filter(|&index| current[index].identity == known.identity)
}

/// Lists the processes that can have reaped an orphan with this recorded parent: the living ancestors, nearest first.
fn find_reapers(current: &[Entry], previous: &[Entry], parent: u32, reapers: &mut Vec<usize>) {
    const INIT: u32 = 1;

    reapers.clear();
    let mut pid = parent;
    for _ in 0..MAX_DEPTH {
        match position(previous, pid) {
            Some(index) => {
                let reaper = find_living(current, &previous[index]);
                reapers.extend(reaper.filter(|reaper| !reapers.contains(reaper)));
                pid = previous[index].parent;
            }
            // The parent appeared and ended between two samples.
            None if pid > INIT => pid = INIT,
            None => break,
        }
    }
}

/// Subtracts counts from the growth of several processes if the sum of their growth covers them; returns whether it does.
/// It is unknown which of them reaped the process, but that does not matter for the sum.
fn subtract_from_all(current: &mut [Entry], reapers: &[usize], counts: &Counts) -> bool {
    let mut all = Counts::default();
    reapers.iter().for_each(|&index| add(&mut all, &current[index].growth));
    if all.iter().zip(counts).any(|(growth, count)| growth < count) {
        return false;
    }
    let mut rest = *counts;
    for &index in reapers {
        for (growth, rest) in current[index].growth.iter_mut().zip(&mut rest) {
            let part = (*growth).min(*rest);
            *growth -= part;
            *rest -= part;
        }
    }
    true
}

fn position(entries: &[Entry], pid: u32) -> Option<usize> {
    entries.binary_search_by_key(&pid, |entry| entry.pid).ok()
}

fn add(sums: &mut Counts, counts: &Counts) {
    sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
}

#[cfg(test)]
mod tests;

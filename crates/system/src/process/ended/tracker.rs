//! Counts that the kernel adds to those of the parent when a process is reaped.

use super::dropped::Children;
use crate::process::stat::Stat;
use crate::process::ticks::Ticks;

/// User time and system time in ticks, and page faults; or other counts that the kernel adds to those of the parent.
pub(in super::super) type Counts<const N: usize = 3> = [u64; N];

/// Tracks the counts of processes that end, and of those that start, between samples.
#[derive(Debug)]
pub(in super::super) struct Tracker<const N: usize = 3> {
    /// The processes of the current sample, by id.
    pub(super) current: Vec<Entry<N>>,
    /// The processes of the previous sample, by id.
    pub(super) previous: Vec<Entry<N>>,
    /// Processes that have disappeared, and whose last counts are not subtracted from any growth yet.
    pending_processes: Vec<Pending<N>>,
    /// The processes that can have reaped an orphan, by their indexes in `current`.
    reapers: Vec<usize>,
    /// The counts of ended processes that no sample shows.
    pub(super) ended_counts: Counts<N>,
    /// The counts that living processes had in their first sample.
    pub(super) started_counts: Counts<N>,
    /// When the previous sample was taken, in 100 ns since boot.
    sampled_at: Option<u64>,
}

impl<const N: usize> Default for Tracker<N> {
    fn default() -> Self {
        Self {
            current: Vec::new(),
            previous: Vec::new(),
            pending_processes: Vec::new(),
            reapers: Vec::new(),
            ended_counts: [0; N],
            started_counts: [0; N],
            sampled_at: None,
        }
    }
}

/// A process in one sample.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Entry<const N: usize = 3> {
    pub(super) pid: u32,
    pub(super) parent: u32,
    /// Whether the process has ended, but has not been reaped. Its children then have another parent.
    pub(super) is_zombie: bool,
    /// Distinguishes processes that reuse an id.
    pub(super) identity: u64,
    /// When the process started, in 100 ns since boot.
    pub(super) start: u64,
    /// The counts that the sample shows for the process.
    pub(super) own: Counts<N>,
    /// The counts of the children that the process has reaped, including the counts of the children that they had reaped.
    pub(super) reaped: Counts<N>,
    /// The growth of `reaped` since the previous sample, minus what earlier samples have shown.
    pub(super) growth: Counts<N>,
    /// When the growth began.
    pub(super) baseline: Baseline,
    pub(super) children: Children,
}

/// When the growth of a process began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Baseline {
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
struct Pending<const N: usize> {
    entry: Entry<N>,
    /// Whether the parent has ended, so that another ancestor can have reaped the process.
    is_orphan: bool,
    /// Whether the process disappeared in an earlier sample. Its parent was then read before it ended.
    is_late: bool,
}

/// The maximum number of ancestors to examine. Ids are reused, so the recorded parents can form a ring.
const MAX_DEPTH: usize = 256;

/// The start time of a process has the precision of a tick. This is more than a tick, in 100 ns.
pub(super) const START_TOLERANCE: u64 = 200_000;

impl<const N: usize> Tracker<N> {
    /// Begins a sample. The processes of an unfinished sample are dropped.
    pub(in super::super) fn begin(&mut self) {
        self.current.clear();
    }

    /// Adds a process of the current sample. Processes must be added in the order of their ids.
    pub(in super::super) fn add(&mut self, entry: Entry<N>) {
        self.current.push(entry);
    }

    /// Keeps the counts of a process whose file cannot be parsed now.
    pub(in super::super) fn keep_counts(&mut self, pid: u32) {
        if let Some(index) = position(&self.previous, pid) {
            let baseline = Baseline::Unread;
            self.current.push(Entry { growth: [0; N], baseline, ..self.previous[index] });
        }
    }

    /// Compares the sample, which was taken `at` this time, in 100 ns since boot, with the previous one.
    pub(in super::super) fn compare(&mut self, at: u64) {
        match self.sampled_at.replace(at) {
            None => self.current.iter_mut().for_each(|entry| entry.growth = entry.reaped),
            Some(sampled_at) => self.compare_with_previous(sampled_at),
        }
    }

    /// Ends the sample, after the comparison. `is_alive` reports whether a process with this id and identity still exists.
    pub(in super::super) fn finish(&mut self, is_alive: impl FnMut(u32, u64) -> bool) {
        self.subtract_shown();
        self.subtract_unnoticed(is_alive);
        for entry in &self.current {
            add(&mut self.ended_counts, &entry.growth);
        }
        std::mem::swap(&mut self.current, &mut self.previous);
    }

    /// The counts of ended processes that no sample shows.
    pub(in super::super) fn ended_counts(&self) -> &Counts<N> {
        &self.ended_counts
    }

    /// Computes the growth of each process and finds the processes that have disappeared.
    fn compare_with_previous(&mut self, sampled_at: u64) {
        let mut previous = self.previous.iter().peekable();
        let pending_processes = &mut self.pending_processes;
        let mut disappeared = |entry: &Entry<N>| {
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
            let is_suspect = shown != [0; N] && self.current[parent].covers(&shown);
            if is_suspect && !is_alive(entry.pid, entry.identity) {
                self.current[parent].subtract(&shown);
                let entry = &mut self.current[index];
                (entry.own, entry.reaped) = ([0; N], [0; N]);
            }
        }
    }
}

impl Entry {
    /// A process with its times and page faults. `own` are the counts that the sample shows for the process.
    pub(in super::super) fn new(pid: u32, identity: u64, stat: &Stat, ticks: Ticks, own: Counts) -> Self {
        let reaped = [stat.reaped_user, stat.reaped_system, stat.reaped_faults];
        Self::with_counts(pid, identity, stat, ticks, own, reaped)
    }
}

impl<const N: usize> Entry<N> {
    /// A process with counts of which the kernel keeps one sum, with those of the children that the process has reaped.
    pub(in super::super) fn with_sums(
        pid: u32,
        identity: u64,
        stat: &Stat,
        ticks: Ticks,
        sums: Counts<N>,
    ) -> Self {
        Self::with_counts(pid, identity, stat, ticks, [0; N], sums)
    }

    fn with_counts(
        pid: u32,
        identity: u64,
        stat: &Stat,
        ticks: Ticks,
        own: Counts<N>,
        reaped: Counts<N>,
    ) -> Self {
        Self {
            pid,
            parent: stat.parent,
            is_zombie: stat.is_zombie(),
            identity,
            start: ticks.hundred_ns(stat.start),
            own,
            reaped,
            growth: [0; N],
            baseline: Baseline::None,
            children: Children::default(),
        }
    }

    /// The counts that samples have shown for the process and for the children that it reaped.
    fn shown_counts(&self) -> Counts<N> {
        let mut counts = self.own;
        add(&mut counts, &self.reaped);
        counts
    }

    /// Whether the growth is at least as large as these counts.
    fn covers(&self, counts: &Counts<N>) -> bool {
        self.growth.iter().zip(counts).all(|(growth, count)| growth >= count)
    }

    /// Subtracts counts from the growth if it covers them; returns whether it does.
    fn subtract(&mut self, counts: &Counts<N>) -> bool {
        let covers = self.covers(counts);
        if covers {
            self.growth.iter_mut().zip(counts).for_each(|(growth, count)| *growth -= count);
        }
        covers
    }
}

/// The index of a process of the previous sample that is still alive.
fn find_living<const N: usize>(current: &[Entry<N>], known: &Entry<N>) -> Option<usize> {
    position(current, known.pid).filter(|&index| current[index].identity == known.identity)
}

/// Lists the processes that can have reaped an orphan with this recorded parent: the living ancestors, nearest first.
fn find_reapers<const N: usize>(
    current: &[Entry<N>],
    previous: &[Entry<N>],
    parent: u32,
    reapers: &mut Vec<usize>,
) {
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
fn subtract_from_all<const N: usize>(
    current: &mut [Entry<N>],
    reapers: &[usize],
    counts: &Counts<N>,
) -> bool {
    let mut all = [0; N];
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

pub(super) fn position<const N: usize>(entries: &[Entry<N>], pid: u32) -> Option<usize> {
    entries.binary_search_by_key(&pid, |entry| entry.pid).ok()
}

pub(super) fn add<const N: usize>(sums: &mut Counts<N>, counts: &Counts<N>) {
    sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
}

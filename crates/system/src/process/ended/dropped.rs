//! Processor time of ended processes that the kernel does not add to their parent.
//!
//! The kernel drops the time of a process if the parent ignores `SIGCHLD` or has set `SA_NOCLDWAIT`, and that of a
//! kernel thread. The kernel's records of ended processes show the dropped time: where a parent's counts of reaped children
//! grow by less than the records of its ended children, the rest was dropped.
//!
//! Nothing is counted twice, because a record is used only if no other process than the parent can have reaped the process,
//! and if the parent can have done so in no other interval. The conditions are:
//!
//! - The record was received before the processes were listed, and the process is not in the list. So the kernel released
//!   it before the parent was read. A process that is still listed, such as a zombie, waits for the next sample.
//! - The record was received after the parent was read for the previous sample. If this is uncertain, the previous growth
//!   that no record explains is subtracted first.
//! - The parent existed during the whole interval, or from its own start to the end of the interval. The children of a
//!   parent that ended got another parent.
//!
//! Records lack the time in which the kernel releases the memory of a process. So the time of processes that were reaped
//! exceeds that of their records, and the computed dropped time is too low rather than too high.

use super::tracker::{Baseline, Entry, position};
use crate::process::exit_record::ExitRecord;
use crate::process::ticks::Ticks;

/// The maximum number of records that are kept between samples.
const MAX_RECORDS: usize = 1 << 17;

/// The precision of the counts of reaped children, in ticks: the kernel rounds user time and system time down.
const TOLERANCE: u64 = 2;

/// Computes the dropped time from records of ended processes.
#[derive(Debug, Default)]
pub(super) struct DroppedTime {
    /// In the order of arrival, which is the order in which the processes ended.
    records: Vec<Received>,
    /// The number of records that were received before the processes were listed.
    before_list: usize,
    /// The ids of the listed processes, sorted.
    listed: Vec<u32>,
    /// Whether records were lost since the processes of the previous sample were read.
    is_lossy: bool,
    /// Whether records were lost since the processes were listed.
    is_lossy_since_list: bool,
    /// The ended processes with the indexes of their records, sorted.
    by_process: Vec<(u32, usize)>,
    /// The dropped user time and system time so far, in 100 ns.
    time: [u64; 2],
    /// The part of `time` that [`update`](Self::update) has returned, in ticks.
    returned: [u64; 2],
}

/// A record that was received and not yet attributed.
#[derive(Debug)]
struct Received {
    record: ExitRecord,
    /// Whether an earlier sample has listed a process with this id after the record was received.
    was_listed: bool,
    /// User time and system time that samples have shown of the process, in ticks.
    shown: [u64; 2],
}

/// What the records show about the children of a process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Children {
    /// User time and system time, in 100 ns, of the children that ended in this interval and that only this process can have
    /// reaped, minus what earlier samples have shown.
    gone: [u64; 2],
    /// The time, in 100 ns, of the children that can belong to this interval or to the next one.
    uncertain: u64,
    /// By how much the records exceed the growth of the process, in 100 ns. If negative, the part of the growth that remains
    /// for records of uncertain processes.
    deficit: i64,
}

impl DroppedTime {
    /// Adds a record.
    pub(super) fn add(&mut self, record: ExitRecord) {
        if self.records.len() < MAX_RECORDS {
            self.records.push(Received { record, was_listed: false, shown: [0; 2] });
        } else {
            self.lose_some();
        }
    }

    /// Notes that records were lost.
    pub(super) fn lose_some(&mut self) {
        self.is_lossy = true;
        self.is_lossy_since_list = true;
    }

    /// Drops all records, because they will not be complete.
    pub(super) fn lose_all(&mut self) {
        self.records.clear();
        self.before_list = 0;
        self.lose_some();
    }

    /// Sets the list of processes, sorted. Records that are added later can be of processes in the list.
    pub(super) fn set_listed(&mut self, listed: &[u32]) {
        self.listed.clear();
        self.listed.extend_from_slice(listed);
        self.before_list = self.records.len();
        self.is_lossy_since_list = false;
    }

    /// Compares the records with the growth of the processes. Returns the dropped time, in ticks.
    pub(super) fn update(&mut self, previous: &[Entry], current: &mut [Entry], ticks: Ticks) -> [u64; 2] {
        self.sort();
        let mut index = 0;
        let Self { records, before_list, listed, by_process, is_lossy, time, .. } = self;
        records.retain_mut(|received| {
            let ended = Ended { index, by_process, before_list: *before_list, listed };
            ended.update_shown(received, previous);
            let is_kept = index >= *before_list || ended.attribute(received, current, *is_lossy, ticks);
            index += 1;
            if is_kept && let Some(parent) = position(current, received.record.parent) {
                let uncertain = &mut current[parent].children.uncertain;
                *uncertain = uncertain.saturating_add(received.record.time());
            }
            is_kept
        });
        *before_list = 0;
        *is_lossy = self.is_lossy_since_list;
        for entry in current {
            let dropped = entry.compare_children(ticks);
            time.iter_mut().zip(dropped).for_each(|(time, dropped)| *time = time.saturating_add(dropped));
        }
        self.whole_ticks(ticks)
    }

    #[cfg(test)]
    pub(super) fn records(&self) -> usize {
        self.records.len()
    }

    #[cfg(test)]
    pub(super) fn time(&self) -> u64 {
        self.time[0] + self.time[1]
    }

    fn sort(&mut self) {
        let records = self.records.iter().enumerate();
        self.by_process.clear();
        self.by_process.extend(records.map(|(index, received)| (received.record.process, index)));
        self.by_process.sort_unstable();
    }

    /// The whole ticks that were added to the time since the last call.
    fn whole_ticks(&mut self, ticks: Ticks) -> [u64; 2] {
        std::array::from_fn(|index| {
            let all = ticks.ticks_in(self.time[index]);
            all - std::mem::replace(&mut self.returned[index], all)
        })
    }
}

/// The position of a record among the others.
struct Ended<'a> {
    /// The index of the record.
    index: usize,
    /// The process id and the index of each record, sorted.
    by_process: &'a [(u32, usize)],
    /// The number of records that arrived before the processes were listed.
    before_list: usize,
    /// The ids of the listed processes.
    listed: &'a [u32],
}

impl Ended<'_> {
    /// Sets what the previous sample has shown for the process. The process can be missing in the current sample although its
    /// record is not attributed yet, because it has ended since the processes were listed.
    fn update_shown(&self, received: &mut Received, previous: &[Entry]) {
        let process = received.record.process;
        let Some(index) = position(previous, process).filter(|_| !self.ended_earlier(process)) else {
            return;
        };
        let [user, system, _] = previous[index].own;
        received.shown = [received.shown[0].max(user), received.shown[1].max(system)];
    }

    /// Adds the process's time to its parent if only the parent can have reaped it, and only in this interval. Returns whether
    /// the record must be kept, because a later sample will decide this.
    fn attribute(
        &self,
        received: &mut Received,
        current: &mut [Entry],
        is_lossy: bool,
        ticks: Ticks,
    ) -> bool {
        let ExitRecord { process, parent, user, system } = received.record;
        // A parent that ended later did not necessarily reap the process.
        let Some(parent) = position(current, parent).filter(|_| self.next(parent).is_none()) else {
            return false;
        };
        match current[parent].baseline {
            _ if current[parent].is_zombie => return false,
            Baseline::None => return false,
            // The parent could be mistaken for an earlier process with its id, whose record was lost.
            Baseline::Start if is_lossy => return false,
            Baseline::Unread => return true,
            Baseline::Start | Baseline::Previous => {}
        }
        let is_last = self.next(process).is_none_or(|next| next >= self.before_list);
        if is_last && self.listed.binary_search(&process).is_ok() {
            // If the process is not a zombie one sample later, it is another process, or it takes long to end.
            let is_zombie = position(current, process).is_none_or(|index| current[index].is_zombie);
            let is_unclear = is_zombie || !received.was_listed;
            received.was_listed = true;
            return is_unclear;
        }
        let [shown_user, shown_system] = received.shown;
        let shown = ticks.hundred_ns(shown_user.saturating_add(shown_system));
        let time = user.saturating_add(system).saturating_sub(shown);
        let system = system.saturating_sub(ticks.hundred_ns(shown_system)).min(time);
        let gone = &mut current[parent].children.gone;
        *gone = [gone[0].saturating_add(time - system), gone[1].saturating_add(system)];
        false
    }

    /// The index of the next record of a process with this id.
    fn next(&self, process: u32) -> Option<usize> {
        let next = self.by_process.partition_point(|&entry| entry <= (process, self.index));
        self.by_process.get(next).filter(|&&(other, _)| other == process).map(|&(_, index)| index)
    }

    /// Whether a process with this id ended before this one.
    fn ended_earlier(&self, process: u32) -> bool {
        let first = self.by_process.partition_point(|&entry| entry < (process, 0));
        self.by_process.get(first).is_some_and(|&(other, index)| other == process && index < self.index)
    }
}

impl Entry {
    /// The time of ended children that the kernel has not added to this process: user time and system time in 100 ns.
    fn compare_children(&mut self, ticks: Ticks) -> [u64; 2] {
        let Children { gone, uncertain, deficit } = self.children;
        let [user, system] = gone;
        let time = user.saturating_add(system);
        let growth = ticks.hundred_ns(self.growth[0].saturating_add(self.growth[1]));
        let mut deficit = match self.baseline {
            Baseline::Unread => deficit,
            // The growth is unknown, and can be of any process whose record is uncertain.
            Baseline::None => i64::MIN,
            Baseline::Start | Baseline::Previous => {
                deficit.saturating_add_unsigned(time).saturating_sub_unsigned(growth)
            }
        };
        // The tolerance is never counted as dropped: later growth can show that it was caused by rounding.
        let tolerance = ticks.hundred_ns(TOLERANCE) as i64;
        let dropped = deficit.saturating_sub(tolerance).max(0) as u64;
        deficit = deficit.min(tolerance);
        if self.baseline != Baseline::Unread {
            // Growth beyond the records can only come from processes whose records are uncertain.
            deficit = deficit.max(0_i64.saturating_sub_unsigned(uncertain));
        }
        self.children = Children { gone: [0; 2], uncertain: 0, deficit };
        let system = (u128::from(dropped) * u128::from(system)).checked_div(time.into()).unwrap_or_default();
        let system = (system as u64).min(dropped);
        [dropped - system, system]
    }
}

impl Children {
    /// The state of the process in its next sample.
    pub(super) fn next(self) -> Self {
        Self { deficit: self.deficit, ..Self::default() }
    }
}

#[cfg(test)]
mod tests;

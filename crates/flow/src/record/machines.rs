//! Recording samples of several machines into an archive.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tachograph_counters::IgnorePoison;
use tachograph_counters::sample::{Group, Sample};
use tachograph_logs::archive::Storage;

use super::archive::Pool;
use super::segment::copy_group;
use super::{ArchiveNotice, ArchiveRecordOptions, ArchiveRecorder, DiskFiles, RecordSummary};
use crate::{FlowError, Sink};

/// Writes samples of several machines into an archive. Each machine has a folder, a recorder and segments of its own.
///
/// The segments of different machines end at different times, so that converting them is spread over the duration of a
/// segment: the name of a machine determines when its segments end.
///
/// The groups of a machine must be consecutive in a sample, as those of a
/// [`MachinesSource`](crate::live::MachinesSource) are.
pub struct MachinesArchive {
    machines: Vec<MachineArchive>,
    /// Buffer for the part of a sample that belongs to one machine.
    machine_sample: Sample,
    summary: RecordSummary,
}

/// An event of an archive of several machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineNotice {
    /// The name of the machine.
    pub machine: Arc<str>,
    /// The event.
    pub notice: ArchiveNotice,
    /// The number of other machines on which the same event has occurred.
    pub others: usize,
}

impl fmt::Display for MachineNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r"\\{}", self.machine)?;
        match self.others {
            0 => {}
            1 => f.write_str(" and another machine")?,
            others => write!(f, " and {others} other machines")?,
        }
        write!(f, ": {}", self.notice)
    }
}

/// The recorder of one machine.
struct MachineArchive {
    machine: Arc<str>,
    recorder: ArchiveRecorder,
}

impl MachinesArchive {
    /// Opens or creates an archive for these machines, as [`ArchiveRecorder::create`] does for each of them. `options` apply to
    /// every machine; only the machine's name and the times at which its segments end are replaced.
    ///
    /// # Errors
    ///
    /// The first error of [`ArchiveRecorder::create`].
    pub fn create(
        options: &ArchiveRecordOptions,
        machines: &[Arc<str>],
        storage: &Arc<dyn Storage>,
    ) -> Result<Self, FlowError> {
        let pool = Pool::new(MAX_PARALLEL);
        let create = |machine: &Arc<str>| {
            let options = ArchiveRecordOptions {
                machine: machine.to_string(),
                segment_offset: segment_offset(machine, options.segment_time),
                ..options.clone()
            };
            let (storage, pool) = (Arc::clone(storage), Arc::clone(&pool));
            let recorder = ArchiveRecorder::with_pool(DiskFiles, options, storage, pool)?;
            Ok(MachineArchive { machine: Arc::clone(machine), recorder })
        };
        let mut machines: Vec<_> = machines.iter().collect();
        let machines = in_parallel(&mut machines, |machine| create(machine));
        let machines = machines.into_iter().collect::<Result<Vec<_>, FlowError>>()?;
        let folder = options.folder.clone();
        let summary =
            RecordSummary { first_file: folder.clone(), last_file: folder, ..RecordSummary::default() };
        Ok(Self { machines, machine_sample: Sample::default(), summary })
    }

    /// The results so far, of all machines together. A sample of several machines counts as one.
    pub fn summary(&self) -> &RecordSummary {
        &self.summary
    }

    /// The largest number of samples of a machine that were not written; see [`ArchiveRecorder::dropped`].
    pub fn dropped(&self) -> u64 {
        self.machines.iter().map(|machine| machine.recorder.dropped()).max().unwrap_or(0)
    }

    /// The notices since the last call. If the same event occurred on several machines, such as a pause because the disk is
    /// full, there is one notice, with the values of the first machine.
    pub fn take_notices(&mut self) -> Vec<MachineNotice> {
        let machines = self.machines.iter_mut();
        merge_notices(
            machines.map(|MachineArchive { machine, recorder }| (&*machine, recorder.take_notices())),
        )
    }

    /// Writes the groups of a machine.
    fn push_groups(
        &mut self,
        index: usize,
        head: &Sample,
        groups: &[Group],
        free: u64,
    ) -> Result<(), FlowError> {
        let Some(machine) = self.machines.get_mut(index) else { return Ok(()) };
        let part = &mut self.machine_sample;
        part.copy_head(head);
        part.boot_time = groups.first().map_or(head.boot_time, |group| head.boot_time_of(group));
        part.groups.truncate(groups.len());
        for (index, group) in groups.iter().enumerate() {
            if index == part.groups.len() {
                part.groups.push(Group::new(Arc::clone(&group.set)));
            }
            copy_group(&mut part.groups[index], group);
        }
        machine.recorder.push_with_free(part, free)
    }

    fn update_summary(&mut self, sample: &Sample) {
        let summaries = || self.machines.iter().map(|machine| machine.recorder.summary());
        let summary = RecordSummary {
            values: summaries().map(|part| part.values).sum(),
            bytes: summaries().map(|part| part.bytes).sum(),
            counters: summaries().map(|part| part.counters).sum(),
            files: summaries().map(|part| part.files).sum(),
            samples: self.summary.samples + 1,
            first: self.summary.first.or(Some(sample.at)),
            last: Some(sample.at),
            ..std::mem::take(&mut self.summary)
        };
        self.summary = summary;
    }
}

impl Sink for MachinesArchive {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        let mut last = None;
        // Determined only once, because the folders of all machines are in the same archive.
        let free = self.machines.first().map_or(u64::MAX, |machine| machine.recorder.free_bytes());
        for range in machine_ranges(&sample.groups) {
            let groups = &sample.groups[range];
            let name = &groups[0].set.machine;
            // The machines of a sample are usually in the order of the recorders.
            let next = last.map_or(0, |last| last + 1);
            let is_named = |machine: &MachineArchive| machine.machine == *name;
            let index = match self.machines.get(next).is_some_and(is_named) {
                true => Some(next),
                false => self.machines.iter().position(is_named),
            };
            let Some(index) = index else { continue };
            self.push_groups(index, sample, groups, free)?;
            last = Some(index);
        }
        if last.is_some() {
            self.update_summary(sample);
        }
        Ok(())
    }

    /// Completes and converts the open segments of all machines.
    fn finish(&mut self) -> Result<(), FlowError> {
        let finished = in_parallel(&mut self.machines, |machine| machine.recorder.finish());
        let summaries = || self.machines.iter().map(|machine| machine.recorder.summary());
        self.summary.files = summaries().map(|part| part.files).sum();
        self.summary.bytes = summaries().map(|part| part.bytes).sum();
        self.summary.lost_samples = summaries().map(|part| part.lost_samples).sum();
        finished.into_iter().collect()
    }
}

/// Merges notices of the same kind. A machine counts once for each.
fn merge_notices<'a>(
    of_machines: impl Iterator<Item = (&'a Arc<str>, Vec<ArchiveNotice>)>,
) -> Vec<MachineNotice> {
    let mut merged: Vec<MachineNotice> = Vec::new();
    // The last machine that was counted for each of them.
    let mut counted: Vec<&Arc<str>> = Vec::new();
    for (machine, notices) in of_machines {
        for notice in notices {
            match merged.iter().position(|known| known.notice.is_like(&notice)) {
                Some(index) if counted[index] != machine => {
                    merged[index].others += 1;
                    counted[index] = machine;
                }
                Some(_) => {}
                None => {
                    merged.push(MachineNotice { machine: Arc::clone(machine), notice, others: 0 });
                    counted.push(machine);
                }
            }
        }
    }
    merged
}

/// The ranges of consecutive groups that belong to the same machine.
fn machine_ranges(groups: &[Group]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let machine = &groups.get(start)?.set.machine;
        let is_same =
            |group: &&Group| Arc::ptr_eq(&group.set.machine, machine) || group.set.machine == *machine;
        let end = start + groups[start..].iter().take_while(is_same).count();
        Some(std::mem::replace(&mut start, end)..end)
    })
}

/// How much later than at multiples of `segment_time` the segments of a machine end. Computed from a hash (FNV-1a) of the
/// machine's name, so that it differs between machines but is the same after a restart.
fn segment_offset(machine: &str, segment_time: Duration) -> Duration {
    let hash = machine
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
    // Similar names have similar hashes: this step of MurmurHash spreads the differences over all bits.
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    segment_time.mul_f64(f64::from(((hash ^ (hash >> 33)) >> 32) as u32) / (f64::from(u32::MAX) + 1.0))
}

/// Number of machines that are opened, converted or maintained at the same time. These tasks usually wait for the disk.
const MAX_PARALLEL: usize = 8;

/// Calls `work` with each item, on several threads. The results are in the order of the items.
fn in_parallel<T: Send, R: Send>(items: &mut [T], work: impl Fn(&mut T) -> R + Sync) -> Vec<R> {
    let chunk = items.len().div_ceil(MAX_PARALLEL).max(1);
    let work = &work;
    let in_order = |part: &mut [T]| part.iter_mut().map(work).collect::<Vec<_>>();
    // Each part is processed by the first thread that is free. If no thread can be started, this thread processes all parts.
    let parts: Vec<_> = items.chunks_mut(chunk).map(|part| Mutex::new((part, Vec::new()))).collect();
    let next = AtomicUsize::new(0);
    let run = || {
        while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (items, results) = &mut *part.lock().ignore_poison();
            *results = in_order(items);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..parts.len() {
            // If a thread panics, the scope panics when it ends.
            let _ = std::thread::Builder::new().spawn_scoped(scope, run);
        }
        run();
    });
    parts.into_iter().flat_map(|part| part.into_inner().ignore_poison().1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_machines_end_at_staggered_times() {
        let time = Duration::from_secs(600);
        let mut tenths = [0; 10];
        for machine in 0..1000 {
            let offset = segment_offset(&format!("web{machine}"), time);
            assert!(offset < time);
            tenths[(offset.as_secs() / 60) as usize] += 1;
        }
        assert!(tenths.iter().all(|count| (50..150).contains(count)), "{tenths:?}");
        assert_eq!(segment_offset("web1", time), segment_offset("web1", time));
    }

    /// A machine that pauses, resumes and pauses again is one machine.
    #[test]
    fn notices_count_machines() {
        let machines: [Arc<str>; 3] = ["a".into(), "b".into(), "c".into()];
        let (paused, resumed) = (ArchiveNotice::Paused { free: 1, min: 2 }, ArchiveNotice::Resumed);
        let all_notices = || vec![paused.clone(), resumed.clone(), paused.clone()];
        let counts = |count: usize| -> Vec<usize> {
            let notices = merge_notices(machines.iter().take(count).map(|machine| (machine, all_notices())));
            assert!(notices.iter().all(|notice| *notice.machine == *"a"));
            notices.iter().map(|notice| notice.others).collect()
        };
        assert_eq!(
            [counts(0), counts(1), counts(2), counts(3)],
            [vec![], vec![0, 0], vec![1, 1], vec![2, 2]]
        );
    }

    #[test]
    fn parallel_results_are_in_order() {
        for count in [0, 1, 2, 7, 100] {
            let mut items: Vec<usize> = (0..count).collect();
            let results = in_parallel(&mut items, |item| *item * 2);
            assert_eq!(results, (0..count).map(|item| item * 2).collect::<Vec<_>>());
        }
    }
}

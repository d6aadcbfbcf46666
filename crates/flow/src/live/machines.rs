//! Samples of several machines, none of which delays the others.

mod exchanges;
mod readers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::CounterSet;
use tachograph_counters::{RawValue, Status};
use tachograph_perflib::{Clock, Registry};

use super::sample_times::SampleTimes;
use super::{Collect, LiveReport, LiveSource, description_of};
use crate::Selection;
use readers::{Reader, Readers, Urgency, Work};

pub use exchanges::{Arrival, Exchanges};

/// A machine, and the source that reads it.
pub struct MachineMember {
    /// The source. Its registry names the machine.
    pub source: LiveSource,
    /// Returns when the machine booted, in UTC; 0 if unknown. It is called after each sample.
    pub boot_time: Box<dyn Fn() -> FileTime + Send>,
}

/// Takes samples of several machines at the same time. If a machine does not answer within the time limit, its values are
/// missing from the sample, with the status [`Status::NO_MACHINE`]. Until it answers again, samples wait for it only for a
/// quarter of the limit. A sample has the time of this machine, and each group has the clocks of its own machine.
///
/// The calling thread reads all connected machines at once ([`Exchanges`]). Other threads read the rest, such as machines to
/// which a connection must be opened.
pub struct MachinesSource {
    members: Vec<Member>,
    exchanges: Option<Box<dyn Exchanges>>,
    readers: Readers,
    /// The number of the current sample. Answers for earlier samples are too late.
    number: u64,
    awaited: Awaited,
    /// Maximum time that a sample waits.
    max_wait: Duration,
    /// The reason for missing values of a machine that does not answer.
    late_reason: Arc<str>,
    clock: Clock,
    times: SampleTimes,
    bias_minutes: i32,
    report: LiveReport,
    /// Buffer for the answers of [`Exchanges::wait`].
    arrived: Vec<Arrival>,
    /// See [`any_registry`](Self::any_registry).
    registry: Option<Arc<Registry>>,
}

/// How far a machine has come with the current sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// The request was sent by [`Exchanges::begin`].
    Exchanging,
    /// A thread takes the sample.
    Reading,
    /// The sample was taken.
    Taken,
    /// A thread is taking a sample that is too late.
    Late,
}

/// The numbers of machines that threads are reading for the current sample.
#[derive(Clone, Copy, Debug, Default)]
struct Awaited {
    /// Machines that were read for the previous sample.
    usual: usize,
    /// Machines that could not be read for the previous sample; see [`Member::is_silent`].
    silent: usize,
}

impl Awaited {
    fn count_of(&mut self, member: &Member) -> &mut usize {
        if member.is_silent { &mut self.silent } else { &mut self.usual }
    }
}

struct Member {
    machine: Arc<str>,
    /// Whether the machine's samples are taken before those of other machines that wait for a thread.
    is_first: bool,
    progress: Progress,
    /// Whether the last answer was late, or reported the machine as unreachable.
    is_silent: bool,
    /// `None` while a thread has it.
    reader: Option<Box<Reader>>,
    /// The paths to set when the thread has returned the reader.
    new_paths: Option<Vec<PathPattern>>,
    /// Whether the next request differs from the last one.
    is_changed: bool,
    /// Groups without values, for samples in which the machine is late.
    groups: Vec<Group>,
    /// The descriptions of the groups of the last answer, which are also used for a sample without an answer.
    descriptions: Vec<Arc<CounterSet>>,
}

impl MachinesSource {
    /// A source of these machines. They have `max_wait` to answer, but at most a second. `bias_minutes` is the number of minutes
    /// to add to local time to get UTC. All sources share `report`.
    pub fn new(
        members: Vec<MachineMember>,
        max_wait: Duration,
        bias_minutes: i32,
        report: &LiveReport,
    ) -> Self {
        let members = members.into_iter().map(|member| Member::new(member, max_wait, report));
        let late = format!("no answer within {} ms: the machine is far away or busy", max_wait.as_millis());
        let mut source = Self {
            members: members.collect(),
            exchanges: None,
            readers: Readers::default(),
            number: 0,
            awaited: Awaited::default(),
            max_wait,
            late_reason: late.into(),
            clock: Clock::of_this_machine(),
            times: SampleTimes::default(),
            bias_minutes,
            report: report.clone(),
            arrived: Vec::new(),
            registry: None,
        };
        source.update_registry();
        source
    }

    /// Sets what to do about machines that do not answer in time; it is added to the reason for their missing values.
    pub fn set_advice(&mut self, advice: &str) {
        self.late_reason = format!("{}; {advice}", self.late_reason).into();
    }

    /// Sets the exchanges with connected machines. They identify a machine by the index of its member.
    pub fn set_exchanges(&mut self, exchanges: Box<dyn Exchanges>) {
        self.exchanges = Some(exchanges);
    }

    /// Gives one machine precedence, so that its samples never wait for a thread that other machines use. `machine` is the
    /// index of a member that is read without a connection.
    pub fn set_first(&mut self, machine: usize) {
        if let Some(member) = self.members.get_mut(machine) {
            member.is_first = true;
        }
    }

    /// The paths that name instances and select a counter, but had no matching instance in the last sample, each with its
    /// machine.
    pub fn missing_instances(&self) -> Vec<String> {
        let of_machine = |member: &Member| {
            let missing = member.reader.as_ref().map(|reader| reader.source.missing_instances());
            let name = Arc::clone(&member.machine);
            missing.unwrap_or_default().into_iter().map(move |path| format!(r"\\{name}{path}"))
        };
        self.members.iter().flat_map(of_machine).collect()
    }

    /// Replaces the paths of all machines, as [`LiveSource::set_paths`] does. A path that names a machine applies only to
    /// that machine, any other path to all machines. A path is matched if it selects a counter of any machine. Suggestions
    /// are from the sets of one machine. If a thread is reading a machine, its paths are set afterwards, and count as matched.
    pub fn set_paths(&mut self, paths: &[PathPattern]) -> Selection {
        let selection = Selection::new(paths.to_vec());
        if let Some(registry) = &self.registry {
            for info in registry.counter_sets() {
                selection.record_set(&description_of(registry.machine(), info));
            }
        }
        for member in &mut self.members {
            let machine = Arc::clone(&member.machine);
            let applies_to_machine = |path: &&PathPattern| path.matches_machine(&machine);
            let own = paths.iter().filter(applies_to_machine).map(PathPattern::without_machine).collect();
            let matched = member.set_paths(own);
            let indexes =
                (0..).zip(paths).filter(|(_, path)| applies_to_machine(path)).map(|(index, _)| index);
            indexes
                .zip(matched)
                .filter(|(_, matched)| *matched)
                .for_each(|(index, _)| selection.record_match(index));
        }
        selection
    }

    /// The registry of one of the machines that have counter sets, if any: the agents of a fleet have largely the same sets.
    pub fn any_registry(&self) -> Option<&Arc<Registry>> {
        self.registry.as_ref()
    }

    /// Updates `registry`. The present one is kept as long as its machine still has it, or is being read. Otherwise, it is
    /// replaced by that of the first machine that has counter sets and that no thread is reading.
    fn update_registry(&mut self) {
        let registry_of = |member: &'_ Member| {
            let registry = member.reader.as_ref()?.source.registry();
            registry.counter_sets().next().is_some().then(|| Arc::clone(registry))
        };
        let is_known = self.registry.as_ref().is_some_and(|known| {
            let member = self.members.iter().find(|member| member.machine == *known.machine());
            let is_same = |reader: &Reader| Arc::ptr_eq(reader.source.registry(), known);
            member.is_some_and(|member| member.reader.as_deref().is_none_or(is_same))
        });
        if !is_known {
            self.registry = self.members.iter().find_map(registry_of).or(self.registry.take());
        }
    }

    /// The descriptions of the groups of the next sample.
    pub fn descriptions(&self) -> Vec<Arc<CounterSet>> {
        let of_member = |member: &Member| match &member.reader {
            Some(reader) => reader.source.descriptions().cloned().collect(),
            None => member.descriptions.clone(),
        };
        self.members.iter().flat_map(of_member).collect()
    }

    /// Sends the requests of the current sample; returns how many machines exchange messages. Threads read the others.
    fn begin(&mut self) -> usize {
        let mut exchanging = 0;
        self.awaited = Awaited::default();
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            if member.reader.is_none() {
                member.progress = Progress::Late;
                continue;
            }
            let can_exchange = !std::mem::take(&mut member.is_changed);
            if can_exchange && self.exchanges.as_mut().is_some_and(|exchanges| exchanges.begin(index)) {
                member.progress = Progress::Exchanging;
                member.is_silent = false;
                exchanging += 1;
            } else {
                self.read(index, Progress::Reading);
            }
        }
        exchanging
    }

    /// Takes a machine's sample on a thread.
    fn read(&mut self, index: usize, progress: Progress) {
        let member = &mut self.members[index];
        member.progress = progress;
        if let Some(reader) = member.reader.take() {
            if progress == Progress::Reading {
                *self.awaited.count_of(member) += 1;
            }
            let urgency = match member {
                Member { is_first: true, .. } => Urgency::First,
                Member { is_silent: true, .. } => Urgency::Silent,
                // The thread waits for a late answer.
                _ if progress == Progress::Late => Urgency::Silent,
                _ => Urgency::Usual,
            };
            self.readers.start(Work { machine: index, number: self.number, urgency, reader });
        }
    }

    /// Receives the answers of `exchanging` machines. A thread reads a machine whose answer is not complete.
    fn receive(&mut self, mut exchanging: usize, until: Instant) {
        let mut arrived = std::mem::take(&mut self.arrived);
        while exchanging > 0 {
            arrived.clear();
            if let Some(exchanges) = &mut self.exchanges {
                exchanges.wait(until, &mut arrived);
            }
            if arrived.is_empty() {
                break;
            }
            for &Arrival { machine, is_complete } in &arrived {
                let Some(member) = self.members.get_mut(machine) else { continue };
                if member.progress != Progress::Exchanging {
                    continue;
                }
                exchanging -= 1;
                match is_complete {
                    true => member.collect_received(self.max_wait),
                    false => self.read(machine, Progress::Reading),
                }
            }
        }
        self.arrived = arrived;
        if exchanging > 0 {
            // A thread waits for the rest of the answer, which is too late.
            for index in 0..self.members.len() {
                if self.members[index].progress == Progress::Exchanging {
                    self.read(index, Progress::Late);
                }
            }
        }
    }

    /// Waits for the threads until `until`, or only until `soon` if they all read machines that could not be read last time.
    /// Those threads keep working, so that a later sample finds the machine connected.
    fn await_threads(&mut self, soon: Instant, until: Instant) {
        loop {
            let limit = match self.awaited {
                Awaited { usual: 1.., .. } => until,
                Awaited { silent: 1.., .. } => soon,
                _ => return,
            };
            let Some(work) = self.readers.receive(limit) else { return };
            self.take_back(work);
        }
    }

    /// Takes back a reader from a thread.
    fn take_back(&mut self, Work { machine, number, reader, .. }: Work) {
        let Some(member) = self.members.get_mut(machine) else { return };
        let is_current = number == self.number && member.progress == Progress::Reading;
        if is_current {
            *self.awaited.count_of(member) -= 1;
        }
        member.take_back(reader, is_current);
    }

    /// Removes the values of the machines that are late. Reports a machine when it becomes late, unless its source has already
    /// reported why it cannot be read.
    fn mark_late(&mut self) {
        for member in self.members.iter_mut().filter(|member| member.progress != Progress::Taken) {
            if !std::mem::replace(&mut member.is_silent, true) {
                self.report.add_machine_error(&member.machine, &self.late_reason);
            }
            member.mark_late();
        }
    }
}

impl Collect for MachinesSource {
    fn collect(&mut self, sample: &mut Sample) {
        self.number += 1;
        let start = Instant::now();
        // Takes back the readers whose samples were late.
        while let Some(work) = self.readers.receive(start) {
            self.take_back(work);
        }
        let wall = self.clock.now().wall;
        let exchanging = self.begin();
        let until = start + self.max_wait;
        self.receive(exchanging, until);
        // The sources stop waiting at `max_wait`; the rest of the time is for delivering the sample.
        self.await_threads(start + self.max_wait / 4, until + self.max_wait / 8);
        self.mark_late();
        let mut count = 0;
        for member in &mut self.members {
            for group in member.groups() {
                match sample.groups.get_mut(count) {
                    Some(known) => std::mem::swap(known, group),
                    None => sample.groups.push(std::mem::replace(group, Group::new(Arc::clone(&group.set)))),
                }
                count += 1;
            }
        }
        self.update_registry();
        sample.groups.truncate(count);
        sample.is_baseline = false;
        sample.log = 0;
        // Each group has the boot time of its machine.
        sample.boot_time = FileTime(0);
        sample.at = Moment { utc: self.times.next(wall), bias_minutes: self.bias_minutes };
    }

    fn report(&self) -> LiveReport {
        self.report.clone()
    }

    fn is_clock_behind(&self) -> bool {
        self.times.is_clock_behind
    }
}

impl Member {
    fn new(member: MachineMember, max_wait: Duration, report: &LiveReport) -> Self {
        let MachineMember { mut source, boot_time } = member;
        source.limit_wait(max_wait);
        source.set_report(report.clone());
        Self {
            machine: Arc::clone(source.registry().machine()),
            is_first: false,
            progress: Progress::Late,
            is_silent: false,
            descriptions: source.descriptions().cloned().collect(),
            reader: Some(Box::new(Reader { source, boot_time, sample: Sample::default() })),
            new_paths: None,
            is_changed: true,
            groups: Vec::new(),
        }
    }

    /// Sets the paths of the machine; returns for each whether it selects a counter.
    fn set_paths(&mut self, paths: Vec<PathPattern>) -> Vec<bool> {
        self.is_changed = true;
        let Some(reader) = &mut self.reader else {
            let matched = vec![true; paths.len()];
            self.new_paths = Some(paths);
            return matched;
        };
        let resolved: Vec<_> = paths.iter().map(|path| reader.source.registry().resolve_path(path)).collect();
        let matched = reader.source.select_paths(&resolved);
        self.descriptions = reader.source.descriptions().cloned().collect();
        matched
    }

    /// Takes a sample from the answer that has arrived. If it turns out to need another exchange, the sample has no values,
    /// and a thread takes the next one: waiting here would delay all machines.
    fn collect_received(&mut self, max_wait: Duration) {
        if let Some(mut reader) = self.reader.take() {
            reader.source.limit_wait(Duration::ZERO);
            reader.collect();
            reader.source.limit_wait(max_wait);
            self.take_back(reader, true);
            self.is_changed |= self.is_silent;
        }
    }

    /// Takes back the reader from a thread. The sample that it has taken is used if `is_current`.
    fn take_back(&mut self, reader: Box<Reader>, is_current: bool) {
        self.is_silent = reader.is_unreachable();
        if is_current {
            let groups = &reader.sample.groups;
            let is_same = |(group, known): (&Group, &Arc<CounterSet>)| Arc::ptr_eq(&group.set, known);
            if groups.len() != self.descriptions.len() || !groups.iter().zip(&self.descriptions).all(is_same)
            {
                self.descriptions = groups.iter().map(|group| Arc::clone(&group.set)).collect();
            }
            self.groups = Vec::new();
            self.progress = Progress::Taken;
        }
        self.reader = Some(reader);
        if let Some(paths) = self.new_paths.take() {
            self.set_paths(paths);
        }
    }

    /// The groups of the current sample.
    fn groups(&mut self) -> &mut [Group] {
        match &mut self.reader {
            Some(reader) if self.progress == Progress::Taken => &mut reader.sample.groups,
            _ => &mut self.groups,
        }
    }

    /// Sets the groups of the current sample to those of the last answer, without values.
    fn mark_late(&mut self) {
        self.groups.truncate(self.descriptions.len());
        for (index, description) in self.descriptions.iter().enumerate() {
            if index == self.groups.len() {
                self.groups.push(Group::new(Arc::clone(description)));
            }
            let group = &mut self.groups[index];
            group.describe(description);
            group.clear_values();
            match &group.set.instance {
                Some(instance) => {
                    // The list is kept for as long as the instance is the same.
                    if !matches!(&group.instances[..], [known] if Arc::ptr_eq(known, instance)) {
                        group.instances = [Arc::clone(instance)].into();
                    }
                    let missing = RawValue::error(Status::NO_MACHINE);
                    group.values.resize(group.set.counters.len(), missing);
                    group.identities.push(0);
                }
                None => {
                    group.clear_rows();
                    group.status = Status::NO_MACHINE;
                }
            }
        }
    }
}

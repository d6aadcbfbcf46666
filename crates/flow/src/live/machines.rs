//! Samples of several machines, none of which delays the others.

mod exchanges;
mod member;
mod outages;
mod readers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::CounterSet;
use tachograph_perflib::{Clock, Registry};

use super::sample_times::SampleTimes;
use super::{Collect, LiveReport, LiveSource, description_of};
use crate::Selection;
use member::{Member, Progress};
use outages::Availability;
use readers::{Reader, Readers, Urgency, Work};

pub use exchanges::{Arrival, Exchanges};
pub use outages::{MachineEvent, OnMachineEvents};

/// A machine, and the source that reads it.
pub struct MachineMember {
    /// The source. Its registry names the machine.
    pub source: LiveSource,
    /// Returns when the machine booted, in UTC; 0 if unknown. It is called after each sample.
    pub boot_time: Box<dyn Fn() -> FileTime + Send>,
}

/// Takes samples of several machines at the same time. If a machine does not answer within the time limit, its values are
/// missing from the sample, with the status [`NO_MACHINE`](tachograph_counters::Status::NO_MACHINE). Until it answers again,
/// samples wait for it only for a quarter of the limit. A sample has the time of this machine, and each group has the clocks
/// of its own machine.
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
    on_events: Option<OnMachineEvents>,
    /// Buffer for the answers of [`Exchanges::wait`].
    arrived: Vec<Arrival>,
    /// See [`any_registry`](Self::any_registry).
    registry: Option<Arc<Registry>>,
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
            on_events: None,
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

    /// Sets the receiver of the events of each sample.
    pub fn set_on_events(&mut self, on_events: OnMachineEvents) {
        self.on_events = Some(on_events);
    }

    /// Begins with an outage of a machine, which the caller has already reported. `machine` is the index of a member.
    pub fn set_silent(&mut self, machine: usize, reason: &Arc<str>) {
        if let Some(member) = self.members.get_mut(machine) {
            member.availability = Availability::Silent { since: Instant::now() };
            self.report.begin_outage(&member.machine, reason);
        }
    }

    /// The paths that name instances and select a counter, but had no matching instance in the last sample, each with its
    /// machine. A machine without an answer has none, because its instances are unknown.
    pub fn missing_instances(&self) -> Vec<String> {
        let of_machine = |member: &Member| {
            let missing = member.reader.as_ref().map(|reader| reader.source.missing_instances());
            let name = Arc::clone(&member.machine);
            missing.unwrap_or_default().into_iter().map(move |path| format!(r"\\{name}{path}"))
        };
        self.members.iter().filter(|member| !member.is_silent).flat_map(of_machine).collect()
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

    /// Removes the values of the machines that are late.
    fn mark_late(&mut self) {
        for member in self.members.iter_mut().filter(|member| member.progress != Progress::Taken) {
            member.is_silent = true;
            member.mark_late();
        }
    }

    /// Reports machines whose outage begins or ends with the current sample.
    fn report_outages(&mut self) {
        let report = &self.report;
        let event_of = |member: &mut Member| match member.missing_answer(&self.late_reason) {
            // Nothing is requested from the machine.
            _ if member.descriptions.is_empty() => None,
            Some(missing) => member.availability.miss(&member.machine, missing, report),
            None => member.availability.answer(&member.machine, report),
        };
        let events: Vec<_> = self.members.iter_mut().filter_map(event_of).collect();
        if let Some(on_events) = &mut self.on_events
            && !events.is_empty()
        {
            on_events(&events);
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
        self.report_outages();
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

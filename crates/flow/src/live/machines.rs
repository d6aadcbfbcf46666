//! Samples of several machines, each of which is read by its own thread.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::CounterSet;
use tachograph_counters::{RawValue, Status};
use tachograph_perflib::Clock;

use super::sample_times::SampleTimes;
use super::{Collect, LiveReport, LiveSource};

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
pub struct MachinesSource {
    members: Vec<Worker>,
    /// Maximum time that a sample waits.
    max_wait: Duration,
    clock: Clock,
    times: SampleTimes,
    bias_minutes: i32,
    report: LiveReport,
}

/// A machine's thread.
struct Worker {
    machine: Arc<str>,
    requests: SyncSender<(u64, Sample)>,
    answers: Receiver<Answer>,
    /// The number of the current sample. Answers to requests for earlier samples are too late.
    number: u64,
    /// The buffer for the next request; `None` while the thread has it.
    spare: Option<Sample>,
    /// The groups for the next sample.
    groups: Vec<Group>,
    /// The descriptions of the groups of the last answer, which are also used for a sample without an answer.
    descriptions: Vec<Arc<CounterSet>>,
    /// See [`LiveSource::missing_instances`].
    missing: Vec<String>,
    /// The error message for a late answer.
    late: Arc<str>,
    /// Whether the last answer was late, or reported the machine as unreachable.
    is_silent: bool,
    /// Whether the answer of the current sample has been received.
    has_answered: bool,
}

/// A machine's sample with its number, and the paths whose instances are missing.
struct Answer {
    number: u64,
    sample: Sample,
    missing: Vec<String>,
}

impl Answer {
    /// Whether the machine could not be read.
    fn is_unreachable(&self) -> bool {
        let is_of_machine = |group: &Group| {
            group.status == Status::NO_MACHINE
                || group.values.first().is_some_and(|raw| raw.status == Status::NO_MACHINE)
        };
        self.sample.groups.iter().any(is_of_machine)
    }
}

impl MachinesSource {
    /// A source of these machines. They have `max_wait` to answer, but at most a second. `bias_minutes` is the UTC offset of
    /// the samples' times. All sources share `report`.
    ///
    /// # Errors
    ///
    /// If a thread cannot be started.
    pub fn new(
        members: Vec<MachineMember>,
        max_wait: Duration,
        bias_minutes: i32,
        report: &LiveReport,
    ) -> std::io::Result<Self> {
        let members = members.into_iter().map(|member| Worker::start(member, max_wait, report));
        Ok(Self {
            members: members.collect::<std::io::Result<_>>()?,
            max_wait,
            clock: Clock::of_this_machine(),
            times: SampleTimes::default(),
            bias_minutes,
            report: report.clone(),
        })
    }
}

impl MachinesSource {
    /// The paths that name instances and select a counter, but had no matching instance in the last sample, each with its
    /// machine.
    pub fn missing_instances(&self) -> Vec<String> {
        let of_machine = |worker: &Worker| {
            let name = Arc::clone(&worker.machine);
            worker.missing.clone().into_iter().map(move |path| format!(r"\\{name}{path}"))
        };
        self.members.iter().flat_map(of_machine).collect()
    }
}

impl Collect for MachinesSource {
    fn collect(&mut self, sample: &mut Sample) {
        self.members.iter_mut().for_each(Worker::request);
        let wall = self.clock.now().wall;
        let start = Instant::now();
        // The sources stop waiting at `max_wait`; the rest of the time is for delivering the sample.
        let until = start + self.max_wait + self.max_wait / 8;
        self.members.iter_mut().filter(|member| !member.is_silent).for_each(|member| member.receive(until));
        // The thread of a silent machine keeps working, so that a later sample finds the machine connected.
        let soon = start + self.max_wait / 4;
        self.members.iter_mut().filter(|member| !member.has_answered).for_each(|member| {
            // The source itself reports why a silent machine cannot be read.
            let was_silent = member.is_silent;
            if was_silent {
                member.receive(soon);
            }
            if !member.has_answered {
                member.is_silent = true;
                member.mark_late();
                if !was_silent {
                    self.report.add_machine_error(&member.machine, &member.late);
                }
            }
        });
        let mut count = 0;
        for member in &mut self.members {
            for group in &mut member.groups {
                match sample.groups.get_mut(count) {
                    Some(known) => std::mem::swap(known, group),
                    None => sample.groups.push(std::mem::replace(group, Group::new(Arc::clone(&group.set)))),
                }
                count += 1;
            }
        }
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

impl Worker {
    fn start(member: MachineMember, max_wait: Duration, report: &LiveReport) -> std::io::Result<Self> {
        let MachineMember { mut source, boot_time } = member;
        let machine = Arc::clone(source.registry().machine());
        // These describe the groups until the first answer.
        let descriptions = source.descriptions().cloned().collect();
        source.limit_wait(max_wait);
        source.set_report(report.clone());
        let (requests, receiver) = sync_channel::<(u64, Sample)>(1);
        let (sender, answers) = sync_channel(1);
        let name = machine.chars().take(15).collect();
        std::thread::Builder::new().name(name).spawn(move || {
            while let Ok((number, mut sample)) = receiver.recv() {
                source.collect(&mut sample);
                sample.boot_time = boot_time();
                let boot_time = sample.boot_time;
                sample.groups.iter_mut().for_each(|group| group.boot_time = boot_time);
                if sender.send(Answer { number, sample, missing: source.missing_instances() }).is_err() {
                    break;
                }
            }
        })?;
        let late = format!(
            "no answer within {} ms; if the machine is far away or busy, take samples less often (-si)",
            max_wait.as_millis()
        );
        Ok(Self::new(machine, requests, answers, descriptions, late.into()))
    }

    fn new(
        machine: Arc<str>,
        requests: SyncSender<(u64, Sample)>,
        answers: Receiver<Answer>,
        descriptions: Vec<Arc<CounterSet>>,
        late: Arc<str>,
    ) -> Self {
        Self {
            machine,
            requests,
            answers,
            number: 0,
            spare: Some(Sample::default()),
            groups: Vec::new(),
            descriptions,
            missing: Vec::new(),
            late,
            is_silent: false,
            has_answered: false,
        }
    }

    /// Requests a sample, unless the thread is still working on an earlier one.
    fn request(&mut self) {
        self.number += 1;
        self.has_answered = false;
        if self.spare.is_none()
            && let Ok(answer) = self.answers.try_recv()
        {
            self.discard(answer);
        }
        if let Some(buffer) = self.spare.take() {
            // If the thread has ended, there is no answer.
            let _ = self.requests.send((self.number, buffer));
        }
    }

    /// Discards an answer that is too late for its sample. Its buffer is kept.
    fn discard(&mut self, answer: Answer) {
        self.is_silent = answer.is_unreachable();
        self.spare = Some(answer.sample);
    }

    /// Receives the answer, if it arrives in time.
    fn receive(&mut self, until: Instant) {
        let left = until.saturating_duration_since(Instant::now());
        match self.answers.recv_timeout(left) {
            Ok(answer) if answer.number != self.number => self.discard(answer),
            Ok(mut answer) => {
                self.is_silent = answer.is_unreachable();
                std::mem::swap(&mut self.groups, &mut answer.sample.groups);
                let described = self.groups.iter().map(|group| &group.set);
                if !described.clone().eq(&self.descriptions) {
                    self.descriptions = described.cloned().collect();
                }
                self.spare = Some(answer.sample);
                self.missing = answer.missing;
                self.has_answered = true;
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }

    /// Turns the groups of the last answer into groups without values.
    fn mark_late(&mut self) {
        self.groups.resize_with(self.descriptions.len(), || Group::new(Arc::clone(&self.descriptions[0])));
        for (group, description) in self.groups.iter_mut().zip(&self.descriptions) {
            group.describe(description);
            group.clear_values();
            match &group.set.instance {
                Some(instance) => {
                    group.instances = [Arc::clone(instance)].into();
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

#[cfg(test)]
mod tests {
    use tachograph_counters::set::Extent;

    use super::*;

    /// A worker without a thread, the requests that its thread would receive, and a sender of answers.
    fn worker() -> (Worker, Receiver<(u64, Sample)>, SyncSender<Answer>) {
        let (requests, received) = sync_channel(1);
        let (sender, answers) = sync_channel(1);
        let set = Arc::new(CounterSet::new("web1", "Set", Extent::Columns));
        (Worker::new("web1".into(), requests, answers, vec![set], "late".into()), received, sender)
    }

    #[test]
    fn a_late_answer_is_not_used_for_the_next_sample() {
        let (mut worker, received, sender) = worker();
        let answer = |(number, sample)| {
            let answer = Answer { number, sample, missing: vec![number.to_string()] };
            sender.send(answer).expect("the worker exists");
        };
        let received_until = |worker: &mut Worker, until| {
            worker.receive(until);
            worker.has_answered
        };
        let soon = || Instant::now() + Duration::from_secs(10);
        worker.request();
        assert!(!received_until(&mut worker, Instant::now()));
        // The next sample begins while the machine still works on the first one.
        worker.request();
        answer(received.try_recv().expect("the first request"));
        assert!(!received_until(&mut worker, soon()), "the answer is that of the first sample");
        assert!(worker.missing.is_empty());
        worker.request();
        answer(received.try_recv().expect("the third request"));
        assert!(received_until(&mut worker, soon()));
        assert_eq!(worker.missing, ["3"]);
    }

    #[test]
    fn a_machine_that_does_not_answer_delays_one_sample_only() {
        let (worker, received, sender) = worker();
        let max_wait = Duration::from_secs(2);
        let mut source = MachinesSource {
            members: vec![worker],
            max_wait,
            clock: Clock::of_this_machine(),
            times: SampleTimes::default(),
            bias_minutes: 0,
            report: LiveReport::default(),
        };
        let mut sample = Sample::default();
        let mut waited = |source: &mut MachinesSource| {
            let start = Instant::now();
            source.collect(&mut sample);
            (start.elapsed(), sample.groups.iter().map(|group| group.status).collect::<Vec<_>>())
        };
        let (first, statuses) = waited(&mut source);
        assert!(first >= max_wait, "{first:?}");
        assert_eq!(statuses, [Status::NO_MACHINE]);
        let (second, statuses) = waited(&mut source);
        assert!(second < max_wait, "{second:?}");
        assert_eq!(statuses, [Status::NO_MACHINE]);
        // A late answer with values shows that the machine is back: the next sample waits for it again.
        let (number, sample) = received.try_recv().expect("the first request");
        sender.send(Answer { number, sample, missing: Vec::new() }).expect("the source exists");
        let (third, _) = waited(&mut source);
        assert!(third >= max_wait, "{third:?}");
    }
}

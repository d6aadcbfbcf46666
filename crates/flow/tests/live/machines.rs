//! Machines that answer in time, late or not at all, and machines that are read by exchanging messages instead of on threads.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::CounterSet;
use tachograph_counters::{CounterType, IgnorePoison, Status};
use tachograph_flow::live::{
    Arrival, Collect as _, Exchanges, LiveOptions, LiveReport, LiveSource, MachineMember, MachinesSource,
};
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType};
use tachograph_perflib::{Clock, CollectionId, ErrorCode, Failure, Guid, Provider, Registry, Rows};

/// How long a sample waits: long enough for threads on a busy machine.
const MAX_WAIT: Duration = Duration::from_secs(1);
/// How long a test waits for a thread.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A set whose value is the number of its collections. Each collection takes a permit.
struct Gated {
    info: Arc<CounterSetInfo>,
    permits: Receiver<()>,
    is_unreachable: Arc<AtomicBool>,
    wait: Arc<Mutex<Duration>>,
    collections: u64,
}

/// Gives the permits of a [`Gated`] set.
#[derive(Clone)]
struct Permit {
    sender: Sender<()>,
    /// Whether the machine cannot be read.
    is_unreachable: Arc<AtomicBool>,
    /// How long the last collection would have waited for the machine.
    wait: Arc<Mutex<Duration>>,
}

impl Permit {
    fn give(&self) {
        self.sender.send(()).expect("a machine");
    }
}

impl Provider for Gated {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn prepare(&mut self, _: &Rows, _: CollectionId, deadline: Instant) {
        *self.wait.lock().ignore_poison() = deadline.saturating_duration_since(Instant::now());
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let _ = self.permits.recv();
        if self.is_unreachable.load(Ordering::Relaxed) {
            return Err(Failure::new(ErrorCode::TIMEOUT, "unreachable").of_machine());
        }
        self.collections += 1;
        rows.push(&Arc::default()).set(1, self.collections);
        Ok(())
    }
}

/// A machine with the set `Work`, and its permits.
fn machine(name: &str) -> (MachineMember, Permit) {
    let (sender, permits) = channel();
    let is_unreachable = Arc::<AtomicBool>::default();
    let wait = Arc::<Mutex<Duration>>::default();
    let permit = Permit { sender, is_unreachable: Arc::clone(&is_unreachable), wait: Arc::clone(&wait) };
    let mut info = CounterSetInfo::new("Work", Guid::from_u128(7), InstanceType::Single);
    info.counters = vec![
        CounterInfo::new(1, "Collections", CounterType::RAWCOUNT),
        CounterInfo::new(2, "Other", CounterType::RAWCOUNT),
    ];
    let mut registry = Registry::new(name, Clock::of_this_machine());
    let set = Gated { info: Arc::new(info), permits, is_unreachable, wait, collections: 0 };
    registry.register(Box::new(set)).expect("a set");
    let paths = [path(r"\Work\Collections")];
    let (source, _) = LiveSource::open(&Arc::new(registry), &paths, LiveOptions::default()).expect("sets");
    (MachineMember { source, boot_time: Box::new(|| FileTime(5)) }, permit)
}

fn path(text: &str) -> PathPattern {
    PathPattern::parse(text).expect("a path")
}

/// The value of each machine; `None` without one.
fn values(source: &mut MachinesSource, sample: &mut Sample) -> Vec<(String, Option<i64>)> {
    source.collect(sample);
    let value = |group: &Group| {
        let first = group.values.first().filter(|value| value.status == Status::VALID_DATA);
        (group.set.machine.to_string(), first.map(|value| value.first))
    };
    sample.groups.iter().map(value).collect()
}

fn named(values: &[(&str, Option<i64>)]) -> Vec<(String, Option<i64>)> {
    values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

#[test]
fn a_late_machine_delays_no_other_and_its_answer_is_not_used_for_the_next_sample() {
    let ((fast, fast_permit), (slow, slow_permit)) = (machine("fast"), machine("slow"));
    let report = LiveReport::default();
    let mut source = MachinesSource::new(vec![slow, fast], MAX_WAIT, 0, &report);
    source.set_advice("wait longer");
    let events = Arc::<Mutex<Vec<String>>>::default();
    let received = Arc::clone(&events);
    source.set_on_events(Box::new(move |events| {
        received.lock().ignore_poison().extend(events.iter().map(ToString::to_string));
    }));
    let mut sample = Sample::default();
    (0..2).for_each(|_| fast_permit.give());
    let before = Instant::now();
    assert_eq!(values(&mut source, &mut sample), named(&[("slow", None), ("fast", Some(1))]));
    assert!(before.elapsed() >= MAX_WAIT);
    // The slow machine is still taking the first sample.
    assert_eq!(values(&mut source, &mut sample), named(&[("slow", None), ("fast", Some(2))]));
    // The slow machine takes the first sample too late, and later samples in time.
    slow_permit.give();
    let until = Instant::now() + TEST_TIMEOUT;
    let mut next = 3;
    loop {
        [&slow_permit, &fast_permit].into_iter().for_each(Permit::give);
        let found = values(&mut source, &mut sample);
        assert_eq!(found[1], ("fast".to_owned(), Some(next)));
        next += 1;
        match found[0].1 {
            // On a busy machine, its thread may not run for many samples.
            None => assert!(Instant::now() < until, "the slow machine has answered"),
            Some(value) => break assert!(value > 1, "the late answer is not used for a later sample"),
        }
    }
    // The outage is one event, however many samples it takes.
    let events = events.lock().ignore_poison();
    let late = r"\\slow: no answer within 1000 ms: the machine is far away or busy; wait longer; continuing without it";
    assert_eq!(events[0], late);
    assert!(events.len() == 2 && events[1].starts_with(r"\\slow: answers again after "), "{events:?}");
    assert_eq!((report.errors(), report.outages()), (Vec::new(), Vec::new()));
}

#[test]
fn a_machine_that_could_not_be_read_delays_samples_for_a_quarter_of_the_limit() {
    let max_wait = Duration::from_secs(2);
    let (slow, permit) = machine("slow");
    let is_unreachable = Arc::clone(&permit.is_unreachable);
    let mut source = MachinesSource::new(vec![slow], max_wait, 0, &LiveReport::default());
    let mut sample = Sample::default();
    let mut waited = |source: &mut MachinesSource| {
        let start = Instant::now();
        source.collect(&mut sample);
        (start.elapsed(), sample.groups.iter().map(|group| group.values[0].status).collect::<Vec<_>>())
    };
    is_unreachable.store(true, Ordering::Relaxed);
    permit.give();
    assert_eq!(waited(&mut source).1, [Status::NO_MACHINE]);
    let (elapsed, statuses) = waited(&mut source);
    assert_eq!(statuses, [Status::NO_MACHINE]);
    assert!(elapsed >= max_wait / 4 && elapsed < max_wait, "{elapsed:?}");
    // A late answer with values shows that the machine is back: the next sample waits for it again.
    is_unreachable.store(false, Ordering::Relaxed);
    permit.give();
    let until = Instant::now() + TEST_TIMEOUT;
    while waited(&mut source).0 < max_wait {
        assert!(Instant::now() < until, "the sample waits for the machine");
    }
}

/// Exchanges whose answers the test supplies.
#[derive(Clone, Default)]
struct FakeExchanges(Arc<Mutex<FakeState>>);

#[derive(Default)]
struct FakeState {
    /// The machines that can exchange messages, each with whether its answer is complete; `None` if no answer arrives in time.
    answers: HashMap<usize, Option<bool>>,
    begun: Vec<usize>,
    pending: Vec<Arrival>,
}

impl FakeExchanges {
    fn state(&self) -> MutexGuard<'_, FakeState> {
        self.0.lock().ignore_poison()
    }
}

impl Exchanges for FakeExchanges {
    fn begin(&mut self, machine: usize) -> bool {
        let mut state = self.state();
        let Some(answer) = state.answers.get(&machine).copied() else { return false };
        state.begun.push(machine);
        state.pending.extend(answer.map(|is_complete| Arrival { machine, is_complete }));
        true
    }

    fn wait(&mut self, until: Instant, arrived: &mut Vec<Arrival>) {
        match self.state().pending.pop() {
            Some(arrival) => arrived.push(arrival),
            None => std::thread::sleep(until.saturating_duration_since(Instant::now())),
        }
    }
}

#[test]
fn machines_are_read_when_their_answers_arrive() {
    let machines: Vec<_> = ["a", "b", "c"].map(machine).into();
    let permits: Vec<_> = machines.iter().map(|(_, permit)| permit.clone()).collect();
    for permit in &permits {
        (0..20).for_each(|_| permit.give());
    }
    let members = machines.into_iter().map(|(member, _)| member).collect();
    let mut source = MachinesSource::new(members, MAX_WAIT, 0, &LiveReport::default());
    let exchanges = FakeExchanges::default();
    exchanges.state().answers = HashMap::from([(0, Some(true)), (2, Some(false))]);
    source.set_exchanges(Box::new(exchanges.clone()));
    let mut sample = Sample::default();
    let all = |value| named(&[("a", Some(value)), ("b", Some(value)), ("c", Some(value))]);
    // Threads send the first requests, because an exchange can only repeat the machine's previous request.
    assert_eq!(values(&mut source, &mut sample), all(1));
    assert!(exchanges.state().begun.is_empty());
    // The answer of `c` is not complete, so a thread reads the machine.
    assert_eq!(values(&mut source, &mut sample), all(2));
    assert_eq!(exchanges.state().begun, [0, 2]);
    // What has arrived needs no waiting, which would delay the others.
    let waits = permits.iter().map(|permit| *permit.wait.lock().ignore_poison()).collect::<Vec<_>>();
    assert!(waits[0].is_zero() && !waits[1].is_zero() && !waits[2].is_zero(), "{waits:?}");
    assert_eq!(sample.groups[0].boot_time, FileTime(5));
    // Nothing arrives from `a` in time. A thread waits for the late answer, which is dropped.
    exchanges.state().answers.insert(0, None);
    assert_eq!(values(&mut source, &mut sample), named(&[("a", None), ("b", Some(3)), ("c", Some(3))]));
    exchanges.state().answers.insert(0, Some(true));
    let until = Instant::now() + TEST_TIMEOUT;
    while values(&mut source, &mut sample)[0].1.is_none() {
        assert!(Instant::now() < until, "the machine is read again");
    }
}

#[test]
fn paths_apply_to_the_machines_that_they_name() {
    let machines: Vec<_> = ["web1", "web2", "db"].map(machine).into();
    let permits: Vec<_> = machines.iter().map(|(_, permit)| permit.clone()).collect();
    let members = machines.into_iter().map(|(member, _)| member).collect();
    let mut source = MachinesSource::new(members, MAX_WAIT, 0, &LiveReport::default());
    assert_eq!(source.any_registry().map(|registry| registry.machine().to_string()).as_deref(), Some("web1"));
    let paths = [
        path(r"\Work\Collections"),
        path(r"\\WEB1\Work\Other"),
        path(r"\\db\Work\Absent"),
        path(r"\\mail\Work\Other"),
    ];
    let selection = source.set_paths(&paths);
    let unmatched: Vec<_> = selection.unmatched().into_iter().map(|(path, _)| path).collect();
    assert_eq!(unmatched, [r"\\db\Work\Absent", r"\\mail\Work\Other"]);
    let counters = |source: &MachinesSource| -> Vec<_> {
        let described = source.descriptions();
        let named = |set: &Arc<CounterSet>| {
            let names: Vec<_> = set.counters.iter().map(|counter| &*counter.name).collect();
            format!("{}: {}", set.machine, names.join(", "))
        };
        described.iter().map(named).collect()
    };
    assert_eq!(
        counters(&source),
        ["web1: Collections", "web1: Other", "web2: Collections", "db: Collections"]
    );
    // A machine that a thread is reading gets its paths afterwards.
    let mut sample = Sample::default();
    for permit in &permits[1..] {
        permit.give();
    }
    assert_eq!(values(&mut source, &mut sample)[0], ("web1".to_owned(), None));
    let selection = source.set_paths(&[path(r"\Work\Other")]);
    assert_eq!(selection.unmatched(), []);
    permits.iter().for_each(|permit| (0..50).for_each(|_| permit.give()));
    let until = Instant::now() + TEST_TIMEOUT;
    while counters(&source)[0] != "web1: Other" {
        assert!(Instant::now() < until, "the new paths are used: {:?}", counters(&source));
        values(&mut source, &mut sample);
    }
}

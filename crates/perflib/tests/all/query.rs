//! Queries over made providers: identifiers, paths, failures, blocks.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_counters::{CounterType, RawValue};
use tachograph_perflib::block::Identifier;
use tachograph_perflib::registration::{Attributes, CounterInfo, CounterSetInfo, InstanceType};
use tachograph_perflib::{
    Clock, ErrorCode, FREQUENCY, Failure, Guid, InstanceKey, Provider, Query, Registry, Rows,
};

const DISK: Guid = Guid::from_u128(0xD15C);
const HOST: Guid = Guid::from_u128(0x4057);
const ODD: Guid = Guid::from_u128(0x0DD);

const READS: u32 = 1;
const BYTES_PER_READ: u32 = 4;
const BYTES_BASE: u32 = 6;
const UP_TIME: u32 = 7;
const CLOCK: u32 = 8;
const CLOCK_FREQUENCY: u32 = 9;

fn companion(id: u32, name: &str, counter_type: CounterType) -> CounterInfo {
    let mut info = CounterInfo::new(id, name, counter_type);
    info.attributes = Attributes::NO_DISPLAYABLE;
    info
}

fn disk_info() -> Arc<CounterSetInfo> {
    let mut info = CounterSetInfo::new("Disk", DISK, InstanceType::Multiple);
    let mut average = CounterInfo::new(BYTES_PER_READ, "Bytes/Read", CounterType::AVERAGE_BULK);
    average.base_id = Some(BYTES_BASE);
    info.counters = vec![
        CounterInfo::new(READS, "Reads/sec", CounterType::BULK_COUNT),
        average,
        companion(BYTES_BASE, "Bytes Base", CounterType::AVERAGE_BASE),
    ];
    Arc::new(info)
}

/// Three disks, of which two have one name; each says what was asked of it.
struct Disks {
    info: Arc<CounterSetInfo>,
    disks: Vec<Arc<InstanceKey>>,
    asked: mpsc::Sender<(bool, bool)>,
}

impl Provider for Disks {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let _ = self.asked.send((rows.wants(READS), rows.wants(BYTES_PER_READ)));
        for (number, disk) in (0..).zip(&self.disks) {
            if rows.wants_instance(disk.full_name(), disk.id()) {
                let mut row = rows.push(disk);
                row.set(READS, 100 + number);
                row.set_with_base(BYTES_PER_READ, 4096 * number, 10 + number);
                if number == 2 {
                    row.fail(READS, &"the disk is asleep".into());
                }
            }
        }
        Ok(())
    }
}

struct Host {
    info: Arc<CounterSetInfo>,
    instance: Arc<InstanceKey>,
}

impl Provider for Host {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let start = rows.at().system_time.0 - 60 * FREQUENCY;
        rows.push(&self.instance).set(UP_TIME, start as u64);
        Ok(())
    }
}

fn host() -> Box<Host> {
    let mut info = CounterSetInfo::new("Host", HOST, InstanceType::Single);
    let mut up = CounterInfo::new(UP_TIME, "Up Time", CounterType::ELAPSED_TIME);
    (up.time_id, up.frequency_id) = (Some(CLOCK), Some(CLOCK_FREQUENCY));
    info.counters = vec![
        up,
        companion(CLOCK, "Clock", CounterType::LARGE_RAWCOUNT),
        companion(CLOCK_FREQUENCY, "Clock Frequency", CounterType::LARGE_RAWCOUNT),
    ];
    Box::new(Host { info: Arc::new(info), instance: Arc::default() })
}

fn made() -> (Registry, mpsc::Receiver<(bool, bool)>) {
    let ticks = AtomicI64::new(0);
    let clock = Clock::new(move || {
        let ticks = ticks.fetch_add(FREQUENCY, Ordering::Relaxed);
        (ticks, FileTime(133_000_000_000_000_000 + ticks))
    });
    let mut registry = Registry::new("WEB1", clock);
    let (asked, seen) = mpsc::channel();
    let disks = [("sda", 0), ("sdb", 1), ("sda", 2)];
    let disks = disks.map(|(name, id)| Arc::new(InstanceKey::new(name, id, u64::from(id) + 1)));
    registry.register(Box::new(Disks { info: disk_info(), disks: disks.into(), asked })).expect("new");
    registry.register(host()).expect("new");
    (registry, seen)
}

fn identifier(set: Guid, name: &str, counter_id: Option<u32>) -> Identifier {
    Identifier { set, status: u32::MAX, counter_id, instance_id: None, index: 0, name: name.to_owned() }
}

fn statuses(identifiers: &[Identifier]) -> Vec<u32> {
    identifiers.iter().map(|identifier| identifier.status).collect()
}

#[test]
fn each_identifier_has_a_status_of_its_own() {
    let (registry, _seen) = made();
    let mut query = Query::open(&Arc::new(registry), Some(r"\\web1")).expect("this machine");
    let mut identifiers = [
        identifier(DISK, "*", None),
        identifier(Guid::from_u128(1), "*", None),
        identifier(DISK, "*", Some(99)),
        identifier(DISK, "", None),
        identifier(HOST, "x", None),
        identifier(HOST, "", Some(UP_TIME)),
        identifier(DISK, "sdz", None),
        identifier(DISK, "sda", Some(READS)),
        identifier(DISK, "*", None),
    ];
    query.add(&mut identifiers);
    let codes = [
        0,
        ErrorCode::GUID_NOT_FOUND.0,
        ErrorCode::ITEM_ID_NOT_FOUND.0,
        ErrorCode::INVALID_PARAMETER.0,
        ErrorCode::INVALID_PARAMETER.0,
        0,
        ErrorCode::PATH_NOT_FOUND.0,
        0,
        ErrorCode::ALREADY_EXISTS.0,
    ];
    assert_eq!(statuses(&identifiers), codes);
    let names: Vec<_> = query.identifiers().into_iter().map(|added| (added.index, added.name)).collect();
    assert_eq!(names, [(0, "*".to_owned()), (1, String::new()), (2, "sda".to_owned())]);

    let mut gone = [identifier(DISK, "*", None), identifier(DISK, "*", None)];
    query.delete(&mut gone);
    assert_eq!(statuses(&gone), [0, ErrorCode::INVALID_PARAMETER.0]);
    assert_eq!(query.identifiers().len(), 2);
}

#[test]
fn only_what_is_asked_for_is_read() {
    let (registry, seen) = made();
    let mut query = Query::open(&Arc::new(registry), None).expect("this machine");
    query.add(&mut [identifier(HOST, "", None)]);
    query.collect();
    assert!(seen.try_recv().is_err(), "nobody asked for disks");
    // The base of an average stands for it: its value is read with the counter's.
    query.add(&mut [identifier(DISK, "sd*", Some(BYTES_BASE))]);
    query.collect();
    assert_eq!(seen.try_recv(), Ok((false, true)));
}

#[test]
fn a_path_brings_its_companions_an_identifier_does_not() {
    let (registry, _seen) = made();
    let registry = Arc::new(registry);
    let path = |text: &str| PathPattern::parse(text).expect("a path");
    let ids =
        |query: &Query| -> Vec<_> { query.identifiers().iter().map(|added| added.counter_id).collect() };

    let mut query = Query::open(&registry, None).expect("this machine");
    assert_eq!(query.add_path(&path(r"\disk(sda#1)\bytes/read")).len(), 1);
    assert_eq!(ids(&query), [Some(BYTES_PER_READ), Some(BYTES_BASE)]);
    assert_eq!(query.add_path(&path(r"\Host\Up Time")).len(), 1);
    assert_eq!(ids(&query)[2..], [Some(UP_TIME), Some(CLOCK), Some(CLOCK_FREQUENCY)]);
    assert_eq!(query.add_path(&path(r"\Host(*)\Up Time")), []);
    assert_eq!(query.add_path(&path(r"\Disk(*)\Bytes Base")), [], "a companion is not for display");
    assert_eq!(query.add_path(&path(r"\\OTHER\Host\Up Time")), []);
    query.collect();
    // Both disks `sda` may be `sda#1`.
    assert_eq!(query.sets()[0].rows().instances().len(), 2);
    assert_eq!(query.sets()[0].rows().values(1), [RawValue::new(8192, 12)]);

    let mut query = Query::open(&registry, None).expect("this machine");
    query.add(&mut [identifier(DISK, "*", Some(BYTES_PER_READ))]);
    assert_eq!(ids(&query), [Some(BYTES_PER_READ)]);
}

#[test]
fn one_collection_is_one_moment() {
    let (registry, _seen) = made();
    let mut query = Query::open(&Arc::new(registry), None).expect("this machine");
    query.add(&mut [identifier(HOST, "", None), identifier(DISK, "*", None)]);
    let at = query.collect();
    let stamps: Vec<_> = query.sets().iter().map(|set| set.rows().at()).collect();
    assert_eq!(stamps, [at, at]);
    assert_eq!(at.system_time, at.wall);
    assert!(query.collect().ticks > at.ticks);
}

#[test]
fn what_cannot_be_read_is_no_value_and_has_a_reason() {
    let (registry, _seen) = made();
    let mut query = Query::open(&Arc::new(registry), None).expect("this machine");
    query.add(&mut [identifier(DISK, "*", None)]);
    query.collect();
    let rows = query.sets()[0].rows();
    assert_eq!(rows.block_value(1, READS), Some(101));
    assert_eq!(rows.block_value(2, READS), None);
    assert_eq!(rows.block_value(2, BYTES_BASE), Some(12));
    let [trouble] = rows.troubles() else { panic!("{:?}", rows.troubles()) };
    assert_eq!((trouble.counter_id, &*trouble.reason, trouble.count), (READS, "the disk is asleep", 1));
}

/// A provider that behaves for as long as it is told to.
struct Odd {
    info: Arc<CounterSetInfo>,
    instance: Arc<InstanceKey>,
    misbehaves: Arc<AtomicBool>,
    then: Box<dyn FnMut() + Send>,
}

impl Odd {
    fn new(misbehaves: &Arc<AtomicBool>, then: impl FnMut() + Send + 'static) -> Box<Self> {
        let mut info = CounterSetInfo::new("Odd", ODD, InstanceType::Single);
        info.counters.push(CounterInfo::new(1, "Things", CounterType::RAWCOUNT));
        Box::new(Self {
            info: Arc::new(info),
            instance: Arc::default(),
            misbehaves: Arc::clone(misbehaves),
            then: Box::new(then),
        })
    }
}

impl Provider for Odd {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        rows.push(&self.instance).set(1, 5);
        if self.misbehaves.load(Ordering::SeqCst) {
            (self.then)();
        }
        Ok(())
    }
}

#[test]
fn a_provider_that_panics_answers_with_an_error_and_the_others_are_whole() {
    let misbehaves = Arc::new(AtomicBool::new(false));
    for on_worker in [false, true] {
        misbehaves.store(false, Ordering::SeqCst);
        let (mut registry, _seen) = made();
        let odd = Odd::new(&misbehaves, || std::panic::panic_any("out of beans"));
        if on_worker {
            registry.register_on_worker(odd, Duration::from_secs(60)).expect("new");
        } else {
            registry.register(odd).expect("new");
        }
        let mut query = Query::open(&Arc::new(registry), None).expect("this machine");
        query.add(&mut [identifier(ODD, "", None), identifier(HOST, "", None)]);
        query.collect();
        assert_eq!(query.sets()[0].rows().values(0), [RawValue::new(5, 0)]);
        misbehaves.store(true, Ordering::SeqCst);
        for _ in 0..2 {
            query.collect();
            let failure = query.sets()[0].outcome().expect_err("it panics");
            assert_eq!(failure.code, ErrorCode::INTERNAL_ERROR);
            assert_eq!(&*failure.reason, "the provider panicked: out of beans");
            assert!(query.sets()[0].rows().instances().is_empty());
            assert!(query.sets()[1].outcome().is_ok());
            assert_eq!(query.sets()[1].rows().instances().len(), 1);
        }
    }
}

#[test]
fn a_provider_that_stalls_is_waited_for_once() {
    let misbehaves = Arc::new(AtomicBool::new(true));
    let (release, stalled) = mpsc::channel::<()>();
    let (mut registry, _seen) = made();
    let odd = Odd::new(&misbehaves, move || {
        let _ = stalled.recv();
    });
    registry.register_on_worker(odd, Duration::from_millis(20)).expect("new");
    let mut query = Query::open(&Arc::new(registry), None).expect("this machine");
    query.add(&mut [identifier(ODD, "", None), identifier(HOST, "", None)]);
    for _ in 0..3 {
        query.collect();
        let failure = query.sets()[0].outcome().expect_err("it stalls");
        assert_eq!(failure.code, ErrorCode::TIMEOUT);
        assert!(query.sets()[1].outcome().is_ok());
    }
    misbehaves.store(false, Ordering::SeqCst);
    drop(release);
    // It comes back as soon as its thread is free again.
    let came_back = (0..100_000).any(|_| {
        std::thread::yield_now();
        query.collect();
        query.sets()[0].outcome().is_ok()
    });
    assert!(came_back);
    assert_eq!(query.sets()[0].rows().values(0), [RawValue::new(5, 0)]);
}

#[test]
fn other_machines_are_refused() {
    let (registry, _seen) = made();
    let registry = Arc::new(registry);
    assert_eq!(Query::open(&registry, Some("WEB2")).map(drop), Err(ErrorCode::BAD_NETWORK_PATH));
    assert!(Query::open(&registry, Some(r"\\Web1")).is_ok());
    assert!(Query::open(&registry, Some("")).is_ok());
}

#[test]
fn a_guid_or_name_is_registered_once() {
    let (mut registry, _seen) = made();
    assert_eq!(registry.register(host()), Err(ErrorCode::ALREADY_EXISTS));
    let mut info = CounterSetInfo::new("DISK", Guid::from_u128(5), InstanceType::Single);
    info.counters.push(CounterInfo::new(1, "X", CounterType::RAWCOUNT));
    let same_name = Host { info: Arc::new(info), instance: Arc::default() };
    assert_eq!(registry.register(Box::new(same_name)), Err(ErrorCode::ALREADY_EXISTS));
}

/// Counts how often it was told that nobody asks any more.
struct Rests {
    info: Arc<CounterSetInfo>,
    count: Arc<AtomicI64>,
}

impl Provider for Rests {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        rows.push(&Arc::default()).set(UP_TIME, 1);
        Ok(())
    }

    fn rest(&mut self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_provider_rests_when_nobody_asks_any_more() {
    let count = Arc::new(AtomicI64::new(0));
    let mut registry = Registry::new("WEB1", Clock::of_this_machine());
    registry
        .register(Box::new(Rests { info: Arc::clone(host().info()), count: Arc::clone(&count) }))
        .expect("new");
    let registry = Arc::new(registry);
    let rests = || count.load(Ordering::Relaxed);
    let path = PathPattern::parse(r"\Host\Up Time").expect("a path");
    let mut one = Query::open(&registry, None).expect("this machine");
    let mut other = Query::open(&registry, None).expect("this machine");
    one.add_path(&path);
    other.add_path(&path);
    one.collect();
    assert_eq!(one.sets()[0].rows().instances().len(), 1);
    // What is wanted on goes on.
    one.set_paths([&path]);
    assert_eq!(rests(), 0);
    one.set_paths([]);
    assert_eq!(rests(), 0, "the other one asks");
    // It holds nothing of it any more, and can ask again.
    assert_eq!(one.sets()[0].rows().instances().len(), 0);
    drop(other);
    assert_eq!(rests(), 1);
    one.set_paths([&path]);
    one.collect();
    assert_eq!(one.sets()[0].rows().instances().len(), 1);
    registry.instances(HOST).expect("its instance");
    assert_eq!(rests(), 1, "a look at the instances ends nobody's asking");
    drop(one);
    assert_eq!(rests(), 2);
    registry.instances(HOST).expect("its instance");
    assert_eq!(rests(), 3);
}

#[test]
fn sets_that_come_and_go_leave_nothing_behind() {
    let path = PathPattern::parse(r"\Host\Up Time").expect("a path");
    let registry = || Arc::new(made().0);
    let first = registry();
    let mut query = Query::open(&first, None).expect("this machine");
    query.add_path(&path);
    for _ in 0..5 {
        query.adopt(&registry());
        assert_eq!(query.set_paths([&path])[0].len(), 1);
        query.collect();
        assert_eq!(query.sets().len(), 1);
        assert_eq!(query.sets()[0].rows().instances().len(), 1);
    }
    // What is asked for keeps its place, whatever registry it is of.
    let mut identifiers = [identifier(HOST, "", None)];
    query.adopt(&first);
    query.set_paths([]);
    query.add(&mut identifiers);
    query.adopt(&registry());
    let found = query.add_path(&path);
    assert_eq!((identifiers[0].status, found[0].set, query.sets().len()), (0, 1, 2));
    query.collect();
    assert!(query.sets().iter().all(|set| set.rows().instances().len() == 1));
    query.delete(&mut identifiers);
    query.adopt(&registry());
    assert_eq!(query.set_paths([&path])[0][0].set, 0);
    assert_eq!(query.sets().len(), 2);
}

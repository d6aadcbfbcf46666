//! Queries over test providers: identifiers, paths, failures, blocks.

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
const FAULTY: Guid = Guid::from_u128(0x0DD);

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

/// Three disks, two of which have the same name. For each collection, sends whether `READS` and `BYTES_PER_READ` are selected.
struct Disks {
    info: Arc<CounterSetInfo>,
    disks: Vec<Arc<InstanceKey>>,
    collected: mpsc::Sender<(bool, bool)>,
}

impl Provider for Disks {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let _ = self.collected.send((rows.wants(READS), rows.wants(BYTES_PER_READ)));
        for (index, disk) in (0..).zip(&self.disks) {
            if rows.wants_instance(disk.full_name(), disk.id()) {
                let mut row = rows.push(disk);
                row.set(READS, 100 + index);
                row.set_with_base(BYTES_PER_READ, 4096 * index, 10 + index);
                if index == 2 {
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
        let start = rows.timestamps().system_time.0 - 60 * FREQUENCY;
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

fn registry_of_disks() -> (Registry, mpsc::Receiver<(bool, bool)>) {
    let ticks = AtomicI64::new(0);
    let clock = Clock::new(move || {
        let ticks = ticks.fetch_add(FREQUENCY, Ordering::Relaxed);
        (ticks, FileTime(133_000_000_000_000_000 + ticks))
    });
    let mut registry = Registry::new("WEB1", clock);
    let (collected, seen) = mpsc::channel();
    let disks = [("sda", 0), ("sdb", 1), ("sda", 2)];
    let disks = disks.map(|(name, id)| Arc::new(InstanceKey::new(name, id, u64::from(id) + 1)));
    registry
        .register(Box::new(Disks { info: disk_info(), disks: disks.into(), collected }))
        .expect("register");
    registry.register(host()).expect("register");
    (registry, seen)
}

fn identifier(set: Guid, name: &str, counter_id: Option<u32>) -> Identifier {
    Identifier { set, status: u32::MAX, counter_id, instance_id: None, index: 0, name: name.to_owned() }
}

fn statuses(identifiers: &[Identifier]) -> Vec<u32> {
    identifiers.iter().map(|identifier| identifier.status).collect()
}

#[test]
fn an_incomplete_value_is_valid_and_reported() {
    let mut rows = Rows::unfiltered(disk_info());
    let reason: Arc<str> = "records were lost".into();
    let disk = Arc::new(InstanceKey::new("sda", 0, 1));
    for _ in 0..2 {
        let mut row = rows.push(&disk);
        row.set(READS, 7);
        row.report_incomplete(READS, &reason);
        // A counter that is not selected.
        row.report_incomplete(READS + 1000, &reason);
    }
    let value = rows.values(1)[rows.column(READS).expect("selected")];
    assert!(value.status.is_good() && value.first == 7);
    let errors: Vec<_> = rows.errors().iter().map(|error| (error.counter_id, error.count)).collect();
    assert_eq!(errors, [(READS, 2)]);
}

#[test]
fn each_identifier_has_its_own_status() {
    let (registry, _seen) = registry_of_disks();
    let mut query = Query::open(&Arc::new(registry), Some(r"\\web1")).expect("open query");
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
fn only_selected_counters_are_read() {
    let (registry, seen) = registry_of_disks();
    let mut query = Query::open(&Arc::new(registry), None).expect("open query");
    query.add(&mut [identifier(HOST, "", None)]);
    query.collect();
    assert!(seen.try_recv().is_err(), "no disk counter is selected");
    // The base of an average selects the average.
    query.add(&mut [identifier(DISK, "sd*", Some(BYTES_BASE))]);
    query.collect();
    assert_eq!(seen.try_recv(), Ok((false, true)));
}

#[test]
fn paths_add_companions_and_identifiers_do_not() {
    let (registry, _seen) = registry_of_disks();
    let registry = Arc::new(registry);
    let path = |text: &str| PathPattern::parse(text).expect("valid path");
    let ids =
        |query: &Query| -> Vec<_> { query.identifiers().iter().map(|added| added.counter_id).collect() };

    let mut query = Query::open(&registry, None).expect("open query");
    assert_eq!(query.add_path(&path(r"\disk(sda#1)\bytes/read")).len(), 1);
    assert_eq!(ids(&query), [Some(BYTES_PER_READ), Some(BYTES_BASE)]);
    assert_eq!(query.add_path(&path(r"\Host\Up Time")).len(), 1);
    assert_eq!(ids(&query)[2..], [Some(UP_TIME), Some(CLOCK), Some(CLOCK_FREQUENCY)]);
    assert_eq!(query.add_path(&path(r"\Host(*)\Up Time")), []);
    assert_eq!(query.add_path(&path(r"\Disk(*)\Bytes Base")), [], "a companion is not displayed");
    assert_eq!(query.add_path(&path(r"\\OTHER\Host\Up Time")), []);
    query.collect();
    // Either of the two disks named `sda` can be `sda#1`.
    assert_eq!(query.sets()[0].rows().instances().len(), 2);
    assert_eq!(query.sets()[0].rows().values(1), [RawValue::new(8192, 12)]);

    let mut query = Query::open(&registry, None).expect("open query");
    query.add(&mut [identifier(DISK, "*", Some(BYTES_PER_READ))]);
    assert_eq!(ids(&query), [Some(BYTES_PER_READ)]);
}

#[test]
fn all_sets_of_a_collection_have_one_time() {
    let (registry, _seen) = registry_of_disks();
    let mut query = Query::open(&Arc::new(registry), None).expect("open query");
    query.add(&mut [identifier(HOST, "", None), identifier(DISK, "*", None)]);
    let at = query.collect();
    let stamps: Vec<_> = query.sets().iter().map(|set| set.rows().timestamps()).collect();
    assert_eq!(stamps, [at, at]);
    assert_eq!(at.system_time, at.wall);
    assert!(query.collect().ticks > at.ticks);
}

#[test]
fn an_unreadable_value_is_missing_and_has_a_reason() {
    let (registry, _seen) = registry_of_disks();
    let mut query = Query::open(&Arc::new(registry), None).expect("open query");
    query.add(&mut [identifier(DISK, "*", None)]);
    query.collect();
    let rows = query.sets()[0].rows();
    assert_eq!(rows.block_value(1, READS), Some(101));
    assert_eq!(rows.block_value(2, READS), None);
    assert_eq!(rows.block_value(2, BYTES_BASE), Some(12));
    let [error] = rows.errors() else { panic!("{:?}", rows.errors()) };
    assert_eq!((error.counter_id, &*error.reason, error.count), (READS, "the disk is asleep", 1));
}

/// A provider that runs an action at each collection while it is broken.
struct Faulty {
    info: Arc<CounterSetInfo>,
    instance: Arc<InstanceKey>,
    is_broken: Arc<AtomicBool>,
    action: Box<dyn FnMut() + Send>,
}

impl Faulty {
    fn new(is_broken: &Arc<AtomicBool>, action: impl FnMut() + Send + 'static) -> Box<Self> {
        let mut info = CounterSetInfo::new("Faulty", FAULTY, InstanceType::Single);
        info.counters.push(CounterInfo::new(1, "Things", CounterType::RAWCOUNT));
        Box::new(Self {
            info: Arc::new(info),
            instance: Arc::default(),
            is_broken: Arc::clone(is_broken),
            action: Box::new(action),
        })
    }
}

impl Provider for Faulty {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        rows.push(&self.instance).set(1, 5);
        if self.is_broken.load(Ordering::SeqCst) {
            (self.action)();
        }
        Ok(())
    }
}

#[test]
fn a_panic_of_one_provider_does_not_affect_others() {
    let is_broken = Arc::new(AtomicBool::new(false));
    for on_worker in [false, true] {
        is_broken.store(false, Ordering::SeqCst);
        let (mut registry, _seen) = registry_of_disks();
        let faulty = Faulty::new(&is_broken, || std::panic::panic_any("out of beans"));
        if on_worker {
            registry.register_on_worker(faulty, Duration::from_secs(60)).expect("register");
        } else {
            registry.register(faulty).expect("register");
        }
        let mut query = Query::open(&Arc::new(registry), None).expect("open query");
        query.add(&mut [identifier(FAULTY, "", None), identifier(HOST, "", None)]);
        query.collect();
        assert_eq!(query.sets()[0].rows().values(0), [RawValue::new(5, 0)]);
        is_broken.store(true, Ordering::SeqCst);
        for _ in 0..2 {
            query.collect();
            let failure = query.sets()[0].outcome().expect_err("the provider panicked");
            assert_eq!(failure.code, ErrorCode::INTERNAL_ERROR);
            assert_eq!(&*failure.reason, "the provider panicked: out of beans");
            assert!(query.sets()[0].rows().instances().is_empty());
            assert!(query.sets()[1].outcome().is_ok());
            assert_eq!(query.sets()[1].rows().instances().len(), 1);
        }
    }
}

#[test]
fn a_stalled_provider_is_skipped_after_its_first_timeout() {
    let is_broken = Arc::new(AtomicBool::new(true));
    let (release, stalled) = mpsc::channel::<()>();
    let (mut registry, _seen) = registry_of_disks();
    let faulty = Faulty::new(&is_broken, move || {
        let _ = stalled.recv();
    });
    registry.register_on_worker(faulty, Duration::from_millis(20)).expect("register");
    let mut query = Query::open(&Arc::new(registry), None).expect("open query");
    query.add(&mut [identifier(FAULTY, "", None), identifier(HOST, "", None)]);
    for _ in 0..3 {
        query.collect();
        let failure = query.sets()[0].outcome().expect_err("the provider stalls");
        assert_eq!(failure.code, ErrorCode::TIMEOUT);
        assert!(query.sets()[1].outcome().is_ok());
    }
    is_broken.store(false, Ordering::SeqCst);
    drop(release);
    // The provider is collected again after its thread has finished.
    let has_recovered = (0..100_000).any(|_| {
        std::thread::yield_now();
        query.collect();
        query.sets()[0].outcome().is_ok()
    });
    assert!(has_recovered);
    assert_eq!(query.sets()[0].rows().values(0), [RawValue::new(5, 0)]);
}

#[test]
fn other_machines_are_rejected() {
    let (registry, _seen) = registry_of_disks();
    let registry = Arc::new(registry);
    assert_eq!(Query::open(&registry, Some("WEB2")).map(drop), Err(ErrorCode::BAD_NETWORK_PATH));
    assert!(Query::open(&registry, Some(r"\\Web1")).is_ok());
    assert!(Query::open(&registry, Some("")).is_ok());
}

#[test]
fn a_guid_or_name_is_registered_once() {
    let (mut registry, _seen) = registry_of_disks();
    assert_eq!(registry.register(host()), Err(ErrorCode::ALREADY_EXISTS));
    let mut info = CounterSetInfo::new("DISK", Guid::from_u128(5), InstanceType::Single);
    info.counters.push(CounterInfo::new(1, "X", CounterType::RAWCOUNT));
    let same_name = Host { info: Arc::new(info), instance: Arc::default() };
    assert_eq!(registry.register(Box::new(same_name)), Err(ErrorCode::ALREADY_EXISTS));
}

/// Counts the calls to `idle`.
struct IdleCounter {
    info: Arc<CounterSetInfo>,
    count: Arc<AtomicI64>,
}

impl Provider for IdleCounter {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        rows.push(&Arc::default()).set(UP_TIME, 1);
        Ok(())
    }

    fn idle(&mut self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_provider_is_idle_when_the_last_query_releases_it() {
    let count = Arc::new(AtomicI64::new(0));
    let mut registry = Registry::new("WEB1", Clock::of_this_machine());
    registry
        .register(Box::new(IdleCounter { info: Arc::clone(host().info()), count: Arc::clone(&count) }))
        .expect("register");
    let registry = Arc::new(registry);
    let idle_calls = || count.load(Ordering::Relaxed);
    let path = PathPattern::parse(r"\Host\Up Time").expect("valid path");
    let mut one = Query::open(&registry, None).expect("open query");
    let mut other = Query::open(&registry, None).expect("open query");
    one.add_path(&path);
    other.add_path(&path);
    one.collect();
    assert_eq!(one.sets()[0].rows().instances().len(), 1);
    // Sets that stay selected are not interrupted.
    one.set_paths([&path]);
    assert_eq!(idle_calls(), 0);
    one.set_paths([]);
    assert_eq!(idle_calls(), 0, "the other query uses the set");
    // The query has dropped its rows, and can add the path again.
    assert_eq!(one.sets()[0].rows().instances().len(), 0);
    drop(other);
    assert_eq!(idle_calls(), 1);
    one.set_paths([&path]);
    one.collect();
    assert_eq!(one.sets()[0].rows().instances().len(), 1);
    registry.instances(HOST).expect("read instances");
    assert_eq!(idle_calls(), 1, "reading the instances does not release the queries");
    drop(one);
    assert_eq!(idle_calls(), 2);
    registry.instances(HOST).expect("read instances");
    assert_eq!(idle_calls(), 3);
}

#[test]
fn indexes_of_removed_sets_are_reused() {
    let path = PathPattern::parse(r"\Host\Up Time").expect("valid path");
    let registry = || Arc::new(registry_of_disks().0);
    let first = registry();
    let mut query = Query::open(&first, None).expect("open query");
    query.add_path(&path);
    for _ in 0..5 {
        query.adopt(&registry());
        assert_eq!(query.set_paths([&path])[0].len(), 1);
        query.collect();
        assert_eq!(query.sets().len(), 1);
        assert_eq!(query.sets()[0].rows().instances().len(), 1);
    }
    // Sets that are in use keep their index, even if their registry is replaced.
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

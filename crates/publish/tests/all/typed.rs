//! Sets that are described by structs, as readers see them.

use crate::seen;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

use tachograph_publish::{
    Average, CellKind, Counter, CounterSet, Fraction, Gauge, Guid, InstanceKind, PublishError, Publisher,
    Ratio, StripedCounter, Timer,
};
use tempfile::TempDir;

/// Activity of the shop.
///
/// More about it.
#[derive(CounterSet)]
#[counter_set(name = "Shop", detail = "advanced", instances_help = "None.")]
struct Shop {
    /// Requests that
    /// were answered.
    #[counter(name = "Requests/sec", unit = "requests", scale = -2)]
    requests: Counter,
    #[counter(name = "Bytes Read/sec", striped = 4, help = "Read.")]
    read: StripedCounter,
    #[counter(name = "Open Orders", aggregate = "max", display = "hex, no_grouping")]
    open: Gauge,
    #[counter(name = "Avg. sec/Request", base = "Requests Base", base_id = 40)]
    time: Timer,
    #[counter(name = "Avg. Bytes/Reply", base = "Replies Base", striped = 3)]
    bytes: Average,
    #[counter(name = "% Cache Hits", base = "Lookups Base")]
    hits: Fraction,
    #[counter(name = "% Pool Used", base = "Pool Size Base")]
    pool: Ratio,
}

#[derive(CounterSet)]
#[counter_set(name = "Carts", guid = "{5f2c9c3e-2f54-4b0e-9d4e-64a3d3a0c0a1}", instances = "multiple")]
struct Carts {
    #[counter(name = "Things/sec")]
    things: Counter,
}

#[derive(CounterSet)]
#[counter_set(name = "Anonymous", provider = "")]
struct Anonymous {
    #[counter(name = "Visits/sec")]
    _visits: Counter,
}

fn folder() -> (TempDir, Publisher) {
    let folder = tempfile::tempdir().expect("a folder");
    let publisher = Publisher::new().folder(folder.path());
    (folder, publisher)
}

#[test]
fn an_empty_provider_name_is_kept() {
    assert_eq!(
        (&*Anonymous::description().name, &*Anonymous::description().provider_name),
        ("Anonymous", "")
    );
}

#[test]
fn attributes_of_the_struct_are_in_the_description() {
    let set = Shop::description();
    assert_eq!((set.name.as_ref(), set.help.as_ref()), ("Shop", "Activity of the shop."));
    assert_eq!((set.provider_name.as_ref(), set.provider_guid), ("Shop", set.guid));
    assert_eq!(
        (set.instance_type, set.instances_help.as_ref(), set.detail_level),
        (InstanceKind::Single, "None.", 200)
    );
    // Version 5 UUID of "Shop" in the UUID of the URL urn:tachograph:counter-sets.
    assert_eq!(set.guid, Guid::parse("bd03b821-6d01-5cef-96b4-ffdda05d3669"));
    let names: Vec<_> = set.counters.iter().map(|counter| (counter.id, counter.name.as_ref())).collect();
    let expected = [
        (1, "Requests/sec"),
        (2, "Bytes Read/sec"),
        (3, "Open Orders"),
        (4, "Avg. sec/Request"),
        (5, "Avg. Bytes/Reply"),
        (6, "% Cache Hits"),
        (7, "% Pool Used"),
        (40, "Requests Base"),
        (41, "Replies Base"),
        (42, "Lookups Base"),
        (43, "Pool Size Base"),
    ];
    assert_eq!(names, expected);
    let cells: Vec<_> = set.counters.iter().map(|counter| (counter.cell, counter.stripes)).collect();
    use CellKind::{None, Pair, Plain, Ratio, Timer};
    let plain = [(Plain, 0), (Plain, 4), (Plain, 0), (Timer, 0), (Pair, 3), (Pair, 0), (Ratio, 0)];
    assert_eq!(cells, [&plain[..], &[(None, 0); 4]].concat());
    let [requests, read, open, time] = &set.counters[..4] else { unreachable!("there are eleven") };
    assert_eq!((requests.unit.as_ref(), requests.default_scale, requests.attributes.0), ("requests", -2, 0));
    assert_eq!((requests.help.as_ref(), read.help.as_ref()), ("Requests that were answered.", "Read."));
    assert_eq!((open.aggregate as u32, open.attributes.0, open.detail_level), (4, 0x14, 100));
    assert_eq!(time.base_id, Some(40));
    assert!(set.counters[7..].iter().all(|base| base.attributes.0 == 2 && base.base_id.is_none()));
}

#[test]
fn readers_see_updates() {
    let (folder, publisher) = folder();
    let shop = publisher.start::<Shop>().expect("start provider");
    assert!(shop.is_published());
    shop.requests.add(5);
    shop.requests.increment();
    shop.requests.subtract(2);
    shop.read.add(1000);
    std::thread::scope(|scope| (0..6).for_each(|_| drop(scope.spawn(|| shop.read.increment()))));
    shop.open.set(7);
    shop.open.add(2);
    shop.open.subtract(1);
    shop.open.raise_to(3);
    shop.time.record(Duration::from_micros(3));
    shop.time.record(Duration::from_nanos(250));
    shop.bytes.add(10);
    shop.bytes.add_many(90, 4);
    shop.hits.hit();
    shop.hits.miss();
    shop.hits.add_many(3, 8);
    shop.pool.set(3, u32::MAX);
    let row = seen::row(folder.path());
    let none = [None; 4];
    let values = [
        Some((4, None)),
        Some((1006, None)),
        Some((8, None)),
        // 3250 ns are 32 units of 100 ns.
        Some((32, Some(2))),
        Some((100, Some(5))),
        Some((4, Some(10))),
        Some((3, Some(u64::from(u32::MAX)))),
    ];
    assert_eq!(row.values, [&values[..], &none[..]].concat());
    assert_eq!((shop.requests.value(), shop.read.value(), shop.open.value()), (4, 1006, 8));
    let sums =
        [shop.time.sum(), shop.bytes.sum(), shop.hits.sum()].map(|sum| sum.map(|sum| (sum.sum, sum.count)));
    assert_eq!(sums, [Some((3250, 2)), Some((100, 5)), Some((4, 10))]);
    assert_eq!(shop.pool.value(), (3, u32::MAX));
}

#[test]
fn a_timer_measures_the_lifetime_of_its_guard() {
    let (_folder, publisher) = folder();
    let shop = publisher.start::<Shop>().expect("start provider");
    let begin = std::time::Instant::now();
    let times = 20;
    for _ in 0..times {
        let _guard = shop.time.start();
        std::thread::sleep(Duration::from_millis(10));
    }
    let max_ns = begin.elapsed().as_nanos() as u64;
    shop.time.start().cancel();
    assert_eq!(shop.time.time(|| 7), 7);
    let sum = shop.time.sum().expect("no thread writes");
    assert_eq!(sum.count, times + 1);
    assert!((times * 10_000_000..max_ns + 1_000_000).contains(&sum.sum), "{} of {max_ns}", sum.sum);
}

#[test]
fn the_file_exists_as_long_as_the_set() {
    let (folder, publisher) = folder();
    let shop = publisher.label("shopd").start::<Shop>().expect("start provider");
    let reader = seen::set(folder.path());
    assert_eq!(reader.description().label, "shopd");
    let metadata = std::fs::metadata(folder.path().join(reader.name())).expect("the file");
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o600);
    let requests = shop.requests.clone();
    drop(shop);
    assert!(!reader.is_alive());
    assert_eq!(seen::all_entries(folder.path()), [""; 0]);
    // An instance that outlives its set can still be used.
    requests.add(1);
    assert_eq!(requests.value(), 1);
}

#[test]
fn a_group_can_be_given_read_access() {
    let (folder, publisher) = folder();
    let gid = std::fs::metadata(folder.path()).expect("the folder").gid();
    let _shop = publisher.clone().gid(gid).start::<Shop>().expect("start provider");
    let file = folder.path().join(seen::set(folder.path()).name());
    let metadata = std::fs::metadata(file).expect("the file");
    assert_eq!((metadata.permissions().mode() & 0o7777, metadata.gid()), (0o640, gid));
    let error = publisher.group("no such group").start::<Shop>().err().expect("no such group");
    assert!(matches!(error, PublishError::UnknownGroup(_)), "{error}");
    assert_eq!(error.code(), 1319);
}

#[test]
fn instances_are_added_and_end() {
    let (folder, publisher) = folder();
    let carts = publisher.capacity(3).start_set::<Carts>().expect("start provider");
    assert!(seen::rows(&mut seen::set(folder.path())).is_empty());
    let first = carts.instance("first").expect("room");
    let repeated = carts.instance("first").expect_err("the instance exists");
    assert!(repeated.already_exists(), "{repeated}");
    let other = carts.instance_with_id("first", 9).expect("another id");
    assert!(carts.find("second", 0).is_none());
    let second = carts.find_or_create("second", 0).expect("room");
    let full = carts.instance("third").expect_err("the capacity is three");
    assert!(full.is_full() && full.code() == 8, "{full}");
    assert_eq!(carts.instance("").expect_err("a name is needed").code(), 87);
    first.things.add(1);
    carts.find("first", 0).expect("the same").things.add(2);
    carts.find_or_create("first", 0).expect("the same").things.add(4);
    other.things.add(100);
    let read_values = |folder: &TempDir| {
        let rows = seen::rows(&mut seen::set(folder.path()));
        rows.into_iter().map(|row| (row.name, row.id, row.values[0].map(|value| value.0))).collect::<Vec<_>>()
    };
    let expected = [("first", 0, 7), ("first", 9, 100), ("second", 0, 0)];
    assert_eq!(read_values(&folder), expected.map(|(name, id, value)| (name.to_owned(), id, Some(value))));
    assert_eq!((second.name(), second.id()), ("second", 0));
    let clone = first.clone();
    drop(first);
    assert_eq!(read_values(&folder).len(), 3, "a clone keeps the instance");
    drop((clone, other));
    assert_eq!(read_values(&folder), [("second".to_owned(), 0, Some(0))]);
    // A new instance with the same name starts at 0.
    let first = carts.instance("first").expect("room again");
    assert_eq!(first.things.value(), 0);
    drop(carts);
    assert!(seen::files(folder.path()).is_empty());
    first.things.add(1);
}

#[test]
fn starting_a_set_twice_creates_two_files() {
    let (folder, publisher) = folder();
    let shops = [1, 2].map(|_| publisher.start::<Shop>().expect("start provider"));
    let sets = seen::sets(folder.path());
    assert_eq!(sets.len(), 2);
    assert_ne!(sets[0].unique(), sets[1].unique());
    drop(shops);
    assert!(seen::files(folder.path()).is_empty());
}

#[test]
fn a_history_aggregates_ended_instances() {
    #[derive(CounterSet)]
    #[counter_set(name = "Jobs", instances = "global_aggregate_history")]
    struct Jobs {
        #[counter(name = "Done", type = "perf_counter_large_rawcount", aggregate = "sum")]
        done: Counter,
        #[counter(name = "Longest", aggregate = "max")]
        longest: Gauge,
        #[counter(name = "Avg. sec/Job", base = "Jobs Base", aggregate = "sum")]
        time: Timer,
    }
    let (folder, publisher) = folder();
    let jobs = publisher.start_set::<Jobs>().expect("start provider");
    for longest in [5, 9, 2] {
        let job = jobs.instance("job").expect("room");
        job.done.add(1);
        job.longest.set(longest);
        job.time.record(Duration::from_secs(longest));
    }
    let living = jobs.instance("living").expect("room");
    living.done.add(10);
    let mut reader = seen::set(folder.path());
    assert_eq!(reader.description().instance_type, InstanceKind::SingleAggregateHistory);
    let rows = seen::rows(&mut reader);
    let history: Vec<_> = rows.iter().filter(|row| row.is_history).collect();
    assert_eq!(history.len(), 1);
    assert_eq!(history[0].values[..2], [Some((3, None)), Some((9, None))]);
    assert_eq!(history[0].values[2], Some((16 * 10_000_000, Some(3))));
    assert_eq!(rows.len(), 2);
}

#[test]
fn companions_can_be_fields() {
    #[derive(CounterSet)]
    #[counter_set(
        name = "Machine",
        provider = "Maker",
        provider_guid = "{5f2c9c3e-2f54-4b0e-9d4e-64a3d3a0c0a1}",
        help = "Of the machine."
    )]
    struct Machine {
        #[counter(id = 10, name = "Up Time", type = "elapsed_time", time = now, frequency = frequency)]
        up: Gauge,
        #[counter(id = 20, name = "Now", no_display)]
        now: Gauge,
        #[counter(name = "Frequency", no_display)]
        frequency: Gauge,
        #[counter(id = 30, name = "% Busy", type = "100nsec_multi_timer", multiplier = processors)]
        busy: Counter,
        #[counter(id = 31, name = "Processors", type = "perf_counter_rawcount")]
        processors: Gauge,
        #[counter(id = 32, name = "% Used", type = "large_raw_fraction", base = size)]
        used: Gauge,
        #[counter(id = 33, name = "Size", type = "large_raw_base")]
        size: Gauge,
    }
    let set = Machine::description();
    assert_eq!((set.provider_name.as_ref(), set.help.as_ref()), ("Maker", "Of the machine."));
    assert_eq!(set.provider_guid, Guid::parse("{5f2c9c3e-2f54-4b0e-9d4e-64a3d3a0c0a1}"));
    let [up, now, frequency, busy, _, used, size] = &set.counters[..] else { unreachable!("seven") };
    assert_eq!((up.time_id, up.frequency_id), (Some(20), Some(3)));
    assert_eq!((now.attributes.0, frequency.id, size.attributes.0), (2, 3, 2));
    assert_eq!((busy.multiplier_id, used.base_id), (Some(31), Some(33)));
    let (folder, publisher) = folder();
    let machine = publisher.start::<Machine>().expect("start provider");
    for (index, gauge) in [&machine.up, &machine.now, &machine.frequency].into_iter().enumerate() {
        gauge.set(index as u64 + 1);
    }
    machine.busy.add(4);
    machine.processors.set(5);
    machine.used.set(6);
    machine.size.set(7);
    let values: Vec<_> =
        seen::row(folder.path()).values.into_iter().map(|value| value.map(|value| value.0)).collect();
    assert_eq!(values, (1..=7).map(Some).collect::<Vec<_>>());
}

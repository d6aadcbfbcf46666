//! Published sets as consumers read them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tachograph_counters::{CounterType as T, Status};
use tachograph_perflib::block::{Content, DecodeOptions, Identifier, decode_with};
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType};
use tachograph_perflib::{ErrorCode, Guid, Query};
use tachograph_shm::cell::{Pair, set_ratio};
use tachograph_shm::{Attributes, CellKind, CounterDescription, Description, InstanceKind};

use crate::fixtures::{
    Consumer, SHOP, publish, publish_single, published, registry, rows, set, shop, with_timer,
};

/// This program's name in the kernel.
fn program() -> String {
    std::fs::read_to_string("/proc/self/comm").expect("the name").trim().to_owned()
}

#[test]
fn a_process_is_the_instance_of_a_single_instance_set() {
    let folder = tempfile::tempdir().expect("create folder");
    let (_file, slot) = publish_single(folder.path(), shop(InstanceKind::Single));
    set(&slot, 0, 5);
    set(&slot, 1, 2);
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop\Requests/sec", r"\Shop(*)\Open Orders"]);
    assert_eq!(consumer.collect(), rows([(&program(), [5, 2])]));
    let info = consumer.registry.find("shop").expect("the set");
    assert!(info.is_per_process && info.has_instances());
    assert_eq!(info.instance_type, InstanceType::Single);
    let instances = consumer.registry.instances(info.guid).expect("instances");
    assert_eq!(instances[0].id(), std::process::id());
    let publishers = consumer.registry.publishers(info.guid);
    assert_eq!(publishers.len(), 1);
    assert_eq!((publishers[0].process, publishers[0].instances), (std::process::id().into(), 1));
}

#[test]
fn processes_are_instances_ordered_by_start_time() {
    let folder = tempfile::tempdir().expect("create folder");
    let (first, slot) = publish_single(folder.path(), shop(InstanceKind::Single));
    set(&slot, 0, 1);
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop\Requests/sec"]);
    let name = program();
    assert_eq!(consumer.collect(), rows([(&name, [1])]));
    let (_second, slot) = publish_single(folder.path(), shop(InstanceKind::Single));
    set(&slot, 0, 2);
    let mut labelled = shop(InstanceKind::Single);
    labelled.label = "shop\tB".into();
    let (_third, slot) = publish_single(folder.path(), labelled);
    set(&slot, 0, 3);
    let second_name = format!("{name}#1");
    let third = "shop\u{FFFD}B";
    assert_eq!(consumer.collect(), rows([(&name, [1]), (&second_name, [2]), (third, [3])]));
    first.stop();
    assert_eq!(consumer.collect(), rows([(&second_name, [2]), (third, [3])]));
}

#[test]
fn instances_of_several_processes_are_one_set() {
    let folder = tempfile::tempdir().expect("create folder");
    let one = publish(folder.path(), shop(InstanceKind::Multiple));
    let slots = ["a", "b"].map(|name| one.create_instance(name, 7).expect("create instance"));
    set(&slots[0], 0, 1);
    set(&slots[1], 0, 2);
    let other = publish(folder.path(), shop(InstanceKind::Multiple));
    let slot = other.create_instance("a", 8).expect("create instance");
    set(&slot, 0, 3);
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    assert_eq!(consumer.collect(), rows([("a", [1]), ("b", [2]), ("a#1", [3])]));
    // A new instance in the same slot is distinguished from the old one.
    let before = consumer.identities();
    slots[0].end();
    drop(slots);
    let again = one.create_instance("a", 7).expect("create instance");
    let mut names: Vec<_> = consumer.collect().into_iter().map(|(name, _)| name).collect();
    names.sort();
    assert_eq!(names, ["a#1", "a#2"], "a name that was used in the previous sample is not reused");
    assert!(consumer.identities().iter().all(|now| before[..2].iter().all(|then| then != now)));
    drop(again);
    let mut filtered = Consumer::new(folder.path(), &[r"\Shop(b)\Requests/sec"]);
    assert_eq!(filtered.collect(), rows::<1, 0>([]));
}

#[test]
fn long_names_are_complete() {
    let folder = tempfile::tempdir().expect("create folder");
    let file = publish(folder.path(), shop(InstanceKind::Multiple));
    let names = ["x".repeat(1023), "ü€".repeat(300), "worker 7 (a/b) #2".into()];
    let _slots: Vec<_> =
        names.iter().map(|name| file.create_instance(name, 0).expect("create instance")).collect();
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    consumer.query.collect();
    let instances = consumer.query.sets()[0].rows().instances();
    let found: Vec<_> = instances.iter().map(|instance| instance.full_name()).collect();
    assert_eq!(found, names);
}

#[test]
fn cells_become_raw_values() {
    let folder = tempfile::tempdir().expect("create folder");
    let mut description = with_timer(shop(InstanceKind::Single));
    let mut counter = |id: u32, kind: T, cell: CellKind, companions: [Option<u32>; 4]| {
        let mut counter = CounterDescription::new(id, format!("Counter {id}"), kind.0);
        counter.cell = cell;
        let [base, time, frequency, multiplier] = companions;
        (counter.base_id, counter.time_id) = (base, time);
        (counter.frequency_id, counter.multiplier_id) = (frequency, multiplier);
        description.counters.push(counter);
    };
    let no_companions = [None; 4];
    counter(20, T::RAW_FRACTION, CellKind::Ratio, [Some(21), None, None, None]);
    counter(21, T::RAW_BASE, CellKind::None, no_companions);
    counter(22, T::LARGE_RAW_FRACTION, CellKind::Plain, [Some(23), None, None, None]);
    counter(23, T::LARGE_RAW_BASE, CellKind::Plain, no_companions);
    counter(24, T::ELAPSED_TIME, CellKind::Plain, [None, Some(25), Some(26), None]);
    counter(25, T::LARGE_RAWCOUNT, CellKind::Plain, no_companions);
    counter(26, T::LARGE_RAWCOUNT, CellKind::Plain, no_companions);
    counter(27, T::MULTI_TIMER_100NS, CellKind::Plain, [None, None, None, Some(28)]);
    counter(28, T::RAWCOUNT, CellKind::Plain, no_companions);
    counter(29, T::RAWCOUNT, CellKind::Plain, no_companions);
    counter(30, T::COUNTER_COUNTER, CellKind::Plain, no_companions);
    let mut reference = CounterDescription::new(31, "By Reference", T::LARGE_RAWCOUNT.0);
    reference.attributes = Attributes::BY_REFERENCE;
    description.counters.push(reference);
    let index = |id: u32| description.position(id).expect("the counter");
    let (_file, slot) = publish_single(folder.path(), description.clone());
    let line = |id: u32| slot.line(index(id)).expect("a cell");
    Pair::<16, 48>::new(&line(7)[..]).add(2_500);
    Pair::<16, 48>::new(&line(7)[..]).add(500);
    set_ratio(&line(20)[0], 3, 4);
    for (id, value) in [
        (22, 5),
        (23, 10),
        (24, 3_000),
        (25, 9_000),
        (26, 1_000),
        (27, 77),
        (28, 4),
        (29, (1 << 32) + 9),
        (30, u64::MAX),
    ] {
        set(&slot, index(id), value);
    }
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop\*"]);
    let raw = consumer.collect_raw().remove(0).1;
    let value = |id: u32| raw[consumer.query.sets()[0].rows().column(id).expect("a column")];
    let numbers = |id: u32| (value(id).first, value(id).second);
    assert_eq!(numbers(7), (30, 2), "time in 100 ns, and number of events");
    assert_eq!(numbers(20), (3, 4));
    assert_eq!(numbers(22), (5, 10));
    assert_eq!(numbers(24), (30_000_000, 90_000_000), "from 1 kHz to units of 100 ns: 6 seconds");
    let at = consumer.query.timestamps();
    assert_eq!((value(27).first, value(27).multi_count), (77, 4));
    assert_eq!(value(27).second, at.system_time.0);
    assert_eq!(value(29).first, 9, "a 32-bit type");
    assert_eq!(numbers(30), (u32::MAX.into(), at.ticks));
    assert_eq!(value(31).status, Status::NO_DATA, "a counter by reference that was never set");
    assert_eq!(value(25).first, 9_000, "a companion that is displayed has its own value");
    // The same values in a raw data block.
    let guid = consumer.registry.find("Shop").expect("the set").guid;
    let mut query = Query::open(&consumer.registry, None).expect("a query");
    let identifier = |counter_id| Identifier {
        set: guid,
        status: 9,
        counter_id,
        instance_id: None,
        index: 0,
        name: String::new(),
    };
    let mut identifiers = [Some(31), Some(8), Some(26), Some(28), None].map(identifier);
    query.add(&mut identifiers);
    assert_eq!(identifiers.map(|identifier| identifier.status), [0; 5]);
    query.collect();
    let mut bytes = Vec::new();
    query.data(&mut bytes).expect("a block");
    let block = decode_with(&bytes, DecodeOptions::CONSUMER).expect("a block");
    let results: Vec<_> = block.results().map(|result| format!("{:?}", single(&result.content()))).collect();
    let no_data = ErrorCode::NO_DATA;
    assert_eq!(
        results[..4],
        [format!("{:?}", Err::<u64, _>(no_data)), "Ok(2)".into(), "Ok(10000000)".into(), "Ok(4)".into()]
    );
    assert_eq!(results.len(), 5);
}

fn single(content: &Content<'_>) -> Result<u64, ErrorCode> {
    match content {
        Content::Error(code) => Err(*code),
        Content::SingleCounter(value) => Ok(value.unwrap_or(u64::MAX)),
        _ => Ok(0),
    }
}

#[test]
fn a_single_instance_set_has_one_instance_in_blocks() {
    let folder = tempfile::tempdir().expect("create folder");
    let (_file, slot) = publish_single(folder.path(), shop(InstanceKind::Single));
    set(&slot, 0, 11);
    let registry = Arc::new(registry(&published(folder.path()), None));
    let guid = Guid::from_bytes(SHOP.to_bytes());
    let identifier = |name: &str| Identifier {
        set: guid,
        status: 9,
        counter_id: Some(1),
        instance_id: None,
        index: 0,
        name: name.to_owned(),
    };
    let mut query = Query::open(&registry, None).expect("a query");
    let mut identifiers = [identifier(""), identifier("*")];
    query.add(&mut identifiers);
    let wrong = ErrorCode::INVALID_PARAMETER.0;
    assert_eq!(identifiers.map(|identifier| identifier.status), [0, wrong]);
    let mut result = || {
        query.collect();
        let mut bytes = Vec::new();
        query.data(&mut bytes).expect("a block");
        let block = decode_with(&bytes, DecodeOptions::CONSUMER).expect("a block");
        single(&block.results().next().expect("a result").content())
    };
    assert_eq!(result(), Ok(11));
    let mut list = Vec::new();
    registry.instance_list(guid, &mut list).expect("the instance");
    let (_second, slot) = publish_single(folder.path(), shop(InstanceKind::Single));
    assert_eq!(result(), Err(ErrorCode::INVALID_REGISTRATION));
    assert_eq!(
        registry.instance_list(guid, &mut list).map_err(|failure| failure.code),
        Err(ErrorCode::INVALID_REGISTRATION)
    );
    drop((slot, _second));
    assert_eq!(result(), Ok(11));
}

#[test]
fn striped_cells_are_sums() {
    let folder = tempfile::tempdir().expect("create folder");
    let mut description = with_timer(shop(InstanceKind::Single));
    description.counters[0].stripes = 4;
    description.counters[2].stripes = 2;
    let (_file, slot) = publish_single(folder.path(), description);
    for (number, line) in slot.lines(0).expect("lines").iter().enumerate() {
        line[0].store(10 + number as u64, Ordering::Relaxed);
    }
    for line in slot.lines(2).expect("lines").iter() {
        Pair::<16, 48>::new(&line[..]).add(300);
    }
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop\*"]);
    let raw = consumer.collect_raw().remove(0).1;
    assert_eq!(raw[0].first, (10..18).sum::<i64>());
    assert_eq!((raw[2].first, raw[2].second), (6, 2));
}

#[test]
fn registered_sets_exist_before_their_program_starts() {
    let folder = tempfile::tempdir().expect("create folder");
    let guid = Guid::from_bytes(SHOP.to_bytes());
    let mut info = CounterSetInfo::new("Shop", guid, InstanceType::Single);
    info.help = "From the manifest.".into();
    info.counters.push(CounterInfo::new(1, "Requests/sec", T::BULK_COUNT));
    info.counters.push(CounterInfo::new(2, "Open Orders", T::LARGE_RAWCOUNT));
    let mut published = published(folder.path());
    published.set_registered([Arc::new(info)]);
    let mut consumer = Consumer::with_registry(registry(&published, None), &[r"\Shop\Requests/sec"]);
    assert!(consumer.registry.is_published(guid) && consumer.registry.publishers(guid).is_empty());
    assert_eq!(consumer.collect(), rows::<1, 0>([]));
    // Programs in C publish no names.
    let mut description = shop(InstanceKind::Single);
    (description.name, description.help) = ("".into(), "".into());
    description.counters.iter_mut().for_each(|counter| counter.name = "".into());
    let (file, slot) = publish_single(folder.path(), description);
    set(&slot, 0, 4);
    assert_eq!(consumer.collect(), rows([(&program(), [4])]));
    let later = registry(&published, Some(&consumer.registry));
    let found = later.find("Shop").expect("the set");
    assert_eq!((&*found.help, &*found.counters[1].name), ("From the manifest.", "Open Orders"));
    // If no manifest is registered, names are generated.
    let alone = registry(&crate::fixtures::published(folder.path()), None);
    let name = |info: &Arc<CounterSetInfo>| (info.name.to_string(), info.counters[1].name.to_string());
    let names: Vec<_> = alone.counter_sets().map(name).collect();
    assert_eq!(names, [(guid.to_string(), "Counter 2".to_owned())]);
    drop((file, slot));
    assert_eq!(consumer.collect(), rows::<1, 0>([]));
}

#[test]
fn successive_registries_share_unchanged_sets() {
    let folder = tempfile::tempdir().expect("create folder");
    let published = published(folder.path());
    let (_file, _slot) = publish_single(folder.path(), shop(InstanceKind::Single));
    let first = registry(&published, None);
    let second = registry(&published, Some(&first));
    assert!(second.is_same(&first));
    let other = Description {
        name: "Other".into(),
        guid: tachograph_shm::Guid::from_u128(77),
        ..shop(InstanceKind::Multiple)
    };
    let file = publish(folder.path(), other);
    let third = registry(&published, Some(&second));
    assert!(!third.is_same(&first));
    let names = |registry: &tachograph_perflib::Registry| {
        registry.counter_sets().map(|info| info.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(&third), ["Shop", "Other"]);
    // After a query adopts the new registry, counters of the new set can be added.
    let (first, third) = (Arc::new(first), Arc::new(third));
    let mut query = Query::open(&first, None).expect("a query");
    let path = |text: &str| tachograph_counters::path::PathPattern::parse(text).expect("valid path");
    assert!(query.add_path(&path(r"\Other(*)\Requests/sec")).is_empty());
    query.adopt(&third);
    assert_eq!(query.add_path(&path(r"\Other(*)\Requests/sec")).len(), 1);
    assert_eq!(query.add_path(&path(r"\Shop(*)\Requests/sec")).len(), 1);
    drop(file);
    assert_eq!(names(&registry(&published, Some(&third))), ["Shop"]);
}

//! A consumer reads the same values as the machine itself.

use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::{CounterType, RawValue, Status};
use tachograph_perflib::block::{DecodeOptions, Identifier, decode_with};
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType, Request};
use tachograph_perflib::{ErrorCode, InstanceKey, Query, Registry, Rows, Timestamps};
use tachograph_remote::RemoteMachine;

use crate::fixture::{BROKEN, DISK, FakeProvider, FakeTime, Network, SYSTEM, TASKS, agent, machine};

/// The rows of all sets of a query, their errors and the times.
type Collected = (
    Timestamps,
    Vec<(Vec<Arc<InstanceKey>>, Vec<RawValue>, Vec<(u32, String, String, u64)>, Option<String>)>,
);

fn collect(query: &mut Query) -> Collected {
    let at = query.collect();
    let sets = query.sets().iter().map(|set| {
        let rows = set.rows();
        let errors = rows.errors().iter().map(|error| {
            (error.counter_id, error.instance.full_name().to_owned(), error.reason.to_string(), error.count)
        });
        let failure = set.outcome().err().map(|failure| format!("{:?}: {failure}", failure.code));
        (rows.instances().to_vec(), rows.all_values().to_vec(), errors.collect(), failure)
    });
    (at, sets.collect())
}

fn query_with_paths(registry: &Arc<Registry>, paths: &[&str]) -> Query {
    let mut query = Query::open(registry, None).expect("a query");
    for path in paths {
        let matches = query.add_path(&PathPattern::parse(path).expect("a path"));
        assert!(!matches.is_empty(), "{path}");
    }
    query
}

/// The same machine twice: read directly, and through an agent.
fn local_and_remote() -> (FakeTime, Arc<Registry>, Network, RemoteMachine, Arc<Registry>) {
    let times = FakeTime::default();
    times.advance(5_000_000);
    let network = Network::to(agent(&machine(&times)));
    let remote = RemoteMachine::new("web1", network.transport());
    let registry = remote.refresh().expect("the agent answers");
    (times.clone(), machine(&times), network, remote, registry)
}

#[test]
fn registrations_match_the_machine() {
    let (_, local, _, remote, registry) = local_and_remote();
    assert_eq!(&**registry.machine(), "web1");
    let sets: Vec<_> = registry.counter_sets().collect();
    assert!(sets.iter().copied().eq(local.counter_sets()), "{sets:#?}");
    for code in 1..=10 {
        let request = Request::from_number(code, if code == 2 { 4 } else { 0 }).expect("a request");
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        local.registration_info(DISK, request, &mut expected).expect("a registration");
        registry.registration_info(DISK, request, &mut found).expect("a registration");
        assert_eq!(found, expected, "{request:?}");
    }
    assert!(Arc::ptr_eq(&registry, &remote.refresh().expect("unchanged")));
    let instances = registry.instances(DISK).expect("instances");
    assert_eq!(instances, local.instances(DISK).expect("instances"));
    let failure = registry.instances(BROKEN).expect_err("a broken provider");
    assert_eq!(
        (failure.code, &*failure.reason),
        (ErrorCode::ACCESS_DENIED, "/proc/broken: permission denied")
    );
}

#[test]
fn samples_match_the_machine() {
    for paths in [
        &[r"\PhysicalDisk(*)\*", r"\Process(*)\*", r"\System\*", r"\Broken(*)\*"][..],
        &[r"\PhysicalDisk(sd?)\Avg. Disk sec/Read", r"\System\System Up Time"],
        &[r"\PhysicalDisk(sda)\% Idle Time", r"\PhysicalDisk(_total)\Queue Length"],
        &[r"\Process(bash#1)\*"],
        &[r"\Process(bash)\*", r"\Process(nobody)\*"],
        &[r"\Process(bash/0/1)\*"],
    ] {
        let (times, local, _, _remote, registry) = local_and_remote();
        let (mut expected, mut found) = (query_with_paths(&local, paths), query_with_paths(&registry, paths));
        for _ in 0..5 {
            times.advance(10_000_001);
            assert_eq!(collect(&mut found), collect(&mut expected), "{paths:?}");
        }
    }
}

#[test]
fn blocks_match_the_machine() {
    let (times, local, _, _remote, registry) = local_and_remote();
    let mut identifiers = vec![
        Identifier::new(DISK, "*"),
        Identifier { counter_id: Some(2), ..Identifier::new(DISK, "sdb") },
        Identifier { counter_id: Some(4), ..Identifier::new(DISK, "*") },
        Identifier::new(SYSTEM, ""),
        Identifier { counter_id: Some(7), instance_id: Some(1), ..Identifier::new(TASKS, "bash") },
        Identifier::new(BROKEN, "*"),
        Identifier::new(DISK, "sdz"),
        Identifier { counter_id: Some(99), ..Identifier::new(DISK, "*") },
    ];
    let mut block_of = |registry: &Arc<Registry>| {
        let mut query = Query::open(registry, Some(".")).expect("a query");
        query.add(&mut identifiers);
        let statuses: Vec<u32> = identifiers.iter().map(|identifier| identifier.status).collect();
        query.collect();
        let mut block = Vec::new();
        query.data(&mut block).expect("a block");
        decode_with(&block, DecodeOptions::CONSUMER).expect("a valid block");
        (statuses, block)
    };
    times.advance(10_000_000);
    let expected = block_of(&local);
    assert_eq!(expected.0, [0, 0, 0, 0, 0, 0, 3, 4202]);
    assert_eq!(block_of(&registry), expected);
}

#[test]
fn unchanged_counters_take_no_bytes_and_others_few() {
    let (times, _, network, _remote, registry) = local_and_remote();
    let mut query = query_with_paths(&registry, &[r"\PhysicalDisk(*)\*", r"\System\*"]);
    collect(&mut query);
    let values: usize = query.sets().iter().map(|set| set.rows().all_values().len()).sum();
    assert_eq!(values, 4 * 4 + 2);
    let before = network.with_state(|state| (state.sent, state.received));
    for _ in 0..10 {
        times.advance(10_000_000);
        assert!(query.sets().iter().all(|set| set.outcome().is_ok()));
        collect(&mut query);
    }
    let (sent, received) = network.with_state(|state| (state.sent - before.0, state.received - before.1));
    assert_eq!(sent, 10 * 16);
    // 40 bytes for the header; less than 4 bytes for each value.
    assert!(received < 10 * (40 + 4 * values), "{received} bytes");
}

#[test]
fn two_queries_do_not_disturb_each_other() {
    let (times, local, _, _remote, registry) = local_and_remote();
    let (one, other) = ([r"\PhysicalDisk(*)\Queue Length"], [r"\PhysicalDisk(sda)\*"]);
    let (mut first, mut second) = (query_with_paths(&registry, &one), query_with_paths(&registry, &other));
    let mut expected = query_with_paths(&local, &one);
    for _ in 0..3 {
        times.advance(10_000_000);
        assert_eq!(collect(&mut first), collect(&mut expected));
        let (_, sets) = collect(&mut second);
        assert_eq!((sets[0].0.len(), sets[0].1.len()), (1, 4));
        assert!(sets[0].1.iter().all(|raw| raw.status == Status::VALID_DATA));
    }
}

/// A set whose list of instances changes with each collection, because the clock decides which instances exist.
fn registry_with_changing_instances(times: &FakeTime) -> Arc<Registry> {
    let mut registry = Registry::new("WEB1", times.clock());
    let mut info = CounterSetInfo::new("Process", TASKS, InstanceType::Multiple);
    info.counters =
        (1..=5).map(|id| CounterInfo::new(id, format!("Value {id}"), CounterType::BULK_COUNT)).collect();
    let fill = |rows: &mut Rows| {
        let second = rows.timestamps().ticks / 10_000_000;
        // Of 300 instances, three end in each second, and three others begin. The oldest ones come first.
        let mut instances: Vec<(i64, i64)> =
            (0..300).map(|number| (second - (second + number).rem_euclid(100), number)).collect();
        instances.sort_unstable();
        for (started, number) in instances {
            let name = format!("process {} of {started}", number * 7919 % 300);
            let key = Arc::new(InstanceKey::new(name, number as u32, (number * 1000 + started) as u64));
            if rows.wants_instance(key.full_name(), key.id()) {
                let mut row = rows.push(&key);
                // A quarter of the instances are busy.
                let work = if number % 4 == 0 { second * 10_000_000 + number } else { number };
                (1..=5).for_each(|id| row.set(id, (work * i64::from(id)) as u64));
            }
        }
        Ok(())
    };
    let provider = FakeProvider { info: Arc::new(info), fill: Box::new(fill) };
    registry.register(Box::new(provider)).expect("a valid set");
    Arc::new(registry)
}

#[test]
fn instances_that_start_and_end_take_few_bytes() {
    let times = FakeTime::default();
    times.advance(1_000_000_000);
    let network = Network::to(agent(&registry_with_changing_instances(&times)));
    let remote = RemoteMachine::new("web1", network.transport());
    let registry = remote.refresh().expect("the agent answers");
    let local = registry_with_changing_instances(&times);
    let (mut found, mut expected) =
        (query_with_paths(&registry, &[r"\Process(*)\*"]), query_with_paths(&local, &[r"\Process(*)\*"]));
    assert_eq!(collect(&mut found), collect(&mut expected));
    let before = network.with_state(|state| state.received);
    for _ in 0..10 {
        times.advance(10_000_000);
        assert_eq!(collect(&mut found), collect(&mut expected));
    }
    let received = network.with_state(|state| state.received) - before;
    let values = 10 * 300 * 5;
    assert!(received < 2 * values, "{received} bytes for {values} values");
}

#[test]
fn samples_have_the_configured_name_not_the_agents() {
    let times = FakeTime::default();
    let mut registry = Registry::new("another machine", times.clock());
    let known = machine(&times);
    known.counter_sets().for_each(|info| assert!(registry.share_from(&known, info)));
    let network = Network::to(agent(&Arc::new(registry)));
    let remote = RemoteMachine::new("web1", network.transport());
    let registry = remote.refresh().expect("the agent answers");
    assert_eq!((&**registry.machine(), &**remote.name()), ("web1", "web1"));
    assert_eq!(remote.other_name().as_deref(), Some("another machine"));
}

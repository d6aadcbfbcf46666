//! Lost answers, lost links, restarts, and sets that appear and disappear.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tachograph_counters::CounterType;
use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType};
use tachograph_perflib::{ErrorCode, Guid, Query, Registry, Rows};
use tachograph_remote::message::{CollectReply, CollectRequest, OpenReply, encode_selections};
use tachograph_remote::{Agent, AgentOptions, RemoteMachine};

use crate::fixture::{BOOT, DISK, FakeProvider, FakeTime, Network, agent, machine, random};

fn query(registry: &Arc<Registry>) -> Query {
    let mut query = Query::open(registry, None).expect("a query");
    query.add_path(&PathPattern::parse(r"\PhysicalDisk(*)\Disk Reads/sec").expect("a path"));
    query
}

fn outcome(query: &mut Query) -> Result<usize, ErrorCode> {
    query.collect();
    let set = &query.sets()[0];
    set.outcome().map(|()| set.rows().instances().len()).map_err(|failure| failure.code)
}

/// Collects until the link has retried, which takes at most a second.
fn outcome_after_retry(query: &mut Query) -> Result<usize, ErrorCode> {
    let until = Instant::now() + Duration::from_millis(1500);
    loop {
        match outcome(query) {
            Err(ErrorCode::SERVER_UNAVAILABLE | ErrorCode::TIMEOUT) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(20));
            }
            outcome => return outcome,
        }
    }
}

#[test]
fn a_lost_link_is_an_error_until_it_is_back() {
    let times = FakeTime::default();
    let network = Network::to(agent(&machine(&times)));
    let remote = RemoteMachine::new("web1", network.transport());
    let mut query = query(&remote.refresh().expect("the agent answers"));
    assert_eq!(outcome(&mut query), Ok(4));
    let agent = network.with_state(|state| state.agent.take());
    assert_eq!(outcome(&mut query), Err(ErrorCode::SERVER_UNAVAILABLE));
    assert!(!remote.is_connected());
    let reason = query.sets()[0].outcome().expect_err("no link").reason.to_string();
    // The agent has answered before, so there is no advice about its address.
    assert_eq!(reason, "no agent answers at 192.0.2.1:7321 (no route)");
    network.with_state(|state| state.agent = agent);
    assert_eq!(outcome_after_retry(&mut query), Ok(4));
    assert!(remote.is_connected());
}

#[test]
fn callers_without_a_query_see_that_an_agent_is_gone_and_back() {
    let network = Network::to(agent(&machine(&FakeTime::default())));
    let remote = RemoteMachine::new("web1", network.transport());
    let known = remote.recheck().expect("the agent answers");
    let gone = network.with_state(|state| state.agent.take());
    // A reply is considered recent for two seconds.
    std::thread::sleep(Duration::from_millis(2100));
    assert!(Arc::ptr_eq(&remote.refresh().expect("no exchange has failed"), &known));
    assert_eq!(remote.recheck().map_err(|failure| failure.code).err(), Some(ErrorCode::SERVER_UNAVAILABLE));
    // The sets of another agent are read. They are equal, so the registry stays the same object.
    network.with_state(|state| state.agent = Some(Arc::new(agent(&machine(&FakeTime::default())))));
    let until = Instant::now() + Duration::from_secs(5);
    let back = loop {
        match remote.recheck() {
            Err(_) if Instant::now() < until => std::thread::sleep(Duration::from_millis(20)),
            outcome => break outcome.expect("the link tries again"),
        }
    };
    assert!(Arc::ptr_eq(&back, &known) && gone.is_some());
}

#[test]
fn a_restarted_agent_gets_the_selections_again_after_one_sample_without_values() {
    let times = FakeTime::default();
    times.advance(10);
    let registry = machine(&times);
    let network = Network::to(agent(&registry));
    let remote = RemoteMachine::new("web1", network.transport());
    let known = remote.refresh().expect("the agent answers");
    let (mut first_query, mut second_query) = (query(&known), query(&known));
    second_query.add_path(&PathPattern::parse(r"\System\*").expect("a path"));
    assert_eq!((outcome(&mut first_query), outcome(&mut second_query)), (Ok(4), Ok(4)));
    network.with_state(|state| state.agent = Some(Arc::new(agent(&registry))));
    // Each query has a gap, so that totals from before the restart are not paired with those from after it.
    for query in [&mut first_query, &mut second_query] {
        assert_eq!(outcome(query), Err(ErrorCode::NO_DATA));
        assert_eq!(outcome(query), Ok(4));
    }
}

#[test]
fn a_lost_answer_is_not_collected_twice() {
    let times = FakeTime::default();
    let agent = agent(&machine(&times));
    let selection = tachograph_perflib::SetSelection {
        set: DISK,
        counter_ids: vec![1],
        instances: vec![tachograph_perflib::InstanceFilter::all()],
    };
    let reply = agent.open("a", &encode_selections([&selection].into_iter())).expect("a query");
    let query = OpenReply::decode(&reply, 1).expect("a reply").query;
    let collect =
        |client: &str, number, held| agent.collect(client, query, &CollectRequest { number, held }.encode());
    let first = collect("a", 1, 0).expect("a frame");
    assert_eq!(collect("a", 1, 0).expect("the same frame"), first);
    let second = collect("a", 2, 1).expect("differences");
    assert!(second.len() < first.len());
    assert_eq!(collect("a", 2, 1).expect("the same differences"), second);
    let base = |reply: &[u8]| CollectReply::decode(reply).expect("a reply").base;
    assert_eq!((base(&first), base(&second)), (0, 1));
    // A consumer that did not receive the last answer gets a complete frame, because the agent has dropped the frame it holds.
    assert_eq!(base(&collect("a", 4, 1).expect("a frame")), 0);
    // Queries belong to their client.
    assert!(collect("b", 5, 4).is_err());
    assert!(agent.close("b", query).is_err());
    assert_eq!(agent.close("a", query), Ok(()));
    assert_eq!(agent.open_queries(), 0);
}

#[test]
fn the_sample_after_a_lost_answer_has_values() {
    let times = FakeTime::default();
    let network = Network::to(agent(&machine(&times)));
    let remote = RemoteMachine::new("web1", network.transport());
    let mut query = query(&remote.refresh().expect("the agent answers"));
    assert_eq!(outcome(&mut query), Ok(4));
    network.with_state(|state| state.lose_next = true);
    assert_eq!(outcome(&mut query), Err(ErrorCode::TIMEOUT));
    assert_eq!(outcome_after_retry(&mut query), Ok(4));
}

/// The sets of a machine, and the set `Shop`.
fn with_shop(first: &Arc<Registry>, times: &FakeTime) -> Registry {
    let mut registry = Registry::new("WEB1", times.clock());
    for info in first.counter_sets() {
        assert!(registry.share_from(first, info));
    }
    let mut info = CounterSetInfo::new("Shop", Guid::from_u128(0x5409), InstanceType::Single);
    info.counters.push(CounterInfo::new(1, "Orders/sec", CounterType::BULK_COUNT));
    let fill = |rows: &mut Rows| {
        rows.push(&Arc::default()).set(1, 5);
        Ok(())
    };
    registry
        .register(Box::new(FakeProvider { info: Arc::new(info), fill: Box::new(fill) }))
        .expect("a valid set");
    registry
}

#[test]
fn a_restarted_agent_with_other_sets_is_read_again() {
    let times = FakeTime::default();
    let first = machine(&times);
    let network = Network::to(agent(&first));
    let remote = RemoteMachine::new("web1", network.transport());
    let mut query = query(&remote.refresh().expect("the agent answers"));
    assert_eq!(outcome(&mut query), Ok(4));
    // Both agents begin with the same generation.
    let registry_with_shop = Arc::new(with_shop(&first, &times));
    network.with_state(|state| state.agent = Some(Arc::new(agent(&registry_with_shop))));
    assert_eq!(outcome(&mut query), Err(ErrorCode::NO_DATA));
    assert!(remote.refresh().expect("the agent answers").find("Shop").is_some());
    assert_eq!(outcome(&mut query), Ok(4));
}

/// An agent that serves the current registry in `now`.
fn changing_agent(now: &Arc<Mutex<Arc<Registry>>>) -> Agent {
    let current = Arc::clone(now);
    Agent::new(AgentOptions {
        registry: Arc::new(move || Arc::clone(&current.lock().expect("no panic"))),
        boot_time: FileTime(0),
        id: random(),
        software: String::new(),
        random,
    })
}

#[test]
fn a_set_that_appears_some_time_after_a_restart_is_collected_again() {
    let times = FakeTime::default();
    let first = machine(&times);
    let registry_with_shop = Arc::new(with_shop(&first, &times));
    let network = Network::to(agent(&registry_with_shop));
    let remote = RemoteMachine::new("web1", network.transport());
    let mut query = query(&remote.refresh().expect("the agent answers"));
    query.add_path(&PathPattern::parse(r"\Shop\*").expect("a path"));
    assert_eq!(outcome(&mut query), Ok(4));
    assert_eq!(query.sets()[1].outcome(), Ok(()));
    // The application that publishes the set starts after the agent.
    let now = Arc::new(Mutex::new(Arc::clone(&first)));
    let restarted = Arc::new(changing_agent(&now));
    network.with_state(|state| state.agent = Some(Arc::clone(&restarted)));
    assert_eq!(outcome(&mut query), Err(ErrorCode::NO_DATA));
    let mut shop = || {
        assert_eq!(outcome(&mut query), Ok(4));
        query.sets()[1].outcome().map_err(|failure| failure.code)
    };
    assert_eq!(shop(), Err(ErrorCode::GUID_NOT_FOUND));
    *now.lock().expect("no panic") = registry_with_shop;
    // The agent checks its sets every two seconds.
    let until = Instant::now() + Duration::from_secs(10);
    while shop().is_err() {
        assert!(Instant::now() < until, "the set is not collected again");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(restarted.open_queries(), 1, "the outdated query is closed");
}

#[test]
fn a_consumer_that_ends_closes_its_queries() {
    let agent = Arc::new(agent(&machine(&FakeTime::default())));
    for _ in 0..2 {
        let network = Network::to(crate::fixture::agent(&machine(&FakeTime::default())));
        network.with_state(|state| state.agent = Some(Arc::clone(&agent)));
        let remote = RemoteMachine::new("web1", network.transport());
        let mut query = query(&remote.refresh().expect("the agent answers"));
        assert_eq!(outcome(&mut query), Ok(4));
        assert_eq!(agent.open_queries(), 1);
        drop((query, remote));
        assert_eq!(agent.open_queries(), 0);
    }
}

#[test]
fn sets_that_appear_are_found_and_known_sets_are_kept() {
    let times = FakeTime::default();
    let first = machine(&times);
    let now = Arc::new(Mutex::new(Arc::clone(&first)));
    let network = Network::to(changing_agent(&now));
    let remote = RemoteMachine::new("web1", network.transport());
    let known = remote.refresh().expect("the agent answers");
    let mut query = query(&known);
    assert_eq!(outcome(&mut query), Ok(4));

    let registry_with_shop = with_shop(&first, &times);
    *now.lock().expect("no panic") = Arc::new(registry_with_shop);
    // The agent checks its sets every two seconds, and its answers show whether they have changed.
    let until = Instant::now() + Duration::from_secs(10);
    let refreshed = loop {
        assert_eq!(outcome(&mut query), Ok(4));
        let refreshed = remote.refresh().expect("the agent answers");
        if !Arc::ptr_eq(&refreshed, &known) {
            break refreshed;
        }
        assert!(Instant::now() < until, "the new set was not found");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(refreshed.find("Shop").is_some());
    query.adopt(&refreshed);
    query.add_path(&PathPattern::parse(r"\Shop\*").expect("a path"));
    assert_eq!(outcome(&mut query), Ok(4));
    assert_eq!(query.sets().len(), 2, "the known set keeps its place and its provider");
    assert_eq!(query.sets()[1].rows().values(0)[0].first, 5);
}

#[test]
fn the_boot_time_of_a_rebooted_machine_is_read_from_its_frames() {
    let times = FakeTime::default();
    times.advance(10);
    let registry = machine(&times);
    let agent_booted_at = |boot_time| {
        let registry = Arc::clone(&registry);
        Agent::new(AgentOptions {
            registry: Arc::new(move || Arc::clone(&registry)),
            boot_time,
            id: random(),
            software: "tacho test".to_owned(),
            random,
        })
    };
    let network = Network::to(agent_booted_at(FileTime(BOOT)));
    let remote = RemoteMachine::new("web1", network.transport());
    let known = remote.refresh().expect("the agent answers");
    let mut query = query(&known);
    assert_eq!(outcome(&mut query), Ok(4));
    assert_eq!((remote.boot_time(), known.clock().boot_time()), (FileTime(BOOT), FileTime(BOOT)));
    network.with_state(|state| state.agent = Some(Arc::new(agent_booted_at(FileTime(BOOT + 77)))));
    assert_eq!(outcome(&mut query), Err(ErrorCode::NO_DATA));
    assert_eq!(outcome(&mut query), Ok(4));
    // Only the frame contains the new boot time.
    assert_eq!((remote.boot_time(), known.clock().boot_time()), (FileTime(BOOT + 77), FileTime(BOOT + 77)));
}

#[test]
fn a_machine_that_connects_too_slowly_for_a_collection_is_connected_by_a_refresh() {
    let network = Network::to(agent(&machine(&FakeTime::default())));
    let remote = RemoteMachine::new("web1", network.transport());
    let known = remote.refresh().expect("the agent answers");
    let mut query = query(&known);
    assert_eq!(outcome(&mut query), Ok(4));
    // Connecting takes longer than a collection waits.
    network.with_state(|state| state.connect_time = Some(Duration::from_secs(2)));
    assert_eq!(outcome(&mut query), Err(ErrorCode::TIMEOUT));
    let until = Instant::now() + Duration::from_secs(10);
    while remote.refresh().is_err() {
        assert!(Instant::now() < until, "the pause after the failure ends");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(outcome(&mut query), Ok(4));
}

//! The limits of queries, frames and filters, and the statuses of selections.

use std::sync::Arc;
use std::sync::mpsc::channel;

use tachograph_counters::CounterType;
use tachograph_counters::path::PathPattern;
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType};
use tachograph_perflib::{ErrorCode, InstanceFilter, InstanceKey, Query, Registry, Rows, SetSelection};
use tachograph_remote::RemoteMachine;
use tachograph_remote::limits::{
    MAX_BASE_BYTES, MAX_FILTERS_PER_SELECTION, MAX_QUERIES_PER_CLIENT, REQUEST_BURST,
};
use tachograph_remote::message::{
    CollectReply, CollectRequest, OpenReply, decode_selections, encode_selections,
};
use tachograph_remote::{AgentError, difference};

use crate::fixture::{
    DISK, FakeProvider, FakeTime, LARGE, Network, agent, is_valid_frame, machine, selections,
};

#[test]
fn a_client_cannot_use_more_than_its_share() {
    let agent = agent(&machine(&FakeTime::default()));
    let selections = encode_selections(selections()[..1].iter());
    let mut opened = Vec::new();
    loop {
        match agent.open("greedy", &selections) {
            Ok(reply) => opened.push(OpenReply::decode(&reply, 1).expect("a reply").query),
            Err(error) => {
                assert!(matches!(error, AgentError::Limit(_)), "{error}");
                break;
            }
        }
    }
    assert_eq!(opened.len(), MAX_QUERIES_PER_CLIENT);
    assert!(agent.open("modest", &selections).is_ok(), "other clients are not affected");
    let requests = (0..10 * REQUEST_BURST).filter(|_| agent.greet("greedy").is_ok()).count();
    assert!(requests <= 2 * REQUEST_BURST as usize, "{requests}");
    assert!(agent.greet("modest").is_ok());
}

#[test]
fn each_selection_has_its_own_status() {
    let agent = agent(&machine(&FakeTime::default()));
    let mut wanted = selections();
    wanted.push(SetSelection { set: tachograph_perflib::Guid::from_u128(1), ..wanted[0].clone() });
    wanted.push(SetSelection { counter_ids: vec![1, 99], ..wanted[0].clone() });
    wanted.swap(0, 4);
    wanted.push(SetSelection { counter_ids: Vec::new(), ..wanted[4].clone() });
    let reply = agent.open("a", &encode_selections(wanted.iter())).expect("a query");
    let statuses = OpenReply::decode(&reply, 6).expect("a reply").statuses;
    let expected = [
        ErrorCode::ITEM_ID_NOT_FOUND.0,
        0,
        0,
        ErrorCode::GUID_NOT_FOUND.0,
        0,
        // The set was already selected.
        ErrorCode::ALREADY_EXISTS.0,
    ];
    assert_eq!(statuses, expected);
}

/// A machine with a set that has too many instances for a frame in its first `large` collections.
fn machine_with_large_set(large: u32) -> Arc<Registry> {
    let mut registry = Registry::new("WEB1", FakeTime::default().clock());
    let mut info = CounterSetInfo::new("Large", LARGE, InstanceType::Multiple);
    info.counters.push(CounterInfo::new(1, "Value", CounterType::RAWCOUNT));
    let mut left = large;
    let fill = move |rows: &mut Rows| {
        let count = if left > 0 { 40_000 } else { 1 };
        left = left.saturating_sub(1);
        for id in 0..count {
            let name = format!("{id:0>200}");
            rows.push(&Arc::new(InstanceKey::new(name, id, 0))).set(1, 7);
        }
        Ok(())
    };
    registry
        .register(Box::new(FakeProvider { info: Arc::new(info), fill: Box::new(fill) }))
        .expect("a valid set");
    Arc::new(registry)
}

#[test]
fn a_failed_collection_is_not_a_base() {
    for large in 1..3 {
        let agent = agent(&machine_with_large_set(large));
        let selection =
            SetSelection { set: LARGE, counter_ids: vec![1], instances: vec![InstanceFilter::all()] };
        let opened = agent.open("a", &encode_selections([&selection].into_iter())).expect("a query");
        let query = OpenReply::decode(&opened, 1).expect("a reply").query;
        let collect = |number| agent.collect("a", query, &CollectRequest { number, held: 0 }.encode());
        for number in 0..large {
            assert_eq!(collect(1 + u64::from(number)), Err(AgentError::Failed(ErrorCode::OUT_OF_MEMORY)));
        }
        let collected = collect(10).expect("a frame");
        let reply = CollectReply::decode(&collected).expect("a reply");
        let mut frame = Vec::new();
        difference::decode(&[], reply.frame_bytes, reply.differences, &mut frame).expect("a frame");
        assert!(is_valid_frame(&frame, std::slice::from_ref(&selection)));
    }
}

#[test]
fn a_query_is_busy_while_it_collects() {
    let mut registry = Registry::new("WEB1", FakeTime::default().clock());
    let mut info = CounterSetInfo::new("Slow", LARGE, InstanceType::Single);
    info.counters.push(CounterInfo::new(1, "Value", CounterType::RAWCOUNT));
    let ((started, has_started), (resume, gate)) = (channel(), channel());
    let fill = move |rows: &mut Rows| {
        started.send(()).expect("the test waits");
        gate.recv().expect("the test opens the gate");
        rows.push(&Arc::default()).set(1, 7);
        Ok(())
    };
    registry
        .register(Box::new(FakeProvider { info: Arc::new(info), fill: Box::new(fill) }))
        .expect("a valid set");
    let agent = agent(&Arc::new(registry));
    let selection = SetSelection { set: LARGE, counter_ids: vec![1], instances: vec![InstanceFilter::all()] };
    let opened = agent.open("a", &encode_selections([&selection].into_iter())).expect("a query");
    let query = OpenReply::decode(&opened, 1).expect("a reply").query;
    let collect = |number| agent.collect("a", query, &CollectRequest { number, held: 0 }.encode());
    std::thread::scope(|scope| {
        let first = scope.spawn(|| collect(1));
        has_started.recv().expect("the first collection");
        let second = collect(2);
        resume.send(()).expect("the first collection waits");
        assert_eq!(second, Err(AgentError::Busy));
        assert!(first.join().expect("no panic").is_ok());
    });
    resume.send(()).expect("the provider exists");
    assert!(collect(3).is_ok());
}

#[test]
fn filters_are_bounded_and_repeated_ones_are_dropped() {
    let with = |count: usize, distinct: usize| {
        let filters = (0..count).map(|index| InstanceFilter::new(&format!("sd{}", index % distinct), None));
        let selection = SetSelection { set: DISK, counter_ids: vec![1], instances: filters.collect() };
        let decoded = decode_selections(&encode_selections([&selection].into_iter()));
        decoded.map(|selections| selections[0].instances.len())
    };
    assert_eq!(with(MAX_FILTERS_PER_SELECTION, MAX_FILTERS_PER_SELECTION), Ok(MAX_FILTERS_PER_SELECTION));
    assert_eq!(with(MAX_FILTERS_PER_SELECTION, 3), Ok(3));
    assert!(with(MAX_FILTERS_PER_SELECTION + 1, 3).is_err());
}

#[test]
fn a_consumer_with_more_filters_than_an_agent_accepts_applies_them_itself() {
    let network = Network::to(agent(&machine(&FakeTime::default())));
    let remote = RemoteMachine::new("web1", network.transport());
    let registry = remote.refresh().expect("the agent answers");
    let mut query = Query::open(&registry, None).expect("a query");
    let paths =
        (0..=MAX_FILTERS_PER_SELECTION).map(|index| format!(r"\PhysicalDisk(none{index})\Queue Length"));
    for path in paths.chain([r"\PhysicalDisk(sdb)\Queue Length".to_owned()]) {
        query.add_path(&PathPattern::parse(&path).expect("a path"));
    }
    for _ in 0..2 {
        query.collect();
        let set = &query.sets()[0];
        assert_eq!(set.outcome(), Ok(()));
        let names: Vec<_> = set.rows().instances().iter().map(|key| key.full_name().to_owned()).collect();
        assert_eq!(names, ["sdb"]);
    }
}

#[test]
fn the_frames_that_a_consumer_keeps_are_bounded() {
    // Eight queries with frames of 2.5 MB: more than a consumer keeps. For the agent, each query has a different client.
    let mut registry = Registry::new("WEB1", FakeTime::default().clock());
    let mut info = CounterSetInfo::new("Large", LARGE, InstanceType::Multiple);
    info.counters.push(CounterInfo::new(1, "Value", CounterType::RAWCOUNT));
    let keys: Vec<_> =
        (0..10_000).map(|id| Arc::new(InstanceKey::new(format!("{id:0>100}"), id, 0))).collect();
    let fill = move |rows: &mut Rows| {
        keys.iter().for_each(|key| rows.push(key).set(1, 7));
        Ok(())
    };
    registry
        .register(Box::new(FakeProvider { info: Arc::new(info), fill: Box::new(fill) }))
        .expect("a valid set");
    let network = Network::to(agent(&Arc::new(registry)));
    let (sender, replies) = channel();
    network.with_state(|state| {
        state.change = Some(Box::new(move |path, body| {
            if path.ends_with("collect") {
                let reply = CollectReply::decode(body).expect("a reply");
                sender.send((reply.base, reply.frame_bytes)).expect("the test receives it");
            }
        }));
    });
    let remote = RemoteMachine::new("web1", network.transport());
    let registry = remote.refresh().expect("the agent answers");
    let mut queries: Vec<_> = (0..8)
        .map(|length| {
            let mut query = Query::open(&registry, None).expect("a query");
            let path = format!(r"\Large({}*)\*", "?".repeat(length));
            query.add_path(&PathPattern::parse(&path).expect("a path"));
            query
        })
        .collect();
    let mut collect = |index: usize| {
        network.with_state(|state| state.client = index.to_string());
        let query: &mut Query = &mut queries[index];
        query.collect();
        assert_eq!(query.sets()[0].outcome(), Ok(()));
        replies.recv().expect("a reply")
    };
    let sizes: Vec<_> = (0..8).map(|index| collect(index).1).collect();
    let kept = MAX_BASE_BYTES / sizes[0];
    assert!((1..8).contains(&kept), "{kept} of 8 frames fit");
    // The frame of the most recently used query is kept; that of the least recently used one is not.
    assert_ne!(collect(7).0, 0);
    assert_eq!(collect(0).0, 0);
}

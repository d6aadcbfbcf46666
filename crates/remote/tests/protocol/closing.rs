//! Closing the queries of many machines.

use std::sync::{Arc, Mutex};

use tachograph_counters::path::PathPattern;
use tachograph_perflib::Query;
use tachograph_remote::{ExchangePoll, RemoteMachine};

use crate::fixture::{FakeTime, Network, SentAhead, agent, machine};

#[test]
fn the_queries_of_all_machines_are_closed_at_the_same_time() {
    let events = Arc::<Mutex<Vec<String>>>::default();
    let (mut machines, mut networks, mut queries) = (Vec::new(), Vec::new(), Vec::new());
    for (name, is_silent) in [("web1", false), ("web2", true), ("web3", false)] {
        let network = Network::to(agent(&machine(&FakeTime::default())));
        let events = Arc::clone(&events);
        let report = move |what: &str| events.lock().expect("no panic").push(format!("{name} {what}"));
        network.with_state(|state| {
            state.ahead = Some(SentAhead { is_silent, is_sent: false, report: Box::new(report) })
        });
        let machine = Arc::new(RemoteMachine::new(name, network.transport()));
        let known = machine.refresh().expect("the agent answers");
        for path in [r"\PhysicalDisk(*)\Disk Reads/sec", r"\System\Processes"] {
            let mut query = Query::open(&known, None).expect("a query");
            query.add_path(&PathPattern::parse(path).expect("a path"));
            query.collect();
            queries.push(query);
        }
        machines.push(Some(machine));
        networks.push(network);
    }
    let open = |network: &Network| {
        network.with_state(|state| state.agent.as_ref().map(|agent| agent.open_queries()))
    };
    assert_eq!(networks.iter().map(open).collect::<Vec<_>>(), [Some(2); 3]);
    drop(ExchangePoll::new(machines).expect("a poll"));
    // Nothing is left to close when the machines are dropped, so there is no second wait for the agent that does not answer.
    drop(queries);
    assert_eq!(networks.iter().map(open).collect::<Vec<_>>(), [Some(0), Some(2), Some(0)]);
    let events = events.lock().expect("no panic");
    assert_eq!(events[..4], ["web1 sends Delete", "web2 sends Delete", "web3 sends Delete", "web1 receives"]);
    assert_eq!(events.iter().filter(|event| event.ends_with("sends Delete")).count(), 5);
}

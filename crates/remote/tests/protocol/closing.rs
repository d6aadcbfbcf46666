//! Closing the queries of many machines.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use tachograph_counters::path::PathPattern;
use tachograph_perflib::Query;
use tachograph_remote::{
    ExchangeError, ExchangePoll, Method, Peer, Received, RemoteMachine, Response, Transport,
};

use crate::fixture::{Times, Wire, agent, machine};

type Events = Arc<Mutex<Vec<String>>>;

/// A transport whose requests can be sent ahead. Records when requests are sent and when their answers are received.
#[derive(Debug)]
struct Ahead {
    inner: Box<dyn Transport>,
    name: &'static str,
    /// Whether the answers never arrive.
    is_silent: bool,
    is_sent: bool,
    events: Events,
}

impl Ahead {
    fn record(&self, what: &str) {
        self.events.lock().expect("no panic").push(format!("{} {what}", self.name));
    }
}

impl Transport for Ahead {
    fn exchange(
        &mut self,
        method: Method,
        path: &str,
        request: &[u8],
        body: &mut Vec<u8>,
        deadline: Instant,
    ) -> Result<Response, ExchangeError> {
        self.is_sent = false;
        self.inner.exchange(method, path, request, body, deadline)
    }

    fn is_open(&self) -> bool {
        !self.is_sent && self.inner.is_open()
    }

    fn close(&mut self) {
        self.inner.close();
    }

    fn peer(&self) -> &Peer {
        self.inner.peer()
    }

    fn send_ahead(&mut self, method: Method, _: &str, _: &[u8]) -> bool {
        assert_eq!(method, Method::Delete);
        self.record("sends");
        self.is_sent = true;
        true
    }

    fn receive_ahead(&mut self) -> Received {
        if self.is_silent {
            return Received::Part;
        }
        self.record("receives");
        Received::Complete
    }
}

#[test]
fn the_queries_of_all_machines_are_closed_at_the_same_time() {
    let events = Events::default();
    let (mut machines, mut wires, mut queries) = (Vec::new(), Vec::new(), Vec::new());
    for (name, is_silent) in [("web1", false), ("web2", true), ("web3", false)] {
        let wire = Wire::to(agent(&machine(&Times::default())));
        let events = Arc::clone(&events);
        let transport = Ahead { inner: wire.transport(), name, is_silent, is_sent: false, events };
        let machine = Arc::new(RemoteMachine::new(name, Box::new(transport)));
        let known = machine.refresh().expect("the agent answers");
        for path in [r"\PhysicalDisk(*)\Disk Reads/sec", r"\System\Processes"] {
            let mut query = Query::open(&known, None).expect("a query");
            query.add_path(&PathPattern::parse(path).expect("a path"));
            query.collect();
            queries.push(query);
        }
        machines.push(Some(machine));
        wires.push(wire);
    }
    let open = |wire: &Wire| wire.with(|wire| wire.agent.as_ref().map(|agent| agent.open_queries()));
    assert_eq!(wires.iter().map(open).collect::<Vec<_>>(), [Some(2); 3]);
    drop(ExchangePoll::new(machines).expect("a poll"));
    // Nothing is left to close when the machines are dropped, so there is no second wait for the agent that does not answer.
    drop(queries);
    assert_eq!(wires.iter().map(open).collect::<Vec<_>>(), [Some(0), Some(2), Some(0)]);
    let events = events.lock().expect("no panic");
    assert_eq!(events[..4], ["web1 sends", "web2 sends", "web3 sends", "web1 receives"]);
    assert_eq!(events.iter().filter(|event| event.ends_with("sends")).count(), 5);
}

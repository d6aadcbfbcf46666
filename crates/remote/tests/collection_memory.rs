//! Collecting from another machine allocates nothing in the steady state. A separate binary, because it counts allocations.

#[allow(dead_code, reason = "shared with other tests, which use all of it")]
#[path = "protocol/fixture.rs"]
mod fixture;

use std::sync::{Arc, Mutex};
use std::time::Instant;

use peak_alloc::PeakAlloc;
use tachograph_counters::path::PathPattern;
use tachograph_perflib::Query;
use tachograph_remote::{ExchangeError, Method, Peer, RemoteMachine, Response, Transport};

use fixture::{FakeTime, Network, agent, machine};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Collections before the measurement: more than the answers that a link remembers.
const WARM_UP_COLLECTIONS: usize = 100;
/// Collections of a run. All collections together are fewer requests than an agent's burst limit.
const MEASURED_COLLECTIONS: usize = 25;
const RUNS: usize = 3;

/// Returns the recorded bodies in order.
#[derive(Debug)]
struct Replay {
    bodies: Vec<Vec<u8>>,
    next: usize,
    peer: Peer,
}

impl Transport for Replay {
    fn exchange(
        &mut self,
        _: Method,
        _: &str,
        _: &[u8],
        body: &mut Vec<u8>,
        _: Instant,
    ) -> Result<Response, ExchangeError> {
        body.clear();
        body.extend_from_slice(self.bodies.get(self.next).expect("a recorded body"));
        self.next += 1;
        Ok(Response { status: 200 })
    }

    fn is_open(&self) -> bool {
        false
    }

    fn close(&mut self) {}

    fn peer(&self) -> &Peer {
        &self.peer
    }
}

fn query(remote: &RemoteMachine) -> Query {
    let mut query = Query::open(&remote.refresh().expect("the agent answers"), None).expect("a query");
    for path in [r"\PhysicalDisk(*)\Disk Reads/sec", r"\PhysicalDisk(*)\Avg. Disk sec/Read", r"\System\*"] {
        query.add_path(&PathPattern::parse(path).expect("a path"));
    }
    query
}

#[test]
fn collections_allocate_nothing() {
    let times = FakeTime::default();
    let network = Network::to(agent(&machine(&times)));
    let bodies: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let recorded = Arc::clone(&bodies);
    network.with_state(|state| {
        state.change = Some(Box::new(move |_, body| recorded.lock().expect("no panic").push(body.clone())));
    });
    let remote = RemoteMachine::new("web1", network.transport());
    let mut first = query(&remote);
    for _ in 0..WARM_UP_COLLECTIONS + RUNS * MEASURED_COLLECTIONS {
        times.advance(10_000_000);
        first.collect();
        assert!(first.sets().iter().all(|set| set.outcome().is_ok()));
    }
    let bodies = std::mem::take(&mut *bodies.lock().expect("no panic"));
    let peer = Peer { machine: "web1".to_owned(), address: "192.0.2.1:7321".to_owned() };
    let remote = RemoteMachine::new("web1", Box::new(Replay { bodies, next: 0, peer }));
    let mut second = query(&remote);
    for _ in 0..WARM_UP_COLLECTIONS {
        second.collect();
    }
    // The minimum of several runs, because the test harness can allocate, too.
    let allocated = (0..RUNS).map(|_| {
        let before = ALLOCATED.current_usage();
        ALLOCATED.reset_peak_usage();
        for _ in 0..MEASURED_COLLECTIONS {
            second.collect();
        }
        ALLOCATED.peak_usage().saturating_sub(before)
    });
    assert_eq!(allocated.min(), Some(0), "bytes for {MEASURED_COLLECTIONS} collections");
    assert!(second.sets().iter().all(|set| set.outcome().is_ok()));
    assert_eq!(second.timestamps(), first.timestamps());
}

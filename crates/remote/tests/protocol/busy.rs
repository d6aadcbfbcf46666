//! Threads that use a machine while it does not answer.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use tachograph_perflib::ErrorCode;
use tachograph_remote::{ExchangeError, ExchangePoll, Method, Peer, RemoteMachine, Response, Transport};

/// A transport to a machine that does not answer. An exchange sends its deadline, and ends when the test allows it.
#[derive(Debug)]
struct Silent {
    peer: Peer,
    deadlines: Sender<Instant>,
    allowed: Receiver<()>,
}

impl Transport for Silent {
    fn exchange(
        &mut self,
        _: Method,
        _: &str,
        _: &[u8],
        _: &mut Vec<u8>,
        deadline: Instant,
    ) -> Result<Response, ExchangeError> {
        self.deadlines.send(deadline).expect("the test waits");
        self.allowed.recv().expect("the test continues");
        Err(ExchangeError::TimedOut("connecting"))
    }

    fn is_open(&self) -> bool {
        false
    }

    fn close(&mut self) {}

    fn peer(&self) -> &Peer {
        &self.peer
    }
}

fn silent() -> (Arc<RemoteMachine>, Receiver<Instant>, Sender<()>) {
    let (deadlines, deadline) = channel();
    let (allow, allowed) = channel();
    let peer = Peer { machine: "web1".to_owned(), address: "192.0.2.1:7321".to_owned() };
    let transport = Silent { peer, deadlines, allowed };
    (Arc::new(RemoteMachine::new("web1", Box::new(transport))), deadline, allow)
}

#[test]
fn what_is_known_of_a_machine_can_be_read_during_an_exchange() {
    let (machine, begun, allow) = silent();
    let other = Arc::clone(&machine);
    let refreshing = std::thread::spawn(move || other.refresh());
    begun.recv().expect("an exchange");
    // None of these calls waits for the exchange, which ends only after them.
    assert!(!machine.is_connected() && !machine.has_sets());
    assert_eq!(machine.registry().counter_sets().count(), 0);
    assert!((machine.clock_difference(), machine.other_name()) == (None, None));
    let mut poll = ExchangePoll::new(vec![Some(Arc::clone(&machine))]).expect("a poll");
    assert!(!poll.begin(0));
    allow.send(()).expect("the exchange waits");
    let outcome = refreshing.join().expect("no panic");
    assert_eq!(outcome.map_err(|failure| failure.code).err(), Some(ErrorCode::TIMEOUT));
}

#[test]
fn a_refresh_waits_at_most_its_time_limit_for_a_machine_that_does_not_answer() {
    let (machine, begun, allow) = silent();
    allow.send(()).expect("a machine");
    let max_wait = Duration::from_millis(200);
    let before = Instant::now();
    assert!(machine.refresh_within(max_wait).is_err());
    let deadline = begun.recv().expect("an exchange");
    assert!(deadline >= before + max_wait && deadline <= Instant::now() + max_wait);
}

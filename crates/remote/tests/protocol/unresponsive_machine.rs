//! Threads that use a machine while it does not answer.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use tachograph_perflib::ErrorCode;
use tachograph_remote::{ExchangeError, ExchangePoll, Method, Peer, RemoteMachine, Response, Transport};

/// A transport to a machine that does not answer. An exchange reports its deadline to the test, and ends when the test
/// allows it.
#[derive(Debug)]
struct SilentTransport {
    peer: Peer,
    deadline_sender: Sender<Instant>,
    permission: Receiver<()>,
}

impl Transport for SilentTransport {
    fn exchange(
        &mut self,
        _: Method,
        _: &str,
        _: &[u8],
        _: &mut Vec<u8>,
        deadline: Instant,
    ) -> Result<Response, ExchangeError> {
        self.deadline_sender.send(deadline).expect("the test receives the deadline");
        self.permission.recv().expect("the test permits the end of the exchange");
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

fn silent_machine() -> (Arc<RemoteMachine>, Receiver<Instant>, Sender<()>) {
    let (deadline_sender, deadlines) = channel();
    let (permission_sender, permission) = channel();
    let peer = Peer { machine: "web1".to_owned(), address: "192.0.2.1:7321".to_owned() };
    let transport = SilentTransport { peer, deadline_sender, permission };
    (Arc::new(RemoteMachine::new("web1", Box::new(transport))), deadlines, permission_sender)
}

#[test]
fn the_state_of_a_machine_can_be_read_during_an_exchange() {
    let (machine, deadlines, permission_sender) = silent_machine();
    let refreshed = Arc::clone(&machine);
    let refreshing = std::thread::spawn(move || refreshed.refresh());
    deadlines.recv().expect("an exchange begins");
    // None of these calls waits for the exchange, which ends only after them.
    assert!(!machine.is_connected() && !machine.has_sets());
    assert_eq!(machine.registry().counter_sets().count(), 0);
    assert!((machine.clock_difference(), machine.other_name()) == (None, None));
    let mut poll = ExchangePoll::new(vec![Some(Arc::clone(&machine))]).expect("the poll is created");
    assert!(!poll.begin(0));
    permission_sender.send(()).expect("the exchange waits");
    let outcome = refreshing.join().expect("the thread does not panic");
    assert_eq!(outcome.map_err(|failure| failure.code).err(), Some(ErrorCode::TIMEOUT));
}

#[test]
fn a_refresh_waits_at_most_its_time_limit_for_a_machine_that_does_not_answer() {
    let (machine, deadlines, permission_sender) = silent_machine();
    permission_sender.send(()).expect("the transport exists");
    let max_wait = Duration::from_millis(200);
    let before = Instant::now();
    assert!(machine.refresh_within(max_wait).is_err());
    let deadline = deadlines.recv().expect("an exchange begins");
    assert!(deadline >= before + max_wait && deadline <= Instant::now() + max_wait);
}

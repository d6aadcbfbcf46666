//! Collecting on a thread: PdhCollectQueryDataEx.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tachograph_pdh::{Collector, PdhStatus};

use crate::fake_machine::Machine;

const SHORT: Duration = Duration::from_millis(5);
const LONG: Duration = Duration::from_secs(60);

fn query(machine: &Machine) -> Arc<Mutex<tachograph_pdh::Query>> {
    Arc::new(Mutex::new(machine.query(&[r"\System\Context Switches/sec"]).0))
}

#[test]
fn the_collector_collects_repeatedly() {
    let machine = Machine::new();
    let query = query(&machine);
    let (sender, statuses) = channel();
    let begun = Instant::now();
    let collector = Collector::start(&query, SHORT, move |status| {
        // The receiver may be dropped first.
        let _ = sender.send(status);
    });
    let collector = collector.expect("a thread");
    for number in 1..=5 {
        assert_eq!(statuses.recv_timeout(LONG), Ok(PdhStatus::SUCCESS));
        assert!(begun.elapsed() >= SHORT * number);
    }
    let id = query.lock().expect("no panic").counters().next().expect("one counter");
    assert_eq!(query.lock().expect("no panic").raw_value(id).expect("a value").first, 1000);
    // The collector is dropped while another thread holds the query.
    let locked = query.lock().expect("no panic");
    drop(collector);
    drop(locked);
    while statuses.try_recv().is_ok() {}
    assert_eq!(statuses.recv_timeout(Duration::from_millis(30)), Err(RecvTimeoutError::Disconnected));
}

#[test]
fn the_collector_ends_with_its_query() {
    let machine = Machine::new();
    let query = query(&machine);
    let (sender, statuses) = channel();
    let _collector = Collector::start(&query, SHORT, move |status| {
        let _ = sender.send(status);
    });
    assert_eq!(statuses.recv_timeout(LONG), Ok(PdhStatus::SUCCESS));
    drop(query);
    // The thread, and with it the sender, ends without being stopped.
    let end = loop {
        match statuses.recv_timeout(LONG) {
            Ok(_) => {}
            Err(end) => break end,
        }
    };
    assert_eq!(end, RecvTimeoutError::Disconnected);
}

#[test]
fn the_collector_reports_failed_collections_and_invalid_intervals() {
    let machine = Machine::new();
    let query = Arc::new(Mutex::new(machine.query(&[]).0));
    let (sender, statuses) = channel();
    let _collector = Collector::start(&query, SHORT, move |status| {
        let _ = sender.send(status);
    });
    assert_eq!(statuses.recv_timeout(LONG), Ok(PdhStatus::NO_DATA));
    for invalid in [Duration::ZERO, Duration::MAX] {
        let status = Collector::start(&query, invalid, |_| {}).err();
        assert_eq!(status, Some(PdhStatus::INVALID_ARGUMENT));
    }
}

/// The function called after a collection may drop the collector.
#[test]
fn the_collector_can_be_dropped_by_its_own_thread() {
    let machine = Machine::new();
    let query = query(&machine);
    let slot: Arc<Mutex<Option<Collector>>> = Arc::default();
    let (sender, dropped) = channel();
    let own = Arc::clone(&slot);
    let mut held = slot.lock().expect("no panic");
    let collector = Collector::start(&query, SHORT, move |_| {
        drop(own.lock().expect("no panic").take());
        let _ = sender.send(());
    });
    *held = Some(collector.expect("a thread"));
    drop(held);
    assert_eq!(dropped.recv_timeout(LONG), Ok(()));
    assert_eq!(dropped.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
}

//! Many readers share one collection and do not slow each other.

use std::io::{Read, Write};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use rustix::net::sockopt;

use crate::client::{connect, target};
use crate::runs_long_tests;
use crate::stream::Events;
use crate::test_server::{Machine, TestOptions, TestServer};

const READERS: usize = 200;
/// An environment variable that is set in the child process of a test. There, memory is used only by the server and the readers.
const ALONE: &str = "TACHO_READERS_ALONE";

/// Resident memory of this process in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

/// Checks that each of 200 readers gets `events` collections while another client does not read.
fn check_readers(interval: Duration, events: usize) {
    let machine = Machine::new(4000);
    let server = TestServer::start(&machine, TestOptions { interval, ..TestOptions::default() });
    let address = server.address;
    // This client has a small receive window, and never reads its large stream.
    let path = [("path", r"\Things(*)\*")];
    let mut lazy = connect(address);
    sockopt::set_socket_recv_buffer_size(&lazy, 4096).expect("an option");
    write!(lazy, "GET {} HTTP/1.1\r\nHost: {address}\r\n\r\n", target("/api/stream", &path)).expect("sent");
    let start = Arc::new(std::sync::Barrier::new(READERS + 1));
    let times: Arc<Mutex<Vec<Vec<f64>>>> = Arc::default();
    let taken = Arc::new(AtomicU64::new(0));
    let (notify, a_quarter) = mpsc::channel();
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            let (start, times, taken) = (Arc::clone(&start), Arc::clone(&times), Arc::clone(&taken));
            let notify = notify.clone();
            std::thread::Builder::new()
                .stack_size(256 << 10)
                .spawn(move || {
                    let mut reader = Events::open(address, &[("path", r"\Things(p1*)\Number")]);
                    reader.time();
                    start.wait();
                    let mut own = Vec::with_capacity(events);
                    while own.len() < events {
                        own.push(reader.time());
                        if taken.fetch_add(1, Ordering::Relaxed) + 1 == (READERS * events / 4) as u64 {
                            notify.send(()).expect("a receiver");
                        }
                    }
                    times.lock().expect("no panic").push(own);
                })
                .expect("a thread")
        })
        .collect();
    start.wait();
    // The measured time begins before the first count and ends after the last one, so that delays can only lengthen it.
    let began = Instant::now();
    let collections = machine.collections.load(Ordering::SeqCst);
    // After a quarter of the events, memory must not grow.
    a_quarter.recv().expect("the readers read");
    let before = resident();
    readers.into_iter().for_each(|reader| reader.join().expect("every reader got all"));
    let collected = machine.collections.load(Ordering::SeqCst) - collections;
    let (after, elapsed) = (resident(), began.elapsed());
    eprintln!("{READERS} readers: {collected} collections in {elapsed:?}; {before} KiB -> {after} KiB");
    let times = times.lock().expect("no panic");
    assert_eq!(times.len(), READERS);
    for own in times.iter() {
        // The fake clock advances by a second per collection, so no event is missing.
        assert!(own.windows(2).all(|pair| pair[1] - pair[0] == 1.0), "{own:?}");
    }
    // All readers share one collection per interval. (Events that were collected before the count can be read after it.)
    let intervals = elapsed.as_nanos() / interval.as_nanos();
    assert!(u128::from(collected) <= intervals + 2, "{collected} collections in {intervals} intervals");
    assert!(after < before + 10_000, "{before} KiB -> {after} KiB");
    // The stream of the client that never read ends, because the server has disconnected it.
    let mut received = 0;
    let mut buffer = vec![0; 1 << 16];
    while let Ok(bytes @ 1..) = lazy.read(&mut buffer) {
        received += bytes;
        assert!(received < events * 40_000, "the reader was not disconnected");
    }
}

/// Runs [`check_readers`] in a child process.
fn check_in_child(test: &str, interval: Duration, events: usize) {
    if std::env::var_os(ALONE).is_some() {
        return check_readers(interval, events);
    }
    let ended = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, "1")
        .status()
        .expect("this program starts");
    assert!(ended.success(), "{ended}: see its output above");
}

#[test]
fn two_hundred_readers_share_one_collection() {
    check_in_child("readers::two_hundred_readers_share_one_collection", Duration::from_millis(200), 40);
}

#[test]
fn long_two_hundred_readers_share_one_collection_for_a_minute() {
    if runs_long_tests() {
        check_in_child(
            "readers::long_two_hundred_readers_share_one_collection_for_a_minute",
            Duration::from_millis(500),
            120,
        );
    }
}

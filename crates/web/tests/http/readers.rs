//! Many readers: one collection for all, nobody starves others.

use std::io::{Read, Write};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use rustix::net::sockopt;

use crate::client::{connect, target};
use crate::is_long;
use crate::made::{Machine, Served, Wishes};
use crate::stream::Events;

const READERS: usize = 200;
/// Set in the process that one of these tests has for itself: its memory is the server's and the readers' then.
const ALONE: &str = "TACHO_READERS_ALONE";

/// Memory of this process in KiB; the server's and the readers' together.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

/// 200 readers and one that stops reading, over `events` collections; a check of what each of them got.
fn read(interval: Duration, events: usize) {
    let machine = Machine::new(4000);
    let served = Served::start(&machine, Wishes { interval, ..Wishes::default() });
    let address = served.address;
    // It has a small window, asks for much, and never reads.
    let path = [("path", r"\Things(*)\*")];
    let mut lazy = connect(address);
    sockopt::set_socket_recv_buffer_size(&lazy, 4096).expect("an option");
    write!(lazy, "GET {} HTTP/1.1\r\nHost: {address}\r\n\r\n", target("/api/stream", &path)).expect("sent");
    let start = Arc::new(std::sync::Barrier::new(READERS + 1));
    let times: Arc<Mutex<Vec<Vec<f64>>>> = Arc::default();
    let taken = Arc::new(AtomicU64::new(0));
    let (told, a_quarter) = mpsc::channel();
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            let (start, times, taken) = (Arc::clone(&start), Arc::clone(&times), Arc::clone(&taken));
            let told = told.clone();
            std::thread::Builder::new()
                .stack_size(256 << 10)
                .spawn(move || {
                    let mut reader = Events::open(address, &[("path", r"\Things(p1*)\Number")]);
                    reader.time();
                    start.wait();
                    let mut mine = Vec::with_capacity(events);
                    while mine.len() < events {
                        mine.push(reader.time());
                        if taken.fetch_add(1, Ordering::Relaxed) + 1 == (READERS * events / 4) as u64 {
                            told.send(()).expect("somebody waits");
                        }
                    }
                    times.lock().expect("no panic").push(mine);
                })
                .expect("a thread")
        })
        .collect();
    start.wait();
    // The moments enclose the counts, so that a thread that is stopped between the two makes the time longer only.
    let began = Instant::now();
    let collections = machine.collections.load(Ordering::SeqCst);
    // After a while of it memory is what it stays.
    a_quarter.recv().expect("the readers read");
    let before = resident();
    readers.into_iter().for_each(|reader| reader.join().expect("every reader got all"));
    let collected = machine.collections.load(Ordering::SeqCst) - collections;
    let (after, elapsed) = (resident(), began.elapsed());
    eprintln!("{READERS} readers: {collected} collections in {elapsed:?}; {before} KiB -> {after} KiB");
    let times = times.lock().expect("no panic");
    assert_eq!(times.len(), READERS);
    for mine in times.iter() {
        // The made clock goes on by a second with every collection: nobody missed one.
        assert!(mine.windows(2).all(|pair| pair[1] - pair[0] == 1.0), "{mine:?}");
    }
    // One collection per interval, however many read. (Fewer than the events by those that were collected before the count
    // and read after it.)
    let moments = elapsed.as_nanos() / interval.as_nanos();
    assert!(u128::from(collected) <= moments + 2, "{collected} collections in {moments} intervals");
    assert!(after < before + 10_000, "{before} KiB -> {after} KiB");
    // Who never read was let go: what there is to read ends.
    let mut held = 0;
    let mut buffer = vec![0; 1 << 16];
    while let Ok(bytes @ 1..) = lazy.read(&mut buffer) {
        held += bytes;
        assert!(held < events * 40_000, "a reader that reads nothing was not let go");
    }
}

/// [`read`] in a process of its own.
fn read_alone(test: &str, interval: Duration, events: usize) {
    if std::env::var_os(ALONE).is_some() {
        return read(interval, events);
    }
    let ended = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, "1")
        .status()
        .expect("this program starts");
    assert!(ended.success(), "{ended}: what it says stands before this");
}

#[test]
fn two_hundred_readers_share_one_collection() {
    read_alone("readers::two_hundred_readers_share_one_collection", Duration::from_millis(200), 40);
}

#[test]
fn long_two_hundred_readers_for_a_minute() {
    if is_long() {
        read_alone("readers::long_two_hundred_readers_for_a_minute", Duration::from_millis(500), 120);
    }
}

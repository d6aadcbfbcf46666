//! Records of this machine's kernel.

use std::process::{Child, Command};

use super::*;
use crate::process::taskstats::unavailable_reason;

/// A listener, or `None` if the kernel does not permit it here.
pub(in crate::process) fn listener(receive_bytes: usize) -> Option<ExitListener> {
    match ExitListener::with_receive_bytes(&Roots::of_this_machine(), receive_bytes) {
        Ok(listener) => Some(listener),
        Err(error) => {
            println!("skipped: taskstats: {}", unavailable_reason(&error));
            None
        }
    }
}

/// Starts processes, reaps them, and returns their ids.
fn ended(count: usize) -> Vec<u32> {
    ended_after("true", count)
}

/// Starts shells that run a command, reaps them, and returns their ids.
fn ended_after(command: &str, count: usize) -> Vec<u32> {
    let start = || Command::new("sh").args(["-c", command]).spawn().expect("sh runs");
    let mut children: Vec<Child> = (0..count).map(|_| start()).collect();
    children.iter_mut().for_each(|child| assert!(child.wait().expect("waited for").success()));
    children.iter().map(Child::id).collect()
}

#[test]
fn every_process_that_ends_has_a_record() {
    let Some(mut listener) = listener(RECEIVE_BYTES) else { return };
    let mut records = Vec::new();
    let mut receive = |records: &mut Vec<ExitRecord>| {
        listener.receive(|record| records.push(record)).expect("nothing is lost");
    };
    let ids = ended(20);
    // A thread of a living process has no record.
    std::thread::spawn(|| {}).join().expect("joined");
    receive(&mut records);
    let own = std::process::id();
    let record = |records: &[ExitRecord], id| {
        records.iter().find(|record| (record.process, record.parent) == (id, own)).copied()
    };
    assert!(ids.iter().all(|&id| record(&records, id).is_some()));
    assert!(records.iter().all(|record| record.process != own));
    // The run time of a process that is shorter than a tick can be 0.
    let long = ended_after("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done", 1)[0];
    records.clear();
    receive(&mut records);
    assert!(record(&records, long).expect("a record").time() > 0);
}

#[test]
fn lost_records_are_reported_and_later_ones_received() {
    let Some(mut listener) = listener(1) else { return };
    // The kernel keeps a few records at least.
    ended(20);
    assert_eq!(listener.receive(|_| {}), Err(Loss::Some));
    let wanted = ended(1)[0];
    let mut is_found = false;
    // Other processes can fill the small buffer.
    for _ in 0..1000 {
        let received = listener.receive(|record| is_found |= record.process == wanted);
        if is_found || received.is_err() {
            return;
        }
    }
    panic!("neither received nor lost");
}

#[test]
fn errors_have_texts_for_people() {
    let text = |errno: Errno| unavailable_reason(&errno.into());
    assert_eq!(text(Errno::PERM), "permission denied: requires CAP_NET_ADMIN");
    assert!(text(Errno::INVAL).contains("namespace"));
    assert!(unavailable_reason(&io::Error::other("the kernel has none")).contains("has none"));
    let roots = Roots { sys: "/nonexistent".into(), ..Roots::of_this_machine() };
    assert!(ExitListener::open(&roots).is_err());
}

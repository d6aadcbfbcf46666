//! Forked processes: parent and child share counters, and only the parent removes the set.
#![allow(unsafe_code, reason = "fork is unsafe")]

#[path = "all/seen.rs"]
mod seen;

use tachograph_publish::dynamic::{Options, Provider};
use tachograph_publish::{
    Average, ControlCallback, Counter, CounterDescription, CounterSet, Description, Guid, InstanceKind,
    Publisher, StripedCounter,
};

#[derive(CounterSet)]
#[counter_set(name = "Forking")]
struct Forking {
    #[counter(name = "Plain/sec")]
    plain: Counter,
    #[counter(name = "Striped/sec", striped = 2)]
    striped: StripedCounter,
    #[counter(name = "Avg. Amount", base = "Amounts", striped = 2)]
    amount: Average,
}

#[derive(CounterSet)]
#[counter_set(name = "Forking Queue", instances = "multiple")]
struct Queue {
    #[counter(name = "Orders/sec")]
    orders: Counter,
}

/// Runs `work` in a child and waits for it; `true` if it completed.
fn in_child(work: impl FnOnce()) -> bool {
    // SAFETY: the child runs only `work` of the test, and ends without running destructors of the harness.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no child");
    if child == 0 {
        let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_ok();
        // SAFETY: it ends the child here.
        unsafe { libc::_exit(if worked { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: the kernel fills the status.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

#[test]
fn parent_and_child_count_together() {
    let folder = tempfile::tempdir().expect("a folder");
    let forking = Publisher::new().folder(folder.path()).start::<Forking>().expect("start provider");
    let update = |forking: &Forking| {
        for _ in 0..100_000 {
            forking.plain.add(1);
            forking.striped.add(1);
            forking.amount.add(3);
        }
    };
    // The parent takes its stripe before the child exists.
    forking.striped.add(1);
    let ended = std::thread::scope(|scope| {
        let parent = scope.spawn(|| update(&forking));
        let ended = in_child(|| update(&forking));
        parent.join().expect("no panic");
        ended
    });
    assert!(ended);
    let row = seen::row(folder.path());
    assert_eq!(row.values[0], Some((200_000, None)));
    assert_eq!(row.values[1], Some((200_001, None)));
    assert_eq!(row.values[2], Some((600_000, Some(200_000))));
}

#[test]
fn dropping_instances_in_a_child_has_no_effect() {
    let folder = tempfile::tempdir().expect("a folder");
    let queues = Publisher::new().folder(folder.path()).start_set::<Queue>().expect("start provider");
    let mut express = queues.instance("express").ok();
    let ended = in_child(|| {
        express.as_ref().expect("the instance").orders.add(2);
        drop(express.take());
        // The child cannot add instances either, because the slots belong to the parent.
        assert!(queues.instance("of the child").is_err());
        assert!(queues.find_or_create("express", 0).is_err());
        assert!(queues.find("express", 0).is_none());
    });
    assert!(ended);
    let other = queues.instance("other").expect("room");
    other.orders.add(1);
    let rows = seen::rows(&mut seen::set(folder.path()));
    let rows: Vec<_> =
        rows.iter().map(|row| (row.name.as_str(), row.values[0].map(|value| value.0))).collect();
    assert_eq!(rows, [("express", Some(2)), ("other", Some(1))]);
    assert_eq!(express.expect("only the child dropped it").orders.value(), 2);
}

#[test]
fn a_child_does_not_remove_the_set() {
    let folder = tempfile::tempdir().expect("a folder");
    let publisher = Publisher::new().folder(folder.path());
    let forking = publisher.start::<Forking>().expect("start provider");
    let set = Guid::from_u128(7);
    let control: ControlCallback = std::sync::Arc::new(|_| Ok(()));
    let provider =
        Provider::start(set, Options { publisher, control: Some(control) }).expect("start provider");
    let mut description = Description::new("Forked", set, InstanceKind::Multiple);
    description.counters.push(CounterDescription::new(1, "One", 0x0001_0000));
    provider.register(description).expect("registered");
    let one = provider.create_instance(set, "one", 0).expect("room");
    let before = seen::all_entries(folder.path());
    assert_eq!(before.len(), 3, "two files and a socket");
    let (mut forking, mut provider) = (Some(forking), Some(provider));
    let ended = in_child(|| {
        drop(forking.take());
        assert_eq!(
            provider.as_ref().and_then(|p| p.create_instance(set, "two", 0).err()).map(|e| e.code()),
            Some(6)
        );
        one.add(1, 1).expect("a counter");
        drop(provider.take());
    });
    assert!(ended, "the child hung or failed while dropping its sets");
    assert_eq!(seen::all_entries(folder.path()), before);
    assert_eq!(seen::sets(folder.path()).len(), 2);
    for mut set in seen::sets(folder.path()) {
        assert_eq!(seen::rows(&mut set).len(), 1, "its instance is still there");
    }
    drop((forking, provider));
    assert_eq!(seen::all_entries(folder.path()), [""; 0]);
}

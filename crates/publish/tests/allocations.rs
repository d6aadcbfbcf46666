//! Updates do not allocate. A separate test program, because it counts allocations, and per thread, because the test harness has threads too.

#![allow(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use tachograph_publish::dynamic::{Options, Provider};
use tachograph_publish::{
    Average, Counter, CounterDescription, CounterSet, Description, Fraction, Gauge, Guid, InstanceKind,
    Publisher, Ratio, StripedCounter, Timer,
};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// Counts the allocations of each thread.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: everything is forwarded to the system's allocator. The counter needs neither memory nor a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(address, layout) }
    }
}

/// The number of allocations of this thread in `work`.
fn allocations_of(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

#[derive(CounterSet)]
#[counter_set(name = "All Kinds")]
struct AllKinds {
    #[counter(name = "Counter")]
    counter: Counter,
    #[counter(name = "Striped", striped = 1)]
    striped: StripedCounter,
    #[counter(name = "Gauge")]
    gauge: Gauge,
    #[counter(name = "Timer", base = "Timer Base")]
    timer: Timer,
    #[counter(name = "Average", base = "Average Base", striped = 2)]
    average: Average,
    #[counter(name = "Fraction", base = "Fraction Base")]
    fraction: Fraction,
    #[counter(name = "Ratio", base = "Ratio Base")]
    ratio: Ratio,
}

#[test]
fn updates_do_not_allocate() {
    const SET: Guid = Guid::from_u128(7);
    let folder = tempfile::tempdir().expect("a folder");
    let publisher = Publisher::new().folder(folder.path());
    let all = publisher.start::<AllKinds>().expect("start provider");
    let provider = Provider::start(SET, Options { publisher, control: None }).expect("start provider");
    let mut set = Description::new("Dynamic", SET, InstanceKind::Multiple);
    set.counters.push(CounterDescription::new(1, "One", 0x0001_0000));
    provider.register(set).expect("registered");
    let one = provider.create_instance(SET, "one", 0).expect("room");

    // Neither the first update allocates, nor those after timers have switched to the processor's counter.
    let count = allocations_of(|| {
        for _ in 0..200 {
            all.counter.add(1);
            all.striped.add(1);
            all.gauge.set(1);
            all.gauge.raise_to(2);
            drop(all.timer.start());
            all.timer.record(Duration::from_secs(1));
            all.average.add(1);
            all.fraction.hit();
            all.ratio.set(1, 2);
            one.add(1, 1).expect("a counter");
            one.set(1, 1).expect("a counter");
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    assert_eq!(count, 0, "allocations");

    // A thread without a stripe does not allocate either. The first thread uses the only stripe.
    let count = std::thread::scope(|scope| {
        let others = scope.spawn(|| {
            allocations_of(|| {
                all.striped.add(1);
                all.average.add(1);
            })
        });
        others.join().expect("no panic")
    });
    assert_eq!(count, 0, "allocations of another thread");
    assert_eq!(allocations_of(|| drop(std::hint::black_box(Box::new(7)))), 1, "allocations are counted");
}

//! Updates allocate nothing. In a binary of its own, which counts what is allocated.

use std::time::Duration;

use peak_alloc::PeakAlloc;
use tachograph_publish::dynamic::{Options, Provider};
use tachograph_publish::{
    Average, Counter, CounterDescription, CounterSet, Description, Fraction, Gauge, Guid, InstanceKind,
    Publisher, Ratio, StripedCounter, Timer,
};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

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
fn updates_allocate_nothing() {
    const SET: Guid = Guid::from_u128(7);
    let folder = tempfile::tempdir().expect("a folder");
    let publisher = Publisher::new().folder(folder.path());
    let all = publisher.start::<AllKinds>().expect("it starts");
    let provider = Provider::start(SET, Options { publisher, control: None }).expect("it starts");
    let mut set = Description::new("Dynamic", SET, InstanceKind::Multiple);
    set.counters.push(CounterDescription::new(1, "One", 0x0001_0000));
    provider.register(set).expect("registered");
    let one = provider.create_instance(SET, "one", 0).expect("room");

    // The harness has its own thread, which allocates when a test begins.
    std::thread::sleep(Duration::from_millis(200));
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    // From the first update on, and past the moment at which timers change their clock.
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
    let bytes = ALLOCATED.peak_usage().saturating_sub(before);
    assert_eq!(bytes, 0, "bytes that were allocated");

    // What a thread without a part of its own does, too: the first has the only one.
    let bytes = std::thread::scope(|scope| {
        let others = scope.spawn(|| {
            let before = ALLOCATED.current_usage();
            ALLOCATED.reset_peak_usage();
            all.striped.add(1);
            all.average.add(1);
            ALLOCATED.peak_usage().saturating_sub(before)
        });
        others.join().expect("it works")
    });
    assert_eq!(bytes, 0, "bytes that another thread allocated");
}

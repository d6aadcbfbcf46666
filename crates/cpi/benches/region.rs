//! The cost of measuring an empty region of a thread with two readings of running counters, compared with other methods and
//! another library. All methods use a group of the same two events (task clock and page faults, the kernel's work included)
//! and read the times for which the group was enabled and running.

#![allow(missing_docs, reason = "a program")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use perf_event::events::Software;
use perf_event::{Builder, Counter, ReadFormat};
use tachograph_cpi::{Cpi, Events, Mode, Options};

use crate::bare::Bare;

mod bare;

/// The empty region.
fn region() {
    black_box(());
}

/// The leader and the other member of the group, opened by perf-event2.
fn perf_event2() -> (Counter, Counter) {
    let mut leader = Builder::new(Software::TASK_CLOCK)
        .include_kernel()
        .read_format(
            ReadFormat::GROUP
                | ReadFormat::ID
                | ReadFormat::TOTAL_TIME_ENABLED
                | ReadFormat::TOTAL_TIME_RUNNING,
        )
        .build()
        .expect("software events of the own thread");
    let member = Builder::new(Software::PAGE_FAULTS).include_kernel().build_with_group(&mut leader);
    (leader, member.expect("the group has space for another event"))
}

fn measure(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("empty region");
    group.bench_function("not measured", |bencher| bencher.iter(region));

    let options = Options { mode: Mode::ON_THREAD, events: Events::Software, ..Options::default() };
    let mut cpi = Cpi::new(options).expect("software events of the own thread");
    group.bench_function("Cpi: start, get", |bencher| {
        bencher.iter(|| {
            cpi.start().expect("read");
            region();
            cpi.get().expect("read").thread
        });
    });
    group.bench_function("Cpi: get_and_start", |bencher| {
        bencher.iter(|| {
            region();
            cpi.get_and_start().expect("read").thread
        });
    });
    drop(cpi);

    let mut bare = Bare::open();
    bare.enable();
    group.bench_function("bare: read and subtract", |bencher| {
        bencher.iter(|| {
            let before = bare.read();
            region();
            let after = bare.read();
            [after[0] - before[0], after[1] - before[1]]
        });
    });
    bare.disable();
    group.bench_function("bare: reset, enable, disable, read", |bencher| {
        bencher.iter(|| {
            bare.reset();
            bare.enable();
            region();
            bare.disable();
            bare.read()
        });
    });
    drop(bare);

    let (mut leader, member) = perf_event2();
    leader.enable_group().expect("enabled");
    group.bench_function("perf-event2: read and subtract", |bencher| {
        bencher.iter(|| {
            let before = leader.read_group().expect("read");
            region();
            let after = leader.read_group().expect("read");
            [after[&leader] - before[&leader], after[&member] - before[&member]]
        });
    });
    leader.disable_group().expect("disabled");
    group.bench_function("perf-event2: reset, enable, disable, read", |bencher| {
        bencher.iter(|| {
            leader.reset_group().expect("reset");
            leader.enable_group().expect("enabled");
            region();
            leader.disable_group().expect("disabled");
            let counts = leader.read_group().expect("read");
            [counts[&leader], counts[&member]]
        });
    });
}

criterion_group!(benches, measure);
criterion_main!(benches);

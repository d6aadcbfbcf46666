//! Measures samples of `Process` and `Thread` with 500 additional processes, and bare loops over the same open files.

#![allow(missing_docs, reason = "a program")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tachograph_perflib::{Clock, InstanceFilter, Rows};
use tachograph_system::Roots;

use crate::bare::{Bare, Sleepers, processes};

mod bare;

fn sample(criterion: &mut Criterion) {
    let _sleepers = Sleepers::start(500);
    let mut group = criterion.benchmark_group("processes");
    group.throughput(Throughput::Elements(processes().len() as u64));

    let mut bare = Bare::open(&["stat", "status", "io"], &[]);
    group.bench_function("bare loop over stat, status, io", |bencher| bencher.iter(|| bare.read()));
    let mut bare = Bare::open(&["stat", "status", "io"], &["fd"]);
    group.bench_function("bare loop over stat, status, io, size of fd", |bencher| {
        bencher.iter(|| bare.read())
    });
    let mut bare = Bare::open(&["stat"], &[]);
    group.bench_function("bare loop over stat", |bencher| bencher.iter(|| bare.read()));
    drop(bare);

    for (set, counter) in [
        ("Process", None),
        ("Process", Some("% Processor Time")),
        ("Process", Some("Working Set - Private")),
        ("Thread", None),
    ] {
        let mut providers = tachograph_system::providers(&Roots::of_this_machine()).into_iter();
        let mut provider = providers.find(|provider| &*provider.info().name == set).expect("the set exists");
        let info = provider.info().clone();
        let ids = info.counters.iter().filter(|row| counter.is_none_or(|name| &*row.name == name));
        let mut rows = Rows::new(info.clone());
        rows.select(ids.map(|row| row.id), vec![InstanceFilter::all()]);
        let clock = Clock::of_this_machine();
        let name = format!("{set}, {}", counter.unwrap_or("all counters"));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                rows.clear(clock.now());
                provider.collect(&mut rows).expect("collected");
            });
        });
    }
}

criterion_group!(benches, sample);
criterion_main!(benches);

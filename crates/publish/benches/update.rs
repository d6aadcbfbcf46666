//! The cost of an update, compared with other methods and libraries in the same run. Everything that is updated is created
//! before the measurement; all amounts go through `black_box`.
//!
//! With two threads, the time is that of one update in one thread while the other does the same: the process makes two
//! updates in that time.

#![allow(missing_docs, reason = "a program")]

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use metrics_util::registry::Registry;
use tachograph_publish::{Average, Counter, CounterSet, Published, Publisher, StripedCounter, Timer};

#[derive(CounterSet)]
#[counter_set(name = "Bench")]
struct Bench {
    #[counter(name = "Plain/sec")]
    plain: Counter,
    #[counter(name = "Striped/sec")]
    striped: StripedCounter,
    #[counter(name = "Avg. Amount", base = "Amounts")]
    amount: Average,
    #[counter(name = "Avg. sec", base = "Times")]
    time: Timer,
    #[counter(name = "Avg. sec Striped", base = "Striped Times", striped)]
    striped_time: Timer,
}

/// Counters of other libraries, and a bare atomic.
struct Others {
    bare: Arc<AtomicU64>,
    metrics: metrics::Counter,
    prometheus: prometheus_client::metrics::counter::Counter,
}

fn others() -> Others {
    let registry = Registry::atomic();
    let key = metrics::Key::from_name("requests");
    Others {
        bare: Arc::default(),
        metrics: registry
            .get_or_create_counter(&key, |counter| metrics::Counter::from_arc(Arc::clone(counter))),
        prometheus: prometheus_client::metrics::counter::Counter::default(),
    }
}

/// A load and a store, as in instrumentations that ignore other threads: not atomic.
fn load_and_store(word: &AtomicU64, amount: u64) {
    word.store(word.load(Relaxed).wrapping_add(amount), Relaxed);
}

fn published() -> (tempfile::TempDir, Published<Bench>) {
    let shared_memory = std::path::Path::new("/dev/shm");
    let folder = match tempfile::tempdir_in(shared_memory) {
        Ok(folder) => folder,
        Err(_) => tempfile::tempdir().expect("a folder"),
    };
    let bench = Publisher::new().folder(folder.path()).start::<Bench>().expect("the provider starts");
    // Timers use the processor's counter after 100 ms.
    let ready = Instant::now();
    while ready.elapsed() < Duration::from_millis(200) {
        drop(bench.time.start());
    }
    (folder, bench)
}

fn one_thread(criterion: &mut Criterion) {
    let (_folder, bench) = published();
    let others = others();
    let mut group = criterion.benchmark_group("one thread");
    group.bench_function("bare fetch_add", |b| b.iter(|| others.bare.fetch_add(black_box(1), Relaxed)));
    group.bench_function("Counter", |b| b.iter(|| bench.plain.add(black_box(1))));
    group.bench_function("StripedCounter", |b| b.iter(|| bench.striped.add(black_box(1))));
    group.bench_function("prometheus-client", |b| b.iter(|| others.prometheus.inc_by(black_box(1))));
    group.bench_function("metrics, held handle", |b| b.iter(|| others.metrics.increment(black_box(1))));
    group.bench_function("load and store", |b| b.iter(|| load_and_store(&others.bare, black_box(1))));
    group.bench_function("Average", |b| b.iter(|| bench.amount.add(black_box(100))));
    group.finish();
    let mut group = criterion.benchmark_group("timers");
    group.bench_function("a clock read", |b| b.iter(Instant::now));
    group.bench_function("two clock reads", |b| b.iter(|| Instant::now().elapsed()));
    group.bench_function("guard", |b| b.iter(|| drop(bench.time.start())));
    group.bench_function("guard, striped", |b| b.iter(|| drop(bench.striped_time.start())));
    group.bench_function("record", |b| b.iter(|| bench.time.record(black_box(Duration::from_nanos(100)))));
    group.finish();
}

fn two_threads(criterion: &mut Criterion) {
    let (_folder, bench) = published();
    let others = others();
    let mut group = criterion.benchmark_group("two threads");
    let bare = Arc::clone(&others.bare);
    bench_two_threads(&mut group, "bare fetch_add", || {
        bare.fetch_add(black_box(1), Relaxed);
    });
    bench_two_threads(&mut group, "Counter", || bench.plain.add(black_box(1)));
    bench_two_threads(&mut group, "StripedCounter", || bench.striped.add(black_box(1)));
    bench_two_threads(&mut group, "prometheus-client", || {
        others.prometheus.inc_by(black_box(1));
    });
    bench_two_threads(&mut group, "metrics, held handle", || others.metrics.increment(black_box(1)));
    group.finish();
}

/// Measures `update` in two threads at the same time.
fn bench_two_threads(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, update: impl Fn() + Sync) {
    group.bench_function(name, |b| {
        b.iter_custom(|iterations| {
            let barrier = Barrier::new(2);
            let run = || {
                barrier.wait();
                let start = Instant::now();
                (0..iterations).for_each(|_| update());
                start.elapsed()
            };
            std::thread::scope(|scope| {
                let other_thread = scope.spawn(run);
                let own_time = run();
                own_time.max(other_thread.join().expect("the thread did not panic"))
            })
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = one_thread, two_threads
}
criterion_main!(benches);

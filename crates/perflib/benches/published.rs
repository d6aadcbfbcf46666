//! Measures collecting 100 published sets with 100 instances and 10 counters each, from 10 processes. For comparison, also
//! measures a loop over as many consecutive cells in memory, and a loop that converts the cells of such files to raw values.

use std::hint::black_box;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use criterion::{Criterion, Throughput};
use tachograph_counters::path::PathPattern;
use tachograph_counters::{CounterType, RawValue};
use tachograph_perflib::published::Published;
use tachograph_perflib::{Clock, Query, Registry};
use tachograph_shm::cell::Pair;
use tachograph_shm::{
    Attributes, CellKind, CounterDescription, Description, Guid, InstanceKind, Line, Options, SetFile, Slot,
};

const PROCESSES: u32 = 10;
const SETS_OF_A_PROCESS: u32 = 10;
const INSTANCES: u32 = 100;
const COUNTERS: u32 = 10;
const VALUES: u64 = (PROCESSES * SETS_OF_A_PROCESS * INSTANCES * COUNTERS) as u64;

/// The environment variables of a child process: its index, and the kind of its counters.
const PROCESS_INDEX: &str = "TACHO_BENCH_PROCESS";
const KIND: &str = "TACHO_BENCH_KIND";

/// Publishes all sets of a process, with their instances.
fn publish(folder: &Path, process: u32, kind: &str) -> Vec<(SetFile, Vec<Slot>)> {
    let of_set = |number: u32| {
        let description = describe(process, number, kind);
        let counters = description.counters.len();
        let options = Options { folder: Some(folder.to_owned()), ..Options::default() };
        let set = SetFile::create(description, &options).expect("a set");
        set.go_live().expect("a name");
        let instance = |instance| {
            let slot = set.create_instance(&format!("instance {instance}"), instance).expect("an instance");
            for line in (0..counters).filter_map(|index| slot.line(index)) {
                match kind {
                    "plain" => line[0].store(u64::from(instance), Ordering::Relaxed),
                    _ => Pair::<16, 48>::new(&line[..]).add(1_000),
                }
            }
            slot
        };
        let slots = (0..INSTANCES).map(instance).collect();
        (set, slots)
    };
    (0..SETS_OF_A_PROCESS).map(of_set).collect()
}

/// A set of rates, or of timers with their bases.
fn describe(process: u32, number: u32, kind: &str) -> Description {
    let guid = Guid::from_u128(u128::from(1 + process * SETS_OF_A_PROCESS + number));
    let mut description = Description::new(format!("Bench {process} {number}"), guid, InstanceKind::Multiple);
    for id in 1..=COUNTERS {
        if kind == "plain" {
            let counter = CounterDescription::new(id, format!("Counter {id}"), CounterType::BULK_COUNT.0);
            description.counters.push(counter);
            continue;
        }
        let mut timer = CounterDescription::new(id, format!("Timer {id}"), CounterType::AVERAGE_TIMER.0);
        timer.cell = CellKind::Timer;
        timer.base_id = Some(100 + id);
        let mut base = CounterDescription::new(100 + id, "", CounterType::AVERAGE_BASE.0);
        base.cell = CellKind::None;
        base.attributes = Attributes::NO_DISPLAYABLE;
        description.counters.extend([timer, base]);
    }
    description
}

/// A child that publishes until its standard input ends.
fn child(folder: &Path, process: u32, kind: &str) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .env("TACHO_RUNTIME_DIR", folder)
        .env(PROCESS_INDEX, process.to_string())
        .env(KIND, kind)
        .stdin(Stdio::piped())
        .spawn()
        .expect("a child")
}

fn as_child(number: &str) {
    let folder = std::env::var_os("TACHO_RUNTIME_DIR").expect("a folder");
    let kind = std::env::var(KIND).expect("a kind");
    let _sets = publish(Path::new(&folder), number.parse().expect("a number"), &kind);
    // Ends when the parent exits.
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// A query of all values, after all processes have published.
fn query_of(folder: &Path) -> Query {
    let published = Published::in_folders(vec![folder.to_owned()]);
    let begin = std::time::Instant::now();
    loop {
        let mut registry = Registry::new("HERE", Clock::of_this_machine());
        published.add_to(&mut registry, None);
        let mut query = Query::open(&Arc::new(registry), None).expect("a query");
        query.add_path(&PathPattern::parse(r"\*(*)\*").expect("a path"));
        query.collect();
        let values: usize = query.sets().iter().map(|set| set.rows().all_values().len()).sum();
        if values as u64 == VALUES {
            return query;
        }
        assert!(begin.elapsed().as_secs() < 60, "{values} values");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Reads the first word of each of many consecutive cache lines: as many as the sets have.
fn loop_over_memory() -> impl FnMut() {
    let lines = u64::from(PROCESSES * SETS_OF_A_PROCESS * INSTANCES) * u64::from(COUNTERS + 1);
    let memory: Vec<[AtomicU64; 8]> =
        (0..lines).map(|line| std::array::from_fn(|_| AtomicU64::new(line))).collect();
    let mut values: Vec<u64> = Vec::with_capacity(memory.len());
    move || {
        values.clear();
        values.extend(memory.iter().map(|line| line[0].load(Ordering::Relaxed)));
        black_box(&values);
    }
}

/// Converts the cells of the files to raw values, through the mappings of the files' writers.
fn loop_over_files(sets: &[(SetFile, Vec<Slot>)]) -> impl FnMut() {
    let lines = |slots: &[Slot]| {
        let of_slot =
            |slot: &Slot| (0..COUNTERS as usize).filter_map(|index| slot.line(index)).collect::<Vec<_>>();
        slots.iter().flat_map(of_slot).collect::<Vec<_>>()
    };
    let mut files: Vec<_> = sets.iter().map(|(_, slots)| (lines(slots), Vec::<RawValue>::new())).collect();
    move || {
        for (lines, values) in &mut files {
            values.clear();
            let value = |line: &Line| RawValue::new(line[0].load(Ordering::Relaxed) as i64, 1);
            values.extend(lines.iter().map(value));
            black_box(&values);
        }
    }
}

fn main() {
    if let Ok(number) = std::env::var(PROCESS_INDEX) {
        return as_child(&number);
    }
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("collect 100 published sets");
    group.throughput(Throughput::Elements(VALUES));
    group.bench_function("a bare loop", |bencher| bencher.iter(loop_over_memory()));
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let sets: Vec<_> = (0..PROCESSES).flat_map(|process| publish(folder.path(), process, "plain")).collect();
    group.bench_function("a bare loop over files", |bencher| bencher.iter(loop_over_files(&sets)));
    drop((sets, folder));
    for kind in ["plain", "timers"] {
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
        let mut children: Vec<_> =
            (0..PROCESSES).map(|process| child(folder.path(), process, kind)).collect();
        let mut query = query_of(folder.path());
        group.bench_function(kind, |bencher| {
            bencher.iter(|| {
                query.collect();
                black_box(query.sets());
            });
        });
        for child in &mut children {
            drop(child.stdin.take());
            child.wait().expect("the child exits");
        }
    }
    group.finish();
    criterion.final_summary();
}

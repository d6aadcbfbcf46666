//! Processes that start and end during collections.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tachograph_perflib::{Clock, FREQUENCY, InstanceKey, Provider, Rows};
use tachograph_system::Roots;

/// The duration of the test.
const DURATION: Duration = Duration::from_secs(4);

/// Checks that instances with the same identity belong to the same process.
#[derive(Default)]
struct Checker {
    /// The previous sample: for each identity, the instance's id, and its running totals followed by its start time.
    last: HashMap<u64, (u32, Vec<i64>)>,
    /// The identities that have disappeared.
    gone: HashSet<u64>,
    /// The previous running totals of the instance `_Total`, without peaks.
    total: Vec<i64>,
    /// The number of instances checked.
    rows: usize,
}

impl Checker {
    fn check(&mut self, rows: &Rows) {
        // The columns of counters that do not decrease, except that an exec can lower a peak.
        let columns: Vec<usize> = (0..rows.width())
            .filter(|&column| {
                let name = &rows.counter(column).name;
                name.starts_with("% ") || name.ends_with("/sec") || name.ends_with("Peak")
            })
            .collect();
        let start = rows.info().counters.iter().find(|counter| &*counter.name == "Elapsed Time");
        let start = rows.column(start.expect("the counter").id).expect("a requested counter");
        let mut seen: HashMap<u64, (u32, Vec<i64>)> = HashMap::new();
        for (row, key) in rows.instances().iter().enumerate() {
            let raw = rows.values(row);
            let values: Vec<i64> = columns.iter().map(|&column| raw[column].first).collect();
            if is_total(key) {
                let columns_of_total = columns.iter().zip(&values);
                let sums =
                    columns_of_total.filter(|(column, _)| !rows.counter(**column).name.ends_with("Peak"));
                let sums: Vec<i64> = sums.map(|(_, value)| *value).collect();
                assert!(self.total.iter().zip(&sums).all(|(old, new)| old <= new), "a total decreased");
                self.total = sums;
                continue;
            }
            if key.identity() == 0 {
                continue;
            }
            assert!(!self.gone.contains(&key.identity()), "{key} reappeared");
            if let Some((id, old)) = self.last.get(&key.identity()) {
                assert_eq!(*id, key.id(), "{key}");
                // A process that starts during a collection is shown as started at the collection's time, which is slightly
                // too early; the next sample shows the exact start.
                let shift = raw[start].first - old[old.len() - 1];
                assert!((0..FREQUENCY).contains(&shift), "{key} was started at another time");
                // An exec replaces the memory, so peaks can decrease.
                for (place, (old, new)) in old.iter().zip(&values).enumerate() {
                    let name = &rows.counter(columns[place]).name;
                    assert!(name.ends_with("Peak") || old <= new, "{key} {name}: {old} {new}");
                }
            }
            let mut values = values;
            values.push(raw[start].first);
            assert!(seen.insert(key.identity(), (key.id(), values)).is_none(), "{key} occurs twice");
        }
        self.gone.extend(self.last.keys().filter(|identity| !seen.contains_key(identity)));
        self.rows += seen.len();
        self.last = seen;
    }
}

fn is_total(key: &InstanceKey) -> bool {
    key.identity() == 0 && key.full_name().starts_with("_Total")
}

fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").expect("read").count()
}

#[test]
fn identities_are_consistent_while_processes_start_and_end() {
    let ends = Arc::new(AtomicBool::new(false));
    let started = Arc::new(AtomicUsize::new(0));
    let starters: Vec<_> = (0..2)
        .map(|_| {
            let (ends, started) = (Arc::clone(&ends), Arc::clone(&started));
            std::thread::spawn(move || {
                while !ends.load(Ordering::Relaxed) {
                    let mut command = Command::new("true");
                    command.stdin(Stdio::null());
                    // Some of these processes end before this thread waits for them.
                    let children: Vec<_> = (0..8).filter_map(|_| command.spawn().ok()).collect();
                    started.fetch_add(children.len(), Ordering::Relaxed);
                    for mut child in children {
                        let _ = child.wait();
                    }
                }
            })
        })
        .collect();

    let wanted = ["Process", "Process V2", "Thread"];
    let providers = tachograph_system::providers(&Roots::of_this_machine()).into_iter();
    let mut sets: Vec<(Box<dyn Provider>, Rows, Checker)> = providers
        .filter(|provider| wanted.contains(&&*provider.info().name))
        .map(|provider| {
            let rows = Rows::unfiltered(provider.info().clone());
            (provider, rows, Checker::default())
        })
        .collect();
    assert_eq!(sets.len(), 3);

    let clock = Clock::of_this_machine();
    let begin = Instant::now();
    let mut samples = 0;
    while begin.elapsed() < DURATION {
        for (provider, rows, checker) in &mut sets {
            rows.clear(clock.now());
            provider.collect(rows).expect("collected");
            checker.check(rows);
        }
        samples += 1;
    }
    ends.store(true, Ordering::Relaxed);
    starters.into_iter().for_each(|starter| starter.join().expect("ended"));

    // The files of ended processes are closed.
    for (provider, rows, _) in &mut sets {
        rows.clear(clock.now());
        provider.collect(rows).expect("collected");
    }
    let rows_now: usize = sets.iter().map(|(_, rows, _)| rows.instances().len()).sum();
    let open = open_files();
    assert!(open <= rows_now * 6 + 50, "{open} files for {rows_now} rows");
    assert!(
        sets.iter().all(|(_, _, checker)| !checker.gone.is_empty()),
        "the test observed no end of a process"
    );
    let started = started.load(Ordering::Relaxed);
    let rows: usize = sets.iter().map(|(_, _, checker)| checker.rows).sum();
    println!("{started} processes, {samples} samples, {rows} rows, {open} files open");
    assert!(started > 50 && samples > 2);
}

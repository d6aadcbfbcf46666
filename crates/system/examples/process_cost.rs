//! Prints the cost of a sample of `Process` with 500 processes, compared with a bare loop over the same open files and with
//! `ps`.
//!
//! `cargo run --release --example process_cost`

#![allow(missing_docs, reason = "a program")]

use std::fs;
use std::process::{Command, Stdio};

use rustix::time::{ClockId, clock_gettime};
use tachograph_perflib::{Clock, InstanceFilter, Provider, Rows};
use tachograph_system::Roots;

use crate::bare::{Bare, Sleepers, processes};

#[path = "../benches/bare/mod.rs"]
mod bare;

/// The number of samples of each method; the methods alternate.
const SAMPLES: usize = 200;

fn main() {
    let _sleepers = Sleepers::start(500);
    let roots = Roots::of_this_machine();
    let count = processes().len() as f64;
    println!("{count} processes; processor time in microseconds per process and sample");
    println!("{:<58} {:>8} {:>8}", "", "typical", "least");
    let show = |what: &str, times: (f64, f64)| {
        println!("{what:<58} {:>8.2} {:>8.2}", times.0 / count, times.1 / count);
        times
    };

    let mut files_only = Bare::open(&["stat", "status", "io"], &[]);
    let mut with_folders = Bare::open(&["stat", "status", "io"], &["fd"]);
    let mut stat_only = Bare::open(&["stat"], &[]);
    let mut all = Collection::of(&roots, "Process", None);
    let mut time = Collection::of(&roots, "Process", Some("% Processor Time"));
    let mut waits = Collection::of(&roots, "Process", Some("% Run Queue Wait Time"));
    let mut private = Collection::of(&roots, "Process", Some("Working Set - Private"));
    let mut threads = Collection::of(&roots, "Thread", None);

    let mut rounds = [const { Vec::new() }; 8];
    for _ in 0..SAMPLES {
        let bodies: [&mut dyn FnMut(); 8] = [
            &mut || _ = files_only.read(),
            &mut || _ = with_folders.read(),
            &mut || all.sample(),
            &mut || _ = stat_only.read(),
            &mut || time.sample(),
            &mut || waits.sample(),
            &mut || private.sample(),
            &mut || threads.sample(),
        ];
        for (times, body) in rounds.iter_mut().zip(bodies) {
            let before = microseconds();
            body();
            times.push(microseconds() - before);
        }
    }
    let [files_only, with_folders, all_times, stat_only, time, waits, private, threads] =
        rounds.map(typical_and_least);
    let files_only = show("bare loop: stat, status, io", files_only);
    let with_folders = show("bare loop: stat, status, io and the size of fd", with_folders);
    let all_times = show(&format!("Process, all {} counters", all.rows.width()), all_times);
    let ratio = |a: (f64, f64), b: (f64, f64)| format!("{:.2} (least: {:.2})", a.0 / b.0, a.1 / b.1);
    println!("  of the bare loop without fd: {}", ratio(all_times, files_only));
    println!("  of the bare loop with fd: {}", ratio(all_times, with_folders));
    let stat_only = show("bare loop: stat", stat_only);
    let time = show("Process, % Processor Time", time);
    println!("  of the bare loop: {}", ratio(time, stat_only));
    show("Process, % Run Queue Wait Time", waits);
    show("Process, Working Set - Private", private);
    show("Thread, all counters (per process)", threads);
    println!("resident memory: {} (peak {})", own_status("VmRSS"), own_status("VmHWM"));

    match time_of_ps() {
        Some(time) => _ = show("ps -eo with 15 fields", (time, time)),
        None => println!("ps is not installed"),
    }
}

/// A provider with the requested counters.
struct Collection {
    provider: Box<dyn Provider>,
    rows: Rows,
    clock: Clock,
}

impl Collection {
    fn of(roots: &Roots, set: &str, counter: Option<&str>) -> Self {
        let mut providers = tachograph_system::providers(roots).into_iter();
        let provider = providers.find(|provider| &*provider.info().name == set).expect("the set exists");
        let info = provider.info();
        let ids = info.counters.iter().filter(|row| counter.is_none_or(|name| &*row.name == name));
        let mut rows = Rows::new(info.clone());
        rows.select(ids.map(|row| row.id), vec![InstanceFilter::all()]);
        let mut collection = Self { provider, rows, clock: Clock::of_this_machine() };
        (0..3).for_each(|_| collection.sample());
        collection
    }

    fn sample(&mut self) {
        self.rows.clear(self.clock.now());
        self.provider.collect(&mut self.rows).expect("collected");
    }
}

/// Processor time of this program.
fn microseconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// The median and the 5th percentile. The latter is the cost on an idle machine.
fn typical_and_least(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[times.len() / 20])
}

fn own_status(field: &str) -> String {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(field)).unwrap_or_default();
    line.split_once(':').map_or_else(String::new, |(_, value)| value.trim().to_owned())
}

/// Processor time in microseconds of `ps` for all processes.
fn time_of_ps() -> Option<f64> {
    const FIELDS: &str = "pid,ppid,comm,state,utime,stime,rss,vsz,nlwp,pri,ni,minflt,majflt,lstart,time";
    const RUNS: u32 = 40;
    // The processor time of all ended child processes, in ticks of 10,000 µs.
    let ticks_of_children = || {
        let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields = text.rsplit(')').next().unwrap_or_default();
        fields.split_whitespace().skip(13).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>()
    };
    let before = ticks_of_children();
    for _ in 0..RUNS {
        Command::new("ps").args(["-eo", FIELDS]).stdout(Stdio::null()).status().ok()?;
    }
    Some((ticks_of_children() - before) * 10_000.0 / f64::from(RUNS))
}

//! Recordings of minutes: cadence, and short-lived processes. Run if TACHO_LONG is set.

use std::collections::HashMap;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;

use crate::run::Folder;

fn is_enabled() -> bool {
    std::env::var_os("TACHO_LONG").is_some()
}

/// Calls `each` for each sample of a log, which must be undamaged.
fn for_each_sample(folder: &Folder, log: &str, mut each: impl FnMut(&Sample)) {
    let mut reader = tachograph_logs::open(&folder.path(log)).expect("a log");
    let mut sample = Sample::default();
    while reader.next(&mut sample).expect("read sample") {
        each(&sample);
    }
    assert_eq!(reader.problems().count(), 0);
}

/// Ten minutes at 0.1 s: sample k is at start + k * 0.1 s, however long earlier samples took.
#[test]
fn long_recordings_do_not_drift_in_ten_minutes() {
    if !is_enabled() {
        return;
    }
    const SAMPLES: usize = 6_001;
    let folder = Folder::new();
    let count = SAMPLES.to_string();
    let arguments =
        ["record", r"\Processor Information(*)\*", r"\Memory\*", "-si", "0.1", "-sc", &count, "-o", "l.blg"];
    let ran = folder.run(arguments);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mut times = Vec::new();
    for_each_sample(&folder, "l.blg", |sample| times.push(sample.at.utc));
    let interval = FileTime::PER_SECOND / 10;
    // The delays of the samples: on a busy machine, samples can be late, but never early, and delays do not accumulate.
    let delay = |at: &FileTime| (at.since(times[0]) + interval / 4).rem_euclid(interval) - interval / 4;
    let median = |times: &[FileTime]| {
        let mut delays: Vec<i64> = times.iter().map(delay).collect();
        delays.sort_unstable();
        delays[delays.len() / 2] as f64 / FileTime::PER_MILLISECOND as f64
    };
    let (first, last) = (median(&times[..100]), median(&times[times.len() - 100..]));
    let earliest = times.iter().map(delay).min().expect("samples");
    println!(
        "{} samples; off by {first} ms in the first 10 s, {last} ms in the last; {}",
        times.len(),
        ran.stderr
    );
    assert_eq!(times.len(), SAMPLES);
    assert!((last - first).abs() < 5.0, "{first} ms, then {last} ms");
    assert!(earliest > -2 * FileTime::PER_MILLISECOND, "{earliest}");
    // Samples that are missed on a busy machine are reported, and do not shift other samples.
    let whole = times[SAMPLES - 1].since(times[0]) / interval;
    assert!(whole == SAMPLES as i64 - 1 || ran.stderr.contains("missed"), "{whole}: {}", ran.stderr);
}

/// Starts short processes at this rate until `is_over`.
fn churn(rate: u64, is_over: &AtomicBool, started: &AtomicU64) {
    let begun = Instant::now();
    let mut children: Vec<Child> = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let due = (begun.elapsed().as_secs_f64() * rate as f64) as u64;
        while started.load(Ordering::Relaxed) < due && !is_over.load(Ordering::Relaxed) {
            children.push(Command::new("/bin/true").stdin(Stdio::null()).spawn().expect("a process"));
            started.fetch_add(1, Ordering::Relaxed);
            if children.len() >= 32 {
                children.drain(..).for_each(|mut child| drop(child.wait()));
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    children.into_iter().for_each(|mut child| drop(child.wait()));
}

/// Resident memory of a process in bytes.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default() * 1024
}

/// 1,000 short processes start per second for 30 s. In two consecutive samples, no name belongs to different processes,
/// and memory does not grow.
#[test]
fn long_many_short_processes_keep_distinct_names_in_constant_memory() {
    if !is_enabled() {
        return;
    }
    let folder = Folder::new();
    let (is_over, started) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut early, mut late) = (0, 0);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| churn(1_000, &is_over, &started));
        let recorder = folder
            .command(["record", r"\Process(*)\*", "-si", "0.1", "-d", "30", "-o", "churn.blg"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("start command");
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(28) {
            std::thread::sleep(Duration::from_millis(200));
            let now = resident(recorder.id());
            if begun.elapsed() < Duration::from_secs(8) {
                early = early.max(now);
            } else {
                late = late.max(now);
            }
        }
        let output = recorder.wait_with_output().expect("the recorder ends");
        is_over.store(true, Ordering::Relaxed);
        output
    });
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");

    // The process that had each name in the previous sample.
    let mut before: HashMap<String, (i64, i64)> = HashMap::new();
    let (mut samples, mut pairs, mut seen) = (0, 0, std::collections::HashSet::new());
    for_each_sample(&folder, "churn.blg", |sample| {
        let column = |name: &str| {
            let group = sample.groups.iter().find(|group| &*group.set.counters[0].name == name);
            group.unwrap_or_else(|| panic!("no {name}"))
        };
        let (ids, ages) = (column("ID Process"), column("Elapsed Time"));
        let mut now = HashMap::new();
        for (row, instance) in ids.instances.iter().enumerate() {
            let task = (ids.values[row].first, ages.values[row].first);
            seen.insert(task);
            if let Some(&known) = before.get(instance.label()) {
                // The start time is computed from clocks of 10 ms and 100 ns.
                let is_same = known.0 == task.0 && (known.1 - task.1).abs() < FileTime::PER_SECOND / 10;
                assert!(is_same, "'{instance}' was {known:?} and is {task:?} in the next sample");
                pairs += 1;
            }
            assert!(now.insert(instance.label().to_owned(), task).is_none(), "'{instance}' is repeated");
        }
        before = now;
        samples += 1;
    });
    let started = started.load(Ordering::Relaxed);
    println!(
        "{started} processes, {} of them in {samples} samples, {pairs} pairs; {} MB, then {} MB; {stderr}",
        seen.len(),
        early / 1_000_000,
        late / 1_000_000
    );
    assert!(started > 5_000, "{started}: this machine is too slow for the test");
    assert!(samples > 100 && pairs > 1_000, "{samples} samples, {pairs} pairs");
    assert!(late < early + 3_000_000, "{early} bytes, then {late}");
}

//! `Processor CPI` on a fake machine with exactly known counts.
#![cfg(feature = "fake-machine")]

use std::fs;
use std::sync::{Arc, Mutex, MutexGuard};

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::PathPattern;
use tachograph_counters::{
    AverageKind, Calculator, CounterType, FormatOptions, IgnorePoison, Intervals, RawValue, Series,
    Statistics,
};
use tachograph_cpi::counters::provider;
use tachograph_cpi::install_fake_machine;
use tachograph_perflib::block::{Content, Identifier, decode};
use tachograph_perflib::{Clock, FREQUENCY, Provider, Query, Registry, Rows, Timestamps};
use tachograph_system::Roots;
use tempfile::TempDir;

const PROCESSORS: u64 = 4;
const INSTANCES: [&str; 7] = ["_Total", "0,_Total", "0,0", "0,1", "1,_Total", "1,0", "1,1"];
/// The processors of each instance.
const MEMBERS: [&[u64]; 7] = [&[0, 2, 1, 3], &[0, 2], &[0], &[2], &[1, 3], &[1], &[3]];

/// The fake machine is a global of the process, and each reading advances its time, so tests that use it take turns.
fn fake_machine() -> (MutexGuard<'static, ()>, TempDir, Box<dyn Provider>) {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().ignore_poison();
    install_fake_machine(PROCESSORS as u32);
    let folder = tempfile::tempdir().expect("a folder");
    let roots = Roots {
        root: folder.path().to_owned(),
        proc: folder.path().join("proc"),
        sys: folder.path().join("sys"),
        ticks_per_second: 100,
        page_bytes: 4096,
    };
    let write = |path: std::path::PathBuf, text: &str| {
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, text).expect("written");
    };
    let line = |number: u64| format!("cpu{number} 1 1 1 1 1 1 1 0 0 0\n");
    write(roots.proc.join("stat"), &(0..PROCESSORS).map(line).collect::<String>());
    write(roots.sys.join("devices/system/node/node0/cpulist"), "0,2\n");
    write(roots.sys.join("devices/system/node/node1/cpulist"), "1,3\n");
    let provider = provider(&roots).expect("the fake machine has counters");
    (guard, folder, provider)
}

/// The counts of one step of the fake machine for an instance with these processors: instructions, cycles, cycles while busy,
/// core cycles.
fn step_of(members: &[u64]) -> [u64; 4] {
    let sum = |of: fn(u64) -> u64| members.iter().map(|&number| of(number)).sum();
    [
        sum(|number| 400_000 + 1000 * number),
        sum(|_| 1_000_000),
        sum(|number| 10_000 * (50 + number)),
        sum(|number| 600_000 + 1000 * number),
    ]
}

/// Collects all counters `count` times, one second apart.
fn samples(provider: &mut dyn Provider, count: i64) -> Vec<Rows> {
    let sample = |second: i64| {
        let mut rows = Rows::unfiltered(Arc::clone(provider.info()));
        let time = FileTime(second * FileTime::PER_SECOND);
        rows.clear(Timestamps { ticks: second * FREQUENCY, system_time: time, wall: time });
        provider.collect(&mut rows).expect("collected");
        assert_eq!(rows.errors(), []);
        rows
    };
    (0..count).map(sample).collect()
}

fn id(rows: &Rows, counter: &str) -> (u32, CounterType) {
    let info = rows.info().counters.iter().find(|info| &*info.name == counter).expect("the counter");
    (info.id, info.counter_type)
}

fn raw(rows: &Rows, instance: usize, counter: &str) -> RawValue {
    assert_eq!(rows.instances()[instance].full_name(), INSTANCES[instance]);
    rows.values(instance)[rows.column(id(rows, counter).0).expect("a column")]
}

fn calculator(rows: &Rows, counter: &str) -> Calculator {
    Calculator::new(id(rows, counter).1, FREQUENCY)
}

#[test]
fn raw_values_count_from_the_first_sample() {
    let (_guard, _folder, mut provider) = fake_machine();
    for (sample, rows) in (0..).zip(samples(&mut *provider, 3)) {
        let names: Vec<_> = rows.instances().iter().map(|instance| instance.full_name()).collect();
        assert_eq!(names, INSTANCES);
        for (instance, members) in MEMBERS.iter().enumerate() {
            let sums = step_of(members).map(|step| (sample * step) as i64);
            let [instructions, cycles, busy_cycles, core_cycles] = sums;
            let ran = sample as i64 * 1_000_000 * members.len() as i64;
            let second = sample as i64 * FREQUENCY;
            for (counter, expected) in [
                ("Cycles Per Instruction", (cycles, instructions)),
                ("Cycles Per Instruction While Busy", (busy_cycles, instructions)),
                ("Core Cycles Per Instruction", (core_cycles, instructions)),
                ("Instructions/sec", (instructions, second)),
                ("Cycles/sec", (core_cycles, second)),
                ("% Counter Running Time", (ran, ran)),
            ] {
                let raw = raw(&rows, instance, counter);
                assert!(raw.status.is_good());
                assert_eq!((raw.first, raw.second), expected, "{counter} of {}", INSTANCES[instance]);
            }
        }
    }
}

#[test]
fn formatted_values_follow_the_formulas() {
    let (_guard, _folder, mut provider) = fake_machine();
    let samples = samples(&mut *provider, 3);
    for (instance, members) in MEMBERS.iter().enumerate() {
        let [instructions, cycles, busy_cycles, core_cycles] = step_of(members).map(|step| step as f64);
        for pair in samples.windows(2) {
            for (counter, expected) in [
                ("Cycles Per Instruction", cycles / instructions),
                ("Cycles Per Instruction While Busy", busy_cycles / instructions),
                ("Core Cycles Per Instruction", core_cycles / instructions),
                ("Instructions/sec", instructions),
                ("Cycles/sec", core_cycles),
                ("% Counter Running Time", 100.0),
            ] {
                let [older, newer] = [&pair[0], &pair[1]].map(|rows| raw(rows, instance, counter));
                let calculator = calculator(&pair[1], counter);
                let formatted = calculator.format(Some(&older), &newer, &FormatOptions::default());
                assert_eq!(formatted, Ok(expected), "{counter} of {}", INSTANCES[instance]);
            }
        }
    }
}

#[test]
fn averages_are_ratios_of_sums() {
    let (_guard, _folder, mut provider) = fake_machine();
    let mut samples = samples(&mut *provider, 4);
    // The last interval consists of two steps.
    samples.remove(2);
    let [instructions, cycles, ..] = step_of(MEMBERS[0]).map(|step| step as f64);
    for (counter, expected) in
        [("Cycles Per Instruction", cycles / instructions), ("Instructions/sec", instructions)]
    {
        let calculator = calculator(&samples[0], counter);
        let mut series = Series::new(Statistics::new(calculator.formula(), Intervals::default(), None));
        for rows in &samples {
            let at = Moment { utc: rows.timestamps().wall, bias_minutes: 0 };
            series.add(&calculator, &raw(rows, 0, counter), at);
        }
        let summary = series.statistics().summary();
        assert_eq!((summary.values, summary.errors, summary.average_kind), (2, 0, AverageKind::Raw));
        assert_eq!(summary.average, Some(expected), "{counter}");
    }
    let mean_of_ratios = (0..PROCESSORS).map(|number| {
        let [instructions, cycles, ..] = step_of(&[number]).map(|step| step as f64);
        cycles / instructions
    });
    let mean_of_ratios = mean_of_ratios.sum::<f64>() / PROCESSORS as f64;
    assert!(
        (mean_of_ratios - cycles / instructions).abs() > 1e-6,
        "the mean of the ratios is a different number"
    );
}

#[test]
fn queries_and_raw_data_blocks_have_the_values() {
    let (_guard, _folder, provider) = fake_machine();
    let mut registry = Registry::new("FAKE", Clock::of_this_machine());
    registry.register(provider).expect("a valid registration");
    let set = registry.enumerate().next().expect("the set");
    let registry = Arc::new(registry);
    // Instances can be listed without counters.
    let names = registry.instances(set).expect("a list");
    assert_eq!(names.iter().map(|key| key.full_name()).collect::<Vec<_>>(), INSTANCES);

    let mut query = Query::open(&registry, None).expect("this machine");
    let path = PathPattern::parse(r"\Processor CPI(1,1)\Cycles Per Instruction").expect("a path");
    assert_eq!(query.add_path(&path).len(), 1);
    query.add(&mut [Identifier::new(set, "*")]);
    query.collect();
    query.collect();
    let rows = query.sets()[0].rows();
    let names: Vec<_> = rows.instances().iter().map(|key| key.full_name()).collect();
    assert_eq!(names, INSTANCES);
    let cpi = rows.column(1).expect("Cycles Per Instruction");
    let values = [4, 5, 6].map(|row| (rows.values(row)[cpi].first, rows.values(row)[cpi].second));
    assert_eq!(values, [(2_000_000, 804_000), (1_000_000, 401_000), (1_000_000, 403_000)]);

    // In a raw data block, the base of a ratio is a separate 64-bit counter.
    let mut bytes = Vec::new();
    query.data(&mut bytes).expect("a block");
    let block = decode(&bytes).expect("every value can be read");
    // The path's result comes before that of the identifier with all counters.
    let whole_set = block.results().find_map(|result| match result.content() {
        Content::CounterSet(instances) => Some(instances),
        _ => None,
    });
    let mut instances = whole_set.expect("the set");
    let [cpi, base] = [1, 7].map(|id| instances.ids().and_then(|ids| ids.position(id)).expect("an id"));
    let instance = instances.find(|instance| instance.name() == "1,1").expect("an instance");
    let value = |index| instance.values().nth(index).flatten();
    assert_eq!([cpi, base].map(value), [Some(1_000_000), Some(403_000)]);
}

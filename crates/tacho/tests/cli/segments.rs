//! Random logs in random segments: the statistics of the segments equal those of the whole log exactly, and those that an
//! independent script computes from the same files.

use std::path::Path;
use std::process::Command;

use tachograph_counters::civil::FileTime;
use tachograph_counters::{CounterType, RawValue, Status};

use crate::log_fixture::{LogFixture, Row, START, TICKS, counter, failed, raw};
use crate::run::Folder;

/// Pseudo-random numbers, which are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// Names of a set, its counter and instances, in several languages.
const LANGUAGES: [[&str; 6]; 5] = [
    ["Process", "Things", "w3wp", "svchost", "svchost#1", "_Total"],
    ["Prozess", "Zähler", "Büro", "straße", "straße#1", "_Total"],
    ["Процесс", "Счётчик", "служба", "узел", "узел#1", "_Total"],
    ["プロセス", "カウンター", "サービス", "計測", "計測#1", "_Total"],
    ["Processus", "Compteur œuvre", "système", "été 😀", "été 😀#1", "_Total"],
];

const TYPES: [CounterType; 22] = [
    CounterType::RAWCOUNT,
    CounterType::LARGE_RAWCOUNT,
    CounterType::DELTA,
    CounterType::LARGE_DELTA,
    CounterType::SAMPLE_COUNTER,
    CounterType::COUNTER_COUNTER,
    CounterType::BULK_COUNT,
    CounterType::QUEUELEN,
    CounterType::QUEUELEN_100NS,
    CounterType::RAW_FRACTION,
    CounterType::LARGE_RAW_FRACTION,
    CounterType::COUNTER_TIMER,
    CounterType::TIMER_100NS,
    CounterType::PRECISION_100NS_TIMER,
    CounterType::SAMPLE_FRACTION,
    CounterType::COUNTER_TIMER_INV,
    CounterType::TIMER_INV_100NS,
    CounterType::MULTI_TIMER_100NS,
    CounterType::MULTI_TIMER_INV_100NS,
    CounterType::AVERAGE_TIMER,
    CounterType::AVERAGE_BULK,
    CounterType::ELAPSED_TIME,
];

/// The types for block records. Such a record stores their second value, the clock, once for all instances, or not at all.
const BLOCK_TYPES: [CounterType; 4] = [
    CounterType::BULK_COUNT,
    CounterType::TIMER_100NS,
    CounterType::LARGE_RAWCOUNT,
    CounterType::COUNTER_COUNTER,
];

/// The content of a group of values, and how a log stores it.
#[derive(Clone, Copy)]
enum Kind {
    /// One counter of a set without instances.
    Alone(CounterType),
    /// One counter of one instance, whose path is fixed.
    Fixed(CounterType),
    /// One counter of all instances.
    Column(CounterType),
    /// The process ids of all instances.
    Identities,
    /// Two counters of all instances, stored as a block record.
    Block([CounterType; 2]),
}

/// The running total of a counter of an instance.
#[derive(Clone, Copy)]
struct Total {
    first: i64,
    base: i64,
}

/// A simulated machine with all its samples, of which any range can be written as a log.
pub(crate) struct Simulation {
    language: [&'static str; 6],
    kinds: Vec<Kind>,
    boot_time: Option<FileTime>,
    /// Seconds after the start, and the rows of each group.
    samples: Vec<(i64, Vec<Vec<Row>>)>,
}

impl Simulation {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66);
        for _ in 0..4 {
            random.below(2);
        }
        let language = random.pick(&LANGUAGES);
        let mut kinds = vec![Kind::Column(random.pick(&TYPES)), Kind::Fixed(random.pick(&TYPES))];
        for _ in 0..random.below(4) {
            kinds.push(match random.below(5) {
                0 => Kind::Alone(random.pick(&TYPES)),
                1 => Kind::Fixed(random.pick(&TYPES)),
                _ => Kind::Column(random.pick(&TYPES)),
            });
        }
        if random.one_in(3) {
            kinds.push(Kind::Identities);
        }
        if random.one_in(3) {
            kinds.push(Kind::Block([random.pick(&BLOCK_TYPES), random.pick(&BLOCK_TYPES)]));
        }
        let boot_time = (!random.one_in(4)).then_some(FileTime(START - 500 * TICKS));
        let count = match random.below(20) {
            0 => 1300,
            1..4 => 200 + random.below(200),
            _ => 2 + random.below(60),
        };
        let mut simulation = Self { language, kinds, boot_time, samples: Vec::new() };
        simulation.simulate(count, &mut random);
        simulation
    }

    /// Generates samples in which instances appear and disappear.
    fn simulate(&mut self, count: u64, random: &mut Random) {
        let names = &self.language[2..];
        let mut totals = vec![[[Total { first: 1, base: 1 }; 2]; 4]; self.kinds.len()];
        let (mut present, mut identities) = ([true; 4], [100i64, 200, 300, 0]);
        let mut second = 0;
        for _ in 0..count {
            second += 1 + random.below(4) as i64 * i64::from(random.one_in(5));
            for index in 0..names.len() {
                if random.one_in(6) {
                    present[index] = !present[index];
                    // When the instance appears again, it is at random the same process or another one.
                    identities[index] += i64::from(random.one_in(2));
                }
            }
            let mut groups = Vec::new();
            for (kind, totals) in self.kinds.iter().zip(&mut totals) {
                let mut rows: Vec<Row> = Vec::new();
                for (index, totals) in totals.iter_mut().enumerate() {
                    if !present[index] && random.one_in(2) {
                        // The totals of a restarted process start again from small values.
                        *totals = [Total { first: random.below(50) as i64, base: 1 }; 2];
                    }
                    let types: &[CounterType] = match kind {
                        Kind::Alone(kind) | Kind::Fixed(kind) | Kind::Column(kind) => &[*kind],
                        Kind::Block(kinds) => kinds,
                        Kind::Identities => &[],
                    };
                    let mut values: Vec<RawValue> = types
                        .iter()
                        .zip(totals)
                        .map(|(&counter_type, total)| next(counter_type, total, second, random))
                        .collect();
                    if let Kind::Identities = kind {
                        values.push(raw(identities[index], 0));
                    }
                    let is_fixed = matches!(kind, Kind::Alone(_) | Kind::Fixed(_));
                    if is_fixed && random.one_in(25) {
                        values = vec![failed()];
                    }
                    match kind {
                        Kind::Alone(_) if index == 0 => rows.push((String::new(), values)),
                        Kind::Fixed(_) if index == 0 && present[0] => rows.push((String::new(), values)),
                        Kind::Fixed(_) if index == 0 => {
                            rows.push((String::new(), vec![RawValue::error(Status::NO_INSTANCE)]));
                        }
                        Kind::Alone(_) | Kind::Fixed(_) => {}
                        _ if present[index] => rows.push((names[index].to_owned(), values)),
                        _ => {}
                    }
                }
                groups.push(rows);
            }
            self.samples.push((second, groups));
        }
    }

    /// The number of samples.
    pub(crate) fn len(&self) -> usize {
        self.samples.len()
    }

    /// Writes the samples of a range as a separate log.
    #[track_caller]
    pub(crate) fn write(&self, path: &Path, range: std::ops::Range<usize>) {
        let [set, name, instance, ..] = self.language;
        let mut log = LogFixture::new("WEB1");
        for (index, kind) in self.kinds.iter().enumerate() {
            // Each group has a separate set. If process ids are recorded, all columns share their set, because the ids apply to it.
            let own = format!("{set} {index}");
            let set = if self.has_identities() && matches!(kind, Kind::Column(_)) { set } else { &own };
            let counter = |counter_type| counter(&format!("{name} {index}/sec"), counter_type);
            log = match *kind {
                Kind::Alone(kind) => log.value(set, counter(kind)),
                Kind::Fixed(kind) => log.value_of(set, instance, counter(kind)),
                Kind::Column(kind) => log.column(set, counter(kind)),
                Kind::Identities => log.column(
                    self.language[0],
                    crate::log_fixture::counter("ID Process", CounterType::RAWCOUNT),
                ),
                Kind::Block(kinds) => {
                    let title = 8000 + 10 * index as u32;
                    let entry = |column: u32| {
                        let name = format!("{name} {index}.{column}");
                        (crate::log_fixture::counter(&name, kinds[column as usize]), title + 2 + 2 * column)
                    };
                    log.table((set, title), [entry(0), entry(1)])
                }
            };
        }
        log.boot_time = self.boot_time;
        log.buffer_bytes = if self.samples.len().is_multiple_of(2) { 0x10000 } else { 1024 };
        for (second, groups) in &self.samples[range] {
            log.at(*second, groups.clone());
        }
        log.write(path);
    }

    fn has_identities(&self) -> bool {
        self.kinds.iter().any(|kind| matches!(kind, Kind::Identities))
    }
}

/// The next raw value of a counter. Sometimes the total falls to 5, as after a wrap, or does not change.
fn next(counter_type: CounterType, total: &mut Total, second: i64, random: &mut Random) -> RawValue {
    let step = random.below(3_000_000) as i64 * i64::from(!random.one_in(6));
    total.first = if random.one_in(25) { 5 } else { total.first + step };
    total.base += random.below(50) as i64;
    let clock = second * TICKS;
    let word = counter_type.0;
    match word {
        // The second value is a base or a denominator.
        0x2002_0400 | 0x2002_0500 => raw(total.first % 1000, 1000),
        0x2057_0500 | 0x20C2_0400 | 0x3002_0400 | 0x4002_0500 => raw(total.first, total.base),
        0x3024_0500 => raw(START + clock % 977, START + clock),
        0x2151_0500 | 0x2251_0500 | 0x2351_0500 | 0x2051_0500 | 0x0055_0500 => RawValue {
            multi_count: 1 + u32::from(word & 0x0200_0000 != 0) * 3,
            ..raw(total.first, START + clock)
        },
        _ if word & 0xC00 == 0x400 && word & 0x0040_0000 != 0 && word & 0x000F_0000 != 0 => {
            raw(total.first, clock)
        }
        _ => raw(total.first, 0),
    }
}

/// The output of `stats -f json`; notices are ignored.
#[track_caller]
fn stats(folder: &Folder, logs: &[String]) -> String {
    let ran = folder.run(["stats", "-f", "json"].into_iter().chain(logs.iter().map(String::as_str)));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    ran.stdout
}

/// Compares stats.json with the statistics that the script computes from the logs; returns the number of compared values.
/// `None` without Python.
#[track_caller]
fn compare_with_script(folder: &Folder, logs: &[String], context: &str) -> Option<u64> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/statistics_oracle.py");
    let output = Command::new("python3")
        .arg(script)
        .arg("stats.json")
        .args(logs)
        .current_dir(folder.path(""))
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: cannot run python3: {error}");
            return None;
        }
    };
    assert!(output.status.success(), "{context}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    Some(text.trim().parse().expect("a number"))
}

#[test]
fn random_segments_have_the_statistics_of_the_whole_log() {
    let logs = if std::env::var_os("TACHO_LONG").is_some() { 500 } else { 30 };
    let folder = Folder::new();
    let (mut segments_written, mut values) = (0, 0);
    for seed in 0..logs {
        let simulation = Simulation::new(seed);
        let count = simulation.samples.len();
        simulation.write(&folder.path("whole.blg"), 0..count);
        let whole = stats(&folder, &["whole.blg".to_owned()]);
        folder.write("stats.json", &whole);
        let mut random = Random(seed + 77);
        for split in 0..2 {
            let mut starts: Vec<usize> =
                (0..1 + random.below(6)).map(|_| random.below(count as u64) as usize).chain([0]).collect();
            starts.sort_unstable();
            starts.dedup();
            let ends = starts[1..].iter().copied().chain([count]);
            let names: Vec<_> = (0..starts.len()).map(|index| format!("{index}.blg")).collect();
            for ((&start, end), name) in starts.iter().zip(ends).zip(&names) {
                simulation.write(&folder.path(name), start..end);
            }
            segments_written += names.len();
            let context = format!("seed {seed}, segments from {starts:?} of {count}");
            assert_eq!(stats(&folder, &names), whole, "{context}");
            if split == 0 {
                values += compare_with_script(&folder, &names, &context).unwrap_or_default();
            }
            if seed % 10 == 0 {
                folder.relog(names.iter().map(String::as_str).chain(["-y", "-o", "joined.blg"]));
                assert_eq!(stats(&folder, &["joined.blg".to_owned()]), whole, "{context}, joined");
                folder.relog(["whole.blg", "-y", "-o", "whole.csv"]);
                folder.relog(names.iter().map(String::as_str).chain(["-y", "-o", "joined.csv"]));
                let (joined, whole) = (folder.text("joined.csv"), folder.text("whole.csv"));
                for (joined, whole) in joined.lines().zip(whole.lines()) {
                    assert_eq!(joined, whole, "{context}, as text");
                }
                assert_eq!(joined.len(), whole.len(), "{context}, as text");
            }
        }
    }
    println!("{logs} logs, {segments_written} segments, {values} values compared with the script");
}

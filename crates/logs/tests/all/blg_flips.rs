//! Flips every bit of small logs. A Python checker, written from the description of the format alone, determines which
//! flips contradict the rest of the log; the reader must report each of them. Every 23rd flip is compared, or all
//! if TACHO_LONG is set.

use crate::fixture;

use std::collections::HashSet;
use std::io::Cursor;

use fixture::block::{Block, Counter as BlockCounter, Instance, Object};
use fixture::python;
use fixture::rewritten::{options_of, samples_of, write};
use fixture::{Entry, LogBuilder, local, multi, single};
use tachograph_counters::RawValue;
use tachograph_counters::civil::Moment;
use tachograph_counters::sample::Sample;
use tachograph_counters::set::Counter;
use tachograph_logs::blg::BlgWriterOptions;
use tachograph_logs::open_stream;

/// Maximum share of flips that change a result without a report.
const MAX_SILENT_PERCENT: f64 = 30.8;

/// A log as written by Windows: single and multi records of the usual types.
fn windows_log(samples: i64) -> Vec<u8> {
    let timer = |entry: Entry, kind| Entry { counter_type: kind, time_base: 10_000_000, ..entry };
    let mut builder = LogBuilder { rule: None, ..LogBuilder::new(1024) };
    builder.list(&[
        Entry { counter_type: 0x1_0100, ..Entry::single("Memory", None, "Free") },
        Entry { counter_type: 0x1041_0400, ..Entry::single("System", None, "Calls/s") },
        timer(Entry::single("Disk", Some("0"), "Queue"), 0x0055_0500),
        timer(Entry::multi("Cpu", "% Time"), 0x2151_0500),
        Entry { counter_type: 0x2002_0400, ..Entry::single("Memory", None, "% Used") },
    ]);
    for n in 0..samples {
        let utc = local(n) + 480 * 60 * 10_000_000 + 3_000 + 137 * n;
        let ticks = 9_000_000_000 + 2_725_536 * n + n % 7;
        builder.sample(
            n,
            &[
                single(n, 4_000_000_000 - 12_345 * n, 0),
                single(n, 100_000 + 977 * n, ticks),
                single(n, 7_000_000 + 3_000_000 * n, utc),
                multi(
                    n,
                    &[("0", 9_876_543 * n, utc), ("1", 8_765_432 * n, utc), ("_Total", 9_320_987 * n, utc)],
                ),
                single(n, 700 + n, 1024),
            ],
        );
    }
    builder.file()
}

/// The same log as written by Tachograph.
fn own_log(samples: i64) -> Vec<u8> {
    let file = windows_log(samples);
    write(&samples_of(&file), options_of(&file))
}

/// A log of block records, with a name table and a catalogue.
fn block_log() -> Vec<u8> {
    let counters = [
        BlockCounter { name_index: 6, counter_type: 0x2051_0500, bytes: 8 },
        BlockCounter { name_index: 8, counter_type: 0x1_0000, bytes: 4 },
    ];
    let mut builder = LogBuilder { rule: None, ..LogBuilder::new(1024) };
    builder.names(r"\\MADE", &[(230, "Process"), (6, "% Time"), (8, "Threads")]);
    builder.list(&[Entry::block("Process")]);
    for n in 0..6 {
        let rows = [Instance::new("a", &[1_000_000 * n, 3]), Instance::new("b", &[2_000_000 * n, 5])];
        builder.sample(n, &[Block::new(n, &[Object::new(230, &counters, &rows)]).record()]);
    }
    let file = builder.file();
    write(&samples_of(&file), BlgWriterOptions { file_name: String::new(), ..options_of(&file) })
}

/// The complete content of a log's samples: their times, and the path, description and raw value of each value. Every result is
/// computed from it.
#[derive(PartialEq)]
struct Figures {
    /// For each sample: its time, the index of its log, and whether it is a baseline.
    samples: Vec<(Moment, u32, bool)>,
    values: Vec<(String, Counter, RawValue)>,
}

/// The figures of a log, and whether a problem was reported; `None` if it cannot be opened.
fn figures(file: &[u8]) -> Option<(Figures, bool)> {
    let mut reader = open_stream(Cursor::new(file.to_vec())).ok()?;
    let mut sample = Sample::default();
    let mut figures = Figures { samples: Vec::new(), values: Vec::new() };
    while reader.next(&mut sample).expect("bytes in memory can be read") {
        for group in &sample.groups {
            for (instance, row) in group.instances.iter().zip(group.rows()) {
                for (counter, raw) in group.set.counters.iter().zip(row) {
                    figures.values.push((group.set.path(instance, counter), counter.clone(), *raw));
                }
            }
        }
        figures.samples.push((sample.at, sample.log, sample.is_baseline));
    }
    Some((figures, !reader.problems().is_empty()))
}

/// The result of a flip.
#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    /// The reader reports a problem, or refuses the log.
    Reported,
    /// The reader returns the same samples.
    Harmless,
    /// The samples change without a report.
    Silent,
}

fn outcomes(file: &[u8]) -> Vec<Outcome> {
    let (whole, is_reported) = figures(file).expect("a log");
    assert!(!is_reported && !whole.samples.is_empty());
    let mut file = file.to_vec();
    let mut outcomes = Vec::new();
    for at in 0..8 * file.len() {
        file[at / 8] ^= 1 << (at % 8);
        outcomes.push(match figures(&file) {
            None | Some((_, true)) => Outcome::Reported,
            Some((figures, false)) if figures == whole => Outcome::Harmless,
            Some(_) => Outcome::Silent,
        });
        file[at / 8] ^= 1 << (at % 8);
    }
    outcomes
}

/// The flips that the Python checker reports, with the reasons; it is run for every `step`-th flip. `None`, with a
/// notice, if Python is missing.
fn detectable(file: &[u8], step: usize, name: &str) -> Option<Vec<(usize, String)>> {
    let text = python::output_of("detectable_flips.py", file, name, &[step.to_string()])?;
    let flips = text.strip_prefix("flips\n").unwrap_or_else(|| panic!("the log is damaged: {text:.200}"));
    let flip = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let byte: usize = words.next()?.parse().ok()?;
        let bit: usize = words.next()?.parse().ok()?;
        Some((8 * byte + bit, words.next()?.to_owned()))
    };
    Some(flips.lines().map(|line| flip(line).expect("a flip")).collect())
}

/// Flips every bit; asserts that the reader reports each flip that the Python checker, which is run for every
/// `step`-th flip, reports. Returns the percentage of flips that change a result without a report.
fn flip_all(file: &[u8], name: &str, step: usize) -> f64 {
    let outcomes = outcomes(file);
    let share = |outcome| {
        100.0 * outcomes.iter().filter(|&&found| found == outcome).count() as f64 / outcomes.len() as f64
    };
    eprintln!(
        "{name}: {} flips: {:.1} % reported, {:.1} % harmless, {:.1} % silent",
        outcomes.len(),
        share(Outcome::Reported),
        share(Outcome::Harmless),
        share(Outcome::Silent)
    );
    if let Some(detectable) = detectable(file, step, name) {
        assert!(detectable.len() * step > 2 * file.len(), "{} found", detectable.len());
        let missed: Vec<_> = detectable
            .iter()
            .filter(|(at, _)| outcomes[*at] != Outcome::Reported)
            .map(|(at, reason)| format!("{:#x}.{}: {reason}", at / 8, at % 8))
            .collect();
        assert_eq!(missed, [""; 0], "{} of {} flips are not reported", missed.len(), detectable.len());
        let found: HashSet<_> = detectable.iter().map(|(at, _)| *at).collect();
        let more = (0..outcomes.len())
            .step_by(step)
            .filter(|at| outcomes[*at] == Outcome::Reported && !found.contains(at))
            .count();
        eprintln!("{name}: {} detectable flips, all reported, and {more} more", detectable.len());
    }
    share(Outcome::Silent)
}

/// The Python checker gets every `STEP`-th flip, because all of them would take more than a minute.
const STEP: usize = 23;

#[track_caller]
fn check(file: &[u8], name: &str, step: usize) {
    let silent = flip_all(file, name, step);
    assert!(silent <= MAX_SILENT_PERCENT, "{silent} % change a result silently");
}

#[test]
fn flips_in_a_log_of_windows_are_reported() {
    let file = windows_log(12);
    assert_eq!(file.len(), 8192);
    check(&file, "flips-windows.blg", STEP);
}

#[test]
fn flips_in_a_log_of_tachograph_are_reported() {
    let file = own_log(12);
    assert_eq!(file.len(), 8192);
    check(&file, "flips-own.blg", STEP);
}

#[test]
fn flips_in_a_log_of_blocks_are_reported() {
    check(&block_log(), "flips-blocks.blg", STEP);
}

#[test]
fn long_all_flips_are_reported() {
    if std::env::var_os("TACHO_LONG").is_none() {
        return;
    }
    for (file, name) in [
        (windows_log(12), "all-flips-windows.blg"),
        (own_log(12), "all-flips-own.blg"),
        (block_log(), "all-flips-blocks.blg"),
    ] {
        check(&file, name, 1);
    }
}

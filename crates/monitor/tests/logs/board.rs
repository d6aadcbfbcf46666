//! For any span of any log, the statistics equal those of `tacho stats`, and the columns are exact.

use std::fs::File;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tachograph_counters::civil::FileTime;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::FlowError;
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};
use tachograph_logs::{Budget, LogWriter, ReadOptions};
use tachograph_monitor::{Board, LogBoard, Span};

use crate::fixture::{Life, Machine, write_blg, write_blg_with, write_csv, write_joined};
use crate::reference::{check, check_columns_apart, keep_going, patterns};

/// Kinds of logs.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Plain,
    Processes,
    Blocks,
    Marks,
    MissingGroups,
    All,
    ListChanges,
    ListChangesBack,
    Sequence,
    OtherCounters,
    Overlapping,
    Circular,
    Csv,
    Machines,
}

const KINDS: [Kind; 14] = [
    Kind::Plain,
    Kind::Processes,
    Kind::Blocks,
    Kind::Marks,
    Kind::MissingGroups,
    Kind::All,
    Kind::ListChanges,
    Kind::ListChangesBack,
    Kind::Sequence,
    Kind::OtherCounters,
    Kind::Overlapping,
    Kind::Circular,
    Kind::Csv,
    Kind::Machines,
];

fn write_logs(folder: &Path, kind: Kind, seed: u64, count: usize) -> Vec<PathBuf> {
    let plain = Life::default();
    let processes = Life { processes_change: true, ..plain };
    let other = Life { has_other_disks: true, ..processes };
    let all = Life { has_marks: true, groups_miss: true, ..processes };
    let machine = |life| Machine::new("M", seed, life);
    let one = |life| vec![write_blg(folder, "one.blg", &machine(life).samples(count))];
    match kind {
        Kind::Plain => one(plain),
        Kind::Processes => one(processes),
        Kind::Blocks => one(Life { has_blocks: true, ..processes }),
        Kind::Marks => one(Life { has_marks: true, ..plain }),
        Kind::MissingGroups => one(Life { groups_miss: true, ..plain }),
        Kind::All => one(all),
        Kind::ListChanges | Kind::ListChangesBack => {
            let mut first = machine(processes);
            let one = first.samples(count / 2);
            let mut second = Machine::new("M", seed + 1, other);
            second.now = first.now;
            let two = second.samples(count / 4);
            first.now = second.now;
            let three = first.samples(count / 4);
            let parts: &[&[_]] =
                if matches!(kind, Kind::ListChanges) { &[&one, &two] } else { &[&one, &two, &three] };
            vec![write_joined(folder, "joined.blg", parts)]
        }
        Kind::Sequence | Kind::OtherCounters => {
            let mut now = None;
            let mut files = Vec::new();
            for number in 0..4 {
                let life = if matches!(kind, Kind::OtherCounters) && number % 2 == 1 { other } else { all };
                let mut machine = Machine::new("M", seed + number, life);
                machine.now = now.unwrap_or(machine.now);
                let name = format!("{number}.blg");
                files.push(write_blg(folder, &name, &machine.samples(count / 4)));
                now = Some(machine.now + 50_000_000);
            }
            files
        }
        Kind::Overlapping => {
            let mut second = Machine::new("M", seed + 1, other);
            second.now += 12_345;
            vec![
                write_blg(folder, "one.blg", &machine(processes).samples(count / 2)),
                write_blg(folder, "two.blg", &second.samples(count / 2)),
            ]
        }
        Kind::Circular => {
            let samples = machine(processes).samples(count);
            let ring = |options: &mut tachograph_logs::blg::BlgWriterOptions| {
                options.circular_bytes = Some(40 * 1024);
            };
            vec![write_blg_with(folder, "ring.blg", &samples, ring)]
        }
        Kind::Csv => vec![write_csv(folder, "one.csv", &machine(processes).samples(count))],
        Kind::Machines => {
            let mut second = Machine::new("N", seed + 1, processes);
            second.now += 70_000_000;
            vec![
                write_blg(folder, "m.blg", &machine(all).samples(count / 2)),
                write_blg(folder, "n.blg", &second.samples(count / 2)),
            ]
        }
    }
}

/// A board of all counters. With a low limit of memory (`bytes`), its buckets hold many samples.
fn board(files: Vec<PathBuf>, bytes: usize) -> LogBoard {
    let mut board = LogBoard::open(files, &mut keep_going).unwrap();
    board.set_max_bytes(bytes);
    let paths = patterns(&[r"\Process(*)\*", r"\Disk(*)\*"]);
    let selection = board.set_paths(&paths, &mut keep_going).unwrap();
    assert_eq!(selection.unmatched(), []);
    board
}

/// Memory limits: a bucket holds one sample, some, or all; with the last limit, no statistics are kept.
const MEMORY_LIMITS: [usize; 4] = [1 << 24, 1 << 19, 1 << 17, 1 << 10];

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn any_span_has_the_statistics_of_stats(
        kind in 0..KINDS.len(), seed in 0u64..1_000_000, count in 1usize..300, limit in 0..MEMORY_LIMITS.len(),
        spans in prop::collection::vec((0.0..1.0f64, 0.0..1.0f64, 1usize..40), 6),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let files = write_logs(folder.path(), KINDS[kind], seed, count.max(16));
        let mut board = board(files, MEMORY_LIMITS[limit]);
        let whole = board.span().unwrap();
        check(&mut board, whole, 10);
        for (begin, length, columns) in spans {
            let at = |share: f64| whole.begin().saturating_add((whole.length() as f64 * share) as i64);
            let span = Span::new(at(begin), at(begin + length * (1.0 - begin)));
            check(&mut board, span, columns);
        }
    }
}

/// With a small budget, buckets become longer and statistics stay the same; with too small a budget, opening the log fails.
#[test]
fn a_small_budget_does_not_change_the_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let files = write_logs(folder.path(), Kind::Processes, 5, 300);
    let paths = patterns(&[r"\Process(*)\*", r"\Disk(*)\*"]);
    let open = |budget: &Budget| {
        let reading = ReadOptions { budget: budget.clone(), ..ReadOptions::default() };
        LogBoard::open_with(files.clone(), reading, &mut keep_going)
    };
    let whole = Budget::default();
    let mut board = open(&whole).unwrap();
    board.set_paths(&paths, &mut keep_going).unwrap();
    let needed = whole.used();
    let span = board.span().unwrap();
    drop(board);
    assert_eq!(whole.used(), 0, "all memory is released");
    let (mut served, mut refused) = (0, 0);
    for halvings in 1..12 {
        let budget = Budget::new(needed >> halvings);
        let charted = open(&budget).and_then(|mut board| {
            board.set_paths(&paths, &mut keep_going)?;
            Ok(board)
        });
        match charted {
            Ok(mut board) => {
                check(&mut board, span, 10);
                served += 1;
            }
            Err(FlowError::Log(error)) if error.is_over_budget() => refused += 1,
            Err(error) => panic!("{error}"),
        }
        assert_eq!(budget.used(), 0);
    }
    assert!(served > 0 && refused > 0, "{served} served, {refused} refused of {needed} bytes");
}

#[test]
fn spans_that_begin_and_end_at_samples_have_the_statistics_of_stats() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let files = write_logs(folder.path(), kind, 7, 200);
        for max_bytes in MEMORY_LIMITS {
            let mut board = board(files.clone(), max_bytes);
            let whole = board.span().unwrap();
            let charted = board.reduce(whole, 50, &[]).unwrap();
            let moments: Vec<FileTime> = (0..50).map(|column| charted.time_of(column)).collect();
            for pair in moments.windows(2).step_by(7) {
                check(&mut board, Span::new(pair[0], whole.end()), 9);
                check(&mut board, Span::new(pair[0], pair[1]), 3);
                check(&mut board, Span::of_samples(pair[0], pair[1]), 5);
                check(&mut board, Span::of_samples(whole.begin(), pair[0]), 4);
            }
            // Spans that extend beyond the samples, or lie outside them.
            check(&mut board, whole.zoomed(3.0, 0.5), 20);
            check(&mut board, whole.moved(2.0), 5);
            check(&mut board, whole.moved(-2.0), 5);
        }
    }
}

#[test]
fn each_column_equals_a_separate_window() {
    for kind in [Kind::Plain, Kind::Csv, Kind::Circular] {
        let folder = tempfile::tempdir().unwrap();
        let files = write_logs(folder.path(), kind, 3, 300);
        for max_bytes in MEMORY_LIMITS {
            let mut board = board(files.clone(), max_bytes);
            let whole = board.span().unwrap();
            check_columns_apart(&mut board, whole, 17);
            check_columns_apart(&mut board, whole.zoomed(0.3, 0.6), 40);
        }
    }
}

#[test]
fn no_sample_is_lost_if_the_clock_is_set_back() {
    let folder = tempfile::tempdir().unwrap();
    // The clock is set back by half a minute, so that times repeat, and by an hour, so that the last sample is not the
    // latest.
    for by in [300_000_000, 36_000_000_000] {
        let mut samples = Machine::new("M", 5, Life::default()).samples(100);
        for sample in &mut samples[60..] {
            sample.at.utc.0 -= by;
        }
        let files = vec![write_blg(folder.path(), "back.blg", &samples)];
        for max_bytes in MEMORY_LIMITS {
            let mut board = board(files.clone(), max_bytes);
            let whole = board.span().unwrap();
            for span in [whole, whole.zoomed(0.5, 0.9), whole.zoomed(0.2, 0.5)] {
                check(&mut board, span, 10);
            }
        }
    }
}

#[test]
fn a_log_with_more_samples_than_buckets_has_the_statistics_of_stats() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.blg");
    let mut writer =
        BlgWriter::new(File::create(&path).unwrap(), BlgWriterOptions::new(TimeZone::utc())).unwrap();
    let mut machine = Machine::new("M", 11, Life { processes_change: true, ..Life::default() });
    for _ in 0..40_000 {
        writer.write(&machine.sample()).unwrap();
    }
    writer.finish().unwrap();
    // Without memory for statistics, there are as many buckets as allowed; with little memory, there are few.
    for max_bytes in [1 << 10, 1 << 22] {
        let mut board = board(vec![path.clone()], max_bytes);
        let whole = board.span().unwrap();
        for (share, place) in [(1.0, 0.0), (0.1, 0.4), (0.001, 0.7)] {
            check(&mut board, whole.zoomed(share, place), 100);
        }
    }
}

//! The board of live samples over a fake machine.

#[path = "../../../flow/tests/live/fixture.rs"]
#[allow(dead_code, reason = "a machine that several tests share")]
mod fixture;

use fixture::{Machine, Process};
use tachograph_counters::Summary;
use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::Sink;
use tachograph_flow::live::LiveOptions;
use tachograph_flow::sinks::{StatisticsOptions, StatisticsSink};
use tachograph_monitor::{Board, LiveBoard, Span, memory_of};

const SECOND: i64 = FileTime::PER_SECOND;

fn path(text: &str) -> PathPattern {
    PathPattern::parse(text).expect("a path")
}

fn board(machine: &Machine, paths: &[&str], points: usize) -> LiveBoard {
    let paths: Vec<_> = paths.iter().map(|text| path(text)).collect();
    LiveBoard::open(&machine.registry(), &paths, points, LiveOptions::default()).expect("this machine").0
}

/// Collects one sample per number; in it, the only process has this number as its ID Process.
fn collect(machine: &Machine, board: &mut LiveBoard, numbers: &[u32]) {
    for &number in numbers {
        machine.set(&[Process::new("a", 1).showing(number)]);
        board.collect();
    }
}

#[test]
fn a_chart_has_one_point_per_interval() {
    let machine = Machine::default();
    let mut board = board(&machine, &[r"\Process(*)\ID Process"], 4);
    collect(&machine, &mut board, &[1, 2, 3]);
    let window = board.window(SECOND).expect("samples");
    let reduced = board.reduce(window, 4, &[]).expect("no error");
    let values = |reduced: &tachograph_monitor::Reduced| -> Vec<_> {
        reduced.series[0].columns.iter().map(|column| column.average).collect()
    };
    assert_eq!(values(&reduced), [None, Some(1.0), Some(2.0), Some(3.0)]);
    collect(&machine, &mut board, &[4, 5, 6]);
    let window = board.window(SECOND).expect("samples");
    let reduced = board.reduce(window, 4, &[]).expect("no error");
    assert_eq!(values(&reduced), [Some(3.0), Some(4.0), Some(5.0), Some(6.0)]);
    let summary = &reduced.series[0].summary;
    assert_eq!((summary.last, summary.average, summary.values), (Some(6.0), Some(4.5), 4));
    assert_eq!((summary.minimum, summary.maximum), (Some(3.0), Some(6.0)));
    // With half as many columns, each has two values.
    let halves = board.reduce(window, 2, &[]).expect("no error");
    assert_eq!(values(&halves), [Some(3.5), Some(5.5)]);
    assert_eq!(halves.series[0].columns[1].minimum, Some(5.0));
    assert_eq!(board.samples().len(), 5);
}

#[test]
fn held_samples_stay_until_they_are_released() {
    let machine = Machine::default();
    let mut board = board(&machine, &[r"\Process(*)\ID Process"], 4);
    collect(&machine, &mut board, &[1, 2, 3, 4, 5, 6]);
    let window = board.window(SECOND).expect("samples");
    let held = board.samples().next_back().map(|sample| sample.at.utc);
    let values = |board: &mut LiveBoard, window: Span| -> Vec<_> {
        let reduced = board.reduce(window, 4, &[]).expect("no error");
        let columns = reduced.series.iter().flat_map(|series| &series.columns);
        columns.map(|column| column.average).collect()
    };
    let before = values(&mut board, window);
    assert_eq!(before, [Some(3.0), Some(4.0), Some(5.0), Some(6.0)]);
    board.hold(held);
    collect(&machine, &mut board, &[7; 100]);
    assert_eq!(values(&mut board, window), before);
    // Five held samples, and five that fit in the ring.
    assert_eq!(board.samples().len(), 10);
    // Later samples are not part of a held chart, even if its span is longer.
    let longer = Span::new(window.begin(), window.end().saturating_add(2 * SECOND));
    assert_eq!(board.reduce(longer, 1, &[]).expect("no error").series[0].summary.last, Some(6.0));
    board.set_points(2);
    assert_eq!(values(&mut board, window), before);
    board.hold(None);
    assert_eq!(board.samples().len(), 3);
    let window = board.window(SECOND).expect("samples");
    assert_eq!(board.reduce(window, 1, &[]).expect("no error").series[0].summary.average, Some(7.0));
}

#[test]
fn charts_omit_a_sample_that_was_replaced() {
    let machine = Machine::default();
    let mut board = board(&machine, &[r"\Process(*)\ID Process"], 10);
    collect(&machine, &mut board, &[1, 2]);
    let replaced = board.samples().next_back().map(|sample| sample.at.utc);
    machine.set(&[Process::new("a", 1).showing(3)]);
    board.recollect();
    collect(&machine, &mut board, &[4]);
    let values = |board: &mut LiveBoard| -> Vec<_> {
        let whole = board.span().expect("samples");
        let reduced = board.reduce(whole, 4, &[]).expect("no error");
        reduced.series[0].columns.iter().map(|column| column.average).collect()
    };
    assert_eq!(values(&mut board), [Some(1.0), None, Some(3.0), Some(4.0)]);
    // A frozen chart does not change.
    board.hold(replaced);
    assert_eq!(values(&mut board), [Some(1.0), Some(2.0), None, None]);
}

#[test]
fn the_sample_before_a_span_begins_the_first_interval() {
    let machine = Machine::default();
    let mut board = board(&machine, &[r"\Process(*)\Ticks/sec"], 10);
    collect(&machine, &mut board, &[7, 7, 7, 7]);
    let whole = board.span().expect("samples");
    let reduced = board.reduce(whole, 1, &[]).expect("no error");
    assert_eq!(reduced.series[0].summary.values, 3);
    // Without columns, the statistics are the same.
    let only_whole = board.reduce(whole, 0, &[]).expect("no error");
    assert_eq!(only_whole.series[0].summary, reduced.series[0].summary);
    assert!(only_whole.series[0].columns.is_empty());
    let last_two = Span::new(whole.end().saturating_sub(SECOND + 1), whole.end());
    let reduced = board.reduce(last_two, 1, &[]).expect("no error");
    assert_eq!(reduced.series[0].summary.values, 2);
    // The statistics of `stats` over the same samples.
    let mut sink = StatisticsSink::new(StatisticsOptions::default());
    for (number, sample) in board.samples().enumerate().skip(1) {
        let mut sample = sample.clone();
        sample.is_baseline = number == 1;
        sink.push(&sample).expect("no error");
    }
    sink.finish().expect("no error");
    assert_eq!(sink.rows()[0].summary.average, reduced.series[0].summary.average);
    assert_eq!(sink.rows()[0].summary.values, 2);
}

#[test]
fn instances_and_paths_appear_and_disappear() {
    let machine = Machine::default();
    let mut board = board(&machine, &[r"\Process(*)\ID Process"], 100);
    machine.set(&[Process::new("a", 1)]);
    board.collect();
    machine.set(&[Process::new("a", 1), Process::new("b", 2)]);
    board.collect();
    let selection = board.set_paths(&[path(r"\Process(b)\ID Process"), path(r"\Process(*)\Ticks/sec")]);
    assert!(selection.unmatched().is_empty());
    board.collect();
    let whole = board.span().expect("samples");
    let labels = |board: &mut LiveBoard, paths: &[PathPattern]| -> Vec<String> {
        let reduced = board.reduce(whole, 10, paths).expect("no error");
        reduced.series.iter().map(|series| series.info.path.clone()).collect()
    };
    let all = labels(&mut board, &[]);
    assert_eq!(all.len(), 4, "{all:?}");
    // Series are sorted by path, and each occurs once.
    let chosen = labels(&mut board, &[path(r"\Process(b)\*"), path(r"\Process(*)\ID Process")]);
    assert_eq!(
        chosen,
        [r"\\FAKE\Process(b)\ID Process", r"\\FAKE\Process(b)\Ticks/sec", r"\\FAKE\Process(a)\ID Process"]
    );
    let id = |board: &mut LiveBoard| board.reduce(whole, 1, &[]).expect("no error").series[0].info.id;
    assert_eq!(id(&mut board), id(&mut board));
}

#[test]
fn series_of_ended_processes_are_dropped() {
    let machine = Machine::default();
    let mut board = board(&machine, &[r"\Process(*)\ID Process"], 2);
    for number in 0..2_000 {
        machine.set(&[Process::new(&format!("p{number}"), number)]);
        board.collect();
        let window = board.window(SECOND).expect("samples");
        let reduced = board.reduce(window, 2, &[]).expect("no error");
        assert!(reduced.series.len() <= 3, "{}", reduced.series.len());
    }
    let newest = {
        let window = board.window(SECOND).expect("samples");
        board.reduce(window, 2, &[]).expect("no error")
    };
    assert!(newest.series.iter().any(|series| series.info.path.contains("p1999")));
}

/// A linear congruential generator, so that each run of the test is the same.
fn next_random(state: &mut u64) -> u32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as u32
}

/// Removes the start time, because in a chart it does not include the baseline.
fn without_begin(summary: Summary) -> Summary {
    Summary { first_time: None, ..summary }
}

/// The statistics that `tacho stats -b BEGIN -e END` computes from the samples of a board.
fn expected(board: &LiveBoard, span: Span, paths: &[PathPattern]) -> Vec<String> {
    let samples: Vec<_> = board.samples().cloned().collect();
    let first = samples.partition_point(|sample| sample.at.utc < span.begin());
    let options = StatisticsOptions { without_quantiles: true, ..StatisticsOptions::default() };
    let mut sink = StatisticsSink::new(options);
    for (index, sample) in samples.into_iter().enumerate().skip(first.saturating_sub(1)) {
        if sample.at.utc < span.end() {
            sink.push(&Sample { is_baseline: index < first, ..sample }).expect("no error");
        }
    }
    sink.finish().expect("no error");
    let mut rows: Vec<_> = sink
        .rows()
        .into_iter()
        .filter(|row| row.summary.values > 0)
        .filter(|row| paths.iter().any(|path| path.matches_counter(&row.counter.name)))
        .map(|row| format!("{} {:?}", row.path, without_begin(row.summary)))
        .collect();
    rows.sort();
    rows
}

#[test]
fn reused_reducers_do_not_change_any_figure() {
    let machine = Machine::default();
    let mut board = board(&machine, &[r"\Process(*)\Ticks/sec", r"\Process(*)\ID Process"], 6);
    let lists = [
        vec![path(r"\Process(*)\Ticks/sec")],
        vec![path(r"\Process(*)\ID Process"), path(r"\Process(*)\Ticks/sec")],
    ];
    let mut state = 7;
    for step in 0..400 {
        // Few names and ids, so that names disappear, return, and are reused by other processes.
        let processes: Vec<_> = (0..5)
            .filter_map(|name| {
                let [is_present, id, value] = std::array::from_fn(|_| next_random(&mut state));
                let process = Process::new(&format!("p{}", name % 3), 10 * name + id % 2);
                (is_present % 4 > 0).then(|| process.showing(step * 10 + value % 10))
            })
            .collect();
        machine.set(&processes);
        if step % 97 == 50 {
            // Samples with other groups.
            let counter = if step % 2 == 0 { "Ticks/sec" } else { "*" };
            board.set_paths(&[path(r"\Process(*)\ID Process"), path(&format!(r"\Process(p1)\{counter}"))]);
        }
        if step % 97 == 60 {
            board.set_paths(&[path(r"\Process(*)\*")]);
        }
        board.collect();
        let whole = board.span().expect("samples");
        let last = Span::of_samples(whole.end().saturating_sub(SECOND / 2), whole.end());
        for (span, columns) in [(whole, 3), (last, 1), (last, 4)] {
            for paths in &lists {
                let reduced = board.reduce(span, columns, paths).expect("no error");
                let mut found: Vec<_> = reduced
                    .series
                    .iter()
                    .filter(|series| series.summary.values > 0)
                    .map(|series| format!("{} {:?}", series.info.path, without_begin(series.summary.clone())))
                    .collect();
                found.sort();
                assert_eq!(found, expected(&board, span, paths), "step {step}, {columns} columns");
            }
        }
    }
}

#[test]
fn the_memory_of_the_samples_is_limited() {
    let machine = Machine::default();
    let mut board = board(&machine, &[r"\Process(*)\ID Process"], 100);
    collect(&machine, &mut board, &[1; 20]);
    assert_eq!(board.samples().len(), 20);
    let all: usize = memory(&board);
    // The limit holds immediately, and for further samples.
    board.set_max_bytes(all / 2);
    let kept = board.samples().len();
    assert!((3..=10).contains(&kept) && memory(&board) <= all / 2, "{kept}");
    collect(&machine, &mut board, &[2; 20]);
    assert!((3..=10).contains(&board.samples().len()) && memory(&board) <= all / 2);
    // Held samples count, and are dropped if the newest three alone need too much.
    let newest = |board: &LiveBoard| board.samples().last().expect("a sample").at.utc;
    board.hold(Some(newest(&board)));
    collect(&machine, &mut board, &[3; 20]);
    assert!((3..=10).contains(&board.samples().len()) && memory(&board) <= all / 2);
    board.set_max_bytes(0);
    assert_eq!(board.samples().len(), 3);
    let last = newest(&board);
    collect(&machine, &mut board, &[4; 5]);
    assert_eq!(board.samples().len(), 3);
    assert!(board.samples().all(|sample| sample.at.utc > last), "the newest are kept");
}

/// The memory of the samples of a board.
fn memory(board: &LiveBoard) -> usize {
    let previous = std::iter::once(None).chain(board.samples().map(Some));
    board.samples().zip(previous).map(|(sample, before)| memory_of(sample, before)).sum()
}

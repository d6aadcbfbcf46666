//! Time and memory to open a large log, to draw its first chart, and to zoom, compared with a plain read of the same bytes
//! and with the pipeline of `tacho stats`. The logs are generated once and kept in the target folder.
//!
//! `cargo bench -p tachograph-monitor --bench logs [-- SAMPLES] [long|wide] [pass|zoom]`; for a profiler, `pass` only reads
//! the log, and `zoom` omits the last comparison.

mod generate;

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tachograph_counters::path::PathPattern;
use tachograph_flow::query::LogQuery;
use tachograph_flow::run;
use tachograph_flow::sinks::{StatisticsOptions, StatisticsSink};
use tachograph_monitor::{Board, LogBoard, Span};

/// The columns of a chart, and the limit on the columns of all series together, which equals that of the HTTP interface.
const COLUMNS: usize = 1000;
const MAX_CELLS: usize = 500_000;

fn main() {
    let samples = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(2_000_000);
    let only = std::env::args().find(|argument| matches!(argument.as_str(), "long" | "wide"));
    for (name, shape) in [
        ("long", generate::Shape { counters: 4, instances: 5, samples }),
        ("wide", generate::Shape { counters: 28, instances: 200, samples: 361 }),
    ] {
        if only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        let path = log(name, shape);
        match std::env::args().any(|argument| argument == "pass") {
            true => (0..3).for_each(|_| drop(pass(&path, r"\Synthetic(*)\*"))),
            false => measure(&path, r"\Synthetic(*)\*"),
        }
    }
}

/// A generated log, from an earlier run if possible.
fn log(name: &str, shape: generate::Shape) -> PathBuf {
    let generate::Shape { counters, instances, samples } = shape;
    let name = format!("{name}-{counters}x{instances}x{samples}.blg");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if !path.exists() {
        let partial = path.with_extension("partial");
        generate::write_log(&partial, shape);
        std::fs::rename(&partial, &path).expect("the file can be renamed");
    }
    path
}

fn measure(path: &Path, counters: &str) {
    let bytes = std::fs::metadata(path).expect("the log exists").len();
    println!("{}: {:.2} GB", path.file_name().unwrap_or_default().display(), bytes as f64 / 1e9);
    timed("read the file (for comparison)", || read(path));
    let read_again = timed("read the file again (for comparison)", || read(path));
    println!("  that is {:.2} GB/s", bytes as f64 / 1e9 / read_again.1.as_secs_f64());
    let before = resident("VmHWM");
    let start = Instant::now();
    let mut board = pass(path, counters);
    let whole = board.span().expect("the log has samples");
    let series = board.catalogue().max_series(&PathPattern::parse(counters).expect("a path"));
    let columns = COLUMNS.min(MAX_CELLS / series.max(1));
    let name = format!("first chart, of {columns} columns");
    let (first, _) = timed(&name, || board.reduce(whole, columns, &[]).expect("the log is readable"));
    println!("  open to first chart: {:.0} ms, {} series", ms(start.elapsed()), first.series.len());
    drop(first);
    println!("  memory: peak {} MB, before {before} MB, after {} MB", resident("VmHWM"), resident("VmRSS"));
    for (share, name) in [(0.001, "0.1 %"), (0.01, "1 %"), (0.1, "10 %"), (0.5, "50 %"), (0.9, "90 %")] {
        zoom(&mut board, whole, columns, share, name);
    }
    if !std::env::args().any(|argument| argument == "zoom") {
        timed("the pipeline of stats, with quantiles", || stats(path));
    }
}

/// Opens a log and chooses its counters, for which it is read once.
fn pass(path: &Path, counters: &str) -> LogBoard {
    let patterns = [PathPattern::parse(counters).expect("a path")];
    let (mut board, _) = timed("open", || {
        LogBoard::open(vec![path.to_owned()], &mut |_| ControlFlow::Continue(())).expect("the log opens")
    });
    timed("choose the counters (one pass)", || {
        board.set_paths(&patterns, &mut |_| ControlFlow::Continue(())).expect("the log is readable")
    });
    board
}

fn zoom(board: &mut LogBoard, whole: Span, columns: usize, share: f64, name: &str) {
    let (mut worst, cpu) = (Duration::ZERO, processor_ms());
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..10 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let position = (random >> 11) as f64 / (1u64 << 53) as f64;
        let span = whole.zoomed(share, position);
        let start = Instant::now();
        let reduced = board.reduce(span, columns, &[]).expect("the log is readable");
        worst = worst.max(start.elapsed());
        assert!(share < 0.01 || !reduced.series.is_empty());
    }
    let cpu = (processor_ms() - cpu) / 10;
    println!("  zoom to {name} of it, worst of 10: {:.0} ms ({cpu} ms of processor time each)", ms(worst));
}

fn read(path: &Path) -> u64 {
    let mut file = File::open(path).expect("the log exists");
    let mut buffer = vec![0; 1 << 18];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer).expect("the log is readable") {
            0 => return bytes,
            read => bytes += read as u64,
        }
    }
}

fn stats(path: &Path) -> usize {
    let mut pipeline = LogQuery::new(vec![path.to_owned()]).samples().expect("the log opens");
    let mut sink = StatisticsSink::new(StatisticsOptions::default());
    run(&mut *pipeline.source, &mut sink, || {}).expect("the log is readable");
    sink.rows().len()
}

fn timed<T>(name: &str, work: impl FnOnce() -> T) -> (T, Duration) {
    let (start, cpu) = (Instant::now(), processor_ms());
    let result = work();
    let time = start.elapsed();
    println!("  {name}: {:.0} ms ({} ms of processor time)", ms(time), processor_ms() - cpu);
    (result, time)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Processor time of all threads, in steps of 10 ms; independent of other load.
fn processor_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * 10
}

/// A line of `/proc/self/status`, in MB.
fn resident(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
    found.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default() / 1024
}

//! Time per sample of a live table of processes, and of a chart of one counter beside it.
//!
//! `cargo bench -p tachograph-monitor --bench live [-- PROCESSES]`

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tachograph_counters::CounterType;
use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_flow::live::LiveOptions;
use tachograph_monitor::{Board, LiveBoard, Span, TableFigures};
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType};
use tachograph_perflib::{Clock, FREQUENCY, Failure, Guid, InstanceKey, Provider, Registry, Rows};

/// The counters of the table of processes.
const COUNTERS: [(&str, CounterType); 10] = [
    ("% Processor Time", CounterType::TIMER_100NS),
    ("% Run Queue Wait Time", CounterType::TIMER_100NS),
    ("Working Set", CounterType::LARGE_RAWCOUNT),
    ("Storage Read Bytes/sec", CounterType::BULK_COUNT),
    ("Storage Write Bytes/sec", CounterType::BULK_COUNT),
    ("Thread Count", CounterType::RAWCOUNT),
    ("ID Process", CounterType::RAWCOUNT),
    ("Creating Process ID", CounterType::RAWCOUNT),
    ("Page Faults/sec", CounterType::COUNTER_COUNTER),
    ("Handle Count", CounterType::RAWCOUNT),
];

const POINTS: usize = 100;
const SAMPLES: u32 = 50;

struct Processes {
    info: Arc<CounterSetInfo>,
    /// The ids of the processes.
    ids: Arc<Mutex<Vec<u32>>>,
}

impl Provider for Processes {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        for &id in self.ids.lock().expect("no panic").iter() {
            let key = Arc::new(InstanceKey::new(format!("process-{id}"), id, id.into()));
            let mut row = rows.push(&key);
            for counter in 0..COUNTERS.len() {
                row.set(counter as u32, id.into());
            }
        }
        Ok(())
    }
}

fn machine(ids: &Arc<Mutex<Vec<u32>>>) -> Arc<Registry> {
    let ticks = Arc::new(AtomicI64::new(0));
    let clock = Clock::new(move || {
        let ticks = ticks.fetch_add(FREQUENCY, Ordering::SeqCst) + FREQUENCY;
        (ticks, FileTime(133_000_000_000_000_000 + ticks))
    });
    let mut registry = Registry::new("FAKE", clock);
    for (guid, set) in [(1, "Process"), (2, "Thread Pool")] {
        let mut info = CounterSetInfo::new(set, Guid::from_u128(guid), InstanceType::Multiple);
        let counters = COUNTERS.iter().enumerate();
        info.counters =
            counters.map(|(id, (name, kind))| CounterInfo::new(id as u32, *name, *kind)).collect();
        let ids = if guid == 1 { Arc::clone(ids) } else { Arc::new(Mutex::new(vec![7])) };
        registry.register(Box::new(Processes { info: Arc::new(info), ids })).expect("a new set");
    }
    Arc::new(registry)
}

fn main() {
    let processes = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(1_130);
    let ids = Arc::new(Mutex::new((1..=processes).collect::<Vec<u32>>()));
    let path = |text: &str| PathPattern::parse(text).expect("a path");
    let table: Vec<_> = COUNTERS.iter().map(|(name, _)| path(&format!(r"\Process(*)\{name}"))).collect();
    let chart = [path(r"\Thread Pool(*)\% Processor Time")];
    let paths: Vec<_> = table.iter().chain(&chart).cloned().collect();
    let (mut board, _) =
        LiveBoard::open(&machine(&ids), &paths, POINTS, LiveOptions::default()).expect("this machine");
    let mut next = processes;
    let mut times = [Duration::ZERO; 3];
    for sample in 0..POINTS as u32 + SAMPLES {
        {
            // A process ends and another one starts.
            let mut ids = ids.lock().expect("no panic");
            ids.remove((sample as usize * 37) % processes as usize);
            next += 1;
            ids.push(next);
        }
        let mut timed = |part: usize, begin: Instant| {
            if sample >= POINTS as u32 {
                times[part] += begin.elapsed();
            }
        };
        let begin = Instant::now();
        board.collect();
        timed(0, begin);
        let mut last = board.samples().rev().map(|sample| sample.at.utc);
        let (Some(end), Some(before)) = (last.next(), last.next()) else { continue };
        drop(last);
        let begin = Instant::now();
        let span = Span::of_samples(before.saturating_add(1), end);
        let figures = TableFigures::read(&mut board, span, &table).expect("no error");
        timed(1, begin);
        assert_eq!(figures.reduced.series.len(), COUNTERS.len() * processes as usize);
        let begin = Instant::now();
        let window = board.window(FileTime::PER_SECOND).expect("samples");
        let reduced = board.reduce(window, POINTS, &chart).expect("no error");
        timed(2, begin);
        assert_eq!(reduced.series.len(), 1);
    }
    println!("{processes} processes, {} counters each, {POINTS} points; time per sample:", COUNTERS.len());
    for (what, time) in ["collect", "table", "chart of one counter"].into_iter().zip(times) {
        println!("  {:.2} ms  {what}", time.as_secs_f64() * 1e3 / f64::from(SAMPLES));
    }
}

//! `tacho` without a command: what the machine does now, watched on a terminal, else in one table.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use tachograph_flow::Sink;
use tachograph_flow::live::{LiveOptions, Schedule, Stop};
use tachograph_flow::sinks::{StatisticsOptions, StatisticsRow, StatisticsSink};

#[cfg(feature = "screen")]
use super::monitor;
use crate::failure::{Failure, say};
use crate::live;
use crate::signals;
use crate::table::{value, write_table};

/// How many samples are taken.
const SAMPLES: u64 = 5;

pub(crate) fn run() -> Result<ExitCode, Failure> {
    #[cfg(feature = "screen")]
    if monitor::has_terminal() {
        return monitor::run_default();
    }
    let registry = live::this_machine()?;
    let paths = live::default_counters(&registry)?;
    let stop = Stop::default();
    let options = LiveOptions { pairs_by_identity: true, ..LiveOptions::default() };
    let schedule =
        Schedule { samples: Some(SAMPLES), has_baseline: true, stop: stop.clone(), ..Schedule::default() };
    let mut live = live::open(&registry, &paths, options, schedule)?;
    signals::stop_on_signals(&stop)?;
    // Somebody who waits at the terminal, but has no keyboard there.
    if io::stdout().is_terminal() && io::stderr().is_terminal() {
        say(format_args!(
            "taking {SAMPLES} samples, a second apart; 'tacho --help' shows what else there is"
        ));
    }
    let mut sink = StatisticsSink::new(StatisticsOptions::default());
    let report = live.report.clone();
    tachograph_flow::feed(&mut live.source, &mut sink, || live::say_news(&report))?;
    sink.finish()?;
    let mut out = BufWriter::new(io::stdout().lock());
    write_table(&mut out, HEADER, 2, &sink.rows(), cells)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

const HEADER: [&str; 6] = ["counter", "unit", "last", "average", "minimum", "maximum"];

fn cells(row: &StatisticsRow) -> [String; 6] {
    let summary = &row.summary;
    let shown = |figure: Option<f64>| value(row.counter.counter_type, figure);
    [
        row.path.clone(),
        row.counter.unit().into_owned(),
        shown(summary.last),
        shown(summary.average),
        shown(summary.minimum),
        shown(summary.maximum),
    ]
}

//! `tacho` without a command: shows the default counters, in the monitor on a terminal, otherwise as a table.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use tachograph_flow::Sink;
use tachograph_flow::live::{LiveOptions, Schedule, Stop};
use tachograph_flow::sinks::{StatisticsOptions, StatisticsRow, StatisticsSink};
use tachograph_monitor::figures::NumberForm;

#[cfg(feature = "screen")]
use super::monitor;
use crate::failure::{Failure, notify};
use crate::signals;
use crate::table::{value_text, write_table};
use crate::this_machine;

const SAMPLES: u64 = 5;

pub(crate) fn run() -> Result<ExitCode, Failure> {
    #[cfg(feature = "screen")]
    if monitor::has_terminal() {
        return monitor::run_default();
    }
    let registry = this_machine::registry()?;
    let paths = this_machine::default_counters(&registry)?;
    let stop = Stop::default();
    let options = LiveOptions { pairs_by_identity: true, ..LiveOptions::default() };
    let schedule =
        Schedule { samples: Some(SAMPLES), has_baseline: true, stop: stop.clone(), ..Schedule::default() };
    let mut live = this_machine::open(&registry, &paths, options, schedule)?;
    signals::stop_on_signals(&stop)?;
    // A terminal on which the monitor cannot run, for example because standard input is redirected.
    if io::stdout().is_terminal() && io::stderr().is_terminal() {
        notify(format_args!("taking {SAMPLES} samples, one per second; 'tacho --help' lists all commands"));
    }
    let mut sink = StatisticsSink::new(StatisticsOptions::default());
    let report = live.report.clone();
    tachograph_flow::feed(&mut live.source, &mut sink, || this_machine::notify_new_problems(&report))?;
    sink.finish()?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut rows = sink.rows();
    rows.retain(|row| !is_unused_interface(row));
    write_table(&mut out, HEADER, 1, &rows, |row| cells(row, NumberForm::Units))?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a row is of a network interface without traffic. Most of these are down.
fn is_unused_interface(row: &StatisticsRow) -> bool {
    let set = row.set.english_name.as_deref().unwrap_or(&row.set.name);
    set == "Network Interface" && row.summary.maximum == Some(0.0)
}

const HEADER: [&str; 5] = ["counter", "last", "average", "minimum", "maximum"];

/// The path and the figures of a row.
fn cells(row: &StatisticsRow, form: NumberForm) -> [String; 5] {
    let summary = &row.summary;
    let shown = |value: Option<f64>| value_text(&row.counter, value, form);
    [
        row.path.clone(),
        shown(summary.last),
        shown(summary.average),
        shown(summary.minimum),
        shown(summary.maximum),
    ]
}

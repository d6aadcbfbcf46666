//! A progress bar for long work: on a terminal, after a second; silent otherwise.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tachograph_flow::logs::LogReport;

/// Shows how much of the inputs was read.
pub(crate) struct Progress {
    started: Instant,
    calls: u32,
    bar: Option<ProgressBar>,
    wanted: bool,
}

/// Work that is over sooner needs no bar.
const SILENCE: Duration = Duration::from_secs(1);

impl Progress {
    /// A bar that is not shown yet.
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), calls: 0, bar: None, wanted: std::io::stderr().is_terminal() }
    }

    /// Notes how far the logs are read.
    pub(crate) fn update(&mut self, reports: &[LogReport]) {
        self.calls += 1;
        // The clock is read now and then only: samples can be small.
        if !self.wanted || !self.calls.is_multiple_of(64) || self.started.elapsed() < SILENCE {
            return;
        }
        let total = reports.iter().map(|report| report.facts().file_bytes).sum();
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{bar:40} {bytes} of {total_bytes}, {eta} left");
            let bar = ProgressBar::new(total);
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        bar.set_length(total);
        bar.set_position(reports.iter().map(LogReport::bytes_read).sum());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

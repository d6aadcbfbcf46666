//! A progress bar that appears after one second, if standard error is a terminal.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tachograph_flow::logs::LogReport;

/// Shows how much of the inputs has been read.
pub(crate) struct Progress {
    started: Instant,
    calls: u32,
    bar: Option<ProgressBar>,
    is_enabled: bool,
}

/// The bar appears after this time.
const DELAY: Duration = Duration::from_secs(1);

impl Progress {
    /// Creates a bar that is hidden at first.
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), calls: 0, bar: None, is_enabled: std::io::stderr().is_terminal() }
    }

    pub(crate) fn update(&mut self, reports: &[LogReport]) {
        self.calls += 1;
        // Read the clock only at every 64th sample.
        if !self.is_enabled || !self.calls.is_multiple_of(64) || self.started.elapsed() < DELAY {
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

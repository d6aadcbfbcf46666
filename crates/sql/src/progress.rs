//! A progress bar that appears after one second, if standard error is a terminal.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Number of bytes that a query has read so far. Clones share the number.
#[derive(Clone, Debug, Default)]
pub(crate) struct BytesRead(Arc<AtomicU64>);

impl BytesRead {
    pub(crate) fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Shows how much of the inputs has been read.
pub(crate) struct Progress {
    started: Instant,
    read: BytesRead,
    /// The size of the inputs; `None` if other processes read them.
    total: Option<u64>,
    bar: Option<ProgressBar>,
    is_enabled: bool,
}

/// The bar appears after this time.
const DELAY: Duration = Duration::from_secs(1);

impl Progress {
    /// Creates a bar that is hidden at first.
    pub(crate) fn new(read: BytesRead, total: Option<u64>) -> Self {
        Self { started: Instant::now(), read, total, bar: None, is_enabled: std::io::stderr().is_terminal() }
    }

    /// Draws the bar.
    pub(crate) fn update(&mut self) {
        if !self.is_enabled || self.started.elapsed() < DELAY {
            return;
        }
        let total = self.total;
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template(match total {
                Some(_) => "{bar:40} {bytes} of {total_bytes} read",
                None => "{elapsed} on the cluster",
            });
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(total.unwrap_or_default()).with_style(style)
        });
        match total {
            Some(total) => bar.set_position(self.read.get().min(total)),
            None => bar.tick(),
        }
    }

    /// Removes the bar, before something else is written to the terminal.
    pub(crate) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.is_enabled = false;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

//! Messages of Ballista on standard error.

use std::io::Write as _;
use std::sync::OnceLock;

use log::{LevelFilter, Log, Metadata, Record};
use tachograph_monitor::figures::escape_controls;

/// Writes a line per message.
struct StandardError {
    /// The process, `scheduler` or `executor`.
    process: &'static str,
}

impl Log for StandardError {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        ["ballista", "tachograph"].iter().any(|start| metadata.target().starts_with(start))
    }

    fn log(&self, record: &Record<'_>) {
        let text = record.args().to_string();
        // The executor's limit of memory is not Ballista's, which is off.
        if self.enabled(record.metadata()) && !text.starts_with("Executor memory pool:") {
            // Nothing can be done if standard error is closed.
            let _ = writeln!(std::io::stderr(), "tacho-sql {}: {}", self.process, escape_controls(&text));
        }
    }

    fn flush(&self) {}
}

/// Begins to write errors; with `verbose`, also what the process does.
pub(super) fn start(process: &'static str, verbose: bool) {
    static LOGGER: OnceLock<StandardError> = OnceLock::new();
    let level = if verbose { LevelFilter::Info } else { LevelFilter::Error };
    if log::set_logger(LOGGER.get_or_init(|| StandardError { process })).is_ok() {
        log::set_max_level(level);
    }
}

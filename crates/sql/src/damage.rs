//! The damage that a query finds in its inputs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tachograph_counters::IgnorePoison as _;
use tachograph_flow::logs::LogReport;
use tachograph_logs::LogError;
use tachograph_monitor::damage_notice;

use crate::failure::{Failure, notify};

/// Advice for damage that ends the query.
pub(crate) const MOVE_AWAY: &str = "move the file away to query the others ('tacho check' lists all damage)";

/// The damaged logs and files that a query has read or skipped. Clones share the list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Damage(Arc<Found>);

#[derive(Debug, Default)]
struct Found {
    /// Whether a damaged file of an archive is skipped, instead of being an error.
    skips_files: bool,
    /// A message for each damaged log.
    logs: Mutex<BTreeMap<PathBuf, String>>,
    /// The error of each damaged file of an archive.
    files: Mutex<BTreeMap<PathBuf, String>>,
    /// Whether a file of an archive, or a log, could be read.
    has_intact: AtomicBool,
}

impl Damage {
    /// Skips damaged files of archives. By default, the query fails, because an executor of a cluster cannot report them.
    pub(crate) fn skipping_files() -> Self {
        Self(Arc::new(Found { skips_files: true, ..Found::default() }))
    }

    /// Adds the damage of logs that were read.
    pub(crate) fn add_logs(&self, reports: &[LogReport]) {
        self.add_intact();
        for report in reports {
            if let Some(notice) = damage_notice(report) {
                self.0.logs.lock().ignore_poison().insert(report.path().to_path_buf(), notice);
            }
        }
    }

    /// Records that a file of an archive could be opened, or that a log was read.
    pub(crate) fn add_intact(&self) {
        self.0.has_intact.store(true, Ordering::Relaxed);
    }

    /// Adds a file that could not be opened. Returns the error if the query fails.
    pub(crate) fn skip_file(&self, error: LogError) -> Result<(), LogError> {
        match error.path() {
            Some(path) if error.is_corrupt() && self.0.skips_files => {
                self.0.files.lock().ignore_poison().insert(path.to_path_buf(), error.to_string());
                Ok(())
            }
            _ => Err(error.with_advice(MOVE_AWAY)),
        }
    }

    /// Reports the damage on standard error.
    ///
    /// # Errors
    ///
    /// When all files that the query needed are damaged.
    pub(crate) fn report(&self) -> Result<(), Failure> {
        let files = self.0.files.lock().ignore_poison();
        if !self.0.has_intact.load(Ordering::Relaxed)
            && let Some(error) = files.values().next()
        {
            return Err(Failure::runtime(format!(
                "{error}; there is no intact file in this part of the archive"
            )));
        }
        for error in files.values() {
            notify(&format!("{error}; the file is not read; move it away ('tacho check' lists all damage)"));
        }
        self.0.logs.lock().ignore_poison().values().for_each(|notice| notify(notice));
        Ok(())
    }
}

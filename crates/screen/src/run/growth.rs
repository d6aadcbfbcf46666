//! Detects logs that are still being written.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// How often files are checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The minimum time between re-reading logs and the next check, as a multiple of the time that re-reading took, because
/// circular logs are read completely each time.
const MIN_PAUSE_FACTOR: u32 = 10;

/// Length and modification time; `None` if the file does not exist.
type FileState = Option<(u64, SystemTime)>;

/// Files that can grow.
pub(super) struct Growth {
    files: Vec<(PathBuf, FileState)>,
    next_check: Instant,
}

fn state_of(file: &PathBuf) -> FileState {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

impl Growth {
    pub(super) fn new(files: &[PathBuf]) -> Self {
        let files = files.iter().map(|file| (file.clone(), state_of(file))).collect();
        Self { files, next_check: Instant::now() + CHECK_INTERVAL }
    }

    /// The time until the next check.
    pub(super) fn wait(&self) -> Duration {
        self.next_check.saturating_duration_since(Instant::now())
    }

    /// Whether a file has changed since the last check. A deleted file counts as unchanged: it can still be read.
    pub(super) fn has_grown(&mut self) -> bool {
        self.next_check = Instant::now() + CHECK_INTERVAL;
        let mut has_changed = false;
        for (file, known) in &mut self.files {
            let now = state_of(file);
            if now.is_some() && now != *known {
                *known = now;
                has_changed = true;
            }
        }
        has_changed
    }

    /// Schedules the next check, given how long re-reading took.
    pub(super) fn delay_after(&mut self, took: Duration) {
        self.next_check = Instant::now() + CHECK_INTERVAL.max(took.saturating_mul(MIN_PAUSE_FACTOR));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_files_are_detected() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = ["a", "b"].map(|name| folder.path().join(name));
        std::fs::write(&files[0], "x").expect("written");
        let mut growth = Growth::new(&files);
        assert!(!growth.has_grown());
        std::fs::write(&files[0], "xy").expect("written");
        assert!(growth.has_grown());
        assert!(!growth.has_grown());
        std::fs::write(&files[1], "").expect("written");
        assert!(growth.has_grown());
        std::fs::remove_file(&files[0]).expect("removed");
        assert!(!growth.has_grown());
        assert!(growth.wait() <= CHECK_INTERVAL);
        growth.delay_after(Duration::from_secs(3));
        assert!(growth.wait() > 2 * CHECK_INTERVAL, "delayed");
    }
}

//! Whether logs are still being written.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// Files are looked at so often.
const LOOKED: Duration = Duration::from_secs(1);

/// What was appended is read in at most so large a part of the time, one of this many: circular logs are read as a whole.
const SHARE: u32 = 10;

/// Length and time of the last writing of a file.
type Seen = Option<(u64, SystemTime)>;

/// Files that may grow.
pub(super) struct Growth {
    files: Vec<(PathBuf, Seen)>,
    next: Instant,
}

fn seen(file: &PathBuf) -> Seen {
    let facts = std::fs::metadata(file).ok()?;
    Some((facts.len(), facts.modified().ok()?))
}

impl Growth {
    /// Files as they are now.
    pub(super) fn new(files: &[PathBuf]) -> Self {
        let files = files.iter().map(|file| (file.clone(), seen(file))).collect();
        Self { files, next: Instant::now() + LOOKED }
    }

    /// How long it is until they are looked at.
    pub(super) fn wait(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Whether one has changed since they were looked at last. One that has gone is as it was: it can still be read.
    pub(super) fn look(&mut self) -> bool {
        self.next = Instant::now() + LOOKED;
        let mut has_changed = false;
        for (file, known) in &mut self.files {
            let now = seen(file);
            if now.is_some() && now != *known {
                *known = now;
                has_changed = true;
            }
        }
        has_changed
    }

    /// Reading what had changed took so long.
    pub(super) fn note_reading(&mut self, took: Duration) {
        self.next = Instant::now() + LOOKED.max(took.saturating_mul(SHARE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_change() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = ["a", "b"].map(|name| folder.path().join(name));
        std::fs::write(&files[0], "x").expect("written");
        let mut growth = Growth::new(&files);
        assert!(!growth.look());
        std::fs::write(&files[0], "xy").expect("written");
        assert!(growth.look());
        assert!(!growth.look());
        std::fs::write(&files[1], "").expect("written");
        assert!(growth.look());
        std::fs::remove_file(&files[0]).expect("removed");
        assert!(!growth.look());
        assert!(growth.wait() <= LOOKED);
        growth.note_reading(Duration::from_secs(3));
        assert!(growth.wait() > 2 * LOOKED, "it takes its time");
    }
}

//! Open segments: the BLGs of a recording into an archive, which are converted to Parquet files when they are complete.
//!
//! They are in the folder `_open` of the machine. Most SQL engines ignore names that begin with `_`; the others find no
//! Parquet file there.

use std::io;
use std::path::{Path, PathBuf};

use tachograph_counters::civil::FileTime;

use crate::LogError;

/// The folder of open segments within the folder of the machine.
const OPEN_FOLDER: &str = "_open";
const EXTENSION: &str = "blg";

/// The folder of a machine's open segments.
pub fn open_folder(machine: &Path) -> PathBuf {
    machine.join(OPEN_FOLDER)
}

/// The name of an open segment: `YYYYMMDD-HHMMSS.mmm-RECORDING.blg`, with the UTC time of its first sample, so that
/// names sort by time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentName {
    /// The whole file name.
    name: String,
}

impl SegmentName {
    /// The name of a segment whose first sample is at `first`.
    pub fn new(first: FileTime, recording: &str) -> Self {
        let text = first.to_log_time();
        // `MM/DD/YYYY HH:MM:SS.mmm`
        let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
        let (month, day, year) = (part(0..2), part(3..5), part(6..10));
        let time = [part(11..13), part(14..16), part(17..23)].concat();
        Self { name: format!("{year}{month}{day}-{time}-{recording}.{EXTENSION}") }
    }

    /// Creates an id for a new recording.
    pub fn new_recording() -> String {
        uuid::Uuid::new_v4().to_string()
    }

    /// Parses the name of a file; `None` if it has another form.
    pub fn of_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let is_segment = name.strip_suffix(EXTENSION)?.ends_with('.') && name.splitn(3, '-').count() == 3;
        is_segment.then(|| Self { name: name.to_owned() })
    }

    /// The name of the file.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// The id of the recording.
    pub fn recording(&self) -> &str {
        let id = self.name.splitn(3, '-').nth(2).unwrap_or_default();
        id.strip_suffix(EXTENSION).and_then(|id| id.strip_suffix('.')).unwrap_or_default()
    }
}

/// The open segments in the folder of a machine, in order of time. Empty if the machine has none.
///
/// # Errors
///
/// When the folder cannot be read.
pub fn segments(machine: &Path) -> Result<Vec<PathBuf>, LogError> {
    let folder = open_folder(machine);
    let failed = |error: io::Error| LogError::io(error).at_path(&folder);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        // Opening anything but a regular file, such as a pipe, can block or fail.
        if entry.file_type().map_err(failed)?.is_file() {
            found.push(entry.path());
        }
    }
    found.retain(|path| SegmentName::of_path(path).is_some());
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_time_and_contain_the_recording() {
        let first = FileTime::parse_log_time(b"11/25/2026 00:05:07.250").expect("a time");
        let name = SegmentName::new(first, "6f-1c");
        assert_eq!(name.as_str(), "20261125-000507.250-6f-1c.blg");
        assert_eq!(name.recording(), "6f-1c");
        assert_eq!(SegmentName::of_path(&Path::new("x").join(name.as_str())), Some(name.clone()));
        let later = SegmentName::new(first.saturating_add(FileTime::PER_DAY), "00");
        assert!(name.as_str() < later.as_str());
        for other in ["recorder.lock", "a.blg", "x-y-z.blg.damaged", "x-y-z.csv"] {
            assert_eq!(SegmentName::of_path(Path::new(other)), None, "{other}");
        }
    }
}

//! Converts an open segment to a complete file.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_logs::archive::{
    ArchiveOptions, ArchiveReader, ArchiveWriter, FileSpan, SegmentName, complete_files, date_folders,
    entries, segments,
};
use tachograph_logs::blg::BlgReader;
use tachograph_logs::{LogError, LogReader as _, LogWriter as _};

use super::written::WrittenSamples;
use super::{ArchiveStore, Continuation, LastSample, last_sample, write_samples};
use crate::FlowError;

/// The zstd level for a segment, which is low because merging the files of a day compresses them again.
const SEGMENT_LEVEL: i32 = 3;

/// The outcome of a conversion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// The complete files.
    pub files: Vec<PathBuf>,
    /// The number of samples in them.
    pub samples: u64,
    /// The size of the files in bytes.
    pub bytes: u64,
    /// Messages about damage to the segment or to the previous file.
    pub problems: Vec<String>,
}

impl ArchiveStore {
    /// The open segments, in chronological order.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn segments(&self) -> Result<Vec<PathBuf>, LogError> {
        segments(&self.machine)
    }

    /// The time of the last sample of the complete files.
    ///
    /// # Errors
    ///
    /// When a folder or a file cannot be read.
    pub fn last_time(&self) -> Result<Option<FileTime>, LogError> {
        let Some(last) = self.last_file()? else { return Ok(None) };
        match ArchiveReader::open(vec![last.path]) {
            Ok(reader) => Ok(Some(reader.last_time())),
            // For a damaged file, use the time in its name.
            Err(error) if error.is_corrupt() => Ok(Some(last.last)),
            Err(error) => Err(error),
        }
    }

    /// Converts a segment to complete files and then removes it. Samples that are already in complete files are not
    /// added again. The first interval begins at the last sample of the complete files.
    ///
    /// `last` is the last sample of the previous conversion, if any. This conversion replaces it with its own last sample.
    ///
    /// A sample of the segment that is in no complete file cannot be added if the complete files have a later sample, because
    /// files must not overlap in time. If there is such a sample, the segment is renamed instead of removed.
    ///
    /// # Errors
    ///
    /// When reading or writing fails; the segment is then not removed.
    pub fn convert(&self, segment: &Path, last: &mut Option<LastSample>) -> Result<Converted, FlowError> {
        let mut converted = Converted::default();
        let recording = SegmentName::of_path(segment).map(|name| name.recording().to_owned());
        if let Some(recording) = &recording {
            self.remove_unfinished(recording)?;
        }
        let file = File::open(segment).map_err(|error| LogError::io(error).at_path(segment))?;
        let mut reader = match BlgReader::new(file) {
            Ok(reader) => reader,
            Err(error) if error.is_corrupt() => {
                // The recorder was stopped before it wrote the first sample, or the file is damaged.
                self.set_aside(segment, &error, &mut converted)?;
                return Ok(converted);
            }
            Err(error) => return Err(error.at_path(segment).into()),
        };
        let files = complete_files(&self.machine)?;
        let last_file = files.last().cloned();
        let known =
            last.take().filter(|known| last_file.as_ref().is_some_and(|file| file.path == known.file));
        let (after, previous) = match known {
            Some(known) => (known.sample.at.utc, Some(known.sample)),
            None => {
                let after = self.last_time()?.unwrap_or(FileTime(i64::MIN));
                (after, Self::previous_sample(last_file.as_ref(), &mut converted)?)
            }
        };
        let facts = ArchiveOptions::of_log(reader.facts());
        let options = ArchiveOptions { recording, level: SEGMENT_LEVEL, ..facts };
        let mut writer = ArchiveWriter::with_storage(&self.archive, options, Arc::clone(&self.storage));
        let source = Continuation { previous, reader: &mut reader, is_stopped: &|| false };
        let at_segment = |error: FlowError| match error {
            FlowError::Log(error) => FlowError::Log(error.at_path(segment)),
            error => error,
        };
        let mut written = WrittenSamples::new(files, after);
        let (samples, last_written) =
            write_samples(source, |sample| written.is_later(sample), &mut writer).map_err(at_segment)?;
        converted.samples = samples;
        let missing = written.missing_samples()?;
        writer.finish()?;
        converted.files = writer.named_files().to_vec();
        for file in &converted.files {
            converted.bytes += std::fs::metadata(file).map_or(0, |found| found.len());
            // A recorder that was killed may have created the date folder without syncing it.
            self.sync_parent(file.parent().unwrap_or(Path::new("")))?;
        }
        let last_file = converted.files.iter().max().cloned();
        *last = last_file.zip(last_written).map(|(file, sample)| LastSample { file, sample });
        let problems = reader.problems();
        if problems.count() > problems.warnings() {
            let first = problems.list().iter().find(|problem| !problem.is_warning);
            let first = first.map(ToString::to_string).unwrap_or_default();
            let why = format!("{}: damaged: {first}; intact samples were kept", segment.display());
            converted.problems.push(why);
        }
        match missing {
            Some((count, last)) => {
                let renamed = self.rename_segment(segment, "overlap")?;
                converted.problems.push(format!(
                    "{}: {count} samples up to {} were not added, because another Parquet file of the archive (added by hand, or \
                     damaged) has later times; the segment was kept, but is not part of the archive",
                    renamed.display(),
                    last.rfc3339()
                ));
            }
            None => self.remove(segment)?,
        }
        Ok(converted)
    }

    /// The last sample of the last complete file, if it can be read.
    fn previous_sample(
        last_file: Option<&FileSpan>,
        converted: &mut Converted,
    ) -> Result<Option<Sample>, LogError> {
        match last_file.map(|file| last_sample(&file.path)) {
            Some(Err(error)) if error.is_corrupt() => {
                converted
                    .problems
                    .push(format!("{error}; the interval between this file and the next is missing"));
                Ok(None)
            }
            Some(found) => found,
            None => Ok(None),
        }
    }

    /// Removes the unfinished files of a recording.
    fn remove_unfinished(&self, recording: &str) -> Result<(), LogError> {
        let prefix = format!(".{recording}-");
        for date in date_folders(&self.machine)? {
            for path in entries(&date)? {
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                if name.starts_with(&prefix) {
                    self.remove(&path)?;
                }
            }
        }
        Ok(())
    }

    /// Removes a segment without any data; renames a damaged one, so that it can be examined.
    fn set_aside(&self, segment: &Path, error: &LogError, converted: &mut Converted) -> Result<(), LogError> {
        if is_zero(segment).map_err(|error| LogError::io(error).at_path(segment))? {
            return self.remove(segment);
        }
        let renamed = self.rename_segment(segment, "damaged")?;
        converted.problems.push(format!("{}: {error}; the file was kept", renamed.display()));
        Ok(())
    }

    /// Adds an extension to the name of a segment, so that the file no longer counts as a segment.
    fn rename_segment(&self, segment: &Path, extension: &str) -> Result<PathBuf, LogError> {
        let mut name = segment.as_os_str().to_owned();
        name.push(".");
        name.push(extension);
        let renamed = PathBuf::from(name);
        self.storage.rename(segment, &renamed).map_err(|error| LogError::io(error).at_path(segment))?;
        self.sync_parent(&renamed)?;
        Ok(renamed)
    }
}

/// Whether a file has only zero bytes.
fn is_zero(path: &Path) -> std::io::Result<bool> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(true),
            Ok(count) if buffer[..count].iter().any(|&byte| byte != 0) => return Ok(false),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

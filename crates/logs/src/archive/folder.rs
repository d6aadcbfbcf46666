//! The folders and names of an archive: `machine=NAME/date=YYYY-MM-DD/HHMMSS-HHMMSS.parquet`.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use tachograph_counters::Problem;
use tachograph_counters::civil::{FileTime, Moment};

use super::file::ArchiveFile;
use super::listing::PathFacts;
use super::segments::segments;
use crate::LogError;

/// The prefixes of the folders, from which SQL engines derive the columns `machine` and `date`.
pub(super) const MACHINE_PREFIX: &str = "machine=";
pub(super) const DATE_PREFIX: &str = "date=";
/// The extension of files.
const EXTENSION: &str = "parquet";
/// Hive's name of an empty value.
pub(super) const EMPTY_VALUE: &str = "__HIVE_DEFAULT_PARTITION__";
/// Maximum number of bytes of a file name.
const MAX_NAME_BYTES: usize = 255;

/// One machine of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveInput {
    /// The folder of the machine.
    pub folder: PathBuf,
}

/// A complete file, with the UTC times of its first and last sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSpan {
    /// The path.
    pub path: PathBuf,
    /// The time of the first sample, rounded down to a second if only the file's name was read.
    pub first: FileTime,
    /// The time of the last sample, rounded up to the end of its second if only the file's name was read.
    pub last: FileTime,
}

/// The name of a machine's folder. Bytes other than ASCII letters, digits, `-`, `_` and `.` are escaped as `%XX`, as in
/// Hive.
///
/// # Errors
///
/// When the name is too long for a file name.
pub fn machine_folder(machine: &str) -> Result<String, LogError> {
    let mut folder = MACHINE_PREFIX.to_owned();
    if machine.is_empty() {
        folder.push_str(EMPTY_VALUE);
    }
    for byte in machine.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            folder.push(char::from(byte));
        } else {
            // Writing into a String cannot fail.
            let _ = write!(folder, "%{byte:02X}");
        }
    }
    if folder.len() > MAX_NAME_BYTES {
        return Err(LogError::unsupported(format!(
            "the machine name '{machine}' is too long for the name of a folder"
        )));
    }
    Ok(folder)
}

/// The name of the folder of a UTC date.
pub fn date_folder(utc: FileTime) -> String {
    let civil = utc.to_civil().unwrap_or_default();
    format!("{DATE_PREFIX}{:04}-{:02}-{:02}", civil.year(), civil.month(), civil.day())
}

/// The name of a file with samples of these UTC times. `copy` distinguishes files whose times are equal in seconds.
pub(super) fn file_name(first: FileTime, last: FileTime, copy: u32) -> String {
    let time = |utc: FileTime| {
        let civil = utc.to_civil().unwrap_or_default();
        format!("{:02}{:02}{:02}", civil.hour(), civil.minute(), civil.second())
    };
    match copy {
        0 => format!("{}-{}.{EXTENSION}", time(first), time(last)),
        _ => format!("{}-{}-{}.{EXTENSION}", time(first), time(last), copy + 1),
    }
}

/// Whether a path is named like a complete file of an archive.
pub fn is_archive_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    !name.starts_with('.') && path.extension().is_some_and(|extension| extension == EXTENSION)
}

/// Number of attempts to list the files of a machine while a recorder changes them.
const MAX_LISTINGS: usize = 100;

/// The machines of an archive. `folder` is the folder of an archive, of a machine or of a date.
///
/// # Errors
///
/// When a folder cannot be read, or is not an archive.
pub fn archive_inputs(folder: &Path) -> Result<Vec<ArchiveInput>, LogError> {
    let mut machines = subfolders(folder, MACHINE_PREFIX)?;
    if machines.is_empty() {
        machines.push(folder.to_path_buf());
    }
    let mut inputs = Vec::new();
    for folder in machines {
        if has_files(&folder)? {
            inputs.push(ArchiveInput { folder });
        }
    }
    if inputs.is_empty() {
        return Err(not_an_archive(folder));
    }
    Ok(inputs)
}

/// The error for a folder without samples.
pub(super) fn not_an_archive(folder: &Path) -> LogError {
    LogError::not_a_log(
        "this is a folder, not a log: an archive has files named machine=NAME/date=YYYY-MM-DD/*.parquet",
    )
    .at_path(folder)
}

/// Whether the folder of a machine or a date has complete files or open segments.
fn has_files(machine: &Path) -> Result<bool, LogError> {
    for date in date_folders(machine)? {
        if !files_of_date(&date)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(!segments(machine)?.is_empty())
}

/// The date folders of a machine, in order. If there are none, `machine` itself, which can be a date folder.
///
/// # Errors
///
/// When the folder cannot be read.
pub fn date_folders(machine: &Path) -> Result<Vec<PathBuf>, LogError> {
    let mut dates = subfolders(machine, DATE_PREFIX)?;
    if dates.is_empty() {
        dates.push(machine.to_path_buf());
    }
    Ok(dates)
}

/// The complete files in the folder of a machine or a date, in order of time.
///
/// A recorder can merge files concurrently, which replaces a date folder. Folders are therefore listed until two
/// consecutive lists are equal: each sample is then in exactly one of the files.
///
/// # Errors
///
/// When a folder cannot be read, a file is damaged, or files overlap in time.
pub fn complete_files(machine: &Path) -> Result<Vec<FileSpan>, LogError> {
    let mut previous = list_files(machine)?;
    for _ in 0..MAX_LISTINGS {
        let current = list_files(machine)?;
        if current != previous {
            previous = current;
            continue;
        }
        match in_order(current, span_from_footer) {
            // A file was removed meanwhile.
            Err(error) if error.is_not_found() => previous = list_files(machine)?,
            outcome => return outcome,
        }
    }
    Err(LogError::io(std::io::ErrorKind::ResourceBusy.into()).at_path(machine))
}

fn list_files(machine: &Path) -> Result<Vec<PathBuf>, LogError> {
    let mut files = Vec::new();
    for date in date_folders(machine)? {
        files.extend(files_of_date(&date)?);
    }
    Ok(files)
}

/// The files of a date folder, sorted by name; none if the folder was removed meanwhile.
fn files_of_date(date: &Path) -> Result<Vec<PathBuf>, LogError> {
    let mut files = match entries(date) {
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        outcome => outcome?,
    };
    files.retain(|path| is_archive_file(path) && !path.is_dir());
    Ok(files)
}

/// Opens a complete file. A pipe, which could block, and a link to a missing file are damage of the archive.
///
/// # Errors
///
/// When the file cannot be opened; [`LogError::is_corrupt`] if it is not a regular file.
pub fn open_file(path: &Path) -> Result<fs::File, LogError> {
    let damaged = |what: &'static str| LogError::corrupt(Problem::new(0, what)).at_path(path);
    let failed = |error: io::Error| LogError::io(error).at_path(path);
    match fs::metadata(path) {
        Ok(found) if found.is_file() => fs::File::open(path).map_err(failed),
        Ok(_) => Err(damaged("this is a pipe, a device or a folder, not a file")),
        // A file that is missing was removed meanwhile.
        Err(error) if error.kind() == ErrorKind::NotFound && path.is_symlink() => {
            Err(damaged("the link points to a file that does not exist"))
        }
        Err(error) => Err(failed(error)),
    }
}

/// The problem of a file whose times or machine are not those in its path. Files are found and sorted by their paths.
pub(super) fn misplaced(path: &Path, times: TimeSpan, machine: &str) -> Option<Problem> {
    let named = PathFacts::of(path);
    let path = path.display();
    let text = |utc: FileTime| Moment { utc, bias_minutes: 0 };
    let what = if let Some(expected) = named.times.filter(|named| !named.contains(times)) {
        format!(
            "{path}: the samples are from {} to {}, but the name says {} to {}: commands that select a time range can omit \
             them; restore the name",
            text(times.first),
            text(times.last),
            text(expected.first),
            text(expected.last)
        )
    } else if let Some(named) = named.machine.filter(|named| named != machine) {
        format!(
            "{path}: the samples are of the machine '{machine}', but the folder has the name of '{named}': SQL queries that select \
             a machine omit them; restore the name"
        )
    } else {
        return None;
    };
    Some(Problem::new(0, what))
}

/// The entries of a folder, sorted by name.
///
/// # Errors
///
/// When the folder cannot be read.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, LogError> {
    let failed = |error| LogError::io(error).at_path(folder);
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        entries.push(entry.map_err(failed)?.path());
    }
    entries.sort();
    Ok(entries)
}

/// The folders of the machines of an archive.
///
/// # Errors
///
/// When the folder cannot be read.
pub fn machine_folders(archive: &Path) -> Result<Vec<PathBuf>, LogError> {
    subfolders(archive, MACHINE_PREFIX)
}

fn subfolders(folder: &Path, prefix: &str) -> Result<Vec<PathBuf>, LogError> {
    let has_prefix = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(prefix) && path.is_dir()
    };
    Ok(entries(folder)?.into_iter().filter(has_prefix).collect())
}

/// Returns the files of a machine in order of time.
///
/// Files are sorted by the times in their names. Where these overlap within a second, the exact times in the footers
/// are used, which `times_of` reads. A damaged file is sorted by its name or, if the name has another form, by its date
/// folder; the error is reported when it is read.
///
/// # Errors
///
/// When a footer cannot be read, or two files overlap in time.
pub fn in_order(
    files: Vec<PathBuf>,
    times_of: impl Fn(&Path) -> Result<TimeSpan, LogError>,
) -> Result<Vec<FileSpan>, LogError> {
    let mut spans: Vec<(TimeSpan, PathBuf)> = Vec::with_capacity(files.len());
    let mut damaged: Vec<PathBuf> = Vec::new();
    for path in files {
        let span = match span_from_name(&path) {
            Some(span) => span,
            None => match (times_of(&path), PathFacts::of(&path).date) {
                (Err(error), Some(date)) if error.is_corrupt() => {
                    damaged.push(path.clone());
                    TimeSpan { first: date, last: date }
                }
                (span, _) => span?,
            },
        };
        spans.push((span, path));
    }
    spans.sort();
    let is_disjoint = |pair: &[(TimeSpan, PathBuf)]| pair[0].0.last < pair[1].0.first;
    let overlapping_at: Vec<usize> =
        (0..spans.len().saturating_sub(1)).filter(|&at| !is_disjoint(&spans[at..at + 2])).collect();
    for at in overlapping_at {
        for (span, path) in &mut spans[at..at + 2] {
            if damaged.contains(path) {
                continue;
            }
            match times_of(path) {
                Err(error) if error.is_corrupt() && span_from_name(path).is_some() => {
                    damaged.push(path.clone())
                }
                outcome => *span = outcome?,
            }
        }
    }
    spans.sort();
    let overlaps = |pair: &&[(TimeSpan, PathBuf)]| {
        !is_disjoint(pair) && !damaged.iter().any(|path| *path == pair[0].1 || *path == pair[1].1)
    };
    if let Some(pair) = spans.windows(2).find(overlaps) {
        return Err(LogError::unsupported(format!(
            "samples overlap in time with those of {}: move one of the two recordings to another folder",
            pair[1].1.display()
        ))
        .at_path(&pair[0].1));
    }
    let file = |(TimeSpan { first, last }, path)| FileSpan { path, first, last };
    Ok(spans.into_iter().map(file).collect())
}

/// The UTC times of the first and the last sample of a file, exact or rounded outwards to seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeSpan {
    /// The time of the first sample.
    pub first: FileTime,
    /// The time of the last sample.
    pub last: FileTime,
}

impl TimeSpan {
    /// Whether the two time ranges have a moment in common.
    fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// Whether `other` is within this time range.
    fn contains(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }
}

/// Returns a file in a date folder whose samples overlap in time with those of `file`, which is elsewhere.
///
/// # Errors
///
/// When the folder or a file cannot be read.
pub fn overlapping_file(folder: &Path, file: &Path) -> Result<Option<PathBuf>, LogError> {
    overlapping(folder, span_from_footer(file)?)
}

/// Returns a file in a date folder whose samples overlap with `span`. The folder need not exist.
///
/// # Errors
///
/// When the folder or a file cannot be read.
pub(super) fn overlapping(folder: &Path, span: TimeSpan) -> Result<Option<PathBuf>, LogError> {
    if !folder.is_dir() {
        return Ok(None);
    }
    for path in entries(folder)?.into_iter().filter(|path| is_archive_file(path)) {
        let by_name = span_from_name(&path);
        if by_name.is_some_and(|known| !known.overlaps(span)) {
            continue;
        }
        let overlaps = match span_from_footer(&path) {
            // The footer of a damaged file is unreadable, so the times in its name count, if it has any.
            Err(error) if error.is_corrupt() => by_name.is_some(),
            outcome => outcome?.overlaps(span),
        };
        if overlaps {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The end of the second in which a file's last sample was taken, according to the file's name. `None` if the name has
/// another form.
pub(super) fn end_by_name(path: &Path) -> Option<FileTime> {
    Some(span_from_name(path)?.last)
}

/// The span in the names of a file and its folder: from the start of the first second to the end of the last one.
pub(super) fn span_from_name(path: &Path) -> Option<TimeSpan> {
    let folder = path.parent()?.file_name()?.to_str()?;
    let date = folder.strip_prefix(DATE_PREFIX)?;
    let mut parts = path.file_stem()?.to_str()?.split('-');
    let time = |text: &str| {
        let (hour, minute, second) = (text.get(..2)?, text.get(2..4)?, text.get(4..6)?);
        let (year, month, day) = (date.get(..4)?, date.get(5..7)?, date.get(8..10)?);
        let text = format!("{month}/{day}/{year} {hour}:{minute}:{second}.000");
        FileTime::parse_log_time(text.as_bytes())
    };
    let (first, last) = (time(parts.next()?)?, time(parts.next()?)?);
    Some(TimeSpan { first, last: last.saturating_add(9_999_999) })
}

pub(super) fn span_from_footer(path: &Path) -> Result<TimeSpan, LogError> {
    let file = ArchiveFile::open(open_file(path)?).map_err(|error| error.at_path(path))?;
    Ok(file.times())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_names_are_escaped() {
        let folder = |machine| machine_folder(machine).ok();
        assert_eq!(folder("web-1.example_x").as_deref(), Some("machine=web-1.example_x"));
        assert_eq!(folder("a b/c=ü%").as_deref(), Some("machine=a%20b%2Fc%3D%C3%BC%25"));
        assert_eq!(folder("").as_deref(), Some("machine=__HIVE_DEFAULT_PARTITION__"));
        assert_eq!(folder(&"x".repeat(300)), None);
    }

    #[test]
    fn names_contain_the_utc_times_of_their_samples() {
        let first = FileTime::parse_log_time(b"11/25/2026 00:05:07.250").unwrap_or(FileTime(0));
        let last = first.saturating_add(600 * 10_000_000);
        assert_eq!(date_folder(first), "date=2026-11-25");
        assert_eq!(file_name(first, last, 0), "000507-001507.parquet");
        assert_eq!(file_name(first, last, 1), "000507-001507-2.parquet");
        let path = Path::new("x").join(date_folder(first)).join(file_name(first, last, 1));
        let span = span_from_name(&path).expect("a name of this form");
        assert!(span.first <= first && first < span.first.saturating_add(10_000_000));
        assert!(span.last >= last && last > span.last.saturating_sub(10_000_000));
        assert_eq!(span_from_name(Path::new("x/other.parquet")), None);
    }
}

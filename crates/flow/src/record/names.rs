//! Names of the files of a recording.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use tachograph_counters::civil::Moment;
use tachograph_logs::LogError;

use super::Existing;
use super::files::{LogFiles, OpenedFile};
use crate::FlowError;

/// The suffix of a log's name, before the extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suffix {
    /// No suffix, for a single file.
    None,
    /// `_000001` and so on. The first number is one more than the highest among the existing files.
    Number,
    /// `_mmddhhmm`: month, day, hour and minute in local time when the file is created; `_mmddhhmm_002` and so on if
    /// that file exists.
    Date,
}

/// Generates the names of the files of a recording.
pub(super) struct Names {
    path: PathBuf,
    suffix: Suffix,
    /// The number of the last file, if known.
    last_number: Option<u64>,
}

/// Maximum number of names to try. A name can be taken by an existing file, or by another recorder at the same time.
const MAX_ATTEMPTS: u32 = 999;

impl Names {
    pub(super) fn new(path: &Path, suffix: Suffix) -> Self {
        Self { path: path.to_path_buf(), suffix, last_number: None }
    }

    /// Opens the next file; `at` is used for a name with a date.
    pub(super) fn open<L: LogFiles>(
        &mut self,
        files: &mut L,
        existing: Existing,
        at: Moment,
    ) -> Result<(PathBuf, OpenedFile<L::File>), FlowError> {
        if self.suffix == Suffix::None {
            let opened = files.open(&self.path, existing);
            return match opened {
                Ok(opened) => Ok((self.path.clone(), opened)),
                Err(error) => Err(LogError::io(error).at_path(&self.path).into()),
            };
        }
        for attempt in 1..=MAX_ATTEMPTS {
            let suffix = match self.suffix {
                Suffix::Number => self.next_number(files)?,
                _ if attempt == 1 => date(at),
                _ => format!("{}_{attempt:03}", date(at)),
            };
            let path = self.with_suffix(&suffix);
            match files.open(&path, Existing::Refuse) {
                Ok(opened) => return Ok((path, opened)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(LogError::io(error).at_path(&path).into()),
            }
        }
        let error = LogError::io(ErrorKind::AlreadyExists.into());
        Err(error.at_path(&self.with_suffix(&date(at))).into())
    }

    /// The number of the next file, with at least six digits.
    fn next_number<L: LogFiles>(&mut self, files: &L) -> Result<String, FlowError> {
        let last = match self.last_number {
            Some(last) => last,
            None => {
                let folder = self.path.parent().unwrap_or(Path::new(""));
                let names = files.names(folder).map_err(|error| LogError::io(error).at_path(&self.path))?;
                names.iter().filter_map(|name| self.number_of(name)).max().unwrap_or_default()
            }
        };
        let next = last.saturating_add(1);
        self.last_number = Some(next);
        Ok(format!("{next:06}"))
    }

    /// The number in the file name of a segment, if it has one.
    fn number_of(&self, name: &str) -> Option<u64> {
        let rest = name.strip_prefix(&self.stem())?.strip_prefix('_')?;
        let digits = match self.path.extension() {
            Some(extension) => rest.strip_suffix(extension.to_str()?)?.strip_suffix('.')?,
            None => rest,
        };
        let is_number = digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_digit());
        // Numbers above 999999 have no leading zeros. Eight digits that can be a date are treated as a date.
        let is_number = is_number && (digits.len() == 6 || !digits.starts_with('0')) && !is_date(digits);
        is_number.then(|| digits.parse().ok()).flatten()
    }

    fn stem(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn with_suffix(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.file_stem().unwrap_or_default().to_os_string();
        name.push("_");
        name.push(suffix);
        if let Some(extension) = self.path.extension() {
            name.push(".");
            name.push(extension);
        }
        self.path.with_file_name(name)
    }
}

/// Whether `digits` can be the `mmddhhmm` of [`Suffix::Date`].
fn is_date(digits: &str) -> bool {
    let two_digits = |at: usize| digits.get(at..at + 2).and_then(|part| part.parse().ok()).unwrap_or(u8::MAX);
    digits.len() == 8
        && (1..=12).contains(&two_digits(0))
        && (1..=31).contains(&two_digits(2))
        && two_digits(4) < 24
        && two_digits(6) < 60
}

/// Month, day, hour and minute of a local time.
fn date(at: Moment) -> String {
    let text = at.local().to_log_time();
    [0..2, 3..5, 11..13, 14..16].into_iter().filter_map(|part| text.get(part)).collect()
}

#[cfg(test)]
mod tests {
    use tachograph_counters::civil::{FileTime, Moment};

    use super::{Names, Suffix, date};

    #[test]
    fn numbers_precede_the_extension() {
        let names = Names::new("logs/web.front.blg".as_ref(), Suffix::Number);
        assert_eq!(names.with_suffix("000007").to_str(), Some("logs/web.front_000007.blg"));
        for (name, number) in [
            ("web.front_000012.blg", Some(12)),
            ("web.front_1000000.blg", Some(1_000_000)),
            ("web.front_999999.blg", Some(999_999)),
            ("web.front_10000000.blg", Some(10_000_000)),
            ("web.front_13211956.blg", Some(13_211_956)),
            ("web.front_12.blg", None),
            // Dates, and files that are not segments.
            ("web.front_11211956.blg", None),
            ("web.front_02091805.blg", None),
            ("web.front_11211956_002.blg", None),
            ("web.front_0000012.blg", None),
            ("web.front_000012.csv", None),
            ("web.front_000012.blg.old", None),
            ("web_000012.blg", None),
            ("web.front_+00012.blg", None),
        ] {
            assert_eq!(names.number_of(name), number, "{name}");
        }
        let bare = Names::new("LOG".as_ref(), Suffix::Number);
        assert_eq!(bare.number_of("LOG_000003"), Some(3));
        assert_eq!(bare.with_suffix("000004").to_str(), Some("LOG_000004"));
    }

    #[test]
    fn a_date_is_local() {
        let local = FileTime::parse_log_time(b"02/09/2013 18:05:17.844").expect("a time");
        assert_eq!(date(Moment::from_local(local, 480)), "02091805");
    }
}

//! Facts from the paths of an archive's files, without reading the files.

use std::collections::BTreeMap;
use std::path::Path;

use tachograph_counters::civil::FileTime;

use super::folder::{
    DATE_PREFIX, EMPTY_VALUE, MACHINE_PREFIX, TimeSpan, is_archive_file, machine_folder, span_from_name,
};

/// The facts in the path of a file. A field is `None` if the path does not have the form of an archive's paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathFacts {
    /// The machine's name.
    pub machine: Option<String>,
    /// The start of the UTC date.
    pub date: Option<FileTime>,
    /// The times of the samples, rounded outwards to seconds.
    pub times: Option<TimeSpan>,
}

impl PathFacts {
    /// The facts in the path of a file. Only names that [`machine_folder`] and [`date_folder`](super::date_folder) can return
    /// count.
    pub fn of(file: &Path) -> Self {
        let name = |folder: Option<&Path>| folder?.file_name()?.to_str().map(str::to_owned);
        let folder = file.parent();
        let date = name(folder).and_then(|name| start_of_date(&name));
        Self {
            machine: name(folder.and_then(Path::parent)).and_then(|name| machine_of(&name)),
            date,
            times: date.and_then(|_| span_from_name(file)),
        }
    }
}

/// The start of the date of a folder.
fn start_of_date(folder: &str) -> Option<FileTime> {
    let date = folder.strip_prefix(DATE_PREFIX)?;
    let (year, month, day) = (date.get(..4)?, date.get(5..7)?, date.get(8..10)?);
    let start = FileTime::parse_log_time(format!("{month}/{day}/{year} 00:00:00.000").as_bytes())?;
    (super::date_folder(start) == folder).then_some(start)
}

/// The machine of a folder.
fn machine_of(folder: &str) -> Option<String> {
    let escaped = folder.strip_prefix(MACHINE_PREFIX)?;
    if escaped == EMPTY_VALUE {
        return Some(String::new());
    }
    let (mut bytes, mut rest) = (Vec::new(), escaped.as_bytes());
    while let Some((&byte, after)) = rest.split_first() {
        match after.split_at_checked(2) {
            Some((digits, after)) if byte == b'%' => {
                bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
                rest = after;
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    let machine = String::from_utf8(bytes).ok()?;
    machine_folder(&machine).is_ok_and(|name| name == folder).then_some(machine)
}

/// Finds the complete files of each machine. `paths` has all files below the folder of an archive, of a machine or of a date,
/// with `/` between the names; the result has their indexes. The files are those that [`archive_inputs`](super::archive_inputs)
/// and [`complete_files`](super::complete_files) find in a local folder.
pub fn files_by_machine(paths: &[&str]) -> Vec<Vec<usize>> {
    let first_folder = |path: &str| path.split_once('/').map(|(folder, _)| folder.to_owned());
    let is_in =
        |path: &str, prefix: &str| first_folder(path).is_some_and(|folder| folder.starts_with(prefix));
    let has_machines = paths.iter().any(|path| is_in(path, MACHINE_PREFIX));
    let mut machines: BTreeMap<String, Vec<(usize, &str)>> = BTreeMap::new();
    for (index, path) in paths.iter().enumerate() {
        match path.split_once('/') {
            Some((machine, rest)) if has_machines => {
                if machine.starts_with(MACHINE_PREFIX) {
                    machines.entry(machine.to_owned()).or_default().push((index, rest));
                }
            }
            _ if has_machines => {}
            _ => machines.entry(String::new()).or_default().push((index, path)),
        }
    }
    let files = |files: Vec<(usize, &str)>| -> Vec<usize> {
        let has_dates = files.iter().any(|(_, path)| is_in(path, DATE_PREFIX));
        let is_file = |path: &str| {
            let name = match has_dates {
                true => path.split_once('/').filter(|_| is_in(path, DATE_PREFIX)).map(|(_, name)| name),
                false => Some(path),
            };
            name.is_some_and(|name| !name.contains('/') && is_archive_file(Path::new(name)))
        };
        files.into_iter().filter(|(_, path)| is_file(path)).map(|(index, _)| index).collect()
    };
    machines.into_values().map(files).filter(|files| !files.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_the_machine_the_date_and_the_times() {
        let file = "s3://logs/machine=a%20b%2Fc%3D%C3%BC%25/date=2026-11-25/000507-001507-2.parquet";
        let facts = PathFacts::of(Path::new(file));
        let time = |text: &str| FileTime::parse_log_time(text.as_bytes()).expect("a time");
        let date = time("11/25/2026 00:00:00.000");
        let times = TimeSpan {
            first: time("11/25/2026 00:05:07.000"),
            last: time("11/25/2026 00:15:08.000").saturating_sub(1),
        };
        assert_eq!(
            facts,
            PathFacts { machine: Some("a b/c=ü%".to_owned()), date: Some(date), times: Some(times) }
        );
        let facts = PathFacts::of(Path::new("machine=__HIVE_DEFAULT_PARTITION__/date=2026-11-25/x.parquet"));
        assert_eq!(facts, PathFacts { machine: Some(String::new()), date: Some(date), times: None });
    }

    /// Other names could belong to any machine, date or time.
    #[test]
    fn other_names_have_no_facts() {
        for file in [
            "x.parquet",
            "machine=a b/date=2026-13-25/000507-001507.parquet",
            "machine=%2/date=2026-11-2/000507-001507.parquet",
            "machine=%zz/date=2026/000507-001507.parquet",
            "machine=%61/date=2026-11-25x/000507-001507.parquet",
            "machine=%FF/dates/000507-001507.parquet",
            "machine=a/000507-001507.parquet",
        ] {
            assert_eq!(PathFacts::of(Path::new(file)), PathFacts::default(), "{file}");
        }
    }
}

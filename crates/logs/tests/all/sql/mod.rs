//! Logs in databases: write-then-read equality, foreign databases, damage.

mod foreign;
mod hostile;
mod laws;
mod python;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tachograph_counters::RawValue;
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::sql::{SqlLogName, SqlLogWriter, SqlStart};
use tachograph_logs::{LogError, LogWriter as _, open};

use crate::archive::generated::TempFolder;

/// The time of a sample in milliseconds, and its valid values by machine, set, instance, counter, type and clock.
type Values = (i64, BTreeMap<String, String>);

fn values_of(sample: &Sample) -> Values {
    let mut values = BTreeMap::new();
    for group in sample.groups.iter().filter(|group| group.is_present()) {
        let set = &group.set;
        for (index, raw) in group.values.iter().enumerate().filter(|(_, raw)| !raw.status.is_error()) {
            let counter = &set.counters[index % set.counters.len()];
            let instance = &group.instances[index / set.counters.len()];
            let instance = match set.has_instances {
                true => format!("({:?}/{:?}#{})", instance.parent(), instance.name(), instance.index()),
                false => String::new(),
            };
            let key = format!(
                r"\\{}\{}{instance}\{} {:#x} {} 10^{}",
                set.machine,
                set.name,
                counter.name,
                counter.counter_type.0,
                counter.time_base,
                counter.default_scale
            );
            // A counter that occurs twice has one row.
            values.entry(key).or_insert_with(|| text_of(raw));
        }
    }
    (sample.at.utc.0.div_euclid(10_000), values)
}

fn text_of(raw: &RawValue) -> String {
    format!("{}/{}x{}", raw.first, raw.second, raw.multi_count)
}

/// The values of all samples that have some.
fn expected(samples: &[Sample]) -> Vec<Values> {
    samples.iter().map(values_of).filter(|(_, values)| !values.is_empty()).collect()
}

/// The name of a log in the database `file` of a folder.
fn name_in(folder: &TempFolder, file: &str, log: &str) -> PathBuf {
    PathBuf::from(format!("SQL:{}!{log}", folder.0.join(file).display()))
}

fn parsed(name: &Path) -> SqlLogName {
    SqlLogName::parse(name).expect("an SQL name").expect("a valid name")
}

fn try_write(name: &Path, start: SqlStart, samples: &[Sample]) -> Result<(), LogError> {
    let zone = TimeZone::fixed("W. Europe Standard Time", -60);
    let mut writer = SqlLogWriter::open(&parsed(name), &zone, start)?;
    samples.iter().try_for_each(|sample| writer.write(sample))?;
    writer.finish()
}

#[track_caller]
fn write(name: &Path, samples: &[Sample]) {
    try_write(name, SqlStart::New, samples).expect("the log is written");
}

/// The samples and problems of a log.
fn try_read(name: &Path) -> Result<(Vec<Sample>, Vec<String>), LogError> {
    let mut reader = open(name)?;
    let mut samples = Vec::new();
    let mut sample = Sample::default();
    while reader.next(&mut sample)? {
        samples.push(sample.clone());
    }
    Ok((samples, reader.problems().list().iter().map(ToString::to_string).collect()))
}

/// The values of a log without problems.
#[track_caller]
fn read(name: &Path) -> Vec<Values> {
    let (samples, problems) = try_read(name).expect("the log can be read");
    assert_eq!(problems, Vec::<String>::new());
    expected(&samples)
}

#[track_caller]
fn assert_equal(found: &[Values], expected: &[Values]) {
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.0, expected.0, "time of sample {index}");
        let difference = found.1.iter().zip(&expected.1).find(|(found, expected)| found != expected);
        assert!(found.1 == expected.1, "sample {index}: {difference:#?}");
    }
    assert_eq!(found.len(), expected.len());
}

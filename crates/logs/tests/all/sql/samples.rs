//! Writing logs into databases, reading them, and the values that must be found.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, InstanceTable};
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::{CounterType, RawValue};
use tachograph_logs::sql::{SqlLogName, SqlLogWriter, SqlStart};
use tachograph_logs::{LogError, LogWriter as _, open};

/// 2024-03-05 09:00:00.123 UTC.
const START: i64 = 133_541_028_001_230_000;

/// A sample of one set with these instances, each with one value.
pub(crate) fn sample(
    second: i64,
    machine: &str,
    set: &str,
    rows: &[(Option<&str>, &str, u32, RawValue)],
) -> Sample {
    let mut description = CounterSet::new(machine, set, Extent::Columns);
    description.counters = vec![Counter::new("% \"Time\"; -- '", CounterType::AVERAGE_TIMER, i64::MAX)];
    let mut table = InstanceTable::default();
    let mut group = Group::new(Arc::new(description));
    let instances = rows.iter().map(|(parent, name, index, _)| table.intern(*parent, name, *index)).collect();
    group.set_rows(&instances);
    group.values.extend(rows.iter().map(|(.., raw)| *raw));
    let utc = FileTime(START + second * 10_000_000);
    Sample { at: Moment { utc, bias_minutes: -60 }, groups: vec![group], ..Sample::default() }
}

pub(crate) fn plain(second: i64) -> Sample {
    sample(second, "WEB1", "Disk", &[(None, "C:", 0, RawValue::new(second, 2 * second))])
}

/// Samples with names and values that are easily changed by a database.
pub(crate) fn extremes() -> Vec<Sample> {
    let extremes =
        [0, 1, -1, i64::MIN, i64::MAX, 1 << 31, 1 << 32, -(1 << 31), u64::MAX as i64, 0x1234_5678_9ABC_DEF0];
    let mut rows = Vec::new();
    let names: Vec<String> =
        (0..extremes.len()).map(|index| format!("it's \"{index}\" Füße 日本 🦀 ; DROP TABLE x")).collect();
    for (index, (name, value)) in names.iter().zip(extremes).enumerate() {
        let parent = (index % 2 == 0).then_some("elter \\ 'n'");
        let raw = RawValue { multi_count: [1, 0, u32::MAX][index % 3], ..RawValue::new(value, !value) };
        rows.push((parent, name.as_str(), index as u32 % 3, raw));
        rows.push((parent, name.as_str(), 3, RawValue::new(value.wrapping_mul(7), value)));
    }
    let trailing = RawValue::new(5, 6);
    rows.extend([
        (None, "blank ", 0, trailing),
        (None, "blank", 0, trailing),
        (None, "", 0, trailing),
        (None, "1e5", 0, trailing),
    ]);
    (0..3).map(|second| sample(second, "wéb-1", "Sét'; --", &rows)).collect()
}

/// The time of a sample in milliseconds, and its valid values by machine, set, instance, counter, type and clock.
pub(crate) type Values = (i64, BTreeMap<String, String>);

pub(crate) fn values_of(sample: &Sample) -> Values {
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

/// The values of each sample that has valid values.
pub(crate) fn expected(samples: &[Sample]) -> Vec<Values> {
    samples.iter().map(values_of).filter(|(_, values)| !values.is_empty()).collect()
}

fn parsed(name: &Path) -> SqlLogName {
    SqlLogName::parse(name).expect("an SQL name").expect("a valid name")
}

pub(crate) fn open_writer(name: &Path, start: SqlStart) -> Result<SqlLogWriter, LogError> {
    SqlLogWriter::open(&parsed(name), &TimeZone::fixed("W. Europe Standard Time", -60), start)
}

pub(crate) fn try_write(name: &Path, start: SqlStart, samples: &[Sample]) -> Result<(), LogError> {
    let mut writer = open_writer(name, start)?;
    samples.iter().try_for_each(|sample| writer.write(sample))?;
    writer.finish()
}

#[track_caller]
pub(crate) fn write(name: &Path, samples: &[Sample]) {
    try_write(name, SqlStart::New, samples).expect("the log is written");
}

/// The samples and problems of a log.
pub(crate) fn try_read(name: &Path) -> Result<(Vec<Sample>, Vec<String>), LogError> {
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
pub(crate) fn read(name: &Path) -> Vec<Values> {
    let (samples, problems) = try_read(name).expect("the log can be read");
    assert_eq!(problems, Vec::<String>::new());
    expected(&samples)
}

#[track_caller]
pub(crate) fn assert_equal(found: &[Values], expected: &[Values]) {
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.0, expected.0, "time of sample {index}");
        let difference = found.1.iter().zip(&expected.1).find(|(found, expected)| found != expected);
        assert!(found.1 == expected.1, "sample {index}: {difference:#?}");
    }
    assert_eq!(found.len(), expected.len());
}

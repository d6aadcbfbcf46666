//! Writes a log to a database.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::pairing::{Origin, Pairer};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{CounterSet, Instance, Instances};
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::{Calculator, FormatOptions, RawValue, Status};

use super::database::{Database, SqlValue, first_row};
use super::text::{format_time, parse_time};
use super::{MAX_COUNTERS, MAX_NAME_BYTES, SqlLogName};
use crate::{LogError, LogWriter};

/// Number of rows after which a transaction is committed.
const BATCH_ROWS: usize = 50_000;

/// How to proceed if the database already has a log of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlStart {
    /// Return an error.
    New,
    /// Replace it.
    Replace,
    /// Continue it.
    Append,
}

/// Writes a log to a database.
///
/// Rows are committed in batches of whole samples: after the writing process is killed, the database has all samples up to the
/// last commit. [`flush`](LogWriter::flush) commits.
pub struct SqlLogWriter {
    database: Box<dyn Database>,
    /// The id of the log in `CounterData` and `DisplayToID`.
    guid: SqlValue,
    /// The index of the last sample; the first has 1.
    record: i64,
    /// The counters of each group of the last sample.
    groups: Vec<GroupSeries>,
    by_key: HashMap<CounterKey, usize>,
    series: Vec<Series>,
    /// The largest id in `CounterDetails`.
    last_counter_id: i64,
    is_in_transaction: bool,
    /// The time of the last sample of an existing log.
    appended_to: Option<FileTime>,
    /// Rows since the last commit.
    rows: usize,
    /// Number of samples of this writer that were committed.
    committed: u64,
    samples: u64,
    stopped_at: Option<FileTime>,
    was_started: bool,
}

/// The series of a group, row after row; valid as long as description and instances are the same objects.
struct GroupSeries {
    set: Arc<CounterSet>,
    instances: Instances,
    series: Vec<usize>,
}

/// A counter of an instance.
struct Series {
    /// Its id in `CounterDetails`.
    id: i64,
    /// The sample of its last value: a sample has one value of each counter.
    record: i64,
    calculator: Calculator,
    pairer: Pairer,
}

/// The key of a row of `CounterDetails`.
#[derive(Clone, PartialEq, Eq, Hash)]
struct CounterKey {
    machine: String,
    set: String,
    counter: String,
    counter_type: u32,
    time_base: i64,
    /// Parent, name and index; `None` for a set without instances.
    instance: Option<(Option<String>, String, u32)>,
}

impl SqlLogWriter {
    /// Starts or continues a log. Until the first commit, the database is locked, and a log to be replaced is kept.
    ///
    /// # Errors
    ///
    /// When the database cannot be opened or written; [`std::io::ErrorKind::AlreadyExists`] with [`SqlStart::New`] if the database has a
    /// log of this name.
    pub fn open(name: &SqlLogName, zone: &TimeZone, start: SqlStart) -> Result<Self, LogError> {
        let mut database = name.create()?;
        database.create_tables()?;
        database.begin()?;
        let display = [SqlValue::Text(name.log().to_owned())];
        let existing =
            first_row(&mut *database, "SELECT GUID FROM DisplayToID WHERE DisplayString = ?", &display)?
                .and_then(|row| row.into_iter().next());
        let guid = match (existing, start) {
            (Some(_), SqlStart::New) => {
                return Err(LogError::io(std::io::ErrorKind::AlreadyExists.into()));
            }
            (Some(guid), SqlStart::Append) => guid,
            (existing, _) => {
                if let Some(guid) = existing {
                    let guid = [guid];
                    database.execute("DELETE FROM CounterData WHERE GUID = ?", &guid)?;
                    database.execute("DELETE FROM DisplayToID WHERE GUID = ?", &guid)?;
                }
                let guid = SqlValue::Text(uuid::Uuid::new_v4().to_string());
                let name = zone.standard_name.chars().take(32).collect();
                database.execute(
                    "INSERT INTO DisplayToID (GUID, RunID, DisplayString, NumberOfRecords, MinutesToUTC, TimeZoneName) \
                     VALUES (?, 0, ?, 0, ?, ?)",
                    &[
                        guid.clone(),
                        display[0].clone(),
                        SqlValue::Integer(zone.bias_minutes.into()),
                        SqlValue::Text(name),
                    ],
                )?;
                guid
            }
        };
        let largest = |database: &mut dyn Database, query: &str, values: &[SqlValue]| {
            let row = first_row(database, query, values)?;
            Ok::<_, LogError>(row.and_then(|row| row.first()?.integer()).unwrap_or(0))
        };
        let record = largest(
            &mut *database,
            "SELECT MAX(RecordIndex) FROM CounterData WHERE GUID = ?",
            std::slice::from_ref(&guid),
        )?;
        let last_counter_id = largest(&mut *database, "SELECT MAX(CounterID) FROM CounterDetails", &[])?;
        let appended_to = first_row(
            &mut *database,
            "SELECT CounterDateTime FROM CounterData WHERE GUID = ? AND RecordIndex = ?",
            &[guid.clone(), SqlValue::Integer(record)],
        )?;
        let appended_to = appended_to.and_then(|row| parse_time(row.first()?.text()?));
        let mut writer = Self {
            database,
            guid,
            record,
            groups: Vec::new(),
            by_key: HashMap::new(),
            series: Vec::new(),
            last_counter_id,
            is_in_transaction: true,
            appended_to,
            rows: 0,
            committed: 0,
            samples: 0,
            stopped_at: None,
            was_started: record > 0,
        };
        writer.read_details()?;
        Ok(writer)
    }

    /// Reads the counters that the database has, so that equal ones are not added again.
    fn read_details(&mut self) -> Result<(), LogError> {
        let (by_key, series) = (&mut self.by_key, &mut self.series);
        self.database.query(
            "SELECT CounterID, MachineName, ObjectName, CounterName, CounterType, TimeBaseA, TimeBaseB, InstanceName, \
             InstanceIndex, ParentName FROM CounterDetails",
            &[],
            &mut |row| {
                let [id, machine, set, counter, counter_type, low, high, name, index, parent] = row else {
                    return false;
                };
                let text = |value: &SqlValue| value.text().map(str::to_owned);
                let key = || {
                    Some(CounterKey {
                        machine: text(machine)?.trim_start_matches('\\').to_owned(),
                        set: text(set)?,
                        counter: text(counter)?,
                        counter_type: counter_type.integer()? as u32,
                        time_base: join(low, high)?,
                        instance: match text(name) {
                            Some(name) => {
                                Some((text(parent), name, index.integer().unwrap_or(0).try_into().ok()?))
                            }
                            None => None,
                        },
                    })
                };
                if let (Some(key), Some(id)) = (key(), id.integer()) {
                    let calculator = Calculator::new(key.counter_type.into(), key.time_base);
                    by_key.insert(key, series.len());
                    series.push(Series { id, record: 0, calculator, pairer: Pairer::default() });
                }
                series.len() < MAX_COUNTERS
            },
        )
    }

    /// The number of samples that were committed.
    pub fn committed_samples(&self) -> u64 {
        self.committed
    }

    /// The time of the last sample of the existing log that is continued, in milliseconds.
    pub fn appended_to(&self) -> Option<FileTime> {
        self.appended_to
    }

    /// Makes each commit wait until its data are on disk. Otherwise a power failure can lose the last commits.
    ///
    /// # Errors
    ///
    /// When the database refuses.
    pub fn sync_commits(&mut self) -> Result<(), LogError> {
        // The setting cannot change within a transaction.
        self.commit()?;
        self.database.sync_commits()
    }

    /// The size of the database in bytes; 0 if unknown.
    pub fn bytes(&self) -> u64 {
        self.database.bytes()
    }

    fn begin(&mut self) -> Result<(), LogError> {
        if !self.is_in_transaction {
            self.database.begin()?;
            self.is_in_transaction = true;
        }
        Ok(())
    }

    /// The series of all values of a group, row after row.
    fn series_of(&mut self, index: usize, group: &Group) -> Result<(), LogError> {
        if let Some(known) = self.groups.get(index)
            && Arc::ptr_eq(&known.set, &group.set)
            && Arc::ptr_eq(&known.instances, &group.instances)
        {
            return Ok(());
        }
        let mut series = Vec::with_capacity(group.values.len());
        for instance in group.instances.iter() {
            for counter in 0..group.set.counters.len() {
                series.push(self.find_or_add(&group.set, counter, instance)?);
            }
        }
        let found =
            GroupSeries { set: Arc::clone(&group.set), instances: Arc::clone(&group.instances), series };
        self.groups.truncate(index + usize::from(index < self.groups.len()));
        match self.groups.get_mut(index) {
            Some(known) => *known = found,
            None => self.groups.push(found),
        }
        Ok(())
    }

    fn find_or_add(
        &mut self,
        set: &CounterSet,
        counter: usize,
        instance: &Instance,
    ) -> Result<usize, LogError> {
        let counter = &set.counters[counter];
        let is_too_long = |text: &str| text.len() > MAX_NAME_BYTES || text.chars().count() > 1024;
        if [&*set.machine, &*set.name, &*counter.name, instance.name()].into_iter().any(is_too_long) {
            return Err(LogError::unsupported(format!(
                "{}: names in a database have at most 1024 characters",
                set.path(instance, counter)
            )));
        }
        let key = CounterKey {
            machine: set.machine.to_string(),
            set: set.name.to_string(),
            counter: counter.name.to_string(),
            counter_type: counter.counter_type.0,
            time_base: counter.time_base,
            instance: set.has_instances.then(|| {
                (instance.parent().map(str::to_owned), instance.name().to_owned(), instance.index())
            }),
        };
        if let Some(&known) = self.by_key.get(&key) {
            // The flag for 32-bit data is not in the database.
            self.series[known].calculator = counter.calculator();
            return Ok(known);
        }
        if self.series.len() >= MAX_COUNTERS {
            return Err(LogError::unsupported(format!("a database has at most {MAX_COUNTERS} counters")));
        }
        self.last_counter_id += 1;
        let [low, high] = halves(counter.time_base);
        let text = |text: Option<&str>| text.map_or(SqlValue::Null, |text| SqlValue::Text(text.to_owned()));
        let (name, index, parent) = match &key.instance {
            Some((parent, name, index)) => {
                (text(Some(name)), SqlValue::Integer((*index).into()), text(parent.as_deref()))
            }
            None => (SqlValue::Null, SqlValue::Null, SqlValue::Null),
        };
        // Windows writes machine names with backslashes.
        let machine = if set.machine.is_empty() { String::new() } else { format!(r"\\{}", set.machine) };
        self.database.execute(
            "INSERT INTO CounterDetails (CounterID, MachineName, ObjectName, CounterName, CounterType, DefaultScale, \
             InstanceName, InstanceIndex, ParentName, TimeBaseA, TimeBaseB) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            &[
                SqlValue::Integer(self.last_counter_id),
                SqlValue::Text(machine),
                SqlValue::Text(key.set.clone()),
                SqlValue::Text(key.counter.clone()),
                SqlValue::Integer(counter.counter_type.0.cast_signed().into()),
                SqlValue::Integer(counter.default_scale.into()),
                name,
                index,
                parent,
                low,
                high,
            ],
        )?;
        let series = Series {
            id: self.last_counter_id,
            record: 0,
            calculator: counter.calculator(),
            pairer: Pairer::default(),
        };
        self.by_key.insert(key, self.series.len());
        self.series.push(series);
        Ok(self.series.len() - 1)
    }

    fn write_group(&mut self, sample: &Sample, index: usize, time: &SqlValue) -> Result<(), LogError> {
        let group = &sample.groups[index];
        let boot_time = sample.boot_time_of(group);
        let columns = group.set.counters.len().max(1);
        for (position, raw) in group.values.iter().enumerate() {
            let Some(series) =
                self.groups[index].series.get(position).and_then(|series| self.series.get_mut(*series))
            else {
                continue;
            };
            if series.record == self.record {
                continue;
            }
            let identity = group.identities.get(position / columns).copied().unwrap_or_default();
            series.pairer.follow(Origin::new(&series.calculator, identity, boot_time));
            let previous = series.pairer.pair(raw);
            if raw.status.is_error() {
                continue;
            }
            series.record = self.record;
            // As PDH, 0 if there is no earlier value to compare with.
            let value = series.calculator.format(previous.as_ref(), raw, &FormatOptions::default());
            let row = self.row(self.series[self.groups[index].series[position]].id, time, value, raw);
            self.database.execute(INSERT_VALUE, &row)?;
            self.rows += 1;
        }
        Ok(())
    }

    fn row(
        &self,
        counter: i64,
        time: &SqlValue,
        value: Result<f64, Status>,
        raw: &RawValue,
    ) -> [SqlValue; 10] {
        let ([first_low, first_high], [second_low, second_high]) = (halves(raw.first), halves(raw.second));
        [
            self.guid.clone(),
            SqlValue::Integer(counter),
            SqlValue::Integer(self.record),
            time.clone(),
            SqlValue::Real(value.unwrap_or(0.0)),
            first_low,
            first_high,
            second_low,
            second_high,
            SqlValue::Integer(raw.multi_count.cast_signed().into()),
        ]
    }

    /// Updates the description of the log, and commits.
    fn commit(&mut self) -> Result<(), LogError> {
        if !self.is_in_transaction {
            return Ok(());
        }
        if let Some(stopped_at) = self.stopped_at.take() {
            self.database.execute(
                "UPDATE DisplayToID SET LogStopTime = ?, NumberOfRecords = ? WHERE GUID = ?",
                &[SqlValue::Text(format_time(stopped_at)), SqlValue::Integer(self.record), self.guid.clone()],
            )?;
        }
        self.database.commit()?;
        self.is_in_transaction = false;
        self.committed = self.samples;
        self.rows = 0;
        Ok(())
    }
}

const INSERT_VALUE: &str = "INSERT INTO CounterData (GUID, CounterID, RecordIndex, CounterDateTime, CounterValue, FirstValueA, \
                            FirstValueB, SecondValueA, SecondValueB, MultiCount) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// The low and the high 32 bits of a number, each as a signed integer.
fn halves(number: i64) -> [SqlValue; 2] {
    [number as i32, (number >> 32) as i32].map(|half| SqlValue::Integer(half.into()))
}

/// The number with these low and high 32 bits. `None` if one of them is missing or does not fit into 32 bits, signed or
/// unsigned.
pub(super) fn join(low: &SqlValue, high: &SqlValue) -> Option<i64> {
    let half = |value: &SqlValue| {
        let value = value.integer()?;
        (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(&value).then_some(value as u32)
    };
    Some((i64::from(half(high)?) << 32) | i64::from(half(low)?))
}

impl LogWriter for SqlLogWriter {
    fn write(&mut self, sample: &Sample) -> Result<(), LogError> {
        if let Some(last) = self.appended_to
            && sample.at.utc.cut_to_milliseconds() <= last
        {
            return Err(LogError::unsupported(format!(
                "cannot append: the log ends at {} UTC; the sample at {} UTC is not later",
                format_time(last),
                format_time(sample.at.utc)
            )));
        }
        self.begin()?;
        self.record += 1;
        if self.record > i64::from(i32::MAX) {
            return Err(LogError::unsupported("a log in a database has at most 2^31 - 1 samples"));
        }
        let time = format_time(sample.at.utc);
        if !self.was_started {
            self.was_started = true;
            self.database.execute(
                "UPDATE DisplayToID SET LogStartTime = ?, MinutesToUTC = ? WHERE GUID = ?",
                &[
                    SqlValue::Text(time.clone()),
                    // The offset in force, also in summer.
                    SqlValue::Integer(sample.at.bias_minutes.into()),
                    self.guid.clone(),
                ],
            )?;
        }
        let time = SqlValue::Text(time);
        for (index, group) in sample.groups.iter().enumerate() {
            self.series_of(index, group)?;
            if group.is_present() {
                self.write_group(sample, index, &time)?;
            }
        }
        self.stopped_at = Some(sample.at.utc);
        self.samples += 1;
        if self.rows >= BATCH_ROWS { self.commit() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), LogError> {
        self.commit()
    }

    fn finish(&mut self) -> Result<(), LogError> {
        self.commit()
    }
}

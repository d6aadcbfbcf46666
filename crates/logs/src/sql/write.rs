//! Writes a log to a database.

mod counters;

use std::sync::Arc;

use tachograph_counters::FormatOptions;
use tachograph_counters::civil::FileTime;
use tachograph_counters::pairing::Origin;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{CounterSet, Instances};
use tachograph_counters::time_zone::TimeZone;

use super::SqlLogName;
use super::database::{Database, SqlValue, create_tables, first_integer, first_row, run};
use super::dialect::{INSERT_ROWS, VALUE_COLUMNS};
use super::halves::halves;
use super::text::{format_time, parse_time};
use crate::output_file::FileLocation;
use crate::{LogError, LogWriter};
use counters::Counters;

/// Number of rows after which a transaction is committed.
const BATCH_ROWS: usize = 50_000;

/// Number of values that are inserted at once.
const PENDING_VALUES: usize = INSERT_ROWS[0] * VALUE_COLUMNS;

/// Maximum number of samples of a log, because the column `RecordIndex` has 32 bits.
const MAX_RECORDS: i64 = i32::MAX as i64;

/// How to proceed if the database already has a log of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlStart {
    /// Return an error.
    New,
    /// Replace it with the first commit.
    Replace,
    /// Write the new log under another name, and replace the old one when the new one is [finished](LogWriter::finish). If
    /// that does not happen, the new log is removed.
    ReplaceAtEnd,
    /// Continue it.
    Append,
}

/// Writes a log to a database.
///
/// Rows are committed in batches of whole samples: after the writing process is killed, the database has all samples up to the
/// last commit. [`flush`](LogWriter::flush) commits. After an error nothing is committed any more.
///
/// A log in an SQLite file is locked while it is written.
pub struct SqlLogWriter {
    database: Box<dyn Database>,
    /// The id of the log in `CounterData` and `DisplayToID`.
    guid: SqlValue,
    /// The index of the last sample; the first has 1.
    record: i64,
    /// The counters of each group of the last sample.
    groups: Vec<GroupSeries>,
    counters: Counters,
    /// The values of rows that are not inserted yet.
    pending: Vec<SqlValue>,
    is_in_transaction: bool,
    /// Whether a sample was written in part, or a commit failed.
    is_failed: bool,
    /// The time of the last sample of an existing log.
    appended_to: Option<FileTime>,
    /// Rows since the last commit.
    rows: usize,
    /// Number of samples of this writer that were committed.
    committed: u64,
    /// Number of samples of this writer.
    samples: u64,
    /// The time of the last sample, if it was written after the last commit.
    uncommitted_stop_time: Option<FileTime>,
    /// Whether the database has the start time of the log.
    has_start_time: bool,
    /// The log that this one replaces at the end.
    replaced: Option<ReplacedLog>,
}

/// A log that is replaced when the new one is complete.
struct ReplacedLog {
    guid: SqlValue,
    name: SqlValue,
}

/// The series of a group, row after row; valid as long as description and instances are the same objects.
struct GroupSeries {
    set: Arc<CounterSet>,
    instances: Instances,
    series: Vec<usize>,
}

impl SqlLogWriter {
    /// Starts or continues a log. Until the first commit, a log to be replaced is kept, and an SQLite file is locked.
    ///
    /// # Errors
    ///
    /// When the database cannot be opened or written; [`std::io::ErrorKind::AlreadyExists`] with [`SqlStart::New`] if the database has a
    /// log of this name; [`std::io::ErrorKind::ResourceBusy`] if another writer has locked the log.
    pub fn open(name: &SqlLogName, zone: &TimeZone, start: SqlStart) -> Result<Self, LogError> {
        let mut connection = name.create()?;
        let database = &mut *connection;
        create_tables(database)?;
        database.prepare_writing()?;
        run(database, |dialect| dialect.begin_writing)?;
        let existing = first_row(
            database,
            "SELECT GUID FROM DisplayToID WHERE DisplayString = ?",
            &[SqlValue::from(name.log())],
        )?
        .and_then(|row| row.into_iter().next());
        let mut replaced = None;
        let guid = match (existing, start) {
            (Some(_), SqlStart::New) => {
                return Err(LogError::io(std::io::ErrorKind::AlreadyExists.into()));
            }
            (Some(guid), SqlStart::Append) => guid,
            (Some(old), SqlStart::ReplaceAtEnd)
                if let Some(incomplete) = name_of_incomplete(database, name.log())? =>
            {
                replaced = Some(ReplacedLog { guid: old, name: SqlValue::from(name.log()) });
                describe_log(database, &incomplete, INCOMPLETE, zone)?
            }
            (existing, _) => {
                if let Some(guid) = existing {
                    delete_log(database, guid)?;
                }
                describe_log(database, name.log(), 0, zone)?
            }
        };
        let of_log = std::slice::from_ref(&guid);
        let record =
            first_integer(database, "SELECT MAX(RecordIndex) FROM CounterData WHERE GUID = ?", of_log)?
                .unwrap_or(0);
        if !(0..=MAX_RECORDS).contains(&record) {
            return Err(LogError::not_a_log(format!("CounterData: impossible RecordIndex {record}")));
        }
        let appended_to = first_row(
            database,
            "SELECT CounterDateTime FROM CounterData WHERE GUID = ? AND RecordIndex = ?",
            &[guid.clone(), SqlValue::Integer(record)],
        )?;
        let appended_to = appended_to.and_then(|row| parse_time(row.first()?.text()?));
        let counters = Counters::read(database)?;
        Ok(Self {
            database: connection,
            guid,
            record,
            groups: Vec::new(),
            counters,
            pending: Vec::with_capacity(PENDING_VALUES),
            is_in_transaction: true,
            is_failed: false,
            appended_to,
            rows: 0,
            committed: 0,
            samples: 0,
            uncommitted_stop_time: None,
            has_start_time: record > 0,
            replaced,
        })
    }

    /// The number of samples that were committed.
    pub fn committed_samples(&self) -> u64 {
        self.committed
    }

    /// The time of the last sample of the existing log that is continued, truncated to milliseconds.
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
        run(&mut *self.database, |dialect| dialect.sync_commits)
    }

    /// Whether the database still has the old log that this one will replace.
    pub fn keeps_replaced(&self) -> bool {
        self.replaced.is_some()
    }

    /// Where the SQLite file is now. If it was renamed or deleted, drop the writer to complete it.
    pub fn location(&self) -> FileLocation {
        self.database.location()
    }

    /// The size of the database in bytes; 0 if unknown.
    pub fn bytes(&self) -> u64 {
        self.database.bytes()
    }

    fn begin(&mut self) -> Result<(), LogError> {
        if !self.is_in_transaction {
            run(&mut *self.database, |dialect| dialect.begin_writing)?;
            self.is_in_transaction = true;
        }
        Ok(())
    }

    /// Updates the series of a group if its description or its instances changed. New counters are added to the database.
    fn update_series(&mut self, index: usize, group: &Group) -> Result<(), LogError> {
        if let Some(known) = self.groups.get(index)
            && Arc::ptr_eq(&known.set, &group.set)
            && Arc::ptr_eq(&known.instances, &group.instances)
        {
            return Ok(());
        }
        let mut series = Vec::with_capacity(group.values.len());
        for instance in group.instances.iter() {
            for counter in 0..group.set.counters.len() {
                series.push(self.counters.find_or_add(&mut *self.database, &group.set, counter, instance)?);
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

    fn write_group(&mut self, sample: &Sample, index: usize, time: &SqlValue) -> Result<(), LogError> {
        let group = &sample.groups[index];
        let boot_time = sample.boot_time_of(group);
        let columns = group.set.counters.len().max(1);
        for (position, raw) in group.values.iter().enumerate() {
            let known = self.groups[index].series.get(position);
            let Some(series) = known.and_then(|series| self.counters.series.get_mut(*series)) else {
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
            // Like PDH, stores 0 if there is no earlier value to compare with.
            let value = series.calculator.format(previous.as_ref(), raw, &FormatOptions::default());
            let value = value.ok().filter(|value| value.is_finite()).unwrap_or(0.0);
            let ([first_low, first_high], [second_low, second_high]) =
                (halves(raw.first), halves(raw.second));
            self.pending.extend([
                self.guid.clone(),
                SqlValue::Integer(series.id),
                SqlValue::Integer(self.record),
                time.clone(),
                SqlValue::Real(value),
                first_low,
                first_high,
                second_low,
                second_high,
                SqlValue::Integer(raw.multi_count.cast_signed().into()),
            ]);
            self.rows += 1;
            if self.pending.len() >= PENDING_VALUES {
                self.insert_pending()?;
            }
        }
        Ok(())
    }

    fn insert_pending(&mut self) -> Result<(), LogError> {
        self.database.insert_values(&self.pending)?;
        self.pending.clear();
        Ok(())
    }

    fn write_sample(&mut self, sample: &Sample) -> Result<(), LogError> {
        self.begin()?;
        self.record += 1;
        if self.record > MAX_RECORDS {
            return Err(LogError::unsupported("a log in a database has at most 2^31 - 1 samples"));
        }
        let time = SqlValue::from(format_time(sample.at.utc).as_str());
        if !self.has_start_time {
            self.has_start_time = true;
            self.database.execute(
                "UPDATE DisplayToID SET LogStartTime = ?, MinutesToUTC = ? WHERE GUID = ?",
                &[
                    time.clone(),
                    // The UTC offset in force at the first sample, including daylight saving time.
                    SqlValue::Integer(sample.at.bias_minutes.into()),
                    self.guid.clone(),
                ],
            )?;
        }
        for (index, group) in sample.groups.iter().enumerate() {
            self.update_series(index, group)?;
            if group.is_present() {
                self.write_group(sample, index, &time)?;
            }
        }
        self.uncommitted_stop_time = Some(sample.at.utc);
        self.samples += 1;
        Ok(())
    }

    fn remove_incomplete(&mut self) -> Result<(), LogError> {
        if self.is_in_transaction {
            self.database.roll_back()?;
        }
        run(&mut *self.database, |dialect| dialect.begin_writing)?;
        delete_log(&mut *self.database, self.guid.clone())?;
        self.database.commit()
    }

    /// Updates the description of the log, and commits.
    fn commit(&mut self) -> Result<(), LogError> {
        if !self.is_in_transaction {
            return Ok(());
        }
        if self.is_failed {
            return Err(LogError::io(std::io::Error::other(
                "a sample was written in part, and is not committed",
            )));
        }
        // After an error below, the transaction cannot be committed.
        self.is_failed = true;
        self.insert_pending()?;
        let of_log = std::slice::from_ref(&self.guid);
        let logs = "SELECT COUNT(*) FROM DisplayToID WHERE GUID = ?";
        if first_integer(&mut *self.database, logs, of_log)?.unwrap_or(0) == 0 {
            // The new rows would belong to no log.
            let why = "another program has deleted or replaced the log in the database";
            return Err(LogError::io(std::io::Error::other(why)));
        }
        if let Some(uncommitted_stop_time) = self.uncommitted_stop_time.take() {
            self.database.execute(
                "UPDATE DisplayToID SET LogStopTime = ?, NumberOfRecords = ? WHERE GUID = ?",
                &[
                    SqlValue::from(format_time(uncommitted_stop_time).as_str()),
                    SqlValue::Integer(self.record),
                    self.guid.clone(),
                ],
            )?;
        }
        self.database.commit()?;
        self.counters.end_transaction();
        self.is_failed = false;
        self.is_in_transaction = false;
        self.committed = self.samples;
        self.rows = 0;
        Ok(())
    }
}

/// The `RunID` of an incomplete log that will replace another one.
const INCOMPLETE: i64 = -1;

/// Maximum length of a name to which [`INCOMPLETE_SUFFIX`] can be added, in characters.
const MAX_REPLACED_NAME: usize = 1000;

const INCOMPLETE_SUFFIX: &str = " (incomplete)";

/// The name of the incomplete log that will replace this one. Removes such a log of a writer that was killed. `None` if the name
/// cannot be used.
fn name_of_incomplete(database: &mut dyn Database, log: &str) -> Result<Option<String>, LogError> {
    if log.chars().count() > MAX_REPLACED_NAME {
        return Ok(None);
    }
    let name = format!("{log}{INCOMPLETE_SUFFIX}");
    let found = first_row(
        database,
        "SELECT GUID, RunID FROM DisplayToID WHERE DisplayString = ?",
        &[SqlValue::from(name.as_str())],
    )?;
    match found.as_deref() {
        Some([guid, run]) if run.integer() == Some(INCOMPLETE) => delete_log(database, guid.clone())?,
        // Somebody has chosen this name.
        Some(_) => return Ok(None),
        None => {}
    }
    Ok(Some(name))
}

/// Deletes a log, except for its counters, which other logs can share.
fn delete_log(database: &mut dyn Database, guid: SqlValue) -> Result<(), LogError> {
    let guid = [guid];
    database.execute("DELETE FROM CounterData WHERE GUID = ?", &guid)?;
    database.execute("DELETE FROM DisplayToID WHERE GUID = ?", &guid)
}

/// Adds the description of a new log, and returns its GUID.
fn describe_log(
    database: &mut dyn Database,
    name: &str,
    run_id: i64,
    zone: &TimeZone,
) -> Result<SqlValue, LogError> {
    let guid = SqlValue::from(uuid::Uuid::new_v4().to_string().as_str());
    let zone_name: String = zone.standard_name.chars().take(32).collect();
    database.execute(
        "INSERT INTO DisplayToID (GUID, RunID, DisplayString, NumberOfRecords, MinutesToUTC, TimeZoneName) VALUES (?, ?, ?, 0, ?, ?)",
        &[
            guid.clone(),
            SqlValue::Integer(run_id),
            SqlValue::from(name),
            SqlValue::Integer(zone.bias_minutes.into()),
            SqlValue::from(zone_name.as_str()),
        ],
    )?;
    Ok(guid)
}

impl LogWriter for SqlLogWriter {
    fn write(&mut self, sample: &Sample) -> Result<(), LogError> {
        if let Some(last) = self.appended_to
            && sample.at.utc.cut_to_milliseconds() <= last
        {
            return Err(LogError::not_later(format!(
                "cannot append: the log ends at {} UTC; the sample at {} UTC is not later",
                format_time(last),
                format_time(sample.at.utc)
            )));
        }
        let written = self.write_sample(sample);
        self.is_failed |= written.is_err();
        written?;
        if self.rows >= BATCH_ROWS { self.commit() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), LogError> {
        self.commit()
    }

    fn finish(&mut self) -> Result<(), LogError> {
        self.commit()?;
        let Some(ReplacedLog { guid, name }) = &self.replaced else { return Ok(()) };
        let (old, values) = (guid.clone(), [name.clone(), self.guid.clone()]);
        self.begin()?;
        delete_log(&mut *self.database, old)?;
        self.database
            .execute("UPDATE DisplayToID SET RunID = 0, DisplayString = ? WHERE GUID = ?", &values)?;
        self.commit()?;
        self.replaced = None;
        Ok(())
    }
}

impl Drop for SqlLogWriter {
    fn drop(&mut self) {
        // The incomplete log does not replace the old one. If removing it fails, the next writer does.
        if self.replaced.is_some() {
            let _ = self.remove_incomplete();
        }
    }
}

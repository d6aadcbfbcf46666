//! Reads a log from a database.

mod layout;

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::time_zone::{TimeZone, is_possible_bias};
use tachograph_counters::{Problem, RawValue};

use super::SqlLogName;
use super::database::{Database, SqlValue, check_tables, first_row, run};
use super::halves::join;
use super::text::parse_time;
use crate::text::UNKNOWN_ZONE;
use crate::{Format, LogError, LogFacts, LogReader, Problems};
use layout::Layout;

/// Number of rows that the reading thread sends at once.
const BATCH_ROWS: usize = 4096;

/// Approximate number of rows of a result that a driver holds in memory.
const PART_ROWS: i64 = 20_000;

/// Maximum number of batches that wait for the reader.
const WAITING_BATCHES: usize = 4;

/// Reads a log from a database.
///
/// Each object of a machine is a [`Group`], whose counters are those of the log with a value in any sample. A value without
/// a row has the status `NO_INSTANCE` if its instance has no other values in the sample, and otherwise `INVALID_DATA`. Rows
/// whose raw value is missing or damaged are reported as problems, with the record index as offset.
///
/// A thread runs the query, so that rows are streamed; memory is bounded by the number of counters and a few thousand rows.
pub struct SqlLogReader {
    facts: LogFacts,
    layout: Layout,
    rows: Option<Receiver<Result<Vec<DataRow>, LogError>>>,
    thread: Option<JoinHandle<()>>,
    batch: std::vec::IntoIter<DataRow>,
    /// The first row of the next sample.
    next: Option<DataRow>,
    problems: Problems,
    /// The number of samples according to the description of the log, for the progress.
    expected_samples: u64,
    samples: u64,
    /// The record index of the current sample.
    record: i64,
}

/// A row of `CounterData`.
struct DataRow {
    record: i64,
    counter: Option<i64>,
    /// The time of the sample; `None` if it is invalid, and in all rows of a sample except the first.
    time: Option<FileTime>,
    raw: Option<RawValue>,
}

impl SqlLogReader {
    /// Opens a log.
    ///
    /// # Errors
    ///
    /// When the database cannot be opened or read; [`LogError::is_corrupt`] if it has no PDH tables or no log of this name (the message
    /// names those that it has), or if the description of the log or of a counter is invalid.
    pub fn open(name: &SqlLogName) -> Result<Self, LogError> {
        let mut database = open_checked(name)?;
        let log = find_log(&mut *database, name)?;
        let layout = Layout::read(&mut *database, &log.guid)?;
        let facts = LogFacts {
            format: Format::Sql,
            zone: log.zone,
            boot_time: None,
            performance_frequency: None,
            windows_build: None,
            file_bytes: database.bytes(),
        };
        let (sender, receiver) = sync_channel(WAITING_BATCHES);
        let guid = log.guid;
        let thread = std::thread::Builder::new()
            .name("sql-log".to_owned())
            .spawn(move || send_rows(&mut *database, &guid, &sender))
            .map_err(LogError::io)?;
        Ok(Self {
            facts,
            layout,
            rows: Some(receiver),
            thread: Some(thread),
            batch: Vec::new().into_iter(),
            next: None,
            problems: Problems::default(),
            expected_samples: log.records,
            samples: 0,
            record: 0,
        })
    }

    /// The next row; `None` at the end.
    fn next_row(&mut self) -> Result<Option<DataRow>, LogError> {
        loop {
            if let Some(row) = self.batch.next() {
                return Ok(Some(row));
            }
            match self.rows.as_ref().and_then(|rows| rows.recv().ok()) {
                Some(Ok(batch)) => self.batch = batch.into_iter(),
                // The rest of a damaged database is unreadable.
                Some(Err(error)) if error.is_corrupt() => {
                    let at = self.record.unsigned_abs();
                    self.problems.push(Problem::new(at, format!("the log ends here: {error}")));
                    return Ok(None);
                }
                Some(Err(error)) => return Err(error),
                None => return Ok(None),
            }
        }
    }

    fn problem(&mut self, record: i64, what: &'static str) {
        self.problems.push_with(record.unsigned_abs(), || Problem::new(record.unsigned_abs(), what));
    }

    /// Reads the next sample whose rows have a time; false at the end.
    fn next_sample(&mut self, sample: &mut Sample) -> Result<bool, LogError> {
        loop {
            let first = match self.next.take() {
                Some(row) => Some(row),
                None => self.next_row()?,
            };
            let Some(first) = first else { return Ok(false) };
            let record = first.record;
            self.record = record;
            let time = first.time;
            self.layout.begin();
            let mut row = Some(first);
            while let Some(DataRow { record: of, counter, raw, time }) = row.take() {
                if of != record {
                    self.next = Some(DataRow { record: of, counter, raw, time });
                    break;
                }
                match raw.zip(counter) {
                    Some((raw, counter)) => {
                        if !self.layout.set(counter, raw) {
                            self.problem(record, "value of a counter that CounterDetails lacks; skipped");
                        }
                    }
                    None => self.problem(record, "row without a valid raw value or CounterID; skipped"),
                }
                row = self.next_row()?;
            }
            match time {
                Some(time) => {
                    sample.at = self.facts.zone.utc_to_moment(time);
                    self.layout.end(&mut sample.groups);
                    return Ok(true);
                }
                None => self.problem(record, "sample with an invalid CounterDateTime; skipped"),
            }
        }
    }
}

impl LogReader for SqlLogReader {
    fn facts(&self) -> &LogFacts {
        &self.facts
    }

    fn next(&mut self, sample: &mut Sample) -> Result<bool, LogError> {
        if !self.next_sample(sample)? {
            return Ok(false);
        }
        self.samples += 1;
        sample.is_baseline = false;
        sample.log = 0;
        sample.boot_time = FileTime(0);
        Ok(true)
    }

    fn problems(&self) -> &Problems {
        &self.problems
    }

    fn bytes_read(&self) -> u64 {
        let share = u128::from(self.facts.file_bytes) * u128::from(self.samples);
        let read = share / u128::from(self.expected_samples.max(self.samples).max(1));
        u64::try_from(read).unwrap_or(u64::MAX)
    }
}

impl Drop for SqlLogReader {
    fn drop(&mut self) {
        // Without a receiver, the thread ends.
        self.rows = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported already.
            let _ = thread.join();
        }
    }
}

/// Connects to the database of a log to read it, and checks its tables.
fn open_checked(name: &SqlLogName) -> Result<Box<dyn Database>, LogError> {
    let mut database = name.open()?;
    run(&mut *database, |dialect| dialect.begin_reading)?;
    check_tables(&mut *database)?;
    Ok(database)
}

/// The description of a log.
struct LogRow {
    guid: SqlValue,
    zone: TimeZone,
    records: u64,
}

fn find_log(database: &mut dyn Database, name: &SqlLogName) -> Result<LogRow, LogError> {
    let row = first_row(
        database,
        "SELECT GUID, NumberOfRecords, MinutesToUTC, TimeZoneName FROM DisplayToID WHERE DisplayString = ?",
        &[SqlValue::from(name.log())],
    )?;
    let Some([guid, records, minutes, zone_name]) = row.as_deref() else {
        return Err(LogError::not_a_log(format!(
            "no log '{}' in the database; {}",
            name.log(),
            names_of(database)?
        )));
    };
    if matches!(guid, SqlValue::Null | SqlValue::Blob) {
        return Err(LogError::not_a_log("DisplayToID: the log has no GUID"));
    }
    let bias = minutes
        .integer()
        .and_then(|minutes| i32::try_from(minutes).ok())
        .filter(|bias| is_possible_bias(*bias));
    let zone = match (bias, zone_name.text()) {
        (Some(bias), Some(name)) if name.len() <= 256 => TimeZone::fixed(name.trim_end(), bias),
        (Some(bias), _) => TimeZone::fixed("", bias),
        _ => TimeZone::fixed(UNKNOWN_ZONE, 0),
    };
    let records = records.integer().and_then(|records| u64::try_from(records).ok()).unwrap_or(0);
    Ok(LogRow { guid: guid.clone(), zone, records })
}

/// Maximum number of logs that a message names.
const MAX_NAMED: usize = 10;

/// A message that lists the logs in the database that `name` refers to.
pub(super) fn names_in(name: &SqlLogName) -> Result<String, LogError> {
    names_of(&mut *open_checked(name)?)
}

fn names_of(database: &mut dyn Database) -> Result<String, LogError> {
    let mut names = Vec::new();
    database.query("SELECT DisplayString FROM DisplayToID ORDER BY DisplayString", &[], &mut |row| {
        names.extend(
            row.first().and_then(SqlValue::text).map(|name| name.chars().take(100).collect::<String>()),
        );
        names.len() <= MAX_NAMED
    })?;
    Ok(match names.len() {
        0 => "it has no logs".to_owned(),
        count if count > MAX_NAMED => format!("it has: {} ...", names[..MAX_NAMED].join(", ")),
        _ => format!("it has: {}", names.join(", ")),
    })
}

/// Sends the rows of a log, in order, until the end, an error, or until the receiver is dropped.
fn send_rows(
    database: &mut dyn Database,
    guid: &SqlValue,
    sender: &SyncSender<Result<Vec<DataRow>, LogError>>,
) {
    let mut rows = RowSender { sender, batch: Vec::with_capacity(BATCH_ROWS), previous: i64::MIN, count: 0 };
    let result = match database.dialect().holds_results {
        true => rows.send_parts(database, guid),
        false => rows.send_range(database, guid, None).map(drop),
    };
    let RowSender { batch, .. } = rows;
    // Sending fails only if the receiver was dropped, which makes the rest useless.
    let _ = match result {
        Ok(()) => sender.send(Ok(batch)),
        Err(error) => sender.send(Ok(batch)).and_then(|()| sender.send(Err(error))),
    };
}

/// Sends rows in batches.
struct RowSender<'a> {
    sender: &'a SyncSender<Result<Vec<DataRow>, LogError>>,
    batch: Vec<DataRow>,
    /// The record index of the last row.
    previous: i64,
    /// The number of rows.
    count: i64,
}

impl RowSender<'_> {
    /// Sends the rows of a log, or those with record indexes in a range, both ends included. Returns false if the receiver was
    /// dropped.
    fn send_range(
        &mut self,
        database: &mut dyn Database,
        guid: &SqlValue,
        range: Option<(i64, i64)>,
    ) -> Result<bool, LogError> {
        let mut values = vec![guid.clone()];
        values.extend(
            range.into_iter().flat_map(|(from, to)| [SqlValue::Integer(from), SqlValue::Integer(to)]),
        );
        let of_range = if range.is_some() { "AND RecordIndex BETWEEN ? AND ? " } else { "" };
        let query = format!(
            "SELECT RecordIndex, CounterID, CounterDateTime, FirstValueA, FirstValueB, SecondValueA, SecondValueB, MultiCount \
             FROM CounterData WHERE GUID = ? {of_range}ORDER BY RecordIndex, CounterID"
        );
        let mut is_received = true;
        let mut failure = None;
        database.query(&query, &values, &mut |row| {
            match data_row(row, self.previous) {
                Ok(row) => {
                    self.previous = row.record;
                    self.count += 1;
                    self.batch.push(row);
                }
                Err(error) => failure = Some(error),
            }
            if self.batch.len() == BATCH_ROWS {
                let full = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH_ROWS));
                is_received = self.sender.send(Ok(full)).is_ok();
            }
            is_received && failure.is_none()
        })?;
        failure.map_or(Ok(is_received), Err)
    }

    /// Sends the rows of a log, with a query for each range of samples that has about [`PART_ROWS`] rows.
    fn send_parts(&mut self, database: &mut dyn Database, guid: &SqlValue) -> Result<(), LogError> {
        let mut samples = 1;
        let mut last = None;
        loop {
            let next = match last {
                None => first_row(
                    database,
                    "SELECT MIN(RecordIndex) FROM CounterData WHERE GUID = ?",
                    std::slice::from_ref(guid),
                ),
                Some(last) => first_row(
                    database,
                    "SELECT MIN(RecordIndex) FROM CounterData WHERE GUID = ? AND RecordIndex > ?",
                    &[guid.clone(), SqlValue::Integer(last)],
                ),
            };
            let from = match next?.and_then(|row| row.into_iter().next()) {
                None | Some(SqlValue::Null) => return Ok(()),
                Some(SqlValue::Integer(from)) => from,
                Some(_) => return Err(LogError::not_a_log(RECORD_NOT_INTEGER)),
            };
            if last.is_some_and(|last| from <= last) {
                return Ok(());
            }
            let to = from.saturating_add(samples - 1);
            self.count = 0;
            if !self.send_range(database, guid, Some((from, to)))? {
                return Ok(());
            }
            // This range can have few rows because some are missing, so the next range is at most four times as long.
            samples =
                (samples.saturating_mul(PART_ROWS) / self.count.max(1)).clamp(1, samples.saturating_mul(4));
            last = Some(to);
        }
    }
}

const RECORD_NOT_INTEGER: &str = "CounterData: a RecordIndex is not an integer";

/// Parses a row, which follows one with the index `previous`. The time is parsed in the first row of a sample only.
fn data_row(row: &[SqlValue], previous: i64) -> Result<DataRow, LogError> {
    let [record, counter, time, first_low, first_high, second_low, second_high, multi_count] = row else {
        return Err(LogError::not_a_log("CounterData: wrong number of columns"));
    };
    // If the column contained texts, the database would sort them in another order than numbers.
    let SqlValue::Integer(record) = *record else {
        return Err(LogError::not_a_log(RECORD_NOT_INTEGER));
    };
    if record < previous {
        return Err(LogError::not_a_log(format!("CounterData: RecordIndex {record} follows {previous}")));
    }
    let raw = || {
        let first = join(first_low, first_high)?;
        // Counters whose values need only one sample can lack the second number.
        let second = join(second_low, second_high).unwrap_or(0);
        let multi_count = multi_count.integer().and_then(|count| i32::try_from(count).ok()).unwrap_or(1);
        Some(RawValue { multi_count: multi_count.cast_unsigned(), ..RawValue::new(first, second) })
    };
    let time = if record == previous { None } else { time.text().and_then(parse_time) };
    Ok(DataRow { record, counter: counter.integer(), time, raw: raw() })
}

impl Layout {
    /// Fills the groups of a sample.
    fn end(&mut self, groups: &mut Vec<Group>) {
        groups.truncate(self.sets());
        for index in 0..self.sets() {
            let set = self.description(index);
            if groups.len() == index {
                groups.push(Group::new(std::sync::Arc::clone(set)));
            }
            groups[index].describe(set);
            self.fill(index, &mut groups[index]);
        }
    }
}

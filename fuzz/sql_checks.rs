//! Checks that the database reader must pass for any bytes. They also run on the checked-in seeds as a plain test
//! (crates/logs/tests/all/seeds.rs).

#![allow(dead_code, unreachable_pub, reason = "the target uses one function of this module")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::sql::{SqlLogName, SqlLogWriter, SqlStart};
use tachograph_logs::{LogError, LogWriter as _, open};

/// The input is used twice: as a file that may be an SQLite database, and as cells of the rows of PDH's tables.
pub fn sql(data: &[u8]) {
    let file = DatabaseFile::new();
    std::fs::write(&file.0, data).expect("a temporary file");
    file.check();
    drop(file);
    let file = DatabaseFile::new();
    fill(&file.0, &mut Cells(data)).expect("an empty database can be filled");
    file.check();
}

/// A temporary file, which is removed with those that SQLite writes beside it.
struct DatabaseFile(PathBuf);

impl DatabaseFile {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("tacho-sql-{}-{}.db", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
        Self(folder.join(name))
    }

    /// Reads the log `log`, appends to it, and reads it again.
    fn check(&self) {
        let name = PathBuf::from(format!("SQL:{}!log", self.0.display()));
        read(&name);
        if append(&name).is_ok() {
            read(&name);
        }
    }
}

impl Drop for DatabaseFile {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let _ = std::fs::remove_file(format!("{}{suffix}", self.0.display()));
        }
    }
}

/// Asserts that every sample has all values of its rows and columns, and that reading ends.
fn read(name: &Path) {
    let Ok(mut reader) = open(name) else { return };
    let mut sample = Sample::default();
    while reader.next(&mut sample).is_ok_and(|is_sample| is_sample) {
        for group in &sample.groups {
            assert_eq!(group.values.len(), group.instances.len() * group.set.counters.len());
        }
    }
    for problem in reader.problems().list() {
        assert!(!problem.to_string().is_empty());
    }
}

/// Appends the log's last sample again, at a later time.
fn append(name: &Path) -> Result<(), LogError> {
    let mut reader = open(name)?;
    let mut sample = Sample::default();
    while reader.next(&mut sample)? {}
    drop(reader);
    sample.at = Moment { utc: FileTime(i64::MAX / 4), bias_minutes: 60 };
    let parsed = SqlLogName::parse(name).expect("a name that starts with SQL:")?;
    let mut writer = SqlLogWriter::open(&parsed, &TimeZone::fixed("", 0), SqlStart::Append)?;
    writer.write(&sample)?;
    writer.finish()
}

/// PDH's tables without types and keys, so that each cell can be anything.
const TABLES: &str = "
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
CREATE TABLE DisplayToID (GUID, RunID, DisplayString, LogStartTime, LogStopTime, NumberOfRecords, MinutesToUTC, TimeZoneName);
CREATE TABLE CounterDetails (CounterID, MachineName, ObjectName, CounterName, CounterType, DefaultScale, InstanceName, InstanceIndex,
    ParentName, ParentObjectID, TimeBaseA, TimeBaseB);
CREATE TABLE CounterData (GUID, CounterID, RecordIndex, CounterDateTime, CounterValue, FirstValueA, FirstValueB, SecondValueA,
    SecondValueB, MultiCount);
";

const GUID: &str = "5b0f9f2e-0000-4000-8000-00000000abcd";

/// Writes rows whose cells are described by the input. Unless a cell says otherwise, a row belongs to the log `log`.
fn fill(path: &Path, cells: &mut Cells<'_>) -> rusqlite::Result<()> {
    let database = Connection::open(path)?;
    database.execute_batch(TABLES)?;
    let insert = |table: &str, values: Vec<Value>| {
        let parameters = vec!["?"; values.len()].join(", ");
        database
            .execute(&format!("INSERT INTO {table} VALUES ({parameters})"), params_from_iter(values))
            .map(drop)
    };
    let text = |text: &str| Value::Text(text.to_owned());
    let mut display =
        cells.row(&[text(GUID), Value::Null, text("log"), Value::Null, Value::Null, Value::Null]);
    display.extend(cells.row(&[Value::Integer(-60), text("zone")]));
    insert("DisplayToID", display)?;
    let mut id = 0;
    while !cells.0.is_empty() && id < 200 {
        id += 1;
        let counter = [
            Value::Integer(id % 8),
            text(r"\\m"),
            text("set"),
            text("counter"),
            Value::Integer(0x4002_0500),
            Value::Integer(0),
            text("instance"),
            Value::Integer(0),
            Value::Null,
            Value::Null,
            Value::Integer(0),
            Value::Integer(1),
        ];
        if id <= 16 {
            insert("CounterDetails", cells.row(&counter))?;
        }
        let value = [
            text(GUID),
            Value::Integer(id % 8),
            Value::Integer(id / 4),
            text("2024-03-05 09:00:00:123"),
            Value::Real(0.0),
            Value::Integer(id),
            Value::Integer(0),
            Value::Integer(id),
            Value::Integer(0),
            Value::Integer(1),
        ];
        insert("CounterData", cells.row(&value))?;
    }
    Ok(())
}

/// The rest of the input.
struct Cells<'a>(&'a [u8]);

impl Cells<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().map_or((0, self.0), |(first, rest)| (*first, rest));
        self.0 = rest;
        first
    }

    fn bytes(&mut self, length: usize) -> &[u8] {
        let (bytes, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        bytes
    }

    /// A row with these values, of which up to three are replaced by cells from the input. The next byte says how many.
    fn row(&mut self, usual: &[Value]) -> Vec<Value> {
        let mut row = usual.to_vec();
        for _ in 0..self.byte() % 4 {
            let column = usize::from(self.byte()) % row.len();
            row[column] = self.cell();
        }
        row
    }

    fn cell(&mut self) -> Value {
        match self.byte() % 8 {
            0 => Value::Null,
            1 => Value::Integer(i64::from(self.byte()) - 128),
            2 => {
                let mut bytes = [0; 8];
                let found = self.bytes(8);
                bytes[..found.len()].copy_from_slice(found);
                Value::Integer(i64::from_le_bytes(bytes))
            }
            3 => Value::Real(f64::from(self.byte()) * 0.5),
            4 => {
                let length = usize::from(self.byte());
                Value::Text(String::from_utf8_lossy(self.bytes(length)).into_owned())
            }
            5 => {
                let length = usize::from(self.byte());
                Value::Blob(self.bytes(length).to_vec())
            }
            // A long text.
            6 => Value::Text("long ".repeat(usize::from(self.byte()) * 20)),
            _ => Value::Text(self.byte().to_string()),
        }
    }
}

//! Reading what `tacho relog -f json` and `tacho query -f json` write: a JSON object per sample and line.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;

use crate::mark::Place;
use crate::{
    Format, LogError, LogFacts, LogReader, Mark, Problem, Problems, ReadOptions, Reservation, TextEncoding,
};

use super::column::{self, ColumnGroup, ColumnMaker};
use super::decoder::Decoder;
use super::excerpt;
use super::reader::{MAX_ROW_BYTES, MAX_ROW_CELLS, extent_of, open_text, row_too_long};

/// A log of JSON lines being read: `{"time":"2024-03-05T10:00:00.000+01:00","values":{"\\\\M\\S\\C":1.5}}`. What the lines
/// hold is described in docs/json.md.
///
/// A sample has a [`Group`](tachograph_counters::sample::Group) for each path of its own line, in their order, as a
/// [`TextReader`](super::TextReader) has for each column. Values are formatted already; `null` is no value. The time zone
/// is the offset of the first line; each sample has that of its own.
///
/// Damage is stepped over, and noted with the offset of the line: a line that is no such object, or has no time, is left
/// out, as is the last one when it was cut short; a value that is no number is none.
///
/// A reader takes at most about 300 MiB for a line of 64 MiB, and what its budget allows for the paths that it meets.
pub struct JsonReader<R> {
    lines: BufReader<Decoder<R>>,
    line: Vec<u8>,
    /// Offset in the text of the next line, and its number.
    next_at: u64,
    next_number: u64,
    /// The same of the line in `line`.
    at: u64,
    number: u64,
    /// The first line, which was read for its time.
    has_line: bool,
    facts: LogFacts,
    columns: Vec<Column>,
    values: Vec<Option<f64>>,
    maker: ColumnMaker,
    /// Hashes of all paths met, to count what is kept of them.
    met: HashSet<u64>,
    hasher: RandomState,
    path_bytes: u64,
    reservation: Reservation,
    problems: Problems,
    bad_text_is_noted: bool,
    is_done: bool,
}

/// A path of the line before, and its group.
struct Column {
    path: Box<str>,
    group: ColumnGroup,
}

impl<R: Read + Seek> JsonReader<R> {
    /// Opens a log that begins where the stream stands, and reads its first line.
    ///
    /// # Errors
    ///
    /// When reading fails; "not a log" when the first line is no sample; "corrupt" when it is longer than 64 MiB; "over
    /// budget" when its paths need more memory than the options' budget has left.
    pub fn new(mut stream: R, options: &ReadOptions) -> Result<Self, LogError> {
        let (origin, file_bytes) = extent_of(&mut stream)?;
        let (text, format) = open_text(stream, options)?;
        if format != Format::Json {
            return Err(LogError::not_a_log(format!("this is {}, not JSON", format.name())));
        }
        Self::over(text, origin, file_bytes, options)
    }

    pub(super) fn over(
        mut text: Decoder<R>,
        origin: u64,
        file_bytes: u64,
        options: &ReadOptions,
    ) -> Result<Self, LogError> {
        text.without_end_cell();
        text.set_origin(origin);
        let facts = LogFacts {
            format: Format::Json,
            zone: TimeZone::utc(),
            boot_time: None,
            performance_frequency: None,
            windows_build: None,
            file_bytes,
        };
        let mut reader = Self {
            lines: BufReader::with_capacity(64 * 1024, text),
            line: Vec::new(),
            next_at: 0,
            next_number: 1,
            at: 0,
            number: 1,
            has_line: false,
            facts,
            columns: Vec::new(),
            values: Vec::new(),
            maker: ColumnMaker::default(),
            met: HashSet::new(),
            hasher: RandomState::new(),
            path_bytes: 0,
            reservation: options.budget.reserve(0).map_err(LogError::over_budget)?,
            problems: Problems::default(),
            bad_text_is_noted: false,
            is_done: false,
        };
        reader.read_first()?;
        Ok(reader)
    }
}

impl<R: Read> JsonReader<R> {
    fn read_first(&mut self) -> Result<(), LogError> {
        if !self.read_line()? {
            return Err(LogError::not_a_log("the file has no line"));
        }
        let line = serde_json::from_slice::<TimeOnly>(&self.line);
        let first = match &line {
            Ok(TimeOnly { time: Some(time), has_values: true }) => Moment::parse_rfc3339(time),
            _ => None,
        };
        let Some(first) = first else {
            return Err(LogError::not_a_log(format!(
                "no performance log: it starts with {}; a JSON log has a line {{\"time\":...,\"values\":{{...}}}} for each \
                 sample, as 'relog -f json' writes them",
                excerpt::of_cell(&self.line)
            )));
        };
        self.facts.zone = match first.bias_minutes {
            0 => TimeZone::utc(),
            bias => {
                let sign = if bias > 0 { '-' } else { '+' };
                let minutes = bias.unsigned_abs();
                TimeZone::fixed(&format!("UTC{sign}{:02}:{:02}", minutes / 60, minutes % 60), bias)
            }
        };
        self.has_line = true;
        Ok(())
    }

    /// Reads the next line that is not empty; false at the end.
    fn read_line(&mut self) -> Result<bool, LogError> {
        loop {
            self.line.clear();
            if self.is_done {
                return Ok(false);
            }
            (self.at, self.number) = (self.next_at, self.next_number);
            self.lines.get_mut().allow(MAX_ROW_BYTES, MAX_ROW_CELLS);
            let read = self.lines.read_until(b'\n', &mut self.line);
            if let Err(error) = read {
                let text = self.lines.get_ref();
                let (over, is_exhausted) = (text.over_budget(), text.is_exhausted());
                self.is_done = over.is_some() || is_exhausted;
                return Err(match over {
                    Some(over) => LogError::over_budget(over),
                    None if is_exhausted => row_too_long(self.offset()),
                    None => LogError::io(error),
                });
            }
            self.next_at += self.line.len() as u64;
            self.next_number += 1;
            if self.line.is_empty() {
                self.is_done = true;
                return Ok(false);
            }
            self.note_bad_text();
            if !self.line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    fn note_bad_text(&mut self) {
        let text = self.lines.get_ref();
        if let (Some(offset), false) = (text.first_bad(), self.bad_text_is_noted) {
            self.bad_text_is_noted = true;
            let encoding = text.encoding();
            let what = format!("bytes that are no {encoding}, here and maybe later, are read as U+FFFD");
            self.problems.push(Problem::new(offset, what));
        }
    }

    /// Offset in the file of the line in `line`.
    fn offset(&mut self) -> u64 {
        let at = self.at;
        self.lines.get_mut().file_offset(at)
    }

    fn note(&mut self, what: &str) -> Problem {
        Problem::new(self.offset(), format!("line {} {what}", self.number))
    }

    /// Reads the line into `columns` and `values`; gives its time, or `None` where it is left out.
    fn parse(&mut self) -> Result<Option<Moment>, LogError> {
        self.values.clear();
        let mut row = Row {
            columns: std::mem::take(&mut self.columns),
            rest: None,
            values: &mut self.values,
            maker: &mut self.maker,
            new: Vec::new(),
            wrong: Vec::new(),
            too_many: false,
        };
        let mut time = None;
        let mut deserializer = serde_json::Deserializer::from_slice(&self.line);
        let read = deserializer.deserialize_map(LineVisitor { row: &mut row, time: &mut time });
        let read = read.and_then(|()| deserializer.end());
        row.columns.truncate(row.values.len());
        let (new, wrong, too_many) = (row.new, row.wrong, row.too_many);
        self.columns = row.columns;
        if too_many {
            self.is_done = true;
            return Err(row_too_long(self.offset()));
        }
        let time = match (read, time) {
            (Ok(()), Some(time)) => match Moment::parse_rfc3339(&time) {
                Some(at) => Ok(at),
                None => Err(self
                    .note("has no time, and is left out")
                    .found(excerpt::of_text(&time), "a time such as '2024-03-05T10:00:00.000+01:00'")),
            },
            (Ok(()), None) => Err(self.note("has no time, and is left out")),
            (Err(error), _) if error.is_eof() && !self.line.ends_with(b"\n") => {
                Err(self.note("is cut short, and left out"))
            }
            (Err(error), _) => {
                let line = excerpt::of_cell(self.line.trim_ascii_end());
                Err(self
                    .note(&format!("is no sample ({error}), and left out"))
                    .found(line, "{\"time\":...,\"values\":{...}}"))
            }
        };
        self.count(&new)?;
        match time {
            Ok(at) => {
                for (path, found) in wrong {
                    let what = format!("has no value of {}", excerpt::of_text(&path));
                    let problem = self.note(&what).found(found, "a number or null");
                    self.problems.push(problem);
                }
                Ok(Some(at))
            }
            Err(problem) => {
                self.problems.push(problem);
                Ok(None)
            }
        }
    }

    /// Counts paths that were never met, before samples of them are passed on.
    fn count(&mut self, new: &[usize]) -> Result<(), LogError> {
        let offset = self.offset();
        for column in new.iter().filter_map(|&number| self.columns.get(number)) {
            if !self.met.insert(self.hasher.hash_one(&column.path)) {
                continue;
            }
            self.path_bytes += column.path.len() as u64;
            if let Err(over) = self.reservation.grow_to(column::memory_of(self.met.len(), 0, self.path_bytes))
            {
                self.is_done = true;
                return Err(LogError::over_budget(over));
            }
            if column.group.set.name.is_empty() {
                let what = "a key is no counter path, and kept as a counter's name";
                let problem = Problem::new(offset, what);
                self.problems.push(problem.found(excerpt::of_text(&column.path), "a counter path"));
            }
        }
        Ok(())
    }
}

impl<R: Read + Seek + Send> LogReader for JsonReader<R> {
    fn facts(&self) -> &LogFacts {
        &self.facts
    }

    fn next(&mut self, sample: &mut Sample) -> Result<bool, LogError> {
        while std::mem::take(&mut self.has_line) || self.read_line()? {
            let Some(at) = self.parse()? else { continue };
            sample.at = at;
            sample.is_baseline = false;
            sample.log = 0;
            sample.boot_time = FileTime(0);
            let values = &self.values;
            column::fill(sample, self.columns.iter().map(|column| &column.group), |column| values[column]);
            return Ok(true);
        }
        Ok(false)
    }

    fn problems(&self) -> &Problems {
        &self.problems
    }

    fn guessed_encoding(&self) -> Option<TextEncoding> {
        self.lines.get_ref().guessed()
    }

    fn bytes_read(&self) -> u64 {
        self.lines.get_ref().bytes_read()
    }

    fn mark(&mut self) -> Option<Mark> {
        if !self.lines.get_ref().is_as_in_file() {
            return None;
        }
        let (at, number) =
            if self.has_line { (self.at, self.number) } else { (self.next_at, self.next_number) };
        let mut position = csv::Position::new();
        position.set_byte(at).set_line(number);
        Some(Mark(Place::Text(position)))
    }

    fn go_to(&mut self, mark: &Mark) -> Result<bool, LogError> {
        let Place::Text(position) = &mark.0 else { return Ok(false) };
        self.lines.seek(SeekFrom::Start(position.byte())).map_err(LogError::io)?;
        (self.next_at, self.next_number) = (position.byte(), position.line());
        self.has_line = false;
        self.is_done = false;
        Ok(true)
    }

    fn follows_growth(&self) -> bool {
        true
    }

    fn go_near_end(&mut self, bytes: u64) -> Result<bool, LogError> {
        let byte = self.facts.file_bytes.saturating_sub(bytes);
        let mut there = csv::Position::new();
        there.set_byte(byte).set_line(self.next_number);
        let here = if self.has_line { self.at } else { self.next_at };
        if byte <= here || !self.lines.get_ref().is_as_in_file() || !self.go_to(&Mark(Place::Text(there)))? {
            return Ok(false);
        }
        // Very likely in the middle of a line.
        self.read_line()
    }
}

impl<R> fmt::Debug for JsonReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonReader")
            .field("facts", &self.facts)
            .field("line", &self.number)
            .finish_non_exhaustive()
    }
}

/// The columns and values of a line while it is read.
struct Row<'a> {
    /// Those of the line before, of which the first `values.len()` are this line's.
    columns: Vec<Column>,
    /// By path: the columns of the line before that are not in their old place.
    rest: Option<HashMap<Box<str>, ColumnGroup>>,
    values: &'a mut Vec<Option<f64>>,
    maker: &'a mut ColumnMaker,
    /// Columns that the line before did not have.
    new: Vec<usize>,
    /// Paths whose value is something else, and what.
    wrong: Vec<(Box<str>, &'static str)>,
    too_many: bool,
}

/// The most values of one line that are noted as wrong.
const MAX_WRONG: usize = 16;

impl Row<'_> {
    fn take(&mut self, path: &str, value: Found) {
        let place = self.values.len();
        if place as u64 >= MAX_ROW_CELLS {
            self.too_many = true;
            return;
        }
        if self.columns.get(place).is_none_or(|known| *known.path != *path) {
            let rest = self.rest.get_or_insert_with(|| {
                self.columns.drain(place..).map(|column| (column.path, column.group)).collect()
            });
            let (path, group) = rest.remove_entry(path).unwrap_or_else(|| {
                self.new.push(place);
                (path.into(), self.maker.single(path).0)
            });
            self.columns.truncate(place);
            self.columns.push(Column { path, group });
        }
        self.values.push(match value {
            Found::Number(number) => Some(number),
            Found::Null => None,
            Found::Other(what) => {
                if self.wrong.len() < MAX_WRONG {
                    self.wrong.push((path.into(), what));
                }
                None
            }
        });
    }
}

/// What a value is.
enum Found {
    Number(f64),
    Null,
    Other(&'static str),
}

/// The object of a line.
struct LineVisitor<'a, 'b> {
    row: &'a mut Row<'b>,
    time: &'a mut Option<String>,
}

impl<'de> Visitor<'de> for LineVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a time and values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(key)) = map.next_key()? {
            match &*key {
                "time" => *self.time = Some(map.next_value()?),
                "values" => map.next_value_seed(ValuesSeed(self.row))?,
                // Later versions may say more.
                _ => {
                    let IgnoredAny = map.next_value()?;
                }
            }
        }
        Ok(())
    }
}

/// The object of values.
struct ValuesSeed<'a, 'b>(&'a mut Row<'b>);

impl<'de> DeserializeSeed<'de> for ValuesSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ValuesSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of values by counter path")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(path)) = map.next_key()? {
            let value = map.next_value_seed(FoundSeed)?;
            self.0.take(&path, value);
        }
        Ok(())
    }
}

/// A key, borrowed where it has no escapes.
struct Key<'de>(std::borrow::Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(text.to_owned().into()))
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(text.into()))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

struct FoundSeed;

impl<'de> DeserializeSeed<'de> for FoundSeed {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Found, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FoundSeed {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or null")
    }

    fn visit_f64<E>(self, number: f64) -> Result<Found, E> {
        Ok(if number.is_finite() {
            Found::Number(number)
        } else {
            Found::Other("a number that is not finite")
        })
    }

    fn visit_u64<E>(self, number: u64) -> Result<Found, E> {
        Ok(Found::Number(number as f64))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Found, E> {
        Ok(Found::Number(number as f64))
    }

    fn visit_unit<E>(self) -> Result<Found, E> {
        Ok(Found::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Found, E> {
        Ok(Found::Other("true or false"))
    }

    fn visit_str<E>(self, _: &str) -> Result<Found, E> {
        Ok(Found::Other("a text"))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Found, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Found::Other("a list"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Found::Other("an object"))
    }
}

/// Of a line, whether it is a sample.
struct TimeOnly {
    time: Option<String>,
    has_values: bool,
}

impl<'de> serde::Deserialize<'de> for TimeOnly {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TimeVisitor;
        impl<'de> Visitor<'de> for TimeVisitor {
            type Value = TimeOnly;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a time and values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TimeOnly, A::Error> {
                let mut line = TimeOnly { time: None, has_values: false };
                while let Some(Key(key)) = map.next_key()? {
                    match &*key {
                        "time" => line.time = Some(map.next_value()?),
                        _ => {
                            line.has_values |= &*key == "values";
                            let IgnoredAny = map.next_value()?;
                        }
                    }
                }
                Ok(line)
            }
        }
        deserializer.deserialize_map(TimeVisitor)
    }
}

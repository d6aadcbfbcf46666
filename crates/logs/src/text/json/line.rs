//! Parses a line of JSON: its time, its values, and a column for each of its paths.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use crate::text::column::{self, ColumnBuilder, ColumnGroup};
use crate::text::excerpt;
use crate::text::source::MAX_ROW_CELLS;
use crate::{OverBudget, Problem, Problems, Reservation};

/// A path, and the column that was built for it.
pub(super) struct Column {
    path: Box<str>,
    pub(super) group: ColumnGroup,
}

/// All paths of a log, with the memory reserved for their columns.
pub(super) struct KnownPaths {
    hashes: HashSet<u64>,
    hasher: RandomState,
    path_bytes: u64,
    reservation: Reservation,
}

impl KnownPaths {
    pub(super) fn new(reservation: Reservation) -> Self {
        Self { hashes: HashSet::new(), hasher: RandomState::new(), path_bytes: 0, reservation }
    }

    /// Reserves memory for the column of a path. Returns whether no earlier line has this path. `columns` is the number of
    /// columns in memory, including the new one. `line_path_bytes` is the total length of the line's paths so far. If the line
    /// repeats a path, both count each repetition.
    fn reserve_column(
        &mut self,
        path: &str,
        columns: usize,
        line_path_bytes: u64,
    ) -> Result<bool, OverBudget> {
        let is_new = self.hashes.insert(self.hasher.hash_one(path));
        if is_new {
            self.path_bytes += path.len() as u64;
        }
        let (columns, bytes) = (columns.max(self.hashes.len()), line_path_bytes.max(self.path_bytes));
        self.reservation.grow_to(column::estimated_bytes(columns, 0, bytes))?;
        Ok(is_new)
    }
}

/// The reason why reading stops at a line.
pub(super) enum StopReason {
    TooManyValues,
    OverBudget(OverBudget),
}

/// The columns and values of a line while it is read.
pub(super) struct Row<'a> {
    /// The columns of the previous line; the first `values.len()` of them are already this line's.
    pub(super) columns: Vec<Column>,
    /// Columns of the previous line, by path, that this line has not used yet. Filled when this line's columns first
    /// differ from the previous line's.
    unused: Option<HashMap<Box<str>, ColumnGroup>>,
    /// Bytes of this line's paths.
    path_bytes: u64,
    pub(super) values: &'a mut Vec<Option<f64>>,
    builder: &'a mut ColumnBuilder,
    paths: &'a mut KnownPaths,
    /// Offset of the line in the file, for problems with keys.
    offset: u64,
    problems: &'a mut Problems,
    /// Excerpts of the paths of invalid values, each with a description of the value.
    pub(super) invalid_values: Vec<(String, &'static str)>,
    pub(super) stop: Option<StopReason>,
}

/// Maximum number of invalid values that are reported per line.
const MAX_INVALID_VALUES: usize = 16;

impl<'a> Row<'a> {
    /// Starts a line. `columns` are the columns of the previous line.
    pub(super) fn new(
        columns: Vec<Column>,
        values: &'a mut Vec<Option<f64>>,
        builder: &'a mut ColumnBuilder,
        paths: &'a mut KnownPaths,
        (offset, problems): (u64, &'a mut Problems),
    ) -> Self {
        values.clear();
        Self {
            columns,
            unused: None,
            path_bytes: 0,
            values,
            builder,
            paths,
            offset,
            problems,
            invalid_values: Vec::new(),
            stop: None,
        }
    }

    pub(super) fn parse(&mut self, line: &[u8]) -> serde_json::Result<LineProperties> {
        let properties = parse_object(line, Some(&mut *self));
        self.columns.truncate(self.values.len());
        properties
    }

    fn push(&mut self, path: &str, value: JsonValue) -> Result<(), StopReason> {
        let index = self.values.len();
        if index as u64 >= MAX_ROW_CELLS {
            return Err(StopReason::TooManyValues);
        }
        self.path_bytes += path.len() as u64;
        if self.columns.get(index).is_none_or(|column| *column.path != *path) {
            let column = self.column(index, path).map_err(StopReason::OverBudget)?;
            self.columns.truncate(index);
            self.columns.push(column);
        }
        self.values.push(match value {
            JsonValue::Number(number) => Some(number),
            JsonValue::Null => None,
            JsonValue::Other(kind) => {
                if self.invalid_values.len() < MAX_INVALID_VALUES {
                    self.invalid_values.push((excerpt::of_text(path), kind));
                }
                None
            }
        });
        Ok(())
    }

    /// Returns the column of a path that the previous line did not have at this index: a column of the previous line, or a new
    /// one, whose memory is reserved first.
    fn column(&mut self, index: usize, path: &str) -> Result<Column, OverBudget> {
        let unused = self.unused.get_or_insert_with(|| {
            self.columns.drain(index..).map(|column| (column.path, column.group)).collect()
        });
        if let Some((path, group)) = unused.remove_entry(path) {
            return Ok(Column { path, group });
        }
        let is_new = self.paths.reserve_column(path, index + 1 + unused.len(), self.path_bytes)?;
        let (group, error) = self.builder.build(path);
        if is_new && error.is_some() {
            self.problems.push_with(self.offset, || {
                let message = "a key is not a counter path; its text becomes a counter name";
                Problem::new(self.offset, message).found(excerpt::of_text(path), "a counter path")
            });
        }
        Ok(Column { path: path.into(), group })
    }
}

/// A value of a line.
enum JsonValue {
    Number(f64),
    Null,
    /// Any other value, with a description for messages.
    Other(&'static str),
}

/// The properties that make a line a sample.
#[derive(Default)]
pub(super) struct LineProperties {
    pub(super) time: Option<String>,
    pub(super) has_values: bool,
}

impl LineProperties {
    /// Parses a line without its values.
    pub(super) fn parse(line: &[u8]) -> serde_json::Result<Self> {
        parse_object(line, None)
    }
}

fn parse_object(line: &[u8], row: Option<&mut Row<'_>>) -> serde_json::Result<LineProperties> {
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    let properties = deserializer.deserialize_map(LineVisitor(row))?;
    deserializer.end().map(|()| properties)
}

/// Visits the object of a line and stores its values in a row.
struct LineVisitor<'a, 'b>(Option<&'a mut Row<'b>>);

impl<'de> Visitor<'de> for LineVisitor<'_, '_> {
    type Value = LineProperties;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a time and values")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<LineProperties, A::Error> {
        let mut line = LineProperties::default();
        while let Some(Key(key)) = map.next_key()? {
            line.has_values |= &*key == "values";
            match (&*key, &mut self.0) {
                ("time", _) => line.time = Some(map.next_value()?),
                ("values", Some(row)) => map.next_value_seed(ValuesSeed(row))?,
                // Later versions of the format can have more keys.
                _ => {
                    let IgnoredAny = map.next_value()?;
                }
            }
        }
        Ok(line)
    }
}

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
        f.write_str("an object that maps counter paths to values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(path)) = map.next_key()? {
            let value = map.next_value_seed(JsonValueSeed)?;
            if let Err(stop) = self.0.push(&path, value) {
                self.0.stop = Some(stop);
                // The caller reports the reason in `stop` instead.
                return Err(A::Error::custom("reading stopped"));
            }
        }
        Ok(())
    }
}

/// A key, borrowed if it has no escapes.
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

struct JsonValueSeed;

impl<'de> DeserializeSeed<'de> for JsonValueSeed {
    type Value = JsonValue;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<JsonValue, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonValueSeed {
    type Value = JsonValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or null")
    }

    fn visit_f64<E>(self, number: f64) -> Result<JsonValue, E> {
        Ok(if number.is_finite() {
            JsonValue::Number(number)
        } else {
            JsonValue::Other("a number that is not finite")
        })
    }

    fn visit_u64<E>(self, number: u64) -> Result<JsonValue, E> {
        Ok(JsonValue::Number(number as f64))
    }

    fn visit_i64<E>(self, number: i64) -> Result<JsonValue, E> {
        Ok(JsonValue::Number(number as f64))
    }

    fn visit_unit<E>(self) -> Result<JsonValue, E> {
        Ok(JsonValue::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<JsonValue, E> {
        Ok(JsonValue::Other("a boolean"))
    }

    fn visit_str<E>(self, _: &str) -> Result<JsonValue, E> {
        Ok(JsonValue::Other("a string"))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<JsonValue, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(JsonValue::Other("an array"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonValue, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(JsonValue::Other("an object"))
    }
}

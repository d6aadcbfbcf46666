//! A line of JSON: its time, its values, and the columns that its paths need.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use crate::text::column::{self, ColumnGroup, ColumnMaker};
use crate::text::excerpt;
use crate::text::reader::{MAX_ROW_CELLS, note};
use crate::{OverBudget, Problem, Problems, Reservation};

/// A path of a line, and its group.
pub(super) struct Column {
    path: Box<str>,
    pub(super) group: ColumnGroup,
}

/// All paths of a log, which reserve memory for their columns.
pub(super) struct MetPaths {
    /// Hashes of the paths.
    hashes: HashSet<u64>,
    hasher: RandomState,
    path_bytes: u64,
    reservation: Reservation,
}

impl MetPaths {
    pub(super) fn new(reservation: Reservation) -> Self {
        Self { hashes: HashSet::new(), hasher: RandomState::new(), path_bytes: 0, reservation }
    }

    /// Counts a path that needs a column; whether it is new in the log. `columns` and `column_bytes` are those that exist
    /// with it, and the bytes of their paths: a line may repeat a path.
    fn count(&mut self, path: &str, columns: usize, column_bytes: u64) -> Result<bool, OverBudget> {
        let is_new = self.hashes.insert(self.hasher.hash_one(path));
        if is_new {
            self.path_bytes += path.len() as u64;
        }
        let (columns, bytes) = (columns.max(self.hashes.len()), column_bytes.max(self.path_bytes));
        self.reservation.grow_to(column::memory_of(columns, 0, bytes))?;
        Ok(is_new)
    }
}

/// Why a line ends reading.
pub(super) enum Stop {
    TooManyValues,
    OverBudget(OverBudget),
}

/// The columns and values of a line while it is read.
pub(super) struct Row<'a> {
    /// The columns of the previous line; the first `values.len()` of them are already this line's.
    pub(super) columns: Vec<Column>,
    /// By path: the columns of the line before that are not in their old place.
    rest: Option<HashMap<Box<str>, ColumnGroup>>,
    /// Bytes of this line's paths.
    path_bytes: u64,
    pub(super) values: &'a mut Vec<Option<f64>>,
    maker: &'a mut ColumnMaker,
    met: &'a mut MetPaths,
    /// Offset in the file of the line, for problems of keys.
    offset: u64,
    problems: &'a mut Problems,
    /// Excerpts of paths whose value is something else, and what.
    pub(super) wrong: Vec<(String, &'static str)>,
    pub(super) stop: Option<Stop>,
}

/// The most values of one line that are noted as wrong.
const MAX_WRONG: usize = 16;

impl<'a> Row<'a> {
    /// A line after the one that had `columns`.
    pub(super) fn new(
        columns: Vec<Column>,
        values: &'a mut Vec<Option<f64>>,
        maker: &'a mut ColumnMaker,
        met: &'a mut MetPaths,
        (offset, problems): (u64, &'a mut Problems),
    ) -> Self {
        values.clear();
        Self {
            columns,
            rest: None,
            path_bytes: 0,
            values,
            maker,
            met,
            offset,
            problems,
            wrong: Vec::new(),
            stop: None,
        }
    }

    /// Reads the object of a line.
    pub(super) fn read(&mut self, line: &[u8]) -> serde_json::Result<LineTime> {
        let read = read_object(line, Some(&mut *self));
        self.columns.truncate(self.values.len());
        read
    }

    fn push(&mut self, path: &str, value: Found) -> Result<(), Stop> {
        let place = self.values.len();
        if place as u64 >= MAX_ROW_CELLS {
            return Err(Stop::TooManyValues);
        }
        self.path_bytes += path.len() as u64;
        if self.columns.get(place).is_none_or(|known| *known.path != *path) {
            let column = self.column(place, path).map_err(Stop::OverBudget)?;
            self.columns.truncate(place);
            self.columns.push(column);
        }
        self.values.push(match value {
            Found::Number(number) => Some(number),
            Found::Null => None,
            Found::Other(what) => {
                if self.wrong.len() < MAX_WRONG {
                    self.wrong.push((excerpt::of_text(path), what));
                }
                None
            }
        });
        Ok(())
    }

    /// A column that is not in its old place: one of the line before, or a new one once its memory is reserved.
    fn column(&mut self, place: usize, path: &str) -> Result<Column, OverBudget> {
        let rest = self.rest.get_or_insert_with(|| {
            self.columns.drain(place..).map(|column| (column.path, column.group)).collect()
        });
        if let Some((path, group)) = rest.remove_entry(path) {
            return Ok(Column { path, group });
        }
        let is_new = self.met.count(path, place + 1 + rest.len(), self.path_bytes)?;
        let (group, error) = self.maker.single(path);
        if is_new && error.is_some() {
            note(self.problems, self.offset, || {
                let what = "a key is no counter path, and kept as a counter's name";
                Problem::new(self.offset, what).found(excerpt::of_text(path), "a counter path")
            });
        }
        Ok(Column { path: path.into(), group })
    }
}

/// What a value is.
enum Found {
    Number(f64),
    Null,
    Other(&'static str),
}

/// What a line is known by as a sample.
#[derive(Default)]
pub(super) struct LineTime {
    pub(super) time: Option<String>,
    pub(super) has_values: bool,
}

impl LineTime {
    /// Reads a line without its values.
    pub(super) fn read(line: &[u8]) -> serde_json::Result<Self> {
        read_object(line, None)
    }
}

fn read_object(line: &[u8], row: Option<&mut Row<'_>>) -> serde_json::Result<LineTime> {
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    let read = deserializer.deserialize_map(LineVisitor(row))?;
    deserializer.end().map(|()| read)
}

/// The object of a line, whose values go into a row.
struct LineVisitor<'a, 'b>(Option<&'a mut Row<'b>>);

impl<'de> Visitor<'de> for LineVisitor<'_, '_> {
    type Value = LineTime;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a time and values")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<LineTime, A::Error> {
        let mut line = LineTime::default();
        while let Some(Key(key)) = map.next_key()? {
            line.has_values |= &*key == "values";
            match (&*key, &mut self.0) {
                ("time", _) => line.time = Some(map.next_value()?),
                ("values", Some(row)) => map.next_value_seed(ValuesSeed(row))?,
                // Later versions may say more.
                _ => {
                    let IgnoredAny = map.next_value()?;
                }
            }
        }
        Ok(line)
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
            if let Err(stop) = self.0.push(&path, value) {
                self.0.stop = Some(stop);
                return Err(A::Error::custom("too many values"));
            }
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

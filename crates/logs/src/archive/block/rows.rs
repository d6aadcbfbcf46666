//! The rows of a block, stored by column.

use std::collections::HashMap;
use std::io;

use tachograph_counters::Status;
use tachograph_counters::set::{Counter, CounterSet, Instance};

use super::super::columns::{COLUMNS, at};
use super::super::interval::{CounterFacts, Interval, counter_facts};
use super::super::parquet::{ChunkWriter, Numbers, Present, Runs, WrittenChunk, spread};
use super::super::rows::ColumnValues;

/// For each column that has one value per series, the index of the series' value in the column's dictionary. A counter
/// determines some of the columns and an instance the others; [`Option::or`] combines their indexes.
pub(super) type SeriesWords = [Option<u32>; OF_SERIES.len()];

/// One row of a series.
pub(super) struct Row {
    pub(super) interval: Interval,
    /// The raw numbers, if they cannot be restored from the interval.
    pub(super) raws: Option<(i64, i64)>,
    /// The multiplier, if it differs from that of the previous row.
    pub(super) multi_count: Option<u32>,
    pub(super) status: Status,
}

/// A dictionary-encoded column, for values of which few are distinct.
#[derive(Default)]
struct Words {
    dictionary: Vec<Vec<u8>>,
    by_value: HashMap<Vec<u8>, u32>,
    runs: Vec<(Option<u32>, usize)>,
}

impl Words {
    fn index(&mut self, value: &[u8]) -> u32 {
        if let Some(&known) = self.by_value.get(value) {
            return known;
        }
        let index = self.dictionary.len() as u32;
        self.dictionary.push(value.to_vec());
        self.by_value.insert(value.to_vec(), index);
        index
    }

    fn push(&mut self, index: Option<u32>, rows: usize) {
        match self.runs.last_mut() {
            Some((last, len)) if *last == index => *len += rows,
            _ => self.runs.push((index, rows)),
        }
    }
}

/// A column of numbers, some of which are missing.
#[derive(Default)]
struct OptionalNumbers {
    numbers: Vec<i64>,
    present: Vec<(bool, usize)>,
}

impl OptionalNumbers {
    fn push(&mut self, number: Option<i64>) {
        self.push_presence(number.is_some(), 1);
        self.numbers.extend(number);
    }

    fn clear(&mut self) {
        self.numbers.clear();
        self.present.clear();
    }

    /// Adds the presence of numbers in the next rows.
    fn push_presence(&mut self, are_present: bool, rows: usize) {
        match self.present.last_mut() {
            Some((is_present, len)) if *is_present == are_present => *len += rows,
            _ => self.present.push((are_present, rows)),
        }
    }
}

/// The columns that have the same value in all rows of a series.
const OF_SERIES: [usize; 8] =
    [at::SET, at::COUNTER, at::PARENT, at::INSTANCE, at::KIND, at::FACTOR, at::UNIT, at::TYPE];

/// The rows of a block.
#[derive(Default)]
pub(in super::super) struct Rows {
    of_series: [Words; OF_SERIES.len()],
    times: Vec<i64>,
    num: OptionalNumbers,
    den: OptionalNumbers,
    value: OptionalNumbers,
    raw_first: OptionalNumbers,
    raw_second: OptionalNumbers,
    multi_count: OptionalNumbers,
    status: Words,
    statuses: HashMap<Status, u32>,
    /// The number of last rows that have only `num` and `den`, and that are not yet counted in the other columns.
    plain: usize,
}

impl Rows {
    /// Removes all rows, and reserves memory for the next ones.
    pub(super) fn reset(&mut self, rows: usize) {
        let Self { times, num, den, value, raw_first, raw_second, multi_count, .. } = self;
        [&mut *num, &mut *den, value, raw_first, raw_second, multi_count]
            .into_iter()
            .for_each(OptionalNumbers::clear);
        times.clear();
        [times, &mut num.numbers, &mut den.numbers].into_iter().for_each(|numbers| numbers.reserve(rows));
        self.of_series = Default::default();
        self.status = Words::default();
        self.statuses.clear();
        self.plain = 0;
    }

    /// The number of rows.
    pub(in super::super) fn len(&self) -> usize {
        self.times.len()
    }

    /// The indexes for the columns that a counter determines.
    pub(super) fn counter_words(&mut self, set: &CounterSet, counter: &Counter) -> SeriesWords {
        let CounterFacts { kind, factor, type_name } = counter_facts(counter);
        self.words([
            Some(set.name.as_bytes()),
            Some(counter.name.as_bytes()),
            None,
            None,
            Some(kind.as_bytes()),
            Some(&factor.to_le_bytes()),
            Some(counter.unit().as_bytes()),
            Some(type_name.as_bytes()),
        ])
    }

    /// The indexes for the columns that an instance determines.
    pub(super) fn instance_words(&mut self, set: &CounterSet, instance: &Instance) -> SeriesWords {
        let label = instance.label();
        // The parent has its own column.
        let name = instance.parent().map_or(label, |parent| &label[parent.len() + 1..]);
        let parent = instance.parent().map(str::as_bytes);
        let name = set.has_instances.then_some(name.as_bytes());
        self.words([None, None, parent, name, None, None, None, None])
    }

    fn words(&mut self, values: [Option<&[u8]>; OF_SERIES.len()]) -> SeriesWords {
        let mut columns = self.of_series.iter_mut();
        values.map(|value| {
            let column = columns.next();
            column.zip(value).map(|(column, value)| column.index(value))
        })
    }

    /// Completes a series, whose rows were pushed and have these times, in the unit of the column.
    pub(super) fn end_series(&mut self, words: SeriesWords, times: &[i64]) {
        self.end_plain();
        if !times.is_empty() {
            self.times.extend_from_slice(times);
            self.of_series.iter_mut().zip(words).for_each(|(column, word)| column.push(word, times.len()));
        }
    }

    /// Adds a row of the current series. Almost all rows are plain: they have only `num` and `den`.
    #[inline]
    pub(super) fn push(&mut self, row: &Row) {
        match *row {
            Row {
                interval: Interval { num: Some(num), den: Some(den), value: None },
                raws: None,
                multi_count: None,
                status: Status::VALID_DATA,
            } => {
                self.num.numbers.push(num);
                self.den.numbers.push(den);
                self.plain += 1;
            }
            _ => self.push_other(row),
        }
    }

    /// Adds the last plain rows to the columns.
    fn end_plain(&mut self) {
        let rows = std::mem::take(&mut self.plain);
        if rows > 0 {
            self.num.push_presence(true, rows);
            self.den.push_presence(true, rows);
            self.value.push_presence(false, rows);
            self.raw_first.push_presence(false, rows);
            self.raw_second.push_presence(false, rows);
            self.multi_count.push_presence(false, rows);
            self.status.push(None, rows);
        }
    }

    /// Adds a row that is not plain.
    fn push_other(&mut self, row: &Row) {
        self.end_plain();
        self.num.push(row.interval.num);
        self.den.push(row.interval.den);
        self.value.push(row.interval.value.map(|value| value.to_bits() as i64));
        self.raw_first.push(row.raws.map(|(first, _)| first));
        self.raw_second.push(row.raws.map(|(_, second)| second));
        self.multi_count.push(row.multi_count.map(i64::from));
        let status = (row.status != Status::VALID_DATA).then(|| {
            *self
                .statuses
                .entry(row.status)
                .or_insert_with(|| self.status.index(row.status.to_string().as_bytes()))
        });
        self.status.push(status, 1);
    }

    /// The values of a column.
    pub(in super::super) fn column(&self, column: usize) -> ColumnValues {
        let numbers = match column {
            at::TIME => {
                return ColumnValues::Numbers(Numbers { values: self.times.clone(), present: Present::All });
            }
            at::NUM => &self.num,
            at::DEN => &self.den,
            at::VALUE => &self.value,
            at::RAW_FIRST => &self.raw_first,
            at::RAW_SECOND => &self.raw_second,
            at::MULTI_COUNT => &self.multi_count,
            _ => {
                let words = OF_SERIES.iter().position(|&of_series| of_series == column);
                let words = words.map_or(&self.status, |words| &self.of_series[words]);
                let runs = words.runs.clone();
                if column == at::FACTOR {
                    let double =
                        |bytes: &Vec<u8>| f64::from_le_bytes(*bytes.first_chunk().unwrap_or(&[0; 8]));
                    let dictionary = words.dictionary.iter().map(double).collect();
                    return ColumnValues::Doubles(Runs { dictionary, runs });
                }
                let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
                let dictionary = words.dictionary.iter().map(text).collect();
                return ColumnValues::Texts(Runs { dictionary, runs });
            }
        };
        ColumnValues::Numbers(spread(numbers.numbers.clone(), &numbers.present, self.len()))
    }

    /// Appends the encoded columns to `out`. The returned offsets are in bytes from the start of `out`.
    pub(in super::super) fn write(
        &self,
        writer: &mut ChunkWriter,
        out: &mut Vec<u8>,
    ) -> io::Result<Vec<WrittenChunk>> {
        let all = [(true, self.len())];
        let mut chunks = Vec::with_capacity(COLUMNS.len());
        for (index, column) in COLUMNS.into_iter().enumerate() {
            let numbers = match index {
                at::TIME => {
                    chunks.push(writer.numbers(column, &self.times, &all, out)?);
                    continue;
                }
                at::NUM => &self.num,
                at::DEN => &self.den,
                at::VALUE => &self.value,
                at::RAW_FIRST => &self.raw_first,
                at::RAW_SECOND => &self.raw_second,
                at::MULTI_COUNT => &self.multi_count,
                _ => {
                    let words = OF_SERIES.iter().position(|&of_series| of_series == index);
                    let words = words.map_or(&self.status, |words| &self.of_series[words]);
                    chunks.push(writer.runs(column, &words.dictionary, &words.runs, out)?);
                    continue;
                }
            };
            chunks.push(writer.numbers(column, &numbers.numbers, &numbers.present, out)?);
        }
        Ok(chunks)
    }
}

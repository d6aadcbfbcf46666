//! The rows of a block, stored by column.

use std::collections::HashMap;
use std::io;

use tachograph_counters::Status;
use tachograph_counters::set::{Counter, CounterSet, Instance};

use super::super::columns::{COLUMNS, column_index};
use super::super::interval::{CounterFacts, IntervalNumbers, counter_facts};
use super::super::parquet::{ChunkWriter, Numbers, OptionalNumbers, Present, Runs, WrittenChunk};
use super::super::rows::ColumnValues;

/// For each column that has one value per series, the index of the series' value in the column's dictionary. A counter
/// determines some of the columns and an instance the others; [`Option::or`] combines their indexes.
pub(super) type SeriesIndexes = [Option<u32>; SERIES_COLUMNS.len()];

/// One row of a series.
pub(super) struct Row {
    pub(super) interval: IntervalNumbers,
    /// The raw numbers, if they cannot be restored from the interval.
    pub(super) raw_numbers: Option<(i64, i64)>,
    /// The multiplier, if it differs from that of the previous row.
    pub(super) multi_count: Option<u32>,
    pub(super) status: Status,
}

/// A dictionary-encoded column, for values of which few are distinct.
#[derive(Default)]
struct DictionaryColumn {
    dictionary: Vec<Vec<u8>>,
    by_value: HashMap<Vec<u8>, u32>,
    runs: Vec<(Option<u32>, usize)>,
}

impl DictionaryColumn {
    fn index(&mut self, value: &[u8]) -> u32 {
        if let Some(&index) = self.by_value.get(value) {
            return index;
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

/// The columns that have the same value in all rows of a series.
const SERIES_COLUMNS: [usize; 8] = [
    column_index::SET,
    column_index::COUNTER,
    column_index::PARENT,
    column_index::INSTANCE,
    column_index::KIND,
    column_index::FACTOR,
    column_index::UNIT,
    column_index::TYPE,
];

/// How a column is stored.
enum StoredColumn<'a> {
    Times(&'a [i64]),
    Numbers(&'a OptionalNumbers),
    Dictionary(&'a DictionaryColumn),
}

/// The rows of a block.
#[derive(Default)]
pub(in super::super) struct Rows {
    series_columns: [DictionaryColumn; SERIES_COLUMNS.len()],
    times: Vec<i64>,
    num: OptionalNumbers,
    den: OptionalNumbers,
    value: OptionalNumbers,
    raw_first: OptionalNumbers,
    raw_second: OptionalNumbers,
    multi_count: OptionalNumbers,
    status: DictionaryColumn,
    status_indexes: HashMap<Status, u32>,
    /// The number of plain rows at the end whose missing values are not yet added to the other columns.
    plain_rows: usize,
}

impl Rows {
    /// Removes all rows, and reserves memory for the next ones.
    pub(super) fn reset(&mut self, rows: usize) {
        let Self { times, num, den, value, raw_first, raw_second, multi_count, .. } = self;
        [&mut *num, &mut *den, value, raw_first, raw_second, multi_count]
            .into_iter()
            .for_each(OptionalNumbers::clear);
        times.clear();
        [times, &mut num.values, &mut den.values].into_iter().for_each(|numbers| numbers.reserve(rows));
        self.series_columns = Default::default();
        self.status = DictionaryColumn::default();
        self.status_indexes.clear();
        self.plain_rows = 0;
    }

    /// The number of rows.
    pub(in super::super) fn len(&self) -> usize {
        self.times.len()
    }

    /// The indexes for the columns that a counter determines.
    pub(super) fn counter_indexes(&mut self, set: &CounterSet, counter: &Counter) -> SeriesIndexes {
        let CounterFacts { kind, factor, type_name } = counter_facts(counter);
        self.series_indexes([
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
    pub(super) fn instance_indexes(&mut self, set: &CounterSet, instance: &Instance) -> SeriesIndexes {
        let label = instance.label();
        // The parent has its own column.
        let name = instance.parent().map_or(label, |parent| &label[parent.len() + 1..]);
        let parent = instance.parent().map(str::as_bytes);
        let name = set.has_instances.then_some(name.as_bytes());
        self.series_indexes([None, None, parent, name, None, None, None, None])
    }

    fn series_indexes(&mut self, values: [Option<&[u8]>; SERIES_COLUMNS.len()]) -> SeriesIndexes {
        let mut columns = self.series_columns.iter_mut();
        values.map(|value| {
            let column = columns.next();
            column.zip(value).map(|(column, value)| column.index(value))
        })
    }

    /// Completes a series, whose rows were pushed and have these times, in the unit of the column.
    pub(super) fn end_series(&mut self, indexes: SeriesIndexes, times: &[i64]) {
        self.flush_plain_rows();
        if !times.is_empty() {
            self.times.extend_from_slice(times);
            self.series_columns
                .iter_mut()
                .zip(indexes)
                .for_each(|(column, index)| column.push(index, times.len()));
        }
    }

    /// Adds a row of the current series. Almost all rows are plain: they have only `num` and `den`.
    #[inline]
    pub(super) fn push(&mut self, row: &Row) {
        match *row {
            Row {
                interval: IntervalNumbers { num: Some(num), den: Some(den), value: None },
                raw_numbers: None,
                multi_count: None,
                status: Status::VALID_DATA,
            } => {
                self.num.values.push(num);
                self.den.values.push(den);
                self.plain_rows += 1;
            }
            _ => self.push_not_plain(row),
        }
    }

    /// Adds the last plain rows to the columns.
    fn flush_plain_rows(&mut self) {
        let rows = std::mem::take(&mut self.plain_rows);
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
    fn push_not_plain(&mut self, row: &Row) {
        self.flush_plain_rows();
        self.num.push(row.interval.num);
        self.den.push(row.interval.den);
        self.value.push(row.interval.value.map(|value| value.to_bits() as i64));
        self.raw_first.push(row.raw_numbers.map(|(first, _)| first));
        self.raw_second.push(row.raw_numbers.map(|(_, second)| second));
        self.multi_count.push(row.multi_count.map(i64::from));
        let status = (row.status != Status::VALID_DATA).then(|| {
            *self
                .status_indexes
                .entry(row.status)
                .or_insert_with(|| self.status.index(row.status.to_string().as_bytes()))
        });
        self.status.push(status, 1);
    }

    fn stored(&self, column: usize) -> StoredColumn<'_> {
        StoredColumn::Numbers(match column {
            column_index::TIME => return StoredColumn::Times(&self.times),
            column_index::NUM => &self.num,
            column_index::DEN => &self.den,
            column_index::VALUE => &self.value,
            column_index::RAW_FIRST => &self.raw_first,
            column_index::RAW_SECOND => &self.raw_second,
            column_index::MULTI_COUNT => &self.multi_count,
            _ => {
                let position = SERIES_COLUMNS.iter().position(|&known| known == column);
                let values = position.map_or(&self.status, |position| &self.series_columns[position]);
                return StoredColumn::Dictionary(values);
            }
        })
    }

    /// The multipliers, without those that repeat the one before.
    pub(in super::super) fn multi_count(&self) -> &OptionalNumbers {
        &self.multi_count
    }

    /// The values of a column.
    pub(in super::super) fn column(&self, column: usize) -> ColumnValues {
        let values = match self.stored(column) {
            StoredColumn::Times(times) => {
                return ColumnValues::Numbers(Numbers { values: times.to_vec(), present: Present::All });
            }
            StoredColumn::Numbers(numbers) => {
                return ColumnValues::Numbers(numbers.clone().spread_over_rows());
            }
            StoredColumn::Dictionary(values) => values,
        };
        let runs = values.runs.clone();
        if column == column_index::FACTOR {
            let double = |bytes: &Vec<u8>| f64::from_le_bytes(*bytes.first_chunk().unwrap_or(&[0; 8]));
            let dictionary = values.dictionary.iter().map(double).collect();
            return ColumnValues::Doubles(Runs { dictionary, runs });
        }
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        let dictionary = values.dictionary.iter().map(text).collect();
        ColumnValues::Texts(Runs { dictionary, runs })
    }

    /// Appends the encoded columns to `out`. The returned offsets are in bytes from the start of `out`.
    pub(in super::super) fn write(
        &self,
        writer: &mut ChunkWriter,
        out: &mut Vec<u8>,
    ) -> io::Result<Vec<WrittenChunk>> {
        let all = [(true, self.len())];
        let write = |(index, column)| match self.stored(index) {
            StoredColumn::Times(times) => writer.numbers(column, times, &all, out),
            StoredColumn::Numbers(values) => writer.numbers(column, &values.values, &values.present, out),
            StoredColumn::Dictionary(values) => writer.runs(column, &values.dictionary, &values.runs, out),
        };
        COLUMNS.into_iter().enumerate().map(write).collect()
    }
}

//! Converts decoded rows to Arrow columns.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Date32Array, Float64Array, Int32Array, Int64Array, RecordBatch, RecordBatchOptions,
    StringViewArray, TimestampMicrosecondArray, UInt32Array, new_null_array,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::common::Result;
use tachograph_logs::archive::{ARCHIVE_COLUMNS, ColumnValues, Numbers, Present, RowColumn, Runs};

/// The position of `machine` in the table `samples`.
pub(crate) const MACHINE: usize = 0;
/// The position of `date`.
pub(crate) const DATE: usize = 1;
/// The position of the first column that archive files contain.
const FIRST: usize = 2;

/// The column at a position; `None` for `machine` and `date`.
pub(crate) fn column_at(position: usize) -> Option<RowColumn> {
    ARCHIVE_COLUMNS.get(position.checked_sub(FIRST)?).copied()
}

/// The type of the column `time`.
pub(crate) fn time_type() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// The type of a column.
pub(crate) fn type_of(column: RowColumn) -> DataType {
    match column {
        RowColumn::Time => time_type(),
        RowColumn::Num | RowColumn::Den | RowColumn::RawFirst | RowColumn::RawSecond => DataType::Int64,
        RowColumn::Value | RowColumn::Factor => DataType::Float64,
        RowColumn::MultiCount => DataType::Int32,
        _ => DataType::Utf8View,
    }
}

/// The schema of the table `samples`.
pub(crate) fn samples_schema() -> SchemaRef {
    let mut fields =
        vec![Field::new("machine", DataType::Utf8View, false), Field::new("date", DataType::Date32, false)];
    for column in ARCHIVE_COLUMNS {
        use RowColumn::*;
        let is_nullable = !matches!(column, Set | Counter | Time | Kind | Factor | Unit | Type);
        fields.push(Field::new(column.name(), type_of(column), is_nullable));
    }
    Arc::new(Schema::new(fields))
}

/// A column of a block of rows, which is split into batches.
pub(crate) enum BlockColumn {
    /// Distinct values, and the runs of rows with the same value. `at` is the current run, of which `left` rows remain.
    Runs { dictionary: ArrayRef, runs: Vec<(Option<u32>, usize)>, at: usize, left: usize },
    /// A number per row. Batches get copies instead of slices, because memory is accounted per buffer, and slices would
    /// share the buffer of the block.
    Numbers { column: RowColumn, numbers: Numbers },
    /// The date of each time.
    Dates(Numbers),
}

impl BlockColumn {
    /// A column of a block.
    pub(crate) fn new(column: RowColumn, values: ColumnValues) -> Self {
        match values {
            ColumnValues::Texts(texts) => {
                // DataFusion keeps the texts of many blocks in memory when it sorts, so unused capacity is released.
                let dictionary = StringViewArray::from_iter_values(&texts.dictionary).gc();
                Self::from_runs(Arc::new(dictionary), texts)
            }
            ColumnValues::Doubles(doubles) => {
                let dictionary = Float64Array::from_iter_values(doubles.dictionary.iter().copied());
                Self::from_runs(Arc::new(dictionary), doubles)
            }
            ColumnValues::Numbers(numbers) => Self::Numbers { column, numbers },
        }
    }

    fn from_runs<T>(dictionary: ArrayRef, Runs { runs, .. }: Runs<T>) -> Self {
        let left = runs.first().map_or(0, |(_, len)| *len);
        Self::Runs { dictionary, runs, at: 0, left }
    }

    /// The same value for all rows.
    pub(crate) fn constant(value: ArrayRef, rows: usize) -> Self {
        Self::Runs { dictionary: value, runs: vec![(Some(0), rows)], at: 0, left: rows }
    }

    /// The values of the next rows. Ranges must be consecutive.
    pub(crate) fn next(&mut self, rows: Range<usize>) -> Result<ArrayRef> {
        match self {
            Self::Numbers { column, numbers } => Ok(match copy_rows(numbers, rows.clone()) {
                Some(numbers) => array_of_numbers(*column, numbers),
                None => new_null_array(&type_of(*column), rows.len()),
            }),
            Self::Dates(times) => Ok(copy_rows(times, rows.clone())
                .map_or_else(|| new_null_array(&DataType::Date32, rows.len()), dates_of)),
            Self::Runs { dictionary, runs, at, left } => {
                let mut indexes: Vec<u32> = Vec::with_capacity(rows.len());
                let mut nulls: Option<Vec<bool>> = None;
                while indexes.len() < rows.len() {
                    if *left == 0 {
                        *at += 1;
                        let Some((_, len)) = runs.get(*at) else { break };
                        *left = *len;
                        continue;
                    }
                    let taken = (*left).min(rows.len() - indexes.len());
                    let index = runs[*at].0;
                    if index.is_none() && nulls.is_none() {
                        nulls = Some(vec![true; indexes.len()]);
                    }
                    indexes.resize(indexes.len() + taken, index.unwrap_or(0));
                    if let Some(nulls) = &mut nulls {
                        nulls.resize(indexes.len(), index.is_some());
                    }
                    *left -= taken;
                }
                let indexes = UInt32Array::new(indexes.into(), nulls.map(NullBuffer::from));
                Ok(take(dictionary.as_ref(), &indexes, None)?)
            }
        }
    }
}

/// A copy of the numbers of some rows; `None` if there are no numbers.
fn copy_rows(numbers: &Numbers, rows: Range<usize>) -> Option<Numbers> {
    let present = match &numbers.present {
        Present::None => return None,
        Present::All => Present::All,
        Present::Some(present) => Present::Some(present.get(rows.clone())?.to_vec()),
    };
    Some(Numbers { values: numbers.values.get(rows)?.to_vec(), present })
}

fn array_of_numbers(column: RowColumn, Numbers { values, present }: Numbers) -> ArrayRef {
    let nulls = match present {
        Present::Some(present) => Some(NullBuffer::from(present)),
        Present::All | Present::None => None,
    };
    match column {
        RowColumn::Time => {
            Arc::new(TimestampMicrosecondArray::new(values.into(), nulls).with_timezone("UTC"))
        }
        RowColumn::Value => {
            let doubles: Vec<f64> = values.iter().map(|&bits| f64::from_bits(bits.cast_unsigned())).collect();
            Arc::new(Float64Array::new(doubles.into(), nulls))
        }
        RowColumn::MultiCount => {
            let numbers: Vec<i32> = values.iter().map(|&number| number as i32).collect();
            Arc::new(Int32Array::new(numbers.into(), nulls))
        }
        _ => Arc::new(Int64Array::new(values.into(), nulls)),
    }
}

/// A block of rows that is emitted in batches.
pub(crate) struct Block {
    schema: SchemaRef,
    columns: Vec<BlockColumn>,
    rows: usize,
    /// The index of the next row.
    next: usize,
}

impl Block {
    /// A block with these columns, in the order of the schema.
    pub(crate) fn new(schema: SchemaRef, columns: Vec<BlockColumn>, rows: usize) -> Self {
        Self { schema, columns, rows, next: 0 }
    }

    /// The next batch, of at most `max_rows` rows; `None` at the end.
    pub(crate) fn next_batch(&mut self, max_rows: usize) -> Option<Result<RecordBatch>> {
        let rows = self.next..self.rows.min(self.next + max_rows.max(1));
        if rows.is_empty() {
            return None;
        }
        self.next = rows.end;
        let columns: Result<Vec<_>> =
            self.columns.iter_mut().map(|column| column.next(rows.clone())).collect();
        Some(columns.and_then(|columns| {
            let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
            Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
        }))
    }
}

/// A text column with one row.
pub(crate) fn one_text(text: &str) -> ArrayRef {
    Arc::new(StringViewArray::from_iter_values([text]))
}

/// The dates of times.
fn dates_of(times: Numbers) -> ArrayRef {
    const DAY: i64 = 86_400_000_000;
    Arc::new(Date32Array::from_iter_values(times.values.iter().map(|time| time.div_euclid(DAY) as i32)))
}

/// A date column with one row: the date of a time.
pub(crate) fn one_date(time: i64) -> ArrayRef {
    dates_of(Numbers { values: vec![time], present: Present::All })
}

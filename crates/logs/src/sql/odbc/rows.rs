//! Rows of a query's result.

use odbc_api::buffers::{BufferDesc, ColumnarDynBuffer, NullableSlice, TextColumnSlice};
use odbc_api::{DataType, Error, ResultSetMetadata};

use crate::sql::database::SqlValue;

/// Maximum length of a text, in UTF-16 code units. Names have up to 1024 characters of one or two units.
pub(super) const MAX_TEXT: usize = 2048;

/// Maximum length of a number in digits.
const MAX_NUMBER: usize = 64;

/// Approximate size of the buffers of a result, in bytes.
const BUFFER_BYTES: usize = 2 << 20;

/// Maximum number of rows that are fetched at once.
const MAX_ROWS: usize = 1024;

/// How a column is read.
#[derive(Clone, Copy)]
enum Kind {
    Integer,
    Real,
    /// An exact number that may be too large for an integer; fetched as a text.
    Decimal,
    Text,
    /// Not read.
    Blob,
}

/// Converts fetched rows.
pub(super) struct Rows {
    kinds: Vec<Kind>,
    row: Vec<SqlValue>,
}

/// The fetched values of a column.
enum Column<'a> {
    Integers(NullableSlice<'a, i64>),
    Reals(NullableSlice<'a, f64>),
    Decimals(TextColumnSlice<'a, u16>),
    Texts(TextColumnSlice<'a, u16>),
    Blobs,
}

impl Rows {
    /// The columns of a result, and buffers for them.
    pub(super) fn of(cursor: &mut impl ResultSetMetadata) -> Result<(Self, ColumnarDynBuffer), Error> {
        let columns = u16::try_from(cursor.num_result_cols()?).unwrap_or(0);
        let mut kinds = Vec::with_capacity(columns.into());
        let mut descriptions = Vec::with_capacity(columns.into());
        for column in 1..=columns {
            let (kind, description) = of_type(cursor.col_data_type(column)?);
            kinds.push(kind);
            descriptions.push((column, description));
        }
        let bytes: usize = descriptions.iter().map(|(_, description)| description.bytes_per_row()).sum();
        let rows = (BUFFER_BYTES / bytes.max(1)).clamp(1, MAX_ROWS);
        let buffer = ColumnarDynBuffer::from_descs_and_indices(rows, descriptions.into_iter());
        Ok((Self { kinds, row: Vec::new() }, buffer))
    }

    /// Passes each fetched row to `each`. If `each` returns false, stops and returns false.
    pub(super) fn pass(
        &mut self,
        fetched: &ColumnarDynBuffer,
        each: &mut dyn FnMut(&[SqlValue]) -> bool,
    ) -> bool {
        let column = |(index, kind): (usize, &Kind)| {
            let column = fetched.column(index);
            let column = match kind {
                Kind::Integer => column.as_nullable_slice::<i64>().map(Column::Integers),
                Kind::Real => column.as_nullable_slice::<f64>().map(Column::Reals),
                Kind::Decimal => column.as_wide_text().map(Column::Decimals),
                Kind::Text => column.as_wide_text().map(Column::Texts),
                Kind::Blob => None,
            };
            column.unwrap_or(Column::Blobs)
        };
        let columns: Vec<Column<'_>> = self.kinds.iter().enumerate().map(column).collect();
        (0..fetched.num_rows()).all(|row| {
            self.row.clear();
            self.row.extend(columns.iter().map(|column| column.value(row)));
            each(&self.row)
        })
    }
}

impl Column<'_> {
    fn value(&self, row: usize) -> SqlValue {
        match self {
            Self::Integers(integers) => {
                integers.get(row).map_or(SqlValue::Null, |value| SqlValue::Integer(*value))
            }
            Self::Reals(reals) => reals.get(row).map_or(SqlValue::Null, |value| SqlValue::Real(*value)),
            Self::Decimals(texts) => {
                texts.get(row).map_or(SqlValue::Null, |text| number(&String::from_utf16_lossy(text)))
            }
            Self::Texts(texts) => texts
                .get(row)
                .map_or(SqlValue::Null, |text| SqlValue::Text(String::from_utf16_lossy(text).into())),
            Self::Blobs => SqlValue::Blob,
        }
    }
}

/// A number that was fetched as a text.
fn number(text: &str) -> SqlValue {
    let digits = text.trim();
    let integer = digits.parse().map(SqlValue::Integer);
    integer.or_else(|_| digits.parse().map(SqlValue::Real)).unwrap_or_else(|_| SqlValue::from(text))
}

/// How to read a column of this type, and its buffer.
fn of_type(data_type: DataType) -> (Kind, BufferDesc) {
    match data_type {
        DataType::TinyInt | DataType::SmallInt | DataType::Integer | DataType::BigInt | DataType::Bit => {
            (Kind::Integer, BufferDesc::I64 { nullable: true })
        }
        DataType::Real | DataType::Float { .. } | DataType::Double => {
            (Kind::Real, BufferDesc::F64 { nullable: true })
        }
        DataType::Numeric { .. } | DataType::Decimal { .. } => {
            (Kind::Decimal, BufferDesc::WText { max_str_len: MAX_NUMBER })
        }
        DataType::Binary { .. } | DataType::Varbinary { .. } | DataType::LongVarbinary { .. } => {
            (Kind::Blob, BufferDesc::Binary { max_bytes: MAX_TEXT })
        }
        DataType::Char { length }
        | DataType::WChar { length }
        | DataType::Varchar { length }
        | DataType::WVarchar { length } => {
            // A character can take two code units.
            let units = length.map_or(MAX_TEXT, |length| length.get().saturating_mul(2).min(MAX_TEXT));
            (Kind::Text, BufferDesc::WText { max_str_len: units })
        }
        // Times, GUIDs, texts without a maximum length, and all others.
        _ => (Kind::Text, BufferDesc::WText { max_str_len: MAX_TEXT }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_numbers_are_integers_if_possible() {
        assert_eq!(number("12"), SqlValue::Integer(12));
        assert_eq!(number(" -9223372036854775808 "), SqlValue::Integer(i64::MIN));
        assert_eq!(number("1.5"), SqlValue::Real(1.5));
        assert_eq!(number("x"), SqlValue::from("x"));
    }

    #[test]
    fn buffers_are_bounded() {
        let long = std::num::NonZeroUsize::new(usize::MAX);
        for data_type in [
            DataType::Varchar { length: long },
            DataType::LongVarchar { length: long },
            DataType::Varbinary { length: long },
            DataType::Unknown,
        ] {
            assert!(of_type(data_type).1.bytes_per_row() <= MAX_TEXT * 2 + 16, "{data_type:?}");
        }
    }
}

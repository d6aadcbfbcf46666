//! A prepared statement that inserts rows, with the buffers of its parameters.

use odbc_api::buffers::BoxColumnBuffer;
use odbc_api::handles::StatementConnection;
use odbc_api::parameter::WithDataType;
use odbc_api::{BindParamDesc, ColumnarBulkInserter, Prepared, SharedConnection};

use super::failure::failed;
use crate::LogError;
use crate::sql::database::SqlValue;

type Statement = StatementConnection<SharedConnection<'static>>;

/// A prepared statement. Its parameters are bound once; their buffers have one row.
///
/// The values of several rows are parameters of a single statement, not an array of parameters for a statement that inserts one
/// row. A single statement inserts either all rows or none, and drivers execute it faster.
pub(super) struct Inserter {
    statement: ColumnarBulkInserter<Statement, WithDataType<BoxColumnBuffer>>,
    /// A reused buffer for a text in UTF-16.
    text: Vec<u16>,
}

impl Inserter {
    /// Binds buffers for values with these types, and texts of at most these lengths.
    pub(super) fn new(prepared: Prepared<Statement>, values: &[SqlValue]) -> Result<Self, LogError> {
        let description = |value: &SqlValue| match value {
            SqlValue::Integer(_) => Ok(BindParamDesc::i64(false)),
            SqlValue::Real(_) => Ok(BindParamDesc::f64(false)),
            SqlValue::Text(text) => Ok(BindParamDesc::wide_text(text.encode_utf16().count().max(1))),
            SqlValue::Null | SqlValue::Blob => Err(wrong_type()),
        };
        let descriptions = values.iter().map(description).collect::<Result<Vec<_>, _>>()?;
        let mut statement =
            prepared.into_column_inserter(1, descriptions).map_err(|error| failed(error, None))?;
        statement.set_num_rows(1);
        Ok(Self { statement, text: Vec::new() })
    }

    /// Inserts rows.
    pub(super) fn insert(&mut self, values: &[SqlValue]) -> Result<(), LogError> {
        for (index, value) in values.iter().enumerate() {
            let buffer = self.statement.column_mut(index);
            match value {
                SqlValue::Integer(integer) => {
                    *buffer.as_slice::<i64>().and_then(<[i64]>::first_mut).ok_or_else(wrong_type)? = *integer;
                }
                SqlValue::Real(real) => {
                    *buffer.as_slice::<f64>().and_then(<[f64]>::first_mut).ok_or_else(wrong_type)? = *real;
                }
                SqlValue::Text(text) => {
                    self.text.clear();
                    self.text.extend(text.encode_utf16());
                    let mut buffer = buffer.as_wide_text().ok_or_else(wrong_type)?;
                    buffer
                        .ensure_max_element_length(self.text.len(), 0)
                        .map_err(|error| failed(error, None))?;
                    buffer.set_cell(0, Some(&self.text));
                }
                SqlValue::Null | SqlValue::Blob => return Err(wrong_type()),
            }
        }
        self.statement.execute().map(drop).map_err(|error| failed(error, None))
    }
}

fn wrong_type() -> LogError {
    LogError::unsupported("the rows of CounterData have other types than before")
}

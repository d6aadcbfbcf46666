//! JSON lines: an object per row.

use std::io::{self, Write};

use datafusion::arrow::array::{Array, ArrayRef, AsArray as _, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, UInt64Type};
use serde_json::Value;

use super::text::{Cell, Cells};

/// Writes the rows of a batch. Missing values are `null`.
pub(super) fn write(out: &mut impl Write, batch: &RecordBatch) -> io::Result<()> {
    let cells = Cells::new(batch).map_err(io::Error::other)?;
    let names: Vec<String> =
        batch.schema().fields().iter().map(|field| Value::from(field.name().as_str()).to_string()).collect();
    let integers: Vec<Option<ArrayRef>> = batch.columns().iter().map(integers).collect();
    for row in 0..batch.num_rows() {
        let mut separator = "{";
        for ((name, cell), integers) in names.iter().zip(cells.columns()).zip(&integers) {
            write!(out, "{separator}{name}:{}", value(cell, integers.as_ref(), row))?;
            separator = ",";
        }
        out.write_all(if names.is_empty() { b"{}\n" } else { b"}\n" })?;
    }
    Ok(())
}

/// Casts a column of integers to 64 bits; `None` for other columns.
fn integers(array: &ArrayRef) -> Option<ArrayRef> {
    match array.data_type() {
        DataType::UInt64 => Some(ArrayRef::clone(array)),
        data_type if data_type.is_integer() => cast(array, &DataType::Int64).ok(),
        _ => None,
    }
}

fn value(cell: &Cell<'_>, integers: Option<&ArrayRef>, row: usize) -> Value {
    if let Some(integers) = integers {
        return match integers.data_type() {
            _ if integers.is_null(row) => Value::Null,
            DataType::UInt64 => integers.as_primitive::<UInt64Type>().value(row).into(),
            _ => integers.as_primitive::<Int64Type>().value(row).into(),
        };
    }
    match cell {
        // NaN and infinite values become `null`.
        Cell::Double(array) => array.is_valid(row).then(|| array.value(row)).into(),
        Cell::Single(array) => array.is_valid(row).then(|| f64::from(array.value(row))).into(),
        Cell::Other(array, ..) if *array.data_type() == DataType::Boolean => {
            array.is_valid(row).then(|| array.as_boolean().value(row)).into()
        }
        cell => cell.text(row).into(),
    }
}

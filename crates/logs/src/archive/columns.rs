//! The columns of the table.

use super::parquet::{Column, NumberEncoding, PhysicalType};

/// The columns, in the order of the file.
pub(super) const COLUMNS: [Column; 16] = {
    const fn column(name: &'static str, physical_type: PhysicalType) -> Column {
        let numbers = NumberEncoding::Plain;
        Column { name, physical_type, is_optional: false, has_statistics: false, numbers }
    }
    const fn optional(column: Column) -> Column {
        Column { is_optional: true, ..column }
    }
    const fn split(column: Column) -> Column {
        Column { numbers: NumberEncoding::Split, ..column }
    }
    const fn dictionary(column: Column) -> Column {
        Column { numbers: NumberEncoding::Dictionary, ..column }
    }
    const fn with_statistics(column: Column) -> Column {
        Column { has_statistics: true, ..column }
    }
    use PhysicalType::{Double, Int32, Int64, Text, Timestamp};
    [
        with_statistics(column("set", Text)),
        with_statistics(column("counter", Text)),
        optional(column("parent", Text)),
        with_statistics(optional(column("instance", Text))),
        // All series have the same times, and most of them the same time differences.
        dictionary(with_statistics(column("time", Timestamp))),
        // Bytes of equal significance are similar, so splitting saves 8 % of space.
        split(optional(column("num", Int64))),
        dictionary(optional(column("den", Int64))),
        optional(column("value", Double)),
        column("kind", Text),
        column("factor", Double),
        column("unit", Text),
        column("type", Text),
        optional(column("raw_first", Int64)),
        optional(column("raw_second", Int64)),
        optional(column("multi_count", Int32)),
        optional(column("status", Text)),
    ]
};

/// The indexes of columns in [`COLUMNS`].
pub(super) mod column_index {
    pub(in super::super) const SET: usize = 0;
    pub(in super::super) const COUNTER: usize = 1;
    pub(in super::super) const PARENT: usize = 2;
    pub(in super::super) const INSTANCE: usize = 3;
    pub(in super::super) const TIME: usize = 4;
    pub(in super::super) const NUM: usize = 5;
    pub(in super::super) const DEN: usize = 6;
    pub(in super::super) const VALUE: usize = 7;
    pub(in super::super) const KIND: usize = 8;
    pub(in super::super) const FACTOR: usize = 9;
    pub(in super::super) const UNIT: usize = 10;
    pub(in super::super) const TYPE: usize = 11;
    pub(in super::super) const RAW_FIRST: usize = 12;
    pub(in super::super) const RAW_SECOND: usize = 13;
    pub(in super::super) const MULTI_COUNT: usize = 14;
    pub(in super::super) const STATUS: usize = 15;
}

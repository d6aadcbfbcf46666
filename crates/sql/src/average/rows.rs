//! The arguments of `average(*)`.

use std::ops::Range;

use datafusion::arrow::array::{
    Array, ArrayRef, Float64Array, Int32Array, Int64Array, StringViewArray, TimestampMicrosecondArray,
};
use datafusion::common::{Result, exec_datafusion_err, internal_datafusion_err};
use tachograph_counters::CounterType;
use tachograph_counters::set::is_identifier_name;
use tachograph_logs::archive::{RowAverage, RowNumbers, RowSums};

use super::group_state::RowKind;

/// The arguments of a batch.
pub(super) struct Rows<'a> {
    types: &'a StringViewArray,
    pub(super) factors: &'a Float64Array,
    nums: &'a Int64Array,
    dens: &'a Int64Array,
    values: &'a Float64Array,
    multi_counts: &'a Int32Array,
    times: &'a TimestampMicrosecondArray,
    units: &'a StringViewArray,
    counters: &'a StringViewArray,
    /// The type of the last row, with its string view, so that equal views are parsed once.
    last: Option<(u128, CounterType)>,
    /// Whether the last row is of an identifier, with the string view of its counter.
    last_counter: Option<(u128, bool)>,
}

pub(super) fn cast<T: 'static>(array: &ArrayRef) -> Result<&T> {
    let wrong =
        || internal_datafusion_err!("average: an argument has the unexpected type {}", array.data_type());
    array.downcast_ref_opt().ok_or_else(wrong)
}

/// Casts an array to its type.
trait Downcast {
    fn downcast_ref_opt<T: 'static>(&self) -> Option<&T>;
}

impl Downcast for ArrayRef {
    fn downcast_ref_opt<T: 'static>(&self) -> Option<&T> {
        self.as_any().downcast_ref::<T>()
    }
}

impl<'a> Rows<'a> {
    pub(super) fn new(values: &'a [ArrayRef]) -> Result<Self> {
        let [types, factors, nums, dens, values, multi_counts, times, units, counters] = values else {
            return Err(internal_datafusion_err!("average: called with {} arguments", values.len()));
        };
        Ok(Self {
            types: cast(types)?,
            factors: cast(factors)?,
            nums: cast(nums)?,
            dens: cast(dens)?,
            values: cast(values)?,
            multi_counts: cast(multi_counts)?,
            times: cast(times)?,
            units: cast(units)?,
            counters: cast(counters)?,
            last: None,
            last_counter: None,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.types.len()
    }

    /// The type of a row, which is not null.
    #[inline]
    fn counter_type(&mut self, row: usize) -> Result<CounterType> {
        let view = self.types.views()[row];
        if let Some((last, counter_type)) = self.last
            && last == view
        {
            return Ok(counter_type);
        }
        let name = self.types.value(row);
        let found = RowAverage::type_of(name);
        let counter_type =
            found.ok_or_else(|| exec_datafusion_err!("average: '{name}' is not a counter type"))?;
        self.last = Some((view, counter_type));
        Ok(counter_type)
    }

    /// The properties of a row with a type, which rows must have in common to be averaged.
    #[inline]
    fn kind(&mut self, row: usize) -> Result<RowKind<'a>> {
        let counter_type = self.counter_type(row)?;
        let unit = if self.units.is_valid(row) { self.units.value(row) } else { "" };
        Ok(RowKind { counter_type, unit, is_identifier: self.is_identifier(row) })
    }

    #[inline]
    fn is_identifier(&mut self, row: usize) -> bool {
        if self.counters.is_null(row) {
            return false;
        }
        let view = self.counters.views()[row];
        match self.last_counter {
            Some((last, is_identifier)) if last == view => is_identifier,
            _ => {
                let is_identifier = is_identifier_name(self.counters.value(row));
                self.last_counter = Some((view, is_identifier));
                is_identifier
            }
        }
    }

    /// The properties of a row with `num`, if the average depends only on sums.
    #[inline]
    pub(super) fn summed_kind(&mut self, row: usize) -> Result<Option<RowKind<'a>>> {
        if self.nums.is_null(row) || self.types.is_null(row) {
            return Ok(None);
        }
        let kind = self.kind(row)?;
        Ok(Some(kind).filter(|kind| RowAverage::is_summed(kind.counter_type) && !kind.is_identifier))
    }

    /// The end of the rows from `row` on that are in the same group, have the same counter, type, unit, factor and the multiplier
    /// 1, and have `num` and `den`, but no `value`; `row` if there are none.
    pub(super) fn end_of_run(&self, row: usize, groups: &[usize]) -> usize {
        let Some(&group) = groups.get(row) else { return row };
        let (view, factor) = (self.types.views()[row], self.factors.value(row).to_bits());
        let is_same = |texts: &StringViewArray, other: usize| {
            texts.views()[other] == texts.views()[row] && texts.is_valid(other) == texts.is_valid(row)
        };
        let is_in_run = |row: usize| {
            groups[row] == group
                && is_same(self.counters, row)
                && is_same(self.units, row)
                && self.types.is_valid(row)
                && self.types.views()[row] == view
                && self.factors.value(row).to_bits() == factor
                && (self.multi_counts.is_null(row) || self.multi_counts.value(row) == 1)
                && self.nums.is_valid(row)
                && self.dens.is_valid(row)
                && self.values.is_null(row)
        };
        (row..groups.len()).find(|&row| !is_in_run(row)).unwrap_or(groups.len())
    }

    /// The sums of rows that have `num` and `den`.
    pub(super) fn sums(&self, rows: Range<usize>) -> RowSums {
        let sum = |numbers: &[i64]| numbers.iter().map(|&number| i128::from(number)).sum();
        RowSums {
            num: sum(&self.nums.values()[rows.clone()]),
            den: sum(&self.dens.values()[rows.clone()]),
            count: rows.len() as u64,
        }
    }

    /// The properties and the numbers of a row; `None` for a row without a value.
    #[inline]
    pub(super) fn get(&mut self, row: usize) -> Result<Option<(RowKind<'a>, RowNumbers)>> {
        let (num, value) = (self.nums.is_valid(row), self.values.is_valid(row));
        if (!num && !value) || self.types.is_null(row) {
            return Ok(None);
        }
        let kind = self.kind(row)?;
        let numbers = RowNumbers {
            num: num.then(|| self.nums.value(row)),
            den: self.dens.is_valid(row).then(|| self.dens.value(row)),
            value: value.then(|| self.values.value(row)),
            factor: self.factors.value(row),
            multi_count: match self.multi_counts.is_valid(row) {
                true => self.multi_counts.value(row).cast_unsigned(),
                false => 1,
            },
            time: self.times.value(row),
        };
        Ok(Some((kind, numbers)))
    }
}

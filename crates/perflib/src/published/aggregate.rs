//! Aggregates the instances of a set. The counter's aggregate function is applied to raw values and raw bases, never to
//! formatted values.
//!
//! | function | result |
//! | --- | --- |
//! | total | the sum; 32-bit types wrap at 2^32 |
//! | average | the mean, rounded toward zero |
//! | minimum, maximum | the smallest or largest value |
//! | undefined | the sum |
//!
//! A base uses its own function or, if this is undefined, the function of its counter. An elapsed time has no sum or
//! mean; only the minimum or maximum of the start times is defined. The history (the combined values of ended
//! instances) is aggregated like an instance. If a counter's history is a sum, minimum and maximum ignore it.

use std::collections::HashMap;

use tachograph_counters::{Formula, RawValue, Size, Status};

use super::source::Source;
use crate::registration::{Aggregate, CounterInfo, CounterSetInfo};

/// The aggregate functions of a set's counters, in the order of registration.
#[derive(Debug)]
pub(super) struct Functions {
    /// One function per counter.
    by_position: Vec<Function>,
}

/// How a counter is aggregated.
#[derive(Clone, Copy, Debug)]
struct Function {
    /// Whether the counter's formula compares two samples, so that a new instance can affect the result.
    needs_two_samples: bool,
    /// The function for the value; `None` if the counter cannot be aggregated.
    value: Option<Aggregate>,
    /// The function for the base.
    base: Aggregate,
    /// Whether values are floating-point numbers.
    is_double: bool,
    /// Whether the counter type has 32 bits.
    is_dword: bool,
}

/// The aggregate of the values that were added to one column so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Accumulator {
    /// The number of values, including those of ended instances.
    count: i128,
    /// The first number of the raw value.
    first: i128,
    /// The first number, if it is a floating-point number.
    double: f64,
    /// The second number of the raw value, if it is a base.
    second: i128,
    /// The multiplier of a multi timer.
    multi_count: u32,
    /// The timestamp, if the second number is not a base.
    timestamp: Option<i64>,
    /// Whether a value is 64 bits wide even if the counter type has 32 bits.
    is_wide: bool,
    /// The status of a value that could not be read.
    error: Option<Status>,
}

impl Functions {
    pub(super) fn new(info: &CounterSetInfo) -> Self {
        let by_id: HashMap<u32, Aggregate> =
            info.counters.iter().rev().map(|counter| (counter.id, counter.aggregate)).collect();
        Self {
            by_position: info.counters.iter().map(|counter| Function::for_counter(counter, &by_id)).collect(),
        }
    }

    /// Whether a new instance makes the aggregate incomparable with earlier aggregates. Sums stay comparable: a new
    /// instance only adds its values.
    pub(super) fn are_reset_by_new_instances(&self) -> bool {
        let is_sum = |function: &Function| {
            let is_total = function.value.is_none_or(|value| value == Aggregate::Total);
            !function.needs_two_samples || is_total && function.base == Aggregate::Total
        };
        !self.by_position.iter().all(is_sum)
    }

    /// Adds the value of an instance, or the combined value of `history` ended instances.
    pub(super) fn push(
        &self,
        accumulator: &mut Accumulator,
        position: usize,
        source: &Source,
        raw: RawValue,
        history: Option<u64>,
    ) {
        let Some(function) = self.by_position.get(position) else { return };
        let Some(value) = function.value else { return };
        match raw.status {
            status if status.is_good() => {}
            // The value was never set.
            Status::NO_DATA => return,
            status => {
                accumulator.error = Some(status);
                return;
            }
        }
        let is_extreme = matches!(value, Aggregate::Minimum | Aggregate::Maximum);
        if history.is_some() && is_extreme && source.is_history_sum {
            return;
        }
        accumulator.is_wide |= source.is_wide();
        let is_first = accumulator.count == 0;
        accumulator.count += i128::from(history.unwrap_or(1));
        if function.is_double {
            accumulator.double = if is_first {
                raw.as_double()
            } else {
                function.combine_doubles(accumulator.double, raw.as_double())
            };
        } else {
            accumulator.first = combine(value, is_first, accumulator.first, raw.first.into());
        }
        if source.stamp_index().is_some() {
            accumulator.timestamp = Some(raw.second);
        } else {
            accumulator.second = combine(function.base, is_first, accumulator.second, raw.second.into());
        }
        accumulator.multi_count =
            if is_first { raw.multi_count } else { accumulator.multi_count.wrapping_add(raw.multi_count) };
    }

    /// The aggregate of the values that were added.
    pub(super) fn value(&self, accumulator: &Accumulator, position: usize) -> RawValue {
        let Some(function) = self.by_position.get(position) else { return RawValue::error(Status::NO_DATA) };
        let Some(value) = function.value else { return RawValue::error(Status::NO_INSTANCE) };
        if let Some(status) = accumulator.error {
            return RawValue::error(status);
        }
        if accumulator.count == 0 {
            return RawValue::error(Status::NO_DATA);
        }
        let mean =
            |function, sum: i128| if function == Aggregate::Average { sum / accumulator.count } else { sum };
        let (first, second) = (mean(value, accumulator.first), mean(function.base, accumulator.second));
        let mut raw = RawValue::new(first as i64, accumulator.timestamp.unwrap_or(second as i64));
        if function.is_dword && !accumulator.is_wide {
            raw.first &= i64::from(u32::MAX);
        }
        if function.is_double {
            let double = if value == Aggregate::Average {
                accumulator.double / accumulator.count as f64
            } else {
                accumulator.double
            };
            raw.first = double.to_bits() as i64;
        }
        raw.multi_count = accumulator.multi_count;
        raw
    }
}

impl Function {
    /// The function of a counter. `by_id` has the functions of the set's counters, by counter id.
    fn for_counter(counter: &CounterInfo, by_id: &HashMap<u32, Aggregate>) -> Self {
        let is_elapsed = counter.counter_type.formula() == Some(Formula::Elapsed);
        let value = match counter.aggregate {
            Aggregate::Undefined if is_elapsed => None,
            Aggregate::Total | Aggregate::Average if is_elapsed => None,
            Aggregate::Undefined => Some(Aggregate::Total),
            defined => Some(defined),
        };
        let base = match counter.base_id.or(counter.time_id).and_then(|id| by_id.get(&id)) {
            None | Some(Aggregate::Undefined) => value.unwrap_or(Aggregate::Total),
            Some(defined) => *defined,
        };
        Self {
            needs_two_samples: counter.counter_type.needs_two_samples(),
            value,
            base,
            is_double: counter.counter_type.formula() == Some(Formula::Double),
            is_dword: counter.counter_type.size() == Size::Dword,
        }
    }

    fn combine_doubles(&self, before: f64, value: f64) -> f64 {
        match self.value {
            Some(Aggregate::Minimum) => before.min(value),
            Some(Aggregate::Maximum) => before.max(value),
            _ => before + value,
        }
    }
}

fn combine(function: Aggregate, is_first: bool, before: i128, value: i128) -> i128 {
    match function {
        _ if is_first => value,
        Aggregate::Minimum => before.min(value),
        Aggregate::Maximum => before.max(value),
        _ => before + value,
    }
}

#[cfg(test)]
mod tests {
    use tachograph_counters::CounterType as T;
    use tachograph_shm::{CellKind, CounterInfo, CounterSetInfo};

    use super::super::source::Sources;
    use super::*;
    use crate::{Guid, registration::InstanceType};

    /// Aggregates these raw values and a history.
    fn aggregate(
        counter_type: T,
        function: Aggregate,
        cell: CellKind,
        values: &[(i64, i64)],
        history: Option<(u64, (i64, i64))>,
    ) -> RawValue {
        let mut info = CounterSetInfo::new("Shop", Guid::from_u128(1), InstanceType::MultipleAggregate);
        let mut counter = CounterInfo::new(1, "x", counter_type);
        counter.aggregate = function;
        counter.base_id = counter_type.base().map(|_| 2);
        info.counters.push(counter);
        info.counters.extend(counter_type.base().map(|base| CounterInfo::new(2, "b", base)));
        let set = tachograph_shm::Guid::from_u128(1);
        let mut description = CounterSetInfo::new("Shop", set, InstanceType::MultipleAggregate);
        for counter in &info.counters {
            let mut described = CounterInfo::new(counter.id, "x", counter.counter_type.0);
            described.base_id = counter.base_id;
            described.cell = if counter.id == 1 { cell } else { CellKind::None };
            description.counters.push(described);
        }
        let sources = Sources::new(&info, &description);
        let source = sources.get(0).expect("the counter");
        let functions = Functions::new(&info);
        let mut to = Accumulator::default();
        for &(first, second) in values {
            functions.push(&mut to, 0, source, RawValue::new(first, second), None);
        }
        if let Some((count, (first, second))) = history {
            functions.push(&mut to, 0, source, RawValue::new(first, second), Some(count));
        }
        functions.value(&to, 0)
    }

    #[test]
    fn each_function_combines_raw_values() {
        use Aggregate::*;
        let aggregate_values = |kind, function, values: &[i64]| {
            let values: Vec<_> = values.iter().map(|&value| (value, 7)).collect();
            aggregate(kind, function, CellKind::Plain, &values, None).first
        };
        for (kind, function, values, expected) in [
            (T::BULK_COUNT, Undefined, &[1, 2, 6][..], 9),
            (T::BULK_COUNT, Total, &[1, 2, 6], 9),
            (T::LARGE_RAWCOUNT, Average, &[1, 2, 7], 3),
            (T::LARGE_RAWCOUNT, Minimum, &[4, 2, 7], 2),
            (T::LARGE_RAWCOUNT, Maximum, &[4, 9, 7], 9),
            (T::LARGE_RAWCOUNT, Minimum, &[-4, 2], -4),
            (T::RAWCOUNT, Total, &[0xFFFF_FFFF, 2], 1),
            (T::BULK_COUNT, Total, &[i64::MAX, 1], i64::MIN),
        ] {
            assert_eq!(
                aggregate_values(kind, function, values),
                expected,
                "{kind:?} {function:?} {values:?}"
            );
        }
        let stamped = aggregate(T::BULK_COUNT, Average, CellKind::Plain, &[(1, 50), (2, 50)], None);
        assert_eq!(stamped.second, 50, "a time stamp is not averaged");
    }

    #[test]
    fn a_base_has_the_function_of_its_counter() {
        let values = [(30, 3), (10, 1)];
        let of = |function| {
            let raw = aggregate(T::AVERAGE_BULK, function, CellKind::Pair, &values, None);
            (raw.first, raw.second)
        };
        assert_eq!(of(Aggregate::Undefined), (40, 4));
        assert_eq!(of(Aggregate::Average), (20, 2));
        assert_eq!(of(Aggregate::Minimum), (10, 1));
        assert_eq!(of(Aggregate::Maximum), (30, 3));
    }

    #[test]
    fn the_history_of_ended_instances_is_aggregated() {
        let history = Some((2, (60, 6)));
        let of = |kind, function, cell| {
            let raw = aggregate(kind, function, cell, &[(30, 3)], history);
            (raw.first, raw.second)
        };
        assert_eq!(of(T::AVERAGE_BULK, Aggregate::Total, CellKind::Pair), (90, 9));
        assert_eq!(of(T::AVERAGE_BULK, Aggregate::Average, CellKind::Pair), (30, 3));
        assert_eq!(of(T::AVERAGE_BULK, Aggregate::Maximum, CellKind::Pair), (30, 3));
        assert_eq!(of(T::LARGE_RAWCOUNT, Aggregate::Maximum, CellKind::Plain).0, 60);
    }

    #[test]
    fn an_aggregate_of_no_values_is_an_error() {
        let empty = aggregate(T::LARGE_RAWCOUNT, Aggregate::Total, CellKind::Plain, &[], None);
        assert_eq!(empty.status, Status::NO_DATA);
        let elapsed = aggregate(T::ELAPSED_TIME, Aggregate::Total, CellKind::Plain, &[(1, 2)], None);
        assert_eq!(elapsed.status, Status::NO_INSTANCE, "elapsed times have no sum");
        let first = aggregate(T::ELAPSED_TIME, Aggregate::Minimum, CellKind::Plain, &[(5, 9), (3, 9)], None);
        assert_eq!((first.first, first.second), (3, 9));
    }
}

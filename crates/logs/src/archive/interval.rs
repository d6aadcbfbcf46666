//! The numbers of a row, which an interval adds to sums. Raw values can be restored from these numbers.

use tachograph_counters::set::Counter;
use tachograph_counters::{Calculator, CounterType, Formula, RawValue, Status};

/// The numbers that one raw value, or the interval that ends with it, adds to sums.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(super) struct IntervalNumbers {
    /// The numerator.
    pub(super) num: Option<i64>,
    /// The denominator.
    pub(super) den: Option<i64>,
    /// The displayed value, if displayed values are averaged or if `num` and `den` do not fit into 64 bits.
    pub(super) value: Option<f64>,
}

/// How the rows of a counter are combined into an average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `factor * sum(num) / sum(den)`.
    Ratio,
    /// `avg(value)`.
    Mean,
    /// `factor * (num - den)` of the last row.
    Elapsed,
    /// The counter has no displayed value.
    None,
}

impl Kind {
    pub(super) fn from_formula(formula: Option<Formula>) -> Self {
        match formula {
            None => Self::None,
            Some(Formula::Double | Formula::Fraction) => Self::Mean,
            Some(Formula::Elapsed) => Self::Elapsed,
            Some(_) => Self::Ratio,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ratio => "ratio",
            Self::Mean => "mean",
            Self::Elapsed => "elapsed",
            Self::None => "none",
        }
    }
}

/// The factor from `num / den` to the displayed unit.
pub(super) fn factor(counter_type: CounterType, time_base: i64) -> f64 {
    match counter_type.formula() {
        Some(Formula::Rate) => time_base as f64,
        Some(Formula::AverageTime | Formula::Elapsed) if time_base > 0 => 1.0 / time_base as f64,
        Some(Formula::AverageTime | Formula::Elapsed) => 0.0,
        Some(
            Formula::Percent | Formula::InversePercent | Formula::MultiPercent | Formula::MultiInversePercent,
        ) => 100.0,
        _ => 1.0,
    }
}

/// The name of a counter type in the column `type`: Windows' name, or the number of an unknown type.
pub(super) fn type_name(counter_type: CounterType) -> String {
    counter_type.name().map_or_else(|| format!("{:#010x}", counter_type.0), str::to_owned)
}

/// The values of the columns that are the same in all rows of a counter.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterFacts {
    /// How rows are combined (docs/archive.md).
    pub kind: &'static str,
    /// The factor from `num / den` to the displayed unit.
    pub factor: f64,
    /// Windows' name of the counter type, or its number.
    pub type_name: String,
}

/// The columns `kind`, `factor` and `type` of a counter.
pub fn counter_facts(counter: &Counter) -> CounterFacts {
    let counter_type = counter.counter_type;
    CounterFacts {
        kind: Kind::from_formula(counter_type.formula()).name(),
        factor: factor(counter_type, counter.time_base),
        type_name: type_name(counter_type),
    }
}

/// The numbers that `newer`, or the interval from `older` to `newer`, adds to sums. Empty for errors.
#[inline]
pub(super) fn interval_numbers(
    calculator: &Calculator,
    older: Option<&RawValue>,
    newer: &RawValue,
) -> IntervalNumbers {
    let (Some(formula), Ok(terms)) = (calculator.formula(), calculator.terms(older, newer)) else {
        return IntervalNumbers::default();
    };
    let (n, d) = (i64::try_from(terms.numerator).ok(), i64::try_from(terms.denominator).ok());
    let numbers = match formula {
        Formula::Double | Formula::Fraction => {
            return IntervalNumbers { num: None, den: Some(1), value: Some(terms.formatted) };
        }
        // Signed, as in the formula.
        Formula::Value => Some((newer.first, 1)),
        Formula::Delta => n.zip(Some(1)),
        Formula::Elapsed => {
            let (clock, start) = elapsed_numbers(newer);
            // In version 1, the denominator of an elapsed time was 1.
            let is_distinct = start != 1 && clock.checked_sub(start).is_some();
            is_distinct.then_some((clock, start))
        }
        Formula::Rate | Formula::Percent | Formula::AverageTime | Formula::Ratio => n.zip(d),
        Formula::InversePercent | Formula::MultiPercent | Formula::MultiInversePercent => {
            let (n, d) = (i128::from(terms.numerator), i128::from(terms.denominator));
            let multiplied = d * i128::from(newer.multi_count);
            let (num, den) = match formula {
                Formula::InversePercent => (d - n, d),
                Formula::MultiPercent => (n, multiplied),
                _ => (multiplied - n, d),
            };
            i64::try_from(num).ok().zip(i64::try_from(den).ok())
        }
    };
    match numbers {
        Some((num, den)) => IntervalNumbers { num: Some(num), den: Some(den), value: None },
        None => IntervalNumbers { num: None, den: None, value: Some(terms.formatted) },
    }
}

/// The clock and the start of an elapsed time. The clock has the same ticks in all rows of a sample, and the start in all rows
/// of an instance, so both compress well, unlike their difference.
fn elapsed_numbers(raw: &RawValue) -> (i64, i64) {
    // A start of 0 means "not started", and nothing has elapsed.
    (raw.second, if raw.first == 0 { raw.second } else { raw.first })
}

/// The elapsed ticks of a row; `None` if they do not fit into 64 bits. In version 1, `num` has them, and `den` is 1.
#[inline]
pub(super) fn elapsed_ticks(num: i64, den: i64) -> Option<i64> {
    if den == 1 { Some(num) } else { num.checked_sub(den) }
}

/// Restores a raw value from a row and the previous raw value of its series. Rows for which the result would be wrong
/// also store the raw value.
#[inline]
pub(super) fn restore(
    formula: Option<Formula>,
    previous: &RawValue,
    interval: &IntervalNumbers,
    multi_count: u32,
    status: Status,
) -> RawValue {
    let (first, second) = restore_numbers(formula, previous, interval, multi_count, status);
    RawValue { first, second, multi_count, status }
}

#[inline]
fn restore_numbers(
    formula: Option<Formula>,
    previous: &RawValue,
    interval: &IntervalNumbers,
    multi_count: u32,
    status: Status,
) -> (i64, i64) {
    if status.is_error() {
        return (0, 0);
    }
    let unchanged = (previous.first, previous.second);
    let Some(formula) = formula else { return unchanged };
    if let (Formula::Double, Some(value)) = (formula, interval.value) {
        return (value.to_bits() as i64, 0);
    }
    let (Some(num), Some(den)) = (interval.num, interval.den) else { return unchanged };
    let multiplier = i64::from(multi_count);
    let after = |n: i64, d: i64| (previous.first.wrapping_add(n), previous.second.wrapping_add(d));
    match formula {
        Formula::Rate | Formula::Percent | Formula::AverageTime | Formula::Ratio => after(num, den),
        Formula::Value => (num, 0),
        // The second number of these types does not affect the value; it is a clock, or 0.
        Formula::Delta => (previous.first.wrapping_add(num), previous.second),
        // Version 1.
        Formula::Elapsed if den == 1 => (previous.first, previous.first.wrapping_add(num)),
        Formula::Elapsed if num == den => (0, num),
        Formula::Elapsed => (den, num),
        Formula::InversePercent => after(den.wrapping_sub(num), den),
        Formula::MultiPercent => after(num, den.checked_div(multiplier).unwrap_or_default()),
        Formula::MultiInversePercent => after(den.wrapping_mul(multiplier).wrapping_sub(num), den),
        Formula::Double | Formula::Fraction => unchanged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn raw() -> impl Strategy<Value = RawValue> {
        let number = || prop_oneof![0..1000i64, any::<i64>()];
        (number(), number(), 0..4u32)
            .prop_map(|(first, second, multi_count)| RawValue { multi_count, ..RawValue::new(first, second) })
    }

    proptest! {
        /// `num` and `den` give the displayed value of each interval, for all types.
        #[test]
        fn num_and_den_give_the_displayed_value(older in raw(), newer in raw()) {
            for counter_type in CounterType::all() {
                let calculator = Calculator::new(counter_type, 1000);
                let found = interval_numbers(&calculator, Some(&older), &newer);
                let expected = calculator.terms(Some(&older), &newer).ok().map(|terms| terms.formatted);
                let factor = factor(counter_type, 1000);
                let value = match (found.value, found.num, found.den) {
                    (Some(value), _, _) => Some(value),
                    (None, Some(num), Some(den)) if calculator.formula() == Some(Formula::Elapsed) => {
                        elapsed_ticks(num, den).map(|ticks| factor * ticks as f64)
                    }
                    (None, Some(_), Some(0)) => Some(0.0),
                    (None, Some(num), Some(den)) => Some(factor * num as f64 / den as f64),
                    _ => None,
                };
                let inverse = counter_type.is_inverse();
                let value = value.map(|value| if inverse { value.max(0.0) } else { value });
                match (value, expected) {
                    (Some(value), Some(expected)) => {
                        let scale = expected.abs().max(factor.abs()).max(1.0);
                        prop_assert!((value - expected).abs() <= 1e-9 * scale, "{counter_type:?} {found:?} {expected}");
                    }
                    (value, expected) => prop_assert_eq!(value, expected, "{:?}", counter_type),
                }
            }
        }

        /// Most raw values are restored from their rows, so they need not be stored.
        #[test]
        fn steady_values_are_restored(older in raw(), n in 0..1000i64, d in 1..1000i64) {
            for counter_type in CounterType::all() {
                let calculator = Calculator::new(counter_type, 1000);
                let formula = calculator.formula();
                let needs_two = formula.is_some_and(Formula::needs_two_samples);
                prop_assume!(older.first < i64::MAX - 1000 && older.second < i64::MAX - 1000);
                if !needs_two || formula == Some(Formula::Delta) || older.multi_count == 0 {
                    continue;
                }
                let newer = RawValue {
                    first: older.first + n,
                    second: older.second + d,
                    ..older
                };
                let row = interval_numbers(&calculator, Some(&older), &newer);
                let restored = restore(formula, &older, &row, newer.multi_count, newer.status);
                prop_assert_eq!(restored, newer, "{:?}", counter_type);
            }
        }
    }
}

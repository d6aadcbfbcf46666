//! Averages rows by the formula of their counter type.

use tachograph_counters::civil::FileTime;
use tachograph_counters::{Average, CounterType, DifferenceSums, Formula};

use super::interval::{elapsed_ticks, type_name};

/// The numbers of a row from which averages are computed (docs/archive.md).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowNumbers {
    /// The numerator.
    pub num: Option<i64>,
    /// The denominator.
    pub den: Option<i64>,
    /// The displayed value, for counter types whose average is the mean of displayed values.
    pub value: Option<f64>,
    /// The factor from `num / den` to the displayed unit.
    pub factor: f64,
    /// The multiplier of a multi timer.
    pub multi_count: u32,
    /// The time of the row: microseconds since 1970.
    pub time: i64,
}

/// Sums of rows of counters with the same factor and multiplier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowSums {
    /// The sum of the numerators.
    pub num: i128,
    /// The sum of the denominators.
    pub den: i128,
    /// The number of rows.
    pub count: u64,
}

/// The error of averaging counters with different formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MixedTypes {
    one: CounterType,
    other: CounterType,
}

impl std::fmt::Display for MixedTypes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "counters of the types {} and {} have no common average: select one counter, or add \"set\" and counter to GROUP BY",
            type_name(self.one),
            type_name(self.other)
        )
    }
}

impl std::error::Error for MixedTypes {}

/// Averages rows as `tacho stats` does. States can be merged.
#[derive(Clone, Debug)]
pub struct RowAverage {
    counter_type: CounterType,
    /// `None` for types without an average.
    average: Option<Average>,
}

impl RowAverage {
    /// Creates the average of no rows of this type.
    pub fn new(counter_type: CounterType) -> Self {
        Self { counter_type, average: counter_type.formula().map(Average::new) }
    }

    /// Adds a row of a counter of this type.
    ///
    /// # Errors
    ///
    /// When the type's formula differs from that of the previous rows.
    #[inline]
    pub fn add(&mut self, counter_type: CounterType, row: &RowNumbers) -> Result<(), MixedTypes> {
        self.check(counter_type)?;
        let Some(average) = &mut self.average else { return Ok(()) };
        let formula = average.formula();
        if let (Formula::Double | Formula::Fraction, Some(value)) = (formula, row.value) {
            average.add_displayed(value);
            return Ok(());
        }
        let (Some(num), Some(den)) = (row.num, row.den) else { return Ok(()) };
        if formula == Formula::Elapsed {
            if let Some(ticks) = elapsed_ticks(num, den) {
                average.add_elapsed(ticks, time_base(formula, row.factor), FileTime(row.time));
            }
            return Ok(());
        }
        let sums = RowSums { num: num.into(), den: den.into(), count: 1 };
        add_sums(average, &sums, row.factor, row.multi_count);
        Ok(())
    }

    /// Adds rows of a counter of this type with this factor and the multiplier 1, and without `value`. The type must be
    /// [summed](Self::is_summed).
    ///
    /// # Errors
    ///
    /// When the type's formula differs from that of the previous rows.
    #[inline]
    pub fn add_sums(
        &mut self,
        counter_type: CounterType,
        factor: f64,
        sums: &RowSums,
    ) -> Result<(), MixedTypes> {
        self.check(counter_type)?;
        if let Some(average) = self.average.as_mut().filter(|_| Self::is_summed(counter_type)) {
            add_sums(average, sums, factor, 1);
        }
        Ok(())
    }

    /// Whether the average of a counter type depends only on the sums of `num` and `den`.
    pub fn is_summed(counter_type: CounterType) -> bool {
        use Formula::{Double, Elapsed, Fraction};
        !matches!(counter_type.formula(), None | Some(Double | Fraction | Elapsed))
    }

    /// Adds another state.
    ///
    /// # Errors
    ///
    /// When `other` has another formula.
    pub fn merge(&mut self, other: &Self) -> Result<(), MixedTypes> {
        self.check(other.counter_type)?;
        if let (Some(average), Some(other)) = (&mut self.average, &other.average) {
            average.merge(other);
        }
        Ok(())
    }

    #[inline]
    fn check(&self, counter_type: CounterType) -> Result<(), MixedTypes> {
        match self.counter_type == counter_type || self.counter_type.formula() == counter_type.formula() {
            true => Ok(()),
            false => Err(MixedTypes { one: self.counter_type, other: counter_type }),
        }
    }

    /// The average; `None` if no row had a value.
    pub fn value(&self) -> Option<f64> {
        self.average.as_ref().and_then(Average::value)
    }

    /// Number of bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.average.as_ref().map_or(0, Average::heap_bytes)
    }

    /// Appends the state in the form that [`decode`](Self::decode) reads.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.counter_type.0.to_le_bytes());
        self.average.iter().for_each(|average| average.encode(out));
    }

    /// Reads a state that [`encode`](Self::encode) wrote; `None` if the bytes are not a valid state.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (counter_type, state) = bytes.split_at_checked(4)?;
        let counter_type = CounterType(u32::from_le_bytes(*counter_type.first_chunk()?));
        let average = match counter_type.formula() {
            Some(formula) => Some(Average::decode(formula, state)?),
            None => None,
        };
        Some(Self { counter_type, average })
    }

    /// The counter type with this name in the column `type`.
    pub fn type_of(name: &str) -> Option<CounterType> {
        let number = || u32::from_str_radix(name.strip_prefix("0x")?, 16).ok().map(CounterType);
        CounterType::all().find(|counter_type| counter_type.name() == Some(name)).or_else(number)
    }
}

/// Adds rows with the same factor and multiplier.
#[inline]
fn add_sums(
    average: &mut Average,
    &RowSums { num: n, den: d, count }: &RowSums,
    factor: f64,
    multi_count: u32,
) {
    let formula = average.formula();
    let multiplier = i128::from(multi_count);
    let (numerator, denominator) = match formula {
        Formula::Double | Formula::Fraction | Formula::Elapsed => return,
        Formula::InversePercent => (d - n, d),
        // If the multiplier is 0, so is `den`.
        Formula::MultiPercent => (n, d.checked_div(multiplier).unwrap_or(0)),
        Formula::MultiInversePercent => (d * multiplier - n, d),
        Formula::Value
        | Formula::Delta
        | Formula::Rate
        | Formula::Percent
        | Formula::AverageTime
        | Formula::Ratio => (n, d),
    };
    average.add(&DifferenceSums {
        numerator,
        denominator,
        count,
        time_base: time_base(formula, factor),
        multi_count,
    });
}

/// The time base from which [`factor`](super::interval::factor) computed the factor.
#[inline]
fn time_base(formula: Formula, factor: f64) -> i64 {
    match formula {
        Formula::Rate => factor as i64,
        // The error of the reciprocal is less than 1 for time bases up to 2^52.
        Formula::AverageTime | Formula::Elapsed => (1.0 / factor).round() as i64,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::interval::{factor, interval_numbers};
    use super::*;
    use proptest::prelude::*;
    use tachograph_counters::civil::Moment;
    use tachograph_counters::{Calculator, Intervals, RawValue, Statistics};

    #[test]
    fn types_are_found_by_name() {
        for counter_type in CounterType::all().chain([CounterType(0x1234)]) {
            assert_eq!(RowAverage::type_of(&type_name(counter_type)), Some(counter_type));
        }
        assert_eq!(RowAverage::type_of("PERF_NONE"), None);
    }

    proptest! {
        #[test]
        fn time_bases_follow_from_factors(time_base in 1..1i64 << 50) {
            for counter_type in CounterType::all().filter(|known| known.formula().is_some_and(Formula::uses_time_base)) {
                let formula = counter_type.formula().expect("a formula");
                prop_assert_eq!(super::time_base(formula, factor(counter_type, time_base)), time_base);
            }
        }

        /// The average of rows is bit-identical to the statistics of the raw values, even if the time base changes.
        #[test]
        fn averages_of_rows_equal_those_of_statistics(
            steps in prop::collection::vec((0..1i64 << 40, 0..1i64 << 40, 0..3u32), 2..30),
            time_bases in [1..20_000_000i64, 1..20_000_000i64],
            split in 0..30usize,
        ) {
            for counter_type in CounterType::all() {
                let mut statistics = Statistics::new(counter_type.formula(), Intervals::All, None);
                let mut averages = [RowAverage::new(counter_type), RowAverage::new(counter_type)];
                let mut older = RawValue::new(1 << 60, 1 << 61);
                for (at, &(first, second, multi_count)) in steps.iter().enumerate() {
                    let calculator = Calculator::new(counter_type, time_bases[usize::from(at > 10)]);
                    let mut newer = RawValue::new(older.first + first, older.second + second);
                    newer.multi_count = multi_count;
                    if counter_type.formula() == Some(Formula::Double) {
                        newer.first = (first as f64).to_bits() as i64;
                    }
                    let moment = Moment { utc: FileTime(at as i64), bias_minutes: 0 };
                    statistics.add(&calculator, Some(&older), &newer, moment);
                    let row = interval_numbers(&calculator, Some(&older), &newer);
                    let numbers = RowNumbers {
                        num: row.num,
                        den: row.den,
                        value: row.value,
                        factor: factor(counter_type, calculator.time_base()),
                        multi_count,
                        time: at as i64,
                    };
                    averages[usize::from(at < split)].add(counter_type, &numbers).expect("one type");
                    older = newer;
                }
                let [mut average, other] = averages;
                let mut bytes = Vec::new();
                other.encode(&mut bytes);
                average.merge(&RowAverage::decode(&bytes).expect("the encoded state")).expect("one type");
                let (found, expected) = (average.value(), statistics.summary().average);
                match counter_type.formula() {
                    Some(Formula::Double | Formula::Fraction) => {
                        let (found, expected) = (found.expect("a value"), expected.expect("a value"));
                        prop_assert!((found - expected).abs() <= 1e-12 * expected.abs());
                    }
                    // Rows with a multiplier of 0 do not store their differences.
                    Some(Formula::MultiPercent) if steps.iter().any(|step| step.2 == 0) => {}
                    _ => prop_assert_eq!(found.map(f64::to_bits), expected.map(f64::to_bits), "{:?}", counter_type),
                }
            }
        }
    }

    #[test]
    fn different_formulas_have_no_average() {
        let mut average = RowAverage::new(CounterType::BULK_COUNT);
        let error = average.merge(&RowAverage::new(CounterType::RAW_FRACTION)).expect_err("two formulas");
        assert!(error.to_string().contains("PERF_COUNTER_BULK_COUNT and PERF_RAW_FRACTION"), "{error}");
        assert!(average.merge(&RowAverage::new(CounterType::COUNTER_COUNTER)).is_ok());
    }
}

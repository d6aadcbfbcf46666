//! The standard deviation of the values of a counter, and their least-squares line.

use super::wide_integer::{BigInteger, Scaled, WideInteger};
use crate::civil::{FileTime, Moment};

/// The sums from which the standard deviation and the slope are computed. All are exact integers, so the results are
/// bit-identical for any split into time ranges and any order of merging, and nothing is lost when large sums cancel.
///
/// A double is an integer times 2^[`UNIT`]. The integers are wide enough for 2^63 values as large as
/// the largest double.
#[derive(Clone, Debug, Default)]
pub(super) struct Regression {
    count: u64,
    /// The sum of the times, in 100 ns.
    time_sum: i128,
    /// The sum of the squared times.
    squared_time_sum: WideInteger<3>,
    /// The sum of the values, in units of 2^[`UNIT`].
    value_sum: WideInteger<34>,
    /// The sum of the squared values, in units of 2^(2 * [`UNIT`]).
    squared_value_sum: WideInteger<67>,
    /// The sum of the products of time and value, in units of 100 ns * 2^[`UNIT`].
    product_sum: WideInteger<35>,
}

/// The exponent of the smallest double.
const UNIT: i32 = -1074;

/// The number of 100 ns units in an hour.
const HOUR: f64 = 3600.0 * FileTime::PER_SECOND as f64;

/// The number of stored bits of a double's fraction.
const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1;

impl Regression {
    /// Adds a value, which must be finite, and the end of its interval.
    #[inline]
    pub(super) fn add(&mut self, value: f64, at: Moment) {
        let time = at.utc.0;
        let distance = u128::from(time.unsigned_abs());
        self.count += 1;
        self.time_sum += i128::from(time);
        self.squared_time_sum.add(false, distance * distance, 0);
        if value == 0.0 {
            return;
        }
        let is_negative = value < 0.0;
        let bits = value.abs().to_bits();
        let (exponent, fraction) = ((bits >> FRACTION_BITS) as u32, bits & ((1 << FRACTION_BITS) - 1));
        // Numbers with an exponent of 0 have no implicit leading bit.
        let implicit = u64::from(exponent > 0) << FRACTION_BITS;
        let (magnitude, shift) = (u128::from(fraction | implicit), exponent.saturating_sub(1));
        self.value_sum.add(is_negative, magnitude, shift);
        self.squared_value_sum.add(false, magnitude * magnitude, 2 * shift);
        self.product_sum.add(is_negative != (time < 0), magnitude * distance, shift);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.time_sum += other.time_sum;
        self.squared_time_sum.merge(&other.squared_time_sum);
        self.value_sum.merge(&other.value_sum);
        self.squared_value_sum.merge(&other.squared_value_sum);
        self.product_sum.merge(&other.product_sum);
    }

    /// The standard deviation of a sample: the square root of the sum of squared distances from the mean divided by
    /// (n − 1), where n is the number of values. `None` with fewer than two values.
    pub(super) fn standard_deviation(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let values = self.value_sum.to_big();
        // n times the sum of the squared distances.
        let scatter =
            self.count().multiply(&self.squared_value_sum.to_big()).subtract(&values.multiply(&values));
        let Scaled { mut factor, mut exponent } = scatter.to_scaled();
        if exponent % 2 != 0 {
            (factor, exponent) = (2.0 * factor, exponent - 1);
        }
        let count = self.count as f64;
        let root = (factor / (count * (count - 1.0))).sqrt();
        to_finite(Scaled { factor: root, exponent: exponent / 2 + UNIT })
    }

    /// The slope of the least-squares line through the values, per hour. `None` if all values have the same
    /// time.
    pub(super) fn slope_per_hour(&self) -> Option<f64> {
        let times = BigInteger::from(self.time_sum);
        let scatter = self
            .count()
            .multiply(&self.squared_time_sum.to_big())
            .subtract(&times.multiply(&times))
            .to_scaled();
        if scatter.factor == 0.0 {
            return None;
        }
        // n times the sum of (time - mean time) * (value - mean value).
        let joint = self
            .count()
            .multiply(&self.product_sum.to_big())
            .subtract(&times.multiply(&self.value_sum.to_big()));
        let joint = joint.to_scaled();
        let factor = joint.factor / scatter.factor * HOUR;
        to_finite(Scaled { factor, exponent: joint.exponent - scatter.exponent + UNIT })
    }

    fn count(&self) -> BigInteger {
        BigInteger::from(i128::from(self.count))
    }
}

/// The number as a double; `None` if it is too large.
fn to_finite(scaled: Scaled) -> Option<f64> {
    Some(scaled.value()).filter(|value| value.is_finite())
}

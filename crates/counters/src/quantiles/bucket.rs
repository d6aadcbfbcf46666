//! Rounding values to seven significant binary digits.

/// A value rounded to 7 significant binary digits, half away from zero. The error is at most 1/128 of the value (0.78
/// %). Integers up to 128 are exact. Buckets are ordered like their values.
///
/// Magnitudes below 2^-40 are rounded to 0 or 2^-40, and those above 2^90 to 2^90, which limits the number of buckets.
/// The range covers all values of 64-bit counters (at most 2^63 per 100 ns).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bucket(i16);

/// The sign bit of the upper half of an `f64`. Only this half is used: the sign, 11 bits of exponent, and 20 of the 52
/// bits of the mantissa.
const SIGN: u32 = 1 << 31;
/// Number of bits of the mantissa that are rounded away. 6 of 20 remain, in addition to the leading 1, which is not
/// stored.
const DROPPED_BITS: u32 = 14;
/// Half a unit of the last remaining bit, which is added to round. A carry out of the mantissa correctly
/// increments the exponent.
const HALF: u32 = 1 << (DROPPED_BITS - 1);
/// The remaining bits (without the sign) of the largest magnitude that is rounded to 0. Bucket 1 is the bucket of
/// 2^-40, the next magnitude.
const BELOW_SMALLEST: i32 = ((1023 - 40) << 6) - 1;
/// The bucket of 2^90.
const LARGEST: i32 = ((1023 + 90) << 6) - BELOW_SMALLEST;

impl Bucket {
    /// The number of buckets: one for zero, and those of positive and negative values.
    pub(super) const COUNT: usize = 2 * LARGEST as usize + 1;

    /// The bucket of a finite value.
    #[inline(always)]
    pub(super) fn from_value(value: f64) -> Self {
        let upper = (value.to_bits() >> 32) as u32;
        let rounded = ((upper & !SIGN) + HALF) >> DROPPED_BITS;
        let magnitude = (rounded as i32 - BELOW_SMALLEST).clamp(0, LARGEST) as i16;
        Self(if upper & SIGN == 0 { magnitude } else { -magnitude })
    }

    /// Writes the buckets of finite values to `buckets`, as many as fit, and returns them.
    #[inline(always)]
    pub(super) fn from_values<'a>(values: &[f64], buckets: &'a mut [Self]) -> &'a [Self] {
        let count = values.len().min(buckets.len());
        let (values, buckets) = (&values[..count], &mut buckets[..count]);
        // Most values are positive and in the range, so this loop, which handles only such values, computes several buckets at a
        // time. `signs` becomes negative if there is any other value. An early exit would make the loop slow.
        let mut signs = 0;
        for (bucket, value) in buckets.iter_mut().zip(values) {
            let upper = (value.to_bits() >> 32) as u32;
            let magnitude = (upper.wrapping_add(HALF) >> DROPPED_BITS) as i32 - BELOW_SMALLEST;
            signs |= (magnitude - 1) | (LARGEST - magnitude);
            *bucket = Self(magnitude as i16);
        }
        if signs < 0 {
            buckets.iter_mut().zip(values).for_each(|(bucket, value)| *bucket = Self::from_value(*value));
        }
        buckets
    }

    /// The rounded value.
    pub(super) fn value(self) -> f64 {
        if self.0 == 0 {
            return 0.0;
        }
        let rounded = (i32::from(self.0.abs()) + BELOW_SMALLEST) as u32;
        let magnitude = f64::from_bits(u64::from(rounded << DROPPED_BITS) << 32);
        if self.0 < 0 { -magnitude } else { magnitude }
    }

    /// The lowest and the highest of `buckets`; `None` if there are no buckets.
    pub(super) fn range(buckets: &[Self]) -> Option<[Self; 2]> {
        // Two plain loops, which compare several buckets at a time.
        let lowest = buckets.iter().fold(i16::MAX, |low, bucket| low.min(bucket.0));
        let highest = buckets.iter().fold(i16::MIN, |high, bucket| high.max(bucket.0));
        (!buckets.is_empty()).then_some([Self(lowest), Self(highest)])
    }

    /// The number of buckets from a lower bucket to this one.
    #[inline(always)]
    pub(super) fn distance_from(self, lower: Self) -> usize {
        usize::from(self.0.wrapping_sub(lower.0) as u16)
    }

    /// The bucket that is `distance` buckets higher.
    pub(super) fn above(self, distance: usize) -> Self {
        Self(self.0.saturating_add_unsigned(distance as u16))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The smallest and the largest magnitude for which the relative error is limited.
    const RANGE: [f64; 2] = [1.0 / (1u64 << 40) as f64, (1u128 << 90) as f64];

    /// [`HALF`] in an `f64`.
    const HALF_BITS: u64 = (HALF as u64) << 32;

    fn assert_within_one_percent(value: f64) {
        for value in [value, -value] {
            let rounded = Bucket::from_value(value).value();
            assert!((rounded - value).abs() <= value.abs() / 128.0, "{rounded} for {value}");
        }
    }

    /// Within a bucket, the error grows with the distance from the rounded value, so the ends of the bucket are the
    /// worst case.
    #[test]
    fn both_ends_of_every_bucket_are_within_one_percent() {
        let mut values = 0;
        let mut rounded = RANGE[0];
        while rounded < RANGE[1] {
            let next = f64::from_bits(rounded.to_bits() + 2 * HALF_BITS);
            assert_eq!(Bucket::from_value(rounded).value(), rounded);
            let middle = f64::from_bits(rounded.to_bits() + HALF_BITS);
            assert_eq!(Bucket::from_value(middle.next_down()).value(), rounded);
            assert_eq!(Bucket::from_value(middle).value(), next);
            for value in [rounded, middle.next_down(), middle, next.next_down()] {
                assert_within_one_percent(value);
            }
            assert_eq!(Bucket::from_value(next).distance_from(Bucket::from_value(rounded)), 1);
            rounded = next;
            values += 1;
        }
        assert_eq!(values, 130 * 64);
    }

    #[test]
    fn small_integers_are_exact() {
        for integer in -128..=128 {
            assert_eq!(Bucket::from_value(f64::from(integer)).value(), f64::from(integer));
        }
    }

    #[test]
    fn magnitudes_outside_the_range_are_limited() {
        let [smallest, largest] = RANGE;
        for (value, expected) in [
            (0.0, 0.0),
            (f64::MIN_POSITIVE / 2.0, 0.0),
            (smallest * 0.99, 0.0),
            (largest * 1.01, largest),
            (f64::MAX, largest),
        ] {
            assert_eq!(
                (Bucket::from_value(value).value(), Bucket::from_value(-value).value()),
                (expected, -expected)
            );
        }
    }

    proptest! {
        #[test]
        fn any_value_is_within_one_percent(mantissa in 1.0..2.0, exponent in -40..90) {
            assert_within_one_percent(mantissa * 2f64.powi(exponent));
        }

        #[test]
        fn buckets_of_many_values_equal_those_of_single_values(
            values in prop::collection::vec(
                prop_oneof![9 => 0.0..1e9, 1 => any::<f64>().prop_filter("finite", |value| value.is_finite())],
                0..9,
            ),
        ) {
            let expected: Vec<_> = values.iter().copied().map(Bucket::from_value).collect();
            let mut buckets = [Bucket::default(); 8];
            prop_assert_eq!(Bucket::from_values(&values, &mut buckets), &expected[..values.len().min(8)]);
        }

        #[test]
        fn buckets_have_the_order_of_values(one in any::<f64>(), other in any::<f64>()) {
            prop_assume!(one.is_finite() && other.is_finite() && one <= other);
            prop_assert!(Bucket::from_value(one) <= Bucket::from_value(other));
            prop_assert!(Bucket::from_value(one).value() <= Bucket::from_value(other).value());
            prop_assert_eq!(Bucket::from_value(Bucket::from_value(one).value()), Bucket::from_value(one));
        }
    }
}

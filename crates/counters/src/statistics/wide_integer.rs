//! Integers of a fixed, large number of bits, in which sums of doubles are exact.

use std::cmp::Ordering;

/// A signed integer of `64 * LIMBS` bits in two's complement, with the least significant limb first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WideInteger<const LIMBS: usize>([u64; LIMBS]);

/// Number of limbs that a 128-bit magnitude takes when shifted by any number of bits.
const ADDEND_LIMBS: usize = 3;

impl<const LIMBS: usize> Default for WideInteger<LIMBS> {
    fn default() -> Self {
        Self([0; LIMBS])
    }
}

impl<const LIMBS: usize> WideInteger<LIMBS> {
    /// Adds `magnitude * 2^shift`, or subtracts it. The result must be in range.
    #[inline]
    pub(super) fn add(&mut self, is_negative: bool, magnitude: u128, shift: u32) {
        let (first, bits) = ((shift / 64) as usize, shift % 64);
        let low = magnitude << bits;
        let high = magnitude.checked_shr(128 - bits).unwrap_or(0);
        let addend: [u64; ADDEND_LIMBS] = [low as u64, (low >> 64) as u64, high as u64];
        let step = if is_negative { u64::overflowing_sub } else { u64::overflowing_add };
        let mut carry = false;
        for (index, limb) in self.0.iter_mut().skip(first).enumerate() {
            let part = addend.get(index).copied();
            if part.is_none() && !carry {
                break;
            }
            let (sum, overflows) = step(*limb, part.unwrap_or(0));
            let (sum, overflows_again) = step(sum, u64::from(carry));
            *limb = sum;
            carry = overflows || overflows_again;
        }
    }

    /// Adds another integer. The result must be in range.
    pub(super) fn merge(&mut self, other: &Self) {
        let mut carry = false;
        for (limb, part) in self.0.iter_mut().zip(&other.0) {
            let (sum, overflows) = limb.overflowing_add(*part);
            let (sum, overflows_again) = sum.overflowing_add(u64::from(carry));
            *limb = sum;
            carry = overflows || overflows_again;
        }
    }

    /// Converts the number to an integer of any size.
    pub(super) fn to_big(&self) -> BigInteger {
        let is_negative = self.0.last().is_some_and(|last| last >> 63 == 1);
        let mut magnitude = self.clone();
        if is_negative {
            magnitude.0.iter_mut().for_each(|limb| *limb = !*limb);
            magnitude.add(false, 1, 0);
        }
        BigInteger { is_negative, limbs: magnitude.0.to_vec() }
    }
}

/// An integer of any size: sign and magnitude, with the least significant limb first.
#[derive(Clone, Debug)]
pub(super) struct BigInteger {
    is_negative: bool,
    /// The 64-bit digits of the magnitude.
    limbs: Vec<u64>,
}

/// A number as a double times a power of two, since the double alone could overflow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scaled {
    pub(super) factor: f64,
    /// The exponent of the power of two.
    pub(super) exponent: i32,
}

impl BigInteger {
    pub(super) fn multiply(&self, other: &Self) -> Self {
        let mut limbs = vec![0u64; self.limbs.len() + other.limbs.len()];
        for (index, &one) in self.limbs.iter().enumerate() {
            let mut carry = 0u128;
            for (limb, &factor) in limbs[index..].iter_mut().zip(other.limbs.iter().chain([&0])) {
                let sum = u128::from(*limb) + u128::from(one) * u128::from(factor) + carry;
                *limb = sum as u64;
                carry = sum >> 64;
            }
        }
        Self { is_negative: self.is_negative != other.is_negative, limbs }
    }

    pub(super) fn subtract(&self, other: &Self) -> Self {
        let other_sign = !other.is_negative;
        if self.is_negative == other_sign {
            return Self { is_negative: other_sign, limbs: sum(&self.limbs, &other.limbs) };
        }
        match compare(&self.limbs, &other.limbs) {
            Ordering::Less => Self { is_negative: other_sign, limbs: difference(&other.limbs, &self.limbs) },
            _ => Self { is_negative: self.is_negative, limbs: difference(&self.limbs, &other.limbs) },
        }
    }

    /// The nearest double and its power of two. The relative error is below 2^-52.
    pub(super) fn to_scaled(&self) -> Scaled {
        let Some(last) = self.limbs.iter().rposition(|&limb| limb != 0) else {
            return Scaled { factor: 0.0, exponent: 0 };
        };
        let limb = |back: usize| last.checked_sub(back).map_or(0, |index| self.limbs[index]);
        let bits = self.limbs[last].leading_zeros();
        let high = (u128::from(limb(0)) << 64 | u128::from(limb(1))) << bits;
        let top = high | (u128::from(limb(2)) << bits) >> 64;
        let magnitude = top as f64;
        let factor = if self.is_negative { -magnitude } else { magnitude };
        Scaled { factor, exponent: 64 * (last as i32 - 1) - bits as i32 }
    }
}

impl From<i128> for BigInteger {
    fn from(number: i128) -> Self {
        let magnitude = number.unsigned_abs();
        Self { is_negative: number < 0, limbs: vec![magnitude as u64, (magnitude >> 64) as u64] }
    }
}

fn limb_at(limbs: &[u64], index: usize) -> u64 {
    limbs.get(index).copied().unwrap_or(0)
}

fn compare(one: &[u64], other: &[u64]) -> Ordering {
    let indexes = (0..one.len().max(other.len())).rev();
    let orders = indexes.map(|index| limb_at(one, index).cmp(&limb_at(other, index)));
    orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn sum(one: &[u64], other: &[u64]) -> Vec<u64> {
    let mut carry = false;
    let limbs = (0..=one.len().max(other.len())).map(|index| {
        let (sum, overflows) = limb_at(one, index).overflowing_add(limb_at(other, index));
        let (sum, overflows_again) = sum.overflowing_add(u64::from(carry));
        carry = overflows || overflows_again;
        sum
    });
    limbs.collect()
}

/// `large - small`, which must not be negative.
fn difference(large: &[u64], small: &[u64]) -> Vec<u64> {
    let mut borrow = false;
    let limbs = (0..large.len().max(small.len())).map(|index| {
        let (rest, overflows) = limb_at(large, index).overflowing_sub(limb_at(small, index));
        let (rest, overflows_again) = rest.overflowing_sub(u64::from(borrow));
        borrow = overflows || overflows_again;
        rest
    });
    limbs.collect()
}

impl Scaled {
    /// The number as a double; infinite or 0 if it is out of range.
    pub(super) fn value(self) -> f64 {
        let Self { mut factor, mut exponent } = self;
        // Multiplies by powers of two that are normal numbers, so that only the last product is rounded.
        const STEP: i32 = 1000;
        while exponent.abs() > STEP && factor != 0.0 && factor.is_finite() {
            factor *= 2f64.powi(STEP * exponent.signum());
            exponent -= STEP * exponent.signum();
        }
        factor * 2f64.powi(exponent.clamp(-STEP, STEP))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The number as 128 bits; `None` if it is larger.
    fn to_i128(big: &BigInteger) -> Option<i128> {
        let (low, high) = (limb_at(&big.limbs, 0), limb_at(&big.limbs, 1));
        let is_small = big.limbs.iter().skip(2).all(|&limb| limb == 0);
        let magnitude = i128::try_from(u128::from(high) << 64 | u128::from(low)).ok().filter(|_| is_small)?;
        Some(if big.is_negative { -magnitude } else { magnitude })
    }

    proptest! {
        #[test]
        fn sums_equal_those_of_128_bit_integers(addends in prop::collection::vec((any::<i64>(), 0u32..55), 0..40)) {
            let mut whole = WideInteger::<3>::default();
            let mut parts = [WideInteger::<3>::default(), WideInteger::<3>::default()];
            let mut expected = 0i128;
            for (index, &(number, shift)) in addends.iter().enumerate() {
                let magnitude = u128::from(number.unsigned_abs());
                whole.add(number < 0, magnitude, shift);
                parts[index % 2].add(number < 0, magnitude, shift);
                expected += i128::from(number) << shift;
            }
            let [mut one, other] = parts;
            one.merge(&other);
            prop_assert_eq!(&one, &whole);
            prop_assert_eq!(to_i128(&whole.to_big()), Some(expected));
            let scaled = whole.to_big().to_scaled().value();
            prop_assert!((scaled - expected as f64).abs() <= (expected as f64).abs() * f64::EPSILON);
        }

        #[test]
        fn products_and_differences_equal_those_of_128_bit_integers(one in -1i128 << 62..1 << 62, other in -1i128 << 62..1 << 62) {
            let (a, b) = (BigInteger::from(one), BigInteger::from(other));
            prop_assert_eq!(to_i128(&a.multiply(&b)), Some(one * other));
            prop_assert_eq!(to_i128(&a.subtract(&b)), Some(one - other));
            // (a * a - b * b) = (a - b) * (a + b), in 248 bits.
            let minus_b = BigInteger::from(-other);
            let left = a.multiply(&a).subtract(&b.multiply(&b));
            let right = a.subtract(&b).multiply(&a.subtract(&minus_b));
            prop_assert_eq!(to_i128(&left.subtract(&right)), Some(0));
        }
    }

    #[test]
    fn a_carry_passes_through_all_limbs() {
        let mut number = WideInteger::<4>::default();
        number.add(true, 1, 0);
        assert_eq!(number.0, [u64::MAX; 4]);
        assert_eq!(to_i128(&number.to_big()), Some(-1));
        number.add(false, 1, 0);
        assert_eq!(number, WideInteger::default());
        number.add(false, u128::MAX, 60);
        number.add(false, 1, 60);
        assert_eq!(number.0, [0, 0, 1 << 60, 0]);
    }

    #[test]
    fn scaled_numbers_have_large_exponents() {
        let mut number = WideInteger::<67>::default();
        number.add(false, 3, 4000);
        let Scaled { factor, exponent } = number.to_big().to_scaled();
        assert_eq!(Scaled { factor, exponent: exponent - 4000 }.value(), 3.0);
        assert_eq!(Scaled { factor: 1.5, exponent: 1023 }.value(), 1.5 * 2f64.powi(1023));
        assert_eq!(Scaled { factor: 1.0, exponent: -1074 }.value(), f64::from_bits(1));
        assert_eq!(Scaled { factor: 1.0, exponent: -3000 }.value(), 0.0);
        assert_eq!(Scaled { factor: -1.0, exponent: 3000 }.value(), f64::NEG_INFINITY);
    }
}

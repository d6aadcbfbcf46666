//! Conversion of raw numbers to base units as exact decimals.

use std::fmt::Write;

/// The conversion of a raw number to base units: multiply by `factor`, divide by 10 to the power of `decimals`. All units of
/// counters can be converted in this way, so the result is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    pub(super) factor: u32,
    pub(super) decimals: u32,
}

impl Scale {
    pub(super) const ONE: Self = Self::new(1, 0);
    /// Converts units of 100 ns to seconds. Times and the performance clock have this unit.
    pub(super) const HUNDRED_NS: Self = Self::new(1, 7);

    pub(super) const fn new(factor: u32, decimals: u32) -> Self {
        Self { factor, decimals }
    }

    /// Writes a raw number in base units, without trailing zeros.
    pub(super) fn write(self, out: &mut String, raw: i128) {
        let scaled = raw.saturating_mul(self.factor.into());
        if self.decimals == 0 {
            return write_integer(out, scaled);
        }
        let divisor = 10_u128.pow(self.decimals);
        let magnitude = scaled.unsigned_abs();
        let (whole, mut fraction) = (magnitude / divisor, magnitude % divisor);
        if scaled < 0 {
            out.push('-');
        }
        write_integer(out, whole.cast_signed());
        if fraction == 0 {
            return;
        }
        let mut digits = self.decimals as usize;
        while fraction % 10 == 0 {
            fraction /= 10;
            digits -= 1;
        }
        // Writing to a String cannot fail.
        let _ = write!(out, ".{fraction:0digits$}");
    }

    /// A raw number in base units; `None` if the conversion includes a division.
    pub(super) fn integer(self, raw: i128) -> Option<i128> {
        (self.decimals == 0).then(|| raw.saturating_mul(self.factor.into()))
    }

    /// A raw number in base units.
    pub(super) fn double(self, raw: i128) -> f64 {
        raw.saturating_mul(self.factor.into()) as f64 / 10_f64.powi(self.decimals as i32)
    }

    /// A double in base units; `None` if it is not finite.
    pub(super) fn of_double(self, raw: f64) -> Option<f64> {
        let scaled = raw * f64::from(self.factor) / 10_f64.powi(self.decimals as i32);
        scaled.is_finite().then_some(scaled)
    }
}

fn write_integer(out: &mut String, number: i128) {
    // 64-bit integers are formatted much faster.
    let _ = match i64::try_from(number) {
        Ok(number) => write!(out, "{number}"),
        Err(_) => write!(out, "{number}"),
    };
}

#[cfg(test)]
mod tests {
    use super::Scale;

    #[test]
    fn decimals_are_exact() {
        let text = |factor, decimals, raw: i128| {
            let mut out = String::new();
            Scale::new(factor, decimals).write(&mut out, raw);
            out
        };
        assert_eq!(text(1, 0, u64::MAX.into()), "18446744073709551615");
        assert_eq!(text(1, 0, i64::MIN.into()), "-9223372036854775808");
        assert_eq!(text(1024, 0, 3), "3072");
        assert_eq!(text(1, 7, 0), "0");
        assert_eq!(text(1, 7, 1), "0.0000001");
        assert_eq!(text(1, 7, 10_000_000), "1");
        assert_eq!(text(1, 7, -15_000_000), "-1.5");
        assert_eq!(text(1, 7, i64::MAX.into()), "922337203685.4775807");
        assert_eq!(text(125, 3, 1_000_000_001), "125000000.125");
        assert_eq!(text(1, 2, 100), "1");
        assert_eq!(text(1, 2, 5), "0.05");
    }

    #[test]
    fn doubles_are_finite() {
        assert_eq!(Scale::new(1, 2).of_double(12.5), Some(0.125));
        assert_eq!(Scale::ONE.of_double(f64::NAN), None);
        assert_eq!(Scale::new(8, 0).of_double(f64::MAX), None);
    }

    #[test]
    fn integers_remain_exact() {
        assert_eq!(Scale::new(1024, 0).integer(3), Some(3072));
        assert_eq!(Scale::HUNDRED_NS.integer(10_000_000), None);
        assert_eq!(Scale::HUNDRED_NS.double(15_000_000), 1.5);
    }
}

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
    /// From 100 ns, the unit of times and the tick of the performance clock, to seconds.
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

    /// Writes a double in base units. Writes nothing and returns false if it is not finite.
    pub(super) fn write_double(self, out: &mut String, raw: f64) -> bool {
        let scaled = raw * f64::from(self.factor) / 10_f64.powi(self.decimals as i32);
        let is_finite = scaled.is_finite();
        if is_finite {
            let _ = write!(out, "{scaled}");
        }
        is_finite
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
    fn non_finite_doubles_are_not_written() {
        let mut out = String::new();
        assert!(Scale::new(1, 2).write_double(&mut out, 12.5));
        assert_eq!(out, "0.125");
        assert!(
            !Scale::ONE.write_double(&mut out, f64::NAN) && !Scale::ONE.write_double(&mut out, f64::INFINITY)
        );
        assert_eq!(out, "0.125");
    }
}

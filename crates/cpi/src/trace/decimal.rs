//! Numbers with four decimal places, as used in the hooks (records) of a trace.

use std::fmt;

/// A number with four decimal places: an integral part and ten-thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Decimal {
    /// The integral part.
    pub integral: u32,
    /// The ten-thousandths: 0 to 9999.
    pub fraction: u32,
}

impl Decimal {
    /// The largest number; larger values are written as this one.
    pub const MAX: Self = Self { integral: u32::MAX, fraction: Self::PARTS - 1 };

    pub(super) const PARTS: u32 = 10_000;

    /// Rounds a value to the nearest ten-thousandth (halves away from zero) and then splits it, so 1.99996 becomes 2
    /// and 0. Values that are too large become [`MAX`](Self::MAX); undefined ones (`None`, negative, NaN) become 0 and
    /// 0.
    pub fn of(value: Option<f64>) -> Self {
        let parts = (value.unwrap_or(0.0) * f64::from(Self::PARTS)).round();
        // Values beyond 64 bits, and infinity, saturate; NaN and negative values become 0.
        let parts = parts as u64;
        match u32::try_from(parts / u64::from(Self::PARTS)) {
            Ok(integral) => Self { integral, fraction: (parts % u64::from(Self::PARTS)) as u32 },
            Err(_) => Self::MAX,
        }
    }

    /// The number: `integral + fraction / 10000`.
    pub fn to_f64(self) -> f64 {
        // One division, so that the result is the double that is nearest to the decimal number.
        (f64::from(self.integral) * f64::from(Self::PARTS) + f64::from(self.fraction))
            / f64::from(Self::PARTS)
    }
}

/// With four places, `1.0300`, or rounded to the requested precision.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match f.precision() {
            Some(_) => fmt::Display::fmt(&self.to_f64(), f),
            None => f.pad_integral(true, "", &format!("{}.{:04}", self.integral, self.fraction)),
        }
    }
}

//! Factors by which a chart multiplies values, so that counters of different magnitude fit on one axis.

use std::fmt;

/// The smallest exponent of ten.
pub const MIN_EXPONENT: i32 = -9;
/// The largest exponent of ten.
pub const MAX_EXPONENT: i32 = 9;

/// The top of a chart's axis; its bottom is 0.
pub const AXIS_TOP: f64 = 100.0;

/// A power of ten by which a chart multiplies values. It affects only the chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Scale {
    /// The counter's default scale ([`Counter::default_scale`](tachograph_counters::set::Counter::default_scale)).
    #[default]
    Default,
    /// This exponent of ten.
    Exponent(i32),
}

impl Scale {
    /// An exponent of ten, limited to [`MIN_EXPONENT`] to [`MAX_EXPONENT`].
    pub fn from_exponent(exponent: i32) -> Self {
        Self::Exponent(exponent.clamp(MIN_EXPONENT, MAX_EXPONENT))
    }

    /// The largest power of ten, within the limits, that keeps the values within [`AXIS_TOP`]; `farthest` is the value
    /// farthest from 0. Returns the default scale if `farthest` is missing, 0 or not finite.
    pub fn to_fit(farthest: Option<f64>) -> Self {
        let Some(farthest) = farthest.map(f64::abs).filter(|value| value.is_finite() && *value > 0.0) else {
            return Self::Default;
        };
        // `log10` is inexact, so the neighbouring exponents are tried too.
        let near = (AXIS_TOP / farthest).log10().floor() as i32;
        // AXIS_TOP is 10^2. Compares the unscaled value, to avoid rounding.
        let fits = |exponent: &i32| farthest <= power_of_ten(2 - exponent);
        Self::from_exponent(
            (near.saturating_sub(1)..=near.saturating_add(1)).rev().find(fits).unwrap_or(near),
        )
    }

    /// The exponent of ten, for a counter with this default scale.
    pub fn exponent(self, default_scale: i32) -> i32 {
        match self {
            Self::Default => default_scale.clamp(MIN_EXPONENT, MAX_EXPONENT),
            Self::Exponent(exponent) => exponent,
        }
    }

    /// The factor, for a counter with this default scale.
    pub fn factor(self, default_scale: i32) -> f64 {
        power_of_ten(self.exponent(default_scale))
    }

    /// One power of ten more (`by` = 1) or less (-1), for a counter with this default scale.
    #[must_use]
    pub fn moved(self, by: i32, default_scale: i32) -> Self {
        Self::from_exponent(self.exponent(default_scale).saturating_add(by))
    }
}

/// The `f64` nearest to a power of ten; repeated multiplication would be less exact.
fn power_of_ten(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(f64::NAN)
}

/// Displays the factor for an exponent of ten as a legend does: `0.001`, `1.0`, `1000.0`.
#[derive(Clone, Copy, Debug)]
pub struct Factor(pub i32);

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            -3..=3 => format!("{:.*}", self.0.min(-1).unsigned_abs() as usize, power_of_ten(self.0)),
            exponent => format!("1e{exponent}"),
        };
        f.pad_integral(true, "", &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_power_of_ten_that_fits_is_chosen() {
        for (farthest, exponent) in [
            (100.0, 0),
            (100.000001, -1),
            (10.0, 1),
            (9.99, 1),
            (0.001, 5),
            (1000.0, -1),
            (1e6, -4),
            (4_123_456_789.0, -8),
            (-250.0, -1),
            (1e300, MIN_EXPONENT),
            (1e-300, MAX_EXPONENT),
        ] {
            assert_eq!(Scale::to_fit(Some(farthest)), Scale::Exponent(exponent), "{farthest}");
        }
        for nothing in [None, Some(0.0), Some(f64::NAN), Some(f64::INFINITY)] {
            assert_eq!(Scale::to_fit(nothing), Scale::Default);
        }
    }

    #[test]
    fn powers_of_ten_are_scaled_to_the_top_of_the_axis() {
        for exponent in -6..=10 {
            let Scale::Exponent(fit) = Scale::to_fit(Some(10f64.powi(exponent))) else { panic!("a fit") };
            assert_eq!(fit, 2 - exponent);
        }
    }

    #[test]
    fn moved_scales_stay_in_range() {
        assert_eq!(Scale::Default.moved(1, -3), Scale::Exponent(-2));
        assert_eq!(Scale::Exponent(9).moved(1, 0), Scale::Exponent(9));
        assert_eq!(Scale::Default.exponent(-40), -9);
    }

    #[test]
    fn large_and_small_factors_are_shown_with_exponents() {
        let text = |exponent| format!("{:>6}", Factor(exponent));
        assert_eq!(
            [-9, -4, -3, -1, 0, 2, 3, 4, 9].map(text),
            ["  1e-9", "  1e-4", " 0.001", "   0.1", "   1.0", " 100.0", "1000.0", "   1e4", "   1e9"]
        );
    }
}

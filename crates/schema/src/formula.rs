//! The formulas of counter types.

/// The formula of a counter type.
///
/// `N` is the first raw value, `D` is the second, `n` and `d` are their differences between two samples, `F` is the
/// time base (units of `D` per second) and `B` is the multiplier. The parentheses matter: the order of operations
/// determines the rounding, which agrees with Windows to the last bit.
///
/// Source: "Counter Types", Windows Server 2003 Deployment Kit. The order of operations was observed in logs that
/// Windows itself formatted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Formula {
    /// `N`: counts.
    Value,
    /// `N` is an already formatted double (text logs).
    Double,
    /// `n`: changes since the previous sample.
    Delta,
    /// `n / (d / F)`: rates per second.
    Rate,
    /// `n / d`: queue lengths, items per operation.
    Ratio,
    /// `(n / d) * 100`: timers, and fractions of the changes between two samples.
    Percent,
    /// `(1 - n / d) * 100`, never below 0: inverse timers.
    InversePercent,
    /// `((n / d) / B) * 100`: multi-timers.
    MultiPercent,
    /// `(B - n / d) * 100`, never below 0: inverse multi-timers.
    MultiInversePercent,
    /// `(N / D) * 100`: fractions of the values in one sample.
    Fraction,
    /// `(n / F) / d`: seconds per operation.
    AverageTime,
    /// `(D - N) / F`: seconds since the time `N`.
    Elapsed,
}

impl Formula {
    /// Whether the formula uses `n` or `d`, and so needs two samples.
    pub const fn needs_two_samples(self) -> bool {
        !matches!(self, Self::Value | Self::Double | Self::Fraction | Self::Elapsed)
    }

    /// Whether the formula divides by `d`, the difference of the second raw values of two samples.
    pub const fn uses_second_difference(self) -> bool {
        self.needs_two_samples() && !matches!(self, Self::Delta)
    }

    /// Whether the formula uses the time base.
    pub const fn uses_time_base(self) -> bool {
        matches!(self, Self::Rate | Self::AverageTime | Self::Elapsed)
    }

    /// Whether the formula uses the multiplier.
    pub const fn uses_multiplier(self) -> bool {
        matches!(self, Self::MultiPercent | Self::MultiInversePercent)
    }
}

//! What a counter type computes.

/// What a counter type computes, named by its formula.
///
/// `N` is the first raw value, `D` the second, `n` and `d` their differences over two samples, `F` the time base (units
/// of `D` per second) and `B` the multiplier. The parentheses are part of the formula: they fix the rounding, and with it
/// agreement with Windows to the last bit.
///
/// Source: "Counter Types", Windows Server 2003 Deployment Kit; order of operations observed in logs that Windows
/// itself formatted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Formula {
    /// `N`: counts.
    Value,
    /// `N` is an already formatted double (text logs).
    Double,
    /// `n`: change since the sample before.
    Delta,
    /// `n / (d / F)`: per second.
    Rate,
    /// `n / d`: queue lengths, items per operation.
    Ratio,
    /// `(n / d) * 100`: timers and sampled fractions.
    Percent,
    /// `(1 - n / d) * 100`, never below 0: inverse timers.
    InversePercent,
    /// `((n / d) / B) * 100`: multi-timers.
    MultiPercent,
    /// `(B - n / d) * 100`, never below 0: inverse multi-timers.
    MultiInversePercent,
    /// `(N / D) * 100`: fractions of one sample.
    Fraction,
    /// `(n / F) / d`: seconds per operation.
    AverageTime,
    /// `(D - N) / F`: seconds since a moment.
    Elapsed,
}

impl Formula {
    /// Whether the formula takes differences, so that it needs two samples.
    pub const fn needs_two_samples(self) -> bool {
        !matches!(self, Self::Value | Self::Double | Self::Fraction | Self::Elapsed)
    }

    /// Whether the formula divides by the difference of the second raw values.
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

//! Units of MMV metrics: the dimensions space, time and count, each with a scale, in one 32-bit word.
//!
//! Source: PMAPI(3), `pmUnits`; pmapi.h defines the bits, for either byte order.

/// The units of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Units {
    space: Dimension,
    time: Dimension,
    count: Dimension,
}

/// A power of a scaled unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dimension {
    /// The exponent, -8 to 7.
    power: i8,
    /// The index of the unit in [`SPACES`] or [`TIMES`]; for a count, the power of ten.
    scale: i8,
}

const SPACES: [&str; 9] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"];

/// The units of time: the name as a numerator, the name as a denominator, and the length in nanoseconds.
const TIMES: [(&str, &str, i64); 6] = [
    ("ns", "ns", 1),
    ("us", "us", 1_000),
    ("ms", "ms", 1_000_000),
    ("seconds", "s", 1_000_000_000),
    ("minutes", "min", 60_000_000_000),
    ("hours", "h", 3_600_000_000_000),
];

impl Units {
    pub(super) fn from_word(word: u32) -> Self {
        let nibble = |shift: u32| ((word >> shift) & 0xF) as i8;
        let signed = |shift: u32| (nibble(shift) << 4) >> 4;
        Self {
            space: Dimension { power: signed(28), scale: nibble(16) },
            time: Dimension { power: signed(24), scale: nibble(12) },
            count: Dimension { power: signed(20), scale: signed(8) },
        }
    }

    /// The length of the unit in nanoseconds, if the unit is a pure time.
    pub(super) fn nanoseconds(self) -> Option<i64> {
        let is_time = (self.space.power, self.time.power, self.count.power) == (0, 1, 0);
        let (_, _, nanoseconds) = TIMES.get(usize::try_from(self.time.scale).ok()?)?;
        is_time.then_some(*nanoseconds)
    }

    /// The unit of a value, such as `KiB`, `ms`, `bytes/s`; empty for plain counts and values without a unit.
    pub(super) fn text(self) -> String {
        let (mut numerator, mut denominator) = (Vec::new(), Vec::new());
        // `name` returns the name of the unit in the denominator for `true`, otherwise the one in the numerator.
        let mut add = |dimension: Dimension, name: &dyn Fn(bool) -> String| {
            let power = dimension.power;
            let part = if power < 0 { &mut denominator } else { &mut numerator };
            match power.unsigned_abs() {
                0 => {}
                1 => part.push(name(power < 0)),
                power => part.push(format!("{}^{power}", name(true))),
            }
        };
        let known = |name: Option<&str>| name.unwrap_or("?").to_owned();
        add(self.space, &|_| known(self.space.index().and_then(|index| SPACES.get(index)).copied()));
        add(self.time, &|is_short| {
            let time = self.time.index().and_then(|index| TIMES.get(index));
            known(time.map(|(long, short, _)| if is_short { *short } else { *long }))
        });
        let is_pure_count = self.space.power == 0 && self.time.power == 0 && self.count.power == 1;
        add(self.count, &|_| match self.count.scale {
            0 if is_pure_count => String::new(),
            0 => "count".to_owned(),
            scale => format!("10^{scale}"),
        });
        match (numerator.join("*"), denominator.join("/")) {
            (numerator, denominator) if denominator.is_empty() => numerator,
            (numerator, denominator) if numerator.is_empty() || numerator == "count" => {
                format!("1/{denominator}")
            }
            (numerator, denominator) => format!("{numerator}/{denominator}"),
        }
    }

    /// The unit of the rate per second.
    pub(super) fn rate_text(self) -> String {
        match self.text() {
            text if text.is_empty() => "1/s".to_owned(),
            text => format!("{text}/s"),
        }
    }
}

impl Dimension {
    fn index(self) -> Option<usize> {
        usize::try_from(self.scale).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(space: i32, time: i32, count: i32, scales: [i32; 3]) -> Units {
        let nibble = |value: i32| (value & 0xF) as u32;
        let [a, b, c] = scales;
        Units::from_word(
            nibble(space) << 28
                | nibble(time) << 24
                | nibble(count) << 20
                | nibble(a) << 16
                | nibble(b) << 12
                | nibble(c) << 8,
        )
    }

    #[test]
    fn units_are_written_as_text() {
        for (units, text, rate) in [
            (units(0, 0, 0, [0, 0, 0]), "", "1/s"),
            (units(0, 0, 1, [0, 0, 0]), "", "1/s"),
            (units(0, 0, 1, [0, 0, 3]), "10^3", "10^3/s"),
            (units(0, 0, 1, [0, 0, -3]), "10^-3", "10^-3/s"),
            (units(1, 0, 0, [0, 0, 0]), "bytes", "bytes/s"),
            (units(1, 0, 0, [1, 0, 0]), "KiB", "KiB/s"),
            (units(1, 0, 0, [9, 0, 0]), "?", "?/s"),
            (units(0, 1, 0, [0, 2, 0]), "ms", "ms/s"),
            (units(0, 1, 0, [0, 3, 0]), "seconds", "seconds/s"),
            (units(1, -1, 0, [2, 3, 0]), "MiB/s", "MiB/s/s"),
            (units(0, -1, 1, [0, 3, 0]), "1/s", "1/s/s"),
            (units(0, 1, -1, [0, 1, 0]), "us/count", "us/count/s"),
            (units(0, 1, -1, [0, 5, 6]), "hours/10^6", "hours/10^6/s"),
            (units(2, 0, 0, [0, 0, 0]), "bytes^2", "bytes^2/s"),
            (units(0, -1, 0, [0, 5, 0]), "1/h", "1/h/s"),
        ] {
            assert_eq!((units.text().as_str(), units.rate_text().as_str()), (text, rate), "{units:?}");
        }
    }

    #[test]
    fn only_pure_times_have_a_length() {
        assert_eq!(units(0, 1, 0, [0, 1, 0]).nanoseconds(), Some(1_000));
        assert_eq!(units(0, 1, 0, [0, 5, 0]).nanoseconds(), Some(3_600_000_000_000));
        assert_eq!(units(0, 1, 0, [0, 6, 0]).nanoseconds(), None);
        assert_eq!(units(0, 1, -1, [0, 1, 0]).nanoseconds(), None);
        assert_eq!(units(0, 0, 1, [0, 1, 0]).nanoseconds(), None);
    }

    #[test]
    fn every_word_has_a_short_unit() {
        for word in (0..=u32::MAX).step_by(65_537) {
            let units = Units::from_word(word);
            assert!(units.text().len() < 64, "{word:#x}");
        }
    }
}

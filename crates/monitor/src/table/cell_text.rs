//! Figures of a table as text: short, with their units.

use tachograph_counters::set::Counter;

use crate::figures::NONE;

/// How the values of a column are scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scaling {
    /// A count: three significant digits, grouped from 1,000 on.
    Plain,
    /// The id of a process or thread.
    Id,
    /// Percent; the heading has the sign.
    Percent,
    /// Bytes: prefixes of 1,024.
    Bytes,
    /// Bytes per second: prefixes of 1,000.
    BytesPerSecond,
    /// Bits per second: prefixes of 1,000.
    BitsPerSecond,
    /// A duration in seconds: ms, us.
    Seconds,
    /// The time since a start, in seconds.
    Elapsed,
}

impl Scaling {
    pub(super) fn of(counter: &Counter) -> Self {
        let name = counter.english_name.as_deref().unwrap_or(&counter.name);
        if ["ID Process", "Process ID", "ID Thread", "Creating Process ID"]
            .iter()
            .any(|id| name.eq_ignore_ascii_case(id))
        {
            return Self::Id;
        }
        match &*counter.unit() {
            _ if name.eq_ignore_ascii_case("Elapsed Time") => Self::Elapsed,
            "%" => Self::Percent,
            "bytes" => Self::Bytes,
            "bytes/s" => Self::BytesPerSecond,
            "bits" | "bits/s" => Self::BitsPerSecond,
            "seconds" => Self::Seconds,
            _ => Self::Plain,
        }
    }

    /// The width of most values.
    pub(super) fn width(self) -> usize {
        match self {
            Self::Percent => 6,
            Self::Plain | Self::Id => 7,
            Self::Seconds | Self::Bytes | Self::BytesPerSecond => 8,
            Self::BitsPerSecond | Self::Elapsed => 9,
        }
    }

    /// The text of a value.
    pub(super) fn text(self, value: f64) -> String {
        match self {
            Self::Id => format!("{value:.0}"),
            Self::Percent => percent(value),
            Self::Plain => count(value),
            Self::Bytes => with_prefix(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]),
            Self::BytesPerSecond => {
                with_prefix(value, 1000.0, &["B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s", "EB/s"])
            }
            Self::BitsPerSecond => {
                with_prefix(value, 1000.0, &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "Pbit/s"])
            }
            Self::Seconds => seconds(value),
            Self::Elapsed => elapsed(value),
        }
    }
}

/// The text of a counter's value with its unit: short, with three significant digits; [`NONE`] if missing.
pub fn counter_text(counter: &Counter, value: Option<f64>) -> String {
    let Some(value) = value else { return NONE.to_owned() };
    let scaling = Scaling::of(counter);
    let text = scaling.text(value);
    match (scaling, &*counter.unit()) {
        (Scaling::Percent, _) => format!("{text} %"),
        (Scaling::Plain, "1/s") => format!("{text} /s"),
        (Scaling::Plain, unit) if !unit.is_empty() => format!("{text} {unit}"),
        _ => text,
    }
}

fn percent(value: f64) -> String {
    if value.abs() < 99_999.5 { format!("{value:.1}") } else { format!("{value:.1e}") }
}

fn count(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e7 {
        return crate::figures::grouped(&format!("{value:.0}"));
    }
    with_prefix(value, 1000.0, &["", "k", "M", "G", "T", "P", "E"]).trim_end().to_owned()
}

/// Three significant digits and the unit with the prefix that keeps the number below `step`.
fn with_prefix(value: f64, step: f64, units: &[&str]) -> String {
    let mut scaled = value;
    let mut index = 0;
    // 999.5 would be shown as 1000.
    while scaled.abs() >= step.min(999.5) && index + 1 < units.len() {
        scaled /= step;
        index += 1;
    }
    let unit = units.get(index).copied().unwrap_or_default();
    if index == 0 && (scaled.fract() == 0.0 || step > 1000.0) {
        return format!("{scaled:.0} {unit}");
    }
    format!("{} {unit}", three_digits(scaled))
}

/// Three significant digits, without an exponent from 0.0005 on.
fn three_digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        99.95.. if value.abs() < 99_999.5 => format!("{value:.0}"),
        99.95.. => format!("{value:.1e}"),
        9.995.. => format!("{value:.1}"),
        0.01.. => format!("{value:.2}"),
        0.0005.. => format!("{value:.3}"),
        _ => format!("{value:.1e}"),
    }
}

fn seconds(value: f64) -> String {
    let magnitude = value.abs();
    let (scaled, unit) = match magnitude {
        0.0 => (value, "s"),
        0.9995.. => (value, "s"),
        0.000_999_5.. => (value * 1e3, "ms"),
        _ => (value * 1e6, "us"),
    };
    format!("{} {unit}", three_digits(scaled))
}

/// `5 s`, `12:05`, `3:12:05`, `4d 03:12`.
fn elapsed(value: f64) -> String {
    if !(0.0..1e12).contains(&value) {
        return seconds(value);
    }
    let whole = value as u64;
    let (days, hours, minutes, rest) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60, whole % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{rest} s"),
        (0, 0, _) => format!("{minutes}:{rest:02}"),
        (0, ..) => format!("{hours}:{minutes:02}:{rest:02}"),
        _ => format!("{days}d {hours:02}:{minutes:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::Scaling::*;

    #[test]
    fn values_have_three_significant_digits_and_units() {
        for (scaling, value, text) in [
            (Percent, 12.34, "12.3"),
            (Percent, 0.0, "0.0"),
            (Percent, 399.96, "400.0"),
            (Id, 14_642.0, "14642"),
            (Bytes, 0.0, "0 B"),
            (Bytes, 1000.0, "0.98 KiB"),
            (Bytes, 24_588_566_528.0, "22.9 GiB"),
            (Bytes, 1023.0 * 1024.0, "1.00 MiB"),
            (BytesPerSecond, 28_812_345.0, "28.8 MB/s"),
            (BytesPerSecond, 999_600.0, "1.00 MB/s"),
            (BytesPerSecond, 0.5, "0.50 B/s"),
            (BitsPerSecond, 1e9, "1.00 Gbit/s"),
            (Seconds, 0.00153, "1.53 ms"),
            (Seconds, 0.000_012_3, "12.3 us"),
            (Seconds, 2.0, "2.00 s"),
            (Seconds, 0.0, "0 s"),
            (Elapsed, 5.9, "5 s"),
            (Elapsed, 725.0, "12:05"),
            (Elapsed, 11_525.0, "3:12:05"),
            (Elapsed, 86_400.0 * 4.0 + 11_525.0, "4d 03:12"),
            (Plain, 1234.0, "1,234"),
            (Plain, 12.345, "12.3"),
            (Plain, 1_234.5, "1.23 k"),
            (Plain, -3.0, "-3"),
            (Plain, 0.005, "0.005"),
            (Plain, 1e-9, "1.0e-9"),
            (Bytes, f64::INFINITY, "inf EiB"),
            (Bytes, f64::NAN, "NaN B"),
        ] {
            assert_eq!(scaling.text(value), text, "{scaling:?} {value}");
        }
    }
}

//! Values with their units.

use std::sync::Arc;

use tachograph_counters::Formula;
use tachograph_counters::set::Counter;

use super::{NONE, format_hexadecimal, grouped, three_decimals};

/// Whether numbers are shown with units and prefixes, or raw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum NumberForm {
    /// Three significant digits, a prefix and the unit: `22.9 GiB`.
    #[default]
    Units,
    /// All digits and three decimals, without unit: `24,588,402,688.000`.
    Raw,
}

/// How the values of a counter are formatted for display: three significant digits, a prefix, and the unit.
///
/// | unit | prefixes | example |
/// | --- | --- | --- |
/// | bytes | IEC, of 1024 | `22.9 GiB` |
/// | bytes per second | SI, of 1000 | `28.8 MB/s` |
/// | bits, bits per second, hertz | SI | `1 Gbit/s` |
/// | seconds | SI below a second; minutes from 1000 s, hours from 2 h, days from 2 d | `1.53 ms`, `34.3 h` |
/// | operations per second | SI | `12.3 k/s` |
/// | counts | none below 100,000 (grouped), then SI | `14,642`, `1.23 M` |
/// | percent, degrees, ppm and cycles | none | `12.3 %` |
/// | load averages | none, always two decimals | `0.05` |
/// | identifiers | none, and no separators | `14642` |
/// | hexadecimal types | none | `0xff` |
///
/// Other units follow the rule for counts.
///
/// ```
/// use tachograph_counters::CounterType;
/// use tachograph_counters::set::Counter;
/// use tachograph_monitor::figures::Unit;
///
/// let available = Counter::new("Available Bytes", CounterType::LARGE_RAWCOUNT, 1);
/// assert_eq!(Unit::of(&available).text(24_588_402_688.0), "22.9 GiB");
/// let latency = Counter::new("Avg. Disk sec/Read", CounterType::AVERAGE_TIMER, 1);
/// assert_eq!(Unit::of(&latency).text(0.001_53), "1.53 ms");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    kind: Kind,
    /// Converts values to the kind's unit.
    factor: f64,
}

/// How a [`Unit`] formats values, for a program that formats them itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitForm<'a> {
    /// The rule: `hexadecimal`, `identifier`, `load`, `bytes`, `seconds`, `si`, `plain` or `other`.
    pub kind: &'static str,
    /// The symbol after the prefix; empty if the rule has its own symbols, or for plain counts.
    pub symbol: &'a str,
    /// Converts values to the unit of the symbol.
    pub factor: f64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Hexadecimal,
    Identifier,
    Load,
    Bytes,
    Seconds,
    /// With SI prefixes.
    Si(&'static str),
    /// Without prefixes.
    Plain(&'static str),
    /// Counts, and units that are not in the table.
    Other(Arc<str>),
}

/// The prefixes of powers of 1000.
const LARGE: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
/// The prefixes of powers of 1/1000.
const SMALL: [&str; 4] = ["", "m", "µ", "n"];
/// The units of powers of 1024 bytes.
const BINARY: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// Counts from this value on are shown with a prefix.
const MAX_GROUPED: f64 = 99_999.5;

/// Values from this one on would be rounded to four digits, so they are shown with the next prefix.
const MAX_THREE_DIGITS: f64 = 999.5;

/// Numbers have at most this number of decimals.
const MAX_DECIMALS: usize = 5;

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;
const DAY: f64 = 86_400.0;

impl Unit {
    /// The unit of a counter, from its description, or else from its type and name.
    pub fn of(counter: &Counter) -> Self {
        let name = counter.english_name.as_deref().unwrap_or(&counter.name);
        if counter.counter_type.is_hexadecimal() {
            return Self { kind: Kind::Hexadecimal, factor: 1.0 };
        }
        if counter.is_identifier() {
            return Self { kind: Kind::Identifier, factor: 1.0 };
        }
        if name.starts_with("Load Average") {
            return Self { kind: Kind::Load, factor: 1.0 };
        }
        Self::named(&counter.unit())
    }

    /// A unit by the name that a counter description gives it, such as `bytes/s`.
    pub fn named(name: &str) -> Self {
        const KIB: f64 = 1024.0;
        const MIB: f64 = 1024.0 * 1024.0;
        let (kind, factor) = match name {
            "%" => (Kind::Plain("%"), 1.0),
            "seconds" => (Kind::Seconds, 1.0),
            "bytes" => (Kind::Bytes, 1.0),
            "KB" => (Kind::Bytes, KIB),
            "MB" => (Kind::Bytes, MIB),
            "bytes/s" => (Kind::Si("B/s"), 1.0),
            "KB/s" => (Kind::Si("B/s"), KIB),
            "MB/s" => (Kind::Si("B/s"), MIB),
            "bits" => (Kind::Si("bit"), 1.0),
            "bits/s" => (Kind::Si("bit/s"), 1.0),
            "Hz" => (Kind::Si("Hz"), 1.0),
            "MHz" => (Kind::Si("Hz"), 1e6),
            "W" => (Kind::Si("W"), 1.0),
            "J" => (Kind::Si("J"), 1.0),
            "V" => (Kind::Si("V"), 1.0),
            "A" => (Kind::Si("A"), 1.0),
            "1/s" | "packets/s" => (Kind::Si("/s"), 1.0),
            "°C" => (Kind::Plain("°C"), 1.0),
            "m°C" => (Kind::Plain("°C"), 1e-3),
            "ns" => (Kind::Seconds, 1e-9),
            "ppb" => (Kind::Plain("ppm"), 1e-3),
            "cycles" => (Kind::Plain("cycles"), 1.0),
            other => (Kind::Other(other.into()), 1.0),
        };
        Self { kind, factor }
    }

    /// The smallest value at the top of an axis that begins at 0: a quantity that is small for every machine, so that noise
    /// does not fill a chart. In the unit of the values. 0 for units without such a quantity. The page has the same rule.
    pub fn smallest_top(&self) -> f64 {
        const MIB: f64 = 1024.0 * 1024.0;
        let top = match &self.kind {
            Kind::Bytes => MIB,
            Kind::Seconds => 100e-6,
            Kind::Si("B/s" | "bit/s") => 10e3,
            Kind::Si("/s") | Kind::Load => 1.0,
            Kind::Plain("%") => 5.0,
            Kind::Other(_) => 0.1,
            Kind::Hexadecimal | Kind::Identifier | Kind::Si(_) | Kind::Plain(_) => 0.0,
        };
        top / self.factor
    }

    /// Whether another counter's values can share an axis with this one's.
    pub fn is_comparable(&self, other: &Self) -> bool {
        self.kind == other.kind && self.factor == other.factor
    }

    /// Whether the ends of axes are powers of two, as for bytes.
    pub fn is_binary(&self) -> bool {
        self.kind == Kind::Bytes
    }

    /// Whether the values identify something, so that their sums and averages mean nothing.
    pub fn is_identifier(&self) -> bool {
        self.kind == Kind::Identifier
    }

    /// Whether the values are percentages.
    pub fn is_percent(&self) -> bool {
        self.kind == Kind::Plain("%")
    }

    /// The factor from values to the unit without prefix, such as 1024 for a counter in KB.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    /// The rule by which values are formatted.
    pub fn form(&self) -> UnitForm<'_> {
        let (kind, symbol) = match &self.kind {
            Kind::Hexadecimal => ("hexadecimal", ""),
            Kind::Identifier => ("identifier", ""),
            Kind::Load => ("load", ""),
            Kind::Bytes => ("bytes", ""),
            Kind::Seconds => ("seconds", ""),
            Kind::Si(symbol) => ("si", *symbol),
            Kind::Plain(symbol) => ("plain", *symbol),
            Kind::Other(symbol) => ("other", &**symbol),
        };
        UnitForm { kind, symbol, factor: self.factor }
    }

    /// Formats a value for an axis: like [`text`](Self::text), but without trailing zeros after the decimal point.
    pub fn tick(&self, value: f64) -> String {
        let text = self.text(value);
        let end = text.find(' ').unwrap_or(text.len());
        let (number, rest) = text.split_at(end);
        if !number.contains('.') {
            return text;
        }
        format!("{}{rest}", number.trim_end_matches('0').trim_end_matches('.'))
    }

    /// Formats a value with a fixed number of decimals, for numbers that change in place: one for percentages, rates and values with
    /// a prefix, none for bytes and identifiers, two for other fractions. A count that is always whole (`is_whole`) has none.
    pub fn steady_text(&self, value: f64, is_whole: bool) -> String {
        if !value.is_finite() {
            return format!("{value}");
        }
        let scaled_value = value * self.factor;
        let one_decimal = |value: f64| grouped(&format!("{:.1}", value + 0.0));
        match &self.kind {
            Kind::Plain(symbol) => format!("{} {symbol}", one_decimal(scaled_value)),
            Kind::Bytes | Kind::Si(_) => {
                let (step, prefixes, unit) = match &self.kind {
                    Kind::Si(symbol) => (1000.0, &LARGE[..], *symbol),
                    _ => (1024.0, &BINARY[..], ""),
                };
                let (number, index) = reduce_magnitude(scaled_value, step, prefixes.len());
                let is_of_bytes = self.kind == Kind::Bytes || unit == "B/s";
                let number = match index {
                    0 if is_of_bytes || is_whole => grouped(&format!("{:.0}", number + 0.0)),
                    _ => one_decimal(number),
                };
                format!("{number} {}{unit}", prefixes[index])
            }
            Kind::Other(unit) if scaled_value.abs() < MAX_GROUPED => {
                let decimals = if is_whole && scaled_value.fract() == 0.0 { 0 } else { 2 };
                let number = grouped(&format!("{:.decimals$}", scaled_value + 0.0));
                if unit.is_empty() { number } else { format!("{number} {unit}") }
            }
            _ => self.text(value),
        }
    }

    /// Formats a value.
    pub fn text(&self, value: f64) -> String {
        if !value.is_finite() {
            return format!("{value}");
        }
        let value = value * self.factor;
        match &self.kind {
            Kind::Hexadecimal if value.fract() == 0.0 => format!("{:#x}", value as i64),
            Kind::Hexadecimal | Kind::Identifier => format!("{value:.0}"),
            Kind::Load => format!("{value:.2}"),
            Kind::Bytes => {
                let (number, unit) = format_scaled(value, 1024.0, &BINARY);
                format!("{number} {unit}")
            }
            Kind::Seconds => format_seconds(value),
            Kind::Si(unit) => {
                let (number, prefix) = format_scaled(value, 1000.0, &LARGE);
                format!("{number} {prefix}{unit}")
            }
            Kind::Plain(unit) => format!("{} {unit}", three_digits(value)),
            Kind::Other(unit) => {
                let (number, prefix) = match value.abs() < MAX_GROUPED {
                    true => (count(value), ""),
                    false => format_scaled(value, 1000.0, &LARGE),
                };
                let parts = [number.as_str(), prefix, unit];
                let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                parts.join(" ")
            }
        }
    }
}

/// Divides a value by powers of `step` until it has at most three digits before the decimal point. Also returns the
/// exponent, which is less than `powers`.
fn reduce_magnitude(value: f64, step: f64, powers: usize) -> (f64, usize) {
    let (mut reduced, mut index) = (value, 0);
    while reduced.abs() >= MAX_THREE_DIGITS && index + 1 < powers {
        reduced /= step;
        index += 1;
    }
    (reduced, index)
}

fn format_scaled<'a>(value: f64, step: f64, prefixes: &[&'a str]) -> (String, &'a str) {
    let (scaled, index) = reduce_magnitude(value, step, prefixes.len());
    let number = if index == 0 { count(scaled) } else { three_digits(scaled) };
    (number, prefixes.get(index).copied().unwrap_or_default())
}

fn format_seconds(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return "0 s".to_owned();
    }
    for (min, length, unit) in
        [(2.0 * DAY, DAY, "d"), (2.0 * HOUR, HOUR, "h"), (MAX_THREE_DIGITS, MINUTE, "min")]
    {
        if magnitude >= min {
            return format!("{} {unit}", three_digits(value / length));
        }
    }
    let mut scaled = value;
    let mut index = 0;
    // Rounded to three digits, 0.9995 is 1.00.
    while scaled.abs() < 0.9995 && index + 1 < SMALL.len() {
        scaled *= 1000.0;
        index += 1;
    }
    format!("{} {}s", three_digits(scaled), SMALL[index])
}

/// Formats a number with three significant digits; digits before the decimal point are grouped, not rounded.
fn three_digits(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return "0".to_owned();
    }
    let digits_before = magnitude.log10().floor();
    let mut decimals = (2.0 - digits_before).clamp(0.0, MAX_DECIMALS as f64) as usize;
    // 9.996 is rounded to 10.00, which has a digit too many.
    let rounded = (magnitude * 10f64.powi(decimals as i32)).round() / 10f64.powi(decimals as i32);
    if rounded == 0.0 {
        let sign = if value < 0.0 { ">-" } else { "<" };
        return format!("{sign}0.{}1", "0".repeat(MAX_DECIMALS - 1));
    }
    if rounded.log10().floor() > digits_before {
        decimals = decimals.saturating_sub(1);
    }
    grouped(&format!("{value:.decimals$}"))
}

/// Like [`significant`], but whole numbers have no decimals.
fn count(value: f64) -> String {
    if value.fract() == 0.0 { grouped(&format!("{:.0}", value + 0.0)) } else { three_digits(value) }
}

/// Formats a counter's value: [`NONE`] if missing, otherwise with its unit or raw.
pub fn shown(counter: &Counter, value: Option<f64>, form: NumberForm) -> String {
    match (value, form) {
        (None, _) => NONE.to_owned(),
        (Some(value), NumberForm::Units) => Unit::of(counter).text(value),
        (Some(value), NumberForm::Raw) => {
            format_hexadecimal(counter.counter_type, value).unwrap_or_else(|| three_decimals(value))
        }
    }
}

/// Like [`shown`], with a fixed number of decimals: for live figures, which change in place.
pub fn shown_steady(counter: &Counter, value: Option<f64>, form: NumberForm) -> String {
    match (value, form) {
        (Some(value), NumberForm::Units) => {
            let is_whole = counter.counter_type.formula() == Some(Formula::Value);
            Unit::of(counter).steady_text(value, is_whole)
        }
        _ => shown(counter, value, form),
    }
}

#[cfg(test)]
mod tests;

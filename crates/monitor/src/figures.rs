//! Numbers formatted for display.

mod unit;

use std::borrow::Cow;

use tachograph_counters::CounterType;

pub use unit::{NumberForm, Unit, UnitForm, shown, shown_steady};

/// Shown for a missing value, to distinguish it from zero.
pub const NONE: &str = "---";

/// Shown in place of an average of ids of several objects, which would mean nothing.
pub const SEVERAL: &str = "several";

/// Formats a number for tables: grouped digits and three decimals; more decimals for small numbers, none for whole ones.
pub fn number(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return "0".to_owned();
    }
    if magnitude < MAX_PLAIN && value.fract() == 0.0 {
        return grouped(&format!("{value:.0}"));
    }
    if (1.0..MAX_PLAIN).contains(&magnitude) {
        return grouped(&format!("{value:.3}"));
    }
    if (MIN_PLAIN..1.0).contains(&magnitude) {
        let text = format_small(value, magnitude);
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    format!("{value:.3e}")
}

/// Numbers of this magnitude or more are formatted with an exponent.
const MAX_PLAIN: f64 = 1e15;
/// Numbers of less than this magnitude, except 0, are formatted with an exponent.
const MIN_PLAIN: f64 = 1e-6;

/// Formats a number below 1 with three significant digits; `magnitude` is its absolute value.
fn format_small(value: f64, magnitude: f64) -> String {
    let decimals = 2 + (-magnitude.log10()).ceil().max(0.0) as usize;
    format!("{value:.decimals$}")
}

/// Formats a number for legends and value bars: grouped digits and always three decimals, so that columns align; more
/// decimals where three would show 0.
pub fn three_decimals(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return "0.000".to_owned();
    }
    if !(MIN_PLAIN..MAX_PLAIN).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    if magnitude < 0.0005 { format_small(value, magnitude) } else { grouped(&format!("{value:.3}")) }
}

/// Formats a counter's value for a legend: [`NONE`] if missing, hexadecimal for hexadecimal counter types, otherwise with
/// [`three_decimals`].
pub fn figure(counter_type: CounterType, value: Option<f64>) -> String {
    match value {
        None => NONE.to_owned(),
        Some(value) => format_hexadecimal(counter_type, value).unwrap_or_else(|| three_decimals(value)),
    }
}

/// Formats a counter's value for a table: `-` if missing, hexadecimal for hexadecimal counter types, otherwise as
/// [`number`].
pub fn value(counter_type: CounterType, value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) => format_hexadecimal(counter_type, value).unwrap_or_else(|| number(value)),
    }
}

fn format_hexadecimal(counter_type: CounterType, value: f64) -> Option<String> {
    (counter_type.is_hexadecimal() && value.fract() == 0.0).then(|| format!("{:#x}", value as i64))
}

/// Inserts commas between groups of three digits before the decimal point.
pub fn grouped(digits: &str) -> String {
    let (sign, rest) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(whole, rest)| (whole, Some(rest)));
    let mut text = sign.to_owned();
    for (number, digit) in whole.chars().enumerate() {
        if number > 0 && (whole.len() - number).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

/// Formats a duration (in units of 100 ns) for a value bar: `m:ss`, or `h:mm:ss` from one hour; truncated, not rounded.
pub fn duration(units: i64) -> String {
    let seconds = units.max(0) / 10_000_000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Escapes control characters (`\u{1b}`), bidirectional controls (`\u{202e}`) and line and paragraph separators. Names
/// in logs are not trusted, and a terminal would interpret these characters.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_escaped(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Whether a character can change how the text around it is shown: control characters, Unicode's `Bidi_Control`, U+2028,
/// U+2029.
fn is_escaped(character: char) -> bool {
    let changes_direction = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || changes_direction || matches!(character, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        for (text, shown) in [
            ("plain (日本) \u{301} עברית", "plain (日本) \u{301} עברית"),
            // Persian and joined emoji need these for their spelling.
            ("\u{200c}\u{200d}", "\u{200c}\u{200d}"),
            ("\u{0}\t\u{1b}]0;x\u{7}", r"\u{0}\u{9}\u{1b}]0;x\u{7}"),
            ("a\u{7f}b\u{9b}31m\r\n", r"a\u{7f}b\u{9b}31m\u{d}\u{a}"),
            ("a\u{202e}exe.txt\u{202c}", r"a\u{202e}exe.txt\u{202c}"),
            (
                "\u{61c}\u{200e}\u{200f}\u{202a}\u{2066}\u{2069}",
                r"\u{61c}\u{200e}\u{200f}\u{202a}\u{2066}\u{2069}",
            ),
            ("a\u{2028}b\u{2029}", r"a\u{2028}b\u{2029}"),
        ] {
            assert_eq!(escape_controls(text), shown);
        }
    }

    #[test]
    fn numbers_in_tables_are_grouped_and_rounded() {
        for (value, text) in [
            (0.0, "0"),
            (53.90787244, "53.908"),
            (5309.188746893078, "5,309.189"),
            (-1234567.0, "-1,234,567"),
            (113057792.0, "113,057,792"),
            (0.15, "0.15"),
            (0.008170940934075234, "0.00817"),
            (9.2e18, "9.200e18"),
            (1.5e-9, "1.500e-9"),
            (999.9999, "1,000.000"),
            (0.99996, "1"),
        ] {
            assert_eq!(number(value), text, "{value}");
        }
    }

    #[test]
    fn numbers_in_legends_are_grouped_and_rounded() {
        for (value, text) in [
            (0.0, "0.000"),
            (53.90787244, "53.908"),
            (-1234567.0, "-1,234,567.000"),
            (0.0005, "0.001"),
            (0.000123, "0.000123"),
            (1e15, "1.000e15"),
            (1.5e-9, "1.500e-9"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(three_decimals(value), text, "{value}");
        }
        assert_eq!(figure(CounterType::RAWCOUNT, None), "---");
        assert_eq!(figure(CounterType::RAWCOUNT_HEX, Some(255.0)), "0xff");
    }

    #[test]
    fn durations_are_truncated() {
        for (units, text) in [
            (5_999_960_000, "9:59"),
            (0, "0:00"),
            (-5, "0:00"),
            (36_000_000_000, "1:00:00"),
            (864_000_000_000, "24:00:00"),
        ] {
            assert_eq!(duration(units), text);
        }
    }
}

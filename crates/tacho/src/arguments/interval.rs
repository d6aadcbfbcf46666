//! Durations in the form of Windows' tools: `[[hh:]mm:]ss`.

use std::time::Duration;

/// The maximum duration without a unit: a year. Anything longer is assumed to be a typo.
const MAX_SECONDS: f64 = 366.0 * 24.0 * 3600.0;
/// The maximum duration with a unit, such as of a time range of an archive: 100 years.
const MAX_SECONDS_WITH_UNIT: f64 = 100.0 * MAX_SECONDS;

/// Parses a duration: seconds, `mm:ss` or `hh:mm:ss`. Seconds can have a fraction (`0.1`, `1:30.5`). The first part can
/// be 60 or more (`90`, `90:00`); the others cannot.
pub(crate) fn parse_interval(text: &str) -> Result<Duration, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let whole = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<u32>().ok()).flatten()
    };
    let Some((last, before)) = parts.split_last().filter(|(_, before)| before.len() <= 2) else {
        return Err(not_a_duration());
    };
    let is_decimal = last.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && last.bytes().any(|byte| byte.is_ascii_digit());
    let seconds: f64 = last.parse().ok().filter(|_| is_decimal).ok_or_else(not_a_duration)?;
    let mut total = 0.0;
    for (index, part) in before.iter().enumerate() {
        let part = whole(part).ok_or_else(not_a_duration)?;
        if index > 0 && part >= 60 {
            return Err(format!("'{part}': minutes must be below 60 if hours are given"));
        }
        total = (total + f64::from(part)) * 60.0;
    }
    if !before.is_empty() && seconds >= 60.0 {
        return Err(format!("'{last}': seconds must be below 60 if minutes are given"));
    }
    match total + seconds {
        total if total > MAX_SECONDS => Err("must be at most a year".to_owned()),
        total => checked(total),
    }
}

/// A duration in seconds, if it is in range.
fn checked(total: f64) -> Result<Duration, String> {
    if total > MAX_SECONDS_WITH_UNIT {
        return Err("must be at most 100 years".to_owned());
    }
    let time = Duration::from_secs_f64(total);
    match time.is_zero() {
        true if total == 0.0 => Err("must be longer than 0".to_owned()),
        // Logs have timestamps in milliseconds, and consecutive ones must differ.
        _ if time < Duration::from_millis(1) => {
            Err("must be at least 0.001: logs store milliseconds".to_owned())
        }
        _ => Ok(time),
    }
}

/// Parses a duration with a unit (`30s`, `5m`, `1.5h`, `1d`, `2w`), or in the form of [`parse_interval`].
pub(crate) fn parse_length(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, f64); 7] = [
        ("ms", 0.001),
        ("s", 1.0),
        ("m", 60.0),
        ("min", 60.0),
        ("h", 3600.0),
        ("d", 86_400.0),
        ("w", 604_800.0),
    ];
    let number = |(unit, seconds): (&str, f64)| Some((text.strip_suffix(unit)?.trim_end(), seconds));
    let Some((number, seconds)) = UNITS.into_iter().find_map(number) else {
        return parse_interval(text)
            .map_err(|error| if error == not_a_duration() { not_a_length() } else { error });
    };
    let is_decimal = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 = number.parse().ok().filter(|_| is_decimal).ok_or_else(not_a_length)?;
    checked(number * seconds)
}

fn not_a_length() -> String {
    "not a duration: write 30s, 5m, 1h, 1d, or [[hh:]mm:]ss".to_owned()
}

/// Parses a whole number, 1 or more.
pub(crate) fn parse_count(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => {}
        Ok(count) => return Ok(count),
        Err(_) if is_whole_number(text) => return Err("too large".to_owned()),
        Err(_) => {}
    }
    Err("must be a whole number, 1 or more".to_owned())
}

/// Whether a text that is not a number in the range of a type is a whole number.
pub(super) fn is_whole_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses the number of rows of `--top`.
pub(crate) fn parse_top(text: &str) -> Result<usize, String> {
    parse_count(text).map(|count| usize::try_from(count).unwrap_or(usize::MAX))
}

fn not_a_duration() -> String {
    "not a duration: write seconds (1, 0.1), mm:ss or hh:mm:ss".to_owned()
}

#[cfg(test)]
mod tests {
    use super::{parse_interval, parse_length};

    #[test]
    fn durations_in_seconds_minutes_and_hours_are_parsed() {
        for (text, milliseconds) in [
            ("1", 1000),
            ("0.1", 100),
            (".25", 250),
            ("5.", 5000),
            ("90", 90_000),
            ("01:30", 90_000),
            ("1:00:00", 3_600_000),
            ("2:03:04.5", 7_384_500),
            ("90:00", 5_400_000),
        ] {
            assert_eq!(parse_interval(text).map(|time| time.as_millis()), Ok(milliseconds), "{text}");
        }
    }

    #[test]
    fn durations_with_units_are_parsed() {
        for (text, milliseconds) in [
            ("250ms", 250),
            ("30s", 30_000),
            ("5m", 300_000),
            ("1.5h", 5_400_000),
            ("90min", 5_400_000),
            ("2 d", 172_800_000),
            ("2w", 1_209_600_000),
            ("400d", 34_560_000_000),
            ("1:30", 90_000),
            ("10", 10_000),
        ] {
            assert_eq!(parse_length(text).map(|time| time.as_millis()), Ok(milliseconds), "{text}");
        }
        for text in ["", "m", "0m", "-5m", "1e3s", "5y", "infs", "NaNs", "36601d", "0.1ms", "5m30s", ".s"] {
            assert!(parse_length(text).is_err(), "{text}");
        }
    }

    #[test]
    fn invalid_durations_are_rejected() {
        for text in [
            "",
            "0",
            "0.0",
            "00:00",
            "-1",
            "+1",
            "x",
            "1s",
            "1e3",
            ".",
            "1:",
            ":1",
            "1:60",
            "1:60:00",
            "1:2:3:4",
            "1.5:00",
            "inf",
            "NaN",
            "99999999999",
            "9:99999999",
        ] {
            assert!(parse_interval(text).is_err(), "{text}");
        }
    }
}

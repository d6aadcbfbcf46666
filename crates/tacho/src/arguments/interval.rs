//! Lengths of time as Windows' tools take them: `[[hh:]mm:]ss`.

use std::time::Duration;

/// The longest time that is taken: a year. What is longer is a slip of the keyboard.
const MOST_SECONDS: f64 = 366.0 * 24.0 * 3600.0;

/// A length of time: seconds, `mm:ss` or `hh:mm:ss`, of which the seconds may have a fraction (`0.1`, `1:30.5`). Parts
/// before the first may be as large as needed (`90`, `90:00`); those after it are below 60.
pub(crate) fn parse_interval(text: &str) -> Result<Duration, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let whole = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<u32>().ok()).flatten()
    };
    let Some((last, before)) = parts.split_last().filter(|(_, before)| before.len() <= 2) else {
        return Err(unreadable());
    };
    let is_decimal = last.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && last.bytes().any(|byte| byte.is_ascii_digit());
    let seconds: f64 = last.parse().ok().filter(|_| is_decimal).ok_or_else(unreadable)?;
    let mut total = 0.0;
    for (number, part) in before.iter().enumerate() {
        let part = whole(part).ok_or_else(unreadable)?;
        if number > 0 && part >= 60 {
            return Err(format!("'{part}' minutes: below 60 behind hours"));
        }
        total = (total + f64::from(part)) * 60.0;
    }
    if !before.is_empty() && seconds >= 60.0 {
        return Err(format!("'{last}' seconds: below 60 behind minutes"));
    }
    total += seconds;
    if total > MOST_SECONDS {
        return Err("longer than a year".to_owned());
    }
    let time = Duration::from_secs_f64(total);
    match time.is_zero() {
        true if total == 0.0 => Err("must be longer than 0".to_owned()),
        // Times in logs are whole milliseconds, and rise.
        _ if time < Duration::from_millis(1) => Err("at least 0.001: logs hold milliseconds".to_owned()),
        _ => Ok(time),
    }
}

/// How many of something.
pub(crate) fn parse_count(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|&count| count > 0).ok_or_else(|| "a whole number, 1 or more".to_owned())
}

fn unreadable() -> String {
    "not a length of time: write seconds (1, 0.1), mm:ss or hh:mm:ss".to_owned()
}

#[cfg(test)]
mod tests {
    use super::parse_interval;

    #[test]
    fn seconds_minutes_and_hours() {
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
    fn what_is_no_length_of_time() {
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

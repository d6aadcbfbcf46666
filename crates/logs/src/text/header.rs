//! The first cell of a text log: the signature, and the time zone with its bias.

use tachograph_counters::time_zone::{TimeZone, is_possible_bias};

use crate::{Format, LogError};

use super::excerpt;

/// The time zone name for a log without one (such as the output of typeperf) or with only the start of one. The local
/// times of such a log are read as UTC.
pub const UNKNOWN_ZONE: &str = "unknown time zone";

const CSV_SIGNATURE: &str = "(PDH-CSV 4.0)";
const TSV_SIGNATURE: &str = "(PDH-TSV 4.0)";

pub(super) fn signature(format: Format) -> &'static str {
    if format == Format::Tsv { TSV_SIGNATURE } else { CSV_SIGNATURE }
}

pub(super) fn separator(format: Format) -> u8 {
    if format == Format::Tsv { b'\t' } else { b',' }
}

/// Returns the first cell for a zone's name and its current bias; for an unknown zone, only the signature.
pub(super) fn first_cell(format: Format, zone: &str, bias_minutes: i32) -> String {
    if zone == UNKNOWN_ZONE {
        return signature(format).to_owned();
    }
    format!("{} ({zone})({bias_minutes})", signature(format))
}

/// Detects the format from the decoded start of a file; `bytes` is the same part of the file before decoding.
///
/// # Errors
///
/// [`LogError::is_corrupt`], with a message that says what the file start_text like.
pub(super) fn detect_format(start: &str, bytes: &[u8]) -> Result<Format, LogError> {
    // The output of typeperf begins with an empty line.
    let text = start.trim_start();
    if text.starts_with('{') {
        return Ok(Format::Json);
    }
    let cell = text.strip_prefix('"').unwrap_or(text);
    if cell.starts_with(CSV_SIGNATURE) {
        return Ok(Format::Csv);
    }
    if cell.starts_with(TSV_SIGNATURE) {
        return Ok(Format::Tsv);
    }
    let start_text = if !excerpt::is_readable(start) {
        format!("it starts with {}", excerpt::of_bytes(bytes))
    } else if cell.starts_with("(PDH-") && cell.contains(')') {
        format!("it starts with {}, an unknown version", excerpt::of_text(start))
    } else {
        format!("it starts with {} (text)", excerpt::of_text(start))
    };
    let expected = "a CSV log starts with \"(PDH-CSV 4.0)\", a TSV log with \"(PDH-TSV 4.0)\", a JSON log with {\"time\"";
    Err(LogError::not_a_log(format!("not a performance log: {start_text}; {expected}")))
}

/// Parses the time zone in the first cell: ` (Pacific Standard Time)(480)` after the signature.
///
/// Returns `None` for other text, and for an impossible bias. If there is no text or only the start of a name,
/// returns the [unknown](UNKNOWN_ZONE) zone: Windows ends the cell at the first character of the name that is missing
/// from its code page (`(RTZ 2 (`).
pub(super) fn parse_zone(cell: &str, format: Format) -> Option<TimeZone> {
    let rest = cell.trim().strip_prefix(signature(format))?.trim();
    if rest.is_empty() || rest.starts_with('(') && !rest.ends_with(')') && !rest.contains(")(") {
        return Some(TimeZone::fixed(UNKNOWN_ZONE, 0));
    }
    // Parse from the end, because a zone's name can contain parentheses: "((UTC-08:00) Pacific Time)(480)".
    let (name, bias) = rest.strip_suffix(')')?.rsplit_once('(')?;
    let name = name.trim_end().strip_suffix(')')?.strip_prefix('(')?;
    let bias: i32 = bias.trim().parse().ok()?;
    is_possible_bias(bias).then(|| TimeZone::fixed(name, bias))
}

#[cfg(test)]
mod tests {
    use super::{UNKNOWN_ZONE, parse_zone};
    use crate::Format;

    #[test]
    fn time_zones_are_parsed() {
        let zone = |cell: &str| {
            let zone = parse_zone(cell, Format::Csv)?;
            Some((zone.standard_name.clone(), zone.bias_minutes))
        };
        let some = |name: &str, bias: i32| Some((name.to_string(), bias));
        assert_eq!(zone("(PDH-CSV 4.0) (Pacific Standard Time)(480)"), some("Pacific Standard Time", 480));
        assert_eq!(zone("(PDH-CSV 4.0) (Mitteleuropäische Zeit)(-60)"), some("Mitteleuropäische Zeit", -60));
        assert_eq!(zone("(PDH-CSV 4.0) ((UTC+01:00) Rome)(-60)"), some("(UTC+01:00) Rome", -60));
        assert_eq!(zone("(PDH-CSV 4.0) ()(0)"), some("", 0));
        assert_eq!(zone("(PDH-CSV 4.0)"), some(UNKNOWN_ZONE, 0));
        assert_eq!(zone("(PDH-CSV 4.0) "), some(UNKNOWN_ZONE, 0));
        assert_eq!(zone("(PDH-CSV 4.0) (RTZ 2 ("), some(UNKNOWN_ZONE, 0));
        assert_eq!(zone("(PDH-CSV 4.0) ("), some(UNKNOWN_ZONE, 0));
        assert_eq!(zone("(PDH-CSV 4.0) (X)(840)"), some("X", 840));
        assert_eq!(
            zone("(PDH-CSV 4.0) (Line Islands Standard Time)(-840)"),
            some("Line Islands Standard Time", -840)
        );
        for broken in [
            "(480)",
            "(X)",
            "(X)()",
            "(X)(480",
            "X(480)",
            "RTZ 2 (",
            "(X)(4x0)",
            "(X)(841)",
            "(X)(-841)",
            "(X)(-2147483648)",
        ] {
            assert_eq!(zone(&format!("(PDH-CSV 4.0) {broken}")), None, "{broken}");
        }
    }
}

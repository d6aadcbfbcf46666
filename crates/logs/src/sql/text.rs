//! The times of PDH's tables.

use tachograph_counters::civil::FileTime;

/// Formats a time as `yyyy-mm-dd hh:mm:ss:nnn`, truncated to milliseconds.
pub(super) fn format_time(time: FileTime) -> String {
    // `MM/dd/yyyy HH:mm:ss.fff`
    let log = time.to_log_time();
    format!("{}-{}-{} {}:{}", &log[6..10], &log[..2], &log[3..5], &log[11..19], &log[20..])
}

/// Parses `yyyy-mm-dd hh:mm:ss`, optionally with `:nnn` or `.nnn` and up to seven digits. Databases pad the text with blanks,
/// and PDH with a NUL.
pub(super) fn parse_time(text: &str) -> Option<FileTime> {
    let text = text.trim_end_matches(['\0', ' ']);
    let (date, time) = text.split_once([' ', 'T'])?;
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    // The last separator may be a colon instead of a point.
    let mut parts = time.splitn(3, ':');
    let (hour, minute, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let rest = rest.replacen(':', ".", 1);
    FileTime::parse_log_time(format!("{month}/{day}/{year} {hour}:{minute}:{rest}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_formatted_and_parsed() {
        let time = FileTime(130_057_734_178_449_999);
        assert_eq!(format_time(time), "2013-02-19 18:50:17:844");
        let parsed = time.cut_to_milliseconds();
        for text in [
            "2013-02-19 18:50:17:844",
            "2013-02-19 18:50:17.844",
            "2013-02-19 18:50:17:844\0",
            "2013-02-19 18:50:17.844  ",
            "2013-02-19T18:50:17.844",
        ] {
            assert_eq!(parse_time(text), Some(parsed), "{text}");
        }
        assert_eq!(parse_time("2013-02-19 18:50:17"), Some(FileTime(parsed.0 / 10_000_000 * 10_000_000)));
        for wrong in [
            "",
            "2013-02-19",
            "2013-02-30 18:50:17:844",
            "2013-02-19 18:50",
            "x-02-19 18:50:17",
            "2013-02-19 18:50:17:8:4",
        ] {
            assert_eq!(parse_time(wrong), None, "{wrong}");
        }
    }
}

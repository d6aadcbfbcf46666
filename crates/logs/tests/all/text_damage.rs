//! `TextReader`: damaged logs, and files that are not logs.

#![allow(clippy::unwrap_used, reason = "a test fails if it cannot unwrap a value")]

use std::io::{Cursor, Read};

use tachograph_counters::sample::Sample;
use tachograph_logs::text::TextReader;
use tachograph_logs::{LogError, LogReader};

const HEADER: &str = r#""(PDH-CSV 4.0) (Pacific Standard Time)(480)","\\M\S\A","\\M\S(i)\B""#;

fn open(log: impl Into<Vec<u8>>) -> Result<TextReader<Cursor<Vec<u8>>>, LogError> {
    TextReader::new(Cursor::new(log.into()))
}

/// Values per row, `-` for no value, and the problems.
fn read(log: impl Into<Vec<u8>>) -> (Vec<String>, Vec<String>) {
    let mut reader = open(log).unwrap();
    let mut sample = Sample::default();
    let mut rows = Vec::new();
    while reader.next(&mut sample).unwrap() {
        let cell = |group: &tachograph_counters::sample::Group| {
            group.values.first().map_or("-".to_string(), |raw| raw.as_double().to_string())
        };
        rows.push(sample.groups.iter().map(cell).collect::<Vec<_>>().join(" "));
    }
    (rows, reader.problems().list().iter().map(ToString::to_string).collect())
}

fn refusal(log: impl Into<Vec<u8>>) -> String {
    let error = open(log).err().unwrap();
    assert!(error.is_corrupt());
    error.to_string()
}

/// Asserts rows and problems of a log with this body.
#[track_caller]
fn check(body: &str, rows: &[&str], problems: &[&str]) {
    let (rows_read, problems_read) = read(format!("{HEADER}\n{body}"));
    assert_eq!(rows_read, rows);
    assert_eq!(problems_read, problems);
}

#[test]
fn files_that_are_not_logs_are_refused() {
    const EXPECTED: &str =
        r#"; a CSV log starts with "(PDH-CSV 4.0)", a TSV log with "(PDH-TSV 4.0)", a JSON log with {"time""#;
    for (bytes, looks) in [
        (&b"hello, world\n"[..], r"it starts with 'hello, world\n' (text)"),
        (b"\x7fELF\x02\x01\x01\0", "it starts with the bytes 7f 45 4c 46 02 01 01 00"),
        (b"\x1b[2Jhello", "it starts with the bytes 1b 5b 32 4a 68 65 6c 6c 6f"),
        (b"\"(PDH-CSV 5.0) (X)(0)\"\n", r#"it starts with '"(PDH-CSV 5.0) (X)(0)"\n', an unknown version"#),
        (b"\"(PDH-C", r#"it starts with '"(PDH-C' (text)"#),
        (b"\xef\xbb\xbf", "it starts with '' (text)"),
        (b"\xff\xfe(\0x\0", "it starts with '(x' (text)"),
        (b"\xff\xfe\0", "it starts with the bytes ff fe 00"),
        (b"stra\xdfe", "it starts with 'straße' (text)"),
        (
            b"\"(Pacific Daylight Time)(420)\",\"\\\\CHANDSR-X86\\Processor(0)\\% Processor Time\"\n",
            r#"it starts with '"(Pacific Daylight Time)(420)","\\CHANDSR-X86\Pr...' (text)"#,
        ),
    ] {
        assert_eq!(refusal(bytes), format!("not a performance log: {looks}{EXPECTED}"));
    }
    assert_eq!(refusal(""), "the file is empty");
}

#[test]
fn an_unreadable_time_zone_is_reported() {
    for zone in ["(480)", "(Pacific)", "(Pacific)(48x)", "(Pacific)(99999)", "(Pacific)(480", "Pacific(480)"]
    {
        let cell = format!("(PDH-CSV 4.0) {zone}");
        let (rows, problems) = read(format!("\"{cell}\",\"\\a\\b\"\n01/02/2003 04:05:06,1\n"));
        assert_eq!(rows, ["1"]);
        let expected = format!(
            "offset 0x0: the time zone is unreadable; local times are read as UTC (found '{cell}', expected a name \
             and minutes, such as '(Pacific Standard Time)(480)')"
        );
        assert_eq!(problems, [expected]);
    }
    // The log was saved by a spreadsheet program in a locale with decimal commas.
    let (_, problems) = read("(PDH-CSV 4.0) (X)(0);\\a\\b;\\c\\d\n");
    assert!(problems[0].contains(r"(found '(PDH-CSV 4.0) (X)(0);\a\b;\c\d', expected"), "{problems:?}");
}

#[test]
fn columns_that_are_not_paths_are_reported() {
    let log = "(PDH-CSV 4.0),text,\"\",\\\\m\\s(i\\c,\\a\\b\n01/02/2003 04:05:06,1,2,3,4\n";
    let (rows, problems) = read(log);
    assert_eq!(rows, ["1 2 3 4"]);
    assert_eq!(problems.len(), 3);
    for (number, (problem, text)) in problems.iter().zip(["text", "", r"\\m\s(i\c"]).enumerate() {
        let start = format!(
            "offset 0x0: column {} is not a counter path; its text becomes a counter name: ",
            number + 1
        );
        assert!(problem.starts_with(&start) && problem.ends_with(&format!(" (found '{text}')")), "{problem}");
    }
    let mut sample = Sample::default();
    assert!(open(log).unwrap().next(&mut sample).unwrap());
    let group = &sample.groups[2];
    assert_eq!((&*group.set.name, &*group.set.counters[0].name), ("", r"\\m\s(i\c"));
    assert!(!group.set.has_instances);
    assert_eq!(group.set.instance.as_deref(), Some(&*group.instances[0]));
}

/// A path is the same in any case. Cells of ignored columns are not even parsed.
#[test]
fn columns_that_repeat_a_path_are_ignored_and_reported() {
    let log = "(PDH-CSV 4.0),\\\\m\\s(i)\\a,\\\\m\\s(j)\\a,\\\\M\\s(I)\\a,\\\\m\\s(k)\\a,\\\\m\\s(j)\\a\n\
               01/02/2003 04:05:06,1,2,x,y,5\n01/02/2003 04:05:07,1,2,3,4\n";
    let (rows, problems) = read(log);
    assert_eq!(rows, ["1 2 -", "1 2 4"]);
    assert_eq!(
        problems,
        [
            r"offset 0x0: column 3 has the path of an earlier column; it is ignored (found '\\M\s(I)\a')",
            r"offset 0x0: column 5 has the path of an earlier column; it is ignored (found '\\m\s(j)\a')",
            "offset 0x45: column 4 of line 2 has no value (found 'y', expected a number)",
            "offset 0x63: line 3 is too short; its last columns have no value (found 5 cells, expected 6 cells)",
        ]
    );
}

#[test]
fn a_truncated_header_is_reported() {
    let problem = "offset 0x0: the header is cut short; its last cell is skipped";
    let log = "\"(PDH-CSV 4.0) (X)(0)\",\"\\a\\b\",\"\\c\\";
    let reader = open(log).unwrap();
    assert_eq!(reader.columns(), 1);
    assert_eq!(read(log), (vec![], vec![problem.to_string()]));
    assert_eq!(open("\"(PDH-CSV 4.0) (X)(0)\",\"\\a\\b\"").unwrap().columns(), 1);
}

#[test]
fn cells_that_are_not_numbers_are_reported() {
    check(
        "\"01/02/2003 04:05:06\",\"NaN\",\"\u{1b}[2J\"\n\"01/02/2003 04:05:07\",\"1,234,567\",\"1e999\"\n",
        &["- -", "- -"],
        &[
            "offset 0x44: column 1 of line 2 has no value (found 'NaN', expected a number)",
            r"offset 0x44: column 2 of line 2 has no value (found '\u{1b}[2J', expected a number)",
            "offset 0x67: column 1 of line 3 has no value (found '1,234,567', expected a number)",
            "offset 0x67: column 2 of line 3 has no value (found '1e999', expected a number)",
        ],
    );
}

#[test]
fn rows_without_a_time_are_skipped() {
    check(
        "01/02/2003 04:05:06,1,2\n13/02/2003 04:05:06,1,2\n,3,4\n01/02/2003 04:05:07,5,6\n",
        &["1 2", "5 6"],
        &[
            "offset 0x5c: line 3 has no valid time; it is skipped (found '13/02/2003 04:05:06', expected a time \
             'MM/dd/yyyy HH:mm:ss.fff')",
            "offset 0x74: line 4 has no valid time; it is skipped (found '', expected a time 'MM/dd/yyyy HH:mm:ss.fff')",
        ],
    );
}

#[test]
fn rows_of_the_wrong_length_are_reported() {
    check(
        "01/02/2003 04:05:06,1\n01/02/2003 04:05:07,1,2,3\n01/02/2003 04:05:08,1,2,\n01/02/2003 04:05:09\n",
        &["1 -", "1 2", "1 2", "- -"],
        &[
            "offset 0x44: line 2 is too short; its last columns have no value (found 2 cells, expected 3 cells)",
            "offset 0x5a: line 3 is too long; cells after the last column are skipped (found 4 cells, expected 3 \
             cells)",
            "offset 0x8d: line 5 is too short; its last columns have no value (found 1 cells, expected 3 cells)",
        ],
    );
}

#[test]
fn a_truncated_last_row_is_skipped() {
    let cut = ["offset 0x44: line 2 is cut short; it is skipped"];
    check(r#""01/02/2003 04:05:06","1","2""#, &["1 2"], &[]);
    check("\"01/02/2003 04:05:06\",\"1\",\"2\"\r", &["1 2"], &[]);
    check("01/02/2003 04:05:06,1,2", &["1 2"], &[]);
    check("01/02/2003 04:05:06,1, ", &["1 -"], &[]);
    check("01/02/2003 04:05:06,1,", &[], &cut);
    check(r#""01/02/2003 04:05:06","1","2"#, &[], &cut);
    check(r#""01/02/2003 04:05:06","1",""#, &[], &cut);
    check("\"01/02/2003 04:05:06\",\"1\",\"2\n", &[], &cut);
    check(r#""01/02/2003 04:05:06","1""#, &[], &cut);
    check(r#""01/02/2003 04:05:06""#, &[], &cut);
    check(r#""01/02/2003 04"#, &[], &cut);
    check("\r\n", &[], &[]);
    check("\r", &[], &[]);
    // The reader appends `,\0\n` to detect a row that is cut short; inside a log, these bytes are ordinary text.
    check(
        "01/02/2003 04:05:06,1,2,\0\n,\0\n",
        &["1 2"],
        &[
            "offset 0x44: line 2 is too long; cells after the last column are skipped (found 4 cells, expected 3 cells)",
            "offset 0x5e: line 3 has no valid time; it is skipped (found '', expected a time 'MM/dd/yyyy HH:mm:ss.fff')",
        ],
    );
}

fn small_log() -> Vec<u8> {
    format!("{HEADER}\r\n\"01/02/2003 04:05:06.789\",\"1.5\",\" \"\r\n\"01/02/2003 04:05:07.789\",\"12\",\"-3\"\r\n").into()
}

/// Reads any log to its end; returns the number of rows and problems, or `None` if the log is refused.
fn survive(log: Vec<u8>) -> Option<(usize, u64)> {
    let bytes = log.len();
    let mut reader = open(log).ok()?;
    let mut sample = Sample::default();
    let mut rows = 0;
    while reader.next(&mut sample).unwrap() {
        rows += 1;
        assert!(rows <= bytes && sample.groups.len() <= bytes);
    }
    assert_eq!(reader.bytes_read(), bytes as u64);
    for problem in reader.problems().list() {
        assert!(problem.offset <= bytes as u64);
        assert!(!problem.to_string().contains(|character: char| character.is_control()), "{problem}");
    }
    Some((rows, reader.problems().count()))
}

#[test]
fn a_truncated_log_is_read_or_refused() {
    let log = small_log();
    let whole = log.len();
    let ends: Vec<_> = (0..whole).filter(|&at| log[at] == b'\r').collect();
    for length in 0..=whole {
        let Some((rows, problems)) = survive(log[..length].to_vec()) else {
            assert!(length < r#""(PDH-CSV 4.0)"#.len());
            continue;
        };
        // Complete rows are read; a partial row is reported.
        assert_eq!(rows, ends.iter().skip(1).filter(|&&end| end <= length).count(), "{length}");
        let last = ends.iter().rfind(|&&end| end <= length).copied();
        if last.is_some_and(|end| length > end + 2) {
            assert_eq!(problems, 1, "{length}");
        } else if last.is_some() {
            assert_eq!(problems, 0, "{length}");
        }
    }
}

#[test]
fn a_log_with_a_flipped_bit_is_read_or_refused() {
    let text = String::from_utf8(small_log()).unwrap();
    let utf16 = "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    for log in [text.into_bytes(), utf16] {
        for bit in 0..log.len() * 8 {
            let mut flipped = log.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            survive(flipped);
        }
    }
}

#[test]
fn a_truncated_utf_16_log_is_read_or_refused() {
    let text = String::from_utf8(small_log()).unwrap().replace("\\B", "\\\u{1f600}");
    let log: Vec<u8> =
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    for length in 0..=log.len() {
        survive(log[..length].to_vec());
    }
}

/// Separators that are read ahead do not count toward the row's limit.
#[test]
fn only_cells_of_the_row_are_counted() {
    const AHEAD: usize = 64 * 1024;
    let header = "\"(PDH-CSV 4.0) (X)(0)\",\"\\\\M\\S\\C\"\n";
    for (cells, is_refused) in [(1_040_000, false), (1 << 20, false), ((1 << 20) + 1, true)] {
        let mut log = header.to_owned() + "03/05/2024 10:00:00.000";
        (1..cells).for_each(|_| log.push_str(",11111111"));
        // The row ends where a read starts, so most bytes of the next read are separators of the next row.
        let end = log.len().next_multiple_of(AHEAD) + 8;
        log.extend(std::iter::repeat_n('1', end - log.len()));
        log += "\n03/05/2024 10:00:01.000";
        log.extend(std::iter::repeat_n(',', AHEAD));
        log += "\n";
        let mut reader = TextReader::new(std::io::Cursor::new(log)).expect("a log");
        let mut sample = Sample::default();
        match reader.next(&mut sample) {
            Ok(is_sample) => {
                assert!(is_sample && !is_refused, "{cells}");
                assert!(reader.next(&mut sample).expect("a row"), "{cells}");
            }
            Err(error) => assert!(is_refused && error.is_corrupt(), "{cells}: {error}"),
        }
    }
}

#[test]
fn rows_over_the_limits_are_refused() {
    let endless = |start: &'static str, byte| {
        let stream = start.as_bytes().chain(std::io::repeat(byte));
        TextReader::from_stream(stream, 0)
    };
    let long = "a row is longer than 64 MiB or has more than 1048576 cells";
    for byte in [b'x', b',', b'"'] {
        let error = endless("(PDH-CSV 4.0),", byte).err().unwrap();
        assert_eq!(error.to_string(), format!("damaged at offset 0x0: {long}"));
        assert!(error.is_corrupt());
    }
    let mut reader = endless("(PDH-CSV 4.0)\n01/02/2003 04:05:06\n", b'\t').unwrap();
    let mut sample = Sample::default();
    assert!(reader.next(&mut sample).unwrap());
    assert_eq!(reader.next(&mut sample).unwrap_err().to_string(), format!("damaged at offset 0x22: {long}"));
    assert!(!reader.next(&mut sample).unwrap());
}

#[test]
fn an_error_of_the_stream_is_returned() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::TimedOut.into())
        }
    }
    let log = format!("{HEADER}\n\"01/02/2003 04:05:06\",\"1\",\"2\"\n{}", "\n".repeat(300));
    let error = TextReader::from_stream(Failing, 0).err().unwrap();
    assert_eq!(error.io_error().unwrap().kind(), std::io::ErrorKind::TimedOut);
    let mut reader = TextReader::from_stream(Cursor::new(log).chain(Failing), 0).unwrap();
    let mut sample = Sample::default();
    assert!(reader.next(&mut sample).unwrap());
    assert_eq!(
        reader.next(&mut sample).unwrap_err().io_error().unwrap().kind(),
        std::io::ErrorKind::TimedOut
    );
}

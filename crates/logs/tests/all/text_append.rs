//! Appending to existing text logs.

#![allow(clippy::unwrap_used, reason = "a test fails if it cannot unwrap a value")]

use std::io::Cursor;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::text::{Column, TextReader, TextWriter};
use tachograph_logs::{Format, LogError, LogReader};

const PATHS: [&str; 3] =
    [r"\\M\Memory\Available Bytes", r#"\\M\Process(say "x")\% Time"#, r"\\M\Thread(a/0#1)\B"];

fn columns(paths: &[&str]) -> Vec<Column> {
    paths.iter().map(|path| Column { path: (*path).to_owned() }).collect()
}

fn at(second: i64) -> Moment {
    let start = FileTime::parse_log_time(b"02/19/2013 18:50:17.844").unwrap();
    Moment::from_local(start.saturating_add(second * FileTime::PER_SECOND), 480)
}

fn row(number: i64) -> [Option<f64>; 3] {
    [Some(number as f64 / 10.0), None, Some(-number as f64)]
}

fn write<W: std::io::Write>(writer: &mut TextWriter<W>, rows: std::ops::Range<i64>) {
    for number in rows {
        writer.write_row(at(number), row(number).into_iter()).unwrap();
    }
}

fn log(format: Format, rows: i64) -> Vec<u8> {
    let mut log = Vec::new();
    let zone = TimeZone::fixed("Pacific Standard Time", 480);
    let mut writer = TextWriter::new(&mut log, format, zone, columns(&PATHS)).unwrap();
    write(&mut writer, 0..rows);
    writer.finish().unwrap();
    drop(writer);
    log
}

/// Appends rows; returns the file and the number of removed bytes.
fn append(file: &[u8], paths: &[&str], rows: std::ops::Range<i64>) -> Result<(Vec<u8>, u64), LogError> {
    let mut file = Cursor::new(file.to_vec());
    let mut writer = TextWriter::append(&mut file, columns(paths))?;
    for number in rows {
        writer.write_row(at(number), row(number).into_iter())?;
    }
    writer.finish()?;
    let (bytes, cut) = (writer.bytes_written(), writer.cut_bytes());
    drop(writer);
    assert_eq!(bytes, file.get_ref().len() as u64);
    Ok((file.into_inner(), cut))
}

fn refused(file: &[u8], paths: &[&str], rows: std::ops::Range<i64>) -> String {
    let error = append(file, paths, rows).expect_err("refused");
    assert!(error.is_unsupported(), "{error}");
    error.to_string()
}

#[test]
fn rows_are_appended() {
    for format in [Format::Csv, Format::Tsv] {
        let (file, cut) = append(&log(format, 3), &PATHS, 3..5).unwrap();
        assert_eq!(cut, 0);
        assert_eq!(String::from_utf8(file).unwrap(), String::from_utf8(log(format, 5)).unwrap());
        assert_eq!(append(&log(format, 3), &PATHS, 0..0).unwrap().0, log(format, 3));
        // Logs without rows, with a byte order mark, and with names that differ in case are continued, too.
        assert_eq!(append(&log(format, 0), &PATHS, 0..2).unwrap().0.len(), log(format, 2).len());
        let marked = [b"\xEF\xBB\xBF", &log(format, 1)[..]].concat();
        let upper = PATHS.map(str::to_uppercase);
        let (file, _) = append(&marked, &upper.each_ref().map(String::as_str), 1..2).unwrap();
        assert_eq!(file[3..], log(format, 2));
    }
}

/// The times of a log's rows, and the number of its problems.
fn read(file: &[u8]) -> Option<(Vec<FileTime>, u64)> {
    let mut reader = TextReader::new(Cursor::new(file)).ok()?;
    let mut sample = Sample::default();
    let mut times = Vec::new();
    while reader.next(&mut sample).unwrap() {
        assert_eq!(sample.groups.len(), reader.columns());
        times.push(sample.at.utc);
    }
    Some((times, reader.problems().count()))
}

#[test]
fn truncated_logs_are_appended_to() {
    for format in [Format::Csv, Format::Tsv] {
        let whole = log(format, 4);
        let header = log(format, 0).len();
        for length in header - 2..=whole.len() {
            let file = &whole[..length];
            let (mut times, _) = read(file).unwrap();
            let (appended, cut) = append(file, &PATHS, 4..6).unwrap();
            times.extend([at(4).utc, at(5).utc]);
            assert_eq!(read(&appended), Some((times, 0)), "cut at {length}");
            // Only an incomplete row is removed.
            let kept = length - cut as usize;
            assert_eq!(appended[..kept], whole[..kept]);
            assert!(cut == 0 || whole[kept - 1] == b'\n', "cut at {length}");
        }
        for length in 0..header - 2 {
            assert!(append(&whole[..length], &PATHS, 4..6).is_err(), "a header cut at {length}");
        }
    }
}

#[test]
fn garbage_at_the_end_is_removed_and_other_encodings_are_refused() {
    // A file system can leave such bytes after a power failure.
    let file = [&log(Format::Csv, 2)[..], &[0; 5000]].concat();
    let (appended, cut) = append(&file, &PATHS, 2..3).unwrap();
    assert_eq!((appended, cut), (log(Format::Csv, 3), 5000));
    // Windows-1252 and UTF-16 cannot be mixed with UTF-8.
    let mut western = log(Format::Csv, 2);
    let at = western.iter().position(|&byte| byte == b'%').unwrap();
    western[at] = 0xE9;
    let paths = [PATHS[0], "\\\\M\\Process(say \"x\")\\é Time", PATHS[2]];
    assert_eq!(refused(&western, &paths, 2..3), "cannot append: the log is not in UTF-8; use relog -a");
    let text = String::from_utf8(log(Format::Csv, 2)).unwrap();
    let wide: Vec<u8> =
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    assert_eq!(refused(&wide, &PATHS, 2..3), "cannot append: the log is not in UTF-8; use relog -a");
}

#[test]
fn other_columns_and_earlier_times_are_refused() {
    let file = log(Format::Csv, 3);
    assert_eq!(
        refused(&file, &[PATHS[0], PATHS[2]], 3..4),
        r#"cannot append: the log has '\\M\Process(say "x")\% Time' where the rows have '\\M\Thread(a/0#1)\B'"#
    );
    assert_eq!(refused(&file, &PATHS[..2], 3..4), r"cannot append: the rows have no '\\M\Thread(a/0#1)\B'");
    let more = [PATHS[0], PATHS[1], PATHS[2], r"\\M\X\Y"];
    assert_eq!(refused(&file, &more, 3..4), r"cannot append: the log has no '\\M\X\Y'");
    assert_eq!(
        refused(&file, &PATHS, 2..4),
        "cannot append: the log ends at 2013-02-19T18:50:19.844-08:00; the row at 2013-02-19T18:50:19.844-08:00 is not later"
    );
    let mut log = Vec::new();
    let repeated = columns(&[PATHS[0], PATHS[1], PATHS[1]]);
    TextWriter::new(&mut log, Format::Csv, TimeZone::utc(), repeated).unwrap().finish().unwrap();
    assert_eq!(
        refused(&log, &PATHS[..2], 3..4),
        "cannot append: several columns of the log have the same path; relog it first"
    );
    let unknown = String::from_utf8(file).unwrap().replace(" (Pacific Standard Time)(480)", "");
    assert_eq!(refused(unknown.as_bytes(), &PATHS, 3..4), "cannot append: the log names no time zone");
    assert!(append(b"", &PATHS, 0..1).expect_err("no log").is_corrupt());
    assert!(append(b"time,a,b\r\n", &PATHS, 0..1).expect_err("no log").is_corrupt());
}

#[test]
fn appended_times_are_in_the_zone_of_the_log() {
    let mut file = Cursor::new(log(Format::Csv, 1));
    let mut writer = TextWriter::append(&mut file, columns(&PATHS)).unwrap();
    assert_eq!(writer.last_time().map(|last| last.utc), Some(at(0).utc));
    let elsewhere = Moment { bias_minutes: -60, ..at(1) };
    writer.write_row(elsewhere, row(1).into_iter()).unwrap();
    writer.finish().unwrap();
    // A clock that is set back later is accepted.
    writer.write_row(at(0), row(0).into_iter()).unwrap();
    writer.finish().unwrap();
    drop(writer);
    assert!(file.into_inner().starts_with(&log(Format::Csv, 2)));
}

#[test]
fn after_a_flush_all_rows_are_written_and_counted() {
    for format in [Format::Csv, Format::Tsv] {
        let zone = TimeZone::fixed("Pacific Standard Time", 480);
        let mut writer = TextWriter::new(Vec::new(), format, zone, columns(&PATHS)).unwrap();
        assert_eq!(writer.bytes_written(), 0);
        for number in 0..5 {
            write(&mut writer, number..number + 1);
            writer.flush().unwrap();
            assert_eq!(*writer.get_ref(), log(format, number + 1));
            assert_eq!(writer.bytes_written(), writer.get_ref().len() as u64);
        }
    }
}

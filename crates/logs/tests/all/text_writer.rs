//! `TextWriter`: the bytes of a log.

#![allow(clippy::unwrap_used, reason = "a test fails if it cannot unwrap a value")]

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::time_zone::{TimeZone, TransitionDate};
use tachograph_logs::Format;
use tachograph_logs::text::{Column, TextWriter};

type Row<'a> = (&'a str, i32, &'a [Option<f64>]);

fn local(text: &str) -> FileTime {
    FileTime::parse_log_time(text.as_bytes()).unwrap()
}

fn columns(paths: &[&str]) -> Vec<Column> {
    paths.iter().map(|path| Column { path: path.to_string() }).collect()
}

fn written(format: Format, zone: TimeZone, paths: &[&str], rows: &[Row<'_>]) -> String {
    let mut log = Vec::new();
    let mut writer = TextWriter::new(&mut log, format, zone, columns(paths)).unwrap();
    for &(time, bias, values) in rows {
        writer.write_row(Moment::from_local(local(time), bias), values.iter().copied()).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    String::from_utf8(log).unwrap()
}

fn pacific() -> TimeZone {
    TimeZone::fixed("Pacific Standard Time", 480)
}

/// Standard and daylight saving time, as in the header of a BLG.
fn pacific_with_rule() -> TimeZone {
    let date = |month, day| TransitionDate { month, day, hour: 2, ..TransitionDate::NONE };
    TimeZone {
        standard_date: date(11, 1),
        daylight_name: "@tzres.dll,-211".to_string(),
        daylight_date: date(3, 2),
        daylight_bias_minutes: -60,
        ..pacific()
    }
}

#[test]
fn csv_logs_equal_those_of_windows() {
    let paths = [
        r"\\GEORGIS3\Memory\% Committed Bytes In Use",
        r"\\GEORGIS3\Processor Information(0,_Total)\DPC Rate",
    ];
    let rows: [Row<'_>; 3] = [
        ("02/19/2013 18:50:17.844", 480, &[Some(86.93735103284412), None]),
        ("02/19/2013 18:50:18.844", 480, &[Some(0.0), Some(0.3330014247259254)]),
        ("02/19/2013 18:50:19.844", 480, &[Some(1e-5), Some(f64::NAN)]),
    ];
    let expected = concat!(
        r#""(PDH-CSV 4.0) (Pacific Standard Time)(480)","\\GEORGIS3\Memory\% Committed Bytes In Use","#,
        r#""\\GEORGIS3\Processor Information(0,_Total)\DPC Rate""#,
        "\r\n",
        r#""02/19/2013 18:50:17.844","86.93735103284412"," ""#,
        "\r\n",
        r#""02/19/2013 18:50:18.844","0","0.33300142472592542""#,
        "\r\n",
        r#""02/19/2013 18:50:19.844","1.0000000000000001e-005"," ""#,
        "\r\n",
    );
    assert_eq!(written(Format::Csv, pacific(), &paths, &rows), expected);
    assert_eq!(
        written(Format::Tsv, pacific(), &paths, &rows),
        expected.replace("\",\"", "\"\t\"").replace("PDH-CSV", "PDH-TSV")
    );
}

#[test]
fn quotes_are_doubled_and_other_text_is_kept() {
    let log = written(Format::Csv, pacific(), &["\\\\M\\S(a \"b\", ü)\\C\tD"], &[]);
    let expected = "\"(PDH-CSV 4.0) (Pacific Standard Time)(480)\",\"\\\\M\\S(a \"\"b\"\", ü)\\C\tD\"\r\n";
    assert_eq!(log, expected);
}

#[test]
fn the_header_has_the_bias_at_the_first_row() {
    let first_line = |rows: &[Row<'_>]| {
        let log = written(Format::Csv, pacific_with_rule(), &[], rows);
        log.lines().next().unwrap().to_string()
    };
    let standard = r#""(PDH-CSV 4.0) (Pacific Standard Time)(480)""#;
    let daylight = r#""(PDH-CSV 4.0) (Pacific Daylight Time)(420)""#;
    assert_eq!(first_line(&[]), standard);
    assert_eq!(first_line(&[("02/19/2013 12:00:00", 480, &[])]), standard);
    assert_eq!(first_line(&[("07/19/2013 12:00:00", 420, &[]), ("12/01/2013 12:00:00", 480, &[])]), daylight);
}

#[test]
fn times_are_truncated() {
    let mut log = Vec::new();
    let mut writer = TextWriter::new(&mut log, Format::Csv, pacific(), Vec::new()).unwrap();
    let at = FileTime(local("02/19/2013 18:50:17.999").0 + 9_999);
    writer.write_row(Moment::from_local(at, 480), std::iter::empty()).unwrap();
    writer.finish().unwrap();
    drop(writer);
    assert!(log.ends_with(b"\r\n\"02/19/2013 18:50:17.999\"\r\n"));
}

#[test]
fn short_rows_are_filled_and_long_rows_refused() {
    let mut log = Vec::new();
    let mut writer = TextWriter::new(&mut log, Format::Csv, pacific(), columns(&[r"\A\B", r"\C\D"])).unwrap();
    let at = Moment::from_local(local("02/19/2013 18:50:17"), 480);
    writer.write_row(at, [Some(1.0)].into_iter()).unwrap();
    let error = writer.write_row(at, [None, Some(2.0), Some(3.0)].into_iter()).unwrap_err();
    assert_eq!(error.to_string(), "a row has more values than the log has columns (2)");
    assert!(error.is_unsupported());
    writer.finish().unwrap();
    drop(writer);
    let log = String::from_utf8(log).unwrap();
    let rows: Vec<_> = log.lines().skip(1).collect();
    let time = r#""02/19/2013 18:50:17.000""#;
    assert_eq!(rows, [format!(r#"{time},"1"," ""#), format!(r#"{time}," ","2""#)]);
}

#[test]
fn a_binary_log_is_refused() {
    let error = TextWriter::new(Vec::new(), Format::Blg, pacific(), Vec::new()).err().unwrap();
    assert_eq!(error.to_string(), "BLG is neither CSV nor TSV");
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut writer = TextWriter::new(Full, Format::Csv, pacific(), Vec::new()).unwrap();
    let error = writer.finish().unwrap_err();
    assert_eq!(error.io_error().unwrap().kind(), std::io::ErrorKind::StorageFull);
}

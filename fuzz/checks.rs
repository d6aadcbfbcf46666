//! Checks that hold for any bytes, one function per fuzz target. They also run on the checked-in seeds as a plain
//! test (crates/logs/tests/all/seeds.rs).

#![allow(dead_code, unreachable_pub, reason = "each target uses one function of this module")]

use std::io::Cursor;

use tachograph_counters::path::CounterPath;
use tachograph_counters::sample::Sample;
use tachograph_logs::blg::raw::Log;
use tachograph_logs::{LogReader, open_stream};

/// Asserts that every sample has all values of its rows and columns, and that reading ends, also from saved positions.
fn read_all(reader: &mut dyn LogReader) {
    let mut sample = Sample::default();
    let mut marks = Vec::new();
    loop {
        marks.extend(if marks.len() < 8 { reader.mark() } else { None });
        if !reader.next(&mut sample).expect("bytes in memory can be read") {
            break;
        }
        for group in &sample.groups {
            assert_eq!(group.values.len(), group.instances.len() * group.set.counters.len());
        }
    }
    for mark in marks.iter().rev() {
        if reader.seek(mark).expect("bytes in memory can be read") {
            reader.next(&mut sample).expect("bytes in memory can be read");
        }
    }
    while reader.next(&mut sample).expect("bytes in memory can be read") {}
    for problem in reader.problems().list() {
        assert!(!problem.to_string().is_empty());
    }
}

/// Input: a file that may be a BLG.
pub fn blg(data: &[u8]) {
    match open_stream(Cursor::new(data.to_vec())) {
        Ok(mut reader) => read_all(&mut *reader),
        Err(error) => assert!(error.is_corrupt(), "{error}"),
    }
}

/// Input: a file that may be one of an archive. Samples are complete up to the first damage, which ends reading.
pub fn archive(data: &[u8]) {
    archive_rows(data);
    let mut reader = match tachograph_logs::archive::ArchiveReader::new(Cursor::new(data.to_vec())) {
        Ok(reader) => reader,
        Err(error) => return assert!(error.is_corrupt(), "{error}"),
    };
    let mut sample = Sample::default();
    loop {
        match reader.next(&mut sample) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return assert!(error.is_corrupt(), "{error}"),
        }
        for group in &sample.groups {
            assert_eq!(group.values.len(), group.instances.len() * group.set.counters.len());
        }
    }
}

/// Reads a file that may be an archive's: all rows of each row group, then blocks of 11 rows with gaps of 11 rows.
/// Asserts that each column has exactly as many entries as there are wanted rows.
fn archive_rows(data: &[u8]) {
    use tachograph_logs::archive::{ARCHIVE_COLUMNS, ArchiveRows, ColumnValues, Present, RowGroupSpan};
    let path = std::path::Path::new("x.parquet");
    let Ok(mut file) = ArchiveRows::new(Cursor::new(data), path) else { return };
    let spans: Vec<RowGroupSpan> = file.row_groups().collect();
    for (index, RowGroupSpan { rows, .. }) in spans.into_iter().enumerate() {
        let Ok(group) = file.row_group(index) else { continue };
        let parts: Vec<_> = (0..rows).step_by(22).map(|start| start..rows.min(start + 11)).collect();
        for wanted in [std::slice::from_ref(&(0..rows)), &parts] {
            let expected: usize = wanted.iter().map(|range| range.len()).sum();
            for column in ARCHIVE_COLUMNS {
                let sum = |runs: &[(Option<u32>, usize)]| runs.iter().map(|(_, len)| len).sum::<usize>();
                let found = match file.column(&group, column, wanted) {
                    Ok(ColumnValues::Texts(texts)) => sum(&texts.runs),
                    Ok(ColumnValues::Doubles(doubles)) => sum(&doubles.runs),
                    Ok(ColumnValues::Numbers(numbers)) if numbers.present == Present::None => expected,
                    Ok(ColumnValues::Numbers(numbers)) => numbers.values.len(),
                    Err(error) => {
                        assert!(error.is_corrupt(), "{error}");
                        continue;
                    }
                };
                assert_eq!(found, expected, "{column:?}");
            }
        }
    }
}

/// Asserts that a log decoded by the raw layer survives encoding and decoding.
pub fn blg_raw(data: &[u8]) {
    let Ok(log) = Log::decode(data) else { return };
    let bytes = log.encode();
    let again = Log::decode(&bytes).unwrap_or_else(|problem| panic!("{problem}"));
    assert!(again == log, "the log decodes differently after encoding");
    assert!(again.encode() == bytes, "the log encodes differently after decoding");
}

/// Input: a file that may be a CSV or TSV log: unchanged, and after a header, which a fuzzer rarely finds.
pub fn text(data: &[u8]) {
    blg(data);
    let header = br#""(PDH-CSV 4.0) (Pacific Standard Time)(480)","\\M\S\A","\\M\S(i)\B""#;
    blg(&[&header[..], b"\r\n", data].concat());
    blg(&[b"\"(PDH-TSV 4.0)\"\t", data].concat());
}

/// Input: a file that may be lines of JSON: unchanged, after a line, and as the values of a line.
pub fn json(data: &[u8]) {
    let line = br#"{"time":"2013-02-19T18:50:17.844-08:00","values":{"\\M\S\A":1,"\\M\S(i)\B":null}}"#;
    blg(data);
    blg(&[&line[..], b"\n", data].concat());
    blg(&[&line[..line.len() - 2], b",", data, b"}}\n", line].concat());
}

/// Asserts that a path that parses is printed as an equal path.
pub fn path(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(path) = CounterPath::parse(text) else { return };
    let printed = path.to_string();
    let again = CounterPath::parse(&printed).unwrap_or_else(|error| panic!("{printed}: {error}"));
    assert_eq!(again, path, "{printed}");
}

//! `JsonReader`: lines of `relog -f json` and `query -f json`, and damaged ones.

#![allow(clippy::unwrap_used, reason = "a test fails if it cannot unwrap a value")]

use std::io::Cursor;

use proptest::prelude::*;
use tachograph_counters::CounterType;
use tachograph_counters::civil::Moment;
use tachograph_counters::sample::Sample;
use tachograph_counters::set::Extent;
use tachograph_logs::text::JsonReader;
use tachograph_logs::{Budget, Format, LogError, LogReader, ReadOptions, open_stream, open_stream_with};

const LOG: &str = concat!(
    r#"{"time":"2024-03-05T10:00:00.000+01:00","values":{"\\\\WEB1\\Memory\\Available Bytes":4194304,"#,
    r#""\\\\WEB1\\Process(sql#1)\\% Processor Time":null}}"#,
    "\n",
    r#"{"time":"2024-03-05T10:00:01.000+01:00","values":{"\\\\WEB1\\Memory\\Available Bytes":-0.1,"#,
    r#""\\\\WEB1\\Process(sql#1)\\% Processor Time":1e-300}}"#,
    "\n",
);

type Rows = Vec<(String, Vec<(String, Option<f64>)>)>;

fn rows(reader: &mut dyn LogReader) -> Rows {
    let mut sample = Sample::default();
    let mut rows = Vec::new();
    while reader.next(&mut sample).unwrap() {
        let values = sample.groups.iter().map(|group| {
            assert_eq!(group.values.len(), group.instances.len());
            let (set, counter) = (&group.set, &group.set.counters[0]);
            let instance = set.instance.clone().unwrap();
            (set.path(&instance, counter), group.values.first().map(|raw| raw.as_double()))
        });
        rows.push((sample.at.rfc3339(), values.collect()));
    }
    assert!(!reader.next(&mut sample).unwrap(), "no sample after the end");
    rows
}

fn read(log: impl Into<Vec<u8>>) -> Result<(Rows, Vec<String>), LogError> {
    let mut reader = open_stream(Cursor::new(log.into()))?;
    let rows = rows(&mut *reader);
    Ok((rows, reader.problems().list().iter().map(ToString::to_string).collect()))
}

fn row(time: &str, values: &[(&str, Option<f64>)]) -> (String, Vec<(String, Option<f64>)>) {
    (time.to_string(), values.iter().map(|(path, value)| (path.to_string(), *value)).collect())
}

const MEMORY: &str = r"\\WEB1\Memory\Available Bytes";
const SQL: &str = r"\\WEB1\Process(sql#1)\% Processor Time";

fn expected() -> Rows {
    vec![
        row("2024-03-05T10:00:00.000+01:00", &[(MEMORY, Some(4194304.0)), (SQL, None)]),
        row("2024-03-05T10:00:01.000+01:00", &[(MEMORY, Some(-0.1)), (SQL, Some(1e-300))]),
    ]
}

#[test]
fn samples_are_read() {
    let mut reader = JsonReader::new(Cursor::new(LOG), &ReadOptions::default()).unwrap();
    let facts = reader.facts();
    assert_eq!((facts.format, facts.file_bytes), (Format::Json, LOG.len() as u64));
    assert_eq!((facts.zone.standard_name.as_str(), facts.zone.bias_minutes), ("UTC+01:00", -60));
    let mut sample = Sample::default();
    assert!(reader.next(&mut sample).unwrap());
    let group = &sample.groups[1];
    assert_eq!(
        (group.set.extent, group.set.counters[0].counter_type),
        (Extent::Row, CounterType::DOUBLE_RAW)
    );
    assert_eq!((group.set.instance.as_ref().unwrap().index(), group.instances.len()), (1, 0));
    assert_eq!(read(LOG).unwrap(), (expected(), vec![]));
    assert_eq!(reader.bytes_read(), LOG.len() as u64);
}

#[test]
fn equivalent_lines_read_equal() {
    let utf16: Vec<u8> = LOG.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for log in [
        LOG.replace('\n', "\r\n").into_bytes(),
        LOG.trim_end().as_bytes().to_vec(),
        format!("\u{feff}{LOG}\n\n").into_bytes(),
        LOG.replace(r#","values""#, r#","later":[{"x":1}], "values" "#).into_bytes(),
        utf16,
    ] {
        assert_eq!(read(log).unwrap(), (expected(), vec![]));
    }
    // The keys can be in any order.
    let (time, values) = (r#""time":"2024-03-05T10:00:00.000Z""#, r#""values":{"\\a\\b":1}"#);
    let one = read(format!("{{{time},{values}}}\n")).unwrap();
    assert_eq!(read(format!("{{{values},{time}}}\n")).unwrap(), one);
}

#[test]
fn instances_can_appear_and_disappear() {
    let line = |second: u8, values: &str| {
        format!("{{\"time\":\"2024-03-05T10:00:0{second}.000Z\",\"values\":{{{values}}}}}\n")
    };
    let log = [
        line(0, r#""\\S(a)\\C":1,"\\S(b)\\C":2"#),
        line(1, r#""\\S(b)\\C":3"#),
        line(2, r#""\\S(b)\\C":4,"\\S(c)\\C":5,"\\S(a)\\C":6"#),
        line(3, ""),
    ]
    .concat();
    let time = |second| format!("2024-03-05T10:00:0{second}.000+00:00");
    let (a, b, c) = (r"\S(a)\C", r"\S(b)\C", r"\S(c)\C");
    assert_eq!(
        read(log).unwrap(),
        (
            vec![
                row(&time(0), &[(a, Some(1.0)), (b, Some(2.0))]),
                row(&time(1), &[(b, Some(3.0))]),
                row(&time(2), &[(b, Some(4.0)), (c, Some(5.0)), (a, Some(6.0))]),
                row(&time(3), &[]),
            ],
            vec![]
        )
    );
}

#[test]
fn files_that_are_not_logs_are_refused() {
    for log in [
        "{}",
        "{\"time\":\"2024-03-05T10:00:00.000Z\"}\n",
        "{\"values\":{}}\n",
        "{\"time\":\"yesterday\",\"values\":{}}\n",
        "{\"time\":5,\"values\":{}}\n",
        "{\"path\":1}\n{\"path\":2}\n",
        "{\"time\":\"2024-03-05T10:00:00.000Z\",\"values\":{}",
    ] {
        let error = read(log).unwrap_err();
        assert!(error.is_corrupt(), "{log}: {error}");
        assert!(error.to_string().starts_with("not a performance log: it starts with '{"), "{error}");
    }
}

#[test]
fn every_invalid_field_is_reported() {
    let start = LOG.len();
    let time = r#""time":"2024-03-05T10:00:02.000+01:00""#;
    for (line, problem) in [
        (r#"{"values":{}}"#.to_string(), "line 3 has no time; it is skipped"),
        (
            r#"{"time":"02/03/2024","values":{}}"#.to_string(),
            "line 3 has no valid time; it is skipped (found '02/03/2024', ",
        ),
        (r#"{"time":null,"values":{}}"#.to_string(), "line 3 is not a sample (column 12: invalid type: null"),
        (format!(r#"{{{time},"values":[]}}"#), "line 3 is not a sample (column 49: invalid type: sequence"),
        (
            format!(r#"{{{time},"values":{{"\\a\\b":}}}}"#),
            "line 3 is not a sample (column 60: expected value); it",
        ),
        (
            format!(r#"{{{time},"values":{{"\\a\\b":1e999}}}}"#),
            "line 3 is not a sample (column 64: number out of range); it",
        ),
        (
            format!(r#"{{{time},"values":{{}}}} more"#),
            "line 3 is not a sample (column 54: trailing characters); it",
        ),
        ("nothing".to_string(), "line 3 is not a sample (column 2: expected ident); it"),
        (
            "\u{1b}[2J".to_string(),
            r"line 3 is not a sample (column 1: expected value); it is skipped (found '\u{1b}[2J'",
        ),
        (format!("{{{time}}}"), "line 3 has no values; it is skipped (found '{\"time\":"),
        (
            r#"{"time":"2024-03-05T10:00:02.000+23:59","values":{}}"#.to_string(),
            "line 3 has no valid time; it is skipped (found '2024-03-05T10:00:02.000+23:59', ",
        ),
    ] {
        let next = LOG.lines().nth(1).unwrap().replace("00:01.000", "00:09.000");
        let (rows, problems) = read(format!("{LOG}{line}\n{next}\n")).unwrap();
        assert_eq!(rows.len(), 3, "{line}");
        assert_eq!(rows[2].1, expected()[1].1, "{line}");
        assert_eq!(problems.len(), 1, "{line}: {problems:?}");
        let expected = format!("offset {start:#x}: {problem}");
        assert!(problems[0].starts_with(&expected), "{problems:?}, expected {expected}");
    }
    for (value, what) in
        [("true", "a boolean"), ("\"1\"", "a string"), ("[1,2]", "an array"), ("{\"a\":1}", "an object")]
    {
        let line = format!(r#"{{{time},"values":{{"\\a\\b":{value},"\\a\\c":2}}}}"#);
        let (rows, problems) = read(format!("{LOG}{line}\n")).unwrap();
        assert_eq!(rows[2].1, row("", &[(r"\a\b", None), (r"\a\c", Some(2.0))]).1);
        let expected = format!(
            r"offset {start:#x}: line 3 has no value of '\a\b' (found {what}, expected a number or null)"
        );
        assert_eq!(problems, [expected]);
    }
    let (rows, problems) = read(format!("{LOG}{{{time},\"values\":{{\"no path\":1}}}}\n")).unwrap();
    assert_eq!(rows[2].1[0].1, Some(1.0));
    assert!(
        problems[0].contains("a key is not a counter path; its text becomes a counter name"),
        "{problems:?}"
    );
    let (rows, problems) = read(&LOG[..LOG.len() - 3]).unwrap();
    assert_eq!((rows.len(), problems.len()), (1, 1));
    assert!(problems[0].ends_with("line 2 is cut short; it is skipped"), "{problems:?}");
}

/// Reads any log to its end; returns the number of rows and problems, or `None` if the log is refused.
fn survive(log: Vec<u8>) -> Option<(usize, u64)> {
    let bytes = log.len() as u64;
    let mut reader = open_stream(Cursor::new(log)).ok()?;
    let mut sample = Sample::default();
    let mut rows = 0;
    while reader.next(&mut sample).unwrap() {
        rows += 1;
    }
    assert_eq!(reader.bytes_read(), bytes);
    for problem in reader.problems().list() {
        assert!(problem.offset <= bytes);
        assert!(!problem.to_string().contains(|character: char| character.is_control()), "{problem}");
    }
    Some((rows, reader.problems().count()))
}

#[test]
fn a_truncated_log_is_read_or_refused() {
    let first = LOG.find('\n').unwrap();
    for length in 0..=LOG.len() {
        match survive(LOG.as_bytes()[..length].to_vec()) {
            None => assert!(length < first, "{length}"),
            Some((rows, problems)) => {
                let whole = if length + 1 >= LOG.len() { 2 } else { 1 };
                assert_eq!(rows, whole, "{length}");
                assert_eq!(problems, u64::from(whole == 1 && length > first + 1), "{length}");
            }
        }
    }
}

#[test]
fn a_log_with_a_flipped_bit_is_read_or_refused() {
    let utf16: Vec<u8> = LOG.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for log in [LOG.as_bytes().to_vec(), utf16] {
        for bit in 0..log.len() * 8 {
            let mut flipped = log.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            survive(flipped);
        }
    }
}

#[test]
fn readers_seek_to_marks() {
    let mut reader = open_stream(Cursor::new(LOG)).unwrap();
    let first = reader.mark().unwrap();
    let mut sample = Sample::default();
    assert!(reader.next(&mut sample).unwrap());
    let second = reader.mark().unwrap();
    assert!(reader.follows_growth());
    while reader.next(&mut sample).unwrap() {}
    for (mark, from) in [(&second, 1), (&first, 0)] {
        assert!(reader.seek(mark).unwrap());
        assert_eq!(rows(&mut *reader), expected()[from..]);
    }
    let mut reader = open_stream(Cursor::new(LOG)).unwrap();
    assert!(reader.seek_near_end(200).unwrap());
    assert_eq!(rows(&mut *reader), expected()[1..]);
}

/// Every line has a unique path.
#[test]
fn memory_of_paths_counts_against_the_budget() {
    let line = |number: usize| {
        format!("{{\"time\":\"2024-03-05T10:00:00.000Z\",\"values\":{{\"\\\\S({number})\\\\C\":1}}}}\n")
    };
    let log: String = (0..1000).map(line).collect();
    let budget = Budget::new(1 << 20);
    let options = ReadOptions { budget: budget.clone(), ..ReadOptions::default() };
    let mut reader = open_stream_with(Cursor::new(log), &options).unwrap();
    let mut sample = Sample::default();
    let mut count = 0;
    let error = loop {
        match reader.next(&mut sample) {
            Ok(true) => count += 1,
            Ok(false) => panic!("{count} samples, {} bytes", budget.used()),
            Err(error) => break error,
        }
    };
    assert!(error.is_over_budget() && count > 100, "{count}: {error}");
    assert!(!reader.next(&mut sample).unwrap());
    drop(reader);
    assert_eq!(budget.used(), 0);
}

/// A thousand paths in one line, and a path that is repeated a thousand times: each of them gets a column.
#[test]
fn memory_of_the_columns_of_a_line_counts_against_the_budget() {
    let object = |path: &dyn Fn(usize) -> String| {
        let values: Vec<_> = (0..1000).map(|number| format!("\"\\\\{}\":1", path(number))).collect();
        format!("{{\"time\":\"2024-03-05T10:00:00.000Z\",\"values\":{{{}}}}}\n", values.join(","))
    };
    for log in [object(&|number| format!(r"S({number})\\C")), object(&|_| r"S\\C".to_owned())] {
        let budget = Budget::new(1 << 20);
        let options = ReadOptions { budget: budget.clone(), ..ReadOptions::default() };
        let mut reader = open_stream_with(Cursor::new(log.clone()), &options).unwrap();
        let mut sample = Sample::default();
        let error = reader.next(&mut sample).unwrap_err();
        assert!(error.is_over_budget(), "{error}");
        assert!(budget.used() > 1_000_000, "memory was reserved before the refusal: {}", budget.used());
        assert!(!reader.next(&mut sample).unwrap());
    }
}

proptest! {
    #[test]
    fn any_values_read_back(
        values in prop::collection::vec(prop::option::of(any::<f64>().prop_filter("finite", |value| value.is_finite())), 1..20),
        units in 0i64..200_000_000_000_000_000,
        bias in -840i32..840,
    ) {
        let at = Moment { utc: tachograph_counters::civil::FileTime(units), bias_minutes: bias };
        let pairs: Vec<_> = values.iter().enumerate().map(|(number, value)| {
            let value = value.map_or("null".to_string(), |value| format!("{value:?}"));
            format!("\"\\\\S({number})\\\\C\":{value}")
        }).collect();
        let log = format!("{{\"time\":\"{at}\",\"values\":{{{}}}}}\n", pairs.join(","));
        let (rows, problems) = read(log).unwrap();
        prop_assert_eq!(problems.len(), 0);
        prop_assert_eq!(&rows[0].0, &at.rfc3339());
        let read: Vec<_> = rows[0].1.iter().map(|(_, value)| value.map(f64::to_bits)).collect();
        let given: Vec<_> = values.iter().map(|value| value.map(f64::to_bits)).collect();
        prop_assert_eq!(read, given);
    }
}

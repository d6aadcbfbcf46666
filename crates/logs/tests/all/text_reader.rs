//! `TextReader`: the contents of logs in all their forms.

#![allow(clippy::unwrap_used, reason = "a test fails if it cannot unwrap a value")]

use std::collections::HashSet;
use std::io::Cursor;

use proptest::prelude::*;
use tachograph_counters::CounterType;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_counters::set::Extent;
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::wildcard::fold_case;
use tachograph_logs::text::{CodePage, Column, TextEncoding, TextReader, TextWriter, UNKNOWN_ZONE};
use tachograph_logs::{Format, LogReader};

const LOG: &str = concat!(
    r#""(PDH-CSV 4.0) (Pacific Standard Time)(480)","\\GEORGIS3\Memory\Available Bytes","#,
    r#""\\GEORGIS3\PhysicalDisk(0 C:)\Größe, ""netto""","\\GEORGIS3\Memory\Pages/sec""#,
    "\r\n",
    r#""02/19/2013 18:50:17.844","113057792"," ","12,5""#,
    "\r\n",
    r#""02/19/2013 18:50:18.844","0","0.33300142472592542","-1e-05""#,
    "\r\n",
);

fn western() -> TextEncoding {
    TextEncoding::CodePage(CodePage::of_number(1252).unwrap())
}

type Rows = Vec<(Moment, Vec<Option<f64>>)>;

fn open(bytes: impl Into<Vec<u8>>) -> TextReader<Cursor<Vec<u8>>> {
    TextReader::new(Cursor::new(bytes.into())).unwrap()
}

fn rows(reader: &mut impl LogReader) -> Rows {
    let mut sample = Sample::default();
    let mut rows = Vec::new();
    while reader.next(&mut sample).unwrap() {
        assert!(!sample.is_baseline && sample.log == 0);
        let value = |group: &tachograph_counters::sample::Group| {
            assert_eq!(group.instances.len(), group.values.len());
            group.values.first().map(|raw| raw.as_double())
        };
        rows.push((sample.at, sample.groups.iter().map(value).collect()));
    }
    assert!(!reader.next(&mut sample).unwrap(), "no row after the end");
    rows
}

/// The paths of a log's columns. All columns must have values in the first row.
fn paths(reader: &mut impl LogReader) -> Vec<String> {
    let mut sample = Sample::default();
    assert!(reader.next(&mut sample).unwrap());
    sample.groups.iter().map(|group| group.set.path(&group.instances[0], &group.set.counters[0])).collect()
}

fn at(text: &str, bias: i32) -> Moment {
    Moment::from_local(FileTime::parse_log_time(text.as_bytes()).unwrap(), bias)
}

fn expected_rows() -> Rows {
    vec![
        (at("02/19/2013 18:50:17.844", 480), vec![Some(113057792.0), None, Some(12.5)]),
        (at("02/19/2013 18:50:18.844", 480), vec![Some(0.0), Some(0.3330014247259254), Some(-1e-5)]),
    ]
}

fn problems(reader: &impl LogReader) -> Vec<String> {
    reader.problems().list().iter().map(ToString::to_string).collect()
}

#[test]
fn samples_are_read() {
    let mut reader = open(LOG);
    let facts = reader.facts();
    assert_eq!((facts.format, facts.boot_time, facts.file_bytes), (Format::Csv, None, LOG.len() as u64));
    assert_eq!(facts.zone, TimeZone::fixed("Pacific Standard Time", 480));
    assert_eq!(reader.columns(), 3);

    let mut sample = Sample::default();
    assert!(reader.next(&mut sample).unwrap());
    let set = &sample.groups[1].set;
    assert_eq!((&*set.machine, &*set.name, set.extent), ("GEORGIS3", "PhysicalDisk", Extent::Row));
    assert!(set.has_instances && !sample.groups[0].set.has_instances);
    let counter = &set.counters[0];
    assert_eq!((&*counter.name, counter.counter_type), (r#"Größe, "netto""#, CounterType::DOUBLE_RAW));
    assert!(sample.groups[1].instances.is_empty() && sample.groups[1].values.is_empty());
    assert_eq!(sample.groups[0].instances[0].label(), "");
    assert!(reader.next(&mut sample).unwrap());
    assert_eq!(sample.groups[1].instances[0].label(), "0 C:");

    let mut reader = open(LOG);
    assert_eq!(rows(&mut reader), expected_rows());
    assert_eq!(problems(&reader), [""; 0]);
    assert_eq!(reader.bytes_read(), LOG.len() as u64);
}

#[test]
fn a_sample_that_another_reader_filled_is_overwritten() {
    let mut sample = Sample::default();
    assert!(open("(PDH-CSV 4.0),a,\\b\\c,d,e\n01/02/2003 04:05:06,1,2,3,4\n").next(&mut sample).unwrap());
    let mut reader = open(LOG);
    assert!(reader.next(&mut sample).unwrap());
    assert_eq!(sample.groups.len(), 3);
    assert_eq!(&*sample.groups[0].set.name, "Memory");
    assert_eq!((sample.groups[1].instances.len(), sample.groups[1].values.len()), (0, 0));
}

#[test]
fn tabs_and_line_feeds_are_accepted() {
    let tabs = LOG.replace("\",\"", "\"\t\"").replace("PDH-CSV", "PDH-TSV");
    let mut reader = open(tabs.clone());
    assert_eq!(reader.facts().format, Format::Tsv);
    assert_eq!(rows(&mut reader), expected_rows());
    for text in [LOG.to_string(), tabs] {
        for text in [text.clone(), text.replace('\r', ""), text.trim_end().to_string(), text + "\r\n\r\n\n"] {
            let mut reader = open(text.clone());
            assert_eq!(rows(&mut reader), expected_rows(), "{text:?}");
            assert!(reader.problems().is_empty());
        }
    }
}

#[test]
fn encodings_are_detected() {
    let utf16 = |to_bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(LOG.encode_utf16()).flat_map(to_bytes).collect()
    };
    let latin: Vec<u8> = LOG.chars().map(|character| u8::try_from(u32::from(character)).unwrap()).collect();
    for (bytes, encoding) in [
        (LOG.as_bytes().to_vec(), TextEncoding::Utf8),
        (format!("\u{feff}{LOG}").into_bytes(), TextEncoding::Utf8),
        (utf16(u16::to_le_bytes), TextEncoding::Utf16Le),
        (utf16(u16::to_be_bytes), TextEncoding::Utf16Be),
        (latin, western()),
    ] {
        let length = bytes.len() as u64;
        // Streams return any number of bytes, so a character can be split.
        for stutter in [false, true] {
            let stream: Box<dyn std::io::Read + Send> = match stutter {
                false => Box::new(Cursor::new(bytes.clone())),
                true => Box::new(OneByteReader(bytes.clone().into_iter())),
            };
            let mut reader = TextReader::from_stream(stream, length).unwrap();
            assert_eq!(rows(&mut reader), expected_rows());
            assert_eq!(problems(&reader), [""; 0]);
            assert_eq!((reader.encoding(), reader.bytes_read()), (encoding, length));
        }
        let mut reader = open(bytes);
        let mut sample = Sample::default();
        assert!(reader.next(&mut sample).unwrap());
        assert_eq!(&*sample.groups[1].set.counters[0].name, r#"Größe, "netto""#);
    }
}

/// Returns one byte at a time.
struct OneByteReader(std::vec::IntoIter<u8>);

impl std::io::Read for OneByteReader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        match self.0.next() {
            Some(byte) => out[0] = byte,
            None => return Ok(0),
        }
        Ok(1)
    }
}

#[test]
fn an_invalid_byte_late_in_the_file_is_reported() {
    let mut log = b"(PDH-CSV 4.0),\\a\\b\n".to_vec();
    (0..20_000).for_each(|_| log.extend(b"01/02/2003 04:05:06,1\n"));
    let offset = log.len();
    log.extend(b"01/02/2003 04:05:07,\xfc\n01/02/2003 04:05:08,\xa0\n01/02/2003 04:05:09,3\n");
    let mut reader = open(log);
    assert_eq!(rows(&mut reader).len(), 20_003);
    assert_eq!(reader.encoding(), western());
    assert_eq!(
        problems(&reader),
        [
            format!("offset {offset:#x}: column 1 of line 20002 has no value (found 'ü', expected a number)"),
            format!(
                "offset {:#x}: column 1 of line 20003 has no value (found '\u{a0}', expected a number)",
                offset + 22
            ),
        ]
    );
}

#[test]
fn utf_8_with_bad_bytes_stays_utf_8() {
    let mut log = "(PDH-CSV 4.0),\\ä\\ö\n01/02/2003 04:05:06,1\n".as_bytes().to_vec();
    let offset = log.len();
    log.extend(b"01/02/2003 04:05:07,2\xff\n01/02/2003 04:05:08\xc3,3\n01/02/2003 04:05:09,4\n");
    let mut reader = open(log);
    assert_eq!(rows(&mut reader).len(), 3);
    assert_eq!(reader.encoding(), TextEncoding::Utf8);
    let lines = problems(&reader);
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert_eq!(
        lines[0],
        format!(
            "offset {:#x}: bytes that are not valid UTF-8 are read as U+FFFD, here and possibly later",
            offset + 21
        )
    );
    assert!(lines[1].starts_with(&format!("offset {offset:#x}: column 1 of line 3 ")), "{}", lines[1]);
    assert!(
        lines[2].starts_with(&format!("offset {:#x}: line 4 has no valid time", offset + 23)),
        "{}",
        lines[2]
    );
}

#[test]
fn offsets_in_utf_16_logs_are_file_offsets() {
    let log = "(PDH-CSV 4.0),\\ä\\ö\r\n01/02/2003 04:05:06,ü\r\n\r\n01/02/2003 04:05:07,x\r\n";
    let bytes = |text: &str| -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    let offset_of = |part: &str| bytes(&log[..log.find(part).unwrap()]).len();
    let mut reader = open(bytes(log));
    assert_eq!(rows(&mut reader).len(), 2);
    let (first, second) = (offset_of("01/02/2003 04:05:06"), offset_of("01/02/2003 04:05:07"));
    assert_eq!(
        problems(&reader),
        [
            format!("offset {first:#x}: column 1 of line 2 has no value (found 'ü', expected a number)"),
            format!("offset {second:#x}: column 1 of line 4 has no value (found 'x', expected a number)"),
        ]
    );
}

#[test]
fn the_output_of_typeperf_is_read_without_a_zone() {
    let mut reader = open(
        "\"(PDH-CSV 4.0)\",\"\\\\m\\Memory\\Pages/sec\"\r\n\"01/02/2003 04:05:06.789\",\"0.000000\"\r\n",
    );
    assert_eq!(reader.facts().zone, TimeZone::fixed(UNKNOWN_ZONE, 0));
    assert_eq!(rows(&mut reader), [(at("01/02/2003 04:05:06.789", 0), vec![Some(0.0)])]);
    assert!(reader.problems().is_empty());
}

#[test]
fn the_comment_of_a_tsv_log_is_ignored() {
    for header in ["", "\t\"\"", "\t\" \""] {
        let log = format!(
            "\"(PDH-TSV 4.0) (X)(0)\"\t\"\\a\\b\"{header}\r\n\"01/02/2003 04:05:06\"\t\"1\"\t\"so, it began\"\r\n\
             \"01/02/2003 04:05:07\"\t\"2\"\r\n"
        );
        let mut reader = open(log);
        let values: Vec<_> = rows(&mut reader).into_iter().map(|(_, values)| values).collect();
        assert_eq!(values, [[Some(1.0)], [Some(2.0)]]);
        assert_eq!(problems(&reader), [""; 0]);
    }
}

#[test]
fn paths_read_back_unchanged() {
    let given = [
        r"\\host\Memory\Available Bytes",
        r"\Process(svchost#2)\% Processor Time",
        r"\\h\Process(x#0)\ID Process",
        r"\\h\Process(x#01)\ID Process",
        r"\\h\Thread(explorer/7#2)\ID Thread",
        r"\\h\Net (R)(adapter (x) #2)\Bytes/sec",
        r"\\h\Cgroup(/a/b)\Usage",
        r"\Memory()\C",
    ];
    let header = given.map(|path| format!("\"{path}\"")).join(",");
    let mut reader = open(format!("(PDH-CSV 4.0),{header}\n01/02/2003 04:05:06,1,2,3,4,5,6,7,8\n"));
    assert_eq!(problems(&reader), [""; 0]);
    assert_eq!(paths(&mut reader), given);
}

fn name() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9 ,\"'#%.:;ÄöüßñЖ漢\u{1f600}\t_-]{1,12}(\\([a-z ,\"ü]{0,5}\\))?[a-z]?"
}

proptest! {
    #[test]
    fn written_logs_read_back_equal(
        parts in prop::collection::vec((name(), name(), prop::option::of(name()), name()), 1..6),
        cells in prop::collection::vec(prop::collection::vec(prop::option::of(any::<u64>()), 6), 0..5),
        is_tsv: bool,
        milliseconds in prop::collection::vec(0i64..4_000_000_000_000, 5),
        bias in -840i32..840,
        zone_name in "[A-Za-z ü()+:\"]{0,20}",
    ) {
        let columns: Vec<_> = parts.iter().map(|(machine, set, instance, counter)| {
            let instance = instance.as_ref().map(|name| format!("({name})")).unwrap_or_default();
            Column { path: format!(r"\\{machine}\{set}{instance}\{counter}") }
        }).collect();
        let paths: HashSet<_> = columns.iter().map(|column| fold_case(&column.path)).collect();
        prop_assume!(paths.len() == columns.len());
        let format = if is_tsv { Format::Tsv } else { Format::Csv };
        let zone = TimeZone::fixed(&zone_name, bias);
        let rows_given: Rows = cells.iter().zip(&milliseconds).map(|(cells, &time)| {
            let local = FileTime::UNIX_EPOCH.saturating_add(time * FileTime::PER_MILLISECOND);
            let values = cells.iter().take(columns.len()).map(|cell| {
                cell.map(f64::from_bits).filter(|value| value.is_finite())
            });
            (Moment::from_local(local, bias), values.collect())
        }).collect();

        let mut log = Vec::new();
        let mut writer = TextWriter::new(&mut log, format, zone.clone(), columns.clone()).unwrap();
        for (at, values) in &rows_given {
            writer.write_row(*at, values.iter().copied()).unwrap();
        }
        writer.finish().unwrap();
        drop(writer);

        let mut reader = open(log.clone());
        prop_assert_eq!(&reader.facts().zone, &zone);
        let rows_read = rows(&mut reader);
        prop_assert_eq!(problems(&reader), Vec::<String>::new());
        let bits = |rows: &Rows| -> Vec<_> {
            rows.iter().map(|(at, values)| {
                (*at, values.iter().map(|value| value.map(f64::to_bits)).collect::<Vec<_>>())
            }).collect()
        };
        prop_assert_eq!(bits(&rows_read), bits(&rows_given));

        // A sample contains an instance only if its cell has a value, so a row with all values is added to compare the paths.
        let separator = if is_tsv { '\t' } else { ',' };
        log.extend(format!("01/02/2003 04:05:06{}\n", format!("{separator}1").repeat(columns.len())).bytes());
        let mut reader = open(log);
        let mut sample = Sample::default();
        while reader.next(&mut sample).unwrap() {}
        for (group, column) in sample.groups.iter().zip(&columns) {
            prop_assert_eq!(group.set.path(&group.instances[0], &group.set.counters[0]), column.path.as_str());
        }
    }
}

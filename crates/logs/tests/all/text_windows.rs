//! Text logs of Windows' tools: redirected output, code pages, comments, truncated zones, budgets.

#![allow(clippy::unwrap_used, reason = "a test fails if it cannot unwrap a value")]

use std::io::Cursor;

use tachograph_counters::Status;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_counters::set::Extent;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::text::{Column, TextReader, TextWriter, UNKNOWN_ZONE};
use tachograph_logs::{
    Budget, Digits, Format, Grouping, LogReader, ReadOptions, TextEncoding, open_stream_with,
};

fn open_with(bytes: impl Into<Vec<u8>>, options: &ReadOptions) -> Box<dyn LogReader> {
    open_stream_with(Cursor::new(bytes.into()), options).unwrap()
}

/// The paths of all columns with a value, the values of each row, and the problems.
fn read(reader: &mut dyn LogReader) -> (Vec<String>, Vec<Vec<f64>>, Vec<String>) {
    let mut sample = Sample::default();
    let (mut paths, mut rows) = (Vec::new(), Vec::new());
    while reader.next(&mut sample).unwrap() {
        let mut row = Vec::new();
        for group in &sample.groups {
            assert_eq!(group.values.len(), group.instances.len());
            for (instance, raw) in group.instances.iter().zip(&group.values) {
                if raw.status != Status::NO_INSTANCE {
                    row.push(raw.as_double());
                    let path = match &*group.set.name {
                        "" => group.set.counters[0].name.to_string(),
                        _ => group.set.path(instance, &group.set.counters[0]),
                    };
                    if !paths.contains(&path) {
                        paths.push(path);
                    }
                }
            }
        }
        rows.push(row);
    }
    let problems = reader.problems().list().iter().map(ToString::to_string).collect();
    (paths, rows, problems)
}

fn read_all(bytes: impl Into<Vec<u8>>) -> (Vec<String>, Vec<Vec<f64>>, Vec<String>) {
    read(&mut *open_with(bytes, &ReadOptions::default()))
}

const TYPEPERF: &str = concat!(
    "\r\n",
    "\"(PDH-CSV 4.0)\",\"\\\\WEB1\\Processor(_Total)\\% Processor Time\",\"\\\\WEB1\\Memory\\Pages/sec\"\r\n",
    "\"03/05/2024 10:00:01.000\",\"1.500000\",\"0.000000\"\r\n",
    "\"03/05/2024 10:00:02.000\",\"2.500000\",\"4.000000\"\r\n",
);

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn redirected_output_of_typeperf_is_read() {
    let ends = [
        "",
        "\r\nExiting, please wait...                         \r\nThe command completed successfully.\r\n\r\n",
        "\r\nExiting, please wait...\r\nThe command completed successfully.",
        "\r\nBeenden, bitte warten...\r\nDer Befehl wurde erfolgreich ausgeführt.\r\n",
        "\r\nコマンドは正常に完了しました。\r\n",
    ];
    for end in ends {
        let text = format!("{TYPEPERF}{end}");
        let big_endian = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [
            text.clone().into_bytes(),
            text.replace('\r', "").into_bytes(),
            utf16(&text),
            utf16(&format!("\u{feff}{text}")),
            big_endian,
        ] {
            let (paths, rows, problems) = read_all(bytes);
            assert_eq!(paths, [r"\\WEB1\Processor(_Total)\% Processor Time", r"\\WEB1\Memory\Pages/sec"]);
            assert_eq!(rows, [[1.5, 0.0], [2.5, 4.0]], "{end}");
            assert_eq!(problems, [""; 0], "{end}");
        }
    }
}

#[test]
fn text_between_rows_is_damage() {
    let row = "\"03/05/2024 10:00:03.000\",\"1\",\"2\"\r\n";
    let (_, rows, problems) = read_all(format!("{TYPEPERF}Exiting, please wait...\r\n{row}"));
    assert_eq!(rows.len(), 3);
    assert_eq!(problems.len(), 1);
    assert!(problems[0].contains("line 5 has no valid time; it is skipped (found 'Exiting'"), "{problems:?}");
    // The log of a collector has a zone and ends with its last row.
    let log = TYPEPERF.replace("(PDH-CSV 4.0)", "(PDH-CSV 4.0) (X)(0)");
    let (_, _, problems) = read_all(format!("{log}Exiting, please wait...\r\n"));
    assert_eq!(problems.len(), 1, "{problems:?}");
    // Nine trailing lines are more than any program prints, so they are damage.
    let (_, _, problems) = read_all(format!("{TYPEPERF}{}", "text\r\n".repeat(9)));
    assert_eq!(problems.len(), 9, "{problems:?}");
}

#[test]
fn a_last_column_without_a_path_is_a_comment() {
    for (mark, separator) in [("CSV", ","), ("TSV", "\t")] {
        let log = [
            &format!("\"(PDH-{mark} 4.0) (X)(0)\"{separator}\"\\\\a\\b\\c\"{separator}\"The disks of the web server\""),
            &format!("\"01/02/2003 04:05:06\"{separator}\"1\"{separator}\" \""),
            &format!("\"01/02/2003 04:05:07\"{separator}\"2\"{separator}\"started, again\""),
            &format!("\"01/02/2003 04:05:08\"{separator}\"3\""),
        ]
        .map(|line| format!("{line}\r\n"))
        .concat();
        let (paths, rows, problems) = read_all(log);
        assert_eq!((paths, problems), (vec![r"\\a\b\c".to_string()], vec![]));
        assert_eq!(rows, [[1.0], [2.0], [3.0]]);
    }
    // Numbers are not a comment, so skipping them is reported.
    let log =
        "\"(PDH-CSV 4.0) (X)(0)\",\"\\\\a\\b\\c\",\"My CPU\"\r\n\"01/02/2003 04:05:06\",\"1\",\"5\"\r\n";
    let (_, rows, problems) = read_all(log);
    assert_eq!((rows.len(), problems.len()), (1, 1), "{problems:?}");
}

#[test]
fn a_truncated_zone_is_unknown_and_stays_unknown() {
    let log = "\"(PDH-CSV 4.0) (RTZ 2 (\",\"\\\\a\\b\\c\"\r\n\"01/02/2003 04:05:06.000\",\"1\"\r\n";
    let mut reader = open_with(log, &ReadOptions::default());
    let zone = reader.facts().zone.clone();
    assert_eq!(zone, TimeZone::fixed(UNKNOWN_ZONE, 0));
    let (_, rows, problems) = read(&mut *reader);
    assert_eq!((rows.len(), problems.len()), (1, 0));
    // A rewritten log names no zone either.
    let columns = vec![Column { path: r"\\a\b\c".to_string() }];
    let mut again = Vec::new();
    let mut writer = TextWriter::new(&mut again, Format::Csv, zone, columns).unwrap();
    let at = Moment::from_local(FileTime::parse_log_time(b"01/02/2003 04:05:06").unwrap(), 0);
    writer.write_row(at, [Some(1.0)].into_iter()).unwrap();
    writer.finish().unwrap();
    drop(writer);
    assert_eq!(String::from_utf8(again).unwrap(), log.replace(" (RTZ 2 (", ""));
}

/// Logs in code pages: the code page's number, a zone and a path.
const LOGS_OF_THE_WORLD: [(u16, &str, &str); 13] = [
    (1250, "Střední Evropa (běžný čas)", r"\\PC\Paměť\Počet bajtů k dispozici"),
    (1251, "Московское время (зима)", r"\\PC\Процессор(_Total)\% загруженности процессора"),
    (1252, "Mitteleuropäische Zeit", r"\\PC\Arbeitsspeicher\Verfügbare Größe in Bytes"),
    (1253, "Χειμερινή ώρα", r"\\PC\Μνήμη\Διαθέσιμα byte"),
    (1254, "Türkiye Standart Saati", r"\\PC\İşlemci(_Total)\% İşlemci Zamanı"),
    (1255, "שעון ישראל", r"\\PC\זיכרון\בתים זמינים"),
    (1256, "توقيت السعودية", r"\\PC\الذاكرة\وحدات البايت المتوفرة"),
    (1257, "FLE žiemos laikas", r"\\PC\Atmiņa\Pieejamie baiti"),
    (1258, "SE Asia Standard Time", r"\\PC\Bộ nhớ\x"),
    (932, "東京 (標準時)", r"\\PC\メモリ\利用可能バイト数 表 能 ソ ポ"),
    (936, "中国标准时间", r"\\PC\内存\可用字节"),
    (949, "대한민국 표준시", r"\\PC\메모리\사용 가능한 바이트"),
    (950, "台北標準時間", r"\\PC\記憶體\可用位元組 功 許 蓋"),
];

fn in_code_page(number: u16, zone: &str, path: &str) -> Option<Vec<u8>> {
    let encoding: TextEncoding = number.to_string().parse().unwrap();
    let mut log = Vec::new();
    let columns = vec![Column { path: path.to_string() }];
    let writer = TextWriter::new(&mut log, Format::Csv, TimeZone::fixed(zone, -60), columns).unwrap();
    let mut writer = writer.with_encoding(encoding).ok()?;
    let at = Moment::from_local(FileTime::parse_log_time(b"01/02/2003 04:05:06").unwrap(), -60);
    writer.write_row(at, [Some(1.5)].into_iter()).unwrap();
    writer.finish().unwrap();
    assert_eq!(writer.bytes_written(), {
        drop(writer);
        log.len() as u64
    });
    Some(log)
}

#[test]
fn code_pages_are_detected() {
    for (number, zone, path) in LOGS_OF_THE_WORLD {
        // In code page 1258, Vietnamese letters with two diacritics are two characters.
        let Some(log) = in_code_page(number, zone, path) else {
            assert_eq!(number, 1258);
            continue;
        };
        assert!(std::str::from_utf8(&log).is_err(), "{number}");
        let mut reader = open_with(log.clone(), &ReadOptions::default());
        let (paths, rows, problems) = read(&mut *reader);
        assert_eq!((paths, rows, problems), (vec![path.to_string()], vec![vec![1.5]], vec![]), "{number}");
        assert_eq!(reader.facts().zone, TimeZone::fixed(zone, -60), "{number}");
        let encoding: TextEncoding = number.to_string().parse().unwrap();
        assert_eq!(reader.guessed_encoding(), Some(encoding));
        // A requested encoding is not a guess.
        let options = ReadOptions { encoding: Some(encoding), ..ReadOptions::default() };
        let mut reader = open_with(log, &options);
        assert_eq!(read(&mut *reader).0, [path]);
        assert_eq!(reader.guessed_encoding(), None);
    }
}

/// Characters whose second bytes equal `\` or `|` in ASCII, next to separators of paths and cells.
#[test]
fn second_bytes_that_equal_separators_are_text() {
    for (number, table, lead) in [
        (932, encoding_rs::SHIFT_JIS, 0x83),
        (936, encoding_rs::GBK, 0x81),
        (949, encoding_rs::EUC_KR, 0x81),
        (950, encoding_rs::BIG5, 0xA5),
    ] {
        // In code page 949, second bytes in ASCII are only letters.
        let seconds: &[u8] = if number == 949 { b"AZaz" } else { b"\\|A" };
        let bytes: Vec<u8> = seconds.iter().flat_map(|&second| [lead, second]).collect();
        let (name, _, has_errors) = table.decode(&bytes);
        assert!(!has_errors, "{number}");
        let path = format!(r"\\P{name}C\S{name}(i{name}/{name}#2)\{name}C{name}");
        let log = in_code_page(number, "X", &path).unwrap();
        let encoding: TextEncoding = number.to_string().parse().unwrap();
        let options = ReadOptions { encoding: Some(encoding), ..ReadOptions::default() };
        let (paths, rows, problems) = read(&mut *open_with(log, &options));
        assert_eq!((paths, rows.len(), problems.len()), (vec![path], 1, 0), "{number}");
    }
}

#[test]
fn characters_that_an_encoding_lacks_are_refused() {
    let new = || {
        let columns =
            vec![Column { path: r"\\a\b\c".to_string() }, Column { path: r"\\a\b\Größe".to_string() }];
        TextWriter::new(Vec::new(), Format::Csv, TimeZone::utc(), columns).unwrap()
    };
    let refused = |name: &str| new().with_encoding(name.parse().unwrap()).err().unwrap().to_string();
    assert_eq!(refused("1251"), r"'\\a\b\Größe' cannot be written in Windows code page 1251: choose utf-8");
    let yen = vec![Column { path: r"\\a\b(x¥y)\c".to_string() }];
    let writer = TextWriter::new(Vec::new(), Format::Csv, TimeZone::utc(), yen).unwrap();
    let error = writer.with_encoding("932".parse().unwrap()).err().unwrap().to_string();
    assert!(error.contains("¥") && error.contains("932"), "{error}");
    assert!(refused("utf-16le").starts_with("text logs are not written in UTF-16"));
    assert!(new().with_encoding("1252".parse().unwrap()).is_ok());
}

#[test]
fn a_byte_order_mark_is_written_once() {
    let mut log = Vec::new();
    let columns = vec![Column { path: r"\\a\b\c".to_string() }];
    let writer = TextWriter::new(&mut log, Format::Csv, TimeZone::utc(), columns).unwrap();
    let mut writer = writer.with_encoding(TextEncoding::Utf8WithBom).unwrap();
    writer.finish().unwrap();
    assert_eq!(writer.bytes_written(), {
        drop(writer);
        log.len() as u64
    });
    assert!(log.starts_with(b"\xef\xbb\xbf\"(PDH-CSV 4.0)"));
    assert_eq!(log.iter().filter(|&&byte| byte == 0xef).count(), 1);
}

#[test]
fn the_number_of_digits_of_a_log_is_detected() {
    let log = |cell: &str| format!("(PDH-CSV 4.0),\\\\a\\b\\c\n01/02/2003 04:05:06,{cell}\n");
    for (cell, digits) in [
        ("78.80082537392173947", Digits::Twenty),
        ("0.33300142472592542", Digits::Seventeen),
        ("0.000000", Digits::Seventeen),
    ] {
        let mut reader = open_with(log(cell), &ReadOptions::default());
        read(&mut *reader);
        assert_eq!(reader.digits(), digits, "{cell}");
    }
}

fn wide(columns: usize) -> String {
    let paths: Vec<_> =
        (0..columns).map(|number| format!("\"\\\\PC\\Process(p{number})\\Handles\"")).collect();
    let row = ",\"1\"".repeat(columns);
    format!("\"(PDH-CSV 4.0) (X)(0)\",{}\n\"01/02/2003 04:05:06\"{row}\n", paths.join(","))
}

#[test]
fn adjacent_columns_are_one_group() {
    // The third column repeats the path of the second.
    let header = r#"(PDH-CSV 4.0),\\a\s(x)\c,\\a\s(y)\c,\\a\s(y)\c,\\a\s(x)\d,\\a\s(y)\d,\\a\t\c,\\a\s(z)\d"#;
    let log = format!("{header}\n01/02/2003 04:05:06,1,,3,4,5,6,\n");
    let options = ReadOptions { grouping: Grouping::Neighbours, ..ReadOptions::default() };
    let mut reader = open_with(log.clone(), &options);
    let mut sample = Sample::default();
    assert!(reader.next(&mut sample).unwrap());
    let shape: Vec<_> = sample.groups.iter().map(|group| (group.set.extent, group.values.len())).collect();
    assert_eq!(shape, [(Extent::Columns, 2), (Extent::Columns, 2), (Extent::Row, 1), (Extent::Row, 0)]);
    assert_eq!(sample.groups[0].values[1].status, Status::NO_INSTANCE);
    let (one, two) = (read(&mut *open_with(log.clone(), &options)), read_all(log));
    assert_eq!(one, two);
}

#[test]
fn memory_for_columns_is_reserved_before_they_are_built() {
    let budget = Budget::new(1 << 20);
    let options = ReadOptions { budget: budget.clone(), ..ReadOptions::default() };
    let reader = open_with(wide(100), &options);
    let used = budget.used();
    assert!(used > 100 * 1000, "{used}");
    let error = open_stream_with(Cursor::new(wide(2000).into_bytes()), &options).err().unwrap();
    assert!(error.is_over_budget() && !error.is_corrupt(), "{error}");
    assert!(error.to_string().ends_with(" MiB of memory, but only 1 MiB is allowed"), "{error}");
    assert_eq!(budget.used(), used, "a refused log releases its reservation");
    drop(reader);
    assert_eq!(budget.used(), 0);
}

#[test]
fn memory_for_long_rows_is_reserved_while_they_are_read() {
    let budget = Budget::new(8 << 20);
    let options = ReadOptions { budget: budget.clone(), ..ReadOptions::default() };
    let mut log = b"(PDH-CSV 4.0),\\\\a\\b\\c\n01/02/2003 04:05:06,1\n\"".to_vec();
    log.resize(16 << 20, b'x');
    let mut reader = TextReader::with_options(Cursor::new(log.clone()), &options).unwrap();
    let mut sample = Sample::default();
    assert!(reader.next(&mut sample).unwrap());
    let error = reader.next(&mut sample).unwrap_err();
    assert!(error.is_over_budget(), "{error}");
    assert!(!reader.next(&mut sample).unwrap());
    drop(reader);
    assert_eq!(budget.used(), 0);
    let start = b"{\"time\":\"2003-01-02T04:05:06.000Z\",\"values\":{\"";
    let json = [&start[..], &vec![b'x'; 16 << 20]].concat();
    let error = open_stream_with(Cursor::new(json), &options).err().unwrap();
    assert!(error.is_over_budget(), "{error}");
}

//! Text logs: digits, encodings, redirected output of tools, conversion to BLG and back, JSON as an input, memory.

use std::fmt::Write as _;

use tachograph_counters::CounterType;

use crate::log_fixture::{LogFixture, counter, mixed, one, raw};
use crate::run::{Folder, row};

const RUSSIAN: &str = "\"(PDH-CSV 4.0) (RTZ 2 (\",\"\\\\PC\\Процессор(_Total)\\% загруженности процессора\",\"Диски\"\r\n\
                       \"03/05/2024 10:00:00.000\",\"1.0203296383395057338e-005\",\" \"\r\n\
                       \"03/05/2024 10:00:01.000\",\"2\",\" \"\r\n";

fn in_1251(text: &str) -> Vec<u8> {
    encoding_rs::WINDOWS_1251.encode(text).0.into_owned()
}

#[test]
fn digits_are_those_of_the_writer_or_of_the_option() {
    let folder = Folder::new();
    let mut log = LogFixture::new("WEB1").value("S", counter("A", CounterType::RAW_FRACTION));
    log.at(0, vec![one(raw(1, 1000))]);
    log.write(&folder.path("ours.blg"));
    // Makes the headers look like those of Windows 10 and of Windows 8.
    let mut bytes = folder.bytes("ours.blg");
    bytes[0x50] = 1;
    folder.write("new.blg", &bytes);
    bytes[0x70..0x74].copy_from_slice(&9200_u32.to_le_bytes());
    folder.write("old.blg", &bytes);
    let (short, long) = ("\"0.10000000000000001\"", "\"0.10000000000000000555\"");
    for (input, digits, expected) in [
        ("ours.blg", None, short),
        ("old.blg", None, short),
        ("new.blg", None, long),
        ("new.blg", Some("17"), short),
        ("ours.blg", Some("20"), long),
    ] {
        let mut arguments = vec!["relog", input, "-f", "csv", "-o", "-"];
        arguments.extend(digits.into_iter().flat_map(|digits| ["--digits", digits]));
        let text = folder.prints(arguments);
        assert!(text.contains(expected), "{input} {digits:?}: {text}");
    }
    // A text log keeps its digits.
    folder.write(
        "new.csv",
        format!("\"(PDH-CSV 4.0) (X)(0)\",\"\\\\P\\S\\A\"\r\n\"03/05/2024 10:00:00.000\",{long}\r\n"),
    );
    assert_eq!(folder.prints(["relog", "new.csv", "-o", "-"]), folder.text("new.csv"));
    folder
        .run(["relog", "new.csv", "-o", "x.blg", "--digits", "17"])
        .fails_with(2, "--digits applies to CSV and TSV only: use -f csv or -f tsv");
}

#[test]
fn of_columns_with_the_same_path_all_commands_use_the_first() {
    let folder = Folder::new();
    let log = |columns: usize| {
        let header = [r"\\P\S(x)\A", r"\\P\S(y)\A", r"\\p\s(X)\a"];
        let row = |cells: &[&str]| format!("\"{}\"\r\n", cells[..=columns].join("\",\""));
        row(&["(PDH-CSV 4.0) (X)(0)", header[0], header[1], header[2]])
            + &row(&["03/05/2024 10:00:00.000", "1", "2", "30"])
            + &row(&["03/05/2024 10:00:01.000", "3", "4", "50"])
    };
    folder.write("all.csv", log(3));
    folder.write("first.csv", log(2));
    let notice = "tacho: all.csv: damaged: 1 problem, the first at offset 0x0: column 3 has the path of an earlier column; it is \
                  ignored (found '\\\\p\\s(X)\\a'); 'tacho check all.csv' lists them\n";
    for arguments in [["stats", "-f", "csv"], ["relog", "-f", "csv"], ["relog", "-f", "json"]] {
        let on = |file: &'static str| folder.run([&arguments[..], &[file]].concat());
        let (all, first) = (on("all.csv"), on("first.csv"));
        assert_eq!((all.status, all.stdout), (first.status, first.stdout), "{arguments:?}");
        assert_eq!(all.stderr, notice, "{arguments:?}");
    }
}

#[test]
fn redirected_output_of_typeperf_is_read() {
    let folder = Folder::new();
    let text = "\r\n\"(PDH-CSV 4.0)\",\"\\\\WEB1\\Memory\\Pages/sec\"\r\n\"03/05/2024 10:00:01.000\",\"1.500000\"\r\n\
                \"03/05/2024 10:00:02.000\",\"2.500000\"\r\n\r\nExiting, please wait...\r\nThe command completed successfully.\r\n";
    folder.write("out.csv", text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
    assert_eq!(
        folder.prints(["check", "out.csv"]),
        "out.csv: intact: CSV, 2 samples from 2024-03-05 10:00:01.000 to 2024-03-05 10:00:02.000 (1.000 s; unknown time \
         zone: times are as written in the log), 2 formatted values, machine WEB1\n"
    );
    let listed = folder.prints(["list", "out.csv"]);
    let times = "  time      2024-03-05 10:00:01.000 to 2024-03-05 10:00:02.000, 1.000 s\n            unknown time zone: times are \
                 as written in the log\n  samples   2, typical interval 1.000 s\n  counters  1 in 1 set, 2 formatted values\n";
    assert!(listed.contains(times), "{listed}");
    let json: serde_json::Value =
        serde_json::from_str(&folder.prints(["list", "-f", "json", "out.csv"])).expect("JSON");
    assert_eq!(json[0]["is_time_zone_known"], false);
    // A converted BLG has no time zone either.
    folder.relog(["out.csv", "-o", "out.blg"]);
    assert!(folder.prints(["check", "out.blg"]).contains("; unknown time zone: "));
    assert_eq!(row(&folder.stats(&["out.csv"]), "Pages/sec")["average"], 2);
    let again = folder.prints(["relog", "out.csv", "-o", "-"]);
    assert!(again.starts_with("\"(PDH-CSV 4.0)\",\"\\\\WEB1"), "the header is unchanged: {again}");
}

#[test]
fn a_guessed_code_page_is_reported() {
    let folder = Folder::new();
    folder.write("in.csv", in_1251(RUSSIAN));
    let guess = "tacho: in.csv: read as Windows code page 1251, guessed from its bytes; use --encoding to choose another\n";
    let ran = folder.run(["relog", "in.csv", "-o", "-"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, guess));
    let expected = RUSSIAN.replace(" (RTZ 2 (", "").replace(",\"Диски\"", "").replace(",\" \"\r", "\r");
    assert_eq!(ran.stdout, expected);
    assert_eq!(folder.run(["check", "in.csv"]).stderr, guess);
    assert_eq!(folder.prints(["relog", "in.csv", "--encoding", "cp1251", "-o", "-"]), ran.stdout);
    for (name, bytes) in [
        ("windows-1251", in_1251(&expected)),
        ("utf-8-bom", format!("\u{feff}{expected}").into_bytes()),
        ("utf-8", expected.clone().into_bytes()),
    ] {
        folder.relog(["in.csv", "--encoding", "1251", "--output-encoding", name, "-y", "-o", "out.csv"]);
        assert_eq!(folder.bytes("out.csv"), bytes, "{name}");
    }
    folder.write("keep.csv", "mine");
    folder.run(["relog", "in.csv", "--encoding", "1251", "--output-encoding", "1252", "-y", "-o", "keep.csv"]).fails_with(
        1,
        r"keep.csv: '\\PC\Процессор(_Total)\% загруженности процессора' cannot be written in Windows code page 1252: choose utf-8",
    );
    assert_eq!(folder.text("keep.csv"), "mine");
    let ran = folder.run(["stats", "in.csv", "--encoding", "klingon"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("unknown encoding: use utf-8, utf-8-bom, "), "{}", ran.stderr);
}

#[test]
fn a_blg_converted_from_text_has_the_same_statistics() {
    let folder = Folder::new();
    mixed("WEB1", 0, 12).write(&folder.path("in.blg"));
    for extension in ["csv", "tsv", "json"] {
        let (text, log) = (format!("in.{extension}"), format!("{extension}.blg"));
        folder.relog(["in.blg", "-o", &text]);
        folder.relog([&text, "-o", &log]);
        let stdout = folder.prints(["check", &log]);
        assert!(stdout.contains("intact: BLG, 12 samples"), "{stdout}");
        let (before, after) = (folder.stats(&[&text]), folder.stats(&[&log]));
        assert!(!before.is_empty() && before.iter().all(|row| row["average_kind"] == "arithmetic"));
        assert_eq!(before, after, "{extension}");
        let ran = folder.run(["stats", &log]);
        assert!(ran.stdout.contains("* arithmetic mean: "), "{}", ran.stdout);
        // Converted back, the text is identical.
        folder.relog([&log, "-y", "-o", &format!("again.{extension}")]);
        assert_eq!(folder.text(&format!("again.{extension}")), folder.text(&text));
    }
    let list = folder.prints(["list", "in.csv"]);
    assert!(list.contains("formatted value") && !list.contains("raw"), "{list}");
}

#[test]
fn a_converted_blg_is_reported_to_have_formatted_values() {
    let folder = Folder::new();
    folder.write("text.csv", RUSSIAN.replace("Диски", r"\\PC\S\C"));
    folder.relog(["text.csv", "-o", "text.blg"]);
    for file in ["text.csv", "text.blg"] {
        for command in ["list", "check"] {
            let printed = folder.prints([command, file]);
            assert!(
                printed.contains(" formatted values") && !printed.contains(" raw"),
                "{command} {file}: {printed}"
            );
        }
        let printed = folder.prints(["stats", file]);
        assert!(
            printed.contains("* arithmetic mean: the log has only formatted values"),
            "{file}: {printed}"
        );
        assert_eq!(
            printed.contains("A .blg recorded at the same time"),
            file == "text.csv",
            "{file}: {printed}"
        );
    }
}

#[test]
fn a_column_name_that_is_not_a_path_is_kept_by_conversions() {
    let folder = Folder::new();
    let text = "\"(PDH-CSV 4.0) (X)(0)\",\"Disks\",\"\\\\PC\\S\\C\",\"a\\b\",\"\\\\PC\\S\\D\"\r\n\
                \"03/05/2024 10:00:00.000\",\"1\",\"2\",\"3\",\"4\"\r\n";
    folder.write("0.csv", text);
    for [from, to] in [["0.csv", "1.json"], ["1.json", "2.csv"], ["2.csv", "3.json"], ["3.json", "4.csv"]] {
        folder.run(["relog", from, "-o", to]);
    }
    assert!(folder.text("1.json").contains("\"values\":{\"Disks\":1"), "{}", folder.text("1.json"));
    assert_eq!(folder.text("3.json"), folder.text("1.json"));
    assert_eq!(folder.text("4.csv"), folder.text("2.csv"));
}

#[test]
fn a_repeated_hour_is_not_a_problem_in_a_converted_blg() {
    let folder = Folder::new();
    let times = ["02:59:58", "02:59:59", "02:00:00", "02:00:01"];
    let mut text = String::from("\"(PDH-CSV 4.0) (X)(-120)\",\"\\\\M\\Memory\\A\"\r\n");
    for time in times {
        let _ = write!(text, "\"10/29/2023 {time}.000\",\"1\"\r\n");
    }
    folder.write("in.csv", text);
    folder.relog(["in.csv", "-o", "out.blg"]);
    assert!(folder.prints(["check", "out.blg"]).contains("intact: BLG, 4 samples"));
}

#[test]
fn rows_with_the_same_time_are_not_a_problem_in_a_converted_blg() {
    let folder = Folder::new();
    let mut text = String::from("\"(PDH-CSV 4.0) (X)(-120)\",\"\\\\M\\Memory\\A\"\r\n");
    for second in [1, 2, 2, 3] {
        let _ = write!(text, "\"10/28/2023 02:00:0{second}.000\",\"1\"\r\n");
    }
    folder.write("in.csv", &text);
    folder.relog(["in.csv", "-o", "out.blg"]);
    assert!(folder.prints(["check", "out.blg"]).contains("intact: BLG, 4 samples"));
    assert_eq!(folder.prints(["relog", "out.blg", "-o", "-"]), text);
    assert_eq!(folder.stats(&["out.blg"])[0]["values"], 4);
}

#[test]
fn json_is_a_log() {
    let folder = Folder::new();
    mixed("WEB1", 0, 12).write(&folder.path("all.blg"));
    folder.relog(["all.blg", "-o", "all.csv"]);
    folder.relog(["all.blg", "-o", "all.json"]);
    assert_eq!(folder.stats(&["all.csv"]), folder.stats(&["all.json"]));
    assert_eq!(folder.prints(["relog", "all.json", "-f", "json", "-o", "-"]), folder.text("all.json"));
    let text = folder.text("all.json");
    let (first, second) = text.split_at(text.match_indices('\n').nth(5).map_or(0, |(at, _)| at + 1));
    folder.write("1.json", first);
    folder.write("2.json", second);
    assert_eq!(folder.stats(&["1.json", "2.json"]), folder.stats(&["all.json"]));
    folder.relog(["2.json", "-a", "-o", "1.json"]);
    assert_eq!(folder.text("1.json"), text);
    folder.write("cut.json", &text[..text.len() - 10]);
    let ran = folder.run(["check", "cut.json", "--salvage", "saved.json"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stdout.contains("line 12 is cut short; it is skipped"), "{}", ran.stdout);
    assert_eq!(
        folder.text("saved.json"),
        text.lines().take(11).fold(String::new(), |text, line| text + line + "\n")
    );
}

#[test]
fn a_kept_column_is_not_reported_as_skipped() {
    let folder = Folder::new();
    folder.write("in.csv", "(PDH-CSV 4.0),text,\\\\a\\b\\c\n03/05/2024 10:00:01,1,2\n");
    let ran = folder.run(["stats", "in.csv"]);
    assert!(
        ran.stderr.starts_with("tacho: in.csv: damaged: 1 problem, the first at offset 0x0: column 1 is not a counter path; its text "),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("left out"), "{}", ran.stderr);
}

#[test]
fn a_log_with_too_many_columns_for_the_memory_is_refused() {
    let folder = Folder::new();
    let mut header = "\"(PDH-CSV 4.0) (X)(0)\"".to_owned();
    (0..5000).for_each(|index| write!(header, ",\"\\\\P\\S{index}\\C\"").expect("room"));
    folder.write("wide.csv", format!("{header}\n\"03/05/2024 10:00:00\"{}\n", ",\"1\"".repeat(5000)));
    for command in ["stats", "check", "list"] {
        let ran = folder.run([command, "wide.csv", "--max-memory", "4"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{command}");
        assert!(
            ran.stderr.starts_with("tacho: wide.csv: the log has too many columns for the memory: ")
                && ran
                    .stderr
                    .ends_with(", but only 4 MiB is allowed; raise the limit with --max-memory MB\n"),
            "{}",
            ran.stderr
        );
        assert_eq!(folder.run([command, "wide.csv"]).status, 0);
    }
}

#[test]
fn text_in_a_different_encoding_is_refused() {
    let folder = Folder::new();
    folder.write("in.csv", in_1251(RUSSIAN));
    let message = "in.csv: offset 0x1f: not valid UTF-8, the requested encoding; choose another one, or none to \
                   have it guessed";
    for output in ["out.csv", "out.blg"] {
        folder.run(["relog", "in.csv", "--encoding", "utf-8", "-o", output]).fails_with(1, message);
        assert!(!folder.path(output).exists());
    }
    folder.run(["check", "in.csv", "--encoding", "utf-8"]).fails_with(1, message);
    let line = "{\"time\":\"2024-03-05T10:00:00Z\",\"values\":{\"\\\\\\\\A\\\\B\\\\C\u{e9}\":1}}\n";
    folder.write("in.json", encoding_rs::WINDOWS_1252.encode(line).0);
    let ran = folder.run(["relog", "in.json", "--encoding", "utf-8", "-o", "-"]);
    assert!(ran.status == 1 && ran.stderr.contains("not valid UTF-8"), "{ran:?}");
}

#[test]
fn utf8_with_a_byte_order_mark_is_an_output_encoding() {
    let folder = Folder::new();
    let ran = folder.run(["relog", "in.csv", "--encoding", "utf-8-bom", "-o", "out.csv"]);
    assert!(ran.status == 2 && ran.stderr.contains("--output-encoding utf-8-bom"), "{ran:?}");
    let help = folder.prints(["relog", "--help"]);
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("For the output, see `relog --output-encoding`"), "{help}");
}

#[test]
fn the_reported_memory_is_sufficient() {
    let folder = Folder::new();
    let mut text = "\"(PDH-CSV 4.0) (X)(0)\"".to_owned();
    (0..12_000).for_each(|number| write!(text, ",\"\\\\WEB1\\Set {number}\\Count\"").expect("room"));
    text += "\n\"03/05/2024 10:00:00.000\"";
    (0..12_000).for_each(|number| write!(text, ",\"{number}\"").expect("room"));
    folder.write("in.csv", text + "\n");
    for output in ["out.blg", "out.csv"] {
        let ran = folder.run(["relog", "in.csv", "-o", output, "--max-memory", "3"]);
        let needed = ran
            .stderr
            .split("at least ")
            .nth(1)
            .and_then(|rest| rest.split_once(" MiB"))
            .map(|found| found.0);
        let needed = needed.unwrap_or_else(|| panic!("a size: {ran:?}"));
        assert!(
            ran.stderr.contains(", but only 3 MiB is allowed; raise the limit with --max-memory MB"),
            "{ran:?}"
        );
        folder.relog(["in.csv", "-o", output, "--max-memory", needed]);
    }
}

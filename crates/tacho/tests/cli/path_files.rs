//! Files of counter paths (`-cf`) and of options (`-config`) in Windows' form.

use crate::log_fixture::mixed;
use crate::run::Folder;

fn folder() -> Folder {
    let folder = Folder::new();
    mixed("WEB1", 0, 10).write(&folder.path("in.blg"));
    folder
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

const PATHS: &str = "\\Memory\\Available Bytes\r\n\r\n  \"\\Processor(_Total)\\% Processor Time\"  \r\n   \r\n\
                     \\PhysicalDisk(0 C:)\\*";

#[test]
fn paths_are_read_in_every_encoding() {
    let folder = folder();
    let expected = folder.stats(&[
        "in.blg",
        "-c",
        r"\Memory\Available Bytes",
        r"\Processor(_Total)\% Processor Time",
        r"\PhysicalDisk(0 C:)\*",
    ]);
    assert_eq!(expected.len(), 3);
    let with_mark = format!("\u{feff}{PATHS}");
    for bytes in [
        PATHS.as_bytes().to_vec(),
        PATHS.replace("\r\n", "\n").into_bytes(),
        with_mark.as_bytes().to_vec(),
        utf16(&with_mark),
        with_mark.encode_utf16().flat_map(u16::to_be_bytes).collect(),
    ] {
        folder.write("paths.txt", bytes);
        assert_eq!(folder.stats(&["in.blg", "-cf", "paths.txt"]), expected);
        assert_eq!(folder.stats(&["in.blg", "--counter-file", "paths.txt"]), expected);
        assert_eq!(folder.stats(&["-cf", "paths.txt", "in.blg"]), expected);
    }
    folder.write("one.txt", r"\Memory\Available Bytes");
    assert_eq!(folder.stats(&["in.blg", "-cf", "one.txt", "-c", r"\Processor(*)\*"]).len(), 4);
}

#[test]
fn errors_have_the_line_number() {
    let folder = folder();
    for bytes in
        [format!("{PATHS}\r\nMemory\r\n").into_bytes(), utf16(&format!("\u{feff}{PATHS}\r\nMemory\r\n"))]
    {
        folder.write("paths.txt", bytes);
        folder
            .run(["stats", "in.blg", "-cf", "paths.txt"])
            .fails_with(2, r"paths.txt, line 6: 'Memory' is not a counter path: a path begins with '\'");
    }
}

#[test]
fn invalid_path_files_are_refused() {
    let folder = folder();
    folder.write("blank.txt", "\r\n  \r\n");
    folder.write("broken.txt", utf16("\\Memory\\Größe"));
    folder
        .run(["stats", "in.blg", "-cf", "none.txt"])
        .fails_with(2, "none.txt: cannot read: No such file or directory");
    folder.run(["stats", "in.blg", "-cf", "blank.txt"]).fails_with(2, "blank.txt: contains no counter path");
    folder
        .run(["stats", "in.blg", "-cf", "broken.txt"])
        .fails_with(2, "broken.txt: neither UTF-8 nor UTF-16 with a byte order mark; save it as UTF-8");
    folder
        .run(["stats", "in.blg", "-cf"])
        .fails_with(2, "-cf needs a value; 'tacho stats --help' lists the options");
}

#[test]
fn files_over_the_limit_are_refused() {
    let folder = folder();
    let full = format!("{PATHS}\n;{}", "x".repeat((16 << 20) - PATHS.len() - 2));
    folder.write("full.txt", &full);
    assert_eq!(folder.stats(&["in.blg", "-cf", "full.txt"]).len(), 3);
    folder.write("large.txt", full + "x");
    for file in ["large.txt", "/dev/zero"] {
        let said = format!("{file}: the file is larger than 16 MiB, the limit for such files");
        folder.run(["stats", "in.blg", "-cf", file]).fails_with(2, &said);
        folder.run(["stats", "in.blg", "-config", file]).fails_with(2, &said);
    }
    let said = "/dev/zero: the file is larger than 1 MiB, the limit for such files";
    folder.run(["record", "--view", "/dev/zero", "-o", "none.blg"]).fails_with(2, said);
}

#[test]
fn options_in_windows_form_are_accepted() {
    let folder = folder();
    folder.relog([
        "in.blg",
        "-c",
        r"\Memory\*",
        r"\System\*",
        "-b",
        "3/5/2024 10:00:03",
        "-t",
        "2",
        "-o",
        "direct.csv",
    ]);
    let settings = "[c]\r\n\\Memory\\*\r\n\"\\System\\*\"\r\n\r\n[-b]\r\n3/5/2024 10:00:03 AM\r\n[T]\r\n2\r\n[f]\r\ncsv\r\n\
                    [o]\r\nout.log\r\n[y]\r\n";
    folder.write("settings.txt", utf16(&format!("\u{feff}{settings}")));
    for _ in 0..2 {
        let ran = folder.relog(["in.blg", "-config", "settings.txt"]);
        assert_eq!(ran.stderr, "tacho: out.log: 4 samples written\n");
        assert_eq!(folder.text("out.log"), folder.text("direct.csv"));
    }
    // Long names, and inputs after the counters.
    folder.write(
        "long.txt",
        "[counter]\n\\Memory\\*\n\\System\\*\n[begin]\n2024-03-05T10:00:03\n[every]\n2\n[output]\nlong.csv\n[i]\nin.blg\n",
    );
    folder.relog(["--config", "long.txt"]);
    assert_eq!(folder.text("long.csv"), folder.text("direct.csv"));
}

#[test]
fn wildcards_in_a_settings_file_are_expanded() {
    let folder = folder();
    std::fs::create_dir(folder.path("logs")).expect("a folder");
    for (name, range) in
        [("logs/day1.blg", ["-e", "2024-03-05T10:00:05"]), ("logs/Day2.BLG", ["-b", "2024-03-05T10:00:05"])]
    {
        folder.relog([&["in.blg", "-f", "bin", "-o", name], &range[..]].concat());
    }
    folder.write("logs/notes.txt", "no log");
    folder.write("settings.txt", "[-i]\nlogs/*.blg\n");
    assert_eq!(folder.stats(&["-config", "settings.txt"]), folder.stats(&["in.blg"]));
    folder.write("settings.txt", "[-i]\nlogs/*.csv\n");
    folder
        .run(["stats", "-config", "settings.txt"])
        .fails_with(1, "logs/*.csv: cannot read: No such file or directory");
}

#[test]
fn invalid_settings_files_are_refused() {
    let folder = folder();
    folder.write("value.txt", "\ncsv\n[f]\n");
    folder.write("switch.txt", "[y]\nyes\n");
    folder.write("endless.txt", "[config]\nendless.txt\n");
    folder
        .run(["relog", "in.blg", "-config", "value.txt"])
        .fails_with(2, "value.txt, line 2: this value has no [option] line before it");
    folder
        .run(["relog", "in.blg", "-config", "switch.txt"])
        .fails_with(2, "switch.txt, line 2: [y] does not accept a value");
    folder
        .run(["relog", "in.blg", "-config", "endless.txt"])
        .fails_with(2, "-config: settings files include each other endlessly");
    folder.run(["relog", "in.blg", "-config"]).fails_with(2, "-config needs the name of a file");
    folder
        .run(["relog", "in.blg", "-config", "none.txt"])
        .fails_with(2, "none.txt: cannot read: No such file or directory");
}

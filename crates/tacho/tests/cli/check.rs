//! `check`: intact and damaged logs, and `--salvage`.

use crate::log_fixture::mixed;
use crate::run::Folder;

/// A log with small buffers, and its length.
fn in_small_buffers() -> (Folder, usize) {
    let folder = Folder::new();
    let mut log = mixed("WEB1", 0, 40);
    log.buffer_bytes = 1024;
    log.write(&folder.path("in.blg"));
    let length = folder.bytes("in.blg").len();
    (folder, length)
}

#[test]
fn an_intact_log_is_reported_as_intact() {
    let (folder, _) = in_small_buffers();
    assert_eq!(
        folder.prints(["check", "in.blg"]),
        "in.blg: intact: BLG, 40 samples from 2024-03-05T10:00:00.000+01:00 to 2024-03-05T10:00:39.000+01:00 (39.000 s), \
         280 raw values, machine WEB1\n"
    );
    folder.relog(["in.blg", "-t", "40", "-o", "one.csv"]);
    assert_eq!(
        folder.prints(["check", "one.csv"]),
        "one.csv: intact: CSV, 1 sample from 2024-03-05T10:00:00.000+01:00 to 2024-03-05T10:00:00.000+01:00 (0.000 s), \
         2 formatted values, machine WEB1\n"
    );
}

#[test]
fn the_problems_of_a_truncated_log_are_listed() {
    let (folder, length) = in_small_buffers();
    folder.write("cut.blg", &folder.bytes("in.blg")[..length * 2 / 3 + 100]);
    let ran = folder.run(["check", "cut.blg"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (1, ""), "{}", ran.stdout);
    let lines: Vec<_> = ran.stdout.lines().collect();
    let (problems, end) = lines.split_at(lines.len() - 2);
    assert!(
        !problems.is_empty() && problems.iter().all(|line| line.starts_with("cut.blg: offset 0x")),
        "{lines:#?}"
    );
    assert!(
        end[0].starts_with(&format!("cut.blg: {} problem", problems.len()))
            && end[0].contains(" samples from "),
        "{end:?}"
    );
    assert_eq!(end[1], "'tacho check cut.blg --salvage OUT' saves the intact samples");
}

#[test]
fn a_damaged_log_is_read_with_a_notice() {
    let (folder, length) = in_small_buffers();
    folder.write("cut.blg", &folder.bytes("in.blg")[..length * 2 / 3 + 100]);
    for arguments in [
        &["stats", "cut.blg"][..],
        &["list", "cut.blg"],
        &["relog", "cut.blg"],
        &["relog", "cut.blg", "-o", "-"],
    ] {
        let ran = folder.run(arguments);
        assert_eq!(ran.status, 0, "{arguments:?} {}", ran.stderr);
        assert!(
            ran.stderr.starts_with("tacho: cut.blg: ") && ran.stderr.contains(", the first at offset 0x")
        );
        assert!(ran.stderr.ends_with("; 'tacho check cut.blg' lists them\n"), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(!ran.stdout.is_empty());
    }
    let ran = folder.relog(["cut.blg", "-o", "out.blg"]);
    assert_eq!(ran.stderr.lines().count(), 2, "{}", ran.stderr);
}

#[test]
fn salvage_saves_intact_samples() {
    let (folder, length) = in_small_buffers();
    let mut bytes = folder.bytes("in.blg");
    // Destroys one buffer in the middle.
    let middle = length / 2 / 1024 * 1024;
    bytes[middle..middle + 1024].fill(0xAA);
    folder.write("bad.blg", bytes);
    let ran = folder.run(["check", "bad.blg", "--salvage", "saved.blg"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (1, ""), "{}", ran.stdout);
    let last = ran.stdout.lines().last().expect("a line");
    let count = last.strip_prefix("saved.blg: ").and_then(|line| line.strip_suffix(" samples written"));
    let count: u64 = count.expect("a count").parse().expect("a number");
    assert!((30..40).contains(&count), "{count}");
    let checked = folder.prints(["check", "saved.blg"]);
    assert!(checked.starts_with(&format!("saved.blg: intact: BLG, {count} samples from ")), "{checked}");
    assert_eq!(folder.stats(&["saved.blg"]), folder.stats(&["bad.blg"]));

    let again = folder.run(["check", "bad.blg", "--salvage", "saved.blg"]);
    assert_eq!(
        (again.status, again.stderr.as_str()),
        (2, "tacho: saved.blg exists: use -y to overwrite it, or another name\n")
    );
    assert_eq!(folder.run(["check", "bad.blg", "--salvage", "saved.blg", "-y"]).status, 1);
    assert_eq!(folder.run(["check", "bad.blg", "--salvage", "saved.csv"]).status, 1);
    assert!(folder.text("saved.csv").starts_with("\"(PDH-CSV 4.0)"));
}

#[test]
fn salvage_copies_an_intact_log() {
    let (folder, _) = in_small_buffers();
    let printed = folder.prints(["check", "in.blg", "--salvage", "copy.blg"]);
    assert!(printed.ends_with("copy.blg: 40 samples written\n"), "{printed}");
    assert_eq!(folder.stats(&["copy.blg"]), folder.stats(&["in.blg"]));
}

#[test]
fn undamaged_lines_of_a_text_log_are_saved() {
    let (folder, _) = in_small_buffers();
    folder.relog(["in.blg", "-o", "in.csv"]);
    let text = folder.text("in.csv").replacen("10:00:07.000", "seven", 1);
    folder.write("bad.csv", &text[..text.len() - 20]);
    let ran = folder.run(["check", "bad.csv", "--salvage", "saved.csv"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (1, ""), "{}", ran.stdout);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(lines[0].contains("line 9 has no valid time; it is skipped"), "{lines:#?}");
    assert!(lines[1].contains("line 41 is cut short; it is skipped"), "{lines:#?}");
    assert!(lines[2].starts_with("bad.csv: 2 problems; intact: 38 samples from"), "{lines:#?}");
    assert!(folder.prints(["check", "saved.csv"]).starts_with("saved.csv: intact: CSV, 38 samples"));
}

#[test]
fn no_file_is_written_without_intact_samples() {
    let (folder, _) = in_small_buffers();
    folder.write("head.blg", &folder.bytes("in.blg")[..1024]);
    let ran = folder.run(["check", "head.blg", "--salvage", "saved.blg"]);
    assert_eq!(ran.status, 1);
    assert!(!folder.path("saved.blg").exists());
    assert!(ran.stderr.is_empty() || ran.stderr.lines().count() == 1, "{}", ran.stderr);
}

#[test]
fn a_log_with_only_its_first_buffer_is_refused() {
    let (folder, length) = in_small_buffers();
    folder.write("head.blg", &folder.bytes("in.blg")[..1024]);
    for command in ["check", "list", "stats"] {
        folder.run([command, "head.blg"]).fails_with(
            1,
            &format!(
                "head.blg: damaged at offset 0x400: the file is cut short: the header counts more buffers (found 1024 bytes, \
                 expected {length} bytes: {} buffers)",
                length / 1024
            ),
        );
    }
}

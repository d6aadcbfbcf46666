//! `relog -a`: appending samples to a log.

use tachograph_counters::CounterType;

use crate::log_fixture::{LogFixture, counter, mixed, one, raw};
use crate::run::Folder;

/// A complete log, and its samples in two files; the second file starts with a baseline.
fn cut_in_two() -> Folder {
    let folder = Folder::new();
    mixed("WEB1", 0, 12).write(&folder.path("all.blg"));
    folder.relog(["all.blg", "-e", "2024-03-05T10:00:06", "-o", "1.blg"]);
    folder.relog(["all.blg", "-b", "2024-03-05T10:00:06", "-o", "2.blg"]);
    folder
}

#[test]
fn samples_are_appended_to_a_blg() {
    let folder = cut_in_two();
    let ran = folder.relog(["2.blg", "-a", "-o", "1.blg"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", "tacho: 1.blg: 6 samples written\n"));
    assert_eq!(folder.stats(&["1.blg"]), folder.stats(&["all.blg"]));
    let checked = folder.prints(["check", "1.blg"]);
    assert!(checked.starts_with("1.blg: intact: BLG, 12 samples"), "{checked}");
}

#[test]
fn samples_are_appended_to_a_text_log() {
    for extension in ["csv", "tsv"] {
        let folder = cut_in_two();
        let name = format!("1.{extension}");
        folder.relog(["all.blg", "-f", extension, "-o", "all.text"]);
        folder.relog(["1.blg", "-o", &name]);
        folder.relog(["2.blg", "-a", "-o", &name]);
        assert_eq!(folder.text(&name), folder.text("all.text"));
        // A text log to a text log.
        folder.relog(["1.blg", "-y", "-o", &name]);
        folder.relog(["2.blg", "-f", extension, "-o", "2.text"]);
        folder.relog(["2.text", "-a", "-o", &name]);
        assert_eq!(folder.text(&name), folder.text("all.text"));
    }
}

#[test]
fn appending_to_a_missing_file_creates_it() {
    let folder = cut_in_two();
    folder.relog(["1.blg", "-a", "-o", "new.blg"]);
    assert_eq!(folder.stats(&["new.blg"]), folder.stats(&["1.blg"]));
}

#[test]
fn different_counters_are_refused() {
    let folder = cut_in_two();
    let mut memory =
        LogFixture::new("WEB1").value("Memory", counter("Available Bytes", CounterType::LARGE_RAWCOUNT));
    memory.at(60, vec![one(raw(1, 0))]).write(&folder.path("memory.blg"));
    let before = folder.bytes("1.blg");
    folder
        .run(["relog", "memory.blg", "-a", "-o", "1.blg"])
        .fails_with(2, r"1.blg: cannot append: the input lacks '\\WEB1\Memory\% Committed Bytes In Use'");
    folder
        .run(["relog", "2.blg", "-a", "-o", "memory.blg"])
        .fails_with(2, r"memory.blg: cannot append: it lacks '\\WEB1\Memory\% Committed Bytes In Use'");
    folder.run(["relog", "2.blg", "-c", r"\System\*", "-a", "-o", "memory.blg"]).fails_with(
        2,
        r"memory.blg: cannot append: it has '\\WEB1\Memory\Available Bytes' where the input has '\\WEB1\System\Context Switches/sec'",
    );
    assert_eq!(folder.bytes("1.blg"), before);
}

#[test]
fn earlier_times_are_refused() {
    let folder = cut_in_two();
    folder.run(["relog", "1.blg", "-a", "-o", "2.blg"]).fails_with(
        1,
        "2.blg: cannot append: it ends at 2024-03-05T10:00:11.000+01:00, but the input starts at \
         2024-03-05T10:00:00.000+01:00; cut the input with -b",
    );
}

#[test]
fn a_different_format_is_refused() {
    let folder = cut_in_two();
    folder
        .run(["relog", "2.blg", "-a", "-f", "csv", "-o", "1.blg"])
        .fails_with(2, "1.blg: cannot append: its format is BLG; use the same with -f");
    folder.write("notes.txt", "no log\n");
    let ran = folder.run(["relog", "2.blg", "-a", "-o", "notes.txt"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert_eq!(folder.text("notes.txt"), "no log\n");
}

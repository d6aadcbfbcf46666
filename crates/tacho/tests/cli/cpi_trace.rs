//! `tacho cpi --trace` and `--read`: writing and showing hooks, and damaged traces.

use std::os::unix::fs::symlink;

use serde_json::Value;
use tachograph_cpi::trace::Trace;
use tachograph_cpi::{Counts, CpiData, Measured, Mode, ProcessorData, ProcessorState};

use crate::cpi::{objects, only_messages};
use crate::run::Folder;

/// Writes hooks of the system; returns their kinds and minor codes.
#[track_caller]
fn traced(folder: &Folder, options: &[&str]) -> Vec<(String, u64)> {
    let ran = folder.run([&["cpi", "-ds", "-o", "/dev/null", "-y", "--trace", "cpi.nrm2"], options].concat());
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{ran:?}");
    only_messages(&ran.stderr);
    let hooks = objects(&folder.prints(["cpi", "--read", "cpi.nrm2", "-f", "json"]));
    let kind = |hook: &Value| {
        (hook["kind"].as_str().expect("a text").to_owned(), hook["minor"].as_u64().expect("a number"))
    };
    hooks.iter().map(kind).collect()
}

/// Hooks of these kinds, all with this minor code.
fn of(kinds: &[&str], minor: u64) -> Vec<(String, u64)> {
    kinds.iter().map(|kind| ((*kind).to_owned(), minor)).collect()
}

#[test]
fn hooks_are_written_with_each_result() {
    let folder = Folder::new();
    let run = ["-r", "0.02"];
    let whole = ["label_start", "summary", "system", "processors", "label_end"];
    assert_eq!(traced(&folder, &run), of(&whole[1..4], 0));
    assert_eq!(traced(&folder, &[&run[..], &["--label", "a", "--minor", "255"]].concat()), of(&whole, 255));
    assert_eq!(traced(&folder, &[&run[..], &["--summary"]].concat()), of(&["summary"], 0));
    assert_eq!(traced(&folder, &[&run[..], &["--detailed"]].concat()), of(&whole[2..4], 0));
    let both = ["--detailed", "--summary", "--minor=7"];
    assert_eq!(traced(&folder, &[&run[..], &both].concat()), of(&whole[1..4], 7));
    assert_eq!(traced(&folder, &["--minor", "9", "--summary", "-c", "true"]), of(&["summary"], 9));
}

#[test]
fn a_trace_has_the_displayed_values() {
    let folder = Folder::new();
    let arguments = ["cpi", "-r", "0.3", "-t", "0.1", "-f", "json", "--trace", "cpi.nrm2", "--detailed"];
    let ran = folder.run(arguments);
    assert_eq!(ran.status, 0, "{ran:?}");
    let samples = objects(&ran.stdout);
    let hooks = objects(&folder.prints(["cpi", "--read", "cpi.nrm2", "-f", "json"]));
    let systems: Vec<&Value> = hooks.iter().filter(|hook| hook["kind"] == "system").collect();
    assert_eq!(systems.len(), samples.len());
    for (hook, sample) in systems.iter().zip(&samples) {
        let (hook, sample) = (&hook["values"][0], &sample["system"]);
        // In a hook, a missing count is 0.
        for (name, digits) in [("instructions", 0.0), ("cycles", 0.0), ("cpi", 5e-5), ("busy_percent", 5e-5)]
        {
            let [hook, sample] = [hook, sample].map(|row| row[name].as_f64().unwrap_or(0.0));
            assert!((hook - sample).abs() <= digits * 1.000_001, "{name}: {hook} {sample}");
        }
    }
    let times: Vec<u64> = hooks.iter().map(|hook| hook["time_stamp"].as_u64().expect("ticks")).collect();
    assert!(times.is_sorted() && times[0] > 0, "{times:?}");
}

/// Writes a trace of known values, with a thread and a label with control characters.
fn write_trace(folder: &Folder) {
    let measured = |instructions| Measured {
        instructions,
        cycles: 8_000_000,
        cycles_scaled: 4_000_000,
        core_cycles: 3_000_000,
        busy_ticks: 50,
        elapsed_ticks: 100,
        enabled_ns: 1000,
        running_ns: 1000,
    };
    let processor = ProcessorData { state: ProcessorState::Measured, measured: measured(3_000_000) };
    let data = CpiData {
        elapsed_cycles: 8_000_000,
        ended_at: 123_456_789,
        processors: vec![processor],
        system: measured(3_000_000),
        is_scaled: true,
        tid: 4242,
        thread: Some(Counts { instructions: 2000, cycles: 3000, ..Counts::default() }),
        ..CpiData::default()
    };
    let trace = Trace::create(&folder.path("known.nrm2")).expect("a file");
    trace.write(&data, 7, Mode::TRACE_EVERYTHING, Some("a,\"b\"\u{1b}[2J")).expect("a trace");
    trace.close().expect("a trace");
}

#[test]
fn an_unknown_cpi_is_not_shown_as_0() {
    let folder = Folder::new();
    let measured = Measured { busy_ticks: 50, elapsed_ticks: 100, ..Measured::default() };
    let data = CpiData {
        processors: vec![ProcessorData { state: ProcessorState::Measured, measured }],
        system: measured,
        is_scaled: true,
        ..CpiData::default()
    };
    let trace = Trace::create(&folder.path("a.nrm2")).expect("a file");
    trace.write(&data, 7, Mode::TRACE_EVERYTHING, None).expect("a trace");
    trace.close().expect("a trace");
    let text = folder.prints(["cpi", "--read", "a.nrm2"]);
    assert!(text.contains("  system    busy% 50.0000\n") && !text.contains("cpi "), "{text}");
    let text = folder.prints(["cpi", "--read", "a.nrm2", "-f", "csv"]);
    assert!(text.contains(",summary,0,,192,,system,,,,,,50\n"), "{text}");
    let hooks = objects(&folder.prints(["cpi", "--read", "a.nrm2", "-f", "json"]));
    assert!(
        hooks.iter().flat_map(|hook| hook["values"].as_array()).flatten().all(|row| row["cpi"].is_null())
    );
}

#[test]
fn hooks_are_printed_as_text_and_rows() {
    let folder = Folder::new();
    write_trace(&folder);
    let text = folder.prints(["cpi", "--read", "known.nrm2"]);
    let expected = [
        r#"123456789 minor 7 label start 'a,"b"\u{1b}[2J', elapsed 8,000,000"#,
        "123456789 minor 7 summary, elapsed 8,000,000",
        "  system    cpi 2.6667  cpi_wb 1.3333  busy% 50.0000",
        "  cpu0      cpi 2.6667  cpi_wb 1.3333  busy% 50.0000",
        "  thread    cpi 1.5000",
        "123456789 minor 7 system, elapsed 8,000,000",
        "  system    instructions 3,000,000  cycles 8,000,000  cycles_scaled 4,000,000  cpi 2.6667  cpi_wb 1.3333  busy% 50.0000",
        "123456789 minor 7 processors, elapsed 8,000,000",
        "  cpu0      instructions 3,000,000  cycles 8,000,000  cycles_scaled 4,000,000  cpi 2.6667  cpi_wb 1.3333  busy% 50.0000",
        "123456789 minor 7 thread, elapsed 8,000,000, tid 4242",
        "  thread    instructions 2,000  cycles 3,000  cpi 1.5000",
        r#"123456789 minor 7 label end 'a,"b"\u{1b}[2J', elapsed 8,000,000"#,
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);

    let text = folder.prints(["cpi", "--read", "known.nrm2", "-f", "csv", "-o", "-"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 9, "{text}");
    assert!(lines[1].ends_with(",7,label_start,8000000,\"a,\"\"b\"\"\u{1b}[2J\",192,,,,,,,,"), "{text}");
    assert!(lines[2].ends_with(",7,summary,8000000,,192,,system,,,,2.6667,1.3333,50"), "{text}");
    assert!(lines[5].ends_with(",system,3000000,8000000,4000000,2.6667,1.3333,50"), "{text}");
    assert!(lines[7].ends_with(",7,thread,8000000,,192,4242,thread,2000,3000,,1.5,,"), "{text}");

    let hooks = objects(&folder.prints(["cpi", "--read", "known.nrm2", "-f", "json"]));
    assert_eq!(hooks[0]["label"], "a,\"b\"\u{1b}[2J");
    assert_eq!((&hooks[4]["tid"], &hooks[4]["values"][0]["cpi"]), (&4242.into(), &1.5.into()));
    assert_eq!(hooks[2]["values"][0]["cpi"], 2.6667);
}

#[test]
fn hooks_before_the_damage_are_shown() {
    let folder = Folder::new();
    write_trace(&folder);
    let whole = folder.prints(["cpi", "--read", "known.nrm2"]);
    let bytes = folder.bytes("known.nrm2");
    folder.write("cut.nrm2", &bytes[..bytes.len() - 1]);
    let ran = folder.run(["cpi", "--read", "cut.nrm2"]);
    // All hooks are shown except the last one, which has one line.
    let lines: Vec<&str> = whole.lines().collect();
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), lines[..lines.len() - 1]);
    assert_eq!((ran.status, ran.stderr.lines().count()), (1, 1), "{ran:?}");
    assert!(ran.stderr.starts_with("tacho: cut.nrm2: offset 0x"), "{ran:?}");

    folder.write("empty.nrm2", "");
    folder.write("notes.txt", "Remember the milk.");
    for format in ["table", "csv", "json"] {
        for file in ["empty.nrm2", "notes.txt"] {
            let ran = folder.run(["cpi", "--read", file, "-f", format]);
            assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.lines().count()), (1, "", 1), "{ran:?}");
            assert!(
                ran.stderr.starts_with(&format!("tacho: {file}: offset 0x0: this is not a trace")),
                "{ran:?}"
            );
        }
    }
    let read = ["cpi", "--read"];
    folder.run([&read[..], &["none"]].concat()).fails_with(1, "none: cannot read: No such file or directory");
    folder.run([&read[..], &["."]].concat()).fails_with(1, ".: this is a folder, not a trace");
    folder.write("out.txt", "mine");
    folder
        .run(["cpi", "--read", "known.nrm2", "-o", "out.txt"])
        .fails_with(2, "out.txt exists: use -y to overwrite it, or another name");
    folder
        .run(["cpi", "--read", "known.nrm2", "-o", "/dev/full"])
        .fails_with(1, "/dev/full: cannot write: No space left on device");
}

#[test]
fn the_output_must_not_be_the_trace_that_is_read() {
    let folder = Folder::new();
    write_trace(&folder);
    let bytes = folder.bytes("known.nrm2");
    symlink("known.nrm2", folder.path("link")).expect("a link");
    std::fs::hard_link(folder.path("known.nrm2"), folder.path("hard")).expect("a link");
    for output in ["known.nrm2", "./known.nrm2", "link", "hard"] {
        for yes in [&["-y"][..], &[]] {
            let ran = folder.run([&["cpi", "--read", "known.nrm2", "-o", output], yes].concat());
            ran.fails_with(2, "-o and --read both name known.nrm2");
        }
    }
    folder
        .run(["cpi", "--read", "link", "-o", "known.nrm2", "-y"])
        .fails_with(2, "-o and --read both name link");
    assert_eq!(folder.bytes("known.nrm2"), bytes);
}

#[test]
fn the_trace_and_the_output_must_be_different_files() {
    let folder = Folder::new();
    symlink("same", folder.path("link")).expect("a link");
    symlink(".", folder.path("here")).expect("a link");
    for exists in [false, true] {
        if exists {
            folder.write("same", "mine");
        }
        for output in ["same", "./same", "here/same", "link"] {
            let ran = folder.run(["cpi", "-y", "-o", output, "--trace", "same", "--", "echo", "ran"]);
            ran.fails_with(2, "-o and --trace both name same");
        }
        assert_eq!(folder.path("same").exists(), exists);
    }
    assert_eq!(folder.text("same"), "mine");
}

#[test]
fn a_file_created_by_the_command_is_not_overwritten_by_the_trace() {
    let folder = Folder::new();
    let ran = folder.run(["cpi", "--trace", "cpi.nrm2", "-c", "echo mine > cpi.nrm2"]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("cpi.nrm2 exists: use -y to overwrite it, or another name"), "{ran:?}");
    assert_eq!(folder.text("cpi.nrm2"), "mine\n");
}

#[test]
fn an_unwritable_trace_is_reported_before_the_command_runs() {
    let folder = Folder::new();
    for (trace, part) in [
        ("none/cpi.nrm2", "none/cpi.nrm2: its folder does not exist; create it first"),
        ("/dev/full", "No space left on device"),
    ] {
        let ran = folder.run(["cpi", "--trace", trace, "--", "echo", "ran"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran:?}");
        assert!(ran.stderr.contains(part) && ran.stderr.lines().count() == 1, "{ran:?}");
    }
}

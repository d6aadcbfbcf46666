//! Recordings that end by signals, kills and full disks.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};

use super::doubles::{INSTANT, UNSIGNED_64, mmv};
use super::{arguments, kill, samples, summary, wait_for};
use crate::run::{Folder, Outcome};

fn start(folder: &Folder, rest: &[&str]) -> Child {
    let mut command = folder.command_with_default_signals(arguments(rest));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start command")
}

#[test]
fn a_signal_completes_the_log() {
    for signal in ["-INT", "-TERM"] {
        for name in ["a.blg", "a.csv"] {
            let folder = Folder::new();
            let mut child = start(&folder, &["-o", name]);
            let least = wait_for(&folder.path(name), 3, &mut child);
            kill(signal, &child);
            let ran = Outcome::from(child.wait_with_output().expect("an end"));
            assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
            let count = samples(&folder.path(name)).len();
            assert!(count >= least);
            assert!(summary(&ran).starts_with(&format!("{name}: {count} samples over ")), "{}", ran.stderr);
            let checked = folder.prints(["check", name]);
            assert!(checked.contains(": intact: "), "{checked}");
        }
    }
}

#[test]
fn a_signal_at_any_time_within_a_segment_leaves_intact_files() {
    for (round, extension) in ["blg", "csv", "blg", "csv", "blg", "blg"].into_iter().enumerate() {
        let folder = Folder::new();
        let mut child = start(&folder, &["-segment", "0.04", "-o", &format!("a.{extension}")]);
        wait_for(&folder.path(&format!("a_000003.{extension}")), 1, &mut child);
        // Send the signal at different times within the two samples of a segment.
        std::thread::sleep(std::time::Duration::from_micros(7_300 * round as u64));
        kill(["-INT", "-TERM"][round % 2], &child);
        let ran = Outcome::from(child.wait_with_output().expect("an end"));
        assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
        let names = folder.names();
        for name in &names {
            assert!(folder.prints(["check", name]).contains(": intact: "), "{name}");
        }
        let count: usize = names.iter().map(|name| samples(&folder.path(name)).len()).sum();
        let summary = summary(&ran).replace(',', "");
        assert!(summary.contains(&format!(": {} files {count} samples over ", names.len())), "{summary}");
    }
}

#[test]
fn a_signal_does_not_wait_for_the_next_sample() {
    let folder = Folder::new();
    let command = ["record", super::COUNTERS[0], "-si", "1:00:00", "-o", "a.blg"];
    let mut child =
        folder.command_with_default_signals(command).stderr(Stdio::piped()).spawn().expect("start command");
    wait_for(&folder.path("a.blg"), 1, &mut child);
    kill("-INT", &child);
    let ran = Outcome::from(child.wait_with_output().expect("an end"));
    assert_eq!(ran.status, 0);
    assert!(summary(&ran).starts_with("a.blg: 1 sample, 1 counter, 1 value, "), "{}", ran.stderr);
}

#[test]
fn a_second_signal_ends_immediately() {
    let folder = Folder::new();
    let pipe = folder.path("a.csv");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    // Opening the pipe blocks, because it has no reader.
    let mut child = start(&folder, &["-o", "a.csv"]);
    let status = loop {
        kill("-INT", &child);
        std::thread::sleep(std::time::Duration::from_millis(10));
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
    };
    // The process was killed if the first signal arrived before the handler was installed.
    assert!(status.code() == Some(130) || status.signal() == Some(2), "{status:?}");
}

#[test]
fn a_killed_recorder_keeps_written_samples() {
    // The seed is fixed, so that the times of the kills vary, but are the same in each run.
    let mut seed = 0x2545_F491_4F6C_DD1D_u64;
    for round in 0..10 {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let least = 1 + (seed % 12) as usize;
        let folder = Folder::new();
        let name = if round % 3 == 2 { "a.csv" } else { "a.blg" };
        let mut child = start(&folder, &["-o", name]);
        // The number of samples that were readable before the kill.
        let seen = wait_for(&folder.path(name), least, &mut child);
        kill("-KILL", &child);
        assert_eq!(child.wait().expect("an end").signal(), Some(9));
        let samples = samples(&folder.path(name));
        assert!(samples.len() >= seen, "{} of {seen}", samples.len());
        assert!(samples.is_sorted_by(|one, other| one.at.utc < other.at.utc));
        let rows = folder.stats(&[name]);
        assert_eq!(crate::run::row(&rows, r"\Memory\Available Bytes")["values"], samples.len());
        // The log can be continued. If the kill left an unfinished sample, it is reported.
        let ran = folder.run(arguments(&["-a", "-sc", "2", "-o", name]));
        assert_eq!(ran.status, 0, "{ran:?}");
        assert!(ran.stderr.contains(&format!("tacho: {name}: 2 samples over ")), "{ran:?}");
        assert_eq!(super::samples(&folder.path(name)).len(), samples.len() + 2);
    }
}

/// Asserts that a recording failed for lack of space, with a message, a summary and an intact log.
#[track_caller]
fn assert_out_of_space(folder: &Folder, output: Output, file: &str, error: &str) {
    let ran = Outcome::from(output);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    let lines: Vec<_> = ran.stderr.lines().collect();
    let [.., summary, failure] = *lines else { panic!("{}", ran.stderr) };
    assert_eq!(failure, format!("tacho: {file}: {error}"));
    let count = samples(&folder.path(file)).len();
    assert!(
        count > 0 && summary.replace(',', "").starts_with(&format!("tacho: {file}: {count} sample")),
        "{count}: {summary}"
    );
    let checked = folder.prints(["check", file]);
    assert!(checked.contains(": intact: "), "{checked}");
}

/// A shell command that records hundreds of samples quickly.
fn fast(file: &str) -> String {
    let counters: Vec<_> = super::COUNTERS.iter().map(|counter| format!("'{counter}'")).collect();
    format!("'{}' record {} -si 0.002 -o {file}", env!("CARGO_BIN_EXE_tacho"), counters.join(" "))
}

#[test]
fn a_file_that_cannot_grow_ends_the_recording() {
    // The kernel sends SIGXFSZ, whose default action is to kill.
    for (name, blocks, signal) in
        [("a.blg", 300, "''"), ("a.csv", 61, "''"), ("a.blg", 300, "-"), ("a.csv", 61, "-")]
    {
        let folder = Folder::new();
        let script = format!("trap {signal} XFSZ; ulimit -f {blocks}; exec {}", fast(name));
        let output = folder_shell(&folder).args(["-c", &script]).output().expect("a shell");
        assert_out_of_space(&folder, output, name, "cannot write: File too large");
    }
}

const NO_SPACE: &str = "cannot write: No space left on device";

#[test]
fn a_full_disk_ends_the_recording() {
    let all = format!(r"'{}' record '\Process(*)\*' -si 0.01 -o disk/a.blg", env!("CARGO_BIN_EXE_tacho"));
    let all_again = ["record", r"\Process(*)\*", "-si", "0.01", "-a", "-sc", "2", "-o", "disk/a.blg"];
    let few_again = |name| arguments(&["-a", "-sc", "2", "-o", name]);
    for (name, size, record, again) in [
        ("disk/a.blg", "1m", all, all_again.to_vec()),
        ("disk/a.blg", "256k", fast("disk/a.blg"), few_again("disk/a.blg")),
        ("disk/a.csv", "128k", fast("disk/a.csv"), few_again("disk/a.csv")),
    ] {
        let folder = Folder::new();
        let Some(output) = folder.on_full_disk(size, &record) else { return };
        assert_out_of_space(&folder, output, name, NO_SPACE);
        let count = samples(&folder.path(name)).len();
        // With enough space, the log can be continued.
        let ran = folder.run(&again);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert_eq!(samples(&folder.path(name)).len(), count + 2);
        assert!(folder.prints(["check", name]).contains(": intact: "));
    }
}

#[test]
fn segments_on_a_full_disk_are_intact() {
    for extension in ["blg", "csv"] {
        let folder = Folder::new();
        let record = fast(&format!("disk/a.{extension} -segment 100KB"));
        let Some(output) = folder.on_full_disk("256k", &record) else { return };
        let ran = Outcome::from(output);
        assert!(ran.status == 1 && ran.stderr.contains(NO_SPACE), "{}", ran.stderr);
        let files: Vec<_> = std::fs::read_dir(folder.path("disk")).expect("the folder").collect();
        assert!(files.len() > 2, "{}", ran.stderr);
        for file in files {
            let file = file.expect("a file").path();
            let checked = folder.prints([std::ffi::OsStr::new("check"), file.as_os_str()]);
            assert!(checked.contains(": intact: "), "{checked}");
        }
    }
}

fn folder_shell(folder: &Folder) -> Command {
    let mut shell = Command::new("sh");
    shell.current_dir(folder.path("")).stdin(Stdio::null());
    shell
}

#[test]
fn a_full_device_is_reported() {
    let folder = Folder::new();
    for format in ["bin", "csv"] {
        folder
            .run(arguments(&["-f", format, "-sc", "1", "-o", "/dev/full"]))
            .fails_with(1, "/dev/full: cannot write: No space left on device");
    }
}

#[test]
fn errors_of_a_sample_that_was_not_written_are_not_counted() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("mmv")).expect("a new folder");
    folder.write("mmv/oven", mmv(&[("loaves", UNSIGNED_64, INSTANT, 0)]));
    let mut command =
        folder.command_with_default_signals(["record", r"\mmv oven\*", "-si", "0.02", "-o", "a.csv"]);
    command.env("TACHO_MMV_DIR", folder.path("mmv")).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("start command");
    let good = wait_for(&folder.path("a.csv"), 2, &mut child);
    // From now on the set cannot be read.
    let file = std::fs::OpenOptions::new().write(true).open(folder.path("mmv/oven")).expect("the file");
    file.set_len(8).expect("a shorter file");
    wait_for(&folder.path("a.csv"), good + 4, &mut child);
    // From now on the log cannot grow.
    let pid = child.id().to_string();
    let limited = Command::new("prlimit").args(["--pid", &pid, "--fsize=1:1"]).status();
    assert!(limited.expect("prlimit").success());
    let ran = Outcome::from(child.wait_with_output().expect("an end"));
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let blank = folder.text("a.csv").lines().filter(|row| row.ends_with("\" \"")).count();
    assert!(blank > 1, "{}", folder.text("a.csv"));
    let end = format!("; {blank} reads of counter sets failed\n");
    assert!(ran.stderr.contains(&end), "{blank}: {}", ran.stderr);
}

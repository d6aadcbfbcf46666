//! `tacho record`.

mod archive;
mod doubles;
mod ends;
mod existing;
mod files;
mod hangup;
mod invalid;
mod moved;

use std::io::Cursor;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use tachograph_counters::sample::Sample;

use crate::run::{Folder, Outcome};

/// Counters that exist on every Linux system.
const COUNTERS: [&str; 3] = [
    r"\Memory\Available Bytes",
    r"\System\Context Switches/sec",
    r"\Processor Information(*)\% Processor Time",
];

/// Arguments that record these counters every 20 ms.
fn arguments<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    [&["record"], &COUNTERS[..], &["-si", "0.02"], rest].concat()
}

/// Records successfully; returns the summary, the only line on standard error, without `tacho: `.
#[track_caller]
fn recorded(folder: &Folder, rest: &[&str]) -> String {
    let ran = folder.run(arguments(rest));
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    summary(&ran)
}

#[track_caller]
fn summary(ran: &Outcome) -> String {
    let line = ran.stderr.strip_prefix("tacho: ").and_then(|line| line.strip_suffix('\n'));
    let line = line.filter(|line| !line.contains('\n'));
    line.unwrap_or_else(|| panic!("one line: {}", ran.stderr)).to_owned()
}

/// The samples of a log that can be read now; empty for a missing or empty file.
fn samples(path: &Path) -> Vec<Sample> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let mut samples = Vec::new();
    let Ok(mut reader) = tachograph_logs::open_stream(Cursor::new(bytes)) else { return samples };
    let mut sample = Sample::default();
    while reader.next(&mut sample).expect("bytes in memory") {
        samples.push(sample.clone());
    }
    samples
}

/// Waits until a log that is being recorded has `least` samples; returns their number.
#[track_caller]
fn wait_for(path: &Path, least: usize, child: &mut Child) -> usize {
    let begun = Instant::now();
    loop {
        let count = samples(path).len();
        if count >= least {
            return count;
        }
        assert_eq!(child.try_wait().expect("a child"), None, "the recorder ended too early");
        assert!(begun.elapsed() < Duration::from_secs(60), "{count} of {least} samples");
        std::thread::sleep(Duration::from_millis(3));
    }
}

pub(crate) fn kill(signal: &str, child: &Child) {
    let status = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(status.expect("kill").success());
}

#[test]
fn a_predefined_view_is_recorded() {
    let folder = Folder::new();
    let ran = folder.run(["record", "--view", "memory", "-sc", "2", "-si", "0.1", "-o", "memory.blg"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let rows = folder.stats(&["memory.blg"]);
    for counter in [r"\Memory\Used Bytes", r"\Memory\Available Bytes"] {
        assert!(
            rows.iter().any(|row| row["path"].as_str().is_some_and(|path| path.ends_with(counter))),
            "{rows:?}"
        );
    }
    // The columns of a table in a view are recorded too.
    let ran = folder.run(["record", "--view", "processes", "-sc", "2", "-si", "0.1", "-o", "processes.blg"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let rows = folder.stats(&["processes.blg", "-c", r"\Process(*)\*"]);
    for counter in ["% Processor Time", "Working Set", "ID Process", "Creating Process ID"] {
        assert!(rows.iter().any(|row| row["counter"] == counter), "{counter}");
    }
    folder.run(["record", "--view", "memry", "-o", "none.blg"]).fails_with(
        2,
        "memry: is neither a ready-made view (overview, cpu, memory, disk, network, processes, cgroups, pressure, gpu, applications, sensors) nor a file",
    );
}

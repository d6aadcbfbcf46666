//! The memory of text logs with many columns, compared to the memory reserved for them.

use std::fmt::Write as _;
use std::time::Duration;

use crate::run::Folder;

const COLUMNS: usize = 12_000;

/// The memory of a command with a small log, including read-ahead, in MiB.
const BASE: u64 = 40;

fn csv(path: &dyn Fn(usize) -> String, rows: usize) -> String {
    let mut text = "\"(PDH-CSV 4.0) (X)(0)\"".to_owned();
    (0..COLUMNS).for_each(|number| write!(text, ",\"{}\"", path(number)).expect("room"));
    for row in 0..rows {
        write!(text, "\n\"03/05/2024 10:00:{row:02}\"").expect("room");
        (0..COLUMNS).for_each(|number| write!(text, ",\"{number}.5\"").expect("room"));
    }
    text + "\n"
}

/// Runs a command; returns its exit status, standard error, and peak resident memory in MiB.
fn run(folder: &Folder, arguments: &[&str]) -> (Option<i32>, String, u64) {
    let mut command = folder.command(arguments);
    let (out, err) = [folder.path("stdout"), folder.path("stderr")]
        .map(|path| std::fs::File::create(path).expect("a file"))
        .into();
    let mut child = command.stdout(out).stderr(err).spawn().expect("start command");
    let mut peak = 0;
    let status = loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        // The last peak can be missed; then the value is too small, and the test still passes.
        peak = kib.and_then(|kib| kib.trim().parse().ok()).unwrap_or(0).max(peak);
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    (status.code(), folder.text("stderr"), peak / 1024)
}

/// The paths of a line of JSON can need more memory than the line itself.
#[test]
fn a_line_with_many_paths_stays_within_the_limit() {
    let folder = Folder::new();
    for (name, path) in [
        ("new.json", &(|number| format!("S {number}")) as &dyn Fn(usize) -> String),
        ("same.json", &|_| "S".to_owned()),
    ] {
        let mut log = "{\"time\":\"2024-03-05T10:00:00.000Z\",\"values\":{".to_owned();
        for number in 0..400_000 {
            let comma = if number > 0 { "," } else { "" };
            write!(log, "{comma}\"\\\\{}\\\\C\":1", path(number)).expect("room");
        }
        folder.write(name, log + "}}\n");
        let (status, stderr, peak) = run(&folder, &["stats", name, "--max-memory", "64"]);
        assert!(
            status == Some(1) && stderr.contains("raise the limit with --max-memory MB"),
            "{status:?} {stderr}"
        );
        eprintln!("{name}: {peak} of 64 MiB");
        assert!(peak <= 64 + BASE, "{name}: refused at {peak} of 64 MiB");
    }
}

/// The statistics need more memory than the reader.
#[test]
fn refused_statistics_name_the_log() {
    let folder = Folder::new();
    folder.write("one.csv", csv(&|number| format!(r"\\WEB1\Process(p{number})\Handle Count"), 2));
    folder.write("two.csv", csv(&|number| format!(r"\\WEB2\Process(p{number})\Handle Count"), 2));
    for (logs, name) in [(&["one.csv"][..], "one.csv"), (&["one.csv", "two.csv"], "one.csv and 1 more log")] {
        // With the largest limit that is too low, only the statistics fail.
        let refusals = (1_u64..).map_while(|megabytes| {
            let memory = megabytes.to_string();
            let (status, stderr, _) = run(&folder, &[&["stats"], logs, &["--max-memory", &memory]].concat());
            (status != Some(0)).then_some((status, stderr))
        });
        let (status, stderr) = refusals.last().expect("1 MB is not enough");
        let start = format!("tacho: {name}: the log has too many columns for the memory: ");
        assert!(status == Some(1) && stderr.starts_with(&start), "{status:?} {stderr}");
    }
}

/// With the smallest sufficient limit that is a power of two, at most the limit plus [`BASE`] is used.
#[test]
fn memory_stays_within_the_limit() {
    let folder = Folder::new();
    folder.write("rows.csv", csv(&|number| format!(r"\\WEB1\Process(p{number})\Handle Count"), 2));
    folder.write("long.csv", csv(&|number| format!(r"\\WEB1\Process(p{number})\Handle Count"), 20));
    folder.write("sets.csv", csv(&|number| format!(r"\\WEB1\Set {number}\Count"), 2));
    folder.write("many.csv", csv(&|number| format!(r"\\WEB1\Set {number}\Count"), 20));
    folder.relog(["sets.csv", "-o", "sets.json"]);
    for log in ["rows.csv", "long.csv", "sets.csv", "many.csv", "sets.json"] {
        for rest in
            [&["stats"][..], &["check"], &["relog", "-y", "-o", "out.csv"], &["relog", "-y", "-o", "out.blg"]]
        {
            let mut sizes = (2..=9).map(|power| 1_u64 << power);
            let sufficient = sizes.find_map(|megabytes| {
                let memory = megabytes.to_string();
                let arguments = [&rest[..1], &[log, "--max-memory", &memory], &rest[1..]].concat();
                match run(&folder, &arguments) {
                    (Some(0), _, peak) => Some((megabytes, peak)),
                    (status, stderr, peak) => {
                        assert!(
                            status == Some(1) && stderr.contains("raise the limit with --max-memory MB"),
                            "{status:?} {stderr}"
                        );
                        assert!(
                            peak <= megabytes + BASE,
                            "{rest:?} {log}: refused at {peak} of {megabytes} MiB"
                        );
                        None
                    }
                }
            });
            let (megabytes, peak) = sufficient.expect("half a gibibyte is sufficient");
            eprintln!("{rest:?} {log}: {peak} of {megabytes} MiB");
            assert!(peak <= megabytes + BASE, "{rest:?} {log}: {peak} of {megabytes} MiB");
        }
    }
}

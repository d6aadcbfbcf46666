//! What text logs with many columns take, and what was reserved for it.

use std::fmt::Write as _;
use std::time::Duration;

use crate::run::Folder;

const COLUMNS: usize = 12_000;

/// What a command takes that opens a small log, and the logs' read-ahead, in MiB.
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

/// Runs a command; its exit status, what it said, and its greatest resident memory in MiB.
fn run(folder: &Folder, arguments: &[&str]) -> (Option<i32>, String, u64) {
    let mut command = folder.command(arguments);
    let (out, err) = [folder.path("stdout"), folder.path("stderr")]
        .map(|path| std::fs::File::create(path).expect("a file"))
        .into();
    let mut child = command.stdout(out).stderr(err).spawn().expect("the command starts");
    let mut peak = 0;
    let status = loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        // It only grows: a moment missed makes it smaller, and fails no test.
        peak = kib.and_then(|kib| kib.trim().parse().ok()).unwrap_or(0).max(peak);
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    (status.code(), folder.text("stderr"), peak / 1024)
}

/// The least power of two that is enough is at least what is taken beside [`BASE`].
#[test]
fn no_more_is_taken_than_was_reserved() {
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
            let enough = sizes.find_map(|megabytes| {
                let memory = megabytes.to_string();
                let arguments = [&rest[..1], &[log, "--max-memory", &memory], &rest[1..]].concat();
                match run(&folder, &arguments) {
                    (Some(0), _, peak) => Some((megabytes, peak)),
                    (status, said, peak) => {
                        assert!(
                            status == Some(1) && said.contains("--max-memory MB allows more"),
                            "{status:?} {said}"
                        );
                        assert!(
                            peak <= megabytes + BASE,
                            "{rest:?} {log}: refused at {peak} of {megabytes} MiB"
                        );
                        None
                    }
                }
            });
            let (megabytes, peak) = enough.expect("half a gibibyte is enough");
            eprintln!("{rest:?} {log}: {peak} of {megabytes} MiB");
            assert!(peak <= megabytes + BASE, "{rest:?} {log}: {peak} of {megabytes} MiB");
        }
    }
}

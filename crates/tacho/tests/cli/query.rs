//! `query`: only counters that exist on every Linux system; values are only checked for plausibility.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::record::kill;
use crate::run::{Folder, MISSED, Outcome};

pub(crate) const AVAILABLE: &str = r"\Memory\Available Bytes";
const BUSY: &str = r"\Processor Information(_Total)\% Processor Time";

/// Runs `query` with short intervals.
pub(crate) fn query(folder: &Folder, arguments: &[&str]) -> Outcome {
    folder.run([&["query", "-si", "0.05"][..], arguments].concat())
}

/// The output of `query`.
#[track_caller]
fn shown(folder: &Folder, arguments: &[&str]) -> String {
    let ran = query(folder, arguments);
    assert_eq!((ran.status, notices(&ran).as_str()), (0, ""), "{}", ran.stdout);
    ran.stdout
}

/// Standard error, without lines about values that this machine does not provide.
fn notices(ran: &Outcome) -> String {
    let depends_on_machine = |line: &&str| {
        line.starts_with(r"tacho: \\") || line.contains(" could not be read or are incomplete: ")
    };
    ran.stderr.lines().filter(|line| !depends_on_machine(line)).map(|line| format!("{line}\n")).collect()
}

/// The cells of a CSV, including the header.
#[track_caller]
fn csv(text: &str) -> Vec<Vec<String>> {
    assert!(text.ends_with("\r\n"), "{text:?}");
    let cells = |line: &str| {
        let cells = line.strip_prefix('"').and_then(|line| line.strip_suffix('"')).expect("quoted cells");
        cells.split("\",\"").map(str::to_owned).collect()
    };
    text.split_terminator("\r\n").map(cells).collect()
}

#[test]
fn csv_has_pdh_form_and_values_in_its_first_row() {
    let rows = csv(&shown(&Folder::new(), &["-sc", "3", "-f", "csv", AVAILABLE, BUSY]));
    assert_eq!(rows.len(), 4);
    let header = &rows[0];
    assert!(header[0].starts_with("(PDH-CSV 4.0) (") && header[0].ends_with(')'), "{header:?}");
    for (column, path) in [(1, AVAILABLE), (2, BUSY)] {
        assert!(header[column].starts_with(r"\\") && header[column].ends_with(path), "{header:?}");
    }
    assert!(rows.iter().all(|row| row.len() == 3), "{rows:?}");
    for row in &rows[1..] {
        assert!(row[1].parse::<f64>().is_ok_and(|bytes| bytes > 0.0), "{row:?}");
        assert!(row[2].parse::<f64>().is_ok_and(|percent| (0.0..=100.0).contains(&percent)), "{row:?}");
    }
    let times: Vec<_> = rows[1..].iter().map(|row| &row[0]).collect();
    assert!(times.is_sorted() && times.iter().all(|time| time.len() == 23), "{times:?}");
}

#[test]
fn missed_samples_are_reported() {
    let folder = Folder::new();
    let mut command = folder.command(["query", "-si", "0.1", "-sc", "20", "-f", "csv", AVAILABLE]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start command");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let _header = output.next().expect("a header").expect("text");
    let _first = output.next().expect("a row").expect("text");
    // Stop the command, as if it waited for a disk. Enough samples remain even if it is stopped for a long time.
    kill("-STOP", &child);
    std::thread::sleep(Duration::from_secs(1));
    kill("-CONT", &child);
    assert_eq!(output.count(), 19, "all samples are taken");
    let output = child.wait_with_output().expect("an end");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    let missed = stderr.strip_prefix("tacho: ").and_then(|rest| rest.strip_suffix(MISSED)).expect(&stderr);
    let (count, text) = missed.trim_end().split_once(' ').expect("a count");
    assert!(text == "samples were" && count.parse::<u32>().is_ok_and(|count| count >= 5), "{stderr}");
}

#[test]
fn a_missing_source_is_named() {
    let folder = Folder::new();
    let tacho = env!("CARGO_BIN_EXE_tacho");
    for (setup, path, reason) in [
        (
            "ulimit -n 8",
            r"\Process(*)\% Processor Time",
            "cannot be read: /proc/self/stat: Too many open files (raise the limit with 'ulimit -n')",
        ),
        (
            "mount -t proc -o subset=pid proc /proc",
            r"\Memory\Available Bytes",
            "not available on this machine: /proc/meminfo: No such file or directory",
        ),
    ] {
        let script = format!("{{ {setup}; }} 2>/dev/null || exit 99; exec '{tacho}' query '{path}' -sc 1");
        let mut command = std::process::Command::new("unshare");
        if !setup.starts_with("mount") {
            command = std::process::Command::new("env");
        } else {
            command.arg("-m");
        }
        let output =
            command.args(["sh", "-c", &script]).current_dir(folder.path("")).output().expect("a shell");
        let text = String::from_utf8_lossy(&output.stderr);
        if !text.contains("tacho: ") {
            eprintln!("skipped: no permission for {setup}");
            continue;
        }
        assert_eq!(text.lines().last(), Some(&*format!("tacho: '{path}': {reason}")), "{text}");
        assert_eq!(output.status.code(), Some(2));
    }
}

/// Root reads the files of all processes, so for root this test runs the command as another user.
#[test]
fn totals_without_processes_of_other_users_are_reported() {
    use std::os::unix::process::CommandExt as _;
    let folder = Folder::new();
    let total = r"\Process(_Total)\IO Read Bytes/sec";
    let mut command = folder.command(["query", total, "-sc", "2", "-si", "0.05"]);
    command.current_dir("/");
    if std::fs::File::open("/proc/1/io").and_then(|mut io| std::io::read_to_string(&mut io)).is_ok() {
        command.uid(65534).gid(65534);
    }
    let Ok(output) = command.output() else {
        eprintln!("skipped: another user cannot run the command");
        return;
    };
    let text = String::from_utf8_lossy(&output.stderr);
    let denied = "/proc/PID/io: permission denied (";
    assert!(output.status.success() && text.contains(&format!("{total}: {denied}")), "{text}");
}

#[test]
fn an_unknown_time_zone_is_reported() {
    let folder = Folder::new();
    for (zone, notice) in [
        (
            "Nonsense/Zone",
            "tacho: TZ=Nonsense/Zone: unknown time zone, or its data is not installed (package tzdata): times are in UTC\n",
        ),
        ("UTC", ""),
        ("", ""),
        ("CET-1", ""),
    ] {
        let mut command = folder.command(["query", AVAILABLE, "-sc", "1", "-si", "0.01", "-f", "csv"]);
        let ran = Outcome::from(command.env("TZ", zone).output().expect("start command"));
        assert_eq!((ran.status, ran.stderr.as_str()), (0, notice), "{zone}");
        let is_utc = ran.stdout.contains("(Coordinated Universal Time)(0)");
        assert_eq!(is_utc, !notice.is_empty(), "{}", ran.stdout);
    }
}

#[test]
fn tsv_is_separated_by_tabs() {
    let text = shown(&Folder::new(), &["-sc", "1", "-f", "TSV", AVAILABLE]);
    assert!(text.starts_with("\"(PDH-TSV 4.0) ("), "{text}");
    assert_eq!(text.lines().map(|line| line.matches('\t').count()).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn json_is_an_object_per_line() {
    let text = shown(&Folder::new(), &["-sc", "2", "-f", "json", AVAILABLE, r"\Process(*)\Thread Count"]);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 2);
    for line in &lines {
        assert!(line["time"].as_str().is_some_and(|time| time.len() == 29), "{line}");
        let values = line["values"].as_object().expect("an object");
        let of_set = |start: &str| values.keys().filter(|key| key.contains(start)).count();
        assert_eq!(of_set(AVAILABLE), 1);
        // At least this test and the command itself.
        assert!(of_set(r"\Process(") >= 2, "{line}");
        assert!(values.iter().any(|(key, value)| key.ends_with(AVAILABLE) && value.is_number()), "{line}");
    }
}

#[test]
fn few_counters_are_a_line_per_sample() {
    let text = shown(&Folder::new(), &["-sc", "2", AVAILABLE]);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert!(lines[0].starts_with(r"\\") && lines[0].ends_with(r"  \Memory"), "{text}");
    assert!(lines[1].ends_with(r"  \Available Bytes") && lines[2].starts_with("UTC"), "{text}");
    for line in &lines[3..] {
        let (time, value) = line.split_once(' ').expect("two columns");
        assert_eq!(time.len(), "20:01:05.123".len(), "{text}");
        let (number, unit) = value.trim().split_once(' ').expect("a unit");
        assert!(number.parse::<f64>().is_ok() && ["MiB", "GiB", "TiB"].contains(&unit), "{text}");
    }
}

#[test]
fn raw_numbers_have_all_digits() {
    let text = shown(&Folder::new(), &["-sc", "2", "--raw-numbers", AVAILABLE]);
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[2].ends_with("  bytes"), "{text}");
    for line in &lines[3..] {
        let (_, value) = line.split_once(' ').expect("two columns");
        assert!(value.trim().replace(',', "").parse::<u64>().is_ok(), "{text}");
    }
}

#[test]
fn headings_are_repeated() {
    let folder = Folder::new();
    let ran = folder.run(["query", "-si", "0.01", "-sc", "21", AVAILABLE]);
    assert_eq!(ran.stdout.matches(r"\Available Bytes").count(), 2, "{}", ran.stdout);
}

#[test]
fn many_counters_are_a_block_per_sample() {
    let text = shown(&Folder::new(), &["-sc", "2", r"\Memory\*"]);
    let blocks: Vec<_> = text.split("\n\n").collect();
    assert_eq!(blocks.len(), 2, "{text}");
    for block in blocks {
        let line = block.lines().find(|line| line.contains(AVAILABLE)).expect("the counter");
        assert!(line.starts_with(r"\\") && line.ends_with("iB"), "{line}");
    }
}

#[test]
fn without_a_path_the_default_counters_are_shown() {
    let rows = csv(&shown(&Folder::new(), &["-sc", "1", "-o", "-"]));
    assert!(rows[0].iter().any(|path| path.starts_with(r"\\") && path.ends_with(BUSY)), "{rows:?}");
    assert!(rows[0].iter().any(|path| path.contains(r"\Memory\")), "{rows:?}");
}

#[test]
fn unknown_counters_get_suggestions() {
    let folder = Folder::new();
    query(&folder, &["-sc", "1", r"\Memry\Available Bytes", "-o", "x.csv"]).fails_with(
        2,
        r"'\Memry\Available Bytes' is not on this machine: did you mean the counter set 'Memory'?",
    );
    assert!(folder.names().is_empty());
    let ran = query(&folder, &["-sc", "1", "Memory"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains(r"write '\Memory\*'"), "{}", ran.stderr);
    // The other counters are still shown.
    let ran = query(&folder, &["-sc", "1", "-f", "csv", r"\Memory\Availble Bytes", AVAILABLE]);
    assert_eq!(ran.status, 0);
    assert_eq!(
        notices(&ran),
        "tacho: '\\Memory\\Availble Bytes' is not on this machine: did you mean the counter 'Available Bytes'?\n"
    );
    assert_eq!(csv(&ran.stdout)[1].len(), 2);
}

#[test]
fn a_missing_instance_is_blank_and_reported_once() {
    let folder = Folder::new();
    let path = r"\Process(no such process)\Thread Count";
    let ran = query(&folder, &["-sc", "2", "-f", "csv", AVAILABLE, path]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let notices = notices(&ran);
    assert_eq!(notices.lines().count(), 1, "{notices}");
    assert!(notices.contains(&format!("{path}': no such instance now")), "{notices}");
    let rows = csv(&ran.stdout);
    assert!(rows[0][2].ends_with(path), "{rows:?}");
    assert_eq!((&*rows[1][2], &*rows[2][2]), (" ", " "));
    // A pattern without any instance has no column.
    let ran = query(&folder, &["-sc", "1", "-f", "csv", r"\Process(no such *)\Thread Count"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("no column: no instance exists now"), "{}", ran.stderr);
}

#[test]
fn unknown_machines_are_refused() {
    let folder = Folder::new();
    for arguments in [&["-s", r"\\elsewhere", AVAILABLE][..], &[r"\\elsewhere\Memory\Available Bytes"]] {
        let ran = query(&folder, &[&["-sc", "1"][..], arguments].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
        assert!(ran.stderr.starts_with("tacho: unknown machine 'elsewhere'"), "{}", ran.stderr);
    }
    shown(&folder, &["-sc", "1", "-s", "localhost", AVAILABLE]);
    shown(&folder, &["-sc", "1", "-s", ".", r"\\localhost\Memory\Available Bytes"]);
}

#[test]
fn invalid_arguments_are_refused() {
    let folder = Folder::new();
    for arguments in [
        &["-si", "0"][..],
        &["-si", "x"],
        &["-si", "1:60"],
        &["-sc", "0"],
        &["-sc", "-1"],
        &["-f", "sql"],
        &["-nonsense"],
    ] {
        let ran = folder.run([&["query"][..], arguments, &[AVAILABLE]].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?} {}", ran.stderr);
    }
    let ran = folder.run(["query", "-si", "0", AVAILABLE]);
    assert!(ran.stderr.contains("must be longer than 0"), "{}", ran.stderr);
    query(&folder, &["-f", "bin", AVAILABLE]).fails_with(
        2,
        "cannot write a BLG to standard output (its header is completed at the end): use -o FILE, or -f csv",
    );
    query(&folder, &["-cf", "none.txt"]).fails_with(2, "none.txt: cannot read: No such file or directory");
}

#[test]
fn options_are_read_from_files() {
    let folder = Folder::new();
    folder.write("counters.txt", format!("\u{feff}\"{AVAILABLE}\"\r\n\r\n{BUSY}\r\n"));
    folder.write("settings.txt", "[cf]\ncounters.txt\n[si]\n0.05\n[sc]\n2\n[-f]\nCSV\n[y]\n[o]\nout.csv\n");
    folder.write("out.csv", "old");
    let ran = folder.run(["query", "-config", "settings.txt"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    let rows = csv(&folder.text("out.csv"));
    assert_eq!((rows.len(), rows[0].len()), (3, 3));
    folder.write("list.txt", "[qx]\nMemory\n");
    assert!(folder.prints(["query", "-config", "list.txt"]).starts_with(r"\Memory\"));
}

#[test]
fn without_a_command_five_samples_are_a_table() {
    let folder = Folder::new();
    let ran = folder.run::<&str>([]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mut lines = ran.stdout.lines();
    let header: Vec<_> = lines.next().expect("a header").split_whitespace().collect();
    assert_eq!(header, ["counter", "last", "average", "minimum", "maximum"]);
    let busy = lines.find(|line| line.contains(BUSY)).expect("the processors");
    assert!(busy.starts_with(r"\\"), "{busy}");
    let figures = busy.split_once(BUSY).expect("the path").1.trim_end_matches('%');
    let figures: Vec<f64> =
        figures.split('%').map(|figure| figure.trim().parse().expect("a number")).collect();
    let [last, average, minimum, maximum] = figures[..] else { panic!("{busy}") };
    assert!(minimum <= last && last <= maximum && minimum <= average && average <= maximum, "{busy}");
}

#[test]
fn a_process_named_like_the_total_does_not_replace_it() {
    let folder = Folder::new();
    let mut sleepers: Vec<_> = ["_Total", "Idle"]
        .map(|name| {
            let program = folder.path(name);
            std::os::unix::fs::symlink("/bin/sleep", &program).expect("a link");
            let sleeper =
                std::process::Command::new(&program).arg("600").spawn().expect("the program starts");
            // The process has this name once it executes the program.
            let comm = format!("/proc/{}/comm", sleeper.id());
            while std::fs::read_to_string(&comm).is_ok_and(|found| found.trim_end() != name) {
                std::thread::yield_now();
            }
            sleeper
        })
        .into();
    // Other processes of the machine can have these names too.
    let totals =
        [r"\Process(_Total)\ID Process", r"\Process(Idle)\ID Process", r"\Thread(_Total/_Total)\ID Process"];
    let processes = [r"\Process(_Total#*)\ID Process", r"\Process(Idle#*)\ID Process"];
    let rows = csv(&query(&folder, &[&totals[..], &processes, &["-sc", "2", "-f", "csv"]].concat()).stdout);
    for (column, total) in totals.iter().enumerate() {
        assert!(rows[0][column + 1].ends_with(total), "{rows:?}");
    }
    for row in &rows[1..] {
        assert_eq!(row[1..4], ["0", "0", "0"], "{rows:?}");
        for sleeper in &sleepers {
            assert!(row[4..].contains(&sleeper.id().to_string()), "{}: {rows:?}", sleeper.id());
        }
    }
    for sleeper in &mut sleepers {
        sleeper.kill().expect("kill child");
        sleeper.wait().expect("an end");
    }
}

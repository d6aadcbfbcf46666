//! `list` of this machine: only counters that exist on every Linux system.

use serde_json::Value;

use crate::run::Folder;

const AVAILABLE: &str = r"\Memory\Available Bytes";

/// The output of `list`; notices are ignored.
#[track_caller]
fn listed(folder: &Folder, arguments: &[&str]) -> String {
    let ran = folder.run([&["list"][..], arguments].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    ran.stdout
}

#[test]
fn each_counter_set_is_a_line() {
    let text = listed(&Folder::new(), &[]);
    let mut lines = text.lines();
    assert!(lines.next().is_some_and(|line| line.starts_with("counter set ")), "{text}");
    let fields = |set: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!("{set}  "))).expect("the set");
        let mut words = line[set.len()..].split_whitespace();
        (words.next().expect("instances").to_owned(), words.next().expect("a number").parse::<u32>())
    };
    let (instances, counters) = fields("Memory");
    assert!(instances == "-" && counters.is_ok_and(|counters| counters > 1), "{text}");
    assert_eq!(fields("Process").0, "yes");
    let names: Vec<_> = lines.map(|line| line.split("  ").next().expect("a name").to_lowercase()).collect();
    assert!(names.is_sorted(), "{names:?}");
}

#[test]
fn counter_sets_are_selected_by_name_or_pattern() {
    let folder = Folder::new();
    let text = listed(&folder, &["memory"]);
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with(r"\\") && lines[0].ends_with(r"\Memory"), "{text}");
    assert!(
        lines.iter().any(|line| line.starts_with("  Available Bytes ") && line.contains(" bytes  ")),
        "{text}"
    );
    assert_eq!(listed(&folder, &["Memor?"]), text);
    assert_eq!(listed(&folder, &[r"\Memory"]), text);
    let several = listed(&folder, &["Processor Information", "Memory"]);
    assert!(several.ends_with(&format!("\n\n{text}")), "{several}");
    assert!(several.contains("\n  instances: "), "{several}");
}

#[test]
fn verbose_shows_all_attributes() {
    let text = listed(&Folder::new(), &["-v", AVAILABLE]);
    let (_, counter) = text.split_once("\n\n  Available Bytes\n").expect("the counter");
    for (name, value) in
        [("type", "PERF_COUNTER_LARGE_RAWCOUNT"), ("unit", "bytes"), ("source", "/proc/meminfo")]
    {
        assert!(counter.contains(&format!("    {name:6}  {value}")), "{text}");
    }
    assert!(counter.contains("    scale   10^") && counter.contains("    help    "), "{text}");
    assert!(!text.contains("Commit"), "{text}");
}

#[test]
fn paths_are_listed_with_and_without_instances() {
    let folder = Folder::new();
    let all = listed(&folder, &["-q"]);
    assert!(all.lines().all(|line| line.starts_with('\\') && !line.starts_with(r"\\")), "{all}");
    assert!(all.contains("\n\\Memory\\Available Bytes\n"), "{all}");
    assert!(all.contains("\n\\Process(*)\\Thread Count\n"), "{all}");
    let one = listed(&folder, &["-q", "Processor Information"]);
    assert!(one.contains("\\Processor Information(*)\\% Processor Time\n"), "{one}");
    assert!(one.lines().all(|line| line.starts_with(r"\Processor Information(*)\")), "{one}");
    let instances = listed(&folder, &["-qx", "Processor Information"]);
    assert!(instances.contains("\\Processor Information(_Total)\\% Processor Time\n"), "{instances}");
    assert!(!instances.contains("(*)"), "{instances}");
    // A path selects instances.
    let path = r"\Processor Information(_*)\% Processor Time";
    let total = "\\Processor Information(_Total)\\% Processor Time\n";
    assert_eq!(listed(&folder, &[path]), total);
    assert_eq!(listed(&folder, &["-qx", path]), total);
    assert_eq!(listed(&folder, &["-q", path]), "\\Processor Information(*)\\% Processor Time\n");
    // As in typeperf.
    assert_eq!(folder.prints(["query", "-q", "Processor Information"]), one);
}

#[test]
fn listed_paths_can_be_used_with_cf() {
    let folder = Folder::new();
    assert_eq!(folder.prints(["query", "-qx", "Memory", "-o", "paths.txt"]), "");
    let paths = folder.text("paths.txt");
    assert!(paths.starts_with(r"\Memory\"), "{paths}");
    folder
        .run(["list", "-qx", "Memory", "-o", "paths.txt"])
        .fails_with(2, "paths.txt exists: use -y to overwrite it, or another name");
    assert_eq!(folder.prints(["list", "-qx", "Memory", "-o", "paths.txt", "-y"]), "");
    let ran = folder.run(["query", "-cf", "paths.txt", "-sc", "1", "-si", "0.05", "-f", "csv"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(ran.stdout.lines().next().map(|line| line.matches(',').count()), Some(paths.lines().count()));
}

#[test]
fn the_paths_of_a_log_are_listed() {
    let folder = Folder::new();
    crate::log_fixture::mixed("WEB1", 0, 2).write(&folder.path("in.blg"));
    let [counters, instances] = ["-q", "-qx"].map(|option| folder.prints(["list", option, "in.blg"]));
    assert!(counters.ends_with("\\\\WEB1\\Processor(*)\\% Processor Time\n"), "{counters}");
    assert!(counters.starts_with("\\\\WEB1\\Memory\\Available Bytes\n"), "{counters}");
    assert!(instances.ends_with("(0)\\% Processor Time\n\\\\WEB1\\Processor(1)\\% Processor Time\n\\\\WEB1\\Processor(_Total)\\% Processor Time\n"), "{instances}");
}

#[test]
fn unknown_names_get_suggestions() {
    let folder = Folder::new();
    for (name, message) in [
        (
            "Memry",
            "'Memry' is neither a counter set of this machine nor a file: did you mean the counter set 'Memory'?",
        ),
        (
            "Quantum Flux",
            "'Quantum Flux' is neither a counter set of this machine nor a file; 'tacho list' lists the sets",
        ),
        (
            r"\Memory\Availble Bytes",
            r"'\Memory\Availble Bytes' is not on this machine: did you mean the counter 'Available Bytes'?",
        ),
        (
            r"\Process\Thread Count",
            r"'\Process\Thread Count' is not on this machine: 'Process' has instances: write '\Process(*)\Thread Count' for all of them",
        ),
    ] {
        folder.run(["list", name]).fails_with(2, message);
    }
    let ran = folder.run(["list", r"\\elsewhere\Memory\*"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.starts_with("tacho: unknown machine 'elsewhere'"), "{}", ran.stderr);
    let ran = folder.run(["list", r"\Process(no such process)\Thread Count"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""));
    assert_eq!(ran.stderr, "tacho: 'Process' has no instance 'no such process' now\n");
}

#[test]
fn cycles_per_instruction_are_listed_or_the_reason_is_reported() {
    let folder = Folder::new();
    let path = r"\Processor CPI(*)\Cycles Per Instruction";
    let ran = folder.run(["list", "-q", path]);
    if ran.status == 0 {
        assert_eq!(ran.stdout, format!("{path}\n"));
        assert!(listed(&folder, &["-qx", "Processor CPI"]).starts_with(r"\Processor CPI(_Total)\"));
    } else {
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
        let message = format!("tacho: '{path}': this machine ");
        let cause = ran.stderr.strip_prefix(&message).expect(&ran.stderr);
        assert!(
            ["no performance monitoring unit", "perf_event_open"].iter().any(|word| cause.contains(word))
        );
        assert!(!listed(&folder, &[]).contains("Processor CPI"));
    }
}

#[test]
fn json_describes_counter_sets() {
    let folder = Folder::new();
    let sets = |arguments: &[&str]| -> Vec<Value> {
        serde_json::from_str(&listed(&folder, &[&["-f", "json"][..], arguments].concat())).expect("JSON")
    };
    let all = sets(&[]);
    assert!(all.len() > 3 && all.iter().all(|set| set["instances"].is_null()), "{all:#?}");
    let processors = &sets(&["-qx", "Processor Information"])[0];
    assert_eq!(
        (&processors["name"], &processors["has_instances"]),
        (&"Processor Information".into(), &true.into())
    );
    let instances = processors["instances"].as_array().expect("a list");
    assert!(instances.contains(&"_Total".into()), "{instances:?}");
    let memory = &sets(&[AVAILABLE])[0];
    assert_eq!((&memory["has_instances"], &memory["instances"]), (&false.into(), &Value::Null));
    let counters = memory["counters"].as_array().expect("a list");
    assert_eq!(counters.len(), 1);
    assert_eq!(
        (&counters[0]["name"], &counters[0]["type"], &counters[0]["unit"]),
        (&"Available Bytes".into(), &"PERF_COUNTER_LARGE_RAWCOUNT".into(), &"bytes".into())
    );
}

#[test]
fn known_names_are_listed_despite_unknown_ones() {
    let folder = Folder::new();
    let alone = folder.prints(["list", "Memory", "-q"]);
    let ran = folder.run(["list", r"\nosuch", "Memory", "-q"]);
    assert_eq!((ran.status, &ran.stdout), (2, &alone), "{}", ran.stderr);
    let lines: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{}", ran.stderr);
    assert!(
        lines[0].starts_with("tacho: 'nosuch' is neither a counter set of this machine"),
        "{}",
        ran.stderr
    );
    // Beside a log, names select counters of the log, not of this machine.
    let ran = folder.run(["list", "Memory", "none.blg", "-q"]);
    assert!(ran.stdout.is_empty() && ran.stderr.starts_with("tacho: none.blg: "), "{ran:?}");
    // A file is only written if it is complete.
    assert_eq!(folder.run(["list", "nosuch", "Memory", "-q", "-o", "out.txt"]).status, 2);
    assert!(folder.names().is_empty());
}

#[test]
fn a_path_of_a_process_shows_its_properties() {
    let folder = Folder::new();
    let mut child = std::process::Command::new("sleep").arg("654.25").spawn().expect("sleep runs");
    let comm = format!("/proc/{}/comm", child.id());
    while std::fs::read_to_string(&comm).is_ok_and(|name| name != "sleep\n") {
        std::thread::yield_now();
    }
    let path = format!(r"\Process V2(sleep:{})\Thread Count", child.id());
    let json: Value = serde_json::from_str(&listed(&folder, &["-f", "json", &path])).expect("JSON");
    let text = listed(&folder, &["-v", &path]);
    child.kill().expect("killed");
    child.wait().expect("waited for");

    let processes = json[0]["processes"].as_array().expect("processes");
    assert_eq!(processes.len(), 1);
    let process = &processes[0];
    assert_eq!(process["instance"], format!("sleep:{}", child.id()));
    assert_eq!((&process["id"], &process["parent"]), (&child.id().into(), &std::process::id().into()));
    assert_eq!((&process["command_line"], &process["threads"]), (&"sleep 654.25".into(), &1.into()));
    assert!(process["cgroup"].as_str().is_some_and(|path| path.starts_with('/')), "{process}");
    let line = format!("    sleep:{}: id {}, parent {}", child.id(), child.id(), std::process::id());
    assert!(text.contains(&line) && text.contains(": sleep 654.25\n"), "{text}");
}

#[test]
fn verbose_explains_missing_counters() {
    let is_on = std::fs::read_to_string("/proc/sys/kernel/task_delayacct").is_ok_and(|text| text != "0\n");
    let reason = "kernel.task_delayacct";
    let ran = Folder::new().run(["list", "-v", "Process"]);
    assert_eq!(ran.stderr.contains(reason), !is_on, "{}", ran.stderr);
    assert!(!Folder::new().run(["list", "Process"]).stderr.contains(reason));
    let ran = Folder::new().run(["list", r"\Process(*)\% Block IO Wait Time"]);
    assert_eq!(ran.stderr.contains(reason), !is_on, "{}", ran.stderr);
}

#[test]
fn a_missing_set_has_its_reason() {
    if std::path::Path::new("/proc/spl/kstat/zfs/arcstats").exists() {
        return;
    }
    for arguments in [&["list", "zfs arc"][..], &["list", "-v", r"\ZFS ARC\% Hits"]] {
        let ran = Folder::new().run(arguments);
        assert!(
            ran.stderr.contains("not available on this machine: the module zfs is not loaded"),
            "{}",
            ran.stderr
        );
    }
}

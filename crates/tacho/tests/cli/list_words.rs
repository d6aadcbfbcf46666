//! `list` with words: the search in names, synonyms and descriptions. Only counters that exist on every Linux system.

use serde_json::Value;

use crate::run::Folder;

/// The first path that a search lists.
#[track_caller]
fn first(words: &[&str]) -> String {
    let ran = Folder::new().run([&["list"][..], words].concat());
    assert_eq!(ran.status, 0, "{words:?}: {}", ran.stderr);
    let line = ran.stdout.lines().next().unwrap_or_default();
    line.split("  ").next().unwrap_or_default().to_owned()
}

#[test]
fn words_of_other_tools_find_counters() {
    const CPU: &str = r"\Processor Information(*)\% Processor Time";
    for (words, path) in [
        (&["cpu"][..], CPU),
        (&["process cpu"], r"\Process(*)\% Processor Time"),
        (&["CPU", "process"], r"\Process(*)\% Processor Time"),
        (&["ram"], r"\Memory\Available Bytes"),
        (&["rx"], r"\Network Interface(*)\Bytes Received/sec"),
        (&["rx_dropped"], r"\Network Interface(*)\Packets Received Discarded/sec"),
        (&["drops"], r"\Network Interface(*)\Packets Received Discarded/sec"),
        (&["iowait"], r"\Processor Information(*)\% IO Wait Time"),
        (&["D", "state"], r"\System\Processes Blocked"),
        (&["oom"], r"\Paging Activity\OOM Kills/sec"),
        (&["swapping"], r"\Memory\Pages/sec"),
        (&["node_procs_blocked"], r"\System\Processes Blocked"),
        (&["cswch/s"], r"\System\Context Switches/sec"),
    ] {
        assert_eq!(first(words), path, "{words:?}");
    }
}

#[test]
fn exact_names_win() {
    let folder = Folder::new();
    let memory = folder.prints(["list", "Memory"]);
    assert!(memory.lines().next().is_some_and(|line| line.ends_with(r"\Memory")), "{memory}");
    let both = folder.prints(["list", "memory", "cache"]);
    assert!(both.starts_with(&memory) && both.contains("\\Cache\n"), "{both}");
    // A file takes precedence over words.
    crate::log_fixture::mixed("WEB1", 0, 2).write(&folder.path("cpu"));
    assert!(folder.prints(["list", "cpu"]).starts_with("cpu: BLG, "));
}

#[test]
fn results_are_paths_or_json() {
    let folder = Folder::new();
    let paths = folder.prints(["list", "-q", "process", "cpu"]);
    assert!(paths.starts_with("\\Process(*)\\% Processor Time\n"), "{paths}");
    let ran = folder.run(["list", "-f", "json", "process", "cpu"]);
    let sets: Vec<Value> = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(
        (&sets[0]["name"], &sets[0]["counters"][0]["name"]),
        (&"Process".into(), &"% Processor Time".into())
    );
    let names: Vec<_> = sets.iter().map(|set| set["name"].as_str()).collect();
    let mut once = names.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(names.len(), once.len(), "a set is one object: {names:?}");
}

#[test]
fn metrics_without_a_counter_have_a_reason() {
    let folder = Folder::new();
    let ran = folder.run(["list", "svctm"]);
    ran.fails_with(2, "'svctm': The kernel does not measure service times; iostat dropped the column.");
    folder.run(["list", "latncy"]).fails_with(
        2,
        "'latncy' is neither a counter set of this machine nor a file: did you mean 'latency'?",
    );
}

#[test]
fn a_better_match_that_this_machine_lacks_is_named() {
    let ran = Folder::new().run(["list", "-q", "process", "disk", "wait"]);
    let setting = std::fs::read_to_string("/proc/sys/kernel/task_delayacct").unwrap_or_default();
    if setting.trim() == "1" {
        assert!(ran.stdout.starts_with("\\Process(*)\\% Block IO Wait Time\n"), "{}", ran.stdout);
    } else {
        let notice = "tacho: '\\Process(*)\\% Block IO Wait Time': not available on this machine: ";
        assert!(ran.stderr.starts_with(notice), "{}", ran.stderr);
    }
}

#[test]
fn words_that_are_not_found_together_are_named() {
    let folder = Folder::new();
    let ran = folder.run(["list", "-q", "free", "xylophone", "memory"]);
    assert_eq!(ran.status, 0);
    assert_eq!(ran.stdout, folder.prints(["list", "-q", "free", "memory"]));
    let notice = "tacho: no counter of this machine contains all words; left out: 'xylophone'\n";
    assert_eq!(ran.stderr, notice);
    folder
        .run(["list", "xylophone", "quantum"])
        .fails_with(2, "no counter of this machine contains one of the words 'xylophone quantum'");
}

#[test]
fn everyday_questions_find_counters() {
    let folder = Folder::new();
    for words in [&["neighbour", "steal", "vm"][..], &["iotop"]] {
        let ran = folder.run([&["list", "-q"], words].concat());
        assert_eq!(ran.status, 0, "{words:?}: {}", ran.stderr);
        assert_eq!(ran.stderr, "", "{words:?}");
    }
    let steal = folder.prints(["list", "-q", "neighbour", "steal", "vm"]);
    assert!(steal.starts_with("\\Processor Information(*)\\% Steal Time\n"), "{steal}");
    let of_processes = folder.prints(["list", "-q", "iotop"]);
    assert!(of_processes.starts_with("\\Process(*)\\Storage "), "{of_processes}");
}

#[test]
fn a_path_with_a_word_of_another_tool_has_a_suggestion() {
    Folder::new().run(["query", r"\Process(*)\cpu", "-sc", "1"]).fails_with(
        2,
        r"'\Process(*)\cpu' is not on this machine: did you mean '\Process(*)\% Processor Time'?",
    );
}

#[test]
fn all_counters_can_be_selected() {
    let folder = Folder::new();
    let selected = |options: &[&str]| {
        let arguments = [&["query", "-sc", "1", "-si", "0.05", "-f", "json"][..], options].concat();
        let ran = folder.run(arguments);
        assert_eq!(ran.status, 0, "{options:?}: {}", ran.stderr);
        ran.stdout
    };
    let all = selected(&["--all"]);
    assert!(all.contains(r"\\Memory\\Available Bytes") && all.contains(r"\\Process("), "{all}");
    let some = selected(&["--all-but", "proc*", "--all-but", "Thread"]);
    assert!(some.contains(r"\\Memory\\Available Bytes"), "{some}");
    assert!(
        !some.contains(r"\\Process(")
            && !some.contains(r"\\Processor Information(")
            && !some.contains(r"\\Thread("),
        "{some}"
    );
    folder
        .run(["query", "--all-but", "Memry", "-sc", "1"])
        .fails_with(2, "--all-but: 'Memry' is not a counter set of this machine: did you mean 'Memory'?");
    assert_eq!(folder.run(["record", "--all", "-o", "all.blg", "-sc", "1", "-si", "0.05"]).status, 0);
    let sets = folder.prints(["list", "-q", "all.blg"]);
    assert!(sets.contains("\\Memory\\Available Bytes\n") && sets.contains("\\Process(*)\\"), "{sets}");
}

//! Options as Windows' tools take them, and what is said of wrong ones: one line, with the option as it was written.

use crate::run::Folder;

const PATH: &str = r"\Memory\Available Bytes";

#[test]
fn every_option_takes_an_equals_sign() {
    let folder = Folder::new();
    folder.write("paths.txt", format!("# a comment\n; another\n\n{PATH}\n"));
    for options in [
        ["-si=0", "-si 0: must be longer than 0"],
        ["-SI=0", "-SI 0: must be longer than 0"],
        ["-rf=0", "-rf 0: must be longer than 0"],
        ["-cnf=0", "-cnf 0: must be longer than 0"],
        ["-segment=0", "-segment 0: must be longer than 0"],
        ["-max=64KB", "-max 64KB: a whole number of MB, without a unit"],
        ["-sc=1.5", "-sc 1.5: a whole number, 1 or more"],
    ] {
        folder
            .run(["record", PATH, "-o=a.blg", options[0]])
            .refused(2, &format!("{}; 'tacho record --help' shows the options", options[1]));
    }
    let ran = folder.run(["record", "-cf=paths.txt", "-sc=1", "-si=0.01", "-max=5", "-o=a.blg"]);
    assert_eq!(
        (ran.status, folder.names()),
        (0, vec!["a.blg".to_owned(), "paths.txt".to_owned()]),
        "{ran:?}"
    );
}

#[test]
fn negative_numbers_reach_the_option() {
    let folder = Folder::new();
    let ran = folder.run(["query", PATH, "-si", "-1"]);
    assert!(ran.stderr.starts_with("tacho: -si -1: not a length of time"), "{ran:?}");
}

#[test]
fn options_of_the_command_line_hold_before_settings() {
    let folder = Folder::new();
    folder.write("set.txt", format!("[si]\n60\n[sc]\n7\n[c]\n{PATH}\n"));
    let given = ["query", "-si", "0.01", "-sc", "1", "-y", "-ow", "-f", "json"];
    let text = folder.prints([&given[..], &["-config", "set.txt"]].concat());
    assert_eq!(text.lines().count(), 1, "{text}");
    let text = folder.prints([&["query", "-config=set.txt"], &given[1..]].concat());
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn an_option_with_one_value_is_given_once() {
    let folder = Folder::new();
    folder.write("in.csv", "");
    for (arguments, option) in [
        (&["relog", "in.csv", "-t", "10", "-t", "5"][..], "-t"),
        (&["relog", "in.csv", "-t10", "--every=5"], "--every"),
        (&["relog", "in.csv", "-o", "a.csv", "-O=b.csv", "-y"], "-O"),
        (&["relog", "in.csv", "-b", "1/1/2024", "1:00", "PM", "-b=2/2/2024"], "-b"),
        (&["stats", "in.csv", "-f", "csv", "-f", "json"], "-f"),
        (&["record", PATH, "-o", "a.blg", "-rf", "1", "-d", "2"], "-d"),
        (&["record", PATH, "-o", "a.blg", "-cnf", "1:00", "-segment", "100MB"], "-segment"),
        (&["query", PATH, "-SI", "1", "-si", "1"], "-si"),
        (&["cpi", "-t=1", "-t=2"], "-t"),
    ] {
        let command = arguments[0];
        let line =
            format!("{option} is given twice: give it once; 'tacho {command} --help' shows the options");
        folder.run(arguments).refused(2, &line);
    }
    assert_eq!(folder.names(), ["in.csv"]);
}

#[test]
fn the_names_of_windows_tools_lead_to_the_commands() {
    let folder = Folder::new();
    for (tool, command) in [("typeperf", "query"), ("LogMan", "record"), ("perfmon", "monitor")] {
        let line = format!(
            "there is no command '{tool}': 'tacho {command}' does what Windows' {} does; 'tacho --help' shows the commands",
            tool.to_lowercase()
        );
        folder.run([tool, "-sc", "1"]).refused(2, &line);
    }
}

#[test]
fn databases_are_refused_wherever_a_log_is_named() {
    let folder = Folder::new();
    let why = "SQL logs are not supported yet: give the name of a file ('./SQL:...' is one)";
    for (arguments, place) in [
        (&["relog", "in.blg", "-o", "SQL:DSN!log"][..], "-o"),
        (&["relog", "sql:DSN!log", "-o", "a.blg"], "FILE"),
        (&["relog", "in.blg", "-f", "csv", "--output=SQL:DSN!log"], "--output"),
        (&["stats", "SQL:DSN!log"], "FILE"),
        (&["check", "SQL:DSN!log"], "FILE"),
        (&["check", "in.blg", "--salvage", "SQL:DSN!log"], "--salvage"),
        (&["list", "SQL:DSN!log"], "WHAT"),
        (&["query", PATH, "-o", "SQL:DSN!log"], "-o"),
        (&["record", PATH, "-o", "SQL:DSN!log"], "-o"),
        #[cfg(feature = "screen")]
        (&["monitor", "SQL:DSN!log"], "LOG|PATH"),
        #[cfg(feature = "web")]
        (&["serve", "SQL:DSN!log"], "LOG|FOLDER"),
    ] {
        let ran = folder.run(arguments);
        let start = format!("tacho: {place} ");
        assert!(ran.status == 2 && ran.stderr.starts_with(&start) && ran.stderr.contains(why), "{ran:?}");
    }
    assert!(folder.names().is_empty());
}

#[test]
fn inputs_may_be_named_in_settings() {
    let folder = Folder::new();
    folder.write(
        "in.csv",
        "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\M\\Memory\\X\"\r\n\"03/05/2024 10:00:00.000\",\"1\"\r\n",
    );
    folder.write("set.txt", "[-i]\nin.csv\n");
    for command in ["relog", "stats", "check", "list"] {
        let ran = folder.run([command, "-config", "set.txt"]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{command}");
        assert!(!ran.stdout.is_empty());
    }
}

#[test]
fn wrong_settings_are_named_by_file_and_line() {
    let folder = Folder::new();
    for (text, line) in [
        ("[si]\n3\n[c]\nx\n[-si]\n4\n", "set.txt, line 5: [si] is given twice: give it once"),
        ("[si]\n3\n4\n", "set.txt, line 3: [si] takes one value"),
        ("[foo]\n", "set.txt, line 1: 'query' has no option [foo]"),
        ("[y]\n[foo]\n3\n", "set.txt, line 2: 'query' has no option [foo]"),
        ("[si]\n[sc]\n3\n", "set.txt, line 1: [si] needs a value"),
        ("[sc]\n3\n\n[si]\n", "set.txt, line 4: [si] needs a value"),
        (
            "[sc]\n0\n",
            "set.txt, line 1: [sc] 0: a whole number, 1 or more; 'tacho query --help' shows the options",
        ),
    ] {
        folder.write("set.txt", text);
        folder.run(["query", "-config", "set.txt"]).refused(2, line);
    }
}

#[test]
fn usage_errors_are_one_line() {
    let folder = Folder::new();
    let options = "'tacho query --help' shows the options";
    for (arguments, line) in [
        (&["query", "--nonsense"][..], format!("'query' has no option --nonsense; {options}")),
        (
            &["query", "--intervl", "1"],
            "'query' has no option --intervl: did you mean --interval?".to_owned(),
        ),
        (&["query", "-f"], format!("-f needs a value: table, csv, tsv, json or bin; {options}")),
        (&["query", "-y=1"], format!("-y takes no value, and '1' is given; {options}")),
        (&["recrod"], "there is no command 'recrod': did you mean 'record'?".to_owned()),
        (&["recor"], "there is no command 'recor': did you mean 'record'?".to_owned()),
        (&["chart"], "there is no command 'chart'; 'tacho --help' shows the commands".to_owned()),
    ] {
        folder.run(arguments).refused(2, &line);
    }
}

#[test]
fn what_was_probably_meant() {
    let folder = Folder::new();
    for (arguments, line) in [
        (
            ["query", r"\Memory\Available"],
            r"'\Memory\Available' is not on this machine: did you mean 'Available Bytes', 'Available KBytes' or 'Available MBytes'?",
        ),
        (
            ["list", r"Memory\Available Bytes"],
            r"'Memory\Available Bytes': a path begins with '\': write '\Memory\Available Bytes'",
        ),
        (["list", r"\Process(*"], r"'Process(*': the ')' is missing: write '\Process(*)\*'"),
        (["query", "process"], r"'process' is a counter set: write '\Process(*)\*' for its counters"),
    ] {
        folder.run(arguments).refused(2, line);
    }
}

#[test]
fn several_logs_are_checked() {
    let folder = Folder::new();
    crate::made::mixed("WEB1", 0, 4).write(&folder.path("a.blg"));
    folder.write("b.blg", "");
    let text = folder.prints(["check", "a.blg", "a.blg"]);
    assert_eq!(text.matches("a.blg: whole: ").count(), 2, "{text}");
    let ran = folder.run(["check", "b.blg", "a.blg"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (1, "tacho: b.blg: the file is empty\n"));
    assert!(ran.stdout.starts_with("a.blg: whole: "), "{ran:?}");
    folder
        .run(["check", "a.blg", "b.blg", "--salvage", "c.blg"])
        .refused(2, "--salvage takes the samples of one log: check the others apart");
}

#[test]
fn a_row_that_was_cut_short_is_told() {
    let folder = Folder::new();
    let record = ["record", PATH, "-si", "0.01", "-sc", "2", "-o", "a.csv"];
    assert_eq!(folder.run(record).status, 0);
    let bytes = folder.bytes("a.csv");
    folder.write("a.csv", &bytes[..bytes.len() - 5]);
    let ran = folder.run([&record[..], &["-a"]].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.stderr.starts_with("tacho: a.csv: its last row was cut short ("), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 2, "{ran:?}");
}

#[test]
fn paths_from_standard_input() {
    let folder = Folder::new();
    folder.write("paths.txt", format!("; a comment\n{PATH}\n"));
    let mut command = folder.command(["query", "-cf", "-", "-sc", "1", "-si", "0.01", "-f", "csv"]);
    let paths = std::fs::File::open(folder.path("paths.txt")).expect("a file");
    let output = command.stdin(paths).output().expect("the command starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains(PATH), "{text}");
}

//! Options in the form of Windows' tools, and error messages: one line, with the option as the user wrote it.

use crate::run::Folder;

const PATH: &str = r"\Memory\Available Bytes";

#[test]
fn options_accept_an_equals_sign() {
    let folder = Folder::new();
    folder.write("paths.txt", format!("# a comment\n; another\n\n{PATH}\n"));
    for options in [
        ["-si=0", "-si 0: must be longer than 0"],
        ["-SI=0", "-SI 0: must be longer than 0"],
        ["-rf=0", "-rf 0: must be longer than 0"],
        ["-cnf=0", "-cnf 0: must be longer than 0"],
        ["-segment=0", "-segment 0: must be longer than 0"],
        ["-max=64KB", "-max 64KB: must be a whole number of MB, without a unit"],
        ["-sc=1.5", "-sc 1.5: must be a whole number, 1 or more"],
    ] {
        folder
            .run(["record", PATH, "-o=a.blg", options[0]])
            .fails_with(2, &format!("{}; 'tacho record --help' lists the options", options[1]));
    }
    let ran = folder.run(["record", "-cf=paths.txt", "-sc=1", "-si=0.01", "-max=5", "-o=a.blg"]);
    assert_eq!(
        (ran.status, folder.names()),
        (0, vec!["a.blg".to_owned(), "paths.txt".to_owned()]),
        "{ran:?}"
    );
}

#[test]
fn negative_numbers_are_values() {
    let folder = Folder::new();
    let ran = folder.run(["query", PATH, "-si", "-1"]);
    assert!(ran.stderr.starts_with("tacho: -si -1: not a duration"), "{ran:?}");
}

#[test]
fn the_command_line_overrides_settings_files() {
    let folder = Folder::new();
    folder.write("set.txt", format!("[si]\n60\n[sc]\n7\n[c]\n{PATH}\n"));
    let given = ["query", "-si", "0.01", "-sc", "1", "-y", "-ow", "-f", "json"];
    let text = folder.prints([&given[..], &["-config", "set.txt"]].concat());
    assert_eq!(text.lines().count(), 1, "{text}");
    let text = folder.prints([&["query", "-config=set.txt"], &given[1..]].concat());
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn repeated_options_are_refused() {
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
        let line = format!("{option} is repeated: use it once; 'tacho {command} --help' lists the options");
        folder.run(arguments).fails_with(2, &line);
    }
    assert_eq!(folder.names(), ["in.csv"]);
}

#[test]
fn names_of_windows_tools_suggest_commands() {
    let folder = Folder::new();
    for (tool, command) in [("typeperf", "query"), ("LogMan", "record"), ("perfmon", "monitor")] {
        let line = format!(
            "unknown command '{tool}': use 'tacho {command}' instead of Windows' {}; 'tacho --help' lists the commands",
            tool.to_lowercase()
        );
        folder.run([tool, "-sc", "1"]).fails_with(2, &line);
    }
}

/// Without a terminal, the monitor fails after it has parsed its arguments.
#[test]
fn logs_and_options_of_the_monitor_need_no_command() {
    let folder = Folder::new();
    let log = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\M\\Memory\\X\"\r\n\"03/05/2024 10:00:00.000\",\"1\"\r\n";
    folder.write("in.csv", log);
    folder.write("list", log);
    folder.write("server", log);
    folder.relog(["in.csv", "-o", "years", "-f", "archive"]);
    let monitor = "the monitor needs a terminal as standard input and output";
    for arguments in [
        &["in.csv"][..],
        &["server", "-b", "10:00", "-e", "11:00"],
        &["years"],
        &["missing.blg"],
        &["--view", "cpu"],
        &["--view=cpu", "in.csv"],
        &["-si", "0.5"],
    ] {
        let ran = folder.run(arguments);
        assert!(ran.status == 2 && ran.stderr.contains(monitor), "{arguments:?}: {ran:?}");
    }
    // A command takes precedence over a file of its name.
    assert!(folder.prints(["list", "in.csv"]).contains("Memory"));
    assert!(folder.prints(["--help"]).contains("  tacho monitor server.blg "));
    for (arguments, line) in [
        (&["--view", "none"][..], "none: "),
        (&["--intervl", "1"], "'monitor' has no option --intervl: did you mean --interval?"),
        (&["--zzz", "1"], "'tacho' has no option --zzz; 'tacho --help' lists the commands"),
        (
            &[PATH],
            r"'\Memory\Available Bytes' is a counter path, not a command: use 'tacho query PATH' or 'tacho monitor PATH'",
        ),
    ] {
        let ran = folder.run(arguments);
        assert!(ran.status == 2 && ran.stderr.contains(line), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn settings_files_can_name_inputs() {
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
fn errors_of_settings_files_have_file_and_line() {
    let folder = Folder::new();
    for (text, line) in [
        ("[si]\n3\n[c]\nx\n[-si]\n4\n", "set.txt, line 5: [si] is repeated: use it once"),
        ("[si]\n3\n4\n", "set.txt, line 3: [si] accepts only one value"),
        ("[foo]\n", "set.txt, line 1: 'query' has no option [foo]"),
        ("[y]\n[foo]\n3\n", "set.txt, line 2: 'query' has no option [foo]"),
        ("[si]\n[sc]\n3\n", "set.txt, line 1: [si] needs a value"),
        ("[sc]\n3\n\n[si]\n", "set.txt, line 4: [si] needs a value"),
        (
            "[sc]\n0\n",
            "set.txt, line 1: [sc] 0: must be a whole number, 1 or more; 'tacho query --help' lists the options",
        ),
    ] {
        folder.write("set.txt", text);
        folder.run(["query", "-config", "set.txt"]).fails_with(2, line);
    }
}

#[test]
fn usage_errors_are_one_line() {
    let folder = Folder::new();
    let options = "'tacho query --help' lists the options";
    for (arguments, line) in [
        (&["query", "--nonsense"][..], format!("'query' has no option --nonsense; {options}")),
        (
            &["query", "--intervl", "1"],
            "'query' has no option --intervl: did you mean --interval?".to_owned(),
        ),
        (&["query", "-f"], format!("-f needs a value: table, csv, tsv, json or bin; {options}")),
        (&["query", "-y=1"], format!("-y does not accept a value ('1'); {options}")),
        (
            &["manifest"],
            "'manifest' needs an action: check, rust, header, register, unregister or list; 'tacho manifest --help' lists \
             the options"
                .to_owned(),
        ),
        (&["recrod"], "unknown command 'recrod': did you mean 'record'?".to_owned()),
        (&["recor"], "unknown command 'recor': did you mean 'record'?".to_owned()),
        (&["chart"], "unknown command 'chart'; 'tacho --help' lists the commands".to_owned()),
    ] {
        folder.run(arguments).fails_with(2, &line);
    }
}

#[test]
fn messages_about_values_say_what_is_wrong() {
    const HUGE: &str = "99999999999999999999";
    let folder = Folder::new();
    folder.write("in.csv", "");
    let record = ["record", PATH, "-o", "a.blg"];
    let utf16 = "text logs are not written in UTF-16: choose utf-8, utf-8-bom or a code page";
    let limit = "must be a time such as 1:00:00, or a size such as 100MB";
    for (arguments, line) in [
        ([&record[..], &["-sc", HUGE]].concat(), format!("-sc {HUGE}: too large")),
        ([&record[..], &["-max", HUGE]].concat(), format!("-max {HUGE}: too large")),
        ([&record[..], &["-segment", &format!("{HUGE}GB")]].concat(), format!("-segment {HUGE}GB: too large")),
        ([&record[..], &["-segment", "abc"]].concat(), format!("-segment abc: {limit}")),
        ([&record[..], &["-cnf", ""]].concat(), format!("-cnf '': {limit}")),
        ([&record[..], &["-segment", "-1"]].concat(), format!("-segment -1: {limit}")),
        ([&record[..], &["--keep-size", "0MB"]].concat(), "--keep-size 0MB: must be larger than 0".to_owned()),
        (
            [&record[..], &["--keep-size", &format!("{HUGE}GB")]].concat(),
            format!("--keep-size {HUGE}GB: too large"),
        ),
        (vec!["stats", "in.csv", "--max-memory", HUGE], format!("--max-memory {HUGE}: too large")),
        (vec!["stats", "in.csv", "--max-memory", "x"], "--max-memory x: must be a whole number".to_owned()),
        (
            vec!["query", PATH, "-si", ""],
            "-si '': not a duration: write seconds (1, 0.1), mm:ss or hh:mm:ss".to_owned(),
        ),
        (vec!["query", PATH, "-s", ""], "-s needs a value".to_owned()),
        (vec!["query", PATH, "-f", "csv", "--encoding", "utf-16le"], format!("--encoding utf-16le: {utf16}")),
        (
            vec!["relog", "in.csv", "-o", "a.csv", "--output-encoding", "utf-16be"],
            format!("--output-encoding utf-16be: {utf16}"),
        ),
        (
            vec!["query", PATH, "-q", "-qx"],
            "-q and -qx cannot be used together: use one of them".to_owned(),
        ),
        (
            vec!["query", PATH, "-qx", "-sc", "1"],
            "-qx and -sc cannot be used together: use one of them".to_owned(),
        ),
        (vec!["archive"], "'archive' needs an action: compact".to_owned()),
        (vec!["archive", "compact", "a", "b"], "'archive compact' does not accept 'b'".to_owned()),
        (vec!["compare", ""], "BEFORE AFTER needs a value".to_owned()),
        (
            vec!["compare", "in.csv", "SQL:"],
            "BEFORE AFTER SQL:: a log in a database is named SQL:DSN!NAME, such as SQL:counters.db!march (NAME has at \
             most 1023 characters)"
                .to_owned(),
        ),
    ] {
        let command = arguments[0];
        folder.run(&arguments).fails_with(2, &format!("{line}; 'tacho {command} --help' lists the options"));
    }
    folder.run(["machines"]).fails_with(2, "unknown command 'machines'; 'tacho --help' lists the commands");
    folder.run(["query", "-config", ""]).fails_with(2, "-config needs the name of a file");
    assert_eq!(folder.names(), ["in.csv"]);
}

#[cfg(feature = "web")]
#[test]
fn messages_of_servers_say_what_is_wrong() {
    let folder = Folder::new();
    folder.write("file", "");
    let serve = "; 'tacho serve --help' lists the options";
    let setup = "; 'tacho agent --help' lists the options";
    let name = r#"a machine's name is not empty, and has no spaces and none of \ / @ * ? , ""#;
    let address =
        "must be a host name or an IP address, with or without a port: web1, 10.0.0.7:7321, [fe80::1]:7321";
    let token = "/dev/null: is not a regular file, and other users can read or write it; use a file";
    for (arguments, status, line) in [
        (&["serve", "--port", "abc"][..], 2, format!("--port abc: must be a whole number{serve}")),
        (&["serve", "--port", ""], 2, format!("--port '': must be a whole number{serve}")),
        (&["serve", "--port", "70000"], 2, format!("--port 70000: must be from 0 to 65535{serve}")),
        (&["serve", "--token-file", "/dev/null"], 1, token.to_owned()),
        (&["agent", "setup", "--name", ""], 2, format!("--name '': {name}{setup}")),
        (&["agent", "setup", "--name", "a\nb\"c"], 2, format!("--name a\\u{{a}}b\"c: {name}{setup}")),
        (
            &["agent", "setup", "--address", "nonsense:abc"],
            2,
            format!("--address nonsense:abc: {address}{setup}"),
        ),
        (&["agent", "setup", "--address", "a\"b"], 2, format!("--address a\"b: {address}{setup}")),
    ] {
        folder.run(arguments).fails_with(status, &line);
    }
    let to = ["--to", "prometheus=http://127.0.0.1:9", "--to-queue", "file/queue"];
    let ran = folder.run([&["record", PATH, "-o", "a.blg"], &to[..]].concat());
    let end =
        ": Not a directory; --to-queue FOLDER chooses another folder for samples that are not sent yet\n";
    assert!(ran.status == 1 && ran.stderr.starts_with("tacho: file/queue/"), "{ran:?}");
    assert!(ran.stderr.ends_with(end), "{ran:?}");
    assert_eq!(folder.names(), ["file"]);
}

#[test]
fn mistaken_paths_get_suggestions() {
    let folder = Folder::new();
    for (arguments, line) in [
        (
            ["query", r"\Memory\Available"],
            r"'\Memory\Available' is not on this machine: did you mean 'Available Bytes', 'Available KBytes' or 'Available MBytes'?",
        ),
        (
            ["list", r"Memory\Available Bytes"],
            r"'Memory\Available Bytes': a path starts with '\': write '\Memory\Available Bytes'",
        ),
        (["list", r"\Process(*"], r"'Process(*': the ')' is missing: write '\Process(*)\*'"),
        (["query", "process"], r"'process' is a counter set: write '\Process(*)\*' for its counters"),
    ] {
        folder.run(arguments).fails_with(2, line);
    }
}

#[test]
fn several_logs_are_checked() {
    let folder = Folder::new();
    crate::log_fixture::mixed("WEB1", 0, 4).write(&folder.path("a.blg"));
    folder.write("b.blg", "");
    let text = folder.prints(["check", "a.blg", "a.blg"]);
    assert_eq!(text.matches("a.blg: intact: ").count(), 2, "{text}");
    let ran = folder.run(["check", "b.blg", "a.blg"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (1, "tacho: b.blg: the file is empty\n"));
    assert!(ran.stdout.starts_with("a.blg: intact: "), "{ran:?}");
    folder
        .run(["check", "a.blg", "b.blg", "--salvage", "c.blg"])
        .fails_with(2, "--salvage accepts only one log: run 'tacho check --salvage' for each");
}

#[test]
fn a_removed_partial_row_is_reported() {
    let folder = Folder::new();
    let record = ["record", PATH, "-si", "0.01", "-sc", "2", "-o", "a.csv"];
    assert_eq!(folder.run(record).status, 0);
    let bytes = folder.bytes("a.csv");
    folder.write("a.csv", &bytes[..bytes.len() - 5]);
    let ran = folder.run([&record[..], &["-a"]].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.stderr.starts_with("tacho: a.csv: removed a partial row at the end ("), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 2, "{ran:?}");
}

#[test]
fn paths_are_read_from_standard_input() {
    let folder = Folder::new();
    folder.write("paths.txt", format!("; a comment\n{PATH}\n"));
    let mut command = folder.command(["query", "-cf", "-", "-sc", "1", "-si", "0.01", "-f", "csv"]);
    let paths = std::fs::File::open(folder.path("paths.txt")).expect("a file");
    let output = command.stdin(paths).output().expect("start command");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains(PATH), "{text}");
}

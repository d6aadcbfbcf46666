//! Messages about machines that stop answering and answer again.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::several::{Served, setup_with_absent};
use crate::{Agent, Setup, tacho};

#[test]
fn a_query_names_the_machines_that_do_not_answer() {
    let (setup, _agent) = setup_with_absent();
    let paths = [r"\Processor Information(_Total)\% Processor Time", r"\System\Processes"];
    let query = [&["query", "-s", "@all"][..], &paths, &["-si", "2", "-sc", "2"]].concat();
    let output = setup.run(&query);
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{messages}");
    let lines: Vec<_> = messages.lines().collect();
    assert_eq!(lines.len(), 2, "{messages}");
    assert!(lines[0].contains(r"\\absent: no agent answers"), "{messages}");
    assert_eq!(lines[1], r"tacho: no answer from 1 machine: \\absent");
}

/// Agents of the machines `web1` and `db`.
fn start_two(setup: &Setup) -> (Agent, Agent) {
    let (first, second) = (Agent::start(setup), Agent::start(setup));
    let line = setup.line_for(second.port).replace("web1 =", "db =");
    setup.write_machines(&(setup.line_for(first.port) + &line));
    (first, second)
}

#[test]
fn each_outage_of_a_machine_is_reported_once() {
    let setup = Setup::new();
    let (_first, second) = start_two(&setup);
    let port = second.port;
    let log = setup.folder.path().join("all.blg").display().to_string();
    // Three counter sets, each of which cannot be read in an outage.
    let record =
        ["record", "-s", "@all", r"\System\*", r"\Memory\*", r"\Processor Information(*)\*", "-si", "1.5"];
    let mut command = tacho(&setup.folder, &[&record[..], &["-o", &log]].concat());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("tacho runs");
    let messages = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let (sender, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || messages.map_while(Result::ok).try_for_each(|line| sender.send(line)));
    let until = Instant::now() + Duration::from_secs(120);
    let next = || lines.recv_timeout(until.saturating_duration_since(Instant::now())).expect("a message");
    // On a busy machine, an agent can need longer than an interval, which is an outage too.
    let mut is_silent = false;
    let mut check_event = |line: &str| {
        let begins = line.ends_with("; continuing without it");
        assert!(begins || line.contains(": answers again after ") && line.ends_with(" s"), "{line}");
        // The agent has answered before, so its entry in machines.toml needs no check.
        assert!(!line.contains("machines.toml"), "{line}");
        if line.starts_with(r"tacho: \\db: ") {
            assert_eq!(begins, !is_silent, "each outage is one message, and its end another: {line}");
            is_silent = begins;
        }
        is_silent
    };
    let has_samples = || {
        let stats = setup.run(&["stats", &log, "-c", r"\\db\System\Processes", "-f", "json"]);
        String::from_utf8_lossy(&stats.stdout).contains("\"values\":")
    };
    while !has_samples() {
        assert!(Instant::now() < until, "no sample of the machine");
        std::thread::sleep(Duration::from_millis(200));
    }
    drop(second);
    while !check_event(&next()) {}
    let _second = Agent::start_on(&setup, port);
    while check_event(&next()) {}
    // A test that runs in the background can inherit that SIGINT is ignored.
    let id = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a process");
    rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("a signal");
    let end = loop {
        let line = next();
        // Before the summary, the machines are named that did not answer the last sample.
        match line.contains("all.blg: ") {
            true => break line,
            false if line.contains("no answer from") => {}
            false => _ = check_event(&line),
        }
    };
    // The samples of the machine are counted, not those of its three counter sets.
    let is_counted =
        end.contains("samples of machines are missing") || end.contains("sample of a machine is missing");
    assert!(is_counted && !end.contains("could not be read") && !end.contains("causes"), "{end}");
    assert!(child.wait().expect("ended").success());
}

#[test]
fn a_problem_of_a_source_ends_with_the_outage() {
    let setup = Setup::new();
    let (_first, second) = start_two(&setup);
    let port = second.port;
    let served = Served::start(&setup, &["-s", "@all"]);
    let await_problems = |count: usize| {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let source = served.get("/api/sources/live");
            let problems = source["problems"].as_array().expect("problems").clone();
            if problems.len() == count {
                break problems;
            }
            assert!(Instant::now() < until, "{source}");
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    await_problems(0);
    drop(second);
    let problems = await_problems(1);
    assert!(problems[0].as_str().is_some_and(|text| text.starts_with(r"\\db: ")), "{problems:?}");
    let _second = Agent::start_on(&setup, port);
    await_problems(0);
}

//! Commands that read several machines.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::{Agent, Setup, tacho};

/// machines.toml with two names of one agent, and one machine that does not answer.
pub(crate) fn setup_with_absent() -> (Setup, Agent) {
    let setup = Setup::new();
    let agent = Agent::start(&setup);
    let line = setup.line_for(agent.port);
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let absent = setup.line_for(free).replace("web1 =", "absent =");
    setup.write_machines(&(line.clone() + &line.replace("web1 =", "web2 =") + &absent));
    (setup, agent)
}

fn file(setup: &Setup, name: &str) -> String {
    setup.folder.path().join(name).display().to_string()
}

const INTERVAL: [&str; 4] = ["-si", "1", "-sc", "3"];

#[test]
fn several_machines_are_recorded_into_one_archive_or_one_log() {
    let (setup, _agent) = setup_with_absent();
    let archive = file(&setup, "archive");
    let record = ["record", "-s", "web?", r"\System\*", r"\Processor Information(*)\*", "-f", "archive"];
    setup.prints(&[&record[..], &["-o", &archive], &INTERVAL].concat());
    for machine in ["web1", "web2"] {
        let folder = std::path::Path::new(&archive).join(format!("machine={machine}"));
        assert!(folder.is_dir(), "{machine}");
        let of_machine = format!(r"\\{machine}\System\Processes");
        let stats = setup.prints(&["stats", &archive, "-c", &of_machine, "-f", "json"]);
        assert!(stats.contains("\"values\":3"), "{stats}");
    }
    // The archive is continued.
    setup.prints(&[&record[..], &["-o", &archive], &INTERVAL].concat());
    let stats = setup.prints(&["stats", &archive, "-c", r"\\web2\System\Processes", "-f", "json"]);
    assert!(stats.contains("\"values\":6"), "{stats}");

    let log = file(&setup, "both.blg");
    setup.prints(&[&["record", "-s", "web?", "--view", "cpu", "-o", &log][..], &INTERVAL].concat());
    let listed = setup.prints(&["list", &log]);
    assert!(listed.contains(r"\\web1") && listed.contains(r"\\web2"), "{listed}");
    let here = setup.prints(&["stats", &log, "-c", r"\Processor Information(_Total)\*", "-f", "json"]);
    assert!(here.contains("% Processor Time") && here.matches("\"values\":2").count() >= 2, "{here}");
}

#[test]
fn a_machine_that_is_down_at_the_start_has_columns() {
    let (setup, _agent) = setup_with_absent();
    let log = file(&setup, "all.csv");
    let record = ["record", "-s", "@all", r"\System\Processes", "-o", &log];
    let output = setup.run(&[&record[..], &INTERVAL].concat());
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && messages.contains(r"\\absent: "), "{messages}");
    let text = std::fs::read_to_string(&log).expect("a log");
    let mut lines = text.lines();
    let head = lines.next().expect("a header");
    let columns: Vec<_> = head.split(',').collect();
    let column = |machine: &str| {
        let wanted = format!("\"\\\\{machine}\\System\\Processes\"");
        columns.iter().position(|name| *name == wanted).unwrap_or_else(|| panic!("{machine}: {head}"))
    };
    let (absent, present) = (column("absent"), column("web2"));
    let mut rows = 0;
    for row in lines {
        let cells: Vec<_> = row.split(',').collect();
        assert_eq!(cells[absent], "\" \"", "{row}");
        assert_ne!(cells[present], "\" \"", "{row}");
        rows += 1;
    }
    assert_eq!(rows, 3, "{text}");
}

#[test]
fn a_machine_that_is_down_at_the_start_is_recorded_when_it_answers() {
    let setup = Setup::new();
    let (first, second) = (Agent::start(&setup), Agent::start(&setup));
    let line = setup.line_for(first.port);
    let port = second.port;
    setup.write_machines(&(line + &setup.line_for(port).replace("web1 =", "later =")));
    drop(second);
    let log = file(&setup, "later.blg");
    let mut command = tacho(
        &setup.folder,
        &["record", "-s", "@all", r"\System\Processes", "-si", "0.3", "-o", &log, "--print-times"],
    );
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("tacho runs");
    let mut samples = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    samples.next().expect("a sample").expect("UTF-8");
    let _second = Agent::start_on(&setup, port);
    let until = Instant::now() + Duration::from_secs(60);
    let has_values = || {
        let stats = setup.run(&["stats", &log, "-c", r"\\later\System\Processes", "-f", "json"]);
        let text = String::from_utf8_lossy(&stats.stdout).into_owned();
        text.contains("\"values\":") && !text.contains("\"values\":0")
    };
    while !has_values() {
        assert!(Instant::now() < until, "no values of the machine that was down");
        samples.next().expect("a sample").expect("UTF-8");
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[test]
fn tables_name_the_machine_of_each_value() {
    let (setup, _agent) = setup_with_absent();
    let query =
        |arguments: &[&str]| setup.prints(&[&["query", "-si", "0.3", "-sc", "1"][..], arguments].concat());
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let processes = r"\System\Processes";
    let table = query(&["-s", "web?", processes]);
    let lines: Vec<_> = table.lines().map(words).collect();
    assert_eq!(lines[0], [r"\\web1", r"\\web2"], "{table}");
    assert_eq!(lines[1], [r"\System", r"\System"], "{table}");
    assert_eq!(lines[2][1..], [r"\Processes", r"\Processes"], "{table}");
    // One machine is shown once.
    let table = query(&["-s", "web1", processes, r"\System\Threads"]);
    let first = words(table.lines().next().expect("a line"));
    assert_eq!(first, [r"\\web1", r"\System", r"\System"], "{table}");
    // The machines are in the order of the paths, also if a path names none.
    let here = query(&[processes]);
    let here = words(here.lines().next().expect("a line"));
    let table = query(&[r"\\web2\System\Processes", processes, r"\\web1\System\Processes"]);
    let first = words(table.lines().next().expect("a line"));
    assert_eq!(first, [r"\\web2", here[0].as_str(), r"\\web1"], "{table}");
    // In a table that is too wide, each row has the path of its counter.
    let rows = query(&["-s", "web?", r"\System\*"]);
    let rows_of =
        |machine: &str| rows.lines().filter(|row| row.starts_with(&format!(r"\\{machine}\"))).count();
    let all = rows.lines().filter(|row| row.starts_with('\\')).count();
    assert!(rows_of("web1") > 5 && rows_of("web1") == rows_of("web2"), "{rows}");
    assert_eq!(all, rows_of("web1") + rows_of("web2"), "{rows}");
}

/// A running `tacho serve`, which is killed when dropped.
pub(crate) struct Served {
    child: std::process::Child,
    pub(crate) port: u16,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    pub(crate) fn start(setup: &Setup, arguments: &[&str]) -> Self {
        let mut command = tacho(&setup.folder, &["serve", "--port", "0", "-si", "0.3"]);
        command.args(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("tacho runs");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut url).expect("a URL");
        let port = url.trim().trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok());
        Self { child, port: port.unwrap_or_else(|| panic!("no port: '{url}'")) }
    }

    pub(crate) fn get(&self, path: &str) -> serde_json::Value {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a server");
        let port = self.port;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n")
            .expect("sent");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("UTF-8");
        let (_, body) = response.split_once("\r\n\r\n").expect("a header");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{path}: {error}: {response}"))
    }
}

#[test]
fn several_machines_are_served() {
    let (setup, _agent) = setup_with_absent();
    let served = Served::start(&setup, &["-s", "@all"]);
    let source = served.get("/api/sources/live");
    assert_eq!(source["machines"], serde_json::json!(["absent", "web1", "web2"]));
    let sets = served.get("/api/sources/live/sets?machine=web2");
    assert!(
        sets["sets"].as_array().is_some_and(|sets| sets.iter().any(|set| set["name"] == "System")),
        "{sets}"
    );
    let instances = served.get("/api/sources/live/instances?set=Processor+Information&machine=web1");
    assert!(instances.to_string().contains("_Total"), "{instances}");
    assert!(served.get("/api/sources/live/sets?machine=none")["error"].to_string().contains("none"));

    // The current values of all machines, and of one machine.
    let all = served.get(r"/api/query?path=%5CSystem%5CProcesses");
    let value = |machine: &str| {
        let series = all["series"].as_array().expect("series");
        series.iter().find(|one| one["machine"] == machine).map(|one| one["value"].clone())
    };
    assert!(value("web1").is_some_and(|value| value.is_number()), "{all}");
    assert_eq!(value("absent"), Some(serde_json::Value::Null));
    let one = served.get(r"/api/query?path=%5C%5Cweb2%5CSystem%5CProcesses");
    assert_eq!(one["series"].as_array().map(Vec::len), Some(1), "{one}");

    let path = r"path=%5CSystem%5CProcesses&path=%5CMemory%5CCommit+Limit";
    let until = Instant::now() + Duration::from_secs(30);
    let table = loop {
        let table = served.get(&format!("/api/fleet?{path}&sort=1&filter=web"));
        if table["columns"][1]["all"]["average"].is_number() {
            break table;
        }
        assert!(Instant::now() < until, "no values: {table}");
    };
    assert_eq!((&table["machines"], &table["found"]), (&3.into(), &2.into()));
    let names: Vec<_> = table["rows"].as_array().expect("rows").iter().map(|row| &row["machine"]).collect();
    assert_eq!(names, ["web1", "web2"]);
    // Both are this machine.
    assert_eq!(table["rows"][0]["statistics"][1]["average"], table["columns"][1]["all"]["average"]);
    let merged = served.get(&format!("/api/sources/live/series?{path}&across=machines&columns=10"));
    let series = merged["series"].as_array().expect("series");
    assert_eq!(series.len(), 2, "{merged}");
    assert_eq!(series[0]["machine"], serde_json::Value::Null);
    assert_eq!(series[0]["path"], r"\System\Processes");
}

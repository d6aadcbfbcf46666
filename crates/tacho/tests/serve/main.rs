//! `tacho serve` as a process: its output, errors, and exit.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A running server, which is killed when dropped.
struct Server {
    child: Child,
    host: String,
    _out: BufReader<ChildStdout>,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        Self::spawn(tacho(&["serve", "--port", "0"]).args(arguments))
    }

    /// A server, and the first lines of its standard error.
    fn start_with_notices(arguments: &[&str], lines: usize) -> (Self, Vec<String>) {
        let mut server = Self::spawn(tacho(&["serve", "--port", "0"]).args(arguments).stderr(Stdio::piped()));
        let err = BufReader::new(server.child.stderr.take().expect("a pipe"));
        let lines = err.lines().take(lines).map(|line| line.expect("a line")).collect();
        (server, lines)
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("tacho runs");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        let host = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
        let host = host.unwrap_or_else(|| panic!("no address: '{line}'")).to_owned();
        Self { child, host, _out: out }
    }

    /// Waits until a log is loaded.
    fn wait_for_log(&self, id: &str) {
        let end = Instant::now() + Duration::from_secs(30);
        while !self.get(&format!("/api/sources/{id}")).contains(r#""state":"ready""#) {
            assert!(Instant::now() < end, "the log was not read in time");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn get(&self, target: &str) -> String {
        let mut stream = TcpStream::connect(&self.host).expect("the server listens");
        let text = format!("GET {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.host);
        stream.write_all(text.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails if the server has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tacho(arguments: &[&str]) -> Command {
    // No signal is ignored, even if the tests run in the background of a shell.
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,QUIT,TERM", env!("CARGO_BIN_EXE_tacho")]);
    command.args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    tacho(arguments).output().expect("tacho runs")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn statistics_equal_those_of_stats() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log.blg");
    let recorded = run(&["record", r"\Memory\*", "-si", "0.05", "-sc", "4", "-o", text(&log)]);
    assert!(recorded.status.success(), "{}", String::from_utf8_lossy(&recorded.stderr));
    let server = Server::start(&[text(&log), text(folder.path())]);
    server.wait_for_log("1");
    let answer = server.get("/api/sources/1/statistics");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    let stats = run(&["stats", text(&log), "-f", "json"]).stdout;
    assert_eq!(body, String::from_utf8(stats).expect("UTF-8"));
    assert!(server.get("/").contains("<!doctype html>"));
    let list = server.get("/api/sources");
    assert!(list.contains("/log.blg") && list.contains(r#""kind":"live""#), "{list}");
}

#[test]
fn a_signal_ends_the_server_immediately() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Server::start(&[]);
        let mut stream = TcpStream::connect(&server.host).expect("the server listens");
        let target = "/api/stream?path=%5CMemory%5CAvailable%20Bytes";
        write!(stream, "GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", server.host).expect("sent");
        let mut first = [0; 12];
        stream.read_exact(&mut first).expect("an answer");
        assert_eq!(&first, b"HTTP/1.1 200");
        let begun = Instant::now();
        kill_process(Pid::from_child(&server.child), signal).expect("a signal");
        let status = server.child.wait().expect("the server ends");
        assert_eq!(status.code(), Some(0));
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    }
}

#[test]
fn unsafe_and_invalid_options_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let token = folder.path().join("token");
    std::fs::write(&token, "a-token-of-many-letters\n").expect("a file");
    let allow = |mode: u32| {
        std::fs::set_permissions(&token, std::fs::Permissions::from_mode(mode)).expect("permissions");
    };
    let refused = |arguments: &[&str], status: i32, words: &str| {
        let output = run(&[&["serve"], arguments].concat());
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {message}");
        assert!(message.contains(words) && !message.contains("many-letters"), "{arguments:?}: {message}");
    };
    refused(&["--listen", "0.0.0.0:0"], 2, "--token-file");
    refused(&["--listen", "somewhere"], 2, "must be an IP address");
    refused(&["--listen", "127.0.0.1", "--port", "1"], 2, "--port");
    refused(&["--tls-cert", text(&token)], 2, "--tls-key");
    allow(0o644);
    refused(&["--listen", "0.0.0.0:0", "--token-file", text(&token)], 1, "chmod");
    allow(0o600);
    refused(&["--allow-record", text(folder.path())], 2, "--token-file");
    refused(&["--token-file", text(&token), "--allow-record", text(&token)], 2, "no such folder");
    refused(&["--embed-origin", "wiki.example"], 2, "origin");
    refused(&["--embed-origin", "https://wiki.example/page"], 2, "https://wiki.example");
    refused(&["--embed-token-file", text(&token), "--token-file", text(&token)], 2, "--embed-origin");
    refused(&["--tls-cert", text(&token), "--tls-key", text(&token)], 1, "token");
    refused(&["--port", "0", "/no/such/log.blg"], 1, "/no/such/log.blg");
    std::fs::write(&token, "short").expect("a file");
    refused(&["--port", "0", "--token-file", text(&token)], 1, "16");
    refused(&["--port", "0", "--token-file", text(folder.path())], 1, "is a folder");
    refused(&["--view", text(&token)], 2, text(&token));
    refused(&["--host", ""], 2, "must be a host name without a port");
    refused(&["--host", "monitor.example:80"], 2, "must be a host name without a port");
    let server = Server::start(&[]);
    let port = server.host.rsplit(':').next().expect("a port");
    refused(&["--port", port], 1, port);
}

#[test]
fn unavailable_counters_and_logs_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let recorded = run(&["record", r"\Memory\*", "-si", "0.05", "-sc", "2", "-o", text(&file("good.blg"))]);
    assert!(recorded.status.success(), "{}", String::from_utf8_lossy(&recorded.stderr));
    std::fs::write(file("empty.csv"), "").expect("a file");
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, file("pipe.blg"), rustix::fs::FileType::Fifo, mode, 0)
        .expect("a pipe");
    let logs = ["empty.csv", "pipe.blg", "good.blg"].map(&file);
    let mut arguments = logs.each_ref().map(|log| text(log)).to_vec();
    arguments.extend(["-c", r"\Nope\x", r"\Memory\Available Bytes", "--metrics", r"\Neither\y"]);
    let (server, mut notices) = Server::start_with_notices(&arguments, 4);
    let query =
        run(&["query", "-sc", "1", "-f", "json", r"\Memory\Available Bytes", r"\Nope\x", r"\Neither\y"]);
    let query = String::from_utf8(query.stderr).expect("UTF-8");
    assert_eq!(notices[..2], query.lines().map(str::to_owned).collect::<Vec<_>>()[..], "as in tacho query");
    assert!(notices[0].contains(r"'\Nope\x' is not on this machine"), "{notices:?}");
    notices[2..].sort();
    assert!(notices[2].ends_with("empty.csv: the file is empty"), "{notices:?}");
    assert!(notices[3].contains("pipe.blg: a log cannot be read from a pipe"), "{notices:?}");
    server.wait_for_log("3");
    assert!(server.get("/api/sources/3/statistics").starts_with("HTTP/1.1 200"));
    for id in ["1", "2"] {
        let source = server.get(&format!("/api/sources/{id}"));
        assert!(source.contains(r#""state":"failed""#), "{source}");
    }
}

#[test]
fn the_damage_of_a_log_is_reported_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("cut.blg");
    let recorded = run(&["record", r"\Memory\*", "-si", "0.05", "-sc", "4", "-o", text(&log)]);
    assert!(recorded.status.success(), "{}", String::from_utf8_lossy(&recorded.stderr));
    let whole = std::fs::read(&log).expect("a log");
    std::fs::write(&log, &whole[..whole.len() - 100]).expect("a file");
    let (_server, notices) = Server::start_with_notices(&[text(&log)], 1);
    let stats = String::from_utf8(run(&["stats", text(&log)]).stderr).expect("UTF-8");
    assert_eq!(notices[0], stats.trim_end(), "as in tacho stats");
    assert!(notices[0].contains("cut.blg: damaged: "), "{notices:?}");
}

#[test]
fn a_low_limit_of_open_files_is_sufficient() {
    let mut command = Command::new("sh");
    let tacho = env!("CARGO_BIN_EXE_tacho");
    command.args(["-c", "ulimit -n 64 && exec \"$0\" serve --port 0", tacho]);
    let mut server = Server::spawn(&mut command);
    let mut streams: Vec<_> =
        (0..100).map(|_| TcpStream::connect(&server.host).expect("the kernel's queue has room")).collect();
    // Surplus connections are closed. The others are answered, because files are reserved for them.
    let mut byte = [0];
    let timeout = Some(Duration::from_secs(30));
    streams.iter().for_each(|stream| stream.set_read_timeout(timeout).expect("an option"));
    assert_eq!(streams.pop().expect("the last").read(&mut byte).expect("an end"), 0);
    let get = |target: &str, stream: &mut TcpStream| {
        write!(stream, "GET {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.host)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    };
    let targets = ["/api/query?path=%5CMemory%5C*", "/api/query?path=%5CProcess(*)%5C*", "/metrics", "/"];
    for (target, stream) in targets.into_iter().zip(&mut streams) {
        let answer = get(target, stream).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{target}: {answer}");
    }
    drop(streams);
    let end = Instant::now() + Duration::from_secs(30);
    let again = || get("/api/sources", &mut TcpStream::connect(&server.host)?);
    // The server closes new connections until it has detected that the others were closed.
    while !again().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")) {
        assert!(Instant::now() < end, "no connection is answered");
        std::thread::yield_now();
    }
    assert!(server.child.try_wait().expect("a child").is_none());
}

#[test]
fn metrics_have_the_chosen_names() {
    let current = Server::start(&[]).get("/metrics");
    assert!(current.contains("\ntacho_network_received_bytes_total{device=\"lo\"} "), "{current}");
    assert!(current.contains("\nprocess_resident_memory_bytes "));
    // The device and type of the root's file system are those of the kernel's list.
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("the list of mounts");
    let root = mounts.lines().rev().find_map(|line| {
        let mut words = line.split(' ');
        let (device, mount_point, fs_type) = (words.next()?, words.next()?, words.next()?);
        (mount_point == "/").then(|| format!("mountpoint=\"/\",device=\"{device}\",fstype=\"{fs_type}\""))
    });
    let root = root.expect("a root");
    assert!(current.contains(&format!("\ntacho_filesystem_size_bytes{{{root}}} ")), "{root}: {current}");
    let old = Server::start(&["--metrics-names", "old"]).get("/metrics");
    assert!(old.contains("\ntacho_network_interface_bytes_total{name=\"lo\"} "), "{old}");
    let wrong = run(&["serve", "--metrics-names", "new"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("must be current or old"));
}

/// The response to a request with the token.
fn send(server: &Server, method: &str, target: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(&server.host).expect("it listens");
    let length = body.len();
    let text = format!(
        "{method} {target} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer a-token-of-many-letters\r\nConnection: \
         close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}",
        server.host
    );
    stream.write_all(text.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn a_killed_server_leaves_a_readable_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("records")).expect("a folder");
    std::fs::write(at("token"), "a-token-of-many-letters\n").expect("a file");
    std::fs::set_permissions(at("token"), std::fs::Permissions::from_mode(0o600)).expect("permissions");
    let (token, records) = (at("token"), at("records"));
    let options = ["--token-file", text(&token), "--allow-record", text(&records), "--interval", "0.05"];
    let mut server = Server::start(&[&options[..], &["--record-min-free", "1"]].concat());
    let body = r#"{"paths":["\\Memory\\*","\\Processor Information(*)\\% Processor Time"]}"#;
    let started = send(&server, "POST", "/api/recording", body);
    assert!(started.starts_with("HTTP/1.1 201"), "{started}");
    let samples = || {
        let status = send(&server, "GET", "/api/recording", "");
        let (_, rest) = status.split_once(r#""samples":"#).expect("a number");
        rest[..rest.find(',').expect("more fields")].parse::<u64>().expect("a number")
    };
    let end = Instant::now() + Duration::from_secs(30);
    while samples() < 5 {
        assert!(Instant::now() < end, "no samples");
        std::thread::sleep(Duration::from_millis(20));
    }
    let written = samples();
    server.child.kill().expect("SIGKILL");
    server.child.wait().expect("it ends");
    let logs: Vec<_> =
        std::fs::read_dir(&records).expect("a folder").map(|one| one.expect("it").path()).collect();
    assert_eq!(logs.len(), 1);
    let stats = run(&["stats", text(&logs[0]), "-f", "json", r"\Memory\Available Bytes"]);
    assert!(stats.status.success(), "{}", String::from_utf8_lossy(&stats.stderr));
    let stats: serde_json::Value = serde_json::from_slice(&stats.stdout).expect("JSON");
    assert!(stats[0]["values"].as_u64() >= Some(written), "{stats}, {written} samples");
    // The next recording does not touch the log.
    let before = std::fs::metadata(&logs[0]).expect("a file").len();
    let server = Server::start(&options);
    assert!(send(&server, "POST", "/api/recording", r#"{"all":true}"#).starts_with("HTTP/1.1 201"));
    assert!(send(&server, "DELETE", "/api/recording", "").starts_with("HTTP/1.1 200"));
    assert_eq!(std::fs::metadata(&logs[0]).expect("a file").len(), before);
}

//! Recordings that clients start and stop.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tachograph_counters::sample::Sample;

use crate::client::{Response, request};
use crate::stream::Events;
use crate::test_server::{Machine, TestOptions, TestServer};
use crate::wait_until_read_with;

const TOKEN: &str = "a-token-of-many-letters";
const BEARER: (&str, &str) = ("Authorization", "Bearer a-token-of-many-letters");
const NO_LIMIT: (u64, Duration, u64) = (1 << 30, Duration::from_secs(3600), 0);

fn options(limits: (u64, Duration, u64)) -> TestOptions {
    TestOptions { token: Some(TOKEN), recordings: Some(limits), ..TestOptions::default() }
}

fn send(server: &TestServer, method: &str, body: &str) -> Response {
    let headers = [BEARER, ("Content-Type", "application/json")];
    request(server.address, method, "/api/recording", &headers, body.as_bytes())
}

fn status(server: &TestServer) -> Value {
    request(server.address, "GET", "/api/recording", &[BEARER], b"").json()
}

/// Waits until the state of the recording meets a condition.
fn wait_for(server: &TestServer, what: &str, is_met: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let status = status(server);
        if is_met(&status) {
            return status;
        }
        assert!(Instant::now() < end, "{what}: {status}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The files in the folder of recordings.
fn files(server: &TestServer) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(server.file("records")).expect("a folder");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

/// The number of values of each sample of a log.
fn sample_lengths(file: &PathBuf) -> Vec<usize> {
    let mut log = tachograph_logs::open(file).expect("a log");
    let (mut sample, mut lengths) = (Sample::default(), Vec::new());
    while log.next(&mut sample).expect("readable") {
        lengths.push(sample.len());
    }
    assert!(log.problems().is_empty(), "{file:?}");
    lengths
}

#[test]
fn a_recording_outlives_its_client_and_can_be_opened() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, options(NO_LIMIT));
    let idle = status(&server);
    assert_eq!((&idle["is_allowed"], &idle["is_running"]), (&json!(true), &json!(false)));
    // `send` closes the connection of its request.
    let started = send(&server, "POST", r#"{"paths":["\\Things(*)\\Number","\\No\\Such"]}"#);
    assert_eq!(started.status, 201, "{}", started.text());
    let started = started.json();
    assert_eq!(started["missing"][0]["path"], r"\No\Such");
    assert_eq!((&started["is_running"], &started["paths"]), (&json!(true), &json!(2)));
    let second = send(&server, "POST", r#"{"all":true}"#);
    assert_eq!(second.status, 409);
    let running = wait_for(&server, "samples", |status| status["samples"].as_u64() >= Some(3));
    let name = running["file"].as_str().expect("a name");
    assert!(second.text().contains(name) && name.starts_with("FAKE_") && name.ends_with(".blg"), "{name}");
    // The log can be read while it is recorded.
    assert!(sample_lengths(&server.file("records").join(name)).len() >= 3);
    let stopped = send(&server, "DELETE", "").json();
    assert_eq!((&stopped["is_running"], &stopped["reason"]), (&json!(false), &json!("stopped")));
    assert_eq!(send(&server, "DELETE", "").json(), stopped, "stopping again changes nothing");
    let lengths = sample_lengths(&files(&server)[0]);
    assert_eq!(Some(lengths.len() as u64), stopped["samples"].as_u64());
    assert!(lengths.iter().all(|length| *length == 3), "one counter of three instances");
    assert_eq!(
        std::fs::metadata(&files(&server)[0]).expect("a file").len(),
        stopped["bytes"].as_u64().expect("a size")
    );
    let log = json!({ "log": stopped["log"] }).to_string();
    let headers = [BEARER, ("Content-Type", "application/json")];
    let opened = request(server.address, "POST", "/api/sources", &headers, log.as_bytes()).json();
    let source = wait_until_read_with(&server, opened["id"].as_str().expect("an id"), &[BEARER]);
    assert_eq!((source["state"].as_str(), &source["samples"]), (Some("ready"), &stopped["samples"]));
}

#[test]
fn all_counters_are_recorded_on_request() {
    let machine = Machine::new(4);
    let server = TestServer::start(&machine, options(NO_LIMIT));
    assert_eq!(send(&server, "POST", r#"{"all":true}"#).status, 201);
    wait_for(&server, "samples", |status| status["samples"].as_u64() >= Some(2));
    let stopped = send(&server, "DELETE", "").json();
    assert_eq!(stopped["is_all"], true);
    assert!(sample_lengths(&files(&server)[0]).iter().all(|length| *length == 8));
}

#[test]
fn streams_report_the_recording() {
    let machine = Machine::new(2);
    let server = TestServer::start(&machine, options(NO_LIMIT));
    let path = [("path", r"\Things(*)\Number")];
    let mut events = Events::open_with(server.address, &path, &[BEARER]);
    let next = |events: &mut Events| loop {
        let (name, data) = events.next().expect("an event");
        if name == "recording" {
            return data;
        }
    };
    send(&server, "POST", r#"{"all":true}"#);
    while next(&mut events)["is_running"] != true {}
    // A reader that opens its stream later also gets the state.
    let mut later = Events::open_with(server.address, &path, &[BEARER]);
    assert_eq!(next(&mut later)["is_running"], true);
    send(&server, "DELETE", "");
    for events in [&mut events, &mut later] {
        while next(events)["is_running"] != false {}
    }
}

#[test]
fn limits_end_a_recording_with_their_reason() {
    let machine = Machine::new(50);
    let limits = (200_000, Duration::from_secs(3600), 0);
    let server = TestServer::start(&machine, options(limits));
    send(&server, "POST", r#"{"all":true}"#);
    let ended = wait_for(&server, "the size", |status| status["is_running"] == false);
    assert!(ended["reason"].as_str().is_some_and(|reason| reason.contains("maximum size")), "{ended}");
    assert!(ended["bytes"].as_u64().is_some_and(|bytes| bytes > 50_000 && bytes <= 200_000), "{ended}");
    drop(server);
    let server = TestServer::start(&machine, options((1 << 30, Duration::from_millis(100), 0)));
    send(&server, "POST", r#"{"all":true}"#);
    let ended = wait_for(&server, "the time", |status| status["is_running"] == false);
    assert!(ended["reason"].as_str().is_some_and(|reason| reason.contains("duration")), "{ended}");
    assert_eq!(ended["is_failed"], false);
    drop(server);
    let server = TestServer::start(&machine, options((1 << 30, Duration::from_secs(3600), u64::MAX)));
    let refused = send(&server, "POST", r#"{"all":true}"#);
    assert_eq!(refused.status, 507);
    assert!(refused.text().contains("disk"), "{}", refused.text());
    assert_eq!(files(&server).len(), 0);
    // The refused recording does not count as running.
    assert_eq!(send(&server, "POST", r#"{"all":true}"#).status, 507);
}

#[test]
fn invalid_recordings_are_refused() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, options(NO_LIMIT));
    let many = json!({ "paths": vec![r"\Things(*)\*"; 257] }).to_string();
    for body in [
        "{}",
        r#"{"all":false}"#,
        r#"{"all":true,"paths":["\\A\\B"]}"#,
        r#"{"paths":[]}"#,
        r#"{"paths":["nonsense"]}"#,
        r#"{"paths":"\\A\\B"}"#,
        r#"{"folder":"/tmp"}"#,
        r#"{"all":true,"file":"../x.blg"}"#,
        "[]",
        "nonsense",
        &many,
    ] {
        let refused = send(&server, "POST", body);
        assert_eq!(refused.status, 400, "{body}: {}", refused.text());
    }
    assert_eq!(send(&server, "POST", r#"{"paths":["\\No\\Such"]}"#).status, 404);
    let untyped = request(server.address, "POST", "/api/recording", &[BEARER], br#"{"all":true}"#);
    assert_eq!(untyped.status, 415);
    for method in ["GET", "POST", "DELETE"] {
        let json = [("Content-Type", "application/json")];
        let refused = request(server.address, method, "/api/recording", &json, br#"{"all":true}"#);
        assert_eq!(refused.status, 401, "{method} without the token");
    }
    assert_eq!(files(&server).len(), 0);
    drop(server);
    let server = TestServer::start(&machine, TestOptions { token: Some(TOKEN), ..TestOptions::default() });
    let refused = send(&server, "POST", r#"{"all":true}"#);
    assert_eq!((refused.status, &status(&server)["is_allowed"]), (403, &json!(false)));
    assert!(!refused.text().contains("--"), "no options of the command line: {}", refused.text());
}

#[test]
fn nothing_is_written_outside_of_the_folder() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, options(NO_LIMIT));
    // If the folder is missing, the error does not contain its path.
    std::fs::remove_dir(server.file("records")).expect("removed");
    let refused = send(&server, "POST", r#"{"all":true}"#);
    assert_eq!(refused.status, 507, "{}", refused.text());
    assert!(!refused.text().contains(server.folder.path().to_str().expect("UTF-8")), "{}", refused.text());
    // Links with the names of logs are not followed.
    std::fs::create_dir(server.file("records")).expect("a folder");
    send(&server, "POST", r#"{"all":true}"#);
    let stopped = send(&server, "DELETE", "").json();
    let name = stopped["file"].as_str().expect("a name").to_owned();
    let outside = server.file("outside.blg");
    let link = server.file("records").join(&name);
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(&outside, &link).expect("a link");
    assert_eq!(send(&server, "POST", r#"{"all":true}"#).status, 201);
    wait_for(&server, "samples", |status| status["samples"].as_u64() >= Some(2));
    let stopped = send(&server, "DELETE", "").json();
    assert!(!outside.exists(), "{stopped}");
    assert_ne!(stopped["file"].as_str(), Some(name.as_str()));
}

#[test]
fn a_stopped_server_completes_the_log() {
    let machine = Machine::new(2);
    let mut server = TestServer::start(&machine, options(NO_LIMIT));
    send(&server, "POST", r#"{"all":true}"#);
    wait_for(&server, "samples", |status| status["samples"].as_u64() >= Some(2));
    server.stop();
    assert!(sample_lengths(&files(&server)[0]).len() >= 2);
}

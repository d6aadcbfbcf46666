//! What changed between two logs.

use std::sync::Arc;

use serde_json::{Value, json};
use tachograph_perflib::InstanceKey;

use crate::client::{get, post, target};
use crate::test_server::{Machine, TestOptions, TestServer};
use crate::wait_until_read;

/// A server whose source 1 is a log with three instances, p0 to p2, that count 0, 1 and 2 things per second. Source 2 has p0, p1,
/// which counts 8 things per second, and p9. Both have 100 intervals.
fn server_of_two_logs() -> TestServer {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let key = |name: &str, number: u32| Arc::new(InstanceKey::new(name, number, number.into()));
    *machine.names.lock().expect("no panic") = vec![key("p0", 0), key("p1", 8), key("p9", 9)];
    machine.write_log(&server.file("logs/after.blg"), 101);
    open(&server, "logs/after.blg");
    wait_until_read(&server, "1");
    wait_until_read(&server, "2");
    server
}

fn open(server: &TestServer, log: &str) {
    let body = json!({ "log": log }).to_string();
    let opened = post(server.address, "/api/sources", "application/json", body.as_bytes());
    assert_eq!(opened.status, 201, "{}", opened.text());
}

fn compare(server: &TestServer, parameters: &[(&str, &str)]) -> Value {
    let both = [("before", "1"), ("after", "2")];
    let response = get(server.address, &target("/api/compare", &[&both, parameters].concat()));
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()
}

/// The counters and instances of the rows.
fn names(comparison: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a name").to_owned();
    let rows = comparison["rows"].as_array().expect("rows");
    rows.iter().map(|row| (text(&row["counter"]), text(&row["instance"]))).collect()
}

#[test]
fn the_most_important_change_is_first() {
    let server = server_of_two_logs();
    let all = compare(&server, &[]);
    assert_eq!((&all["total"], &all["omitted_sets"]), (&8.into(), &json!([])));
    let named = |counter: &str, instance: &str| (counter.to_owned(), instance.to_owned());
    let names = names(&all);
    // A rate that is 0 in the other log weighs; an amount does not. Number: asinh(8) - asinh(1) = 1.90.
    // Rates have a noticeable size of 10 /s: asinh(0.9) = 0.81 for p9, asinh(0.8) - asinh(0.1) = 0.63 for p1, asinh(0.2) for p2.
    let expected = [
        named("Number", "p1"),
        named("Things/sec", "p9"),
        named("Things/sec", "p1"),
        named("Things/sec", "p2"),
    ];
    assert_eq!(names[..4], expected);
    let row = |counter: &str, instance: &str| {
        let at = names.iter().position(|name| *name == named(counter, instance)).expect("a row");
        all["rows"][at].clone()
    };
    let p1 = row("Things/sec", "p1");
    assert_eq!((&p1["before"], &p1["after"], &p1["difference"]), (&json!(1.0), &json!(8.0), &json!(7.0)));
    assert_eq!((&p1["change"], &p1["ratio"]), (&json!("multiplied"), &json!(8.0)));
    assert!((p1["factor"].as_f64().expect("a factor") - 8.0).abs() < 1e-9);
    assert_eq!((&p1["values_before"], &p1["values_after"]), (&json!(100), &json!(100)));
    let pairing = (&p1["pairing"], &p1["instances_before"], &p1["instances_after"]);
    assert_eq!(pairing, (&json!("instance"), &json!(1), &json!(1)));
    assert_eq!((&p1["path"], &p1["unit"]), (&json!(r"\\FAKE\Things(p1)\Things/sec"), &json!("1/s")));
    let p9 = row("Things/sec", "p9");
    assert_eq!(
        (&p9["change"], &p9["before"], &p9["factor"]),
        (&json!("only_after"), &Value::Null, &Value::Null)
    );
    assert_eq!(row("Number", "p2")["change"], "only_before");
    assert_eq!(row("Things/sec", "p0")["change"], "same");
}

#[test]
fn rows_are_selected_sorted_and_limited() {
    let server = server_of_two_logs();
    let numbers = compare(&server, &[("path", r"\Things(*)\Number"), ("sort", "after"), ("top", "2")]);
    assert_eq!(numbers["total"], 4);
    let expected =
        [("Number", "p9"), ("Number", "p1")].map(|(one, other)| (one.to_owned(), other.to_owned()));
    assert_eq!(names(&numbers), expected);
    // Two ranges of one log.
    let source = wait_until_read(&server, "1");
    let begin = source["begin"].as_str().expect("a time");
    let middle = begin.replace(".0000000Z", ".5Z");
    let ranges = [("before_end", middle.as_str()), ("after_begin", begin), ("path", r"\Things(p0)\Number")];
    let same = compare(&server, &ranges);
    let counts = (&same["rows"][0]["values_before"], &same["rows"][0]["values_after"]);
    assert_eq!(counts, (&json!(1), &json!(101)), "{same}");
    let response = get(
        server.address,
        &target("/api/compare", &[("before", "1"), ("after", "1"), ("path", r"\Things(*)\Number")]),
    );
    let rows = response.json()["rows"].as_array().expect("rows").clone();
    assert!(rows.len() == 3 && rows.iter().all(|row| row["change"] == "same"), "{rows:?}");
}

#[test]
fn sets_that_repeat_others_are_omitted_unless_they_are_selected() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions::default());
    let log = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\M\\Things(a)\\Number\",\"\\\\M\\Others(a)\\Number\"\r\n\
               \"03/05/2024 10:00:00.000\",\"1\",\"2\"\r\n\"03/05/2024 10:00:01.000\",\"1\",\"2\"\r\n";
    std::fs::write(server.file("logs/sets.csv"), log).expect("written");
    open(&server, "logs/sets.csv");
    wait_until_read(&server, "2");
    let compare = |parameters: &[(&str, &str)]| {
        let both = [("before", "2"), ("after", "2")];
        get(server.address, &target("/api/compare", &[&both, parameters].concat())).json()
    };
    let all = compare(&[]);
    assert_eq!((&all["total"], &all["rows"][0]["set"]), (&json!(1), &json!("Others")));
    assert_eq!(all["omitted_sets"], json!([{ "set": "Things", "repeats": "Others" }]));
    assert_eq!(all["rows"][0]["average_kind"], "arithmetic");
    let selected = compare(&[("path", r"\*(*)\Number")]);
    assert_eq!((&selected["total"], &selected["omitted_sets"]), (&json!(2), &json!([])));
}

#[test]
fn errors_name_the_parameter_or_the_log() {
    let server = server_of_two_logs();
    let refused = |status: u16, parameters: &[(&str, &str)]| {
        let response = get(server.address, &target("/api/compare", parameters));
        assert_eq!(response.status, status, "{parameters:?}: {}", response.text());
        response.json()["error"].as_str().expect("a message").to_owned()
    };
    assert_eq!(refused(400, &[("after", "1")]), "the parameter before=ID is required");
    assert_eq!(refused(400, &[("before", "1"), ("after", "")]), "the parameter after=ID is required");
    assert!(refused(400, &[("before", "1"), ("after", "live")]).starts_with("after: live values"));
    refused(404, &[("before", "1"), ("after", "77")]);
    let both = [("before", "1"), ("after", "2")];
    let with = |name: &'static str, value: &'static str| [both[0], both[1], (name, value)];
    for (name, value) in [
        ("sort", "x"),
        ("top", "0"),
        ("top", "10001"),
        ("group_by", "x"),
        ("path", "no path"),
        ("before_end", "x"),
    ] {
        let message = refused(400, &with(name, value));
        assert!(message.contains(name) || message.contains(value), "{message}");
    }
    assert!(refused(400, &with("begin", "0")).starts_with("unknown parameter"));
    let backwards = [both[0], both[1], ("after_begin", "2000000000"), ("after_end", "1")];
    assert_eq!(refused(400, &backwards), "after_begin must be before after_end");
    let outside = [both[0], both[1], ("after_begin", "1"), ("after_end", "2")];
    assert_eq!(refused(404, &outside), "logs/after.blg: no samples in this time range");
    assert!(refused(404, &with("path", r"\Things(p2)\Number")).starts_with("logs/after.blg: "));
}

//! Logs that change while they are open.

use std::fs::OpenOptions;
use std::io::Write as _;

use serde_json::Value;

use crate::client::{get, request, target};
use crate::test_server::{Machine, TestOptions, TestServer};
use crate::wait_until_read;

const NUMBER: &str = r"\Things(*)\Number";

/// Rows of a text log, a second apart.
fn rows(seconds: std::ops::Range<u32>) -> String {
    seconds.map(|second| format!("\"03/05/2024 10:00:{second:02}.000\",\"{second}\"\r\n")).collect()
}

fn log(seconds: std::ops::Range<u32>) -> String {
    format!("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\WEB1\\Things(p)\\Number\"\r\n{}", rows(seconds))
}

/// A server with an open log of five samples.
fn server() -> (Machine, TestServer, String) {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions::default());
    std::fs::write(server.file("logs/grows.csv"), log(0..5)).expect("written");
    let json = [("Content-Type", "application/json")];
    let opened = request(server.address, "POST", "/api/sources", &json, br#"{"log":"logs/grows.csv"}"#);
    assert_eq!(opened.status, 201, "{}", opened.text());
    let id = opened.json()["id"].as_str().expect("an id").to_owned();
    wait_until_read(&server, &id);
    (machine, server, id)
}

#[test]
fn all_responses_for_a_growing_log_cover_the_same_range() {
    let (_machine, server, id) = server();
    let ask = |request: &str, more: &[(&str, &str)]| {
        let parameters = [&[("path", NUMBER)], more].concat();
        get(server.address, &target(&format!("/api/sources/{id}/{request}"), &parameters))
    };
    assert_eq!(ask("series", &[]).json()["series"][0]["statistics"]["values"], 5);
    let mut file = OpenOptions::new().append(true).open(server.file("logs/grows.csv")).expect("the log");
    file.write_all(rows(5..9).as_bytes()).expect("written");
    let later = [("end", "2024-03-05T10:00:30Z")];
    for more in [&[][..], &later] {
        let chart = ask("series", more).json();
        assert_eq!(chart["series"][0]["statistics"]["values"], 5);
        assert_eq!(chart["series"][0]["statistics"]["last"], 4.0);
        let statistics = ask("statistics", more).json();
        assert_eq!((&statistics[0]["values"], statistics[0]["last"].as_f64()), (&5.into(), Some(4.0)));
        assert_eq!(ask("export", more).text().lines().count(), 1 + 5);
    }
    assert_eq!(ask("statistics", &[("begin", "2024-03-05T10:00:06Z")]).status, 404);
    // When the log is opened again, it has the new samples.
    let json = [("Content-Type", "application/json")];
    let opened =
        request(server.address, "POST", "/api/sources", &json, br#"{"log":"logs/grows.csv"}"#).json();
    let again = opened["id"].as_str().expect("an id");
    wait_until_read(&server, again);
    let statistics =
        get(server.address, &target(&format!("/api/sources/{again}/statistics"), &[("path", NUMBER)])).json();
    assert_eq!(statistics[0]["values"], 9);
}

#[test]
fn replaced_and_truncated_logs_are_refused() {
    for is_cut in [false, true] {
        let (_machine, server, id) = server();
        let path = server.file("logs/grows.csv");
        if is_cut {
            OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(100)).expect("cut");
        } else {
            std::fs::write(server.file("logs/other.csv"), log(20..40)).expect("written");
            std::fs::rename(server.file("logs/other.csv"), &path).expect("renamed");
        }
        let words = "logs/grows.csv was replaced or truncated while it was open: open it again";
        for request in ["series", "statistics", "export"] {
            let response =
                get(server.address, &target(&format!("/api/sources/{id}/{request}"), &[("path", NUMBER)]));
            assert_eq!(response.status, 409, "{request}");
            assert_eq!(response.json()["error"], words, "{request}");
        }
        let source = get(server.address, &format!("/api/sources/{id}")).json();
        assert_eq!(source["problems"][0], Value::from(words));
    }
}

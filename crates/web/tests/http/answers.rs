//! Responses: compression, times, omitted columns, invalid paths, errors about bodies, sessions, search.

use std::io::Read as _;

use serde_json::json;

use crate::client::{get, post, request, target};
use crate::test_server::{Machine, TestOptions, TestServer};
use crate::wait_until_read;

const PATH: (&str, &str) = ("path", r"\Things(*)\Number");

#[test]
fn text_is_compressed_on_request() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let accepts = [("Accept-Encoding", "gzip")];
    let series = target("/api/sources/1/series", &[PATH]);
    wait_until_read(&server, "1");
    let plain = get(server.address, &series);
    let compressed = request(server.address, "GET", &series, &accepts, b"");
    assert_eq!(
        (plain.header("content-encoding"), compressed.header("content-encoding")),
        (None, Some("gzip"))
    );
    assert_eq!(compressed.header("vary"), Some("accept-encoding"));
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&compressed.body[..]).read_to_end(&mut text).expect("gzip");
    assert_eq!(text, plain.body);
    assert!(compressed.body.len() * 2 < plain.body.len(), "{} {}", compressed.body.len(), plain.body.len());
    // Short responses, streams and files are sent unchanged.
    let short = request(server.address, "GET", "/api/nothing", &accepts, b"");
    assert_eq!(short.header("content-encoding"), None);
    let export = target("/api/sources/1/export", &[PATH, ("format", "csv")]);
    assert_eq!(request(server.address, "GET", &export, &accepts, b"").header("content-encoding"), None);
}

#[test]
fn a_range_can_be_given_in_unix_seconds_from_a_response() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    wait_until_read(&server, "1");
    let whole = get(server.address, &target("/api/sources/1/series", &[PATH, ("columns", "1000")])).json();
    // The log has only 101 samples, so columns without values are omitted.
    let times = whole["times"].as_array().expect("times");
    assert_eq!((times.len(), whole["columns"].as_u64()), (101, Some(1000)));
    for name in ["average", "minimum", "maximum"] {
        let values = whole["series"][0][name].as_array().expect("values");
        assert!(values.len() == 101 && values.iter().all(serde_json::Value::is_number), "{name}: {values:?}");
    }
    let begin = times[10].to_string();
    let by_number =
        get(server.address, &target("/api/sources/1/series", &[PATH, ("begin", &begin), ("columns", "7")]));
    assert_eq!(by_number.status, 200, "{}", by_number.text());
    let text = by_number.json()["begin"].as_str().expect("a time").to_owned();
    let by_text =
        get(server.address, &target("/api/sources/1/series", &[PATH, ("begin", &text), ("columns", "7")]));
    assert_eq!(by_number.json(), by_text.json());
}

#[test]
fn an_invalid_path_is_reported_and_the_others_are_used() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    wait_until_read(&server, "1");
    for id in ["1", "live"] {
        let both =
            target(&format!("/api/sources/{id}/series"), &[PATH, ("path", "no path"), ("columns", "2")]);
        let both = get(server.address, &both).json();
        let missing = both["missing"].as_array().expect("a list");
        assert!(missing.iter().any(|one| one["path"] == "no path" && one["reason"] != ""), "{id}: {both}");
        let alone = target(&format!("/api/sources/{id}/series"), &[("path", "no path")]);
        assert_eq!(get(server.address, &alone).status, 400);
    }
    let long = format!(r"\Things({})\Number", "日".repeat(1000));
    let accepted = get(server.address, &target("/api/sources/1/series", &[("path", &long)]));
    assert_eq!((accepted.status, &accepted.json()["missing"][0]["path"]), (200, &json!(long)));
}

#[test]
fn errors_about_bodies_name_the_field() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let refused = |target: &str, body: &str| {
        let response = post(server.address, target, "application/json", body.as_bytes());
        assert_eq!(response.status, 400, "{body}");
        response.json()["error"].as_str().expect("a message").to_owned()
    };
    assert_eq!(refused("/api/login", r#"{"tokn":"a secret"}"#), "unknown field 'tokn'; known fields: token");
    assert_eq!(
        refused("/api/sources", r#"{"log":"a","colour":1}"#),
        "unknown field 'colour'; known fields: log, logs"
    );
    assert!(refused("/api/sources", r#"{"log":5}"#).starts_with("the field 'log' has the wrong type"));
    assert_eq!(refused("/api/login", "{}"), "a field is missing: token");
    let object = "the body must be a JSON object with the";
    assert_eq!(refused("/api/login", r#"["a secret", 5]"#), format!("{object} field token"));
    assert_eq!(refused("/api/sources", "[]"), format!("{object} fields log, logs"));
    assert!(!refused("/api/login", r#"{"token":["a secret"]}"#).contains("secret"));
}

#[test]
fn a_session_ends_when_its_user_logs_out() {
    let machine = Machine::new(3);
    let token = Some("a-token-of-many-letters");
    let server = TestServer::start(&machine, TestOptions { token, ..TestOptions::default() });
    let log_in = || {
        let response =
            post(server.address, "/api/login", "application/json", br#"{"token":"a-token-of-many-letters"}"#);
        let cookie = response.header("set-cookie").expect("a cookie").to_owned();
        cookie.split(';').next().expect("a value").to_owned()
    };
    let status =
        |cookie: &str| request(server.address, "GET", "/api/sources", &[("Cookie", cookie)], b"").status;
    let (one, other) = (log_in(), log_in());
    assert_ne!(one, other);
    assert_eq!((status(&one), status(&other)), (200, 200));
    let ended = request(server.address, "POST", "/api/logout", &[("Cookie", &one)], b"");
    assert!(
        ended.status == 204 && ended.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=0"))
    );
    assert_eq!((status(&one), status(&other)), (401, 200));
    assert_eq!(request(server.address, "POST", "/api/logout", &[], b"").status, 401);
}

#[test]
fn counters_are_searched_by_words() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let search =
        |words: &str| get(server.address, &target("/api/sources/live/search", &[("words", words)])).json();
    assert_eq!(search("number things")["found"][0], json!({"set": "Things", "counter": "Number"}));
    assert_eq!(search("nothing like it"), json!({"total": 0, "found": []}));
    assert_eq!(get(server.address, "/api/sources/live/search").status, 400);
}

//! Sessions, and the token of embedded pages.

use std::time::Duration;

use tachograph_web::{Embedding, Token};

use crate::client::{Response, request, target};
use crate::stream::Events;
use crate::test_server::{Machine, TestOptions, TestServer};

const TOKEN: &str = "a-token-of-many-letters";
const VIEWS_TOKEN: &str = "a-token-that-shows-views";

fn log_in(server: &TestServer, token: &str) -> Response {
    let body = format!("{{\"token\":\"{token}\"}}");
    let json = [("Content-Type", "application/json")];
    request(server.address, "POST", "/api/login", &json, body.as_bytes())
}

/// The cookie of a new session.
fn session(server: &TestServer) -> String {
    let response = log_in(server, TOKEN);
    let cookie = response.header("set-cookie").expect("a cookie");
    cookie.split(';').next().expect("a pair").to_owned()
}

#[test]
fn logging_out_ends_the_streams_of_the_session() {
    let machine = Machine::new(2);
    let server = TestServer::start(&machine, TestOptions { token: Some(TOKEN), ..TestOptions::default() });
    let path = [("path", r"\Things(*)\Number")];
    let (own, other) = (session(&server), session(&server));
    let bearer = format!("Bearer {TOKEN}");
    let open = |name: &str, value: &str| Events::open_with(server.address, &path, &[(name, value)]);
    let mut ended = [open("Cookie", &own), open("Cookie", &own)];
    let mut kept = [open("Cookie", &other), open("Authorization", &bearer)];
    for events in ended.iter_mut().chain(&mut kept) {
        events.sample();
    }
    assert_eq!(request(server.address, "POST", "/api/logout", &[("Cookie", &own)], b"").status, 204);
    for events in &mut ended {
        // The stream ends after the queued events.
        while events.next().is_some() {}
    }
    for events in &mut kept {
        for _ in 0..50 {
            events.sample();
        }
    }
    let refused = request(server.address, "GET", &target("/api/stream", &path), &[("Cookie", &own)], b"");
    assert_eq!(refused.status, 401);
}

fn embedding(token: Option<&str>) -> TestOptions {
    let origins = vec!["https://wiki.example".to_owned(), "http://localhost:8080".to_owned()];
    let token = token.map(|token| Token::new(token).expect("a token"));
    TestOptions {
        token: Some(TOKEN),
        embedding: Embedding { origins, token },
        interval: Duration::from_millis(20),
        recordings: Some((1 << 20, Duration::from_secs(60), 0)),
        ..TestOptions::default()
    }
}

#[test]
fn only_named_sites_can_embed_the_page() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, embedding(None));
    for target in ["/", "/assets/main.js", "/api/sources", "/nothing"] {
        let response = request(server.address, "GET", target, &[], b"");
        let policy = response.header("content-security-policy").expect("a policy");
        assert!(policy.ends_with("; frame-ancestors https://wiki.example http://localhost:8080"), "{policy}");
        // `X-Frame-Options` cannot list sites, so it would forbid all of them.
        assert_eq!(response.header("x-frame-options"), None);
    }
    drop(server);
    let server = TestServer::start(&machine, TestOptions::default());
    let response = request(server.address, "GET", "/", &[], b"");
    assert!(
        response.header("content-security-policy").is_some_and(|it| it.ends_with("frame-ancestors 'none'"))
    );
    assert_eq!(response.header("x-frame-options"), Some("DENY"));
}

#[test]
fn the_token_of_embedded_pages_only_shows_views() {
    let machine = Machine::new(2);
    let server = TestServer::start(&machine, embedding(Some(VIEWS_TOKEN)));
    let bearer = [("Authorization", "Bearer a-token-that-shows-views"), ("Content-Type", "application/json")];
    let path = [("path", r"\Things(*)\Number")];
    let status = |method: &str, target: &str, body: &str| {
        request(server.address, method, target, &bearer, body.as_bytes()).status
    };
    for shown in ["/api/sources", "/api/sources/live", "/api/sources/1", "/api/views", "/api/views/overview"]
    {
        assert_eq!(status("GET", shown, ""), 200, "{shown}");
    }
    assert_eq!(status("GET", &target("/api/sources/live/series", &path), ""), 200);
    Events::open_with(server.address, &path, &bearer[..1]).sample();
    // The logs that can be opened are not listed.
    let list = request(server.address, "GET", "/api/sources", &bearer, b"").json();
    assert_eq!(list["logs"].as_array().map(Vec::len), Some(0));
    for (method, target, body) in [
        ("GET", "/metrics", ""),
        ("GET", "/api/sources/live/sets", ""),
        ("GET", "/api/sources/live/export?path=%5CThings(*)%5CNumber", ""),
        ("GET", "/api/sources/live/statistics?path=%5CThings(*)%5CNumber", ""),
        ("GET", "/api/sources/1%2Fexport", ""),
        ("GET", "/api/query?path=%5CThings(*)%5CNumber", ""),
        ("GET", "/api/block?path=%5CThings(*)%5CNumber", ""),
        ("GET", "/api/recording", ""),
        ("POST", "/api/recording", r#"{"all":true}"#),
        ("DELETE", "/api/recording", ""),
        ("POST", "/api/sources", r#"{"log":"logs/a.blg"}"#),
        ("DELETE", "/api/sources/1", ""),
        ("POST", "/api/views", ""),
        ("POST", "/api/upload?name=a.blg", ""),
        ("POST", "/api/logout", ""),
        ("GET", "/agent/v1", ""),
    ] {
        let found = status(method, target, body);
        // An encoded slash is part of an id, which no source has.
        let expected = if target.contains("%2F") { 404 } else { 403 };
        assert_eq!(found, expected, "{method} {target}");
    }
    // The token cannot be exchanged for a session (403), but is not wrong (401).
    assert_eq!(log_in(&server, VIEWS_TOKEN).status, 403);
    assert_eq!(log_in(&server, "a-token-that-shows-viewz").status, 401);
    assert!(std::fs::read_dir(server.file("records")).expect("a folder").next().is_none());
}

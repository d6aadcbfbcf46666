//! Hostile requests are rejected, no response contains a path of the server, and the server survives.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use crate::client::{Response, connect, get, request, send, target};
use crate::test_server::{Machine, TestOptions, TestServer};
use crate::{runs_long_tests, wait_until_read};

/// Checks that a response reveals nothing about the server's files.
fn check_no_leak(server: &TestServer, response: &Response) {
    let text = format!("{}\n{}", response.head, response.text());
    let folder = server.folder.path().display().to_string();
    for secret in [folder.as_str(), "tacho-web-test", "/tmp", "/proc", "root:", "secret.blg", "panicked"] {
        assert!(!text.contains(secret), "'{secret}' is in {text}");
    }
}

fn check_alive(server: &TestServer) {
    assert_eq!(get(server.address, "/api/sources").status, 200);
}

#[test]
fn names_cannot_leave_the_folders() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions::default());
    let absolute = server.file("secret.blg").display().to_string();
    let names = [
        "../secret.blg",
        "logs/../secret.blg",
        "logs/../../etc/passwd",
        "logs/..%2fsecret.blg",
        "logs\\..\\secret.blg",
        "/etc/passwd",
        absolute.as_str(),
        "logs/",
        "logs",
        "",
        ".",
        "logs/a.blg\u{0}",
        "server.blg",
        "file:///etc/passwd",
    ];
    let json = [("Content-Type", "application/json")];
    for name in names {
        let body = serde_json::json!({ "log": name }).to_string();
        let response = request(server.address, "POST", "/api/sources", &json, body.as_bytes());
        assert_eq!(response.status, 404, "{name}");
        if name != absolute {
            check_no_leak(&server, &response);
        }
    }
    let targets = [
        "/assets/../Cargo.toml",
        "/assets/..%2f..%2fCargo.toml",
        "/assets/%2e%2e/%2e%2e/etc/passwd",
        "/assets//etc/passwd",
        "/../etc/passwd",
        "/api/sources/..%2f..%2fetc%2fpasswd",
        "/api/sources/-1",
        "/api/sources/+1",
        "/api/sources/99999999999999999999999",
        "/api/sources/%00",
        "/api/sources/1/../../x",
        "/api/sources/%ff",
        "/api/sources/%ff/sets",
        "/api/sources/%ff/series?path=%5CA%5CB",
        "/assets/%ff",
    ];
    for target in targets {
        let response = get(server.address, target);
        assert!((400..500).contains(&response.status), "{target}: {}", response.status);
        assert!(response.json()["error"].is_string(), "{target}");
        check_no_leak(&server, &response);
    }
    check_alive(&server);
}

#[test]
fn invalid_requests_are_refused() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions::default());
    wait_until_read(&server, "1");
    let long = "x".repeat(3000);
    let many: Vec<_> = (0..300).map(|_| ("path", r"\A\B")).collect();
    let mut queries: Vec<Vec<(&str, &str)>> = vec![
        vec![],
        vec![("path", "")],
        vec![("path", "Memory")],
        vec![("path", r"\\\\")],
        vec![("path", r"\A(\B")],
        vec![("path", long.as_str())],
        many,
        vec![("path", r"\A\B"), ("colums", "5")],
    ];
    let window = [
        ("begin", "yesterday"),
        ("begin", "2013-02-19T18:50:17"),
        ("begin", "99999-01-01T00:00:00Z"),
        ("begin", "2013-13-41T25:61:61Z"),
        ("end", "0001-01-01T00:00:00Z"),
        ("columns", "0"),
        ("columns", "-5"),
        ("columns", "4001"),
        ("columns", "99999999999999999999999999"),
        ("columns", "NaN"),
        ("format", "exe"),
    ];
    queries.extend(window.iter().map(|&pair| vec![("path", r"\Things(*)\*"), pair]));
    queries.push(vec![
        ("path", r"\Things(*)\*"),
        ("begin", "2013-02-20T00:00:00Z"),
        ("end", "2013-02-19T00:00:00Z"),
    ]);
    for parameters in queries {
        for id in ["live", "1"] {
            let response = get(server.address, &target(&format!("/api/sources/{id}/series"), &parameters));
            // Before the first live sample, any time range is valid.
            let is_empty = id == "live" && response.status == 200;
            assert!(response.status == 400 || is_empty, "{id} {parameters:?}: {}", response.text());
            assert!(is_empty || response.json()["error"].is_string());
            check_no_leak(&server, &response);
        }
    }
    for query in ["path=%", "path=%zz", "path=%FF%FE", "=", "&&&&path", "path=%00", "a=b&a=b"] {
        for path in ["/api/query", "/api/stream", "/api/block", "/api/sources/1/export", "/api/sources"] {
            let response = get(server.address, &format!("{path}?{query}"));
            assert!((400..500).contains(&response.status), "{path}?{query}: {}", response.status);
            check_no_leak(&server, &response);
        }
    }
    let json = [("Content-Type", "application/json")];
    let deep = "[".repeat(60_000);
    let bodies = [
        "",
        "{",
        "null",
        "[]",
        "{\"log\":1}",
        "{\"logs\":[]}",
        "{\"log\":\"a\",\"x\":1}",
        "\u{feff}{}",
        &deep,
    ];
    for body in bodies {
        for target in ["/api/sources", "/api/login"] {
            let response = request(server.address, "POST", target, &json, body.as_bytes());
            assert_eq!(response.status, 400, "{body}");
        }
    }
    check_alive(&server);
}

#[test]
fn too_long_requests_are_refused() {
    let machine = Machine::new(1);
    let server = TestServer::start(
        &machine,
        TestOptions { max_upload: 100_000, max_uploads: 2, ..TestOptions::default() },
    );
    let json = [("Content-Type", "application/json")];
    let body = format!("{{\"log\":\"{}\"}}", "x".repeat(100_000));
    assert_eq!(request(server.address, "POST", "/api/sources", &json, body.as_bytes()).status, 413);
    let url = format!("/api/query?path={}", "x".repeat(50_000));
    assert_eq!(get(server.address, &url).status, 414);
    let line = "x".repeat(100_000);
    for headers in [format!("X: {line}\r\n"), (0..200).map(|number| format!("X{number}: y\r\n")).collect()] {
        let text = format!("GET / HTTP/1.1\r\nHost: {}\r\n{headers}\r\n", server.address);
        let status = send(server.address, text.as_bytes()).map(|response| response.status);
        assert!(matches!(status, None | Some(400 | 431)), "{status:?}");
    }
    let stream = [("Content-Type", "application/octet-stream")];
    let big = vec![b'x'; 200_000];
    assert_eq!(request(server.address, "POST", "/api/upload", &stream, &big).status, 413);
    // An upload without a `Content-Length` is rejected when it reaches the limit.
    let mut chunked = format!(
        "POST /api/upload HTTP/1.1\r\nHost: {}\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
        server.address
    )
    .into_bytes();
    for _ in 0..20 {
        chunked.extend_from_slice(b"2710\r\n");
        chunked.extend_from_slice(&[b'x'; 10_000]);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    let status = send(server.address, &chunked).map(|response| response.status);
    assert!(matches!(status, None | Some(413)), "{status:?}");
    server.wait_for_uploads(0);
    check_alive(&server);
}

#[test]
fn damaged_uploads_fail_or_are_read_in_part() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions { max_uploads: 2, ..TestOptions::default() });
    let stream = [("Content-Type", "application/octet-stream")];
    let upload = |name: &str, bytes: &[u8]| {
        request(server.address, "POST", &target("/api/upload", &[("name", name)]), &stream, bytes)
    };
    assert_eq!(upload("empty.blg", b"").status, 400);
    let log = std::fs::read(server.file("server.blg")).expect("the log");
    let mut damaged = log.clone();
    damaged.iter_mut().skip(3000).step_by(97).for_each(|byte| *byte ^= 0xa5);
    let cases: [(&str, Vec<u8>); 4] = [
        ("../../etc/cron.d/x", b"no log at all".to_vec()),
        ("zero.blg", vec![0; 100_000]),
        ("cut.blg", log[..log.len() / 2].to_vec()),
        ("damaged.blg", damaged),
    ];
    for (name, bytes) in cases {
        let response = upload(name, &bytes);
        assert_eq!(response.status, 201, "{name}: {}", response.text());
        check_no_leak(&server, &response);
        let id = response.json()["id"].as_str().expect("an id").to_owned();
        let source = wait_until_read(&server, &id);
        assert!(["failed", "ready"].contains(&source["state"].as_str().expect("a state")), "{source}");
        let folder = server.folder.path().display().to_string();
        assert!(!source.to_string().contains(&folder), "{source}");
        for request in
            ["series?path=%5CThings(*)%5C*", "statistics", "export", "sets", "instances?set=Things"]
        {
            let response = get(server.address, &format!("/api/sources/{id}/{request}"));
            assert!(response.status < 500, "{request}: {}", response.text());
            check_no_leak(&server, &response);
        }
        assert_eq!(request(server.address, "DELETE", &format!("/api/sources/{id}"), &[], b"").status, 204);
    }
    // The number of uploads is limited.
    assert_eq!(
        (upload("1", b"x").status, upload("2", b"x").status, upload("3", b"x").status),
        (201, 201, 429)
    );
    check_alive(&server);
}

#[test]
fn aborted_uploads_are_deleted() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions::default());
    let mut stream = connect(server.address);
    let head = format!(
        "POST /api/upload HTTP/1.1\r\nHost: {}\r\nContent-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\n",
        server.address
    );
    stream.write_all(head.as_bytes()).expect("sent");
    stream.write_all(&[b'x'; 50_000]).expect("sent");
    server.wait_for_uploads(1);
    drop(stream);
    server.wait_for_uploads(0);
    let list = get(server.address, "/api/sources").json();
    assert_eq!(list["sources"].as_array().expect("a list").len(), 2);
}

#[test]
fn concurrent_uploads_are_limited() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions { max_uploads: 8, ..TestOptions::default() });
    let head = format!(
        "POST /api/upload HTTP/1.1\r\nHost: {}\r\nContent-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\n",
        server.address
    );
    let begin = || {
        let mut stream = connect(server.address);
        stream.write_all(head.as_bytes()).expect("sent");
        stream
    };
    let _held = [begin(), begin(), begin(), begin()];
    server.wait_for_uploads(4);
    let stream = [("Content-Type", "application/octet-stream")];
    let fifth = request(server.address, "POST", "/api/upload", &stream, b"x");
    assert_eq!(fifth.status, 429);
    assert_eq!(fifth.json()["error"], "the limit of 4 concurrent uploads is reached; try again later");
}

#[test]
fn files_that_cannot_be_stored_are_refused_with_status_507() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions::default());
    wait_until_read(&server, "1");
    std::fs::remove_dir(server.file("uploads")).expect("an empty folder");
    let stream = [("Content-Type", "application/octet-stream")];
    let upload = request(server.address, "POST", "/api/upload", &stream, b"x");
    let parameters = [("path", r"\Things(*)\*"), ("format", "blg")];
    let export = get(server.address, &target("/api/sources/1/export", &parameters));
    for (response, what) in [(upload, "upload"), (export, "download")] {
        assert_eq!(response.status, 507, "{}", response.text());
        assert_eq!(response.json()["error"], format!("the {what} cannot be stored on the server"));
        check_no_leak(&server, &response);
    }
    check_alive(&server);
}

#[test]
fn malformed_requests_close_only_their_connection() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions::default());
    let host = format!("Host: {}\r\n", server.address);
    let requests = [
        "\r\n\r\n".to_owned(),
        "GET\r\n\r\n".to_owned(),
        "GET / HTTP/9.9\r\n\r\n".to_owned(),
        "\u{0}\u{1}\u{2}\u{3}\r\n\r\n".to_owned(),
        "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}".to_owned(),
        format!("GET / HTTP/1.1\r\n{host}Content-Length: -1\r\n\r\n"),
        format!("POST /api/login HTTP/1.1\r\n{host}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
        format!(
            "POST /api/login HTTP/1.1\r\n{host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello"
        ),
        format!("POST /api/login HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\nzzz\r\n"),
        format!("GET / HTTP/1.1\r\n{host}Bad Name: x\r\n\r\n"),
        format!("GET /api/\u{e4} HTTP/1.1\r\n{host}\r\n"),
        "CONNECT evil:443 HTTP/1.1\r\nHost: evil:443\r\n\r\n".to_owned(),
        format!("OPTIONS * HTTP/1.1\r\n{host}Connection: close\r\n\r\n"),
        format!("{} / HTTP/1.1\r\n{host}\r\n", "X".repeat(1000)),
    ];
    for text in requests {
        let mut stream = connect(server.address);
        let _ = stream.write_all(text.as_bytes());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let response = String::from_utf8_lossy(&bytes);
        assert!(
            response.is_empty() || response.starts_with("HTTP/1.1 4") || response.starts_with("HTTP/1.0 4"),
            "{text}: {response}"
        );
    }
    check_alive(&server);
}

#[test]
fn long_slow_headers_have_a_deadline() {
    if !runs_long_tests() {
        return;
    }
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions::default());
    let mut streams: Vec<_> = (0..300).map(|_| connect(server.address)).collect();
    for stream in &mut streams {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: ").expect("sent");
    }
    check_alive(&server);
    let start = Instant::now();
    for stream in &mut streams {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
    }
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
    check_alive(&server);
}

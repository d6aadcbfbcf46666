//! Requests that mean no good: refused, with no path of the server in any answer, and the server goes on.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use crate::client::{Answer, connect, get, request, send, target};
use crate::made::{Machine, Served, Wishes};
use crate::{is_long, ready};

/// That an answer tells nothing of the server's files.
fn check_quiet(served: &Served, answer: &Answer) {
    let text = format!("{}\n{}", answer.head, answer.text());
    let folder = served.folder.path().display().to_string();
    for secret in [folder.as_str(), "tacho-web-test", "/tmp", "/proc", "root:", "secret.blg", "panicked"] {
        assert!(!text.contains(secret), "'{secret}' is in {text}");
    }
}

fn check_alive(served: &Served) {
    assert_eq!(get(served.address, "/api/sources").status, 200);
}

#[test]
fn names_lead_nowhere_else() {
    let machine = Machine::new(1);
    let served = Served::start(&machine, Wishes::default());
    let absolute = served.file("secret.blg").display().to_string();
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
        let answer = request(served.address, "POST", "/api/sources", &json, body.as_bytes());
        assert_eq!(answer.status, 404, "{name}");
        if name != absolute {
            check_quiet(&served, &answer);
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
        let answer = get(served.address, target);
        assert!((400..500).contains(&answer.status), "{target}: {}", answer.status);
        assert!(answer.json()["error"].is_string(), "{target}");
        check_quiet(&served, &answer);
    }
    check_alive(&served);
}

#[test]
fn what_is_not_understood_is_refused() {
    let machine = Machine::new(1);
    let served = Served::start(&machine, Wishes::default());
    ready(&served, "1");
    let long = "x".repeat(3000);
    let many: Vec<_> = (0..300).map(|_| ("path", r"\A\B")).collect();
    let mut asked: Vec<Vec<(&str, &str)>> = vec![
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
    asked.extend(window.iter().map(|&pair| vec![("path", r"\Things(*)\*"), pair]));
    asked.push(vec![
        ("path", r"\Things(*)\*"),
        ("begin", "2013-02-20T00:00:00Z"),
        ("end", "2013-02-19T00:00:00Z"),
    ]);
    for parameters in asked {
        for id in ["live", "1"] {
            let answer = get(served.address, &target(&format!("/api/sources/{id}/series"), &parameters));
            // Where nothing is collected yet, the end of time is as good as any.
            let is_empty = id == "live" && answer.status == 200;
            assert!(answer.status == 400 || is_empty, "{id} {parameters:?}: {}", answer.text());
            assert!(is_empty || answer.json()["error"].is_string());
            check_quiet(&served, &answer);
        }
    }
    for query in ["path=%", "path=%zz", "path=%FF%FE", "=", "&&&&path", "path=%00", "a=b&a=b"] {
        for path in ["/api/query", "/api/stream", "/api/block", "/api/sources/1/export", "/api/sources"] {
            let answer = get(served.address, &format!("{path}?{query}"));
            assert!((400..500).contains(&answer.status), "{path}?{query}: {}", answer.status);
            check_quiet(&served, &answer);
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
            let answer = request(served.address, "POST", target, &json, body.as_bytes());
            assert_eq!(answer.status, 400, "{body}");
        }
    }
    check_alive(&served);
}

#[test]
fn what_is_too_long_is_refused() {
    let machine = Machine::new(1);
    let served = Served::start(&machine, Wishes { max_upload: 100_000, max_uploads: 2, ..Wishes::default() });
    let json = [("Content-Type", "application/json")];
    let body = format!("{{\"log\":\"{}\"}}", "x".repeat(100_000));
    assert_eq!(request(served.address, "POST", "/api/sources", &json, body.as_bytes()).status, 413);
    let url = format!("/api/query?path={}", "x".repeat(50_000));
    assert_eq!(get(served.address, &url).status, 414);
    let line = "x".repeat(100_000);
    for headers in [format!("X: {line}\r\n"), (0..200).map(|number| format!("X{number}: y\r\n")).collect()] {
        let text = format!("GET / HTTP/1.1\r\nHost: {}\r\n{headers}\r\n", served.address);
        let status = send(served.address, text.as_bytes()).map(|answer| answer.status);
        assert!(matches!(status, None | Some(400 | 431)), "{status:?}");
    }
    let stream = [("Content-Type", "application/octet-stream")];
    let big = vec![b'x'; 200_000];
    assert_eq!(request(served.address, "POST", "/api/upload", &stream, &big).status, 413);
    // Without a length, found out on the way.
    let mut chunked = format!(
        "POST /api/upload HTTP/1.1\r\nHost: {}\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
        served.address
    )
    .into_bytes();
    for _ in 0..20 {
        chunked.extend_from_slice(b"2710\r\n");
        chunked.extend_from_slice(&[b'x'; 10_000]);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    let status = send(served.address, &chunked).map(|answer| answer.status);
    assert!(matches!(status, None | Some(413)), "{status:?}");
    served.wait_for_uploads(0);
    check_alive(&served);
}

#[test]
fn uploads_of_garbage_stay_harmless() {
    let machine = Machine::new(1);
    let served = Served::start(&machine, Wishes { max_uploads: 2, ..Wishes::default() });
    let stream = [("Content-Type", "application/octet-stream")];
    let upload = |name: &str, bytes: &[u8]| {
        request(served.address, "POST", &target("/api/upload", &[("name", name)]), &stream, bytes)
    };
    assert_eq!(upload("empty.blg", b"").status, 400);
    let log = std::fs::read(served.file("server.blg")).expect("the log");
    let mut damaged = log.clone();
    damaged.iter_mut().skip(3000).step_by(97).for_each(|byte| *byte ^= 0xa5);
    let cases: [(&str, Vec<u8>); 4] = [
        ("../../etc/cron.d/x", b"no log at all".to_vec()),
        ("zero.blg", vec![0; 100_000]),
        ("cut.blg", log[..log.len() / 2].to_vec()),
        ("damaged.blg", damaged),
    ];
    for (name, bytes) in cases {
        let answer = upload(name, &bytes);
        assert_eq!(answer.status, 201, "{name}: {}", answer.text());
        check_quiet(&served, &answer);
        let id = answer.json()["id"].as_str().expect("an id").to_owned();
        let source = ready(&served, &id);
        assert!(["failed", "ready"].contains(&source["state"].as_str().expect("a state")), "{source}");
        let folder = served.folder.path().display().to_string();
        assert!(!source.to_string().contains(&folder), "{source}");
        for what in ["series?path=%5CThings(*)%5C*", "statistics", "export", "sets", "instances?set=Things"] {
            let answer = get(served.address, &format!("/api/sources/{id}/{what}"));
            assert!(answer.status < 500, "{what}: {}", answer.text());
            check_quiet(&served, &answer);
        }
        assert_eq!(request(served.address, "DELETE", &format!("/api/sources/{id}"), &[], b"").status, 204);
    }
    // Only so many at a time.
    assert_eq!(
        (upload("1", b"x").status, upload("2", b"x").status, upload("3", b"x").status),
        (201, 201, 429)
    );
    check_alive(&served);
}

#[test]
fn an_upload_that_is_cut_leaves_nothing() {
    let machine = Machine::new(1);
    let served = Served::start(&machine, Wishes::default());
    let mut stream = connect(served.address);
    let head = format!(
        "POST /api/upload HTTP/1.1\r\nHost: {}\r\nContent-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\n",
        served.address
    );
    stream.write_all(head.as_bytes()).expect("sent");
    stream.write_all(&[b'x'; 50_000]).expect("sent");
    served.wait_for_uploads(1);
    drop(stream);
    served.wait_for_uploads(0);
    let list = get(served.address, "/api/sources").json();
    assert_eq!(list["sources"].as_array().expect("a list").len(), 2);
}

#[test]
fn uploads_that_are_being_received_are_so_many() {
    let machine = Machine::new(1);
    let served = Served::start(&machine, Wishes { max_uploads: 8, ..Wishes::default() });
    let head = format!(
        "POST /api/upload HTTP/1.1\r\nHost: {}\r\nContent-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\n",
        served.address
    );
    let begin = || {
        let mut stream = connect(served.address);
        stream.write_all(head.as_bytes()).expect("sent");
        stream
    };
    let _held = [begin(), begin(), begin(), begin()];
    served.wait_for_uploads(4);
    let stream = [("Content-Type", "application/octet-stream")];
    let fifth = request(served.address, "POST", "/api/upload", &stream, b"x");
    assert_eq!(fifth.status, 429);
    assert_eq!(
        fifth.json()["error"],
        "4 uploads are being received already; try again when one of them has ended"
    );
}

#[test]
fn a_disk_without_room_is_told() {
    let machine = Machine::new(1);
    let served = Served::start(&machine, Wishes::default());
    ready(&served, "1");
    std::fs::remove_dir(served.file("uploads")).expect("an empty folder");
    let stream = [("Content-Type", "application/octet-stream")];
    let upload = request(served.address, "POST", "/api/upload", &stream, b"x");
    let parameters = [("path", r"\Things(*)\*"), ("format", "blg")];
    let export = get(served.address, &target("/api/sources/1/export", &parameters));
    for (answer, what) in [(upload, "upload"), (export, "download")] {
        assert_eq!(answer.status, 507, "{}", answer.text());
        assert_eq!(answer.json()["error"], format!("the {what} cannot be stored on the server"));
        check_quiet(&served, &answer);
    }
    check_alive(&served);
}

#[test]
fn malformed_requests_end_only_their_connection() {
    let machine = Machine::new(1);
    let served = Served::start(&machine, Wishes::default());
    let host = format!("Host: {}\r\n", served.address);
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
        let mut stream = connect(served.address);
        let _ = stream.write_all(text.as_bytes());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let answer = String::from_utf8_lossy(&bytes);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.0 4"),
            "{text}: {answer}"
        );
    }
    check_alive(&served);
}

#[test]
fn long_slow_headers_are_not_waited_for() {
    if !is_long() {
        return;
    }
    let machine = Machine::new(1);
    let served = Served::start(&machine, Wishes::default());
    let mut streams: Vec<_> = (0..300).map(|_| connect(served.address)).collect();
    for stream in &mut streams {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: ").expect("sent");
    }
    check_alive(&served);
    let start = Instant::now();
    for stream in &mut streams {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
    }
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
    check_alive(&served);
}

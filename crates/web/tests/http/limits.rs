//! Limits per address, deadlines, and the limit of memory. A client that reaches a limit does not affect other clients.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType, bind, connect as connect_to, socket};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;
use tachograph_logs::Budget;

use crate::client::{Response, connect, get, request, send, target};
use crate::test_server::{Machine, TestOptions, TestServer};
use crate::tls::files;
use crate::wait_until_read;

/// An environment variable that is set in the child process of a test. There, the only open files are those of the server and
/// the clients.
const ALONE: &str = "TACHO_LIMITS_ALONE";
/// The number of slow connections.
const SLOW: usize = 1200;
/// The maximum number of idle connections of one address, an eighth of all connections.
const MAX_IDLE: usize = 128;

/// A connection from another address of this machine.
fn connect_from(from: [u8; 4], to: SocketAddr) -> Option<TcpStream> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).ok()?;
    bind(&socket, &SocketAddr::from((from, 0))).ok()?;
    connect_to(&socket, &to).ok()?;
    Some(TcpStream::from(socket))
}

/// Connections that send only the beginning of a request do not block other addresses, and block their own address only
/// briefly.
fn check_slow_connections() {
    let files = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files }).expect("the hard limit");
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions::default());
    let slow: Vec<_> = (0..SLOW)
        .filter_map(|_| {
            let mut stream = connect_from([127, 0, 0, 2], server.address)?;
            // Connections over the limit are closed.
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: loc");
            Some(stream)
        })
        .collect();
    assert_eq!(slow.len(), SLOW, "enough files for the clients");
    for _ in 0..20 {
        assert_eq!(get(server.address, "/api/sources").status, 200);
    }
    // A connection from the same address is served after a second, long before the slow connections time out.
    let request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let began = Instant::now();
    let mut response = Vec::new();
    while response.is_empty() {
        if let Some(mut stream) = connect_from([127, 0, 0, 2], server.address) {
            let _ = stream.write_all(request);
            let _ = stream.read_to_end(&mut response);
        }
    }
    eprintln!("answered {:?} after {SLOW} slow connections of the same address", began.elapsed());
    // Some of the slow connections are still open.
    let mut probe = [0];
    let is_open = |stream: &TcpStream| {
        stream.set_nonblocking(true).expect("an option");
        matches!((&*stream).read(&mut probe), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    };
    assert!(slow.iter().any(is_open));
}

#[test]
fn slow_connections_do_not_block_others() {
    if std::env::var_os(ALONE).is_some() {
        return check_slow_connections();
    }
    let ended = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "limits::slow_connections_do_not_block_others", "--nocapture"])
        .env(ALONE, "1")
        .status()
        .expect("this program starts");
    assert!(ended.success(), "{ended}: see its output above");
}

#[test]
fn connections_that_send_a_response_are_not_closed_in_favour_of_others() {
    let machine = Machine::new(1500);
    let server = TestServer::start(&machine, TestOptions::default());
    wait_until_read(&server, "1");
    let wide = [("path", r"\Things(*)\*"), ("columns", "160")];
    let wide = target("/api/sources/1/series", &wide);
    let mut stream = connect(server.address);
    write!(stream, "GET {wide} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address).expect("sent");
    let mut response = vec![0; 4096];
    stream.read_exact(&mut response).expect("the first bytes of the response");
    // This is longer than `MIN_IDLE`, after which the server may close idle connections.
    std::thread::sleep(Duration::from_millis(1500));
    let idle: Vec<TcpStream> = (0..MAX_IDLE + 1).map(|_| connect(server.address)).collect();
    // Connections are admitted in order, so the server has admitted the idle connections when it responds to this one.
    assert_eq!(get(server.address, "/").status, 200);
    let text = String::from_utf8_lossy(&response);
    let (head, _) = text.split_once("\r\n\r\n").expect("a header");
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let length: usize = length.expect("a length");
    assert!(length > 6_000_000, "{length} bytes fit into the kernel's buffers");
    let rest = head.len() + 4 + length - response.len();
    let mut last = vec![0; rest];
    stream.read_exact(&mut last).expect("the rest of the response");
    assert!(last.ends_with(b"}"), "{:?}", String::from_utf8_lossy(&last[rest - 20..]));
    drop(idle);
}

/// Sends bytes slowly until the server closes the connection; returns what the server sent.
fn trickle(address: SocketAddr, mut text: &[u8]) -> Vec<u8> {
    let mut stream = connect(address);
    let began = Instant::now();
    let mut response = Vec::new();
    stream.set_read_timeout(Some(Duration::from_millis(500))).expect("an option");
    loop {
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "a connection that sends byte after byte stays open"
        );
        if let Some((byte, rest)) = text.split_first() {
            let _ = stream.write_all(&[*byte]);
            text = rest;
        }
        let mut buffer = [0; 1024];
        match stream.read(&mut buffer) {
            Ok(0) => return response,
            Ok(bytes) => response.extend_from_slice(&buffer[..bytes]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return response,
        }
    }
}

#[test]
fn headers_and_handshakes_have_a_deadline() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions::default());
    let secret = files();
    let secret = (secret.certificate.clone(), secret.key.clone());
    let tls = TestServer::start(&machine, TestOptions { tls: Some(secret), ..TestOptions::default() });
    let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(1000));
    // The beginning of a TLS ClientHello of 512 bytes.
    let hello = [&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3][..], &[7; 500]].concat();
    std::thread::scope(|scope| {
        for (address, text) in [
            (server.address, long.as_bytes()),
            (server.address, b""),
            (tls.address, &hello),
            (tls.address, b""),
        ] {
            scope.spawn(move || {
                let response = trickle(address, text);
                let response = String::from_utf8_lossy(&response);
                assert!(!response.contains("200 OK"), "{response}");
            });
        }
    });
    assert_eq!(get(server.address, "/").status, 200);
}

#[test]
fn a_content_length_over_the_limit_is_refused_without_the_body() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions { max_upload: 1000, ..TestOptions::default() });
    for (target, kind, length) in [
        ("/api/upload", "application/octet-stream", "1001"),
        ("/api/upload", "application/octet-stream", "9999999999999999999"),
        ("/api/login", "application/json", "65537"),
        ("/api/sources", "application/json", "4000000000"),
    ] {
        let text = format!(
            "POST {target} HTTP/1.1\r\nHost: {}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n",
            server.address
        );
        let began = Instant::now();
        let response = send(server.address, text.as_bytes()).expect("a response");
        // If the server waited for the missing body, the status would be 408.
        assert_eq!(response.status, 413, "{target} {length}: {}", response.text());
        eprintln!("{target} {length}: refused in {:?}", began.elapsed());
    }
}

#[test]
fn after_several_wrong_tokens_one_token_is_checked_per_second() {
    let machine = Machine::new(1);
    let server = TestServer::start(
        &machine,
        TestOptions { token: Some("a-token-of-many-letters"), ..TestOptions::default() },
    );
    let send_token = |token: &str| {
        let bearer = format!("Bearer {token}");
        request(server.address, "GET", "/api/sources", &[("Authorization", &bearer)], b"").status
    };
    let began = Instant::now();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let guesser = || (0..10).map(|index| send_token(&format!("wrong-{index}"))).collect::<Vec<_>>();
        let guessers: Vec<_> = (0..10).map(|_| scope.spawn(guesser)).collect();
        guessers.into_iter().flat_map(|guesser| guesser.join().expect("no panic")).collect()
    });
    let compared = statuses.iter().filter(|&&status| status == 401).count() as u64;
    let refused = statuses.iter().filter(|&&status| status == 429).count() as u64;
    assert_eq!(compared + refused, 100, "{statuses:?}");
    // The first five tokens are checked without delay, and concurrent requests can pass before the fifth is counted.
    assert!(refused > 0 && compared <= 8 + began.elapsed().as_secs(), "{compared} in {:?}", began.elapsed());
    // Requests without a token and for the page are not delayed.
    assert_eq!((get(server.address, "/api/sources").status, get(server.address, "/").status), (401, 200));
    // The correct token is accepted after its delay.
    let mut status = 429;
    while status == 429 {
        status = send_token("a-token-of-many-letters");
    }
    assert_eq!(status, 200);
}

/// The status of a request on an open connection, with a token.
fn status_on(stream: &mut TcpStream, token: &str) -> u16 {
    let host = stream.peer_addr().expect("connected");
    let request =
        format!("GET /api/sources HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut response = Vec::new();
    let end = loop {
        let mut part = [0; 4096];
        let read = stream.read(&mut part).expect("a response");
        assert!(read > 0, "the connection stays open");
        response.extend_from_slice(&part[..read]);
        if let Some(end) = response.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let head = String::from_utf8_lossy(&response[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.expect("a length").parse().expect("a number");
    let mut rest = vec![0; length.saturating_sub(response.len() - end)];
    stream.read_exact(&mut rest).expect("the body");
    head.split(' ').nth(1).expect("a status").parse().expect("a number")
}

#[test]
fn wrong_tokens_do_not_delay_a_connection_with_the_right_one() {
    let machine = Machine::new(1);
    let right = "a-token-of-many-letters";
    let server = TestServer::start(&machine, TestOptions { token: Some(right), ..TestOptions::default() });
    let mut stream = connect(server.address);
    assert_eq!(status_on(&mut stream, right), 200);
    // After these requests, only one token per second is compared.
    let mut guesses = connect(server.address);
    for index in 0..6 {
        assert_eq!(status_on(&mut guesses, &format!("wrong-{index}")), 401);
    }
    let began = Instant::now();
    for _ in 0..60 {
        assert_eq!(status_on(&mut stream, right), 200);
    }
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    // Another token on the connection is a guess like any other.
    let began = Instant::now();
    assert_eq!(status_on(&mut stream, "wrong-again"), 401);
    assert_eq!(status_on(&mut stream, "wrong-again"), 401);
    assert!(began.elapsed() >= Duration::from_millis(900), "{:?}", began.elapsed());
}

/// A text log with two samples and this number of columns.
fn wide(columns: usize) -> Vec<u8> {
    let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
    (0..columns).for_each(|index| text += &format!(r#","\\M\Process(p{index})\ID Process""#));
    for second in 0..2 {
        text += &format!("\r\n\"01/02/2024 00:00:0{second}.000\"");
        (0..columns).for_each(|index| text += &format!(",\"{index}\""));
    }
    (text + "\r\n").into_bytes()
}

fn upload(server: &TestServer, name: &str, log: &[u8]) -> (Response, Value) {
    let stream = [("Content-Type", "application/octet-stream")];
    let response = request(server.address, "POST", &format!("/api/upload?name={name}"), &stream, log);
    let source = match response.status {
        201 => wait_until_read(server, response.json()["id"].as_str().expect("an id")),
        _ => Value::Null,
    };
    (response, source)
}

/// Waits until this number of bytes is reserved, because threads that still use a closed log drop it later.
fn wait_for(memory: &Budget, bytes: u64) {
    let end = Instant::now() + Duration::from_secs(60);
    while memory.used() != bytes {
        assert!(Instant::now() < end, "{} bytes are reserved, expected {bytes}", memory.used());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn text_logs_share_the_memory_and_release_it() {
    let machine = Machine::new(1);
    let memory = Budget::new(16 << 20);
    let server =
        TestServer::start(&machine, TestOptions { memory: memory.clone(), ..TestOptions::default() });
    wait_until_read(&server, "1");
    let before = memory.used();
    // The columns of this log do not even fit into the whole memory.
    let (_, source) = upload(&server, "wide.csv", &wide(40_000));
    assert_eq!(source["state"], "failed", "{source}");
    let error = source["error"].as_str().expect("a reason");
    for part in ["wide.csv", "16 MiB is allowed", "can allow more", "close a source"] {
        assert!(error.contains(part), "'{part}' is not in: {error}");
    }
    let failed = source["id"].as_str().expect("an id");
    for request in ["sets", "instances?set=Process", "series?path=%5CProcess(*)%5C*", "statistics", "export"]
    {
        let response = get(server.address, &format!("/api/sources/{failed}/{request}"));
        assert_eq!((response.status, response.text().contains("can allow more")), (507, true), "{request}");
    }
    // The log is still listed, but has released its memory.
    wait_for(&memory, before);
    // Open several logs, until one does not fit.
    let log = wide(9000);
    let opened: Vec<Value> = (0..4)
        .map(|_| upload(&server, "some.csv", &log).1)
        .take_while(|source| source["state"] == "ready")
        .collect();
    assert!((1..4).contains(&opened.len()), "{} of 4 fit", opened.len());
    for source in &opened {
        let id = source["id"].as_str().expect("an id");
        request(server.address, "DELETE", &format!("/api/sources/{id}"), &[], b"");
    }
    wait_for(&memory, before);
    let (_, source) = upload(&server, "again.csv", &log);
    assert_eq!(source["state"], "ready", "{source}");
}

#[test]
fn binary_logs_and_their_statistics_share_the_memory() {
    let machine = Machine::new(1500);
    let memory = Budget::default();
    let server =
        TestServer::start(&machine, TestOptions { memory: memory.clone(), ..TestOptions::default() });
    wait_until_read(&server, "1");
    let before = memory.used();
    let log = std::fs::read(server.file("logs/a.blg")).expect("the log");
    let (_, source) = upload(&server, "wide.blg", &log);
    let id = source["id"].as_str().expect("an id");
    assert!(memory.used() > before + 1_000_000, "{before} -> {}: 1500 instances", memory.used());
    // The 3000 counters need 4.5 MB, which is more than is left.
    let rest = memory.reserve(memory.limit() - memory.used() - (3 << 20)).expect("all but 3 MiB");
    let ask = |request: &str, path: &str| {
        let (name, columns) = request.split_once('/').unwrap_or((request, ""));
        let mut parameters = vec![("path", path)];
        parameters.extend(Some(("columns", columns)).filter(|_| !columns.is_empty()));
        get(server.address, &target(&format!("/api/sources/{id}/{name}"), &parameters))
    };
    for request in ["series/10", "statistics"] {
        let response = ask(request, r"\Things(*)\*");
        assert_eq!(response.status, 507, "{request}");
        assert!(response.text().contains("can allow more"), "{}", response.text());
        assert_eq!(ask(request, r"\Things(p1)\*").status, 200, "{request} of one instance");
    }
    drop(rest);
    for request in ["series/10", "statistics"] {
        assert_eq!(ask(request, r"\Things(*)\*").status, 200, "{request}");
    }
    assert_eq!(request(server.address, "DELETE", &format!("/api/sources/{id}"), &[], b"").status, 204);
    wait_for(&memory, before);
}

#[test]
fn logs_are_not_opened_without_memory() {
    let machine = Machine::new(1);
    let memory = Budget::new(2 << 20);
    let server =
        TestServer::start(&machine, TestOptions { memory: memory.clone(), ..TestOptions::default() });
    wait_until_read(&server, "1");
    let rest = memory.reserve(memory.limit() - memory.used()).expect("all that is left");
    let (response, _) = upload(&server, "a.csv", &wide(1));
    assert_eq!(response.status, 507, "{}", response.text());
    let json = [("Content-Type", "application/json")];
    let response = request(server.address, "POST", "/api/sources", &json, br#"{"log":"logs/a.blg"}"#);
    assert_eq!(
        (response.status, response.text().contains("can allow more")),
        (507, true),
        "{}",
        response.text()
    );
    drop(rest);
    let response = request(server.address, "POST", "/api/sources", &json, br#"{"log":"logs/a.blg"}"#);
    assert_eq!(response.status, 201, "{}", response.text());
}

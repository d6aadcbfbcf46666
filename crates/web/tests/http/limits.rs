//! What one address may do, and how long it may take: others are answered meanwhile.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType, bind, connect as connect_to, socket};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;
use tachograph_logs::Budget;

use crate::client::{Answer, connect, get, request, send, target};
use crate::made::{Machine, Served, Wishes};
use crate::ready;
use crate::tls::files;

/// Set in the process that one of these tests has for itself: its open files are the server's and the clients'.
const ALONE: &str = "TACHO_LIMITS_ALONE";
const SLOW: usize = 1200;
/// Connections of one address that may wait for a request: an eighth of all.
const MAX_IDLE: usize = 128;

/// A connection from another address of this machine.
fn connect_from(from: [u8; 4], to: SocketAddr) -> Option<TcpStream> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).ok()?;
    bind(&socket, &SocketAddr::from((from, 0))).ok()?;
    connect_to(&socket, &to).ok()?;
    Some(TcpStream::from(socket))
}

/// Connections that send the beginning of a request and nothing more do not keep other addresses out, nor for long their
/// own.
fn stay_open_to_others() {
    let files = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files }).expect("as many as are allowed");
    let machine = Machine::new(1);
    let served = Served::start(&machine, Wishes::default());
    let slow: Vec<_> = (0..SLOW)
        .filter_map(|_| {
            let mut stream = connect_from([127, 0, 0, 2], served.address)?;
            // Those beyond the limit are closed meanwhile.
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: loc");
            Some(stream)
        })
        .collect();
    assert_eq!(slow.len(), SLOW, "enough files for the clients");
    for _ in 0..20 {
        assert_eq!(get(served.address, "/api/sources").status, 200);
    }
    // Their own address: as soon as they have waited for a second, long before their deadline.
    let request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let began = Instant::now();
    let mut answer = Vec::new();
    while answer.is_empty() {
        if let Some(mut stream) = connect_from([127, 0, 0, 2], served.address) {
            let _ = stream.write_all(request);
            let _ = stream.read_to_end(&mut answer);
        }
    }
    eprintln!("answered {:?} after {SLOW} slow connections of the same address", began.elapsed());
    // Some are open still: it did not wait for all of them to end.
    let mut probe = [0];
    let is_open = |stream: &TcpStream| {
        stream.set_nonblocking(true).expect("an option");
        matches!((&*stream).read(&mut probe), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    };
    assert!(slow.iter().any(is_open));
}

#[test]
fn slow_connections_of_one_address_keep_nobody_out() {
    if std::env::var_os(ALONE).is_some() {
        return stay_open_to_others();
    }
    let ended = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "limits::slow_connections_of_one_address_keep_nobody_out", "--nocapture"])
        .env(ALONE, "1")
        .status()
        .expect("this program starts");
    assert!(ended.success(), "{ended}: what it says stands before this");
}

#[test]
fn an_answer_that_is_being_sent_is_not_closed_in_favour_of_others() {
    let machine = Machine::new(1500);
    let served = Served::start(&machine, Wishes::default());
    ready(&served, "1");
    let wide = [("path", r"\Things(*)\*"), ("columns", "160")];
    let wide = target("/api/sources/1/series", &wide);
    let mut stream = connect(served.address);
    write!(stream, "GET {wide} HTTP/1.1\r\nHost: {}\r\n\r\n", served.address).expect("sent");
    let mut answer = vec![0; 4096];
    stream.read_exact(&mut answer).expect("the first bytes of the answer");
    // Connections that wait for a second can be closed.
    std::thread::sleep(Duration::from_millis(1500));
    let idle: Vec<TcpStream> = (0..MAX_IDLE + 1).map(|_| connect(served.address)).collect();
    // Connections are admitted in their order.
    assert_eq!(get(served.address, "/").status, 200);
    let text = String::from_utf8_lossy(&answer);
    let (head, _) = text.split_once("\r\n\r\n").expect("a header");
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let length: usize = length.expect("a length");
    assert!(length > 6_000_000, "{length} bytes are not more than the kernel keeps of a connection");
    let rest = head.len() + 4 + length - answer.len();
    let mut last = vec![0; rest];
    stream.read_exact(&mut last).expect("the rest of the answer");
    assert!(last.ends_with(b"}"), "{:?}", String::from_utf8_lossy(&last[rest - 20..]));
    drop(idle);
}

/// Sends a byte now and then until the server closes the connection; gives what the server sent.
fn trickle(address: SocketAddr, mut text: &[u8]) -> Vec<u8> {
    let mut stream = connect(address);
    let began = Instant::now();
    let mut answer = Vec::new();
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
            Ok(0) => return answer,
            Ok(bytes) => answer.extend_from_slice(&buffer[..bytes]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return answer,
        }
    }
}

#[test]
fn headers_and_handshakes_have_a_deadline() {
    let machine = Machine::new(1);
    let served = Served::start(&machine, Wishes::default());
    let secret = files();
    let secret = (secret.certificate.clone(), secret.key.clone());
    let tls = Served::start(&machine, Wishes { tls: Some(secret), ..Wishes::default() });
    let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(1000));
    // The begin of a greeting of TLS that announces 512 bytes.
    let hello = [&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3][..], &[7; 500]].concat();
    std::thread::scope(|scope| {
        for (address, text) in [
            (served.address, long.as_bytes()),
            (served.address, b""),
            (tls.address, &hello),
            (tls.address, b""),
        ] {
            scope.spawn(move || {
                let answer = trickle(address, text);
                let answer = String::from_utf8_lossy(&answer);
                assert!(!answer.contains("200 OK"), "{answer}");
            });
        }
    });
    assert_eq!(get(served.address, "/").status, 200);
}

#[test]
fn a_length_over_the_limit_is_refused_before_the_body_comes() {
    let machine = Machine::new(1);
    let served = Served::start(&machine, Wishes { max_upload: 1000, ..Wishes::default() });
    for (target, kind, length) in [
        ("/api/upload", "application/octet-stream", "1001"),
        ("/api/upload", "application/octet-stream", "9999999999999999999"),
        ("/api/login", "application/json", "65537"),
        ("/api/sources", "application/json", "4000000000"),
    ] {
        let text = format!(
            "POST {target} HTTP/1.1\r\nHost: {}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n",
            served.address
        );
        let began = Instant::now();
        let answer = send(served.address, text.as_bytes()).expect("an answer");
        // 408 is what a body that does not come ends with.
        assert_eq!(answer.status, 413, "{target} {length}: {}", answer.text());
        eprintln!("{target} {length}: refused in {:?}", began.elapsed());
    }
}

#[test]
fn wrong_tokens_are_compared_one_a_second() {
    let machine = Machine::new(1);
    let served =
        Served::start(&machine, Wishes { token: Some("a-token-of-many-letters"), ..Wishes::default() });
    let ask = |token: &str| {
        let bearer = format!("Bearer {token}");
        request(served.address, "GET", "/api/sources", &[("Authorization", &bearer)], b"").status
    };
    let began = Instant::now();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let guesser = || (0..10).map(|number| ask(&format!("wrong-{number}"))).collect::<Vec<_>>();
        let guessers: Vec<_> = (0..10).map(|_| scope.spawn(guesser)).collect();
        guessers.into_iter().flat_map(|guesser| guesser.join().expect("no panic")).collect()
    });
    let compared = statuses.iter().filter(|&&status| status == 401).count() as u64;
    let refused = statuses.iter().filter(|&&status| status == 429).count() as u64;
    assert_eq!(compared + refused, 100, "{statuses:?}");
    // Five are free, and two threads may each be past the question when the fifth is noted.
    assert!(refused > 0 && compared <= 8 + began.elapsed().as_secs(), "{compared} in {:?}", began.elapsed());
    // Requests without a token are no guesses, and the page is there.
    assert_eq!((get(served.address, "/api/sources").status, get(served.address, "/").status), (401, 200));
    // The right token is taken when its turn comes.
    let mut status = 429;
    while status == 429 {
        status = ask("a-token-of-many-letters");
    }
    assert_eq!(status, 200);
}

/// A text log with two samples and this number of columns.
fn wide(columns: usize) -> Vec<u8> {
    let mut text = String::from("\"(PDH-CSV 4.0) (UTC)(0)\"");
    (0..columns).for_each(|number| text += &format!(r#","\\M\Process(p{number})\ID Process""#));
    for second in 0..2 {
        text += &format!("\r\n\"01/02/2024 00:00:0{second}.000\"");
        (0..columns).for_each(|number| text += &format!(",\"{number}\""));
    }
    (text + "\r\n").into_bytes()
}

fn upload(served: &Served, name: &str, log: &[u8]) -> (Answer, Value) {
    let stream = [("Content-Type", "application/octet-stream")];
    let answer = request(served.address, "POST", &format!("/api/upload?name={name}"), &stream, log);
    let source = match answer.status {
        201 => ready(served, answer.json()["id"].as_str().expect("an id")),
        _ => Value::Null,
    };
    (answer, source)
}

/// Waits until this number of bytes is reserved: threads that still use a closed log drop it later.
fn wait_for(memory: &Budget, bytes: u64) {
    let end = Instant::now() + Duration::from_secs(60);
    while memory.used() != bytes {
        assert!(Instant::now() < end, "{} bytes are reserved, and not {bytes}", memory.used());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn text_logs_share_the_memory_and_give_it_back() {
    let machine = Machine::new(1);
    let memory = Budget::new(16 << 20);
    let served = Served::start(&machine, Wishes { memory: memory.clone(), ..Wishes::default() });
    ready(&served, "1");
    let before = memory.used();
    // One that has too many columns for the whole.
    let (_, source) = upload(&served, "wide.csv", &wide(40_000));
    assert_eq!(source["state"], "failed", "{source}");
    let error = source["error"].as_str().expect("a reason");
    for part in ["wide.csv", "16 MiB are allowed", "--max-memory", "close a source"] {
        assert!(error.contains(part), "'{part}' is not in: {error}");
    }
    let failed = source["id"].as_str().expect("an id");
    for what in ["sets", "instances?set=Process", "series?path=%5CProcess(*)%5C*", "statistics", "export"] {
        let answer = get(served.address, &format!("/api/sources/{failed}/{what}"));
        assert_eq!((answer.status, answer.text().contains("--max-memory")), (507, true), "{what}");
    }
    // It has nothing of the memory, though it is listed still.
    wait_for(&memory, before);
    // Several that fit one by one, until they do not any more.
    let log = wide(9000);
    let opened: Vec<Value> = (0..4)
        .map(|_| upload(&served, "some.csv", &log).1)
        .take_while(|source| source["state"] == "ready")
        .collect();
    assert!((1..4).contains(&opened.len()), "{} of 4 fit", opened.len());
    for source in &opened {
        let id = source["id"].as_str().expect("an id");
        request(served.address, "DELETE", &format!("/api/sources/{id}"), &[], b"");
    }
    wait_for(&memory, before);
    let (_, source) = upload(&served, "again.csv", &log);
    assert_eq!(source["state"], "ready", "{source}");
}

#[test]
fn binary_logs_and_their_statistics_share_the_memory() {
    let machine = Machine::new(1500);
    let memory = Budget::default();
    let served = Served::start(&machine, Wishes { memory: memory.clone(), ..Wishes::default() });
    ready(&served, "1");
    let before = memory.used();
    let log = std::fs::read(served.file("logs/a.blg")).expect("the log");
    let (_, source) = upload(&served, "wide.blg", &log);
    let id = source["id"].as_str().expect("an id");
    assert!(memory.used() > before + 1_000_000, "{before} -> {}: 1500 instances", memory.used());
    // 3000 counters need 4.5 MB.
    let rest = memory.reserve(memory.limit() - memory.used() - (3 << 20)).expect("all but a little");
    let ask = |what: &str, path: &str| {
        let (name, columns) = what.split_once('/').unwrap_or((what, ""));
        let mut parameters = vec![("path", path)];
        parameters.extend(Some(("columns", columns)).filter(|_| !columns.is_empty()));
        get(served.address, &target(&format!("/api/sources/{id}/{name}"), &parameters))
    };
    for what in ["series/10", "statistics"] {
        let answer = ask(what, r"\Things(*)\*");
        assert_eq!(answer.status, 507, "{what}");
        assert!(answer.text().contains("--max-memory"), "{}", answer.text());
        assert_eq!(ask(what, r"\Things(p1)\*").status, 200, "{what} of one instance");
    }
    drop(rest);
    for what in ["series/10", "statistics"] {
        assert_eq!(ask(what, r"\Things(*)\*").status, 200, "{what}");
    }
    assert_eq!(request(served.address, "DELETE", &format!("/api/sources/{id}"), &[], b"").status, 204);
    wait_for(&memory, before);
}

#[test]
fn where_no_memory_is_left_nothing_is_opened() {
    let machine = Machine::new(1);
    let memory = Budget::new(2 << 20);
    let served = Served::start(&machine, Wishes { memory: memory.clone(), ..Wishes::default() });
    ready(&served, "1");
    let rest = memory.reserve(memory.limit() - memory.used()).expect("all that is left");
    let (answer, _) = upload(&served, "a.csv", &wide(1));
    assert_eq!(answer.status, 507, "{}", answer.text());
    let json = [("Content-Type", "application/json")];
    let answer = request(served.address, "POST", "/api/sources", &json, br#"{"log":"logs/a.blg"}"#);
    assert_eq!((answer.status, answer.text().contains("--max-memory")), (507, true), "{}", answer.text());
    drop(rest);
    let answer = request(served.address, "POST", "/api/sources", &json, br#"{"log":"logs/a.blg"}"#);
    assert_eq!(answer.status, 201, "{}", answer.text());
}

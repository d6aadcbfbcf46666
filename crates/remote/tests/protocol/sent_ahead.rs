//! Requests that are sent ahead, over TCP.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use tachograph_remote::{HttpTransport, Method, Received, Response, Transport as _};

/// A server that answers each request with a text from the first channel, in two writes; an empty text closes the connection.
/// The paths of the requests are sent to the second channel.
fn server() -> (HttpTransport, Sender<&'static str>, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (answers, answered) = channel::<&'static str>();
    let (requests, requested) = channel();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
                let Ok(()) = requests.send(path) else { return };
                let Ok(answer) = answered.recv() else { return };
                if answer.is_empty() {
                    break;
                }
                let status = if answer == "refused" { 404 } else { 200 };
                let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n", answer.len());
                stream.write_all(head.as_bytes()).expect("a client");
                stream.write_all(answer.as_bytes()).expect("a client");
            }
        }
    });
    let transport = HttpTransport::new("web1", "127.0.0.1", port, None, None).expect("a transport");
    (transport, answers, requested)
}

fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn get(transport: &mut HttpTransport, path: &str) -> (u16, String) {
    let mut body = Vec::new();
    let Response { status } =
        transport.exchange(Method::Get, path, &[], &mut body, deadline()).expect("a response");
    (status, String::from_utf8(body).expect("text"))
}

/// Waits until the response has arrived or the exchange has failed.
fn wait_for_response(transport: &mut HttpTransport) -> Received {
    let until = deadline();
    loop {
        match transport.receive_ahead() {
            Received::Part => assert!(Instant::now() < until, "no response"),
            received => return received,
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_request_that_was_sent_ahead_is_not_sent_again() {
    let (mut transport, answers, requested) = server();
    assert!(!transport.send_ahead(Method::Get, "/a", &[]), "no connection is open");
    assert_eq!(transport.receive_ahead(), Received::Broken);
    answers.send("one").expect("a server");
    assert_eq!(get(&mut transport, "/a"), (200, "one".to_owned()));
    assert!(transport.send_ahead(Method::Get, "/b", &[]));
    assert!(!transport.send_ahead(Method::Get, "/b", &[]), "its response was not received yet");
    assert_eq!(transport.receive_ahead(), Received::Part);
    answers.send("two").expect("a server");
    assert_eq!(wait_for_response(&mut transport), Received::Complete);
    assert_eq!(get(&mut transport, "/b"), (200, "two".to_owned()));
    answers.send("three").expect("a server");
    assert_eq!(get(&mut transport, "/c"), (200, "three".to_owned()));
    assert_eq!(requested.try_iter().collect::<Vec<_>>(), ["/a", "/b", "/c"]);
}

#[test]
fn the_response_to_another_request_is_dropped() {
    let (mut transport, answers, requested) = server();
    answers.send("one").expect("a server");
    get(&mut transport, "/a");
    assert!(transport.send_ahead(Method::Get, "/b", &[]));
    answers.send("two").expect("a server");
    answers.send("three").expect("a server");
    assert_eq!(get(&mut transport, "/c"), (200, "three".to_owned()));
    assert_eq!(requested.try_iter().collect::<Vec<_>>(), ["/a", "/b", "/c"]);
}

#[test]
fn a_refused_request_and_a_closed_connection_are_not_complete() {
    let (mut transport, answers, requested) = server();
    answers.send("one").expect("a server");
    get(&mut transport, "/a");
    assert!(transport.send_ahead(Method::Get, "/b", &[]));
    answers.send("refused").expect("a server");
    assert_eq!(wait_for_response(&mut transport), Received::Broken);
    assert_eq!(get(&mut transport, "/b").0, 404);
    assert!(transport.send_ahead(Method::Get, "/c", &[]));
    answers.send("").expect("a server");
    assert_eq!(wait_for_response(&mut transport), Received::Broken);
    // The transport connects again, and repeats the request.
    answers.send("two").expect("a server");
    assert_eq!(get(&mut transport, "/c"), (200, "two".to_owned()));
    assert_eq!(requested.try_iter().collect::<Vec<_>>(), ["/a", "/b", "/c", "/c"]);
}

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

use super::*;
use crate::Fingerprint;

const MOMENT: Duration = Duration::from_millis(30);

fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    (listener, port)
}

fn receive(stream: &mut impl io::Read) -> String {
    let mut request = [0; 4096];
    let length = stream.read(&mut request).expect("a request");
    String::from_utf8_lossy(&request[..length]).into_owned()
}

fn answer(stream: &mut impl io::Write, body: &str) {
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).expect("a client");
    stream.flush().expect("a client");
}

#[test]
fn a_connection_that_the_agent_closed_is_not_open() {
    let (listener, port) = listener();
    let mut transport = HttpTransport::new("web1", "127.0.0.1", port, None, None).expect("a transport");
    assert!(!transport.is_open());
    let agent = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        receive(&mut stream);
        answer(&mut stream, "ok");
        stream
    });
    let mut body = Vec::new();
    let response = transport.exchange(Method::Get, "/agent/v1", &[], &mut body, deadline());
    assert_eq!((response, &*body), (Ok(Response { status: 200 }), &b"ok"[..]));
    let stream = agent.join().expect("no panic");
    assert!(transport.is_open());
    drop(stream);
    let until = deadline();
    while transport.is_open() {
        assert!(Instant::now() < until, "the connection was closed");
        std::thread::yield_now();
    }
}

#[test]
fn a_late_answer_is_returned_only_for_its_own_request() {
    let (listener, port) = listener();
    let mut transport = HttpTransport::new("web1", "127.0.0.1", port, None, None).expect("a transport");
    let (allow, allowed) = channel();
    let agent = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut paths = Vec::new();
        for _ in 0..3 {
            let request = receive(&mut stream);
            let path = request.split(' ').nth(1).expect("a path").to_owned();
            allowed.recv().expect("the test continues");
            answer(&mut stream, &path);
            paths.push(path);
        }
        paths
    });
    let mut body = Vec::new();
    let mut exchange = |path, until| {
        let outcome = transport.exchange(Method::Get, path, &[], &mut body, until);
        (outcome.map(|response| response.status), String::from_utf8_lossy(&body).into_owned())
    };
    let assert_timed_out = |outcome: (Result<u16, ExchangeError>, String)| {
        assert!(matches!(outcome.0, Err(ExchangeError::TimedOut(_))), "{outcome:?}");
    };
    assert_timed_out(exchange("/one", Instant::now() + MOMENT));
    allow.send(()).expect("the agent waits");
    // The request is not sent again.
    assert_eq!(exchange("/one", deadline()), (Ok(200), "/one".to_owned()));
    assert_timed_out(exchange("/two", Instant::now() + MOMENT));
    allow.send(()).expect("the agent waits");
    allow.send(()).expect("the agent waits");
    assert_eq!(exchange("/three", deadline()), (Ok(200), "/three".to_owned()));
    assert_eq!(agent.join().expect("no panic"), ["/one", "/two", "/three"]);
}

#[test]
fn a_request_can_be_sent_ahead() {
    let (listener, port) = listener();
    let mut transport = HttpTransport::new("web1", "127.0.0.1", port, None, None).expect("a transport");
    assert!(!transport.send_ahead(Method::Get, "/one", &[]), "no connection is open");
    assert_eq!((transport.receive_ahead(), transport.descriptor().is_some()), (Received::Broken, false));
    let (allow, allowed) = channel();
    let agent = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut paths = Vec::new();
        for _ in 0..3 {
            let request = receive(&mut stream);
            let path = request.split(' ').nth(1).expect("a path").to_owned();
            allowed.recv().expect("the test continues");
            answer(&mut stream, &path);
            paths.push(path);
        }
        paths
    });
    let mut body = Vec::new();
    allow.send(()).expect("the agent waits");
    assert!(transport.exchange(Method::Get, "/one", &[], &mut body, deadline()).is_ok());
    assert!(transport.send_ahead(Method::Get, "/two", &[]) && transport.descriptor().is_some());
    assert_eq!(transport.receive_ahead(), Received::Part);
    assert!(!transport.send_ahead(Method::Get, "/three", &[]), "the answer to the last request comes first");
    allow.send(()).expect("the agent waits");
    let until = deadline();
    while transport.receive_ahead() == Received::Part {
        assert!(Instant::now() < until, "the answer arrives");
    }
    assert_eq!(transport.receive_ahead(), Received::Complete);
    // The answer is returned for the same request, which is not sent again.
    let outcome = transport.exchange(Method::Get, "/two", &[], &mut body, Instant::now());
    assert_eq!((outcome, &*body), (Ok(Response { status: 200 }), &b"/two"[..]));
    assert_eq!(transport.receive_ahead(), Received::Broken);
    allow.send(()).expect("the agent waits");
    assert!(transport.exchange(Method::Get, "/three", &[], &mut body, deadline()).is_ok());
    assert_eq!(agent.join().expect("no panic"), ["/one", "/two", "/three"]);
}

#[test]
fn a_connection_without_an_answer_is_abandoned() {
    let (listener, port) = listener();
    let mut transport = HttpTransport::new("web1", "127.0.0.1", port, None, None).expect("a transport");
    let agent = std::thread::spawn(move || {
        let (mut silent, _) = listener.accept().expect("a connection");
        receive(&mut silent);
        let (mut stream, _) = listener.accept().expect("another connection");
        let request = receive(&mut stream);
        answer(&mut stream, "ok");
        request
    });
    let mut body = Vec::new();
    let outcome = transport.exchange(Method::Get, "/one", &[], &mut body, Instant::now() + MOMENT);
    assert!(matches!(outcome, Err(ExchangeError::TimedOut(_))), "{outcome:?}");
    // This exchange abandons the first connection, and uses another one.
    let outcome = transport.exchange(Method::Get, "/two", &[], &mut body, deadline());
    assert_eq!((outcome, &*body), (Ok(Response { status: 200 }), &b"ok"[..]));
    assert!(agent.join().expect("no panic").starts_with("GET /two "));
}

fn server_session(folder: &Path) -> ServerConnection {
    let chain = CertificateDer::from_pem_file(folder.join("cert.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(folder.join("key.pem")).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![chain], key));
    ServerConnection::new(Arc::new(config.expect("a configuration"))).expect("a session")
}

#[test]
fn a_handshake_that_takes_several_exchanges_succeeds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/tests/http/tls");
    let fingerprint = Fingerprint::of_file(&folder.join("cert.pem")).expect("a certificate");
    let (listener, port) = listener();
    let trust = Trust::Fingerprint(fingerprint);
    let mut transport =
        HttpTransport::new("web1", "127.0.0.1", port, Some(&trust), None).expect("a transport");
    let (allow, allowed) = channel::<()>();
    let agent = std::thread::spawn(move || {
        let (stream, _): (TcpStream, _) = listener.accept().expect("a connection");
        let mut stream = StreamOwned::new(server_session(&folder), stream);
        while stream.conn.is_handshaking() {
            // One step of the handshake for each exchange.
            let _ = allowed.recv();
            while stream.conn.wants_write() {
                stream.conn.write_tls(&mut stream.sock).expect("a client");
            }
            stream.conn.read_tls(&mut stream.sock).expect("a client");
            stream.conn.process_new_packets().expect("a handshake");
        }
        receive(&mut stream);
        answer(&mut stream, "ok");
        listener.set_nonblocking(true).expect("an option");
        assert!(listener.accept().is_err(), "the connection is the only one");
    });
    let mut body = Vec::new();
    let until = deadline();
    let mut exchanges = 0;
    loop {
        exchanges += 1;
        match transport.exchange(Method::Get, "/", &[], &mut body, Instant::now() + MOMENT) {
            Ok(_) => break,
            Err(ExchangeError::TimedOut(_)) if Instant::now() < until => {}
            Err(error) => panic!("{error}"),
        }
        let _ = allow.send(());
    }
    drop(allow);
    assert_eq!(&*body, b"ok");
    assert!(exchanges > 2, "{exchanges}");
    agent.join().expect("no panic");
}

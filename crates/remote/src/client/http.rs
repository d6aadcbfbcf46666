//! The transport over TCP and TLS: HTTP/1.1 with a connection that is kept open, and a deadline for each exchange.

use std::fmt;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use super::connection::{Connection, Stream, TimedStream, TlsStream, is_timeout};
use super::dialer::{Dialer, MAX_AGE, text_of};
use super::tls::{ClientIdentity, Tls, Trust};
use super::transport::{ExchangeError, Method, Peer, Received, Response, Transport};
use crate::token::Token;

/// An answer that is late may arrive until this time after its request. Then the connection is given up: after a failure of
/// the link, the kernel would repeat the request late.
const MAX_LATE: Duration = Duration::from_secs(1);

/// A transport over TCP, with TLS unless the agent is on this machine. It connects when it is first used, and blocks until
/// the response has arrived or the deadline has passed.
///
/// What was begun continues in the next exchange: resolving the host name, connecting, the TLS handshake, and waiting for
/// an answer. So an agent is reached even if that takes longer than the deadline of one exchange. The answer to an earlier
/// request is discarded, unless the next request is the same.
pub struct HttpTransport {
    peer: Peer,
    host: String,
    port: u16,
    tls: Option<Tls>,
    token: Option<Token>,
    dialer: Dialer,
    /// A TLS handshake in progress, and when it was begun.
    securing: Option<(TlsStream, Instant)>,
    connection: Option<Connection>,
    /// A buffer for the next request.
    request: Vec<u8>,
}

impl HttpTransport {
    /// A transport to `host` and `port`. Without `trust`, the host must be a loopback address, and the connection is not
    /// encrypted.
    ///
    /// # Errors
    ///
    /// A message, if the certificates cannot be read, or if `trust` is missing.
    pub fn new(
        machine: &str,
        host: &str,
        port: u16,
        trust: Option<&Trust>,
        token: Option<Token>,
    ) -> Result<Self, String> {
        Self::with_identity(machine, host, port, trust, token, None)
    }

    /// Like [`new`](Self::new), with a certificate of this consumer, which agents may require.
    ///
    /// # Errors
    ///
    /// Same as [`new`](Self::new); also if an identity is given without `trust`.
    pub fn with_identity(
        machine: &str,
        host: &str,
        port: u16,
        trust: Option<&Trust>,
        token: Option<Token>,
        identity: Option<&ClientIdentity>,
    ) -> Result<Self, String> {
        let is_loopback =
            host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        if trust.is_none() && !is_loopback {
            return Err(format!(
                "{host} is another machine, so its certificate must be known: add the fingerprint that 'tacho agent setup' \
                 prints there, or ca = \"FILE\""
            ));
        }
        if trust.is_none() && identity.is_some() {
            return Err("client_cert needs TLS: add a fingerprint, or ca = \"FILE\"".to_owned());
        }
        let tls = trust.map(|trust| Tls::new(trust, identity)).transpose()?;
        let bracketed = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let peer = Peer { machine: machine.to_owned(), address: format!("{bracketed}:{port}") };
        Ok(Self {
            peer,
            host: host.to_owned(),
            port,
            tls,
            token,
            dialer: Dialer::default(),
            securing: None,
            connection: None,
            request: Vec::new(),
        })
    }

    /// Connects, or continues to.
    fn connect(&mut self, deadline: Instant) -> Result<Connection, ExchangeError> {
        loop {
            let resumed = self.securing.take().filter(|(_, begun)| begun.elapsed() < MAX_AGE);
            let is_resumed = resumed.is_some();
            let (stream, begun) = match resumed {
                Some(resumed) => resumed,
                None => {
                    let stream = self.dialer.connect(&self.host, self.port, deadline)?;
                    let stream = TimedStream::new(stream, deadline);
                    match &self.tls {
                        None => return Ok(Connection::new(Stream::Plain(stream))),
                        Some(tls) => (self.session(tls, stream)?, Instant::now()),
                    }
                }
            };
            match self.secure(stream, begun, deadline) {
                // The agent may have given up meanwhile.
                Err(ExchangeError::Broken(_)) if is_resumed => {}
                outcome => return outcome,
            }
        }
    }

    fn session(&self, tls: &Tls, stream: TimedStream) -> Result<TlsStream, ExchangeError> {
        let name = ServerName::try_from(self.host.clone())
            .map_err(|_| ExchangeError::Unreachable(format!("'{}' is not a host name", self.host)))?;
        let session = ClientConnection::new(tls.config.clone(), name)
            .map_err(|error| ExchangeError::Invalid(error.to_string()))?;
        Ok(Box::new(StreamOwned::new(session, stream)))
    }

    /// Performs the TLS handshake, or continues to.
    fn secure(
        &mut self,
        mut stream: TlsStream,
        begun: Instant,
        deadline: Instant,
    ) -> Result<Connection, ExchangeError> {
        stream.sock.deadline = Some(deadline);
        while stream.conn.is_handshaking() {
            if let Err(error) = stream.conn.complete_io(&mut stream.sock) {
                if is_timeout(&error) {
                    self.securing = Some((stream, begun));
                    return Err(ExchangeError::TimedOut("TLS handshake"));
                }
                return Err(self.handshake_error(&error));
            }
        }
        Ok(Connection::new(Stream::Tls(stream)))
    }

    fn handshake_error(&self, error: &io::Error) -> ExchangeError {
        let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
        match (cause, &self.tls) {
            (Some(cause @ rustls::Error::InvalidCertificate(_)), Some(tls)) => {
                ExchangeError::NotTrusted(tls.refusal(cause))
            }
            (Some(rustls::Error::AlertReceived(alert)), _) => {
                ExchangeError::NotTrusted(super::tls::alert(*alert))
            }
            (Some(cause), _) => ExchangeError::Invalid(format!("not TLS, or damaged: {cause}")),
            (None, _) => ExchangeError::Broken(format!("TLS handshake: {}", text_of(error))),
        }
    }

    /// Writes a request to the buffer.
    fn write_request(&mut self, method: Method, path: &str, body: &[u8]) {
        let (request, address) = (&mut self.request, &self.peer.address);
        request.clear();
        let (method, length) = (method.name(), body.len());
        // Writing to memory does not fail.
        let _ =
            write!(request, "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n");
        if let Some(token) = &self.token {
            request.extend_from_slice(b"Authorization: Bearer ");
            request.extend_from_slice(token.bytes());
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"\r\n");
        request.extend_from_slice(body);
    }

    /// Receives the answer to an earlier request that did not arrive in time. Returns its status if the new request is the
    /// same; otherwise the answer is discarded.
    fn finish_earlier(
        &mut self,
        body: &mut Vec<u8>,
        deadline: Instant,
    ) -> Result<Option<Response>, ExchangeError> {
        let Some(mut connection) = self.connection.take() else { return Ok(None) };
        let Some(begun) = connection.begun() else {
            self.connection = Some(connection);
            return Ok(None);
        };
        let is_same = connection.has_sent(&self.request);
        // At least a moment, for an answer that has already arrived.
        let until = (begun + MAX_LATE).max(Instant::now() + Duration::from_millis(5));
        match connection.run(deadline.min(until)) {
            Ok((status, is_kept_open)) => {
                if is_same {
                    connection.take_body(body);
                }
                self.connection = is_kept_open.then_some(connection);
                Ok(is_same.then_some(Response { status }))
            }
            Err(ExchangeError::TimedOut(step)) if begun.elapsed() < MAX_LATE => {
                self.connection = Some(connection);
                Err(ExchangeError::TimedOut(step))
            }
            // Connects again, and repeats the request.
            Err(_) => Ok(None),
        }
    }
}

impl Transport for HttpTransport {
    fn exchange(
        &mut self,
        method: Method,
        path: &str,
        request: &[u8],
        body: &mut Vec<u8>,
        deadline: Instant,
    ) -> Result<Response, ExchangeError> {
        self.write_request(method, path, request);
        if let Some(response) = self.finish_earlier(body, deadline)? {
            return Ok(response);
        }
        loop {
            let (mut connection, is_reused) = match self.connection.take() {
                Some(connection) => (connection, true),
                None => (self.connect(deadline)?, false),
            };
            connection.begin(&mut self.request);
            match connection.run(deadline) {
                Ok((status, is_kept_open)) => {
                    connection.take_body(body);
                    self.connection = is_kept_open.then_some(connection);
                    return Ok(Response { status });
                }
                Err(ExchangeError::TimedOut(step)) => {
                    self.connection = Some(connection);
                    return Err(ExchangeError::TimedOut(step));
                }
                // The agent closes connections that are idle for long. Repeating the request does no harm.
                Err(ExchangeError::Broken(_)) if is_reused => self.request = connection.into_request(),
                Err(error) => return Err(error),
            }
        }
    }

    fn is_open(&self) -> bool {
        self.connection.as_ref().is_some_and(Connection::is_quiet)
    }

    fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    fn close(&mut self) {
        self.connection = None;
        self.securing = None;
        self.dialer.reset();
    }

    fn peer(&self) -> &Peer {
        &self.peer
    }

    fn send_ahead(&mut self, method: Method, path: &str, request: &[u8]) -> bool {
        // An answer that is late comes first.
        let Some(mut connection) = self.connection.take_if(|connection| connection.begun().is_none()) else {
            return false;
        };
        self.write_request(method, path, request);
        connection.begin(&mut self.request);
        if connection.run_now() == Received::Broken {
            return false;
        }
        self.connection = Some(connection);
        true
    }

    fn receive_ahead(&mut self) -> Received {
        self.connection.as_mut().map_or(Received::Broken, Connection::run_now)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.connection.as_ref().map(Connection::descriptor)
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport").field("peer", &self.peer).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
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

    fn soon() -> Instant {
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
        let response = transport.exchange(Method::Get, "/agent/v1", &[], &mut body, soon());
        assert_eq!((response, &*body), (Ok(Response { status: 200 }), &b"ok"[..]));
        let stream = agent.join().expect("no panic");
        assert!(transport.is_open());
        drop(stream);
        let until = soon();
        while transport.is_open() {
            assert!(Instant::now() < until, "the connection was closed");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_late_answer_is_that_of_its_own_request_only() {
        let (listener, port) = listener();
        let mut transport = HttpTransport::new("web1", "127.0.0.1", port, None, None).expect("a transport");
        let (allow, allowed) = channel();
        let agent = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut paths = Vec::new();
            for _ in 0..3 {
                let request = receive(&mut stream);
                let path = request.split(' ').nth(1).expect("a path").to_owned();
                allowed.recv().expect("the test goes on");
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
        let late = |outcome: (Result<u16, ExchangeError>, String)| {
            assert!(matches!(outcome.0, Err(ExchangeError::TimedOut(_))), "{outcome:?}");
        };
        late(exchange("/one", Instant::now() + MOMENT));
        allow.send(()).expect("the agent waits");
        // The request is not sent again.
        assert_eq!(exchange("/one", soon()), (Ok(200), "/one".to_owned()));
        late(exchange("/two", Instant::now() + MOMENT));
        allow.send(()).expect("the agent waits");
        allow.send(()).expect("the agent waits");
        assert_eq!(exchange("/three", soon()), (Ok(200), "/three".to_owned()));
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
                allowed.recv().expect("the test goes on");
                answer(&mut stream, &path);
                paths.push(path);
            }
            paths
        });
        let mut body = Vec::new();
        allow.send(()).expect("the agent waits");
        assert!(transport.exchange(Method::Get, "/one", &[], &mut body, soon()).is_ok());
        assert!(transport.send_ahead(Method::Get, "/two", &[]) && transport.descriptor().is_some());
        assert_eq!(transport.receive_ahead(), Received::Part);
        assert!(
            !transport.send_ahead(Method::Get, "/three", &[]),
            "the answer to the last request comes first"
        );
        allow.send(()).expect("the agent waits");
        let until = soon();
        while transport.receive_ahead() == Received::Part {
            assert!(Instant::now() < until, "the answer arrives");
        }
        assert_eq!(transport.receive_ahead(), Received::Complete);
        // The answer is that of the same request only, which is not sent again.
        let outcome = transport.exchange(Method::Get, "/two", &[], &mut body, Instant::now());
        assert_eq!((outcome, &*body), (Ok(Response { status: 200 }), &b"/two"[..]));
        assert_eq!(transport.receive_ahead(), Received::Broken);
        allow.send(()).expect("the agent waits");
        assert!(transport.exchange(Method::Get, "/three", &[], &mut body, soon()).is_ok());
        assert_eq!(agent.join().expect("no panic"), ["/one", "/two", "/three"]);
    }

    #[test]
    fn an_answer_that_never_comes_is_given_up() {
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
        // Within this exchange, the first connection is given up, and another one used.
        let outcome = transport.exchange(Method::Get, "/two", &[], &mut body, soon());
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
        let until = soon();
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
}

//! The transport over TCP and TLS: HTTP/1.1 with a connection that is kept open, and a deadline for each exchange.

mod ahead;

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use super::Trust;
use super::tls::Tls;
use super::transport::{ExchangeError, Method, Peer, Received, Response, Transport};
use crate::limits::MAX_RESPONSE_BYTES;
use crate::token::Token;

/// Maximum length of a response's header.
const MAX_HEADER: usize = 16 << 10;
/// The memory of a body is reserved in parts of this size, as they arrive.
const CHUNK: usize = 8 << 10;

/// A transport over TCP, with TLS unless the agent is on this machine. It connects when it is first used, and blocks until
/// the response has arrived or the deadline has passed.
pub struct HttpTransport {
    peer: Peer,
    host: String,
    port: u16,
    tls: Option<Tls>,
    token: Option<Token>,
    connection: Option<Connection>,
}

/// An open connection, with the bytes that were received beyond the last response.
struct Connection {
    stream: Stream,
    received: Vec<u8>,
    /// The request that was sent ahead, whose response was not received yet.
    ahead: Option<Vec<u8>>,
}

enum Stream {
    Plain(TimedStream),
    Tls(Box<StreamOwned<ClientConnection, TimedStream>>),
}

/// A connection whose reads and writes end at a deadline, or do not wait.
struct TimedStream {
    stream: TcpStream,
    /// `None`: do not wait.
    deadline: Option<Instant>,
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
        let is_loopback =
            host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        if trust.is_none() && !is_loopback {
            return Err(format!("{host} is another machine: a fingerprint or an authority is required"));
        }
        let tls = trust.map(Tls::new).transpose()?;
        let bracketed = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let peer = Peer { machine: machine.to_owned(), address: format!("{bracketed}:{port}") };
        Ok(Self { peer, host: host.to_owned(), port, tls, token, connection: None })
    }

    fn connect(&self, deadline: Instant) -> Result<Connection, ExchangeError> {
        let unreachable = |error: &io::Error| ExchangeError::Unreachable(text_of(error));
        let addresses: Vec<SocketAddr> =
            (self.host.as_str(), self.port).to_socket_addrs().map_err(|error| unreachable(&error))?.collect();
        let mut last = ExchangeError::Unreachable("the host name has no address".to_owned());
        for address in addresses {
            let Some(left) = time_left(deadline) else {
                return Err(ExchangeError::TimedOut("connecting"));
            };
            match TcpStream::connect_timeout(&address, left) {
                Ok(stream) => {
                    // Without it, a small request waits for the acknowledgement of the one before.
                    let _ = stream.set_nodelay(true);
                    return self.secure(TimedStream { stream, deadline: Some(deadline) });
                }
                Err(error) if is_timeout(&error) => last = ExchangeError::TimedOut("connecting"),
                Err(error) => last = unreachable(&error),
            }
        }
        Err(last)
    }

    fn secure(&self, stream: TimedStream) -> Result<Connection, ExchangeError> {
        let stream = match &self.tls {
            None => Stream::Plain(stream),
            Some(tls) => {
                let name = ServerName::try_from(self.host.clone())
                    .map_err(|_| ExchangeError::Unreachable(format!("'{}' is not a host name", self.host)))?;
                let session = ClientConnection::new(tls.config.clone(), name)
                    .map_err(|error| ExchangeError::Invalid(error.to_string()))?;
                let mut stream = StreamOwned::new(session, stream);
                while stream.conn.is_handshaking() {
                    let done = stream.conn.complete_io(&mut stream.sock);
                    done.map_err(|error| self.handshake_error(tls, &error))?;
                }
                Stream::Tls(Box::new(stream))
            }
        };
        Ok(Connection { stream, received: Vec::new(), ahead: None })
    }

    fn handshake_error(&self, tls: &Tls, error: &io::Error) -> ExchangeError {
        let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
        match cause {
            Some(cause @ rustls::Error::InvalidCertificate(_)) => {
                ExchangeError::NotTrusted(tls.refusal(cause))
            }
            Some(cause @ rustls::Error::AlertReceived(_)) => ExchangeError::NotTrusted(cause.to_string()),
            Some(cause) => ExchangeError::Invalid(format!("not TLS, or damaged: {cause}")),
            None if is_timeout(error) => ExchangeError::TimedOut("TLS handshake"),
            None => ExchangeError::Broken(format!("TLS handshake: {}", text_of(error))),
        }
    }

    fn header(&self, method: Method, path: &str, length: usize) -> Vec<u8> {
        let mut header = format!(
            "{} {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {length}\r\n",
            method.name(),
            self.peer.address
        )
        .into_bytes();
        if let Some(token) = &self.token {
            header.extend_from_slice(b"Authorization: Bearer ");
            header.extend_from_slice(token.bytes());
            header.extend_from_slice(b"\r\n");
        }
        header.extend_from_slice(b"\r\n");
        header
    }

    /// Sends a request on the open connection and receives the response.
    fn send(
        connection: &mut Connection,
        message: &[u8],
        body: &mut Vec<u8>,
        deadline: Instant,
    ) -> Result<(Response, bool), ExchangeError> {
        connection.stream.set_deadline(Some(deadline));
        if !connection.is_sent(message, body)? {
            let sent = connection.stream.write_all(message).and_then(|()| connection.stream.flush());
            sent.map_err(|error| io_error(&error, "sending the request"))?;
        }
        Self::receive(connection, body)
    }

    /// Receives a response.
    fn receive(connection: &mut Connection, body: &mut Vec<u8>) -> Result<(Response, bool), ExchangeError> {
        let header_end = connection.receive_header()?;
        let header = ResponseHeader::parse(&connection.received[..header_end])?;
        connection.receive_body(header_end, header.length, body)?;
        Ok((Response { status: header.status }, header.is_kept_open))
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
        let mut message = self.header(method, path, request.len());
        message.extend_from_slice(request);
        let mut reused = self.connection.take();
        loop {
            let is_reused = reused.is_some();
            let mut connection = match reused.take() {
                Some(connection) => connection,
                None => self.connect(deadline)?,
            };
            match Self::send(&mut connection, &message, body, deadline) {
                Ok((response, is_kept_open)) => {
                    self.connection = is_kept_open.then_some(connection);
                    return Ok(response);
                }
                // The agent closes connections that are idle for long. Repeating the request does no harm.
                Err(ExchangeError::Broken(_)) if is_reused => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn is_open(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.stream.is_open())
    }

    fn close(&mut self) {
        self.connection = None;
    }

    fn peer(&self) -> &Peer {
        &self.peer
    }

    fn send_ahead(&mut self, method: Method, path: &str, request: &[u8]) -> bool {
        self.send_request_ahead(method, path, request)
    }

    fn receive_ahead(&mut self) -> Received {
        self.connection.as_mut().map_or(Received::Broken, Connection::receive_ahead)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.connection.as_ref().map(|connection| connection.stream.socket().as_fd())
    }
}

impl Connection {
    /// Receives the header of a response; returns its length.
    fn receive_header(&mut self) -> Result<usize, ExchangeError> {
        let mut searched = 0;
        loop {
            let from = usize::saturating_sub(searched, 3);
            if let Some(found) = self.received[from..].windows(4).position(|four| four == b"\r\n\r\n") {
                return Ok(from + found + 4);
            }
            searched = self.received.len();
            if searched > MAX_HEADER {
                return Err(ExchangeError::Invalid("its HTTP header is too long".to_owned()));
            }
            self.receive("waiting for the answer")?;
        }
    }

    /// Receives the body, of which `received` may have a part after the header.
    fn receive_body(
        &mut self,
        header_end: usize,
        length: usize,
        body: &mut Vec<u8>,
    ) -> Result<(), ExchangeError> {
        body.clear();
        self.received.drain(..header_end);
        while body.len() < length {
            if self.received.is_empty() {
                self.receive("receiving the answer")?;
            }
            let part = self.received.len().min(length - body.len());
            body.extend(self.received.drain(..part));
        }
        Ok(())
    }

    /// Receives at least one byte.
    fn receive(&mut self, step: &'static str) -> Result<(), ExchangeError> {
        match self.read() {
            Ok(0) => Err(ExchangeError::Broken("closed by the agent".to_owned())),
            Ok(_) => Ok(()),
            Err(error) => Err(io_error(&error, step)),
        }
    }

    /// Appends bytes to those that were received.
    fn read(&mut self) -> io::Result<usize> {
        let before = self.received.len();
        self.received.resize(before + CHUNK, 0);
        let read = self.stream.read(&mut self.received[before..]);
        self.received.truncate(before + read.as_ref().map_or(0, |&read| read));
        read
    }
}

/// The parts of a response's header that matter.
struct ResponseHeader {
    status: u16,
    length: usize,
    is_kept_open: bool,
}

impl ResponseHeader {
    fn parse(bytes: &[u8]) -> Result<Self, ExchangeError> {
        let invalid = |what: &str| ExchangeError::Invalid(format!("not HTTP/1.1: {what}"));
        let text = std::str::from_utf8(bytes).map_err(|_| invalid("the header is not text"))?;
        let mut lines = text.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let status = first.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        let status = status.ok_or_else(|| invalid("the first line"))?;
        let (mut length, mut is_kept_open) = (None, true);
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').ok_or_else(|| invalid("a line without ':'"))?;
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                let number = Some(value).filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
                let number = number.and_then(|value| value.parse::<usize>().ok());
                let number = number.filter(|&bytes| bytes <= MAX_RESPONSE_BYTES && length.is_none());
                length = Some(number.ok_or_else(|| invalid("the length is repeated or too large"))?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                return Err(invalid("a transfer encoding"));
            } else if name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close") {
                is_kept_open = false;
            }
        }
        match (length, status) {
            (Some(length), _) => Ok(Self { status, length, is_kept_open }),
            (None, 204) => Ok(Self { status, length: 0, is_kept_open }),
            (None, _) => Err(invalid("no length")),
        }
    }
}

impl Stream {
    fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => &stream.stream,
            Self::Tls(stream) => &stream.sock.stream,
        }
    }

    /// Whether the peer has neither closed the connection nor sent anything, such as the announcement that it closes it.
    fn is_open(&self) -> bool {
        let stream = self.socket();
        let is_quiet = stream.set_nonblocking(true).is_ok()
            && stream.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        stream.set_nonblocking(false).is_ok() && is_quiet
    }

    /// Sets when reads and writes end; `None`: they do not wait.
    fn set_deadline(&mut self, deadline: Option<Instant>) {
        match self {
            Self::Plain(stream) => stream.deadline = deadline,
            Self::Tls(stream) => stream.sock.deadline = deadline,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

impl TimedStream {
    /// The time that is left, for a socket option.
    fn left(deadline: Instant) -> io::Result<Option<Duration>> {
        time_left(deadline).map(Some).ok_or_else(|| ErrorKind::TimedOut.into())
    }
}

impl Read for TimedStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(deadline) = self.deadline else { return ahead::read_now(&self.stream, buffer) };
        self.stream.set_read_timeout(Self::left(deadline)?)?;
        self.stream.read(buffer)
    }
}

impl Write for TimedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(deadline) = self.deadline else { return ahead::write_now(&self.stream, bytes) };
        self.stream.set_write_timeout(Self::left(deadline)?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// The time until a deadline; `None` if it has passed.
fn time_left(deadline: Instant) -> Option<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    // A timeout below a microsecond would be rounded to none.
    (left >= Duration::from_micros(1)).then_some(left)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock)
}

fn io_error(error: &io::Error, step: &'static str) -> ExchangeError {
    match is_timeout(error) {
        true => ExchangeError::TimedOut(step),
        false => ExchangeError::Broken(text_of(error)),
    }
}

/// The text of an error of the operating system without its number.
fn text_of(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport").field("peer", &self.peer).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_connection_that_the_agent_closed_is_not_open() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let mut transport = HttpTransport::new("web1", "127.0.0.1", port, None, None).expect("a transport");
        assert!(!transport.is_open());
        let agent = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut request = [0; 4096];
            assert!(stream.read(&mut request).expect("a request") > 0);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").expect("a client");
            stream
        });
        let until = Instant::now() + Duration::from_secs(10);
        let mut body = Vec::new();
        let response = transport.exchange(Method::Get, "/agent/v1", &[], &mut body, until);
        assert_eq!((response, &*body), (Ok(Response { status: 200 }), &b"ok"[..]));
        let stream = agent.join().expect("no panic");
        assert!(transport.is_open());
        drop(stream);
        while transport.is_open() {
            assert!(Instant::now() < until, "the connection was closed");
            std::thread::yield_now();
        }
    }
}

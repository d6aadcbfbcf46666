//! An open connection: one request and its response at a time.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Instant;

use tachograph_counters::io_error_text;

use super::stream::{Stream, is_timeout};
use super::transport::{ExchangeError, Received};
use crate::limits::MAX_RESPONSE_BYTES;

/// Maximum length of a response's header.
const MAX_HEADER_BYTES: usize = 16 << 10;
/// Maximum size of a response that [`Connection::poll`] receives; a larger one is left to [`Connection::finish`].
pub(super) const MAX_POLLED_RESPONSE: usize = 1 << 20;
/// Size of the buffer for one read.
const READ_BYTES: usize = 8 << 10;

/// An open connection. An exchange that reaches its deadline can be continued.
pub(super) struct Connection {
    stream: Stream,
    /// The last request, and the number of its bytes that were sent.
    request: Vec<u8>,
    sent_bytes: usize,
    /// When the outstanding request was begun; `None` if no response is outstanding.
    begun_at: Option<Instant>,
    /// Received bytes that are not consumed yet.
    received: Vec<u8>,
    /// The header of the response once it is complete, and the part of the body that has arrived.
    header: Option<ResponseHeader>,
    body: Vec<u8>,
    /// The status of a response that [`poll`](Self::poll) has received, and whether the connection stays open.
    completed: Option<(u16, bool)>,
}

impl Connection {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            request: Vec::new(),
            sent_bytes: 0,
            begun_at: None,
            received: Vec::new(),
            header: None,
            body: Vec::new(),
            completed: None,
        }
    }

    /// When the outstanding request was begun.
    pub(super) fn begun_at(&self) -> Option<Instant> {
        self.begun_at
    }

    /// Whether a request equals the last one.
    pub(super) fn is_last_request(&self, request: &[u8]) -> bool {
        self.request == request
    }

    /// Begins an exchange. Swaps `request` with the previous request, so that its buffer can be reused.
    pub(super) fn begin(&mut self, request: &mut Vec<u8>) {
        std::mem::swap(&mut self.request, request);
        self.sent_bytes = 0;
        self.begun_at = Some(Instant::now());
        self.header = None;
        self.body.clear();
        self.completed = None;
    }

    /// Takes back the request of a connection that failed.
    pub(super) fn into_request(self) -> Vec<u8> {
        self.request
    }

    /// Sends the request and receives the response, or resumes doing so after a deadline. Returns the status, and whether the
    /// connection stays open.
    pub(super) fn finish(&mut self, deadline: Instant) -> Result<(u16, bool), ExchangeError> {
        let completed = match self.completed.take() {
            Some(completed) => completed,
            None => self.advance(Some(deadline))?,
        };
        self.begun_at = None;
        Ok(completed)
    }

    /// Like [`finish`](Self::finish), but does not wait, and receives a limited number of bytes. A complete response is returned by
    /// the next `finish`.
    pub(super) fn poll(&mut self) -> Received {
        if self.begun_at.is_none() {
            return Received::Broken;
        }
        if self.completed.is_none() {
            match self.advance(None) {
                Ok(completed) => self.completed = Some(completed),
                Err(ExchangeError::TimedOut(_)) => {
                    return match self.header {
                        Some(header) if header.length > MAX_POLLED_RESPONSE => Received::TooLarge,
                        _ if self.stream.timed().remaining_bytes == 0 => Received::More,
                        _ => Received::Part,
                    };
                }
                Err(_) => return Received::Broken,
            }
        }
        if self.completed.is_some_and(|(status, _)| status == 200) {
            Received::Complete
        } else {
            Received::Broken
        }
    }

    /// The socket.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.socket().as_fd()
    }

    /// Sends and receives until the response is complete, or until the deadline; `None`: without waiting.
    fn advance(&mut self, deadline: Option<Instant>) -> Result<(u16, bool), ExchangeError> {
        self.stream.set_deadline(deadline);
        self.send_remaining().map_err(|error| io_error(&error, "sending the request"))?;
        let header = match self.header {
            Some(header) => header,
            None => {
                let end = self.receive_header()?;
                let header = ResponseHeader::parse(&self.received[..end])?;
                self.received.drain(..end);
                *self.header.insert(header)
            }
        };
        while self.body.len() < header.length {
            if self.received.is_empty() {
                self.receive("receiving the answer")?;
            }
            let part = self.received.len().min(header.length - self.body.len());
            self.body.extend(self.received.drain(..part));
        }
        Ok((header.status, header.is_kept_open))
    }

    /// Swaps the body of the response with a buffer.
    pub(super) fn take_body(&mut self, body: &mut Vec<u8>) {
        std::mem::swap(&mut self.body, body);
    }

    fn send_remaining(&mut self) -> io::Result<()> {
        while self.sent_bytes < self.request.len() {
            match self.stream.write(&self.request[self.sent_bytes..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => self.sent_bytes += written,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.stream.flush()
    }

    /// Receives the header of a response; returns its length.
    fn receive_header(&mut self) -> Result<usize, ExchangeError> {
        let mut searched_bytes = 0;
        loop {
            let from = usize::saturating_sub(searched_bytes, 3);
            if let Some(found) = self.received[from..].windows(4).position(|four| four == b"\r\n\r\n") {
                return Ok(from + found + 4);
            }
            searched_bytes = self.received.len();
            if searched_bytes > MAX_HEADER_BYTES {
                return Err(ExchangeError::Invalid("its HTTP header is too long".to_owned()));
            }
            self.receive("waiting for the answer")?;
        }
    }

    /// Receives at least one byte.
    fn receive(&mut self, step: &'static str) -> Result<(), ExchangeError> {
        let length = self.received.len();
        self.received.resize(length + READ_BYTES, 0);
        let read = loop {
            match self.stream.read(&mut self.received[length..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.received.truncate(length + read.as_ref().map_or(0, |&read| read));
        match read {
            Ok(0) => Err(ExchangeError::Broken("closed by the agent".to_owned())),
            Ok(_) => Ok(()),
            Err(error) => Err(io_error(&error, step)),
        }
    }

    /// Whether no response is outstanding, and the peer has neither closed the connection nor sent anything, such as a TLS
    /// alert `close_notify`.
    pub(super) fn is_idle(&self) -> bool {
        let stream = self.stream.socket();
        let is_idle = stream.set_nonblocking(true).is_ok()
            && stream.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        stream.set_nonblocking(false).is_ok() && is_idle && self.begun_at.is_none()
    }
}

/// The fields of a response's header that are used.
#[derive(Clone, Copy, Debug)]
struct ResponseHeader {
    status: u16,
    length: usize,
    is_kept_open: bool,
}

impl ResponseHeader {
    fn parse(bytes: &[u8]) -> Result<Self, ExchangeError> {
        let invalid = |what: &str| ExchangeError::Invalid(format!("invalid HTTP/1.1 header: {what}"));
        let text = std::str::from_utf8(bytes).map_err(|_| invalid("not UTF-8"))?;
        let mut lines = text.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let status = first.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        let status = status.ok_or_else(|| invalid("invalid status line"))?;
        let (mut length, mut is_kept_open) = (None, true);
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').ok_or_else(|| invalid("a line without ':'"))?;
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                let number = Some(value).filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
                let number = number.and_then(|value| value.parse::<usize>().ok());
                let number = number.filter(|&bytes| bytes <= MAX_RESPONSE_BYTES && length.is_none());
                length =
                    Some(number.ok_or_else(|| invalid("Content-Length is invalid, repeated or too large"))?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                return Err(invalid("Transfer-Encoding is not supported"));
            } else if name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close") {
                is_kept_open = false;
            }
        }
        match (length, status) {
            (Some(length), _) => Ok(Self { status, length, is_kept_open }),
            (None, 204) => Ok(Self { status, length: 0, is_kept_open }),
            (None, _) => Err(invalid("Content-Length is missing")),
        }
    }
}

fn io_error(error: &io::Error, step: &'static str) -> ExchangeError {
    // With TLS 1.3, an agent refuses the client's certificate only after the handshake.
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    match cause {
        Some(rustls::Error::AlertReceived(alert)) => {
            ExchangeError::NotTrusted(super::tls::alert_message(*alert))
        }
        _ if is_timeout(error) => ExchangeError::TimedOut(step),
        _ => ExchangeError::Broken(io_error_text(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use rustix::net::sockopt::set_socket_recv_buffer_size;

    use super::*;
    use crate::client::stream::{MAX_POLL_BYTES, TimedStream};

    /// A connection on which an exchange was begun, and the thread of the agent, which has already begun to send its answer.
    fn connection_with_answer(length: usize) -> (Connection, std::thread::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        set_socket_recv_buffer_size(&stream, 200_000).expect("a socket");
        let agent = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
            stream.write_all(head.as_bytes()).expect("a client");
            stream.write_all(&vec![7; length]).expect("a client");
            // Closing the connection with unread data would reset it.
            assert!(stream.read(&mut [0; 100]).is_ok_and(|read| read > 0));
        });
        let mut connection = Connection::new(Stream::Plain(TimedStream::new(
            stream,
            Instant::now() + Duration::from_secs(20),
        )));
        connection.begin(&mut b"GET / HTTP/1.1\r\n\r\n".to_vec());
        let until = Instant::now() + Duration::from_secs(20);
        let mut buffer = vec![0; MAX_POLL_BYTES + 1000];
        while connection.stream.socket().peek(&mut buffer).expect("data") <= MAX_POLL_BYTES {
            assert!(Instant::now() < until, "the answer arrives");
            std::thread::yield_now();
        }
        (connection, agent)
    }

    #[test]
    fn a_call_that_does_not_wait_receives_a_limited_number_of_bytes() {
        let length = 3 * MAX_POLL_BYTES;
        let (mut connection, agent) = connection_with_answer(length);
        assert_eq!(connection.poll(), Received::More);
        assert!(connection.body.len() < MAX_POLL_BYTES);
        let until = Instant::now() + Duration::from_secs(20);
        while connection.poll() != Received::Complete {
            assert!(Instant::now() < until, "the rest arrives");
        }
        assert_eq!(connection.finish(until).map_err(|error| error.to_string()), Ok((200, true)));
        assert_eq!(connection.body, vec![7; length]);
        agent.join().expect("no panic");
    }

    /// A TLS session reads its socket until it has data. Messages without data, such as session tickets, must not make it read
    /// any number of bytes.
    #[test]
    fn a_socket_that_does_not_wait_receives_a_limited_number_of_bytes() {
        let (mut connection, agent) = connection_with_answer(3 * MAX_POLL_BYTES);
        connection.stream.set_deadline(None);
        let Stream::Plain(stream) = &mut connection.stream else { panic!("not encrypted") };
        let mut received = 0;
        let error = loop {
            match stream.read(&mut [0; 1000]) {
                Ok(length) => received += length,
                Err(error) => break error,
            }
        };
        assert_eq!((received, is_timeout(&error)), (MAX_POLL_BYTES, true));
        // The rest, so that the agent can send all of its answer.
        let until = Instant::now() + Duration::from_secs(20);
        connection.stream.set_deadline(Some(until));
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 3 * MAX_POLL_BYTES).len();
        let mut rest = vec![0; head + 3 * MAX_POLL_BYTES - received];
        connection.stream.read_exact(&mut rest).expect("the rest");
        connection.send_remaining().expect("an agent");
        agent.join().expect("no panic");
    }

    #[test]
    fn a_large_answer_is_received_only_by_a_call_that_waits() {
        let length = MAX_POLLED_RESPONSE + 1;
        let (mut connection, agent) = connection_with_answer(length);
        assert_eq!(connection.poll(), Received::TooLarge);
        assert_eq!(connection.poll(), Received::TooLarge);
        let until = Instant::now() + Duration::from_secs(20);
        assert_eq!(connection.finish(until).map_err(|error| error.to_string()), Ok((200, true)));
        assert_eq!(connection.body.len(), length);
        agent.join().expect("no panic");
    }
}

//! The transport over TCP and TLS: HTTP/1.1 with a connection that is kept open, and a deadline for each exchange.

use std::fmt;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use tachograph_counters::io_error_text;

use super::connection::Connection;
use super::dialer::{Dialer, MAX_ATTEMPT_AGE};
use super::stream::{Stream, TimedStream, TlsStream, is_timeout};
use super::tls::{ClientIdentity, Tls, Trust};
use super::transport::{ExchangeError, Method, Peer, Received, Response, Transport};
use crate::token::Token;

/// Maximum time from a request to its answer, over several exchanges. After that, the connection is abandoned, because the kernel
/// retransmits a request that was lost in an outage only after a long delay.
const MAX_ANSWER_TIME: Duration = Duration::from_secs(1);

/// A transport over TCP, with TLS unless the agent is on this machine. It connects when it is first used, and blocks until
/// the response has arrived or the deadline has passed.
///
/// After a deadline, the next exchange resumes what was in progress: resolving the host name, connecting, the TLS handshake,
/// or waiting for an answer. So an agent is reached even if that takes longer than one exchange. The answer to an earlier
/// request is discarded, unless the next request is the same.
pub struct HttpTransport {
    peer: Peer,
    host: String,
    port: u16,
    tls: Option<Tls>,
    token: Option<Token>,
    dialer: Dialer,
    /// A TLS handshake in progress, and when it was begun.
    handshake: Option<(TlsStream, Instant)>,
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
        let bracketed_host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let peer = Peer { machine: machine.to_owned(), address: format!("{bracketed_host}:{port}") };
        Ok(Self {
            peer,
            host: host.to_owned(),
            port,
            tls,
            token,
            dialer: Dialer::default(),
            handshake: None,
            connection: None,
            request: Vec::new(),
        })
    }

    /// Connects, or resumes connecting.
    fn connect(&mut self, deadline: Instant) -> Result<Connection, ExchangeError> {
        loop {
            let resumed = self.handshake.take().filter(|(_, begun_at)| begun_at.elapsed() < MAX_ATTEMPT_AGE);
            let is_resumed = resumed.is_some();
            let (stream, begun_at) = match resumed {
                Some(resumed) => resumed,
                None => {
                    let stream = self.dialer.connect(&self.host, self.port, deadline)?;
                    let stream = TimedStream::new(stream, deadline);
                    match &self.tls {
                        None => return Ok(Connection::new(Stream::Plain(stream))),
                        Some(tls) => (self.start_session(tls, stream)?, Instant::now()),
                    }
                }
            };
            match self.complete_handshake(stream, begun_at, deadline) {
                // The agent may have closed the connection in the meantime.
                Err(ExchangeError::Broken(_)) if is_resumed => {}
                outcome => return outcome,
            }
        }
    }

    fn start_session(&self, tls: &Tls, stream: TimedStream) -> Result<TlsStream, ExchangeError> {
        let name = ServerName::try_from(self.host.clone())
            .map_err(|_| ExchangeError::Unreachable(format!("'{}' is not a host name", self.host)))?;
        let session = ClientConnection::new(tls.config.clone(), name)
            .map_err(|error| ExchangeError::Invalid(error.to_string()))?;
        Ok(Box::new(StreamOwned::new(session, stream)))
    }

    /// Performs the TLS handshake, or resumes it.
    fn complete_handshake(
        &mut self,
        mut stream: TlsStream,
        begun_at: Instant,
        deadline: Instant,
    ) -> Result<Connection, ExchangeError> {
        stream.sock.deadline = Some(deadline);
        while stream.conn.is_handshaking() {
            if let Err(error) = stream.conn.complete_io(&mut stream.sock) {
                if is_timeout(&error) {
                    self.handshake = Some((stream, begun_at));
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
                ExchangeError::NotTrusted(tls.refusal_reason(cause))
            }
            (Some(rustls::Error::AlertReceived(alert)), _) => {
                ExchangeError::NotTrusted(super::tls::alert_message(*alert))
            }
            (Some(cause), _) => ExchangeError::Invalid(format!("not TLS, or damaged: {cause}")),
            (None, _) => ExchangeError::Broken(format!("TLS handshake: {}", io_error_text(error))),
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
    fn receive_late_answer(
        &mut self,
        body: &mut Vec<u8>,
        deadline: Instant,
    ) -> Result<Option<Response>, ExchangeError> {
        let Some(mut connection) = self.connection.take() else { return Ok(None) };
        let Some(begun_at) = connection.begun_at() else {
            self.connection = Some(connection);
            return Ok(None);
        };
        let is_same = connection.is_last_request(&self.request);
        // Waits at least a moment, to receive an answer that has already arrived.
        let until = (begun_at + MAX_ANSWER_TIME).max(Instant::now() + Duration::from_millis(5));
        match connection.finish(deadline.min(until)) {
            Ok((status, is_kept_open)) => {
                if is_same {
                    connection.take_body(body);
                }
                self.connection = is_kept_open.then_some(connection);
                Ok(is_same.then_some(Response { status }))
            }
            Err(ExchangeError::TimedOut(step)) if begun_at.elapsed() < MAX_ANSWER_TIME => {
                self.connection = Some(connection);
                Err(ExchangeError::TimedOut(step))
            }
            // The caller connects again, and repeats the request.
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
        if let Some(response) = self.receive_late_answer(body, deadline)? {
            return Ok(response);
        }
        loop {
            let (mut connection, is_reused) = match self.connection.take() {
                Some(connection) => (connection, true),
                None => (self.connect(deadline)?, false),
            };
            connection.begin(&mut self.request);
            match connection.finish(deadline) {
                Ok((status, is_kept_open)) => {
                    connection.take_body(body);
                    self.connection = is_kept_open.then_some(connection);
                    return Ok(Response { status });
                }
                Err(ExchangeError::TimedOut(step)) => {
                    self.connection = Some(connection);
                    return Err(ExchangeError::TimedOut(step));
                }
                // The agent closes connections that have been idle for long. The request can safely be repeated.
                Err(ExchangeError::Broken(_)) if is_reused => self.request = connection.into_request(),
                Err(error) => return Err(error),
            }
        }
    }

    fn is_open(&self) -> bool {
        self.connection.as_ref().is_some_and(Connection::is_idle)
    }

    fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    fn close(&mut self) {
        self.connection = None;
        self.handshake = None;
        self.dialer.reset();
    }

    fn peer(&self) -> &Peer {
        &self.peer
    }

    fn has_token(&self) -> bool {
        self.token.is_some()
    }

    fn send_ahead(&mut self, method: Method, path: &str, request: &[u8]) -> bool {
        // The answer to an earlier request must be received first.
        let Some(mut connection) = self.connection.take_if(|connection| connection.begun_at().is_none())
        else {
            return false;
        };
        self.write_request(method, path, request);
        connection.begin(&mut self.request);
        if connection.poll() == Received::Broken {
            return false;
        }
        self.connection = Some(connection);
        true
    }

    fn receive_ahead(&mut self) -> Received {
        self.connection.as_mut().map_or(Received::Broken, Connection::poll)
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
mod tests;

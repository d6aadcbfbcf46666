//! Exchanging a request and a response with an agent.

use std::fmt;
use std::os::fd::BorrowedFd;
use std::time::Instant;

use tachograph_perflib::ErrorCode;

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Opens a query, or collects.
    Post,
    /// Closes a query.
    Delete,
}

impl Method {
    /// The name in HTTP.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// A response: its HTTP status. The body is in the caller's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
}

/// Exchanges messages with an agent. Implementations connect when necessary, and close the connection after an error other
/// than [`ExchangeError::TimedOut`].
pub trait Transport: Send + fmt::Debug {
    /// Sends a request, and receives the response's body into `body`, which is overwritten.
    ///
    /// # Errors
    ///
    /// If the agent cannot be reached or is not the expected one, if the deadline passes, or if the response is not valid HTTP
    /// or is longer than [`MAX_RESPONSE_BYTES`](crate::limits::MAX_RESPONSE_BYTES).
    fn exchange(
        &mut self,
        method: Method,
        path: &str,
        request: &[u8],
        body: &mut Vec<u8>,
        deadline: Instant,
    ) -> Result<Response, ExchangeError>;

    /// Whether a connection is open, so that the next exchange need not connect.
    fn is_open(&self) -> bool;

    /// Whether a connection is established, even if the answer to an earlier request is still outstanding.
    fn is_connected(&self) -> bool {
        self.is_open()
    }

    /// Closes the connection without waiting.
    fn close(&mut self);

    /// The agent that the transport connects to, for messages.
    fn peer(&self) -> &Peer;

    /// Whether a token is sent to the agent.
    fn has_token(&self) -> bool {
        true
    }

    /// Sends a request without waiting. [`exchange`](Self::exchange) with the same request then receives the response. Returns
    /// false if the request cannot be sent, for example because no connection is open.
    fn send_ahead(&mut self, method: Method, path: &str, request: &[u8]) -> bool {
        let _ = (method, path, request);
        false
    }

    /// Receives, without waiting, what has arrived of the response to the request of [`send_ahead`](Self::send_ahead).
    fn receive_ahead(&mut self) -> Received {
        Received::Broken
    }

    /// The socket of the open connection, which becomes readable when a part of a response arrives.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// How much of a response has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// A part of the response.
    Part,
    /// A part of the response. The limit of one call was reached, and more may have arrived already.
    More,
    /// The response is too large for the thread that serves all machines. [`Transport::exchange`] receives it.
    TooLarge,
    /// The whole response, with HTTP status 200.
    Complete,
    /// The connection has failed or was closed, no request was sent ahead, or the response is an error.
    Broken,
}

/// The address and name of an agent, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The name of the machine, without backslashes.
    pub machine: String,
    /// The address as configured: host and port.
    pub address: String,
}

/// Why an exchange failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExchangeError {
    /// Nothing answers at the address. Contains the cause.
    Unreachable(String),
    /// The connection was closed or failed after it was established. Contains the cause.
    Broken(String),
    /// The deadline passed. Contains the step that took too long.
    TimedOut(&'static str),
    /// The peer is not the expected agent, for example because it has another certificate. Contains the cause.
    NotTrusted(String),
    /// The response is invalid.
    Invalid(String),
}

impl ExchangeError {
    /// The Win32 code of the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Unreachable(_) | Self::Broken(_) => ErrorCode::SERVER_UNAVAILABLE,
            Self::TimedOut(_) => ErrorCode::TIMEOUT,
            Self::NotTrusted(_) => ErrorCode::ACCESS_DENIED,
            Self::Invalid(_) => ErrorCode::INVALID_DATA,
        }
    }

    /// A message with the address, and what to do. An agent that has answered before, so its entry in machines.toml is right,
    /// needs no advice if it cannot be reached for some time.
    pub fn describe(&self, peer: &Peer, has_answered: bool) -> String {
        let Peer { machine, address } = peer;
        let (what, advice) = match self {
            Self::Unreachable(cause) => (
                format!("no agent answers at {address} ({cause})"),
                format!(
                    "start one on that machine with 'tacho agent', and check the address of '{machine}' in machines.toml"
                ),
            ),
            Self::Broken(cause) => (
                format!("the connection to the agent at {address} failed ({cause})"),
                "check that 'tacho agent' is running there, and that no other program uses the port"
                    .to_owned(),
            ),
            Self::TimedOut(step) => (
                format!("the agent at {address} did not answer in time ({step})"),
                format!("check that '{machine}' is up, and that no firewall blocks the port"),
            ),
            Self::NotTrusted(cause) => return format!("the agent at {address} is not trusted: {cause}"),
            Self::Invalid(cause) => {
                return format!(
                    "the agent at {address} sent an invalid answer ({cause}); check that both machines have the same \
                     version of tacho, and that the port is the agent's"
                );
            }
        };
        if has_answered { what } else { format!("{what}; {advice}") }
    }
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(cause) => write!(f, "unreachable: {cause}"),
            Self::Broken(cause) => write!(f, "connection failed: {cause}"),
            Self::TimedOut(step) => write!(f, "timed out: {step}"),
            Self::NotTrusted(cause) => write!(f, "not trusted: {cause}"),
            Self::Invalid(cause) => write!(f, "invalid answer: {cause}"),
        }
    }
}

impl std::error::Error for ExchangeError {}

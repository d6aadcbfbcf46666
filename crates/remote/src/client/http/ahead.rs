//! Requests that are sent ahead, whose responses are received without waiting.

use std::io::{self, ErrorKind, Write as _};
use std::net::TcpStream;

use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::{Connection, HttpTransport, MAX_HEADER, ResponseHeader};
use crate::client::transport::{ExchangeError, Method, Received};

impl HttpTransport {
    /// Sends a request over the open connection; see [`Transport::send_ahead`](super::Transport::send_ahead).
    pub(super) fn send_request_ahead(&mut self, method: Method, path: &str, request: &[u8]) -> bool {
        let Some(mut connection) = self.connection.take() else { return false };
        if connection.ahead.is_some() {
            // Its response was not received yet.
            self.connection = Some(connection);
            return false;
        }
        let mut message = self.header(method, path, request.len());
        message.extend_from_slice(request);
        connection.stream.set_deadline(None);
        let sent = connection.stream.write_all(&message).and_then(|()| connection.stream.flush());
        if sent.is_err() {
            // A part of the request may have been sent, so the connection is of no use.
            return false;
        }
        connection.ahead = Some(message);
        self.connection = Some(connection);
        true
    }
}

impl Connection {
    /// Whether this message was sent ahead. Receives and drops the response to another one.
    pub(super) fn is_sent(&mut self, message: &[u8], body: &mut Vec<u8>) -> Result<bool, ExchangeError> {
        match self.ahead.take() {
            None => Ok(false),
            Some(ahead) if ahead == message => Ok(true),
            Some(_) => match HttpTransport::receive(self, body)? {
                (_, true) => Ok(false),
                (_, false) => Err(ExchangeError::Broken("closed by the agent".to_owned())),
            },
        }
    }

    /// Receives what has arrived of the response to the request that was sent ahead.
    pub(super) fn receive_ahead(&mut self) -> Received {
        if self.ahead.is_none() {
            return Received::Broken;
        }
        self.stream.set_deadline(None);
        loop {
            match self.received_response() {
                Received::Part => {}
                received => return received,
            }
            match self.read() {
                Ok(0) => return Received::Broken,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Received::Part,
                Err(_) => return Received::Broken,
            }
        }
    }

    /// How much of the response is among the received bytes, whose number the limits of headers and bodies bound.
    fn received_response(&self) -> Received {
        let Some(end) = self.received.windows(4).position(|four| four == b"\r\n\r\n") else {
            return if self.received.len() > MAX_HEADER { Received::Broken } else { Received::Part };
        };
        match ResponseHeader::parse(&self.received[..end + 4]) {
            Ok(ResponseHeader { status: 200, length, .. }) => {
                if self.received.len() - (end + 4) < length {
                    Received::Part
                } else {
                    Received::Complete
                }
            }
            _ => Received::Broken,
        }
    }
}

/// Reads what has arrived.
pub(super) fn read_now(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(recv(stream, buffer, RecvFlags::DONTWAIT)?.0)
}

/// Writes as much as there is room for.
pub(super) fn write_now(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    Ok(send(stream, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
}

//! The byte stream of a connection, over TCP or TLS.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustls::{ClientConnection, StreamOwned};

/// Maximum number of bytes that a stream without a deadline receives, because it is read by the thread that serves all
/// machines.
pub(super) const MAX_POLL_BYTES: usize = 64 << 10;

/// A TLS session over a connection.
pub(super) type TlsStream = Box<StreamOwned<ClientConnection, TimedStream>>;

pub(super) enum Stream {
    Plain(TimedStream),
    Tls(TlsStream),
}

/// A TCP connection whose reads and writes time out at a deadline, or do not block.
pub(super) struct TimedStream {
    stream: TcpStream,
    /// `None`: reads and writes do not block.
    pub(super) deadline: Option<Instant>,
    /// How many more bytes reads that do not block may receive. All bytes of the connection count, because TLS messages
    /// without data, of which an agent can send any number, take time too.
    pub(super) remaining_bytes: usize,
}

impl Stream {
    pub(super) fn socket(&self) -> &TcpStream {
        &self.timed().stream
    }

    pub(super) fn timed(&self) -> &TimedStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => &stream.sock,
        }
    }

    /// Sets when reads and writes time out; with `None`, they do not block, and receive at most [`MAX_POLL_BYTES`] bytes in total.
    pub(super) fn set_deadline(&mut self, deadline: Option<Instant>) {
        let stream = match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => &mut stream.sock,
        };
        (stream.deadline, stream.remaining_bytes) = (deadline, MAX_POLL_BYTES);
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
    pub(super) fn new(stream: TcpStream, deadline: Instant) -> Self {
        Self { stream, deadline: Some(deadline), remaining_bytes: 0 }
    }

    /// The time until the deadline, as a timeout of the socket.
    fn timeout(deadline: Instant) -> io::Result<Option<Duration>> {
        let remaining = deadline.saturating_duration_since(Instant::now());
        // A timeout below a microsecond would be rounded to 0, which means no timeout.
        let timeout = (remaining >= Duration::from_micros(1)).then_some(remaining);
        timeout.map(Some).ok_or_else(|| ErrorKind::TimedOut.into())
    }
}

impl Read for TimedStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(deadline) = self.deadline else {
            let length = buffer.len().min(self.remaining_bytes);
            if length == 0 {
                return Err(ErrorKind::WouldBlock.into());
            }
            let received = recv(&self.stream, &mut buffer[..length], RecvFlags::DONTWAIT)?.0;
            self.remaining_bytes -= received;
            return Ok(received);
        };
        self.stream.set_read_timeout(Self::timeout(deadline)?)?;
        self.stream.read(buffer)
    }
}

impl Write for TimedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(deadline) = self.deadline else {
            return Ok(send(&self.stream, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?);
        };
        self.stream.set_write_timeout(Self::timeout(deadline)?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

pub(super) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock)
}

//! Messages to and from the kernel (netlink(7)): lists of connections and of queueing disciplines, records of ended processes.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{recvfrom, send, socket_with};

/// How long to wait for an answer. The kernel answers immediately, unless a filter blocks the request.
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum size of a list in bytes; a longer list is an error.
const MAX_BYTES: u64 = 1 << 30;

/// The size of `struct nlmsghdr`.
pub(crate) const HEAD_BYTES: usize = 16;
/// The maximum size of the body of a request.
const MAX_REQUEST: usize = 256;

/// The maximum number of messages to examine until the kernel acknowledges a request.
const MAX_ANSWERS: usize = 10_000;

/// The bits of an attribute's type without flags.
const NLA_TYPE: u16 = 0x3fff;

const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_ACK: u16 = 0x4;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_NOOP: u16 = 1;
pub(crate) const NLMSG_ERROR: u16 = 2;
pub(crate) const NLMSG_DONE: u16 = 3;

/// A netlink socket for querying lists.
#[derive(Debug)]
pub(crate) struct NetlinkSocket {
    socket: OwnedFd,
    /// The sequence number of the last request. The kernel copies it into its answers.
    sequence: u32,
}

/// A function that is called with the body of each message of a list.
pub(crate) type EachMessage<'a> = dyn FnMut(&[u8]) -> io::Result<()> + 'a;

impl NetlinkSocket {
    /// Opens a socket. The default protocol is `NETLINK_ROUTE`, which is 0: interfaces and routes.
    ///
    /// # Errors
    ///
    /// When the kernel or a sandbox does not allow such sockets.
    pub(crate) fn open(protocol: Option<Protocol>) -> io::Result<Self> {
        let kind = (AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC);
        let socket = socket_with(kind.0, kind.1, kind.2, protocol)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(RECEIVE_TIMEOUT))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// The socket, for queries about interfaces.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    #[cfg(test)]
    pub(crate) fn from_socket(socket: OwnedFd) -> Self {
        Self { socket, sequence: 0 }
    }

    /// Requests a list, and calls `each` with the body of each of its messages, which are of type `kind`. Answers are read
    /// into `buffer`.
    ///
    /// # Errors
    ///
    /// When the kernel returns an error, no answer, or something other than such a list. The socket may then still
    /// hold part of the answer and must not be used again.
    pub(crate) fn dump(
        &mut self,
        request: u16,
        body: &[u8],
        buffer: &mut [u8],
        kind: u16,
        each: &mut EachMessage<'_>,
    ) -> io::Result<()> {
        self.send(request, NLM_F_DUMP, body)?;
        let mut bytes = 0_u64;
        loop {
            let (length, is_from_kernel) = self.receive_into(buffer, RecvFlags::empty())?;
            bytes = bytes.saturating_add(length as u64);
            if bytes > MAX_BYTES {
                return Err(io::Error::other("the list has no end"));
            }
            if !is_from_kernel {
                continue;
            }
            let answer = check_complete(buffer, length)?;
            if for_each_message(answer, self.sequence, kind, each)?.is_break() {
                return Ok(());
            }
        }
    }

    /// Sends a request and waits until the kernel acknowledges it. Calls `each` with the bodies of the answers.
    ///
    /// # Errors
    ///
    /// When the kernel returns an error or no answer.
    pub(crate) fn request(
        &mut self,
        request: u16,
        body: &[u8],
        buffer: &mut [u8],
        each: &mut dyn FnMut(&[u8]),
    ) -> io::Result<()> {
        self.send(request, NLM_F_ACK, body)?;
        for _ in 0..MAX_ANSWERS {
            let (length, is_from_kernel) = match self.receive_into(buffer, RecvFlags::empty()) {
                // Unrelated messages have filled the receive buffer.
                Err(Errno::NOBUFS) => continue,
                received => received?,
            };
            let answer = check_complete(buffer, length)?;
            if let (true, Some((head, body))) = (is_from_kernel, answer.split_first_chunk::<HEAD_BYTES>())
                && head[8..12] == self.sequence.to_ne_bytes()
            {
                if head[4..6] == NLMSG_ERROR.to_ne_bytes() {
                    return decode_result(body);
                }
                each(body);
            }
        }
        Err(malformed_answer(format_args!("without a result")))
    }

    /// The next message of the kernel, without blocking; `None` if no message has arrived.
    ///
    /// # Errors
    ///
    /// `ENOBUFS` if messages were lost since the last call, because the receive buffer was full. Later messages can
    /// still be received.
    pub(crate) fn try_receive<'a>(&self, buffer: &'a mut [u8]) -> Result<Option<&'a [u8]>, Errno> {
        loop {
            match self.receive_into(buffer, RecvFlags::DONTWAIT) {
                // A message that is longer than the buffer is truncated, which its parser detects.
                Ok((length, true)) => return Ok(buffer.get(..length.min(buffer.len()))),
                Ok((_, false)) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends a request with a new sequence number, without waiting for an answer.
    ///
    /// # Errors
    ///
    /// When the request is too long or the kernel refuses it.
    pub(crate) fn send(&mut self, request: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        if body.len() > MAX_REQUEST {
            return Err(io::Error::other(format!("a request of {} bytes is too long", body.len())));
        }
        self.sequence = self.sequence.wrapping_add(1);
        let mut message = [0; HEAD_BYTES + MAX_REQUEST];
        let length = HEAD_BYTES + body.len();
        let mut put = |at: usize, bytes: &[u8]| message[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &(length as u32).to_ne_bytes());
        put(4, &request.to_ne_bytes());
        put(6, &(NLM_F_REQUEST | flags).to_ne_bytes());
        put(8, &self.sequence.to_ne_bytes());
        put(HEAD_BYTES, body);
        while let Err(error) = send(&self.socket, &message[..length], SendFlags::empty()) {
            if error != Errno::INTR {
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// The length of the next message, which can be longer than the buffer, and whether it is from the kernel. Other
    /// processes can send to this socket; their messages must be ignored.
    fn receive_into(&self, buffer: &mut [u8], flags: RecvFlags) -> Result<(usize, bool), Errno> {
        loop {
            match recvfrom(&self.socket, &mut *buffer, RecvFlags::TRUNC | flags) {
                Ok((_, length, sender)) => {
                    let from_kernel =
                        |sender| SocketAddrNetlink::try_from(sender).is_ok_and(|sender| sender.pid() == 0);
                    return Ok((length, sender.is_some_and(from_kernel)));
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The received message; an error if it was truncated because it is longer than the buffer.
fn check_complete(buffer: &[u8], length: usize) -> io::Result<&[u8]> {
    buffer
        .get(..length)
        .ok_or_else(|| malformed_answer(format_args!("of {length} bytes, longer than its buffer")))
}

/// Calls `each` with the body of each message of an answer; breaks at the end of the list. Messages must be of type `listed`.
pub(crate) fn for_each_message(
    mut answer: &[u8],
    sequence: u32,
    listed: u16,
    each: &mut EachMessage<'_>,
) -> io::Result<ControlFlow<()>> {
    while !answer.is_empty() {
        let Some((head, _)) = answer.split_first_chunk::<HEAD_BYTES>() else {
            return Err(malformed_answer(format_args!("with {} bytes after its last message", answer.len())));
        };
        let [l0, l1, l2, l3, k0, k1, _, _, s0, s1, s2, s3, ..] = *head;
        let length = u32::from_ne_bytes([l0, l1, l2, l3]) as usize;
        let kind = u16::from_ne_bytes([k0, k1]);
        let Some(body) = answer.get(HEAD_BYTES..length) else {
            let rest = answer.len();
            return Err(malformed_answer(format_args!(
                "with a message of {length} bytes where there are {rest}"
            )));
        };
        // Ignore answers to earlier requests.
        if u32::from_ne_bytes([s0, s1, s2, s3]) == sequence {
            match kind {
                kind if kind == listed => each(body)?,
                NLMSG_DONE => return decode_result(body).map(|()| ControlFlow::Break(())),
                NLMSG_ERROR => {
                    decode_result(body)?;
                    return Err(malformed_answer(format_args!("without a list")));
                }
                NLMSG_NOOP => {}
                kind => return Err(malformed_answer(format_args!("with a message of type {kind}"))),
            }
        }
        // Messages begin at multiples of four bytes; the last one may be unpadded.
        answer = answer.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(ControlFlow::Continue(()))
}

/// Decodes the result at the end of a list or in an error message: 0 or a negative errno.
fn decode_result(body: &[u8]) -> io::Result<()> {
    match body.first_chunk().map(|number| i32::from_ne_bytes(*number)) {
        // Old kernels end the list without a result.
        None | Some(0..) => Ok(()),
        Some(number) => Err(io::Error::from_raw_os_error(number.saturating_neg())),
    }
}

/// The error for an answer that is not as expected.
pub(crate) fn malformed_answer(what: std::fmt::Arguments<'_>) -> io::Error {
    io::Error::other(format!("an answer of the kernel {what}"))
}

/// Calls `each` with the type and value of each attribute; stops at a malformed one.
pub(crate) fn each_attribute<'a>(mut attributes: &'a [u8], mut each: impl FnMut(u16, &'a [u8])) {
    while let Some(([l0, l1, k0, k1], _)) = attributes.split_first_chunk::<4>() {
        let length = usize::from(u16::from_ne_bytes([*l0, *l1]));
        let Some(value) = attributes.get(4..length) else { return };
        each(u16::from_ne_bytes([*k0, *k1]) & NLA_TYPE, value);
        attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

/// Reads a number from the beginning of `bytes`.
pub(crate) fn read_u32(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// Reads a number from the beginning of `bytes`.
pub(crate) fn read_u64(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
}

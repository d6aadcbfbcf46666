//! Lists from the kernel over netlink (netlink(7)): connections, queueing disciplines.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{recvfrom, send, socket_with};

/// The receive timeout. The kernel answers immediately, unless a filter blocks the request.
const PATIENCE: Duration = Duration::from_secs(1);

/// The maximum size of a list; a longer list is an error.
const MAX_BYTES: u64 = 1 << 30;

/// `struct nlmsghdr`.
pub(super) const HEAD_BYTES: usize = 16;
/// The maximum size of the body of a request.
const MAX_REQUEST: usize = 64;

const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_NOOP: u16 = 1;
pub(super) const NLMSG_ERROR: u16 = 2;
pub(super) const NLMSG_DONE: u16 = 3;

/// A netlink socket for querying lists.
#[derive(Debug)]
pub(super) struct NetlinkSocket {
    socket: OwnedFd,
    /// The sequence number of the last request. The kernel copies it into its answers.
    sequence: u32,
}

/// Receives the body of each message of a list.
pub(super) type EachMessage<'a> = dyn FnMut(&[u8]) -> io::Result<()> + 'a;

impl NetlinkSocket {
    /// Opens a socket; without a protocol, for interfaces and routes (`NETLINK_ROUTE`, which is 0).
    ///
    /// # Errors
    ///
    /// When the kernel or a sandbox does not allow such sockets.
    pub(super) fn open(protocol: Option<Protocol>) -> io::Result<Self> {
        let kind = (AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC);
        let socket = socket_with(kind.0, kind.1, kind.2, protocol)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// The socket, for queries about interfaces.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    #[cfg(test)]
    pub(super) fn of_socket(socket: OwnedFd) -> Self {
        Self { socket, sequence: 0 }
    }

    /// Requests a list of messages of type `kind`. Answers are read into `buffer`.
    ///
    /// # Errors
    ///
    /// When the kernel returns an error, no answer, or something other than such a list. The socket may then still
    /// hold part of the answer and must not be used again.
    pub(super) fn dump(
        &mut self,
        request: u16,
        body: &[u8],
        buffer: &mut [u8],
        kind: u16,
        each: &mut EachMessage<'_>,
    ) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut message = [0; HEAD_BYTES + MAX_REQUEST];
        let length = HEAD_BYTES + body.len().min(MAX_REQUEST);
        let mut put = |at: usize, bytes: &[u8]| message[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &(length as u32).to_ne_bytes());
        put(4, &request.to_ne_bytes());
        put(6, &(NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
        put(8, &self.sequence.to_ne_bytes());
        put(HEAD_BYTES, &body[..length - HEAD_BYTES]);
        while let Err(error) = send(&self.socket, &message[..length], SendFlags::empty()) {
            if error != Errno::INTR {
                return Err(error.into());
            }
        }
        let mut bytes = 0_u64;
        loop {
            let (length, sender) = match recvfrom(&self.socket, &mut *buffer, RecvFlags::TRUNC) {
                Ok((_, length, sender)) => (length, sender),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            bytes = bytes.saturating_add(length as u64);
            if bytes > MAX_BYTES {
                return Err(io::Error::other("the list has no end"));
            }
            // Other processes can send to this socket; ignore their messages.
            let from_kernel =
                |sender| SocketAddrNetlink::try_from(sender).is_ok_and(|sender| sender.pid() == 0);
            if !sender.is_some_and(from_kernel) {
                continue;
            }
            let Some(answer) = buffer.get(..length) else {
                return Err(wrong(format_args!("of {length} bytes, longer than its buffer")));
            };
            if push_answer(answer, self.sequence, kind, each)?.is_break() {
                return Ok(());
            }
        }
    }
}

/// Reports the messages of an answer; breaks at the end of the list.
pub(super) fn push_answer(
    mut answer: &[u8],
    sequence: u32,
    listed: u16,
    each: &mut EachMessage<'_>,
) -> io::Result<ControlFlow<()>> {
    while !answer.is_empty() {
        let Some((head, _)) = answer.split_first_chunk::<HEAD_BYTES>() else {
            return Err(wrong(format_args!("with {} bytes after its last message", answer.len())));
        };
        let [l0, l1, l2, l3, k0, k1, _, _, s0, s1, s2, s3, ..] = *head;
        let length = u32::from_ne_bytes([l0, l1, l2, l3]) as usize;
        let kind = u16::from_ne_bytes([k0, k1]);
        let Some(body) = answer.get(HEAD_BYTES..length) else {
            let rest = answer.len();
            return Err(wrong(format_args!("with a message of {length} bytes where there are {rest}")));
        };
        // Ignore answers to earlier requests.
        if u32::from_ne_bytes([s0, s1, s2, s3]) == sequence {
            match kind {
                kind if kind == listed => each(body)?,
                NLMSG_DONE => return outcome(body).map(|()| ControlFlow::Break(())),
                NLMSG_ERROR => {
                    outcome(body)?;
                    return Err(wrong(format_args!("without a list")));
                }
                NLMSG_NOOP => {}
                kind => return Err(wrong(format_args!("with a message of type {kind}"))),
            }
        }
        // Messages begin at multiples of four bytes; the last one may be unpadded.
        answer = answer.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(ControlFlow::Continue(()))
}

/// Decodes the result at the end of a list or in an error message: 0 or a negative errno.
fn outcome(body: &[u8]) -> io::Result<()> {
    match body.first_chunk().map(|number| i32::from_ne_bytes(*number)) {
        // Old kernels end the list without a result.
        None | Some(0..) => Ok(()),
        Some(number) => Err(io::Error::from_raw_os_error(number.saturating_neg())),
    }
}

pub(super) fn wrong(what: std::fmt::Arguments<'_>) -> io::Error {
    io::Error::other(format!("an answer of the kernel {what}"))
}

//! Open TCP connections over IPv6, from the kernel's socket diagnostics (netlink, sock_diag(7)).

use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{recvfrom, send, socket_with};

/// The receive timeout. The kernel answers immediately, unless a filter blocks the request.
const PATIENCE: Duration = Duration::from_secs(1);

/// The maximum size of the list of connections; a longer list is an error.
const MAX_BYTES: u64 = 1 << 30;

/// `struct nlmsghdr`.
const HEAD_BYTES: usize = 16;
/// `struct inet_diag_req_v2`.
const REQUEST_BYTES: usize = 56;
/// `struct inet_diag_msg`, possibly followed by attributes.
const CONNECTION_BYTES: usize = 72;
/// Offsets in `struct inet_diag_msg`: the state and the remote address.
const STATE: usize = 1;
const REMOTE: usize = 24;

const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_NOOP: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
const ESTABLISHED: u8 = 1;
const CLOSE_WAIT: u8 = 8;

/// The prefix of IPv4-mapped addresses, `::ffff:a.b.c.d`.
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/// A netlink socket for querying connections.
#[derive(Debug)]
pub(super) struct Diagnostics {
    socket: OwnedFd,
    /// The sequence number of the last request. The kernel copies it into its answers.
    sequence: u32,
}

impl Diagnostics {
    /// Opens the socket.
    ///
    /// # Errors
    ///
    /// When the kernel or a sandbox does not allow such sockets.
    pub(super) fn open() -> io::Result<Self> {
        let kind = (AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC);
        let socket = socket_with(kind.0, kind.1, kind.2, Some(netlink::SOCK_DIAG))?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        Ok(Self { socket, sequence: 0 })
    }

    #[cfg(test)]
    pub(super) fn of_socket(socket: OwnedFd) -> Self {
        Self { socket, sequence: 0 }
    }

    /// The number of IPv6 connections that are established, or closed by the remote end only, without IPv4-mapped
    /// ones. Answers are read into `buffer`.
    ///
    /// # Errors
    ///
    /// When the kernel returns an error, no answer, or something other than a list of connections. The socket may
    /// then still hold part of the answer and must not be used again.
    pub(super) fn count(&mut self, buffer: &mut [u8]) -> io::Result<u64> {
        self.sequence = self.sequence.wrapping_add(1);
        let request = request(self.sequence);
        while let Err(error) = send(&self.socket, &request, SendFlags::empty()) {
            if error != Errno::INTR {
                return Err(error.into());
            }
        }
        let (mut count, mut bytes) = (0, 0_u64);
        loop {
            let (length, sender) = match recvfrom(&self.socket, &mut *buffer, RecvFlags::TRUNC) {
                Ok((_, length, sender)) => (length, sender),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            bytes = bytes.saturating_add(length as u64);
            if bytes > MAX_BYTES {
                return Err(io::Error::other("the list of connections has no end"));
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
            if push_answer(answer, self.sequence, &mut count)?.is_break() {
                return Ok(count);
            }
        }
    }
}

/// A request for the IPv6 connections that are established, or closed by the remote end only.
fn request(sequence: u32) -> [u8; HEAD_BYTES + REQUEST_BYTES] {
    let mut request = [0; HEAD_BYTES + REQUEST_BYTES];
    let mut put = |at: usize, bytes: &[u8]| request[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &((HEAD_BYTES + REQUEST_BYTES) as u32).to_ne_bytes());
    put(4, &SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    put(6, &(NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    put(8, &sequence.to_ne_bytes());
    put(HEAD_BYTES, &[AF_INET6, IPPROTO_TCP]);
    put(HEAD_BYTES + 4, &(1_u32 << ESTABLISHED | 1 << CLOSE_WAIT).to_ne_bytes());
    request
}

/// Adds the connections of an answer to `count`; breaks at the end of the list.
fn push_answer(mut answer: &[u8], sequence: u32, count: &mut u64) -> io::Result<ControlFlow<()>> {
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
                SOCK_DIAG_BY_FAMILY => *count += u64::from(is_open(body)?),
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

/// Whether a connection is open and its remote address is not IPv4-mapped.
fn is_open(connection: &[u8]) -> io::Result<bool> {
    if connection.len() < CONNECTION_BYTES || connection[0] != AF_INET6 {
        let length = connection.len();
        return Err(wrong(format_args!("with a connection of {length} bytes, or of another family")));
    }
    let is_open = matches!(connection[STATE], ESTABLISHED | CLOSE_WAIT);
    Ok(is_open && !connection[REMOTE..].starts_with(&MAPPED))
}

/// Decodes the result at the end of a list or in an error message: 0 or a negative errno.
fn outcome(body: &[u8]) -> io::Result<()> {
    match body.first_chunk().map(|number| i32::from_ne_bytes(*number)) {
        // Old kernels end the list without a result.
        None | Some(0..) => Ok(()),
        Some(number) => Err(io::Error::from_raw_os_error(number.saturating_neg())),
    }
}

fn wrong(what: std::fmt::Arguments<'_>) -> io::Error {
    io::Error::other(format!("an answer of sock_diag {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
        let mut message = ((HEAD_BYTES + body.len()) as u32).to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.extend([0; 2]);
        message.extend(sequence.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(body);
        message.resize(message.len().next_multiple_of(4), 0);
        message
    }

    /// A connection with attributes whose length is not a multiple of four.
    fn connection(state: u8, remote: [u8; 16]) -> Vec<u8> {
        let mut body = vec![0; CONNECTION_BYTES + 5];
        body[..2].copy_from_slice(&[AF_INET6, state]);
        body[REMOTE..REMOTE + 16].copy_from_slice(&remote);
        message(SOCK_DIAG_BY_FAMILY, 7, &body)
    }

    const V6: [u8; 16] = [0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 1];
    const V4: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1];

    fn count(answer: &[u8]) -> Result<(u64, bool), String> {
        let mut count = 0;
        let flow = push_answer(answer, 7, &mut count).map_err(|error| error.to_string())?;
        Ok((count, flow.is_break()))
    }

    #[test]
    fn open_connections_are_counted() {
        let list = [connection(1, V6), connection(8, V6), connection(1, V4), connection(10, V6)].concat();
        assert_eq!(count(&list), Ok((2, false)));
        let done = message(NLMSG_DONE, 7, &0_i32.to_ne_bytes());
        assert_eq!(count(&[list.clone(), done.clone()].concat()), Ok((2, true)));
        // Messages after the end and answers to other requests do not count.
        assert_eq!(count(&[done, list.clone()].concat()), Ok((0, true)));
        let mut count = 0;
        assert!(push_answer(&list, 8, &mut count).is_ok_and(|flow| flow.is_continue()));
        assert_eq!(count, 0);
    }

    #[test]
    fn kernel_errors_are_errors() {
        let refused = |kind| count(&message(kind, 7, &(-13_i32).to_ne_bytes())).expect_err("refused");
        assert!(refused(NLMSG_ERROR).contains("Permission denied"));
        assert!(refused(NLMSG_DONE).contains("Permission denied"));
        assert!(count(&message(NLMSG_ERROR, 7, &i32::MIN.to_ne_bytes())).is_err());
        assert!(count(&message(NLMSG_ERROR, 7, &0_i32.to_ne_bytes())).is_err());
        assert!(count(&message(4, 7, &[])).is_err());
        // The end of a list without a result, as old kernels send it.
        assert_eq!(count(&message(NLMSG_DONE, 7, &[])), Ok((0, true)));
    }

    #[test]
    fn malformed_answers_are_errors() {
        let list = [connection(1, V6), connection(1, V6)].concat();
        let whole = count(&list).expect("whole").0;
        for length in 0..list.len() {
            let cut = count(&list[..length]);
            assert!(
                cut.is_err() || cut.is_ok_and(|(count, is_end)| count < whole && !is_end || length > 180)
            );
        }
        for bit in 0..list.len() * 8 {
            let mut flipped = list.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Ok((count, is_end)) = count(&flipped) {
                assert!(count <= whole && !is_end, "bit {bit}: {count}");
            }
        }
        let short = message(SOCK_DIAG_BY_FAMILY, 7, &[AF_INET6; CONNECTION_BYTES - 1]);
        assert!(count(&short).is_err());
    }
}

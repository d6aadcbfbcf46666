//! Open TCP connections over IPv6, from the kernel's socket diagnostics (netlink, sock_diag(7)).

use std::io;
#[cfg(test)]
use std::os::fd::OwnedFd;

use rustix::net::netlink;

use crate::netlink::{NetlinkSocket, malformed_answer};

/// The size of `struct inet_diag_req_v2`.
const REQUEST_BYTES: usize = 56;
/// The size of `struct inet_diag_msg`, which attributes can follow.
const CONNECTION_BYTES: usize = 72;
/// Offsets in `struct inet_diag_msg`: the state and the remote address.
const STATE: usize = 1;
const REMOTE: usize = 24;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
const ESTABLISHED: u8 = 1;
const CLOSE_WAIT: u8 = 8;
const LISTEN: u8 = 10;

/// The prefix of IPv4-mapped addresses, `::ffff:a.b.c.d`.
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/// A netlink socket for querying connections.
#[derive(Debug)]
pub(super) struct Diagnostics(NetlinkSocket);

impl Diagnostics {
    /// Opens the socket.
    ///
    /// # Errors
    ///
    /// When the kernel or a sandbox does not allow such sockets.
    pub(super) fn open() -> io::Result<Self> {
        NetlinkSocket::open(Some(netlink::SOCK_DIAG)).map(Self)
    }

    #[cfg(test)]
    pub(super) fn from_socket(socket: OwnedFd) -> Self {
        Self(NetlinkSocket::from_socket(socket))
    }

    /// Counts the IPv6 connections that are established, or closed only by the remote end, without IPv4-mapped ones.
    /// Answers are read into `buffer`.
    ///
    /// # Errors
    ///
    /// When the kernel returns an error, no answer, or something other than a list of connections. The socket may
    /// then still hold part of the answer and must not be used again.
    pub(super) fn count_open(&mut self, buffer: &mut [u8]) -> io::Result<u64> {
        self.count(&[ESTABLISHED, CLOSE_WAIT], buffer, is_open)
    }

    /// Counts the IPv6 sockets that listen, including those for IPv4-mapped addresses.
    ///
    /// # Errors
    ///
    /// As for [`count_open`](Self::count_open).
    pub(super) fn count_listening(&mut self, buffer: &mut [u8]) -> io::Result<u64> {
        self.count(&[LISTEN], buffer, |socket| Ok(state(socket)? == LISTEN))
    }

    /// Counts the IPv6 sockets in these states for which `is` returns true.
    fn count(
        &mut self,
        states: &[u8],
        buffer: &mut [u8],
        is: fn(&[u8]) -> io::Result<bool>,
    ) -> io::Result<u64> {
        let mut count = 0;
        self.0.dump(SOCK_DIAG_BY_FAMILY, &request(states), buffer, SOCK_DIAG_BY_FAMILY, &mut |socket| {
            count += u64::from(is(socket)?);
            Ok(())
        })?;
        Ok(count)
    }
}

/// The body of a request for the IPv6 sockets in these states.
fn request(states: &[u8]) -> [u8; REQUEST_BYTES] {
    let mut request = [0; REQUEST_BYTES];
    request[..2].copy_from_slice(&[AF_INET6, IPPROTO_TCP]);
    let states = states.iter().fold(0_u32, |states, state| states | 1 << state);
    request[4..8].copy_from_slice(&states.to_ne_bytes());
    request
}

/// The state of a socket.
fn state(socket: &[u8]) -> io::Result<u8> {
    if socket.len() < CONNECTION_BYTES || socket[0] != AF_INET6 {
        let length = socket.len();
        return Err(malformed_answer(format_args!(
            "with a connection of {length} bytes, or of another family"
        )));
    }
    Ok(socket[STATE])
}

/// Whether a connection is open and its remote address is not IPv4-mapped.
fn is_open(connection: &[u8]) -> io::Result<bool> {
    let is_open = matches!(state(connection)?, ESTABLISHED | CLOSE_WAIT);
    Ok(is_open && !connection[REMOTE..].starts_with(&MAPPED))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::{HEAD_BYTES, NLMSG_DONE, NLMSG_ERROR, for_each_message};

    fn count_answer(answer: &[u8], sequence: u32, count: &mut u64) -> io::Result<std::ops::ControlFlow<()>> {
        for_each_message(answer, sequence, SOCK_DIAG_BY_FAMILY, &mut |connection| {
            *count += u64::from(is_open(connection)?);
            Ok(())
        })
    }

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
        let flow = count_answer(answer, 7, &mut count).map_err(|error| error.to_string())?;
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
        assert!(count_answer(&list, 8, &mut count).is_ok_and(|flow| flow.is_continue()));
        assert_eq!(count, 0);
    }

    #[test]
    fn errors_of_the_kernel_are_reported() {
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

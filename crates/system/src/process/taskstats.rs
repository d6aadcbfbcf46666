//! Requests for the kernel's statistics of tasks (generic netlink, taskstats).
//!
//! Requests require `CAP_NET_ADMIN`, and the initial PID, user and network namespaces.

use std::io;

use rustix::io::Errno;
use rustix::net::netlink;

use crate::netlink::{NetlinkSocket, each_attribute, read_u64};

/// The size of the receive buffer. A message has at most two `struct taskstats`, of 416 bytes each in Linux 5.19.
pub(super) const BUFFER_BYTES: usize = 16 << 10;

/// The size of `struct genlmsghdr`: command, version, two reserved bytes.
pub(super) const GENL_BYTES: usize = 4;

const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const FAMILY_NAME: &[u8] = b"TASKSTATS\0";

const TASKSTATS_CMD_GET: u8 = 1;
const TASKSTATS_CMD_ATTR_TGID: u16 = 2;

pub(super) const TASKSTATS_TYPE_STATS: u16 = 3;
/// The type of an attribute with the statistics of a thread.
pub(super) const TASKSTATS_TYPE_AGGR_PID: u16 = 4;
/// The type of an attribute with the statistics of all threads of a process.
pub(super) const TASKSTATS_TYPE_AGGR_TGID: u16 = 5;

/// A socket for requests about tasks.
#[derive(Debug)]
pub(super) struct Taskstats {
    pub(super) socket: NetlinkSocket,
    /// The id of the generic netlink family.
    pub(super) family: u16,
    pub(super) buffer: Vec<u8>,
}

/// The bytes of a `struct taskstats`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statistics<'a>(pub(super) &'a [u8]);

impl Taskstats {
    /// Opens a socket.
    ///
    /// # Errors
    ///
    /// When a sandbox does not permit it, or the kernel has no such statistics.
    pub(super) fn open() -> io::Result<Self> {
        let mut socket = NetlinkSocket::open(Some(netlink::GENERIC))?;
        let mut buffer = vec![0; BUFFER_BYTES];
        let family = find_family(&mut socket, &mut buffer)?;
        Ok(Self { socket, family, buffer })
    }

    /// Sends a request with one attribute, and calls `each` with the bodies of the answers.
    pub(super) fn request(&mut self, attribute: (u16, &[u8]), each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let mut body = [0; MAX_REQUEST];
        let body = request(TASKSTATS_CMD_GET, Some(attribute), &mut body)?;
        self.socket.request(self.family, body, &mut self.buffer, each)
    }

    /// Sends a request without waiting for an answer.
    pub(super) fn send(&mut self, attribute: (u16, &[u8])) -> io::Result<()> {
        let mut body = [0; MAX_REQUEST];
        self.socket.send(self.family, 0, request(TASKSTATS_CMD_GET, Some(attribute), &mut body)?)
    }

    /// Requests the statistics of all threads of a process, and calls `each` with them.
    ///
    /// # Errors
    ///
    /// `ESRCH` if the process has ended; otherwise the kernel's error.
    pub(super) fn query_process(&mut self, id: u32, each: &mut dyn FnMut(Statistics<'_>)) -> io::Result<()> {
        self.request((TASKSTATS_CMD_ATTR_TGID, &id.to_ne_bytes()), &mut |body| {
            let attributes = body.get(GENL_BYTES..).unwrap_or_default();
            if let Some(statistics) = Statistics::find(attributes, TASKSTATS_TYPE_AGGR_TGID) {
                each(statistics);
            }
        })
    }
}

impl<'a> Statistics<'a> {
    /// The statistics in the attribute of type `aggregate`.
    pub(super) fn find(attributes: &'a [u8], aggregate: u16) -> Option<Self> {
        attribute(attribute(attributes, aggregate)?, TASKSTATS_TYPE_STATS).map(Self)
    }

    /// The 64-bit number at an offset.
    pub(super) fn number(self, offset: usize) -> Option<u64> {
        self.0.get(offset..).and_then(read_u64)
    }
}

/// The value of the last attribute of this type.
fn attribute(attributes: &[u8], kind: u16) -> Option<&[u8]> {
    let mut found = None;
    each_attribute(attributes, |other, value| {
        if other == kind {
            found = Some(value);
        }
    });
    found
}

/// The reason why statistics are unavailable, as readable text.
pub(super) fn unavailable_reason(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::PERM | Errno::ACCESS) => "permission denied: requires CAP_NET_ADMIN".into(),
        Some(Errno::INVAL) => "not available in a PID namespace or a user namespace".into(),
        _ => error.to_string(),
    }
}

/// The id of the family, from the kernel's list of families.
fn find_family(socket: &mut NetlinkSocket, buffer: &mut [u8]) -> io::Result<u16> {
    let mut found = None;
    let mut body = [0; MAX_REQUEST];
    let list = request(CTRL_CMD_GETFAMILY, None, &mut body)?;
    socket.dump(GENL_ID_CTRL, list, buffer, GENL_ID_CTRL, &mut |message| {
        let (mut id, mut is_taskstats) = (None, false);
        each_attribute(message.get(GENL_BYTES..).unwrap_or_default(), |kind, value| match kind {
            CTRL_ATTR_FAMILY_ID => id = value.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes)),
            CTRL_ATTR_FAMILY_NAME => is_taskstats = value == FAMILY_NAME,
            _ => {}
        });
        found = found.or(id.filter(|_| is_taskstats));
        Ok(())
    })?;
    found.ok_or_else(|| {
        io::Error::other("the kernel has none (CONFIG_TASKSTATS), or not in this network namespace")
    })
}

/// The maximum size of the body of a request.
const MAX_REQUEST: usize = 256;

/// The body of a generic netlink request, with at most one attribute.
fn request<'a>(
    command: u8,
    attribute: Option<(u16, &[u8])>,
    body: &'a mut [u8; MAX_REQUEST],
) -> io::Result<&'a [u8]> {
    body[..GENL_BYTES].copy_from_slice(&[command, 1, 0, 0]);
    let Some((kind, value)) = attribute else { return Ok(&body[..GENL_BYTES]) };
    let start = GENL_BYTES + 4;
    let Some(place) = body.get_mut(start..start + value.len()) else {
        return Err(io::Error::other(format!("an attribute of {} bytes is too long", value.len())));
    };
    place.copy_from_slice(value);
    let length = 4 + value.len();
    body[GENL_BYTES..GENL_BYTES + 2].copy_from_slice(&(length as u16).to_ne_bytes());
    body[GENL_BYTES + 2..start].copy_from_slice(&kind.to_ne_bytes());
    Ok(&body[..(GENL_BYTES + length.next_multiple_of(4)).min(MAX_REQUEST)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_the_bytes_of_the_kernels_structures() {
        let body =
            |command, attribute| request(command, attribute, &mut [0; MAX_REQUEST]).map(<[u8]>::to_vec);
        assert_eq!(body(3, None).expect("short"), [3, 1, 0, 0]);
        let bytes = body(1, Some((3, b"0-1\0"))).expect("short");
        assert_eq!(bytes, [1, 1, 0, 0, 8, 0, 3, 0, b'0', b'-', b'1', 0]);
        assert_eq!(body(1, Some((4, b"0\0"))).expect("short")[4..], [6, 0, 4, 0, b'0', 0, 0, 0]);
        assert!(body(1, Some((3, &[0; 248]))).is_ok() && body(1, Some((3, &[0; 249]))).is_err());
    }
}

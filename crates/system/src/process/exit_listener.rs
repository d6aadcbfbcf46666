//! The kernel's records of ended processes (generic netlink, taskstats).
//!
//! The kernel sends them to a socket that is registered for the processors on which processes end. That requires
//! `CAP_NET_ADMIN`, and the first PID, user and network namespaces.

use std::fs;
use std::io;

use rustix::io::Errno;
use rustix::net::netlink;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;

use super::exit_record::{self, ExitRecord, GENL_BYTES, MIN_VERSION};
use crate::netlink::{NetlinkSocket, each_attribute};
use crate::roots::Roots;

/// The size of the receive buffer, which the kernel doubles. It needs 1.4 KB for a process with one thread and 7 KB for
/// one with three. So this suffices for 3,000 of the former per second if there is a sample every 30 s. Memory is used
/// only for records that wait.
const RECEIVE_BYTES: usize = 64 << 20;

/// The maximum number of records in one call of [`ExitListener::receive`]. More cannot wait in the kernel.
pub(super) const MAX_RECORDS: usize = 1 << 17;

/// A message has at most two `struct taskstats`, of 416 bytes in Linux 5.19.
const BUFFER_BYTES: usize = 16 << 10;

const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const FAMILY_NAME: &[u8] = b"TASKSTATS\0";

const TASKSTATS_CMD_GET: u8 = 1;
const TASKSTATS_CMD_ATTR_PID: u16 = 1;
const TASKSTATS_CMD_ATTR_REGISTER_CPUMASK: u16 = 3;
const TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK: u16 = 4;

/// A socket that receives a record of each process that ends.
#[derive(Debug)]
pub(super) struct ExitListener {
    socket: NetlinkSocket,
    family: u16,
    /// The possible processors, such as `0-3`, with a zero at the end.
    processors: Vec<u8>,
    buffer: Vec<u8>,
}

/// Records that could not be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// Some records were lost. Those that follow can be received.
    Some,
    /// The listener cannot be used any more.
    All,
}

impl ExitListener {
    /// Opens a socket and registers it.
    ///
    /// # Errors
    ///
    /// When the kernel does not permit it, has no such records, or has an old version of them.
    pub(super) fn open(roots: &Roots) -> io::Result<Self> {
        Self::with_receive_bytes(roots, RECEIVE_BYTES)
    }

    fn with_receive_bytes(roots: &Roots, receive_bytes: usize) -> io::Result<Self> {
        let mut processors = fs::read(roots.sys.join("devices/system/cpu/possible"))?.trim_ascii().to_vec();
        processors.push(0);
        let mut socket = NetlinkSocket::open(Some(netlink::GENERIC))?;
        let mut buffer = vec![0; BUFFER_BYTES];
        let family = find_family(&mut socket, &mut buffer)?;
        check_version(&mut socket, family, &mut buffer)?;
        set_socket_recv_buffer_size_force(socket.as_fd(), receive_bytes)?;
        let mut listener = Self { socket, family, processors, buffer };
        let register = listener.registration(TASKSTATS_CMD_ATTR_REGISTER_CPUMASK);
        listener.socket.request(family, &register, &mut listener.buffer, &mut |_| {})?;
        Ok(listener)
    }

    /// Receives the records that have arrived, without blocking. Threads of living processes have none.
    pub(super) fn receive(&mut self, mut each: impl FnMut(ExitRecord)) -> Result<(), Loss> {
        let mut loss = Ok(());
        for _ in 0..MAX_RECORDS {
            match self.socket.try_receive(&mut self.buffer) {
                Ok(None) => return loss,
                Ok(Some(message)) => match exit_record::parse(message, self.family) {
                    Ok(Some(record)) => each(record),
                    Ok(None) => {}
                    Err(_) => loss = Err(Loss::Some),
                },
                Err(Errno::NOBUFS) => loss = Err(Loss::Some),
                Err(_) => return Err(Loss::All),
            }
        }
        // Records that are received later than others of their time would be attributed to the wrong interval.
        Err(Loss::All)
    }

    fn registration(&self, kind: u16) -> Vec<u8> {
        request(TASKSTATS_CMD_GET, Some((kind, &self.processors)))
    }
}

impl Drop for ExitListener {
    /// Otherwise the kernel keeps the registration for the next socket with the same port, which gets the records.
    fn drop(&mut self) {
        let deregister = self.registration(TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK);
        let _ = self.socket.send(self.family, 0, &deregister);
    }
}

/// Why records are unavailable, as a text for people.
pub(super) fn unavailable(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::PERM | Errno::ACCESS) => "permission denied: requires CAP_NET_ADMIN".into(),
        Some(Errno::INVAL) => "not available in a PID namespace or a user namespace".into(),
        _ => error.to_string(),
    }
}

/// The id of the family, from the kernel's list of families.
fn find_family(socket: &mut NetlinkSocket, buffer: &mut [u8]) -> io::Result<u16> {
    let mut found = None;
    let list = request(CTRL_CMD_GETFAMILY, None);
    socket.dump(GENL_ID_CTRL, &list, buffer, GENL_ID_CTRL, &mut |message| {
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

/// Checks the version of the statistics in those of this process.
fn check_version(socket: &mut NetlinkSocket, family: u16, buffer: &mut [u8]) -> io::Result<()> {
    let own = request(TASKSTATS_CMD_GET, Some((TASKSTATS_CMD_ATTR_PID, &std::process::id().to_ne_bytes())));
    let mut version = None;
    socket.request(family, &own, buffer, &mut |body| version = exit_record::version(body).or(version))?;
    match version {
        Some(MIN_VERSION..) => Ok(()),
        version => {
            let version = version.unwrap_or_default();
            Err(io::Error::other(format!(
                "version {version} is too old; requires {MIN_VERSION} (Linux 5.19)"
            )))
        }
    }
}

/// The body of a generic netlink request, with one attribute.
fn request(command: u8, attribute: Option<(u16, &[u8])>) -> Vec<u8> {
    let mut body = vec![command, 1, 0, 0];
    if let Some((kind, value)) = attribute {
        body.extend(((4 + value.len()) as u16).to_ne_bytes());
        body.extend(kind.to_ne_bytes());
        body.extend(value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    body
}

#[cfg(test)]
mod tests;

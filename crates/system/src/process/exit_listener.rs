//! The kernel's records of ended processes (generic netlink, taskstats).
//!
//! The kernel sends them to a socket that is registered for the processors on which processes end. Registering requires
//! `CAP_NET_ADMIN`, and the initial PID, user and network namespaces.

use std::fs;
use std::io;

use rustix::io::Errno;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;

use super::exit_record::{self, ExitRecord, MIN_VERSION};
use super::taskstats::Taskstats;
use crate::roots::Roots;

/// The size of the receive buffer, which the kernel doubles. A process with one thread needs 1.4 KB, one with three threads
/// 7 KB. So this suffices for 3,000 single-threaded processes per second if there is a sample every 30 s. Only records that
/// have not been received use memory.
const RECEIVE_BYTES: usize = 64 << 20;

/// The maximum number of records in one call of [`ExitListener::receive`]. The receive buffer cannot hold more.
pub(super) const MAX_RECORDS: usize = 1 << 17;

const TASKSTATS_CMD_ATTR_PID: u16 = 1;
const TASKSTATS_CMD_ATTR_REGISTER_CPUMASK: u16 = 3;
const TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK: u16 = 4;

/// A socket that receives a record of each process that ends.
#[derive(Debug)]
pub(super) struct ExitListener {
    taskstats: Taskstats,
    /// The possible processors, such as `0-3`, with a zero at the end.
    processors: Vec<u8>,
}

/// Records that could not be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// Some records were lost. Later records can be received.
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
        let mut taskstats = Taskstats::open()?;
        check_version(&mut taskstats)?;
        set_socket_recv_buffer_size_force(taskstats.socket.as_fd(), receive_bytes)?;
        taskstats.request((TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, &processors), &mut |_| {})?;
        Ok(Self { taskstats, processors })
    }

    /// Receives the records that have arrived, without blocking. A thread that ends before its process has no record.
    pub(super) fn receive(&mut self, mut each: impl FnMut(ExitRecord)) -> Result<(), Loss> {
        let Taskstats { socket, family, buffer } = &mut self.taskstats;
        let mut loss = Ok(());
        for _ in 0..MAX_RECORDS {
            match socket.try_receive(buffer) {
                Ok(None) => return loss,
                Ok(Some(message)) => match exit_record::parse(message, *family) {
                    Ok(Some(record)) => each(record),
                    Ok(None) => {}
                    Err(_) => loss = Err(Loss::Some),
                },
                Err(Errno::NOBUFS) => loss = Err(Loss::Some),
                Err(_) => return Err(Loss::All),
            }
        }
        // More records have arrived. If they were received later, they would be attributed to the wrong interval.
        Err(Loss::All)
    }
}

impl Drop for ExitListener {
    /// Deregisters the socket. Otherwise the kernel would send the records to the next socket with the same port.
    fn drop(&mut self) {
        let _ = self.taskstats.send((TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK, &self.processors));
    }
}

/// Checks the version of the kernel's statistics by requesting those of this process.
fn check_version(taskstats: &mut Taskstats) -> io::Result<()> {
    let mut version = None;
    let own = std::process::id().to_ne_bytes();
    taskstats.request((TASKSTATS_CMD_ATTR_PID, &own), &mut |body| {
        version = exit_record::version(body).or(version);
    })?;
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

#[cfg(test)]
mod tests;

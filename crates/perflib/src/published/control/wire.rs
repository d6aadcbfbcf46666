//! Sends requests and receives answers over the socket next to a published file. Only [`Wire::poll`] blocks.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send,
    socket_with, sockopt::socket_peercred,
};
use tachograph_shm::control::{ANSWER, Request};

/// A socket, with output that has not been sent yet and the first bytes of an incomplete answer.
#[derive(Debug)]
pub(super) struct Wire {
    socket: OwnedFd,
    output: Vec<u8>,
    input: Vec<u8>,
}

impl Wire {
    /// Connects without blocking. The process at the other end must belong to `owner`, the owner of the file.
    pub(super) fn connect(path: &Path, owner: u32) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &SocketAddrUnix::new(path)?)?;
        let peer = socket_peercred(&socket)?;
        if peer.uid.as_raw() != owner {
            return Err(io::Error::other("its socket belongs to another user"));
        }
        Ok(Self { socket, output: Vec::new(), input: Vec::new() })
    }

    /// Queues a request for [`send`](Self::send).
    pub(super) fn push(&mut self, request: &Request) {
        request.encode(&mut self.output);
    }

    /// Sends as much as possible without blocking.
    pub(super) fn send(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            match send(&self.socket, &self.output, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => drop(self.output.drain(..sent)),
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Calls `handle` with the code of each answer that has arrived.
    pub(super) fn receive(&mut self, mut handle: impl FnMut(u32) -> io::Result<()>) -> io::Result<()> {
        let mut bytes = [0; 256];
        loop {
            let count = match recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(io::ErrorKind::ConnectionReset.into()),
                Ok((count, _)) => count,
                Err(rustix::io::Errno::AGAIN) => return Ok(()),
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            for &byte in &bytes[..count] {
                self.input.push(byte);
                if let Ok(answer) = <[u8; ANSWER]>::try_from(&self.input[..]) {
                    self.input.clear();
                    handle(u32::from_le_bytes(answer))?;
                }
            }
        }
    }

    /// Waits until the socket is readable or, if there is unsent output, writable. Returns false after the timeout.
    pub(super) fn poll(&self, timeout: Duration) -> io::Result<bool> {
        let mut events = PollFlags::IN;
        if !self.output.is_empty() {
            events |= PollFlags::OUT;
        }
        let is_over = timeout.is_zero();
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&self.socket, events)], Some(&timeout)) {
            Ok(ready) => Ok(ready > 0),
            // Interrupted by a signal. True lets the caller poll again with the remaining time.
            Err(rustix::io::Errno::INTR) => Ok(!is_over),
            Err(error) => Err(error.into()),
        }
    }
}

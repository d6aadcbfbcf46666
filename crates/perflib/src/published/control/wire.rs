//! The bytes of requests and answers, over the socket beside a file. Nothing here waits but [`Wire::poll`].

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send,
    socket_with, sockopt::socket_peercred,
};
use tachograph_shm::control::{ANSWER, Request};

use crate::published::member::Member;

/// A socket with what has still to be sent, and the beginning of an answer.
#[derive(Debug)]
pub(super) struct Wire {
    socket: OwnedFd,
    output: Vec<u8>,
    input: Vec<u8>,
}

impl Wire {
    /// A connection to the socket beside a file, made without waiting; whoever answers must be the owner of the file.
    pub(super) fn connect(member: &Member) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let path = member.folder().socket_path(member.file_name());
        connect(&socket, &SocketAddrUnix::new(path)?)?;
        let peer = socket_peercred(&socket)?;
        if peer.uid.as_raw() != member.key().owner {
            return Err(io::Error::other("the socket beside its file is another user's"));
        }
        Ok(Self { socket, output: Vec::new(), input: Vec::new() })
    }

    /// Adds a request to what has to be sent.
    pub(super) fn push(&mut self, request: &Request) {
        request.encode(&mut self.output);
    }

    /// Sends what can be sent at once.
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

    /// Hands out the answers that came.
    pub(super) fn receive(&mut self, mut take: impl FnMut(u32) -> io::Result<()>) -> io::Result<()> {
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
                    take(u32::from_le_bytes(answer))?;
                }
            }
        }
    }

    /// Waits until there is something to read, or room to write where something has to be written.
    pub(super) fn poll(&self, timeout: Duration) -> io::Result<bool> {
        let mut events = PollFlags::IN;
        if !self.output.is_empty() {
            events |= PollFlags::OUT;
        }
        let is_over = timeout.is_zero();
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&self.socket, events)], Some(&timeout)) {
            Ok(ready) => Ok(ready > 0),
            // A signal: the deadline is looked at again.
            Err(rustix::io::Errno::INTR) => Ok(!is_over),
            Err(error) => Err(error.into()),
        }
    }
}

//! `TCPv6`: the counters that Linux provides separately for TCP over IPv6.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows};

use super::diagnostics::Diagnostics;
use super::tcp::{ESTABLISHED_V6, TABLE_V6};
use crate::error_texts::unreadable_failure;
use crate::ordered::split_complete_lines;
use crate::roots::Roots;
use crate::scan::{lines, words};

/// Counts open connections with socket diagnostics. If these are unavailable, counts them in `/proc/net/tcp6`, which
/// takes more than ten times as long, because the kernel generates that file from its whole connection table.
pub(super) struct ConnectionsV6 {
    info: Arc<CounterSetInfo>,
    instance: Arc<InstanceKey>,
    path: PathBuf,
    method: Method,
    file: Option<File>,
    buffer: Vec<u8>,
}

/// How connections are counted.
enum Method {
    /// Unknown; socket diagnostics are tried first.
    Untried,
    Diagnostics(Diagnostics),
    File,
}

/// The connection table is read in chunks of this size.
const CHUNK_BYTES: usize = 64 << 10;

/// The maximum size of the connection table; a longer table is an error.
const MAX_BYTES: u64 = 1 << 30;

impl ConnectionsV6 {
    /// Creates the provider; `None` without IPv6.
    pub(super) fn new(roots: &Roots) -> Option<Self> {
        let path = roots.proc.join("net/tcp6");
        File::open(&path).ok()?;
        let info = TABLE_V6.info();
        // Socket diagnostics always describe this machine, so with any other `/proc` the file is used.
        let method = if roots.proc == Path::new("/proc") { Method::Untried } else { Method::File };
        Some(Self { info, instance: Arc::default(), path, method, file: None, buffer: Vec::new() })
    }

    /// Counts the open connections.
    fn count(&mut self) -> io::Result<u64> {
        if self.buffer.is_empty() {
            self.buffer.resize(CHUNK_BYTES, 0);
        }
        if let Method::Untried = self.method {
            self.method = Diagnostics::open().map_or(Method::File, Method::Diagnostics);
        }
        if let Method::Diagnostics(diagnostics) = &mut self.method {
            match diagnostics.count(&mut self.buffer) {
                Ok(count) => return Ok(count),
                // The kernel lacks tcp_diag, or a sandbox blocks it. Both are permanent, so use the file from now on.
                Err(_) => self.method = Method::File,
            }
        }
        self.count_in_file()
    }

    /// Reads the file in chunks, because there can be hundreds of thousands of connections.
    fn count_in_file(&mut self) -> io::Result<u64> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(File::open(&self.path)?),
        };
        let (mut count, mut offset, mut pending) = (0, 0, 0);
        loop {
            let length = match file.read_at(&mut self.buffer[pending..], offset) {
                Ok(0) => return Ok(count),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            offset += length as u64;
            let filled = pending + length;
            let (whole, rest) = split_complete_lines(&self.buffer[..filled]);
            count += lines(whole).filter(|line| is_open(line)).count() as u64;
            pending = rest.len();
            if pending == self.buffer.len() || offset > MAX_BYTES {
                return Err(io::Error::other("not a table of connections"));
            }
            self.buffer.copy_within(filled - pending..filled, 0);
        }
    }
}

/// Whether the connection in a line (`sl local_address rem_address st ...`) is established, or closed only by the remote
/// end, and its remote address is not IPv4-mapped.
fn is_open(line: &[u8]) -> bool {
    let mut words = words(line).skip(2);
    let (Some(address), Some(state)) = (words.next(), words.next()) else { return false };
    // The prefix of ::ffff:a.b.c.d in 32-bit words, each in the machine's byte order.
    let mapped: &[u8] = if cfg!(target_endian = "little") {
        b"0000000000000000FFFF0000"
    } else {
        b"00000000000000000000FFFF"
    };
    matches!(state, b"01" | b"08") && !address.starts_with(mapped)
}

impl Provider for ConnectionsV6 {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        if !rows.wants(ESTABLISHED_V6) {
            rows.push(&self.instance);
            return Ok(());
        }
        let count = self.count().map_err(|error| {
            self.file = None;
            unreadable_failure(self.path.display(), &error)
        })?;
        rows.push(&self.instance).set(ESTABLISHED_V6, count);
        Ok(())
    }

    fn idle(&mut self) {
        self.file = None;
        if let Method::Diagnostics(_) = self.method {
            self.method = Method::Untried;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// Opens `pairs` connections over IPv6, and as many with IPv4-mapped addresses; returns both ends of each.
    fn connected(pairs: usize) -> Option<Vec<(TcpStream, TcpStream)>> {
        let listener = TcpListener::bind("[::]:0").ok()?;
        let port = listener.local_addr().ok()?.port();
        let mut streams = Vec::new();
        for number in 0..pairs * 2 {
            let address = if number % 2 == 0 { "::1" } else { "127.0.0.1" };
            streams.push((TcpStream::connect((address, port)).ok()?, listener.accept().ok()?.0));
        }
        Some(streams)
    }

    #[test]
    fn diagnostics_and_the_file_agree() {
        let mut connections = ConnectionsV6::new(&Roots::of_this_machine());
        let (Some(connections), Ok(mut diagnostics)) = (&mut connections, Diagnostics::open()) else {
            eprintln!("skipped: no IPv6, or no diagnostics socket");
            return;
        };
        connections.count().expect("a buffer");
        let mut buffer = vec![0; CHUNK_BYTES];
        if let Err(error) = diagnostics.count(&mut buffer) {
            eprintln!("skipped: {error}");
            return;
        }
        for pairs in [0, 40, 700] {
            let Some(streams) = connected(pairs) else {
                eprintln!("skipped: no connections over IPv6 and IPv4");
                return;
            };
            // Other programs open and close connections, so only counts that are equal before and after are compared.
            let agreed = (0..1000).any(|_| {
                let before = connections.count_in_file().expect("the file");
                let count = diagnostics.count(&mut buffer).expect("the kernel answers");
                let after = connections.count_in_file().expect("the file");
                before == after && count == before && count >= 2 * pairs as u64
            });
            assert!(agreed, "{pairs} connections");
            // One end is closed; the other end still counts as open.
            streams.iter().for_each(|(one, _)| drop(one.shutdown(std::net::Shutdown::Both)));
        }
    }

    #[test]
    fn the_file_is_used_if_diagnostics_fail() {
        let mut connections = ConnectionsV6::new(&Roots::of_this_machine());
        let Some(connections) = &mut connections else { return };
        connections.buffer.resize(CHUNK_BYTES, 0);
        // A socket that is not a netlink socket returns an error.
        let (socket, _) = std::os::unix::net::UnixStream::pair().expect("sockets");
        connections.method = Method::Diagnostics(Diagnostics::from_socket(socket.into()));
        connections.count().expect("the file");
        assert!(matches!(connections.method, Method::File));
    }
}

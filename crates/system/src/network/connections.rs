//! `TCPv6`: the counters that Linux provides separately for TCP over IPv6.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows, Timestamps};

use super::counts::{Files, SharedNumber};
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
    /// The number of TCP sockets over IPv6, without those in TIME-WAIT, if the kernel counts them.
    sockets: Option<SharedNumber>,
    /// Whether connections were open at the last count.
    had_connections: bool,
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
    pub(super) fn new(roots: &Roots, files: &Files) -> Option<Self> {
        let path = roots.proc.join("net/tcp6");
        File::open(&path).ok()?;
        let info = TABLE_V6.info();
        // Socket diagnostics always describe this machine, so with any other `/proc` the file is used.
        let method = if roots.proc == Path::new("/proc") { Method::Untried } else { Method::File };
        Some(Self {
            info,
            instance: Arc::default(),
            path,
            sockets: files.number("net/sockstat6: TCP6 inuse"),
            had_connections: false,
            method,
            file: None,
            buffer: Vec::new(),
        })
    }

    /// Counts the open connections for the collection at this time.
    fn count(&mut self, at: Timestamps) -> io::Result<u64> {
        if self.buffer.is_empty() {
            self.buffer.resize(CHUNK_BYTES, 0);
        }
        if let Method::Untried = self.method {
            self.method = Diagnostics::open().map_or(Method::File, Method::Diagnostics);
        }
        if let Method::Diagnostics(diagnostics) = &mut self.method {
            let sockets = self.sockets.as_ref().and_then(|sockets| sockets.at(at));
            match count_with(diagnostics, sockets, self.had_connections, &mut self.buffer) {
                Ok(count) => {
                    self.had_connections = count > 0;
                    return Ok(count);
                }
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

/// Counts the open connections with socket diagnostics. `sockets` is the number of TCP sockets over IPv6.
///
/// For a list of connections, the kernel searches its table of all connections, which takes 0.3 ms on a machine with 24 GB
/// even if the table is empty. There are no open connections if there are no sockets, or if all of them are listening; the
/// kernel lists these in 20 us.
fn count_with(
    diagnostics: &mut Diagnostics,
    sockets: Option<u64>,
    had_connections: bool,
    buffer: &mut [u8],
) -> io::Result<u64> {
    match sockets {
        Some(0) => Ok(0),
        Some(sockets) if !had_connections && sockets <= diagnostics.count_listening(buffer)? => Ok(0),
        _ => diagnostics.count_open(buffer),
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
        let count = self.count(rows.timestamps()).map_err(|error| {
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
    use crate::testing::at;

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
        let roots = Roots::of_this_machine();
        let mut connections = ConnectionsV6::new(&roots, &Files::new(&roots));
        let (Some(connections), Ok(mut diagnostics)) = (&mut connections, Diagnostics::open()) else {
            eprintln!("skipped: no IPv6, or no diagnostics socket");
            return;
        };
        let mut moments = (1..).map(at);
        let mut moment = || moments.next().unwrap_or_default();
        connections.count(moment()).expect("a buffer");
        let mut buffer = vec![0; CHUNK_BYTES];
        if let Err(error) = diagnostics.count_open(&mut buffer) {
            eprintln!("skipped: {error}");
            return;
        }
        assert!(connections.sockets.is_some(), "the kernel counts the sockets");
        for pairs in [0, 40, 700] {
            let Some(streams) = connected(pairs) else {
                eprintln!("skipped: no connections over IPv6 and IPv4");
                return;
            };
            // Other programs open and close connections, so only counts that are equal before and after are compared.
            let agreed = (0..1000).any(|_| {
                let before = connections.count_in_file().expect("the file");
                let count = diagnostics.count_open(&mut buffer).expect("the kernel answers");
                let searched = connections.count(moment()).expect("the kernel answers");
                let after = connections.count_in_file().expect("the file");
                before == after && [count, searched] == [before; 2] && count >= 2 * pairs as u64
            });
            assert!(agreed, "{pairs} connections");
            assert!(matches!(connections.method, Method::Diagnostics(_)));
            // One end is closed; the other end still counts as open.
            streams.iter().for_each(|(one, _)| drop(one.shutdown(std::net::Shutdown::Both)));
        }
    }

    #[test]
    fn listening_sockets_are_no_connections() {
        let (Ok(mut diagnostics), Ok(_listener)) = (Diagnostics::open(), TcpListener::bind("[::]:0")) else {
            eprintln!("skipped: no IPv6, or no diagnostics socket");
            return;
        };
        let mut buffer = vec![0; CHUNK_BYTES];
        let Ok(listening) = diagnostics.count_listening(&mut buffer) else {
            eprintln!("skipped: no diagnostics");
            return;
        };
        assert!(listening >= 1);
        // A socket that cannot answer shows that no list was needed.
        let (socket, _) = std::os::unix::net::UnixStream::pair().expect("sockets");
        let mut refused = Diagnostics::from_socket(socket.into());
        assert_eq!(count_with(&mut refused, Some(0), true, &mut buffer).expect("no sockets"), 0);
        assert!(count_with(&mut refused, Some(1), false, &mut buffer).is_err());
        assert!(count_with(&mut refused, None, false, &mut buffer).is_err());
        let Some(streams) = connected(3) else { return };
        // Other programs open and close sockets, so the number of sockets that is passed is far off on both sides.
        assert_eq!(count_with(&mut diagnostics, Some(1), false, &mut buffer).expect("a list"), 0);
        for (sockets, had_connections) in [(None, false), (Some(1), true), (Some(u64::MAX), false)] {
            let count = count_with(&mut diagnostics, sockets, had_connections, &mut buffer).expect("a list");
            assert!(count >= streams.len() as u64, "{sockets:?}, {had_connections}: {count}");
        }
    }

    #[test]
    fn the_file_is_used_if_diagnostics_fail() {
        let roots = Roots::of_this_machine();
        let mut connections = ConnectionsV6::new(&roots, &Files::new(&roots));
        let Some(connections) = &mut connections else { return };
        connections.buffer.resize(CHUNK_BYTES, 0);
        // A socket that is not a netlink socket returns an error.
        let (socket, _) = std::os::unix::net::UnixStream::pair().expect("sockets");
        connections.method = Method::Diagnostics(Diagnostics::from_socket(socket.into()));
        // Without a number of sockets, the kernel is asked for a list.
        connections.sockets = None;
        connections.count(at(1)).expect("the file");
        assert!(matches!(connections.method, Method::File));
    }
}

//! `TCPv6`: what of TCP over IPv6 can be told apart.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{ErrorCode, Failure, InstanceKey, Provider, Rows};

use super::tcp::{ESTABLISHED_V6, TABLE_V6};
use crate::Roots;
use crate::ordered::finished;
use crate::scan::{lines, words};

/// Counts the open connections of `/proc/net/tcp6`, piece by piece: there may be hundreds of thousands.
pub(super) struct ConnectionsV6 {
    info: Arc<CounterSetInfo>,
    instance: Arc<InstanceKey>,
    path: PathBuf,
    file: Option<File>,
    buffer: Vec<u8>,
}

const PIECE: usize = 64 << 10;

/// Longer than any table of connections: what comes after it makes the count an error.
const MOST_BYTES: u64 = 1 << 30;

impl ConnectionsV6 {
    /// `None` where there is no IPv6.
    pub(super) fn new(roots: &Roots) -> Option<Self> {
        let path = roots.proc.join("net/tcp6");
        let file = File::open(&path).ok()?;
        let info = TABLE_V6.info();
        Some(Self { info, instance: Arc::default(), path, file: Some(file), buffer: Vec::new() })
    }

    fn count(&mut self) -> io::Result<u64> {
        if self.buffer.is_empty() {
            self.buffer.resize(PIECE, 0);
        }
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(File::open(&self.path)?),
        };
        let (mut count, mut offset, mut kept) = (0, 0, 0);
        loop {
            let length = match file.read_at(&mut self.buffer[kept..], offset) {
                Ok(0) => return Ok(count),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            offset += length as u64;
            let filled = kept + length;
            let (whole, rest) = finished(&self.buffer[..filled]);
            count += lines(whole).filter(|line| is_open(line)).count() as u64;
            kept = rest.len();
            if kept == self.buffer.len() || offset > MOST_BYTES {
                return Err(io::Error::other("not a table of connections"));
            }
            self.buffer.copy_within(filled - kept..filled, 0);
        }
    }
}

/// `sl local_address rem_address st ...`: established or closed by the other side, and not IPv4 in the guise of IPv6.
fn is_open(line: &[u8]) -> bool {
    let mut words = words(line).skip(2);
    let (Some(address), Some(state)) = (words.next(), words.next()) else { return false };
    // ::ffff:a.b.c.d in words of 32 bits, each in the machine's byte order.
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
            Failure::new(ErrorCode::NO_DATA, format!("{}: {error}", self.path.display()))
        })?;
        rows.push(&self.instance).set(ESTABLISHED_V6, count);
        Ok(())
    }
}

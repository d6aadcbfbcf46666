//! `/proc/PID/io`: input and output of a process.

use super::cursor::Cursor;

/// The fields of an io file that counters need, in file order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Io {
    /// Bytes read by system calls.
    pub(super) read: u64,
    /// Bytes written by system calls.
    pub(super) written: u64,
    /// Read system calls.
    pub(super) reads: u64,
    /// Write system calls.
    pub(super) writes: u64,
    /// Bytes fetched from storage.
    pub(super) storage_read: u64,
    /// Bytes sent to storage.
    pub(super) storage_written: u64,
}

/// Parses the file; `None` if it is truncated or malformed.
pub(super) fn parse(text: &[u8]) -> Option<Io> {
    let mut io = Io::default();
    let mut rest = Cursor(text);
    let fields: [(&[u8], &mut u64); 6] = [
        (b"rchar: ", &mut io.read),
        (b"wchar: ", &mut io.written),
        (b"syscr: ", &mut io.reads),
        (b"syscw: ", &mut io.writes),
        (b"read_bytes: ", &mut io.storage_read),
        (b"write_bytes: ", &mut io.storage_written),
    ];
    for (label, value) in fields {
        rest.0 = rest.0.strip_prefix(label)?;
        *value = rest.next_number()?;
    }
    Some(io)
}

//! `/proc/PID/io`: what a process read and wrote.

use super::cursor::Cursor;

/// The fields of an io file that counters need, in its order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Io {
    /// Bytes that calls read, whatever from.
    pub(super) read: u64,
    pub(super) written: u64,
    /// Calls that read.
    pub(super) reads: u64,
    pub(super) writes: u64,
    /// Bytes that had to be fetched from storage.
    pub(super) storage_read: u64,
    pub(super) storage_written: u64,
}

/// Reads the file; `None` where it is cut off or holds something else.
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
        *value = rest.number()?;
    }
    Some(io)
}

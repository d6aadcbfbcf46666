//! Tests of the section limit, and of destinations that become full at any byte.

use std::io;

use super::write::{Destination, Sections};
use super::{Trace, TraceReader};
use crate::{CpiData, Mode};

#[test]
fn hooks_that_would_exceed_the_section_limit_start_a_new_section() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sections.nrm2");
    // The size in bytes of a hook with a header and six words.
    let hook_bytes = 16 + 8 * 6;
    // Two hooks fit into a section, with 8 bytes left. The hooks of one `get` are never split, so a longer `get` starts a new
    // section.
    let limit = 2 * hook_bytes + 8;
    let traces = [
        Trace::create_with_section_limit(&path, limit).expect("a file"),
        Trace::in_memory_with_section_limit(1 << 16, limit),
    ];
    for trace in &traces {
        for ended_at in 1..=5 {
            let data = CpiData { ended_at, ..CpiData::default() };
            trace.write(&data, 0, Mode::TRACE_SUMMARY, None).expect("enough space");
        }
        let long = CpiData { ended_at: 6, ..CpiData::default() };
        trace.write(&long, 0, Mode::TRACE_SUMMARY, Some(&"x".repeat(200))).expect("enough space");
        trace.close().expect("a file");
        let bytes = trace.bytes();
        let mut sections = Vec::new();
        let mut offset = 0;
        while offset < bytes.len() {
            let integer = |field: usize, size: usize| {
                let mut integer = [0; 8];
                integer[..size].copy_from_slice(&bytes[offset + field..][..size]);
                u64::from_le_bytes(integer)
            };
            // Data bytes, start time, stop time.
            sections.push((integer(16, 4), integer(36, 8), integer(44, 8)));
            offset += 512 + integer(16, 4) as usize;
        }
        let hook_bytes = u64::from(hook_bytes);
        let long_bytes = hook_bytes + 2 * (16 + 4 * 8 + 200);
        assert_eq!(
            sections,
            [(2 * hook_bytes, 1, 2), (2 * hook_bytes, 3, 4), (hook_bytes, 5, 5), (long_bytes, 6, 6)]
        );
        let times: Vec<_> =
            TraceReader::new(bytes.as_slice()).map(|hook| hook.expect("a valid hook").time_stamp).collect();
        assert_eq!(times, [1, 2, 3, 4, 5, 6, 6, 6]);
    }
    assert!(traces[0].bytes() == traces[1].bytes());
    assert!(std::fs::read(&path).expect("readable") == traces[0].bytes());
}

/// A disk that becomes full after a number of bytes, and possibly cannot truncate a file. As in the kernel's page cache, an
/// aligned integer is written completely or not at all.
struct FullDisk {
    bytes: Vec<u8>,
    left: usize,
    can_truncate: bool,
}

impl Destination for FullDisk {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let written = match bytes.len() {
            length if length <= self.left => length,
            4 | 8 => 0,
            _ => self.left,
        };
        self.left -= written;
        self.bytes.write_at(&bytes[..written], offset)?;
        if written < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn truncate(&mut self, length: u64) {
        if self.can_truncate {
            Destination::truncate(&mut self.bytes, length);
        }
    }
}

/// Whatever number of bytes fits on the disk, the `get`s before the one that fails are readable, and the failed `get` can be
/// written once there is space.
#[test]
fn a_full_disk_keeps_complete_gets_and_allows_a_retry() {
    let trace = Trace::in_memory(1 << 12);
    trace.write(&CpiData::default(), 0, Mode::TRACE_SUMMARY, Some("get")).expect("enough space");
    let get = trace.bytes().split_off(512);
    let hooks = |bytes: &[u8]| TraceReader::new(bytes).filter(Result::is_ok).count();
    // Sections of two `get`s.
    let limit = 2 * get.len() as u32;
    let needed = {
        let mut disk = FullDisk { bytes: Vec::new(), left: usize::MAX, can_truncate: true };
        let mut sections = Sections::new(limit);
        sections.begin(&mut disk).expect("enough space");
        for time in 0..5 {
            sections.add(&mut disk, &get, time).expect("enough space");
        }
        usize::MAX - disk.left
    };
    for can_truncate in [true, false] {
        for left in 512..needed {
            let mut disk = FullDisk { bytes: Vec::new(), left, can_truncate };
            let mut sections = Sections::new(limit);
            sections.begin(&mut disk).expect("512 bytes");
            let mut written = 0;
            while sections.add(&mut disk, &get, written).is_ok() {
                written += 1;
            }
            assert_eq!(hooks(&disk.bytes) as u64, 3 * written, "{left}");
            if can_truncate {
                assert_eq!(disk.bytes.len() as u64, sections.end());
            }
            disk.left = usize::MAX;
            sections.add(&mut disk, &get, written).expect("enough space");
            assert_eq!(hooks(&disk.bytes) as u64, 3 * (written + 1), "{left}");
        }
    }
}

//! Tests of full sections, and of destinations that fail at any byte.

use std::io;

use super::write::{Destination, Sections};
use super::{Trace, TraceReader};
use crate::{CpiData, Mode};

/// Sections end before their limit, in memory and in a file.
#[test]
fn a_new_section_before_the_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sections.nrm2");
    let hook = 16 + 8 * 6;
    // Two hooks fit, with 8 bytes to spare; a longer `get` has a section of its own.
    let limit = 2 * hook + 8;
    let traces = [
        Trace::create_of_sections(&path, limit).expect("a file"),
        Trace::in_memory_of_sections(1 << 16, limit),
    ];
    for trace in &traces {
        for ended_at in 1..=5 {
            let data = CpiData { ended_at, ..CpiData::default() };
            trace.write(&data, 0, Mode::TRACE_SUMMARY, None).expect("room");
        }
        let long = CpiData { ended_at: 6, ..CpiData::default() };
        trace.write(&long, 0, Mode::TRACE_SUMMARY, Some(&"x".repeat(200))).expect("room");
        trace.close().expect("a file");
        let bytes = trace.bytes();
        let mut sections = Vec::new();
        let mut place = 0;
        while place < bytes.len() {
            let integer = |offset: usize, size: usize| {
                let mut integer = [0; 8];
                integer[..size].copy_from_slice(&bytes[place + offset..][..size]);
                u64::from_le_bytes(integer)
            };
            sections.push((integer(16, 4), integer(36, 8), integer(44, 8)));
            place += 512 + integer(16, 4) as usize;
        }
        let hook = u64::from(hook);
        let long = hook + 2 * (16 + 4 * 8 + 200);
        assert_eq!(sections, [(2 * hook, 1, 2), (2 * hook, 3, 4), (hook, 5, 5), (long, 6, 6)]);
        let times: Vec<_> =
            TraceReader::new(bytes.as_slice()).map(|hook| hook.expect("sound").time_stamp).collect();
        assert_eq!(times, [1, 2, 3, 4, 5, 6, 6, 6]);
    }
    assert!(traces[0].bytes() == traces[1].bytes());
    assert!(std::fs::read(&path).expect("readable") == traces[0].bytes());
}

/// A disk that is full after a number of bytes, and possibly cannot truncate a file. As in the kernel's page cache, an
/// aligned integer is written completely or not at all.
struct Full {
    bytes: Vec<u8>,
    left: usize,
    can_truncate: bool,
}

impl Destination for Full {
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

/// Whichever byte is the last that can be written, earlier `get`s are complete, and the failed one can be written once
/// there is space.
#[test]
fn a_destination_that_fails_at_any_byte() {
    let trace = Trace::in_memory(1 << 12);
    trace.write(&CpiData::default(), 0, Mode::TRACE_SUMMARY, Some("get")).expect("room");
    let get = trace.bytes().split_off(512);
    let hooks = |bytes: &[u8]| TraceReader::new(bytes).filter(Result::is_ok).count();
    // Sections of two `get`s.
    let limit = 2 * get.len() as u32;
    let most = {
        let mut place = Full { bytes: Vec::new(), left: usize::MAX, can_truncate: true };
        let mut sections = Sections::new(limit);
        sections.begin(&mut place).expect("room");
        for time in 0..5 {
            sections.add(&mut place, &get, time).expect("room");
        }
        usize::MAX - place.left
    };
    for can_truncate in [true, false] {
        for left in 512..most {
            let mut place = Full { bytes: Vec::new(), left, can_truncate };
            let mut sections = Sections::new(limit);
            sections.begin(&mut place).expect("512 bytes");
            let mut written = 0;
            while sections.add(&mut place, &get, written).is_ok() {
                written += 1;
            }
            assert_eq!(hooks(&place.bytes) as u64, 3 * written, "{left}");
            if can_truncate {
                assert_eq!(place.bytes.len() as u64, sections.end());
            }
            place.left = usize::MAX;
            sections.add(&mut place, &get, written).expect("room");
            assert_eq!(hooks(&place.bytes) as u64, 3 * (written + 1), "{left}");
        }
    }
}

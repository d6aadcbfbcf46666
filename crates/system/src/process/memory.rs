//! `/proc/PID/status` and `/proc/PID/statm`: the memory of a process.

use super::cursor::Cursor;

/// The memory of a process in bytes; `None` for fields that the file lacks. Kernel threads and zombies have 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) virtual_peak: Option<u64>,
    pub(super) virtual_size: Option<u64>,
    pub(super) resident_peak: Option<u64>,
    pub(super) resident: Option<u64>,
    /// Resident memory that is neither file-backed nor shared.
    pub(super) anonymous: Option<u64>,
    pub(super) swapped: Option<u64>,
}

/// Parses a status file; `None` if it is truncated.
pub(super) fn parse_status(text: &[u8]) -> Option<Memory> {
    let mut memory = Memory::default();
    let mut has_memory = false;
    let mut rest = Cursor(text);
    loop {
        let line = rest.0;
        // Comparing the first letter rules out most lines.
        let (label, value) = match line.first()? {
            b'V' if line.starts_with(b"VmPeak:") => (7, &mut memory.virtual_peak),
            b'V' if line.starts_with(b"VmSize:") => (7, &mut memory.virtual_size),
            b'V' if line.starts_with(b"VmHWM:") => (6, &mut memory.resident_peak),
            b'V' if line.starts_with(b"VmRSS:") => (6, &mut memory.resident),
            b'V' if line.starts_with(b"VmSwap:") => (7, &mut memory.swapped),
            b'R' if line.starts_with(b"RssAnon:") => (8, &mut memory.anonymous),
            // Every process has this line, after all memory lines, of which VmSwap is the last.
            b'T' if line.starts_with(b"Threads:") => break,
            _ => {
                rest.next_line()?;
                continue;
            }
        };
        rest.0 = &line[label..];
        has_memory = true;
        *value = Some(rest.next_after_blanks()?.saturating_mul(1024));
        rest.next_line()?;
        if memory.swapped.is_some() {
            break;
        }
    }
    if !has_memory {
        let [virtual_peak, virtual_size, resident_peak, resident, anonymous, swapped] = [Some(0); 6];
        memory = Memory { virtual_peak, virtual_size, resident_peak, resident, anonymous, swapped };
    }
    Some(memory)
}

/// Parses a statm file, which is ten times cheaper than status but has no peaks; `None` if it is truncated.
pub(super) fn parse_statm(text: &[u8], page_bytes: u64) -> Option<Memory> {
    let mut fields = Cursor(text);
    let virtual_size = fields.next_number()?.saturating_mul(page_bytes);
    let resident = fields.next_number()?.saturating_mul(page_bytes);
    let shared = fields.next_number()?.saturating_mul(page_bytes);
    Some(Memory {
        virtual_size: Some(virtual_size),
        resident: Some(resident),
        anonymous: Some(resident.saturating_sub(shared)),
        ..Memory::default()
    })
}

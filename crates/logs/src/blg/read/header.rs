//! Reads the header event of a log, even if it is damaged.

use tachograph_counters::time_zone::{MAX_BIAS_MINUTES, is_possible_bias};

use crate::Problem;
use crate::blg::raw::buffer::BUFFER_HEADER_BYTES;
use crate::blg::raw::header::LogfileHeader;
use crate::error::LogError;

const SIZE_OFFSET: usize = 4;
const POINTER_SIZE_OFFSET: usize = 0x20 + 0x2C;

/// Reads the header event at the start of `bytes`, the rest of buffer 0.
///
/// Decoding needs the event's size and the pointer size. If they are damaged, both can be derived: the event ends at
/// or before the end of its buffer, and the header type implies the pointer size.
pub(super) fn read(bytes: &mut [u8]) -> Result<(LogfileHeader, Option<Problem>), LogError> {
    const OFFSET: u64 = BUFFER_HEADER_BYTES as u64;
    let problem = match LogfileHeader::decode(bytes, OFFSET) {
        Ok(header) => return Ok((header, None)),
        Err(problem) => problem,
    };
    let max_size = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    let pointer_bytes: u32 = match bytes.get(2) {
        Some(1) => 4,
        Some(2) => 8,
        _ => return Err(LogError::corrupt(problem)),
    };
    if let Some(size) = bytes.get_mut(SIZE_OFFSET..SIZE_OFFSET + 2) {
        size.copy_from_slice(&max_size.to_le_bytes());
    }
    if let Some(pointer_size) = bytes.get_mut(POINTER_SIZE_OFFSET..POINTER_SIZE_OFFSET + 4)
        && !matches!(pointer_size, [4 | 8, 0, 0, 0])
    {
        pointer_size.copy_from_slice(&pointer_bytes.to_le_bytes());
    }
    match LogfileHeader::decode(bytes, OFFSET) {
        Ok(header) => Ok((header, Some(problem))),
        Err(_) => Err(LogError::corrupt(problem)),
    }
}

/// Checks the UTC offsets of the log's time zone.
pub(super) fn check_zone(header: &LogfileHeader) -> Option<Problem> {
    let pointers = if header.start.pointer_size.get() == 4 { 8 } else { 16 };
    let at = BUFFER_HEADER_BYTES as u64 + 0x20 + 0x38 + pointers;
    let zone = &header.zone;
    let bias = zone.bias.get();
    let (standard, daylight) = (zone.standard_bias.get(), zone.daylight_bias.get());
    [
        (0, bias),
        (0x54, standard),
        (0x54, bias.saturating_add(standard)),
        (0xA8, daylight),
        (0xA8, bias.saturating_add(daylight)),
    ]
    .into_iter()
    .find(|&(_, bias)| !is_possible_bias(bias))
    .map(|(field, bias)| {
        Problem::new(at + field, "the log's time zone is more than 14 hours from UTC").found(
            format_args!("{bias} minutes"),
            format!("-{MAX_BIAS_MINUTES} to {MAX_BIAS_MINUTES} minutes"),
        )
    })
}

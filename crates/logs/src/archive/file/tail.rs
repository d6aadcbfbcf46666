//! Reads the end of a file, from the page indexes on, and verifies its checksum.

use super::super::parquet::{MAGIC, find_text};
use super::super::ranges::ReadRanges;
use super::super::{Damage, matches_checksum};
use super::{CHECKSUM_KEY, MAX_TAIL_BYTES, checksum_text, corrupt};
use crate::LogError;

/// Reads everything that the last checksum covers, and verifies it.
pub(super) fn read_tail<R: ReadRanges>(file: &mut R, len: u64) -> Result<Vec<u8>, LogError> {
    let footer_error = |damage: Damage| corrupt(len.saturating_sub(8), "footer", damage);
    if len < 12 {
        return Err(footer_error(Damage("the file is too short")));
    }
    let end = read_range(file, len - 8, 8)?;
    let (footer_bytes, magic) = end.split_at(4);
    if magic != MAGIC {
        return Err(footer_error(Damage(
            "the last bytes are not PAR1: the file was cut short, or is still being written",
        )));
    }
    let footer_bytes = u64::from(footer_bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)));
    if footer_bytes > MAX_TAIL_BYTES || footer_bytes > len - 12 {
        return Err(footer_error(Damage("the length of the footer is wrong")));
    }
    let footer = read_range(file, len - 8 - footer_bytes, footer_bytes)?;
    let text = find_text(&footer, CHECKSUM_KEY).map_err(footer_error)?;
    let (offset, _) = parse_checksum(text).ok_or(footer_error(Damage("the footer has no checksum")))?;
    if offset < MAGIC.len() as u64 || offset > len - 8 - footer_bytes || len - offset > MAX_TAIL_BYTES {
        return Err(footer_error(Damage("the checksum of the footer is wrong")));
    }
    let mut tail = read_range(file, offset, len - offset)?;
    // The text is at another offset in the tail, which ends with the footer.
    let text = text.to_owned();
    let at = tail.windows(text.len()).rposition(|window| window == text.as_bytes());
    let found = parse_checksum(&text).map(|(_, crc)| crc);
    if let Some(at) = at {
        tail[at..at + text.len()].copy_from_slice(checksum_text(offset, 0).as_bytes());
    }
    if !found.is_some_and(|crc| matches_checksum(&tail, crc)) {
        return Err(footer_error(Damage("the checksum of the footer is wrong")));
    }
    Ok(tail)
}

pub(super) fn read_range<R: ReadRanges>(file: &mut R, offset: u64, bytes: u64) -> Result<Vec<u8>, LogError> {
    let (range, mut found) = (offset..offset.saturating_add(bytes), Vec::new());
    file.read_ranges(std::slice::from_ref(&range), &mut found).map_err(LogError::io)?;
    match found.len() as u64 == bytes {
        true => Ok(found),
        false => Err(corrupt(offset, "file", Damage("the file ends too early"))),
    }
}

/// Parses the text of [`checksum_text`]; only that exact form is accepted.
fn parse_checksum(text: &str) -> Option<(u64, u32)> {
    let (offset, crc) = text.split_once(' ')?;
    let parsed = (u64::from_str_radix(offset, 16).ok()?, u32::from_str_radix(crc, 16).ok()?);
    (checksum_text(parsed.0, parsed.1) == text).then_some(parsed)
}

//! Frames as differences from the frame before.
//!
//! A frame consists of 64-bit words. The difference of a word from the word at the same position of the base frame is a
//! small number for most counters, and 0 for most headers, names and idle counters. Only differences other than 0 are sent,
//! each with the number of words with difference 0 before it:
//!
//! - The first byte has this number in bits 0 and 1 (3: the number follows, less 3), five bits of the difference in bits 2
//!   to 6, and in bit 7 whether more bits of the difference follow.
//! - Further bits of the difference: seven bits in each byte, the lowest first; bit 7 is set in all but the last byte.
//! - Then the number of words, if it did not fit, in the same form.
//!
//! The difference is modulo 2^64 and signed: 0, -1, 1, -2, ... are sent as 0, 1, 2, 3, ... Words that the base frame does not
//! have are 0 in it. Words after the last one that is sent are those of the base frame.

use crate::limits::MAX_FRAME_BYTES;
use crate::wire::MessageError;

const CONTINUED: u8 = 0x80;
/// In the first byte: the number of words follows.
const LONG_RUN: u64 = 3;

/// Appends the differences of a frame from its base.
///
/// # Panics
///
/// Never: bytes after the last whole word of `frame`, which frames do not have, are ignored.
pub fn encode(base: &[u8], frame: &[u8], out: &mut Vec<u8>) {
    let (words, _) = frame.as_chunks::<8>();
    let (base, _) = base.as_chunks::<8>();
    let mut run: u64 = 0;
    for (index, word) in words.iter().enumerate() {
        let before = base.get(index).map_or(0, |word| u64::from_le_bytes(*word));
        let difference = u64::from_le_bytes(*word).wrapping_sub(before);
        if difference == 0 {
            run += 1;
            continue;
        }
        let signed = difference.cast_signed();
        let number = ((signed << 1) ^ (signed >> 63)).cast_unsigned();
        let first = (run.min(LONG_RUN) as u8) | ((number & 0x1f) as u8) << 2;
        match number >> 5 {
            0 => out.push(first),
            more => {
                out.push(first | CONTINUED);
                push_number(out, more);
            }
        }
        if run >= LONG_RUN {
            push_number(out, run - LONG_RUN);
        }
        run = 0;
    }
}

/// Decodes a frame of `length` bytes from its base and the differences, into `frame`, which is overwritten.
///
/// # Errors
///
/// If the length is above [`MAX_FRAME_BYTES`] or not a multiple of 8, or if the differences are cut, too long or beyond the
/// end of the frame.
pub fn decode(
    base: &[u8],
    length: usize,
    differences: &[u8],
    frame: &mut Vec<u8>,
) -> Result<(), MessageError> {
    if length > MAX_FRAME_BYTES || !length.is_multiple_of(8) {
        return Err(MessageError::new(
            0,
            format!("a frame of at most {MAX_FRAME_BYTES} bytes, in words of 8"),
        ));
    }
    frame.clear();
    frame.extend_from_slice(&base[..base.len().min(length)]);
    frame.resize(length, 0);
    let (words, _) = frame.as_chunks_mut::<8>();
    let mut rest = differences;
    let mut next = 0;
    while let Some((&first, after)) = rest.split_first() {
        let offset = differences.len() - rest.len();
        rest = after;
        let mut number = u64::from(first >> 2 & 0x1f);
        if first & CONTINUED != 0 {
            let more = take_number(&mut rest).filter(|more| *more <= u64::MAX >> 5);
            number |= more.ok_or_else(|| MessageError::new(offset, "a difference of 64 bits"))? << 5;
        }
        let mut run = u64::from(first & 3);
        if run == LONG_RUN {
            let more = take_number(&mut rest);
            let more = more.ok_or_else(|| MessageError::new(offset, "a number of words"))?;
            run = more.saturating_add(LONG_RUN);
        }
        let index = usize::try_from(run).ok().and_then(|run| run.checked_add(next));
        let word = index.and_then(|index| words.get_mut(index).map(|word| (index, word)));
        let Some((index, word)) = word else {
            return Err(MessageError::new(offset, format!("a word of a frame of {length} bytes")));
        };
        let difference = (number >> 1) ^ (number & 1).wrapping_neg();
        *word = u64::from_le_bytes(*word).wrapping_add(difference).to_le_bytes();
        next = index + 1;
    }
    Ok(())
}

fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= u64::from(CONTINUED) {
        out.push(number as u8 | CONTINUED);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Splits off a number; `None` if it is cut or has more than 64 bits.
fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        let bits = u64::from(byte & !CONTINUED);
        if shift == 63 && bits > 1 {
            return None;
        }
        number |= bits << shift;
        if byte & CONTINUED == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn check(base: &[u64], words: &[u64]) -> usize {
        let (base, expected) = (frame(base), frame(words));
        let mut differences = Vec::new();
        encode(&base, &expected, &mut differences);
        let mut decoded = vec![0xEE; 24];
        decode(&base, expected.len(), &differences, &mut decoded).expect("valid differences");
        assert_eq!(decoded, expected);
        differences.len()
    }

    #[test]
    fn frames_survive_and_their_sizes_are_small() {
        assert_eq!(check(&[], &[]), 0);
        assert_eq!(check(&[5; 1000], &[5; 1000]), 0);
        assert_eq!(check(&[7, 5], &[7, 6]), 1);
        // A second of processor time after one header word.
        assert_eq!(check(&[16, 1 << 50, 16, 1 << 50], &[16, (1 << 50) + 10_000_000, 16, 1 << 50]), 4);
        assert_eq!(check(&[1; 500], &[[1; 499].as_slice(), &[2]].concat()), 3);
        check(&[1, 2, 3], &[0, u64::MAX, 1 << 63, 4, 5]);
        check(&[u64::MAX, 0, 1 << 63, 9, 9], &[0, u64::MAX]);
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> (state >> 58)
        };
        for length in 0..200 {
            let base: Vec<u64> = (0..length).map(|_| random()).collect();
            let words: Vec<u64> = (0..=length * 2).map(|_| random() * (random() & 1)).collect();
            check(&base, &words);
        }
    }

    #[test]
    fn hostile_differences_are_refused_within_bounds() {
        let mut out = Vec::new();
        for bytes in [
            &[0x80][..],
            &[0x03],
            &[0x03, 0x80],
            &[0x06],
            &[0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            &[0x07, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            &[0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f],
        ] {
            assert!(decode(&[], 8, bytes, &mut out).is_err(), "{bytes:x?}");
        }
        assert!(decode(&[], 12, &[], &mut out).is_err());
        assert!(decode(&[], MAX_FRAME_BYTES + 8, &[], &mut out).is_err());
        // Every message of two bytes either decodes to a frame of the stated length or is refused.
        for pair in 0..=u16::MAX {
            if decode(&[1; 16], 24, &pair.to_le_bytes(), &mut out).is_ok() {
                assert_eq!(out.len(), 24);
            }
        }
    }
}

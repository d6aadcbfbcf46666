//! Encodes frames as differences from an earlier frame.
//!
//! A frame consists of 64-bit words. The difference of a word from a word of the base frame is a small number for most
//! counters, and 0 for most headers, names and idle counters. Only differences other than 0 are sent.
//!
//! The message begins with the number of segments. A segment compares consecutive words of the frame with consecutive words
//! of the base. It has the number of words (at least 1), and where the words of the base begin: the signed distance from the
//! end of the previous segment's words. So the row of an instance is compared with the same instance's row in the base, even
//! if other instances have started or ended. Words after the last segment are compared with the words of the base after it.
//! Without segments, each word is compared with the word of the base at the same position.
//!
//! The nonzero differences follow, each with the length of the run of zero differences before it:
//!
//! - The first byte has the length of the run in bits 0 and 1 (3 if the run has at least 3 words), the lowest five bits of the
//!   difference in bits 2 to 6, and in bit 7 whether more bits of the difference follow.
//! - Further bits of the difference: seven bits in each byte, the lowest first; bit 7 is set in all but the last byte. All
//!   numbers that describe segments have this form, too.
//! - If the run has at least 3 words: its length minus 3, in the same form.
//!
//! Differences are modulo 2^64. Differences and distances are signed: 0, -1, 1, -2, ... are sent as 0, 1, 2, 3, ... Words beyond the
//! end of the base count as 0. Words after the last nonzero difference equal those of the base.

use crate::limits::MAX_FRAME_BYTES;
use crate::wire::MessageError;

const CONTINUED: u8 = 0x80;
/// In the first byte, this value means that the run has at least this length. The length minus this value follows.
const LONG_RUN: u64 = 3;

/// Consecutive words of a frame, and the consecutive words of its base to compare them with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The number of words, above 0.
    pub words: usize,
    /// The index of the first word in the base.
    pub begin: usize,
}

/// Appends the differences of a frame from its base, word by word at the same positions. Bytes after the last whole word of
/// `frame` are ignored.
pub fn encode(base: &[u8], frame: &[u8], out: &mut Vec<u8>) {
    encode_segments(base, frame, &[], out);
}

/// Like [`encode`], but compares the words of the frame with these segments of the base. Words after the last segment are
/// compared with the words of the base after it.
pub fn encode_segments(base: &[u8], frame: &[u8], segments: &[Segment], out: &mut Vec<u8>) {
    push_number(out, segments.len() as u64);
    let mut end = 0_usize;
    for segment in segments {
        push_number(out, segment.words as u64);
        push_number(out, zigzag((segment.begin as u64).wrapping_sub(end as u64)));
        end = segment.begin + segment.words;
    }
    let (words, _) = frame.as_chunks::<8>();
    let (base, _) = base.as_chunks::<8>();
    let mut run: u64 = 0;
    let mut rest = words;
    for Segment { words: count, begin } in
        segments.iter().copied().chain([Segment { words: usize::MAX, begin: end }])
    {
        let (words, after) = rest.split_at(count.min(rest.len()));
        rest = after;
        let base = base.get(begin..).unwrap_or_default();
        for (index, word) in words.iter().enumerate() {
            let before = base.get(index).map_or(0, |word| u64::from_le_bytes(*word));
            let difference = u64::from_le_bytes(*word).wrapping_sub(before);
            if difference == 0 {
                run += 1;
                continue;
            }
            let number = zigzag(difference);
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
}

/// Decodes a frame of `length` bytes from its base and the differences, into `frame`, which is overwritten.
///
/// # Errors
///
/// If the length is above [`MAX_FRAME_BYTES`] or not a multiple of 8, if the segments are longer than the frame, or if the
/// differences are truncated, too long or beyond the end of the frame.
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
    let mut rest = copy_segments(base, length, differences, frame)?;
    let (words, _) = frame.as_chunks_mut::<8>();
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
        *word = u64::from_le_bytes(*word).wrapping_add(unzigzag(number)).to_le_bytes();
        next = index + 1;
    }
    Ok(())
}

/// Decodes the segments. For each word of a frame of `length` bytes, appends to `frame` the word of the base with which it was
/// compared. Returns the rest of the message.
fn copy_segments<'a>(
    base: &[u8],
    length: usize,
    message: &'a [u8],
    frame: &mut Vec<u8>,
) -> Result<&'a [u8], MessageError> {
    let mut rest = message;
    let mut number = |expected: &str| {
        let offset = message.len() - rest.len();
        let number = take_number(&mut rest);
        number.map(|number| (offset, number)).ok_or_else(|| MessageError::new(offset, expected))
    };
    let copy = |begin: usize, bytes: usize, frame: &mut Vec<u8>| {
        let known = base.get(begin.saturating_mul(8)..).unwrap_or_default();
        let end = frame.len() + bytes;
        frame.extend_from_slice(&known[..known.len().min(bytes)]);
        frame.resize(end, 0);
    };
    frame.reserve(length);
    let (_, segments) = number("a number of segments")?;
    let mut end = 0_usize;
    // Each segment has at least one word, so the loop ends after at most as many segments as words.
    for _ in 0..segments {
        let (offset, words) = number("a number of words")?;
        let left = (length - frame.len()) / 8;
        let words = usize::try_from(words).ok().filter(|words| (1..=left).contains(words));
        let words =
            words.ok_or_else(|| MessageError::new(offset, format!("a segment of 1 to {left} words")))?;
        let (offset, distance) = number("a distance")?;
        let begin = (end as u64).wrapping_add(unzigzag(distance));
        let begin = usize::try_from(begin).ok().filter(|begin| *begin <= MAX_FRAME_BYTES / 8);
        let begin = begin.ok_or_else(|| MessageError::new(offset, "a word of the base"))?;
        copy(begin, words * 8, frame);
        end = begin + words;
    }
    copy(end, length - frame.len(), frame);
    Ok(rest)
}

/// Encodes the signed numbers 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
fn zigzag(number: u64) -> u64 {
    let signed = number.cast_signed();
    ((signed << 1) ^ (signed >> 63)).cast_unsigned()
}

fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= u64::from(CONTINUED) {
        out.push(number as u8 | CONTINUED);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Splits off a number; `None` if it is truncated or has more than 64 bits.
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
    fn frames_round_trip_and_small_changes_take_few_bytes() {
        // The first byte is the number of segments.
        assert_eq!(check(&[], &[]), 1);
        assert_eq!(check(&[5; 1000], &[5; 1000]), 1);
        assert_eq!(check(&[7, 5], &[7, 6]), 2);
        // A second of processor time after one header word.
        assert_eq!(check(&[16, 1 << 50, 16, 1 << 50], &[16, (1 << 50) + 10_000_000, 16, 1 << 50]), 5);
        assert_eq!(check(&[1; 500], &[[1; 499].as_slice(), &[2]].concat()), 4);
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
    fn words_can_be_compared_with_any_words_of_the_base() {
        let base = frame(&[10, 20, 30, 40, 50]);
        let segments = |segments: &[(usize, usize)]| -> Vec<Segment> {
            segments.iter().map(|&(words, begin)| Segment { words, begin }).collect()
        };
        for (words, segments) in [
            // The second word is gone; words after the last segment continue.
            (&[10, 31, 40, 50][..], segments(&[(1, 0), (1, 2)])),
            // A new word, moved words, a repeated word, and words beyond the end of the base.
            (&[10, 7, 20, 30], segments(&[(1, 0), (1, 9), (1, 1)])),
            (&[50, 10, 10, 20], segments(&[(1, 4), (1, 0), (2, 0)])),
            (&[50, 1, 2, 3], segments(&[(4, 4)])),
            (&[40, 50, 9], segments(&[(1, 3)])),
        ] {
            let expected = frame(words);
            let (mut out, mut decoded) = (Vec::new(), vec![0xEE; 3]);
            encode_segments(&base, &expected, &segments, &mut out);
            decode(&base, expected.len(), &out, &mut decoded).expect("valid differences");
            assert_eq!(decoded, expected, "{segments:?}");
        }
    }

    #[test]
    fn invalid_differences_are_refused() {
        let mut out = Vec::new();
        for bytes in [
            &[0x00, 0x80][..],
            &[0x00, 0x03],
            &[0x00, 0x03, 0x80],
            &[0x00, 0x06],
            &[0x00, 0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            &[0x00, 0x07, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            &[0x00, 0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f],
            // Segments: missing, without words, too long, before and far after the base, too many.
            &[],
            &[0x01],
            &[0x01, 0x00, 0x00],
            &[0x01, 0x02, 0x00],
            &[0x02, 0x01, 0x00, 0x01, 0x00],
            &[0x01, 0x01, 0x01],
            &[0x01, 0x01, 0xfe, 0xff, 0xff, 0xff, 0x7f],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x01, 0x00],
        ] {
            assert!(decode(&[], 8, bytes, &mut out).is_err(), "{bytes:x?}");
        }
        assert!(decode(&[], 12, &[0], &mut out).is_err());
        assert!(decode(&[], MAX_FRAME_BYTES + 8, &[0], &mut out).is_err());
        // Every message of two bytes either decodes to a frame of the stated length or is refused.
        for pair in 0..=u16::MAX {
            if decode(&[1; 16], 24, &pair.to_le_bytes(), &mut out).is_ok() {
                assert_eq!(out.len(), 24);
            }
        }
    }
}

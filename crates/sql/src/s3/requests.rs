//! Which requests read the ranges of an object.

use std::ops::Range;

/// Ranges with a gap of at most this number of bytes are requested together: a request takes longer than reading the gap.
const MAX_GAP: u64 = 32 << 10;

/// Maximum number of bytes of a request. Larger ranges are divided, and their parts are read in parallel.
pub(super) const MAX_REQUEST_BYTES: u64 = 4 << 20;

/// The ranges of the requests that read `ranges` of an object with `size` bytes. Both lists ascend.
pub(super) fn requests(ranges: &[Range<u64>], size: u64) -> Vec<Range<u64>> {
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        let range = range.start..range.end.min(size);
        match joined.last_mut() {
            _ if range.is_empty() => {}
            Some(last) if range.start <= last.end.saturating_add(MAX_GAP) => {
                last.end = last.end.max(range.end)
            }
            _ => joined.push(range),
        }
    }
    joined.into_iter().flat_map(parts).collect()
}

/// Divides a range into parts of at most [`MAX_REQUEST_BYTES`].
fn parts(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let starts = (range.start..range.end).step_by(MAX_REQUEST_BYTES as usize);
    starts.map(move |start| start..start.saturating_add(MAX_REQUEST_BYTES).min(range.end))
}

/// The part of a response that belongs to `wanted`. The first byte of the response is at `start`.
pub(super) fn common<'a>(wanted: &Range<u64>, start: u64, bytes: &'a [u8]) -> &'a [u8] {
    let offset = |at: u64| usize::try_from(at.saturating_sub(start)).unwrap_or(usize::MAX).min(bytes.len());
    &bytes[offset(wanted.start)..offset(wanted.end)]
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "a list of ranges often has one")]
mod tests {
    use super::*;

    #[test]
    fn close_ranges_are_requested_together() {
        const SIZE: u64 = 100 << 20;
        assert_eq!(requests(&[], SIZE), []);
        assert_eq!(requests(&[4..9], SIZE), [4..9]);
        assert_eq!(requests(&[4..9, 9..20, 20 + MAX_GAP..40_000], SIZE), [4..40_000]);
        assert_eq!(requests(&[4..9, 10 + MAX_GAP..50_000], SIZE), [4..9, 10 + MAX_GAP..50_000]);
    }

    #[test]
    fn large_ranges_are_divided() {
        let end = 2 * MAX_REQUEST_BYTES + 7;
        let expected = [
            4..4 + MAX_REQUEST_BYTES,
            4 + MAX_REQUEST_BYTES..4 + 2 * MAX_REQUEST_BYTES,
            4 + 2 * MAX_REQUEST_BYTES..end,
        ];
        assert_eq!(requests(&[4..9, 9..end], u64::MAX), expected);
    }

    #[test]
    fn ranges_end_with_the_object() {
        assert_eq!(requests(&[4..9, 30..u64::MAX], 50), [4..50]);
        assert_eq!(requests(&[50..60], 50), []);
        assert_eq!(requests(&[60..70], 50), []);
    }

    /// The parts of all responses that belong to a range are the bytes of the range.
    #[test]
    fn responses_contain_the_ranges() {
        let object: Vec<u8> = (0..10 << 20).map(|at: u32| (at % 251) as u8).collect();
        let ranges = [0..4, 4..5 << 20, 6 << 20..6 << 20, (6 << 20) + 1..(6 << 20) + 2, 9 << 20..11 << 20];
        let requests = requests(&ranges, object.len() as u64);
        let mut found = Vec::new();
        for request in requests {
            let response = &object[request.start as usize..request.end as usize];
            for range in &ranges {
                found.extend_from_slice(common(range, request.start, response));
            }
        }
        let range =
            |range: &Range<u64>| &object[range.start as usize..(range.end as usize).min(object.len())];
        assert!(found == ranges.iter().map(range).collect::<Vec<_>>().concat());
    }
}

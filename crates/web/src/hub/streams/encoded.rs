//! The bytes of events: counted while they are queued, and compressed once for all streams that get them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use flate2::{Compress, Compression, FlushCompress};

/// The header of a gzip stream without a file name and time.
pub(crate) const GZIP_HEADER: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// A comment, which keeps the connection of an idle stream.
const COMMENT: &[u8] = b": \n\n";

/// Counts the bytes of all events that are queued or being sent. Streams share an event, which counts once.
#[derive(Clone, Debug, Default)]
pub(super) struct QueuedBytes(Arc<AtomicUsize>);

/// Bytes that are counted until this is dropped.
struct Counted {
    bytes: Vec<u8>,
    total: QueuedBytes,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.total.0.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

impl QueuedBytes {
    /// Counts these bytes until the last holder drops them.
    pub(super) fn track(&self, bytes: Vec<u8>) -> Bytes {
        self.0.fetch_add(bytes.len(), Ordering::Relaxed);
        Bytes::from_owner(Counted { bytes, total: self.clone() })
    }

    pub(super) fn total(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Compresses events into blocks of deflate data that do not depend on earlier blocks, so a stream can begin with any event.
pub(super) struct Deflater(Compress);

impl Default for Deflater {
    fn default() -> Self {
        Self(Compress::new(Compression::fast(), false))
    }
}

impl Deflater {
    /// Compresses a text into a block.
    pub(super) fn compress(&mut self, text: &[u8]) -> Vec<u8> {
        let before = self.0.total_in();
        let mut out = Vec::with_capacity(text.len() / 3 + 64);
        loop {
            let consumed = usize::try_from(self.0.total_in() - before).unwrap_or(usize::MAX);
            let rest = text.get(consumed..).unwrap_or_default();
            // Compressing to memory cannot fail.
            if self.0.compress_vec(rest, &mut out, FlushCompress::Full).is_err() {
                return out;
            }
            // The flush is complete if there was room left.
            if out.len() < out.capacity() {
                return out;
            }
            out.reserve(out.capacity().max(64));
        }
    }
}

/// A comment for an idle stream.
pub(crate) fn comment(is_gzip: bool) -> Bytes {
    static COMPRESSED: OnceLock<Bytes> = OnceLock::new();
    match is_gzip {
        true => COMPRESSED.get_or_init(|| Deflater::default().compress(COMMENT).into()).clone(),
        false => Bytes::from_static(COMMENT),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    /// The text of blocks, as far as it is complete.
    fn inflated(blocks: &[&[u8]]) -> String {
        let bytes = [&[GZIP_HEADER], blocks].concat().concat();
        let mut text = Vec::new();
        let mut decoder = GzDecoder::new(&bytes[..]);
        let mut buffer = [0; 512];
        // The stream has no end, so the last read fails.
        while let Ok(count @ 1..) = decoder.read(&mut buffer) {
            text.extend_from_slice(&buffer[..count]);
        }
        String::from_utf8(text).expect("UTF-8")
    }

    #[test]
    fn a_stream_can_begin_with_any_block() {
        let mut deflater = Deflater::default();
        let texts: Vec<String> = (0..50_u32)
            .map(|index| {
                // Long texts that hardly compress, and short ones.
                let mut seed = index;
                let mut letter = || {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    char::from(b' ' + (seed >> 24) as u8 % 90)
                };
                (0..(index * index * 20) as usize).map(|_| letter()).collect()
            })
            .collect();
        let blocks: Vec<_> = texts.iter().map(|text| deflater.compress(text.as_bytes())).collect();
        for first in [0, 1, 30, 49] {
            let rest: Vec<_> = blocks[first..].iter().map(Vec::as_slice).collect();
            assert_eq!(inflated(&rest), texts[first..].concat(), "from {first}");
        }
        let zeros = "0".repeat(100_000);
        let block = deflater.compress(zeros.as_bytes());
        assert!(block.len() < 1000, "{}", block.len());
        assert_eq!(inflated(&[&block, &comment(true)]), zeros + ": \n\n");
    }

    #[test]
    fn bytes_count_until_they_are_dropped() {
        let queued = QueuedBytes::default();
        let first = queued.track(vec![0; 100]);
        let second = queued.track(vec![0; 10]);
        let other = first.clone();
        drop(first);
        assert_eq!(queued.total(), 110);
        drop(other.slice(5..));
        drop(other);
        assert_eq!(queued.total(), 10);
        drop(second);
        assert_eq!(queued.total(), 0);
    }
}

//! Encoding for structures that programs read: strings, and memory that is aligned to 8 bytes.

/// Encodes a string as UTF-16 with a terminating NUL.
pub(super) fn utf16_with_nul(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

/// Pads bytes with zeros to a multiple of 8, and returns them as words, which are aligned to 8 bytes.
pub(super) fn to_words(mut bytes: Vec<u8>) -> Vec<u64> {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

//! Texts of 16-bit characters.

use super::Refusal;

/// How long a machine's or an instance's name may be, in 16-bit characters with the final zero.
///
/// Source: `PERF_MAX_INSTANCE_NAME` of perflib.h.
pub(crate) const MAX_UNITS: usize = 1024;

/// A text of these characters; halves without the other are replaced.
pub(crate) fn decode(units: &[u16]) -> String {
    String::from_utf16_lossy(units)
}

/// The text in place of an argument was longer than it may be.
pub(crate) fn too_long(argument: &str) -> Refusal {
    Refusal::argument(format!(
        "The argument {argument} is a text of more than {} characters, or its final zero is missing.",
        MAX_UNITS - 1
    ))
}

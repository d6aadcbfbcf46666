//! Decodes single strings and GUIDs.

use crate::Guid;
use crate::block::text::Text;
use crate::block::{BlockError, Expected, Rule};

/// Decodes a name or help text of a set, or the name of a provider: UTF-16LE with a single NUL, at the end.
///
/// # Errors
///
/// The violated rule for the length or the terminating NUL ([`Rule`], `T1` to `T3`); the code is
/// [`ErrorCode::INVALID_DATA`](crate::ErrorCode::INVALID_DATA).
pub fn decode_text(bytes: &[u8]) -> Result<Text<'_>, BlockError> {
    if !bytes.len().is_multiple_of(2) {
        return Err(BlockError::count(Rule::TextLengthOdd, 0, bytes.len(), Expected::MultipleOf(2)));
    }
    let unterminated =
        || BlockError::count(Rule::TextUnterminated, 0, bytes.len(), Expected::Words("a NUL at the end"));
    if !bytes.ends_with(&[0, 0]) {
        return Err(unterminated());
    }
    let text = Text::until_nul(bytes).ok_or_else(unterminated)?;
    let units = bytes.len() / 2 - 1;
    if text.len() != units {
        let expected = Expected::Exactly(crate::block::count(units));
        return Err(BlockError::count(Rule::NulInText, 2 * text.len(), text.len(), expected));
    }
    Ok(text)
}

/// Decodes the GUID of a provider.
///
/// # Errors
///
/// [`Rule::GuidLength`] if there are not 16 bytes; the code is
/// [`ErrorCode::INVALID_DATA`](crate::ErrorCode::INVALID_DATA).
pub fn decode_guid(bytes: &[u8]) -> Result<Guid, BlockError> {
    match bytes.try_into() {
        Ok(bytes) => Ok(Guid::from_bytes(bytes)),
        Err(_) => Err(BlockError::count(Rule::GuidLength, 0, bytes.len(), Expected::Exactly(16))),
    }
}

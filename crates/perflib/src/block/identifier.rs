//! The binary format of identifiers, the entries of a query.

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

use super::WILDCARD_ID;
use super::capacity::MAX_BLOCK_BYTES;
use super::error::{BlockError, Expected, Rule, count};
use super::raw::{CounterIdentifier, round_up_8};
use super::section::{Section, SizeRules};
use super::text::{MAX_NAME_UNITS, Text, name_bytes_bound, push_text};
use super::write::WriteError;
use crate::Guid;

const HEADER_BYTES: usize = size_of::<CounterIdentifier>();
const SIZE_RULES: SizeRules = SizeRules {
    field: 20,
    min: (Rule::IdentifierSizeTooSmall, HEADER_BYTES),
    max: Rule::IdentifierSizeTooLarge,
    alignment: (Rule::IdentifierSizeUnaligned, 8),
};

/// An entry of a query: selects counters and instances of a set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "PERF_COUNTER_IDENTIFIER")]
pub struct Identifier {
    /// GUID of the counter set.
    pub set: Guid,
    /// 0, or the Win32 code of the error that kept the identifier from being added or removed. Ignored on input.
    pub status: u32,
    /// Id of the counter; `None` for all.
    pub counter_id: Option<u32>,
    /// Id of the instance; `None` for all.
    pub instance_id: Option<u32>,
    /// Index of the identifier's result in each block. Ignored on input.
    pub index: u32,
    /// Name of the instance, or a pattern with `*` and `?`; empty for sets without instances.
    pub name: String,
}

impl Identifier {
    /// Selects all counters of the set's instances whose name matches a pattern.
    pub fn new(set: Guid, name: impl Into<String>) -> Self {
        Self { set, status: 0, counter_id: None, instance_id: None, index: 0, name: name.into() }
    }

    /// Appends the encoded identifier to `out`. An empty name is omitted; a name longer than [`MAX_NAME_UNITS`] is
    /// truncated at a character boundary.
    ///
    /// # Errors
    ///
    /// [`WriteError::TooLarge`] if `out` would exceed [`MAX_BLOCK_BYTES`] or memory is exhausted. `out` is then
    /// unchanged.
    pub fn push(&self, out: &mut Vec<u8>) -> Result<(), WriteError> {
        let begin = out.len();
        out.try_reserve(HEADER_BYTES + name_bytes_bound(&self.name)).map_err(|_| WriteError::TooLarge)?;
        out.extend_from_slice(&[0; HEADER_BYTES]);
        if !self.name.is_empty() {
            push_text(out, &self.name, MAX_NAME_UNITS);
        }
        out.resize(begin + round_up_8(out.len() - begin), 0);
        if out.len() > MAX_BLOCK_BYTES {
            out.truncate(begin);
            return Err(WriteError::TooLarge);
        }
        let header = CounterIdentifier {
            set: self.set.to_bytes(),
            status: self.status.into(),
            // At most 2088 bytes.
            bytes: ((out.len() - begin) as u32).into(),
            counter_id: self.counter_id.unwrap_or(WILDCARD_ID).into(),
            instance_id: self.instance_id.unwrap_or(WILDCARD_ID).into(),
            index: self.index.into(),
            reserved: U32::ZERO,
        };
        out[begin..begin + HEADER_BYTES].copy_from_slice(header.as_bytes());
        Ok(())
    }
}

/// An iterator over identifiers with valid sizes.
///
/// Each item is an [`Identifier`], or an error with the status
/// [`ErrorCode::INVALID_PARAMETER`](crate::ErrorCode::INVALID_PARAMETER) if the identifier's name is not terminated
/// ([`Rule::IdentifierNameUnterminated`]) or is too long ([`Rule::IdentifierNameTooLong`]). Such an error does not
/// affect the other identifiers.
#[derive(Clone, Debug)]
pub struct Identifiers<'a> {
    /// The identifiers that follow.
    rest: Section<'a>,
}

/// Checks the sizes of the identifiers. An empty slice has no identifiers and is valid here, although `PerfAddCounters`
/// rejects it.
///
/// # Errors
///
/// The first violated rule for the size of an identifier ([`Rule`], `Q1` to `Q4`), with the code
/// [`ErrorCode::INVALID_PARAMETER`](crate::ErrorCode::INVALID_PARAMETER). If a size is below 40, is past the end or is
/// not a multiple of 8, the start of the next identifier is unknown, so all identifiers are rejected.
pub fn decode_identifiers(bytes: &[u8]) -> Result<Identifiers<'_>, BlockError> {
    let identifiers = Identifiers { rest: Section::all(bytes) };
    let mut rest = identifiers.rest;
    while !rest.bytes.is_empty() {
        split_off(&mut rest)?;
    }
    Ok(identifiers)
}

/// Splits off the first identifier without checking its name.
fn split_off<'a>(rest: &mut Section<'a>) -> Result<(&'a CounterIdentifier, Section<'a>), BlockError> {
    let header: &CounterIdentifier = rest.peek(Rule::IdentifierHeaderMissing)?;
    Ok((header, rest.split_off(header.bytes.get(), &SIZE_RULES)?.skip_bytes(HEADER_BYTES)))
}

impl Iterator for Identifiers<'_> {
    type Item = Result<Identifier, BlockError>;

    fn next(&mut self) -> Option<Self::Item> {
        // The sizes were checked up front, so an error can only mean the end.
        let (header, name) = split_off(&mut self.rest).ok()?;
        Some(decode_name(name).map(|name| Identifier {
            set: Guid::from_bytes(header.set),
            status: header.status.get(),
            counter_id: Some(header.counter_id.get()).filter(|&id| id != WILDCARD_ID),
            instance_id: Some(header.instance_id.get()).filter(|&id| id != WILDCARD_ID),
            index: header.index.get(),
            name: name.to_string(),
        }))
    }
}

/// The name after an identifier's fixed part; empty if no bytes follow.
fn decode_name(rest: Section<'_>) -> Result<Text<'_>, BlockError> {
    if rest.bytes.is_empty() {
        return Ok(Text::default());
    }
    let Some(name) = Text::until_nul(rest.bytes) else {
        let expected = Expected::Words("a NUL within these bytes");
        return Err(BlockError::count(
            Rule::IdentifierNameUnterminated,
            rest.offset,
            rest.bytes.len(),
            expected,
        ));
    };
    if name.len() > MAX_NAME_UNITS {
        let expected = Expected::AtMost(count(MAX_NAME_UNITS));
        return Err(BlockError::count(Rule::IdentifierNameTooLong, rest.offset, name.len(), expected));
    }
    Ok(name)
}

/// Writes a status, 0 or a Win32 code, into each encoded identifier.
///
/// If `statuses` has fewer items, the remaining identifiers are unchanged.
///
/// # Errors
///
/// Same as [`decode_identifiers`]; nothing is written on error.
pub fn write_statuses(bytes: &mut [u8], statuses: impl IntoIterator<Item = u32>) -> Result<(), BlockError> {
    decode_identifiers(bytes)?;
    let mut rest = bytes;
    for status in statuses {
        let Ok((header, _)) = CounterIdentifier::mut_from_prefix(rest) else { break };
        header.status = status.into();
        let size = header.bytes.get() as usize;
        rest = &mut rest[size..];
    }
    Ok(())
}

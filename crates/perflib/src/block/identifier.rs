//! Identifiers: the queries of a handle as bytes.

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

const HEADER: usize = size_of::<CounterIdentifier>();
const SIZE: SizeRules =
    SizeRules { field: 20, least: (Rule::Q2, HEADER), most: Rule::Q3, multiple: (Rule::Q4, 8) };

/// One query of a handle: which counters of which instances of which set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "PERF_COUNTER_IDENTIFIER")]
pub struct Identifier {
    /// GUID of the counter set.
    pub set: Guid,
    /// 0, or the Win32 code why this query was not added or removed. On input it says nothing.
    pub status: u32,
    /// Number of the counter; `None` for all.
    pub counter_id: Option<u32>,
    /// Number of the instance; `None` for all.
    pub instance_id: Option<u32>,
    /// Place of the query's result in the handle's blocks. On input it says nothing.
    pub index: u32,
    /// Name of the instance, or a pattern of `*` and `?`; empty for sets without instances.
    pub name: String,
}

impl Identifier {
    /// All counters of a set, of all instances whose name fits the pattern.
    pub fn new(set: Guid, name: impl Into<String>) -> Self {
        Self { set, status: 0, counter_id: None, instance_id: None, index: 0, name: name.into() }
    }

    /// Appends the identifier. An empty name takes no bytes; one of more than [`MAX_NAME_UNITS`] is cut at the boundary
    /// of a character.
    ///
    /// # Errors
    ///
    /// [`WriteError::TooLarge`]: there would be more than [`MAX_BLOCK_BYTES`], or they cannot grow. They are as they were
    /// then.
    pub fn push(&self, out: &mut Vec<u8>) -> Result<(), WriteError> {
        let begin = out.len();
        out.try_reserve(HEADER + name_bytes_bound(&self.name)).map_err(|_| WriteError::TooLarge)?;
        out.extend_from_slice(&[0; HEADER]);
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
        out[begin..begin + HEADER].copy_from_slice(header.as_bytes());
        Ok(())
    }
}

/// Identifiers whose sizes were checked, so that each can be found; an iterator over them.
///
/// Each is an [`Identifier`], or the error for which this one alone is refused, with the status
/// [`ErrorCode::INVALID_PARAMETER`](crate::ErrorCode::INVALID_PARAMETER): its name has no end ([`Rule::Q5`]) or is too
/// long ([`Rule::Q6`]).
#[derive(Clone, Debug)]
pub struct Identifiers<'a> {
    rest: Section<'a>,
}

/// Checks where the identifiers are. No bytes are no identifiers, which a handle without queries gives and
/// `PerfAddCounters` refuses.
///
/// # Errors
///
/// [`Rule::Q1`] to [`Rule::Q4`], for which a call fails as a whole with
/// [`ErrorCode::INVALID_PARAMETER`](crate::ErrorCode::INVALID_PARAMETER): a size that is below 40, leads beyond the end or
/// is no multiple of 8 leaves open where the next identifier is.
pub fn decode_identifiers(bytes: &[u8]) -> Result<Identifiers<'_>, BlockError> {
    let identifiers = Identifiers { rest: Section::all(bytes) };
    let mut rest = identifiers.rest;
    while !rest.bytes.is_empty() {
        take(&mut rest)?;
    }
    Ok(identifiers)
}

/// Splits off the identifier in front; its name is not looked at yet.
fn take<'a>(rest: &mut Section<'a>) -> Result<(&'a CounterIdentifier, Section<'a>), BlockError> {
    let header: &CounterIdentifier = rest.head(Rule::Q1)?;
    Ok((header, rest.take(header.bytes.get(), &SIZE)?.after(HEADER)))
}

impl Iterator for Identifiers<'_> {
    type Item = Result<Identifier, BlockError>;

    fn next(&mut self) -> Option<Self::Item> {
        // The sizes were checked: the only error is the end.
        let (header, name) = take(&mut self.rest).ok()?;
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

/// The name after an identifier's fixed part; empty where no bytes are left for one.
fn decode_name(rest: Section<'_>) -> Result<Text<'_>, BlockError> {
    if rest.bytes.is_empty() {
        return Ok(Text::default());
    }
    let Some(name) = Text::until_nul(rest.bytes) else {
        let expected = Expected::Words("a NUL among these bytes");
        return Err(BlockError::count(Rule::Q5, rest.offset, rest.bytes.len(), expected));
    };
    if name.len() > MAX_NAME_UNITS {
        let expected = Expected::AtMost(count(MAX_NAME_UNITS));
        return Err(BlockError::count(Rule::Q6, rest.offset, name.len(), expected));
    }
    Ok(name)
}

/// Writes the status of each identifier, 0 or a Win32 code, into the bytes that the caller passed.
///
/// Identifiers for which there is no status keep theirs.
///
/// # Errors
///
/// As [`decode_identifiers`]; nothing is written then.
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

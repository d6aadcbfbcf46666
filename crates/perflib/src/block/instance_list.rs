//! Instance lists, the result of `PerfEnumerateCounterSetInstances`.

use zerocopy::IntoBytes;

use super::capacity::MAX_BLOCK_BYTES;
use super::error::{BlockError, Expected, Rule, count};
use super::raw::{InstanceHeader, round_up_8};
use super::section::{Section, SizeRules};
use super::text::{MAX_NAME_UNITS, Text, name_bytes_bound, push_text};
use super::write::WriteError;

const HEADER_BYTES: usize = size_of::<InstanceHeader>();
/// The smallest instance has a header, a NUL and padding.
const SIZE_RULES: SizeRules = SizeRules {
    field: 0,
    min: (Rule::InstanceSizeTooSmall, HEADER_BYTES + 8),
    max: Rule::InstanceSizeTooLarge,
    alignment: (Rule::InstanceSizeUnaligned, 8),
};

/// The name and id of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedInstance<'a> {
    /// The id.
    pub id: u32,
    /// The name.
    pub name: Text<'a>,
}

impl<'a> ListedInstance<'a> {
    /// Splits off the first instance.
    pub(super) fn split_off(rest: &mut Section<'a>) -> Result<Self, BlockError> {
        let header: &InstanceHeader = rest.peek(Rule::InstanceHeaderMissing)?;
        let text = rest.split_off(header.bytes.get(), &SIZE_RULES)?.skip_bytes(HEADER_BYTES);
        let Some(name) = Text::until_nul(text.bytes) else {
            let expected = Expected::Words("a NUL within these bytes");
            return Err(BlockError::count(
                Rule::InstanceNameUnterminated,
                text.offset,
                text.bytes.len(),
                expected,
            ));
        };
        if name.len() > MAX_NAME_UNITS {
            let expected = Expected::AtMost(count(MAX_NAME_UNITS));
            return Err(BlockError::count(Rule::InstanceNameTooLong, text.offset, name.len(), expected));
        }
        Ok(Self { id: header.id.get(), name })
    }
}

/// Appends an instance to a list; a name longer than [`MAX_NAME_UNITS`] is truncated at a character boundary.
///
/// # Errors
///
/// [`WriteError::TooLarge`] if the list would exceed [`MAX_BLOCK_BYTES`] or memory is exhausted. The list is then
/// unchanged.
pub fn push_instance(out: &mut Vec<u8>, name: &str, id: u32) -> Result<(), WriteError> {
    let begin = out.len();
    out.try_reserve(HEADER_BYTES + name_bytes_bound(name)).map_err(|_| WriteError::TooLarge)?;
    out.extend_from_slice(&[0; HEADER_BYTES]);
    push_text(out, name, MAX_NAME_UNITS);
    out.resize(begin + round_up_8(out.len() - begin), 0);
    if out.len() > MAX_BLOCK_BYTES {
        out.truncate(begin);
        return Err(WriteError::TooLarge);
    }
    // At most 2056 bytes.
    let header = InstanceHeader { bytes: ((out.len() - begin) as u32).into(), id: id.into() };
    out[begin..begin + HEADER_BYTES].copy_from_slice(header.as_bytes());
    Ok(())
}

/// An iterator over a completely checked list of instances.
#[derive(Clone, Debug)]
pub struct InstanceList<'a> {
    /// The instances that follow.
    rest: Section<'a>,
}

/// Checks a list of instances; an empty slice is an empty list.
///
/// # Errors
///
/// The first violated rule for the size or the name of an instance ([`Rule`], `N1` to `N6`).
///
/// ```
/// use tachograph_perflib::block::{decode_instances, push_instance};
///
/// let mut bytes = Vec::new();
/// push_instance(&mut bytes, "_Total", 0)?;
/// push_instance(&mut bytes, "C:", 1)?;
/// assert_eq!(bytes.len(), 40);
/// let names: Vec<_> = decode_instances(&bytes)?.map(|instance| instance.name.to_string()).collect();
/// assert_eq!(names, ["_Total", "C:"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn decode_instances(bytes: &[u8]) -> Result<InstanceList<'_>, BlockError> {
    let list = InstanceList { rest: Section::all(bytes) };
    let mut rest = list.rest;
    while !rest.bytes.is_empty() {
        ListedInstance::split_off(&mut rest)?;
    }
    Ok(list)
}

impl<'a> Iterator for InstanceList<'a> {
    type Item = ListedInstance<'a>;

    fn next(&mut self) -> Option<ListedInstance<'a>> {
        // The list was checked up front, so an error can only mean the end.
        ListedInstance::split_off(&mut self.rest).ok()
    }
}

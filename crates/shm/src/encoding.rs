//! The description of a set, encoded in its file.
//!
//! All numbers are little-endian. The description has 88 bytes of fields of the set, 88 bytes for each counter, and then the
//! strings in UTF-8. A string is referred to by its offset from the start of the strings, and its length in bytes.

use std::cell::Cell;
use std::collections::HashMap;

use crate::layout::{HEADER_BYTES, MAX_DESCRIPTION, MAX_STRING};
use crate::problem::Problem;
use tachograph_schema::{
    Aggregate, Attributes, CellKind, CounterInfo, CounterSetInfo, Guid, InstanceType, Text,
};

/// Size of the fields of the set.
const SET_BYTES: usize = 88;

/// Size of the fields of a counter.
const COUNTER_BYTES: usize = 88;

/// Stored instead of a companion's id if the counter does not have this companion. No counter can have this id, because
/// it means all counters in a query.
const NO_ID: u32 = u32::MAX;

const INSTANCE_TYPES: &str = "an instance type (0, 2, 4, 6 or 12)";

/// Checks that a file can store the description.
pub(crate) fn check(description: &CounterSetInfo) -> Result<(), Problem> {
    let invalid = |found: String, expected: &str| Err(Problem::new(0, found, expected));
    if description.instance_type == InstanceType::InstanceAggregate {
        return invalid("instance type 22".to_owned(), INSTANCE_TYPES);
    }
    let counters = &description.counters;
    if counters.is_empty() || counters.len() > CounterSetInfo::MAX_COUNTERS {
        return invalid(format!("{} counters", counters.len()), "1 to 65536");
    }
    let names = counters.iter().map(|counter| &counter.name).chain([&description.name, &description.label]);
    for name in names {
        let units = name.encode_utf16().count();
        if units > CounterSetInfo::MAX_NAME {
            return invalid(format!("a name of {units} UTF-16 units"), "at most 1023");
        }
    }
    let set_strings = [&description.help, &description.instances_help, &description.provider_name];
    let counter_strings = counters.iter().flat_map(|counter| [&counter.help, &counter.unit]);
    if let Some(long) = set_strings.into_iter().chain(counter_strings).find(|text| text.len() > MAX_STRING) {
        return invalid(format!("a string of {} bytes", long.len()), "at most 65536 bytes");
    }
    let mut by_id = HashMap::with_capacity(counters.len());
    for counter in counters {
        if counter.id == NO_ID {
            return invalid(format!("counter id {NO_ID}"), "a lower id: this one means all counters");
        }
        if by_id.insert(counter.id, counter).is_some() {
            return invalid(format!("counter id {} twice", counter.id), "ids that are unique in the set");
        }
    }
    counters.iter().try_for_each(|counter| check_counter(&by_id, counter))
}

fn check_counter(by_id: &HashMap<u32, &CounterInfo>, counter: &CounterInfo) -> Result<(), Problem> {
    let invalid = |found: String, expected: &str| {
        Err(Problem::new(0, format!("counter {} ('{}') with {found}", counter.id, counter.name), expected))
    };
    if counter.stripes > CounterInfo::MAX_STRIPES {
        return invalid(format!("{} stripes", counter.stripes), "at most 64");
    }
    for id in counter.companions() {
        if id == counter.id || !by_id.contains_key(&id) {
            return invalid(format!("companion {id}"), "another counter of the set");
        }
    }
    let base = counter.base_id.and_then(|id| by_id.get(&id));
    let base_lacks_cell = base.is_some_and(|base| base.cell == CellKind::None);
    match counter.cell.has_base() {
        true if base.is_none() => invalid("a cell that stores a base".to_owned(), "the id of a base counter"),
        false if counter.cell != CellKind::None && base_lacks_cell => invalid(
            "a base without a cell".to_owned(),
            "a base with a cell, or a cell that also stores the base",
        ),
        _ => Ok(()),
    }
}

/// Encodes a description as in a published file.
pub fn encode(description: &CounterSetInfo) -> Vec<u8> {
    let mut strings = Vec::new();
    let mut out = Vec::new();
    out.extend(description.guid.to_bytes());
    out.extend(description.provider_guid.to_bytes());
    push_u32(&mut out, description.instance_type as u32);
    push_u32(&mut out, description.detail_level);
    push_u32(&mut out, description.counters.len() as u32);
    push_u32(&mut out, 0);
    let set_strings = [
        &description.name,
        &description.help,
        &description.instances_help,
        &description.provider_name,
        &description.label,
    ];
    set_strings.into_iter().for_each(|text| push_string(&mut out, &mut strings, text));
    for counter in &description.counters {
        push_u32(&mut out, counter.id);
        push_u32(&mut out, counter.counter_type.0);
        out.extend(counter.attributes.0.to_le_bytes());
        push_u32(&mut out, counter.detail_level);
        out.extend(counter.default_scale.to_le_bytes());
        for id in counter.companion_ids() {
            push_u32(&mut out, id.unwrap_or(NO_ID));
        }
        push_u32(&mut out, counter.aggregate as u32);
        push_u32(&mut out, counter.cell as u32);
        push_u32(&mut out, counter.stripes);
        push_u32(&mut out, 0);
        for text in [&counter.name, &counter.help, &counter.unit] {
            push_string(&mut out, &mut strings, text);
        }
        out.extend([0; 8]);
    }
    out.extend(strings);
    out
}

fn push_u32(out: &mut Vec<u8>, number: u32) {
    out.extend(number.to_le_bytes());
}

fn push_string(out: &mut Vec<u8>, strings: &mut Vec<u8>, text: &str) {
    push_u32(out, strings.len() as u32);
    push_u32(out, text.len() as u32);
    strings.extend(text.as_bytes());
}

/// Decodes a description, and checks it like that of a published file.
///
/// # Errors
///
/// The first invalid field. Its offset counts from the start of a published file, whose header has 256 bytes.
pub fn decode(bytes: &[u8]) -> Result<CounterSetInfo, Problem> {
    if bytes.len() > MAX_DESCRIPTION {
        let found = format!("a description of {} bytes", bytes.len());
        return Err(Problem::new(HEADER_BYTES, found, "at most 16 MiB"));
    }
    let mut fields = Fields { bytes, offset: 0 };
    let guid = Guid::from_bytes(fields.read()?);
    let provider_guid = Guid::from_bytes(fields.read()?);
    let instance_type = fields.read_enum(INSTANCE_TYPES, |number| {
        InstanceType::from_number(number).filter(|known| *known != InstanceType::InstanceAggregate)
    })?;
    let detail_level = fields.read_u32()?;
    let count_offset = fields.offset;
    let count = fields.read_u32()? as usize;
    fields.read_u32()?;
    let table = count.checked_mul(COUNTER_BYTES).and_then(|size| size.checked_add(SET_BYTES));
    let Some(strings_offset) =
        table.filter(|&end| count <= CounterSetInfo::MAX_COUNTERS && end <= bytes.len())
    else {
        let found = format!("{count} counters");
        let expected = format!("at most 65536, of 88 bytes each, within {} bytes", bytes.len());
        return Err(Problem::new(HEADER_BYTES + count_offset, found, expected));
    };
    let bytes_of_strings = &bytes[strings_offset..];
    let budget = Cell::new(bytes_of_strings.len());
    let strings = Strings { bytes: bytes_of_strings, offset: strings_offset, budget };
    let mut description = CounterSetInfo::new("", guid, instance_type);
    description.provider_guid = provider_guid;
    description.detail_level = detail_level;
    description.name = strings.read(&mut fields)?;
    description.help = strings.read(&mut fields)?;
    description.instances_help = strings.read(&mut fields)?;
    description.provider_name = strings.read(&mut fields)?;
    description.label = strings.read(&mut fields)?;
    description.counters.reserve_exact(count);
    for index in 0..count {
        let mut fields = Fields { bytes, offset: SET_BYTES + index * COUNTER_BYTES };
        description.counters.push(decode_counter(&mut fields, &strings)?);
    }
    // These problems have no offset of their own, so the offset of the first counter is reported.
    let counters_offset = (HEADER_BYTES + SET_BYTES) as u64;
    check(&description).map_err(|problem| Problem { offset: counters_offset, ..problem })?;
    Ok(description)
}

fn decode_counter(fields: &mut Fields<'_>, strings: &Strings<'_>) -> Result<CounterInfo, Problem> {
    let mut counter = CounterInfo::new(fields.read_u32()?, "", fields.read_u32()?);
    counter.attributes = Attributes(u64::from_le_bytes(fields.read()?));
    counter.detail_level = fields.read_u32()?;
    counter.default_scale = i32::from_le_bytes(fields.read()?);
    let mut companion = || fields.read_u32().map(|id| (id != NO_ID).then_some(id));
    counter.set_companion_ids([companion()?, companion()?, companion()?, companion()?]);
    counter.aggregate = Aggregate::from_number(fields.read_u32()?).unwrap_or_default();
    counter.cell = fields.read_enum("a kind of cell (0 to 4)", CellKind::from_number)?;
    counter.stripes = fields.read_u32()?;
    fields.read_u32()?;
    counter.name = strings.read(fields)?;
    counter.help = strings.read(fields)?;
    counter.unit = strings.read(fields)?;
    Ok(counter)
}

/// Reads the fields of a description in sequence.
struct Fields<'a> {
    /// The complete description.
    bytes: &'a [u8],
    /// The offset of the next field.
    offset: usize,
}

impl Fields<'_> {
    fn read<const N: usize>(&mut self) -> Result<[u8; N], Problem> {
        let field = self.bytes.get(self.offset..).and_then(|rest| rest.first_chunk::<N>());
        let Some(field) = field else {
            return Err(Problem::new(
                HEADER_BYTES + self.offset,
                "the description's end",
                format!("{N} more bytes"),
            ));
        };
        self.offset += N;
        Ok(*field)
    }

    fn read_u32(&mut self) -> Result<u32, Problem> {
        self.read().map(u32::from_le_bytes)
    }

    fn read_enum<T>(&mut self, expected: &str, from_number: impl Fn(u32) -> Option<T>) -> Result<T, Problem> {
        let offset = self.offset;
        let number = self.read_u32()?;
        from_number(number).ok_or_else(|| Problem::new(HEADER_BYTES + offset, number, expected))
    }
}

/// The strings of a description, which follow the counters.
struct Strings<'a> {
    bytes: &'a [u8],
    /// The offset of the strings in the description.
    offset: usize,
    /// The number of bytes that may still be read. All strings together have at most `bytes.len()` bytes, because overlapping
    /// strings could turn a small file into a large description.
    budget: Cell<usize>,
}

impl Strings<'_> {
    /// Reads the string whose offset and length are the next two fields.
    fn read(&self, fields: &mut Fields<'_>) -> Result<Text, Problem> {
        let field_offset = fields.offset;
        let (offset, length) = (fields.read_u32()? as usize, fields.read_u32()? as usize);
        let Some(text) = self.bytes.get(offset..).and_then(|rest| rest.get(..length)) else {
            let found = format!("a string of {length} bytes at offset {offset}");
            return Err(Problem::new(
                HEADER_BYTES + field_offset,
                found,
                format!("a string within {} bytes", self.bytes.len()),
            ));
        };
        let Some(budget) = self.budget.get().checked_sub(length) else {
            return Err(Problem::new(
                HEADER_BYTES + field_offset,
                "overlapping strings",
                "strings that do not overlap",
            ));
        };
        self.budget.set(budget);
        if length > MAX_STRING {
            let found = format!("a string of {length} bytes");
            return Err(Problem::new(
                HEADER_BYTES + field_offset,
                found,
                format!("at most {MAX_STRING} bytes"),
            ));
        }
        match std::str::from_utf8(text) {
            Ok(text) => Ok(text.to_owned().into()),
            Err(_) => Err(Problem::new(HEADER_BYTES + self.offset + offset, "invalid UTF-8", "UTF-8")),
        }
    }
}

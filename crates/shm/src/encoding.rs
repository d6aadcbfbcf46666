//! The description of a set, encoded in its file.
//!
//! Little-endian: a head of 88 bytes, 88 bytes per counter, then the texts in UTF-8. A text is referred to by its offset from
//! the start of the texts, and its length in bytes.

use std::cell::Cell;
use std::collections::HashMap;

use crate::layout::{HEADER_BYTES, MAX_DESCRIPTION, MAX_TEXT};
use crate::problem::Problem;
use tachograph_schema::{
    Aggregate, Attributes, CellKind, CounterInfo, CounterSetInfo, Guid, InstanceType, Text,
};

const HEAD: usize = 88;
const COUNTER: usize = 88;

/// Stored as the id of a missing companion.
const NONE: u32 = u32::MAX;

const INSTANCE_TYPES: &str = "an instance type (0, 2, 4, 6 or 12)";

/// Checks that a file can store the description.
pub(crate) fn check(description: &CounterSetInfo) -> Result<(), Problem> {
    let bad = |found: String, expected: &str| Err(Problem::new(0, found, expected));
    if description.instance_type == InstanceType::InstanceAggregate {
        return bad("instance type 22".to_owned(), INSTANCE_TYPES);
    }
    let counters = &description.counters;
    if counters.is_empty() || counters.len() > CounterSetInfo::MAX_COUNTERS {
        return bad(format!("{} counters", counters.len()), "1 to 65536");
    }
    let names = counters.iter().map(|counter| &counter.name).chain([&description.name, &description.label]);
    for name in names {
        if name.encode_utf16().count() > CounterSetInfo::MAX_NAME {
            return bad(format!("a name of {} bytes", name.len()), "at most 1023 characters");
        }
    }
    let of_set = [&description.help, &description.instances_help, &description.provider_name];
    let of_counters = counters.iter().flat_map(|counter| [&counter.help, &counter.unit]);
    if let Some(long) = of_set.into_iter().chain(of_counters).find(|text| text.len() > MAX_TEXT) {
        return bad(format!("a text of {} bytes", long.len()), "at most 65536 bytes");
    }
    let mut by_id = HashMap::with_capacity(counters.len());
    for counter in counters {
        if counter.id == NONE {
            return bad(format!("counter id {NONE}"), "another id: this one means all counters");
        }
        if by_id.insert(counter.id, counter).is_some() {
            return bad(format!("counter id {} twice", counter.id), "ids that are unique in the set");
        }
    }
    counters.iter().try_for_each(|counter| check_counter(&by_id, counter))
}

fn check_counter(by_id: &HashMap<u32, &CounterInfo>, counter: &CounterInfo) -> Result<(), Problem> {
    let bad = |found: String, expected: &str| {
        Err(Problem::new(0, format!("counter {} ('{}') with {found}", counter.id, counter.name), expected))
    };
    if counter.stripes > CounterInfo::MAX_STRIPES {
        return bad(format!("{} stripes", counter.stripes), "at most 64");
    }
    for id in counter.companions() {
        if id == counter.id || !by_id.contains_key(&id) {
            return bad(format!("companion {id}"), "another counter of the set");
        }
    }
    let base = counter.base_id.and_then(|id| by_id.get(&id));
    let shares_cell = base.is_some_and(|base| base.cell == CellKind::None);
    match counter.cell.has_base() {
        true if base.is_none() => bad("a cell for its base".to_owned(), "a base counter"),
        false if counter.cell != CellKind::None && shares_cell => {
            bad("a base without a cell".to_owned(), "a base with a cell, or a cell that stores both")
        }
        _ => Ok(()),
    }
}

pub(crate) fn encode(description: &CounterSetInfo) -> Vec<u8> {
    let mut texts = Vec::new();
    let mut out = Vec::new();
    out.extend(description.guid.to_bytes());
    out.extend(description.provider_guid.to_bytes());
    push_u32(&mut out, description.instance_type as u32);
    push_u32(&mut out, description.detail_level);
    push_u32(&mut out, description.counters.len() as u32);
    push_u32(&mut out, 0);
    let of_set = [
        &description.name,
        &description.help,
        &description.instances_help,
        &description.provider_name,
        &description.label,
    ];
    of_set.into_iter().for_each(|text| push_text(&mut out, &mut texts, text));
    for counter in &description.counters {
        push_u32(&mut out, counter.id);
        push_u32(&mut out, counter.counter_type.0);
        out.extend(counter.attributes.0.to_le_bytes());
        push_u32(&mut out, counter.detail_level);
        out.extend(counter.default_scale.to_le_bytes());
        for id in counter.companion_ids() {
            push_u32(&mut out, id.unwrap_or(NONE));
        }
        push_u32(&mut out, counter.aggregate as u32);
        push_u32(&mut out, counter.cell as u32);
        push_u32(&mut out, counter.stripes);
        push_u32(&mut out, 0);
        for text in [&counter.name, &counter.help, &counter.unit] {
            push_text(&mut out, &mut texts, text);
        }
        out.extend([0; 8]);
    }
    out.extend(texts);
    out
}

fn push_u32(out: &mut Vec<u8>, number: u32) {
    out.extend(number.to_le_bytes());
}

fn push_text(out: &mut Vec<u8>, texts: &mut Vec<u8>, text: &str) {
    push_u32(out, texts.len() as u32);
    push_u32(out, text.len() as u32);
    texts.extend(text.as_bytes());
}

/// Decodes a description. Offsets of problems are from the start of the file.
pub(crate) fn decode(bytes: &[u8]) -> Result<CounterSetInfo, Problem> {
    if bytes.len() > MAX_DESCRIPTION {
        return Err(Problem::new(HEADER_BYTES, bytes.len(), "a description of at most 16 MiB"));
    }
    let mut head = Fields { bytes, at: 0 };
    let guid = Guid::from_bytes(head.read()?);
    let provider_guid = Guid::from_bytes(head.read()?);
    let instance_type = head.read_enum(INSTANCE_TYPES, |number| {
        InstanceType::from_number(number).filter(|known| *known != InstanceType::InstanceAggregate)
    })?;
    let detail_level = head.read_u32()?;
    let at = head.at;
    let count = head.read_u32()? as usize;
    head.read_u32()?;
    let table = count.checked_mul(COUNTER).and_then(|size| size.checked_add(HEAD));
    let Some(texts_at) = table.filter(|&end| count <= CounterSetInfo::MAX_COUNTERS && end <= bytes.len())
    else {
        return Err(Problem::new(HEADER_BYTES + at, count, "a number of counters that fits the description"));
    };
    let texts = &bytes[texts_at..];
    let texts = Texts { bytes: texts, at: texts_at, unread: Cell::new(texts.len()) };
    let mut description = CounterSetInfo::new("", guid, instance_type);
    description.provider_guid = provider_guid;
    description.detail_level = detail_level;
    description.name = texts.read(&mut head)?;
    description.help = texts.read(&mut head)?;
    description.instances_help = texts.read(&mut head)?;
    description.provider_name = texts.read(&mut head)?;
    description.label = texts.read(&mut head)?;
    description.counters.reserve_exact(count);
    for index in 0..count {
        let mut fields = Fields { bytes, at: HEAD + index * COUNTER };
        description.counters.push(counter(&mut fields, &texts)?);
    }
    let at_counters = |problem: Problem| Problem { offset: (HEADER_BYTES + HEAD) as u64, ..problem };
    check(&description).map_err(at_counters)?;
    Ok(description)
}

fn counter(fields: &mut Fields<'_>, texts: &Texts<'_>) -> Result<CounterInfo, Problem> {
    let mut counter = CounterInfo::new(fields.read_u32()?, "", fields.read_u32()?);
    counter.attributes = Attributes(u64::from_le_bytes(fields.read()?));
    counter.detail_level = fields.read_u32()?;
    counter.default_scale = i32::from_le_bytes(fields.read()?);
    let mut companion = || fields.read_u32().map(|id| (id != NONE).then_some(id));
    counter.set_companion_ids([companion()?, companion()?, companion()?, companion()?]);
    counter.aggregate = Aggregate::from_number(fields.read_u32()?).unwrap_or_default();
    counter.cell = fields.read_enum("a kind of cell (0 to 4)", CellKind::from_number)?;
    counter.stripes = fields.read_u32()?;
    fields.read_u32()?;
    counter.name = texts.read(fields)?;
    counter.help = texts.read(fields)?;
    counter.unit = texts.read(fields)?;
    Ok(counter)
}

/// Reads fields in sequence.
struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Fields<'_> {
    fn read<const N: usize>(&mut self) -> Result<[u8; N], Problem> {
        let field = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        let Some(field) = field else {
            return Err(Problem::new(
                HEADER_BYTES + self.at,
                "the description's end",
                format!("{N} more bytes"),
            ));
        };
        self.at += N;
        Ok(*field)
    }

    fn read_u32(&mut self) -> Result<u32, Problem> {
        self.read().map(u32::from_le_bytes)
    }

    fn read_enum<T>(&mut self, expected: &str, of: impl Fn(u32) -> Option<T>) -> Result<T, Problem> {
        let at = self.at;
        let number = self.read_u32()?;
        of(number).ok_or_else(|| Problem::new(HEADER_BYTES + at, number, expected))
    }
}

/// The texts after the counters.
struct Texts<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The number of bytes that texts may still refer to: overlapping texts could turn a small file into a large
    /// description.
    unread: Cell<usize>,
}

impl Texts<'_> {
    /// Reads the text whose offset and length are the next two fields.
    fn read(&self, fields: &mut Fields<'_>) -> Result<Text, Problem> {
        let at = fields.at;
        let (offset, length) = (fields.read_u32()? as usize, fields.read_u32()? as usize);
        let Some(text) = self.bytes.get(offset..).and_then(|rest| rest.get(..length)) else {
            let found = format!("a text of {length} bytes at {offset}");
            return Err(Problem::new(
                HEADER_BYTES + at,
                found,
                format!("one within {} bytes", self.bytes.len()),
            ));
        };
        let Some(unread) = self.unread.get().checked_sub(length) else {
            return Err(Problem::new(HEADER_BYTES + at, "overlapping texts", "texts that do not overlap"));
        };
        self.unread.set(unread);
        if length > MAX_TEXT {
            let found = format!("a text of {length} bytes");
            return Err(Problem::new(HEADER_BYTES + at, found, format!("at most {MAX_TEXT}")));
        }
        match std::str::from_utf8(text) {
            Ok(text) => Ok(text.to_owned().into()),
            Err(_) => Err(Problem::new(HEADER_BYTES + self.at + offset, "invalid UTF-8", "UTF-8")),
        }
    }
}

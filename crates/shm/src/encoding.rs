//! The description of a set as bytes in its file.
//!
//! Little-endian: a head of 88 bytes, 88 bytes a counter, then the texts. A text is an offset from the start of the
//! texts, and a length, in bytes of UTF-8.

use std::cell::Cell;
use std::collections::HashMap;

use crate::layout::{HEADER_BYTES, MAX_DESCRIPTION, MAX_TEXT};
use crate::problem::Problem;
use tachograph_schema::{
    Aggregate, Attributes, CellKind, CounterInfo, CounterSetInfo, Guid, InstanceType, Text,
};

const HEAD: usize = 88;
const COUNTER: usize = 88;

/// No such companion.
const NONE: u32 = u32::MAX;

const INSTANCE_TYPES: &str = "an instance type (0, 2, 4, 6 or 12)";

/// Checks what a file can hold of a description.
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
            return bad(format!("counter id {NONE}"), "another: this one stands for all counters");
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
    let is_kept_with_it = base.is_some_and(|base| base.cell == CellKind::None);
    match counter.cell.has_base() {
        true if base.is_none() => bad("a cell for its base".to_owned(), "a base counter"),
        false if counter.cell != CellKind::None && is_kept_with_it => {
            bad("a base without a cell".to_owned(), "a base with one, or a cell that keeps both")
        }
        _ => Ok(()),
    }
}

pub(crate) fn encode(description: &CounterSetInfo) -> Vec<u8> {
    let mut texts = Vec::new();
    let mut out = Vec::new();
    out.extend(description.guid.to_bytes());
    out.extend(description.provider_guid.to_bytes());
    put(&mut out, description.instance_type as u32);
    put(&mut out, description.detail_level);
    put(&mut out, description.counters.len() as u32);
    put(&mut out, 0);
    let of_set = [
        &description.name,
        &description.help,
        &description.instances_help,
        &description.provider_name,
        &description.label,
    ];
    of_set.into_iter().for_each(|text| put_text(&mut out, &mut texts, text));
    for counter in &description.counters {
        put(&mut out, counter.id);
        put(&mut out, counter.counter_type.0);
        out.extend(counter.attributes.0.to_le_bytes());
        put(&mut out, counter.detail_level);
        out.extend(counter.default_scale.to_le_bytes());
        for id in counter.companion_ids() {
            put(&mut out, id.unwrap_or(NONE));
        }
        put(&mut out, counter.aggregate as u32);
        put(&mut out, counter.cell as u32);
        put(&mut out, counter.stripes);
        put(&mut out, 0);
        for text in [&counter.name, &counter.help, &counter.unit] {
            put_text(&mut out, &mut texts, text);
        }
        out.extend([0; 8]);
    }
    out.extend(texts);
    out
}

fn put(out: &mut Vec<u8>, number: u32) {
    out.extend(number.to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, texts: &mut Vec<u8>, text: &str) {
    put(out, texts.len() as u32);
    put(out, text.len() as u32);
    texts.extend(text.as_bytes());
}

/// Reads a description; offsets in problems count from the start of the file.
pub(crate) fn decode(bytes: &[u8]) -> Result<CounterSetInfo, Problem> {
    if bytes.len() > MAX_DESCRIPTION {
        return Err(Problem::new(HEADER_BYTES, bytes.len(), "a description of at most 16 MiB"));
    }
    let mut head = Fields { bytes, at: 0 };
    let guid = Guid::from_bytes(head.take()?);
    let provider_guid = Guid::from_bytes(head.take()?);
    let instance_type = head.known(INSTANCE_TYPES, |number| {
        InstanceType::from_number(number).filter(|known| *known != InstanceType::InstanceAggregate)
    })?;
    let detail_level = head.number()?;
    let at = head.at;
    let count = head.number()? as usize;
    head.number()?;
    let table = count.checked_mul(COUNTER).and_then(|size| size.checked_add(HEAD));
    let Some(texts_at) = table.filter(|&end| count <= CounterSetInfo::MAX_COUNTERS && end <= bytes.len())
    else {
        return Err(Problem::new(HEADER_BYTES + at, count, "a number of counters that fits the description"));
    };
    let texts = &bytes[texts_at..];
    let texts = Texts { bytes: texts, at: texts_at, left: Cell::new(texts.len()) };
    let mut description = CounterSetInfo::new("", guid, instance_type);
    description.provider_guid = provider_guid;
    description.detail_level = detail_level;
    description.name = texts.take(&mut head)?;
    description.help = texts.take(&mut head)?;
    description.instances_help = texts.take(&mut head)?;
    description.provider_name = texts.take(&mut head)?;
    description.label = texts.take(&mut head)?;
    description.counters.reserve_exact(count);
    for place in 0..count {
        let mut fields = Fields { bytes, at: HEAD + place * COUNTER };
        description.counters.push(counter(&mut fields, &texts)?);
    }
    let at_counters = |problem: Problem| Problem { offset: (HEADER_BYTES + HEAD) as u64, ..problem };
    check(&description).map_err(at_counters)?;
    Ok(description)
}

fn counter(fields: &mut Fields<'_>, texts: &Texts<'_>) -> Result<CounterInfo, Problem> {
    let mut counter = CounterInfo::new(fields.number()?, "", fields.number()?);
    counter.attributes = Attributes(u64::from_le_bytes(fields.take()?));
    counter.detail_level = fields.number()?;
    counter.default_scale = i32::from_le_bytes(fields.take()?);
    let mut companion = || fields.number().map(|id| (id != NONE).then_some(id));
    counter.set_companion_ids([companion()?, companion()?, companion()?, companion()?]);
    counter.aggregate = Aggregate::from_number(fields.number()?).unwrap_or_default();
    counter.cell = fields.known("a kind of cell (0 to 4)", CellKind::from_number)?;
    counter.stripes = fields.number()?;
    fields.number()?;
    counter.name = texts.take(fields)?;
    counter.help = texts.take(fields)?;
    counter.unit = texts.take(fields)?;
    Ok(counter)
}

/// Fields one after the other.
struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Problem> {
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

    fn number(&mut self) -> Result<u32, Problem> {
        self.take().map(u32::from_le_bytes)
    }

    fn known<T>(&mut self, expected: &str, of: impl Fn(u32) -> Option<T>) -> Result<T, Problem> {
        let at = self.at;
        let number = self.number()?;
        of(number).ok_or_else(|| Problem::new(HEADER_BYTES + at, number, expected))
    }
}

/// The texts at the end.
struct Texts<'a> {
    bytes: &'a [u8],
    at: usize,
    /// How many bytes have not been taken: texts that share bytes could make a small file a large description.
    left: Cell<usize>,
}

impl Texts<'_> {
    /// The text that the next two fields tell.
    fn take(&self, fields: &mut Fields<'_>) -> Result<Text, Problem> {
        let at = fields.at;
        let (offset, length) = (fields.number()? as usize, fields.number()? as usize);
        let Some(text) = self.bytes.get(offset..).and_then(|rest| rest.get(..length)) else {
            let found = format!("a text of {length} bytes at {offset}");
            return Err(Problem::new(
                HEADER_BYTES + at,
                found,
                format!("one within {} bytes", self.bytes.len()),
            ));
        };
        let Some(left) = self.left.get().checked_sub(length) else {
            return Err(Problem::new(HEADER_BYTES + at, "a text over others", "texts side by side"));
        };
        self.left.set(left);
        if length > MAX_TEXT {
            let found = format!("a text of {length} bytes");
            return Err(Problem::new(HEADER_BYTES + at, found, format!("at most {MAX_TEXT}")));
        }
        match std::str::from_utf8(text) {
            Ok(text) => Ok(text.to_owned().into()),
            Err(_) => Err(Problem::new(HEADER_BYTES + self.at + offset, "bytes that are no text", "UTF-8")),
        }
    }
}

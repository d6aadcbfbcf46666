//! Thrift's compact protocol, in which Parquet stores page headers and the footer.

use super::super::Damage;
use super::super::varint::{self, Cursor};

/// A type of a field or of the elements of a list.
#[derive(Clone, Copy)]
pub(super) enum Type {
    I16 = 4,
    I32 = 5,
    I64 = 6,
    Binary = 8,
    List = 9,
    Struct = 12,
}

/// Writes one struct. Fields must be written in ascending order of their ids.
pub(super) struct StructWriter<'a> {
    out: &'a mut Vec<u8>,
    last: i16,
}

impl<'a> StructWriter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, last: 0 }
    }

    fn header(&mut self, id: i16, type_id: u8) {
        // The difference to the previous id always fits into 4 bits, because Parquet's ids are small.
        self.out.push(((id - self.last) as u8) << 4 | type_id);
        self.last = id;
    }

    pub(super) fn bool(&mut self, id: i16, value: bool) -> &mut Self {
        self.header(id, if value { 1 } else { 2 });
        self
    }

    pub(super) fn i16(&mut self, id: i16, value: i16) -> &mut Self {
        self.header(id, Type::I16 as u8);
        varint::push_signed(self.out, i64::from(value));
        self
    }

    pub(super) fn i32(&mut self, id: i16, value: i32) -> &mut Self {
        self.header(id, Type::I32 as u8);
        varint::push_signed(self.out, i64::from(value));
        self
    }

    pub(super) fn i64(&mut self, id: i16, value: i64) -> &mut Self {
        self.header(id, Type::I64 as u8);
        varint::push_signed(self.out, value);
        self
    }

    pub(super) fn binary(&mut self, id: i16, value: &[u8]) -> &mut Self {
        self.header(id, Type::Binary as u8);
        push_binary(self.out, value);
        self
    }

    /// Writes a field that is a struct.
    pub(super) fn structure(&mut self, id: i16, write: impl FnOnce(&mut StructWriter<'_>)) -> &mut Self {
        self.header(id, Type::Struct as u8);
        push_struct(self.out, write);
        self
    }

    /// Writes a field that is a list. `write` appends one element.
    pub(super) fn list<T>(
        &mut self,
        id: i16,
        type_id: Type,
        elements: &[T],
        write: impl FnMut(&mut Vec<u8>, &T),
    ) -> &mut Self {
        self.list_of(id, type_id as u8, elements, write)
    }

    /// Writes a field that is a list of Booleans.
    pub(super) fn bools(&mut self, id: i16, elements: &[bool]) -> &mut Self {
        self.list_of(id, 2, elements, |out, &element| out.push(if element { 1 } else { 2 }))
    }

    fn list_of<T>(
        &mut self,
        id: i16,
        type_id: u8,
        elements: &[T],
        mut write: impl FnMut(&mut Vec<u8>, &T),
    ) -> &mut Self {
        self.header(id, Type::List as u8);
        if elements.len() < 15 {
            self.out.push((elements.len() as u8) << 4 | type_id);
        } else {
            self.out.push(0xF0 | type_id);
            varint::push(self.out, elements.len() as u64);
        }
        elements.iter().for_each(|element| write(self.out, element));
        self
    }

    /// Ends the struct.
    pub(super) fn end(&mut self) {
        self.out.push(0);
    }
}

/// Appends a struct, as an element of a list.
pub(super) fn push_struct(out: &mut Vec<u8>, write: impl FnOnce(&mut StructWriter<'_>)) {
    let mut writer = StructWriter::new(out);
    write(&mut writer);
    writer.end();
}

/// Appends bytes with their length, as an element of a list.
pub(super) fn push_binary(out: &mut Vec<u8>, value: &[u8]) {
    varint::push(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// The numbers of a struct, by field id. The structs that are read here contain only numbers and structs of numbers;
/// other fields are errors.
pub(super) struct Fields {
    numbers: Vec<(i16, i64)>,
}

/// Maximum depth of structs within structs.
const MAX_DEPTH: usize = 2;

impl Fields {
    /// Reads a struct.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Damage> {
        let mut fields = Self { numbers: Vec::new() };
        fields.read_into(cursor, 0, 0)?;
        Ok(fields)
    }

    /// The number of a field. The id of a field in a nested struct is `outer * 100 + inner`.
    pub(super) fn get(&self, id: i16) -> Option<i64> {
        self.numbers.iter().find(|(known, _)| *known == id).map(|&(_, number)| number)
    }

    fn read_into(&mut self, cursor: &mut Cursor<'_>, outer: i16, depth: usize) -> Result<(), Damage> {
        let mut id = 0;
        loop {
            let header = cursor.byte()?;
            if header == 0 {
                return Ok(());
            }
            let step = i16::from(header >> 4);
            id += step;
            // Parquet's headers have few fields.
            if step == 0 || id > 20 {
                return Err(Damage("a page header has an unknown field"));
            }
            let key = outer * 100 + id;
            match header & 0x0F {
                1 => self.numbers.push((key, 1)),
                2 => self.numbers.push((key, 0)),
                5 | 6 => {
                    let number = cursor.signed()?;
                    self.numbers.push((key, number));
                }
                12 if depth + 1 < MAX_DEPTH => self.read_into(cursor, key, depth + 1)?,
                _ => return Err(Damage("a page header has an unknown field")),
            }
        }
    }
}

/// A value in a footer or a page index, of which only the requested parts are read.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    type_id: u8,
    bytes: &'a [u8],
}

/// Maximum depth of structs and lists within others.
const MAX_VALUE_DEPTH: usize = 16;

const UNKNOWN: Damage = Damage("a footer has an unknown field");

impl<'a> Value<'a> {
    /// A struct.
    pub(super) fn of_struct(bytes: &'a [u8]) -> Self {
        Self { type_id: Type::Struct as u8, bytes }
    }

    /// Calls `each` with the id and the value of each field of a struct.
    pub(super) fn for_each_field(
        self,
        mut each: impl FnMut(i16, Value<'a>) -> Result<(), Damage>,
    ) -> Result<(), Damage> {
        if self.type_id != Type::Struct as u8 {
            return Err(UNKNOWN);
        }
        let mut cursor = Cursor::new(self.bytes);
        let mut id = 0i16;
        loop {
            let header = cursor.byte()?;
            if header == 0 {
                return Ok(());
            }
            let step = i16::from(header >> 4);
            if step == 0 {
                return Err(UNKNOWN);
            }
            id = id.checked_add(step).ok_or(UNKNOWN)?;
            let type_id = header & 0x0F;
            each(id, Self { type_id, bytes: cursor.consumed(|cursor| skip(cursor, type_id, false, 0))? })?;
        }
    }

    /// Calls `each` with each element of a list.
    pub(super) fn for_each_element(
        self,
        mut each: impl FnMut(Value<'a>) -> Result<(), Damage>,
    ) -> Result<(), Damage> {
        if self.type_id != Type::List as u8 {
            return Err(UNKNOWN);
        }
        let mut cursor = Cursor::new(self.bytes);
        let (count, type_id) = read_list_header(&mut cursor)?;
        for _ in 0..count {
            each(Self { type_id, bytes: cursor.consumed(|cursor| skip(cursor, type_id, true, 0))? })?;
        }
        Ok(())
    }

    /// An integer.
    pub(super) fn number(self) -> Result<i64, Damage> {
        match self.type_id {
            4..=6 => Cursor::new(self.bytes).signed(),
            _ => Err(UNKNOWN),
        }
    }
}

/// The number and the type of a list's elements.
fn read_list_header(cursor: &mut Cursor<'_>) -> Result<(usize, u8), Damage> {
    let header = cursor.byte()?;
    let count = match header >> 4 {
        15 => cursor.count()?,
        count => usize::from(count),
    };
    Ok((count, header & 0x0F))
}

/// Skips a value. A Boolean has a byte of its own only in a list.
fn skip(cursor: &mut Cursor<'_>, type_id: u8, is_element: bool, depth: usize) -> Result<(), Damage> {
    if depth > MAX_VALUE_DEPTH {
        return Err(UNKNOWN);
    }
    match type_id {
        1 | 2 if !is_element => Ok(()),
        1..=3 => cursor.byte().map(drop),
        4..=6 => cursor.signed().map(drop),
        7 => cursor.take(8).map(drop),
        8 => {
            let len = cursor.count()?;
            cursor.take(len).map(drop)
        }
        9 => {
            let (count, type_id) = read_list_header(cursor)?;
            (0..count).try_for_each(|_| skip(cursor, type_id, true, depth + 1))
        }
        12 => loop {
            match cursor.byte()? {
                0 => return Ok(()),
                header => skip(cursor, header & 0x0F, false, depth + 1)?,
            }
        },
        _ => Err(UNKNOWN),
    }
}

/// Finds the value of a key in a footer's key-value metadata. The rest of the footer is not parsed.
///
/// The last match is used, because the statistics, which precede the metadata, contain names from the log, and such a name
/// can look like the key.
pub(in super::super) fn find_text<'a>(footer: &'a [u8], key: &str) -> Result<&'a str, Damage> {
    let mut pattern = Vec::new();
    // Field 1 of the pair, the key, is followed by field 2, the value.
    StructWriter::new(&mut pattern).binary(1, key.as_bytes());
    pattern.push(0x18);
    let at = footer.windows(pattern.len()).rposition(|window| window == pattern);
    let at = at.ok_or(Damage("this Parquet file is not part of a Tachograph archive"))?;
    Cursor::new(&footer[at + pattern.len()..]).text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_looks_like_metadata_is_ignored() {
        let mut footer = Vec::new();
        push_struct(&mut footer, |file| {
            // The statistics of a column.
            file.binary(1, b"\x18\x03key\x18\x06forged");
            file.structure(5, |pair| {
                pair.binary(1, b"key").binary(2, b"value");
            });
        });
        assert_eq!(find_text(&footer, "key"), Ok("value"));
    }
}

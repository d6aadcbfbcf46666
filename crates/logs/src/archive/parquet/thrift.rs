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

    fn header(&mut self, id: i16, kind: u8) {
        // The difference to the previous id always fits into 4 bits, because Parquet's ids are small.
        self.out.push(((id - self.last) as u8) << 4 | kind);
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
        kind: Type,
        elements: &[T],
        write: impl FnMut(&mut Vec<u8>, &T),
    ) -> &mut Self {
        self.list_of(id, kind as u8, elements, write)
    }

    /// Writes a field that is a list of Booleans.
    pub(super) fn bools(&mut self, id: i16, elements: &[bool]) -> &mut Self {
        self.list_of(id, 2, elements, |out, &element| out.push(if element { 1 } else { 2 }))
    }

    fn list_of<T>(
        &mut self,
        id: i16,
        kind: u8,
        elements: &[T],
        mut write: impl FnMut(&mut Vec<u8>, &T),
    ) -> &mut Self {
        self.header(id, Type::List as u8);
        if elements.len() < 15 {
            self.out.push((elements.len() as u8) << 4 | kind);
        } else {
            self.out.push(0xF0 | kind);
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
            let head = cursor.byte()?;
            if head == 0 {
                return Ok(());
            }
            let step = i16::from(head >> 4);
            id += step;
            // Parquet's headers have few fields.
            if step == 0 || id > 20 {
                return Err(Damage("a page header has an unknown field"));
            }
            let key = outer * 100 + id;
            match head & 0x0F {
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

/// Finds the value of a key in a footer's key-value metadata. The rest of the footer is not parsed.
///
/// The last match is used, because the statistics, which precede the metadata, can contain any name in the log.
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

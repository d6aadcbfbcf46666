//! The instances of block records, cached between records.

use std::borrow::Cow;
use std::sync::Arc;

use encoding_rs::Encoding;
use tachograph_counters::set::{Instance, InstanceTable, Instances};

use super::numbering::Numbering;
use crate::Problem;
use crate::blg::raw::block::InstanceDefinition;
use crate::blg::raw::utf16_until_nul;

/// The instances of one object: the bytes that identify them, and the shared list decoded from them.
#[derive(Default)]
pub(super) struct CachedRows {
    /// Definitions and names of this record, concatenated.
    bytes: Vec<u8>,
    /// Offset of each definition in `bytes`.
    starts: Vec<usize>,
    /// Title index of the parents' object; 0 if no row so far has a parent.
    parent_object: u32,
    /// `bytes` of the previous record.
    bytes_before: Vec<u8>,
    /// Whether `instances` was decoded from `bytes`: false until the whole record is decoded, and after a damaged
    /// record.
    is_listed: bool,
    /// `is_listed` of the previous record.
    was_listed: bool,
    parents_before: Arc<[String]>,
    instances: Instances,
}

const DEFINITION_BYTES: usize = size_of::<InstanceDefinition>();

impl CachedRows {
    pub(super) fn begin(&mut self) {
        std::mem::swap(&mut self.bytes, &mut self.bytes_before);
        self.was_listed = std::mem::take(&mut self.is_listed);
        self.bytes.clear();
        self.starts.clear();
        self.parent_object = 0;
    }

    /// Adds the row of an object without instances.
    pub(super) fn single(&mut self) {
        // A definition is longer than one byte, so this differs from any list of instances.
        self.bytes.push(0xFF);
    }

    pub(super) fn add(&mut self, definition: &InstanceDefinition, name: &[u8]) {
        use zerocopy::IntoBytes;
        if self.parent_object == 0 {
            self.parent_object = definition.parent_object.get();
        }
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(definition.as_bytes());
        self.bytes.extend_from_slice(name);
    }

    /// The list of this record's instances, shared with the previous record if nothing changed. `parents` returns the
    /// instance names of the object with the given title index.
    pub(super) fn finish(
        &mut self,
        code_page: u32,
        record_bytes: usize,
        table: &mut InstanceTable,
        parents: impl FnOnce(u32) -> Arc<[String]>,
    ) -> Result<&Instances, Problem> {
        let parents = if self.parent_object == 0 { Arc::default() } else { parents(self.parent_object) };
        if !self.was_listed || self.bytes != self.bytes_before || parents != self.parents_before {
            self.instances = self.list(code_page, record_bytes, table, &parents)?;
            self.parents_before = parents;
        }
        self.is_listed = true;
        Ok(&self.instances)
    }

    fn list(
        &self,
        code_page: u32,
        record_bytes: usize,
        table: &mut InstanceTable,
        parents: &[String],
    ) -> Result<Instances, Problem> {
        if self.starts.is_empty() {
            // One row without a name, or no row.
            return Ok(self.bytes.iter().map(|_| Arc::new(Instance::none())).collect());
        }
        let ends = self.starts.iter().skip(1).copied().chain([self.bytes.len()]);
        let mut numbering = Numbering::new(record_bytes);
        self.starts
            .iter()
            .zip(ends)
            .map(|(&start, end)| {
                let definition = self.definition(start);
                let name = instance_name(&definition, &self.bytes[start + DEFINITION_BYTES..end], code_page);
                let parent = match definition.parent_object.get() {
                    0 => None,
                    // As far as we know, all parents of an object's instances are in one object. Others are ignored.
                    other if other != self.parent_object => None,
                    _ => parents.get(definition.parent_instance.get() as usize).map(String::as_str),
                };
                numbering.next(table, parent, &name)
            })
            .collect()
    }

    fn definition(&self, start: usize) -> InstanceDefinition {
        use zerocopy::FromBytes;
        InstanceDefinition::read_from_prefix(&self.bytes[start..]).map(|(read, _)| read).unwrap_or_default()
    }
}

/// The name of an instance, UTF-16 or in a code page; its unique id if it has no name.
pub(super) fn instance_name<'a>(
    definition: &InstanceDefinition,
    name: &'a [u8],
    code_page: u32,
) -> Cow<'a, str> {
    let text: Cow<'a, str> = if code_page == 0 {
        utf16_until_nul(name).0.into()
    } else {
        let length = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        encoding_of(code_page).decode_without_bom_handling(&name[..length]).0
    };
    if text.is_empty() && definition.unique_id.get() != -1 {
        return definition.unique_id.get().to_string().into();
    }
    text
}

fn encoding_of(code_page: u32) -> &'static Encoding {
    let label = match code_page {
        65001 => "utf-8".to_owned(),
        932 => "shift_jis".to_owned(),
        936 | 54936 => "gb18030".to_owned(),
        949 => "euc-kr".to_owned(),
        950 => "big5".to_owned(),
        20866 => "koi8-r".to_owned(),
        other => format!("windows-{other}"),
    };
    Encoding::for_label(label.as_bytes()).unwrap_or(encoding_rs::WINDOWS_1252)
}

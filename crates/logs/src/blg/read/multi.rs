//! Decoding multi records: one counter, all instances.

use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Group;
use tachograph_counters::set::{CounterSet, InstanceTable, Instances, has_parents};
use tachograph_counters::{RawValue, Status};
use zerocopy::FromBytes;

use super::numbering::Numbering;
use crate::blg::raw::record::{MULTI_HEAD_BYTES, MULTI_ITEM_BYTES, MultiHead, MultiItem};
use crate::blg::raw::utf16_until_nul;
use crate::problem::Problem;

/// Decodes one counter's multi records, remembering the instances of the record before.
pub(super) struct MultiDecoder {
    set: Arc<CounterSet>,
    has_parents: bool,
    /// Offsets and bytes of the names of the record before: when they are the same, so are the instances.
    name_offsets: Vec<u32>,
    name_bytes: Vec<u8>,
    instances: Instances,
}

impl MultiDecoder {
    pub(super) fn new(set: Arc<CounterSet>) -> Self {
        let has_parents = has_parents(set.english_name.as_deref().unwrap_or(&set.name));
        Self {
            set,
            has_parents,
            name_offsets: Vec::new(),
            name_bytes: Vec::new(),
            instances: Instances::default(),
        }
    }

    pub(super) fn set(&self) -> &Arc<CounterSet> {
        &self.set
    }

    /// Fills `group` from a record, whose size its caller has checked.
    ///
    /// The instances of one object are interned in `table`, whichever of its counters they come with.
    pub(super) fn decode(
        &mut self,
        record: &[u8],
        table: &mut InstanceTable,
        group: &mut Group,
    ) -> Result<Option<Problem>, Problem> {
        let Ok((head, after)) = MultiHead::read_from_prefix(record) else {
            return Err(Problem::new(0, "a multi record is cut off").found(record.len(), "at least 32 bytes"));
        };
        let count = head.count.get() as usize;
        let Ok((items, names)) = <[MultiItem]>::ref_from_prefix_with_elems(after, count) else {
            let most = (record.len() - MULTI_HEAD_BYTES) / MULTI_ITEM_BYTES;
            return Err(Problem::new(0x0C, "the number of instances of a multi record is wrong")
                .found(count, format!("at most {most}")));
        };
        let status = Status(head.status.get());
        group.status = status;
        group.read_at = FileTime(head.local_time.get());
        let mut same = self.name_offsets.len() == count && self.name_bytes == names;
        group.values.extend(items.iter().zip(self.name_offsets.iter().chain(std::iter::repeat(&0))).map(
            |(item, &offset)| {
                same &= item.name_offset.get() == offset;
                RawValue {
                    first: item.first.get(),
                    second: item.second.get(),
                    multi_count: item.multi_count.get(),
                    status,
                }
            },
        ));
        let problem = if same { None } else { self.rename(record, items, names, table)? };
        group.set_rows(&self.instances);
        Ok(problem)
    }

    #[cold]
    fn rename(
        &mut self,
        record: &[u8],
        items: &[MultiItem],
        names: &[u8],
        table: &mut InstanceTable,
    ) -> Result<Option<Problem>, Problem> {
        // Whatever goes wrong below, the next record must not be taken for one with these names.
        self.name_offsets.clear();
        self.instances = Instances::default();
        let first_name = MULTI_HEAD_BYTES + items.len() * MULTI_ITEM_BYTES;
        let mut instances = Vec::with_capacity(items.len());
        let mut numbering = Numbering::new(record.len());
        let mut problem = None;
        let mut packed = first_name;
        for (number, item) in items.iter().enumerate() {
            let at = (item.name_offset.get() as usize).saturating_add(8);
            let Some(bytes) = record.get(at..).filter(|_| at >= first_name) else {
                let place = MULTI_HEAD_BYTES + number * MULTI_ITEM_BYTES;
                return Err(Problem::new(place as u64, "an instance's name lies outside its multi record")
                    .found(at - 8, format!("{} to {}", first_name - 8, record.len() - 8)));
            };
            let (text, taken) = utf16_until_nul(bytes);
            if at != packed && problem.is_none() {
                let place = MULTI_HEAD_BYTES + number * MULTI_ITEM_BYTES;
                problem = Some(
                    Problem::new(place as u64, "the names of a multi record do not follow one another")
                        .found(at - 8, (packed - 8).to_string()),
                );
            }
            packed = at + taken;
            let (parent, rest) = match text.split_once('/') {
                Some((parent, rest)) if self.has_parents => (Some(parent), rest),
                _ => (None, text.as_str()),
            };
            instances.push(numbering.next(table, parent, rest)?);
        }
        if problem.is_none() {
            problem = check_padding(record, packed);
        }
        self.instances = instances.into();
        // Names with a problem are not cached, so the next record reports the problem again.
        if problem.is_none() {
            self.name_offsets.extend(items.iter().map(|item| item.name_offset.get()));
        }
        self.name_bytes.clear();
        self.name_bytes.extend_from_slice(names);
        Ok(problem)
    }
}

/// Whether only zeros follow the names of a multi record, which end at `end`.
fn check_padding(record: &[u8], end: usize) -> Option<Problem> {
    let at = record.get(end..)?.iter().position(|&byte| byte != 0)?;
    Some(
        Problem::new((end + at) as u64, "bytes after the names of a multi record")
            .found(format_args!("{:#04x}", record[end + at]), "zeros"),
    )
}

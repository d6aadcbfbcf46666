//! Decodes multi records. Each one contains one counter of all instances.

use std::collections::VecDeque;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Group;
use tachograph_counters::set::{CounterSet, InstanceTable, Instances, has_parents};
use tachograph_counters::{RawValue, Status};
use zerocopy::FromBytes;

use super::numbering::Numbering;
use crate::Problem;
use crate::blg::raw::record::{MULTI_HEAD_BYTES, MULTI_ITEM_BYTES, MultiHead, MultiItem};
use crate::blg::raw::utf16_until_nul;

/// Decodes the multi records of one counter; caches its instances.
pub(super) struct MultiDecoder {
    set: Arc<CounterSet>,
    has_parents: bool,
    /// The names of the previous record. Counters with the same names share them, so that names that are compared with those
    /// of each record of a sample stay in the processor's cache.
    names: Arc<MultiNames>,
}

/// The state that the multi records of an object's counters share.
#[derive(Default)]
pub(super) struct ObjectRows {
    /// The instances found so far.
    pub(super) table: InstanceTable,
    /// The names that were decoded last, the latest first. Usually all counters of a sample have the same names, except those
    /// that the recorder could not read for some instances.
    recent: VecDeque<Arc<MultiNames>>,
}

/// Maximum number of lists of names that the counters of an object share.
const MAX_RECENT: usize = 4;

/// The names of a record, and the instances decoded from them. A record with the same names has the same instances.
#[derive(Default)]
struct MultiNames {
    offsets: Vec<u32>,
    bytes: Vec<u8>,
    instances: Instances,
}

impl MultiNames {
    /// Whether a record has these names at these offsets.
    fn match_record(&self, items: &[MultiItem], names: &[u8]) -> bool {
        // Without an early exit, the offsets are compared several at a time.
        let offsets = items.iter().zip(&self.offsets);
        let differences = offsets.fold(0, |bits, (item, offset)| bits | (item.name_offset.get() ^ offset));
        self.offsets.len() == items.len() && differences == 0 && self.bytes == names
    }
}

impl MultiDecoder {
    pub(super) fn new(set: Arc<CounterSet>) -> Self {
        let has_parents = has_parents(set.english_name.as_deref().unwrap_or(&set.name));
        Self { set, has_parents, names: Arc::default() }
    }

    pub(super) fn set(&self) -> &Arc<CounterSet> {
        &self.set
    }

    /// Decodes a record, whose size the caller has checked, into `group`.
    ///
    /// All counters of an object share `rows`.
    pub(super) fn decode(
        &mut self,
        record: &[u8],
        rows: &mut ObjectRows,
        group: &mut Group,
    ) -> Result<Option<Problem>, Problem> {
        let Ok((head, after)) = MultiHead::read_from_prefix(record) else {
            return Err(Problem::new(0, "a multi record is cut off").found(record.len(), "at least 32 bytes"));
        };
        let count = head.count.get() as usize;
        let Ok((items, names)) = <[MultiItem]>::ref_from_prefix_with_elems(after, count) else {
            let max_items = (record.len() - MULTI_HEAD_BYTES) / MULTI_ITEM_BYTES;
            return Err(Problem::new(0x0C, "the number of instances of a multi record is wrong")
                .found(count, format!("at most {max_items}")));
        };
        let status = Status(head.status.get());
        group.status = status;
        group.read_at = FileTime(head.local_time.get());
        group.values.extend(items.iter().map(|item| RawValue {
            first: item.first.get(),
            second: item.second.get(),
            multi_count: item.multi_count.get(),
            status,
        }));
        let mut problem = None;
        if !self.names.match_record(items, names) {
            if let Some(known) = rows.recent.iter().find(|known| known.match_record(items, names)) {
                self.names = Arc::clone(known);
            } else {
                let (decoded, found) = self.decode_names(record, items, names, &mut rows.table)?;
                self.names = Arc::new(decoded);
                problem = found;
                if problem.is_none() {
                    rows.recent.truncate(MAX_RECENT - 1);
                    rows.recent.push_front(Arc::clone(&self.names));
                }
            }
        }
        group.set_rows(&self.names.instances);
        Ok(problem)
    }

    /// Decodes the names of a record into instances. Names with a problem have no offsets, so they match no later record,
    /// which then reports the problem again.
    #[cold]
    fn decode_names(
        &self,
        record: &[u8],
        items: &[MultiItem],
        names: &[u8],
        table: &mut InstanceTable,
    ) -> Result<(MultiNames, Option<Problem>), Problem> {
        let first_name = MULTI_HEAD_BYTES + items.len() * MULTI_ITEM_BYTES;
        let mut instances = Vec::with_capacity(items.len());
        let mut numbering = Numbering::new(record.len());
        let mut problem = None;
        let mut next_name = first_name;
        for (index, item) in items.iter().enumerate() {
            let at = (item.name_offset.get() as usize).saturating_add(8);
            let Some(bytes) = record.get(at..).filter(|_| at >= first_name) else {
                let offset = MULTI_HEAD_BYTES + index * MULTI_ITEM_BYTES;
                return Err(Problem::new(offset as u64, "an instance's name is outside its multi record")
                    .found(at - 8, format!("{} to {}", first_name - 8, record.len() - 8)));
            };
            let (text, name_bytes) = utf16_until_nul(bytes);
            if at != next_name && problem.is_none() {
                let offset = MULTI_HEAD_BYTES + index * MULTI_ITEM_BYTES;
                problem = Some(
                    Problem::new(offset as u64, "the names of a multi record are not adjacent")
                        .found(at - 8, (next_name - 8).to_string()),
                );
            }
            next_name = at + name_bytes;
            let (parent, rest) = match text.split_once('/') {
                Some((parent, rest)) if self.has_parents => (Some(parent), rest),
                _ => (None, text.as_str()),
            };
            instances.push(numbering.next(table, parent, rest)?);
        }
        if problem.is_none() {
            problem = check_padding(record, next_name);
        }
        let offsets = match problem {
            None => items.iter().map(|item| item.name_offset.get()).collect(),
            Some(_) => Vec::new(),
        };
        Ok((MultiNames { offsets, bytes: names.to_vec(), instances: instances.into() }, problem))
    }
}

/// Checks that only zeros follow the names of a multi record, which end at `end`.
fn check_padding(record: &[u8], end: usize) -> Option<Problem> {
    let at = record.get(end..)?.iter().position(|&byte| byte != 0)?;
    Some(
        Problem::new((end + at) as u64, "a multi record has extra bytes after its names")
            .found(format_args!("{:#04x}", record[end + at]), "zeros"),
    )
}

//! The records of a sample: single and multi.

use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{CounterSet, Extent, Instances};
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_counters::{RawValue, Status};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{I64, U32};

use super::block::{self, BlockEncoder};
use crate::blg::raw::record::{
    KIND_MULTI, KIND_SINGLE, MULTI_HEAD_BYTES, MULTI_ITEM_BYTES, MultiHead, MultiItem, RecordHead,
    SINGLE_BYTES, Single,
};
use crate::blg::raw::{push_utf16_nul, round_up_8};
use crate::error::LogError;

/// Encodes one group, sample after sample.
pub(super) struct GroupEncoder {
    set: Arc<CounterSet>,
    kind: Kind,
}

/// The local times of a sample as the log has them.
#[derive(Clone, Copy)]
pub(super) struct LocalTimes {
    /// That of the sample.
    pub(super) sample: FileTime,
    /// What makes a group's own time one of the log's zone, in 100 ns units.
    pub(super) shift: i64,
}

impl LocalTimes {
    /// Of a sample that the log has at this moment of its own zone.
    pub(super) fn new(sample: &Sample, at: Moment) -> Self {
        Self { sample: at.local(), shift: at.local().since(sample.at.local()) }
    }

    /// The time in a group's record. A block has only the sample's.
    pub(super) fn of(self, group: &Group) -> FileTime {
        if group.read_at.0 == 0 || group.set.extent == Extent::Table {
            return self.sample;
        }
        group.read_at.saturating_add(self.shift)
    }
}

enum Kind {
    Single,
    Multi(MultiNames),
    Block(Box<BlockEncoder>),
}

/// The names of a multi record, kept while the instances stay the same.
#[derive(Default)]
struct MultiNames {
    instances: Instances,
    /// Where each name ends in `bytes`.
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl GroupEncoder {
    pub(super) fn new(group: &Group) -> Result<Self, LogError> {
        let kind = match group.set.extent {
            Extent::Value => Kind::Single,
            Extent::Column => Kind::Multi(MultiNames::default()),
            Extent::Table => {
                block::check(&group.set)?;
                Kind::Block(Box::default())
            }
        };
        Ok(Self { set: Arc::clone(&group.set), kind })
    }

    /// What the records hold.
    pub(super) fn set(&self) -> &CounterSet {
        &self.set
    }

    /// Appends the group's record.
    pub(super) fn encode(
        &mut self,
        group: &Group,
        times: LocalTimes,
        out: &mut Vec<u8>,
    ) -> Result<(), LogError> {
        if !Arc::ptr_eq(&self.set, &group.set) {
            self.follow(&group.set)?;
        }
        match &mut self.kind {
            Kind::Single => encode_single(group, times, out),
            Kind::Multi(names) => names.encode(group, times, out),
            Kind::Block(encoder) => encoder.encode(group, times.sample, out),
        }
        Ok(())
    }

    /// Accepts a description that says the same; a block's counters may change, since a block describes itself.
    fn follow(&mut self, set: &Arc<CounterSet>) -> Result<(), LogError> {
        if !is_continued(&self.set, set) {
            return Err(LogError::unsupported(format!(
                r"a BLG keeps the counters it began with: '\\{}\{}' became '\\{}\{}'",
                self.set.machine, self.set.name, set.machine, set.name
            )));
        }
        if set.extent == Extent::Table {
            block::check(set)?;
        }
        self.set = Arc::clone(set);
        Ok(())
    }
}

/// Whether records described by `now` may stand under the list entry of `before`. Names compare without case; the scale
/// for charts may differ. What a block holds it says itself.
pub(super) fn is_continued(before: &CounterSet, now: &CounterSet) -> bool {
    let same_counters = || {
        before.counters.len() == now.counters.len()
            && before.counters.iter().zip(&now.counters).all(|(before, now)| {
                eq_ignore_case(&before.name, &now.name)
                    && (before.counter_type, before.time_base) == (now.counter_type, now.time_base)
            })
    };
    let label = |set: &CounterSet| set.instance.as_ref().map(|instance| instance.label().to_owned());
    before.extent == now.extent
        && eq_ignore_case(&before.machine, &now.machine)
        && eq_ignore_case(&before.name, &now.name)
        && (before.extent == Extent::Table || (label(before) == label(now) && same_counters()))
}

fn encode_single(group: &Group, times: LocalTimes, out: &mut Vec<u8>) {
    let absent = if group.status.is_error() { group.status } else { Status::NO_INSTANCE };
    let raw = group.values.first().copied().unwrap_or(RawValue::error(absent));
    let single = Single {
        head: RecordHead::new(KIND_SINGLE, SINGLE_BYTES),
        status: U32::new(raw.status.0),
        local_time: I64::new(times.of(group).0),
        padding: U32::ZERO,
        first: I64::new(raw.first),
        second: I64::new(raw.second),
        multi_count: U32::new(raw.multi_count),
        padding_end: U32::ZERO,
    };
    out.extend_from_slice(single.as_bytes());
}

impl MultiNames {
    fn encode(&mut self, group: &Group, times: LocalTimes, out: &mut Vec<u8>) {
        if !Arc::ptr_eq(&self.instances, &group.instances) {
            self.follow(&group.instances);
        }
        // A multi record has one status for all. Where only some have no value they are left out, so that the others keep
        // theirs; where none has one, they stay, with the status of the first.
        let failed = group.values.iter().filter(|raw| raw.status.is_error()).count();
        let is_whole = failed == 0 || failed == group.values.len();
        let is_kept = |raw: &RawValue| is_whole || raw.status.is_good();
        let rows = || group.values.iter().enumerate().filter(|(_, raw)| is_kept(raw));
        let (count, name_bytes) = if is_whole {
            (group.values.len(), self.bytes.len())
        } else {
            (group.values.len() - failed, rows().map(|(row, _)| self.name(row).len()).sum())
        };
        let names_at = MULTI_HEAD_BYTES + MULTI_ITEM_BYTES * count;
        let size = round_up_8(names_at + name_bytes);
        let status =
            group.values.first().map(|raw| raw.status).filter(|status| is_whole && status.is_error());
        let head = MultiHead {
            head: RecordHead::new(KIND_MULTI, size),
            inner_size: U32::new(size as u32 - 8),
            count: U32::new(count as u32),
            status: U32::new(status.unwrap_or(group.status).0),
            reserved: U32::ZERO,
            local_time: I64::new(times.of(group).0),
        };
        let begin = out.len();
        out.reserve(size);
        out.extend_from_slice(head.as_bytes());
        let mut name_offset = names_at as u32 - 8;
        for (row, raw) in rows() {
            let item = MultiItem {
                name_offset: U32::new(name_offset),
                multi_count: U32::new(raw.multi_count),
                first: I64::new(raw.first),
                second: I64::new(raw.second),
            };
            out.extend_from_slice(item.as_bytes());
            name_offset += self.name(row).len() as u32;
        }
        if is_whole {
            out.extend_from_slice(&self.bytes);
        } else {
            rows().for_each(|(row, _)| out.extend_from_slice(self.name(row)));
        }
        out.resize(begin + size, 0);
    }

    /// The bytes of a row's name, its NUL included.
    fn name(&self, row: usize) -> &[u8] {
        let from = row.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |&end| end as usize);
        let to = self.ends.get(row).map_or(from, |&end| end as usize);
        &self.bytes[from..to]
    }

    fn follow(&mut self, instances: &Instances) {
        self.instances = Arc::clone(instances);
        self.ends.clear();
        self.bytes.clear();
        for instance in instances.iter() {
            push_utf16_nul(&mut self.bytes, instance.label());
            self.ends.push(self.bytes.len() as u32);
        }
    }
}

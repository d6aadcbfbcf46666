//! Encodes the records of a sample.

use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{CounterSet, Extent, Instances};
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_counters::{RawValue, Status};
use zerocopy::little_endian::{I64, U32};
use zerocopy::{FromBytes, IntoBytes};

use super::block::{self, BlockEncoder};
use crate::blg::raw::record::{
    KIND_MULTI, KIND_SINGLE, MULTI_HEAD_BYTES, MULTI_ITEM_BYTES, MultiHead, MultiItem, RecordHead,
    SINGLE_BYTES, Single,
};
use crate::blg::raw::{push_utf16_nul, round_up_8};
use crate::error::LogError;

/// Encodes one group of each sample.
pub(super) struct GroupEncoder {
    set: Arc<CounterSet>,
    kind: Kind,
}

/// The local times of a sample in the log's time zone.
#[derive(Clone, Copy)]
pub(super) struct LocalTimes {
    /// The sample's local time.
    pub(super) sample: FileTime,
    /// Offset that converts a group's local time to the log's time zone, in 100 ns units.
    pub(super) shift: i64,
}

impl LocalTimes {
    /// Creates the times of `sample`, whose time in the log's time zone is `at`.
    pub(super) fn new(sample: &Sample, at: Moment) -> Self {
        Self { sample: at.local(), shift: at.local().since(sample.at.local()) }
    }

    /// The local time to store in a group's record. A block gets the sample's time.
    pub(super) fn for_group(self, group: &Group) -> FileTime {
        if group.read_at.0 == 0 || group.set.extent == Extent::Table {
            return self.sample;
        }
        group.read_at.saturating_add(self.shift)
    }
}

/// The kind of records in which a group is stored.
enum Kind {
    Single,
    Multi(MultiNames),
    Block(Box<BlockEncoder>),
}

/// The encoded names of a multi record, cached while the instances stay the same.
#[derive(Default)]
struct MultiNames {
    instances: Instances,
    /// Start of each name in `bytes`, and the end of the last one.
    starts: Vec<u32>,
    bytes: Vec<u8>,
}

impl GroupEncoder {
    pub(super) fn new(group: &Group) -> Result<Self, LogError> {
        let kind = match group.set.extent {
            Extent::Row => Kind::Single,
            Extent::Columns => Kind::Multi(MultiNames::default()),
            Extent::Table => {
                block::check(&group.set)?;
                Kind::Block(Box::default())
            }
        };
        Ok(Self { set: Arc::clone(&group.set), kind })
    }

    pub(super) fn encode(
        &mut self,
        group: &Group,
        times: LocalTimes,
        out: &mut Vec<u8>,
    ) -> Result<(), LogError> {
        if !Arc::ptr_eq(&self.set, &group.set) {
            self.update_set(&group.set)?;
        }
        match &mut self.kind {
            Kind::Single => {
                (0..group.set.counters.len()).for_each(|column| encode_single(group, column, times, out));
            }
            Kind::Multi(names) => {
                names.update_instances(&group.instances);
                (0..group.set.counters.len()).for_each(|column| names.encode(group, column, times, out));
            }
            Kind::Block(encoder) => encoder.encode(group, times.sample, out),
        }
        Ok(())
    }

    /// Replaces the description with a compatible one. A block's counters can change, because a block describes
    /// itself.
    fn update_set(&mut self, set: &Arc<CounterSet>) -> Result<(), LogError> {
        if !is_compatible(&self.set, set) {
            return Err(LogError::unsupported(format!(
                r"the counters of a BLG cannot change: '\\{}\{}' became '\\{}\{}'",
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

/// Whether records described by `now` can use the counter list entry of `before`. Names are compared case-insensitively,
/// and default scales can differ. Blocks describe their counters themselves.
pub(super) fn is_compatible(before: &CounterSet, now: &CounterSet) -> bool {
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

/// Appends the single record of a column.
fn encode_single(group: &Group, column: usize, times: LocalTimes, out: &mut Vec<u8>) {
    let absent = if group.status.is_error() { group.status } else { Status::NO_INSTANCE };
    let raw = group.values.get(column).copied().unwrap_or(RawValue::error(absent));
    let single = Single {
        head: RecordHead::new(KIND_SINGLE, SINGLE_BYTES),
        status: U32::new(raw.status.0),
        local_time: I64::new(times.for_group(group).0),
        padding: U32::ZERO,
        first: I64::new(raw.first),
        second: I64::new(raw.second),
        multi_count: U32::new(raw.multi_count),
        padding_end: U32::ZERO,
    };
    out.extend_from_slice(single.as_bytes());
}

impl MultiNames {
    /// Appends the record of a column.
    fn encode(&self, group: &Group, column: usize, times: LocalTimes, out: &mut Vec<u8>) {
        let count = group.column(column).len();
        let failed = group.column(column).filter(|raw| raw.status.is_error()).count();
        // A multi record has one status for all values. If only some values are errors, they are omitted, so that the
        // others stay valid. If all values are errors, they are stored with the status of the first one.
        if failed > 0 && failed < count {
            self.encode_rows(group, column, times, count - failed, |raw| raw.status.is_good(), out);
        } else {
            self.encode_rows(group, column, times, count, |_| true, out);
        }
    }

    /// Appends a record of the `count` values that `filter` accepts.
    fn encode_rows(
        &self,
        group: &Group,
        column: usize,
        times: LocalTimes,
        count: usize,
        filter: impl Fn(&RawValue) -> bool,
        out: &mut Vec<u8>,
    ) {
        let rows = || group.column(column).zip(self.starts.windows(2)).filter(|(raw, _)| filter(raw));
        let status = rows().next().map(|(raw, _)| raw.status).filter(|status| status.is_error());
        let begin = out.len();
        let names_at = MULTI_HEAD_BYTES + MULTI_ITEM_BYTES * count;
        out.resize(begin + names_at, 0);
        let mut name_offset = names_at as u32 - 8;
        // Cannot fail: the bytes were added for this number of items.
        if let Ok(items) = <[MultiItem]>::mut_from_bytes(&mut out[begin + MULTI_HEAD_BYTES..]) {
            for (item, (raw, name)) in items.iter_mut().zip(rows()) {
                *item = MultiItem {
                    name_offset: U32::new(name_offset),
                    multi_count: U32::new(raw.multi_count),
                    first: I64::new(raw.first),
                    second: I64::new(raw.second),
                };
                name_offset += name[1] - name[0];
            }
        }
        if count + 1 == self.starts.len() {
            out.extend_from_slice(&self.bytes);
        } else {
            let names = rows().map(|(_, name)| &self.bytes[name[0] as usize..name[1] as usize]);
            names.for_each(|name| out.extend_from_slice(name));
        }
        let size = round_up_8(out.len() - begin);
        out.resize(begin + size, 0);
        let head = MultiHead {
            head: RecordHead::new(KIND_MULTI, size),
            inner_size: U32::new(size as u32 - 8),
            count: U32::new(count as u32),
            status: U32::new(status.unwrap_or(group.status).0),
            reserved: U32::ZERO,
            local_time: I64::new(times.for_group(group).0),
        };
        out[begin..begin + MULTI_HEAD_BYTES].copy_from_slice(head.as_bytes());
    }

    fn update_instances(&mut self, instances: &Instances) {
        if Arc::ptr_eq(&self.instances, instances) {
            return;
        }
        self.instances = Arc::clone(instances);
        self.starts.clear();
        self.bytes.clear();
        for instance in instances.iter() {
            self.starts.push(self.bytes.len() as u32);
            push_utf16_nul(&mut self.bytes, instance.label());
        }
        self.starts.push(self.bytes.len() as u32);
    }
}

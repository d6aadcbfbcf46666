//! Decodes samples with the counter list, which describes each record.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, InstanceTable, Instances};
use tachograph_counters::{CounterType, RawValue, Status};
use zerocopy::FromBytes;

use super::audit::RecordTime;
use super::block::{BlockDecoder, Context, Parents};
use super::multi::{MultiDecoder, ObjectRows};
use super::names::Names;
use crate::Problem;
use crate::blg::raw::list::{CounterList, Entry, FLAG_BLOCK, FLAG_MULTI};
use crate::blg::raw::record::{KIND_BLOCK, KIND_MULTI, KIND_SAMPLE, KIND_SINGLE, RecordHead, Single, TAG};

/// Maximum number of raw values in the block records of a sample; they take about 100 MB of memory. For comparison: a
/// large server has about a million threads.
const MAX_VALUES: usize = 1 << 22;

/// The decoders of a log's records, in the order of its counter list.
#[derive(Default)]
pub(super) struct Schema {
    entries: Vec<EntryDecoder>,
    /// One per machine and object.
    objects: Vec<ObjectRows>,
    /// The payload of the current counter list.
    list: Vec<u8>,
    /// Whether the counter list is damaged, so that samples have more records than known entries.
    is_partial: bool,
    /// The offsets and times of the last decoded sample's records.
    records: Vec<RecordTime>,
}

/// Decodes the records of one entry of the counter list.
struct EntryDecoder {
    decoder: Decoder,
    /// Index of the entry's object in [`Schema::objects`].
    object: usize,
}

/// The decoder for an entry's kind of record.
enum Decoder {
    Single { set: Arc<CounterSet>, instances: Instances },
    Multi(MultiDecoder),
    Block(Box<BlockDecoder>),
}

impl Decoder {
    fn set(&self) -> &Arc<CounterSet> {
        match self {
            Self::Single { set, .. } => set,
            Self::Multi(decoder) => decoder.set(),
            Self::Block(decoder) => decoder.set(),
        }
    }

    fn record_kind(&self) -> u8 {
        match self {
            Self::Single { .. } => KIND_SINGLE,
            Self::Multi(_) => KIND_MULTI,
            Self::Block(_) => KIND_BLOCK,
        }
    }
}

impl Schema {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn sets(&self) -> impl Iterator<Item = &Arc<CounterSet>> {
        self.entries.iter().map(|entry| entry.decoder.set())
    }

    pub(super) fn is_partial(&self) -> bool {
        self.is_partial
    }

    pub(super) fn records(&self) -> &[RecordTime] {
        &self.records
    }

    pub(super) fn list(&self) -> &[u8] {
        &self.list
    }

    /// Loads a counter list. Returns whether it differs from the previous one, and its first problem, with an offset
    /// in the payload. If the list is damaged, the entries before the damage are used.
    pub(super) fn load_list(&mut self, payload: &[u8]) -> (bool, Option<Problem>) {
        let (list, problem) = match CounterList::decode(payload, 0) {
            Ok(list) => list,
            Err(problem) => return (false, Some(problem)),
        };
        if self.list == payload || list.entries.is_empty() {
            return (false, problem);
        }
        self.is_partial = problem.is_some();
        self.list = payload.to_vec();
        self.objects.clear();
        let mut indexes = HashMap::new();
        self.entries = list
            .entries
            .iter()
            .map(|entry| {
                let object = entry.object.clone().unwrap_or_default();
                let machine = entry.machine.clone().unwrap_or_default();
                let key = (machine.to_lowercase(), object.to_lowercase());
                let object = *indexes.entry(key).or_insert_with(|| {
                    self.objects.push(ObjectRows::default());
                    self.objects.len() - 1
                });
                EntryDecoder { decoder: decoder_of(entry, &mut self.objects[object].table), object }
            })
            .collect();
        (true, problem)
    }

    /// Decodes the payload of a sample whose local time is `local`. If a record is damaged but its size is valid, its
    /// group is marked as unreadable and the returned list has a problem, with an offset in the payload.
    ///
    /// # Errors
    ///
    /// When the sizes are wrong, so that records cannot be separated: the sample is unusable.
    pub(super) fn decode(
        &mut self,
        payload: &[u8],
        local: FileTime,
        names: &Names,
        sample: &mut Sample,
    ) -> Result<Vec<Problem>, Problem> {
        let mut problems = Vec::new();
        self.records.clear();
        check_sample_header(payload)?;
        sample.groups.truncate(self.entries.len());
        let mut context = Context::new(names, Parents::new(payload), local);
        let mut max_values = MAX_VALUES;
        let mut at = size_of::<RecordHead>();
        for (index, entry) in self.entries.iter_mut().enumerate() {
            let (kind, record) = record_at(payload, at)?;
            if index == sample.groups.len() {
                sample.groups.push(Group::new(Arc::clone(entry.decoder.set())));
            }
            let group = &mut sample.groups[index];
            group.clear_values();
            group.read_at = FileTime(0);
            let decoded = if kind == entry.decoder.record_kind() {
                entry.decode(record, max_values, &mut context, &mut self.objects[entry.object], group)
            } else {
                Err(Problem::new(3, "a record's kind differs from its counter list entry; it is skipped")
                    .found(kind, entry.decoder.record_kind().to_string()))
            };
            group.describe(entry.decoder.set());
            let time = match &entry.decoder {
                Decoder::Block(_) => context.record_time.take(),
                _ => Some((group.read_at, group.read_at == local)).filter(|(time, _)| time.0 != 0),
            };
            let time = time.filter(|_| decoded.is_ok() && group.is_present());
            let agrees = time.is_some_and(|(_, agrees)| agrees);
            self.records.push(RecordTime { at, local: time.map(|(time, _)| time), agrees });
            if let Some(mut problem) = decoded.unwrap_or_else(|problem| {
                group.clear();
                entry.mark_unreadable(group);
                Some(problem)
            }) {
                problem.offset += at as u64;
                problems.push(problem);
            }
            max_values = max_values.saturating_sub(group.values.len());
            at += record.len();
        }
        if at != payload.len() && !self.is_partial {
            problems.push(
                Problem::new(at as u64, "bytes after the last record of a sample")
                    .found(payload.len() - at, "0 bytes"),
            );
        }
        Ok(problems)
    }
}

impl EntryDecoder {
    fn decode(
        &mut self,
        record: &[u8],
        max_values: usize,
        context: &mut Context<'_>,
        rows: &mut ObjectRows,
        group: &mut Group,
    ) -> Result<Option<Problem>, Problem> {
        match &mut self.decoder {
            Decoder::Single { instances, .. } => {
                let Ok((single, _)) = Single::ref_from_prefix(record) else {
                    return Err(Problem::new(4, "a single record is cut off").found(record.len(), "48 bytes"));
                };
                let status = Status(single.status.get());
                group.status = status;
                group.read_at = FileTime(single.local_time.get());
                if !group.is_present() {
                    group.clear_rows();
                    return Ok(None);
                }
                group.set_rows(instances);
                group.values.push(RawValue {
                    first: single.first.get(),
                    second: single.second.get(),
                    multi_count: single.multi_count.get(),
                    status,
                });
                Ok(None)
            }
            Decoder::Multi(decoder) => decoder.decode(record, rows, group),
            Decoder::Block(decoder) => decoder.decode(record, max_values, context, &mut rows.table, group),
        }
    }

    /// Sets the status of a cleared group whose record is damaged. The group has no rows, because the instances
    /// are unknown; but a single record has one instance, which gets an error value. If the log is rewritten, the
    /// group has the same status in the new log.
    fn mark_unreadable(&self, group: &mut Group) {
        group.status = Status::CSTATUS_INVALID_DATA;
        if let Decoder::Single { instances, .. } = &self.decoder {
            group.set_rows(instances);
            group.values.push(RawValue::error(group.status));
        }
    }
}

/// Checks the header of a sample's payload; a mismatch means the payload is corrupt.
pub(super) fn check_sample_header(payload: &[u8]) -> Result<(), Problem> {
    let Ok((header, _)) = RecordHead::read_from_prefix(payload) else {
        return Err(
            Problem::new(0, "a sample is cut off; it is skipped").found(payload.len(), "at least 8 bytes")
        );
    };
    if header.tag != TAG || header.kind != KIND_SAMPLE || header.size.get() as usize != payload.len() {
        let [first, second, third] = header.tag;
        let problem = Problem::new(0, "a sample's header is wrong; the sample is skipped");
        return Err(problem.found(
            format_args!("{first:02x} {second:02x} {third:02x}, kind {}, {} bytes", header.kind, header.size),
            format!("42 4c 03, kind 0, {} bytes", payload.len()),
        ));
    }
    Ok(())
}

/// Kind and bytes of the record at `at`.
fn record_at(payload: &[u8], at: usize) -> Result<(u8, &[u8]), Problem> {
    let bytes = &payload[at..];
    let Ok((head, _)) = RecordHead::read_from_prefix(bytes) else {
        return Err(Problem::new(
            at as u64,
            "a sample has fewer records than the counter list; it is skipped",
        )
        .found(bytes.len(), "at least 8 bytes"));
    };
    let size = head.size.get() as usize;
    if head.tag != TAG || size < size_of::<RecordHead>() || size > bytes.len() {
        let [first, second, third] = head.tag;
        let problem = Problem::new(at as u64, "a record's header is wrong; the sample is skipped");
        return Err(problem.found(
            format_args!("{first:02x} {second:02x} {third:02x}, {size} bytes"),
            format!("42 4c 03, 8 to {} bytes", bytes.len()),
        ));
    }
    Ok((head.kind, &bytes[..size]))
}

fn decoder_of(entry: &Entry, table: &mut InstanceTable) -> Decoder {
    let machine = entry.machine.as_deref().unwrap_or_default();
    let object = entry.object.as_deref().unwrap_or_default();
    let flags = entry.head.flags.get();
    if flags & FLAG_BLOCK != 0 {
        return Decoder::Block(Box::new(BlockDecoder::new(machine, object)));
    }
    let extent = if flags & FLAG_MULTI != 0 { Extent::Columns } else { Extent::Row };
    let mut set = CounterSet::new(machine.trim_start_matches('\\'), object, extent);
    let mut counter = Counter::new(
        entry.counter.as_deref().unwrap_or_default(),
        CounterType(entry.head.counter_type.get()),
        entry.head.time_base.get(),
    );
    counter.default_scale = entry.head.default_scale.get();
    set.counters.push(counter);
    if extent == Extent::Columns {
        return Decoder::Multi(MultiDecoder::new(Arc::new(set)));
    }
    set.has_instances = entry.instance.is_some();
    let instance = match &entry.instance {
        Some(name) => table.intern(entry.parent.as_deref(), name, entry.head.instance_index.get()),
        None => Arc::new(Instance::none()),
    };
    set.instance = Some(Arc::clone(&instance));
    Decoder::Single { set: Arc::new(set), instances: Arc::new([instance]) }
}

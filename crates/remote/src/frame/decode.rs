//! Decoding and checking frames, and filling the rows of a collection from them.

use std::fmt;

use tachograph_counters::civil::FileTime;
use tachograph_counters::{RawValue, Status};
use tachograph_perflib::block::{Block, BlockError, Content, DecodeOptions, Kind, decode_with, reopen};
use tachograph_perflib::registration::CounterInfo;
use tachograph_perflib::{ErrorCode, FREQUENCY, Failure, InstanceKey, Row, Rows, SetSelection, Timestamps};

use super::attributes::ATTRIBUTE_BYTES;
use super::errors::{ErrorReader, ReportedError, StatusReader, check_statuses};
use super::known_keys::KnownKeys;
use super::{Attributes, FrameTimes, HEADER_BYTES};
use crate::difference;
use crate::limits::{MAX_ERRORS, MAX_FRAME_BYTES};
use crate::message::CollectReply;
use crate::wire::{MessageError, Reader, TIME_RANGE, is_time};

/// Maximum ratio of the capacity of a frame's buffer to the size of the frame.
const MAX_CAPACITY_RATIO: usize = 4;

/// Why a frame is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// A field of the frame is invalid.
    Message(MessageError),
    /// The block is invalid; offsets are relative to its start.
    Block(BlockError),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(error) => error.fmt(f),
            Self::Block(error) => write!(f, "the raw data block: {error}"),
        }
    }
}

impl std::error::Error for FrameError {}

impl From<MessageError> for FrameError {
    fn from(error: MessageError) -> Self {
        Self::Message(error)
    }
}

impl From<BlockError> for FrameError {
    fn from(error: BlockError) -> Self {
        Self::Block(error)
    }
}

/// A validated frame, which owns its bytes. The default is an empty frame, for [`decode`](Self::decode).
#[derive(Clone, Debug, Default)]
pub struct Frame {
    bytes: Vec<u8>,
    ends: SectionEnds,
    timestamps: Timestamps,
    times: FrameTimes,
    /// For each result, the index of its first instance among the attributes.
    first_rows: Vec<usize>,
}

/// The offsets in a frame at which its sections end. The last section, the errors, ends with the frame.
#[derive(Clone, Copy, Debug, Default)]
struct SectionEnds {
    block: usize,
    attributes: usize,
    statuses: usize,
}

/// Buffers for [`Frame::fill_with`], which successive collections reuse.
#[derive(Debug, Default)]
pub struct FillBuffers {
    keys: KnownKeys,
    sources: Vec<ColumnSource>,
    /// The values of a row, and the status of each, which applies if the value is missing.
    values: Vec<Option<u64>>,
    statuses: Vec<Status>,
}

impl Frame {
    /// Checks a frame that has one result for each of these selections, in their order.
    ///
    /// # Errors
    ///
    /// The first violated rule.
    pub fn new(bytes: Vec<u8>, selections: &[&SetSelection]) -> Result<Self, FrameError> {
        let mut frame = Self { bytes, ..Self::default() };
        frame.validate(selections.iter().copied())?;
        Ok(frame)
    }

    /// Replaces the frame with that of a reply, which is encoded as differences from `base`, and checks it like
    /// [`new`](Self::new). After an error, the frame is invalid.
    ///
    /// # Errors
    ///
    /// Those of [`difference::decode`], or the first violated rule.
    pub fn decode<'a>(
        &mut self,
        base: &[u8],
        reply: &CollectReply<'_>,
        selections: impl Iterator<Item = &'a SetSelection> + Clone,
    ) -> Result<(), FrameError> {
        if reply.frame_bytes < self.bytes.capacity() / MAX_CAPACITY_RATIO {
            // A small frame must not keep the memory of a large one.
            self.bytes = Vec::new();
        }
        difference::decode(base, reply.frame_bytes, reply.differences, &mut self.bytes)?;
        self.validate(selections)
    }

    fn validate<'a>(
        &mut self,
        selections: impl Iterator<Item = &'a SetSelection> + Clone,
    ) -> Result<(), FrameError> {
        let bytes = &self.bytes[..];
        if bytes.len() > MAX_FRAME_BYTES {
            return Err(MessageError::new(0, format!("at most {MAX_FRAME_BYTES} bytes")).into());
        }
        let result_count = selections.clone().count();
        let mut reader = Reader::new(bytes);
        let (wall, boot_time) = (reader.i64()?, reader.i64()?);
        let mut next_end = |begin: usize| {
            let size = usize::try_from(reader.u64()?).ok().filter(|size| size.is_multiple_of(8));
            let end = size.and_then(|size| begin.checked_add(size)).filter(|end| *end <= bytes.len());
            end.ok_or_else(|| reader.invalid(8, "a size within the frame, a multiple of 8"))
        };
        let block = next_end(HEADER_BYTES)?;
        let attributes = next_end(block)?;
        let ends = SectionEnds { block, attributes, statuses: next_end(attributes)? };
        let block = decode_with(&bytes[HEADER_BYTES..ends.block], DecodeOptions::CONSUMER)?;
        if HEADER_BYTES + block.total_bytes() != ends.block {
            return Err(MessageError::new(HEADER_BYTES, "a block of the size in the frame's header").into());
        }
        block.expect_results(result_count)?;
        self.timestamps = check_times(&block, wall, boot_time)?;
        self.first_rows.clear();
        let row_count = check_results(&block, selections, &mut self.first_rows)?;
        if ends.attributes - ends.block != row_count * ATTRIBUTE_BYTES {
            return Err(MessageError::new(ends.block, format!("attributes of {row_count} instances")).into());
        }
        let mut reader = Reader::new(&bytes[..ends.attributes]);
        reader.bytes(ends.block)?;
        for _ in 0..row_count {
            Attributes::read(&mut reader)?;
        }
        check_statuses(&bytes[..ends.statuses], ends.attributes, result_count)?;
        let mut errors = ErrorReader::new(bytes, ends.statuses);
        let mut error_count = 0;
        while errors.read()?.is_some() {
            error_count += 1;
            if error_count > MAX_ERRORS {
                return Err(MessageError::new(ends.statuses, format!("at most {MAX_ERRORS} reasons")).into());
            }
        }
        self.times = FrameTimes { wall: FileTime(wall), boot_time: FileTime(boot_time) };
        self.ends = ends;
        Ok(())
    }

    /// The times of the collection.
    pub fn timestamps(&self) -> Timestamps {
        self.timestamps
    }

    /// When the machine booted, in UTC.
    pub fn boot_time(&self) -> FileTime {
        self.times.boot_time
    }

    /// The bytes, which are the base for the next frame.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the buffer.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Fills the rows of a set from the result with this index, whose selection is `selection`.
    ///
    /// # Errors
    ///
    /// The error of the result, with the agent's reason.
    pub fn fill_with(
        &self,
        result: usize,
        selection: &SetSelection,
        buffers: &mut FillBuffers,
        rows: &mut Rows,
    ) -> Result<(), Failure> {
        let FillBuffers { keys, sources, values, statuses } = buffers;
        // The frame was checked, so these errors cannot occur.
        let invalid = || Failure::new(ErrorCode::INVALID_DATA, "the agent's frame is damaged");
        let block = self.bytes.get(HEADER_BYTES..self.ends.block).unwrap_or_default();
        let block = reopen(block, DecodeOptions::CONSUMER).map_err(|_| invalid())?;
        let content = block.results().nth(result).map(|result| result.content());
        let instances = match content {
            Some(Content::CounterSet(instances)) => instances,
            Some(Content::Error(code)) => return Err(self.failure_of(result, code)),
            _ => return Err(invalid()),
        };
        if !rows.info().has_instances() && instances.clone().nth(1).is_some() {
            let reason = "the agent's frame has several rows of a set without instances";
            return Err(Failure::new(ErrorCode::INVALID_DATA, reason));
        }
        sources.clear();
        let columns = 0..rows.width();
        sources.extend(columns.map(|column| ColumnSource::new(rows.counter(column), &selection.counter_ids)));
        let first_row = self.first_rows.get(result).copied().unwrap_or_default();
        let mut attribute_reader =
            Reader::new(&self.bytes[self.ends.block + first_row * ATTRIBUTE_BYTES..self.ends.attributes]);
        let mut status_reader =
            StatusReader::new(&self.bytes[self.ends.attributes..self.ends.statuses], result);
        keys.begin();
        for (index, instance) in instances.enumerate() {
            let attributes = Attributes::read(&mut attribute_reader).map_err(|_| invalid())?;
            values.clear();
            values.extend(instance.values());
            statuses.clear();
            let first_value = index * selection.counter_ids.len();
            for value in first_value..first_value + values.len() {
                statuses.push(status_reader.status(value));
            }
            let is_same = |key: &InstanceKey| {
                attributes.matches(key, instance.id()) && instance.name() == key.full_name()
            };
            let key = keys.next(is_same, || attributes.key(&instance.name().to_string(), instance.id()));
            if rows.info().has_instances() && !rows.wants_instance(key.full_name(), key.id()) {
                continue;
            }
            let mut row = rows.push(key);
            sources.iter().for_each(|source| source.set(&mut row, values, statuses));
        }
        keys.end();
        self.report_errors(result, rows);
        Ok(())
    }

    /// The failure of a result, with the agent's reason.
    fn failure_of(&self, result: usize, code: ErrorCode) -> Failure {
        let reported = self.errors().find(|error| error.result == result && error.counter.is_none());
        match reported {
            Some(error) if !error.reason.is_empty() => Failure::new(code, error.reason),
            _ => Failure::new(code, code.to_string()),
        }
    }

    /// Reports the reasons of values that could not be read.
    fn report_errors(&self, result: usize, rows: &mut Rows) {
        for error in self.errors().filter(|error| error.result == result) {
            if let Some(counter) = error.counter {
                rows.report(counter, error.instance, error.reason, error.count);
            }
        }
    }

    fn errors(&self) -> impl Iterator<Item = ReportedError<'_>> {
        let mut errors = ErrorReader::new(&self.bytes, self.ends.statuses);
        std::iter::from_fn(move || errors.read().ok().flatten()).take(MAX_ERRORS)
    }
}

/// Checks the times of a frame.
fn check_times(block: &Block<'_>, wall: i64, boot_time: i64) -> Result<Timestamps, FrameError> {
    let stamp = block.stamp();
    let times = [stamp.ticks, stamp.system_time.0, wall, boot_time];
    if !times.into_iter().all(is_time) {
        return Err(MessageError::new(0, TIME_RANGE).into());
    }
    if stamp.frequency != FREQUENCY {
        let expected = format!("a performance clock of {FREQUENCY} ticks per second");
        return Err(MessageError::new(HEADER_BYTES + 24, expected).into());
    }
    Ok(Timestamps { ticks: stamp.ticks, system_time: stamp.system_time, wall: FileTime(wall) })
}

/// Checks the kind and the counters of each result. Appends the index of each result's first instance to `first_rows`, and
/// returns the total number of instances.
fn check_results<'a>(
    block: &Block<'_>,
    selections: impl Iterator<Item = &'a SetSelection>,
    first_rows: &mut Vec<usize>,
) -> Result<usize, FrameError> {
    let mut row_count = 0;
    for (result, selection) in block.results().zip(selections) {
        first_rows.push(row_count);
        match result.content() {
            Content::CounterSet(instances) => {
                let ids = instances.ids().map(|ids| ids.iter());
                if !ids.is_some_and(|ids| ids.eq(selection.counter_ids.iter().copied())) {
                    let expected = "the counters that were selected, in their order";
                    return Err(MessageError::new(HEADER_BYTES, expected).into());
                }
                row_count += instances.count();
            }
            Content::Error(_) => {}
            _ => {
                let expected = format!("a result of type {} or an error", Kind::CounterSet.number());
                return Err(MessageError::new(HEADER_BYTES, expected).into());
            }
        }
    }
    Ok(row_count)
}

/// Where the numbers of a counter's raw value are in a row of the result.
#[derive(Debug)]
struct ColumnSource {
    /// The counter's id.
    id: u32,
    /// The index of the counter's own value.
    first: Option<usize>,
    /// The index of the base or of the provider's clock; `Some(None)` if the result lacks it. `None` if the counter has
    /// neither, so that its second number is the time of the collection.
    second: Option<Option<usize>>,
    /// The index of the multiplier; `None` if the counter has none or the result lacks it.
    multiplier: Option<usize>,
}

impl ColumnSource {
    fn new(counter: &CounterInfo, ids: &[u32]) -> Self {
        let position = |id: u32| ids.iter().position(|&other| other == id);
        Self {
            id: counter.id,
            first: position(counter.id),
            second: counter.base_id.or(counter.time_id).map(position),
            multiplier: counter.multiplier_id.and_then(position),
        }
    }

    /// Sets the raw value in `row` from the values of the result's row and the statuses of the missing ones.
    fn set(&self, row: &mut Row<'_>, values: &[Option<u64>], statuses: &[Status]) {
        let value = |index: Option<usize>| {
            let index = index.ok_or(Status::CSTATUS_INVALID_DATA)?;
            let value = values.get(index).copied().flatten();
            value.ok_or_else(|| statuses.get(index).copied().unwrap_or(Status::CSTATUS_INVALID_DATA))
        };
        let numbers = value(self.first).and_then(|first| Ok((first, self.second.map(value).transpose()?)));
        match numbers {
            Err(status) => row.set_raw(self.id, RawValue::error(status)),
            Ok((first, None)) => row.set(self.id, first),
            Ok((first, Some(second))) => {
                let mut raw = RawValue::new(first.cast_signed(), second.cast_signed());
                if let Some(Ok(multiplier)) = self.multiplier.map(|index| value(Some(index))) {
                    raw.multi_count = u32::try_from(multiplier).unwrap_or(u32::MAX);
                }
                row.set_raw(self.id, raw);
            }
        }
    }
}

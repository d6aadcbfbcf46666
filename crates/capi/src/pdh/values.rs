//! Values of counters: formatted, raw, and computed from raw values.

use std::mem::offset_of;

use tachograph_counters::civil::FileTime;
use tachograph_pdh::{
    Format, FormattedItem, FormattedValue, NoValue, PdhStatus, RawCounter, RawItem, Result, Value,
    calculate_from_raw, compute_statistics, format_from_raw,
};

use super::boundary::{In, Out};
use super::buffer::{BufferContents, capacity, write_out};
use super::character::Character;
use super::objects::{self, Handle};
use super::structures::{
    CounterInfoBlock, FileTimeHalves, FormattedBlock, FormattedItemBlock, RawCounterBlock, RawItemBlock,
    StatisticsBlock,
};

/// Converts a value to `PDH_FMT_COUNTERVALUE`. A member of 4 bytes is at the start of the union.
impl From<FormattedValue> for FormattedBlock {
    fn from(formatted: FormattedValue) -> Self {
        let mut union = [0; 8];
        match formatted.value {
            Value::Long(value) => union[..4].copy_from_slice(&value.to_ne_bytes()),
            Value::Double(value) => union = value.to_ne_bytes(),
            Value::Large(value) => union = value.to_ne_bytes(),
        }
        Self { status: formatted.status.0, value: u64::from_ne_bytes(union) }
    }
}

impl From<&RawCounter> for RawCounterBlock {
    fn from(raw: &RawCounter) -> Self {
        Self {
            status: raw.status.0,
            time_stamp: FileTimeHalves::new(raw.time_stamp.0),
            first: raw.first,
            second: raw.second,
            multi_count: raw.multi_count,
        }
    }
}

impl From<RawCounterBlock> for RawCounter {
    fn from(raw: RawCounterBlock) -> Self {
        Self {
            status: PdhStatus(raw.status),
            time_stamp: FileTime(raw.time_stamp.ticks()),
            first: raw.first,
            second: raw.second,
            multi_count: raw.multi_count,
        }
    }
}

/// Written instead of a missing raw value.
const NO_RAW_VALUE: RawCounterBlock = RawCounterBlock {
    status: PdhStatus::CSTATUS_INVALID_DATA.0,
    time_stamp: FileTimeHalves { low: 0, high: 0 },
    first: 0,
    second: 0,
    multi_count: 0,
};

/// Writes a value, or the status of a missing value.
fn write_formatted(
    formatted: std::result::Result<FormattedValue, NoValue>,
    value: Out<FormattedBlock>,
) -> Result<()> {
    match formatted {
        Ok(formatted) => {
            value.set(formatted.into());
            Ok(())
        }
        Err(missing) => {
            value.set(FormattedBlock { status: missing.value_status.0, value: 0 });
            Err(missing.status)
        }
    }
}

pub(super) fn formatted(
    counter: Handle,
    flags: u32,
    counter_type: Out<u32>,
    value: Out<FormattedBlock>,
) -> Result<()> {
    value.check()?;
    let format = Format::from_flags(flags)?;
    let counter = objects::counter(counter)?;
    let query = counter.query();
    counter_type.set(query.kind(counter.id)?.counter_type.0);
    write_formatted(query.formatted_value(counter.id, format), value)
}

pub(super) fn raw(counter: Handle, counter_type: Out<u32>, value: Out<RawCounterBlock>) -> Result<()> {
    value.check()?;
    let counter = objects::counter(counter)?;
    let query = counter.query();
    counter_type.set(query.kind(counter.id)?.counter_type.0);
    let raw = query.raw_value(counter.id);
    value.set(raw.as_ref().map_or(NO_RAW_VALUE, RawCounterBlock::from));
    raw.map(drop)
}

/// Writes an array of structures, each of `item_bytes` bytes, followed by the names to which they point. `write` writes the
/// structure of an item at an offset.
fn write_items<T>(
    items: &[T],
    item_bytes: usize,
    write: impl Fn(&mut BufferContents, usize, &T),
    buffer: Out<u8>,
    (size, count): (Out<u32>, Out<u32>),
) -> Result<()> {
    let item_count = u32::try_from(items.len()).map_err(|_| PdhStatus::MEMORY_ALLOCATION_FAILURE)?;
    let mut contents = BufferContents::new(buffer.address(), items.len().saturating_mul(item_bytes));
    for (index, item) in items.iter().enumerate() {
        write(&mut contents, index * item_bytes, item);
    }
    count.set(item_count);
    write_out(contents.bytes(), buffer, size)
}

/// Checks the pointer arguments of a function that returns an array.
fn check_array_arguments(buffer: Out<u8>, size: Out<u32>, count: Out<u32>) -> Result<()> {
    count.check()?;
    capacity(buffer, size).map(drop)
}

pub(super) fn formatted_array<C: Character>(
    counter: Handle,
    flags: u32,
    size: Out<u32>,
    count: Out<u32>,
    buffer: Out<u8>,
) -> Result<()> {
    check_array_arguments(buffer, size, count)?;
    let format = Format::from_flags(flags)?;
    let counter = objects::counter(counter)?;
    let items = counter.query().formatted_array(counter.id, format)?;
    let write = |contents: &mut BufferContents, at: usize, item: &FormattedItem| {
        let value = FormattedBlock::from(item.value);
        let start = at + offset_of!(FormattedItemBlock, value);
        contents.write_text::<C>(at + offset_of!(FormattedItemBlock, name), &item.name);
        contents.write_u32(start + offset_of!(FormattedBlock, status), value.status);
        contents.write_u64(start + offset_of!(FormattedBlock, value), value.value);
    };
    write_items(&items, size_of::<FormattedItemBlock>(), write, buffer, (size, count))
}

pub(super) fn raw_array<C: Character>(
    counter: Handle,
    size: Out<u32>,
    count: Out<u32>,
    buffer: Out<u8>,
) -> Result<()> {
    check_array_arguments(buffer, size, count)?;
    let counter = objects::counter(counter)?;
    let items = counter.query().raw_array(counter.id)?;
    let write = |contents: &mut BufferContents, at: usize, item: &RawItem| {
        let value = RawCounterBlock::from(&item.value);
        let start = at + offset_of!(RawItemBlock, value);
        contents.write_text::<C>(at + offset_of!(RawItemBlock, name), &item.name);
        contents.write_u32(start + offset_of!(RawCounterBlock, status), value.status);
        let time = start + offset_of!(RawCounterBlock, time_stamp);
        contents.write_u32(time + offset_of!(FileTimeHalves, low), value.time_stamp.low);
        contents.write_u32(time + offset_of!(FileTimeHalves, high), value.time_stamp.high);
        contents.write_u64(start + offset_of!(RawCounterBlock, first), value.first.cast_unsigned());
        contents.write_u64(start + offset_of!(RawCounterBlock, second), value.second.cast_unsigned());
        contents.write_u32(start + offset_of!(RawCounterBlock, multi_count), value.multi_count);
    };
    write_items(&items, size_of::<RawItemBlock>(), write, buffer, (size, count))
}

pub(super) fn calculate(
    counter: Handle,
    flags: u32,
    newer: In<RawCounterBlock>,
    older: In<RawCounterBlock>,
    value: Out<FormattedBlock>,
) -> Result<()> {
    value.check()?;
    let newer = newer.get()?.into();
    let older = older.optional().map(RawCounter::from);
    let format = Format::from_flags(flags)?;
    let counter = objects::counter(counter)?;
    let kind = counter.query().kind(counter.id)?;
    write_formatted(calculate_from_raw(&kind, format, &newer, older.as_ref()), value)
}

pub(super) fn format_raw(
    counter_type: u32,
    flags: u32,
    time_base: In<i64>,
    (newer, older): (In<RawCounterBlock>, In<RawCounterBlock>),
    value: Out<FormattedBlock>,
) -> Result<()> {
    value.check()?;
    let newer = newer.get()?.into();
    let older = older.optional().map(RawCounter::from);
    let format = Format::from_flags(flags)?;
    write_formatted(
        format_from_raw(counter_type, format, time_base.optional(), &newer, older.as_ref()),
        value,
    )
}

pub(super) fn statistics(
    counter: Handle,
    flags: u32,
    first: u32,
    count: u32,
    entries: In<RawCounterBlock>,
    statistics: Out<StatisticsBlock>,
) -> Result<()> {
    statistics.check()?;
    let format = Format::from_flags(flags)?;
    let counter = objects::counter(counter)?;
    let kind = counter.query().kind(counter.id)?;
    let entries: Vec<RawCounter> = entries.array(count)?.into_iter().map(RawCounter::from).collect();
    let computed = compute_statistics(&kind, format, first as usize, &entries)?;
    statistics.set(StatisticsBlock {
        format: flags,
        count: computed.count,
        minimum: computed.minimum.into(),
        maximum: computed.maximum.into(),
        mean: computed.mean.into(),
    });
    Ok(())
}

pub(super) fn info<C: Character>(
    counter: Handle,
    with_explain_text: bool,
    size: Out<u32>,
    buffer: Out<u8>,
) -> Result<()> {
    capacity(buffer, size)?;
    let counter = objects::counter(counter)?;
    let info = counter.query().info(counter.id)?;
    let mut contents = BufferContents::new(buffer.address(), size_of::<CounterInfoBlock>());
    contents.write_u32(offset_of!(CounterInfoBlock, counter_type), info.counter_type.0);
    contents.write_u32(offset_of!(CounterInfoBlock, version), info.version);
    contents.write_u32(offset_of!(CounterInfoBlock, status), info.status.0);
    contents.write_u32(offset_of!(CounterInfoBlock, scale), info.scale.cast_unsigned());
    contents.write_u32(offset_of!(CounterInfoBlock, default_scale), info.default_scale.cast_unsigned());
    contents.write(offset_of!(CounterInfoBlock, user_data), &info.user_data.to_ne_bytes());
    contents.write(offset_of!(CounterInfoBlock, query_user_data), &info.query_user_data.to_ne_bytes());
    contents.write_text::<C>(offset_of!(CounterInfoBlock, full_path), &info.full_path);
    super::names::write_elements::<C>(&mut contents, offset_of!(CounterInfoBlock, elements), &info.elements);
    let explain_text = with_explain_text.then_some(info.explain_text.as_str());
    contents.write_optional_text::<C>(offset_of!(CounterInfoBlock, explain_text), explain_text);
    let length = u32::try_from(contents.bytes().len()).map_err(|_| PdhStatus::MEMORY_ALLOCATION_FAILURE)?;
    contents.write_u32(offset_of!(CounterInfoBlock, length), length);
    write_out(contents.bytes(), buffer, size)
}

pub(super) fn set_scale(counter: Handle, factor: i32) -> Result<()> {
    let counter = objects::counter(counter)?;
    counter.query().set_scale_factor(counter.id, factor)
}

pub(super) fn time_base(counter: Handle, time_base: Out<i64>) -> Result<()> {
    time_base.check()?;
    let counter = objects::counter(counter)?;
    time_base.set(counter.query().time_base(counter.id)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shorter_values_are_at_the_start_of_the_union() {
        let block =
            |value| FormattedBlock::from(FormattedValue { status: PdhStatus(1), value }).value.to_ne_bytes();
        assert_eq!(block(Value::Double(0.15)), 0.15_f64.to_ne_bytes());
        assert_eq!(block(Value::Large(i64::MIN)), i64::MIN.to_ne_bytes());
        assert_eq!(block(Value::Long(-2))[..4], (-2_i32).to_ne_bytes());
        assert_eq!(block(Value::Long(-2))[4..], [0; 4]);
    }

    #[test]
    fn raw_values_round_trip() {
        let raw = RawCounter {
            status: PdhStatus(1),
            time_stamp: FileTime(0x1234_5678_9ABC_DEF0),
            first: -1,
            second: i64::MAX,
            multi_count: 3,
        };
        assert_eq!(RawCounter::from(RawCounterBlock::from(&raw)), raw);
    }
}

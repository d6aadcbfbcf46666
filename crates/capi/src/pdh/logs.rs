//! Logs: binding them as data sources, writing them, and reading single records.

use std::mem::offset_of;
use std::sync::Mutex;

use tachograph_counters::IgnorePoison;
use tachograph_counters::civil::FileTime;
use tachograph_pdh::{LogHandle, PdhStatus, Result};

use super::boundary::{Out, Plain, Text, TextList};
use super::buffer::{BufferContents, capacity, write_out};
use super::character::Character;
use super::objects::{self, Handle, LogObject, Source};
use super::structures::{FileTimeHalves, RawLogRecordBlock, TimeInfoBlock};

/// `PDH_FLAGS_CLOSE_QUERY`.
const CLOSE_QUERY: u32 = 1;

pub(super) fn bind<C: Character + Plain>(source: Out<Handle>, names: TextList<C>) -> Result<()> {
    source.check()?.set(Handle::NULL);
    let bound = match names.optional_paths()? {
        Some(paths) => tachograph_pdh::DataSource::of_logs(paths)?,
        None => Source::<C>::MACHINE.open()?,
    };
    source.set(objects::add_log(LogObject { source: Some(bound), log: Mutex::new(None), query: None })?);
    Ok(())
}

pub(super) fn time_range<C: Character + Plain>(
    source: Source<C>,
    count: Out<u32>,
    range: Out<TimeInfoBlock>,
    size: Out<u32>,
) -> Result<()> {
    const INFO_BYTES: u32 = size_of::<TimeInfoBlock>() as u32;
    count.check()?;
    let capacity = capacity(range, size)?;
    let found = source.open()?.time_range()?;
    size.set(INFO_BYTES);
    count.set(1);
    if capacity < INFO_BYTES {
        return Err(PdhStatus::MORE_DATA);
    }
    range.set(TimeInfoBlock { start: found.start.0, end: found.end.0, samples: found.samples });
    Ok(())
}

pub(super) fn open<C: Character + Plain>(
    name: Text<C>,
    access: u32,
    log_type: Out<u32>,
    (query, max_size, caption): (Handle, u32, Text<C>),
    log: Out<Handle>,
) -> Result<()> {
    log.check()?.set(Handle::NULL);
    let requested_type = log_type.get()?;
    let path = name.optional_path()?.ok_or(PdhStatus::INVALID_ARGUMENT)?;
    let caption = caption.optional()?;
    let query = (query != Handle::NULL).then_some(query);
    let open = |query| LogHandle::open(&path, access, requested_type, query, max_size, caption.as_deref());
    let opened = match query {
        Some(query) => open(Some(&objects::query(query)?.query()))?,
        None => open(None)?,
    };
    log_type.set(opened.log_type().code());
    let source = opened.source().cloned();
    log.set(objects::add_log(LogObject { source, log: Mutex::new(Some(opened)), query })?);
    Ok(())
}

pub(super) fn update<C: Character + Plain>(log: Handle, text: Text<C>) -> Result<()> {
    let log = objects::log(log)?;
    let text = text.optional()?;
    // A log opened for reading has no query.
    let query = objects::query(log.query.ok_or(PdhStatus::INVALID_HANDLE)?)?;
    let mut query = query.query();
    let mut opened = log.log.lock().ignore_poison();
    opened.as_mut().ok_or(PdhStatus::INVALID_HANDLE)?.update(&mut query, text.as_deref())
}

/// Tachograph's logs have no catalog.
pub(super) fn update_catalog(log: Handle) -> Result<()> {
    objects::log(log)?;
    Err(PdhStatus::UNKNOWN_LOG_FORMAT)
}

pub(super) fn size(log: Handle, size: Out<i64>) -> Result<()> {
    size.check()?;
    let log = objects::log(log)?;
    let bytes = match (&*log.log.lock().ignore_poison(), &log.source) {
        (Some(opened), _) => opened.size()?,
        (None, Some(source)) => source.file_bytes()?,
        (None, None) => return Err(PdhStatus::INVALID_HANDLE),
    };
    size.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    Ok(())
}

pub(super) fn read_record(log: Handle, time: FileTimeHalves, buffer: Out<u8>, size: Out<u32>) -> Result<()> {
    capacity(buffer, size)?;
    let log = objects::log(log)?;
    let source = log.source.as_ref().ok_or(PdhStatus::INVALID_HANDLE)?;
    let record = source.read_raw_log_record(FileTime(time.ticks()))?;
    let start = offset_of!(RawLogRecordBlock, bytes);
    let length = (start + record.bytes.len()).max(size_of::<RawLogRecordBlock>());
    let record_bytes = u32::try_from(length).map_err(|_| PdhStatus::MEMORY_ALLOCATION_FAILURE)?;
    let mut contents = BufferContents::new(buffer.address(), length);
    contents.write_u32(offset_of!(RawLogRecordBlock, structure_size), record_bytes);
    contents.write_u32(offset_of!(RawLogRecordBlock, record_type), record.record_type.code());
    let items = u32::try_from(record.bytes.len()).unwrap_or(u32::MAX);
    contents.write_u32(offset_of!(RawLogRecordBlock, items), items);
    contents.write(start, &record.bytes);
    write_out(contents.bytes(), buffer, size)
}

pub(super) fn close(log: Handle, flags: u32) -> Result<()> {
    if flags & !CLOSE_QUERY != 0 {
        return Err(PdhStatus::INVALID_ARGUMENT);
    }
    let log = objects::remove_log(log)?;
    let opened = log.log.lock().ignore_poison().take();
    let closed = opened.map_or(Ok(()), LogHandle::close);
    match log.query {
        // This fails if the query was already closed.
        Some(query) if flags & CLOSE_QUERY != 0 => closed.and(objects::remove_query(query)),
        _ => closed,
    }
}

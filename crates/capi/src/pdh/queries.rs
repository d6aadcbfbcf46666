//! Queries: opening, adding counters, collecting.

use std::time::Duration;

use tachograph_counters::civil::FileTime;
use tachograph_pdh::{Collector, CounterId, PdhStatus, Query, Result};

use super::boundary::{In, Out, Plain, Text};
use super::call_with;
use super::character::Character;
use super::event::Event;
use super::objects::{self, Handle, Source};
use super::structures::TimeInfoBlock;

/// `PDH_VERSION`.
const VERSION: u32 = 0x503;

/// `DATA_SOURCE_REGISTRY`.
const SOURCE_REGISTRY: u32 = 1;

/// `DATA_SOURCE_WBEM`.
const SOURCE_WBEM: u32 = 4;

pub(super) fn version(version: Out<u32>) -> Result<()> {
    version.check()?.set(VERSION);
    Ok(())
}

pub(super) fn open<C: Character + Plain>(
    source: Source<C>,
    user_data: usize,
    query: Out<Handle>,
) -> Result<()> {
    query.check()?.set(Handle::NULL);
    query.set(objects::add_query(Query::open(&source.open()?, user_data))?);
    Ok(())
}

pub(super) fn close(query: Handle) -> Result<()> {
    objects::remove_query(query)
}

/// Returns a `BOOL`, which is false if the handle is invalid.
pub(super) fn is_real_time(query: Handle) -> i32 {
    let mut is_real_time = false;
    let is_valid = call_with(
        |status| status == PdhStatus::SUCCESS,
        || {
            is_real_time = objects::query(query)?.query().is_real_time();
            Ok(())
        },
    );
    i32::from(is_valid && is_real_time)
}

pub(super) fn set_default_source(source: u32) -> Result<()> {
    match source {
        SOURCE_REGISTRY => Ok(()),
        SOURCE_WBEM => Err(PdhStatus::CANNOT_SET_DEFAULT_REALTIME_DATASOURCE),
        _ => Err(PdhStatus::INVALID_ARGUMENT),
    }
}

/// Adds a counter by calling `add`, and writes its handle.
fn add<C: Character + Plain>(
    query: Handle,
    path: Text<C>,
    counter: Out<Handle>,
    add: impl FnOnce(&mut Query, &str) -> Result<CounterId>,
) -> Result<()> {
    counter.check()?.set(Handle::NULL);
    let path = path.get()?;
    let query = objects::query(query)?;
    let id = add(&mut query.query(), &path)?;
    counter.set(objects::add_counter(&query, id)?);
    Ok(())
}

pub(super) fn add_counter<C: Character + Plain>(
    query: Handle,
    path: Text<C>,
    user_data: usize,
    counter: Out<Handle>,
) -> Result<()> {
    add(query, path, counter, |query, path| query.add_counter(path, user_data))
}

pub(super) fn add_english_counter<C: Character + Plain>(
    query: Handle,
    path: Text<C>,
    user_data: usize,
    counter: Out<Handle>,
) -> Result<()> {
    add(query, path, counter, |query, path| query.add_english_counter(path, user_data))
}

pub(super) fn remove_counter(counter: Handle) -> Result<()> {
    objects::remove_counter(counter)
}

pub(super) fn collect(query: Handle) -> Result<()> {
    objects::query(query)?.query().collect()
}

pub(super) fn collect_with_time(query: Handle, time: Out<i64>) -> Result<()> {
    time.check()?;
    let FileTime(ticks) = objects::query(query)?.query().collect_with_time()?;
    time.set(ticks);
    Ok(())
}

pub(super) fn collect_by_thread(query: Handle, seconds: u32, event: Handle) -> Result<()> {
    let query = objects::query(query)?;
    if seconds == 0 {
        return Err(PdhStatus::INVALID_ARGUMENT);
    }
    let event = Event::from_handle(event)?;
    query.set_collector(|query| {
        Collector::start(query, Duration::from_secs(u64::from(seconds)), move |_| event.set())
    })
}

pub(super) fn set_time_range(query: Handle, range: In<TimeInfoBlock>) -> Result<()> {
    let range = range.get()?;
    objects::query(query)?.query().set_time_range(FileTime(range.start), FileTime(range.end))
}

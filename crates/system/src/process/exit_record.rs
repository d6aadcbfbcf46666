//! Messages of the kernel about ended processes (taskstats, `TASKSTATS_CMD_NEW`).
//!
//! The kernel sends a message for each thread that ends, before it releases the memory of the thread; the time that this
//! takes is in no message. The message for the last thread of a process has the run time of all its threads. The kernel
//! updates the run time whenever it schedules, at least at each of its ticks, so a part of the last tick can be missing.

use std::io;

use super::taskstats::{GENL_BYTES, Statistics, TASKSTATS_TYPE_AGGR_PID, TASKSTATS_TYPE_AGGR_TGID};
use crate::netlink::{HEAD_BYTES, malformed_answer, read_u32};

const TASKSTATS_CMD_NEW: u8 = 2;

/// The first version of `struct taskstats` that has the process of a thread (Linux 5.19).
pub(super) const MIN_VERSION: u16 = 12;
/// Offsets in `struct taskstats`.
mod offset {
    pub(super) const VERSION: usize = 0;
    pub(super) const FLAGS: usize = 8;
    pub(super) const RUN_TIME_NS: usize = 72;
    pub(super) const PARENT: usize = 132;
    pub(super) const USER_MICROSECONDS: usize = 152;
    pub(super) const SYSTEM_MICROSECONDS: usize = 160;
    pub(super) const PROCESS: usize = 368;
}
/// The flag that marks the last thread of a process.
const AGROUP: u8 = 0x20;

/// A process that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ExitRecord {
    pub(super) process: u32,
    /// The parent when the process ended.
    pub(super) parent: u32,
    /// User time of all threads, in 100 ns.
    pub(super) user: u64,
    /// System time of all threads, in 100 ns.
    pub(super) system: u64,
}

impl ExitRecord {
    /// User time and system time, in 100 ns.
    pub(super) fn time(&self) -> u64 {
        self.user.saturating_add(self.system)
    }
}

/// Parses a message, whose type must be `family`; `None` if the process has other threads that have not ended.
///
/// # Errors
///
/// When the message is truncated, of another type, or has an old version of the statistics.
pub(super) fn parse(message: &[u8], family: u16) -> io::Result<Option<ExitRecord>> {
    let Some((head, _)) = message.split_first_chunk::<HEAD_BYTES>() else {
        return Err(malformed_answer(format_args!("of {} bytes", message.len())));
    };
    let length = read_u32(head).unwrap_or_default() as usize;
    let kind = u16::from_ne_bytes([head[4], head[5]]);
    if length != message.len() {
        return Err(malformed_answer(format_args!("of {} bytes, which should have {length}", message.len())));
    }
    let body = &message[HEAD_BYTES..];
    match body.split_first_chunk::<GENL_BYTES>() {
        Some((&[TASKSTATS_CMD_NEW, ..], attributes)) if kind == family => parse_attributes(attributes),
        _ => Err(malformed_answer(format_args!("of type {kind} that is not about a process"))),
    }
}

fn parse_attributes(attributes: &[u8]) -> io::Result<Option<ExitRecord>> {
    let missing_error = || malformed_answer(format_args!("about a process without its statistics"));
    let thread = Statistics::find(attributes, TASKSTATS_TYPE_AGGR_PID).ok_or_else(missing_error)?;
    let group = Statistics::find(attributes, TASKSTATS_TYPE_AGGR_TGID);
    let version = version_of(thread).ok_or_else(missing_error)?;
    if version < MIN_VERSION {
        return Err(malformed_answer(format_args!(
            "with statistics of version {version}, below {MIN_VERSION}"
        )));
    }
    let number = |at: usize| thread.0.get(at..).and_then(read_u32).ok_or_else(missing_error);
    let read_number = |statistics: Statistics<'_>, at: usize| statistics.number(at).ok_or_else(missing_error);
    if thread.0.get(offset::FLAGS).ok_or_else(missing_error)? & AGROUP == 0 {
        return Ok(None);
    }
    let run_time = read_number(group.unwrap_or(thread), offset::RUN_TIME_NS)? / 100;
    let system = system_time(
        run_time,
        read_number(thread, offset::USER_MICROSECONDS)?,
        read_number(thread, offset::SYSTEM_MICROSECONDS)?,
    );
    Ok(Some(ExitRecord {
        process: number(offset::PROCESS)?,
        parent: number(offset::PARENT)?,
        user: run_time - system,
        system,
    }))
}

/// The version of the statistics in the body of a message about a thread.
pub(super) fn version(body: &[u8]) -> Option<u16> {
    version_of(Statistics::find(body.get(GENL_BYTES..)?, TASKSTATS_TYPE_AGGR_PID)?)
}

fn version_of(statistics: Statistics<'_>) -> Option<u16> {
    statistics.0.get(offset::VERSION..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

/// The part of a run time that is system time. The run time is exact. It is divided in proportion to user and system time,
/// which the kernel samples at its ticks. Without samples, all of it is user time, as in the kernel's `cputime_adjust`.
fn system_time(run_time: u64, user: u64, system: u64) -> u64 {
    match user.saturating_add(system) {
        0 => 0,
        all => (u128::from(run_time) * u128::from(system) / u128::from(all)) as u64,
    }
}

#[cfg(test)]
pub(super) mod tests;

//! The sets `Process` and `Process V2`.

use std::sync::Arc;

use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, InstanceKey, Provider, Row, Rows, Timestamps};

use super::idle_time::{IdleReader, IdleTime};
use super::io::Io;
use super::memory::Memory;
use super::missing_reason::{MissingReason, Reasons};
use super::process::{Details, Naming, Process, RequestedFiles, TaskStat, TooManyOpenFiles};
use super::reader::Reader;
use super::stat::Stat;
use super::sums::{Last, Sums};
use super::table::*;
use super::task_identity::follow;
use super::ticks::Ticks;
use crate::error_texts::unreadable;

const USER: usize = 0;
const SYSTEM: usize = 1;
const FAULTS: usize = 2;
const READ: usize = 3;
const WRITTEN: usize = 4;
const READS: usize = 5;
const WRITES: usize = 6;
const STORAGE_READ: usize = 7;
const STORAGE_WRITTEN: usize = 8;

/// The provider of `Process` or `Process V2`.
#[derive(Debug)]
pub(super) struct ProcessSet {
    info: Arc<CounterSetInfo>,
    naming: Naming,
    reader: Reader,
    listed: Vec<u32>,
    known: Vec<Process>,
    spare: Vec<Process>,
    ticks: Ticks,
    page_bytes: u64,
    idle: IdleReader,
    idle_key: Arc<InstanceKey>,
    sums: Sums<9>,
    total_key: Arc<InstanceKey>,
    of_stat: Reasons,
    of_memory: Reasons,
    of_io: Reasons,
    of_handles: Reasons,
}

/// Sums over all processes in one sample, for `_Total`.
#[derive(Debug, Default)]
struct Amounts {
    virtual_bytes: u64,
    virtual_peak: u64,
    resident: u64,
    resident_peak: u64,
    anonymous: u64,
    swapped: u64,
    threads: u64,
    handles: u64,
    memory: Outcome,
    io: Outcome,
    handles_read: Outcome,
}

/// Whether a kind of file was read for any process, and otherwise why not.
#[derive(Debug, Default)]
struct Outcome {
    is_read: bool,
    reason: Option<MissingReason>,
}

impl ProcessSet {
    pub(super) fn new(
        info: Arc<CounterSetInfo>,
        naming: Naming,
        reader: Reader,
        idle: IdleReader,
        ticks: Ticks,
        page_bytes: u64,
    ) -> Self {
        let idle_name = match naming {
            Naming::Plain => "Idle",
            Naming::Numbered => "Idle:0",
        };
        Self {
            info,
            naming,
            reader,
            listed: Vec::new(),
            known: Vec::new(),
            spare: Vec::new(),
            ticks,
            page_bytes,
            idle,
            idle_key: Arc::new(InstanceKey::new(idle_name, 0, 0).reserved()),
            sums: Sums::default(),
            total_key: Arc::new(InstanceKey::new("_Total", 0, 0).reserved()),
            of_stat: Reasons::new("/proc/PID/stat"),
            of_memory: Reasons::new("/proc/PID/status"),
            of_io: Reasons::new("/proc/PID/io"),
            of_handles: Reasons::new("/proc/PID/fd"),
        }
    }

    /// Reads one process and adds its row if it exists and is requested.
    fn process(
        &mut self,
        index: usize,
        rows: &mut Rows,
        requested: RequestedFiles,
        amounts: Option<&mut Amounts>,
    ) -> Result<(), TooManyOpenFiles> {
        let process = &mut self.known[index];
        let stat_read = process.read_stat(&mut self.reader, self.naming)?;
        // A process that was read has a key.
        let (TaskStat::Read(_) | TaskStat::Malformed, Some(key)) = (stat_read, process.task.key()) else {
            return Ok(());
        };
        let key = Arc::clone(key);
        let is_wanted = rows.wants_all_instances() || rows.wants_instance(key.full_name(), key.id());
        if !is_wanted && amounts.is_none() {
            return Ok(());
        }
        let Some(details) = process.details(&mut self.reader, requested, self.page_bytes)? else {
            return Ok(());
        };
        let (boot, now) = (boot_time(rows.timestamps()), rows.timestamps().system_time.0 as u64);
        let mut row = is_wanted.then(|| rows.push(&key));
        let mut counts =
            Counts { sums: &mut self.sums, last: &mut process.last, row: row.as_mut(), boot, now };
        if let TaskStat::Read(stat) = &stat_read {
            counts.stat(stat, self.ticks);
        }
        if let (true, Ok(io)) = (requested.io, &details.io) {
            counts.io(io);
        }
        if let (Some(amounts), TaskStat::Read(stat)) = (amounts, &stat_read) {
            amounts.add(stat, &details, requested);
        }
        let Some(mut row) = row else { return Ok(()) };
        match &stat_read {
            TaskStat::Read(stat) => set_stat(&mut row, stat),
            _ => row.fail_all(OF_STAT, self.of_stat.of(MissingReason::Malformed)),
        }
        row.set(ID_PROCESS, key.id().into());
        self.set_details(&mut row, &details, requested);
        Ok(())
    }

    #[inline]
    fn set_details(&self, row: &mut Row<'_>, details: &Details, requested: RequestedFiles) {
        match &details.memory {
            Ok(memory) if requested.memory => self.set_memory(row, memory),
            Err(reason) => {
                let reason = self.of_memory.of(*reason);
                row.fail_all(OF_STATM, reason);
                row.fail_all(OF_STATUS, reason);
            }
            Ok(_) => {}
        }
        match &details.handles {
            Ok(handles) => row.set(HANDLE_COUNT, *handles),
            Err(reason) => row.fail(HANDLE_COUNT, self.of_handles.of(*reason)),
        }
        if let Err(reason) = &details.io {
            row.fail_all(OF_IO, self.of_io.of(*reason));
        }
    }

    #[inline]
    fn set_memory(&self, row: &mut Row<'_>, memory: &Memory) {
        let private = memory.anonymous.zip(memory.swapped).map(|(anonymous, swapped)| anonymous + swapped);
        let values = [
            (VIRTUAL_BYTES_PEAK, memory.virtual_peak),
            (WORKING_SET_PEAK, memory.resident_peak),
            (WORKING_SET, memory.resident),
            (PAGE_FILE_BYTES, memory.swapped),
            (PRIVATE_BYTES, private),
            (WORKING_SET_PRIVATE, memory.anonymous),
        ];
        for (id, value) in values {
            match value {
                Some(value) => row.set(id, value),
                None => row.fail(id, self.of_memory.of(MissingReason::Malformed)),
            }
        }
        // Take the current size from the same file as the peak, so that the two are consistent.
        if let Some(size) = memory.virtual_size {
            row.set(VIRTUAL_BYTES, size);
        }
    }

    fn push_idle(&self, rows: &mut Rows, idle: Option<IdleTime>) {
        let at = rows.timestamps();
        let mut row = rows.push(&self.idle_key);
        // The idle threads have no memory, no files, no input and no output.
        for id in OF_STAT
            .into_iter()
            .chain(OF_STATM)
            .chain(OF_STATUS)
            .chain(OF_IO)
            .chain([HANDLE_COUNT, ID_PROCESS])
        {
            row.set(id, 0);
        }
        row.set(ELAPSED_TIME, boot_time(at));
        match idle {
            Some(idle) => {
                row.set(PROCESSOR_TIME, self.ticks.hundred_ns(idle.ticks));
                row.set(PRIVILEGED_TIME, self.ticks.hundred_ns(idle.ticks));
                row.set(THREAD_COUNT, idle.processors);
            }
            None => row.fail_all([PROCESSOR_TIME, PRIVILEGED_TIME, THREAD_COUNT], &self.idle.reason),
        }
    }

    fn push_total(
        &self,
        rows: &mut Rows,
        amounts: &Amounts,
        idle: Option<IdleTime>,
        requested: RequestedFiles,
    ) {
        let at = rows.timestamps();
        let mut row = rows.push(&self.total_key);
        for id in OF_STAT.into_iter().chain([ID_PROCESS]) {
            row.set(id, 0);
        }
        let sum = |index| self.sums.get(index);
        row.set(ELAPSED_TIME, boot_time(at));
        row.set(USER_TIME, self.ticks.hundred_ns(sum(USER)));
        row.set(PAGE_FAULTS, sum(FAULTS));
        row.set(VIRTUAL_BYTES, amounts.virtual_bytes);
        match idle {
            Some(idle) => {
                let system = sum(SYSTEM) + idle.ticks;
                row.set(PROCESSOR_TIME, self.ticks.hundred_ns(sum(USER) + system));
                row.set(PRIVILEGED_TIME, self.ticks.hundred_ns(system));
                row.set(THREAD_COUNT, amounts.threads + idle.processors);
            }
            None => row.fail_all([PROCESSOR_TIME, PRIVILEGED_TIME, THREAD_COUNT], &self.idle.reason),
        }
        if requested.memory {
            match amounts.memory.reason() {
                None => {
                    row.set(VIRTUAL_BYTES_PEAK, amounts.virtual_peak);
                    row.set(WORKING_SET_PEAK, amounts.resident_peak);
                    row.set(WORKING_SET, amounts.resident);
                    row.set(PAGE_FILE_BYTES, amounts.swapped);
                    row.set(PRIVATE_BYTES, amounts.anonymous + amounts.swapped);
                    row.set(WORKING_SET_PRIVATE, amounts.anonymous);
                }
                Some(reason) => {
                    row.fail_all(OF_STATUS.into_iter().chain(OF_STATM), self.of_memory.of(reason));
                }
            }
        }
        if requested.handles {
            match amounts.handles_read.reason() {
                None => row.set(HANDLE_COUNT, amounts.handles),
                Some(reason) => row.fail(HANDLE_COUNT, self.of_handles.of(reason)),
            }
        }
        if requested.io {
            match amounts.io.reason() {
                None => set_io(&mut row, sum),
                Some(reason) => row.fail_all(OF_IO, self.of_io.of(reason)),
            }
        }
    }
}

impl Provider for ProcessSet {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let listed = self.reader.processes(&mut self.listed);
        listed.map_err(|error| unreadable("/proc", &error.into()))?;
        follow(&mut self.known, &mut self.spare, &self.listed, |process| process.pid, Process::new);

        let requested = RequestedFiles::of(rows);
        let wants_idle = rows.wants_instance(self.idle_key.full_name(), 0);
        let wants_total = rows.wants_instance(self.total_key.full_name(), 0);
        let of_idle = [PROCESSOR_TIME, PRIVILEGED_TIME, THREAD_COUNT];
        let reads_idle = (wants_idle || wants_total) && rows.wants_any(of_idle);
        let idle = if reads_idle { self.idle.read() } else { None };
        if wants_idle {
            self.push_idle(rows, idle);
        }
        let mut amounts = wants_total.then(Amounts::default);
        for index in 0..self.known.len() {
            if self.process(index, rows, requested, amounts.as_mut()).is_err() {
                self.reader.make_room(&mut self.known, Process::close_all);
                self.process(index, rows, requested, amounts.as_mut())?;
            }
        }
        if let Some(amounts) = amounts {
            self.push_total(rows, &amounts, idle, requested);
        }
        Ok(())
    }

    fn idle(&mut self) {
        self.spare = Vec::new();
        for process in &mut self.known {
            process.close_all();
        }
    }
}

/// Adds running totals to the sums and to a row.
struct Counts<'a, 'b> {
    sums: &'a mut Sums<9>,
    last: &'a mut Last<9>,
    row: Option<&'a mut Row<'b>>,
    /// The boot time, as a FILETIME.
    boot: u64,
    /// The time of the collection, as a FILETIME.
    now: u64,
}

impl Counts<'_, '_> {
    #[inline]
    fn add(&mut self, index: usize, value: u64) -> u64 {
        self.sums.add(self.last, index, value)
    }

    #[inline]
    fn stat(&mut self, stat: &Stat, ticks: Ticks) {
        let user = self.add(USER, stat.user);
        let system = self.add(SYSTEM, stat.system);
        let faults = self.add(FAULTS, stat.faults);
        let Some(row) = &mut self.row else { return };
        row.set(PROCESSOR_TIME, ticks.hundred_ns(user + system));
        row.set(USER_TIME, ticks.hundred_ns(user));
        row.set(PRIVILEGED_TIME, ticks.hundred_ns(system));
        row.set(PAGE_FAULTS, faults);
        // A process that started during the collection is 0 s old.
        let started = self.boot.wrapping_add(ticks.hundred_ns(stat.start));
        row.set(ELAPSED_TIME, started.min(self.now));
    }

    #[inline]
    fn io(&mut self, io: &Io) {
        let values = [
            self.add(READ, io.read),
            self.add(WRITTEN, io.written),
            self.add(READS, io.reads),
            self.add(WRITES, io.writes),
            self.add(STORAGE_READ, io.storage_read),
            self.add(STORAGE_WRITTEN, io.storage_written),
        ];
        if let Some(row) = &mut self.row {
            set_io(row, |index| values[index - READ]);
        }
    }
}

#[inline]
fn set_stat(row: &mut Row<'_>, stat: &Stat) {
    row.set(THREAD_COUNT, stat.threads);
    row.set(PRIORITY_BASE, stat.priority_base());
    row.set(CREATING_PROCESS_ID, stat.parent.into());
    row.set(VIRTUAL_BYTES, stat.virtual_bytes);
}

#[inline]
fn set_io(row: &mut Row<'_>, value: impl Fn(usize) -> u64) {
    row.set(IO_READ_OPERATIONS, value(READS));
    row.set(IO_WRITE_OPERATIONS, value(WRITES));
    row.set(IO_DATA_OPERATIONS, value(READS).wrapping_add(value(WRITES)));
    row.set(IO_READ_BYTES, value(READ));
    row.set(IO_WRITE_BYTES, value(WRITTEN));
    row.set(IO_DATA_BYTES, value(READ).wrapping_add(value(WRITTEN)));
    row.set(STORAGE_READ_BYTES, value(STORAGE_READ));
    row.set(STORAGE_WRITE_BYTES, value(STORAGE_WRITTEN));
}

impl Amounts {
    fn add(&mut self, stat: &Stat, details: &Details, requested: RequestedFiles) {
        self.threads += stat.threads;
        let mut virtual_bytes = stat.virtual_bytes;
        if requested.memory
            && let Some(memory) = self.memory.of(details.memory)
        {
            virtual_bytes = memory.virtual_size.unwrap_or(virtual_bytes);
            self.virtual_peak += memory.virtual_peak.unwrap_or_default();
            self.resident += memory.resident.unwrap_or_default();
            self.resident_peak += memory.resident_peak.unwrap_or_default();
            self.anonymous += memory.anonymous.unwrap_or_default();
            self.swapped += memory.swapped.unwrap_or_default();
        }
        self.virtual_bytes += virtual_bytes;
        self.io.of(details.io);
        self.handles += self.handles_read.of(details.handles).unwrap_or_default();
    }
}

impl Outcome {
    fn of<T>(&mut self, read: Result<T, MissingReason>) -> Option<T> {
        match read {
            Ok(value) => {
                self.is_read = true;
                Some(value)
            }
            Err(reason) => {
                self.reason = Some(reason);
                None
            }
        }
    }

    /// Why no file was read, if none was.
    fn reason(&self) -> Option<MissingReason> {
        self.reason.filter(|_| !self.is_read)
    }
}

/// The boot time, as a FILETIME.
pub(super) fn boot_time(at: Timestamps) -> u64 {
    at.system_time.0.wrapping_sub(at.ticks) as u64
}

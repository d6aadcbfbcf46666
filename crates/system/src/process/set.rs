//! The sets `Process` and `Process V2`.

use std::sync::Arc;

use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{ErrorCode, Failure, InstanceKey, Moments, Provider, Row, Rows};

use super::idle::{Idle, Idleness};
use super::io::Io;
use super::known::follow;
use super::memory::Memory;
use super::process::{Crowded, Details, Naming, Process, Sight, Wanted};
use super::reader::Reader;
use super::reasons::{Lack, Reasons};
use super::stat::Stat;
use super::table::*;
use super::ticks::Ticks;
use super::total::{Last, Sums};

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
    idle: Idle,
    idle_key: Arc<InstanceKey>,
    sums: Sums<9>,
    total_key: Arc<InstanceKey>,
    of_stat: Reasons,
    of_memory: Reasons,
    of_io: Reasons,
    of_handles: Reasons,
}

/// What `_Total` adds up anew for each sample.
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
    /// What the last file that could not be read lacked, and whether another could be.
    memory: Outcome,
    io: Outcome,
    handles_read: Outcome,
}

/// Whether a kind of file could be read of any process.
#[derive(Debug, Default)]
struct Outcome {
    is_read: bool,
    lack: Option<Lack>,
}

impl ProcessSet {
    pub(super) fn new(
        info: Arc<CounterSetInfo>,
        naming: Naming,
        reader: Reader,
        idle: Idle,
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

    /// Reads one process and adds its row, unless it has ended or is not wanted.
    fn process(
        &mut self,
        place: usize,
        rows: &mut Rows,
        wanted: Wanted,
        amounts: Option<&mut Amounts>,
    ) -> Result<(), Crowded> {
        let process = &mut self.known[place];
        let sight = process.look(&mut self.reader, self.naming)?;
        // A process that is there has a key.
        let (Sight::Here(_) | Sight::Broken, Some(key)) = (sight, process.person.key()) else {
            return Ok(());
        };
        let key = Arc::clone(key);
        let is_wanted = rows.wants_all_instances() || rows.wants_instance(key.full_name(), key.id());
        if !is_wanted && amounts.is_none() {
            return Ok(());
        }
        let Some(details) = process.details(&mut self.reader, wanted, self.page_bytes)? else {
            return Ok(());
        };
        let (boot, now) = (since_boot(rows.at()), rows.at().system_time.0 as u64);
        let mut row = is_wanted.then(|| rows.push(&key));
        let mut counts =
            Counts { sums: &mut self.sums, last: &mut process.last, row: row.as_mut(), boot, now };
        if let Sight::Here(stat) = &sight {
            counts.stat(stat, self.ticks);
        }
        if let (true, Ok(io)) = (wanted.io, &details.io) {
            counts.io(io);
        }
        if let (Some(amounts), Sight::Here(stat)) = (amounts, &sight) {
            amounts.add(stat, &details, wanted);
        }
        let Some(mut row) = row else { return Ok(()) };
        match &sight {
            Sight::Here(stat) => set_stat(&mut row, stat),
            _ => row.fail_all(OF_STAT, self.of_stat.of(Lack::Broken)),
        }
        row.set(ID_PROCESS, key.id().into());
        self.set_details(&mut row, &details, wanted);
        Ok(())
    }

    #[inline]
    fn set_details(&self, row: &mut Row<'_>, details: &Details, wanted: Wanted) {
        match &details.memory {
            Ok(memory) if wanted.memory => self.set_memory(row, memory),
            Err(lack) => {
                let reason = self.of_memory.of(*lack);
                row.fail_all(OF_STATM, reason);
                row.fail_all(OF_STATUS, reason);
            }
            Ok(_) => {}
        }
        match &details.handles {
            Ok(handles) => row.set(HANDLE_COUNT, *handles),
            Err(lack) => row.fail(HANDLE_COUNT, self.of_handles.of(*lack)),
        }
        if let Err(lack) = &details.io {
            row.fail_all(OF_IO, self.of_io.of(*lack));
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
                None => row.fail(id, self.of_memory.of(Lack::Broken)),
            }
        }
        // Of the same moment as its peak.
        if let Some(size) = memory.virtual_size {
            row.set(VIRTUAL_BYTES, size);
        }
    }

    fn push_idle(&self, rows: &mut Rows, idle: Option<Idleness>) {
        let at = rows.at();
        let mut row = rows.push(&self.idle_key);
        // The idle threads have no memory, no files and no input or output: these zeros are true.
        for id in OF_STAT
            .into_iter()
            .chain(OF_STATM)
            .chain(OF_STATUS)
            .chain(OF_IO)
            .chain([HANDLE_COUNT, ID_PROCESS])
        {
            row.set(id, 0);
        }
        row.set(ELAPSED_TIME, since_boot(at));
        match idle {
            Some(idle) => {
                row.set(PROCESSOR_TIME, self.ticks.hundred_ns(idle.ticks));
                row.set(PRIVILEGED_TIME, self.ticks.hundred_ns(idle.ticks));
                row.set(THREAD_COUNT, idle.processors);
            }
            None => row.fail_all([PROCESSOR_TIME, PRIVILEGED_TIME, THREAD_COUNT], &self.idle.reason),
        }
    }

    fn push_total(&self, rows: &mut Rows, amounts: &Amounts, idle: Option<Idleness>, wanted: Wanted) {
        let at = rows.at();
        let mut row = rows.push(&self.total_key);
        for id in OF_STAT.into_iter().chain([ID_PROCESS]) {
            row.set(id, 0);
        }
        let sum = |place| self.sums.of(place);
        row.set(ELAPSED_TIME, since_boot(at));
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
        if wanted.memory {
            match amounts.memory.lack() {
                None => {
                    row.set(VIRTUAL_BYTES_PEAK, amounts.virtual_peak);
                    row.set(WORKING_SET_PEAK, amounts.resident_peak);
                    row.set(WORKING_SET, amounts.resident);
                    row.set(PAGE_FILE_BYTES, amounts.swapped);
                    row.set(PRIVATE_BYTES, amounts.anonymous + amounts.swapped);
                    row.set(WORKING_SET_PRIVATE, amounts.anonymous);
                }
                Some(lack) => {
                    row.fail_all(OF_STATUS.into_iter().chain(OF_STATM), self.of_memory.of(lack));
                }
            }
        }
        if wanted.handles {
            match amounts.handles_read.lack() {
                None => row.set(HANDLE_COUNT, amounts.handles),
                Some(lack) => row.fail(HANDLE_COUNT, self.of_handles.of(lack)),
            }
        }
        if wanted.io {
            match amounts.io.lack() {
                None => set_io(&mut row, sum),
                Some(lack) => row.fail_all(OF_IO, self.of_io.of(lack)),
            }
        }
    }

    /// Closes files, so that others can be opened.
    fn make_room(&mut self) {
        self.reader.descriptors().crowded();
        let mut closed = 0;
        for process in self.known.iter_mut().rev() {
            closed += process.close_all();
            if closed >= 32 {
                break;
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
        listed.map_err(|error| Failure::new(ErrorCode::NO_DATA, format!("/proc: {error}")))?;
        follow(&mut self.known, &mut self.spare, &self.listed, Process::new);

        let wanted = Wanted::of(rows);
        let wants_idle = rows.wants_instance(self.idle_key.full_name(), 0);
        let wants_total = rows.wants_instance(self.total_key.full_name(), 0);
        let of_idle = [PROCESSOR_TIME, PRIVILEGED_TIME, THREAD_COUNT];
        let reads_idle = (wants_idle || wants_total) && rows.wants_any(of_idle);
        let idle = if reads_idle { self.idle.read() } else { None };
        if wants_idle {
            self.push_idle(rows, idle);
        }
        let mut amounts = wants_total.then(Amounts::default);
        for place in 0..self.known.len() {
            if self.process(place, rows, wanted, amounts.as_mut()).is_err() {
                self.make_room();
                self.process(place, rows, wanted, amounts.as_mut()).map_err(|Crowded| {
                    Failure::new(ErrorCode::NO_DATA, "/proc: too many files are open (RLIMIT_NOFILE)")
                })?;
            }
        }
        if let Some(amounts) = amounts {
            self.push_total(rows, &amounts, idle, wanted);
        }
        Ok(())
    }

    fn rest(&mut self) {
        self.spare = Vec::new();
        for process in &mut self.known {
            process.close_all();
        }
    }
}

/// Takes what counts up into the sums and the row.
struct Counts<'a, 'b> {
    sums: &'a mut Sums<9>,
    last: &'a mut Last<9>,
    row: Option<&'a mut Row<'b>>,
    /// The start of the machine.
    boot: u64,
    /// The moment of the collection, as FILETIME.
    now: u64,
}

impl Counts<'_, '_> {
    #[inline]
    fn take(&mut self, place: usize, value: u64) -> u64 {
        self.sums.take(self.last, place, value)
    }

    #[inline]
    fn stat(&mut self, stat: &Stat, ticks: Ticks) {
        let user = self.take(USER, stat.user);
        let system = self.take(SYSTEM, stat.system);
        let faults = self.take(FAULTS, stat.faults);
        let Some(row) = &mut self.row else { return };
        row.set(PROCESSOR_TIME, ticks.hundred_ns(user + system));
        row.set(USER_TIME, ticks.hundred_ns(user));
        row.set(PRIVILEGED_TIME, ticks.hundred_ns(system));
        row.set(PAGE_FAULTS, faults);
        // Who started while the sample was taken is 0 s old at its moment.
        let started = self.boot.wrapping_add(ticks.hundred_ns(stat.start));
        row.set(ELAPSED_TIME, started.min(self.now));
    }

    #[inline]
    fn io(&mut self, io: &Io) {
        let values = [
            self.take(READ, io.read),
            self.take(WRITTEN, io.written),
            self.take(READS, io.reads),
            self.take(WRITES, io.writes),
            self.take(STORAGE_READ, io.storage_read),
            self.take(STORAGE_WRITTEN, io.storage_written),
        ];
        if let Some(row) = &mut self.row {
            set_io(row, |place| values[place - READ]);
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
    fn add(&mut self, stat: &Stat, details: &Details, wanted: Wanted) {
        self.threads += stat.threads;
        let mut virtual_bytes = stat.virtual_bytes;
        if wanted.memory
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
    fn of<T>(&mut self, read: Result<T, Lack>) -> Option<T> {
        match read {
            Ok(value) => {
                self.is_read = true;
                Some(value)
            }
            Err(lack) => {
                self.lack = Some(lack);
                None
            }
        }
    }

    /// What is lacking where no file could be read at all.
    fn lack(&self) -> Option<Lack> {
        self.lack.filter(|_| !self.is_read)
    }
}

/// The start of the machine, in the scale of elapsed times.
fn since_boot(at: Moments) -> u64 {
    at.system_time.0.wrapping_sub(at.ticks) as u64
}

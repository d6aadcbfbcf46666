//! The sets `Process` and `Process V2`.

use std::sync::Arc;
use std::time::Instant;

use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{CollectionId, Failure, InstanceKey, Provider, Row, Rows, Timestamps};

use super::amounts::Amounts;
use super::delays::{self, DelayReader, Delays};
use super::ended::{self, EndedProcesses, Entry, Tracker};
use super::exit_records::ExitRecords;
use super::io::Io;
use super::machine_times::MachineReader;
use super::memory::Memory;
use super::process::{Details, Naming, Process, RequestedFiles, TaskStat, TooManyOpenFiles};
use super::reader::Reader;
use super::stat::Stat;
use super::sums::{Last, Sums};
use super::table::*;
use super::task_identity::update_tasks;
use super::ticks::Ticks;
use super::unattributed::Unattributed;
use super::value_error::{Reasons, ValueError};
use super::waits::Waits;
use crate::error_texts::unreadable_failure;

/// Indexes of the sums. The first three are also the indexes of [`ended::Counts`].
pub(super) const USER: usize = 0;
pub(super) const SYSTEM: usize = 1;
pub(super) const FAULTS: usize = 2;
const READ: usize = 3;
const WRITTEN: usize = 4;
const READS: usize = 5;
const WRITES: usize = 6;
const STORAGE_READ: usize = 7;
const STORAGE_WRITTEN: usize = 8;
/// The number of sums of input and output, from `READ` on.
const IO_COUNTS: usize = 6;
pub(super) const RUN_QUEUE_WAIT: usize = 9;
pub(super) const BLOCK_IO_WAIT: usize = 10;
/// The first of the delays.
pub(super) const DELAYS: usize = 11;
/// The number of sums.
pub(super) const COUNTS: usize = DELAYS + delays::KINDS;

/// The provider of `Process` or `Process V2`.
#[derive(Debug)]
pub(super) struct ProcessSet {
    info: Arc<CounterSetInfo>,
    naming: Naming,
    reader: Reader,
    pub(super) delays: DelayReader,
    /// The ids of the processes that `/proc` lists, sorted.
    listed: Vec<u32>,
    /// The processes in `listed`.
    known: Vec<Process>,
    /// An empty list, whose memory is reused.
    spare: Vec<Process>,
    pub(super) ticks: Ticks,
    page_bytes: u64,
    pub(super) machine: MachineReader,
    pub(super) sums: Sums<COUNTS>,
    pub(super) ended: EndedProcesses,
    /// Input and output of all processes. When a process is reaped, the kernel adds its counts to those of its parent.
    pub(super) all_io: Tracker<IO_COUNTS>,
    pub(super) exit_records: ExitRecords,
    pub(super) unattributed: Unattributed,
    pub(super) keys: Keys,
    stat_reasons: Reasons,
    pub(super) memory_reasons: Reasons,
    pub(super) io_reasons: Reasons,
    pub(super) handles_reasons: Reasons,
    pub(super) waits_reasons: Reasons,
    pub(super) delays_reasons: Reasons,
}

/// The instances that are not processes.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) idle: Arc<InstanceKey>,
    pub(super) exited: Arc<InstanceKey>,
    pub(super) unattributed: Arc<InstanceKey>,
    pub(super) total: Arc<InstanceKey>,
}

impl ProcessSet {
    pub(super) fn new(
        info: Arc<CounterSetInfo>,
        naming: Naming,
        reader: Reader,
        machine: MachineReader,
        exit_records: ExitRecords,
        ticks: Ticks,
        page_bytes: u64,
    ) -> Self {
        let key = |name| Arc::new(InstanceKey::new(name, 0, 0).reserved());
        let idle_name = match naming {
            Naming::Plain => "Idle",
            Naming::Numbered => "Idle:0",
        };
        Self {
            info,
            naming,
            reader,
            delays: DelayReader::new(),
            listed: Vec::new(),
            known: Vec::new(),
            spare: Vec::new(),
            ticks,
            page_bytes,
            machine,
            sums: Sums::default(),
            ended: EndedProcesses::default(),
            all_io: Tracker::default(),
            exit_records,
            unattributed: Unattributed::default(),
            keys: Keys {
                idle: key(idle_name),
                exited: key("_Exited"),
                unattributed: key("_Unattributed"),
                total: key("_Total"),
            },
            stat_reasons: Reasons::new("/proc/PID/stat"),
            memory_reasons: Reasons::new("/proc/PID/status"),
            io_reasons: Reasons::new("/proc/PID/io"),
            handles_reasons: Reasons::new("/proc/PID/fd"),
            waits_reasons: Reasons::new("/proc/PID/task"),
            delays_reasons: Reasons::new("taskstats"),
        }
    }

    /// Reads one process and adds its row if it exists and is requested.
    fn collect_process(
        &mut self,
        index: usize,
        rows: &mut Rows,
        requested: RequestedFiles,
        amounts: Option<&mut Amounts>,
    ) -> Result<(), TooManyOpenFiles> {
        // A process whose parent has a higher id, as after ids have wrapped around, is never at rest, because the parent is read
        // later.
        let (before, others) = self.known.split_at_mut(index);
        let process = &mut others[0];
        let stat_read = if requested.stat {
            process.read_stat(&mut self.reader, self.naming)?
        } else {
            process.read_stat_unless_at_rest(&mut self.reader, self.naming, |pid| identity_of(before, pid))?
        };
        // A process that was read has a key.
        let (TaskStat::Read(_) | TaskStat::Malformed, Some(key)) = (stat_read, process.task.key()) else {
            return Ok(());
        };
        let key = Arc::clone(key);
        let is_wanted = rows.wants_all_instances() || rows.wants_instance(key.full_name(), key.id());
        let mut details = None;
        if is_wanted || amounts.is_some() {
            let stat = match &stat_read {
                TaskStat::Read(stat) => Some(stat),
                _ => None,
            };
            details =
                process.details(&mut self.reader, &mut self.delays, requested, stat, self.page_bytes)?;
            if details.is_none() {
                return Ok(());
            }
        }
        let (boot, now) = (boot_time(rows.timestamps()), rows.timestamps().system_time.0 as u64);
        let mut row = is_wanted.then(|| rows.push(&key));
        let mut counts =
            TotalsWriter { sums: &mut self.sums, last: &mut process.last, row: row.as_mut(), boot, now };
        // Processes whose rows are not requested are counted too, because their time must not be attributed to others.
        match &stat_read {
            TaskStat::Read(stat) => {
                let own = counts.stat(stat, self.ticks);
                self.ended.add(Entry::new(process.pid, key.identity(), stat, self.ticks, own));
            }
            _ => self.ended.keep_counts(process.pid),
        }
        let Some(details) = details else { return Ok(()) };
        let io = match (requested.io, &details.io) {
            (true, Ok(io)) => counts.io(io),
            // Zeros, which do not change the counts of earlier samples.
            _ => [0; IO_COUNTS],
        };
        if requested.io && amounts.is_some() {
            match &stat_read {
                TaskStat::Read(stat) => {
                    self.all_io.add(Entry::with_sums(process.pid, key.identity(), stat, self.ticks, io));
                }
                _ => self.all_io.keep_counts(process.pid),
            }
        }
        if let (true, Ok(waits)) = (requested.waits.any(), &details.waits) {
            counts.waits(waits, self.ticks);
        }
        if let (true, Ok(delays)) = (requested.delays, &details.delays) {
            counts.delays(delays);
        }
        if let (Some(amounts), TaskStat::Read(stat)) = (amounts, &stat_read) {
            amounts.add(stat, &details, requested);
        }
        let Some(mut row) = row else { return Ok(()) };
        match &stat_read {
            TaskStat::Read(stat) => set_stat(&mut row, stat),
            _ => row.fail_all(FROM_STAT, self.stat_reasons.text(ValueError::Malformed)),
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
                let reason = self.memory_reasons.text(*reason);
                row.fail_all(FROM_STATM, reason);
                row.fail_all(FROM_STATUS, reason);
            }
            Ok(_) => {}
        }
        match &details.handles {
            Ok(handles) => row.set(HANDLE_COUNT, *handles),
            Err(reason) => row.fail(HANDLE_COUNT, self.handles_reasons.text(*reason)),
        }
        if let Err(reason) = &details.io {
            row.fail_all(FROM_IO, self.io_reasons.text(*reason));
        }
        if let Err(reason) = &details.waits {
            row.fail_all(FROM_WAITS, self.waits_reasons.text(*reason));
        }
        if let Err(reason) = &details.delays {
            row.fail_all(FROM_DELAYS, self.delays_reasons.text(*reason));
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
                None => row.fail(id, self.memory_reasons.text(ValueError::Malformed)),
            }
        }
        // The current size is from the same file as the peak, so that the two are consistent.
        if let Some(size) = memory.virtual_size {
            row.set(VIRTUAL_BYTES, size);
        }
    }
}

impl Provider for ProcessSet {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn prepare(&mut self, _: &Rows, _: CollectionId, _: Instant) {
        self.exit_records.prepare(&mut self.ended);
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let wants_ended = self.wants_ended(rows);
        self.exit_records.begin(wants_ended, &mut self.ended);
        let listed = self.reader.processes(&mut self.listed);
        listed.map_err(|error| unreadable_failure("/proc", &error.into()))?;
        self.ended.begin(&self.listed);
        update_tasks(&mut self.known, &mut self.spare, &self.listed, |process| process.pid, Process::new);

        let requested = RequestedFiles::for_rows(rows);
        let wanted = self.wanted_machine_rows(rows);
        if wanted.idle {
            self.push_idle(rows, wanted.times);
        }
        let mut amounts = wanted.total.then(Amounts::default);
        self.all_io.begin();
        for index in 0..self.known.len() {
            if self.collect_process(index, rows, requested, amounts.as_mut()).is_err() {
                self.reader.make_room(&mut self.known, Process::close_all);
                self.collect_process(index, rows, requested, amounts.as_mut())?;
            }
        }
        self.exit_records.receive(&mut self.ended);
        let Self { known, reader, ended, all_io, naming, ticks, .. } = self;
        let at = rows.timestamps().ticks as u64;
        let mut is_alive = |pid, identity| {
            let index = known.binary_search_by_key(&pid, |process| process.pid);
            index.is_ok_and(|index| known[index].is_alive(identity, reader, *naming))
        };
        ended.finish(at, *ticks, &mut is_alive);
        // Otherwise not all processes were read; the next sample that reads them continues from the last one that did.
        if requested.io && amounts.is_some() {
            all_io.compare(at);
            all_io.finish(&mut is_alive);
        }
        self.push_machine_rows(rows, wanted, amounts.as_ref(), requested);
        Ok(())
    }

    fn idle(&mut self) {
        self.exit_records.close(&mut self.ended);
        self.delays.close();
        self.spare = Vec::new();
        for process in &mut self.known {
            process.close_all();
        }
    }
}

/// The identity of a parent in this list, which is sorted by id; 0 for the parent 0, which stands for the kernel or for a process
/// that /proc does not show.
#[inline]
fn identity_of(processes: &[Process], pid: u32) -> Option<u64> {
    if pid == 0 {
        return Some(0);
    }
    let index = processes.binary_search_by_key(&pid, |process| process.pid).ok()?;
    processes[index].identity_as_parent()
}

/// Adds a process's running totals to the sums, and sets them in its row.
struct TotalsWriter<'a, 'b> {
    sums: &'a mut Sums<COUNTS>,
    last: &'a mut Last<COUNTS>,
    row: Option<&'a mut Row<'b>>,
    /// The boot time, as a FILETIME.
    boot: u64,
    /// The time of the collection, as a FILETIME.
    now: u64,
}

impl TotalsWriter<'_, '_> {
    #[inline]
    fn add(&mut self, index: usize, value: u64) -> u64 {
        self.sums.add(self.last, index, value)
    }

    #[inline]
    fn stat(&mut self, stat: &Stat, ticks: Ticks) -> ended::Counts {
        let user = self.add(USER, stat.user);
        let system = self.add(SYSTEM, stat.system);
        let faults = self.add(FAULTS, stat.faults);
        let counts = [user, system, faults];
        let Some(row) = &mut self.row else { return counts };
        row.set(PROCESSOR_TIME, ticks.hundred_ns(user + system));
        row.set(USER_TIME, ticks.hundred_ns(user));
        row.set(PRIVILEGED_TIME, ticks.hundred_ns(system));
        row.set(PAGE_FAULTS, faults);
        // The elapsed time of a process that started during the collection is 0.
        let started = self.boot.wrapping_add(ticks.hundred_ns(stat.start));
        row.set(ELAPSED_TIME, started.min(self.now));
        counts
    }

    #[inline]
    fn io(&mut self, io: &Io) -> [u64; IO_COUNTS] {
        let values = [
            self.add(READ, io.read),
            self.add(WRITTEN, io.written),
            self.add(READS, io.reads),
            self.add(WRITES, io.writes),
            self.add(STORAGE_READ, io.storage_read),
            self.add(STORAGE_WRITTEN, io.storage_written),
        ];
        if let Some(row) = &mut self.row {
            set_io(row, &values);
        }
        values
    }

    #[inline]
    fn waits(&mut self, waits: &Waits, ticks: Ticks) {
        let run_queue = self.add(RUN_QUEUE_WAIT, waits.run_queue_ns);
        let block_io = self.add(BLOCK_IO_WAIT, waits.block_io_ticks);
        if let Some(row) = &mut self.row {
            set_waits(row, run_queue, block_io, ticks);
        }
    }

    fn delays(&mut self, delays: &Delays) {
        let mut totals = delays.0;
        for (index, total) in totals.iter_mut().enumerate() {
            *total = self.add(DELAYS + index, *total);
        }
        if let Some(row) = &mut self.row {
            set_delays(row, |index| totals[index]);
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
pub(super) fn set_io(row: &mut Row<'_>, values: &[u64; IO_COUNTS]) {
    let [read, written, reads, writes, storage_read, storage_written] = *values;
    row.set(IO_READ_OPERATIONS, reads);
    row.set(IO_WRITE_OPERATIONS, writes);
    row.set(IO_DATA_OPERATIONS, reads.wrapping_add(writes));
    row.set(IO_READ_BYTES, read);
    row.set(IO_WRITE_BYTES, written);
    row.set(IO_DATA_BYTES, read.wrapping_add(written));
    row.set(STORAGE_READ_BYTES, storage_read);
    row.set(STORAGE_WRITE_BYTES, storage_written);
}

#[inline]
pub(super) fn set_waits(row: &mut Row<'_>, run_queue_ns: u64, block_io_ticks: u64, ticks: Ticks) {
    row.set(RUN_QUEUE_WAIT_TIME, run_queue_ns / 100);
    row.set(BLOCK_IO_WAIT_TIME, ticks.hundred_ns(block_io_ticks));
}

/// Sets delays, which are given in nanoseconds.
pub(super) fn set_delays(row: &mut Row<'_>, delay_ns: impl Fn(usize) -> u64) {
    for (index, id) in FROM_DELAYS.into_iter().enumerate() {
        row.set(id, delay_ns(index) / 100);
    }
}

/// The boot time, as a FILETIME.
pub(super) fn boot_time(at: Timestamps) -> u64 {
    at.system_time.0.wrapping_sub(at.ticks) as u64
}

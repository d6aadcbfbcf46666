//! `System`, from `/proc/stat`, `/proc/loadavg`, `/proc/sys` and the clocks.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Row, Rows, SharedReading, Timestamps};

use super::kernel_objects::KernelObjects;
use super::processes::ProcessCount;
use crate::adjtimex::ClockState;
use crate::error_texts::{LastReason, error_text};
use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::scan::{parse_hundredths, parse_number, words};
use crate::stat::Stat;
use crate::table::{CounterInfo, SetTable};

const CONTEXT_SWITCHES: u32 = 1;
const PROCESSES: u32 = 2;
const THREADS: u32 = 3;
const QUEUE_LENGTH: u32 = 4;
const UP_TIME: u32 = 5;
const FORKS: u32 = 8;
const BLOCKED: u32 = 9;
const LOAD_AVERAGES: [u32; 3] = [10, 11, 12];
const LOAD_AVERAGE_BASE: u32 = 13;
const RUNNABLE: u32 = 14;
pub(super) const FILE_HANDLES: u32 = 15;
pub(super) const FILE_HANDLE_LIMIT: u32 = 16;
pub(super) const INODES: u32 = 17;
pub(super) const UNUSED_DENTRIES: u32 = 18;
pub(super) const TERMINALS: u32 = 19;
pub(super) const TERMINAL_LIMIT: u32 = 20;
const CLOCK_OFFSET: u32 = 21;
const CLOCK_MAX_ERROR: u32 = 22;
const CLOCK_ESTIMATED_ERROR: u32 = 23;
const CLOCK_FREQUENCY: u32 = 24;
const CLOCK_SYNCHRONIZED: u32 = 25;

/// The base of load averages, which are in hundredths. A fraction is displayed as a percentage: 1.23 is 100 * 123 / 10,000.
const LOAD_AVERAGE_WHOLE: u64 = 10_000;

const fn load_average(id: u32, name: &'static str, source: &'static str, help: &'static str) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::RAW_FRACTION, "", 1, source, help).base(LOAD_AVERAGE_BASE)
}

#[rustfmt::skip]
pub(super) const TABLE: SetTable = SetTable {
    name: "System",
    guid: 0x389eb515_bc27_581e_9688_99e794dd4f85,
    instance_type: InstanceType::Single,
    help: "The machine as a whole: processes, threads, the processor queue, and the up time.",
    instances: "",
    total: "",
    repeats: None,
    counters: &[
        CounterInfo::row(CONTEXT_SWITCHES, "Context Switches/sec", CounterType::COUNTER_COUNTER, "1/s", -2,
            "/proc/stat: ctxt",
            "Switches from one thread to another, on all processors."),
        CounterInfo::row(PROCESSES, "Processes", CounterType::RAWCOUNT, "", 1, "/proc: entries",
            "Current number of processes, including kernel threads. In a container, only its own processes."),
        CounterInfo::row(THREADS, "Threads", CounterType::RAWCOUNT, "", 1, "/proc/loadavg: fourth field",
            "Current number of threads of the whole machine (even in a container), including kernel threads."),
        CounterInfo::row(QUEUE_LENGTH, "Processor Queue Length", CounterType::RAWCOUNT, "", 1,
            "/proc/stat: procs_running, cpuN",
            "Threads that are ready to run but have no processor: running and runnable threads (without the \
             one that reads this) minus the number of processors, at least 0. Linux reports only their sum, so a \
             thread that waits while another processor is idle is not counted."),
        CounterInfo::row(UP_TIME, "System Up Time", CounterType::ELAPSED_TIME, "seconds", -5, "CLOCK_BOOTTIME",
            "Time since boot, including time in suspend.").clock(6, 7),
        CounterInfo::companion(6, "System Up Time Time", CounterType::LARGE_RAWCOUNT),
        CounterInfo::companion(7, "System Up Time Frequency", CounterType::LARGE_RAWCOUNT),
        CounterInfo::row(FORKS, "Forks/sec", CounterType::COUNTER_COUNTER, "1/s", 0, "/proc/stat: processes",
            "Processes and threads that were created. Windows has no such counter."),
        CounterInfo::row(BLOCKED, "Processes Blocked", CounterType::RAWCOUNT, "", 1, "/proc/stat: procs_blocked",
            "Threads that are waiting for I/O. Windows has no such counter."),
        load_average(LOAD_AVERAGES[0], "Load Average, 1 min", "/proc/loadavg: first field",
            "The kernel's exponentially weighted average, over 1 minute, of the threads that run, are ready to run, or \
             sleep uninterruptibly (usually waiting for a disk)."),
        load_average(LOAD_AVERAGES[1], "Load Average, 5 min", "/proc/loadavg: second field",
            "Like Load Average, 1 min, but over 5 minutes."),
        load_average(LOAD_AVERAGES[2], "Load Average, 15 min", "/proc/loadavg: third field",
            "Like Load Average, 1 min, but over 15 minutes."),
        CounterInfo::companion(LOAD_AVERAGE_BASE, "Load Average Base", CounterType::RAW_BASE),
        CounterInfo::row(RUNNABLE, "Threads Runnable", CounterType::RAWCOUNT, "", 1, "/proc/stat: procs_running",
            "Threads that run or are ready to run, without the one that reads this."),
        objects(FILE_HANDLES, "File Handles", "/proc/sys/fs/file-nr: first field minus second field",
            "Open file handles of all programs. Several descriptors can share one."),
        objects(FILE_HANDLE_LIMIT, "File Handle Limit", "/proc/sys/fs/file-nr: third field",
            "The maximum number of open files (fs.file-max)."),
        objects(INODES, "Inodes In Use", "/proc/sys/fs/inode-nr: first field minus second field",
            "Inodes in memory that are in use."),
        objects(UNUSED_DENTRIES, "Unused Directory Entries", "/proc/sys/fs/dentry-state: second field",
            "Cached directory entries that are not in use; the kernel can free them."),
        objects(TERMINALS, "Pseudo Terminals", "/proc/sys/kernel/pty/nr",
            "Open pseudo terminals, such as those of terminal windows and ssh."),
        objects(TERMINAL_LIMIT, "Pseudo Terminal Limit", "/proc/sys/kernel/pty/max",
            "The maximum number of pseudo terminals (kernel.pty.max)."),
        clock(CLOCK_OFFSET, "Clock Offset", "ns", "adjtimex: offset",
            "The remaining correction that the kernel applies to the clock, in nanoseconds: positive if the clock is slow, \
             0 if nothing synchronizes it. chrony corrects the clock by its frequency, and leaves little here."),
        clock(CLOCK_MAX_ERROR, "Clock Maximum Error", "ns", "adjtimex: maxerror",
            "The maximum error of the clock in nanoseconds. It grows until the clock is compared with a server again; 16 \
             seconds if nothing synchronizes it."),
        clock(CLOCK_ESTIMATED_ERROR, "Clock Estimated Error", "ns", "adjtimex: esterror",
            "The error of the clock in nanoseconds, as estimated by the program that synchronizes it."),
        clock(CLOCK_FREQUENCY, "Clock Frequency Adjustment", "ppb", "adjtimex: freq",
            "The correction of the clock's frequency, in parts per billion: positive if the clock is made \
             faster."),
        CounterInfo::row(CLOCK_SYNCHRONIZED, "Clock Synchronized", CounterType::RAWCOUNT, "", 2, "adjtimex: state",
            "1 if a program such as chrony, ntpd or systemd-timesyncd keeps the clock synchronized, otherwise 0."),
    ],
};

const fn clock(
    id: u32,
    name: &'static str,
    unit: &'static str,
    source: &'static str,
    help: &'static str,
) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::LARGE_RAWCOUNT, unit, -3, source, help)
}

const fn objects(id: u32, name: &'static str, source: &'static str, help: &'static str) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::LARGE_RAWCOUNT, "", 0, source, help)
}

const FROM_STAT: [u32; 5] = [CONTEXT_SWITCHES, QUEUE_LENGTH, FORKS, BLOCKED, RUNNABLE];
const FROM_CLOCK: std::ops::RangeInclusive<u32> = CLOCK_OFFSET..=CLOCK_SYNCHRONIZED;
const FROM_LOADAVG: [u32; 4] = [LOAD_AVERAGES[0], LOAD_AVERAGES[1], LOAD_AVERAGES[2], THREADS];

struct System {
    info: Arc<CounterSetInfo>,
    instance: Arc<InstanceKey>,
    stat: SharedReading<Stat>,
    loadavg: OpenFile,
    processes: ProcessCount,
    objects: KernelObjects,
    /// The last errors of `/proc/stat`, `/proc/loadavg`, `/proc`, and the clock.
    reasons: [LastReason; 4],
    stat_malformed: Arc<str>,
    loadavg_malformed: Arc<str>,
}

/// The values of the counters in `FROM_STAT`, in the same order.
fn from_stat(stat: &Stat) -> [Option<u64>; 5] {
    let processors = stat.processors().len() as u64;
    // Do not count the calling thread.
    let runnable = stat.running_threads().map(|running| running.saturating_sub(1));
    [
        stat.context_switches(),
        runnable.filter(|_| processors > 0).map(|runnable| runnable.saturating_sub(processors)),
        stat.fork_count(),
        stat.blocked_threads(),
        runnable,
    ]
}

/// The provider. Every machine has at least the uptime.
pub(super) fn provider(
    roots: &Roots,
    stat: &SharedReading<Stat>,
    at: Timestamps,
) -> Option<Box<dyn Provider>> {
    let values = stat.at(at, |stat| from_stat(stat)).unwrap_or_default();
    let mut loadavg = OpenFile::in_one_piece(roots.proc.join("loadavg"));
    let mut processes = ProcessCount::new(&roots.proc);
    let averages = loadavg.read().map(from_loadavg).unwrap_or_default();
    let objects = KernelObjects::new(roots);
    let has_processes = processes.count().is_ok();
    let has_clock = ClockState::read().is_ok();
    let info = TABLE.info_of(|id| match id {
        PROCESSES => has_processes,
        id if FROM_CLOCK.contains(&id) => has_clock,
        UP_TIME => true,
        _ => {
            let from_stat = FROM_STAT.iter().zip(values);
            let mut from_files = from_stat.chain(FROM_LOADAVG.iter().zip(averages));
            from_files.any(|(&other, value)| other == id && value.is_some()) || objects.has_counter(id)
        }
    });
    Some(Box::new(System {
        info,
        instance: Arc::default(),
        stat: stat.clone(),
        loadavg,
        processes,
        objects,
        reasons: Default::default(),
        stat_malformed: format!("{}: a field is missing", roots.proc.join("stat").display()).into(),
        loadavg_malformed: format!("{}: a field is missing", roots.proc.join("loadavg").display()).into(),
    }))
}

impl Provider for System {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let at = rows.timestamps();
        let [stat_reason, loadavg_reason, processes_reason, clock_reason] = &mut self.reasons;
        let mut row = rows.push(&self.instance);
        // The sample's time minus this value is `ticks`, so the up time does not depend on the wall clock.
        row.set(UP_TIME, at.system_time.0.saturating_sub(at.ticks).max(0) as u64);
        if FROM_STAT.into_iter().any(|id| row.wants(id)) {
            match self.stat.at(at, |stat| from_stat(stat)) {
                Ok(values) => {
                    for (id, value) in FROM_STAT.into_iter().zip(values) {
                        match value {
                            Some(value) => row.set(id, value),
                            None => row.fail(id, &self.stat_malformed),
                        }
                    }
                }
                Err(failure) => row.fail_all(FROM_STAT, stat_reason.intern(&failure.reason)),
            }
        }
        if FROM_LOADAVG.into_iter().any(|id| row.wants(id)) {
            match self.loadavg.read().map(from_loadavg) {
                Ok(values) => {
                    for (id, value) in FROM_LOADAVG.into_iter().zip(values) {
                        match value {
                            Some(value) if id == THREADS => row.set(id, value),
                            Some(value) => row.set_with_base(id, value, LOAD_AVERAGE_WHOLE),
                            None => row.fail(id, &self.loadavg_malformed),
                        }
                    }
                }
                Err(error) => {
                    let reason = error_text(self.loadavg.path().display(), &error);
                    row.fail_all(FROM_LOADAVG, loadavg_reason.intern(&reason));
                }
            }
        }
        self.objects.set_counters(&mut row);
        if FROM_CLOCK.into_iter().any(|id| row.wants(id)) {
            match ClockState::read() {
                Ok(clock) => set_clock(&mut row, &clock),
                Err(error) => row.fail_all(FROM_CLOCK, clock_reason.intern(&error_text("adjtimex", &error))),
            }
        }
        if row.wants(PROCESSES) {
            match self.processes.count() {
                Ok(processes) => row.set(PROCESSES, processes),
                Err(error) => row.fail(PROCESSES, processes_reason.intern(&error_text("/proc", &error))),
            }
        }
        Ok(())
    }
}

fn set_clock(row: &mut Row<'_>, clock: &ClockState) {
    row.set(CLOCK_OFFSET, clock.offset_ns as u64);
    row.set(CLOCK_MAX_ERROR, clock.max_error_ns as u64);
    row.set(CLOCK_ESTIMATED_ERROR, clock.estimated_error_ns as u64);
    row.set(CLOCK_FREQUENCY, clock.frequency_ppb as u64);
    row.set(CLOCK_SYNCHRONIZED, clock.is_synchronized.into());
}

/// Parses `0.62 0.44 0.40 4/93 14119`: the averages in hundredths and the number of threads, in the order of [`FROM_LOADAVG`].
fn from_loadavg(text: &[u8]) -> [Option<u64>; 4] {
    let mut fields = words(text.strip_suffix(b"\n").unwrap_or_default());
    let mut average = || fields.next().and_then(parse_hundredths);
    let averages = [average(), average(), average()];
    let threads = fields.next().and_then(|field| {
        let slash = field.iter().position(|&byte| byte == b'/')?;
        parse_number(&field[slash + 1..])
    });
    // The number of threads is complete only if another field follows.
    [averages[0], averages[1], averages[2], threads.filter(|_| fields.next().is_some())]
}

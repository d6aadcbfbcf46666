//! `System`, from `/proc/stat`, `/proc/loadavg` and the clock.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows, SharedReading, Timestamps};

use super::processes::ProcessCount;
use crate::error_texts::error_text;
use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::scan::{number, words};
use crate::stat::Stat;
use crate::table::{CounterInfo, SetTable};

const CONTEXT_SWITCHES: u32 = 1;
const PROCESSES: u32 = 2;
const THREADS: u32 = 3;
const QUEUE_LENGTH: u32 = 4;
const UP_TIME: u32 = 5;
const FORKS: u32 = 8;
const BLOCKED: u32 = 9;

#[rustfmt::skip]
pub(super) const TABLE: SetTable = SetTable {
    name: "System",
    guid: 0x389eb515_bc27_581e_9688_99e794dd4f85,
    instance_type: InstanceType::Single,
    help: "The machine as a whole: processes, threads, the processor queue, and the up time.",
    instances: "",
    total: "",
    counters: &[
        CounterInfo::row(CONTEXT_SWITCHES, "Context Switches/sec", CounterType::COUNTER_COUNTER, "1/s", -2,
            "/proc/stat: ctxt",
            "How often a processor went from one thread to another, of all processors."),
        CounterInfo::row(PROCESSES, "Processes", CounterType::RAWCOUNT, "", 1, "/proc: entries",
            "Processes at this moment, threads of the kernel included. In a container, those that it can see."),
        CounterInfo::row(THREADS, "Threads", CounterType::RAWCOUNT, "", 1, "/proc/loadavg: fourth field",
            "Threads of the whole machine at this moment, those of the kernel included, also in a container."),
        CounterInfo::row(QUEUE_LENGTH, "Processor Queue Length", CounterType::RAWCOUNT, "", 1,
            "/proc/stat: procs_running, cpuN",
            "Threads that could run and have no processor: running and runnable threads (without the \
             reading one) minus the number of processors, at least 0. Linux reports only their sum, so a \
             thread that waits while another processor is idle is not counted."),
        CounterInfo::row(UP_TIME, "System Up Time", CounterType::ELAPSED_TIME, "seconds", -5, "CLOCK_BOOTTIME",
            "Time since the machine was started, suspended time included.").clock(6, 7),
        CounterInfo::companion(6, "System Up Time Time", CounterType::LARGE_RAWCOUNT),
        CounterInfo::companion(7, "System Up Time Frequency", CounterType::LARGE_RAWCOUNT),
        CounterInfo::row(FORKS, "Forks/sec", CounterType::COUNTER_COUNTER, "1/s", 0, "/proc/stat: processes",
            "Processes and threads that were created. Windows has no such counter."),
        CounterInfo::row(BLOCKED, "Processes Blocked", CounterType::RAWCOUNT, "", 1, "/proc/stat: procs_blocked",
            "Threads that wait for a device at this moment. Windows has no such counter."),
    ],
};

const FROM_STAT: [u32; 4] = [CONTEXT_SWITCHES, QUEUE_LENGTH, FORKS, BLOCKED];

struct System {
    info: Arc<CounterSetInfo>,
    instance: Arc<InstanceKey>,
    stat: SharedReading<Stat>,
    loadavg: OpenFile,
    processes: ProcessCount,
    /// The last errors of `/proc/stat`, `/proc/loadavg`, and `/proc`.
    reasons: [Option<Arc<str>>; 3],
    stat_path: Arc<str>,
}

/// The values of the counters in `FROM_STAT`, in the same order.
fn from_stat(stat: &Stat) -> [Option<u64>; 4] {
    let processors = stat.processors().len() as u64;
    // Do not count the calling thread.
    let queue = |running: u64| running.saturating_sub(1).saturating_sub(processors);
    [
        stat.context_switches(),
        stat.running().filter(|_| processors > 0).map(queue),
        stat.forks(),
        stat.blocked(),
    ]
}

/// The provider. Every machine has at least the uptime.
pub(super) fn provider(
    roots: &Roots,
    stat: &SharedReading<Stat>,
    at: Timestamps,
) -> Option<Box<dyn Provider>> {
    let values = stat.at(at, |stat| from_stat(stat)).unwrap_or_default();
    let mut loadavg = OpenFile::new(roots.proc.join("loadavg"));
    let mut processes = ProcessCount::new(&roots.proc);
    let has_threads = loadavg.read().is_ok_and(|text| threads(text).is_some());
    let has_processes = processes.count().is_ok();
    let info = TABLE.info_of(|id| match id {
        PROCESSES => has_processes,
        THREADS => has_threads,
        UP_TIME => true,
        _ => FROM_STAT.iter().zip(values).any(|(&other, value)| other == id && value.is_some()),
    });
    Some(Box::new(System {
        info,
        instance: Arc::default(),
        stat: stat.clone(),
        loadavg,
        processes,
        reasons: [const { None }; 3],
        stat_path: format!("{}: a field is missing", roots.proc.join("stat").display()).into(),
    }))
}

impl Provider for System {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let at = rows.timestamps();
        let [stat_reason, loadavg_reason, processes_reason] = &mut self.reasons;
        let mut row = rows.push(&self.instance);
        // Independent of the wall clock.
        row.set(UP_TIME, at.system_time.0.saturating_sub(at.ticks).max(0) as u64);
        if FROM_STAT.into_iter().any(|id| row.wants(id)) {
            match self.stat.at(at, |stat| from_stat(stat)) {
                Ok(values) => {
                    for (id, value) in FROM_STAT.into_iter().zip(values) {
                        match value {
                            Some(value) => row.set(id, value),
                            None => row.fail(id, &self.stat_path),
                        }
                    }
                }
                Err(failure) => row.fail_all(FROM_STAT, reuse(stat_reason, &failure.reason)),
            }
        }
        if row.wants(THREADS) {
            match self.loadavg.read().map(threads) {
                Ok(Some(threads)) => row.set(THREADS, threads),
                other => {
                    let path = self.loadavg.path().display();
                    let reason = match other {
                        Err(error) => error_text(&path, &error),
                        Ok(_) => format!("{path}: no number of threads"),
                    };
                    row.fail(THREADS, reuse(loadavg_reason, &reason));
                }
            }
        }
        if row.wants(PROCESSES) {
            match self.processes.count() {
                Ok(processes) => row.set(PROCESSES, processes),
                Err(error) => row.fail(PROCESSES, reuse(processes_reason, &error_text("/proc", &error))),
            }
        }
        Ok(())
    }
}

/// Replaces the last reason if the text differs, so that a repeated reason is not allocated again.
fn reuse<'a>(reason: &'a mut Option<Arc<str>>, text: &str) -> &'a Arc<str> {
    if reason.as_deref() != Some(text) {
        *reason = None;
    }
    reason.get_or_insert_with(|| text.into())
}

/// The number of threads in "0.62 0.44 0.40 4/93 14119".
fn threads(text: &[u8]) -> Option<u64> {
    let text = text.strip_suffix(b"\n")?;
    let field = words(text).nth(3)?;
    let slash = field.iter().position(|&byte| byte == b'/')?;
    // This field is complete only if another one follows.
    words(text).nth(4)?;
    number(&field[slash + 1..])
}

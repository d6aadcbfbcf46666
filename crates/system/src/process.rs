//! Processes and threads: the sets `Process`, `Process V2` and `Thread`, from `/proc/PID`.

use std::fs;
use std::sync::Arc;

use rustix::io::Errno;
use tachograph_perflib::{Provider, SharedReading};

use self::exit_records::ExitRecords;
use self::machine_times::MachineReader;
use self::process::Naming;
use self::process_set::ProcessSet;
use self::reader::Reader;
use self::thread_set::{SwitchSource, ThreadSet};
use self::ticks::Ticks;
use self::waits::check_delay_accounting;
use crate::absence::Requirement;
use crate::descriptors::Descriptors;
use crate::roots::Roots;
use crate::stat::Stat;
use crate::table::SetTable;

mod amounts;
mod cursor;
mod delays;
mod ended;
mod exit_listener;
mod exit_record;
mod exit_records;
mod io;
mod machine_rows;
mod machine_times;
mod memory;
#[allow(clippy::module_inception, reason = "the files of one process")]
mod process;
mod process_set;
pub(crate) mod properties;
mod reader;
mod stat;
mod sums;
mod table;
mod task_identity;
mod taskstats;
mod thread_set;
mod ticks;
mod unattributed;
mod unchanged_stat;
mod value_error;
mod waits;

#[cfg(test)]
mod tests;

/// The tables of these sets.
pub(crate) const TABLES: &[&SetTable] = &[&table::PROCESS, &table::PROCESS_V2, &table::THREAD];

/// What counters of these sets require.
pub(crate) const REQUIREMENTS: &[Requirement] = &[
    Requirement { table: &table::PROCESS, ids: &[table::BLOCK_IO_WAIT_TIME], check: check_delay_accounting },
    Requirement {
        table: &table::PROCESS_V2,
        ids: &[table::BLOCK_IO_WAIT_TIME],
        check: check_delay_accounting,
    },
    Requirement { table: &table::PROCESS, ids: &table::FROM_DELAYS, check: delays::check },
    Requirement { table: &table::PROCESS_V2, ids: &table::FROM_DELAYS, check: delays::check },
    Requirement {
        table: &table::THREAD,
        ids: &[table::thread::BLOCK_IO_WAIT_TIME],
        check: check_delay_accounting,
    },
];

/// The providers of these sets; none without a readable `/proc/self/stat`.
pub(crate) fn providers(roots: &Roots, stat: &SharedReading<Stat>) -> Vec<Box<dyn Provider>> {
    with_descriptors(roots, stat, &Descriptors::of_this_process())
}

fn with_descriptors(
    roots: &Roots,
    stat: &SharedReading<Stat>,
    descriptors: &Descriptors,
) -> Vec<Box<dyn Provider>> {
    if read_own_file(roots, "stat").is_none_or(|text| stat::parse(&text).is_none()) {
        return Vec::new();
    }
    open_proc(roots, stat, descriptors).unwrap_or_default()
}

fn open_proc(
    roots: &Roots,
    stat: &SharedReading<Stat>,
    descriptors: &Descriptors,
) -> Result<Vec<Box<dyn Provider>>, Errno> {
    let ticks = Ticks::new(roots);
    let mut providers: Vec<Box<dyn Provider>> = Vec::new();
    let has = has_counter(roots);
    for (table, naming) in [(&table::PROCESS, Naming::Plain), (&table::PROCESS_V2, Naming::Numbered)] {
        let reader = Reader::new(roots, descriptors.clone())?;
        let (exit_records, outcome) = ExitRecords::new(roots, &reader);
        let mut info = table.info_of(&has);
        if let Err(reason) = outcome {
            let texts = Arc::make_mut(&mut info);
            texts.instances_help =
                format!("{} Taskstats are not available here: {reason}.", texts.instances_help).into();
        }
        let machine = MachineReader::new(stat);
        let set = ProcessSet::new(info, naming, reader, machine, exit_records, ticks, roots.page_bytes);
        providers.push(Box::new(set));
    }
    let switches = [SwitchSource::Schedstat, SwitchSource::Status]
        .into_iter()
        .find(|source| counts_switches(roots, *source));
    let delays = check_delay_accounting(roots).is_ok();
    let info = table::THREAD.info_of(|id| match id {
        table::thread::CONTEXT_SWITCHES => switches.is_some(),
        table::thread::RUN_QUEUE_WAIT_TIME => switches == Some(SwitchSource::Schedstat),
        table::thread::BLOCK_IO_WAIT_TIME => delays,
        _ => true,
    });
    let reader = Reader::new(roots, descriptors.clone())?;
    providers.push(Box::new(ThreadSet::new(info, reader, ticks, switches)));
    Ok(providers)
}

/// Returns a function that reports whether this machine has a process counter, judging by the files of this process.
fn has_counter(roots: &Roots) -> impl Fn(u32) -> bool + use<> {
    let io = read_own_file(roots, "io").is_some_and(|text| io::parse(&text).is_some());
    let statm = read_own_file(roots, "statm").is_some_and(|text| memory::parse_statm(&text, 1).is_some());
    let status =
        read_own_file(roots, "status").and_then(|text| memory::parse_status(&text)).unwrap_or_default();
    let handles = roots.proc.join("self/fd").is_dir();
    let run_queue = counts_switches(roots, SwitchSource::Schedstat);
    let block_io = check_delay_accounting(roots).is_ok();
    let delays = delays::check(roots).is_ok();
    move |id| match id {
        table::VIRTUAL_BYTES_PEAK => status.virtual_peak.is_some(),
        table::WORKING_SET_PEAK => status.resident_peak.is_some(),
        table::PAGE_FILE_BYTES => status.swapped.is_some(),
        table::PRIVATE_BYTES => status.anonymous.is_some() && status.swapped.is_some(),
        table::WORKING_SET | table::WORKING_SET_PRIVATE => statm,
        table::HANDLE_COUNT => handles,
        table::RUN_QUEUE_WAIT_TIME => run_queue,
        table::BLOCK_IO_WAIT_TIME => block_io,
        id if table::FROM_DELAYS.contains(&id) => delays,
        _ => io || !table::FROM_IO.contains(&id),
    }
}

/// Whether the kernel counts the context switches of this process in the file of `source`. A kernel built without this
/// statistic writes 0.
fn counts_switches(roots: &Roots, source: SwitchSource) -> bool {
    let text = read_own_file(roots, source.file_name());
    text.and_then(|text| source.parse(&text)).is_some_and(|count| count > 0)
}

/// Reads a file of this process.
fn read_own_file(roots: &Roots, name: &str) -> Option<Vec<u8>> {
    fs::read(roots.proc.join("self").join(name)).ok()
}

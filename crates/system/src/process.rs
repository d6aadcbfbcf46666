//! Processes and threads: the sets `Process`, `Process V2` and `Thread`, from `/proc/PID`.

use std::fs;

use rustix::io::Errno;
use tachograph_perflib::Provider;

use self::idle::Idle;
use self::process::Naming;
use self::reader::Reader;
use self::set::ProcessSet;
use self::threads::{Switches, ThreadSet};
use self::ticks::Ticks;
use crate::Roots;
use crate::descriptors::Descriptors;
use crate::table::SetTable;

mod cursor;
mod idle;
mod io;
mod known;
mod memory;
#[allow(clippy::module_inception, reason = "one process among those of the set")]
mod process;
mod reader;
mod reasons;
mod set;
mod stat;
mod table;
mod threads;
mod ticks;
mod total;

#[cfg(test)]
mod tests;

/// The tables of these sets.
pub(crate) const TABLES: &[&SetTable] = &[&table::PROCESS, &table::PROCESS_V2, &table::THREAD];

/// The providers of these sets, as far as this machine has what they read.
pub(crate) fn providers(roots: &Roots) -> Vec<Box<dyn Provider>> {
    with_descriptors(roots, &Descriptors::of_this_process())
}

fn with_descriptors(roots: &Roots, descriptors: &Descriptors) -> Vec<Box<dyn Provider>> {
    // Without its own processes' files there is no /proc that could be read.
    if own(roots, "stat").is_none_or(|text| stat::parse(&text).is_none()) {
        return Vec::new();
    }
    made(roots, descriptors).unwrap_or_default()
}

fn made(roots: &Roots, descriptors: &Descriptors) -> Result<Vec<Box<dyn Provider>>, Errno> {
    let ticks = Ticks::new(roots);
    let mut providers: Vec<Box<dyn Provider>> = Vec::new();
    let has = has_of(roots);
    for (table, naming) in [(&table::PROCESS, Naming::Plain), (&table::PROCESS_V2, Naming::Numbered)] {
        let reader = Reader::new(roots, descriptors.clone())?;
        let info = table.info_of(&has);
        providers.push(Box::new(ProcessSet::new(
            info,
            naming,
            reader,
            Idle::new(roots),
            ticks,
            roots.page_bytes,
        )));
    }
    let switches = [Switches::Schedstat, Switches::Status].into_iter().find(|source| {
        let text = own(roots, source.file_name());
        // Where the kernel does not count (it can be switched off), the numbers are there and 0.
        text.and_then(|text| source.parse(&text)).is_some_and(|count| count > 0)
    });
    let info = table::THREAD.info_of(|id| id != table::thread::CONTEXT_SWITCHES || switches.is_some());
    let reader = Reader::new(roots, descriptors.clone())?;
    providers.push(Box::new(ThreadSet::new(info, reader, ticks, switches)));
    Ok(providers)
}

/// Which counters of a process this machine can give: by the files of this program itself.
fn has_of(roots: &Roots) -> impl Fn(u32) -> bool + use<> {
    let io = own(roots, "io").is_some_and(|text| io::parse(&text).is_some());
    let statm = own(roots, "statm").is_some_and(|text| memory::of_statm(&text, 1).is_some());
    let status = own(roots, "status").and_then(|text| memory::of_status(&text)).unwrap_or_default();
    let handles = roots.proc.join("self/fd").is_dir();
    move |id| match id {
        table::VIRTUAL_BYTES_PEAK => status.virtual_peak.is_some(),
        table::WORKING_SET_PEAK => status.resident_peak.is_some(),
        table::PAGE_FILE_BYTES => status.swapped.is_some(),
        table::PRIVATE_BYTES => status.anonymous.is_some() && status.swapped.is_some(),
        table::WORKING_SET | table::WORKING_SET_PRIVATE => statm,
        table::HANDLE_COUNT => handles,
        _ => io || !table::OF_IO.contains(&id),
    }
}

/// A file of this program itself.
fn own(roots: &Roots, name: &str) -> Option<Vec<u8>> {
    fs::read(roots.proc.join("self").join(name)).ok()
}

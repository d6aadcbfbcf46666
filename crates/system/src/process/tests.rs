//! Processes of a fake machine, and those of this machine.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use tachograph_perflib::{Clock, InstanceFilter, Numbering, Provider, Rows};

use super::table::*;
use crate::descriptors::Descriptors;
use crate::roots::Roots;
use crate::stat::shared_stat;
use crate::testing::{Machine, at, collect, first_value, names, value};

mod ended;
mod fixture;
mod rest;
mod this_machine;
mod threads;
mod waits;

const IO: &str = "rchar: 100\nwchar: 50\nsyscr: 10\nsyscw: 5\nread_bytes: 4096\nwrite_bytes: 8192\n\
                  cancelled_write_bytes: 0\n";

/// A stat file: 1 minor and 2 major faults, priority 20, nice 0, 3 threads.
fn stat_line(pid: u32, name: &str, user: u64, system: u64, start: u64) -> String {
    format!(
        "{pid} ({name}) S 7 1 1 0 -1 4194560 1 0 2 0 {user} {system} 0 0 20 0 3 0 {start} 409600 25 \
         18446744073709551615 1 2 3 4 5 6 7 8 9 0 0 0 17 1 0 0 6 0 0 1 2 3 4 5 6 7 0\n"
    )
}

fn status(pid: u32, name: &str) -> String {
    format!(
        "Name:\t{name}\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t{pid}\nVmPeak:\t    800 kB\nVmSize:\t    401 kB\n\
         VmLck:\t       0 kB\nVmPin:\t       0 kB\nVmHWM:\t     300 kB\nVmRSS:\t     101 kB\nRssAnon:\t      40 kB\n\
         RssFile:\t      60 kB\nRssShmem:\t       1 kB\nVmData:\t     360 kB\nVmSwap:\t       7 kB\nThreads:\t3\n\
         voluntary_ctxt_switches:\t20\nnonvoluntary_ctxt_switches:\t3\n"
    )
}

/// A machine with two processors and only this process.
fn machine() -> Machine {
    Machine::new(&[
        (
            "proc/stat",
            "cpu 10 0 10 1000 50 0 0 0 0 0\ncpu0 5 0 5 500 25 0 0\ncpu1 5 0 5 500 25 0 0\nintr 1 2\nctxt 5\n",
        ),
        ("proc/self/stat", &stat_line(1, "self", 1, 1, 1)),
        ("proc/self/statm", "100 25 15 1 0 50 0\n"),
        ("proc/self/status", &status(1, "self")),
        ("proc/self/io", IO),
        ("proc/self/schedstat", "5 6 7\n"),
        ("proc/sys/kernel/task_delayacct", "1\n"),
        ("proc/self/fd/0", ""),
        ("proc/meminfo", ""),
    ])
}

/// Adds a process.
fn add(machine: &Machine, pid: u32, name: &str, user: u64, start: u64) {
    machine.write(&format!("proc/{pid}/stat"), stat_line(pid, name, user, 20, start));
    machine.write(&format!("proc/{pid}/statm"), "100 25 15 1 0 50 0\n");
    machine.write(&format!("proc/{pid}/status"), status(pid, name));
    machine.write(&format!("proc/{pid}/io"), IO);
    add_waits(machine, pid, pid, 1_500_000);
    machine.write(&format!("proc/{pid}/fd/0"), "");
    machine.write(&format!("proc/{pid}/fd/3"), "");
}

/// Adds a thread that waited this many nanoseconds for a processor and 6 ticks for block devices.
fn add_waits(machine: &Machine, pid: u32, tid: u32, run_queue_ns: u64) {
    machine.write(&format!("proc/{pid}/task/{tid}/schedstat"), format!("9000000 {run_queue_ns} 12\n"));
    machine.write(&format!("proc/{pid}/task/{tid}/stat"), stat_line(tid, "thread", 1, 1, 1));
}

fn providers(roots: &Roots) -> Vec<Box<dyn Provider>> {
    super::providers(roots, &shared_stat(roots))
}

fn with_descriptors(roots: &Roots, descriptors: &Descriptors) -> Vec<Box<dyn Provider>> {
    super::with_descriptors(roots, &shared_stat(roots), descriptors)
}

/// The provider of the named counter set.
fn provider(roots: &Roots, set: &str) -> Box<dyn Provider> {
    let found = providers(roots).into_iter().find(|provider| &*provider.info().name == set);
    found.expect("the set exists")
}

/// Collects some counters of some instances.
fn query(provider: &mut dyn Provider, seconds: i64, ids: &[u32], pattern: &str) -> Rows {
    let mut rows = Rows::new(provider.info().clone());
    rows.select(ids.iter().copied(), vec![InstanceFilter::from_path(pattern)]);
    rows.clear(at(seconds));
    provider.collect(&mut rows).expect("collected");
    rows
}

fn identity(rows: &Rows, instance: &str) -> u64 {
    let found = rows.instances().iter().find(|key| key.full_name() == instance);
    found.expect("the instance exists").identity()
}

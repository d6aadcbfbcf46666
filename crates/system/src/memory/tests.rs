use std::fs;

use tachograph_counters::Status;
use tachograph_perflib::{Clock, FREQUENCY, InstanceFilter, Rows};

use super::*;
use crate::adjtimex::ClockState;
use crate::testing::{Machine, at, check_idle, collect, first_value, names, value};

const MEMINFO: &str = "MemTotal:       24684092 kB\nMemFree:        2000 kB\nMemAvailable:   24324324 kB\n\
    Buffers:            1712 kB\nCached:           517884 kB\nSwapCached:            3 kB\nDirty:   180 kB\n\
    Shmem:              8856 kB\nSlab: 84620 kB\nSReclaimable:      61484 kB\nSUnreclaim:        23136 kB\n\
    CommitLimit:    12342044 kB\nCommitted_AS:      68160 kB\nHugePages_Total: 0\n\
    Active: 21 kB\nInactive: 22 kB\nActive(anon): 1 kB\nMlocked: 23 kB\nSwapTotal: 1000 kB\nSwapFree: 900 kB\n\
    Zswap: 25 kB\nZswapped: 100 kB\nAnonPages: 24 kB\nMapped: 26 kB\nKernelStack: 27 kB\nPageTables: 28 kB\n\
    VmallocUsed: 29 kB\nPercpu: 30 kB\nAnonHugePages: 31 kB\n";

const VMSTAT: &str = "nr_free_pages 1\nnr_dirty 45\nnr_dirtied 638080\nnr_written 556450\nnr_dirty_threshold 1218611\n\
    pgpgin 28\npgpgout 7\npswpin 11\npswpout 22\npgalloc_dma 1\npgalloc_normal 20\npgalloc_movable 300\n\
    allocstall_normal 3\nallocstall_movable 4\npgfree 5\npgfault 1000\npgmajfault 17\npgsteal_anon 6\npgsteal_file 7\n\
    compact_migrate_scanned 8\ncompact_free_scanned 9\noom_kill 2\n";

fn machine() -> Machine {
    Machine::new(&[("proc/meminfo", MEMINFO), ("proc/vmstat", VMSTAT)])
}

fn set_of(machine: &Machine, name: &str) -> Box<dyn Provider> {
    let stat = crate::stat::shared_stat(&machine.roots);
    let mut all = providers(&machine.roots, &stat).into_iter();
    all.find(|set| set.info().name.as_ref() == name).unwrap_or_else(|| panic!("no set {name}"))
}

/// The value of a counter in the first row, by the counter's name.
fn counter_value(rows: &Rows, name: &str) -> i64 {
    let counter = rows.info().counters.iter().find(|counter| counter.name.as_ref() == name);
    let id = counter.unwrap_or_else(|| panic!("no counter {name}")).id;
    first_value(rows, names(rows)[0], id)
}

#[test]
fn every_counter_of_memory_has_its_value() {
    let rows = collect(&mut *set_of(&machine(), "Memory"), at(1));
    for (name, expected) in [
        ("Available Bytes", 24_324_324 * 1024),
        ("Available KBytes", 24_324_324),
        ("Available MBytes", 23_754),
        ("Committed Bytes", 68_160 * 1024),
        ("Commit Limit", 12_342_044 * 1024),
        ("% Committed Bytes In Use", 68_160 * 1024),
        ("Page Faults/sec", 1000),
        ("Pages/sec", 33),
        ("Pages Input/sec", 11),
        ("Page Reads/sec", 17),
        ("Pages Output/sec", 22),
        ("Transition Pages RePurposed/sec", 13),
        ("Pool Paged Bytes", 61_484 * 1024),
        ("Pool Paged Resident Bytes", 61_484 * 1024),
        ("Pool Nonpaged Bytes", 23_136 * 1024),
        ("Cache Bytes", (1712 + 517_884 - 8856) * 1024),
        ("System Cache Resident Bytes", (1712 + 517_884 - 8856) * 1024),
        ("Free & Zero Page List Bytes", 2000 * 1024),
        ("Modified Page List Bytes", 180 * 1024),
        ("Total Bytes", 24_684_092 * 1024),
        ("Used Bytes", (24_684_092 - 24_324_324) * 1024),
        ("Shared Bytes", 8856 * 1024),
        ("Anonymous Bytes", 24 * 1024),
        ("Mapped Bytes", 26 * 1024),
        ("Active Bytes", 21 * 1024),
        ("Inactive Bytes", 22 * 1024),
        ("Page Table Bytes", 28 * 1024),
        ("Kernel Stack Bytes", 27 * 1024),
        ("Locked Bytes", 23 * 1024),
        ("Vmalloc Used Bytes", 29 * 1024),
        ("Per-Processor Bytes", 30 * 1024),
        ("Anonymous Huge Page Bytes", 31 * 1024),
        ("Swap Total Bytes", 1000 * 1024),
        ("Swap Used Bytes", 100 * 1024),
        ("Swap Cached Bytes", 3 * 1024),
        ("Zswap Pool Bytes", 25 * 1024),
        ("Zswap Stored Bytes", 100 * 1024),
        ("% Zswap Compressed Size", 25 * 1024),
    ] {
        assert_eq!(counter_value(&rows, name), expected, "{name}");
    }
    assert_eq!(value(&rows, "", 39).second, 100 * 1024, "the base");
    assert_eq!(value(&rows, "", 6).second, 12_342_044 * 1024, "the base");
    assert_eq!(rows.width(), 38, "every counter was checked");
    assert_eq!(names(&rows), [""]);
}

#[test]
fn used_memory_matches_the_program_free() {
    // In a container, available memory can exceed the total.
    let machine =
        Machine::new(&[("proc/meminfo", "MemTotal: 100 kB\nMemFree: 30 kB\nMemAvailable: 120 kB\n")]);
    assert_eq!(counter_value(&collect(&mut *set_of(&machine, "Memory"), at(1)), "Used Bytes"), 70 * 1024);

    let Ok(output) = std::process::Command::new("free").arg("-b").output() else { return };
    let version = std::process::Command::new("free").arg("--version").output().expect("free");
    if !String::from_utf8_lossy(&version.stdout).contains("procps-ng 4") {
        return;
    }
    let text = String::from_utf8(output.stdout).expect("text");
    let line = text.lines().find(|line| line.starts_with("Mem:")).expect("a line");
    let theirs: Vec<i64> =
        line.split_whitespace().skip(1).map(|word| word.parse().expect("a number")).collect();
    let roots = Roots::of_this_machine();
    let mut memory = providers(&roots, &crate::stat::shared_stat(&roots)).swap_remove(0);
    let rows = collect(&mut *memory, at(1));
    assert_eq!(counter_value(&rows, "Total Bytes"), theirs[0]);
    // Other programs allocate memory between the two measurements.
    assert!(counter_value(&rows, "Used Bytes").abs_diff(theirs[1]) < 512 << 20);
}

#[test]
fn counters_without_a_source_are_absent() {
    // MemAvailable is new in 3.14, pgsteal_file in 5.8.
    let machine = Machine::new(&[("proc/meminfo", "MemFree: 1 kB\n"), ("proc/vmstat", "pswpin 1\n")]);
    let info = set_of(&machine, "Memory").info().clone();
    let names: Vec<&str> = info.counters.iter().map(|counter| counter.name.as_ref()).collect();
    assert_eq!(names, ["Pages Input/sec", "Free & Zero Page List Bytes"]);
}

#[test]
fn files_that_become_unreadable_are_errors() {
    let machine = machine();
    let mut set = set_of(&machine, "Memory");
    machine.write("proc/meminfo", &MEMINFO[..MEMINFO.len() / 2]);
    let rows = collect(&mut *set, at(1));
    assert_eq!(counter_value(&rows, "Free & Zero Page List Bytes"), 2000 * 1024);
    assert_eq!(value(&rows, "", 4).status, Status::CSTATUS_INVALID_DATA);
    let reason = &rows.errors()[0].reason;
    assert!(reason.contains("meminfo: no value of Committed_AS"), "{reason}");
    assert_eq!(counter_value(&rows, "Page Faults/sec"), 1000);
}

#[test]
fn only_requested_files_are_read() {
    let machine = machine();
    let mut set = set_of(&machine, "Memory");
    machine.write("proc/vmstat", "");
    let mut rows = Rows::new(set.info().clone());
    rows.select([1], vec![InstanceFilter::all()]);
    rows.clear(at(1));
    set.collect(&mut rows).expect("collected");
    assert!(rows.errors().is_empty());
    assert_eq!(rows.width(), 1);
}

#[test]
fn events_are_summed() {
    let machine = machine();
    let mut set = set_of(&machine, "Paging Activity");
    let rows = collect(&mut *set, at(1));
    for (name, expected) in [
        ("Page In Bytes/sec", 28 * 1024),
        ("Page Out Bytes/sec", 7 * 1024),
        ("Pages Allocated/sec", 321),
        ("Allocation Stalls/sec", 7),
        ("Compaction Pages Scanned/sec", 17),
        ("Pages Dirtied/sec", 638_080),
        ("OOM Kills/sec", 2),
    ] {
        assert_eq!(counter_value(&rows, name), expected, "{name}");
    }
    assert!(!rows.info().counters.iter().any(|counter| counter.name.as_ref() == "Pages Activated/sec"));
    machine.write("proc/vmstat", VMSTAT.replace("pgalloc_normal 20\n", ""));
    let rows = collect(&mut *set, at(2));
    assert!(!value(&rows, "", 7).status.is_good(), "a sum with a missing part has no value");
    assert_eq!(first_value(&rows, "", 49), 2);
}

#[test]
fn every_counter_of_cache_has_its_value() {
    let rows = collect(&mut *set_of(&machine(), "Cache"), at(1));
    assert_eq!(
        [counter_value(&rows, "Dirty Pages"), counter_value(&rows, "Dirty Page Threshold")],
        [45, 1_218_611]
    );
}

#[test]
fn swap_areas_are_instances() {
    const HEAD: &str = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
    let machine = Machine::new(&[("proc/swaps", HEAD)]);
    let mut set = set_of(&machine, "Paging File");
    assert_eq!(names(&collect(&mut *set, at(1))), [""; 0]);
    let two = format!(
        "{HEAD}/dev/dm-1    partition\t8388604\t\t1024\t\t-2\n/swap\\040file\\134x file\t1048572\t\t0\t\t-3\n"
    );
    machine.write("proc/swaps", &two);
    let rows = collect(&mut *set, at(2));
    assert_eq!(names(&rows), ["/dev/dm-1", "/swap file\\x", "_Total"]);
    let usage = |rows: &Rows, name| (value(rows, name, 1).first, value(rows, name, 1).second);
    assert_eq!(usage(&rows, "/dev/dm-1"), (1024 * 1024, 8_388_604 * 1024));
    assert_eq!(usage(&rows, "_Total"), (1024 * 1024, (8_388_604 + 1_048_572) * 1024));
    let again = collect(&mut *set, at(3));
    assert!(std::sync::Arc::ptr_eq(&rows.instances()[1], &again.instances()[1]));

    for length in 0..two.len() {
        machine.write("proc/swaps", &two[..length]);
        let rows = collect(&mut *set, at(4));
        for row in 0..rows.instances().len() {
            let raw = rows.values(row)[0];
            assert!(!raw.status.is_good() || raw.second >= 1_048_572 * 1024, "{length}");
        }
    }
    machine.write(
        "proc/swaps",
        format!("{HEAD}/zz\\777 file {0} {0} -1\n/y file 1 99999999999999999999 1\n", u64::MAX),
    );
    let rows = collect(&mut *set, at(5));
    assert_eq!(names(&rows), ["/zz\\777", "/y", "_Total"]);
    assert!(!value(&rows, "_Total", 1).status.is_good());
}

#[test]
fn nodes_are_instances() {
    let node = |number: u32, free: u32| {
        format!(
            "Node {number} MemTotal: 5597396 kB\nNode {number} MemFree: {free} kB\nNode {number} Active(file): 2048 kB\n\
             Node {number} Inactive(file): 1024 kB\nNode {number} Dirty: 1023 kB\n"
        )
    };
    let numastat = "numa_hit 10\nnuma_miss 1\nnuma_foreign 2\ninterleave_hit 3\nlocal_node 4\nother_node 5\n";
    let machine = Machine::new(&[
        ("sys/devices/system/node/online", "0,2\n"),
        ("sys/devices/system/node/node0/meminfo", &node(0, 4096)),
        ("sys/devices/system/node/node0/numastat", numastat),
        ("sys/devices/system/node/node2/meminfo", &node(2, 8192)),
        ("sys/devices/system/node/node2/numastat", numastat),
    ]);
    let mut set = set_of(&machine, "NUMA Node Memory");
    check_idle(&machine, "sys", &mut *set);
    let rows = collect(&mut *set, at(1));
    assert_eq!(names(&rows), ["0", "2", "_Total"]);
    let values_of = |id| ["0", "2", "_Total"].map(|name| first_value(&rows, name, id));
    assert_eq!(values_of(1), [5466, 5466, 10932]);
    assert_eq!(values_of(2), [4, 8, 12]);
    assert_eq!(values_of(3), [3, 3, 6]);
    assert_eq!(values_of(4), [0, 0, 0]);
    assert_eq!(values_of(5), [7, 11, 18]);
    assert_eq!([6, 7, 8, 9, 10, 11].map(|id| first_value(&rows, "_Total", id)), [20, 2, 4, 6, 8, 10]);

    machine.write("sys/devices/system/node/node2/numastat", "");
    let rows = collect(&mut *set, at(2));
    assert_eq!(first_value(&rows, "0", 6), 10);
    assert!(!value(&rows, "2", 6).status.is_good() && !value(&rows, "_Total", 6).status.is_good());

    let total = rows.instances()[2].identity();
    machine.write("sys/devices/system/node/online", "0\n");
    let rows = collect(&mut *set, at(3));
    assert_eq!(names(&rows), ["0", "_Total"]);
    assert_ne!(rows.instances()[1].identity(), total);
    assert_eq!(first_value(&rows, "_Total", 6), 10);

    let mut rows = Rows::new(set.info().clone());
    rows.select([2], vec![InstanceFilter::new("_Total", None)]);
    rows.clear(at(4));
    set.collect(&mut rows).expect("collected");
    assert_eq!(names(&rows), ["_Total"]);
    assert_eq!(first_value(&rows, "_Total", 2), 4);
}

#[test]
fn every_counter_of_system_has_its_value() {
    let stat = |running: u32| {
        format!(
            "cpu0 1 1 1 1 1 1 1\ncpu1 1 1 1 1 1 1 1\nctxt 386202\nprocesses 14115\nprocs_running {running}\nprocs_blocked 3\n"
        )
    };
    let machine = Machine::new(&[
        ("proc/stat", &stat(6)),
        ("proc/loadavg", "0.62 12.44 0.05 4/93 14119\n"),
        ("proc/sys/fs/file-nr", "720\t20\t9223372036854775807\n"),
        ("proc/sys/fs/inode-nr", "107738\t38\n"),
        ("proc/sys/fs/dentry-state", "133376\t131670\t45\t0\t25323\t0\n"),
        ("proc/sys/kernel/pty/nr", "3\n"),
        ("proc/sys/kernel/pty/max", "4096\n"),
        ("proc/1/stat", ""),
        ("proc/7/stat", ""),
    ]);
    let mut set = set_of(&machine, "System");
    let rows = collect(&mut *set, at(100));
    for (name, expected) in [
        ("Context Switches/sec", 386_202),
        ("Processes", 2),
        ("Threads", 93),
        ("Processor Queue Length", 3),
        ("Forks/sec", 14_115),
        ("Processes Blocked", 3),
        ("Load Average, 1 min", 62),
        ("Load Average, 5 min", 1244),
        ("Load Average, 15 min", 5),
        ("Threads Runnable", 5),
        ("File Handles", 700),
        ("File Handle Limit", i64::MAX),
        ("Inodes In Use", 107_700),
        ("Unused Directory Entries", 131_670),
        ("Pseudo Terminals", 3),
        ("Pseudo Terminal Limit", 4096),
        // The boot time of the fake machine.
        ("System Up Time", at(0).system_time.0),
    ] {
        assert_eq!(counter_value(&rows, name), expected, "{name}");
    }
    assert_eq!(value(&rows, "", 5).second - value(&rows, "", 5).first, 100 * FREQUENCY);
    for (running, queue) in [(0, 0), (1, 0), (3, 0), (4, 1)] {
        machine.write("proc/stat", stat(running));
        let rows = collect(&mut *set, at(200 + i64::from(running)));
        assert_eq!(counter_value(&rows, "Processor Queue Length"), queue);
    }
    machine.write("proc/stat", "cpu0 1 1\nctxt 5");
    machine.write("proc/loadavg", "0.62 0.44 0.40 4/9");
    machine.write("proc/sys/fs/file-nr", "7");
    machine.write("proc/sys/fs/inode-nr", "7\n");
    let rows = collect(&mut *set, at(300));
    let failed: Vec<u32> = rows.errors().iter().map(|error| error.counter_id).collect();
    assert_eq!(failed, [1, 4, 8, 9, 14, 10, 11, 12, 3, 15, 16, 17]);
    assert_eq!(counter_value(&rows, "Processes"), 2);
}

#[test]
fn load_averages_are_displayed_as_in_proc_loadavg() {
    let machine = Machine::new(&[("proc/loadavg", "1.23 12.40 0.05 4/93 14119\n")]);
    let rows = collect(&mut *set_of(&machine, "System"), at(1));
    let shown = [10, 11, 12].map(|id| {
        let counter = rows.counter(rows.column(id).expect("collected"));
        let counter = tachograph_perflib::registration::counter_of(counter);
        assert_eq!(counter.unit(), "", "{}", counter.name);
        let options = tachograph_counters::FormatOptions::default();
        counter.calculator().format(None, &value(&rows, "", id), &options).expect("a value")
    });
    assert_eq!(shown, [1.23, 12.4, 0.05]);
}

#[test]
fn values_of_this_machine_are_plausible() {
    let roots = Roots::of_this_machine();
    let stat = crate::stat::shared_stat(&roots);
    let clock = Clock::of_this_machine();
    let mut found = Vec::new();
    for mut set in providers(&roots, &stat) {
        let before = collect(&mut *set, clock.now());
        let after = collect(&mut *set, clock.now());
        assert!(before.errors().is_empty() && after.errors().is_empty(), "{:?}", after.errors());
        for (place, (before, after)) in before.all_values().iter().zip(after.all_values()).enumerate() {
            let counter = rows_counter(&*set, place);
            assert!(before.status.is_good() && after.status.is_good());
            assert!(!counter.1 || after.first >= before.first, "{} falls", counter.0);
        }
        found.push(set.info().name.to_string());
        if set.info().name.as_ref() == "Memory" {
            let free = naive("/proc/meminfo", "MemAvailable:") * 1024;
            assert!(counter_value(&after, "Available Bytes").abs_diff(free) < 512 << 20);
            assert!(counter_value(&after, "Page Faults/sec") <= naive("/proc/vmstat", "pgfault"));
        }
        if set.info().name.as_ref() == "System" {
            if let Ok(clock) = ClockState::read() {
                assert_eq!(counter_value(&after, "Clock Synchronized"), i64::from(clock.is_synchronized));
                assert!(
                    counter_value(&after, "Clock Maximum Error") <= clock.max_error_ns,
                    "it grows by the second"
                );
            }
            assert!(counter_value(&after, "Context Switches/sec") <= naive("/proc/stat", "ctxt"));
            let up = value(&after, "", 5).second - value(&after, "", 5).first;
            let seconds = fs::read_to_string("/proc/uptime").expect("read");
            let seconds: f64 = seconds.split(' ').next().expect("a number").parse().expect("a number");
            assert!((up as f64 / 1e7 - seconds).abs() < 5.0);
            if let Ok(terminals) = fs::read_to_string("/proc/sys/kernel/pty/max") {
                assert_eq!(counter_value(&after, "Pseudo Terminal Limit").to_string(), terminals.trim());
            }
        }
    }
    for name in ["Memory", "Paging Activity", "System"] {
        assert!(found.iter().any(|found| found == name), "{found:?}");
    }
}

/// The name of the counter to which the value with the index `place` belongs, and whether it is a running total.
fn rows_counter(set: &dyn Provider, place: usize) -> (String, bool) {
    let rows = Rows::unfiltered(set.info().clone());
    let counter = rows.counter(place % rows.width());
    let counts = counter.counter_type.suffix() == tachograph_counters::Suffix::PerSecond;
    (counter.name.to_string(), counts)
}

fn naive(path: &str, key: &str) -> i64 {
    let text = fs::read_to_string(path).expect("read");
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(key)).expect("the key");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

#[test]
fn files_are_closed_while_the_sets_are_idle() {
    let machine = machine();
    for name in ["Memory", "Paging Activity", "Cache"] {
        check_idle(&machine, "proc", &mut *set_of(&machine, name));
    }
}

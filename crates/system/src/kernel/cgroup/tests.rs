use std::fs;
use tachograph_counters::Status;

use tachograph_perflib::InstanceFilter;

use super::table::*;
use super::*;
use crate::testing::{Machine, at, collect, first_value, names, value};

const ROOT: &str = "sys/fs/cgroup/unified";

const CPU_STAT: &str = "usage_usec 3000000\nuser_usec 2000000\nsystem_usec 1000000\nnice_usec 0\nnr_periods 100\nnr_throttled 25\nthrottled_usec 500000\nnr_bursts 0\n";
const PRESSURE: &str =
    "some avg10=1.00 avg60=0.00 avg300=0.00 total=700\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=300\n";

const FILES_OF_A_GROUP: [(&str, &str); 13] = [
    ("cpu.stat", CPU_STAT),
    ("memory.current", "1048576\n"),
    ("memory.peak", "2097152\n"),
    ("memory.max", "4194304\n"),
    ("memory.swap.current", "4096\n"),
    ("memory.events", "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 0\n"),
    (
        "memory.stat",
        "anon 11\nfile 12\nkernel 13\nkernel_stack 1\nslab 14\nworkingset_nodes 0\npgfault 15\npgmajfault 16\n",
    ),
    (
        "io.stat",
        "8:16 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=5 dios=1 cost.usage=9\n8:0 rbytes=100 wbytes=200 rios=10 wios=20 dbytes=50 dios=10\n7:0\n",
    ),
    ("pids.current", "7\n"),
    ("pids.max", "max\n"),
    ("cpu.pressure", PRESSURE),
    ("memory.pressure", PRESSURE),
    ("io.pressure", PRESSURE),
];

/// A machine with the groups `/`, `/a.slice` with every controller, `/a.slice/one` and `/b` with none.
fn machine() -> Machine {
    let mount = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    let machine = Machine::new(&[("proc/self/mountinfo", mount)]);
    let write = |path: &str, content: &str| machine.write(&format!("{ROOT}/{path}"), content);
    write("cgroup.controllers", "cpu io memory pids\n");
    write("cgroup.subtree_control", "cpu io memory pids\n");
    write("cpu.stat", "usage_usec 9000000\nuser_usec 6000000\nsystem_usec 3000000\n");
    for (name, content) in FILES_OF_A_GROUP {
        write(&format!("a.slice/{name}"), content);
    }
    write("a.slice/cgroup.subtree_control", "\n");
    write("a.slice/one/cpu.stat", "usage_usec 1\nuser_usec 1\nsystem_usec 0\n");
    write("b/cpu.stat", "usage_usec 2\nuser_usec 1\nsystem_usec 1\n");
    machine
}

fn open_set(machine: &Machine) -> Cgroups {
    cgroups(&open_mounts(&machine.roots), 1000).expect("a provider")
}

fn is_good(rows: &Rows, instance: &str, id: u32) -> bool {
    value(rows, instance, id).status.is_good()
}

fn reason(rows: &Rows, id: u32) -> &str {
    &rows.errors().iter().find(|error| error.counter_id == id).expect("an error").reason
}

#[test]
fn every_counter_has_its_value() {
    let rows = collect(&mut open_set(&machine()), at(10));
    assert_eq!(names(&rows), ["/", "/a.slice", "/a.slice/one", "/b"]);
    for (id, expected) in [
        (PROCESSOR_TIME, 30_000_000),
        (USER_TIME, 20_000_000),
        (PRIVILEGED_TIME, 10_000_000),
        (PERIODS, 100),
        (THROTTLED_PERIODS, 25),
        (THROTTLED_TIME, 5_000_000),
        (MEMORY_CURRENT, 1_048_576),
        (MEMORY_PEAK, 2_097_152),
        (MEMORY_LIMIT, 4_194_304),
        (MEMORY_USED, 1_048_576),
        (SWAP_CURRENT, 4096),
        (EVENTS_LOW, 1),
        (EVENTS_HIGH, 2),
        (EVENTS_MAX, 3),
        (EVENTS_OOM, 4),
        (EVENTS_OOM_KILL, 5),
        (ANONYMOUS, 11),
        (FILE, 12),
        (KERNEL, 13),
        (SLAB, 14),
        (PAGE_FAULTS, 15),
        (MAJOR_FAULTS, 16),
        (READ_BYTES, 110),
        (WRITE_BYTES, 220),
        (DISCARD_BYTES, 55),
        (READS, 11),
        (WRITES, 22),
        (DISCARDS, 11),
        (TASKS, 7),
        (CPU_SOME, 7_000),
        (CPU_FULL, 3_000),
        (MEMORY_SOME, 7_000),
        (MEMORY_FULL, 3_000),
        (IO_SOME, 7_000),
        (IO_FULL, 3_000),
    ] {
        assert_eq!(first_value(&rows, "/a.slice", id), expected, "{id}");
    }
    assert_eq!(value(&rows, "/a.slice", MEMORY_USED).second, 4_194_304);
    // A missing limit is neither a value nor an error.
    assert_eq!(value(&rows, "/a.slice", TASK_LIMIT).status, Status::NO_INSTANCE);
}

#[test]
fn a_group_named_like_a_total_has_its_path_as_name() {
    let machine = machine();
    machine.write(&format!("{ROOT}/_Total/cpu.stat"), "usage_usec 5\nuser_usec 1\nsystem_usec 1\n");
    let rows = collect(&mut open_set(&machine), at(10));
    assert_eq!(names(&rows), ["/", "/_Total", "/a.slice", "/a.slice/one", "/b"]);
}

#[test]
fn missing_files_are_errors_with_a_reason() {
    let rows = collect(&mut open_set(&machine()), at(10));
    assert_eq!(first_value(&rows, "/b", PROCESSOR_TIME), 20);
    assert!(!is_good(&rows, "/b", MEMORY_CURRENT));
    assert_eq!(
        reason(&rows, MEMORY_CURRENT),
        "the group has no memory.current: the memory controller is not enabled here"
    );
    assert_eq!(
        reason(&rows, PERIODS),
        "no usable value in cpu.stat: nr_periods: the cpu controller is not enabled here"
    );
    assert_eq!(reason(&rows, CPU_SOME), "the group has no cpu.pressure");
}

#[test]
fn counters_without_a_controller_are_absent() {
    let machine = machine();
    machine.write(&format!("{ROOT}/cgroup.controllers"), "hugetlb\n");
    machine.remove(&format!("{ROOT}/a.slice"));
    let provider = open_set(&machine);
    let ids: Vec<u32> = provider.info.counters.iter().map(|counter| counter.id).collect();
    assert_eq!(ids, [PROCESSOR_TIME, USER_TIME, PRIVILEGED_TIME]);
}

#[test]
fn without_a_hierarchy_there_is_no_set() {
    assert!(providers(&Machine::new(&[]).roots).is_empty());
    let machine = machine();
    machine.remove(ROOT);
    assert!(providers(&machine.roots).is_empty());
}

#[test]
fn new_and_removed_groups_are_found() {
    let machine = machine();
    let mut provider = open_set(&machine);
    let before = collect(&mut provider, at(10));
    machine.write(&format!("{ROOT}/b/x/y/cpu.stat"), "usage_usec 5\n");
    machine.write(&format!("{ROOT}/a/cpu.stat"), "usage_usec 6\n");
    let rows = collect(&mut provider, at(11));
    assert_eq!(names(&rows), ["/", "/a", "/a.slice", "/a.slice/one", "/b", "/b/x", "/b/x/y"]);
    assert_eq!(first_value(&rows, "/b/x/y", PROCESSOR_TIME), 50);
    assert!(Arc::ptr_eq(&before.instances()[3], &rows.instances()[4]), "a group keeps its key");

    machine.remove(&format!("{ROOT}/a.slice"));
    machine.remove(&format!("{ROOT}/b/x/y"));
    let rows = collect(&mut provider, at(12));
    assert_eq!(names(&rows), ["/", "/a", "/b", "/b/x"]);
    machine.remove(&format!("{ROOT}/b/x"));
    assert_eq!(names(&collect(&mut provider, at(13))), ["/", "/a", "/b"]);
}

#[test]
fn a_recreated_group_is_another_instance() {
    let machine = machine();
    let mut provider = open_set(&machine);
    let before = collect(&mut provider, at(10));
    machine.write("elsewhere/cpu.stat", "usage_usec 1\n");
    machine.remove(&format!("{ROOT}/b"));
    fs::rename(machine.path("elsewhere"), machine.path(&format!("{ROOT}/b"))).expect("moved");
    let after = collect(&mut provider, at(11));
    assert_eq!(names(&before), names(&after));
    assert_ne!(before.instances()[3].identity(), after.instances()[3].identity());
    assert_eq!(first_value(&after, "/b", PROCESSOR_TIME), 10);
}

#[test]
fn files_of_a_newly_enabled_controller_are_read() {
    let machine = machine();
    machine.write(&format!("{ROOT}/cgroup.subtree_control"), "cpu\n");
    let mut provider = open_set(&machine);
    assert!(!is_good(&collect(&mut provider, at(10)), "/b", TASKS));
    machine.write(&format!("{ROOT}/b/pids.current"), "3\n");
    machine.write(&format!("{ROOT}/cgroup.subtree_control"), "cpu pids\n");
    assert_eq!(first_value(&collect(&mut provider, at(11)), "/b", TASKS), 3);
}

#[test]
fn an_absent_file_is_tried_again_later() {
    let machine = machine();
    let mut provider = open_set(&machine);
    assert!(!is_good(&collect(&mut provider, at(10)), "/b", CPU_SOME));
    machine.write(&format!("{ROOT}/b/cpu.pressure"), PRESSURE);
    let found = (0..40).any(|second| is_good(&collect(&mut provider, at(11 + second)), "/b", CPU_SOME));
    assert!(found);
}

#[test]
fn totals_never_decrease() {
    let machine = machine();
    let mut provider = open_set(&machine);
    collect(&mut provider, at(10));
    // A device is removed, the memory controller is restarted, and the kernel splits the processor time differently.
    machine.write(
        &format!("{ROOT}/a.slice/io.stat"),
        "8:0 rbytes=100 wbytes=200 rios=10 wios=20 dbytes=50 dios=10\n",
    );
    machine.write(&format!("{ROOT}/a.slice/memory.events"), "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n");
    machine.write(
        &format!("{ROOT}/a.slice/cpu.stat"),
        CPU_STAT.replace("user_usec 2000000", "user_usec 1999999"),
    );
    let rows = collect(&mut provider, at(11));
    assert_eq!(first_value(&rows, "/a.slice", READ_BYTES), 110);
    assert_eq!(first_value(&rows, "/a.slice", EVENTS_OOM_KILL), 5);
    assert_eq!(first_value(&rows, "/a.slice", USER_TIME), 20_000_000);
    // Then the totals increase again.
    machine.write(
        &format!("{ROOT}/a.slice/io.stat"),
        "8:0 rbytes=150 wbytes=200 rios=10 wios=20 dbytes=50 dios=10\n",
    );
    machine.write(&format!("{ROOT}/a.slice/memory.events"), "low 0\nhigh 0\nmax 0\noom 0\noom_kill 2\n");
    let rows = collect(&mut provider, at(12));
    assert_eq!(first_value(&rows, "/a.slice", READ_BYTES), 160);
    assert_eq!(first_value(&rows, "/a.slice", EVENTS_OOM_KILL), 7);
}

#[test]
fn values_do_not_depend_on_the_limit_of_open_files() {
    let machine = machine();
    let mut open = open_set(&machine);
    let mut closed = cgroups(&open_mounts(&machine.roots), 0).expect("a provider");
    for second in 0..3 {
        let (open, closed) = (collect(&mut open, at(second)), collect(&mut closed, at(second)));
        assert_eq!(open.instances(), closed.instances());
        assert_eq!(open.all_values(), closed.all_values());
    }
    // No folder stays open either.
    assert_eq!(closed.walk.budget(), 0);
    assert_eq!(closed.hierarchies[0].root.open_files_and_folders(), 0);
    assert!(open.hierarchies[0].root.open_files_and_folders() > 0);
}

#[test]
fn only_requested_files_are_read() {
    let machine = machine();
    let mut provider = open_set(&machine);
    let mut rows = Rows::new(provider.info().clone());
    rows.select([TASKS], vec![InstanceFilter::new("/a.slice*", None)]);
    rows.clear(at(10));
    provider.collect(&mut rows).expect("collected");
    assert_eq!(names(&rows), ["/a.slice", "/a.slice/one"]);
    assert_eq!(first_value(&rows, "/a.slice", TASKS), 7);
}

#[test]
fn an_empty_io_file_means_no_transfers() {
    let machine = machine();
    machine.write(&format!("{ROOT}/a.slice/io.stat"), "");
    let rows = collect(&mut open_set(&machine), at(10));
    assert_eq!(first_value(&rows, "/a.slice", READ_BYTES), 0);
}

#[test]
fn malformed_files_are_errors() {
    let machine = machine();
    let mut provider = open_set(&machine);
    for broken in [
        "",
        "\n",
        "12",
        "-1\n",
        "99999999999999999999\n",
        "\0\u{fffd}\n",
        "usage_usec\n",
        "8:0 rbytes=x\n8:0 rbytes=99999999999999999999\n",
    ] {
        for (name, _) in FILES_OF_A_GROUP {
            machine.write(&format!("{ROOT}/a.slice/{name}"), broken);
        }
        let rows = collect(&mut provider, at(10));
        for counter in rows.info().counters.iter().filter(|counter| counter.is_displayable()) {
            // Unknown lines in io.stat count as no transfers.
            let is_io = IO_KEYS.iter().any(|(_, id)| *id == counter.id);
            if !is_io {
                assert!(!is_good(&rows, "/a.slice", counter.id), "{broken:?}: {}", counter.name);
            }
        }
    }
    for length in 0..CPU_STAT.len() {
        machine.write(&format!("{ROOT}/a.slice/cpu.stat"), &CPU_STAT[..length]);
        let rows = collect(&mut open_set(&machine), at(10));
        assert_eq!(is_good(&rows, "/a.slice", PROCESSOR_TIME), length > CPU_STAT.find('\n').expect("a line"));
    }
}

#[test]
fn a_large_file_is_read_completely() {
    let machine = machine();
    let lines: String = (0..2000)
        .map(|device| format!("259:{device} rbytes=1 wbytes=1 rios=1 wios=1 dbytes=0 dios=0\n"))
        .collect();
    machine.write(&format!("{ROOT}/a.slice/io.stat"), lines);
    assert_eq!(first_value(&collect(&mut open_set(&machine), at(10)), "/a.slice", READ_BYTES), 2000);
}

#[test]
fn every_counter_of_the_table_has_a_file() {
    let mut of_files: Vec<u32> = FILES.iter().flat_map(FileTable::ids).collect();
    of_files.sort_unstable();
    of_files.dedup();
    let of_table: Vec<u32> =
        TABLE.counters.iter().map(|row| row.id).filter(|id| *id != MEMORY_USED_BASE).collect();
    assert_eq!(of_files, of_table);
    assert!(of_table.iter().all(|id| (*id as usize) < IDS));
    let of_legacy: Vec<u32> = LEGACY_FILES.iter().flat_map(FileTable::ids).collect();
    assert!(of_legacy.iter().all(|id| of_table.contains(id)));
}

#[test]
fn this_machine_can_be_collected() {
    let Some(mut provider) = providers(&Roots::of_this_machine()).into_iter().next() else { return };
    let older = collect(&mut *provider, at(1));
    let newer = collect(&mut *provider, at(2));
    assert_eq!(names(&newer)[0], "/");
    assert!(first_value(&newer, "/", PROCESSOR_TIME) >= first_value(&older, "/", PROCESSOR_TIME));
}

#[test]
fn an_idle_set_closes_its_files_and_keeps_its_totals() {
    let machine = machine();
    let mut provider = open_set(&machine);
    let before = collect(&mut provider, at(10));
    let room = provider.walk.budget();
    assert!(provider.hierarchies[0].root.open_files() > 0);
    provider.idle();
    assert_eq!(provider.hierarchies[0].root.open_files(), 0);
    assert_eq!(provider.walk.budget(), 1000, "the budget is released");
    let after = collect(&mut provider, at(10));
    assert_eq!(names(&after), names(&before));
    for row in 0..names(&after).len() {
        assert_eq!(after.values(row), before.values(row));
    }
    assert_eq!(provider.walk.budget(), room);
}

#[test]
fn files_are_closed_at_the_limit_of_open_files() {
    let machine = machine();
    let mut provider = open_set(&machine);
    let before = collect(&mut provider, at(10));
    provider.walk.set_out_of_files();
    collect(&mut provider, at(11));
    let after = collect(&mut provider, at(12));
    assert_eq!(provider.hierarchies[0].root.open_files(), 0);
    assert_eq!(first_value(&before, "/a.slice", TASKS), first_value(&after, "/a.slice", TASKS));
}

//! Hierarchies of version 1, with and without version 2.

use std::fs;

use tachograph_counters::Status;

use super::table::*;
use super::*;
use crate::testing::{Machine, at, collect, first_value, names, value};

const UNIFIED: &str = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
const LEGACY: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
                      32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                      35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      38 31 0:35 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n\
                      39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                      40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n";

const MEMORY_STAT: &str = "cache 1\nrss 2\nhierarchical_memory_limit 9\ntotal_cache 12\ntotal_rss 11\n\
                           total_swap 4096\ntotal_pgfault 15\ntotal_pgmajfault 16\n";
const IO_BYTES: &str = "8:16 Read 10\n8:16 Write 20\n8:16 Sync 30\n8:16 Discard 5\n8:16 Total 35\n\
                        8:0 Read 100\n8:0 Write 200\n8:0 Discard 50\nTotal 385\n";
const IO_COUNTS: &str = "8:0 Read 1\n8:0 Write 2\n8:0 Discard 3\nTotal 6\n";

const FILES_OF_A_GROUP: [(&str, &str); 15] = [
    ("cpu,cpuacct/a/cpuacct.usage", "3000000000\n"),
    ("cpu,cpuacct/a/cpuacct.usage_user", "2000000000\n"),
    ("cpu,cpuacct/a/cpuacct.usage_sys", "1000000000\n"),
    ("cpu,cpuacct/a/cpu.stat", "nr_periods 100\nnr_throttled 25\nthrottled_time 500000000\n"),
    ("memory/a/memory.usage_in_bytes", "1048576\n"),
    ("memory/a/memory.max_usage_in_bytes", "2097152\n"),
    ("memory/a/memory.limit_in_bytes", "4194304\n"),
    ("memory/a/memory.failcnt", "3\n"),
    ("memory/a/memory.kmem.usage_in_bytes", "13\n"),
    ("memory/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"),
    ("memory/a/memory.stat", MEMORY_STAT),
    ("blkio/a/blkio.throttle.io_service_bytes_recursive", IO_BYTES),
    ("blkio/a/blkio.throttle.io_serviced_recursive", IO_COUNTS),
    ("pids/a/pids.current", "7\n"),
    ("pids/a/pids.max", "9\n"),
];

const VALUES_OF_A_GROUP: [(u32, i64); 22] = [
    (PROCESSOR_TIME, 30_000_000),
    (USER_TIME, 20_000_000),
    (PRIVILEGED_TIME, 10_000_000),
    (PERIODS, 100),
    (THROTTLED_PERIODS, 25),
    (THROTTLED_TIME, 5_000_000),
    (MEMORY_CURRENT, 1_048_576),
    (MEMORY_PEAK, 2_097_152),
    (MEMORY_LIMIT, 4_194_304),
    (SWAP_CURRENT, 4096),
    (EVENTS_MAX, 3),
    (EVENTS_OOM_KILL, 5),
    (ANONYMOUS, 11),
    (FILE, 12),
    (KERNEL, 13),
    (PAGE_FAULTS, 15),
    (MAJOR_FAULTS, 16),
    (READ_BYTES, 110),
    (WRITE_BYTES, 220),
    (DISCARD_BYTES, 55),
    (TASKS, 7),
    (TASK_LIMIT, 9),
];

/// A machine with hierarchies of version 1. All of them have the group `/a`; only one has `/a/x`, and only one has `/c`.
fn machine(mounts: &str) -> Machine {
    let machine = Machine::new(&[("proc/self/mountinfo", mounts)]);
    let write = |path: &str, content: &str| machine.write(&format!("sys/fs/cgroup/{path}"), content);
    for (path, content) in FILES_OF_A_GROUP {
        write(path, content);
    }
    write("memory/memory.usage_in_bytes", "5000000\n");
    write("memory/a/x/memory.usage_in_bytes", "4096\n");
    write("memory/a/x/memory.limit_in_bytes", "9223372036854771712\n");
    write("blkio/c/blkio.throttle.io_service_bytes_recursive", "Total 0\n");
    machine
}

fn hybrid() -> Machine {
    let machine = machine(&format!("{UNIFIED}{LEGACY}"));
    let write = |path: &str, content: &str| machine.write(&format!("sys/fs/cgroup/unified/{path}"), content);
    write("cgroup.controllers", "hugetlb\n");
    write("cpu.stat", "usage_usec 9000000\nuser_usec 6000000\nsystem_usec 3000000\n");
    write("a/cpu.stat", "usage_usec 4000000\nuser_usec 3000000\nsystem_usec 1000000\n");
    write("b/cpu.stat", "usage_usec 2\nuser_usec 1\nsystem_usec 1\n");
    machine
}

fn open_set(machine: &Machine) -> Cgroups {
    cgroups(&open_mounts(&machine.roots), 1000).expect("a provider")
}

fn status(rows: &Rows, instance: &str, id: u32) -> Status {
    value(rows, instance, id).status
}

#[test]
fn version_1_has_the_values_of_each_controller() {
    let rows = collect(&mut open_set(&machine(LEGACY)), at(10));
    assert_eq!(names(&rows), ["/", "/a", "/a/x", "/c"]);
    for (id, expected) in VALUES_OF_A_GROUP {
        assert_eq!(first_value(&rows, "/a", id), expected, "{id}");
    }
    assert_eq!([READS, WRITES, DISCARDS].map(|id| first_value(&rows, "/a", id)), [1, 2, 3]);
    let used = value(&rows, "/a", MEMORY_USED);
    assert_eq!((used.first, used.second), (1_048_576, 4_194_304));
    assert_eq!(first_value(&rows, "/", MEMORY_CURRENT), 5_000_000);
    assert_eq!(first_value(&rows, "/c", READ_BYTES), 0);
    assert!(rows.info().position(CPU_SOME).is_none() && rows.info().position(EVENTS_LOW).is_none());
}

#[test]
fn groups_of_several_hierarchies_are_one_instance() {
    let rows = collect(&mut open_set(&hybrid()), at(10));
    assert_eq!(names(&rows), ["/", "/a", "/a/x", "/b", "/c"]);
    // Version 2 has the processor time of every group; the rest is from version 1.
    let times = [(PROCESSOR_TIME, 40_000_000), (USER_TIME, 30_000_000)];
    for (id, expected) in VALUES_OF_A_GROUP[3..].iter().copied().chain(times) {
        assert_eq!(first_value(&rows, "/a", id), expected, "{id}");
    }
    assert_eq!(first_value(&rows, "/b", PROCESSOR_TIME), 20);
}

#[test]
fn a_group_has_neither_values_nor_errors_for_hierarchies_that_lack_it() {
    let rows = collect(&mut open_set(&hybrid()), at(10));
    for (instance, id) in
        [("/b", MEMORY_CURRENT), ("/c", TASKS), ("/a/x", PROCESSOR_TIME), ("/a/x", READ_BYTES)]
    {
        assert_eq!(status(&rows, instance, id), Status::NO_INSTANCE, "{instance} {id}");
    }
    let fails = |name: &str| rows.errors().iter().any(|error| error.instance.full_name() == name);
    assert!(!fails("/b") && !fails("/"), "{:?}", rows.errors());
    // The group exists in this hierarchy, but a file is missing.
    assert!(fails("/a/x"));
}

#[test]
fn the_largest_number_means_no_limit() {
    let rows = collect(&mut open_set(&hybrid()), at(10));
    for id in [MEMORY_LIMIT, MEMORY_USED] {
        assert_eq!(status(&rows, "/a/x", id), Status::NO_INSTANCE);
    }
    assert_eq!(first_value(&rows, "/a/x", MEMORY_CURRENT), 4096);
}

#[test]
fn new_and_removed_groups_of_each_hierarchy_are_found() {
    let machine = hybrid();
    let mut provider = open_set(&machine);
    collect(&mut provider, at(10));
    machine.remove("sys/fs/cgroup/pids/a");
    machine.remove("sys/fs/cgroup/memory/a/x");
    machine.write("sys/fs/cgroup/pids/b/new/pids.current", "2\n");
    let rows = collect(&mut provider, at(11));
    assert_eq!(names(&rows), ["/", "/a", "/b", "/b/new", "/c"]);
    assert_eq!(status(&rows, "/a", TASKS), Status::NO_INSTANCE);
    assert_eq!(first_value(&rows, "/a", MEMORY_CURRENT), 1_048_576);
    assert_eq!(first_value(&rows, "/b/new", TASKS), 2);
    provider.idle();
    assert_eq!(provider.walk.budget(), 1000, "the budget is released");
    for hierarchy in ["unified", "memory", "blkio", "cpu,cpuacct"] {
        machine.remove(&format!("sys/fs/cgroup/{hierarchy}/a"));
    }
    assert_eq!(names(&collect(&mut provider, at(12))), ["/", "/b", "/b/new", "/c"]);
}

#[test]
fn malformed_files_of_version_1_are_errors() {
    let machine = machine(LEGACY);
    let mut provider = open_set(&machine);
    for broken in
        ["", "x\n", "-1\n", "99999999999999999999\n", "8:0 Read x\n8:0 Write 99999999999999999999\n"]
    {
        for (path, _) in FILES_OF_A_GROUP {
            machine.write(&format!("sys/fs/cgroup/{path}"), broken);
        }
        let rows = collect(&mut provider, at(10));
        for (id, _) in VALUES_OF_A_GROUP {
            // A file without device lines means no transfers.
            let is_io = [READ_BYTES, WRITE_BYTES, DISCARD_BYTES].contains(&id) && !broken.starts_with("8:0");
            let is_discard = id == DISCARD_BYTES;
            assert_eq!(status(&rows, "/a", id).is_good(), is_io || is_discard, "{broken:?} {id}");
        }
    }
}

#[test]
fn values_of_this_machine_equal_those_of_a_naive_read() {
    let roots = Roots::of_this_machine();
    let mounts = mount::mounts(&roots);
    let of_memory = |mount: &&Mount| mount.controllers.iter().flatten().any(|name| name == "memory");
    let Some(mount) = mounts.iter().find(of_memory) else { return };
    let mut provider = providers(&roots).into_iter().next().expect("a provider");
    let rows = collect(&mut *provider, at(1));
    let mut compared = 0;
    for key in rows.instances() {
        let file = mount.path.join(key.name().trim_start_matches('/')).join("memory.limit_in_bytes");
        let Ok(text) = fs::read_to_string(file) else { continue };
        let limit: i64 = text.trim().parse().expect("a number");
        let found = value(&rows, key.name(), MEMORY_LIMIT);
        assert_eq!(
            found.status.is_good().then_some(found.first),
            (limit < i64::MAX - 65_536).then_some(limit)
        );
        compared += 1;
    }
    assert!(compared > 0);
}

#[test]
fn containers_and_units_are_shown_by_their_names() {
    let machine = hybrid();
    let id = "c0ffee".repeat(11)[..64].to_owned();
    let folder = format!("sys/fs/cgroup/unified/system.slice/docker-{id}.scope");
    machine.write("sys/fs/cgroup/unified/system.slice/cpu.stat", "usage_usec 70\n");
    machine.write(&format!("{folder}/cpu.stat"), "usage_usec 50\n");
    machine.write("sys/fs/cgroup/unified/system.slice/ssh.service/cpu.stat", "usage_usec 20\n");
    machine.write("sys/fs/cgroup/memory/system.slice/ssh.service/memory.usage_in_bytes", "123\n");
    let mut provider = containers(&machine.roots, &open_mounts(&machine.roots), 1000).expect("a provider");
    let rows = collect(&mut provider, at(10));
    assert_eq!(names(&rows), ["c0ffeec0ffee", "ssh.service"]);
    assert_eq!(first_value(&rows, "ssh.service", PROCESSOR_TIME), 200);
    assert_eq!(first_value(&rows, "ssh.service", MEMORY_CURRENT), 123);
    assert_eq!(first_value(&rows, "c0ffeec0ffee", PROCESSOR_TIME), 500);
    assert_eq!(status(&rows, "c0ffeec0ffee", MEMORY_CURRENT), Status::NO_INSTANCE);
    // Docker writes the name later.
    machine.write(&format!("var/lib/docker/containers/{id}/config.v2.json"), r#"{"Name":"/web"}"#);
    let after =
        (11..60).map(|second| collect(&mut provider, at(second))).find(|rows| names(rows)[0] == "web");
    let after = after.expect("the container has its name");
    assert_eq!(after.instances()[0].identity(), rows.instances()[0].identity());
}

#[test]
fn transfers_are_shown_by_disk() {
    let machine = hybrid();
    let link = |device: &str, target: &str| {
        let path = machine.path(&format!("sys/dev/block/{device}"));
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        std::os::unix::fs::symlink(target, path).expect("linked");
    };
    link("8:0", "../../devices/pci/block/sda");
    machine.write("sys/dev/block/8:16/dm/name", "vg0-root\n");
    let mut provider = disks(&machine.roots, &open_mounts(&machine.roots), 1000).expect("a provider");
    let rows = collect(&mut provider, at(10));
    assert_eq!(names(&rows), ["/a vg0-root", "/a sda"]);
    let values_of = |rows: &Rows, instance: &str| {
        [READ_BYTES, WRITE_BYTES, DISCARD_BYTES, READS].map(|id| {
            let raw = value(rows, instance, id);
            raw.status.is_good().then_some(raw.first)
        })
    };
    assert_eq!(values_of(&rows, "/a sda"), [Some(100), Some(200), Some(50), Some(1)]);
    assert_eq!(values_of(&rows, "/a vg0-root"), [Some(10), Some(20), Some(5), None]);
    let path = "sys/fs/cgroup/blkio/a/blkio.throttle.io_service_bytes_recursive";
    machine.write(path, "8:0 Read 150\n8:0 Write x\n9:9 Read 1\nTotal 385\n");
    let rows = collect(&mut provider, at(11));
    assert_eq!(names(&rows), ["/a sda", "/a 9:9"]);
    assert_eq!(values_of(&rows, "/a sda"), [Some(150), None, None, Some(1)]);
}

#[test]
fn transfers_of_version_2_are_shown_by_disk() {
    let machine = Machine::new(&[("proc/self/mountinfo", UNIFIED)]);
    let write = |path: &str, content: &str| machine.write(&format!("sys/fs/cgroup/unified/{path}"), content);
    write("cgroup.controllers", "io\n");
    write("a/io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n7:0 \n8:1 cost.usage=5\n");
    let rows =
        collect(&mut disks(&machine.roots, &open_mounts(&machine.roots), 1000).expect("a provider"), at(10));
    assert_eq!(names(&rows), ["/a 8:0"]);
    let all = [READ_BYTES, WRITE_BYTES, READS, WRITES, DISCARD_BYTES, DISCARDS];
    assert_eq!(all.map(|id| first_value(&rows, "/a 8:0", id)), [1, 2, 3, 4, 5, 6]);
    // Some kernels do not end the line of a device without transfers.
    write("a/io.stat", "253:10 8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n");
    let rows =
        collect(&mut disks(&machine.roots, &open_mounts(&machine.roots), 1000).expect("a provider"), at(11));
    assert_eq!(names(&rows), ["/a 8:0"]);
    // Without a controller that counts transfers, there is no set.
    write("cgroup.controllers", "hugetlb\n");
    machine.remove("sys/fs/cgroup/unified/a/io.stat");
    assert!(disks(&machine.roots, &open_mounts(&machine.roots), 1000).is_none());
}

#[test]
fn counters_of_a_hierarchy_without_groups_have_a_reason() {
    let machine = machine(LEGACY);
    let reason = |counter: &str| {
        let absences = crate::absences_of(&machine.roots, "Cgroup");
        absences.into_iter().find(|absence| absence.explains("Cgroup", counter)).map(|absence| absence.reason)
    };
    assert_eq!(reason("% Processor Time"), None);
    machine.remove("sys/fs/cgroup/cpu,cpuacct/a");
    let used = Some("cgroup v1: only memory, blkio, pids have groups");
    assert_eq!([reason("% Processor Time").as_deref(), reason("% Throttled Time").as_deref()], [used; 2]);
    ["blkio/a", "blkio/c", "pids/a"]
        .iter()
        .for_each(|group| machine.remove(&format!("sys/fs/cgroup/{group}")));
    assert_eq!(reason("% Processor Time").as_deref(), Some("cgroup v1: only memory has groups"));
    assert_eq!(reason("Memory Current Bytes"), None);
}

#[test]
fn the_root_has_no_values_that_the_kernel_does_not_count_for_it() {
    let machine = machine(LEGACY);
    let write = |path: &str, content: &str| machine.write(&format!("sys/fs/cgroup/{path}"), content);
    write("cpu,cpuacct/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
    write("cpu,cpuacct/cpuacct.usage", "3000000000\n");
    write("memory/memory.failcnt", "0\n");
    write("memory/memory.usage_in_bytes", "5\n");
    write("blkio/blkio.throttle.io_service_bytes_recursive", "Total 0\n");
    write("blkio/blkio.throttle.io_serviced_recursive", IO_COUNTS);
    let collect_root = || {
        let mut provider = cgroups(&open_mounts(&machine.roots), 1000).expect("a provider");
        let rows = collect(&mut provider, at(10));
        [THROTTLED_TIME, PERIODS, EVENTS_MAX, WRITE_BYTES, WRITES, MEMORY_CURRENT, PROCESSOR_TIME].map(|id| {
            let raw = value(&rows, "/", id);
            raw.status.is_good().then_some(raw.first)
        })
    };
    // The root of a container can have limits, and may not have transferred anything.
    let counted = [Some(0), Some(0), Some(0), Some(0), Some(2), Some(5), Some(30_000_000)];
    assert_eq!(collect_root(), counted);
    for controller in ["cpu,cpuacct", "memory", "blkio"] {
        write(&format!("{controller}/cgroup.sane_behavior"), "0\n");
    }
    let counted = [None, None, None, None, Some(2), Some(5), Some(30_000_000)];
    assert_eq!(collect_root(), counted);
}

#[test]
fn counters_that_version_1_lacks_have_a_reason() {
    let reasons = |machine: &Machine, set: &str, counter: &str| {
        let absences = crate::absences(&machine.roots);
        absences.into_iter().find(|absence| absence.explains(set, counter)).map(|absence| absence.reason)
    };
    let (legacy, hybrid) = (machine(LEGACY), hybrid());
    for machine in [&legacy, &hybrid] {
        let reason = reasons(machine, "Cgroup", "OOM Events/sec").expect("a reason");
        assert!(reason.starts_with("the memory controller uses version 1"), "{reason}");
    }
    assert!(reasons(&legacy, "Container", "% CPU Some Stall Time").is_some());
    assert_eq!(reasons(&hybrid, "Container", "% CPU Some Stall Time"), None);
    assert_eq!(reasons(&hybrid, "Cgroup Disk", "Read Bytes/sec"), None);
    assert!(reasons(&Machine::new(&[]), "Cgroup", "Tasks").is_some());
}

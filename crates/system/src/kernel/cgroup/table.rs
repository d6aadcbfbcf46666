//! The counters of `Cgroup`, and which file and field each comes from.

use tachograph_counters::CounterType;
use tachograph_perflib::registration::InstanceType;

use crate::scan::lines;
use crate::table::{CounterInfo, SetTable};

pub(super) const PROCESSOR_TIME: u32 = 1;
pub(super) const USER_TIME: u32 = 2;
pub(super) const PRIVILEGED_TIME: u32 = 3;
pub(super) const PERIODS: u32 = 4;
pub(super) const THROTTLED_PERIODS: u32 = 5;
pub(super) const THROTTLED_TIME: u32 = 6;
pub(super) const MEMORY_CURRENT: u32 = 7;
pub(super) const MEMORY_PEAK: u32 = 8;
pub(super) const MEMORY_LIMIT: u32 = 9;
pub(super) const MEMORY_USED: u32 = 10;
pub(super) const MEMORY_USED_BASE: u32 = 11;
pub(super) const SWAP_CURRENT: u32 = 12;
pub(super) const EVENTS_LOW: u32 = 13;
pub(super) const EVENTS_HIGH: u32 = 14;
pub(super) const EVENTS_MAX: u32 = 15;
pub(super) const EVENTS_OOM: u32 = 16;
pub(super) const EVENTS_OOM_KILL: u32 = 17;
pub(super) const ANONYMOUS: u32 = 18;
pub(super) const FILE: u32 = 19;
pub(super) const KERNEL: u32 = 20;
pub(super) const SLAB: u32 = 21;
pub(super) const PAGE_FAULTS: u32 = 22;
pub(super) const MAJOR_FAULTS: u32 = 23;
pub(super) const READ_BYTES: u32 = 24;
pub(super) const WRITE_BYTES: u32 = 25;
pub(super) const DISCARD_BYTES: u32 = 26;
pub(super) const READS: u32 = 27;
pub(super) const WRITES: u32 = 28;
pub(super) const DISCARDS: u32 = 29;
pub(super) const TASKS: u32 = 30;
pub(super) const TASK_LIMIT: u32 = 31;
pub(super) const CPU_SOME: u32 = 32;
pub(super) const CPU_FULL: u32 = 33;
pub(super) const MEMORY_SOME: u32 = 34;
pub(super) const MEMORY_FULL: u32 = 35;
pub(super) const IO_SOME: u32 = 36;
pub(super) const IO_FULL: u32 = 37;
/// One more than the largest id.
pub(super) const IDS: usize = 38;

/// A file in a cgroup's folder.
pub(super) struct FileTable {
    pub(super) name: &'static str,
    /// The controller that provides the file; empty for files that every cgroup has.
    pub(super) controller: &'static str,
    /// Whether some kernels lack the file although they have the controller.
    pub(super) is_optional: bool,
    pub(super) form: Form,
}

/// The format of a file.
pub(super) enum Form {
    /// Lines of a key and a number.
    Keyed(&'static [Field]),
    /// One number.
    Number(u32),
    /// A running total.
    Count(u32),
    /// Nanoseconds of processor time.
    ProcessorNs(u32),
    /// One number, or `max` if there is no limit. In version 1, the largest number of whole pages means that there is no limit.
    Limit(u32),
    /// One line per device: `8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6`.
    Io,
    /// Lines of a device, a direction and a number: `8:0 Read 1`. Contains the ids of the counters for `Read`, `Write`, `Discard`.
    IoLines([u32; 3]),
    /// The format of the files in /proc/pressure. Contains the ids of the counters for `some` and `full`.
    Pressure(u32, u32),
}

/// A line of a keyed file.
pub(super) struct Field {
    pub(super) key: &'static [u8],
    pub(super) id: u32,
    pub(super) kind: Kind,
}

/// The meaning of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Microseconds of processor time. The kernel estimates user time and system time, which can decrease a little.
    ProcessorTime,
    /// A running total in microseconds.
    Time,
    /// A running total in nanoseconds.
    TimeNs,
    /// A running total.
    Count,
    /// A current value.
    Now,
}

const fn field(key: &'static str, id: u32, kind: Kind) -> Field {
    Field { key: key.as_bytes(), id, kind }
}

/// The files of version 2, in reading order.
pub(super) static FILES: [FileTable; 13] = [
    FileTable {
        name: "cpu.stat",
        controller: "",
        is_optional: false,
        form: Form::Keyed(&[
            field("usage_usec", PROCESSOR_TIME, Kind::ProcessorTime),
            field("user_usec", USER_TIME, Kind::ProcessorTime),
            field("system_usec", PRIVILEGED_TIME, Kind::ProcessorTime),
            field("nr_periods", PERIODS, Kind::Count),
            field("nr_throttled", THROTTLED_PERIODS, Kind::Count),
            field("throttled_usec", THROTTLED_TIME, Kind::Time),
        ]),
    },
    FileTable {
        name: "memory.current",
        controller: "memory",
        is_optional: false,
        form: Form::Number(MEMORY_CURRENT),
    },
    FileTable {
        name: "memory.peak",
        controller: "memory",
        is_optional: false,
        form: Form::Number(MEMORY_PEAK),
    },
    FileTable {
        name: "memory.max",
        controller: "memory",
        is_optional: false,
        form: Form::Limit(MEMORY_LIMIT),
    },
    FileTable {
        name: "memory.swap.current",
        controller: "memory",
        is_optional: false,
        form: Form::Number(SWAP_CURRENT),
    },
    FileTable {
        name: "memory.events",
        controller: "memory",
        is_optional: false,
        form: Form::Keyed(&[
            field("low", EVENTS_LOW, Kind::Count),
            field("high", EVENTS_HIGH, Kind::Count),
            field("max", EVENTS_MAX, Kind::Count),
            field("oom", EVENTS_OOM, Kind::Count),
            field("oom_kill", EVENTS_OOM_KILL, Kind::Count),
        ]),
    },
    FileTable {
        name: "memory.stat",
        controller: "memory",
        is_optional: false,
        form: Form::Keyed(&[
            field("anon", ANONYMOUS, Kind::Now),
            field("file", FILE, Kind::Now),
            field("kernel", KERNEL, Kind::Now),
            field("slab", SLAB, Kind::Now),
            field("pgfault", PAGE_FAULTS, Kind::Count),
            field("pgmajfault", MAJOR_FAULTS, Kind::Count),
        ]),
    },
    FileTable { name: "io.stat", controller: "io", is_optional: false, form: Form::Io },
    FileTable { name: "pids.current", controller: "pids", is_optional: false, form: Form::Number(TASKS) },
    FileTable { name: "pids.max", controller: "pids", is_optional: false, form: Form::Limit(TASK_LIMIT) },
    FileTable {
        name: "cpu.pressure",
        controller: "",
        is_optional: false,
        form: Form::Pressure(CPU_SOME, CPU_FULL),
    },
    FileTable {
        name: "memory.pressure",
        controller: "",
        is_optional: false,
        form: Form::Pressure(MEMORY_SOME, MEMORY_FULL),
    },
    FileTable {
        name: "io.pressure",
        controller: "",
        is_optional: false,
        form: Form::Pressure(IO_SOME, IO_FULL),
    },
];

/// The files of version 1, in reading order.
pub(super) static LEGACY_FILES: [FileTable; 15] = [
    legacy("cpuacct", "cpuacct.usage", Form::ProcessorNs(PROCESSOR_TIME)),
    FileTable { is_optional: true, ..legacy("cpuacct", "cpuacct.usage_user", Form::ProcessorNs(USER_TIME)) },
    FileTable {
        is_optional: true,
        ..legacy("cpuacct", "cpuacct.usage_sys", Form::ProcessorNs(PRIVILEGED_TIME))
    },
    legacy(
        "cpu",
        "cpu.stat",
        Form::Keyed(&[
            field("nr_periods", PERIODS, Kind::Count),
            field("nr_throttled", THROTTLED_PERIODS, Kind::Count),
            field("throttled_time", THROTTLED_TIME, Kind::TimeNs),
        ]),
    ),
    legacy("memory", "memory.usage_in_bytes", Form::Number(MEMORY_CURRENT)),
    legacy("memory", "memory.max_usage_in_bytes", Form::Number(MEMORY_PEAK)),
    legacy("memory", "memory.limit_in_bytes", Form::Limit(MEMORY_LIMIT)),
    legacy("memory", "memory.failcnt", Form::Count(EVENTS_MAX)),
    FileTable { is_optional: true, ..legacy("memory", "memory.kmem.usage_in_bytes", Form::Number(KERNEL)) },
    FileTable {
        is_optional: true,
        ..legacy(
            "memory",
            "memory.oom_control",
            Form::Keyed(&[field("oom_kill", EVENTS_OOM_KILL, Kind::Count)]),
        )
    },
    legacy(
        "memory",
        "memory.stat",
        Form::Keyed(&[
            field("total_rss", ANONYMOUS, Kind::Now),
            field("total_cache", FILE, Kind::Now),
            field("total_swap", SWAP_CURRENT, Kind::Now),
            field("total_pgfault", PAGE_FAULTS, Kind::Count),
            field("total_pgmajfault", MAJOR_FAULTS, Kind::Count),
        ]),
    ),
    FileTable {
        is_optional: true,
        ..legacy(
            "blkio",
            "blkio.throttle.io_service_bytes_recursive",
            Form::IoLines([READ_BYTES, WRITE_BYTES, DISCARD_BYTES]),
        )
    },
    FileTable {
        is_optional: true,
        ..legacy("blkio", "blkio.throttle.io_serviced_recursive", Form::IoLines([READS, WRITES, DISCARDS]))
    },
    legacy("pids", "pids.current", Form::Number(TASKS)),
    legacy("pids", "pids.max", Form::Limit(TASK_LIMIT)),
];

const fn legacy(controller: &'static str, name: &'static str, form: Form) -> FileTable {
    FileTable { name, controller, is_optional: false, form }
}

/// The keys of `io.stat` and their counters.
pub(super) const IO_KEYS: [(&[u8], u32); 6] = [
    (b"rbytes=", READ_BYTES),
    (b"wbytes=", WRITE_BYTES),
    (b"rios=", READS),
    (b"wios=", WRITES),
    (b"dbytes=", DISCARD_BYTES),
    (b"dios=", DISCARDS),
];

/// Files of version 1 that are 0 in the root: it cannot have the limit whose effects they count.
const OF_LIMITS: [&str; 2] = ["cpu.stat", "memory.failcnt"];

impl FileTable {
    /// Whether the kernel counts nothing for the root of a hierarchy of version 1 in a file with this text.
    ///
    /// Transfers of the root are counted by some kernels only, and by others only after a group has had a limit. Until
    /// then, the file has no lines of devices.
    pub(super) fn is_uncounted_in_root(&self, text: &[u8]) -> bool {
        match self.form {
            Form::IoLines(_) => !lines(text).any(|line| line.first().is_some_and(u8::is_ascii_digit)),
            _ => OF_LIMITS.contains(&self.name),
        }
    }

    /// The counters of the file.
    pub(super) fn ids(&self) -> impl Iterator<Item = u32> {
        let (fields, ids): (&[Field], [Option<u32>; 2]) = match self.form {
            Form::Keyed(fields) => (fields, [None, None]),
            Form::Number(id) | Form::Count(id) | Form::ProcessorNs(id) | Form::Limit(id) => {
                (&[], [Some(id), None])
            }
            Form::Io | Form::IoLines(_) => (&[], [None, None]),
            Form::Pressure(some, full) => (&[], [Some(some), Some(full)]),
        };
        let io: &[(&[u8], u32)] = if matches!(self.form, Form::Io) { &IO_KEYS } else { &[] };
        let used = matches!(self.form, Form::Number(MEMORY_CURRENT) | Form::Limit(MEMORY_LIMIT));
        let directions = if let Form::IoLines(ids) = self.form { ids.map(Some) } else { [None; 3] };
        fields
            .iter()
            .map(|field| field.id)
            .chain(ids.into_iter().flatten())
            .chain(io.iter().map(|(_, id)| *id))
            .chain(directions.into_iter().flatten())
            .chain(used.then_some(MEMORY_USED))
    }
}

const fn row(
    id: u32,
    name: &'static str,
    counter_type: CounterType,
    unit: &'static str,
    source: &'static str,
    help: &'static str,
) -> CounterInfo {
    CounterInfo::row(id, name, counter_type, unit, 0, source, help)
}

const TIMER: CounterType = CounterType::TIMER_100NS;
const RATE: CounterType = CounterType::BULK_COUNT;
const NOW: CounterType = CounterType::LARGE_RAWCOUNT;

/// The set `Cgroup`.
#[rustfmt::skip]
pub(crate) static TABLE: SetTable = SetTable {
    name: "Cgroup",
    guid: 0x7face1da5ba159f1a5dd049bfb6c9063,
    instance_type: InstanceType::Multiple,
    help: "The resources that control groups use: processor time, memory, disk transfers, tasks, pressure. A \
        group's values include those of all groups below it. A group that is in several hierarchies (version 2, \
        and version 1 for each controller) is one instance. The nearest equivalent on Windows is Job Object.",
    instances: "The groups, by their path from the root of the hierarchies that this process sees, such as \
        `/system.slice/ssh.service`. `/` is first; each group is followed by the groups below it; siblings are sorted by name. At most 20,000.",
    total: "",
    repeats: None,
    counters: COUNTERS,
};

/// The set `Container`: the groups that are containers, pods or systemd units.
pub(crate) static CONTAINER: SetTable = SetTable {
    name: "Container",
    guid: 0x62c9cc51_4d85_5bcd_a1f1_a23604b89f7c,
    instance_type: InstanceType::Multiple,
    help: "The resources that containers, pods and systemd units use: the counters of the set Cgroup for \
        these groups.",
    instances: "Containers, pods and units under the names that people use: `web` (docker, podman, LXC), `shop/cart-7d9` (a pod of \
                Kubernetes) and `shop/cart-7d9/cart` (its container), `ssh.service`. In the order of their \
                paths; slices are not included. A container that another runtime started is named by the first 12 \
                digits of its id. The id of an instance is that of the group in the set Cgroup.",
    total: "",
    repeats: None,
    counters: COUNTERS,
};

/// The set `Cgroup Disk`. Its counters have the same ids as in the set `Cgroup`.
#[rustfmt::skip]
pub(crate) static DISK: SetTable = SetTable {
    name: "Cgroup Disk",
    guid: 0x27bac0a5_3c3a_56de_9f20_192ae75b7063,
    instance_type: InstanceType::Multiple,
    help: "The transfers of control groups from and to each disk. A group's values include those of all groups \
        below it.",
    instances: "A group by its path, and a disk that it has used: `/system.slice/ssh.service sda`. In the order \
        of the groups. No instances if no controller counts transfers.",
    total: "",
    repeats: None,
    counters: &[
        CounterInfo::row(READ_BYTES, "Read Bytes/sec", RATE, "bytes/s", -4, "io.stat: rbytes (version 1: blkio.throttle.io_service_bytes_recursive)",
            "Bytes read from the disk."),
        CounterInfo::row(WRITE_BYTES, "Write Bytes/sec", RATE, "bytes/s", -4, "io.stat: wbytes (version 1: blkio.throttle.io_service_bytes_recursive)",
            "Bytes written to the disk."),
        CounterInfo::row(DISCARD_BYTES, "Discard Bytes/sec", RATE, "bytes/s", -4, "io.stat: dbytes (version 1: blkio.throttle.io_service_bytes_recursive)",
            "Bytes discarded on the disk (trim)."),
        row(READS, "Read Operations/sec", RATE, "1/s", "io.stat: rios (version 1: blkio.throttle.io_serviced_recursive)",
            "Read requests to the disk."),
        row(WRITES, "Write Operations/sec", RATE, "1/s", "io.stat: wios (version 1: blkio.throttle.io_serviced_recursive)",
            "Write requests to the disk."),
        row(DISCARDS, "Discard Operations/sec", RATE, "1/s", "io.stat: dios (version 1: blkio.throttle.io_serviced_recursive)",
            "Discard (trim) requests to the disk."),
    ],
};

#[rustfmt::skip]
const COUNTERS: &[CounterInfo] = &[
        row(PROCESSOR_TIME, "% Processor Time", TIMER, "%", "cpu.stat: usage_usec (version 1: cpuacct.usage)",
            "Processor time of the group's tasks, in percent of one processor; it can exceed 100."),
        row(USER_TIME, "% User Time", TIMER, "%", "cpu.stat: user_usec (version 1: cpuacct.usage_user)",
            "The part of the processor time in user mode."),
        row(PRIVILEGED_TIME, "% Privileged Time", TIMER, "%", "cpu.stat: system_usec (version 1: cpuacct.usage_sys)",
            "The part of the processor time in the kernel."),
        row(PERIODS, "Periods/sec", RATE, "1/s", "cpu.stat: nr_periods",
            "Periods of the processor limit (cpu.max) in which the group had work."),
        row(THROTTLED_PERIODS, "Throttled Periods/sec", RATE, "1/s", "cpu.stat: nr_throttled",
            "Periods in which the group used up its processor limit and had to wait for the next period."),
        row(THROTTLED_TIME, "% Throttled Time", TIMER, "%", "cpu.stat: throttled_usec (version 1: throttled_time)",
            "Time for which the group was throttled because its processor limit was used up, summed over the \
             processors."),
        CounterInfo::row(MEMORY_CURRENT, "Memory Current Bytes", NOW, "bytes", -6, "memory.current (version 1: memory.usage_in_bytes)",
            "Memory that is charged to the group, including page cache and kernel memory."),
        CounterInfo::row(MEMORY_PEAK, "Memory Peak Bytes", NOW, "bytes", -6, "memory.peak (version 1: memory.max_usage_in_bytes)",
            "The maximum memory that was charged to the group (Linux 5.19 and later)."),
        CounterInfo::row(MEMORY_LIMIT, "Memory Limit Bytes", NOW, "bytes", -6, "memory.max (version 1: memory.limit_in_bytes)",
            "The memory limit of the group. A group without a limit of its own has no value, even if a group \
             above it has a limit."),
        row(MEMORY_USED, "% Memory Limit Used", CounterType::RAW_FRACTION, "%", "memory.current / memory.max",
            "The group's memory in percent of its limit; no value without a limit.").base(MEMORY_USED_BASE),
        CounterInfo::companion(MEMORY_USED_BASE, "% Memory Limit Used Base", CounterType::RAW_BASE),
        CounterInfo::row(SWAP_CURRENT, "Swap Current Bytes", NOW, "bytes", -6, "memory.swap.current (version 1: memory.stat: total_swap)",
            "Swap space that the group uses."),
        row(EVENTS_LOW, "Memory Low Events/sec", RATE, "1/s", "memory.events: low",
            "How often memory of the group was reclaimed although it was below its protection (memory.low)."),
        row(EVENTS_HIGH, "Memory High Events/sec", RATE, "1/s", "memory.events: high",
            "How often tasks were slowed down because the group was above memory.high."),
        row(EVENTS_MAX, "Memory Max Events/sec", RATE, "1/s", "memory.events: max (version 1: memory.failcnt)",
            "How often the group was about to exceed its limit (memory.max)."),
        row(EVENTS_OOM, "OOM Events/sec", RATE, "1/s", "memory.events: oom",
            "How often an allocation was about to fail because the limit was reached and nothing could be freed."),
        row(EVENTS_OOM_KILL, "OOM Kills/sec", RATE, "1/s", "memory.events: oom_kill (version 1: memory.oom_control: oom_kill)",
            "Processes of the group that were killed for lack of memory. In version 1, those of the groups below \
             it are not included."),
        CounterInfo::row(ANONYMOUS, "Anonymous Bytes", NOW, "bytes", -6, "memory.stat: anon (version 1: total_rss)",
            "Memory that is not backed by files: heaps and stacks."),
        CounterInfo::row(FILE, "File Bytes", NOW, "bytes", -6, "memory.stat: file (version 1: total_cache)",
            "Page cache, including shared memory."),
        CounterInfo::row(KERNEL, "Kernel Bytes", NOW, "bytes", -6, "memory.stat: kernel (version 1: memory.kmem.usage_in_bytes)",
            "Kernel memory that is charged to the group (Linux 5.18 and later)."),
        CounterInfo::row(SLAB, "Slab Bytes", NOW, "bytes", -6, "memory.stat: slab",
            "The part of the kernel memory that holds the kernel's objects."),
        CounterInfo::row(PAGE_FAULTS, "Page Faults/sec", RATE, "1/s", -1, "memory.stat: pgfault (version 1: total_pgfault)",
            "Page faults of the group's tasks, with and without a disk transfer."),
        row(MAJOR_FAULTS, "Major Page Faults/sec", RATE, "1/s", "memory.stat: pgmajfault (version 1: total_pgmajfault)",
            "Page faults that had to wait for a disk."),
        CounterInfo::row(READ_BYTES, "Read Bytes/sec", RATE, "bytes/s", -4, "io.stat: rbytes (version 1: blkio.throttle.io_service_bytes_recursive)",
            "Bytes read from all disks. A transfer through stacked devices is counted for each of them."),
        CounterInfo::row(WRITE_BYTES, "Write Bytes/sec", RATE, "bytes/s", -4, "io.stat: wbytes (version 1: blkio.throttle.io_service_bytes_recursive)",
            "Bytes written to all disks."),
        CounterInfo::row(DISCARD_BYTES, "Discard Bytes/sec", RATE, "bytes/s", -4, "io.stat: dbytes (version 1: blkio.throttle.io_service_bytes_recursive)",
            "Bytes discarded on all disks (trim)."),
        row(READS, "Read Operations/sec", RATE, "1/s", "io.stat: rios (version 1: blkio.throttle.io_serviced_recursive)",
            "Read requests to all disks."),
        row(WRITES, "Write Operations/sec", RATE, "1/s", "io.stat: wios (version 1: blkio.throttle.io_serviced_recursive)",
            "Write requests to all disks."),
        row(DISCARDS, "Discard Operations/sec", RATE, "1/s", "io.stat: dios (version 1: blkio.throttle.io_serviced_recursive)",
            "Discard (trim) requests to all disks."),
        row(TASKS, "Tasks", NOW, "", "pids.current",
            "Current number of processes and threads in the group."),
        row(TASK_LIMIT, "Task Limit", NOW, "", "pids.max",
            "The maximum number of tasks of the group; no value without a limit."),
        row(CPU_SOME, "% CPU Some Stall Time", TIMER, "%", "cpu.pressure: some total",
            "Share of the interval in which at least one task of the group waited for a processor."),
        row(CPU_FULL, "% CPU Full Stall Time", TIMER, "%", "cpu.pressure: full total",
            "Share of the interval in which all tasks of the group that had work waited for a processor at the same time."),
        row(MEMORY_SOME, "% Memory Some Stall Time", TIMER, "%", "memory.pressure: some total",
            "Share of the interval in which at least one task of the group waited for memory."),
        row(MEMORY_FULL, "% Memory Full Stall Time", TIMER, "%", "memory.pressure: full total",
            "Share of the interval in which all tasks of the group that had work waited for memory at the same time."),
        row(IO_SOME, "% IO Some Stall Time", TIMER, "%", "io.pressure: some total",
            "Share of the interval in which at least one task of the group waited for a disk."),
        row(IO_FULL, "% IO Full Stall Time", TIMER, "%", "io.pressure: full total",
            "Share of the interval in which all tasks of the group that had work waited for a disk at the same time."),
];

//! The counters of `Cgroup`, and which file and field each comes from.

use tachograph_counters::CounterType;
use tachograph_perflib::registration::InstanceType;

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
    pub(super) form: Form,
}

/// The format of a file.
pub(super) enum Form {
    /// Lines of a key and a number.
    Keyed(&'static [Field]),
    /// One number.
    Number(u32),
    /// One number, or `max`.
    Limit(u32),
    /// One line per device: `8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6`.
    Io,
    /// The format of /proc/pressure, with the counters for `some` and `full`.
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
    /// Microseconds of processor time. The kernel estimates the user and system parts, which can fall a little.
    ProcessorTime,
    /// A running total in microseconds.
    Time,
    /// A running total.
    Count,
    /// A current value.
    Now,
}

const fn field(key: &'static str, id: u32, kind: Kind) -> Field {
    Field { key: key.as_bytes(), id, kind }
}

pub(super) const CURRENT_FILE: usize = 1;
pub(super) const LIMIT_FILE: usize = 3;
pub(super) const FILE_COUNT: usize = 13;

/// The files, in reading order.
pub(super) static FILES: [FileTable; FILE_COUNT] = [
    FileTable {
        name: "cpu.stat",
        controller: "",
        form: Form::Keyed(&[
            field("usage_usec", PROCESSOR_TIME, Kind::ProcessorTime),
            field("user_usec", USER_TIME, Kind::ProcessorTime),
            field("system_usec", PRIVILEGED_TIME, Kind::ProcessorTime),
            field("nr_periods", PERIODS, Kind::Count),
            field("nr_throttled", THROTTLED_PERIODS, Kind::Count),
            field("throttled_usec", THROTTLED_TIME, Kind::Time),
        ]),
    },
    FileTable { name: "memory.current", controller: "memory", form: Form::Number(MEMORY_CURRENT) },
    FileTable { name: "memory.peak", controller: "memory", form: Form::Number(MEMORY_PEAK) },
    FileTable { name: "memory.max", controller: "memory", form: Form::Limit(MEMORY_LIMIT) },
    FileTable { name: "memory.swap.current", controller: "memory", form: Form::Number(SWAP_CURRENT) },
    FileTable {
        name: "memory.events",
        controller: "memory",
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
        form: Form::Keyed(&[
            field("anon", ANONYMOUS, Kind::Now),
            field("file", FILE, Kind::Now),
            field("kernel", KERNEL, Kind::Now),
            field("slab", SLAB, Kind::Now),
            field("pgfault", PAGE_FAULTS, Kind::Count),
            field("pgmajfault", MAJOR_FAULTS, Kind::Count),
        ]),
    },
    FileTable { name: "io.stat", controller: "io", form: Form::Io },
    FileTable { name: "pids.current", controller: "pids", form: Form::Number(TASKS) },
    FileTable { name: "pids.max", controller: "pids", form: Form::Limit(TASK_LIMIT) },
    FileTable { name: "cpu.pressure", controller: "", form: Form::Pressure(CPU_SOME, CPU_FULL) },
    FileTable { name: "memory.pressure", controller: "", form: Form::Pressure(MEMORY_SOME, MEMORY_FULL) },
    FileTable { name: "io.pressure", controller: "", form: Form::Pressure(IO_SOME, IO_FULL) },
];

/// The keys of `io.stat` and their counters.
pub(super) const IO_KEYS: [(&[u8], u32); 6] = [
    (b"rbytes=", READ_BYTES),
    (b"wbytes=", WRITE_BYTES),
    (b"rios=", READS),
    (b"wios=", WRITES),
    (b"dbytes=", DISCARD_BYTES),
    (b"dios=", DISCARDS),
];

impl FileTable {
    /// The counters of the file.
    pub(super) fn ids(&self) -> impl Iterator<Item = u32> {
        let (fields, ids): (&[Field], [Option<u32>; 2]) = match self.form {
            Form::Keyed(fields) => (fields, [None, None]),
            Form::Number(id) | Form::Limit(id) => (&[], [Some(id), None]),
            Form::Io => (&[], [None, None]),
            Form::Pressure(some, full) => (&[], [Some(some), Some(full)]),
        };
        let io: &[(&[u8], u32)] = if matches!(self.form, Form::Io) { &IO_KEYS } else { &[] };
        let used = [CURRENT_FILE, LIMIT_FILE].iter().any(|&file| FILES[file].name == self.name);
        fields
            .iter()
            .map(|field| field.id)
            .chain(ids.into_iter().flatten())
            .chain(io.iter().map(|(_, id)| *id))
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

/// The set.
#[rustfmt::skip]
pub(crate) static TABLE: SetTable = SetTable {
    name: "Cgroup",
    guid: 0x7face1da5ba159f1a5dd049bfb6c9063,
    instance_type: InstanceType::Multiple,
    help: "What the control groups (version 2) use: processor time, memory, disk transfers, tasks, pressure. A group's values hold those of all groups below it. Windows' nearest is Job Object.",
    instances: "The groups by their path from the root of the hierarchy that this process sees: `/` first, then each group before those below it, by name, such as `/system.slice/ssh.service`. At most 20,000.",
    total: "",
    counters: &[
        row(PROCESSOR_TIME, "% Processor Time", TIMER, "%", "cpu.stat: usage_usec",
            "Processor time of the group's tasks; 100 % is one processor, so that more than 100 is possible."),
        row(USER_TIME, "% User Time", TIMER, "%", "cpu.stat: user_usec",
            "The part of the processor time outside the kernel."),
        row(PRIVILEGED_TIME, "% Privileged Time", TIMER, "%", "cpu.stat: system_usec",
            "The part of the processor time in the kernel."),
        row(PERIODS, "Periods/sec", RATE, "1/s", "cpu.stat: nr_periods",
            "Periods of the processor limit (cpu.max) in which the group had work."),
        row(THROTTLED_PERIODS, "Throttled Periods/sec", RATE, "1/s", "cpu.stat: nr_throttled",
            "Periods in which the group used up its processor limit and had to wait for the next."),
        row(THROTTLED_TIME, "% Throttled Time", TIMER, "%", "cpu.stat: throttled_usec",
            "Time that the group's processors stood still because its limit was used up, added up over the processors."),
        CounterInfo::row(MEMORY_CURRENT, "Memory Current Bytes", NOW, "bytes", -6, "memory.current",
            "Memory charged to the group now, page cache and kernel memory included."),
        CounterInfo::row(MEMORY_PEAK, "Memory Peak Bytes", NOW, "bytes", -6, "memory.peak",
            "The largest amount of memory that was ever charged to the group (Linux 5.19 and later)."),
        CounterInfo::row(MEMORY_LIMIT, "Memory Limit Bytes", NOW, "bytes", -6, "memory.max",
            "The limit of the group's memory. Without a limit of its own a group has no value here, although a group above it may have one."),
        row(MEMORY_USED, "% Memory Limit Used", CounterType::RAW_FRACTION, "%", "memory.current of memory.max",
            "The group's memory as a share of its limit. Without a limit there is no value.").base(MEMORY_USED_BASE),
        CounterInfo::companion(MEMORY_USED_BASE, "% Memory Limit Used Base", CounterType::RAW_BASE),
        CounterInfo::row(SWAP_CURRENT, "Swap Current Bytes", NOW, "bytes", -6, "memory.swap.current",
            "Swap that the group occupies now."),
        row(EVENTS_LOW, "Memory Low Events/sec", RATE, "1/s", "memory.events: low",
            "How often memory was taken from the group although it was below its protection (memory.low)."),
        row(EVENTS_HIGH, "Memory High Events/sec", RATE, "1/s", "memory.events: high",
            "How often tasks were slowed down because the group was above memory.high."),
        row(EVENTS_MAX, "Memory Max Events/sec", RATE, "1/s", "memory.events: max",
            "How often the group was about to pass its limit (memory.max)."),
        row(EVENTS_OOM, "OOM Events/sec", RATE, "1/s", "memory.events: oom",
            "How often an allocation was about to fail because the limit was reached and nothing could be freed."),
        row(EVENTS_OOM_KILL, "OOM Kills/sec", RATE, "1/s", "memory.events: oom_kill",
            "Processes of the group that were killed for lack of memory."),
        CounterInfo::row(ANONYMOUS, "Anonymous Bytes", NOW, "bytes", -6, "memory.stat: anon",
            "Memory that belongs to no file: heaps and stacks."),
        CounterInfo::row(FILE, "File Bytes", NOW, "bytes", -6, "memory.stat: file",
            "Page cache of files, shared memory included."),
        CounterInfo::row(KERNEL, "Kernel Bytes", NOW, "bytes", -6, "memory.stat: kernel",
            "Kernel memory that is charged to the group (Linux 5.18 and later)."),
        CounterInfo::row(SLAB, "Slab Bytes", NOW, "bytes", -6, "memory.stat: slab",
            "The part of the kernel memory that holds the kernel's objects."),
        CounterInfo::row(PAGE_FAULTS, "Page Faults/sec", RATE, "1/s", -1, "memory.stat: pgfault",
            "Page faults of the group's tasks, with and without a disk transfer."),
        row(MAJOR_FAULTS, "Major Page Faults/sec", RATE, "1/s", "memory.stat: pgmajfault",
            "Page faults that had to wait for a disk."),
        CounterInfo::row(READ_BYTES, "Read Bytes/sec", RATE, "bytes/s", -4, "io.stat: rbytes",
            "Bytes read from disks, all devices together. A transfer through stacked devices counts at each of them."),
        CounterInfo::row(WRITE_BYTES, "Write Bytes/sec", RATE, "bytes/s", -4, "io.stat: wbytes",
            "Bytes written to disks, all devices together."),
        CounterInfo::row(DISCARD_BYTES, "Discard Bytes/sec", RATE, "bytes/s", -4, "io.stat: dbytes",
            "Bytes that were given back to disks as unused (trim), all devices together."),
        row(READS, "Read Operations/sec", RATE, "1/s", "io.stat: rios",
            "Read requests to disks, all devices together."),
        row(WRITES, "Write Operations/sec", RATE, "1/s", "io.stat: wios",
            "Write requests to disks, all devices together."),
        row(DISCARDS, "Discard Operations/sec", RATE, "1/s", "io.stat: dios",
            "Discard (trim) requests to disks, all devices together."),
        row(TASKS, "Tasks", NOW, "", "pids.current",
            "Processes and threads in the group now."),
        row(TASK_LIMIT, "Task Limit", NOW, "", "pids.max",
            "How many tasks the group may have. Without a limit there is no value."),
        row(CPU_SOME, "% CPU Some Stall Time", TIMER, "%", "cpu.pressure: some total",
            "Share of the interval in which at least one task of the group waited for a processor."),
        row(CPU_FULL, "% CPU Full Stall Time", TIMER, "%", "cpu.pressure: full total",
            "Share of the interval in which all tasks of the group that had work waited for a processor at once."),
        row(MEMORY_SOME, "% Memory Some Stall Time", TIMER, "%", "memory.pressure: some total",
            "Share of the interval in which at least one task of the group waited for memory."),
        row(MEMORY_FULL, "% Memory Full Stall Time", TIMER, "%", "memory.pressure: full total",
            "Share of the interval in which all tasks of the group that had work waited for memory at once."),
        row(IO_SOME, "% IO Some Stall Time", TIMER, "%", "io.pressure: some total",
            "Share of the interval in which at least one task of the group waited for a disk."),
        row(IO_FULL, "% IO Full Stall Time", TIMER, "%", "io.pressure: full total",
            "Share of the interval in which all tasks of the group that had work waited for a disk at once."),
    ],
};

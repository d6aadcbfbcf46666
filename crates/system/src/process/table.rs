//! The tables of the sets `Process`, `Process V2` and `Thread`.

use tachograph_counters::CounterType as Type;
use tachograph_perflib::registration::InstanceType;

use crate::table::{CounterInfo, SetTable};

pub(super) const PROCESSOR_TIME: u32 = 1;
pub(super) const USER_TIME: u32 = 2;
pub(super) const PRIVILEGED_TIME: u32 = 3;
pub(super) const VIRTUAL_BYTES_PEAK: u32 = 4;
pub(super) const VIRTUAL_BYTES: u32 = 5;
pub(super) const PAGE_FAULTS: u32 = 6;
pub(super) const WORKING_SET_PEAK: u32 = 7;
pub(super) const WORKING_SET: u32 = 8;
pub(super) const PAGE_FILE_BYTES: u32 = 9;
pub(super) const PRIVATE_BYTES: u32 = 10;
pub(super) const THREAD_COUNT: u32 = 11;
pub(super) const PRIORITY_BASE: u32 = 12;
pub(super) const ELAPSED_TIME: u32 = 13;
pub(super) const ID_PROCESS: u32 = 14;
pub(super) const CREATING_PROCESS_ID: u32 = 15;
pub(super) const HANDLE_COUNT: u32 = 16;
pub(super) const IO_READ_OPERATIONS: u32 = 17;
pub(super) const IO_WRITE_OPERATIONS: u32 = 18;
pub(super) const IO_DATA_OPERATIONS: u32 = 19;
pub(super) const IO_READ_BYTES: u32 = 20;
pub(super) const IO_WRITE_BYTES: u32 = 21;
pub(super) const IO_DATA_BYTES: u32 = 22;
pub(super) const WORKING_SET_PRIVATE: u32 = 23;
pub(super) const STORAGE_READ_BYTES: u32 = 24;
pub(super) const STORAGE_WRITE_BYTES: u32 = 25;
const ELAPSED_TIME_CLOCK: u32 = 26;
const ELAPSED_TIME_FREQUENCY: u32 = 27;
pub(super) const RUN_QUEUE_WAIT_TIME: u32 = 28;
pub(super) const BLOCK_IO_WAIT_TIME: u32 = 29;
const SWAP_WAIT_TIME: u32 = 30;
const RECLAIM_WAIT_TIME: u32 = 31;
const THRASHING_WAIT_TIME: u32 = 32;
const COMPACTION_WAIT_TIME: u32 = 33;

/// Counters from the files of the threads.
pub(super) const FROM_WAITS: [u32; 2] = [RUN_QUEUE_WAIT_TIME, BLOCK_IO_WAIT_TIME];

/// Counters from taskstats.
pub(super) const FROM_DELAYS: [u32; 4] =
    [SWAP_WAIT_TIME, RECLAIM_WAIT_TIME, THRASHING_WAIT_TIME, COMPACTION_WAIT_TIME];

/// Counters from `/proc/PID/io`.
pub(super) const FROM_IO: [u32; 8] = [
    IO_READ_OPERATIONS,
    IO_WRITE_OPERATIONS,
    IO_DATA_OPERATIONS,
    IO_READ_BYTES,
    IO_WRITE_BYTES,
    IO_DATA_BYTES,
    STORAGE_READ_BYTES,
    STORAGE_WRITE_BYTES,
];

/// Counters that need `/proc/PID/status`.
pub(super) const FROM_STATUS: [u32; 4] =
    [VIRTUAL_BYTES_PEAK, WORKING_SET_PEAK, PAGE_FILE_BYTES, PRIVATE_BYTES];

/// Counters that `/proc/PID/statm` also has, at a tenth of the cost.
pub(super) const FROM_STATM: [u32; 2] = [WORKING_SET, WORKING_SET_PRIVATE];

/// Counters from `/proc/PID/stat`.
pub(super) const FROM_STAT: [u32; 9] = [
    PROCESSOR_TIME,
    USER_TIME,
    PRIVILEGED_TIME,
    VIRTUAL_BYTES,
    PAGE_FAULTS,
    THREAD_COUNT,
    PRIORITY_BASE,
    ELAPSED_TIME,
    CREATING_PROCESS_ID,
];

pub(super) mod thread {
    //! The ids of the set `Thread`.

    pub(crate) const PROCESSOR_TIME: u32 = 1;
    pub(crate) const USER_TIME: u32 = 2;
    pub(crate) const PRIVILEGED_TIME: u32 = 3;
    pub(crate) const CONTEXT_SWITCHES: u32 = 4;
    pub(crate) const ELAPSED_TIME: u32 = 5;
    pub(crate) const PRIORITY_CURRENT: u32 = 6;
    pub(crate) const PRIORITY_BASE: u32 = 7;
    pub(crate) const THREAD_STATE: u32 = 8;
    pub(crate) const ID_PROCESS: u32 = 9;
    pub(crate) const ID_THREAD: u32 = 10;
    pub(super) const ELAPSED_TIME_CLOCK: u32 = 11;
    pub(super) const ELAPSED_TIME_FREQUENCY: u32 = 12;
    pub(crate) const RUN_QUEUE_WAIT_TIME: u32 = 13;
    pub(crate) const BLOCK_IO_WAIT_TIME: u32 = 14;

    pub(crate) const FROM_STAT: [u32; 8] = [
        PROCESSOR_TIME,
        USER_TIME,
        PRIVILEGED_TIME,
        ELAPSED_TIME,
        PRIORITY_CURRENT,
        PRIORITY_BASE,
        THREAD_STATE,
        BLOCK_IO_WAIT_TIME,
    ];
}

const TIMER: Type = Type::TIMER_100NS;
const RATE: Type = Type::COUNTER_COUNTER;
const BULK: Type = Type::BULK_COUNT;
const SIZE: Type = Type::LARGE_RAWCOUNT;
const COUNT: Type = Type::RAWCOUNT;

const fn delay(id: u32, name: &'static str, source: &'static str, help: &'static str) -> CounterInfo {
    CounterInfo::row(id, name, TIMER, "%", 0, source, help)
}

#[rustfmt::skip]
const fn process_counters(id_name: &'static str) -> [CounterInfo; 33] {
    [
        CounterInfo::row(PROCESSOR_TIME, "% Processor Time", TIMER, "%", 0, "/proc/PID/stat: utime, stime",
            "Processor time of all threads of the process, including ended ones, in percent of one processor; \
             above 100 if the process runs on several processors. The kernel counts it in ticks of 10 ms. For \
             Idle: the time in which processors had nothing to do."),
        CounterInfo::row(USER_TIME, "% User Time", TIMER, "%", 0, "/proc/PID/stat: utime",
            "Processor time that the threads of the process spent in user mode, including guests of a virtual \
             machine."),
        CounterInfo::row(PRIVILEGED_TIME, "% Privileged Time", TIMER, "%", 0, "/proc/PID/stat: stime",
            "Processor time that the threads of the process spent in the kernel. Idle time is included, as on \
             Windows."),
        CounterInfo::row(VIRTUAL_BYTES_PEAK, "Virtual Bytes Peak", SIZE, "bytes", -6, "/proc/PID/status: VmPeak",
            "The maximum address space that the process has had mapped."),
        CounterInfo::row(VIRTUAL_BYTES, "Virtual Bytes", SIZE, "bytes", -6, "/proc/PID/stat: vsize (VmSize)",
            "Address space that the process has mapped, used or not. Kernel threads have none."),
        CounterInfo::row(PAGE_FAULTS, "Page Faults/sec", RATE, "1/s", -1, "/proc/PID/stat: minflt, majflt",
            "Page faults of the process: those that needed storage and those that did not."),
        CounterInfo::row(WORKING_SET_PEAK, "Working Set Peak", SIZE, "bytes", -5, "/proc/PID/status: VmHWM",
            "The maximum resident memory of the process. The process can reset it."),
        CounterInfo::row(WORKING_SET, "Working Set", SIZE, "bytes", -5, "/proc/PID/statm: resident (status: VmRSS)",
            "Resident memory of the process, including all of the pages that it shares with others."),
        CounterInfo::row(PAGE_FILE_BYTES, "Page File Bytes", SIZE, "bytes", -6, "/proc/PID/status: VmSwap",
            "Private memory of the process that is in swap space. Windows also counts reserved swap space."),
        CounterInfo::row(PRIVATE_BYTES, "Private Bytes", SIZE, "bytes", -5, "/proc/PID/status: RssAnon, VmSwap",
            "Private memory of the process, resident or swapped out. Unlike on Windows, memory that was \
             allocated but never touched is not included."),
        CounterInfo::row(THREAD_COUNT, "Thread Count", COUNT, "", 0, "/proc/PID/stat: num_threads",
            "Current number of threads of the process. For Idle: the number of processors."),
        CounterInfo::row(PRIORITY_BASE, "Priority Base", COUNT, "", 0, "/proc/PID/stat: nice, priority",
            "The priority of the main thread without priority inheritance. Higher is more urgent: 1 to 40 for \
             nice values from 19 to -20, so 20 for a nice value of 0; 41 plus the real-time priority for \
             real-time threads. On Windows, 0 to 31, and 8 is normal."),
        CounterInfo::row(ELAPSED_TIME, "Elapsed Time", Type::ELAPSED_TIME, "seconds", -4,
            "/proc/PID/stat: starttime",
            "The time since the process started. For instances that are not processes: the time since boot.")
            .clock(ELAPSED_TIME_CLOCK, ELAPSED_TIME_FREQUENCY),
        CounterInfo::row(ID_PROCESS, id_name, COUNT, "", -1, "/proc",
            "The id of the process. The kernel reuses it some time after the process has ended."),
        CounterInfo::row(CREATING_PROCESS_ID, "Creating Process ID", COUNT, "", -1, "/proc/PID/stat: ppid",
            "The id of the parent. When the parent ends, another process becomes the parent, often 1; Windows \
             keeps the id of the creator."),
        CounterInfo::row(HANDLE_COUNT, "Handle Count", COUNT, "", 0,
            "/proc/PID/fd: size (before Linux 6.2: its entries)",
            "Open file descriptors of the process."),
        CounterInfo::row(IO_READ_OPERATIONS, "IO Read Operations/sec", BULK, "1/s", 0, "/proc/PID/io: syscr",
            "System calls of the process that read from files, pipes, devices, and sockets (read). Calls such as \
             recv are not included. When a child has ended, the kernel adds its calls to those of its parent; _Total counts \
             them once."),
        CounterInfo::row(IO_WRITE_OPERATIONS, "IO Write Operations/sec", BULK, "1/s", 0, "/proc/PID/io: syscw",
            "System calls of the process that write to files, pipes, devices, and sockets (write). Calls such as \
             send are not included. When a child has ended, the kernel adds its calls to those of its parent; _Total counts \
             them once."),
        CounterInfo::row(IO_DATA_OPERATIONS, "IO Data Operations/sec", BULK, "1/s", 0, "/proc/PID/io: syscr, syscw",
            "System calls of the process that read or write. When a child has ended, the kernel adds those of the child to \
             those of its parent; _Total counts them once."),
        CounterInfo::row(IO_READ_BYTES, "IO Read Bytes/sec", BULK, "bytes/s", 0, "/proc/PID/io: rchar",
            "Bytes that system calls of the process read, including those from the page cache. Mapped files are \
             not included. When a child has ended, the kernel adds its bytes to those of its parent; _Total counts them \
             once."),
        CounterInfo::row(IO_WRITE_BYTES, "IO Write Bytes/sec", BULK, "bytes/s", 0, "/proc/PID/io: wchar",
            "Bytes that system calls of the process wrote, including those to the page cache. Mapped files are \
             not included. When a child has ended, the kernel adds its bytes to those of its parent; _Total counts them \
             once."),
        CounterInfo::row(IO_DATA_BYTES, "IO Data Bytes/sec", BULK, "bytes/s", 0, "/proc/PID/io: rchar, wchar",
            "Bytes that system calls of the process read or wrote. When a child has ended, the kernel adds those of the \
             child to those of its parent; _Total counts them once."),
        CounterInfo::row(WORKING_SET_PRIVATE, "Working Set - Private", SIZE, "bytes", -5,
            "/proc/PID/statm: resident less shared (status: RssAnon)",
            "Resident memory of the process that is neither file-backed nor shared."),
        CounterInfo::row(STORAGE_READ_BYTES, "Storage Read Bytes/sec", BULK, "bytes/s", 0,
            "/proc/PID/io: read_bytes",
            "Bytes that were read from storage for the process. When a child has ended, the kernel adds those of the \
             child to those of its parent; _Total counts them once. Linux only."),
        CounterInfo::row(STORAGE_WRITE_BYTES, "Storage Write Bytes/sec", BULK, "bytes/s", 0,
            "/proc/PID/io: write_bytes",
            "Bytes that the process caused to be written to storage, counted when it dirtied the pages. When a child has \
             ended, the kernel adds those of the child to those of its parent; _Total counts them once. Linux only."),
        CounterInfo::row(RUN_QUEUE_WAIT_TIME, "% Run Queue Wait Time", TIMER, "%", 0,
            "/proc/PID/task/*/schedstat: second",
            "Time that threads of the process were ready to run but waited for a processor, summed over the \
             threads, so it can exceed 100. The kernel counts a wait when it ends. Waits of threads that ended \
             between two samples are missing. Linux only."),
        CounterInfo::row(BLOCK_IO_WAIT_TIME, "% Block IO Wait Time", TIMER, "%", 0,
            "/proc/PID/task/*/stat: delayacct_blkio_ticks (kernel.task_delayacct=1)",
            "Time that threads of the process waited for block devices, summed over the threads, so it can \
             exceed 100. Requires a kernel that accounts for delays (sysctl kernel.task_delayacct). Linux only."),
        delay(SWAP_WAIT_TIME, "% Swap Wait Time", "taskstats: swapin_delay_total (kernel.task_delayacct=1)",
            "Time that threads of the process waited for pages from swap, summed over the threads, including \
             ended ones. Requires CAP_NET_ADMIN, and a kernel that accounts for delays (sysctl \
             kernel.task_delayacct). Linux only."),
        delay(RECLAIM_WAIT_TIME, "% Memory Reclaim Wait Time", "taskstats: freepages_delay_total (kernel.task_delayacct=1)",
            "Time that threads of the process spent freeing memory before an allocation succeeded (direct \
             reclaim). Otherwise like % Swap Wait Time."),
        delay(THRASHING_WAIT_TIME, "% Thrashing Wait Time", "taskstats: thrashing_delay_total (kernel.task_delayacct=1)",
            "Time that threads of the process waited for pages that had been evicted shortly before. Part of it \
             is also included in % Swap Wait Time. Otherwise like % Swap Wait Time."),
        delay(COMPACTION_WAIT_TIME, "% Memory Compaction Wait Time", "taskstats: compact_delay_total (kernel.task_delayacct=1)",
            "Time that threads of the process waited while the kernel moved pages to create contiguous memory. \
             Otherwise like % Swap Wait Time."),
        CounterInfo::companion(ELAPSED_TIME_CLOCK, "Elapsed Time Clock", SIZE),
        CounterInfo::companion(ELAPSED_TIME_FREQUENCY, "Elapsed Time Frequency", SIZE),
    ]
}

const PROCESS_COUNTERS: [CounterInfo; 33] = process_counters("ID Process");
const PROCESS_V2_COUNTERS: [CounterInfo; 33] = process_counters("Process ID");

const PROCESS_TOTAL: &str = "Sums of all other instances. So the processor time is that of all processors, \
    including idle time, as on Windows, but without interrupts. Running totals keep the values of \
                             ended processes, so they never go backwards. Input and output of processes that start \
                             and end between two samples are included when their parents are. Values that the \
                             user may not read are not included.";

/// What `_Exited` and `_Unattributed` are.
macro_rules! other_instances {
    () => {
        "_Exited has the processor time and page faults that no interval of a process shows: those of processes \
         that start and end between two samples, and those of other processes before their first and after their \
         last sample. The source is the time of reaped children in /proc/PID/stat (cminflt, cmajflt, cutime, \
         cstime). This does not include kernel threads and processes whose parent ignores SIGCHLD. Their time is \
         taken from the kernel's records of ended processes (taskstats), which require CAP_NET_ADMIN and Linux \
         5.19, and lack the time in which the kernel releases the memory of a process. _Unattributed has the \
         rest of the processors' user and system time: that of such processes if there are no records, and that \
         of processes that /proc does not show. In each interval, the processes, _Exited and _Unattributed add \
         up to the time of the processors that is neither idle time nor spent in interrupts. If the time of the \
         processes, which is measured by the clock, exceeds that of the processors, which is counted in ticks, \
         the excess is subtracted from later intervals of _Unattributed, up to a second per processor."
    };
}

pub(crate) static PROCESS: SetTable = SetTable {
    name: "Process",
    guid: 0x70d0_d093_9ffb_520a_a345_f2f1_beef_bfdc,
    instance_type: InstanceType::Multiple,
    help: "The resources that each process uses: processor time, memory, threads, handles, input and output.",
    instances: concat!(
        "Idle, then the processes by id, then _Exited, _Unattributed and _Total. The name is the kernel's \
         (comm), which has at most 15 bytes for programs; #n distinguishes processes with the same name. A \
         process named Idle is Idle#1, and likewise for the names of the other instances that are not processes. ",
        other_instances!()
    ),
    total: PROCESS_TOTAL,
    repeats: None,
    counters: &PROCESS_COUNTERS,
};

pub(crate) static PROCESS_V2: SetTable = SetTable {
    name: "Process V2",
    guid: 0xc4ad_15a8_1a8a_5788_894d_eca3_4302_dd87,
    instance_type: InstanceType::Multiple,
    help: "The resources that each process uses, as in the set Process, with the process id in the name.",
    instances: concat!(
        "Idle:0, then the processes by id as name:id, then _Exited, _Unattributed and _Total. ",
        other_instances!()
    ),
    total: PROCESS_TOTAL,
    repeats: Some("Process"),
    counters: &PROCESS_V2_COUNTERS,
};

#[rustfmt::skip]
pub(crate) static THREAD: SetTable = SetTable {
    name: "Thread",
    guid: 0xb50d_4960_380e_579e_bef5_d208_8562_b781,
    instance_type: InstanceType::Multiple,
    help: "The resources that each thread uses: processor time, switches, priority and state.",
    instances: "process/index, by process id. Index 0 is the main thread; the others follow in the order in \
        which they were started. _Total/_Total is last. There is no Idle, because the kernel does not show idle \
        threads.",
    total: "Sums of processor time and switches, including those of ended threads.",
    repeats: Some("Process"),
    counters: &[
        CounterInfo::row(thread::PROCESSOR_TIME, "% Processor Time", TIMER, "%", 0,
            "/proc/PID/task/TID/stat: utime, stime",
            "Processor time of the thread. The kernel counts it in ticks of 10 ms."),
        CounterInfo::row(thread::USER_TIME, "% User Time", TIMER, "%", 0, "/proc/PID/task/TID/stat: utime",
            "Processor time that the thread spent in user mode."),
        CounterInfo::row(thread::PRIVILEGED_TIME, "% Privileged Time", TIMER, "%", 0,
            "/proc/PID/task/TID/stat: stime",
            "Processor time that the thread spent in the kernel."),
        CounterInfo::row(thread::CONTEXT_SWITCHES, "Context Switches/sec", RATE, "1/s", -2,
            "/proc/PID/task/TID/schedstat: pcount (else status: voluntary_ctxt_switches, nonvoluntary_ctxt_switches)",
            "Context switches to the thread."),
        CounterInfo::row(thread::ELAPSED_TIME, "Elapsed Time", Type::ELAPSED_TIME, "seconds", -4,
            "/proc/PID/task/TID/stat: starttime",
            "The time since the thread started.").clock(thread::ELAPSED_TIME_CLOCK, thread::ELAPSED_TIME_FREQUENCY),
        CounterInfo::row(thread::PRIORITY_CURRENT, "Priority Current", COUNT, "", 0,
            "/proc/PID/task/TID/stat: priority",
            "The current priority, including priority inheritance. Higher is more urgent: 1 to 40 for nice \
             values from 19 to -20, so 20 for a nice value of 0; 41 plus the real-time priority for real-time \
             threads."),
        CounterInfo::row(thread::PRIORITY_BASE, "Priority Base", COUNT, "", 0,
            "/proc/PID/task/TID/stat: nice, rt_priority",
            "The priority without priority inheritance, on the scale of Priority Current."),
        CounterInfo::row(thread::THREAD_STATE, "Thread State", COUNT, "", 0, "/proc/PID/task/TID/stat: state",
            "The state as a number of Windows: 2 running or ready to run (R; Linux does not distinguish them), 4 \
             ended (Z, X), 5 waiting (S, D, T, t, I, P), 7 unknown."),
        CounterInfo::row(thread::ID_PROCESS, "ID Process", COUNT, "", -1, "/proc",
            "The id of the process that the thread belongs to."),
        CounterInfo::row(thread::ID_THREAD, "ID Thread", COUNT, "", -1, "/proc/PID/task",
            "The id of the thread. The kernel reuses it some time after the thread has ended."),
        CounterInfo::row(thread::RUN_QUEUE_WAIT_TIME, "% Run Queue Wait Time", TIMER, "%", 0,
            "/proc/PID/task/TID/schedstat: second",
            "Time that the thread was ready to run but waited for a processor. The kernel counts a wait when it \
             ends. Linux only."),
        CounterInfo::row(thread::BLOCK_IO_WAIT_TIME, "% Block IO Wait Time", TIMER, "%", 0,
            "/proc/PID/task/TID/stat: delayacct_blkio_ticks (kernel.task_delayacct=1)",
            "Time that the thread waited for block devices. Requires a kernel that accounts for delays (sysctl \
             kernel.task_delayacct). Linux only."),
        CounterInfo::companion(thread::ELAPSED_TIME_CLOCK, "Elapsed Time Clock", SIZE),
        CounterInfo::companion(thread::ELAPSED_TIME_FREQUENCY, "Elapsed Time Frequency", SIZE),
    ],
};

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
pub(super) const OF_WAITS: [u32; 2] = [RUN_QUEUE_WAIT_TIME, BLOCK_IO_WAIT_TIME];

/// Counters from taskstats.
pub(super) const OF_DELAYS: [u32; 4] =
    [SWAP_WAIT_TIME, RECLAIM_WAIT_TIME, THRASHING_WAIT_TIME, COMPACTION_WAIT_TIME];

/// Counters from `/proc/PID/io`.
pub(super) const OF_IO: [u32; 8] = [
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
pub(super) const OF_STATUS: [u32; 4] = [VIRTUAL_BYTES_PEAK, WORKING_SET_PEAK, PAGE_FILE_BYTES, PRIVATE_BYTES];

/// Counters that `/proc/PID/statm` also has, at a tenth of the cost.
pub(super) const OF_STATM: [u32; 2] = [WORKING_SET, WORKING_SET_PRIVATE];

/// Counters from `/proc/PID/stat`.
pub(super) const OF_STAT: [u32; 9] = [
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

    pub(crate) const OF_STAT: [u32; 8] = [
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
            "Processor time of all threads of the process, those that ended included, of one processor; a process on \
             several processors goes beyond 100. The kernel counts it in ticks of 10 ms. Of Idle: the time in which \
             processors had nothing to do."),
        CounterInfo::row(USER_TIME, "% User Time", TIMER, "%", 0, "/proc/PID/stat: utime",
            "Processor time that the threads of the process spent in its own code. Running guests of a virtual \
             machine is included."),
        CounterInfo::row(PRIVILEGED_TIME, "% Privileged Time", TIMER, "%", 0, "/proc/PID/stat: stime",
            "Processor time that the threads of the process spent in the kernel. Idle time counts here, as on Windows."),
        CounterInfo::row(VIRTUAL_BYTES_PEAK, "Virtual Bytes Peak", SIZE, "bytes", -6, "/proc/PID/status: VmPeak",
            "The most address space that the process ever had mapped."),
        CounterInfo::row(VIRTUAL_BYTES, "Virtual Bytes", SIZE, "bytes", -6, "/proc/PID/stat: vsize (VmSize)",
            "Address space that the process has mapped, used or not. Kernel threads have none."),
        CounterInfo::row(PAGE_FAULTS, "Page Faults/sec", RATE, "1/s", -1, "/proc/PID/stat: minflt, majflt",
            "Page faults of the process: those that needed storage and those that did not."),
        CounterInfo::row(WORKING_SET_PEAK, "Working Set Peak", SIZE, "bytes", -5, "/proc/PID/status: VmHWM",
            "The most memory that was ever resident for the process. The process may reset it."),
        CounterInfo::row(WORKING_SET, "Working Set", SIZE, "bytes", -5, "/proc/PID/statm: resident (status: VmRSS)",
            "Memory of the process that is resident, pages that it shares with others included in full."),
        CounterInfo::row(PAGE_FILE_BYTES, "Page File Bytes", SIZE, "bytes", -6, "/proc/PID/status: VmSwap",
            "Private memory of the process that lies in swap space now. Windows also counts what is reserved there."),
        CounterInfo::row(PRIVATE_BYTES, "Private Bytes", SIZE, "bytes", -5, "/proc/PID/status: RssAnon, VmSwap",
            "Private memory that the process really has, resident or swapped out. Memory that it asked for and never \
             touched does not count, as it does on Windows."),
        CounterInfo::row(THREAD_COUNT, "Thread Count", COUNT, "", 0, "/proc/PID/stat: num_threads",
            "Threads of the process at this moment. Of Idle: the processors."),
        CounterInfo::row(PRIORITY_BASE, "Priority Base", COUNT, "", 0, "/proc/PID/stat: nice, priority",
            "The priority of the main thread without what it inherits, higher being more urgent: 20 is a nice value of 0, 1 and 40 are 19 and \
             -20; real time is 41 and its priority. Windows' scale goes from 0 to 31, 8 being normal."),
        CounterInfo::row(ELAPSED_TIME, "Elapsed Time", Type::ELAPSED_TIME, "seconds", -4,
            "/proc/PID/stat: starttime",
            "How long the process has been running. Of instances that are no processes: how long the machine has.")
            .clock(ELAPSED_TIME_CLOCK, ELAPSED_TIME_FREQUENCY),
        CounterInfo::row(ID_PROCESS, id_name, COUNT, "", -1, "/proc",
            "The number of the process. It is given to another one some time after the process has ended."),
        CounterInfo::row(CREATING_PROCESS_ID, "Creating Process ID", COUNT, "", -1, "/proc/PID/stat: ppid",
            "The number of the parent. When the parent ends, another process takes its place, often 1; Windows keeps \
             the number of the creator."),
        CounterInfo::row(HANDLE_COUNT, "Handle Count", COUNT, "", 0,
            "/proc/PID/fd: size (before Linux 6.2: its entries)",
            "Open file descriptors of the process."),
        CounterInfo::row(IO_READ_OPERATIONS, "IO Read Operations/sec", BULK, "1/s", 0, "/proc/PID/io: syscr",
            "Calls of the process that read: from files, pipes, devices, sockets by read. Calls such as recv do not \
             count."),
        CounterInfo::row(IO_WRITE_OPERATIONS, "IO Write Operations/sec", BULK, "1/s", 0, "/proc/PID/io: syscw",
            "Calls of the process that write: to files, pipes, devices, sockets by write. Calls such as send do not \
             count."),
        CounterInfo::row(IO_DATA_OPERATIONS, "IO Data Operations/sec", BULK, "1/s", 0, "/proc/PID/io: syscr, syscw",
            "Calls of the process that read or write."),
        CounterInfo::row(IO_READ_BYTES, "IO Read Bytes/sec", BULK, "bytes/s", 0, "/proc/PID/io: rchar",
            "Bytes that calls of the process read, from the page cache too. What it maps into memory does not count."),
        CounterInfo::row(IO_WRITE_BYTES, "IO Write Bytes/sec", BULK, "bytes/s", 0, "/proc/PID/io: wchar",
            "Bytes that calls of the process wrote, to the page cache too. What it maps into memory does not count."),
        CounterInfo::row(IO_DATA_BYTES, "IO Data Bytes/sec", BULK, "bytes/s", 0, "/proc/PID/io: rchar, wchar",
            "Bytes that calls of the process read or wrote."),
        CounterInfo::row(WORKING_SET_PRIVATE, "Working Set - Private", SIZE, "bytes", -5,
            "/proc/PID/statm: resident less shared (status: RssAnon)",
            "Resident memory of the process that belongs to no file and to no shared segment."),
        CounterInfo::row(STORAGE_READ_BYTES, "Storage Read Bytes/sec", BULK, "bytes/s", 0,
            "/proc/PID/io: read_bytes",
            "Bytes that had to be fetched from storage for the process. Linux only."),
        CounterInfo::row(STORAGE_WRITE_BYTES, "Storage Write Bytes/sec", BULK, "bytes/s", 0,
            "/proc/PID/io: write_bytes",
            "Bytes that the process caused to be written to storage, counted when it dirtied the pages. Linux only."),
        CounterInfo::row(RUN_QUEUE_WAIT_TIME, "% Run Queue Wait Time", TIMER, "%", 0,
            "/proc/PID/task/*/schedstat: second",
            "Time that threads of the process were ready to run but waited for a processor, added up over the threads, \
             so that more than 100 is possible. The kernel adds a wait when it ends. The waits of threads that ended \
             between two samples are missing. Linux only."),
        CounterInfo::row(BLOCK_IO_WAIT_TIME, "% Block IO Wait Time", TIMER, "%", 0,
            "/proc/PID/task/*/stat: delayacct_blkio_ticks (kernel.task_delayacct=1)",
            "Time that threads of the process waited for block devices, added up over the threads, so that more than \
             100 is possible. Only where the kernel accounts for delays (sysctl kernel.task_delayacct). Linux only."),
        delay(SWAP_WAIT_TIME, "% Swap Wait Time", "taskstats: swapin_delay_total (kernel.task_delayacct=1)",
            "Time that threads of the process waited for pages from swap, added up over the threads, those that ended \
             included. Needs CAP_NET_ADMIN, and a kernel that accounts for delays (sysctl kernel.task_delayacct). Linux only."),
        delay(RECLAIM_WAIT_TIME, "% Memory Reclaim Wait Time", "taskstats: freepages_delay_total (kernel.task_delayacct=1)",
            "Time in which threads of the process had to free memory before they got any (direct reclaim). Like % Swap \
             Wait Time otherwise."),
        delay(THRASHING_WAIT_TIME, "% Thrashing Wait Time", "taskstats: thrashing_delay_total (kernel.task_delayacct=1)",
            "Time that threads of the process waited for pages that had been evicted shortly before. A part of it is also \
             % Swap Wait Time. Like % Swap Wait Time otherwise."),
        delay(COMPACTION_WAIT_TIME, "% Memory Compaction Wait Time", "taskstats: compact_delay_total (kernel.task_delayacct=1)",
            "Time that threads of the process waited until the kernel had moved pages to get contiguous memory. Like % \
             Swap Wait Time otherwise."),
        CounterInfo::companion(ELAPSED_TIME_CLOCK, "Elapsed Time Clock", SIZE),
        CounterInfo::companion(ELAPSED_TIME_FREQUENCY, "Elapsed Time Frequency", SIZE),
    ]
}

const PROCESS_COUNTERS: [CounterInfo; 33] = process_counters("ID Process");
const PROCESS_V2_COUNTERS: [CounterInfo; 33] = process_counters("Process ID");

const PROCESS_TOTAL: &str = "Sums of all other instances; so the processor time is that of all processors, idle \
                             time included, as on Windows, without interrupts. Running totals keep the values of \
                             ended processes, so they never go backwards. Input and output of processes that start \
                             and end between two samples are included when their parents are. Values without read \
                             permission are not included.";

/// What `_Exited` and `_Unattributed` are.
macro_rules! other_instances {
    () => {
        "_Exited has the processor time and page faults that no interval of a process shows: of processes that start \
         and end between two samples, of others after their last sample, and before their first one. The source is \
         the time of reaped children in /proc/PID/stat (cminflt, cmajflt, cutime, cstime). The kernel does not count \
         there processes whose parent ignores SIGCHLD, nor kernel threads. The time of these is taken from the \
         kernel's records of ended processes (taskstats), which need CAP_NET_ADMIN and Linux 5.19, and lack the time \
         in which the kernel releases the memory of a process. _Unattributed has what then remains of the processors' \
         user and system time: of such processes without these records, of processes that /proc does not show. In \
         each interval the processes, _Exited and _Unattributed add up to the time of the processors that is neither \
         idle time nor of interrupts. Where the clock of the processes shows more than the ticks of the processors, \
         the next intervals of _Unattributed make up for it, up to a second per processor."
    };
}

pub(crate) static PROCESS: SetTable = SetTable {
    name: "Process",
    guid: 0x70d0_d093_9ffb_520a_a345_f2f1_beef_bfdc,
    instance_type: InstanceType::Multiple,
    help: "The resources that each process uses: processor time, memory, threads, handles, input and output.",
    instances: concat!(
        "Idle, then the processes by number, then _Exited, _Unattributed and _Total. The name is the kernel's (comm), \
         at most 15 bytes of it for programs; #n distinguishes processes of the same name. One that calls itself Idle \
         is Idle#1, and so with the names of the other instances that are no processes. ",
        other_instances!()
    ),
    total: PROCESS_TOTAL,
    counters: &PROCESS_COUNTERS,
};

pub(crate) static PROCESS_V2: SetTable = SetTable {
    name: "Process V2",
    guid: 0xc4ad_15a8_1a8a_5788_894d_eca3_4302_dd87,
    instance_type: InstanceType::Multiple,
    help: "The resources that each process uses, as in the set Process, with the process id in the name.",
    instances: concat!(
        "Idle:0, then the processes by number as name:number, then _Exited, _Unattributed and _Total. ",
        other_instances!()
    ),
    total: PROCESS_TOTAL,
    counters: &PROCESS_V2_COUNTERS,
};

#[rustfmt::skip]
pub(crate) static THREAD: SetTable = SetTable {
    name: "Thread",
    guid: 0xb50d_4960_380e_579e_bef5_d208_8562_b781,
    instance_type: InstanceType::Multiple,
    help: "The resources that each thread uses: processor time, switches, priority and state.",
    instances: "process/index, by the process's number; index 0 is the main thread, the others follow in the order in \
                which they were started. _Total/_Total comes last. There is no Idle: the kernel shows no idle threads.",
    total: "Sums of processor time and switches, including those of ended threads.",
    counters: &[
        CounterInfo::row(thread::PROCESSOR_TIME, "% Processor Time", TIMER, "%", 0,
            "/proc/PID/task/TID/stat: utime, stime",
            "Processor time of the thread. The kernel counts it in ticks of 10 ms."),
        CounterInfo::row(thread::USER_TIME, "% User Time", TIMER, "%", 0, "/proc/PID/task/TID/stat: utime",
            "Processor time that the thread spent in the program's own code."),
        CounterInfo::row(thread::PRIVILEGED_TIME, "% Privileged Time", TIMER, "%", 0,
            "/proc/PID/task/TID/stat: stime",
            "Processor time that the thread spent in the kernel."),
        CounterInfo::row(thread::CONTEXT_SWITCHES, "Context Switches/sec", RATE, "1/s", -2,
            "/proc/PID/task/TID/schedstat: pcount (else status: voluntary_ctxt_switches, nonvoluntary_ctxt_switches)",
            "How often a processor turned to the thread."),
        CounterInfo::row(thread::ELAPSED_TIME, "Elapsed Time", Type::ELAPSED_TIME, "seconds", -4,
            "/proc/PID/task/TID/stat: starttime",
            "How long the thread has been there.").clock(thread::ELAPSED_TIME_CLOCK, thread::ELAPSED_TIME_FREQUENCY),
        CounterInfo::row(thread::PRIORITY_CURRENT, "Priority Current", COUNT, "", 0,
            "/proc/PID/task/TID/stat: priority",
            "The priority at this moment, with what a lock lent it, higher being more urgent: 20 is a nice value of 0, \
             1 and 40 are 19 and -20; real time is 41 and its priority."),
        CounterInfo::row(thread::PRIORITY_BASE, "Priority Base", COUNT, "", 0,
            "/proc/PID/task/TID/stat: nice, rt_priority",
            "The priority that was set, in the scale of Priority Current."),
        CounterInfo::row(thread::THREAD_STATE, "Thread State", COUNT, "", 0, "/proc/PID/task/TID/stat: state",
            "Windows' numbers: 2 runs or is ready to (R; Linux does not distinguish them), 4 has ended (Z, X), 5 waits \
             (S, D, T, t, I, P), 7 unknown."),
        CounterInfo::row(thread::ID_PROCESS, "ID Process", COUNT, "", -1, "/proc",
            "The number of the process that the thread belongs to."),
        CounterInfo::row(thread::ID_THREAD, "ID Thread", COUNT, "", -1, "/proc/PID/task",
            "The number of the thread. It is given to another one some time after the thread has ended."),
        CounterInfo::row(thread::RUN_QUEUE_WAIT_TIME, "% Run Queue Wait Time", TIMER, "%", 0,
            "/proc/PID/task/TID/schedstat: second",
            "Time that the thread was ready to run but waited for a processor. The kernel adds a wait when it ends. \
             Linux only."),
        CounterInfo::row(thread::BLOCK_IO_WAIT_TIME, "% Block IO Wait Time", TIMER, "%", 0,
            "/proc/PID/task/TID/stat: delayacct_blkio_ticks (kernel.task_delayacct=1)",
            "Time that the thread waited for block devices. Only where the kernel accounts for delays (sysctl \
             kernel.task_delayacct). Linux only."),
        CounterInfo::companion(thread::ELAPSED_TIME_CLOCK, "Elapsed Time Clock", SIZE),
        CounterInfo::companion(thread::ELAPSED_TIME_FREQUENCY, "Elapsed Time Frequency", SIZE),
    ],
};

//! The counters of both processor sets.

use tachograph_counters::CounterType;
use tachograph_perflib::registration::InstanceType;

use crate::table::{CounterInfo, SetTable};

/// The set with NUMA nodes. The ids are those of Windows.
#[rustfmt::skip]
pub(super) const PROCESSOR_INFORMATION: SetTable = SetTable {
    name: "Processor Information",
    guid: 0xb4fc721a_0378_476f_89ba_a5a79f810b36,
    instance_type: InstanceType::Multiple,
    help: "How busy each processor is and with what, by NUMA node.",
    instances: "_Total, then for each NUMA node with processors \"node,_Total\" and \"node,index\". Node numbers are \
        the kernel's. The index counts all processors of the node; offline ones have no instance, but are counted.",
    total: TOTAL,
    repeats: None,
    counters: &[
        PROCESSOR_TIME,
        USER_TIME,
        PRIVILEGED_TIME,
        INTERRUPTS,
        DPC_TIME,
        INTERRUPT_TIME,
        DPCS,
        IDLE_TIME,
        C1_TIME,
        C2_TIME,
        C3_TIME,
        C1_TRANSITIONS,
        C2_TRANSITIONS,
        C3_TRANSITIONS,
        CounterInfo::row(15, "% Priority Time", CounterType::TIMER_INV_100NS, "%", 0,
            "/proc/stat: cpuN idle, iowait, steal, nice",
            "Share of the time in which the processor ran the kernel or programs that do not have low priority, \
             which on Linux is a nice value above 0."),
        CounterInfo::row(17, "Processor Frequency", CounterType::RAWCOUNT, "MHz", 0,
            "/sys/devices/system/cpu/cpuN/cpufreq/scaling_cur_freq",
            "The processor's current frequency according to the kernel, in MHz. Totals are means."),
        CounterInfo::row(18, "% of Maximum Frequency", CounterType::RAWCOUNT, "%", 0,
            "/sys/devices/system/cpu/cpuN/cpufreq/scaling_cur_freq, cpuinfo_max_freq",
            "The current frequency in percent of the processor's highest frequency, including boost."),
        CounterInfo::row(20, "Clock Interrupts/sec", CounterType::COUNTER_COUNTER, "1/s", 0,
            "/proc/interrupts: LOC, or the architecture's timer",
            "Interrupts of the processor's own timer. Linux stops the tick of an idle processor and has \
             high-resolution timers, so the rate is not fixed."),
        CounterInfo::row(23, "Idle Break Events/sec", CounterType::BULK_COUNT, "1/s", 0,
            "/sys/devices/system/cpu/cpuN/cpuidle/state*/usage",
            "How often the processor left an idle state, including busy waiting (POLL)."),
        CounterInfo::row(24, "% Processor Performance", CounterType::AVERAGE_BULK, "%", 0,
            "/sys/devices/system/cpu/cpuN/cpufreq/stats/time_in_state",
            "The average frequency in percent of the nominal one (base_frequency, ACPI CPPC's nominal frequency, else \
             the highest). Linux counts the frequency that was set, even while the processor was idle.").base(25),
        CounterInfo::companion(25, "% Processor Performance Base", CounterType::AVERAGE_BASE),
        CounterInfo::row(30, "% Performance Limit", CounterType::RAWCOUNT, "%", 0,
            "/sys/devices/system/cpu/cpuN/cpufreq/scaling_max_freq, cpuinfo_max_freq",
            "The highest frequency that the cpufreq policy currently allows, in percent of the processor's highest frequency."),
        STEAL_TIME,
        IOWAIT_TIME,
        GUEST_TIME,
        NICE_TIME,
        softirqs(110, "High-Priority Tasklet SoftIRQs/sec", "/proc/softirqs: HI, column of the processor",
            "High-priority tasklet softirqs that the processor handled."),
        softirqs(111, "Timer SoftIRQs/sec", "/proc/softirqs: TIMER, column of the processor",
            "Timer softirqs that the processor handled."),
        softirqs(112, "Network Transmit SoftIRQs/sec", "/proc/softirqs: NET_TX, column of the processor",
            "Softirqs that the processor handled after packets were sent."),
        softirqs(113, "Network Receive SoftIRQs/sec", "/proc/softirqs: NET_RX, column of the processor",
            "Softirqs in which the processor processed received packets."),
        softirqs(114, "Block SoftIRQs/sec", "/proc/softirqs: BLOCK, column of the processor",
            "Softirqs in which the processor processed completed disk operations."),
        softirqs(115, "Interrupt Poll SoftIRQs/sec", "/proc/softirqs: IRQ_POLL, column of the processor",
            "Softirqs in which the processor polled devices."),
        softirqs(116, "Tasklet SoftIRQs/sec", "/proc/softirqs: TASKLET, column of the processor",
            "Tasklet softirqs, which drivers use, that the processor handled."),
        softirqs(117, "Scheduler SoftIRQs/sec", "/proc/softirqs: SCHED, column of the processor",
            "Softirqs in which the scheduler balanced the load between processors."),
        softirqs(118, "High-Resolution Timer SoftIRQs/sec", "/proc/softirqs: HRTIMER, column of the processor",
            "High-resolution timer softirqs that the processor handled."),
        softirqs(119, "RCU SoftIRQs/sec", "/proc/softirqs: RCU, column of the processor",
            "Softirqs in which the processor freed memory that no reader uses any more (read-copy-update)."),
        softnet(120, CounterType::BULK_COUNT, "Network Packets Processed/sec", "1/s",
            "/proc/net/softnet_stat: first column", "Packets that the processor took from the queues of network devices, or from other processors."),
        softnet(121, CounterType::BULK_COUNT, "Network Packets Dropped/sec", "1/s",
            "/proc/net/softnet_stat: second column", "Received packets that were dropped because the queue of the processor was full (net.core.netdev_max_backlog)."),
        softnet(122, CounterType::BULK_COUNT, "Network Time Squeezes/sec", "1/s",
            "/proc/net/softnet_stat: third column", "How often the processor stopped with packets still waiting, because its budget or time was used up (net.core.netdev_budget, netdev_budget_usecs)."),
        softnet(123, CounterType::BULK_COUNT, "Network RPS Wakeups/sec", "1/s",
            "/proc/net/softnet_stat: tenth column", "How often another processor woke this one to process packets (receive packet steering)."),
        softnet(124, CounterType::BULK_COUNT, "Network Flow Limit Drops/sec", "1/s",
            "/proc/net/softnet_stat: eleventh column", "Received packets that were dropped because a single flow used most of the queue of the processor (net.core.flow_limit_cpu_bitmap)."),
        softnet(125, CounterType::RAWCOUNT, "Network Backlog", "",
            "/proc/net/softnet_stat: twelfth column", "Received packets that are waiting for the processor."),
    ],
};

/// The older set, by processor id. Its counters have the same ids as in the newer set.
pub(super) const PROCESSOR: SetTable = SetTable {
    name: "Processor",
    guid: 0x60168abb_3630_5e93_82c5_fa3074bbcad0,
    instance_type: InstanceType::Multiple,
    help: "How busy each processor is and with what.",
    instances: "Online processors by the kernel's number, then _Total.",
    total: TOTAL,
    repeats: Some("Processor Information"),
    counters: &[
        PROCESSOR_TIME,
        USER_TIME,
        PRIVILEGED_TIME,
        INTERRUPTS,
        DPC_TIME,
        INTERRUPT_TIME,
        DPCS,
        IDLE_TIME,
        C1_TIME,
        C2_TIME,
        C3_TIME,
        C1_TRANSITIONS,
        C2_TRANSITIONS,
        C3_TRANSITIONS,
        STEAL_TIME,
        IOWAIT_TIME,
        GUEST_TIME,
        NICE_TIME,
    ],
};

const TOTAL: &str = "For times, frequencies and percentages, the mean of the processors' raw values, rounded down; for counts, and for \
    averages and their bases, the sums. Totals restart when a processor goes offline or online.";

#[rustfmt::skip]
const PROCESSOR_TIME: CounterInfo = CounterInfo::row(0, "% Processor Time", CounterType::TIMER_INV_100NS, "%", 0,
    "/proc/stat: cpuN idle, iowait, steal",
    "Share of the time in which the processor ran programs or the kernel. Waiting for a device is idle time. Steal \
     time is neither busy nor idle: user, privileged, idle and steal time add up to 100 %.");

#[rustfmt::skip]
const USER_TIME: CounterInfo = CounterInfo::row(1, "% User Time", CounterType::TIMER_100NS, "%", 0,
    "/proc/stat: cpuN user, nice",
    "Share of the time in which programs ran, including those of low priority and virtual machines (% Nice Time, \
     % Guest Time).");

#[rustfmt::skip]
const PRIVILEGED_TIME: CounterInfo = CounterInfo::row(2, "% Privileged Time", CounterType::TIMER_100NS, "%", 0,
    "/proc/stat: cpuN system, irq, softirq",
    "Share of the time in which the kernel ran, including interrupts and softirqs.");

#[rustfmt::skip]
const INTERRUPTS: CounterInfo = CounterInfo::row(3, "Interrupts/sec", CounterType::COUNTER_COUNTER, "1/s", 0,
    "/proc/interrupts: column of the processor",
    "Hardware interrupts that the processor took, including timer and inter-processor interrupts. TLB shootdowns \
     are counted once, as function call interrupts.");

#[rustfmt::skip]
const DPC_TIME: CounterInfo = CounterInfo::row(4, "% DPC Time", CounterType::TIMER_100NS, "%", 0,
    "/proc/stat: cpuN softirq",
    "Share of the time in softirqs, which on Linux do what deferred procedure calls do on Windows. Time in ksoftirqd \
     threads counts as well.");

#[rustfmt::skip]
const INTERRUPT_TIME: CounterInfo = CounterInfo::row(5, "% Interrupt Time", CounterType::TIMER_100NS, "%", 0,
    "/proc/stat: cpuN irq",
    "Share of the time in hardware interrupts. It stays 0 if the kernel does not account for it separately \
     (CONFIG_IRQ_TIME_ACCOUNTING): the time is then charged to whatever was interrupted.");

#[rustfmt::skip]
const DPCS: CounterInfo = CounterInfo::row(6, "DPCs Queued/sec", CounterType::COUNTER_COUNTER, "1/s", 0,
    "/proc/softirqs: column of the processor",
    "Softirqs that the processor handled. Linux counts a softirq when it is handled, Windows a call when it is queued.");

#[rustfmt::skip]
const IDLE_TIME: CounterInfo = CounterInfo::row(8, "% Idle Time", CounterType::TIMER_100NS, "%", 0,
    "/proc/stat: cpuN idle, iowait",
    "Share of the time in which the processor had nothing to do, including waits for a device (% IO Wait Time).");

#[rustfmt::skip]
const STEAL_TIME: CounterInfo = CounterInfo::row(100, "% Steal Time", CounterType::TIMER_100NS, "%", 0,
    "/proc/stat: cpuN steal",
    "Share of the time in which this virtual processor had work and the hypervisor ran something else. It is neither \
     busy nor idle time.");

#[rustfmt::skip]
const IOWAIT_TIME: CounterInfo = CounterInfo::row(101, "% IO Wait Time", CounterType::TIMER_100NS, "%", 0,
    "/proc/stat: cpuN iowait",
    "Share of the time in which the processor was idle and a thread that last ran on it waited for a disk. It is part \
     of % Idle Time. The kernel sometimes takes some of it back; the raw value then stays until the kernel's count reaches it again.");

#[rustfmt::skip]
const GUEST_TIME: CounterInfo = CounterInfo::row(102, "% Guest Time", CounterType::TIMER_100NS, "%", 0,
    "/proc/stat: cpuN guest, guest_nice",
    "Share of the time in which virtual machines of this host ran. It is part of % User Time; the time of virtual machines of low \
     priority is also part of % Nice Time.");

#[rustfmt::skip]
const NICE_TIME: CounterInfo = CounterInfo::row(103, "% Nice Time", CounterType::TIMER_100NS, "%", 0,
    "/proc/stat: cpuN nice",
    "Share of the time in which programs of low priority ran, that is with a nice value above 0. It is part of % User \
     Time, and includes virtual machines of low priority.");

const fn softirqs(id: u32, name: &'static str, source: &'static str, help: &'static str) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::BULK_COUNT, "1/s", 0, source, help)
}

const fn softnet(
    id: u32,
    counter_type: CounterType,
    name: &'static str,
    unit: &'static str,
    source: &'static str,
    help: &'static str,
) -> CounterInfo {
    CounterInfo::row(id, name, counter_type, unit, 0, source, help)
}

const CLASS_SOURCE: &str = "/sys/devices/system/cpu/cpuN/cpuidle/state*/name, time, usage";

const fn class_time(id: u32, name: &'static str, help: &'static str) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::TIMER_100NS, "%", 0, CLASS_SOURCE, help)
}

const fn class_transitions(id: u32, name: &'static str, help: &'static str) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::BULK_COUNT, "1/s", 0, CLASS_SOURCE, help)
}

const C1_TIME: CounterInfo = class_time(
    9,
    "% C1 Time",
    "Share of the time in the lightest idle states in which the processor halts: C1 and C1E, or the first one if \
     states have other names. Linux adds the time when the processor leaves the state; busy waiting (POLL) belongs to no class.",
);
const C2_TIME: CounterInfo = class_time(
    10,
    "% C2 Time",
    "Share of the time in the idle state C2, or the second one if states have other names. Linux adds the time when \
     the processor leaves the state.",
);
const C3_TIME: CounterInfo = class_time(
    11,
    "% C3 Time",
    "Share of the time in the idle state C3 and all deeper ones (C6, C7, C8, C10), or the third and deeper ones if states \
     have other names. Linux adds the time when the processor leaves the state.",
);
const C1_TRANSITIONS: CounterInfo = class_transitions(
    12,
    "C1 Transitions/sec",
    "How often the processor entered an idle state that counts as C1; see % C1 Time.",
);
const C2_TRANSITIONS: CounterInfo = class_transitions(
    13,
    "C2 Transitions/sec",
    "How often the processor entered an idle state that counts as C2; see % C2 Time.",
);
const C3_TRANSITIONS: CounterInfo = class_transitions(
    14,
    "C3 Transitions/sec",
    "How often the processor entered an idle state that counts as C3; see % C3 Time.",
);

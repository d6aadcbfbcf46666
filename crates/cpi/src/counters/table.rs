//! The counters of `Processor CPI`.

use tachograph_counters::CounterType as T;
use tachograph_perflib::registration::InstanceType;
use tachograph_system::table::{CounterInfo, SetTable};

pub(super) const CPI: u32 = 1;
pub(super) const CPI_WHILE_BUSY: u32 = 2;
pub(super) const CORE_CPI: u32 = 3;
pub(super) const INSTRUCTIONS: u32 = 4;
pub(super) const CORE_CYCLES: u32 = 5;
pub(super) const RUNNING: u32 = 6;
const INSTRUCTIONS_BASE: u32 = 7;
const BUSY_BASE: u32 = 8;
const ENABLED_BASE: u32 = 9;
const ELAPSED_BASE: u32 = 10;

/// The displayed counters: all except the bases.
pub(super) const ALL_COUNTERS: [u32; 6] = [CPI, CPI_WHILE_BUSY, CORE_CPI, INSTRUCTIONS, CORE_CYCLES, RUNNING];

/// The counter set. Windows has no set of this name, so the counter ids are simply consecutive.
pub(super) const PROCESSOR_CPI: SetTable = SetTable {
    name: "Processor CPI",
    guid: 0x3723d365_8949_58a1_90a0_8f2f9ca64136,
    instance_type: InstanceType::Multiple,
    help: "Cycles per instruction of each processor, by NUMA node, from hardware counters.",
    instances: "The same as in Processor Information: _Total, then for each NUMA node with processors \"node,_Total\" and \
        \"node,index\". An offline processor has no instance.",
    total: "The sums over the processors, so every ratio is a ratio of sums.",
    repeats: None,
    counters: &[
        CounterInfo::row(
            CPI,
            "Cycles Per Instruction",
            T::AVERAGE_BULK,
            "cycles",
            0,
            "perf_event: elapsed cycles / instructions",
            "Elapsed cycles per instruction, including idle time: an idle machine has a high value. Elapsed \
             cycles advance in idle and do not follow the core's frequency: those of the time stamp \
             counter on x86, elsewhere derived from the cycle counter. If that halts in idle, an \
             interval without observed busy time is reported with the next one.",
        )
        .base(ELAPSED_BASE),
        CounterInfo::row(
            CPI_WHILE_BUSY,
            "Cycles Per Instruction While Busy",
            T::AVERAGE_BULK,
            "cycles",
            0,
            "perf_event: elapsed cycles / instructions; busy share",
            "Elapsed cycles scaled to the busy share of the processor, per instruction. If only \
             /proc/stat has the busy share, it is known in steps of 10 ms, and the value lags by up to \
             one step.",
        )
        .base(BUSY_BASE),
        CounterInfo::row(
            CORE_CPI,
            "Core Cycles Per Instruction",
            T::AVERAGE_BULK,
            "cycles",
            0,
            "perf_event: PERF_COUNT_HW_CPU_CYCLES / PERF_COUNT_HW_INSTRUCTIONS",
            "Cycles of the core's own clock per instruction: what perf stat counts. Whether they halt in \
             idle, as on x86, depends on the hardware.",
        )
        .base(INSTRUCTIONS_BASE),
        CounterInfo::row(
            INSTRUCTIONS,
            "Instructions/sec",
            T::BULK_COUNT,
            "1/s",
            -7,
            "perf_event: PERF_COUNT_HW_INSTRUCTIONS",
            "Instructions executed, including those of the kernel.",
        ),
        CounterInfo::row(
            CORE_CYCLES,
            "Cycles/sec",
            T::BULK_COUNT,
            "1/s",
            -7,
            "perf_event: PERF_COUNT_HW_CPU_CYCLES",
            "Cycles of the core's own clock. If they halt in idle, as on x86, this value divided by the \
             busy share is the frequency while busy.",
        ),
        CounterInfo::row(
            RUNNING,
            "% Counter Running Time",
            T::SAMPLE_FRACTION,
            "%",
            0,
            "perf_event: time_running / time_enabled",
            "Share of the time for which the counters ran. Below 100, the hardware counters were shared, \
             and counts are scaled up.",
        )
        .base(ENABLED_BASE),
        CounterInfo::companion(INSTRUCTIONS_BASE, "Instructions Base", T::AVERAGE_BASE),
        CounterInfo::companion(BUSY_BASE, "Instructions While Busy Base", T::AVERAGE_BASE),
        CounterInfo::companion(ENABLED_BASE, "Counter Enabled Time Base", T::SAMPLE_BASE),
        CounterInfo::companion(ELAPSED_BASE, "Instructions In Elapsed Time Base", T::AVERAGE_BASE),
    ],
};

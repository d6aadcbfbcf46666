//! The tables of the sets of graphics processors.

use tachograph_counters::CounterType;
use tachograph_perflib::registration::InstanceType;

use crate::table::{CounterInfo, SetTable};

pub(super) const UTILIZATION: u32 = 1;
pub(super) const RUNNING_TIME: u32 = 2;

pub(super) const DEDICATED: u32 = 1;
pub(super) const SHARED: u32 = 2;
pub(super) const COMMITTED: u32 = 3;
pub(super) const DEDICATED_LIMIT: u32 = 4;
pub(super) const SHARED_LIMIT: u32 = 5;

pub(super) const BUSY: u32 = 1;
pub(super) const MEMORY_BUSY: u32 = 2;
pub(super) const TEMPERATURE: u32 = 3;
pub(super) const POWER: u32 = 4;

#[rustfmt::skip]
pub(super) static ENGINE: SetTable = SetTable {
    name: "GPU Engine",
    guid: 0x0f3cfb40_9d09_532f_ad8f_4bdc734b6b48,
    instance_type: InstanceType::Multiple,
    help: "How much each process uses the engines of the graphics processors. Reading processes of other users \
        requires privileges.",
    instances: "An engine of an adapter that a process uses, in Windows' form: `pid_1234_luid_0x00000000_0x00000300_phys_0_eng_0_engtype_3D`. The luid is the adapter's PCI domain, and its bus, device and function. A \
        client that several processes share is attributed to the first of them.",
    total: "",
    repeats: None,
    counters: &[
        CounterInfo::row(UTILIZATION, "Utilization Percentage", CounterType::TIMER_100NS, "%", 0,
            "/proc/PID/fdinfo/*: drm-engine-*; xe: drm-cycles-* of drm-total-cycles-*; NVML: nvmlDeviceGetProcessUtilization",
            "Share of the interval in which the engine worked for the process. It can exceed 100 if the engine \
             consists of several units. The kernel counts a job when it ends. NVIDIA's library reports averages \
             of its own samples, which are multiplied by the elapsed time."),
        CounterInfo::row(RUNNING_TIME, "Running Time", CounterType::LARGE_RAWCOUNT, "100 ns", -7,
            "/proc/PID/fdinfo/*: drm-engine-*; xe: drm-cycles-* of drm-total-cycles-*; NVML: nvmlDeviceGetProcessUtilization",
            "The time in units of 100 ns that the engine has worked for the process."),
    ],
};

#[rustfmt::skip]
pub(super) static ADAPTER_MEMORY: SetTable = SetTable {
    name: "GPU Adapter Memory",
    guid: 0xf7bbc97f_d575_5c05_9a85_936247ce7ee8,
    instance_type: InstanceType::Multiple,
    help: "The memory of graphics cards that is in use.",
    instances: "The adapters in Windows' form: `luid_0x00000000_0x00000300_phys_0`. The luid is the PCI domain, and bus, device and function.",
    total: "",
    repeats: None,
    counters: &[
        bytes(DEDICATED, "Dedicated Usage", "/sys/class/drm/card*/device/mem_info_vram_used; NVML: nvmlDeviceGetMemoryInfo; else the sum of GPU Process Memory",
            "Memory of the card itself that is in use."),
        bytes(SHARED, "Shared Usage", "/sys/class/drm/card*/device/mem_info_gtt_used, else the sum of GPU Process Memory",
            "Main memory that the graphics processor uses. NVIDIA's library does not report it."),
        bytes(COMMITTED, "Total Committed", "/sys/class/drm/card*/device: mem_info_vram_used, mem_info_gtt_used, else the sum of GPU Process Memory",
            "Dedicated and shared memory together."),
        bytes(DEDICATED_LIMIT, "Dedicated Limit", "/sys/class/drm/card*/device/mem_info_vram_total; NVML: nvmlDeviceGetMemoryInfo",
            "The memory of the card itself. Linux only."),
        bytes(SHARED_LIMIT, "Shared Limit", "/sys/class/drm/card*/device/mem_info_gtt_total",
            "The main memory that the graphics processor can use. Linux only."),
    ],
};

#[rustfmt::skip]
pub(super) static PROCESS_MEMORY: SetTable = SetTable {
    name: "GPU Process Memory",
    guid: 0x9e55e6ee_e328_5e52_9ccb_7aac318c79f5,
    instance_type: InstanceType::Multiple,
    help: "The graphics memory of each process. Reading processes of other users requires privileges.",
    instances: "A process and an adapter that it uses, in Windows' form: `pid_1234_luid_0x00000000_0x00000300_phys_0`.",
    total: "",
    repeats: None,
    counters: &[
        bytes(DEDICATED, "Dedicated Usage", "/proc/PID/fdinfo/*: drm-resident-vram, drm-resident-local (older kernels: drm-memory-*); NVML: nvmlDeviceGet*RunningProcesses",
            "Memory of the card itself that the process uses."),
        bytes(SHARED, "Shared Usage", "/proc/PID/fdinfo/*: drm-resident-* of other regions (older kernels: drm-memory-*)",
            "Main memory that the graphics processor uses for the process."),
        bytes(COMMITTED, "Total Committed", "/proc/PID/fdinfo/*: drm-total-*, else as resident",
            "Memory that the process has allocated, whether it is in use or not."),
    ],
};

#[rustfmt::skip]
pub(super) static ADAPTER: SetTable = SetTable {
    name: "GPU Adapter",
    guid: 0xfdc8c10b_49d7_5ca8_ac43_3dd6f3eef27d,
    instance_type: InstanceType::Multiple,
    help: "The load of graphics cards by all processes, as their drivers measure it.",
    instances: "The cards with driver and PCI address: `card0 amdgpu 0000:03:00.0`. Cards that only NVIDIA's \
        library knows have no card number.",
    total: "",
    repeats: None,
    counters: &[
        CounterInfo::row(BUSY, "% Busy", CounterType::LARGE_RAWCOUNT, "%", 0, "/sys/class/drm/card*/device/gpu_busy_percent; NVML: nvmlDeviceGetUtilizationRates",
            "How busy the graphics processor is at this moment, as its firmware reports it."),
        CounterInfo::row(MEMORY_BUSY, "% Memory Busy", CounterType::LARGE_RAWCOUNT, "%", 0, "/sys/class/drm/card*/device/mem_busy_percent; NVML: nvmlDeviceGetUtilizationRates",
            "How busy the memory of the card is at this moment, as its firmware reports it."),
        CounterInfo::row(TEMPERATURE, "Temperature", CounterType::LARGE_RAWCOUNT, "°C", 0, "NVML: nvmlDeviceGetTemperature",
            "The temperature of the graphics processor in degrees Celsius. NVIDIA only; see Temperature Sensor \
             for other cards."),
        CounterInfo::row(POWER, "Power", CounterType::LARGE_RAWCOUNT, "mW", -3, "NVML: nvmlDeviceGetPowerUsage",
            "The power of the card in thousandths of a watt. NVIDIA only; see Power Sensor for other cards."),
    ],
};

const fn bytes(id: u32, name: &'static str, source: &'static str, help: &'static str) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::LARGE_RAWCOUNT, "bytes", -6, source, help)
}

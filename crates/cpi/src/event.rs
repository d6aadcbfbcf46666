//! Events, independent of the kernel's structures.

/// An event, as `perf_event_attr` describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The event's name in messages.
    pub(crate) name: &'static str,
    /// The type: hardware, software, or the type of a performance monitoring unit in sysfs.
    pub(crate) kind: u32,
    /// `config` and `config1` of `perf_event_attr`: the event within this type.
    pub(crate) config: u64,
    pub(crate) config1: u64,
    /// The code that is not counted.
    pub(crate) excluded: Excluded,
    /// Whether the threads and processes that the counted thread starts are counted too.
    pub(crate) inherit: bool,
    /// Whether counting starts only at the next exec.
    pub(crate) from_exec: bool,
}

/// The code that is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) enum Excluded {
    #[default]
    Nothing,
    /// The kernel.
    Kernel,
    /// The kernel and the hypervisor.
    KernelAndHypervisor,
}

/// The thread or processor to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The calling thread (`None`), or the thread with this id.
    Thread(Option<u32>),
    /// Everything on a processor.
    Processor(u32),
}

/// Bit of `config1` that enables reading from user space on arm64.
pub(crate) const ARM_USER_ACCESS: u64 = 0b10;

impl Event {
    const fn new(name: &'static str, kind: u32, config: u64) -> Self {
        let excluded = Excluded::Nothing;
        Self { name, kind, config, config1: 0, excluded, inherit: false, from_exec: false }
    }

    pub(crate) const CYCLES: Self = Self::new("cycles", HARDWARE, 0);
    pub(crate) const INSTRUCTIONS: Self = Self::new("instructions", HARDWARE, 1);
    /// Cycles at the rate of the time stamp counter while not halted.
    pub(crate) const REFERENCE_CYCLES: Self = Self::new("ref-cycles", HARDWARE, 9);
    pub(crate) const TASK_CLOCK: Self = Self::new("task-clock", SOFTWARE, 1);
    pub(crate) const CPU_CLOCK: Self = Self::new("cpu-clock", SOFTWARE, 0);
    pub(crate) const PAGE_FAULTS: Self = Self::new("page-faults", SOFTWARE, 2);

    /// An event of a unit that sysfs describes.
    pub(crate) const fn for_unit(name: &'static str, kind: u32, config: u64) -> Self {
        Self::new(name, kind, config)
    }

    /// Restricts this generic hardware event to the unit of this type (Linux 5.14).
    pub(crate) const fn on_unit(mut self, unit: u32) -> Self {
        self.config |= (unit as u64) << 32;
        self
    }
}

/// `PERF_TYPE_HARDWARE`.
pub(crate) const HARDWARE: u32 = 0;
/// `PERF_TYPE_SOFTWARE`.
const SOFTWARE: u32 = 1;

#[cfg(test)]
mod tests {
    use perf_event_open_sys::bindings;

    use super::Event;

    #[test]
    fn event_numbers_equal_the_kernels_constants() {
        for (event, kind, config) in [
            (Event::CYCLES, bindings::PERF_TYPE_HARDWARE, bindings::PERF_COUNT_HW_CPU_CYCLES),
            (Event::INSTRUCTIONS, bindings::PERF_TYPE_HARDWARE, bindings::PERF_COUNT_HW_INSTRUCTIONS),
            (Event::REFERENCE_CYCLES, bindings::PERF_TYPE_HARDWARE, bindings::PERF_COUNT_HW_REF_CPU_CYCLES),
            (Event::TASK_CLOCK, bindings::PERF_TYPE_SOFTWARE, bindings::PERF_COUNT_SW_TASK_CLOCK),
            (Event::CPU_CLOCK, bindings::PERF_TYPE_SOFTWARE, bindings::PERF_COUNT_SW_CPU_CLOCK),
            (Event::PAGE_FAULTS, bindings::PERF_TYPE_SOFTWARE, bindings::PERF_COUNT_SW_PAGE_FAULTS),
        ] {
            assert_eq!((event.kind, event.config), (kind, u64::from(config)), "{}", event.name);
        }
    }
}

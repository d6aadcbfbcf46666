//! Maps the values of a processor to counters.

/// A value that is read per processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Value {
    /// Idle, including waits for I/O (idle, iowait).
    Idle,
    /// Not running anything: idle, or the hypervisor ran something else (idle, iowait, steal).
    IdleOrStolen,
    /// User mode, including guests (user, nice).
    User,
    /// Kernel mode, including interrupts and softirqs (system, irq, softirq).
    Privileged,
    /// Time in softirqs.
    Dpc,
    /// Time in hardware interrupts.
    Interrupt,
    /// Not running anything, or running programs of low priority (idle, iowait, steal, nice).
    LowPriority,
    Steal,
    /// Idle while a thread waits for I/O; part of `Idle`.
    Iowait,
    /// Guests (guest, guest_nice); part of `User`.
    Guest,
    /// Programs of low priority; part of `User`.
    Nice,
    Interrupts,
    Clock,
    Softirqs,
    SoftirqHighTasklet,
    SoftirqTimer,
    SoftirqNetTransmit,
    SoftirqNetReceive,
    SoftirqBlock,
    SoftirqIrqPoll,
    SoftirqTasklet,
    SoftirqScheduler,
    SoftirqHighResolutionTimer,
    SoftirqRcu,
    PacketsProcessed,
    PacketsDropped,
    Squeezes,
    RpsInterrupts,
    FlowLimits,
    Backlog,
    C1Time,
    C2Time,
    C3Time,
    C1Entries,
    C2Entries,
    C3Entries,
    Entries,
    Mhz,
    PercentOfHighest,
    PercentLimit,
    Performance,
    PerformanceTime,
}

/// The number of times from `/proc/stat`, which come first.
pub(super) const TIMES: usize = Value::Nice as usize + 1;

/// The number of values.
pub(super) const VALUES: usize = Value::PerformanceTime as usize + 1;

/// The source of values; all values of a source fail together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Source {
    Times,
    Interrupts,
    Softirqs,
    Softnet,
    IdleStates,
    Frequency,
    Limit,
    Performance,
}

/// The number of sources.
pub(super) const SOURCES: usize = Source::Performance as usize + 1;

/// A counter and its values.
pub(super) struct Output {
    pub(super) id: u32,
    pub(super) source: Source,
    pub(super) value: Value,
    pub(super) base: Option<Value>,
    /// Whether the values of totals are means of the processors' values rather than sums.
    pub(super) is_mean: bool,
}

const fn mean(id: u32, source: Source, value: Value) -> Output {
    Output { id, source, value, base: None, is_mean: true }
}

const fn sum(id: u32, source: Source, value: Value) -> Output {
    Output { id, source, value, base: None, is_mean: false }
}

/// All counters of `Processor` and `Processor Information`; they share their ids.
pub(super) const OUTPUTS: &[Output] = &[
    mean(0, Source::Times, Value::IdleOrStolen),
    mean(1, Source::Times, Value::User),
    mean(2, Source::Times, Value::Privileged),
    sum(3, Source::Interrupts, Value::Interrupts),
    mean(4, Source::Times, Value::Dpc),
    mean(5, Source::Times, Value::Interrupt),
    sum(6, Source::Softirqs, Value::Softirqs),
    mean(8, Source::Times, Value::Idle),
    mean(9, Source::IdleStates, Value::C1Time),
    mean(10, Source::IdleStates, Value::C2Time),
    mean(11, Source::IdleStates, Value::C3Time),
    sum(12, Source::IdleStates, Value::C1Entries),
    sum(13, Source::IdleStates, Value::C2Entries),
    sum(14, Source::IdleStates, Value::C3Entries),
    mean(15, Source::Times, Value::LowPriority),
    mean(17, Source::Frequency, Value::Mhz),
    mean(18, Source::Frequency, Value::PercentOfHighest),
    sum(20, Source::Interrupts, Value::Clock),
    sum(23, Source::IdleStates, Value::Entries),
    Output {
        id: 24,
        source: Source::Performance,
        value: Value::Performance,
        base: Some(Value::PerformanceTime),
        is_mean: false,
    },
    mean(30, Source::Limit, Value::PercentLimit),
    mean(100, Source::Times, Value::Steal),
    mean(101, Source::Times, Value::Iowait),
    mean(102, Source::Times, Value::Guest),
    mean(103, Source::Times, Value::Nice),
    sum(110, Source::Softirqs, Value::SoftirqHighTasklet),
    sum(111, Source::Softirqs, Value::SoftirqTimer),
    sum(112, Source::Softirqs, Value::SoftirqNetTransmit),
    sum(113, Source::Softirqs, Value::SoftirqNetReceive),
    sum(114, Source::Softirqs, Value::SoftirqBlock),
    sum(115, Source::Softirqs, Value::SoftirqIrqPoll),
    sum(116, Source::Softirqs, Value::SoftirqTasklet),
    sum(117, Source::Softirqs, Value::SoftirqScheduler),
    sum(118, Source::Softirqs, Value::SoftirqHighResolutionTimer),
    sum(119, Source::Softirqs, Value::SoftirqRcu),
    sum(120, Source::Softnet, Value::PacketsProcessed),
    sum(121, Source::Softnet, Value::PacketsDropped),
    sum(122, Source::Softnet, Value::Squeezes),
    sum(123, Source::Softnet, Value::RpsInterrupts),
    sum(124, Source::Softnet, Value::FlowLimits),
    sum(125, Source::Softnet, Value::Backlog),
];

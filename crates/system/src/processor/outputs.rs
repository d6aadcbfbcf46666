//! From what is read of each processor to the counters of a set.

/// Something that is read of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Slot {
    Idle,
    User,
    Privileged,
    Dpc,
    Interrupt,
    Unimportant,
    Interrupts,
    Clock,
    Softirqs,
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

/// How many slots there are.
pub(super) const SLOTS: usize = Slot::PerformanceTime as usize + 1;

/// The files that slots are read from: what fails together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Origin {
    Times,
    Interrupts,
    Softirqs,
    IdleStates,
    Frequency,
    Limit,
    Performance,
}

/// How many origins there are.
pub(super) const ORIGINS: usize = Origin::Performance as usize + 1;

/// A counter and what it is made from.
pub(super) struct Output {
    pub(super) id: u32,
    pub(super) origin: Origin,
    pub(super) slot: Slot,
    pub(super) base: Option<Slot>,
    /// A total is the mean of its processors, not the sum.
    pub(super) is_mean: bool,
}

const fn mean(id: u32, origin: Origin, slot: Slot) -> Output {
    Output { id, origin, slot, base: None, is_mean: true }
}

const fn sum(id: u32, origin: Origin, slot: Slot) -> Output {
    Output { id, origin, slot, base: None, is_mean: false }
}

/// All counters of both sets; they share their ids.
pub(super) const OUTPUTS: &[Output] = &[
    mean(0, Origin::Times, Slot::Idle),
    mean(1, Origin::Times, Slot::User),
    mean(2, Origin::Times, Slot::Privileged),
    sum(3, Origin::Interrupts, Slot::Interrupts),
    mean(4, Origin::Times, Slot::Dpc),
    mean(5, Origin::Times, Slot::Interrupt),
    sum(6, Origin::Softirqs, Slot::Softirqs),
    mean(8, Origin::Times, Slot::Idle),
    mean(9, Origin::IdleStates, Slot::C1Time),
    mean(10, Origin::IdleStates, Slot::C2Time),
    mean(11, Origin::IdleStates, Slot::C3Time),
    sum(12, Origin::IdleStates, Slot::C1Entries),
    sum(13, Origin::IdleStates, Slot::C2Entries),
    sum(14, Origin::IdleStates, Slot::C3Entries),
    mean(15, Origin::Times, Slot::Unimportant),
    mean(17, Origin::Frequency, Slot::Mhz),
    mean(18, Origin::Frequency, Slot::PercentOfHighest),
    sum(20, Origin::Interrupts, Slot::Clock),
    sum(23, Origin::IdleStates, Slot::Entries),
    Output {
        id: 24,
        origin: Origin::Performance,
        slot: Slot::Performance,
        base: Some(Slot::PerformanceTime),
        is_mean: false,
    },
    mean(30, Origin::Limit, Slot::PercentLimit),
];

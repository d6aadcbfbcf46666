//! Hooks, as they are read from a trace.

use std::borrow::Cow;

use super::Decimal;

/// One record of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Where the record starts in the file.
    pub offset: u64,
    /// Processor of the section that it stands in. Traces of this library have one section for all, of
    /// processor 0.
    pub processor: u32,
    /// When it was written, in ticks of the [clock](crate::clock_ticks) of the machine that wrote it. 0 where
    /// the section says that records of its type have none.
    pub time_stamp: u64,
    /// The caller's minor code: the low byte of the record's. Of records of other tools, their low byte too.
    pub minor: u8,
    /// What it is, with its data.
    pub kind: HookKind,
}

/// What a hook is, with its data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookKind {
    /// The first hook of a labelled get.
    LabelStart(Label),
    /// What a get measured, in short.
    Summary(Summary),
    /// Sums over the processors.
    System(System),
    /// The counts of each processor.
    Processors(Processors),
    /// The counts of the thread that made the instance.
    Thread(Thread),
    /// The last hook of a labelled get.
    LabelEnd(Label),
    /// A record of another tool (another major code): its data is skipped.
    Other(Other),
}

/// Which kinds of data a hook holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Kinds {
    /// Raw: processors were measured. The words of raw values are there in any case.
    pub raw: bool,
    /// Scaled to busy, and busy shares.
    pub scaled: bool,
    /// Of the thread. In summaries only: the thread has a detailed hook of its own.
    pub thread: bool,
}

impl Kinds {
    /// The bit of raw data.
    pub(super) const RAW: u32 = 1;
    /// The bit of scaled data.
    pub(super) const SCALED: u32 = 2;
    /// The bit of the thread's data.
    pub(super) const THREAD: u32 = 4;

    /// The word of a hook.
    pub const fn bits(self) -> u32 {
        (if self.raw { Self::RAW } else { 0 })
            | (if self.scaled { Self::SCALED } else { 0 })
            | (if self.thread { Self::THREAD } else { 0 })
    }

    /// The kinds of a word; other bits are the caller's to check.
    pub(super) const fn of_bits(bits: u32) -> Self {
        Self {
            raw: bits & Self::RAW != 0,
            scaled: bits & Self::SCALED != 0,
            thread: bits & Self::THREAD != 0,
        }
    }
}

/// A label around the hooks of a get.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Label {
    /// Length of the interval in ticks of the clock; start and end hold the same.
    pub elapsed_cycles: u64,
    /// The label's bytes. This library writes UTF-8 of at most 2048 bytes.
    pub bytes: Box<[u8]>,
}

impl Label {
    /// The label; what is not UTF-8 is replaced by U+FFFD. It may hold any character: escape it before a
    /// terminal sees it.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }
}

/// What a get measured, in short.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Summary {
    /// Which values are there.
    pub kinds: Kinds,
    /// Length of the interval in ticks of the clock.
    pub elapsed_cycles: u64,
    /// Of each processor, by number; zeros where it has no data. Empty where processors were not measured.
    pub processors: Vec<SummaryValues>,
    /// Of the system.
    pub system: SummaryValues,
    /// CPI of the thread that made the instance, where it was measured.
    pub thread_cpi: Option<Decimal>,
}

/// CPI and busy share of a processor, or of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SummaryValues {
    /// Elapsed cycles per instruction. 0 where it has no meaning.
    pub raw_cpi: Decimal,
    /// Where busy shares were measured.
    pub scaled: Option<SummaryScaled>,
}

/// CPI while busy, and busy share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SummaryScaled {
    /// Cycles per instruction while busy. 0 where it has no meaning.
    pub cpi: Decimal,
    /// Busy share in percent. 0 where it has no meaning.
    pub busy_percent: Decimal,
}

/// Sums over the processors.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct System {
    /// Which values are there.
    pub kinds: Kinds,
    /// Length of the interval in ticks of the clock.
    pub elapsed_cycles: u64,
    /// The sums, and their ratios.
    pub values: DetailedValues,
}

/// The counts of each processor.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Processors {
    /// Which values are there.
    pub kinds: Kinds,
    /// Length of the interval in ticks of the clock.
    pub elapsed_cycles: u64,
    /// Of each processor, by number; zeros where it has no data.
    pub processors: Vec<DetailedValues>,
}

/// Counts of a processor, or their sums, and their ratios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DetailedValues {
    /// Instructions executed.
    pub instructions: u64,
    /// Elapsed cycles.
    pub cycles: u64,
    /// `cycles / instructions`. 0 where it has no meaning.
    pub cpi: Decimal,
    /// Where busy shares were measured.
    pub scaled: Option<DetailedScaled>,
}

/// Cycles scaled to busy, CPI while busy, and busy share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DetailedScaled {
    /// Elapsed cycles scaled to busy.
    pub cycles: u64,
    /// Cycles per instruction while busy. 0 where it has no meaning.
    pub cpi: Decimal,
    /// Busy share in percent. 0 where it has no meaning.
    pub busy_percent: Decimal,
}

/// The counts of the thread that made the instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Thread {
    /// Its number.
    pub tid: u32,
    /// Length of the interval in ticks of the clock.
    pub elapsed_cycles: u64,
    /// Instructions executed.
    pub instructions: u64,
    /// Cycles while it ran.
    pub cycles: u64,
    /// `cycles / instructions`. 0 where it has no meaning.
    pub cpi: Decimal,
}

/// A record of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Other {
    /// Type of the record: 0 integers, 2 integers and strings, 3 extended; 1 is not described.
    pub record_type: u8,
    /// Major code, 1 to 255 but not that of this facility.
    pub major: u8,
    /// Minor code.
    pub minor: u32,
    /// Bytes of the record, its header included.
    pub bytes: u16,
}

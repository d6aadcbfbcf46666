//! Hooks read from a trace.

use std::borrow::Cow;

use super::Decimal;

/// One record of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Offset of the record in the file.
    pub offset: u64,
    /// The processor of the section. This library writes the hooks of all processors to sections of processor 0.
    pub processor: u32,
    /// The time, in ticks of the [clock](crate::clock_ticks) of the machine that wrote the record. 0 if the section's
    /// header says that records of this type have no time stamp.
    pub time_stamp: u64,
    /// The caller's minor code: the low byte of the record's minor code, also for records of other tools.
    pub minor: u8,
    /// The kind of hook, with its data.
    pub kind: HookKind,
}

/// The kind of a hook, with its data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookKind {
    /// The first hook of a labelled `get`.
    LabelStart(Label),
    /// The summary of a `get`.
    Summary(Summary),
    /// Sums over the processors.
    System(System),
    /// The counts of each processor.
    Processors(Processors),
    /// The counts of the thread that created the instance.
    Thread(Thread),
    /// The last hook of a labelled `get`.
    LabelEnd(Label),
    /// A record of another tool (with another major code), without its data.
    Other(Other),
}

/// The kinds of data in a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Kinds {
    /// Raw values of processors. Their words are present even if processors were not measured.
    pub raw: bool,
    /// CPI while busy, and busy shares.
    pub scaled: bool,
    /// Values of the thread. Only in summaries: the thread has a separate detailed hook.
    pub thread: bool,
}

impl Kinds {
    pub(super) const RAW: u32 = 1;
    pub(super) const SCALED: u32 = 2;
    /// The bit of the thread's data.
    pub(super) const THREAD: u32 = 4;

    /// The kinds as the word stored in a hook.
    pub const fn bits(self) -> u32 {
        (if self.raw { Self::RAW } else { 0 })
            | (if self.scaled { Self::SCALED } else { 0 })
            | (if self.thread { Self::THREAD } else { 0 })
    }

    /// The kinds in a word; the caller checks for unknown bits.
    pub(super) const fn from_bits(bits: u32) -> Self {
        Self {
            raw: bits & Self::RAW != 0,
            scaled: bits & Self::SCALED != 0,
            thread: bits & Self::THREAD != 0,
        }
    }
}

/// A label around the hooks of a `get`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Label {
    /// Length of the interval in ticks of the clock; the same in the start hook and the end hook.
    pub elapsed_cycles: u64,
    /// The label's bytes. This library writes up to 2048 bytes of UTF-8.
    pub bytes: Box<[u8]>,
}

impl Label {
    /// The label, with U+FFFD for invalid UTF-8. It can contain any character: escape it before printing it to a terminal.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }
}

/// The summary of a `get`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Summary {
    /// Which values are present.
    pub kinds: Kinds,
    /// Length of the interval in ticks of the clock.
    pub elapsed_cycles: u64,
    /// Indexed by processor id; zeros for a processor without data. Empty if processors were not measured.
    pub processors: Vec<SummaryValues>,
    /// Values of the system.
    pub system: SummaryValues,
    /// CPI of the thread that created the instance, if it was measured.
    pub thread_cpi: Option<Decimal>,
}

/// CPI and busy share of a processor, or of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SummaryValues {
    /// Elapsed cycles per instruction. 0 if undefined.
    pub raw_cpi: Decimal,
    /// Present if busy shares were measured.
    pub scaled: Option<SummaryScaled>,
}

/// CPI while busy, and busy share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SummaryScaled {
    /// Cycles per instruction while busy. 0 if undefined.
    pub cpi: Decimal,
    /// Busy share in percent. 0 if undefined.
    pub busy_percent: Decimal,
}

/// Sums over the processors.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct System {
    /// Which values are present.
    pub kinds: Kinds,
    /// Length of the interval in ticks of the clock.
    pub elapsed_cycles: u64,
    /// The sums, and their ratios.
    pub values: DetailedValues,
}

/// The counts of each processor.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Processors {
    /// Which values are present.
    pub kinds: Kinds,
    /// Length of the interval in ticks of the clock.
    pub elapsed_cycles: u64,
    /// Indexed by processor id; zeros for a processor without data.
    pub processors: Vec<DetailedValues>,
}

/// Counts of a processor, or their sums, and their ratios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DetailedValues {
    /// Instructions executed.
    pub instructions: u64,
    /// Elapsed cycles.
    pub cycles: u64,
    /// `cycles / instructions`. 0 if undefined.
    pub cpi: Decimal,
    /// Present if busy shares were measured.
    pub scaled: Option<DetailedScaled>,
}

/// Cycles scaled by the busy share, CPI while busy, and the busy share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DetailedScaled {
    /// Elapsed cycles scaled by the busy share.
    pub cycles: u64,
    /// Cycles per instruction while busy. 0 if undefined.
    pub cpi: Decimal,
    /// Busy share in percent. 0 if undefined.
    pub busy_percent: Decimal,
}

/// The counts of the thread that created the instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Thread {
    /// The id of the thread.
    pub tid: u32,
    /// Length of the interval in ticks of the clock.
    pub elapsed_cycles: u64,
    /// Instructions executed.
    pub instructions: u64,
    /// Cycles while the thread ran.
    pub cycles: u64,
    /// `cycles / instructions`. 0 if undefined.
    pub cpi: Decimal,
}

/// A record of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Other {
    /// Type of the record: 0 integers, 2 integers and strings, 3 extended; 1 is undocumented.
    pub record_type: u8,
    /// Major code, 1 to 255, other than the code of CPI hooks (0xC0).
    pub major: u8,
    /// Minor code.
    pub minor: u32,
    /// The size of the record in bytes, including its header.
    pub bytes: u16,
}

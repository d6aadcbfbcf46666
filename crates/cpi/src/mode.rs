//! The flags that select what an instance measures and traces.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// Flags that select what an instance measures, and which hooks (records) it writes to the trace. They are the flags of
/// Performance Inspector's CPI facility on Linux.
///
/// The values are those of `CPI_TYPE_*` in perfutil.h.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Mode(u32);

impl Mode {
    /// CPI of each processor and of the system, including idle time.
    #[doc(alias = "CPI_TYPE_RAW")]
    pub const RAW: Self = Self(0x01);
    /// CPI while busy, and busy shares. Includes [`RAW`](Self::RAW).
    #[doc(alias = "CPI_TYPE_SCALED")]
    pub const SCALED: Self = Self(0x02);
    /// CPI of the thread that creates the instance. If this is the only flag, no processor is measured, and no privilege is needed.
    #[doc(alias = "CPI_TYPE_ONTHREAD")]
    pub const ON_THREAD: Self = Self(0x04);
    /// Every [`get`](crate::Cpi::get) also writes to the trace.
    #[doc(alias = "CPI_TYPE_TRACE_ON_GET")]
    pub const TRACE_ON_GET: Self = Self(0x08);
    /// Like [`TRACE_ON_GET`](Self::TRACE_ON_GET). (In Performance Inspector's Java interface, `get` then returns no
    /// data; here it always does.)
    #[doc(alias = "CPI_TYPE_TRACE_ONLY_ON_GET")]
    pub const TRACE_ONLY_ON_GET: Self = Self(0x10);
    /// Trace the summary hook.
    #[doc(alias = "CPI_TYPE_TRACE_SUMMARY")]
    pub const TRACE_SUMMARY: Self = Self(0x20);
    /// Trace the detailed hooks: system-wide, per processor, thread.
    #[doc(alias = "CPI_TYPE_TRACE_DETAILED")]
    pub const TRACE_DETAILED: Self = Self(0x40);
    /// Trace the summary and the detailed hooks.
    #[doc(alias = "CPI_TYPE_TRACE_EVERYTHING")]
    pub const TRACE_EVERYTHING: Self = Self(0x60);
    /// All flags.
    #[doc(alias = "CPI_TYPE_ALL")]
    pub const ALL: Self = Self(0x7F);

    /// The mode with these bits; `None` if any bit is unknown.
    pub const fn from_bits(bits: u32) -> Option<Self> {
        if bits & !Self::ALL.0 == 0 { Some(Self(bits)) } else { None }
    }

    /// The bits.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether all flags of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any flag of `other` is set.
    pub const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether processors and the system are measured: true unless only the thread was requested.
    pub const fn has_processors(self) -> bool {
        self.has_any(Self(Self::RAW.0 | Self::SCALED.0)) || !self.has(Self::ON_THREAD)
    }

    /// The flags that select trace hooks: summary and detailed.
    pub const fn traced(self) -> Self {
        Self(self.0 & Self::TRACE_EVERYTHING.0)
    }
}

impl BitOr for Mode {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Mode {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl fmt::Debug for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [(Mode, &str); 7] = [
            (Mode::RAW, "RAW"),
            (Mode::SCALED, "SCALED"),
            (Mode::ON_THREAD, "ON_THREAD"),
            (Mode::TRACE_ON_GET, "TRACE_ON_GET"),
            (Mode::TRACE_ONLY_ON_GET, "TRACE_ONLY_ON_GET"),
            (Mode::TRACE_SUMMARY, "TRACE_SUMMARY"),
            (Mode::TRACE_DETAILED, "TRACE_DETAILED"),
        ];
        f.write_str("Mode(")?;
        let set = NAMES.iter().filter(|(flag, _)| self.has(*flag));
        for (index, (_, name)) in set.enumerate() {
            f.write_str(if index > 0 { " | " } else { "" })?;
            f.write_str(name)?;
        }
        f.write_str(")")
    }
}

//! Where this machine tells about itself.

use std::path::PathBuf;

/// The folders that providers read, and what the kernel counts in. Tests put a made tree in their place.
#[derive(Clone, Debug)]
pub struct Roots {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// Units of processor time in one second (`USER_HZ`, `sysconf(_SC_CLK_TCK)`).
    pub ticks_per_second: u64,
    /// Bytes of a page of memory.
    pub page_bytes: u64,
}

impl Roots {
    /// The folders of this machine.
    pub fn of_this_machine() -> Self {
        Self {
            proc: "/proc".into(),
            sys: "/sys".into(),
            ticks_per_second: rustix::param::clock_ticks_per_second().max(1),
            page_bytes: rustix::param::page_size() as u64,
        }
    }

    /// 100 ns units of a number of the kernel's ticks.
    pub(crate) fn hundred_ns(&self, ticks: u64) -> u64 {
        // Exact for the usual 100 and 1000 ticks per second.
        (u128::from(ticks) * 10_000_000 / u128::from(self.ticks_per_second)) as u64
    }
}

//! The folders and units of a machine.

use std::path::PathBuf;

/// The folders that providers read, and the kernel's units. Tests use folders with fixtures.
#[derive(Clone, Debug)]
pub struct Roots {
    /// `/`, for the files of other programs, such as `/etc/passwd`.
    pub root: PathBuf,
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// Ticks of processor time per second (`USER_HZ`, `sysconf(_SC_CLK_TCK)`).
    pub ticks_per_second: u64,
    /// The size of a memory page, in bytes.
    pub page_bytes: u64,
}

impl Roots {
    /// The folders and units of this machine.
    pub fn of_this_machine() -> Self {
        Self {
            root: "/".into(),
            proc: "/proc".into(),
            sys: "/sys".into(),
            ticks_per_second: rustix::param::clock_ticks_per_second().max(1),
            page_bytes: rustix::param::page_size() as u64,
        }
    }

    /// Converts ticks to units of 100 ns.
    pub(crate) fn hundred_ns(&self, ticks: u64) -> u64 {
        // Exact for the usual 100 and 1000 ticks per second.
        (u128::from(ticks) * 10_000_000 / u128::from(self.ticks_per_second)) as u64
    }
}

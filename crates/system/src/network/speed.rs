//! The speed of an interface. It is read only every ten seconds, because some drivers query their hardware.

use std::fs;
use std::path::Path;

use tachograph_perflib::FREQUENCY;

use crate::scan::parse_signed;

/// The time between two reads, in ticks of the performance clock.
const READ_INTERVAL: i64 = 10 * FREQUENCY;

/// The speed of an interface, from its driver.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Speed {
    read_at: Option<i64>,
    bits_per_second: Option<u64>,
}

impl Speed {
    /// Returns the speed in bits per second at the time `ticks`; `None` if it is unknown, as for loopback, interfaces without
    /// a cable, and most virtual interfaces.
    pub(super) fn at(&mut self, ticks: i64, folder: &Path) -> Option<u64> {
        if self.read_at.is_none_or(|read_at| !(0..READ_INTERVAL).contains(&(ticks - read_at))) {
            let text = fs::read(folder.join("speed")).unwrap_or_default();
            // In Mbit/s; -1 and 0 mean unknown.
            let speed = parse_signed(text.trim_ascii()).filter(|speed| *speed > 0);
            self.bits_per_second = speed.and_then(|speed| (speed as u64).checked_mul(1_000_000));
            self.read_at = Some(ticks);
        }
        self.bits_per_second
    }
}

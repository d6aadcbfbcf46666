//! Regions of a known number of instructions.

use std::ops::Range;

/// Executes a loop of two instructions.
#[cfg(target_arch = "aarch64")]
#[inline(never)]
pub(crate) fn region(iterations: u64) {
    assert!(iterations > 0, "a region has at least one iteration");
    // SAFETY: the two instructions touch only the register that is passed to them and the condition flags, which assembly may
    // change by default. The register starts above zero and is decremented by one each time, so the loop ends.
    unsafe {
        std::arch::asm!(
            "2: subs {left}, {left}, #1",
            "b.ne 2b",
            left = inout(reg) iterations => _,
            options(nomem, nostack),
        );
    }
}

#[cfg(not(target_arch = "aarch64"))]
pub(crate) fn region(_iterations: u64) {
    panic!("TACHO_PMU is for the emulated arm64 machine: run tools/pmu-vm/check");
}

/// The number of instructions of a region's loop.
pub(crate) fn instructions(iterations: u64) -> u64 {
    2 * iterations
}

/// Asserts that a number is in a range.
pub(crate) fn assert_within(name: &str, value: f64, range: Range<f64>) {
    assert!(range.contains(&value), "{name} is {value}, not between {} and {}", range.start, range.end);
}

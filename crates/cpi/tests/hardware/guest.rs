//! The machine that runs the tests.

use std::fmt;

use tachograph_cpi::{Mode, Options};

/// Machines with a limitation: the values of `TACHO_PMU` other than 0, 1 and 2, which are the [`cycles_shift`] of machines
/// with exact counters.
pub(crate) const STATES: [&str; 8] = [
    "no-instructions", // the performance monitor has no instruction counter
    "no-pmu",          // no performance monitor
    "paranoid-3",      // kernel.perf_event_paranoid has this value, and the user is not root
    "paranoid-2",
    "paranoid-1",
    "few-files",      // the hard limit of open files is 16; two processors
    "low-soft-limit", // the soft limit of open files is 16, the hard one higher; two processors
    "two-processors", // the second one can be switched off
];

/// The value of `TACHO_PMU`; `None` outside the emulated machine.
pub(crate) fn state() -> Option<String> {
    let state = std::env::var("TACHO_PMU").ok()?;
    let is_known = STATES.contains(&state.as_str()) || matches!(state.as_str(), "0" | "1" | "2");
    assert!(is_known, "TACHO_PMU={state} is not a known machine");
    Some(state)
}

/// Whether the tests run in the machine `wanted`, which is one of [`STATES`].
pub(crate) fn is_machine(wanted: &str) -> bool {
    assert!(STATES.contains(&wanted), "{wanted} is not a known machine");
    state().is_some_and(|state| state == wanted)
}

/// Base-2 logarithm of the cycles per instruction, in a machine with exact counters; `None` in other machines.
pub(crate) fn cycles_shift() -> Option<u32> {
    state()?.parse().ok()
}

/// Options that count user code only, because only its count is the same in every run.
pub(crate) fn user_code(mode: Mode) -> Options {
    Options { mode, user_only: true, ..Options::default() }
}

/// Reports a passed check.
pub(crate) fn report_pass(name: &str, found: impl fmt::Display) {
    println!("\n@ok {name}: {found}");
}

/// Reports a value that must be equal in all guests.
pub(crate) fn report_value(name: &str, value: impl fmt::Display) {
    println!("\n@same {name} {value}");
}

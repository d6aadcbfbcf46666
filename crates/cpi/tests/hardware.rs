//! Counting with hardware counters, where every count is known: in the emulated machine of tools/pmu-vm.
//!
//! `TACHO_PMU` says what the machine is: there its processor executes one instruction in 2^SHIFT cycles, and `TACHO_PMU` is
//! SHIFT; or it is the name of a machine that lacks something ([`guest::STATES`]). Each test looks there whether it has
//! anything to say, and without `TACHO_PMU` none has: `tools/pmu-vm/check` runs them all.
//!
//! A line `@ok NAME: FOUND` is one check for the list that `check` prints. A line `@same NAME VALUE` is a value that has to
//! be the same wherever it is printed, whatever SHIFT is.

#![allow(
    unsafe_code,
    reason = "a region of known length is assembly; other users of the counters are made by the system call"
)]

#[path = "hardware/exact.rs"]
mod exact;
#[path = "hardware/guest.rs"]
mod guest;
#[path = "hardware/hotplug.rs"]
mod hotplug;
#[path = "hardware/instances.rs"]
mod instances;
#[path = "hardware/others.rs"]
mod others;
#[path = "hardware/processes.rs"]
mod processes;
#[path = "hardware/refusals.rs"]
mod refusals;
#[path = "hardware/region.rs"]
mod region;
#[path = "hardware/share.rs"]
mod share;
#[path = "hardware/turns.rs"]
mod turns;

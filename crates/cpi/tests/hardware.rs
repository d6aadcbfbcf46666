//! Counting with hardware counters, with exactly known counts: in the emulated machine of tools/pmu-vm.
//!
//! `TACHO_PMU` describes the machine: SHIFT, if its processor executes one instruction in 2^SHIFT cycles, or the name of a
//! machine that lacks something ([`guest::STATES`]). Each test checks whether it applies to the machine; without `TACHO_PMU`
//! none does. `tools/pmu-vm/check` runs them all.
//!
//! A line `@ok NAME: FOUND` is one check for the list that `check` prints. A line `@same NAME VALUE` is a value that has to be
//! equal wherever it is printed, for every SHIFT.

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

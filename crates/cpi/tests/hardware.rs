//! Tests of hardware counters with exactly known counts, in the emulated machine of tools/pmu-vm.
//!
//! `TACHO_PMU` describes the machine: SHIFT, if its processor executes one instruction in 2^SHIFT cycles, or the name of a
//! machine with a limitation ([`guest::STATES`]). Each test checks whether it applies to the machine; without `TACHO_PMU`
//! none does. `tools/pmu-vm/check` runs them all.
//!
//! A line `@ok NAME: FOUND` reports a passed check; `tools/pmu-vm/check` lists these lines. A line `@same NAME VALUE` reports a
//! value that must be the same in all emulated machines (guests).

#![allow(
    unsafe_code,
    reason = "a region of known length needs assembly; other users of the counters need the system call"
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

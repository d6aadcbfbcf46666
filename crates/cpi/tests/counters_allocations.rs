//! Collecting `Processor CPI` does not allocate once the counters are open. A separate test program, because it counts
//! allocations.
#![cfg(feature = "fake-machine")]

use std::sync::Arc;

use peak_alloc::PeakAlloc;
use tachograph_cpi::counters::provider;
use tachograph_cpi::install_fake_machine;
use tachograph_perflib::{Clock, Rows};
use tachograph_system::Roots;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

#[test]
fn collecting_allocates_nothing_after_the_second_sample() {
    install_fake_machine(64);
    let clock = Clock::of_this_machine();
    let mut provider = provider(&Roots::of_this_machine()).expect("the fake machine has counters");
    let mut rows = Rows::unfiltered(Arc::clone(provider.info()));
    let mut allocated = Vec::with_capacity(50);
    for sample in 0..52 {
        rows.clear(clock.now());
        let before = ALLOCATED.current_usage();
        ALLOCATED.reset_peak_usage();
        provider.collect(&mut rows).expect("collected");
        let bytes = ALLOCATED.peak_usage().saturating_sub(before);
        assert!(rows.instances().len() > 64);
        assert!(rows.all_values().iter().all(|raw| raw.status.is_good()));
        if sample >= 2 {
            allocated.push(bytes);
        }
    }
    // The test harness's thread can allocate at the same time.
    let without_allocation = allocated.iter().filter(|&&bytes| bytes == 0).count();
    assert!(without_allocation >= 45, "{allocated:?}");
}

//! Collecting allocates nothing once the instances are known. A binary of its own, because it counts allocations.

use std::sync::Arc;

use peak_alloc::PeakAlloc;
use tachograph_perflib::{Clock, Rows};
use tachograph_system::{Roots, providers};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// All counters and instances of this machine, in samples without new or removed instances.
#[test]
fn collecting_allocates_nothing_after_the_third_sample() {
    let clock = Clock::of_this_machine();
    for mut provider in providers(&Roots::of_this_machine()) {
        let name = provider.info().name.clone();
        let mut rows = Rows::unfiltered(Arc::clone(provider.info()));
        let mut allocated = Vec::new();
        for sample in 0..43 {
            let known = rows.instances().to_vec();
            rows.clear(clock.now());
            let before = ALLOCATED.current_usage();
            ALLOCATED.reset_peak_usage();
            provider.collect(&mut rows).unwrap_or_else(|failure| panic!("{name}: {failure}"));
            let bytes = ALLOCATED.peak_usage().saturating_sub(before);
            // Other programs start processes and open sockets during the test.
            let is_same = known == rows.instances();
            if sample >= 3 && is_same {
                allocated.push(bytes);
            }
        }
        // A process that started and ended between the two checks is visible only by its allocations.
        let without = allocated.iter().filter(|&&bytes| bytes == 0).count();
        assert!(!allocated.is_empty(), "{name}: the instances change all the time");
        assert!(2 * without > allocated.len(), "{name}: {allocated:?}");
    }
}

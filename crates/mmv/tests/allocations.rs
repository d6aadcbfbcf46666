//! Collecting values of MMV files allocates nothing. A separate test program, because it counts allocations.

#[path = "mmv/writer.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod writer;

use peak_alloc::PeakAlloc;
use tachograph_mmv::providers;
use tachograph_perflib::{Clock, Rows};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// The file has missing and invalid values, and depends on a running process.
#[test]
fn collecting_allocates_nothing_after_the_first_sample() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut file = writer::File::shop(3);
    file.flags = writer::FLAG_PROCESS | writer::FLAG_SENTINEL;
    file.process = std::process::id().cast_signed();
    file.metrics[0].values[0].0 = u64::MAX;
    file.metrics.push(
        writer::Metric::new("bad", 90, writer::DOUBLE, writer::INSTANT, 0).value(f64::INFINITY.to_bits()),
    );
    file.metrics
        .push(writer::Metric::new("ns", 91, writer::U64, writer::COUNTER, writer::NANOSECONDS).value(5));
    std::fs::write(folder.path().join("shop"), file.image().bytes).expect("written");

    let clock = Clock::of_this_machine();
    let mut found = providers(&[folder.path().to_owned()], &|_, _| false);
    assert_eq!(found.providers.len(), 2);
    let mut rows: Vec<_> =
        found.providers.iter().map(|provider| Rows::unfiltered(provider.info().clone())).collect();
    let mut allocated = Vec::with_capacity(100);
    for sample in 0..51 {
        let moment = clock.now();
        for (provider, rows) in found.providers.iter_mut().zip(&mut rows) {
            rows.clear(moment);
            let before = ALLOCATED.current_usage();
            ALLOCATED.reset_peak_usage();
            provider.collect(rows).expect("collected");
            let bytes = ALLOCATED.peak_usage().saturating_sub(before);
            assert!(!rows.instances().is_empty());
            if sample >= 1 {
                allocated.push(bytes);
            }
        }
    }
    // The test harness's thread can allocate at the same time.
    let allocation_free = allocated.iter().filter(|&&bytes| bytes == 0).count();
    assert!(allocation_free >= 95, "{allocated:?}");
}

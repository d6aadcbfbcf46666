//! After the first write, writing to a trace does not allocate. A separate test program, because it counts allocations.

#[path = "trace/fixture.rs"]
mod trace_fixture;

use peak_alloc::PeakAlloc;
use tachograph_cpi::Mode;
use tachograph_cpi::trace::Trace;
use trace_fixture as fixture;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

#[test]
fn only_the_first_write_allocates() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = fixture::data(64, true, true);
    let label = "x".repeat(3000);
    for trace in
        [Trace::create(&folder.path().join("trace.nrm2")).expect("a file"), Trace::in_memory(4 << 20)]
    {
        trace.write(&data, 0, Mode::TRACE_SUMMARY, None).expect("enough space");
        let mut allocated = Vec::with_capacity(50);
        for _ in 0..50 {
            let before = ALLOCATED.current_usage();
            ALLOCATED.reset_peak_usage();
            for get in 0..5 {
                // The longest hooks: more than in the first write.
                trace.write(&data, get, Mode::TRACE_EVERYTHING, Some(&label)).expect("enough space");
            }
            allocated.push(ALLOCATED.peak_usage().saturating_sub(before));
        }
        // The test harness's thread can allocate at the same time.
        let without_allocation = allocated.iter().filter(|&&bytes| bytes == 0).count();
        assert!(without_allocation >= 40, "{allocated:?}");
    }
}

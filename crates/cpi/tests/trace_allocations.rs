//! Writing to a trace allocates nothing after the first time. In a binary of its own, which counts what is
//! allocated.

#[path = "trace/made.rs"]
mod trace_made;

use peak_alloc::PeakAlloc;
use tachograph_cpi::Mode;
use tachograph_cpi::trace::Trace;
use trace_made as made;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

#[test]
fn writing_allocates_nothing_after_the_first_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = made::data(64, true, true);
    let label = "x".repeat(3000);
    for trace in
        [Trace::create(&folder.path().join("trace.nrm2")).expect("a file"), Trace::in_memory(4 << 20)]
    {
        trace.write(&data, 0, Mode::TRACE_SUMMARY, None).expect("room");
        let mut allocated = Vec::with_capacity(50);
        for _ in 0..50 {
            let before = ALLOCATED.current_usage();
            ALLOCATED.reset_peak_usage();
            for get in 0..5 {
                // The longest: more than there was at first.
                trace.write(&data, get, Mode::TRACE_EVERYTHING, Some(&label)).expect("room");
            }
            allocated.push(ALLOCATED.peak_usage().saturating_sub(before));
        }
        // The harness has a thread of its own, which may allocate meanwhile.
        let without = allocated.iter().filter(|&&bytes| bytes == 0).count();
        assert!(without >= 40, "{allocated:?}");
    }
}

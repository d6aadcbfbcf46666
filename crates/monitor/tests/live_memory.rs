//! The memory of a live chart is bounded by the number of instances in its samples. A separate test program, because it counts
//! allocations.

#[path = "../../flow/tests/live/fixture.rs"]
#[allow(dead_code, reason = "a machine that several tests share")]
mod fixture;

use fixture::{Machine, Process};
use peak_alloc::PeakAlloc;
use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_flow::live::LiveOptions;
use tachograph_monitor::{Board, LiveBoard};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Processes per sample.
const PROCESSES: u32 = 100;

/// The bytes that a board keeps after all samples, and the further bytes that a redraw needs at its peak. Apart from
/// one process, each sample has different processes than the previous one.
fn bytes_after(samples: u32) -> (usize, usize) {
    let machine = Machine::default();
    let paths = [PathPattern::parse(r"\Process(*)\Ticks/sec").expect("a path")];
    let before = ALLOCATED.current_usage();
    let (mut board, _selection) =
        LiveBoard::open(&machine.registry(), &paths, 5, LiveOptions::default()).expect("this machine");
    for sample in 0..samples {
        let mut processes = vec![Process::new("stays", 1)];
        let first = 2 + sample * PROCESSES;
        processes.extend((first..first + PROCESSES).map(|pid| Process::new(&format!("p{pid:08}"), pid)));
        machine.set(&processes);
        board.collect();
    }
    machine.set(&[]);
    let kept = ALLOCATED.current_usage().saturating_sub(before);
    let window = board.window(FileTime::PER_SECOND).expect("samples");
    ALLOCATED.reset_peak_usage();
    let before = ALLOCATED.current_usage();
    let reduced = board.reduce(window, 5, &paths).expect("few counters");
    assert_eq!(reduced.series.iter().filter(|series| series.summary.values > 0).count(), 1);
    (kept, ALLOCATED.peak_usage().saturating_sub(before))
}

/// The bytes that a board of 200 intervals keeps after 551 samples, of which those from 100 to 299 have `many` processes.
fn bytes_after_burst(many: u32) -> usize {
    let machine = Machine::default();
    let paths = [PathPattern::parse(r"\Process(*)\Ticks/sec").expect("a path")];
    let before = ALLOCATED.current_usage();
    let (mut board, _selection) =
        LiveBoard::open(&machine.registry(), &paths, 200, LiveOptions::default()).expect("this machine");
    for sample in 0..=550 {
        let count = if (100..300).contains(&sample) { many } else { PROCESSES };
        let processes = (1..=count).map(|pid| Process::new(&format!("p{pid:08}"), pid)).collect::<Vec<_>>();
        machine.set(&processes);
        board.collect();
        let window = board.window(FileTime::PER_SECOND).expect("samples");
        if sample % 50 == 0 {
            board.reduce(window, 0, &paths).expect("few counters");
        }
    }
    machine.set(&[]);
    ALLOCATED.current_usage().saturating_sub(before)
}

/// The only test of this program, because tests share an allocator.
#[test]
fn the_memory_of_a_chart_does_not_grow_with_ended_processes() {
    // All buffers have been full by then.
    let (kept, redraw) = bytes_after(2_000);
    let (kept_later, redraw_later) = bytes_after(7_800);
    assert!(redraw_later < redraw + redraw / 4, "a redraw: {redraw_later} bytes, at first {redraw}");
    assert!(kept_later < kept + kept / 4, "kept: {kept_later} bytes, at first {kept}");
    // The samples with many processes have left the chart, and so have their buffers: 200 of at least 48 kB.
    let (kept, kept_later) = (bytes_after_burst(PROCESSES), bytes_after_burst(3000));
    assert!(kept_later < kept + 3_000_000, "after a burst: {kept_later} bytes, without it {kept}");
}

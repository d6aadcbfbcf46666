//! A region's count is its instructions and a few of the calls themselves, always the same number.

use tachograph_cpi::{Cpi, CpiData, Mode, Options};

use crate::guest;
use crate::region::{instructions, region};

/// Regions, in iterations of the loop.
const REGIONS: [u64; 6] = [1_000, 1_000_000, 1_000_000, 3_000_000, 1, 1_000_000];

/// Instructions and cycles that an instance measures.
pub(crate) type Pick = fn(&CpiData) -> (u64, u64, Option<f64>);

/// Of its thread.
pub(crate) fn of_thread(data: &CpiData) -> (u64, u64, Option<f64>) {
    let thread = data.thread.expect("the thread is measured");
    assert_eq!(thread.core_cycles, thread.cycles, "on this machine the thread's cycles are the core's");
    assert_eq!(thread.running_ns, thread.enabled_ns, "no other program uses the counters");
    (thread.instructions, thread.cycles, thread.cpi())
}

/// Of the only processor, which is the system.
pub(crate) fn of_processor(data: &CpiData) -> (u64, u64, Option<f64>) {
    let [processor] = data.processors.as_slice() else { panic!("one processor, not {:?}", data.processors) };
    let measured = processor.measured;
    assert_eq!(measured, data.system, "the sum over one processor is that processor's");
    assert_eq!(measured.running_ns, measured.enabled_ns, "no other program uses the counters");
    (measured.instructions, measured.core_cycles, measured.core_cpi())
}

/// Instructions of the calls themselves in a region, for a thread that is read through the kernel.
const MAX_BEYOND: u64 = 100;

/// The same if the program reads the pages of its counters itself, which is not the kernel's work, and for processors, whose
/// lock is taken and whose clock is read.
const MAX_BEYOND_ELSE: u64 = 300;

/// Measures a region. Not inlined: elsewhere, the compiler can use one instruction more or less for the calls.
#[inline(never)]
pub(crate) fn measured(cpi: &mut Cpi, iterations: u64) -> &CpiData {
    cpi.start().expect("started");
    region(iterations);
    cpi.get().expect("counted")
}

/// Measures regions of several lengths; returns the count beyond the region's loop, which is always the same.
pub(crate) fn beyond_the_region(options: Options, pick: Pick, shift: u32) -> u64 {
    let asks_the_kernel = !options.mode.has_processors() && user_access() == 0;
    let max = if asks_the_kernel { MAX_BEYOND } else { MAX_BEYOND_ELSE };
    let mut cpi = Cpi::new(options).expect("hardware counters");
    // The first call allocates.
    cpi.get().expect("counted");
    let mut beyond = [0; REGIONS.len()];
    for (iterations, here) in REGIONS.into_iter().zip(&mut beyond) {
        let data = measured(&mut cpi, iterations);
        assert!(data.is_user_only, "the kernel is not to be counted");
        let (counted, cycles, cpi) = pick(data);
        assert_eq!(cycles, counted << shift, "{counted} instructions take 2^{shift} cycles each");
        assert_eq!(cpi, Some(f64::from(1 << shift)));
        *here = counted.checked_sub(instructions(iterations)).expect("the region is counted whole");
    }
    let is_one = beyond.iter().all(|here| *here == beyond[0]);
    assert!(is_one, "regions of {REGIONS:?} x 2 instructions have different numbers beyond: {beyond:?}");
    assert!(beyond[0] < max, "{} instructions beyond the region are too many", beyond[0]);
    beyond[0]
}

/// 1 if programs may read counters without the kernel.
fn user_access() -> u32 {
    let text =
        std::fs::read_to_string("/proc/sys/kernel/perf_user_access").expect("an arm64 kernel has this file");
    text.trim().parse().expect("a number")
}

fn print_check(name: &str, beyond: u64, shift: u32) {
    guest::same(name, beyond);
    guest::ok(
        name,
        format_args!(
            "1,000,000 x 2 instructions read 2,000,000 + {beyond}, in {} cycles each: CPI {0}",
            1 << shift
        ),
    );
}

#[test]
fn region_of_the_thread() {
    let Some(shift) = guest::shift() else { return };
    let beyond = beyond_the_region(guest::user_code(Mode::ON_THREAD), of_thread, shift);
    let way = if user_access() == 1 { "read by the program itself" } else { "read by the kernel" };
    print_check(&format!("region on the thread, {way}"), beyond, shift);
}

#[test]
fn region_of_the_processor() {
    let Some(shift) = guest::shift() else { return };
    let beyond = beyond_the_region(guest::user_code(Mode::RAW), of_processor, shift);
    print_check("region on the processor", beyond, shift);
}

#[test]
fn region_of_both_at_once() {
    let Some(shift) = guest::shift() else { return };
    let mut cpi = Cpi::new(guest::user_code(Mode::SCALED | Mode::ON_THREAD)).expect("hardware counters");
    let mut measure = |iterations| {
        cpi.start().expect("started");
        region(iterations);
        let data = cpi.get().expect("counted");
        (of_thread(data), of_processor(data))
    };
    measure(1);
    let (short_thread, short_processor) = measure(1_000_000);
    let (long_thread, long_processor) = measure(3_000_000);
    for (short, long) in [(short_thread, long_thread), (short_processor, long_processor)] {
        assert_eq!(long.0 - short.0, instructions(2_000_000));
        assert_eq!(long.1 - short.1, instructions(2_000_000) << shift);
    }
    guest::ok(
        "thread and processor in one instance",
        "2,000,000 more turns are 4,000,000 more instructions in both",
    );
}

/// If the kernel is counted, a system call in `start` or `get` would add more than a thousand instructions.
#[test]
fn own_reads_make_no_system_call() {
    if guest::shift() != Some(0) {
        return;
    }
    let mut cpi = Cpi::new(Mode::ON_THREAD).expect("hardware counters");
    let mut min = u64::MAX;
    // The timer's interrupt can fall into a region, but not into all.
    for _ in 0..20 {
        cpi.start().expect("started");
        region(1_000);
        let data = cpi.get().expect("counted");
        assert!(!data.is_user_only, "the kernel is to be counted");
        min = min.min(of_thread(data).0 - instructions(1_000));
    }
    if user_access() == 1 {
        assert!(min < 500, "{min} instructions beyond the region: that is a system call");
        guest::ok("reading by the program itself", format_args!("{min} instructions, the kernel's included"));
    } else {
        assert!(min > 1_000, "{min} instructions beyond the region: that is no system call");
        guest::ok("reading by the kernel", format_args!("{min} instructions, the kernel's included"));
    }
}

//! A region's count is its own instructions plus those of `start` and `get`, which are few and always the same number.

use tachograph_cpi::{Cpi, CpiData, Mode, Options};

use crate::guest;
use crate::region::{instructions, region};

/// The lengths of the measured regions, in iterations of the loop.
const REGIONS: [u64; 6] = [1_000, 1_000_000, 1_000_000, 3_000_000, 1, 1_000_000];

/// Returns the instructions, cycles and CPI that an instance measured.
pub(crate) type Pick = fn(&CpiData) -> (u64, u64, Option<f64>);

/// The counts of the instance's thread.
pub(crate) fn of_thread(data: &CpiData) -> (u64, u64, Option<f64>) {
    let thread = data.thread.expect("the thread is measured");
    assert_eq!(thread.core_cycles, thread.cycles, "on this machine the thread's cycles are the core's");
    assert_eq!(thread.running_ns, thread.enabled_ns, "no other program uses the counters");
    (thread.instructions, thread.cycles, thread.cpi())
}

/// The counts of the only processor, which equal those of the system.
pub(crate) fn of_processor(data: &CpiData) -> (u64, u64, Option<f64>) {
    let [processor] = data.processors.as_slice() else { panic!("one processor, not {:?}", data.processors) };
    let measured = processor.measured;
    assert_eq!(measured, data.system, "the sum over one processor is that processor's");
    assert_eq!(measured.running_ns, measured.enabled_ns, "no other program uses the counters");
    (measured.instructions, measured.core_cycles, measured.core_cpi())
}

/// The maximum number of instructions of `start` and `get` in a region's count, if the thread's counters are read through the
/// kernel.
const MAX_OVERHEAD: u64 = 100;

/// The limit for counters that are read from user space, because the reading instructions are counted too, and for
/// processors, because taking a lock and reading the clock are counted too.
const MAX_OTHER_OVERHEAD: u64 = 300;

/// Measures a region. Not inlined, because the compiler could use another number of instructions for the calls in each caller.
#[inline(never)]
pub(crate) fn measured(cpi: &mut Cpi, iterations: u64) -> &CpiData {
    cpi.start().expect("started");
    region(iterations);
    cpi.get().expect("counted")
}

/// Measures regions of several lengths; asserts that the instructions counted beyond the region's loop are the same for all,
/// and returns their number.
pub(crate) fn region_overhead(options: Options, pick: Pick, shift: u32) -> u64 {
    let is_read_by_kernel = !options.mode.has_processors() && user_access() == 0;
    let max = if is_read_by_kernel { MAX_OVERHEAD } else { MAX_OTHER_OVERHEAD };
    let mut cpi = Cpi::new(options).expect("hardware counters");
    // The first call allocates.
    cpi.get().expect("counted");
    let mut overhead = [0; REGIONS.len()];
    for (iterations, here) in REGIONS.into_iter().zip(&mut overhead) {
        let data = measured(&mut cpi, iterations);
        assert!(data.is_user_only, "the kernel must not be counted");
        let (counted, cycles, cpi) = pick(data);
        assert_eq!(cycles, counted << shift, "{counted} instructions take 2^{shift} cycles each");
        assert_eq!(cpi, Some(f64::from(1 << shift)));
        *here = counted.checked_sub(instructions(iterations)).expect("the whole region is counted");
    }
    let are_equal = overhead.iter().all(|here| *here == overhead[0]);
    assert!(are_equal, "regions of {REGIONS:?} x 2 instructions have different overheads: {overhead:?}");
    assert!(overhead[0] < max, "{} instructions of overhead are too many", overhead[0]);
    overhead[0]
}

/// 1 if programs may read counters without the kernel.
fn user_access() -> u32 {
    let text =
        std::fs::read_to_string("/proc/sys/kernel/perf_user_access").expect("an arm64 kernel has this file");
    text.trim().parse().expect("a number")
}

fn print_check(name: &str, overhead: u64, shift: u32) {
    guest::report_value(name, overhead);
    guest::report_pass(
        name,
        format_args!(
            "1,000,000 x 2 instructions read 2,000,000 + {overhead}, in {} cycles each: CPI {0}",
            1 << shift
        ),
    );
}

#[test]
fn a_region_of_the_thread_is_counted_exactly() {
    let Some(shift) = guest::cycles_shift() else { return };
    let overhead = region_overhead(guest::user_code(Mode::ON_THREAD), of_thread, shift);
    let way = if user_access() == 1 { "read by the program itself" } else { "read by the kernel" };
    print_check(&format!("region on the thread, {way}"), overhead, shift);
}

#[test]
fn a_region_of_the_processor_is_counted_exactly() {
    let Some(shift) = guest::cycles_shift() else { return };
    let overhead = region_overhead(guest::user_code(Mode::RAW), of_processor, shift);
    print_check("region on the processor", overhead, shift);
}

#[test]
fn one_instance_counts_thread_and_processor_exactly() {
    let Some(shift) = guest::cycles_shift() else { return };
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
    guest::report_pass(
        "thread and processor in one instance",
        "2,000,000 more iterations are 4,000,000 more instructions in both",
    );
}

/// The kernel is counted here, so a system call in `start` or `get` adds more than a thousand instructions.
#[test]
fn only_reads_through_the_kernel_make_a_system_call() {
    if guest::cycles_shift() != Some(0) {
        return;
    }
    let mut cpi = Cpi::new(Mode::ON_THREAD).expect("hardware counters");
    let mut min = u64::MAX;
    // A timer interrupt can occur during some of the regions, but not during all.
    for _ in 0..20 {
        cpi.start().expect("started");
        region(1_000);
        let data = cpi.get().expect("counted");
        assert!(!data.is_user_only, "the kernel must be counted");
        min = min.min(of_thread(data).0 - instructions(1_000));
    }
    if user_access() == 1 {
        assert!(min < 500, "{min} instructions of overhead: this includes a system call");
        guest::report_pass(
            "reading by the program itself",
            format_args!("{min} instructions, the kernel's included"),
        );
    } else {
        assert!(min > 1_000, "{min} instructions of overhead: this includes no system call");
        guest::report_pass(
            "reading by the kernel",
            format_args!("{min} instructions, the kernel's included"),
        );
    }
}

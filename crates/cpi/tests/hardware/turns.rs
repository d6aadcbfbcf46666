//! Multiplexing: more counters are requested than the machine has, so the kernel rotates them. Every 4 ms, other
//! counters are active.

use tachograph_cpi::{Cpi, CpiData, ErrorKind, Mode};

use crate::guest;
use crate::others::{Others, Target};
use crate::region::{assert_within, instructions, region};

/// Number of other counters that compete for the hardware.
const OTHERS: usize = 12;
/// The number of iterations of the long region: 0.2 s, which is fifty rotations of the counters.
const LONG: u64 = 100_000_000;
/// The number of iterations of the short region: 0.1 ms, while a rotation of the counters takes 4 ms.
const SHORT: u64 = 50_000;
/// The number of measurements of the short region, which take 50 ms together.
const TIMES: u32 = 500;

struct Case {
    name: &'static str,
    mode: Mode,
    target: Target,
    /// Instructions, cycles and the share of the time for which they were counted.
    pick: fn(&CpiData) -> (u64, u64, Option<f64>),
}

const CASES: [Case; 2] = [
    Case {
        name: "the thread",
        mode: Mode::ON_THREAD,
        target: Target::Thread,
        pick: |data| {
            let thread = data.thread.expect("measured");
            (thread.instructions, thread.core_cycles, thread.running_share())
        },
    },
    Case {
        name: "the processor",
        mode: Mode::RAW,
        target: Target::Processor,
        pick: |data| (data.system.instructions, data.system.core_cycles, data.system.running_share()),
    },
];

#[test]
fn counts_are_scaled_and_the_share_is_reported() {
    if guest::cycles_shift() != Some(0) {
        return;
    }
    for Case { name, mode, target, pick } in CASES {
        let _others = Others::multiplexed(OTHERS, target);
        let mut cpi = Cpi::new(guest::user_code(mode)).expect("hardware counters");
        cpi.start().expect("started");
        region(LONG);
        let (counted, cycles, share) = pick(cpi.get().expect("counted"));
        let share = share.expect("time has elapsed");
        assert_within("the share of time", share, 0.1..0.9);
        assert_within(
            "counted instructions / executed instructions",
            counted as f64 / instructions(LONG) as f64,
            0.99..1.01,
        );
        // With reads from user space, the second counter is read a few instructions after the first.
        assert_within("cycles / instructions", cycles as f64 / counted as f64, 0.999_99..1.000_01);
        guest::report_pass(
            &format!("{OTHERS} other counters, {name}"),
            format_args!(
                "{counted} instructions of {}, counted for {:.1} % of the time",
                instructions(LONG),
                100.0 * share
            ),
        );
    }
}

#[test]
fn counters_may_never_run_in_regions_shorter_than_a_rotation() {
    if guest::cycles_shift() != Some(0) {
        return;
    }
    for Case { name, mode, target, pick } in CASES {
        let _others = Others::multiplexed(OTHERS, target);
        let mut cpi = Cpi::new(guest::user_code(mode)).expect("hardware counters");
        let (mut counted, mut never) = (0, 0);
        // Over several rotations, some regions run entirely while the counters of this instance are not scheduled.
        for _ in 0..TIMES {
            cpi.start().expect("started");
            region(SHORT);
            match cpi.get() {
                Ok(data) => {
                    assert!(pick(data).2.is_some_and(|share| share > 0.0), "{name}: counted, but never ran");
                    counted += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::NeverRan, "{error}");
                    assert_never_ran(&error.to_string());
                    never += 1;
                }
            }
        }
        assert!(counted > 0 && never > 0, "{name}: {counted} counted, {never} never ran");
        guest::report_pass(
            &format!("region shorter than a rotation, {name}"),
            format_args!("{never} of {TIMES} never ran and are reported as such, {counted} were counted"),
        );
    }
}

#[test]
fn counters_that_pinned_counters_displace_are_reported_as_never_run() {
    if guest::cycles_shift() != Some(0) {
        return;
    }
    for Case { name, mode, target, .. } in CASES {
        let mut cpi = Cpi::new(guest::user_code(mode)).expect("hardware counters");
        let others = Others::pinned(target);
        cpi.start().expect("started");
        region(LONG / 10);
        let error = cpi.get().expect_err("no counter was available");
        assert_eq!(error.kind(), ErrorKind::NeverRan, "{name}: {error}");
        assert_never_ran(&error.to_string());
        drop(others);
        cpi.start().expect("started");
        region(LONG / 10);
        cpi.get().expect("the other counters are closed");
        guest::report_pass(&format!("all counters held by others, {name}"), &error);
    }
}

fn assert_never_ran(text: &str) {
    assert!(text.contains("never ran"), "{text}");
}

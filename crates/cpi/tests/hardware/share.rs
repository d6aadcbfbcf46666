//! Checks busy shares, CPI while busy and raw CPI of a thread that works and sleeps in a known proportion.

use std::time::Duration;

use tachograph_cpi::{Cpi, Mode};

use crate::guest;
use crate::region::{assert_within, region};

/// The durations of work in a round, one for each measurement; the rest of a round is sleep.
const WORK_MS: [u64; 3] = [40, 100, 160];
const SLEEP_MS: u64 = 100;
/// Minimum duration of the work in the machine's virtual time. The kernel accounts busy time in steps of 10 ms, and one step
/// must be well below one percent.
const MIN_WORK_MS: u64 = 1_600;

/// Works for this duration. The machine's clock advances by a nanosecond per cycle, an instruction takes 2^`shift` cycles, and
/// an iteration of the region has two instructions.
fn work(milliseconds: u64, shift: u32) {
    region((milliseconds * 1_000_000) >> shift >> 1);
}

#[test]
fn busy_shares_and_both_kinds_of_cpi_are_right() {
    let Some(shift @ (0 | 1)) = guest::cycles_shift() else { return };
    let expected_cpi = f64::from(1 << shift);
    for work_ms in WORK_MS {
        let share = work_ms as f64 / (work_ms + SLEEP_MS) as f64;
        let mut cpi = Cpi::new(Mode::SCALED).expect("hardware counters");
        cpi.start().expect("started");
        for _ in 0..MIN_WORK_MS.div_ceil(work_ms) {
            work(work_ms, shift);
            std::thread::sleep(Duration::from_millis(SLEEP_MS));
        }
        let data = cpi.get().expect("counted");
        assert!(data.is_scaled && !data.is_user_only);
        let system = data.system;
        let busy = system.busy_percent().expect("known");
        let scaled = system.cpi_scaled().expect("known");
        let raw = system.cpi().expect("counted");
        guest::report_pass(
            &format!("work for {:.1} % of the time", 100.0 * share),
            format_args!("busy {busy:.2} %, CPI {raw:.4}, while busy {scaled:.4}"),
        );
        assert_within("CPI while busy / expected CPI", scaled / expected_cpi, 0.99..1.01);
        assert_within("raw CPI / (expected CPI / share of work)", raw / (expected_cpi / share), 0.98..1.02);
        assert_within("busy share / share of work", busy / 100.0 / share, 0.98..1.02);
    }
}

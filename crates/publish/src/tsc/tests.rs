//! Tests of the ratio of the clocks, with injected ratios and readings.

use std::sync::atomic::{AtomicBool, AtomicUsize};

use super::*;

#[test]
fn impossible_ratios_are_rejected() {
    assert_eq!(ratio(250_000_000, 100_000_000, 100), Some((100_000_000_u64 << 32) / 250_000_000));
    assert_eq!(ratio(250_000_000, 100_000_000, 251), None, "read too far apart");
    assert_eq!(ratio(0, 100_000_000, 0), None);
    assert_eq!(ratio(u64::MAX, 100_000_000, 0), None, "the counter went backwards");
    assert_eq!(nanoseconds(250_000_000, ratio(250_000_000, 100_000_000, 1).expect("a ratio")), 99_999_999);
    // A hundred years do not overflow.
    let years = 100 * 365 * 86_400 * 1_000_000_000_u64;
    let error_ns = nanoseconds(years, 1 << 32).abs_diff(years);
    assert_eq!(error_ns, 0);
}

#[test]
fn a_counter_that_goes_backwards_counts_nothing() {
    assert_eq!(Start::Ticks(ticks().wrapping_add(1 << 40)).elapsed_ns(), 0);
}

/// Two readings at this distance, with this number of ticks per microsecond.
fn readings(nanoseconds: u64, ticks_in_1000_ns: u64) -> [ClockPair; 2] {
    let first = ClockPair { ticks: 7, moment: Instant::now(), uncertainty: 0 };
    let moment = first.moment + Duration::from_nanos(nanoseconds);
    [first, ClockPair { ticks: 7 + nanoseconds / 1000 * ticks_in_1000_ns, moment, uncertainty: 0 }]
}

#[test]
fn a_new_ratio_must_agree_with_the_previous_one() {
    let minute = 60_000_000_000;
    let [first, now] = readings(minute, 2_500_000);
    let before = ratio_between(&first, &now);
    assert_eq!(before, None, "2.5 THz");
    let [first, now] = readings(minute, 2500);
    let before = ratio_between(&first, &now).expect("2.5 GHz");
    assert_eq!(compare(before, &first, &now), Comparison::Agrees(before));
    // The kernel's clock is disciplined by NTP: 400 ppm.
    let [first, now] = readings(minute, 2501);
    assert!(matches!(compare(before, &first, &now), Comparison::Agrees(ratio) if ratio < before));
    let [first, now] = readings(minute, 2504);
    assert_eq!(compare(before, &first, &now), Comparison::Deviates);
    assert_eq!(compare(before, &now, &ClockPair { ticks: now.ticks - 1, ..now }), Comparison::Deviates);
    let apart = ClockPair { uncertainty: minute / 1000, ..now };
    assert_eq!(compare(before, &first, &apart), Comparison::Unknown);
}

/// A calibrated clock that uses the counter; `None` if the kernel of this machine does not use it.
fn calibrated_clock(is_clock_source: fn() -> bool) -> Option<Clock> {
    let clock = Clock::new(CALIBRATION, is_clock_source);
    clock.prepare();
    is_kernel_clock().then(|| {
        wait_until(&clock, "the counter", |now| matches!(now, Start::Ticks(_)));
        clock
    })
}

/// Calls `now` until its result matches; fails after a minute.
fn wait_until(clock: &Clock, expected: &str, matches: impl Fn(Start) -> bool) {
    let begin = Instant::now();
    while !matches(clock.now()) {
        assert!(begin.elapsed() < Duration::from_secs(60), "{expected}: never");
    }
}

/// Sets a ratio from which every measurement deviates.
fn set_wrong_ratio(clock: &Clock) {
    clock.ratio.store(clock.ratio.load(Ordering::Relaxed) * 2, Ordering::Relaxed);
}

#[test]
fn the_ratio_is_measured_repeatedly() {
    let Some(clock) = calibrated_clock(is_kernel_clock) else { return };
    let readings = || clock.last.each_ref().map(|word| word.load(Ordering::Relaxed));
    for doubling in 1..4 {
        let (before, length) = (readings(), clock.valid_ticks.load(Ordering::Relaxed));
        wait_until(&clock, "another ratio", |_| readings() != before);
        assert!(clock.valid_ticks.load(Ordering::Relaxed) > length, "{doubling}");
    }
    // A wrong ratio is replaced.
    let right = clock.ratio.load(Ordering::Relaxed);
    clock.ratio.store(right + right / 2000, Ordering::Relaxed);
    wait_until(&clock, "the right ratio", |_| {
        clock.ratio.load(Ordering::Relaxed).abs_diff(right) < right / 4000
    });
}

#[test]
fn one_thread_measures_at_a_time() {
    static CLOCK: Clock = Clock::new(CALIBRATION, act_during_measurements);
    static MEASUREMENTS: AtomicUsize = AtomicUsize::new(0);
    static HAS_ACTED: AtomicBool = AtomicBool::new(false);
    /// Does what other threads do during a measurement: each measurement checks the kernel's clock source.
    fn act_during_measurements() -> bool {
        MEASUREMENTS.fetch_add(1, Ordering::Relaxed);
        let [from, length] = [&CLOCK.valid_from, &CLOCK.valid_ticks].map(|word| word.load(Ordering::Relaxed));
        if length > 0 && !HAS_ACTED.swap(true, Ordering::Relaxed) {
            // One thread read the counter before the measuring thread did, the other long after it.
            for late in [from - 1, from + 2 * length] {
                assert!(matches!(CLOCK.remeasure(late), Start::Ticks(tick) if tick == late));
            }
        }
        true
    }
    CLOCK.prepare();
    wait_until(&CLOCK, "the counter", |now| matches!(now, Start::Ticks(_)) || !is_kernel_clock());
    if !is_kernel_clock() {
        return;
    }
    // Prepared, and calibrated; a measurement that was interrupted is repeated.
    let calibrated = MEASUREMENTS.load(Ordering::Relaxed);
    assert!(calibrated >= 2, "{calibrated}");
    let before = CLOCK.valid_from.load(Ordering::Relaxed);
    wait_until(&CLOCK, "another ratio", |_| CLOCK.valid_from.load(Ordering::Relaxed) != before);
    let measured = MEASUREMENTS.load(Ordering::Relaxed);
    assert!(measured > calibrated && HAS_ACTED.load(Ordering::Relaxed));
    // A thread that read the counter before the measurement, and was interrupted until it was complete.
    let from = CLOCK.valid_from.load(Ordering::Relaxed);
    CLOCK.remeasure(from - 1);
    assert_eq!(
        (MEASUREMENTS.load(Ordering::Relaxed), CLOCK.valid_from.load(Ordering::Relaxed)),
        (measured, from)
    );
}

#[test]
fn a_forked_child_measures_even_if_its_parent_was_measuring() {
    let Some(clock) = calibrated_clock(is_kernel_clock) else { return };
    let readings = || clock.last.each_ref().map(|word| word.load(Ordering::Relaxed));
    let before = readings();
    clock.measuring.store(std::process::id() + 1, Ordering::Relaxed);
    wait_until(&clock, "another ratio", |_| readings() != before);
    assert_eq!(clock.measuring.load(Ordering::Relaxed), 0);
}

#[test]
fn the_counter_is_not_used_after_the_clock_source_has_changed() {
    static IS_TSC: AtomicBool = AtomicBool::new(true);
    let Some(clock) = calibrated_clock(|| is_kernel_clock() && IS_TSC.load(Ordering::Relaxed)) else {
        return;
    };
    let running = clock.now();
    IS_TSC.store(false, Ordering::Relaxed);
    wait_until(&clock, "the kernel's clock", |now| matches!(now, Start::Moment(_)));
    for _ in 0..1000 {
        assert!(matches!(clock.now(), Start::Moment(_)), "the kernel's clock stays in use");
    }
    assert!(!clock.is_calibrating.load(Ordering::Relaxed));
    // A measurement that started before is completed with the counter.
    assert!(matches!(running, Start::Moment(_)) || clock.elapsed_ns(running) > 0);
}

#[test]
fn a_deviating_ratio_is_measured_again_from_the_start() {
    let Some(clock) = calibrated_clock(is_kernel_clock) else { return };
    let right = clock.ratio.load(Ordering::Relaxed);
    set_wrong_ratio(&clock);
    let wrong = clock.ratio.load(Ordering::Relaxed);
    // The wrong ratio is not used after the deviation.
    wait_until(&clock, "the kernel's clock", |now| matches!(now, Start::Moment(_)));
    wait_until(&clock, "the counter", |now| matches!(now, Start::Ticks(_)));
    let remeasured = clock.ratio.load(Ordering::Relaxed);
    assert!(remeasured.abs_diff(right) < right / 1000, "{right}, {wrong} -> {remeasured}");
    assert_eq!(clock.deviations.load(Ordering::Relaxed), 1);
    wait_until(&clock, "agreement", |_| clock.deviations.load(Ordering::Relaxed) == 0);
}

#[test]
fn after_repeated_deviations_the_counter_is_not_used() {
    let Some(clock) = calibrated_clock(is_kernel_clock) else { return };
    for deviations in 1..=MAX_DEVIATIONS {
        wait_until(&clock, "the counter", |now| matches!(now, Start::Ticks(_)));
        set_wrong_ratio(&clock);
        wait_until(&clock, "the kernel's clock", |now| matches!(now, Start::Moment(_)));
        assert_eq!(clock.deviations.load(Ordering::Relaxed), deviations);
    }
    assert!(!clock.is_calibrating.load(Ordering::Relaxed));
}

#[test]
fn both_clocks_agree() {
    prepare();
    if !is_kernel_clock() {
        assert!(matches!(Start::now(), Start::Moment(_)), "without the counter, the kernel's clock");
        return;
    }
    let begin = Instant::now();
    while !matches!(Start::now(), Start::Ticks(_)) {
        assert!(begin.elapsed() < Duration::from_secs(20), "the ratio was never calibrated");
        std::thread::sleep(Duration::from_millis(10));
    }
    // An interruption between two readings is not an error of the counter, so the best of several attempts counts.
    let deviations = (0..5).map(|_| {
        let (moment, start) = (Instant::now(), Start::now());
        std::thread::sleep(Duration::from_millis(100));
        let (by_counter, by_kernel) = (start.elapsed_ns() as f64, moment.elapsed().as_nanos() as f64);
        (by_counter / by_kernel - 1.0).abs()
    });
    let best = deviations.fold(f64::INFINITY, f64::min);
    assert!(best < 1e-4, "off by {best}");
}

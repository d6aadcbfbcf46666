//! If counting is refused, the message names the cause and the remedy.

use std::fs::File;
use std::os::fd::OwnedFd;

use tachograph_cpi::{Cpi, Error, ErrorKind, Events, Mode, Options, ProcessCpi};

use crate::guest;
use crate::region::region;

/// Asserts the kind and the text of a refusal.
fn assert_refused<T>(name: &str, result: Result<T, Error>, kind: ErrorKind, text: &str) {
    let error = result.err().unwrap_or_else(|| panic!("{name}: not refused"));
    assert_eq!((error.kind(), error.to_string().as_str()), (kind, text), "{name}");
    guest::report_pass(name, error);
}

fn shares_only(mode: Mode) -> Options {
    Options { mode, or_shares_only: true, ..Options::default() }
}

/// Asserts that busy shares are measured without counters, and that the reason why CPI is missing is reported.
fn assert_shares_remain(name: &str, kind: ErrorKind) {
    let mut cpi = Cpi::new(shares_only(Mode::SCALED)).expect("shares need no counters");
    let why = cpi.why_no_cpi().expect("a reason").clone();
    assert_eq!(why.kind(), kind, "{why}");
    cpi.start().expect("started");
    // A tenth of a second: ten ticks of the clock of /proc/stat.
    let begun = std::time::Instant::now();
    while begun.elapsed().as_millis() < 100 {
        region(100_000);
    }
    let system = cpi.get().expect("shares are measured").system;
    let busy = system.busy_percent().expect("time has passed");
    assert!(busy > 0.0 && busy <= 100.0, "busy {busy} %");
    assert_eq!((system.instructions, system.cpi(), system.cpi_scaled()), (0, None, None));
    guest::report_pass(&format!("{name}: busy share remains"), format_args!("{busy:.0} %"));
}

#[test]
fn without_an_instruction_counter_only_busy_shares_are_measured() {
    if !guest::is_machine("no-instructions") {
        return;
    }
    let kind = ErrorKind::EventNotSupported { in_virtual_machine: false };
    let text = "this machine's performance monitoring unit does not count instructions, which CPI needs; only CPU \
                utilization can be shown";
    assert_refused("no instruction counter, thread", Cpi::new(Mode::ON_THREAD), kind, text);
    assert_refused("no instruction counter, processors", Cpi::new(Mode::RAW), kind, text);
    assert_shares_remain("no instruction counter", kind);
}

#[test]
fn without_a_performance_monitoring_unit_only_busy_shares_are_measured() {
    if !guest::is_machine("no-pmu") {
        return;
    }
    let kind = ErrorKind::EventNotSupported { in_virtual_machine: false };
    let text = "this machine offers no hardware counter for cycles (no performance monitoring unit; usual in virtual \
                machines); only CPU utilization can be shown";
    assert_refused("no performance monitoring unit, thread", Cpi::new(Mode::ON_THREAD), kind, text);
    assert_refused("no performance monitoring unit, processors", Cpi::new(Mode::RAW), kind, text);
    assert_shares_remain("no performance monitoring unit", kind);
}

/// The expected message if kernel.perf_event_paranoid is `value`. It recommends the value `needed`.
fn paranoid(value: u32, forbids: &str, needed: u32) -> String {
    format!(
        "kernel.perf_event_paranoid is {value}, which forbids {forbids} without privilege (EACCES); run as root, or \
         'setcap cap_perfmon+ep' on the program, or 'sysctl kernel.perf_event_paranoid={needed}'"
    )
}

fn assert_processors_refused(value: u32) {
    let text = paranoid(value, "counting whole processors", 0);
    for (name, options) in [
        ("raw", Options::from(Mode::RAW)),
        ("scaled and thread", Options::from(Mode::SCALED | Mode::ON_THREAD)),
        ("raw, user code", guest::user_code(Mode::RAW)),
    ] {
        let name = format!("perf_event_paranoid {value}, processors, {name}");
        assert_refused(&name, Cpi::new(options), ErrorKind::AccessDenied, &text);
    }
    assert_shares_remain(&format!("perf_event_paranoid {value}"), ErrorKind::AccessDenied);
}

/// Measures the thread; returns whether only user code was counted, and the notes.
fn assert_thread_counts(options: Options) -> (bool, Vec<String>) {
    let mut cpi = Cpi::new(options).expect("own user code may be counted");
    cpi.start().expect("started");
    region(1_000_000);
    let data = cpi.get().expect("counted");
    let instructions = data.thread.expect("measured").instructions;
    assert!(instructions >= 2_000_000, "{instructions} instructions");
    (data.is_user_only, cpi.notes().to_vec())
}

#[test]
fn paranoid_3_refuses_all() {
    if !guest::is_machine("paranoid-3") {
        return;
    }
    let text = paranoid(3, "any counting", 2);
    for (name, options) in
        [("thread", Options::from(Mode::ON_THREAD)), ("thread, user code", guest::user_code(Mode::ON_THREAD))]
    {
        let name = format!("perf_event_paranoid 3, {name}");
        assert_refused(&name, Cpi::new(options), ErrorKind::AccessDenied, &text);
    }
    assert_processors_refused(3);
}

#[test]
fn paranoid_2_counts_user_code_of_the_thread() {
    if !guest::is_machine("paranoid-2") {
        return;
    }
    let (is_user_only, notes) = assert_thread_counts(Mode::ON_THREAD.into());
    assert!(is_user_only, "the kernel may not be counted");
    assert!(notes.iter().any(|note| note.contains("kernel")), "{notes:?}");
    guest::report_pass(
        "perf_event_paranoid 2, thread",
        format_args!("user code is counted: {}", notes.join("; ")),
    );
    assert_processors_refused(2);
}

#[test]
fn paranoid_1_counts_the_kernel_for_the_thread() {
    if !guest::is_machine("paranoid-1") {
        return;
    }
    let (is_user_only, notes) = assert_thread_counts(Mode::ON_THREAD.into());
    assert!(!is_user_only, "the kernel is counted: {notes:?}");
    guest::report_pass("perf_event_paranoid 1, thread", "is counted with the kernel's work");
    assert_processors_refused(1);
    let text = "counting thread 1 is not permitted (EACCES), since it belongs to another user; run as root, or with \
                CAP_PERFMON";
    let attached = ProcessCpi::attach(1, true, Events::Hardware);
    assert_refused("another user's process", attached, ErrorKind::AccessDenied, text);
}

#[test]
fn a_missing_process_is_reported() {
    if guest::cycles_shift() != Some(0) {
        return;
    }
    let attached = ProcessCpi::attach(999_999, true, Events::Hardware);
    let text = "there is no process 999999 (ESRCH)";
    assert_refused("process that is not there", attached, ErrorKind::NoSuchThread, text);
}

/// Opens files until only `left` more can be opened.
fn leave_files(left: usize) -> Vec<OwnedFd> {
    let mut files = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        files.push(file.into());
    }
    assert!(files.len() >= left, "the limit is lower than this test expects");
    files.truncate(files.len() - left);
    files
}

#[test]
fn too_few_files_are_reported_with_the_number_needed() {
    if !guest::is_machine("few-files") {
        return;
    }
    // Three files are enough for one of two processors, and for a file that is opened briefly to examine the machine.
    let files = leave_files(3);
    let text = "too many open files (EMFILE): counting needs 4 more (2 per processor), and the limit is 16; raise it with \
                'ulimit -n'";
    assert_refused("descriptor limit", Cpi::new(Mode::RAW), ErrorKind::TooManyFiles, text);
    drop(files);
    let mut cpi = Cpi::new(Mode::RAW).expect("enough files can be opened now");
    cpi.get().expect("counted");
    guest::report_pass("descriptor limit, when files were closed", "counts");
}

/// A library does not change the limits of its process.
#[test]
fn the_soft_limit_of_files_is_not_changed() {
    if !guest::is_machine("low-soft-limit") {
        return;
    }
    let files = leave_files(1);
    let error = Cpi::new(Mode::SCALED | Mode::ON_THREAD).expect_err("one file is too few");
    assert_eq!(error.kind(), ErrorKind::TooManyFiles, "{error}");
    drop(files);
    assert!(leave_files(0).len() < 16, "the limit was raised");
    let mut cpi = Cpi::new(Mode::SCALED | Mode::ON_THREAD).expect("enough files can be opened now");
    cpi.get().expect("counted");
    guest::report_pass("soft descriptor limit", "is left alone");
}

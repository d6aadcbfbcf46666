//! Counting with software events, on any machine with perf events whose settings permit counting.

use std::process::{Command, Stdio};
use std::sync::Barrier;

use peak_alloc::PeakAlloc;
use tachograph_cpi::{Cpi, ErrorKind, Events, Mode, Options, ProcessCpi, ProcessorState};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fn options(mode: Mode) -> Options {
    Options { mode, events: Events::Software, ..Options::default() }
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("a list").count()
}

/// Touches new pages; returns the number of page faults that the kernel reports for this thread meanwhile.
fn fault(pages: usize) -> u64 {
    let before = faults_so_far();
    let bytes = rustix::param::page_size();
    let mut memory = vec![0_u8; pages * bytes];
    for page in memory.chunks_mut(bytes) {
        page[0] = 1;
    }
    std::hint::black_box(&memory);
    faults_so_far() - before
}

/// Page faults of this thread in /proc, minor and major (proc_pid_stat(5): minflt, majflt).
fn faults_so_far() -> u64 {
    let line = std::fs::read_to_string("/proc/thread-self/stat").expect("a line");
    let fields: Vec<&str> = line.rsplit(')').next().expect("fields").split_ascii_whitespace().collect();
    [7, 9].iter().map(|&index: &usize| fields[index].parse::<u64>().expect("a number")).sum()
}

/// Whether a count equals the kernel's, apart from a few more faults of the measurement itself. It must not be lower, because
/// all members of a group count from the very first interval.
fn is_near(count: u64, expected: u64) -> bool {
    (expected..expected + 50).contains(&count)
}

/// One test, because a concurrent test would also open files and allocate.
#[test]
fn nothing_is_leaked_and_nothing_allocated() {
    // Files of /proc and /sys stay open after the first read.
    drop(Cpi::new(options(Mode::SCALED)).expect("counted"));
    let before = open_files();
    for round in 0..10_000 {
        let mode = if round % 2 == 0 { Mode::ON_THREAD } else { Mode::SCALED | Mode::ON_THREAD };
        let mut cpi = Cpi::new(options(mode)).expect("counted");
        if round % 100 == 0 {
            cpi.get().expect("measured");
        }
    }
    assert_eq!(open_files(), before);

    let mut many: Vec<Cpi> = (0..100).map(|_| Cpi::new(options(Mode::ON_THREAD)).expect("counted")).collect();
    // The instances share the counters.
    assert_eq!(open_files(), before + 2);
    many.iter_mut().for_each(|cpi| {
        cpi.get().expect("measured");
    });
    drop(many);
    assert_eq!(open_files(), before);

    let mut cpi = Cpi::new(options(Mode::SCALED | Mode::ON_THREAD)).expect("counted");
    cpi.get().expect("measured");
    MEMORY.reset_peak_usage();
    let at_rest = MEMORY.current_usage();
    for _ in 0..100 {
        cpi.start().expect("started");
        cpi.get().expect("measured");
        cpi.get_and_start().expect("measured");
    }
    assert_eq!((MEMORY.current_usage(), MEMORY.peak_usage()), (at_rest, at_rest));
    drop(cpi);

    page_faults_of_this_thread();
    instances_of_many_threads();
    commands_and_processes();
    assert_eq!(open_files(), before);
}

fn page_faults_of_this_thread() {
    let mut outer = Cpi::new(options(Mode::ON_THREAD)).expect("counted");
    let mut inner = Cpi::new(options(Mode::ON_THREAD)).expect("counted");
    outer.start().expect("started");
    let first = fault(5000);
    inner.start().expect("started");
    let second = fault(3000);
    let inner = inner.get().expect("measured").thread.expect("the thread");
    let outer = outer.get().expect("measured").thread.expect("the thread");
    assert!(first > 0 && second > 0);
    assert!(is_near(inner.instructions, second), "{inner:?} {second}");
    assert!(is_near(outer.instructions, first + second), "{outer:?} {first} {second}");
    assert!(outer.core_cycles > inner.core_cycles && outer.running_share() == Some(1.0), "{outer:?}");

    // The same for processors.
    let mut cpi = Cpi::new(options(Mode::SCALED)).expect("counted");
    cpi.start().expect("started");
    let faults = fault(5000);
    let data = cpi.get().expect("measured");
    assert!(data.system.instructions >= faults, "{data:?} {faults}");
    assert!(data.processors.iter().any(|data| data.state == ProcessorState::Measured), "{data:?}");
}

/// Each thread counts its own faults, even if several measure at the same time, and another thread can read an instance.
fn instances_of_many_threads() {
    let together = Barrier::new(8);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=8_usize)
            .map(|number| {
                let together = &together;
                scope.spawn(move || {
                    let mut cpi = Cpi::new(options(Mode::ON_THREAD | Mode::RAW)).expect("counted");
                    together.wait();
                    cpi.start().expect("started");
                    let faults = fault(number * 500);
                    let own = cpi.get().expect("measured").thread.expect("the thread").instructions;
                    assert!(is_near(own, faults), "{number}: {own}, {faults}");
                    cpi
                })
            })
            .collect();
        for thread in threads {
            let mut cpi = thread.join().expect("ended");
            let counts = cpi.get().expect("measured").thread.expect("the thread");
            assert!(counts.instructions > 0, "{counts:?}");
        }
    });
}

fn commands_and_processes() {
    let mut command = Command::new("sh");
    command.args(["-c", "ls / >/dev/null; (ls / >/dev/null)"]).stdout(Stdio::null());
    let (mut child, counted) = ProcessCpi::spawn(&mut command, false, Events::Software).expect("started");
    let mut counted = counted.expect("counted");
    assert!(child.wait().expect("ended").success());
    let with_children = counted.get().expect("measured");
    let mut command = Command::new("sh");
    command.args(["-c", ":"]);
    let (mut child, alone) = ProcessCpi::spawn(&mut command, false, Events::Software).expect("started");
    child.wait().expect("ended");
    let alone = alone.expect("counted").get().expect("measured");
    assert!(
        alone.instructions > 0 && with_children.instructions > 2 * alone.instructions,
        "{with_children:?} {alone:?}"
    );

    let missing = ProcessCpi::spawn(&mut Command::new("/no/such/command"), false, Events::Software);
    assert_eq!(missing.expect_err("no command").kind(), std::io::ErrorKind::NotFound);

    let mut sleeper = Command::new("sleep").arg("60").spawn().expect("started");
    let mut counted = ProcessCpi::attach(sleeper.id(), false, Events::Software).expect("counted");
    counted.get().expect("measured");
    sleeper.kill().expect("killed");
    sleeper.wait().expect("ended");
    // The counts remain available after the process has ended.
    counted.get_and_start().expect("measured");
    let error = ProcessCpi::attach(sleeper.id(), false, Events::Software).expect_err("the process has ended");
    assert_eq!(error.kind(), ErrorKind::NoSuchThread);
    assert!(error.to_string().contains(&format!("no process {}", sleeper.id())), "{error}");
}

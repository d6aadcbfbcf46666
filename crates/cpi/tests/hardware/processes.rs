//! Two processes that measure at the same time get the same counts as when each measures alone. A command, or a running
//! process, is counted with its children.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use tachograph_cpi::{Counts, Cpi, Events, Mode, ProcessCpi};

use crate::exact::{measured, of_processor, of_thread, region_overhead};
use crate::guest;
use crate::region::{instructions, region};

/// The environment variable that is set for the other process.
const ROLE: &str = "TACHO_PMU_OTHER";

/// The number of iterations of the long region, which both processes run. It takes at least a tenth of a second, so they
/// often alternate on the processor.
const LONG: u64 = 50_000_000;

/// Does nothing unless it is run as the other process: then it measures on request, and prints the result.
#[test]
fn the_other_process() {
    let (Some(shift), Ok(_)) = (guest::cycles_shift(), std::env::var(ROLE)) else { return };
    let mut processor = Cpi::new(guest::user_code(Mode::RAW)).expect("hardware counters");
    let mut thread = Cpi::new(guest::user_code(Mode::ON_THREAD)).expect("hardware counters");
    thread.get().expect("counted");
    println!("\nOTHER ready");
    std::io::stdin().lock().read_line(&mut String::new()).expect("a line on standard input");
    processor.start().expect("started");
    let own = of_thread(measured(&mut thread, LONG)).0;
    let all = of_processor(processor.get().expect("counted")).0;
    let alone = region_overhead(guest::user_code(Mode::ON_THREAD), of_thread, shift);
    println!("\nOTHER {} {all} {alone}", own - instructions(LONG));
}

fn spawn_piped(command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("this program starts")
}

#[test]
fn two_processes_get_the_counts_of_each_alone() {
    let Some(shift) = guest::cycles_shift() else { return };
    if std::env::var_os(ROLE).is_some() {
        return;
    }
    let alone = region_overhead(guest::user_code(Mode::ON_THREAD), of_thread, shift);
    let program = std::env::current_exe().expect("this program");
    let arguments = ["--exact", "processes::the_other_process", "--nocapture", "--test-threads=1"];
    let mut other = spawn_piped(Command::new(program).args(arguments).env(ROLE, "1"));
    let mut input = other.stdin.take().expect("piped");
    let mut lines = BufReader::new(other.stdout.take().expect("piped")).lines();
    let mut next_report = || loop {
        let line = lines.next().expect("a line of the other process").expect("text");
        if let Some(report) = line.strip_prefix("OTHER ") {
            return report.to_owned();
        }
    };
    assert_eq!(next_report(), "ready");

    let mut processor = Cpi::new(guest::user_code(Mode::RAW)).expect("hardware counters");
    let mut thread = Cpi::new(guest::user_code(Mode::ON_THREAD)).expect("hardware counters");
    thread.get().expect("counted");
    input.write_all(b"begin\n").expect("the other process reads");
    processor.start().expect("started");
    let own = of_thread(measured(&mut thread, LONG)).0 - instructions(LONG);
    let all = of_processor(processor.get().expect("counted")).0;

    let found: Vec<u64> = next_report().split(' ').map(|word| word.parse().expect("a number")).collect();
    assert!(other.wait().expect("waited").success(), "the other failed");
    let [other_own, other_all, other_alone] = found[..] else { panic!("three numbers, not {found:?}") };
    assert_eq!((own, other_own, other_alone), (alone, alone, alone), "overheads");
    // They ran at the same time: each counted more on the processor than its own work.
    for seen in [all, other_all] {
        assert!(
            seen > instructions(LONG) * 3 / 2,
            "only {seen} instructions on the processor: they ran one after the other"
        );
    }
    guest::report_pass(
        "two processes at once",
        format_args!(
            "each counts its region + {alone}, as alone; {all} and {other_all} on the whole processor"
        ),
    );
}

/// The program with a known number of instructions; see tools/pmu-vm/guest/workload.c.
const WORKLOAD: &str = "./workload";

fn count_workload(turns: u64, threads: u32, children: u32) -> Counts {
    let mut command = Command::new(WORKLOAD);
    command.args([turns.to_string(), threads.to_string(), children.to_string()]);
    let (mut child, counter) =
        ProcessCpi::spawn(&mut command, true, Events::Hardware).expect("the program exists");
    let mut counter = counter.expect("hardware counters");
    assert!(counter.is_user_only());
    assert!(child.wait().expect("waited").success(), "the program failed");
    let counts = counter.get().expect("counted");
    assert_eq!(counts.running_ns, counts.enabled_ns, "no other program uses the counters");
    counts
}

#[test]
fn commands_are_counted_with_threads_and_children() {
    let Some(shift) = guest::cycles_shift() else { return };
    // The arguments of both runs have the same length, so that only the regions differ.
    let (short, long) = (1_000_000, 3_000_000);
    // The test process executes many instructions, of which none may be counted.
    region(LONG);
    for (threads, children) in [(0, 0), (3, 0), (0, 2), (2, 2)] {
        let is_alone = threads + children == 0;
        // An atomic update that is interrupted is repeated, which adds a few instructions. This is rare, so the minimum
        // of several runs has no such repetition.
        let least = |turns: u64| {
            let counts = (0..if is_alone { 5 } else { 1 }).map(|_| count_workload(turns, threads, children));
            counts.min_by_key(|counts| counts.instructions).expect("at least one run")
        };
        let (less, more) = (least(short), least(long));
        // Each child runs the region after the fork, and then executes the program again, which runs it once more.
        let regions = u64::from(1 + threads + 2 * children);
        let expected = instructions(long - short) * regions;
        let found = more.instructions - less.instructions;
        let name = format!("command with {threads} more threads and {children} children");
        // The number of instructions for waiting for threads and children varies a little.
        let slack = if is_alone { 0 } else { expected / 10_000 };
        assert!(found.abs_diff(expected) <= slack, "{name}: longer by {found}, not {expected}");
        for counts in [less, more] {
            assert_eq!(counts.core_cycles, counts.instructions << shift, "{name}");
            assert_eq!(counts.cycles, counts.core_cycles, "{name}");
            assert_eq!(counts.cpi(), Some(f64::from(1 << shift)), "{name}");
        }
        guest::report_pass(
            &name,
            format_args!("{} and {} instructions: longer by {found}", less.instructions, more.instructions),
        );
    }
}

#[test]
fn a_command_that_does_not_exist_is_an_error() {
    if guest::cycles_shift().is_none() {
        return;
    }
    let mut command = Command::new("./no-such-program");
    let error = ProcessCpi::spawn(&mut command, true, Events::Hardware).expect_err("not there");
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    guest::report_pass("command that is not there", error);
}

#[test]
fn a_running_process_is_counted_after_attach() {
    if guest::cycles_shift().is_none() {
        return;
    }
    let measure = |turns: u64| {
        let mut child = spawn_piped(Command::new(WORKLOAD).args(["wait", &turns.to_string(), "1", "1"]));
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        // The program and its second thread, which is counted too, have run the region once, and wait.
        output.read_line(&mut String::new()).expect("the program waits");
        let mut counter = ProcessCpi::attach(child.id(), true, Events::Hardware).expect("hardware counters");
        counter.start().expect("started");
        drop(child.stdin.take());
        assert!(child.wait().expect("waited").success(), "the program failed");
        counter.get().expect("counted").instructions
    };
    let (short, long) = (1_000_000, 3_000_000);
    // After the wait, the region runs in the first thread, in the second, in a child, and in the program that the child executes.
    let expected = instructions(long - short) * 4;
    let found = measure(long) - measure(short);
    assert!(found.abs_diff(expected) <= expected / 1_000, "longer by {found}, not {expected}");
    guest::report_pass(
        "running process",
        format_args!("{found} more instructions of {expected}, of two threads and two children"),
    );
}

//! The processes of this machine.

use std::io::{BufRead, BufReader};
use std::process::ChildStdin;

use super::*;
use crate::process::exit_records::ExitRecords;
use crate::process::machine_times::MachineReader;
use crate::process::process::Naming;
use crate::process::process_set::ProcessSet;
use crate::process::reader::Reader;
use crate::process::ticks::Ticks;

fn sleeper() -> Child {
    let child = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().expect("sleep runs");
    let stat = format!("/proc/{}/stat", child.id());
    // Waits until the child runs `sleep`.
    while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains("(sleep) S ")) {
        std::thread::yield_now();
    }
    child
}

fn kill_and_wait(mut child: Child) {
    child.kill().expect("killed");
    child.wait().expect("waited for");
}

/// Collects all counters now.
fn collect_now(set: &mut dyn Provider) -> Rows {
    collect(set, Clock::of_this_machine().now())
}

fn row_of(rows: &Rows, pid: u32) -> Option<usize> {
    rows.instances().iter().position(|key| key.id() == pid)
}

fn value_of(rows: &Rows, pid: u32, id: u32) -> i64 {
    let raw = rows.values(row_of(rows, pid).expect("a row"))[rows.column(id).expect("a column")];
    assert!(raw.status.is_good(), "{pid} {id}");
    raw.first
}

#[test]
fn values_equal_those_of_a_naive_read() {
    let child = sleeper();
    let pid = child.id();
    let mut set = provider(&Roots::of_this_machine(), "Process");
    let rows = collect_now(&mut *set);
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).expect("read");
    let stat = read("stat");
    let fields: Vec<&str> = stat.rsplit_once(") ").expect("a name").1.split(' ').collect();
    let number = |field: usize| fields[field - 3].parse::<i64>().expect("a number");
    let status = |label: &str| {
        let text = read("status");
        let line = text.lines().find_map(|line| line.strip_prefix(label)).expect("the line");
        line.trim_end_matches("kB").trim().parse::<i64>().expect("a number") * 1024
    };
    let io = |label: &str| {
        let text = read("io");
        text.lines()
            .find_map(|line| line.strip_prefix(label))
            .expect("the line")
            .trim()
            .parse::<i64>()
            .expect("a number")
    };
    assert_eq!(value_of(&rows, pid, CREATING_PROCESS_ID), std::process::id().into());
    assert_eq!(value_of(&rows, pid, PAGE_FAULTS), number(10) + number(12));
    assert_eq!(value_of(&rows, pid, THREAD_COUNT), number(20));
    assert_eq!(value_of(&rows, pid, VIRTUAL_BYTES), number(23));
    assert_eq!(value_of(&rows, pid, WORKING_SET_PEAK), status("VmHWM:"));
    assert_eq!(value_of(&rows, pid, WORKING_SET), status("VmRSS:"));
    assert_eq!(value_of(&rows, pid, PRIVATE_BYTES), status("RssAnon:") + status("VmSwap:"));
    assert_eq!(value_of(&rows, pid, IO_READ_BYTES), io("rchar:"));
    assert_eq!(value_of(&rows, pid, IO_WRITE_OPERATIONS), io("syscw:"));
    let schedstat = read("schedstat");
    let wait: i64 = schedstat.split(' ').nth(1).expect("a field").parse().expect("a number");
    assert_eq!(value_of(&rows, pid, RUN_QUEUE_WAIT_TIME), wait / 100);
    let handles = fs::read_dir(format!("/proc/{pid}/fd")).expect("read").count();
    assert_eq!(value_of(&rows, pid, HANDLE_COUNT), handles as i64);
    // Both sources of memory agree.
    let cheap = query(&mut *set, 1, &[WORKING_SET, WORKING_SET_PRIVATE], "sleep");
    for id in [WORKING_SET, WORKING_SET_PRIVATE] {
        assert_eq!(value_of(&cheap, pid, id), value_of(&rows, pid, id));
    }
    kill_and_wait(child);
}

#[test]
fn a_process_that_ended_has_no_row() {
    let child = sleeper();
    let pid = child.id();
    let mut set = provider(&Roots::of_this_machine(), "Process");
    assert!(row_of(&collect_now(&mut *set), pid).is_some());
    kill_and_wait(child);
    assert!(row_of(&collect_now(&mut *set), pid).is_none());
}

#[test]
fn a_zombie_has_no_memory() {
    let mut child = sleeper();
    let pid = child.id();
    let mut set = provider(&Roots::of_this_machine(), "Process");
    child.kill().expect("killed");
    let stat = format!("/proc/{pid}/stat");
    while !fs::read_to_string(&stat).expect("a zombie").contains(") Z ") {
        std::thread::yield_now();
    }
    let rows = collect_now(&mut *set);
    assert_eq!(value_of(&rows, pid, WORKING_SET), 0);
    assert_eq!(value_of(&rows, pid, VIRTUAL_BYTES_PEAK), 0);
    assert_eq!(value_of(&rows, pid, HANDLE_COUNT), 0);
    child.wait().expect("waited for");
}

#[test]
fn own_threads_are_listed() {
    let mut set = provider(&Roots::of_this_machine(), "Thread");
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || receiver.recv());
    let rows = collect_now(&mut *set);
    let own = std::process::id();
    let process = rows.column(thread::ID_PROCESS).expect("wanted");
    let found = (0..rows.instances().len()).filter(|&row| rows.values(row)[process].first == i64::from(own));
    // Other tests start and end threads.
    assert!(found.count() >= 2);
    let main = rows.values(row_of(&rows, own).expect("the main thread"));
    let switches = main[rows.column(thread::CONTEXT_SWITCHES).expect("wanted")];
    assert!(switches.status.is_good() && switches.first > 0);
    drop(sender);
    let _ = thread.join();
}

/// Runs one test of this program again, in its own process.
fn run_test_in_child(test: &str, prepare: impl FnOnce(&mut Command)) -> String {
    // The folder of this program may be inaccessible to the user that `prepare` sets.
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("again");
    // cp writes the copy. If this process wrote it, another child could inherit the open file, which then cannot be executed.
    let own = std::env::current_exe().expect("a path");
    assert!(Command::new("cp").args([&own, &program]).status().expect("cp runs").success());
    for path in [folder.path(), &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("set");
    }
    let mut command = Command::new(&program);
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env("TACHO_TEST_AGAIN", "1");
    command.current_dir("/");
    prepare(&mut command);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("started");
    let mut text = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut text).expect("read");
    assert!(child.wait().expect("waited for").success(), "{text}");
    text
}

fn is_again() -> bool {
    std::env::var_os("TACHO_TEST_AGAIN").is_some()
}

#[test]
fn files_of_another_user_are_errors_with_a_reason() {
    if !is_again() {
        // Only root can read process 1, so the test runs as nobody or any other user.
        run_test_in_child(
            "process::tests::this_machine::files_of_another_user_are_errors_with_a_reason",
            |command| {
                if rustix::process::geteuid().is_root() {
                    command.gid(65_534).uid(65_534);
                }
            },
        );
        return;
    }
    let mut set = provider(&Roots::of_this_machine(), "Process");
    for _ in 0..3 {
        let rows = collect_now(&mut *set);
        let Some(row) = row_of(&rows, 1) else { return };
        let has_value = |id| rows.values(row)[rows.column(id).expect("wanted")].status.is_good();
        assert!(has_value(PROCESSOR_TIME) && has_value(WORKING_SET_PEAK));
        assert!(!has_value(IO_READ_BYTES));
        let problem = rows.errors().iter().find(|problem| problem.counter_id == IO_READ_BYTES);
        assert!(problem.expect("a problem").reason.starts_with("/proc/PID/io: "));
        // The test's own process is readable.
        value_of(&rows, std::process::id(), IO_READ_BYTES);
        value_of(&rows, std::process::id(), HANDLE_COUNT);
        first_value(&rows, "_Total", IO_READ_BYTES);
    }
}

#[test]
fn a_low_limit_of_open_files_is_enough() {
    use rustix::process::{Resource, Rlimit, setrlimit};

    if !is_again() {
        run_test_in_child("process::tests::this_machine::a_low_limit_of_open_files_is_enough", |_| {});
        return;
    }
    let limit = Rlimit { current: Some(64), maximum: Some(64) };
    setrlimit(Resource::Nofile, limit).expect("set");
    let sleepers: Vec<Child> = (0..40).map(|_| sleeper()).collect();
    let mut sets = providers(&Roots::of_this_machine());
    let mut held = Vec::new();
    for _ in 0..3 {
        for set in &mut sets {
            let rows = collect_now(&mut **set);
            for child in &sleepers {
                assert!(row_of(&rows, child.id()).is_some());
            }
        }
        // The rest of the process uses its reserved descriptors and more.
        held.extend(std::iter::from_fn(|| fs::File::open("/proc/self/stat").ok()).take(1000));
        held.pop();
    }
    sleepers.into_iter().for_each(kill_and_wait);
    let _ = std::io::stdout().flush();
}

/// The set `Process` of this machine, and the reason if it has no records of ended processes.
fn process_set() -> (ProcessSet, Result<(), String>) {
    let roots = Roots::of_this_machine();
    let reader = Reader::new(&roots, Descriptors::unshared(1000)).expect("/proc");
    let (records, outcome) = ExitRecords::new(&roots, &reader);
    let machine = MachineReader::new(&shared_stat(&roots));
    let (info, ticks) = (PROCESS.info(), Ticks::new(&roots));
    (ProcessSet::new(info, Naming::Plain, reader, machine, records, ticks, roots.page_bytes), outcome)
}

#[test]
fn processes_whose_parent_ignores_them_are_counted_with_records() {
    let (mut set, outcome) = process_set();
    if let Err(reason) = outcome {
        return println!("skipped: taskstats: {reason}");
    }
    // For each line of input, awk runs a process that prints its times before it ends, and then prints a line.
    let program = "BEGIN { for (n = 0; n < 9; n++) { system(\"read line\"); system(\"i=0; \
                   while [ $i -lt 100000 ]; do i=$((i+1)); done; times\"); print \"end\"; fflush() } }";
    let mut command = Command::new("env");
    command.args(["--ignore-signal=CHLD", "awk", program]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut parent = command.spawn().expect("env runs");
    let mut input = parent.stdin.take().expect("piped");
    let mut lines = BufReader::new(parent.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let mut run = |input: &mut ChildStdin| {
        input.write_all(b"\n").expect("written");
        let text: Vec<String> = lines.by_ref().take_while(|line| line != "end").collect();
        times(text.first()?)
    };
    // The first child shows that the parent runs.
    if run(&mut input).is_none() {
        kill_and_wait(parent);
        return println!("skipped: env --ignore-signal=CHLD awk does not work here");
    }
    collect_now(&mut set);
    let before = set.ended.dropped_time();
    let seconds: f64 = (0..3).map(|_| run(&mut input).expect("times")).sum();
    collect_now(&mut set);
    // The times of each process are rounded, and two ticks of the parent are never counted.
    let dropped = (set.ended.dropped_time() - before) as f64 / 1e7;
    assert!(seconds > 0.1 && dropped > seconds - 0.02 - 3.0 * 0.02, "{dropped} of {seconds}");
    drop(input);
    parent.wait().expect("waited for");
}

/// User time and system time in the first line of `times`, such as `0m0.180000s 0m0.010000s`.
fn times(line: &str) -> Option<f64> {
    let seconds = |text: &str| {
        let (minutes, seconds) = text.strip_suffix('s')?.split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    line.split(' ').map(seconds).sum()
}

#[test]
fn records_are_received_only_while_they_are_requested() {
    let (mut set, outcome) = process_set();
    query(&mut set, 1, &[PROCESSOR_TIME], "_Total");
    query(&mut set, 2, &[PAGE_FAULTS], "_Exited");
    assert!(!set.exit_records.is_open());
    query(&mut set, 3, &[PROCESSOR_TIME], "_Exited");
    assert_eq!(set.exit_records.is_open(), outcome.is_ok());
    set.idle();
    assert!(!set.exit_records.is_open());
}

#[test]
fn records_are_received_before_the_time_of_the_collection() {
    let (mut set, outcome) = process_set();
    if let Err(reason) = outcome {
        return println!("skipped: taskstats: {reason}");
    }
    query(&mut set, 1, &[PROCESSOR_TIME], "_Exited");
    let before = set.ended.record_count();
    for _ in 0..5 {
        assert!(Command::new("true").status().expect("true runs").success());
    }
    set.exit_records.prepare(&mut set.ended);
    assert!(set.ended.record_count() >= before + 5);
}

#[test]
fn without_permission_there_are_no_records_but_a_reason() {
    if !is_again() {
        run_test_in_child(
            "process::tests::this_machine::without_permission_there_are_no_records_but_a_reason",
            |command| {
                if rustix::process::geteuid().is_root() {
                    command.gid(65_534).uid(65_534);
                }
            },
        );
        return;
    }
    let (mut set, outcome) = process_set();
    let reason = outcome.expect_err("not permitted");
    assert!(!reason.is_empty());
    let help = provider(&Roots::of_this_machine(), "Process").info().instances_help.clone();
    assert!(help.ends_with(&format!("Taskstats are not available here: {reason}.")), "{help}");
    let rows = collect_now(&mut set);
    assert!(!set.exit_records.is_open());
    assert!(value(&rows, "_Exited", PROCESSOR_TIME).status.is_good());
}

#[test]
fn delays_are_read_only_if_they_are_requested() {
    let (mut set, _) = process_set();
    let ids: Vec<u32> = FROM_DELAYS.into_iter().chain([PROCESSOR_TIME]).collect();
    query(&mut set, 1, &[PROCESSOR_TIME], "*");
    assert!(!set.delays.is_open());
    let rows = query(&mut set, 2, &ids, "*");
    let own = row_of(&rows, std::process::id()).expect("this process");
    let column = |id| rows.column(id).expect("requested");
    let is_permitted = rows.values(own)[column(FROM_DELAYS[0])].status.is_good();
    assert_eq!(is_permitted, set.delays.is_open());
    assert_eq!(is_permitted, rows.errors().iter().all(|error| !error.reason.starts_with("taskstats: ")));
    assert!(value(&rows, "_Total", FROM_DELAYS[3]).status.is_good() == is_permitted);
    set.idle();
    assert!(!set.delays.is_open());
}

/// Not all files of a process at rest are read again, but its values must still be those of the files.
#[test]
fn values_of_processes_at_rest_are_those_of_their_files() {
    let (mut set, _) = process_set();
    let mut child = Command::new("sh")
        .args(["-c", "while read line; do echo $line; done"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("sh runs");
    let pid = child.id();
    let mut input = child.stdin.take().expect("piped");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let file = |name: &str, key: &str| -> i64 {
        let text = fs::read_to_string(format!("/proc/{pid}/{name}")).expect("read");
        let line = text.lines().find_map(|line| line.strip_prefix(key)).expect("the key");
        line.split_whitespace().next().expect("a number").parse().expect("a number")
    };
    let ids = [WORKING_SET_PEAK, PRIVATE_BYTES, IO_READ_BYTES, IO_WRITE_OPERATIONS, RUN_QUEUE_WAIT_TIME];
    for round in 0..3 {
        writeln!(input, "{round}").expect("written");
        lines.next().expect("an answer").expect("text");
        // Waits until the shell waits for the next line.
        while !fs::read_to_string(format!("/proc/{pid}/stat")).expect("read").contains(") S ") {
            std::thread::yield_now();
        }
        for sample in 0..4 {
            let rows = query(&mut set, 1, &ids, "*");
            let row = rows.values(row_of(&rows, pid).expect("a row"));
            let value_of = |id| row[rows.column(id).expect("requested")].first;
            assert_eq!(value_of(IO_READ_BYTES), file("io", "rchar: "), "{round} {sample}");
            assert_eq!(value_of(IO_WRITE_OPERATIONS), file("io", "syscw: "));
            assert_eq!(value_of(WORKING_SET_PEAK), file("status", "VmHWM:") << 10);
            assert_eq!(
                value_of(PRIVATE_BYTES),
                (file("status", "RssAnon:") + file("status", "VmSwap:")) << 10
            );
        }
    }
    drop(input);
    child.wait().expect("ended");
}

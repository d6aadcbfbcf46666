//! Processes that have not run since the last sample.

use super::*;

/// Counters from `stat` that change only when the process runs or its parent ends.
const IDS: [u32; 5] = [PROCESSOR_TIME, PAGE_FAULTS, ID_PROCESS, CREATING_PROCESS_ID, THREAD_COUNT];

/// A stat file of a process with this state, parent, number of threads and user time.
fn stat(pid: u32, state: char, parent: u32, threads: u32, user: u64) -> String {
    stat_line(pid, "p", user, 0, 500)
        .replace(" S 7 ", &format!(" {state} {parent} "))
        .replace(" 20 0 3 0 ", &format!(" 20 0 {threads} 0 "))
}

/// A machine with a process 12, whose parent is 10; both have run 5 times.
fn machine_at_rest() -> Machine {
    let machine = machine();
    for (pid, parent) in [(10, 0), (12, 10)] {
        machine.write(&format!("proc/{pid}/stat"), stat(pid, 'S', parent, 1, 100));
        machine.write(&format!("proc/{pid}/schedstat"), "1000 2000 5\n");
    }
    machine
}

/// The processor time in ticks, and the parent, of process 12.
fn collected(set: &mut dyn Provider, ids: &[u32]) -> (i64, i64) {
    let rows = query(set, 1, ids, "*");
    let row = rows.instances().iter().position(|key| key.id() == 12).expect("a row");
    let value = |id| rows.values(row)[rows.column(id).expect("a column")].first;
    (value(PROCESSOR_TIME) / 100_000, value(CREATING_PROCESS_ID))
}

/// A provider that has collected often enough to check whether processes are at rest.
fn warmed_up(machine: &Machine) -> Box<dyn Provider> {
    let mut set = provider(&machine.roots, "Process");
    for _ in 0..3 {
        assert_eq!(collected(&mut *set, &IDS), (100, 10));
    }
    set
}

#[test]
fn stat_is_read_again_after_the_process_has_run() {
    let machine = machine_at_rest();
    let mut set = warmed_up(&machine);
    // In reality, the times of a process that does not run cannot change. Here, the change shows that the file is not read.
    machine.write("proc/12/stat", stat(12, 'S', 10, 1, 150));
    assert_eq!(collected(&mut *set, &IDS), (100, 10));
    for (schedule, user) in [("1001 2000 5\n", 151), ("1001 2000 6\n", 152), ("1001 2001 6\n", 153)] {
        machine.write("proc/12/schedstat", schedule);
        machine.write("proc/12/stat", stat(12, 'S', 10, 1, user));
        // For some samples, it is not checked again whether the process is at rest.
        for _ in 0..12 {
            assert_eq!(collected(&mut *set, &IDS), (user as i64, 10));
        }
        machine.write("proc/12/stat", stat(12, 'S', 10, 1, user + 50));
        assert_eq!(collected(&mut *set, &IDS), (user as i64, 10), "at rest again");
    }
}

#[test]
fn stat_is_read_again_if_the_parent_has_ended() {
    let machine = machine_at_rest();
    let mut set = warmed_up(&machine);
    machine.write("proc/12/stat", stat(12, 'S', 1, 1, 100));
    assert_eq!(collected(&mut *set, &IDS), (100, 10), "not read while the parent lives");
    machine.write("proc/10/stat", stat(10, 'Z', 0, 1, 100));
    machine.write("proc/10/schedstat", "1000 2000 6\n");
    assert_eq!(collected(&mut *set, &IDS), (100, 1), "a zombie");

    let machine = machine_at_rest();
    let mut set = warmed_up(&machine);
    machine.write("proc/12/stat", stat(12, 'S', 1, 1, 100));
    machine.remove("proc/10");
    assert_eq!(collected(&mut *set, &IDS), (100, 1), "no parent");

    let machine = machine_at_rest();
    let mut set = warmed_up(&machine);
    machine.write("proc/12/stat", stat(12, 'S', 1, 1, 100));
    machine.write("proc/10/stat", stat(10, 'S', 0, 1, 100).replace(" 500 ", " 501 "));
    machine.write("proc/10/schedstat", "1000 2000 6\n");
    assert_eq!(collected(&mut *set, &IDS), (100, 1), "another process with the id of the parent");
}

#[test]
fn stat_is_always_read_if_the_process_or_others_can_change_it() {
    let running = |user| stat(12, 'R', 10, 1, user);
    let with_threads = |user| stat(12, 'S', 10, 2, user);
    let with_later_parent = |user| stat(12, 'S', 13, 1, user);
    let cases: [(&dyn Fn(u64) -> String, i64); 3] =
        [(&running, 10), (&with_threads, 10), (&with_later_parent, 13)];
    for (stat, parent) in cases {
        let machine = machine_at_rest();
        let mut set = provider(&machine.roots, "Process");
        for user in 100..120 {
            machine.write("proc/12/stat", stat(user));
            assert_eq!(collected(&mut *set, &IDS), (user as i64, parent));
        }
    }
    // Other processes can change these counters.
    for id in [PRIORITY_BASE, VIRTUAL_BYTES] {
        let machine = machine_at_rest();
        let mut set = warmed_up(&machine);
        machine.write("proc/12/stat", stat(12, 'S', 10, 1, 150));
        assert_eq!(collected(&mut *set, &[&IDS[..], &[id]].concat()), (150, 10));
    }
}

#[test]
fn without_counts_in_schedstat_stat_is_always_read() {
    for schedule in [None, Some("0 0 0\n"), Some("x\n"), Some("")] {
        let machine = machine_at_rest();
        match schedule {
            None => machine.remove("proc/12/schedstat"),
            Some(text) => machine.write("proc/12/schedstat", text),
        }
        let mut set = provider(&machine.roots, "Process");
        for user in 100..120 {
            machine.write("proc/12/stat", stat(12, 'S', 10, 1, user));
            assert_eq!(collected(&mut *set, &IDS), (user as i64, 10), "{schedule:?}");
        }
    }
}

#[test]
fn an_idle_set_forgets_which_processes_were_at_rest() {
    let machine = machine_at_rest();
    let mut set = warmed_up(&machine);
    set.idle();
    assert_eq!(machine.open_files("proc/12"), 0);
    machine.write("proc/12/stat", stat(12, 'S', 10, 1, 150));
    assert_eq!(collected(&mut *set, &IDS), (150, 10));
}

/// A process of this machine that answers each line, and sleeps in between.
#[test]
fn a_process_of_this_machine_is_read_when_it_has_run() {
    let mut child = Command::new("sh")
        .args(["-c", "while read line; do i=0; while [ $i -lt 10000 ]; do i=$((i + 1)); done; echo; done"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("sh runs");
    let pid = child.id();
    let file = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).expect("read");
    let asleep = || {
        while !file("stat").contains(") S ") {
            std::thread::yield_now();
        }
    };
    let mut set = provider(&Roots::of_this_machine(), "Process");
    let mut before = 0;
    for _ in 0..10 {
        child.stdin.as_mut().expect("a pipe").write_all(b"\n").expect("written");
        child.stdout.as_mut().expect("a pipe").read_exact(&mut [0]).expect("an answer");
        asleep();
        for _ in 0..3 {
            let rows = query(&mut *set, 1, &IDS, "*");
            let row = rows.instances().iter().position(|key| key.id() == pid).expect("a row");
            let value = |id| rows.values(row)[rows.column(id).expect("a column")].first;
            let stat = file("stat");
            let fields: Vec<&str> = stat.rsplit_once(") ").expect("a name").1.split(' ').collect();
            let number = |field: usize| fields[field - 3].parse::<i64>().expect("a number");
            let ticks = number(14) + number(15);
            assert_eq!(value(PROCESSOR_TIME), ticks * 100_000);
            assert_eq!(value(PAGE_FAULTS), number(10) + number(12));
            assert!(ticks >= before);
            before = ticks;
        }
    }
    assert!(before > 0, "the process has used processor time");
    drop(child.stdin.take());
    child.wait().expect("waited for");
}

//! The attribution of processor time that no process of a fake machine shows.

use super::*;

/// Units of 100 ns per tick.
const TICK: i64 = 100_000;

/// User time and system time in ticks.
type Times = (u64, u64);

/// Writes the stat file of a process with its own times, those of the children that it reaped, and its start in ticks. It has 10
/// page faults per tick of user time.
fn write_stat(machine: &Machine, (pid, parent): (u32, u32), own: Times, reaped: Times, start: u64) {
    let line = stat_line(pid, "x", own.0, own.1, start)
        .replace(") S 7 ", &format!(") S {parent} "))
        .replace(" 1 0 2 0 ", &format!(" {} {} 0 0 ", own.0 * 10, reaped.0 * 10))
        .replace(" 0 0 20 0 3 ", &format!(" {} {} 20 0 3 ", reaped.0, reaped.1));
    machine.write(&format!("proc/{pid}/stat"), line);
}

/// Writes the times of two processors: user, nice and system time of the first.
fn write_busy_times(machine: &Machine, user: u64, nice: u64, system: u64) {
    let text =
        format!("cpu 0 0 0 0 0 0 0\ncpu0 {user} {nice} {system} 500 25 77 78\ncpu1 0 0 0 500 25 0 0\n");
    machine.write("proc/stat", text);
}

/// User time and system time in ticks, and page faults.
fn times_of(rows: &Rows, instance: &str) -> [i64; 3] {
    let [user, system, both] =
        [USER_TIME, PRIVILEGED_TIME, PROCESSOR_TIME].map(|id| first_value(rows, instance, id));
    assert_eq!(user + system, both, "{instance}");
    [user / TICK, system / TICK, first_value(rows, instance, PAGE_FAULTS)]
}

fn sample(set: &mut dyn Provider, second: i64) -> Rows {
    query(set, second, &[PROCESSOR_TIME, USER_TIME, PRIVILEGED_TIME, PAGE_FAULTS, THREAD_COUNT], "*")
}

#[test]
fn time_of_processes_that_no_sample_saw_belongs_to_exited() {
    for name in ["Process", "Process V2"] {
        let machine = machine();
        write_busy_times(&machine, 1000, 500, 300);
        write_stat(&machine, (1, 0), (100, 50), (600, 40), 0);
        write_stat(&machine, (10, 1), (30, 20), (5, 6), 100);
        let mut provider = provider(&machine.roots, name);
        let rows = sample(&mut *provider, 10);
        assert_eq!(times_of(&rows, "_Exited"), [605, 46, 6050]);
        // Of 1,500 ticks of user time, processes have 130 and _Exited has 605; of 300 ticks of system time, 70 and 46.
        assert_eq!(times_of(&rows, "_Unattributed"), [765, 184, 0]);
        assert_eq!(times_of(&rows, "_Total"), [1500, 300 + 1050, 10 * (130 + 605)]);
        // Process 10 runs a child that itself runs a child, and reaps it.
        write_stat(&machine, (10, 1), (31, 20), (12, 9), 100);
        write_busy_times(&machine, 1009, 500, 305);
        let rows = sample(&mut *provider, 11);
        assert_eq!(times_of(&rows, "_Exited"), [612, 49, 6120]);
        assert_eq!(times_of(&rows, "_Unattributed"), [766, 186, 0]);
        assert_eq!(times_of(&rows, "_Total"), [1509, 305 + 1050, 10 * (131 + 612)]);
        assert_eq!(first_value(&rows, "_Exited", THREAD_COUNT), 0);
    }
}

#[test]
fn time_before_the_first_sample_of_a_process_belongs_to_exited() {
    let machine = machine();
    write_busy_times(&machine, 100, 0, 0);
    write_stat(&machine, (1, 0), (100, 0), (0, 0), 0);
    let mut provider = provider(&machine.roots, "Process");
    sample(&mut *provider, 10);
    write_stat(&machine, (10, 1), (7, 3), (2, 1), 1050);
    write_busy_times(&machine, 109, 0, 4);
    let rows = sample(&mut *provider, 11);
    assert_eq!(times_of(&rows, "_Exited"), [9, 4, 90]);
    assert_eq!(times_of(&rows, "_Unattributed"), [0, 0, 0]);
    // The total includes this time once.
    assert_eq!(times_of(&rows, "_Total"), [109, 4 + 1050, 1090]);
}

#[test]
fn a_process_of_an_earlier_sample_is_counted_once() {
    let machine = machine();
    write_busy_times(&machine, 400, 0, 0);
    write_stat(&machine, (1, 0), (0, 0), (0, 0), 0);
    write_stat(&machine, (10, 1), (0, 0), (0, 0), 10);
    write_stat(&machine, (11, 10), (200, 10), (40, 5), 20);
    write_stat(&machine, (12, 11), (100, 10), (0, 0), 30);
    let mut provider = provider(&machine.roots, "Process");
    assert_eq!(times_of(&sample(&mut *provider, 10), "_Exited"), [40, 5, 400]);
    // Process 12 uses 4 more ticks and ends. Process 11 uses 3 more ticks, reaps process 12 and a child with 50 ticks that no
    // sample shows, and ends.
    machine.remove("proc/12");
    machine.remove("proc/11");
    write_stat(&machine, (10, 1), (0, 0), (200 + 40 + 100 + 4 + 3 + 50, 25), 10);
    write_busy_times(&machine, 457, 0, 0);
    let rows = sample(&mut *provider, 11);
    assert_eq!(times_of(&rows, "_Exited"), [40 + 57, 5, 970]);
    assert_eq!(times_of(&rows, "_Total")[0], 457);
}

#[test]
fn an_orphan_is_subtracted_from_the_process_that_adopted_it() {
    let machine = machine();
    write_stat(&machine, (1, 0), (0, 0), (0, 0), 0);
    write_stat(&machine, (10, 1), (0, 0), (0, 0), 10);
    write_stat(&machine, (11, 10), (2, 0), (0, 0), 20);
    write_stat(&machine, (12, 11), (300, 10), (0, 0), 30);
    let mut provider = provider(&machine.roots, "Process");
    sample(&mut *provider, 10);
    // Process 11 ends first: process 10 reaps it. Process 12 becomes a child of init, and ends too.
    machine.remove("proc/12");
    machine.remove("proc/11");
    write_stat(&machine, (10, 1), (0, 0), (3, 0), 10);
    write_stat(&machine, (1, 0), (0, 0), (305, 10), 0);
    assert_eq!(times_of(&sample(&mut *provider, 11), "_Exited"), [1 + 5, 0, 60]);
}

#[test]
fn children_of_a_process_that_ignores_their_end_are_unattributed() {
    let machine = machine();
    write_busy_times(&machine, 400, 0, 0);
    write_stat(&machine, (1, 0), (0, 0), (0, 0), 0);
    write_stat(&machine, (10, 1), (100, 0), (0, 0), 10);
    write_stat(&machine, (11, 10), (300, 0), (0, 0), 20);
    let mut provider = provider(&machine.roots, "Process");
    assert_eq!(times_of(&sample(&mut *provider, 10), "_Total"), [400, 1050, 4000]);
    machine.remove("proc/11");
    // Process 11 ran for 6 more ticks; init reaps other processes, which have used more time than process 11.
    write_stat(&machine, (1, 0), (0, 0), (1000, 0), 0);
    write_busy_times(&machine, 1406, 0, 0);
    let rows = sample(&mut *provider, 11);
    assert_eq!(times_of(&rows, "_Exited"), [1000, 0, 10_000]);
    assert_eq!(times_of(&rows, "_Unattributed"), [6, 0, 0]);
    assert_eq!(times_of(&rows, "_Total")[0], 1406);
}

#[test]
fn a_reused_id_is_one_process_that_ended_and_one_that_started() {
    let machine = machine();
    write_stat(&machine, (1, 0), (0, 0), (0, 0), 0);
    write_stat(&machine, (10, 1), (300, 0), (20, 0), 10);
    let mut provider = provider(&machine.roots, "Process");
    sample(&mut *provider, 10);
    write_stat(&machine, (10, 1), (4, 0), (2, 0), 1050);
    write_stat(&machine, (1, 0), (0, 0), (325, 0), 0);
    // 5 ticks at the end of the old process; 4 ticks of the new one and 2 of its children.
    assert_eq!(times_of(&sample(&mut *provider, 11), "_Exited"), [20 + 11, 0, 310]);
}

#[test]
fn a_process_whose_file_is_broken_for_a_while_is_the_same_process() {
    let machine = machine();
    write_stat(&machine, (1, 0), (0, 0), (0, 0), 0);
    write_stat(&machine, (10, 1), (300, 0), (20, 0), 1000);
    let mut provider = provider(&machine.roots, "Process");
    sample(&mut *provider, 10);
    machine.write("proc/10/stat", "10 (x) S 1");
    assert_eq!(times_of(&sample(&mut *provider, 11), "_Exited"), [20, 0, 200]);
    write_stat(&machine, (10, 1), (305, 0), (21, 0), 1000);
    assert_eq!(times_of(&sample(&mut *provider, 12), "_Exited"), [21, 0, 210]);
}

#[test]
fn processes_that_are_not_requested_are_tracked() {
    let machine = machine();
    write_stat(&machine, (1, 0), (0, 0), (0, 0), 0);
    write_stat(&machine, (10, 1), (300, 0), (0, 0), 10);
    let mut provider = provider(&machine.roots, "Process");
    query(&mut *provider, 10, &[USER_TIME], "_Exited");
    machine.remove("proc/10");
    write_stat(&machine, (1, 0), (0, 0), (307, 0), 0);
    let rows = query(&mut *provider, 11, &[USER_TIME], "_Exited");
    assert_eq!(names(&rows), ["_Exited"]);
    assert_eq!(first_value(&rows, "_Exited", USER_TIME), 7 * TICK);
}

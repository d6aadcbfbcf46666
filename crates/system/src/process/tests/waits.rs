//! Waits of the processes of a fake machine.

use super::*;
use crate::process::table::thread as id;

const BOTH: [u32; 2] = [RUN_QUEUE_WAIT_TIME, BLOCK_IO_WAIT_TIME];

#[test]
fn the_waits_of_all_threads_are_added_up() {
    let machine = machine();
    add(&machine, 12, "java", 100, 500);
    add_waits(&machine, 12, 13, 200);
    add_waits(&machine, 12, 14, 300);
    for set in ["Process", "Process V2"] {
        let mut set = provider(&machine.roots, set);
        let rows = query(&mut *set, 1, &BOTH, "*");
        let java = rows.instances()[1].full_name();
        assert_eq!(first_value(&rows, java, RUN_QUEUE_WAIT_TIME), 15_000 + 2 + 3);
        assert_eq!(first_value(&rows, java, BLOCK_IO_WAIT_TIME), 18 * 100_000);
        assert_eq!(first_value(&rows, "_Total", RUN_QUEUE_WAIT_TIME), 15_005);
        assert_eq!(first_value(&rows, "_Total", BLOCK_IO_WAIT_TIME), 18 * 100_000);
    }
}

#[test]
fn the_waits_of_ended_threads_and_processes_are_kept() {
    let machine = machine();
    add(&machine, 12, "java", 100, 500);
    add(&machine, 14, "sh", 100, 500);
    add_waits(&machine, 12, 13, 200);
    let mut set = provider(&machine.roots, "Process");
    let mut wait = |seconds, instance| {
        first_value(&query(&mut *set, seconds, &BOTH, "*"), instance, RUN_QUEUE_WAIT_TIME)
    };
    assert_eq!(wait(1, "java"), 15_002);
    machine.remove("proc/12/task/13");
    assert_eq!(wait(2, "java"), 15_002);
    add_waits(&machine, 12, 15, 700);
    assert_eq!(wait(3, "java"), 15_009);
    machine.remove("proc/14");
    assert_eq!(wait(4, "_Total"), 30_009);
    // Another process with the same id, started later.
    machine.write("proc/12/stat", stat_line(12, "java", 3, 20, 900));
    machine.remove("proc/12/task/15");
    assert_eq!(wait(5, "java"), 15_000);
    assert_eq!(wait(6, "_Total"), 45_009);
}

#[test]
fn a_living_thread_that_the_kernel_omits_counts_once() {
    let machine = machine();
    add(&machine, 12, "java", 100, 500);
    add_waits(&machine, 12, 13, 200);
    add_waits(&machine, 12, 14, 300);
    let mut set = provider(&machine.roots, "Process");
    let mut wait = |seconds| first_value(&query(&mut *set, seconds, &BOTH, "*"), "java", RUN_QUEUE_WAIT_TIME);
    assert_eq!(wait(1), 15_005);
    // The folder is missing, but the thread's open files can be read. As many threads are listed as the process has.
    let (folder, elsewhere) = (machine.path("proc/12/task/14"), machine.path("omitted"));
    std::fs::rename(&folder, &elsewhere).expect("moved");
    add_waits(&machine, 12, 15, 700);
    assert_eq!(wait(2), 15_012);
    std::fs::rename(&elsewhere, &folder).expect("moved");
    machine.remove("proc/12/task/15");
    assert_eq!(wait(3), 15_012);
}

#[test]
fn a_malformed_file_is_an_error_of_its_counters() {
    let machine = machine();
    add(&machine, 12, "java", 100, 500);
    let mut set = provider(&machine.roots, "Process");
    for broken in ["", "1", "1 2", "x y z\n", "1 99999999999999999999 3\n"] {
        machine.write("proc/12/task/12/schedstat", broken);
        let rows = query(&mut *set, 1, &[RUN_QUEUE_WAIT_TIME, USER_TIME], "*");
        assert!(!value(&rows, "java", RUN_QUEUE_WAIT_TIME).status.is_good(), "{broken:?}");
        assert_eq!(rows.errors()[0].reason.as_ref(), "/proc/PID/task: unknown format");
        assert!(value(&rows, "java", USER_TIME).status.is_good());
    }
}

#[test]
fn without_delay_accounting_there_is_no_counter() {
    let machine = machine();
    let has_counter = |set: &str, id| provider(&machine.roots, set).info().position(id).is_some();
    assert!(has_counter("Process", BLOCK_IO_WAIT_TIME) && has_counter("Thread", id::BLOCK_IO_WAIT_TIME));
    let reason = |machine: &Machine| crate::process::delays::check(&machine.roots).expect_err("a reason");
    assert_eq!(reason(&machine), "taskstats: the processes are not those of this machine");
    assert!(!FROM_DELAYS.into_iter().any(|id| has_counter("Process", id)));
    machine.write("proc/sys/kernel/task_delayacct", "0\n");
    assert!(reason(&machine).ends_with("needs 'sysctl kernel.task_delayacct=1'"));
    assert!(!has_counter("Process", BLOCK_IO_WAIT_TIME) && !has_counter("Process V2", BLOCK_IO_WAIT_TIME));
    assert!(!has_counter("Thread", id::BLOCK_IO_WAIT_TIME));
    assert!(has_counter("Process", RUN_QUEUE_WAIT_TIME) && has_counter("Thread", id::RUN_QUEUE_WAIT_TIME));
    // A kernel without scheduler statistics writes zeros.
    machine.write("proc/self/schedstat", "0 0 0\n");
    assert!(!has_counter("Process", RUN_QUEUE_WAIT_TIME) && !has_counter("Thread", id::RUN_QUEUE_WAIT_TIME));
}

#[test]
fn threads_have_their_own_waits() {
    let machine = machine();
    add(&machine, 12, "java", 100, 500);
    add_waits(&machine, 12, 13, 4_000);
    let mut set = provider(&machine.roots, "Thread");
    let rows = collect(&mut *set, at(1));
    assert_eq!(names(&rows), ["thread/0", "thread/1", "_Total/_Total"]);
    assert_eq!(first_value(&rows, "thread/1", id::RUN_QUEUE_WAIT_TIME), 40);
    assert_eq!(first_value(&rows, "thread/1", id::CONTEXT_SWITCHES), 12);
    assert_eq!(first_value(&rows, "thread/1", id::BLOCK_IO_WAIT_TIME), 600_000);
    assert_eq!(first_value(&rows, "_Total/_Total", id::RUN_QUEUE_WAIT_TIME), 15_040);
    assert_eq!(first_value(&rows, "_Total/_Total", id::BLOCK_IO_WAIT_TIME), 1_200_000);
}

//! Threads of a fake machine.

use super::*;
use crate::process::table::thread as id;

fn add_thread(machine: &Machine, pid: u32, tid: u32, name: &str, user: u64) {
    let folder = format!("proc/{pid}/task/{tid}");
    machine.write(&format!("{folder}/stat"), stat_line(tid, name, user, 20, 500 + u64::from(tid)));
    machine.write(&format!("{folder}/schedstat"), "5 6 77\n");
    machine.write(&format!("{folder}/status"), status(tid, name));
}

#[test]
fn every_counter_has_its_value() {
    let machine = machine();
    add(&machine, 12, "java", 100, 500);
    add_thread(&machine, 12, 12, "java", 100);
    add_thread(&machine, 12, 40, "worker", 7);
    add_thread(&machine, 12, 13, "worker", 8);
    // The ids have wrapped around.
    add_thread(&machine, 12, 3, "late", 9);
    let mut set = provider(&machine.roots, "Thread");
    let rows = collect(&mut *set, at(60));
    assert_eq!(names(&rows), ["java/0", "java/1", "java/2", "java/3", "_Total/_Total"]);
    let ids: Vec<u32> = rows.instances().iter().map(|key| key.id()).collect();
    assert_eq!(ids, [12, 13, 40, 3, 0]);
    assert_eq!(rows.instances()[1].parent(), Some("java"));
    assert_eq!(rows.instances()[1].name(), "1");
    assert_eq!(identity(&rows, "java/1"), 513 << 22 | 13);
    let value_of = |id| first_value(&rows, "java/1", id);
    assert_eq!(value_of(id::PROCESSOR_TIME), 28 * 100_000);
    assert_eq!(value_of(id::USER_TIME), 8 * 100_000);
    assert_eq!(value_of(id::PRIVILEGED_TIME), 20 * 100_000);
    assert_eq!(value_of(id::CONTEXT_SWITCHES), 77);
    assert_eq!(value_of(id::PRIORITY_CURRENT), 20);
    assert_eq!(value_of(id::PRIORITY_BASE), 20);
    assert_eq!(value_of(id::THREAD_STATE), 5);
    assert_eq!(value_of(id::ID_PROCESS), 12);
    assert_eq!(value_of(id::ID_THREAD), 13);
    assert_eq!(first_value(&rows, "_Total/_Total", id::USER_TIME), 124 * 100_000);
    assert_eq!(first_value(&rows, "_Total/_Total", id::CONTEXT_SWITCHES), 4 * 77);
}

#[test]
fn threads_of_a_process_named_like_the_total_do_not_replace_it() {
    let machine = machine();
    for (pid, name) in [(12, "_Total"), (13, "java")] {
        add(&machine, pid, name, 100, 500);
        add_thread(&machine, pid, pid, name, 100);
        // Thread instances are named by index, not by the thread's own name.
        add_thread(&machine, pid, pid + 10, "_Total", 7);
    }
    let mut set = provider(&machine.roots, "Thread");
    let rows = collect(&mut *set, at(60));
    let labels: Vec<_> =
        Numbering::default().assign(rows.instances()).iter().map(ToString::to_string).collect();
    assert_eq!(labels, ["_Total/0", "_Total/1", "java/0", "java/1", "_Total/_Total"]);
    assert_eq!(first_value(&rows, "_Total/_Total", id::USER_TIME), 214 * 100_000);
}

fn set_of_threads(machine: &Machine, max_open_files: u64) -> Box<dyn Provider> {
    let sets = with_descriptors(&machine.roots, &Descriptors::unshared(max_open_files));
    sets.into_iter().find(|set| &*set.info().name == "Thread").expect("the set exists")
}

#[test]
fn a_living_thread_that_the_kernel_omits_counts_once() {
    let machine = machine();
    for tid in [12, 13, 14] {
        add_thread(&machine, 12, tid, "java", 10);
    }
    let mut set = set_of_threads(&machine, 100);
    collect(&mut *set, at(1));
    // The folder is missing, but the thread's open files can be read.
    let (folder, elsewhere) = (machine.path("proc/12/task/13"), machine.path("omitted"));
    std::fs::rename(&folder, &elsewhere).expect("moved");
    machine.write("omitted/stat", stat_line(13, "java", 11, 20, 513));
    let rows = collect(&mut *set, at(2));
    assert_eq!(names(&rows), ["java/0", "java/1", "java/2", "_Total/_Total"]);
    assert_eq!(first_value(&rows, "java/1", id::USER_TIME), 11 * 100_000);
    std::fs::rename(&elsewhere, &folder).expect("moved");
    let rows = collect(&mut *set, at(3));
    assert_eq!(first_value(&rows, "_Total/_Total", id::USER_TIME), 31 * 100_000);
    assert_eq!(first_value(&rows, "_Total/_Total", id::CONTEXT_SWITCHES), 3 * 77);
    // The thread ends while other threads are queried.
    drop(set);
    let mut set = set_of_threads(&machine, 0);
    query(&mut *set, 4, &[id::USER_TIME], "java/*");
    machine.remove("proc/12/task/13");
    let rows = query(&mut *set, 5, &[id::ID_THREAD], "java/1");
    assert_eq!(first_value(&rows, "java/1", id::ID_THREAD), 14);
}

#[test]
fn a_thread_that_ends_renumbers_later_ones() {
    let machine = machine();
    for tid in [12, 13, 14] {
        add_thread(&machine, 12, tid, "java", 10);
    }
    // Files that do not stay open cannot be read after their removal.
    let mut set = set_of_threads(&machine, 0);
    let before = collect(&mut *set, at(1));
    machine.remove("proc/12/task/13");
    let after = collect(&mut *set, at(2));
    assert_eq!(names(&after), ["java/0", "java/1", "_Total/_Total"]);
    assert_eq!(identity(&before, "java/2"), identity(&after, "java/1"));
    assert_eq!(first_value(&after, "_Total/_Total", id::USER_TIME), 30 * 100_000);
    // The process is renamed.
    machine.write("proc/12/task/12/stat", stat_line(12, "ruby", 10, 20, 512));
    assert_eq!(names(&collect(&mut *set, at(3))), ["ruby/0", "ruby/1", "_Total/_Total"]);
}

#[test]
fn only_requested_threads_are_collected() {
    let machine = machine();
    for tid in [12, 13, 14] {
        add_thread(&machine, 12, tid, "java", 10);
    }
    let mut set = provider(&machine.roots, "Thread");
    for second in 1..3 {
        let rows = query(&mut *set, second, &[id::USER_TIME], "java/1");
        assert_eq!(names(&rows), ["java/1"]);
        assert_eq!(first_value(&rows, "java/1", id::USER_TIME), 10 * 100_000);
    }
}

#[test]
fn switches_are_read_from_status_without_schedstat() {
    let machine = machine();
    // A kernel that does not count switches shows zeros.
    machine.write("proc/self/schedstat", "0 0 0\n");
    add_thread(&machine, 12, 12, "java", 10);
    let rows = collect(&mut *provider(&machine.roots, "Thread"), at(1));
    assert_eq!(first_value(&rows, "java/0", id::CONTEXT_SWITCHES), 23);
    machine.remove("proc/self/status");
    let set = provider(&machine.roots, "Thread");
    assert!(set.info().position(id::CONTEXT_SWITCHES).is_none());
}

#[test]
fn broken_files_are_errors_of_their_counters() {
    let machine = machine();
    add_thread(&machine, 12, 12, "java", 10);
    let mut set = provider(&machine.roots, "Thread");
    for text in ["", "\n", "12 (java", "1 2", "12 (java) S 1 2 3"] {
        machine.write("proc/12/task/12/stat", text);
        machine.write("proc/12/task/12/schedstat", text);
        let rows = collect(&mut *set, at(1));
        assert_eq!(rows.instances().len(), 2, "{text:?}");
        let has_error = |id| !rows.values(0)[rows.column(id).expect("wanted")].status.is_good();
        assert!(
            has_error(id::USER_TIME) && has_error(id::CONTEXT_SWITCHES) && has_error(id::THREAD_STATE),
            "{text:?}"
        );
        assert_eq!(rows.errors().len(), 10, "{text:?}: {:?}", rows.errors());
    }
}

#[test]
fn states_have_windows_numbers() {
    let machine = machine();
    let states = [('R', 2), ('S', 5), ('D', 5), ('T', 5), ('t', 5), ('I', 5), ('Z', 4), ('X', 4), ('?', 7)];
    for (pid, (letter, _)) in (1..).zip(states) {
        let line = stat_line(pid, "x", 1, 1, 1).replace(") S ", &format!(") {letter} "));
        machine.write(&format!("proc/{pid}/task/{pid}/stat"), line);
    }
    let mut set = provider(&machine.roots, "Thread");
    let rows = query(&mut *set, 1, &[id::THREAD_STATE], "x/0");
    let found: Vec<i64> = rows.all_values().iter().map(|raw| raw.first).collect();
    assert_eq!(found, states.map(|(_, number)| number));
}

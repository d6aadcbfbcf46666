//! Processes of a fake machine.

use super::*;

#[test]
fn every_counter_has_its_value() {
    let machine = machine();
    add(&machine, 12, "bash", 100, 500);
    let mut set = provider(&machine.roots, "Process");
    let rows = collect(&mut *set, at(60));
    assert_eq!(names(&rows), ["Idle", "bash", "_Exited", "_Unattributed", "_Total"]);
    let value_of = |id| first_value(&rows, "bash", id);
    assert_eq!(value_of(PROCESSOR_TIME), 120 * 100_000);
    assert_eq!(value_of(USER_TIME), 100 * 100_000);
    assert_eq!(value_of(PRIVILEGED_TIME), 20 * 100_000);
    assert_eq!(value_of(VIRTUAL_BYTES_PEAK), 800 << 10);
    assert_eq!(value_of(VIRTUAL_BYTES), 401 << 10);
    assert_eq!(value_of(PAGE_FAULTS), 3);
    assert_eq!(value_of(WORKING_SET_PEAK), 300 << 10);
    assert_eq!(value_of(WORKING_SET), 101 << 10);
    assert_eq!(value_of(PAGE_FILE_BYTES), 7 << 10);
    assert_eq!(value_of(PRIVATE_BYTES), 47 << 10);
    assert_eq!(value_of(THREAD_COUNT), 3);
    assert_eq!(value_of(PRIORITY_BASE), 20);
    // Started 5 s after boot, 55 s ago.
    let elapsed = value(&rows, "bash", ELAPSED_TIME);
    assert_eq!(elapsed.second - elapsed.first, 55 * 10_000_000);
    assert_eq!(value_of(ID_PROCESS), 12);
    assert_eq!(value_of(CREATING_PROCESS_ID), 7);
    assert_eq!(value_of(HANDLE_COUNT), 2);
    assert_eq!(value_of(IO_READ_OPERATIONS), 10);
    assert_eq!(value_of(IO_WRITE_OPERATIONS), 5);
    assert_eq!(value_of(IO_DATA_OPERATIONS), 15);
    assert_eq!(value_of(IO_READ_BYTES), 100);
    assert_eq!(value_of(IO_WRITE_BYTES), 50);
    assert_eq!(value_of(IO_DATA_BYTES), 150);
    assert_eq!(value_of(WORKING_SET_PRIVATE), 40 << 10);
    assert_eq!(value_of(STORAGE_READ_BYTES), 4096);
    assert_eq!(value_of(STORAGE_WRITE_BYTES), 8192);
    assert_eq!(value_of(RUN_QUEUE_WAIT_TIME), 15_000);
    assert_eq!(value_of(BLOCK_IO_WAIT_TIME), 6 * 100_000);
    assert_eq!(rows.instances()[1].id(), 12);
    assert_eq!(rows.instances()[1].identity(), 500 << 22 | 12);

    assert_eq!(first_value(&rows, "Idle", PROCESSOR_TIME), 1050 * 100_000);
    assert_eq!(first_value(&rows, "Idle", THREAD_COUNT), 2);
    assert_eq!(first_value(&rows, "Idle", ID_PROCESS), 0);
    assert_eq!(first_value(&rows, "_Total", PROCESSOR_TIME), (1050 + 120) * 100_000);
    assert_eq!(first_value(&rows, "_Total", USER_TIME), 100 * 100_000);
    assert_eq!(first_value(&rows, "_Total", THREAD_COUNT), 5);
    assert_eq!(first_value(&rows, "_Total", HANDLE_COUNT), 2);
    let elapsed = value(&rows, "_Total", ELAPSED_TIME);
    assert_eq!(elapsed.second - elapsed.first, 60 * 10_000_000);
    assert!(rows.all_values().iter().all(|raw| raw.status.is_good()));
}

#[test]
fn process_v2_has_ids_in_its_names() {
    let machine = machine();
    add(&machine, 12, "bash", 100, 500);
    let mut set = provider(&machine.roots, "Process V2");
    let rows = collect(&mut *set, at(60));
    assert_eq!(names(&rows), ["Idle:0", "bash:12", "_Exited", "_Unattributed", "_Total"]);
    assert!(set.info().counters.iter().any(|counter| &*counter.name == "Process ID"));
    assert!(set.info().counters.iter().all(|counter| &*counter.name != "ID Process"));
}

#[test]
fn statm_is_read_if_no_peaks_are_requested() {
    let machine = machine();
    add(&machine, 12, "bash", 100, 500);
    machine.remove("proc/12/status");
    let mut set = provider(&machine.roots, "Process");
    let rows = query(&mut *set, 1, &[WORKING_SET, WORKING_SET_PRIVATE, VIRTUAL_BYTES], "*");
    assert_eq!(first_value(&rows, "bash", WORKING_SET), 25 * 4096);
    assert_eq!(first_value(&rows, "bash", WORKING_SET_PRIVATE), 10 * 4096);
    assert_eq!(first_value(&rows, "bash", VIRTUAL_BYTES), 100 * 4096);
}

#[test]
fn only_requested_files_are_opened() {
    let machine = machine();
    add(&machine, 12, "bash", 100, 500);
    add(&machine, 13, "sleep", 100, 500);
    let descriptors = Descriptors::unshared(100);
    let mut sets = with_descriptors(&machine.roots, &descriptors);
    query(&mut *sets[0], 1, &[PROCESSOR_TIME], "*");
    assert_eq!(descriptors.open_files(), 2, "stat of both");
    let every: Vec<u32> = (1..=25).collect();
    let rows = query(&mut *sets[0], 1, &every, "bash");
    assert_eq!(names(&rows), ["bash"]);
    // Outside procfs the entries of fd are counted, in a folder that stays open.
    assert_eq!(descriptors.open_files(), 5, "stat of both; status, io and fd of one");
    drop(sets);
    assert_eq!(descriptors.open_files(), 0);
}

#[test]
fn an_idle_set_closes_its_files_and_keeps_its_totals() {
    let machine = machine();
    add(&machine, 12, "bash", 100, 500);
    let descriptors = Descriptors::unshared(100);
    let mut sets = with_descriptors(&machine.roots, &descriptors);
    for set in &mut sets[..2] {
        let every: Vec<u32> = set.info().counters.iter().map(|counter| counter.id).collect();
        let before = query(&mut **set, 1, &every, "*");
        assert!(descriptors.open_files() > 0, "{}", set.info().name);
        set.idle();
        assert_eq!(descriptors.open_files(), 0, "{}", set.info().name);
        let after = query(&mut **set, 1, &every, "*");
        assert_eq!(names(&after), names(&before));
        for row in 0..names(&after).len() {
            assert_eq!(after.values(row), before.values(row), "totals are kept");
        }
        set.idle();
    }
}

#[test]
fn unusual_names_are_readable() {
    let machine = machine();
    let long = "a-kernel-thread/u257:15-events_power_efficient_and_more_up_to_6";
    add(&machine, 2, "a) b (c", 1, 1);
    add(&machine, 3, "kworker/0:1", 1, 1);
    add(&machine, 4, "two\nlines", 1, 1);
    add(&machine, 5, ") S 1 1", 1, 1);
    add(&machine, 6, "", 1, 1);
    add(&machine, 7, long, 1, 1);
    let mut line = stat_line(8, "X", 1, 1, 1).into_bytes();
    line[3] = 0xff;
    machine.write("proc/8/stat", line);
    let mut set = provider(&machine.roots, "Process");
    let rows = query(&mut *set, 1, &[PROCESSOR_TIME], "*");
    let found = names(&rows);
    let odd = ["a) b (c", "kworker/0:1", "two\u{fffd}lines", ") S 1 1", "unnamed", long, "\u{fffd}"];
    assert_eq!(found[1..=7], odd);
}

#[test]
fn processes_named_like_the_total_and_idle_replace_neither() {
    let machine = machine();
    // In the first sample, these processes are listed before the total.
    let others = [(14, "_Exited"), (15, "_Unattributed")];
    for (pid, name) in [(10, "_Total"), (11, "Idle"), (12, "_TOTAL"), (13, "sh")].into_iter().chain(others) {
        add(&machine, pid, name, 100, 500);
    }
    for (set, total, idle) in [("Process", "_Total", "Idle"), ("Process V2", "_Total", "Idle:0")] {
        let mut set = provider(&machine.roots, set);
        let mut numbering = Numbering::default();
        for seconds in 1..4 {
            let rows = collect(&mut *set, at(seconds));
            let names = numbering.assign(rows.instances());
            let pid_of = |name: &str| {
                let row = names.iter().position(|instance| instance.label() == name).expect(name);
                rows.values(row)[rows.column(ID_PROCESS).expect("a column")].first
            };
            assert_eq!((pid_of(total), pid_of(idle), pid_of(&sh_of(&rows))), (0, 0, 13), "{names:?}");
            assert_eq!((pid_of("_Exited"), pid_of("_Unattributed")), (0, 0), "{names:?}");
            if idle == "Idle" {
                assert_eq!((pid_of("_Exited#1"), pid_of("_Unattributed#1")), (14, 15));
                assert_eq!((pid_of("_Total#1"), pid_of("Idle#1"), pid_of("_TOTAL#1")), (10, 11, 12));
            }
        }
        // The total can also be queried by its plain name, and includes those processes.
        let rows = query(&mut *set, 5, &[THREAD_COUNT], "_Total");
        let names = numbering.assign(rows.instances());
        let row = names.iter().position(|instance| instance.label() == "_Total").expect("the total");
        assert_eq!(rows.values(row)[rows.column(THREAD_COUNT).expect("a column")].first, 6 * 3 + 2);
    }
}

/// The name of the process `sh`.
fn sh_of(rows: &Rows) -> String {
    let key = rows.instances().iter().find(|key| key.id() == 13).expect("the process");
    key.full_name().to_owned()
}

#[test]
fn a_renamed_process_keeps_its_identity() {
    let machine = machine();
    add(&machine, 12, "bash", 100, 500);
    let mut set = provider(&machine.roots, "Process");
    let before = collect(&mut *set, at(1));
    machine.write("proc/12/stat", stat_line(12, "ls", 101, 20, 500));
    let after = collect(&mut *set, at(2));
    assert_eq!(names(&after), ["Idle", "ls", "_Exited", "_Unattributed", "_Total"]);
    assert_eq!(identity(&before, "bash"), identity(&after, "ls"));
    assert_eq!(first_value(&after, "_Total", USER_TIME), 101 * 100_000);
}

#[test]
fn a_reused_id_is_another_process() {
    let machine = machine();
    add(&machine, 12, "bash", 100, 500);
    let mut set = provider(&machine.roots, "Process");
    let before = collect(&mut *set, at(1));
    // Same name and id, started later.
    machine.write("proc/12/stat", stat_line(12, "bash", 3, 20, 900));
    let after = collect(&mut *set, at(2));
    assert_ne!(identity(&before, "bash"), identity(&after, "bash"));
    assert_eq!(first_value(&after, "bash", USER_TIME), 3 * 100_000);
    // The sum includes the earlier process.
    assert_eq!(first_value(&after, "_Total", USER_TIME), 103 * 100_000);
}

#[test]
fn totals_never_decrease() {
    let machine = machine();
    add(&machine, 12, "bash", 100, 500);
    add(&machine, 13, "ls", 10, 500);
    let mut set = provider(&machine.roots, "Process");
    let mut last = 0;
    let mut total = |rows: &Rows, expected: i64| {
        let now = first_value(rows, "_Total", USER_TIME);
        assert!(now >= last);
        assert_eq!(now, expected * 100_000);
        last = now;
    };
    total(&collect(&mut *set, at(1)), 110);
    machine.remove("proc/12");
    total(&collect(&mut *set, at(2)), 110);
    machine.write("proc/13/stat", stat_line(13, "ls", 15, 20, 500));
    add(&machine, 14, "new", 1, 700);
    let rows = collect(&mut *set, at(3));
    total(&rows, 116);
    assert_eq!(first_value(&rows, "_Total", IO_READ_BYTES), 300);
    assert_eq!(first_value(&rows, "_Total", WORKING_SET), 202 << 10);
    // A value that decreases is held until the kernel's value catches up.
    machine.write("proc/13/stat", stat_line(13, "ls", 14, 20, 500));
    let rows = collect(&mut *set, at(4));
    total(&rows, 116);
    assert_eq!(first_value(&rows, "ls", USER_TIME), 15 * 100_000);
    // In between, a sample that does not request the total.
    machine.write("proc/13/stat", stat_line(13, "ls", 17, 20, 500));
    query(&mut *set, 5, &[USER_TIME], "ls");
    total(&query(&mut *set, 6, &[USER_TIME], "_Total"), 118);
}

#[test]
fn kernel_threads_have_no_memory() {
    let machine = machine();
    add(&machine, 2, "kthreadd", 0, 1);
    machine.write("proc/2/status", "Name:\tkthreadd\nKthread:\t1\nThreads:\t1\n");
    let mut set = provider(&machine.roots, "Process");
    let rows = collect(&mut *set, at(1));
    for id in FROM_STATUS.into_iter().chain(FROM_STATM).chain([VIRTUAL_BYTES]) {
        assert_eq!(first_value(&rows, "kthreadd", id), 0);
    }
}

#[test]
fn broken_files_are_errors_of_their_counters() {
    let broken = [
        "",
        "\n",
        "x",
        "12",
        "12 (bash",
        "12 (bash) S",
        "-1 -1 -1",
        "99999999999999999999999 (a) S 1\n",
        "\0",
    ];
    let machine = machine();
    add(&machine, 12, "bash", 100, 500);
    let mut set = provider(&machine.roots, "Process");
    collect(&mut *set, at(1));
    for text in broken {
        for (file, ids) in [
            ("stat", &[USER_TIME, PAGE_FAULTS, ELAPSED_TIME][..]),
            ("status", &[WORKING_SET, VIRTUAL_BYTES_PEAK, PRIVATE_BYTES]),
            ("io", &[IO_READ_BYTES, IO_DATA_OPERATIONS, STORAGE_READ_BYTES]),
        ] {
            add(&machine, 12, "bash", 100, 500);
            machine.write(&format!("proc/12/{file}"), text);
            let rows = collect(&mut *set, at(2));
            for &id in ids {
                assert!(!value(&rows, "bash", id).status.is_good(), "{file} {text:?} {id}");
                assert!(rows.errors().iter().any(|problem| problem.counter_id == id), "{file} {text:?}");
            }
            assert_eq!(first_value(&rows, "bash", ID_PROCESS), 12);
        }
    }
}

#[test]
fn truncated_numbers_are_not_used() {
    let machine = machine();
    for (file, whole) in [
        ("stat", stat_line(12, "a) b", 1234, 20, 500)),
        ("status", status(12, "bash")),
        ("io", IO.to_owned()),
        ("statm", "100 25 15 1 0 50 0\n".to_owned()),
    ] {
        add(&machine, 12, "bash", 1234, 500);
        let mut set = provider(&machine.roots, "Process");
        for length in 0..whole.len() {
            machine.write(&format!("proc/12/{file}"), &whole[..length]);
            let rows = collect(&mut *set, at(1));
            let name = names(&rows)[1].to_owned();
            let time = value(&rows, &name, USER_TIME);
            assert!(!time.status.is_good() || time.first == 1234 * 100_000);
            let written = value(&rows, &name, IO_WRITE_BYTES);
            assert!(!written.status.is_good() || written.first == 50);
            let memory = value(&rows, &name, VIRTUAL_BYTES_PEAK);
            assert!(!memory.status.is_good() || memory.first == 800 << 10);
        }
    }
}

#[test]
fn a_missing_field_is_an_error_of_its_counters() {
    let machine = machine();
    add(&machine, 12, "bash", 100, 500);
    machine.write("proc/12/status", status(12, "bash").replace("VmSwap:\t       7 kB\n", ""));
    let rows = collect(&mut *provider(&machine.roots, "Process"), at(1));
    assert!(!value(&rows, "bash", PRIVATE_BYTES).status.is_good());
    assert!(!value(&rows, "bash", PAGE_FILE_BYTES).status.is_good());
    assert_eq!(first_value(&rows, "bash", WORKING_SET_PEAK), 300 << 10);
}

#[test]
fn counters_without_a_source_are_absent() {
    let machine = machine();
    machine.remove("proc/self/io");
    machine.write("proc/self/status", status(1, "self").replace("VmSwap", "VmOther"));
    let set = provider(&machine.roots, "Process");
    let has_counter = |id| set.info().position(id).is_some();
    assert!(!FROM_IO.into_iter().any(has_counter));
    assert!(!has_counter(PRIVATE_BYTES) && !has_counter(PAGE_FILE_BYTES));
    assert!(has_counter(WORKING_SET_PEAK) && has_counter(PROCESSOR_TIME));
    machine.remove("proc/self/stat");
    assert!(providers(&machine.roots).is_empty());
}

#[test]
fn missing_idle_time_is_an_error_of_its_counters_only() {
    let machine = machine();
    add(&machine, 12, "bash", 100, 500);
    machine.write("proc/stat", "cp");
    let rows = collect(&mut *provider(&machine.roots, "Process"), at(1));
    for instance in ["Idle", "_Unattributed", "_Total"] {
        assert!(!value(&rows, instance, PROCESSOR_TIME).status.is_good());
        first_value(&rows, instance, PAGE_FAULTS);
    }
    first_value(&rows, "_Exited", PROCESSOR_TIME);
}

#[test]
fn idle_time_never_decreases() {
    let machine = machine();
    let mut set = provider(&machine.roots, "Process");
    let mut idle = |second: i64, stat: &str| {
        machine.write("proc/stat", stat);
        first_value(&collect(&mut *set, at(second)), "Idle", PROCESSOR_TIME) / 100_000
    };
    let both = "cpu 10 0 10 1000 50 0\ncpu0 5 0 5 500 25 0 0\ncpu1 5 0 5 500 25 0 0\n";
    assert_eq!(idle(1, both), 1050);
    // The kernel revokes some iowait.
    assert_eq!(idle(2, "cpu 0 0 0 0 0\ncpu0 5 0 5 500 20 0 0\ncpu1 5 0 5 500 25 0 0\n"), 1050);
    // Processor 1 goes offline, but the sum keeps its time.
    assert_eq!(idle(3, "cpu 0 0 0 0 0\ncpu0 5 0 5 510 25 0 0\n"), 1060);
    // Processor 1 is online again. Its earlier time is not added.
    assert_eq!(idle(4, "cpu 0 0 0 0 0\ncpu0 5 0 5 520 25 0 0\ncpu1 5 0 5 900 25 0 0\n"), 1070);
    assert_eq!(idle(5, "cpu 0 0 0 0 0\ncpu0 5 0 5 520 25 0 0\ncpu1 5 0 5 907 25 0 0\n"), 1077);
    // Processor 1 was offline between two reads and restarted from 0.
    assert_eq!(idle(6, "cpu 0 0 0 0 0\ncpu0 5 0 5 520 25 0 0\ncpu1 5 0 5 1 0 0 0\n"), 1077);
    assert_eq!(idle(7, "cpu 0 0 0 0 0\ncpu0 5 0 5 520 25 0 0\ncpu1 5 0 5 4 0 0 0\n"), 1080);
}

#[test]
fn names_of_kernel_workers_do_not_include_their_work() {
    let machine = machine();
    let mut set = provider(&machine.roots, "Process");
    for name in ["kworker/u8:0-writeback", "kworker/u8:0+flush-254:0", "kworker/u8:0"] {
        add(&machine, 40, name, 1, 500);
        let rows = collect(&mut *set, at(1));
        assert!(names(&rows).contains(&"kworker/u8:0"), "{:?}", names(&rows));
    }
}

#[test]
fn a_process_that_starts_during_the_collection_is_0_s_old() {
    let machine = machine();
    add(&machine, 41, "late", 1, 10_000);
    let rows = collect(&mut *provider(&machine.roots, "Process"), at(99));
    let age = value(&rows, "late", ELAPSED_TIME);
    assert_eq!(age.first, age.second);
}

#[test]
fn files_beyond_the_limit_are_opened_for_each_read() {
    let machine = machine();
    for pid in 1..=20 {
        add(&machine, pid, "bash", u64::from(pid), 500);
    }
    let all = collect(&mut *provider(&machine.roots, "Process"), at(1));
    let descriptors = Descriptors::unshared(7);
    let mut sets = with_descriptors(&machine.roots, &descriptors);
    for _ in 0..3 {
        let rows = collect(&mut *sets[0], at(1));
        assert_eq!(rows.all_values(), all.all_values());
        assert_eq!(descriptors.open_files(), 7);
    }
}

#[test]
fn a_higher_priority_is_more_urgent() {
    let machine = machine();
    let priorities = [("39 19", 1), ("20 0", 20), ("0 -20", 40), ("-2 0", 42), ("-100 0", 140)];
    for (pid, (fields, _)) in (1..).zip(priorities) {
        let line = stat_line(pid, "x", 1, 1, 1).replace(" 0 0 20 0 ", &format!(" 0 0 {fields} "));
        machine.write(&format!("proc/{pid}/stat"), line);
    }
    let mut set = provider(&machine.roots, "Process");
    let rows = query(&mut *set, 1, &[PRIORITY_BASE], "x");
    let found: Vec<i64> = rows.all_values().iter().map(|raw| raw.first).collect();
    assert_eq!(found, priorities.map(|(_, base)| base));
}

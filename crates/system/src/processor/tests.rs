use tachograph_counters::Status;
use tachograph_perflib::block::{Content, Identifier, decode};
use tachograph_perflib::{Clock, InstanceFilter, Query, Registry};

use super::*;
use crate::testing::{Machine, at, check_idle, collect, first_value, names, value};

const STAT: &str = "cpu  11 22 33 44 55 66 77 8\n\
    cpu0 100 10 30 1000 50 4 6 9 40 5\n\
    cpu1 300 20 50 3001 70 8 2 0 0 0\n\
    intr 5 5\nctxt 1\n";

const INTERRUPTS: &str = "           CPU0       CPU1       \n\
    \x20 1:         10          2   IO-APIC   1-edge      i8042\n\
    LOC:        100        200   Local timer interrupts\n\
    CAL:          7          8   Function call interrupts\n\
    TLB:          5          6   TLB shootdowns\n\
    ERR:          3\n";

const SOFTIRQS: &str = "                    CPU0       CPU1       \n\
    \x20         HI:          1          2\n\
    \x20      TIMER:         30         40\n";

fn sets(machine: &Machine) -> Vec<Box<dyn Provider>> {
    sets_of(&machine.roots)
}

fn sets_of(roots: &Roots) -> Vec<Box<dyn Provider>> {
    providers(roots, &crate::stat::shared_stat(roots), &InterruptFiles::new(roots))
}

fn information(machine: &Machine) -> Box<dyn Provider> {
    sets(machine).swap_remove(0)
}

/// /proc/stat with these processors and idle seconds.
fn stat_of(processors: &[(u32, u64)]) -> String {
    let line = |(number, idle): &(u32, u64)| format!("cpu{number} 0 0 0 {} 0 0 0\n", idle * 100);
    processors.iter().map(line).collect()
}

#[test]
fn times_are_computed_as_on_windows() {
    let machine = Machine::new(&[("proc/stat", STAT)]);
    let rows = collect(&mut *information(&machine), at(7));
    let values_of = |id| ["0,0", "0,1", "_Total", "0,_Total"].map(|name| first_value(&rows, name, id));
    // A tick of 10 ms is 100,000 units. Totals are means, rounded down.
    assert_eq!(values_of(0), [105_900_000, 307_100_000, 206_500_000, 206_500_000], "idle + iowait + steal");
    assert_eq!(values_of(8), [105_000_000, 307_100_000, 206_050_000, 206_050_000], "idle + iowait");
    assert_eq!(values_of(1), [11_000_000, 32_000_000, 21_500_000, 21_500_000], "user + nice");
    assert_eq!(values_of(2), [4_000_000, 6_000_000, 5_000_000, 5_000_000], "system + irq + softirq");
    assert_eq!(values_of(4), [600_000, 200_000, 400_000, 400_000]);
    assert_eq!(values_of(5), [400_000, 800_000, 600_000, 600_000]);
    assert_eq!(
        values_of(15),
        [106_900_000, 309_100_000, 208_000_000, 208_000_000],
        "idle + iowait + steal + nice"
    );
    assert_eq!(values_of(100), [900_000, 0, 450_000, 450_000], "steal");
    assert_eq!(values_of(101), [5_000_000, 7_000_000, 6_000_000, 6_000_000], "iowait");
    assert_eq!(values_of(102), [4_500_000, 0, 2_250_000, 2_250_000], "guest + guest_nice");
    assert_eq!(values_of(103), [1_000_000, 2_000_000, 1_500_000, 1_500_000], "nice");
    assert_eq!(value(&rows, "0,0", 0).second, at(7).system_time.0);
    // This machine has no other counters.
    let ids: Vec<u32> = rows.info().counters.iter().map(|counter| counter.id).collect();
    assert_eq!(ids, [0, 1, 2, 4, 5, 8, 15, 100, 101, 102, 103]);
}

/// The counters that add up to 100 %: user, privileged, idle and steal time.
const WHOLE: [u32; 4] = [1, 2, 8, 100];

#[test]
fn user_privileged_idle_and_steal_time_are_100_percent() {
    // A second with 8 % user (3 % guests), 2 % nice, 4 % system, 1 % irq, 1 % softirq, 39 % idle, 5 % iowait, 40 % steal.
    let later = STAT.replace("cpu0 100 10 30 1000 50 4 6 9 40 5", "cpu0 108 12 34 1039 55 5 7 49 43 5");
    for (set, name) in ["0,0", "0"].into_iter().enumerate() {
        let machine = Machine::new(&[("proc/stat", STAT)]);
        let mut set = sets(&machine).swap_remove(set);
        let before = collect(&mut *set, at(1));
        machine.write("proc/stat", &later);
        let after = collect(&mut *set, at(2));
        let raw = |rows: &Rows| WHOLE.iter().map(|id| first_value(rows, name, *id)).sum::<i64>();
        assert_eq!(raw(&after) - raw(&before), 10_000_000, "exactly one second of {name}");
        let percent = |id| {
            let column = after.column(id).expect("collected");
            let counter = tachograph_perflib::registration::counter_of(after.counter(column));
            let (before, after) = (value(&before, name, id), value(&after, name, id));
            let options = tachograph_counters::FormatOptions::default();
            counter.calculator().format(Some(&before), &after, &options).expect("a value")
        };
        assert_eq!(WHOLE.map(percent), [10.0, 6.0, 44.0, 40.0]);
        assert!((percent(0) - 16.0).abs() < 1e-9, "steal is not busy time: {}", percent(0));
        assert_eq!([101, 102, 103].map(percent), [5.0, 3.0, 2.0]);
    }
}

/// The kernel's own sum of a processor's ticks, from a separate read.
fn ticks_of(processor: &str) -> i64 {
    let text = std::fs::read_to_string("/proc/stat").expect("read");
    let line = text.lines().find_map(|line| line.strip_prefix(processor)).expect("the processor");
    line.split_whitespace().take(8).map(|word| word.parse::<i64>().expect("a number")).sum()
}

#[test]
fn times_of_this_machine_add_up_to_the_kernels_sum() {
    let roots = Roots::of_this_machine();
    let mut set = sets_of(&roots).swap_remove(1);
    assert_eq!(set.info().name, "Processor");
    for moment in 1..=3 {
        let (before, rows, after) = (ticks_of("cpu0 "), collect(&mut *set, at(moment)), ticks_of("cpu0 "));
        let per_tick = roots.hundred_ns(1) as i64;
        let sum = WHOLE.iter().map(|id| first_value(&rows, "0", *id)).sum::<i64>() / per_tick;
        assert!((before - 2..=after + 2).contains(&sum), "{before} {sum} {after}");
    }
}

#[test]
fn means_are_rounded_down() {
    let machine = Machine::new(&[("proc/stat", &stat_of(&[(0, 1), (1, 1), (2, 2)]))]);
    let rows = collect(&mut *information(&machine), at(1));
    assert_eq!(first_value(&rows, "_Total", 8), 13_333_333);
}

#[test]
fn the_set_processor_has_its_total_last() {
    let machine = Machine::new(&[("proc/stat", STAT)]);
    let mut sets = sets(&machine);
    assert_eq!(sets[1].info().name.as_ref(), "Processor");
    let rows = collect(&mut *sets[1], at(7));
    assert_eq!(names(&rows), ["0", "1", "_Total"]);
    assert_eq!(first_value(&rows, "_Total", 0), 206_500_000);
    assert!(!rows.info().counters.iter().any(|counter| (15..100).contains(&counter.id) || counter.id > 103));
}

#[test]
fn offline_processors_have_no_instance_but_an_index() {
    let machine = Machine::new(&[
        ("proc/stat", &stat_of(&[(0, 10), (2, 30), (3, 40), (5, 60)])),
        ("sys/devices/system/node/node0/cpulist", "0,2\n"),
        ("sys/devices/system/node/node1/cpulist", "3,5\n"),
        ("sys/devices/system/node/node2/cpulist", "\n"),
        // The kernel links offline processors, too: here 1 and 4.
        ("sys/devices/system/node/node0/cpu1/online", "0\n"),
        ("sys/devices/system/node/node1/cpu4/online", "0\n"),
    ]);
    let mut sets = sets(&machine);
    let rows = collect(&mut *sets[0], at(1));
    let expected = ["_Total", "0,_Total", "0,0", "0,2", "1,_Total", "1,0", "1,2"];
    assert_eq!(names(&rows), expected, "node 2 has no processors");
    let idle = expected.map(|name| first_value(&rows, name, 8) / 10_000_000);
    assert_eq!(idle, [35, 20, 10, 30, 50, 40, 60]);
    let rows = collect(&mut *sets[1], at(1));
    assert_eq!(names(&rows), ["0", "2", "3", "5", "_Total"]);
}

/// Consumers of raw data blocks use instance 0 as the total of the machine.
#[test]
fn the_raw_block_has_the_order_of_the_set() {
    let machine = Machine::new(&[
        ("proc/stat", &stat_of(&[(0, 10), (2, 30), (3, 40)])),
        ("sys/devices/system/node/node0/cpulist", "0,2\n"),
        ("sys/devices/system/node/node1/cpulist", "3\n"),
    ]);
    let mut registry = Registry::new("FIXTURE", Clock::of_this_machine());
    registry.register(information(&machine)).expect("new");
    let guid = registry.enumerate().next().expect("a set");
    assert_eq!(guid.to_string(), "{b4fc721a-0378-476f-89ba-a5a79f810b36}");
    let mut query = Query::open(&Arc::new(registry), None).expect("this machine");
    query.add(&mut [Identifier::new(guid, "*")]);
    query.collect();
    let mut bytes = Vec::new();
    query.data(&mut bytes).expect("a block");
    let block = decode(&bytes).expect("every value can be read");
    let Some(Content::CounterSet(instances)) = block.results().next().map(|result| result.content()) else {
        panic!("no set");
    };
    let idle = instances.ids().and_then(|ids| ids.position(8)).expect("% Idle Time");
    let seen: Vec<_> = instances
        .map(|instance| (instance.name().to_string(), instance.values().nth(idle).flatten()))
        .collect();
    let row = |name: &str, seconds: u64| (name.to_owned(), Some(seconds * 10_000_000));
    // The mean of 80 s over three processors, rounded down.
    let total = ("_Total".to_owned(), Some(266_666_666));
    let expected =
        [total, row("0,_Total", 20), row("0,0", 10), row("0,1", 30), row("1,_Total", 40), row("1,0", 40)];
    assert_eq!(seen, expected);
}

#[test]
fn processors_of_nodes_can_interleave() {
    let machine = Machine::new(&[
        ("proc/stat", &stat_of(&[(0, 10), (1, 20), (2, 30), (3, 40)])),
        ("sys/devices/system/node/node0/cpulist", "0,2\n"),
        ("sys/devices/system/node/node8/cpulist", "1,3\n"),
    ]);
    let mut sets = sets(&machine);
    let rows = collect(&mut *sets[0], at(1));
    assert_eq!(names(&rows), ["_Total", "0,_Total", "0,0", "0,1", "8,_Total", "8,0", "8,1"]);
    assert_eq!(["0,1", "8,0", "8,_Total"].map(|name| first_value(&rows, name, 8) / 10_000_000), [30, 20, 30]);
    let rows = collect(&mut *sets[1], at(1));
    assert_eq!(names(&rows), ["0", "1", "2", "3", "_Total"]);
    assert_eq!(["1", "2"].map(|name| first_value(&rows, name, 8) / 10_000_000), [20, 30]);
}

#[test]
fn without_nodes_all_processors_are_in_node_0() {
    let machine = Machine::new(&[
        ("proc/stat", &stat_of(&[(0, 1), (3, 1)])),
        ("sys/devices/system/cpu/present", "0-3\n"),
    ]);
    let rows = collect(&mut *information(&machine), at(1));
    assert_eq!(names(&rows), ["_Total", "0,_Total", "0,0", "0,3"]);
}

#[test]
fn a_processor_that_comes_back_is_another_instance() {
    let machine = Machine::new(&[("proc/stat", &stat_of(&[(0, 10), (1, 20)]))]);
    let mut set = information(&machine);
    let mut identity = |second: i64, stat: &str, name: &str| {
        machine.write("proc/stat", stat);
        let rows = collect(&mut *set, at(second));
        let row = names(&rows).iter().position(|other| *other == name);
        row.map(|row| rows.instances()[row].identity())
    };
    let both = stat_of(&[(0, 10), (1, 20)]);
    let one = stat_of(&[(0, 11)]);
    let (first, total) = (identity(1, &both, "0,1"), identity(1, &both, "_Total"));
    assert_eq!(identity(2, &both, "0,1"), first);
    assert_eq!(identity(3, &one, "0,1"), None);
    let alone = identity(3, &one, "_Total");
    assert_ne!(alone, total);
    let back = identity(4, &stat_of(&[(0, 12), (1, 1)]), "0,1");
    assert!(back.is_some() && back != first);
    assert_ne!(identity(5, &stat_of(&[(0, 12), (1, 9)]), "_Total"), alone);
    // Processor 1 was offline between two samples; only its counts show that.
    let other = identity(6, &stat_of(&[(0, 13), (1, 10)]), "0,0");
    let again = identity(7, &stat_of(&[(0, 14), (1, 1)]), "0,1");
    assert_ne!(again, back);
    assert_eq!(identity(8, &stat_of(&[(0, 14), (1, 1)]), "0,0"), other, "the other one keeps its identity");
}

#[test]
fn times_never_decrease() {
    let machine = Machine::new(&[("proc/stat", "cpu0 10 0 0 1000 50 0 0\n")]);
    let mut set = information(&machine);
    let rows = collect(&mut *set, at(1));
    let identity = rows.instances()[2].identity();
    assert_eq!(first_value(&rows, "0,0", 8), 105_000_000);
    // The kernel revokes some iowait.
    machine.write("proc/stat", "cpu0 10 0 0 1001 40 0 0\n");
    let rows = collect(&mut *set, at(2));
    assert_eq!(first_value(&rows, "0,0", 8), 105_000_000);
    assert_eq!(rows.instances()[2].identity(), identity);
    machine.write("proc/stat", "cpu0 10 0 0 1012 40 0 0\n");
    assert_eq!(first_value(&collect(&mut *set, at(3)), "0,0", 8), 105_200_000);
}

#[test]
fn revoked_waits_are_not_a_restart() {
    let machine = Machine::new(&[("proc/stat", "cpu0 10 0 0 1000 500 0 0 0 0 0\n")]);
    let mut set = information(&machine);
    let identity = collect(&mut *set, at(1)).instances()[2].identity();
    // Three seconds of waiting become idle time.
    machine.write("proc/stat", "cpu0 10 0 0 1310 200 0 0 0 0 0\n");
    let rows = collect(&mut *set, at(2));
    assert_eq!(rows.instances()[2].identity(), identity);
    assert_eq!([8, 101].map(|id| first_value(&rows, "0,0", id)), [151_000_000, 50_000_000]);
}

const SOFTNET: &str = "\
00000289 00000001 00000002 00000000 00000000 00000000 00000000 00000000 00000000 00000003 00000004 00000005 00000000 00000000 00000000\n\
ffffffff 00000000 00000010 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001 00000000 00000000\n";

#[test]
fn softnet_counts_belong_to_processors() {
    let machine = Machine::new(&[("proc/stat", STAT), ("proc/net/softnet_stat", SOFTNET)]);
    let mut set = information(&machine);
    let rows = collect(&mut *set, at(1));
    let values_of = |rows: &Rows, id| ["0,0", "0,1", "_Total"].map(|name| first_value(rows, name, id));
    assert_eq!(values_of(&rows, 120), [0x289, 0xffff_ffff, 0x1_0000_0288]);
    assert_eq!(
        [121, 122, 123, 124, 125].map(|id| values_of(&rows, id)),
        [[1, 0, 1], [2, 16, 18], [3, 0, 3], [4, 0, 4], [5, 0, 5],]
    );
    // The count of processor 1 wraps, and its line is now first.
    let (first, second) = SOFTNET.split_once('\n').expect("two lines");
    machine.write("proc/net/softnet_stat", format!("{}{first}\n", second.replace("ffffffff", "00000009")));
    let rows = collect(&mut *set, at(2));
    assert_eq!(values_of(&rows, 120), [0x289, 0x1_0000_0009, 0x1_0000_0292]);

    machine.write("proc/net/softnet_stat", format!("{first}\n"));
    let rows = collect(&mut *set, at(3));
    assert_eq!(first_value(&rows, "0,0", 122), 2);
    assert!(!value(&rows, "0,1", 122).status.is_good() && !value(&rows, "_Total", 122).status.is_good());
    assert!(rows.errors()[0].reason.contains("softnet_stat: no line"), "{:?}", rows.errors());
    machine.write("proc/net/softnet_stat", "x\n");
    assert!(!value(&collect(&mut *set, at(4)), "0,0", 120).status.is_good());
}

#[test]
fn softnet_lines_without_ids_are_those_of_online_processors() {
    let line = |processed: u32| format!("{processed:08x}{}\n", " 00000000".repeat(10));
    let machine = Machine::new(&[
        ("proc/stat", &stat_of(&[(0, 1), (3, 1)])),
        ("proc/net/softnet_stat", &(line(7) + &line(8))),
    ]);
    let mut set = information(&machine);
    let rows = collect(&mut *set, at(1));
    assert_eq!(["0,0", "0,1"].map(|name| first_value(&rows, name, 120)), [7, 8]);
    assert!(rows.info().position(125).is_none(), "this kernel prints no backlog");
}

#[test]
fn interrupts_and_softirqs_are_summed_by_processor() {
    let machine =
        Machine::new(&[("proc/stat", STAT), ("proc/interrupts", INTERRUPTS), ("proc/softirqs", SOFTIRQS)]);
    let mut set = information(&machine);
    let rows = collect(&mut *set, at(1));
    let values_of = |id| ["0,0", "0,1", "_Total"].map(|name| first_value(&rows, name, id));
    assert_eq!(values_of(3), [117, 210, 327], "without TLB and ERR");
    assert_eq!(values_of(20), [100, 200, 300]);
    assert_eq!(values_of(6), [31, 42, 73]);
    assert_eq!(values_of(110), [1, 2, 3], "HI");
    assert_eq!(values_of(111), [30, 40, 70], "TIMER");
    assert!(rows.info().position(112).is_none(), "no row NET_TX");
    assert_eq!(value(&rows, "_Total", 3).second, at(1).ticks);
}

#[test]
fn sums_continue_after_interrupt_counts_wrap() {
    let interrupts = |timer: u32| format!("   CPU0 CPU1\nLOC: {timer} 5 Local timer interrupts\n 1: 2 2\n");
    let machine = Machine::new(&[("proc/stat", STAT), ("proc/interrupts", &interrupts(u32::MAX - 9))]);
    let mut set = information(&machine);
    let before = collect(&mut *set, at(1));
    machine.write("proc/interrupts", interrupts(20));
    let after = collect(&mut *set, at(2));
    assert_eq!(first_value(&after, "0,0", 20) - first_value(&before, "0,0", 20), 30);
    assert_eq!(first_value(&after, "0,0", 3) - first_value(&before, "0,0", 3), 30);
    // The row of a device is removed, but the sum does not fall.
    machine.write("proc/interrupts", "   CPU0 CPU1\nLOC: 21 5 Local timer interrupts\n");
    let last = collect(&mut *set, at(3));
    assert_eq!(first_value(&last, "0,0", 3), first_value(&after, "0,0", 3));
    assert_eq!(first_value(&last, "0,0", 20), first_value(&after, "0,0", 20) + 1);
}

#[test]
fn idle_states_are_summed_by_class() {
    let mut files = vec![("proc/stat".to_owned(), stat_of(&[(0, 1), (1, 1)]))];
    for processor in 0..2 {
        for (state, name, time, usage) in [
            (0, "POLL", 5, 7),
            (1, "C1", 1000, 20),
            (2, "C1E", 2000, 30),
            (3, "C6", 9000, 40),
            (10, "C8", 1, 2),
        ] {
            let folder = format!("sys/devices/system/cpu/cpu{processor}/cpuidle/state{state}");
            files.push((format!("{folder}/name"), format!("{name}\n")));
            files.push((format!("{folder}/time"), format!("{}\n", time + processor)));
            files.push((format!("{folder}/usage"), format!("{usage}\n")));
        }
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let machine = Machine::new(&files);
    let mut set = information(&machine);
    let rows = collect(&mut *set, at(1));
    let values_of = |id| ["0,0", "0,1", "_Total"].map(|name| first_value(&rows, name, id));
    assert_eq!(values_of(9), [30_000, 30_020, 30_010], "C1 and C1E");
    assert_eq!(values_of(11), [90_010, 90_030, 90_020], "C6 and C8");
    assert_eq!(values_of(12), [50, 50, 100]);
    assert_eq!(values_of(14), [42, 42, 84]);
    assert_eq!(values_of(23), [99, 99, 198]);
    assert!(!rows.wants(10) && !rows.wants(13), "no state counts as C2");

    machine.write("sys/devices/system/cpu/cpu1/cpuidle/state3/time", "");
    let rows = collect(&mut *set, at(2));
    assert_eq!(first_value(&rows, "0,0", 9), 30_000);
    for name in ["0,1", "_Total"] {
        assert_eq!(value(&rows, name, 9).status, Status::CSTATUS_INVALID_DATA);
    }
    assert!(rows.errors()[0].reason.contains("state3/time"), "{:?}", rows.errors());
}

#[test]
fn frequencies_are_in_mhz_and_percent() {
    let folder = "sys/devices/system/cpu/cpu0/cpufreq";
    let machine = Machine::new(&[
        ("proc/stat", &stat_of(&[(0, 1)])),
        (&format!("{folder}/scaling_cur_freq"), "1800500\n"),
        (&format!("{folder}/scaling_max_freq"), "2700000\n"),
        (&format!("{folder}/cpuinfo_max_freq"), "3600000\n"),
        (&format!("{folder}/base_frequency"), "2000000\n"),
        (&format!("{folder}/stats/time_in_state"), "3000000 3000\n2000000 2000\n1000000 1000\n"),
    ]);
    let mut set = information(&machine);
    let rows = collect(&mut *set, at(1));
    assert_eq!([17, 18, 30].map(|id| first_value(&rows, "0,0", id)), [1800, 50, 75]);
    let performance = value(&rows, "_Total", 24);
    assert_eq!((performance.first, performance.second), (700_000, 6000));
    assert!(rows.info().counters.iter().any(|counter| counter.id == 25));

    machine.write(&format!("{folder}/scaling_cur_freq"), "<unknown>\n");
    machine.remove(&format!("{folder}/stats/time_in_state"));
    let rows = collect(&mut *set, at(2));
    assert!(!value(&rows, "0,0", 17).status.is_good());
    assert_eq!(first_value(&rows, "0,0", 30), 75);
}

#[test]
fn a_malformed_line_is_an_error_of_its_processor() {
    let machine = Machine::new(&[("proc/stat", "cpu0 1 1 1 1 1 1 1\ncpu1 1 1 1\n")]);
    let rows = collect(&mut *information(&machine), at(1));
    assert_eq!(first_value(&rows, "0,0", 1), 200_000);
    assert!(!value(&rows, "0,1", 1).status.is_good());
    assert!(!value(&rows, "_Total", 1).status.is_good());
    assert!(rows.errors()[0].reason.contains("proc/stat"), "{:?}", rows.errors());
}

#[test]
fn malformed_files_cause_no_panic() {
    let huge = u64::MAX.to_string();
    let stats = ["", "\n", "cpu", "cpu0", "cpu0\n", "cpu99999999999 1\n", "cpuX 1 2\n", "intr\n"];
    for stat in stats {
        let machine = Machine::new(&[("proc/stat", stat)]);
        for set in &mut sets(&machine) {
            collect(&mut **set, at(1));
        }
    }
    let huge_line = format!("cpu0 {huge} {huge} {huge} {huge} {huge} {huge} {huge}\n");
    for interrupts in
        ["", "CPU0\n", "CPU0\n:\n", "CPU0\nLOC: 1", "x y\n1: 2\n", "CPU0\nLOC: 99999999999999999999\n"]
    {
        let machine = Machine::new(&[
            ("proc/stat", &format!("{huge_line}{}", huge_line.replace("cpu0", "cpu4294967295"))),
            ("proc/interrupts", "CPU0\nLOC: 1 timer\n"),
            ("proc/softirqs", INTERRUPTS),
        ]);
        let mut set = information(&machine);
        machine.write("proc/interrupts", interrupts);
        let rows = collect(&mut *set, at(1));
        assert!(!value(&rows, "_Total", 3).status.is_good(), "{interrupts:?}");
    }
    let machine = Machine::new(&[("proc/stat", STAT)]);
    let mut set = information(&machine);
    machine.remove("proc/stat");
    let mut rows = Rows::unfiltered(set.info().clone());
    rows.clear(at(2));
    // The open file is still readable. This must not panic.
    let _ = set.collect(&mut rows);
    assert!(sets(&machine).is_empty());
}

#[test]
fn only_requested_files_are_read() {
    let machine = Machine::new(&[("proc/stat", STAT), ("proc/interrupts", INTERRUPTS)]);
    let mut set = information(&machine);
    machine.write("proc/interrupts", "broken");
    let mut rows = Rows::new(set.info().clone());
    rows.select([1], vec![InstanceFilter::new("0,_Total", None)]);
    rows.clear(at(1));
    set.collect(&mut rows).expect("collected");
    assert_eq!(names(&rows), ["0,_Total"]);
    assert_eq!(first_value(&rows, "0,_Total", 1), 21_500_000);
    assert!(rows.errors().is_empty());
}

#[test]
fn values_of_this_machine_are_plausible() {
    let roots = Roots::of_this_machine();
    let clock = Clock::of_this_machine();
    for mut set in sets_of(&roots) {
        let before = collect(&mut *set, clock.now());
        std::hint::black_box((0..20_000_000_u64).fold(0, |sum, number| sum ^ std::hint::black_box(number)));
        let after = collect(&mut *set, clock.now());
        assert_eq!(names(&before), names(&after));
        for (before, after) in before.all_values().iter().zip(after.all_values()) {
            assert!(before.status.is_good() && after.first >= before.first);
        }
        // No processor was idle or busy for longer than the uptime.
        for id in [1, 2, 8] {
            assert!(first_value(&after, "_Total", id) <= clock.now().ticks + 10_000_000);
        }
    }
}

/// `ProcessorInstances` is for sets of other crates, whose sums continue while a processor is offline.
#[test]
fn processor_instances_keep_their_identity() {
    let machine = Machine::new(&[
        ("sys/devices/system/node/node0/cpulist", "0,2\n"),
        ("sys/devices/system/node/node1/cpulist", "1,3\n"),
    ]);
    let mut instances = ProcessorInstances::default();
    let described = |instances: &ProcessorInstances| -> Vec<(String, Vec<u32>)> {
        let numbers =
            |instance: &ProcessorInstance| instances.processors()[instance.members.clone()].to_vec();
        let named = |instance: &ProcessorInstance| (instance.key.full_name().to_owned(), numbers(instance));
        instances.instances().iter().map(named).collect()
    };
    let expected = |all: &[(&str, &[u32])]| -> Vec<(String, Vec<u32>)> {
        all.iter().map(|(name, numbers)| ((*name).to_owned(), numbers.to_vec())).collect()
    };
    instances.update(&machine.roots, &[0, 1, 2]);
    let before = [
        ("_Total", &[0, 2, 1][..]),
        ("0,_Total", &[0, 2]),
        ("0,0", &[0]),
        ("0,1", &[2]),
        ("1,_Total", &[1]),
        ("1,0", &[1]),
    ];
    assert_eq!(described(&instances), expected(&before));
    let keys = |instances: &ProcessorInstances| -> Vec<Arc<tachograph_perflib::InstanceKey>> {
        instances.instances().iter().map(|instance| Arc::clone(&instance.key)).collect()
    };
    let first = keys(&instances);
    instances.update(&machine.roots, &[0, 1, 2]);
    assert!(
        keys(&instances).iter().zip(&first).all(|(now, before)| Arc::ptr_eq(now, before)),
        "not created again"
    );

    // Processor 1, and with it node 1, is offline but still part of the total. Processor 3 is new.
    instances.update(&machine.roots, &[0, 2]);
    let gone = [("_Total", &[0, 2, 1][..]), ("0,_Total", &[0, 2]), ("0,0", &[0]), ("0,1", &[2])];
    assert_eq!(described(&instances), expected(&gone));
    instances.update(&machine.roots, &[0, 1, 2, 3]);
    assert_eq!(described(&instances)[0], ("_Total".into(), vec![0, 2, 1, 3]));
    assert_eq!(keys(&instances)[..6], first, "the same instances as before");
}

#[test]
fn files_are_closed_while_the_sets_are_idle() {
    let cpu = "sys/devices/system/cpu/cpu0";
    let softnet = "00000001 0 0 0 0 0 0 0 0 0 0 00000000 00000000\n".repeat(2);
    let machine = Machine::new(&[
        ("proc/stat", STAT),
        ("proc/interrupts", INTERRUPTS),
        ("proc/softirqs", SOFTIRQS),
        ("proc/net/softnet_stat", &softnet),
        (&format!("{cpu}/cpuidle/state0/name"), "C1\n"),
        (&format!("{cpu}/cpuidle/state0/time"), "10\n"),
        (&format!("{cpu}/cpuidle/state0/usage"), "2\n"),
        (&format!("{cpu}/cpufreq/scaling_cur_freq"), "2000000\n"),
    ]);
    for file in ["sys", "proc/interrupts", "proc/softirqs", "proc/net/softnet_stat"] {
        check_idle(&machine, file, &mut *information(&machine));
    }
}

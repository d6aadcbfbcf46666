//! Logs of block records of every shape that Windows writes, or could: each yields exactly its samples, and problems where it
//! has some.

use crate::made;

use std::io::Cursor;

use made::block::{Block, Counter, Instance, Object};
use made::rewritten::{options_of, samples_and_problems_of, samples_of, write};
use made::shown::{check, check_again, read, show};
use made::{Entry, Event, Made, NAME_TABLE, local, multi};
use tachograph_counters::sample::Sample;
use tachograph_counters::set::Extent;
use tachograph_counters::{RawValue, Status};
use tachograph_logs::LogReader;
use tachograph_logs::blg::BlgReader;

#[test]
fn equal_names_are_numbered_in_their_order() {
    let names = [("svchost", 1, 0), ("x", 2, 0), ("svchost", 3, 0), ("svchost", 4, 0)];
    let expected = [
        r"0: Process(svchost)\Time=1/0, Process(x)\Time=2/0, Process(svchost#1)\Time=3/0, Process(svchost#2)\Time=4/0",
    ];
    let mut made = Made::new(1024);
    made.list(&[Entry::multi("Process", "Time")]);
    made.sample(0, &[multi(0, &names)]);
    check(&made.file(), &expected, &[]);

    let mut made = Made::new(1024);
    made.names(r"\\MADE", &[(230, "Process"), (6, "Time")]);
    made.list(&[Entry::block("Process")]);
    let rows = names.map(|(name, value, _)| Instance::new(name, &[value]));
    made.sample(0, &[Block::new(0, &[Object::new(230, &[COUNT], &rows)]).record()]);
    check(&made.file(), &expected, &[]);
}

const COUNT: Counter = Counter { name_index: 6, counter_type: 0x1_0100, bytes: 8 };

#[test]
fn every_source_of_a_second_value() {
    let types: [(u32, u32); 12] = [
        (0x0001_0000, 4), // a plain number: none
        (0x1041_0500, 8), // rate: ticks
        (0x2051_0500, 8), // 100 ns timer: system time
        (0x3024_0500, 8), // elapsed time: the object's clock
        (0x4002_0500, 8), // average: the base after it
        (0x4003_0402, 8),
        (0x2002_0400, 4), // fraction without a base
        (0x0040_0400, 4), // delta: none
        (0x2241_0500, 8), // multi timer: ticks, multiplied
        (0x4203_0500, 4),
        (0x2057_0500, 8), // precision timer: the base after it
        (0x4003_0500, 8),
    ];
    let counters: Vec<_> = types
        .iter()
        .enumerate()
        .map(|(number, &(counter_type, bytes))| Counter {
            name_index: 9000 + 2 * number as u32,
            counter_type,
            bytes,
        })
        .collect();
    let values: Vec<i64> = (100..112).collect();
    let mut object = Object::alone(8000, &counters, &values);
    (object.time, object.frequency) = (77, 10);
    let mut made = Made::new(4096);
    made.list(&[Entry { instance: None, ..Entry::block("Object") }]);
    made.sample(1, &[Block::new(1, &[object]).record()]);
    let utc = local(480 * 60 + 1);
    let shown = read(&made.file());
    assert_eq!(shown.problems, [""; 0]);
    assert_eq!(
        shown.samples,
        [format!(
            r"1: Object\9000=100/0\9002=101/1000\9004=102/{utc}\9006=103/77\9008=104/105\9012=106/0 PDH_CSTATUS_INVALID_DATA\9014=107/0\9016=108/1000x109\9020=110/111"
        )]
    );
}

#[test]
fn a_counter_that_is_no_number_costs_no_other() {
    const RATE: Counter = Counter { name_index: 8, counter_type: 0x1041_0500, bytes: 8 };
    let names = [(2, "System"), (6, "Odd"), (8, "Calls")];
    for (counter_type, bytes, shown) in [
        (0x4000_0200, 0, "0/0 PDH_CSTATUS_INVALID_DATA"), // NODATA
        (0xB00, 0, "0/0 PDH_CSTATUS_INVALID_DATA"),       // TEXT
        (0xB00, 2, "0/0 PDH_CSTATUS_INVALID_DATA"),
        (0xB00, 4, "5/0"),
        (0x1_0000, 1, "0/0 PDH_CSTATUS_INVALID_DATA"),
        (0x1_0000, 2, "0/0 PDH_CSTATUS_INVALID_DATA"),
        (0x1_0000, 5, "0/0 PDH_CSTATUS_INVALID_DATA"),
        (0x2241_0500, 7, "0/0 PDH_CSTATUS_INVALID_DATA"), // multi timer
    ] {
        let odd = Counter { name_index: 6, counter_type, bytes };
        for (counters, values) in [([RATE, odd], [1, 5]), ([odd, RATE], [5, 1])] {
            let mut made = Made::new(1024);
            made.names(r"\\MADE", &names);
            made.list(&[Entry { instance: None, ..Entry::block("System") }]);
            made.sample(1, &[Block::new(1, &[Object::alone(2, &counters, &values)]).record()]);
            let texts = counters.map(|counter| match counter.name_index {
                6 => format!(r"\Odd={shown}"),
                _ => r"\Calls=1/1000".to_owned(),
            });
            check(&made.file(), &[&format!("1: System{}", texts.concat())], &[]);
            check_again(&made.file());
        }
    }
}

#[test]
fn only_types_that_use_a_multiplier_have_one() {
    // The multi bit on a word that Windows does not name, and on a timer whose multiplier has no definition of its own: it
    // stands behind the value.
    let unknown = Counter { name_index: 6, counter_type: 0x2201_0100, bytes: 8 };
    let timer = Counter { name_index: 8, counter_type: 0x2241_0500, bytes: 8 };
    let count = Counter { name_index: 10, counter_type: 0x1_0000, bytes: 4 };
    let log = |counters: &[Counter], values: &[i64]| {
        let mut made = Made::new(1024);
        made.names(r"\\MADE", &[(2, "System"), (6, "Odd"), (8, "Time"), (10, "Count")]);
        made.list(&[Entry { instance: None, ..Entry::block("System") }]);
        made.sample(1, &[Block::new(1, &[Object::alone(2, counters, values)]).record()]);
        made.file()
    };
    for (file, shown) in [
        (log(&[count, unknown], &[5, 9]), r"1: System\Count=5/0\Odd=9/0"),
        (log(&[unknown], &[9]), r"1: System\Odd=9/0"),
        (log(&[timer, count], &[7, 2]), r"1: System\Time=7/1000x2\Count=2/0"),
    ] {
        let found = read(&file);
        assert_eq!(found.samples, [shown]);
        let is_reported = |problem: &String| {
            problem.ends_with(
                "the type of a counter is none that Windows knows (found 0x22010100, expected a type of winperf.h)",
            )
        };
        assert_eq!(
            found.problems.iter().filter(|problem| is_reported(problem)).count(),
            found.problems.len()
        );
        assert_eq!(found.problems.len(), usize::from(shown.contains("Odd")));
        let (samples, _) = samples_and_problems_of(&file);
        assert_eq!(read(&write(&samples, options_of(&file))).samples, [shown]);
    }
    // 16 bytes end with the value: no multiplier.
    let file = log(&[count, timer], &[5, 7]);
    let shown = read(&file);
    assert_eq!(shown.samples, [r"1: System\Count=5/0\Time=7/0 PDH_CSTATUS_INVALID_DATA"]);
    assert_eq!(shown.problems.len(), 1, "{:?}", shown.problems);
}

#[test]
fn a_base_that_is_missing_is_missing_again() {
    let average = Counter { name_index: 6, counter_type: 0x4002_0500, bytes: 8 };
    let base = Counter { name_index: 7, counter_type: 0x4003_0402, bytes: 8 };
    let count = Counter { name_index: 8, ..COUNT };
    let mut made = Made::new(1024);
    made.names(r"\\MADE", &[(230, "Process"), (6, "Average"), (8, "Count")]);
    made.list(&[Entry::block("Process")]);
    for (second, with_base) in [(0, true), (1, false), (2, true)] {
        let rows = ["a", "b"].map(|name| {
            let values: &[i64] = if with_base { &[50, 5, 1] } else { &[50, 1] };
            Instance::new(name, values)
        });
        let counters: &[Counter] = if with_base { &[average, base, count] } else { &[average, count] };
        made.sample(second, &[Block::new(second, &[Object::new(230, counters, &rows)]).record()]);
    }
    let file = made.file();
    let with = r"Process(a)\Average=50/5\Count=1/0, Process(b)\Average=50/5\Count=1/0";
    let without = with.replace("50/5", "50/0 PDH_CSTATUS_INVALID_DATA");
    check(&file, &[&format!("0: {with}"), &format!("1: {without}"), &format!("2: {with}")], &[]);
    check_again(&file);
    // The definitions change and the description does not, so that pairs of other counters hold.
    let samples = samples_of(&file);
    assert!(std::sync::Arc::ptr_eq(&samples[0].groups[0].set, &samples[1].groups[0].set));

    // A value in error among good ones: its counter has no value in that sample, and no false one.
    let mut samples = samples_of(&file);
    samples[0].groups[0].values[0] = RawValue::error(Status::NO_DATA);
    samples[2].groups[0].values[3] = RawValue::error(Status::NO_DATA);
    let again = samples_of(&write(&samples, options_of(&file)));
    let shown: Vec<_> = again.iter().map(show).collect();
    assert_eq!(
        shown,
        [
            format!("0: {}", without.replacen("50/0", "0/0", 1)),
            format!("1: {without}"),
            format!("2: {}", with.replace("1/0", "0/0 PDH_CSTATUS_INVALID_DATA")),
        ]
    );
    let description = |sample: &Sample| std::sync::Arc::clone(&sample.groups[0].set);
    assert!(std::sync::Arc::ptr_eq(&description(&again[0]), &description(&again[2])));
}

#[test]
fn why_a_group_has_no_rows() {
    let mut made = Made::new(1024);
    made.names(r"\\MADE", &[(2, "System"), (230, "Process"), (6, "Time")]);
    made.list(&[
        Entry { instance: None, ..Entry::block("System") },
        Entry::block("Process"),
        Entry::multi("Disk", "Reads"),
        Entry::single("Memory", None, "Faults"),
    ]);
    for second in 0..7 {
        made.sample(
            second,
            &[
                Block::new(second, &[Object::alone(2, &[COUNT], &[second])]).record(),
                Block::new(second, &[Object::new(230, &[COUNT], &[Instance::new("a", &[second])])]).record(),
                multi(second, &[("0", second, second)]),
                made::single(second, second, second),
            ],
        );
    }
    let file = made.file();
    let mut samples = samples_of(&file);
    let statuses = [Status::ITEM_NOT_VALIDATED, Status::CSTATUS_INVALID_DATA, Status::NO_MACHINE];
    for (status, sample) in statuses.into_iter().zip(samples.iter_mut().skip(1).step_by(2)) {
        for group in &mut sample.groups {
            group.clear();
            group.status = status;
        }
    }
    // The first sample may be one of them too.
    for samples in [&samples[..], &samples[1..], &samples[5..]] {
        let again = samples_of(&write(samples, options_of(&file)));
        assert_eq!(again.len(), samples.len());
        for (again, sample) in again.iter().zip(samples) {
            for (again, group) in again.groups.iter().zip(&sample.groups) {
                assert_eq!(again.status, group.status, "{}", group.set.name);
                let is_error = group.status.is_error() && group.is_present();
                if group.set.extent == Extent::Value && is_error {
                    // What a single record says is a value, here one in error.
                    assert_eq!(again.values, [RawValue::error(group.status)]);
                } else {
                    assert_eq!(again.values, group.values, "{}", group.set.name);
                }
            }
        }
        let shown = |samples: &[Sample]| samples.iter().map(show).collect::<Vec<_>>();
        let once_more = samples_of(&write(&again, options_of(&file)));
        assert_eq!(shown(&once_more), shown(&again));
    }
}

#[test]
fn what_cannot_be_read_is_the_same_when_it_was_written_again() {
    let block = |n| Block::new(n, &[Object::alone(2, &[COUNT], &[n])]).record();
    let mut made = Made::new(1024);
    made.names(r"\\MADE", &[(2, "System"), (6, "Time")]);
    made.list(&[
        Entry { instance: None, ..Entry::block("System") },
        Entry::multi("Disk", "Reads"),
        Entry::single("Memory", None, "Faults"),
        Entry::single("Processor", Some("0"), "Interrupts"),
    ]);
    for n in 0..4 {
        let mut records = [block(n), multi(n, &[("0", n, n)]), made::single(n, n, n), made::single(n, n, n)];
        match n {
            1 => {
                made::put(&mut records[0], 8, &[0; 4]);
                made::put(&mut records[1], 0xC, &99u32.to_le_bytes());
                records[2] = made::record(1, &[0; 8]);
                records[3] = made::record(2, &[0; 40]);
            }
            3 => records = [0, 1, 2, 3].map(|kind| made::record(kind, &[])),
            _ => {}
        }
        made.sample(n, &records);
    }
    let file = made.file();
    let shown = read(&file);
    assert_eq!(shown.problems.len(), 8, "{:?}", shown.problems);
    let lost = "System without rows PDH_CSTATUS_INVALID_DATA; Disk without rows PDH_CSTATUS_INVALID_DATA; \
        Memory\\Faults=0/0 PDH_CSTATUS_INVALID_DATA; Processor(0)\\Interrupts=0/0 PDH_CSTATUS_INVALID_DATA";
    assert_eq!([&shown.samples[1], &shown.samples[3]], [&format!("1: {lost}"), &format!("3: {lost}")]);
    check_again(&file);
}

#[test]
fn a_machine_without_a_name_table_has_english_names() {
    let mut made = Made::new(1024);
    made.names(r"\\MADE", &[(2, "System"), (6, "Zeit")]);
    made.list(&[Entry::block("System"), Entry { machine: Some(r"\\REMOTE"), ..Entry::block("System") }]);
    let odd = Counter { name_index: 9000, ..COUNT };
    let block = Block::new(0, &[Object::new(2, &[COUNT, odd], &[Instance::new("a", &[1, 2])])]).record();
    made.sample(0, &[block.clone(), block]);
    check(&made.file(), &[r"0: System(a)\Zeit=1/0\9000=2/0; System(a)\% Processor Time=1/0\9000=2/0"], &[]);
}

#[test]
fn threads_and_their_processes() {
    let process = Object::new(230, &[COUNT], &[Instance::new("idle", &[1]), Instance::new("shell", &[2])]);
    let threads = [
        Instance::new("0", &[3]).of(230, 0),
        Instance::new("0", &[4]).of(230, 1),
        Instance::new("1", &[5]).of(230, 1),
        Instance::new("1", &[6]).of(230, 1),
        // Its parent is not there.
        Instance::new("0", &[7]).of(230, 9),
    ];
    let thread = Object::new(232, &[COUNT], &threads);
    let expected = r"Thread(idle/0)\Time=3/0, Thread(shell/0)\Time=4/0, Thread(shell/1)\Time=5/0, Thread(shell/1#1)\Time=6/0, Thread(0)\Time=7/0";
    let names = [(230, "Process"), (232, "Thread"), (6, "Time")];

    // In one block.
    let mut made = Made::new(4096);
    made.names(r"\\MADE", &names);
    made.list(&[Entry::block("Thread")]);
    made.sample(0, &[Block::new(0, &[process.clone(), thread.clone()]).record()]);
    check(&made.file(), &[&format!("0: {expected}")], &[]);

    // In another record, before or after.
    let process_text = r"Process(idle)\Time=1/0, Process(shell)\Time=2/0";
    for process_first in [true, false] {
        let mut made = Made::new(4096);
        made.names(r"\\MADE", &names);
        let mut entries = [Entry::block("Thread"), Entry::block("Process")];
        let mut records = [
            Block::new(0, std::slice::from_ref(&thread)).record(),
            Block::new(0, std::slice::from_ref(&process)).record(),
        ];
        let mut texts = [expected, process_text];
        if process_first {
            entries.reverse();
            records.reverse();
            texts.reverse();
        }
        made.list(&entries);
        made.sample(0, &records);
        check(&made.file(), &[&format!("0: {}", texts.join("; "))], &[]);
    }

    // A process that is renamed while the threads stay: the threads' labels follow.
    let mut renamed = process.clone();
    renamed.instances = Some(vec![Instance::new("idle", &[1]), Instance::new("other", &[2])]);
    let mut made = Made::new(4096);
    made.names(r"\\MADE", &names);
    made.list(&[Entry::block("Thread")]);
    made.sample(0, &[Block::new(0, &[process, thread.clone()]).record()]);
    made.sample(1, &[Block::new(1, &[renamed, thread]).record()]);
    let after = expected.replace("shell", "other");
    check(&made.file(), &[&format!("0: {expected}"), &format!("1: {after}")], &[]);
}

#[test]
fn instances_named_by_number_and_in_a_code_page() {
    let mut object =
        Object::new(8000, &[COUNT], &[Instance::numbered(42, &[1]), Instance::numbered(-1, &[2])]);
    let mut made = Made::new(4096);
    made.list(&[Entry::block("Object"), Entry::block("Object")]);
    let numbered = Block::new(0, &[object.clone()]).record();
    object.code_page = 1252;
    let mut umlaut = Instance::new("", &[3]);
    umlaut.name = b"Gr\xf6\xdfe\0".to_vec();
    object.instances = Some(vec![umlaut]);
    made.sample(0, &[numbered, Block::new(0, &[object.clone()]).record()]);
    object.code_page = 932;
    let mut kanji = Instance::new("", &[4]);
    kanji.name = b"\x93\xfa\x96\x7b\0".to_vec();
    object.instances = Some(vec![kanji]);
    made.sample(
        1,
        &[Block::new(1, &[Object::new(8000, &[COUNT], &[])]).record(), Block::new(1, &[object]).record()],
    );
    check(
        &made.file(),
        &[
            r"0: Object(42)\% Processor Time=1/0, Object()\% Processor Time=2/0; Object(Größe)\% Processor Time=3/0",
            r"1: Object without rows; Object(日本)\% Processor Time=4/0",
        ],
        &[],
    );
}

#[test]
fn german_names_have_their_english_ones_beside_them() {
    let mut made = Made::new(1024);
    made.names(r"\\MADE", &[(238, "Prozessor")]);
    made.names(r"\\MADE", &[(6, "Prozessorzeit (%)"), (6, "Prozessorzeit (%)")]);
    made.list(&[Entry::block("Prozessor")]);
    made.sample(0, &[Block::new(0, &[Object::new(238, &[COUNT], &[Instance::new("0", &[1])])]).record()]);
    let file = made.file();
    check(&file, &[r"0: Prozessor(0)\Prozessorzeit (%)=1/0"], &[]);
    let mut reader = BlgReader::new(Cursor::new(file)).expect("a log");
    let mut sample = Sample::default();
    assert!(reader.next(&mut sample).expect("readable"));
    let set = &sample.groups[0].set;
    assert_eq!(set.english_name.as_deref(), Some("Processor"));
    assert_eq!(set.counters[0].english_name.as_deref(), Some("% Processor Time"));
    assert_eq!(set.counters[0].indexes.map(|indexes| (indexes.name, indexes.help)), Some((6, 7)));
}

#[test]
fn an_object_without_instances_and_a_block_without_objects() {
    let mut made = Made::new(1024);
    made.names(r"\\MADE", &[(2, "System"), (6, "Time")]);
    made.list(&[Entry { instance: None, ..Entry::block("System") }]);
    let mut reads = |second, objects: &[Object]| made.sample(second, &[Block::new(second, objects).record()]);
    reads(0, &[Object::alone(2, &[COUNT], &[5])]);
    reads(1, &[]);
    reads(2, &[Object::alone(2, &[COUNT], &[6])]);
    // It has instances all of a sudden, and none again.
    reads(3, &[Object::new(2, &[COUNT], &[Instance::new("a", &[7])])]);
    reads(4, &[Object::new(2, &[COUNT], &[])]);
    reads(5, &[Object::alone(2, &[COUNT], &[8])]);
    check(
        &made.file(),
        &[
            r"0: System\Time=5/0",
            "1: System without rows PDH_CSTATUS_NO_OBJECT",
            r"2: System\Time=6/0",
            r"3: System(a)\Time=7/0",
            "4: System without rows",
            r"5: System\Time=8/0",
        ],
        &[],
    );
}

#[test]
fn a_damaged_block_leaves_nothing_behind_for_the_next() {
    let rows = [Instance::new("a", &[1]), Instance::new("b", &[2]), Instance::new("c", &[3])];
    let block = |second, rows: &[Instance]| Block::new(second, &[Object::new(230, &[COUNT], rows)]).record();
    let mut made = Made::new(1024);
    made.list(&[Entry::block("Process")]);
    made.sample(0, &[block(0, &rows)]);
    // The length of the third instance is wrong: the first two were read before it.
    let mut damaged = block(1, &rows);
    let third = damaged.len() - 24 - 8 - 16;
    let third =
        (third..damaged.len()).find(|&at| damaged[at..at + 4] == 32u32.to_le_bytes()).unwrap_or(third);
    made::put(&mut damaged, third, &9999u32.to_le_bytes());
    made.sample(1, &[damaged]);
    made.sample(2, &[block(2, &rows[..2])]);
    made.sample(3, &[block(3, &[])]);
    let shown = read(&made.file());
    assert_eq!(
        shown.samples,
        [
            r"0: Process(a)\% Processor Time=1/0, Process(b)\% Processor Time=2/0, Process(c)\% Processor Time=3/0",
            "1: Process without rows PDH_CSTATUS_INVALID_DATA",
            r"2: Process(a)\% Processor Time=1/0, Process(b)\% Processor Time=2/0",
            "3: Process without rows",
        ]
    );
    assert_eq!(shown.problems.len(), 1, "{:?}", shown.problems);
}

#[test]
fn a_name_table_may_come_late_or_be_cut() {
    let mut made = Made::new(1024);
    made.list(&[Entry::block("Process")]);
    let block =
        |second| Block::new(second, &[Object::new(230, &[COUNT], &[Instance::new("a", &[1])])]).record();
    made.sample(0, &[block(0)]);
    made.names(r"\\made", &[(6, "Time")]);
    made.place(&Event::new(NAME_TABLE, local(0), vec![0x5C]));
    made.sample(1, &[block(1)]);
    // The list stands before the table, so the first samples have the name that every machine gives to the index.
    check(&made.file(), &[r"0: Process(a)\% Processor Time=1/0", r"1: Process(a)\% Processor Time=1/0"], &[]);
}

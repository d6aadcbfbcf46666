//! Logs of block records in all forms that Windows writes or could write: each has exactly the expected samples and
//! problems.

use crate::fixture;

use std::io::Cursor;

use fixture::block::{Block, Counter, Instance, Object};
use fixture::rewritten::{options_of, samples_and_problems_of, samples_of, write};
use fixture::shown::{assert_rewritable, check, read, show};
use fixture::{Entry, Event, LogBuilder, NAME_TABLE, local, multi};
use tachograph_counters::sample::Sample;
use tachograph_counters::set::Extent;
use tachograph_counters::{RawValue, Status};
use tachograph_logs::LogReader;
use tachograph_logs::blg::BlgReader;

#[test]
fn equal_names_are_numbered_in_order() {
    let names = [("svchost", 1, 0), ("x", 2, 0), ("svchost", 3, 0), ("svchost", 4, 0)];
    let expected = [
        r"0: Process(svchost)\Time=1/0, Process(x)\Time=2/0, Process(svchost#1)\Time=3/0, Process(svchost#2)\Time=4/0",
    ];
    let mut builder = LogBuilder::new(1024);
    builder.list(&[Entry::multi("Process", "Time")]);
    builder.sample(0, &[multi(0, &names)]);
    check(&builder.file(), &expected, &[]);

    let mut builder = LogBuilder::new(1024);
    builder.names(r"\\MADE", &[(230, "Process"), (6, "Time")]);
    builder.list(&[Entry::block("Process")]);
    let rows = names.map(|(name, value, _)| Instance::new(name, &[value]));
    builder.sample(0, &[Block::new(0, &[Object::new(230, &[COUNT], &rows)]).record()]);
    check(&builder.file(), &expected, &[]);
}

const COUNT: Counter = Counter { name_index: 6, counter_type: 0x1_0100, bytes: 8 };

#[test]
fn second_values_come_from_the_source_of_their_type() {
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
    let mut object = Object::without_instances(8000, &counters, &values);
    (object.time, object.frequency) = (77, 10);
    let mut builder = LogBuilder::new(4096);
    builder.list(&[Entry { instance: None, ..Entry::block("Object") }]);
    builder.sample(1, &[Block::new(1, &[object]).record()]);
    let utc = local(480 * 60 + 1);
    let shown = read(&builder.file());
    assert_eq!(shown.problems, [""; 0]);
    assert_eq!(
        shown.samples,
        [format!(
            r"1: Object\9000=100/0\9002=101/1000\9004=102/{utc}\9006=103/77\9008=104/105\9012=106/0 PDH_CSTATUS_INVALID_DATA\9014=107/0\9016=108/1000x109\9020=110/111"
        )]
    );
}

#[test]
fn a_counter_that_is_not_a_number_does_not_affect_others() {
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
            let mut builder = LogBuilder::new(1024);
            builder.names(r"\\MADE", &names);
            builder.list(&[Entry { instance: None, ..Entry::block("System") }]);
            builder.sample(1, &[Block::new(1, &[Object::without_instances(2, &counters, &values)]).record()]);
            let texts = counters.map(|counter| match counter.name_index {
                6 => format!(r"\Odd={shown}"),
                _ => r"\Calls=1/1000".to_owned(),
            });
            check(&builder.file(), &[&format!("1: System{}", texts.concat())], &[]);
            assert_rewritable(&builder.file());
        }
    }
}

#[test]
fn only_types_that_use_a_multiplier_have_one() {
    // Two types have the multi bit: one that Windows does not define, and a timer whose multiplier has no definition and
    // therefore follows the value.
    let unknown = Counter { name_index: 6, counter_type: 0x2201_0100, bytes: 8 };
    let timer = Counter { name_index: 8, counter_type: 0x2241_0500, bytes: 8 };
    let count = Counter { name_index: 10, counter_type: 0x1_0000, bytes: 4 };
    let log = |counters: &[Counter], values: &[i64]| {
        let mut builder = LogBuilder::new(1024);
        builder.names(r"\\MADE", &[(2, "System"), (6, "Odd"), (8, "Time"), (10, "Count")]);
        builder.list(&[Entry { instance: None, ..Entry::block("System") }]);
        builder.sample(1, &[Block::new(1, &[Object::without_instances(2, counters, values)]).record()]);
        builder.file()
    };
    for (file, shown) in [
        (log(&[count, unknown], &[5, 9]), r"1: System\Count=5/0\Odd=9/0"),
        (log(&[unknown], &[9]), r"1: System\Odd=9/0"),
        (log(&[timer, count], &[7, 2]), r"1: System\Time=7/1000x2\Count=2/0"),
    ] {
        let found = read(&file);
        assert_eq!(found.samples, [shown]);
        let is_reported = |problem: &String| {
            problem.ends_with("unknown counter type (found 0x22010100, expected a type defined in winperf.h)")
        };
        assert_eq!(
            found.problems.iter().filter(|problem| is_reported(problem)).count(),
            found.problems.len()
        );
        assert_eq!(found.problems.len(), usize::from(shown.contains("Odd")));
        let (samples, _) = samples_and_problems_of(&file);
        assert_eq!(read(&write(&samples, options_of(&file))).samples, [shown]);
    }
    // The block of 16 bytes ends with the value, without a multiplier.
    let file = log(&[count, timer], &[5, 7]);
    let shown = read(&file);
    assert_eq!(shown.samples, [r"1: System\Count=5/0\Time=7/0 PDH_CSTATUS_INVALID_DATA"]);
    assert_eq!(shown.problems.len(), 1, "{:?}", shown.problems);
}

#[test]
fn a_missing_base_stays_missing_when_rewritten() {
    let average = Counter { name_index: 6, counter_type: 0x4002_0500, bytes: 8 };
    let base = Counter { name_index: 7, counter_type: 0x4003_0402, bytes: 8 };
    let count = Counter { name_index: 8, ..COUNT };
    let mut builder = LogBuilder::new(1024);
    builder.names(r"\\MADE", &[(230, "Process"), (6, "Average"), (8, "Count")]);
    builder.list(&[Entry::block("Process")]);
    for (second, with_base) in [(0, true), (1, false), (2, true)] {
        let rows = ["a", "b"].map(|name| {
            let values: &[i64] = if with_base { &[50, 5, 1] } else { &[50, 1] };
            Instance::new(name, values)
        });
        let counters: &[Counter] = if with_base { &[average, base, count] } else { &[average, count] };
        builder.sample(second, &[Block::new(second, &[Object::new(230, counters, &rows)]).record()]);
    }
    let file = builder.file();
    let with = r"Process(a)\Average=50/5\Count=1/0, Process(b)\Average=50/5\Count=1/0";
    let without = with.replace("50/5", "50/0 PDH_CSTATUS_INVALID_DATA");
    check(&file, &[&format!("0: {with}"), &format!("1: {without}"), &format!("2: {with}")], &[]);
    assert_rewritable(&file);
    // The definitions change but the description does not, so pairs of other counters stay valid.
    let samples = samples_of(&file);
    assert!(std::sync::Arc::ptr_eq(&samples[0].groups[0].set, &samples[1].groups[0].set));

    // If one value is an error, its counter has no value in this sample, rather than a wrong one.
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
fn the_status_is_the_reason_why_a_group_has_no_rows() {
    let mut builder = LogBuilder::new(1024);
    builder.names(r"\\MADE", &[(2, "System"), (230, "Process"), (6, "Time")]);
    builder.list(&[
        Entry { instance: None, ..Entry::block("System") },
        Entry::block("Process"),
        Entry::multi("Disk", "Reads"),
        Entry::single("Memory", None, "Faults"),
    ]);
    for second in 0..7 {
        builder.sample(
            second,
            &[
                Block::new(second, &[Object::without_instances(2, &[COUNT], &[second])]).record(),
                Block::new(second, &[Object::new(230, &[COUNT], &[Instance::new("a", &[second])])]).record(),
                multi(second, &[("0", second, second)]),
                fixture::single(second, second, second),
            ],
        );
    }
    let file = builder.file();
    let mut samples = samples_of(&file);
    let statuses = [Status::ITEM_NOT_VALIDATED, Status::CSTATUS_INVALID_DATA, Status::NO_MACHINE];
    for (status, sample) in statuses.into_iter().zip(samples.iter_mut().skip(1).step_by(2)) {
        for group in &mut sample.groups {
            group.clear();
            group.status = status;
        }
    }
    // The statuses are also kept if such a sample is the first of the log.
    for samples in [&samples[..], &samples[1..], &samples[5..]] {
        let again = samples_of(&write(samples, options_of(&file)));
        assert_eq!(again.len(), samples.len());
        for (again, sample) in again.iter().zip(samples) {
            for (again, group) in again.groups.iter().zip(&sample.groups) {
                assert_eq!(again.status, group.status, "{}", group.set.name);
                let is_error = group.status.is_error() && group.is_present();
                if group.set.extent == Extent::Row && is_error {
                    // A single record has a value, which is an error here.
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
fn unreadable_records_stay_the_same_when_rewritten() {
    let block = |n| Block::new(n, &[Object::without_instances(2, &[COUNT], &[n])]).record();
    let mut builder = LogBuilder::new(1024);
    builder.names(r"\\MADE", &[(2, "System"), (6, "Time")]);
    builder.list(&[
        Entry { instance: None, ..Entry::block("System") },
        Entry::multi("Disk", "Reads"),
        Entry::single("Memory", None, "Faults"),
        Entry::single("Processor", Some("0"), "Interrupts"),
    ]);
    for n in 0..4 {
        let mut records =
            [block(n), multi(n, &[("0", n, n)]), fixture::single(n, n, n), fixture::single(n, n, n)];
        match n {
            1 => {
                fixture::put(&mut records[0], 8, &[0; 4]);
                fixture::put(&mut records[1], 0xC, &99u32.to_le_bytes());
                records[2] = fixture::record(1, &[0; 8]);
                records[3] = fixture::record(2, &[0; 40]);
            }
            3 => records = [0, 1, 2, 3].map(|kind| fixture::record(kind, &[])),
            _ => {}
        }
        builder.sample(n, &records);
    }
    let file = builder.file();
    let shown = read(&file);
    assert_eq!(shown.problems.len(), 8, "{:?}", shown.problems);
    let lost = "System without rows PDH_CSTATUS_INVALID_DATA; Disk without rows PDH_CSTATUS_INVALID_DATA; \
        Memory\\Faults=0/0 PDH_CSTATUS_INVALID_DATA; Processor(0)\\Interrupts=0/0 PDH_CSTATUS_INVALID_DATA";
    assert_eq!([&shown.samples[1], &shown.samples[3]], [&format!("1: {lost}"), &format!("3: {lost}")]);
    assert_rewritable(&file);
}

#[test]
fn a_machine_without_a_name_table_has_english_names() {
    let mut builder = LogBuilder::new(1024);
    builder.names(r"\\MADE", &[(2, "System"), (6, "Zeit")]);
    builder.list(&[Entry::block("System"), Entry { machine: Some(r"\\REMOTE"), ..Entry::block("System") }]);
    let odd = Counter { name_index: 9000, ..COUNT };
    let block = Block::new(0, &[Object::new(2, &[COUNT, odd], &[Instance::new("a", &[1, 2])])]).record();
    builder.sample(0, &[block.clone(), block]);
    check(
        &builder.file(),
        &[r"0: System(a)\Zeit=1/0\9000=2/0; System(a)\% Processor Time=1/0\9000=2/0"],
        &[],
    );
}

#[test]
fn threads_have_their_processes_as_parents() {
    let process = Object::new(230, &[COUNT], &[Instance::new("idle", &[1]), Instance::new("shell", &[2])]);
    let threads = [
        Instance::new("0", &[3]).with_parent(230, 0),
        Instance::new("0", &[4]).with_parent(230, 1),
        Instance::new("1", &[5]).with_parent(230, 1),
        Instance::new("1", &[6]).with_parent(230, 1),
        // The parent is missing.
        Instance::new("0", &[7]).with_parent(230, 9),
    ];
    let thread = Object::new(232, &[COUNT], &threads);
    let expected = r"Thread(idle/0)\Time=3/0, Thread(shell/0)\Time=4/0, Thread(shell/1)\Time=5/0, Thread(shell/1#1)\Time=6/0, Thread(0)\Time=7/0";
    let names = [(230, "Process"), (232, "Thread"), (6, "Time")];

    // The parents are in the same block.
    let mut builder = LogBuilder::new(4096);
    builder.names(r"\\MADE", &names);
    builder.list(&[Entry::block("Thread")]);
    builder.sample(0, &[Block::new(0, &[process.clone(), thread.clone()]).record()]);
    check(&builder.file(), &[&format!("0: {expected}")], &[]);

    // The parents are in another record, before or after.
    let process_text = r"Process(idle)\Time=1/0, Process(shell)\Time=2/0";
    for process_first in [true, false] {
        let mut builder = LogBuilder::new(4096);
        builder.names(r"\\MADE", &names);
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
        builder.list(&entries);
        builder.sample(0, &records);
        check(&builder.file(), &[&format!("0: {}", texts.join("; "))], &[]);
    }

    // If a process is renamed, the labels of its threads change.
    let mut renamed = process.clone();
    renamed.instances = Some(vec![Instance::new("idle", &[1]), Instance::new("other", &[2])]);
    let mut builder = LogBuilder::new(4096);
    builder.names(r"\\MADE", &names);
    builder.list(&[Entry::block("Thread")]);
    builder.sample(0, &[Block::new(0, &[process, thread.clone()]).record()]);
    builder.sample(1, &[Block::new(1, &[renamed, thread]).record()]);
    let after = expected.replace("shell", "other");
    check(&builder.file(), &[&format!("0: {expected}"), &format!("1: {after}")], &[]);
}

#[test]
fn names_of_instances_can_be_ids_or_in_a_code_page() {
    let mut object =
        Object::new(8000, &[COUNT], &[Instance::numbered(42, &[1]), Instance::numbered(-1, &[2])]);
    let mut builder = LogBuilder::new(4096);
    builder.list(&[Entry::block("Object"), Entry::block("Object")]);
    let numbered = Block::new(0, &[object.clone()]).record();
    object.code_page = 1252;
    let mut umlaut = Instance::new("", &[3]);
    umlaut.name = b"Gr\xf6\xdfe\0".to_vec();
    object.instances = Some(vec![umlaut]);
    builder.sample(0, &[numbered, Block::new(0, &[object.clone()]).record()]);
    object.code_page = 932;
    let mut kanji = Instance::new("", &[4]);
    kanji.name = b"\x93\xfa\x96\x7b\0".to_vec();
    object.instances = Some(vec![kanji]);
    builder.sample(
        1,
        &[Block::new(1, &[Object::new(8000, &[COUNT], &[])]).record(), Block::new(1, &[object]).record()],
    );
    check(
        &builder.file(),
        &[
            r"0: Object(42)\% Processor Time=1/0, Object()\% Processor Time=2/0; Object(Größe)\% Processor Time=3/0",
            r"1: Object without rows; Object(日本)\% Processor Time=4/0",
        ],
        &[],
    );
}

#[test]
fn german_names_have_english_names() {
    let mut builder = LogBuilder::new(1024);
    builder.names(r"\\MADE", &[(238, "Prozessor")]);
    builder.names(r"\\MADE", &[(6, "Prozessorzeit (%)"), (6, "Prozessorzeit (%)")]);
    builder.list(&[Entry::block("Prozessor")]);
    builder.sample(0, &[Block::new(0, &[Object::new(238, &[COUNT], &[Instance::new("0", &[1])])]).record()]);
    let file = builder.file();
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
fn objects_without_instances_and_blocks_without_objects_are_read() {
    let mut builder = LogBuilder::new(1024);
    builder.names(r"\\MADE", &[(2, "System"), (6, "Time")]);
    builder.list(&[Entry { instance: None, ..Entry::block("System") }]);
    let mut reads =
        |second, objects: &[Object]| builder.sample(second, &[Block::new(second, objects).record()]);
    reads(0, &[Object::without_instances(2, &[COUNT], &[5])]);
    reads(1, &[]);
    reads(2, &[Object::without_instances(2, &[COUNT], &[6])]);
    // The object gets instances, and then has none again.
    reads(3, &[Object::new(2, &[COUNT], &[Instance::new("a", &[7])])]);
    reads(4, &[Object::new(2, &[COUNT], &[])]);
    reads(5, &[Object::without_instances(2, &[COUNT], &[8])]);
    check(
        &builder.file(),
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
fn a_damaged_block_does_not_affect_the_next() {
    let rows = [Instance::new("a", &[1]), Instance::new("b", &[2]), Instance::new("c", &[3])];
    let block = |second, rows: &[Instance]| Block::new(second, &[Object::new(230, &[COUNT], rows)]).record();
    let mut builder = LogBuilder::new(1024);
    builder.list(&[Entry::block("Process")]);
    builder.sample(0, &[block(0, &rows)]);
    // The length of the third instance is wrong. The first two are read before the reader notices.
    let mut damaged = block(1, &rows);
    let third = damaged.len() - 24 - 8 - 16;
    let third =
        (third..damaged.len()).find(|&at| damaged[at..at + 4] == 32u32.to_le_bytes()).unwrap_or(third);
    fixture::put(&mut damaged, third, &9999u32.to_le_bytes());
    builder.sample(1, &[damaged]);
    builder.sample(2, &[block(2, &rows[..2])]);
    builder.sample(3, &[block(3, &[])]);
    let shown = read(&builder.file());
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
fn a_name_table_can_be_late_or_truncated() {
    let mut builder = LogBuilder::new(1024);
    builder.list(&[Entry::block("Process")]);
    let block =
        |second| Block::new(second, &[Object::new(230, &[COUNT], &[Instance::new("a", &[1])])]).record();
    builder.sample(0, &[block(0)]);
    builder.names(r"\\made", &[(6, "Time")]);
    builder.push(&Event::new(NAME_TABLE, local(0), vec![0x5C]));
    builder.sample(1, &[block(1)]);
    // The columns were built from the first sample, before the table, so they keep the English name.
    check(
        &builder.file(),
        &[r"0: Process(a)\% Processor Time=1/0", r"1: Process(a)\% Processor Time=1/0"],
        &[],
    );
}

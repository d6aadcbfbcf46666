//! Logs of block records of every shape that Windows writes, or could: each yields exactly its samples, and problems where it
//! has some.

mod made;

use std::io::Cursor;

use made::block::{Block, Counter, Instance, Object};
use made::shown::{check, read};
use made::{Entry, Event, Made, NAME_TABLE, local, multi};
use tachograph_counters::sample::Sample;
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
            "1: System without rows PDH_CSTATUS_ITEM_NOT_VALIDATED",
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
    let block = Block::new(0, &[Object::new(230, &[COUNT], &[Instance::new("a", &[1])])]).record();
    made.sample(0, std::slice::from_ref(&block));
    made.names(r"\\made", &[(6, "Time")]);
    made.place(&Event::new(NAME_TABLE, local(0), vec![0x5C]));
    made.sample(1, &[block]);
    // The list stands before the table, so the first samples have the name that every machine gives to the index.
    check(&made.file(), &[r"0: Process(a)\% Processor Time=1/0", r"1: Process(a)\% Processor Time=1/0"], &[]);
}

//! Damaged logs of block records, one per invalid field; and logs truncated at every byte.

use crate::fixture;

use fixture::block::{Block, Counter, Instance, Object};
use fixture::shown::{assert_rewritable, check, read, try_read};
use fixture::{Entry, LogBuilder, multi, put, single};

/// Applies `damage` to the middle one of three blocks; returns its text, and the problems relative to the offset of
/// the record.
#[track_caller]
fn block(damage: impl Fn(&mut Vec<u8>)) -> (String, Vec<String>) {
    let count = Counter { name_index: 6, counter_type: 0x1_0100, bytes: 8 };
    let block = |n: i64| {
        Block::new(n, &[Object::new(230, &[count], &[Instance::new("a", &[n]), Instance::new("b", &[n])])])
            .record()
    };
    let mut builder = LogBuilder::new(4096);
    builder.names(r"\\MADE", &[(230, "Process"), (6, "Time")]);
    builder.list(&[Entry::block("Process"), Entry::single("System", None, "Calls")]);
    let mut record = 0;
    for n in 0..3 {
        let mut bytes = block(n);
        if n == 1 {
            let whole = bytes.clone();
            damage(&mut bytes);
            assert_ne!(bytes, whole, "the change has no effect");
        }
        let at = builder.sample(n, &[bytes, single(n, 1, 1)]);
        if n == 1 {
            record = at + 0x48 + 8;
        }
    }
    let shown = read(&builder.file());
    let whole = |n: i64| format!(r"{n}: Process(a)\Time={n}/0, Process(b)\Time={n}/0; System\Calls=1/1");
    assert_eq!([&shown.samples[0], &shown.samples[2]], [&whole(0), &whole(2)]);
    assert_eq!(shown.samples.len(), 3);
    let (middle, rest) = shown.samples[1].split_once("; ").expect("two groups");
    assert_eq!(rest, r"System\Calls=1/1");
    let problems = shown.problems.iter().map(|problem| {
        let (offset, text) =
            problem.strip_prefix("offset 0x").and_then(|rest| rest.split_once(": ")).expect("an offset");
        let offset = usize::from_str_radix(offset, 16).expect("a number") - record;
        format!("{offset:#x}: {text}")
    });
    (middle.to_owned(), problems.collect())
}

#[test]
fn damaged_block_records_are_reported() {
    // Offsets in the record: 8 the block, 0x70 the object, 0xB0 the definition, 0xD8 and 0x108 the instances.
    const OBJECT: usize = 8 + 0x68;
    const DEFINITION: usize = OBJECT + 0x40;
    const FIRST: usize = DEFINITION + 0x28;
    const SECOND: usize = FIRST + 0x30;
    for (at, value, problem) in [
        (8, 0u32, "0x8: a block record does not start with 'PERF' and byte order 1".to_owned()),
        (0x10, 0, "0x8: a block record does not start with 'PERF' and byte order 1".to_owned()),
        (8 + 0x14, 9999, "0x1c: a block's length is wrong (found 9999, expected at most LENGTH)".to_owned()),
        (8 + 0x18, 9999, "0x2717: an object of a block is cut off (found 0, expected at least 64 bytes)".to_owned()),
        (8 + 0x1C, 2, "END: an object of a block is cut off (found 0, expected at least 64 bytes)".to_owned()),
        (OBJECT, 63, "0x70: an object's length is wrong (found 63, expected 64 to OBJECT)".to_owned()),
        (OBJECT, 9999, "0x70: an object's length is wrong (found 9999, expected 64 to OBJECT)".to_owned()),
        (OBJECT + 4, 0x41, "DEFINITIONS (found 1 in bytes 64 to 65, expected 40 bytes each)".to_owned()),
        (OBJECT + 4, 9999, "DEFINITIONS (found 1 in bytes 64 to 9999, expected 40 bytes each)".to_owned()),
        (OBJECT + 8, 9999, "DEFINITIONS (found 1 in bytes 9999 to 104, expected 40 bytes each)".to_owned()),
        (OBJECT + 0x20, 2, "DEFINITIONS (found 2 in bytes 64 to 104, expected 40 bytes each)".to_owned()),
        (DEFINITION, 0x30, "DEFINITIONS (found 1 in bytes 64 to 104, expected 40 bytes each)".to_owned()),
        (FIRST, 23, "0xd8: an instance's length is wrong (found 23, expected 24 to 96)".to_owned()),
        (FIRST, 9999, "0xd8: an instance's length is wrong (found 9999, expected 24 to 96)".to_owned()),
        (FIRST + 0x10, 30, "0xe8: an instance's name is outside its definition (found 30 to 34, expected at most 32)".to_owned()),
        (FIRST + 0x10, u32::MAX, "0xe8: an instance's name is outside its definition (found 4294967295 to 4294967299, expected at most 32)".to_owned()),
        (FIRST + 0x14, 9, "0xe8: an instance's name is outside its definition (found 24 to 33, expected at most 32)".to_owned()),
        (FIRST + 32, 3, "ROW: the length of a counter block is wrong (found 3, expected 4 to REST)".to_owned()),
        (FIRST + 32, 9999, "ROW: the length of a counter block is wrong (found 9999, expected 4 to REST)".to_owned()),
        (FIRST + 32, 8, "0x100: an instance's length is wrong (found 0, expected 24 to 56)".to_owned()),
        (SECOND + 32, 8, "0x70: the length of a counter block of an object is wrong (found 8, expected 12, or 16 like the other blocks)".to_owned()),
        (OBJECT + 0x28, 3, "END: an instance is cut off (found 0, expected at least 24 bytes)".to_owned()),
    ] {
        let problem = problem
            .replace("DEFINITIONS", "0x70: the counter definitions of an object do not fit its header")
            .replace("LENGTH", "304")
            .replace("OBJECT", "200")
            .replace("END", "0x138")
            .replace("ROW", "0xf8")
            .replace("REST", "64");
        let (middle, problems) = block(|bytes| put(bytes, at, &value.to_le_bytes()));
        assert_eq!(problems, [problem], "{value} at {at:#x}");
        assert_eq!(middle, "1: Process without rows PDH_CSTATUS_INVALID_DATA", "{value} at {at:#x}");
    }
}

#[test]
fn a_counter_outside_its_counter_block_does_not_affect_others() {
    let counters = [
        Counter { name_index: 6, counter_type: 0x1_0100, bytes: 8 },
        Counter { name_index: 142, counter_type: 0x1_0000, bytes: 4 },
    ];
    let rows = [Instance::new("a", &[1, 2]), Instance::new("b", &[3, 4])];
    for (offset, end) in [(0x10u32, 0x18u64), (0x0D, 0x15), (u32::MAX, 0x1_0000_0007)] {
        let mut bytes = Block::new(0, &[Object::new(230, &counters, &rows)]).record();
        put(&mut bytes, 8 + 0x68 + 0x40 + 0x24, &offset.to_le_bytes());
        let mut builder = LogBuilder::new(1024);
        builder.names(r"\\MADE", &[(230, "Process"), (6, "Time"), (142, "Base")]);
        builder.list(&[Entry::block("Process")]);
        let at = builder.sample(0, &[bytes]) + 0x48 + 8 + 8 + 0x68;
        check(
            &builder.file(),
            &[
                r"0: Process(a)\Time=0/0 PDH_CSTATUS_INVALID_DATA\Base=2/0, Process(b)\Time=0/0 PDH_CSTATUS_INVALID_DATA\Base=4/0",
            ],
            &[&format!(
                "offset {at:#x}: a counter is outside the counter block of its object; it is skipped (found {end}, expected at most 16)"
            )],
        );
        assert_rewritable(&builder.file());
    }
}

#[test]
fn a_block_that_declares_millions_of_values_is_skipped() {
    // 1,000 definitions have the same offset: 100 bytes of each of 5,000 instances would become 5 million values.
    let counters: Vec<_> =
        (0..1000).map(|n| Counter { name_index: 2 * n, counter_type: 0x1_0000, bytes: 4 }).collect();
    let rows: Vec<_> = (0..5000).map(|n| Instance::new(&n.to_string(), &[])).collect();
    let mut bytes = Block::new(0, &[Object::new(230, &counters, &rows)]).record();
    let definitions = 8 + 0x68 + 0x40;
    for number in 0..1000 {
        put(&mut bytes, definitions + 0x28 * number + 0x24, &0u32.to_le_bytes());
    }
    // Counter blocks of 8 bytes have only their length.
    let mut builder = LogBuilder::new(0x10000);
    builder.list(&[Entry::block("Process")]);
    builder.sample(0, &[bytes]);
    let shown = read(&builder.file());
    assert_eq!(shown.samples, ["0: Process without rows PDH_CSTATUS_INVALID_DATA"]);
    assert_eq!(shown.problems.len(), 1);
    assert!(
        shown.problems[0]
            .ends_with(": a sample has too many values (found 5000000, expected at most 4194304 more)"),
        "{:?}",
        shown.problems
    );
}

#[test]
fn a_log_truncated_at_every_byte_is_readable() {
    for file in [small_multi_log(), small_block_log()] {
        let whole = read(&file);
        assert!(whole.samples.len() >= 5 && whole.problems.is_empty());
        let mut max = 0;
        for cut in 0..file.len() {
            let Ok(shown) = try_read(&file[..cut]) else { continue };
            assert!(whole.samples.starts_with(&shown.samples), "cut at {cut}");
            assert!(shown.samples.len() >= max, "cut at {cut}: fewer samples than from fewer bytes");
            max = shown.samples.len();
            let inside =
                cut % 1024 != 0 && file[cut..cut.next_multiple_of(1024)].iter().any(|&byte| byte != 0xFF);
            assert!(
                !inside || !shown.problems.is_empty(),
                "cut at {cut}: events are missing without a problem"
            );
        }
    }
}

fn small_multi_log() -> Vec<u8> {
    let mut builder = LogBuilder::new(1024);
    builder.list(&[Entry::single("System", None, "Calls"), Entry::multi("Disk", "Reads")]);
    for n in 0..6 {
        let rows = [("a", n, n), ("b", n, n), ("a", n, n)];
        builder.sample(n, &[single(n, n, n), multi(n, &rows[..2 + (n as usize) / 3])]);
    }
    builder.file()
}

fn small_block_log() -> Vec<u8> {
    let count = Counter { name_index: 6, counter_type: 0x1_0100, bytes: 8 };
    let mut builder = LogBuilder::new(1024);
    builder.names(r"\\MADE", &[(230, "Process"), (232, "Thread"), (6, "Time")]);
    builder.list(&[Entry::block("Thread"), Entry::block("Process")]);
    for n in 0..5 {
        let process = Object::new(230, &[count], &[Instance::new("a", &[n]), Instance::new("b", &[n])]);
        let threads =
            [Instance::new("0", &[n]).with_parent(230, 0), Instance::new("0", &[n]).with_parent(230, 1)];
        let thread = Object::new(232, &[count], &threads);
        let records = [Block::new(n, &[thread]).record(), Block::new(n, &[process]).record()];
        builder.parts(fixture::SAMPLE, n, &fixture::sample(&records), 400);
    }
    builder.file()
}

//! Damaged logs, one per invalid field: undamaged parts are read; the rest is reported with the offset, what was found and
//! what was expected.

use crate::fixture;

use fixture::shown::{Shown, read, try_read};
use fixture::{Entry, LogBuilder, multi, put, single};

/// The samples of the undamaged log.
const WHOLE: [&str; 3] = [
    r"0: System\Calls=1/10; Disk(a)\Reads=2/10, Disk(b)\Reads=3/10",
    r"1: System\Calls=4/20; Disk(a)\Reads=5/20, Disk(b)\Reads=6/20",
    r"2: System\Calls=7/30; Disk(a)\Reads=8/30, Disk(b)\Reads=9/30",
];

/// A log of a single record and a multi record per sample, with the offset of each event.
struct Log {
    file: Vec<u8>,
    list: usize,
    samples: [usize; 3],
}

fn log() -> Log {
    let mut builder = LogBuilder::new(2048);
    let list = builder.list(&[Entry::single("System", None, "Calls"), Entry::multi("Disk", "Reads")]);
    let samples = [0, 1, 2].map(|n: i64| {
        let second = 10 * (n + 1);
        let rows = [("a", 3 * n + 2, second), ("b", 3 * n + 3, second)];
        builder.sample(n, &[single(n, 3 * n + 1, second), multi(n, &rows)])
    });
    Log { file: builder.file(), list, samples }
}

/// The result of reading the log with these bytes at `at`.
#[track_caller]
fn with(at: usize, bytes: &[u8]) -> Shown {
    let mut file = log().file;
    assert_ne!(file[at..at + bytes.len()], *bytes, "the change has no effect");
    put(&mut file, at, bytes);
    read(&file)
}

#[track_caller]
fn expect(shown: &Shown, samples: &[&str], problems: &[String]) {
    assert_eq!(shown.problems, problems);
    assert_eq!(shown.samples, samples);
}

/// The offset of the single record of sample `n`; the multi record follows at + 48.
fn records(n: usize) -> usize {
    log().samples[n] + 0x48 + 8
}

#[test]
fn the_undamaged_log_has_no_problems() {
    expect(&read(&log().file), &WHOLE, &[]);
}

#[test]
fn a_damaged_buffer_header_is_reported() {
    let shown = with(2048, &1024u32.to_le_bytes());
    expect(
        &shown,
        &WHOLE,
        &["offset 0x800: the size in a buffer's header differs from the log's buffer size (found 1024, expected 2048)"
            .into()],
    );
    let fill = 0x48 + log().file[2048 + 0x48..].iter().rposition(|&byte| byte != 0xFF).expect("events") + 1;
    for (wrong, problems) in [
        (0u32, ["offset 0x830: the length of a buffer's events is wrong; all of the buffer is searched for events (found 0, expected 72 to 2048)".to_owned()]),
        (2049, ["offset 0x830: the length of a buffer's events is wrong; all of the buffer is searched for events (found 2049, expected 72 to 2048)".to_owned()]),
        (300, ["offset 0x92c: bytes after the end of a buffer's events: an unfinished sample, or the length of the events is wrong".to_owned()]),
        (72, ["offset 0x848: bytes after the end of a buffer's events: an unfinished sample, or the length of the events is wrong".to_owned()]),
    ] {
        expect(&with(2048 + 0x30, &wrong.to_le_bytes()), &WHOLE, &problems);
    }
    // A length that includes padding is not damage.
    expect(&with(2048 + 0x30, &(fill as u32 + 100).to_le_bytes()), &WHOLE, &[]);
}

#[test]
fn an_invalid_buffer_size_is_refused() {
    for wrong in [0u32, 512, 1000, 1025, 0x0200_0000, u32::MAX] {
        let mut file = log().file;
        put(&mut file, 0, &wrong.to_le_bytes());
        let error = try_read(&file).expect_err("an invalid buffer size");
        assert!(error.is_corrupt());
        assert_eq!(
            error.to_string(),
            format!(
                "damaged at offset 0x0: the buffer size is wrong (found {wrong}, expected a multiple of 512 from 1024 to 16777216)"
            )
        );
    }
    for length in [0, 71] {
        assert_eq!(
            try_read(&log().file[..length]).expect_err("too short").to_string(),
            format!("the file is too short for a log: {length} bytes, but a header has 72")
        );
    }
}

#[test]
fn a_damaged_header_event_is_reported() {
    for size in [0u16, 5000] {
        let problem = format!(
            "offset 0x4c: the header event's size is wrong (found {size}, expected a size that fits in the buffer)"
        );
        expect(&with(0x4C, &size.to_le_bytes()), &WHOLE, &[problem]);
    }
    let problem = "offset 0x48: the header event is cut off (found 100, expected more bytes)".to_owned();
    expect(&with(0x4C, &100u16.to_le_bytes()), &WHOLE, &[problem]);
    for size in [0u32, 5, 16, u32::MAX] {
        let problem = format!("offset 0x94: the pointer size is wrong (found {size}, expected 4 or 8)");
        expect(&with(0x48 + 0x20 + 0x2C, &size.to_le_bytes()), &WHOLE, &[problem]);
    }
}

#[test]
fn files_that_are_not_logs_are_refused() {
    let open = |at: usize, byte: u8| {
        let mut file = log().file;
        file[at] = byte;
        tachograph_logs::open_stream(std::io::Cursor::new(file)).err().map(|error| error.to_string())
    };
    // A file with a wrong header type or marker is not recognized as an ETW log, although the reader needs neither.
    for (at, byte) in [(0x4A, 3), (0x4A, 0), (0x4B, 0xC1)] {
        let error = open(at, byte).expect("refused");
        assert!(error.contains("it starts with the bytes 00 08 00 00"), "{error}");
        expect(&with(at, &[byte]), &WHOLE, &[]);
    }
}

#[test]
fn a_damaged_event_header_is_reported() {
    let [first, second, third] = log().samples;
    let size = (second - first) as u16;
    let left =
        2048 + 0x48 + log().file[2048 + 0x48..].iter().rposition(|&byte| byte != 0xFF).expect("events") + 1
            - second;
    // Sizes that exceed the buffer or are too small for a header.
    for wrong in [5000u16, 40] {
        let problem = format!(
            "offset {second:#x}: an event's size is wrong; the event is skipped (found {wrong}, expected 72 to {left})"
        );
        expect(&with(second, &wrong.to_le_bytes()), &[WHOLE[0], WHOLE[2]], &[problem]);
    }
    // A size that is plausible but wrong, because it contradicts the sample's header. The next event begins inside this one.
    for wrong in [size + 8, size + 80, 2 * size] {
        let problem = format!(
            "offset {:#x}: a sample's header is wrong; the sample is skipped (found 42 4c 03, kind 0, {} bytes, expected 42 4c 03, kind 0, {} bytes)",
            second + 0x48,
            size - 72,
            wrong - 72
        );
        expect(&with(second, &wrong.to_le_bytes()), &[WHOLE[0], WHOLE[2]], &[problem]);
    }
    let problem = format!(
        "offset {:#x}: a sample's header is wrong; the sample is skipped (found 42 4c 03, kind 0, {} bytes, expected 42 4c 03, kind 0, {} bytes)",
        second + 0x48,
        size - 72,
        size - 8 - 72
    );
    let shown = with(second, &(size - 8).to_le_bytes());
    assert_eq!(shown.samples, [WHOLE[0], WHOLE[2]]);
    assert_eq!(shown.problems[0], problem);
    assert!(shown.problems.len() <= 2, "{:?}", shown.problems);

    let lost =
        |what: String| [WHOLE[0], WHOLE[2]].map(str::to_owned).into_iter().chain([what]).collect::<Vec<_>>();
    for (at, byte, problem) in [
        (2, 0x15, "not an event header (found 15 c0, expected 0a c0 or 14 c0)"),
        (3, 0x40, "not an event header (found 14 40, expected 0a c0 or 14 c0)"),
    ] {
        let shown = with(second + at, &[byte]);
        let problem = format!("offset {:#x}: {problem}", second + 2);
        assert_eq!([shown.samples, shown.problems].concat(), lost(problem));
    }
    // With a wrong class GUID, the event is still recognized by its log GUID.
    let problem = format!(
        "offset {:#x}: an event's class GUID is wrong; it is read because its log GUID is right (found 933f3b00-943e-490d-9ced-3cbb14c14479, expected 933f3bb3-943e-490d-9ced-3cbb14c14479)",
        second + 0x18
    );
    expect(&with(second + 0x18, &[0]), &WHOLE, &[problem]);
    // If the log GUID differs too, it is an event of another trace.
    let mut file = log().file;
    put(&mut file, second + 0x18, &[0]);
    put(&mut file, second + 0x30, &[0]);
    expect(&read(&file), &[WHOLE[0], WHOLE[2]], &[]);
    let problem = format!(
        "offset {:#x}: unknown event type; the event is skipped (found 0x26, expected 0x20, 0x22, 0x23 or 0x24)",
        second + 0x48
    );
    expect(&with(second + 4, &[0x26]), &[WHOLE[0], WHOLE[2]], &[problem]);
    for (part, parts) in [(2u32, 1u32), (2, 3), (0, 1), (1, 0)] {
        let mut file = log().file;
        put(&mut file, second + 0x40, &part.to_le_bytes());
        put(&mut file, second + 0x44, &parts.to_le_bytes());
        let problem = format!(
            "offset {:#x}: a part of an event without its previous parts; it is skipped (found part {part} of {parts}, expected part 1)",
            second + 0x40
        );
        expect(&read(&file), &[WHOLE[0], WHOLE[2]], &[problem]);
    }
    let problem = format!(
        "offset {:#x}: the last parts of an event are missing; it is skipped (found 1, expected 2 parts)",
        second + 0x48
    );
    expect(&with(second + 0x44, &2u32.to_le_bytes()), &[WHOLE[0], WHOLE[2]], std::slice::from_ref(&problem));
    let last = format!(
        "offset {:#x}: the last parts of an event are missing; it is skipped (found 1, expected 2 parts)",
        third + 0x48
    );
    expect(&with(third + 0x44, &2u32.to_le_bytes()), &WHOLE[..2], &[last]);
}

#[test]
fn a_damaged_counter_list_is_reported_or_refused() {
    let list = log().list + 0x48;
    let refused = |at: usize, bytes: &[u8]| {
        let mut file = log().file;
        put(&mut file, at, bytes);
        let error = try_read(&file).expect_err("no list");
        assert!(error.is_corrupt());
        error.to_string()
    };
    assert_eq!(
        refused(list, &0x5FFu32.to_le_bytes()),
        format!(
            "damaged at offset {list:#x}: the counter list's signature is wrong (found 0x5ff, expected 0x6ff)"
        )
    );
    let left = log().samples[0] - list - 8;
    for size in [0u32, 51, 10_000] {
        assert_eq!(
            refused(list + 8, &size.to_le_bytes()),
            format!(
                "damaged at offset {:#x}: the size of a counter list entry is wrong (found {size}, expected 52 to {left})",
                list + 8
            )
        );
    }
    // The entry before the damaged one still describes the first record.
    let entry = u32::from_le_bytes(log().file[list + 8..list + 12].try_into().expect("4 bytes")) as usize;
    let second = list + 8 + entry;
    let firsts = WHOLE.map(|line| line.split("; ").next().expect("a group"));
    let problem = format!(
        "offset {second:#x}: the size of a counter list entry is wrong (found 9, expected 52 to {})",
        left - entry
    );
    expect(&with(second, &9u32.to_le_bytes()), &firsts, &[problem]);
    // A name outside its entry is ignored; the values are read.
    let shown = with(list + 8 + 0x20, &5000u32.to_le_bytes());
    assert_eq!(shown.samples, WHOLE.map(|line| line.replace("System", "")));
    // Without the list, the values have no description.
    let mut file = log().file;
    file[log().list + 4] = 0x22;
    let error = try_read(&file).expect_err("no list").to_string();
    assert_eq!(error, "damaged at offset 0x48: the log's counter list is missing or damaged");
}

#[test]
fn damaged_headers_of_samples_and_records_are_reported() {
    let envelope = records(1) - 8;
    for (at, bytes) in [(0, [0x43]), (3, [1]), (4, [1])] {
        let shown = with(envelope + at, &bytes);
        assert_eq!(shown.samples, [WHOLE[0], WHOLE[2]]);
        assert!(
            shown.problems[0].starts_with(&format!(
                "offset {envelope:#x}: a sample's header is wrong; the sample is skipped (found 4"
            )),
            "{:?}",
            shown.problems
        );
        assert!(
            shown.problems[0].ends_with(", expected 42 4c 03, kind 0, 144 bytes)"),
            "{:?}",
            shown.problems
        );
        assert_eq!(shown.problems.len(), 1);
    }
    let single = records(1);
    for (at, bytes, found) in [
        (0, vec![0x43], "43 4c 03, 48 bytes"),
        (4, 7u32.to_le_bytes().to_vec(), "42 4c 03, 7 bytes"),
        (4, 137u32.to_le_bytes().to_vec(), "42 4c 03, 137 bytes"),
    ] {
        let problem = format!(
            "offset {single:#x}: a record's header is wrong; the sample is skipped (found {found}, expected 42 4c 03, 8 to 136 bytes)"
        );
        expect(&with(single + at, &bytes), &[WHOLE[0], WHOLE[2]], &[problem]);
    }
    let problem = format!(
        "offset {:#x}: a record's kind differs from its counter list entry; it is skipped (found 2, expected 1)",
        single + 3
    );
    let shown = with(single + 3, &[2]);
    assert!(shown.samples[1].ends_with(WHOLE[1].split("; ").nth(1).expect("a group")), "{:?}", shown.samples);
    assert_eq!(shown.problems, [problem]);
}

#[test]
fn damaged_multi_records_are_reported() {
    let multi = records(1) + 48;
    let kept = |at: usize, bytes: &[u8], problem: String| {
        let lost = r"1: System\Calls=4/20; Disk without rows PDH_CSTATUS_INVALID_DATA";
        expect(&with(at, bytes), &[WHOLE[0], lost, WHOLE[2]], &[problem]);
    };
    for count in [4u32, u32::MAX] {
        kept(
            multi + 0x0C,
            &count.to_le_bytes(),
            format!(
                "offset {:#x}: the number of instances of a multi record is wrong (found {count}, expected at most 2)",
                multi + 0x0C
            ),
        );
    }
    let item = multi + 0x20 + 24;
    for (offset, found) in [(0u32, 0u64), (0x47, 0x47), (0x51, 0x51), (u32::MAX, 0xFFFF_FFFF)] {
        kept(
            item,
            &offset.to_le_bytes(),
            format!(
                "offset {item:#x}: an instance's name is outside its multi record (found {found}, expected 72 to 80)"
            ),
        );
    }
}

#[test]
fn every_broken_event_after_the_list_is_reported_once() {
    // Each is reported once, by its own offset, not as damage to the list.
    let log = log();
    let mut file = log.file.clone();
    for at in log.samples {
        put(&mut file, at, &u16::MAX.to_le_bytes());
    }
    let shown = read(&file);
    assert_eq!(shown.samples, [""; 0]);
    assert_eq!(shown.problems.len(), 3);
    for (problem, at) in shown.problems.iter().zip(log.samples) {
        assert!(
            problem.starts_with(&format!("offset {at:#x}: an event's size is wrong; the event is skipped")),
            "{problem}"
        );
    }
}

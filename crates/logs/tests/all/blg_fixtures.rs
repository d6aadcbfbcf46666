//! Logs in all forms that Windows writes or could write: each has exactly the expected samples and problems.

use crate::fixture;

use std::io::Cursor;

use fixture::shown::{check, read, show};
use fixture::{
    COUNTER_LIST, Entry, Event, LogBuilder, SAMPLE, local, multi, multi_with, single, single_with,
};
use tachograph_counters::sample::Sample;
use tachograph_logs::LogReader;
use tachograph_logs::blg::BlgReader;

/// One counter without instances, and one with instances.
fn two_singles() -> [Entry; 2] {
    [Entry::single("System", None, "Calls"), Entry::single("Disk", Some("0 C:"), "Reads")]
}

const TWO_SAMPLES: [&str; 2] =
    [r"0: System\Calls=1/10; Disk(0 C:)\Reads=2/10", r"1: System\Calls=3/20; Disk(0 C:)\Reads=4/20"];

fn with_two_samples(mut builder: LogBuilder) -> LogBuilder {
    builder.sample(0, &[single(0, 1, 10), single(0, 2, 10)]);
    builder.sample(1, &[single(1, 3, 20), single(1, 4, 20)]);
    builder
}

#[test]
fn single_records_are_read_with_every_layout_of_the_list() {
    for buffer_bytes in [1024, 1536, 0x10000, 0x20000] {
        for wide in [true, false] {
            for head_bytes in [0x34, 0x38, 0x3C] {
                let builder = LogBuilder::new(buffer_bytes);
                let mut builder = if wide { builder } else { builder.narrow() };
                builder.list(&two_singles().map(|entry| Entry { head_bytes, ..entry }));
                check(&with_two_samples(builder).file(), &TWO_SAMPLES, &[]);
            }
        }
    }
}

#[test]
fn the_header_has_zone_and_start() {
    for wide in [true, false] {
        let builder = LogBuilder::new(1024);
        let mut builder = if wide { builder } else { builder.narrow() };
        builder.list(&two_singles());
        let reader = BlgReader::new(Cursor::new(with_two_samples(builder).file())).expect("a log");
        assert_eq!(reader.header().file_name, "made.blg");
        assert_eq!(reader.header().logger_name, "07070707-0707-0707-0707-070707070707");
        let facts = reader.facts();
        assert_eq!(facts.boot_time.map(|time| time.0), Some(local(-3600)));
        assert_eq!(facts.zone.bias_minutes, 480);
        assert_eq!(facts.zone.standard_name, "@tzres.dll,-212");
        assert!(facts.zone.has_daylight_time());
    }
}

#[test]
fn the_list_describes_counters() {
    let mut builder = LogBuilder::new(1024);
    builder.list(&[Entry {
        counter_type: 0x4002_0500,
        time_base: 1234,
        scale: -2,
        parent: Some("shell"),
        index: 3,
        machine: Some(r"\\OTHER"),
        ..Entry::single("Thread", Some("0"), "Switches")
    }]);
    builder.sample(0, &[single(0, 1, 2)]);
    let mut reader = BlgReader::new(Cursor::new(builder.file())).expect("a log");
    let mut sample = Sample::default();
    assert!(reader.next(&mut sample).expect("readable"));
    let group = &sample.groups[0];
    let counter = &group.set.counters[0];
    assert_eq!((counter.counter_type.0, counter.time_base, counter.default_scale), (0x4002_0500, 1234, -2));
    assert_eq!(group.set.path(&group.instances[0], counter), r"\\OTHER\Thread(shell/0#3)\Switches");
    assert_eq!(group.instances[0].parent(), Some("shell"));
}

#[test]
fn instances_of_multi_records_can_change() {
    let mut builder = LogBuilder::new(1024);
    builder.list(&[Entry::multi("Processor", "Time"), Entry::single("System", None, "Calls")]);
    builder.sample(0, &[multi(0, &[("0", 1, 2), ("_Total", 3, 4)]), single(0, 9, 9)]);
    builder.sample(1, &[multi(1, &[("0", 5, 6), ("1", 7, 8), ("_Total", 9, 10)]), single(1, 9, 9)]);
    builder.sample(2, &[multi(2, &[]), single(2, 9, 9)]);
    builder.sample(3, &[multi(3, &[("_Total", 11, 12)]), single(3, 9, 9)]);
    check(
        &builder.file(),
        &[
            r"0: Processor(0)\Time=1/2, Processor(_Total)\Time=3/4; System\Calls=9/9",
            r"1: Processor(0)\Time=5/6, Processor(1)\Time=7/8, Processor(_Total)\Time=9/10; System\Calls=9/9",
            r"2: Processor without rows; System\Calls=9/9",
            r"3: Processor(_Total)\Time=11/12; System\Calls=9/9",
        ],
        &[],
    );
}

#[test]
fn records_have_statuses_and_times() {
    let mut builder = LogBuilder::new(1024);
    builder.list(&[Entry::single("System", None, "Calls"), Entry::multi("Disk", "Reads")]);
    builder.sample(0, &[single_with(0x8000_07D0, 0, 0, 0), multi(0, &[("a", 1, 2)])]);
    // This machine was queried 50 s before the sample's time.
    builder.sample(1, &[single(-49, 1, 2), multi_with(0xC000_0BBA, 1, &[("a", 1, 2)])]);
    let file = builder.file();
    check(
        &file,
        &[
            r"0: System\Calls=0/0 PDH_CSTATUS_NO_MACHINE; Disk(a)\Reads=1/2",
            r"1: System\Calls=1/2; Disk(a)\Reads=1/2 PDH_CSTATUS_INVALID_DATA",
        ],
        &[],
    );
    let mut reader = BlgReader::new(Cursor::new(file)).expect("a log");
    let mut sample = Sample::default();
    while reader.next(&mut sample).expect("readable") {}
    assert_eq!(sample.groups[0].read_at.0, local(-49));
}

#[test]
fn each_group_has_the_machine_of_its_entry() {
    let mut builder = LogBuilder::new(1024);
    let entries = [r"\\A", r"\\B"]
        .map(|machine| Entry { machine: Some(machine), ..Entry::single("System", None, "Calls") });
    builder.list(&entries);
    builder.sample(0, &[single(0, 1, 10), single(0, 2, 10)]);
    let mut reader = BlgReader::new(Cursor::new(builder.file())).expect("a log");
    let mut sample = Sample::default();
    assert!(reader.next(&mut sample).expect("readable"));
    assert_eq!(sample.groups.iter().map(|group| &*group.set.machine).collect::<Vec<_>>(), ["A", "B"]);
}

#[test]
fn a_slash_separates_the_parent_only_in_sets_with_parents() {
    let mut builder = LogBuilder::new(1024);
    builder.list(&[Entry::multi("Thread", "Time"), Entry::multi("Disk", "Reads")]);
    builder.sample(0, &[multi(0, &[("a/0", 1, 2), ("a/0", 3, 4)]), multi(0, &[("sd/a", 5, 6)])]);
    let file = builder.file();
    check(&file, &[r"0: Thread(a/0)\Time=1/2, Thread(a/0#1)\Time=3/4; Disk(sd/a)\Reads=5/6"], &[]);
    let mut reader = BlgReader::new(Cursor::new(file)).expect("a log");
    let mut sample = Sample::default();
    assert!(reader.next(&mut sample).expect("readable"));
    let parents = [0, 1].map(|group| sample.groups[group].instances[0].parent().map(str::to_owned));
    assert_eq!(parents, [Some("a".to_owned()), None]);
}

#[test]
fn a_circular_log_is_read_in_chronological_order() {
    let mut builder = LogBuilder::new(1024);
    builder.log_file_mode = 2;
    for second in [6, 7] {
        builder.sample(second, &[single(second, second, 0), single(second, 0, 0)]);
    }
    builder.next_buffer();
    for second in [2, 3] {
        builder.sample(second, &[single(second, second, 0), single(second, 0, 0)]);
    }
    builder.next_buffer();
    // The counter list is neither the first event in the file nor the first in time.
    builder.list(&two_singles());
    builder.sample(4, &[single(4, 4, 0), single(4, 0, 0)]);
    builder.sequence = vec![12, 10, 11];
    let expected: Vec<_> =
        [2, 3, 4, 6, 7].iter().map(|n| format!(r"{n}: System\Calls={n}/0; Disk(0 C:)\Reads=0/0")).collect();
    let expected: Vec<_> = expected.iter().map(String::as_str).collect();
    let file = builder.file();
    check(&file, &expected, &[]);
    // The file is truncated inside the header of its last buffer, so the buffer is lost, which is reported.
    let shown = fixture::shown::try_read(&file[..3 * 1024 + 40]);
    assert!(shown.is_err_and(|error| error.is_corrupt()), "the only counter list is lost");
    let mut again = builder.clone();
    again.buffers.swap(0, 2);
    again.sequence.swap(0, 2);
    let shown = read(&again.file()[..3 * 1024 + 40]);
    assert_eq!(shown.samples, expected[..3]);
    assert_eq!(
        shown.problems,
        ["offset 0xc00: the file ends inside a buffer's header (found 40, expected 72 bytes)"]
    );
    // Windows may count every buffer that was ever written, including overwritten ones.
    let mut wrapped = builder.file();
    let at = tachograph_logs::blg::raw::header::BUFFERS_WRITTEN_AT as usize;
    wrapped[at..at + 4].copy_from_slice(&5000_u32.to_le_bytes());
    check(&wrapped, &expected, &[]);
}

#[test]
fn an_appended_list_applies_to_later_samples() {
    let mut builder = LogBuilder::new(1024);
    builder.list(&two_singles());
    let mut builder = with_two_samples(builder);
    builder.next_buffer();
    builder.list(&[Entry::single("Memory", None, "Pages")]);
    builder.sample(2, &[single(2, 5, 6)]);
    builder.list(&[Entry::single("Memory", None, "Pages")]);
    builder.sample(3, &[single(3, 7, 8)]);
    let file = builder.file();
    check(&file, &[TWO_SAMPLES[0], TWO_SAMPLES[1], r"2: Memory\Pages=5/6", r"3: Memory\Pages=7/8"], &[]);
    let mut reader = BlgReader::new(Cursor::new(file)).expect("a log");
    let mut sample = Sample::default();
    let mut logs = Vec::new();
    while reader.next(&mut sample).expect("readable") {
        logs.push(sample.log);
    }
    assert_eq!(logs, [0, 0, 1, 1], "a repeated list does not begin a new log");
}

#[test]
fn empty_samples_are_skipped() {
    let mut builder = LogBuilder::new(1024);
    builder.list(&two_singles());
    let at = builder.sample(0, &[]) + 0x48;
    let mut builder = with_two_samples(builder);
    // An empty payload.
    let empty = builder.push(&Event::new(SAMPLE, local(2), Vec::new())) + 0x48;
    check(
        &builder.file(),
        &TWO_SAMPLES,
        &[
            &format!(
                "offset {:#x}: a sample has fewer records than the counter list; it is skipped (found 0, expected at least 8 bytes)",
                at + 8
            ),
            &format!(
                "offset {empty:#x}: a sample is cut off; it is skipped (found 0, expected at least 8 bytes)"
            ),
        ],
    );
}

#[test]
fn records_of_a_wrong_kind_are_skipped_and_extra_ones_reported() {
    let mut builder = LogBuilder::new(1024);
    builder.list(&two_singles());
    let wrong = builder.sample(0, &[multi(0, &[("a", 1, 2)]), single(0, 2, 10)]) + 0x48 + 8;
    let unknown = builder.sample(1, &[fixture::record(7, &[0; 40]), single(1, 2, 10)]) + 0x48 + 8;
    let more = builder.sample(2, &[single(2, 1, 10), single(2, 2, 10), single(2, 3, 10)]) + 0x48 + 8 + 96;
    let shown = read(&builder.file());
    let first = shown.samples.iter().map(|line| line.split("; ").next().unwrap_or_default());
    assert!(first.take(2).all(|group| group.contains("PDH_CSTATUS_INVALID_DATA")), "{:?}", shown.samples);
    assert!(
        shown.samples.iter().all(|line| line.contains(r"; Disk(0 C:)\Reads=2/10")),
        "{:?}",
        shown.samples
    );
    assert_eq!(
        shown.problems,
        [
            format!(
                "offset {:#x}: a record's kind differs from its counter list entry; it is skipped (found 2, expected 1)",
                wrong + 3
            ),
            format!(
                "offset {:#x}: a record's kind differs from its counter list entry; it is skipped (found 7, expected 1)",
                unknown + 3
            ),
            format!("offset {more:#x}: bytes after the last record of a sample (found 48, expected 0 bytes)"),
        ]
    );
}

#[test]
fn unknown_events_and_events_of_other_classes_are_skipped() {
    let mut builder = LogBuilder::new(1024);
    let mut other = Event::new(SAMPLE, local(0), vec![1; 20]);
    (other.class, other.log_guid) = ([9; 16], [9; 16]);
    builder.push(&other);
    let unknown = builder.push(&Event::new(0x21, local(0), vec![1; 20])) + 0x48;
    builder.list(&two_singles());
    builder.push(&other);
    let builder = with_two_samples(builder);
    check(
        &builder.file(),
        &TWO_SAMPLES,
        &[&format!(
            "offset {unknown:#x}: unknown event type; the event is skipped (found 0x21, expected 0x20, 0x22, 0x23 or 0x24)"
        )],
    );
    // An event trace without performance counters.
    for header_type in [0x14, 0x0A, 0x13, 0x11, 0x02] {
        other.header_type = header_type;
        let mut trace = LogBuilder::new(1024);
        trace.push(&other);
        let error = fixture::shown::try_read(&trace.file()).expect_err("no log");
        assert!(error.is_corrupt());
        assert_eq!(
            error.to_string(),
            "this is an event trace without performance counters, not a counter log",
            "{header_type:#x}"
        );
    }
}

#[test]
fn buffers_of_zeros_at_the_end_are_reported() {
    // The incomplete buffer at the end is not reported, because a recorder may just have started it.
    let mut builder = LogBuilder::new(1024);
    builder.list(&two_singles());
    let mut file = with_two_samples(builder).file();
    let end = file.len();
    file.resize(end + 2048 + 100, 0);
    check(
        &file,
        &TWO_SAMPLES,
        &[
            &format!("offset {end:#x}: the buffer was never written: all bytes are zero"),
            &format!("offset {:#x}: the buffer was never written: all bytes are zero", end + 1024),
        ],
    );
}

#[test]
fn complete_samples_of_a_truncated_file_are_read() {
    let mut builder = LogBuilder::new(1024);
    builder.list(&two_singles());
    let first = builder.sample(0, &[single(0, 1, 10), single(0, 2, 10)]);
    let second = builder.sample(1, &[single(1, 3, 20), single(1, 4, 20)]);
    let (size, fill) = (second - first, second + second - first - 1024);
    let file = builder.file();
    check(
        &file[..second + 80],
        &TWO_SAMPLES[..1],
        &[
            &format!(
                "offset {:#x}: the file ends inside a buffer (found {}, expected {fill} bytes)",
                second + 80,
                second + 80 - 1024
            ),
            &format!(
                "offset {second:#x}: an event's size is wrong; the event is skipped (found {size}, expected 72 to 80)"
            ),
            &format!(
                "offset {0:#x}: the file is cut short: the header counts more buffers (found {0} bytes, expected 2048 bytes: 2 buffers)",
                second + 80
            ),
        ],
    );
}

#[test]
fn a_baseline_is_marked_only_in_64_bit_events() {
    let mut builder = LogBuilder::new(1024);
    builder.list(&two_singles());
    let mut event = Event::new(SAMPLE, local(0), fixture::sample(&[single(0, 1, 10), single(0, 2, 10)]));
    event.context = 0x424C_0001;
    builder.push(&event);
    // In 32-bit logs, this field is a time.
    event.header_type = 0x0A;
    builder.push(&event);
    let baseline = TWO_SAMPLES[0].replace("0:", "0 baseline:");
    check(&builder.file(), &[&baseline, TWO_SAMPLES[0]], &[]);
}

#[test]
fn samples_in_the_repeated_hour_have_ascending_utc() {
    // 2013-11-03 01:00 local, 257 days after 2013-02-19; daylight saving time ends at 02:00.
    let one_o_clock = 257 * 86_400 - (18 * 60 + 50) * 60 + 3600;
    let mut builder = LogBuilder::new(1024);
    builder.list(&[Entry::single("System", None, "Calls")]);
    for second in [0, 1800, 3599, 0, 1800, 3600] {
        builder.sample(one_o_clock + second, &[single(0, 1, 10)]);
    }
    let mut reader = BlgReader::new(Cursor::new(builder.file())).expect("a log");
    let mut sample = Sample::default();
    let mut times = Vec::new();
    while reader.next(&mut sample).expect("readable") {
        times.push(sample.at.rfc3339());
    }
    assert_eq!(
        times,
        [
            "2013-11-03T01:00:00.000-07:00",
            "2013-11-03T01:30:00.000-07:00",
            "2013-11-03T01:59:59.000-07:00",
            "2013-11-03T01:00:00.000-08:00",
            "2013-11-03T01:30:00.000-08:00",
            "2013-11-03T02:00:00.000-08:00",
        ]
    );
    assert_eq!(show(&sample).rsplit_once(": ").map(|(_, values)| values), Some(r"System\Calls=1/10"));
}

/// 01:30 of the repeated hour, in seconds after `fixture::BASE`.
const TWICE: i64 = 257 * 86_400 - (18 * 60 + 50) * 60 + 5400;

#[test]
fn utc_among_the_values_decides_in_the_repeated_hour() {
    use fixture::block::{Block, Counter, Object};
    let timer = |entry: Entry| Entry { counter_type: 0x2051_0500, time_base: 10_000_000, ..entry };
    let count = Counter { name_index: 6, counter_type: 0x1_0100, bytes: 8 };
    let kinds = [
        timer(Entry::single("Processor", Some("0"), "Time")),
        timer(Entry::multi("Processor", "Time")),
        Entry::block("System"),
        // Neither the second value of a precision timer nor a tick is a time.
        Entry { counter_type: 0x2057_0500, ..Entry::single("Processor", Some("0"), "Time") },
        Entry::single("Processor", Some("0"), "Time"),
    ];
    for (number, entry) in kinds.into_iter().enumerate() {
        // The bias of the values' UTC, the minutes by which their clock is off, and the expected UTC offset.
        for (bias, off, offset) in
            [(480, 0, "-08"), (420, 0, "-07"), (480, 9, "-08"), (420, -9, "-07"), (480, 11, "-07")]
        {
            let utc = local(TWICE + (bias + off) * 60);
            let record = match number {
                1 => multi(TWICE, &[("0", 1, utc)]),
                2 => {
                    let mut record =
                        Block::new(TWICE, &[Object::without_instances(2, &[count], &[1])]).record();
                    fixture::put(&mut record, 8 + 0x48, &utc.to_le_bytes());
                    record
                }
                _ => single(TWICE, 1, utc),
            };
            let mut builder = LogBuilder::new(1024);
            builder.list(std::slice::from_ref(&entry));
            builder.sample(TWICE, &[record]);
            let (samples, problems) = fixture::rewritten::samples_and_problems_of(&builder.file());
            assert_eq!(problems.len(), usize::from(number < 3 && off != 0), "{problems:?}");
            let offset = if number < 3 { offset } else { "-07" };
            assert_eq!(
                samples[0].at.rfc3339(),
                format!("2013-11-03T01:30:00.000{offset}:00"),
                "entry {number}, bias {bias}, off by {off} minutes"
            );
        }
    }
}

#[test]
fn a_log_without_a_counter_list_is_refused() {
    let text = |builder: &LogBuilder| {
        fixture::shown::try_read(&builder.file()).expect_err("no counters").to_string()
    };
    let mut builder = LogBuilder::new(1024);
    assert_eq!(text(&builder), "the log has no counter list yet: its recording has just begun");
    builder.buffers.clear();
    assert_eq!(text(&builder), "the log has no counter list yet: its recording has just begun");
}

#[test]
fn entries_beyond_the_maximum_are_skipped() {
    const MAX: usize = 1 << 18;
    let entry = Entry { machine: None, object: None, counter: None, ..Entry::single("", None, "") }.bytes();
    let list = |count: usize| [&fixture::list(&[])[..], &entry.repeat(count)].concat();
    for (count, is_too_many) in [(MAX, false), (MAX + 2, true)] {
        let mut builder = LogBuilder::new(0x10000);
        let at = builder.event(COUNTER_LIST, 0, &list(count));
        builder.sample(0, &vec![single(0, 1, 1); count]);
        let mut reader = BlgReader::new(Cursor::new(builder.file())).expect("a log");
        let mut sample = Sample::default();
        assert!(reader.next(&mut sample).expect("readable"));
        assert_eq!(sample.groups.len(), MAX);
        let problems: Vec<_> = reader.problems().list().iter().map(ToString::to_string).collect();
        assert_eq!(problems.len(), usize::from(is_too_many), "{problems:?}");
        if let Some(problem) = problems.first() {
            assert!(at > 0 && problem.ends_with(&format!(
                "the counter list has more than 262144 entries; the others are skipped (found {} bytes more, expected nothing)",
                2 * entry.len()
            )), "{problem}");
        }
    }
}

#[test]
fn parts_can_span_buffers() {
    let items: Vec<_> = (0..200).map(|number| (format!("i{number}"), number, 1)).collect();
    let items: Vec<_> = items.iter().map(|(name, a, b)| (name.as_str(), *a, *b)).collect();
    let mut whole = LogBuilder::new(0x10000);
    whole.list(&[Entry::multi("Set", "Counter")]);
    whole.sample(0, &[multi(0, &items)]);
    whole.sample(1, &[multi(1, &items[1..])]);
    let expected = read(&whole.file());
    assert_eq!(expected.samples.len(), 2);
    for part_bytes in [1, 7, 100, 501, 880] {
        let mut cut = LogBuilder::new(1024);
        for (kind, second, payload) in [
            (COUNTER_LIST, 0, fixture::list(&[Entry::multi("Set", "Counter")])),
            (SAMPLE, 0, fixture::sample(&[multi(0, &items)])),
            (SAMPLE, 1, fixture::sample(&[multi(1, &items[1..])])),
        ] {
            cut.parts(kind, second, &payload, part_bytes);
        }
        assert_eq!(read(&cut.file()), expected, "parts of {part_bytes}");
    }
}

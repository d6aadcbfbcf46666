//! Reads the writer's output, and damaged files: truncated at every byte, with every bit flipped, with every field invalid.

use std::io::{self, Cursor, Read};

use crate::fixture;
use proptest::prelude::*;
use tachograph_cpi::trace::{
    Decimal, DetailedScaled, DetailedValues, Hook, HookKind, Kinds, Label, Problem, Processors, Summary,
    SummaryScaled, SummaryValues, System, Thread, Trace, TraceReader,
};
use tachograph_cpi::{Counts, CpiData, Measured, Mode, ProcessorData, ProcessorState};

type Item = Result<Hook, Problem>;

/// All items of a file. Panics if the reader does not end.
fn read(bytes: &[u8]) -> Vec<Item> {
    let items: Vec<_> = TraceReader::new(bytes).take(bytes.len() / 16 + 3).collect();
    assert!(items.len() < bytes.len() / 16 + 3, "the reader does not end");
    items
}

fn hooks(bytes: &[u8]) -> Vec<Hook> {
    read(bytes).into_iter().map(|item| item.unwrap_or_else(|problem| panic!("{problem}"))).collect()
}

/// The problems of a file as a user sees them, and the number of hooks.
fn problems(bytes: &[u8]) -> (Vec<String>, usize) {
    let (hooks, problems): (Vec<_>, Vec<_>) = read(bytes).into_iter().partition(Result::is_ok);
    (
        problems.iter().map(|problem| problem.as_ref().expect_err("a problem").to_string()).collect(),
        hooks.len(),
    )
}

/// A ratio with four decimal places.
fn ratio(numerator: u64, denominator: u64) -> Decimal {
    Decimal::of((denominator > 0).then(|| numerator as f64 / denominator as f64))
}

fn summary_values(measured: &Measured, is_scaled: bool) -> SummaryValues {
    SummaryValues {
        raw_cpi: ratio(measured.cycles, measured.instructions),
        scaled: is_scaled.then(|| SummaryScaled {
            cpi: Decimal::of(measured.cpi_scaled()),
            busy_percent: Decimal::of(measured.busy_percent()),
        }),
    }
}

fn detailed_values(measured: &Measured, is_scaled: bool) -> DetailedValues {
    DetailedValues {
        instructions: measured.instructions,
        cycles: measured.cycles,
        cpi: ratio(measured.cycles, measured.instructions),
        scaled: is_scaled.then(|| DetailedScaled {
            cycles: measured.cycles_scaled,
            cpi: Decimal::of(measured.cpi_scaled()),
            busy_percent: Decimal::of(measured.busy_percent()),
        }),
    }
}

/// The expected result of reading a measurement.
fn expected(data: &CpiData, flags: Mode, label: Option<&str>) -> Vec<HookKind> {
    let CpiData { elapsed_cycles, is_scaled, .. } = *data;
    let label = label.map(|text| Label { elapsed_cycles, bytes: text.as_bytes().into() });
    let raw = !data.processors.is_empty();
    let kinds = Kinds { raw, scaled: is_scaled, thread: false };
    let measured = || data.processors.iter().map(|processor| &processor.measured);
    let mut expected = Vec::new();
    expected.extend(label.clone().map(HookKind::LabelStart));
    if flags.has(Mode::TRACE_SUMMARY) {
        expected.push(HookKind::Summary(Summary {
            kinds: Kinds { thread: data.thread.is_some(), ..kinds },
            elapsed_cycles,
            processors: measured().map(|measured| summary_values(measured, is_scaled)).collect(),
            system: summary_values(&data.system, is_scaled),
            thread_cpi: data.thread.map(|thread| ratio(thread.cycles, thread.instructions)),
        }));
    }
    if flags.has(Mode::TRACE_DETAILED) {
        if raw {
            let values = detailed_values(&data.system, is_scaled);
            expected.push(HookKind::System(System { kinds, elapsed_cycles, values }));
            let processors = measured().map(|measured| detailed_values(measured, is_scaled)).collect();
            expected.push(HookKind::Processors(Processors { kinds, elapsed_cycles, processors }));
        }
        if let Some(Counts { instructions, cycles, .. }) = data.thread {
            let cpi = ratio(cycles, instructions);
            let tid = data.tid;
            expected.push(HookKind::Thread(Thread { tid, elapsed_cycles, instructions, cycles, cpi }));
        }
    }
    expected.extend(label.map(HookKind::LabelEnd));
    expected
}

fn counts() -> impl Strategy<Value = u64> {
    prop_oneof![0..10u64, 0..1_000_000_000u64, any::<u64>()]
}

prop_compose! {
    fn measured()(
        (instructions, cycles, cycles_scaled) in (counts(), counts(), counts()),
        (busy_ticks, elapsed_ticks) in (counts(), counts()),
    ) -> Measured {
        Measured { instructions, cycles, cycles_scaled, busy_ticks, elapsed_ticks, ..Measured::default() }
    }
}

prop_compose! {
    fn data()(
        (elapsed_cycles, ended_at, tid) in (any::<u64>(), any::<u64>(), any::<u32>()),
        processors in prop::collection::vec(measured(), 0..9),
        (system, is_scaled) in (measured(), any::<bool>()),
        thread in prop::option::of((counts(), counts())),
    ) -> CpiData {
        let state = ProcessorState::Measured;
        let thread =
            thread.map(|(instructions, cycles)| Counts { instructions, cycles, ..Counts::default() });
        CpiData {
            elapsed_cycles,
            ended_at,
            processors: processors.into_iter().map(|measured| ProcessorData { state, measured }).collect(),
            system,
            is_scaled,
            tid,
            thread,
            ..CpiData::default()
        }
    }
}

proptest! {
    /// Everything written is read: every measurement, in order, with its time and minor code.
    #[test]
    fn traces_round_trip(
        gets in prop::collection::vec((data(), any::<u8>(), 0..4u32, prop::option::of(".{0,40}")), 0..6),
    ) {
        let trace = Trace::in_memory(1 << 20);
        let mut written = Vec::new();
        for (data, minor, flags, label) in &gets {
            let flags = Mode::from_bits(flags << 5).expect("flags of traces");
            trace.write(data, *minor, flags, label.as_deref()).expect("enough space");
            let kinds = expected(data, flags, label.as_deref());
            written.extend(kinds.into_iter().map(|kind| (*minor, data.ended_at, kind)));
        }
        let read: Vec<_> = hooks(&trace.bytes())
            .into_iter()
            .map(|hook| {
                assert_eq!(hook.processor, 0);
                (hook.minor, hook.time_stamp, hook.kind)
            })
            .collect();
        prop_assert_eq!(read, written);
    }

    /// Reading ends without a panic for any bytes, with or without a valid header before them.
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000), is_after_header: bool) {
        if is_after_header {
            read(&fixture::section(0, 0, &bytes));
        } else {
            read(&bytes);
        }
    }

    /// A hook with arbitrary words is read as one hook or reported as one problem.
    #[test]
    fn arbitrary_words_do_not_panic(kind in prop::sample::select(vec![0u32, 1, 2, 4, 8, 15]), words in prop::collection::vec(0..5u64, 0..40)) {
        let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let record_type = if kind % 15 == 0 { 2 } else { 0 };
        let items = read(&fixture::section(0, 0, &fixture::record(record_type, kind << 28, 0, &data)));
        prop_assert_eq!(items.len(), 1);
    }
}

/// A file that is truncated anywhere is read up to the last complete hook; the rest is reported.
#[test]
fn truncated_files_are_read_up_to_the_last_complete_hook() {
    let file = fixture::small_file();
    let all = hooks(&file);
    assert_eq!(all.len(), 6);
    let ends: Vec<_> = all.iter().skip(1).map(|hook| hook.offset as usize).chain([file.len()]).collect();
    for length in 0..file.len() {
        let items = read(&file[..length]);
        let whole = ends.iter().filter(|&&end| end <= length).count();
        let (last, before) = items.split_last().expect("an item");
        let before: Vec<_> = before.iter().map(|item| item.clone().expect("sound")).collect();
        assert_eq!(before, all[..whole], "cut at {length}");
        let problem = last.as_ref().expect_err("a problem").to_string();
        let expected = match length {
            0..4 => {
                format!(
                    "offset 0x0: this is not a trace (found \"{}\", expected \"NRM2\")",
                    &"NRM2"[..length]
                )
            }
            4..512 => format!(
                "offset 0x0: the file ends inside the header of a section, which is ignored (found {length} bytes, \
                 expected 512)"
            ),
            _ => format!(
                "offset {length:#x}: the file ends inside a section; the truncated hook and those after it are ignored \
                 (found the end, expected {} bytes more)",
                file.len() - length
            ),
        };
        assert_eq!(problem, expected);
    }
}

/// If a writer is killed after it has written the records of a measurement but not yet their count, the previous
/// measurements are read.
#[test]
fn records_without_a_count_are_ignored() {
    let small = fixture::small_file();
    let records = &small[fixture::HEADER..];
    for written in 1..=records.len() {
        let file = [&small, &records[..written]].concat();
        let (problems, count) = problems(&file);
        assert_eq!(count, 6, "{written}");
        assert_eq!(problems.len(), 1, "{written}");
        let start = format!(
            "offset {:#x}: no section follows the last complete hook; the rest is ignored (found ",
            small.len()
        );
        assert!(problems[0].starts_with(&start), "{}", problems[0]);
    }
    // A new section without counted records is valid, but not a part of its header.
    let new = fixture::section(fixture::ENDED_AT, 0, &[]);
    assert_eq!(problems(&[small.clone(), new.clone()].concat()), (vec![], 6));
    let (torn, count) = problems(&[&small, &new[..100]].concat());
    assert_eq!(count, 6);
    assert_eq!(
        torn,
        ["offset 0x2e0: the file ends inside the header of a section, which is ignored (found 100 bytes, expected 512)"
            .replace("0x2e0", &format!("{:#x}", small.len()))]
    );
}

#[test]
fn flipped_bits_lose_only_damaged_hooks() {
    let file = fixture::small_file();
    let all = hooks(&file);
    for place in 0..file.len() {
        for bit in 0..8 {
            let mut flipped = file.clone();
            flipped[place] ^= 1 << bit;
            let items = read(&flipped);
            let sound =
                items.iter().filter(|item| item.as_ref().is_ok_and(|hook| all.contains(hook))).count();
            if place >= fixture::HEADER {
                // All hooks before the damage are read; so are those after it, unless the record's length is damaged.
                let before = all.iter().skip(1).filter(|hook| hook.offset as usize <= place).count();
                let hit = all[before].offset as usize;
                assert!(sound >= before, "{place}");
                if place >= hit + 2 {
                    assert!(sound >= all.len() - 1, "{place}");
                }
            }
        }
    }
}

/// Writes a field into a file.
fn with(mut file: Vec<u8>, offset: usize, field: &[u8]) -> Vec<u8> {
    file[offset..][..field.len()].copy_from_slice(field);
    file
}

/// A section with one record of integers.
fn one(minor: u32, words: &[u64]) -> Vec<u8> {
    let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    fixture::section(0, 0, &fixture::record(0, minor, 0, &data))
}

/// A section with one label: count of integers, integers, length, and bytes.
fn one_label(integers: [u64; 4], bytes: &[u8]) -> Vec<u8> {
    let mut data: Vec<u8> = integers.iter().flat_map(|integer| integer.to_le_bytes()).collect();
    data.extend(bytes);
    fixture::section(0, 0, &fixture::record(2, 0, 0, &data))
}

/// One case per invalid field: the file, the message, and the number of hooks that are still read.
#[test]
fn every_invalid_field_is_reported() {
    let small = fixture::small_file;
    let label = 512;
    let summary = hooks(&small())[1].offset as usize;
    let thread = hooks(&small())[4].offset as usize;
    let cases: &[(Vec<u8>, &str, usize)] = &[
        (
            b"PK\x03\x04 and so on".to_vec(),
            "offset 0x0: this is not a trace (found \"PK\\x03\\x04\", expected \"NRM2\")",
            0,
        ),
        (
            with(small(), 4, &[0, 0, 0, 0]),
            "offset 0x4: the section has no valid byte order; it and the rest are ignored (found 0x00000000, expected 0x04030201)",
            0,
        ),
        (
            with(small(), 4, &[4, 3, 2, 1]),
            "offset 0x4: the file is big-endian, which is not supported (found 0x01020304, expected 0x04030201)",
            0,
        ),
        (
            with(small(), 8, &[0x0D]),
            "offset 0x8: the section was damaged by a transfer in text mode; reading continues (found 0x0d, expected 0x0a)",
            6,
        ),
        (
            with(small(), 12, &[0, 1]),
            "offset 0xc: the header of a section has an unknown size; it and the rest are ignored (found 256, expected 512)",
            0,
        ),
        (
            with(small(), 16, &[8, 0]),
            "offset 0x200: the section's data ends inside the header of a record, which is ignored (found 8 bytes, expected at least 16)",
            0,
        ),
        (
            with(small(), 16, &[48, 0]),
            "offset 0x200: a record is longer than the rest of its section; the rest is ignored (found 56, expected at most 48)",
            0,
        ),
        (
            with(small(), label, &[8 | 2, 0]),
            "offset 0x200: a record is shorter than its header; the rest of its section is ignored (found 8, expected at least 16)",
            0,
        ),
        (
            with(small(), label, &[0xFE, 0xFF]),
            "offset 0x200: a record is longer than the rest of its section; the rest is ignored (found 65532, expected at most 784)",
            0,
        ),
        (
            with(small(), label + 2, &[0, 0]),
            "offset 0x202: a record has no major code; it is ignored (found 0, expected 1 to 255)",
            5,
        ),
        (
            with(small(), label + 2, &[0xC0, 1]),
            "offset 0x202: a record has no major code; it is ignored (found 448, expected 1 to 255)",
            5,
        ),
        (
            with(small(), label + 5, &[1]),
            "offset 0x204: no hook of CPI has this minor code; it is ignored (found 0x00000107, expected 0x000000mm, 0x1..., 0x2..., 0x4..., 0x8... or 0xf...)",
            5,
        ),
        (
            with(small(), label + 7, &[0x30]),
            "offset 0x204: no hook of CPI has this minor code; it is ignored (found 0x30000007, expected 0x000000mm, 0x1..., 0x2..., 0x4..., 0x8... or 0xf...)",
            5,
        ),
        (
            with(small(), label, &[56]),
            "offset 0x200: the hook has another type; it is ignored (found 0, expected 2)",
            5,
        ),
        (
            with(small(), thread, &[88 | 3]),
            "offset 0x480: the hook has another type; it is ignored (found 3, expected 0)",
            5,
        ),
        // Invalid labels.
        (
            fixture::section(0, 0, &fixture::record(2, 0, 0, &[2, 0, 0, 0])),
            "offset 0x210: the hook ends before its data; it is ignored (found 4 bytes, expected 8)",
            0,
        ),
        (
            fixture::section(0, 0, &fixture::record(2, 0, 0, &[2, 0, 0, 0, 0, 0, 0, 0])),
            "offset 0x228: the hook ends before its data; it is ignored (found 0 bytes, expected 8)",
            0,
        ),
        (
            one_label([3, 0, 0, 0], b""),
            "offset 0x210: the label has an unexpected number of integers; it is ignored (found 3, expected 2)",
            0,
        ),
        (
            one_label([2, 1 << 32, 0, 0], b""),
            "offset 0x218: a word has more than 32 bits; the hook is ignored (found 0x100000000, expected at most 0xffffffff)",
            0,
        ),
        (
            one_label([2, 0, 0, 9], b"12345678"),
            "offset 0x228: the label does not fill its record; it is ignored (found a length of 9 bytes, expected one that pads to 8)",
            0,
        ),
        (
            one_label([2, 0, 0, 0], b"12345678"),
            "offset 0x228: the label does not fill its record; it is ignored (found a length of 0 bytes, expected one that pads to 8)",
            0,
        ),
        (
            one_label([2, 0, 0, u64::MAX], b""),
            "offset 0x228: the label does not fill its record; it is ignored (found a length of 18446744073709551615 bytes, expected one that pads to 0)",
            0,
        ),
        // Invalid words.
        (
            fixture::section(0, 0, &fixture::record(0, 0x1000_0000, 0, &[0; 44])),
            "offset 0x210: the hook's data is cut inside a word; it is ignored (found 44 bytes, expected a multiple of 8)",
            0,
        ),
        (
            with(small(), summary + 16 + 4, &[1]),
            "offset 0x248: a word has more than 32 bits; the hook is ignored (found 0x100000007, expected at most 0xffffffff)",
            5,
        ),
        (
            with(small(), thread + 16 + 8 * 8, &10_000u32.to_le_bytes()),
            "offset 0x4d0: a fraction is not below one; the hook is ignored (found 10000, expected at most 9999)",
            5,
        ),
        (
            one(0x1000_0000, &[1, 0, 0, 0, 0]),
            "offset 0x210: the hook has too few words; it is ignored (found 5, expected at least 6)",
            0,
        ),
        (
            one(0x1000_0000, &[8, 0, 0, 0, 0, 0]),
            "offset 0x210: the hook has unknown kinds of data; it is ignored (found 0x8, expected bits of 0x7)",
            0,
        ),
        (
            one(0x1000_0000, &[1, 1, 0, 0, 0, 0]),
            "offset 0x210: the hook has an unexpected number of words; it is ignored (found 6, expected 8)",
            0,
        ),
        (
            one(0x1000_0000, &[7, 0xFFFF_FFFF, 0, 0, 0, 0]),
            "offset 0x210: the hook has an unexpected number of words; it is ignored (found 6, expected 25769803782)",
            0,
        ),
        (
            one(0x2000_0000, &[0; 10]),
            "offset 0x210: the hook has an unexpected number of words; it is ignored (found 10, expected 9)",
            0,
        ),
        (
            one(0x4000_0000, &[1, 0, 0]),
            "offset 0x210: the hook has too few words; it is ignored (found 3, expected at least 4)",
            0,
        ),
        (
            one(0x4000_0000, &[4, 0, 0, 0]),
            "offset 0x210: the hook has unknown kinds of data; it is ignored (found 0x4, expected bits of 0x3)",
            0,
        ),
        (
            one(0x4000_0000, &[3, 0xFFFF_FFFF, 0, 0]),
            "offset 0x210: the hook has an unexpected number of words; it is ignored (found 4, expected 51539607544)",
            0,
        ),
        (
            one(0x8000_0000, &[1; 8]),
            "offset 0x210: the hook has too few words; it is ignored (found 8, expected at least 9)",
            0,
        ),
        (
            one(0x8000_0000, &[2; 9]),
            "offset 0x210: the hook has an unexpected number of words; it is ignored (found 9, expected 15)",
            0,
        ),
        (
            one(0x8000_0000, &[4; 9]),
            "offset 0x210: the hook has unknown kinds of data; it is ignored (found 0x4, expected bits of 0x3)",
            0,
        ),
    ];
    for (file, text, count) in cases {
        let (found, hooks) = problems(file);
        // If the section's number of bytes is too low, the bytes after the section are reported too.
        assert_eq!(found.first().map(String::as_str), Some(*text));
        assert!(
            found.len() == 1
                || (found.len() == 2 && found[1].contains("no section follows the last complete hook"))
        );
        assert_eq!(hooks, *count, "{text}");
    }
}

/// After a record with an implausible length, the rest of its section is lost, but the next section is read.
#[test]
fn the_next_section_is_read_after_a_lost_one() {
    let lost = with(fixture::small_file(), 512, &[0xFE, 0xFF]);
    let mut next = fixture::small_file();
    next[24] = 3;
    let (problems, count) = problems(&[lost.clone(), next.clone()].concat());
    assert_eq!((problems.len(), count), (1, 6));
    let hook = read(&[lost, next].concat())[1].clone().expect("sound");
    assert_eq!((hook.processor, hook.offset), (3, 512 + 784 + 512));
}

/// Records of other tools are reported, not decoded.
#[test]
fn records_of_other_tools_are_not_decoded() {
    let mut other = fixture::record(3, 0xDEAD_BEEF, 5, &[0xFF; 20]);
    other[2] = 0x12;
    let mut untimed = fixture::record(1, 1, 5, &[]);
    untimed[2] = 0x13;
    let file = fixture::section(0, 0, &[other, untimed].concat());
    let shown = |file: &[u8]| {
        let shown = hooks(file).into_iter().map(|hook| match hook.kind {
            HookKind::Other(other) => {
                (other.record_type, other.major, other.minor, other.bytes, hook.minor, hook.time_stamp)
            }
            kind => panic!("{kind:?}"),
        });
        shown.collect::<Vec<_>>()
    };
    assert_eq!(shown(&file), [(3, 0x12, 0xDEAD_BEEF, 36, 0xEF, 5), (1, 0x13, 1, 16, 1, 5)]);
    let without_time = with(file, 28, &[1]);
    assert_eq!(shown(&without_time)[1], (1, 0x13, 1, 16, 1, 0));
}

/// A label that is not valid UTF-8 is kept unchanged.
#[test]
fn labels_in_another_encoding_are_kept() {
    let file = one_label([2, 0, 0, 8], b"M\xFCnchen\0");
    let HookKind::LabelStart(label) = &hooks(&file)[0].kind else { panic!("a label") };
    assert_eq!((&*label.bytes, &*label.text()), (&b"M\xFCnchen\0"[..], "M\u{FFFD}nchen\0"));
}

/// An input that returns one byte at a time, is interrupted before each byte, and fails at the end. The flag is whether the last
/// call was interrupted.
struct Broken<'a>(Cursor<&'a [u8]>, bool);

impl Read for Broken<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match self.0.read(&mut buffer[..1])? {
            0 => Err(io::Error::other("the disk was removed")),
            count => Ok(count),
        }
    }
}

#[test]
fn read_errors_are_reported() {
    let file = fixture::small_file();
    let mut items: Vec<_> = TraceReader::new(Broken(Cursor::new(&file), false)).collect();
    let problem = items.pop().expect("an item").expect_err("a problem").to_string();
    assert_eq!(
        problem,
        "offset 0x510: the file cannot be read further: the disk was removed; the rest is ignored"
    );
    assert_eq!(items, read(&file));
}

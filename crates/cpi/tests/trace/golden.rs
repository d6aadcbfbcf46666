//! Compares the bytes of traces, for every combination of traced data, with checked-in files that were assembled word by word.
//!
//! `TACHO_UPDATE=1 cargo test -p tachograph-cpi --test trace golden` assembles the files in `tests/golden` again.

use std::path::PathBuf;

use crate::fixture;
use tachograph_cpi::trace::{HookKind, Trace, TraceReader};
use tachograph_cpi::{CpiData, Measured, Mode, ProcessorData, ProcessorState};

fn flags(has_summary: bool, has_detailed: bool) -> Mode {
    let mut flags = Mode::default();
    if has_summary {
        flags |= Mode::TRACE_SUMMARY;
    }
    if has_detailed {
        flags |= Mode::TRACE_DETAILED;
    }
    flags
}

/// One combination of measured and traced data.
#[derive(Clone, Copy, Debug)]
struct Combination {
    label: Option<&'static str>,
    has_summary: bool,
    has_detailed: bool,
    is_scaled: bool,
    has_thread: bool,
}

impl Combination {
    fn all() -> impl Iterator<Item = Self> {
        (0..32).map(|bits| Self {
            label: (bits & 1 != 0).then_some("begin ü"),
            has_summary: bits & 2 != 0,
            has_detailed: bits & 4 != 0,
            is_scaled: bits & 8 != 0,
            has_thread: bits & 16 != 0,
        })
    }

    fn flags(&self) -> Mode {
        flags(self.has_summary, self.has_detailed)
    }
}

/// Writes each combination to a trace in memory, and all of them to one file. Compares the traces with those of the fixture,
/// and the file also with the checked-in one.
fn check(processors: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("all.nrm2");
    let file = Trace::create(&path).expect("a file");
    let mut all = Vec::new();
    for (number, combination) in Combination::all().enumerate() {
        let data = fixture::data(processors, combination.is_scaled, combination.has_thread);
        let minor = number as u8;
        let Combination { label, has_summary, has_detailed, .. } = combination;
        let records = fixture::hooks(&data, minor, has_summary, has_detailed, label);
        let trace = Trace::in_memory(1 << 20);
        trace.write(&data, minor, combination.flags(), label).expect("enough space");
        trace.close().expect("in memory");
        let time = if records.is_empty() { 0 } else { fixture::ENDED_AT };
        assert!(trace.bytes() == fixture::section(time, time, &records), "{processors}: {combination:?}");

        file.write(&data, minor, combination.flags(), label).expect("a file");
        all.extend(records);
        // The file is complete before it is closed.
        let now = std::fs::read(&path).expect("readable");
        assert!(now == fixture::section(if all.is_empty() { 0 } else { fixture::ENDED_AT }, 0, &all));
        assert!(now == file.bytes());
    }
    file.close().expect("a file");
    let words = fixture::section(fixture::ENDED_AT, fixture::ENDED_AT, &all);
    let written = std::fs::read(&path).expect("readable");
    assert!(written == words && file.bytes() == words);

    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join(format!("tests/golden/trace_of_{processors}_processors.nrm2"));
    if std::env::var_os("TACHO_UPDATE").is_some() {
        std::fs::write(&golden, &words).expect("a writable folder");
    }
    let golden = std::fs::read(&golden).expect("checked in");
    assert!(written == golden, "the trace differs from the checked-in one");
}

#[test]
fn traces_of_one_processor_equal_the_golden_file() {
    check(1);
}

#[test]
fn traces_of_64_processors_equal_the_golden_file() {
    check(64);
}

/// The lengths of hooks for n processors, in words, as docs/cpi-trace.md states them: a summary has 6 + 2n, and 4n + 4 more with
/// busy shares and 2 more with a thread; the system's hook has 9, or 15 with busy shares; the processors' hook 4 + 6n, or 4 + 12n;
/// the thread's hook 9.
#[test]
fn all_hooks_have_the_documented_order_and_lengths() {
    for (processors, is_scaled, words) in [
        (1, false, [6 + 2 + 2, 9, 4 + 6, 9]),
        (1, true, [6 + 2 + 4 + 4 + 2, 15, 4 + 12, 9]),
        (64, false, [6 + 128 + 2, 9, 4 + 6 * 64, 9]),
        (64, true, [6 + 128 + 256 + 4 + 2, 15, 4 + 12 * 64, 9]),
    ] {
        let trace = Trace::in_memory(1 << 20);
        let data = fixture::data(processors, is_scaled, true);
        trace.write(&data, 0xAB, Mode::TRACE_EVERYTHING, Some("12345678")).expect("enough space");
        let bytes = trace.bytes();
        let hooks: Vec<_> = TraceReader::new(bytes.as_slice()).map(|hook| hook.expect("sound")).collect();
        let offsets = hooks.iter().map(|hook| hook.offset).chain([bytes.len() as u64]);
        let offsets: Vec<_> = offsets.collect();
        let lengths: Vec<_> = offsets.windows(2).map(|pair| (pair[1] - pair[0] - 16) / 8).collect();
        assert_eq!(lengths, [5, words[0], words[1], words[2], words[3], 5]);
        let order: Vec<_> = hooks.iter().map(|hook| std::mem::discriminant(&hook.kind)).collect();
        let expected = [
            HookKind::LabelStart(Default::default()),
            HookKind::Summary(Default::default()),
            HookKind::System(Default::default()),
            HookKind::Processors(Default::default()),
            HookKind::Thread(Default::default()),
            HookKind::LabelEnd(Default::default()),
        ];
        assert_eq!(order, expected.map(|kind| std::mem::discriminant(&kind)));
        assert!(hooks.iter().all(|hook| hook.minor == 0xAB && hook.time_stamp == fixture::ENDED_AT));
    }
}

/// Processors without data are stored as zeros, because the position of a processor is its id.
#[test]
fn processors_without_data_are_zeros() {
    let mut data = fixture::data(4, true, false);
    for number in [1, 2] {
        data.processors[number] =
            ProcessorData { state: ProcessorState::Offline, measured: Measured::default() };
    }
    let trace = Trace::in_memory(1 << 16);
    trace.write(&data, 0, Mode::TRACE_EVERYTHING, None).expect("enough space");
    assert!(
        trace.bytes() == fixture::section(fixture::ENDED_AT, 0, &fixture::hooks(&data, 0, true, true, None))
    );
    let kinds: Vec<_> =
        TraceReader::new(trace.bytes().as_slice()).map(|hook| hook.expect("sound").kind).collect();
    let HookKind::Processors(processors) = &kinds[2] else { panic!("{kinds:?}") };
    assert_eq!(processors.processors.len(), 4);
    for (number, values) in processors.processors.iter().enumerate() {
        assert_eq!(values.instructions == 0, [1, 2].contains(&number));
        assert_eq!(values.scaled.expect("scaled").busy_percent.integral == 0, [1, 2].contains(&number));
    }
}

/// If only the thread is measured, the summary has no processors, and there are no per-processor hooks.
#[test]
fn a_thread_alone_has_no_processor_hooks() {
    let data = fixture::data(0, false, true);
    let trace = Trace::in_memory(1 << 16);
    trace.write(&data, 3, Mode::TRACE_EVERYTHING, None).expect("enough space");
    assert!(
        trace.bytes() == fixture::section(fixture::ENDED_AT, 0, &fixture::hooks(&data, 3, true, true, None))
    );
    // The summary's words are kinds, num_cpus, elapsed hi and lo, raw_sys_cpi and its fraction, and thread_cpi and its
    // fraction. The thread's hook has 9 words.
    assert_eq!(trace.bytes().len(), fixture::HEADER + 16 + 8 * 8 + 16 + 8 * 9);
}

#[test]
fn labels_are_cut_between_characters_and_keep_their_zero_bytes() {
    let exact = "x".repeat(2048);
    let cut = format!("{}ü", "x".repeat(2047));
    for (label, kept) in [("", 0), ("a\0b", 3), (&exact, 2048), (&cut, 2047)] {
        let data = CpiData { ended_at: 5, ..CpiData::default() };
        let trace = Trace::in_memory(1 << 16);
        trace.write(&data, 1, Mode::default(), Some(label)).expect("enough space");
        let text = &label.as_bytes()[..kept];
        let records = [fixture::label(1, &data, text), fixture::label(0xF000_0001, &data, text)].concat();
        assert!(trace.bytes() == fixture::section(5, 0, &records), "{kept}");
    }
}

//! Traces written by a C program, compared byte by byte with traces constructed from the fake machine's formula and the
//! documentation of the format.

use crate::compiler::{Link, Program, succeed};
use crate::library::library_with_fake_machine;

const SUMMARY: u32 = 0x20;
const DETAILED: u32 = 0x40;

/// The ticks per step of time: the elapsed cycles of every interval.
const STEP_TICKS: u64 = 1_000_000;
const LABEL: &str = "region \u{e9}";

/// The result of the formula for a processor in one step, or the sum over several processors.
#[derive(Clone, Copy, Default)]
struct Measurement {
    instructions: u64,
    cycles: u64,
    busy: u64,
    /// 100 per processor.
    ticks: u64,
    /// `cycles * busy / ticks` of each processor.
    cycles_scaled: u64,
}

impl Measurement {
    fn processor(number: u64) -> Self {
        let busy = 50 + number % 50;
        Self {
            instructions: 400_000 + 1000 * number,
            cycles: STEP_TICKS,
            busy,
            ticks: 100,
            cycles_scaled: STEP_TICKS / 100 * busy,
        }
    }

    fn system(processors: u64) -> Self {
        (0..processors).map(Self::processor).fold(Self::default(), |sum, one| Self {
            instructions: sum.instructions + one.instructions,
            cycles: sum.cycles + one.cycles,
            busy: sum.busy + one.busy,
            ticks: sum.ticks + one.ticks,
            cycles_scaled: sum.cycles_scaled + one.cycles_scaled,
        })
    }
}

/// The integers of a record.
#[derive(Default)]
struct Words(Vec<u64>);

impl Words {
    /// A word: in the low half of a 64-bit integer.
    fn word(mut self, word: u64) -> Self {
        self.0.push(word);
        self
    }

    /// A 64-bit integer: its high word, then its low word.
    fn long(self, value: u64) -> Self {
        self.word(value >> 32).word(value & 0xFFFF_FFFF)
    }

    /// `numerator / denominator`: the integral part, and ten-thousandths, rounded.
    fn ratio(self, numerator: u64, denominator: u64) -> Self {
        let parts = (numerator * 10_000 + denominator / 2) / denominator;
        self.word(parts / 10_000).word(parts % 10_000)
    }

    fn scaled(self, measurement: Measurement) -> Self {
        self.ratio(measurement.cycles_scaled, measurement.instructions)
            .ratio(100 * measurement.busy, measurement.ticks)
    }

    fn detailed(self, measurement: Measurement, is_scaled: bool) -> Self {
        let words = self
            .long(measurement.instructions)
            .long(measurement.cycles)
            .ratio(measurement.cycles, measurement.instructions);
        if is_scaled { words.long(measurement.cycles_scaled).scaled(measurement) } else { words }
    }
}

/// A record: type and length, major code C0, minor code, time stamp, integers. With a text, its type is 2, and it also has
/// the number of integers and the text.
fn record(kind: u32, minor: u8, time_stamp: u64, words: &Words, text: Option<&str>) -> Vec<u8> {
    let mut body = Vec::new();
    if text.is_some() {
        body.extend((words.0.len() as u64).to_le_bytes());
    }
    body.extend(words.0.iter().flat_map(|word| word.to_le_bytes()));
    if let Some(text) = text {
        body.extend((text.len() as u64).to_le_bytes());
        body.extend(text.as_bytes());
        body.resize(body.len().next_multiple_of(8), 0);
    }
    let bytes = u16::try_from(16 + body.len()).expect("short enough");
    let record_type = if text.is_some() { 2 } else { 0 };
    let mut record = Vec::new();
    record.extend((bytes | record_type).to_le_bytes());
    record.extend(0xC0_u16.to_le_bytes());
    record.extend((kind << 28 | u32::from(minor)).to_le_bytes());
    record.extend(time_stamp.to_le_bytes());
    record.extend(body);
    record
}

/// What a case measures and traces.
#[derive(Clone, Copy)]
struct Case {
    processors: u64,
    is_scaled: bool,
    is_on_thread: bool,
    hooks: u32,
    label: Option<&'static str>,
    minor: u8,
    time_stamp: u64,
}

impl Case {
    fn records(self) -> Vec<u8> {
        let Self { processors, is_scaled, is_on_thread, hooks, .. } = self;
        let record =
            |kind, words: Words, text: Option<&str>| record(kind, self.minor, self.time_stamp, &words, text);
        let system = Measurement::system(processors);
        let each = || (0..processors).map(Measurement::processor);
        let kinds = 1 + if is_scaled { 2 } else { 0 };
        let label = |kind| self.label.map(|text| record(kind, Words::default().long(STEP_TICKS), Some(text)));
        let mut records = Vec::new();
        records.extend(label(0x0));
        if hooks & SUMMARY != 0 {
            let all = kinds + if is_on_thread { 4 } else { 0 };
            let mut words = Words::default().word(all).word(processors).long(STEP_TICKS);
            words = each().fold(words, |words, one| words.ratio(one.cycles, one.instructions));
            words = words.ratio(system.cycles, system.instructions);
            if is_scaled {
                words = each().fold(words, Words::scaled).scaled(system);
            }
            if is_on_thread {
                words = words.ratio(450_000, 300_000);
            }
            records.push(record(0x1, words, None));
        }
        if hooks & DETAILED != 0 {
            records.push(record(
                0x8,
                Words::default().word(kinds).long(STEP_TICKS).detailed(system, is_scaled),
                None,
            ));
            let words = Words::default().word(kinds).word(processors).long(STEP_TICKS);
            records.push(record(0x4, each().fold(words, |words, one| words.detailed(one, is_scaled)), None));
            if is_on_thread {
                let words = Words::default().word(4242).long(STEP_TICKS).long(300_000).long(450_000);
                records.push(record(0x2, words.ratio(450_000, 300_000), None));
            }
        }
        records.extend(label(0xF));
        records.concat()
    }
}

/// The cases in the order of golden.c. Each case advances the time by two steps.
fn cases(processors: u64) -> Vec<Case> {
    let mut cases = Vec::new();
    for (is_scaled, is_on_thread) in [(false, false), (true, false), (false, true), (true, true)] {
        for hooks in [0, SUMMARY, DETAILED, SUMMARY | DETAILED] {
            for label in [None, Some(LABEL)] {
                for _call_variant in 0..4 {
                    let minor = u8::try_from(cases.len()).expect("128 cases");
                    let time_stamp = 2 * STEP_TICKS * (u64::from(minor) + 1);
                    cases.push(Case { processors, is_scaled, is_on_thread, hooks, label, minor, time_stamp });
                }
            }
        }
    }
    cases
}

/// The file: one section of 512 bytes of header and the records.
fn trace_file(cases: &[Case]) -> Vec<u8> {
    // If a case traces nothing, it has no record.
    let traced: Vec<(u64, Vec<u8>)> = cases
        .iter()
        .map(|case| (case.time_stamp, case.records()))
        .filter(|(_, records)| !records.is_empty())
        .collect();
    let records: Vec<u8> = traced.iter().flat_map(|(_, records)| records.iter().copied()).collect();
    let mut header = [0_u8; 512];
    let mut put = |offset: usize, bytes: &[u8]| header[offset..offset + bytes.len()].copy_from_slice(bytes);
    put(0, b"NRM2");
    put(4, &0x0403_0201_u32.to_le_bytes());
    put(8, &[0x0A]);
    put(12, &512_u32.to_le_bytes());
    put(16, &u32::try_from(records.len()).expect("a small file").to_le_bytes());
    put(36, &traced.first().expect("a hook").0.to_le_bytes());
    put(44, &traced.last().expect("a hook").0.to_le_bytes());
    put(60, &1_u32.to_le_bytes());
    put(68, &0x64_u32.to_le_bytes());
    [&header[..], &records].concat()
}

/// The length of a hook in words for `n` processors, according to the documentation of the format.
#[test]
fn the_expected_hooks_have_the_documented_lengths() {
    for n in [1_usize, 64] {
        for case in cases(n as u64).into_iter().filter(|case| case.label.is_none()) {
            let mut lengths = Vec::new();
            let records = case.records();
            let mut rest = records.as_slice();
            while let [low, high, ..] = rest {
                let bytes = usize::from(u16::from_le_bytes([*low, *high]));
                lengths.push((bytes - 16) / 8);
                rest = &rest[bytes..];
            }
            let (scaled, thread) = (usize::from(case.is_scaled), usize::from(case.is_on_thread));
            let mut expected = Vec::new();
            if case.hooks & SUMMARY != 0 {
                expected.push(6 + 2 * n + scaled * (4 * n + 4) + 2 * thread);
            }
            if case.hooks & DETAILED != 0 {
                expected.extend([9 + 6 * scaled, 4 + 6 * n + 6 * n * scaled]);
                expected.extend((thread == 1).then_some(9));
            }
            assert_eq!(lengths, expected);
        }
    }
}

#[test]
fn every_combination_is_traced_by_call_and_by_environment() {
    let program = Program::compile("golden.c", "c99", Link::StaticAt(&library_with_fake_machine()), &[]);
    for processors in [1, 64] {
        let expected = trace_file(&cases(processors));
        let number = processors.to_string();
        let from_call = program.folder().join("opened.nrm2");
        succeed(&mut program.command(&[number.as_ref(), from_call.as_os_str()]));
        let from_environment = program.folder().join("asked.nrm2");
        succeed(program.command(&[&number]).env("TACHO_CPI_TRACE", &from_environment));
        for path in [from_call, from_environment] {
            let found = std::fs::read(&path).expect("the trace");
            let differs = found.iter().zip(&expected).position(|(found, expected)| found != expected);
            assert!(
                found == expected,
                "{processors} processors, {}: {} bytes instead of {}, first difference at {differs:?}",
                path.display(),
                found.len(),
                expected.len()
            );
        }
    }
}

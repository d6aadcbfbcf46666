//! Checks of the reader of CPI traces that hold for any bytes. They also run on the checked-in seeds as a plain
//! test (crates/cpi/tests/trace/seeds.rs).

#![allow(dead_code, unreachable_pub, reason = "each target uses one function of this module")]

use std::io::{self, Read};

use tachograph_cpi::trace::{Decimal, DetailedValues, Hook, HookKind, TraceReader};

/// A source that returns one byte at a time.
struct OneByteReader<'a>(&'a [u8]);

impl Read for OneByteReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(1);
        self.0.read(&mut buffer[..count])
    }
}

/// Asserts that reading ends, that items are in file order, that decoded hooks encode to the same bytes, and that
/// the size of reads does not matter.
pub fn cpi_trace(data: &[u8]) {
    // Each item has at least a record's header, except one per section and one for the end of the file.
    let max_items = data.len() / 16 + 2;
    let items: Vec<_> = TraceReader::new(data).take(max_items + 1).collect();
    assert!(items.len() <= max_items, "the reader does not end");
    assert!(items == TraceReader::new(OneByteReader(data)).take(max_items + 1).collect::<Vec<_>>());
    let mut end = 0;
    for item in items {
        match item {
            Ok(hook) => {
                assert!(hook.offset >= end);
                end = hook.offset + check(&hook, &data[hook.offset as usize..]);
            }
            Err(problem) => {
                assert!(problem.offset <= data.len() as u64);
                assert!(!problem.to_string().is_empty());
            }
        }
    }
}

/// Asserts that a hook encodes to the bytes at its offset. Returns the size of the hook in the file.
fn check(hook: &Hook, bytes: &[u8]) -> u64 {
    let mut words = Vec::new();
    let mut text: &[u8] = &[];
    match &hook.kind {
        HookKind::LabelStart(label) | HookKind::LabelEnd(label) => {
            words.push(2);
            long(&mut words, label.elapsed_cycles);
            words.push(label.bytes.len() as u64);
            text = &label.bytes;
            assert!(label.text().len() >= label.bytes.len());
        }
        HookKind::Summary(summary) => {
            words.extend([summary.kinds.bits().into(), summary.processors.len() as u64]);
            long(&mut words, summary.elapsed_cycles);
            let of_all = || summary.processors.iter().chain([&summary.system]);
            of_all().for_each(|values| decimal(&mut words, values.raw_cpi));
            for scaled in of_all().filter_map(|values| values.scaled) {
                decimal(&mut words, scaled.cpi);
                decimal(&mut words, scaled.busy_percent);
            }
            assert!(of_all().all(|values| values.scaled.is_some() == summary.kinds.scaled));
            summary.thread_cpi.into_iter().for_each(|cpi| decimal(&mut words, cpi));
        }
        HookKind::System(system) => {
            words.push(system.kinds.bits().into());
            long(&mut words, system.elapsed_cycles);
            detailed(&mut words, &system.values);
        }
        HookKind::Processors(processors) => {
            words.extend([processors.kinds.bits().into(), processors.processors.len() as u64]);
            long(&mut words, processors.elapsed_cycles);
            processors.processors.iter().for_each(|values| detailed(&mut words, values));
        }
        HookKind::Thread(thread) => {
            words.push(thread.tid.into());
            long(&mut words, thread.elapsed_cycles);
            long(&mut words, thread.instructions);
            long(&mut words, thread.cycles);
            decimal(&mut words, thread.cpi);
        }
        HookKind::Other(other) => return other.bytes.into(),
        kind => panic!("{kind:?}"),
    }
    let encoded: Vec<u8> =
        words.iter().flat_map(|word| word.to_le_bytes()).chain(text.iter().copied()).collect();
    let data = &bytes[16..];
    assert!(data[..encoded.len()] == encoded);
    assert_eq!(hook.minor, bytes[4]);
    16 + encoded.len().next_multiple_of(8) as u64
}

fn long(words: &mut Vec<u64>, value: u64) {
    words.extend([value >> 32, value & 0xFFFF_FFFF]);
}

fn decimal(words: &mut Vec<u64>, decimal: Decimal) {
    assert!(decimal.fraction < 10_000 && decimal <= Decimal::MAX);
    assert_eq!(Decimal::of(Some(decimal.to_f64())), decimal);
    words.extend([decimal.integral, decimal.fraction].map(u64::from));
}

fn detailed(words: &mut Vec<u64>, values: &DetailedValues) {
    long(words, values.instructions);
    long(words, values.cycles);
    decimal(words, values.cpi);
    if let Some(scaled) = values.scaled {
        long(words, scaled.cycles);
        decimal(words, scaled.cpi);
        decimal(words, scaled.busy_percent);
    }
}

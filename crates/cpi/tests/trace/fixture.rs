//! Constructed measurements, and trace files assembled word by word with named fields; the library's writer is not used.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part of this module")]

use std::time::Duration;

use tachograph_cpi::{Counts, CpiData, Measured, ProcessorData, ProcessorState};

/// The size of a section's header, in bytes.
pub const HEADER: usize = 512;

/// One interval of a machine whose processor `c` executes 400,000 + 1,000 c instructions in 1,000,000 elapsed cycles and is
/// busy for 50 + c mod 50 of 100 ticks, and whose thread executes 300,000 instructions in 450,000 cycles.
pub fn data(processors: u64, is_scaled: bool, has_thread: bool) -> CpiData {
    let processors: Vec<_> = (0..processors).map(|number| measured(number, is_scaled)).collect();
    let mut system = Measured::default();
    for processor in &processors {
        system.add(processor);
    }
    let state = ProcessorState::Measured;
    CpiData {
        elapsed_cycles: ELAPSED,
        elapsed: Duration::from_millis(1),
        ended_at: ENDED_AT,
        processors: processors.into_iter().map(|measured| ProcessorData { state, measured }).collect(),
        system,
        is_scaled,
        tid: 4242,
        thread: has_thread.then_some(Counts {
            instructions: 300_000,
            cycles: 450_000,
            core_cycles: 450_000,
            enabled_ns: 1_000_000,
            running_ns: 1_000_000,
        }),
        is_user_only: false,
    }
}

/// Values whose two 32-bit words are both nonzero.
pub const ELAPSED: u64 = 0x1_0000_4240;
pub const ENDED_AT: u64 = 0x0102_0304_0506_0708;

fn measured(number: u64, is_scaled: bool) -> Measured {
    let busy = if is_scaled { 50 + number % 50 } else { 0 };
    Measured {
        instructions: 400_000 + 1_000 * number,
        cycles: 1_000_000,
        cycles_scaled: 10_000 * busy,
        core_cycles: 600_000 + 1_000 * number,
        busy_ticks: busy,
        elapsed_ticks: if is_scaled { 100 } else { 0 },
        enabled_ns: 1_000_000,
        running_ns: 1_000_000,
    }
}

/// The fields of a hook: each with its name, which only documents it, and its word.
#[derive(Clone, Default)]
pub struct Fields(pub Vec<(&'static str, u64)>);

impl Fields {
    pub fn word(&mut self, name: &'static str, word: u64) {
        self.0.push((name, word));
    }

    /// Adds a 64-bit value as two words.
    pub fn long(&mut self, high: &'static str, low: &'static str, value: u64) {
        self.word(high, value >> 32);
        self.word(low, value & 0xFFFF_FFFF);
    }

    /// Adds a ratio of integers, rounded to the nearest ten-thousandth in integer arithmetic; two zeros if it is undefined.
    pub fn ratio(&mut self, name: &'static str, frac: &'static str, numerator: u64, denominator: u64) {
        let (numerator, denominator) = (u128::from(numerator), u128::from(denominator));
        let parts = match denominator {
            0 => 0,
            _ => (2 * 10_000 * numerator + denominator) / (2 * denominator),
        };
        self.word(name, (parts / 10_000) as u64);
        self.word(frac, (parts % 10_000) as u64);
    }
}

/// A record: type and length, major code, minor code, time stamp, data.
pub fn record(record_type: u16, minor: u32, time_stamp: u64, data: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    let type_and_length = record_type | (16 + data.len()) as u16;
    record.extend(type_and_length.to_le_bytes());
    record.extend([0xC0, 0x00]);
    record.extend(minor.to_le_bytes());
    record.extend(time_stamp.to_le_bytes());
    record.extend(data);
    record
}

/// A record of type 0: only integers.
pub fn integers(minor: u32, time_stamp: u64, fields: &Fields) -> Vec<u8> {
    let data: Vec<u8> = fields.0.iter().flat_map(|(_, word)| word.to_le_bytes()).collect();
    record(0, minor, time_stamp, &data)
}

/// A record of type 2 with two integers and a string.
pub fn label(minor: u32, data: &CpiData, text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(2u64.to_le_bytes()); // count of integers
    bytes.extend((data.elapsed_cycles >> 32).to_le_bytes()); // elapsed hi
    bytes.extend((data.elapsed_cycles & 0xFFFF_FFFF).to_le_bytes()); // elapsed lo
    bytes.extend((text.len() as u64).to_le_bytes()); // length of the label
    bytes.extend(text);
    while bytes.len() % 8 != 0 {
        bytes.push(0);
    }
    record(2, minor, data.ended_at, &bytes)
}

pub fn summary(minor: u32, data: &CpiData) -> Vec<u8> {
    let mut fields = Fields::default();
    let raw = u64::from(!data.processors.is_empty());
    let scaled = if data.is_scaled { 2 } else { 0 };
    let thread = if data.thread.is_some() { 4 } else { 0 };
    fields.word("kinds", raw + scaled + thread);
    fields.word("num_cpus", data.processors.len() as u64);
    fields.long("elapsed hi", "elapsed lo", data.elapsed_cycles);
    for ProcessorData { measured, .. } in &data.processors {
        fields.ratio("raw_cpi", "raw_cpi frac", measured.cycles, measured.instructions);
    }
    fields.ratio("raw_sys_cpi", "raw_sys_cpi frac", data.system.cycles, data.system.instructions);
    if data.is_scaled {
        for ProcessorData { measured, .. } in &data.processors {
            fields.ratio("scaled_cpi", "scaled_cpi frac", measured.cycles_scaled, measured.instructions);
            fields.ratio("cpu_busy", "cpu_busy frac", 100 * measured.busy_ticks, measured.elapsed_ticks);
        }
        let system = &data.system;
        fields.ratio("scaled_sys_cpi", "scaled_sys_cpi frac", system.cycles_scaled, system.instructions);
        fields.ratio("sys_busy", "sys_busy frac", 100 * system.busy_ticks, system.elapsed_ticks);
    }
    if let Some(thread) = &data.thread {
        fields.ratio("thread_cpi", "thread_cpi frac", thread.cycles, thread.instructions);
    }
    integers(minor, data.ended_at, &fields)
}

fn detailed(fields: &mut Fields, measured: &Measured, is_scaled: bool) {
    fields.long("instr hi", "instr lo", measured.instructions);
    fields.long("cycles hi", "cycles lo", measured.cycles);
    fields.ratio("cpi", "cpi frac", measured.cycles, measured.instructions);
    if is_scaled {
        fields.long("cycles_scaled hi", "cycles_scaled lo", measured.cycles_scaled);
        fields.ratio("cpi_scaled", "cpi_scaled frac", measured.cycles_scaled, measured.instructions);
        fields.ratio("busy_pc", "busy_pc frac", 100 * measured.busy_ticks, measured.elapsed_ticks);
    }
}

pub fn system(minor: u32, data: &CpiData) -> Vec<u8> {
    let mut fields = Fields::default();
    fields.word("kinds", if data.is_scaled { 3 } else { 1 });
    fields.long("elapsed hi", "elapsed lo", data.elapsed_cycles);
    detailed(&mut fields, &data.system, data.is_scaled);
    integers(minor, data.ended_at, &fields)
}

pub fn processors(minor: u32, data: &CpiData) -> Vec<u8> {
    let mut fields = Fields::default();
    fields.word("kinds", if data.is_scaled { 3 } else { 1 });
    fields.word("num_cpus", data.processors.len() as u64);
    fields.long("elapsed hi", "elapsed lo", data.elapsed_cycles);
    for ProcessorData { measured, .. } in &data.processors {
        detailed(&mut fields, measured, data.is_scaled);
    }
    integers(minor, data.ended_at, &fields)
}

pub fn thread(minor: u32, data: &CpiData, thread: &Counts) -> Vec<u8> {
    let mut fields = Fields::default();
    fields.word("tid", u64::from(data.tid));
    fields.long("elapsed hi", "elapsed lo", data.elapsed_cycles);
    fields.long("instr hi", "instr lo", thread.instructions);
    fields.long("cycles hi", "cycles lo", thread.cycles);
    fields.ratio("cpi", "cpi frac", thread.cycles, thread.instructions);
    integers(minor, data.ended_at, &fields)
}

/// All hooks of a measurement, in order.
pub fn hooks(
    data: &CpiData,
    minor: u8,
    has_summary: bool,
    has_detailed: bool,
    text: Option<&str>,
) -> Vec<u8> {
    let minor = u32::from(minor);
    let mut bytes = Vec::new();
    if let Some(text) = text {
        bytes.extend(label(minor, data, text.as_bytes()));
    }
    if has_summary {
        bytes.extend(summary(0x1000_0000 + minor, data));
    }
    if has_detailed {
        if !data.processors.is_empty() {
            bytes.extend(system(0x8000_0000 + minor, data));
            bytes.extend(processors(0x4000_0000 + minor, data));
        }
        if let Some(counts) = &data.thread {
            bytes.extend(thread(0x2000_0000 + minor, data, counts));
        }
    }
    if let Some(text) = text {
        bytes.extend(label(0xF000_0000 + minor, data, text.as_bytes()));
    }
    bytes
}

/// A section: its header and these records.
pub fn section(start_time: u64, stop_time: u64, records: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER];
    let mut put = |offset: usize, field: &[u8]| bytes[offset..][..field.len()].copy_from_slice(field);
    put(0, b"NRM2");
    put(4, &0x0403_0201u32.to_le_bytes()); // byte order
    put(8, &[0x0A]); // guard
    put(12, &512u32.to_le_bytes()); // header size
    put(16, &(records.len() as u32).to_le_bytes()); // bytes of data
    put(24, &0u32.to_le_bytes()); // processor
    put(28, &0u32.to_le_bytes()); // if not 0, records of type 1 have no time stamp
    put(32, &0u32.to_le_bytes()); // collection mode
    put(36, &start_time.to_le_bytes());
    put(44, &stop_time.to_le_bytes());
    put(52, &0u32.to_le_bytes()); // metrics
    put(56, &0u32.to_le_bytes()); // if not 0, records were lost
    put(60, &1u32.to_le_bytes()); // number of processors with sections
    put(68, &0x64u32.to_le_bytes()); // 64-bit Linux
    bytes.extend(records);
    bytes
}

/// A small file with every kind of hook.
pub fn small_file() -> Vec<u8> {
    let data = data(2, true, true);
    section(ENDED_AT, ENDED_AT, &hooks(&data, 7, true, true, Some("begin ü")))
}

//! Decodes a record's data.

use super::hook::{
    DetailedScaled, DetailedValues, HookKind, Kinds, Label, Processors, Summary, SummaryScaled,
    SummaryValues, System, Thread,
};
use super::raw::{INTEGERS, INTEGERS_AND_STRINGS, kind};
use super::{Decimal, Problem};

/// Size of an integer in bytes.
const INTEGER_BYTES: usize = 8;

/// Decodes a CPI hook. `offset` is the offset of the data, which follows the record's header.
pub(super) fn hook(record_type: u16, minor: u32, data: &[u8], offset: u64) -> Result<HookKind, Problem> {
    let hook_kind = minor >> 28;
    let is_label = match hook_kind {
        kind::LABEL_START | kind::LABEL_END => true,
        kind::SUMMARY | kind::THREAD | kind::PROCESSORS | kind::SYSTEM => false,
        _ => return Err(unknown_minor(minor, offset)),
    };
    if minor & 0x0FFF_FF00 != 0 {
        return Err(unknown_minor(minor, offset));
    }
    let expected = if is_label { INTEGERS_AND_STRINGS } else { INTEGERS };
    if record_type != expected {
        return Err(Problem::new(offset - 16, "the hook has another type; it is ignored")
            .found(record_type, expected.to_string()));
    }
    if is_label {
        let label = label(data, offset)?;
        let is_start = hook_kind == kind::LABEL_START;
        return Ok(if is_start { HookKind::LabelStart(label) } else { HookKind::LabelEnd(label) });
    }
    if !data.len().is_multiple_of(INTEGER_BYTES) {
        return Err(Problem::new(offset, "the hook's data is cut inside a word; it is ignored")
            .found(format!("{} bytes", data.len()), "a multiple of 8"));
    }
    let mut words = Words { data, offset };
    Ok(match hook_kind {
        kind::SUMMARY => HookKind::Summary(summary(&mut words)?),
        kind::THREAD => HookKind::Thread(thread(&mut words)?),
        kind::PROCESSORS => HookKind::Processors(processors(&mut words)?),
        _ => HookKind::System(system(&mut words)?),
    })
}

fn unknown_minor(minor: u32, offset: u64) -> Problem {
    Problem::new(offset - 12, "no hook of CPI has this minor code; it is ignored")
        .found(format!("{minor:#010x}"), "0x000000mm, 0x1..., 0x2..., 0x4..., 0x8... or 0xf...")
}

/// The data of a hook that has not been decoded yet: words of 32 bits, each stored in 8 bytes.
struct Words<'a> {
    data: &'a [u8],
    offset: u64,
}

impl Words<'_> {
    fn left(&self) -> u64 {
        (self.data.len() / INTEGER_BYTES) as u64
    }

    /// Checks that exactly this many words are left.
    fn expect(&self, words: u64) -> Result<(), Problem> {
        if self.left() == words {
            return Ok(());
        }
        Err(Problem::new(self.offset, "the hook has an unexpected number of words; it is ignored")
            .found(self.left(), words.to_string()))
    }

    /// Checks that at least this many words are left.
    fn expect_at_least(&self, words: u64) -> Result<(), Problem> {
        if self.left() >= words {
            return Ok(());
        }
        Err(Problem::new(self.offset, "the hook has too few words; it is ignored")
            .found(self.left(), format!("at least {words}")))
    }

    /// The word at this position after the current one.
    fn word_at(&self, index: usize) -> Result<u32, Problem> {
        let offset = self.offset + (INTEGER_BYTES * index) as u64;
        let integer = integer(self.data.get(INTEGER_BYTES * index..).unwrap_or_default(), offset)?;
        u32::try_from(integer).map_err(|_| {
            Problem::new(offset, "a word has more than 32 bits; the hook is ignored")
                .found(format!("{integer:#x}"), "at most 0xffffffff")
        })
    }

    fn word(&mut self) -> Result<u32, Problem> {
        let word = self.word_at(0)?;
        self.data = &self.data[INTEGER_BYTES..];
        self.offset += INTEGER_BYTES as u64;
        Ok(word)
    }

    /// A 64-bit value: its high word, then its low word.
    fn long(&mut self) -> Result<u64, Problem> {
        let high = self.word()?;
        let low = self.word()?;
        Ok(u64::from(high) << 32 | u64::from(low))
    }

    fn decimal(&mut self) -> Result<Decimal, Problem> {
        let integral = self.word()?;
        let offset = self.offset;
        let fraction = self.word()?;
        if fraction < Decimal::PARTS {
            return Ok(Decimal { integral, fraction });
        }
        Err(Problem::new(offset, "a fraction is not below one; the hook is ignored")
            .found(fraction, "at most 9999"))
    }

    /// The word at this position, decoded as [`Kinds`]; an error if it has bits other than `known`.
    fn kinds_at(&self, index: usize, known: u32) -> Result<Kinds, Problem> {
        let bits = self.word_at(index)?;
        if bits & !known == 0 {
            return Ok(Kinds::from_bits(bits));
        }
        let offset = self.offset + (INTEGER_BYTES * index) as u64;
        Err(Problem::new(offset, "the hook has unknown kinds of data; it is ignored")
            .found(format!("{bits:#x}"), format!("bits of {known:#x}")))
    }

    fn detailed(&mut self, is_scaled: bool) -> Result<DetailedValues, Problem> {
        let (instructions, cycles, cpi) = (self.long()?, self.long()?, self.decimal()?);
        let scaled = if is_scaled {
            let (cycles, cpi, busy_percent) = (self.long()?, self.decimal()?, self.decimal()?);
            Some(DetailedScaled { cycles, cpi, busy_percent })
        } else {
            None
        };
        Ok(DetailedValues { instructions, cycles, cpi, scaled })
    }
}

fn summary(words: &mut Words<'_>) -> Result<Summary, Problem> {
    words.expect_at_least(6)?;
    let kinds = words.kinds_at(0, Kinds::RAW | Kinds::SCALED | Kinds::THREAD)?;
    let count = words.word_at(1)?;
    let words_per_processor = if kinds.scaled { 6 } else { 2 };
    let system_words = words_per_processor;
    let thread_words = if kinds.thread { 2 } else { 0 };
    words.expect(4 + words_per_processor * u64::from(count) + system_words + thread_words)?;
    words.word()?;
    words.word()?;
    let elapsed_cycles = words.long()?;
    let mut processors = Vec::with_capacity(count as usize);
    for _ in 0..count {
        processors.push(SummaryValues { raw_cpi: words.decimal()?, scaled: None });
    }
    let mut system = SummaryValues { raw_cpi: words.decimal()?, scaled: None };
    if kinds.scaled {
        for values in processors.iter_mut().chain([&mut system]) {
            let (cpi, busy_percent) = (words.decimal()?, words.decimal()?);
            values.scaled = Some(SummaryScaled { cpi, busy_percent });
        }
    }
    let thread_cpi = if kinds.thread { Some(words.decimal()?) } else { None };
    Ok(Summary { kinds, elapsed_cycles, processors, system, thread_cpi })
}

fn system(words: &mut Words<'_>) -> Result<System, Problem> {
    words.expect_at_least(9)?;
    let kinds = words.kinds_at(0, Kinds::RAW | Kinds::SCALED)?;
    words.expect(if kinds.scaled { 15 } else { 9 })?;
    words.word()?;
    Ok(System { kinds, elapsed_cycles: words.long()?, values: words.detailed(kinds.scaled)? })
}

fn processors(words: &mut Words<'_>) -> Result<Processors, Problem> {
    words.expect_at_least(4)?;
    let kinds = words.kinds_at(0, Kinds::RAW | Kinds::SCALED)?;
    let count = words.word_at(1)?;
    let words_per_processor = if kinds.scaled { 12 } else { 6 };
    words.expect(4 + words_per_processor * u64::from(count))?;
    words.word()?;
    words.word()?;
    let elapsed_cycles = words.long()?;
    let mut processors = Vec::with_capacity(count as usize);
    for _ in 0..count {
        processors.push(words.detailed(kinds.scaled)?);
    }
    Ok(Processors { kinds, elapsed_cycles, processors })
}

fn thread(words: &mut Words<'_>) -> Result<Thread, Problem> {
    words.expect(9)?;
    Ok(Thread {
        tid: words.word()?,
        elapsed_cycles: words.long()?,
        instructions: words.long()?,
        cycles: words.long()?,
        cpi: words.decimal()?,
    })
}

/// Decodes a label: the number of integers (2), the integers, the length of a string, its bytes, padding.
fn label(data: &[u8], offset: u64) -> Result<Label, Problem> {
    let count = integer(data, offset)?;
    if count != 2 {
        return Err(Problem::new(offset, "the label has an unexpected number of integers; it is ignored")
            .found(count, "2"));
    }
    let index = INTEGER_BYTES * 3;
    let length_offset = offset + index as u64;
    let text = data.get(index..).unwrap_or_default();
    let length = integer(text, length_offset)?;
    let elapsed_cycles =
        Words { data: &data[INTEGER_BYTES..index], offset: offset + INTEGER_BYTES as u64 }.long()?;
    let text = &text[INTEGER_BYTES..];
    let padded = length.checked_next_multiple_of(INTEGER_BYTES as u64);
    if padded != Some(text.len() as u64) {
        return Err(Problem::new(length_offset, "the label does not fill its record; it is ignored")
            .found(format!("a length of {length} bytes"), format!("one that pads to {}", text.len())));
    }
    Ok(Label { elapsed_cycles, bytes: text[..length as usize].into() })
}

/// The first integer of these bytes.
fn integer(data: &[u8], offset: u64) -> Result<u64, Problem> {
    match data.first_chunk() {
        Some(bytes) => Ok(u64::from_le_bytes(*bytes)),
        None => Err(Problem::new(offset, "the hook ends before its data; it is ignored")
            .found(format!("{} bytes", data.len()), "8")),
    }
}

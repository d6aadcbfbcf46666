//! A record's data as a hook.

use super::hook::{
    DetailedScaled, DetailedValues, HookKind, Kinds, Label, Processors, Summary, SummaryScaled,
    SummaryValues, System, Thread,
};
use super::raw::{INTEGERS, INTEGERS_AND_STRINGS, kind};
use super::{Decimal, TraceProblem};

/// Bytes of an integer.
const INTEGER: usize = 8;

/// The hook of a record of this facility. `offset` is that of the data, which follows the record's header.
pub(super) fn hook(record_type: u16, minor: u32, data: &[u8], offset: u64) -> Result<HookKind, TraceProblem> {
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
        return Err(TraceProblem::new(offset - 16, "the hook has another type; it is left out")
            .found(record_type, expected.to_string()));
    }
    if is_label {
        let label = label(data, offset)?;
        let is_start = hook_kind == kind::LABEL_START;
        return Ok(if is_start { HookKind::LabelStart(label) } else { HookKind::LabelEnd(label) });
    }
    if !data.len().is_multiple_of(INTEGER) {
        return Err(TraceProblem::new(offset, "the hook's data is cut inside a word; it is left out")
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

fn unknown_minor(minor: u32, offset: u64) -> TraceProblem {
    TraceProblem::new(offset - 12, "no hook of CPI has this minor code; it is left out")
        .found(format!("{minor:#010x}"), "0x000000mm, 0x1..., 0x2..., 0x4..., 0x8... or 0xf...")
}

/// The words of a hook that are not read yet.
struct Words<'a> {
    data: &'a [u8],
    offset: u64,
}

impl Words<'_> {
    fn left(&self) -> u64 {
        (self.data.len() / INTEGER) as u64
    }

    /// There are this many words.
    fn expect(&self, words: u64) -> Result<(), TraceProblem> {
        if self.left() == words {
            return Ok(());
        }
        Err(TraceProblem::new(self.offset, "the hook has another number of words; it is left out")
            .found(self.left(), words.to_string()))
    }

    /// There are so many words at least: those that say how many there are.
    fn expect_at_least(&self, words: u64) -> Result<(), TraceProblem> {
        if self.left() >= words {
            return Ok(());
        }
        Err(TraceProblem::new(self.offset, "the hook has too few words; it is left out")
            .found(self.left(), format!("at least {words}")))
    }

    /// The word at this place from here on.
    fn word_at(&self, place: usize) -> Result<u32, TraceProblem> {
        let offset = self.offset + (INTEGER * place) as u64;
        let integer = integer(self.data.get(INTEGER * place..).unwrap_or_default(), offset)?;
        u32::try_from(integer).map_err(|_| {
            TraceProblem::new(offset, "a word has more than 32 bits; the hook is left out")
                .found(format!("{integer:#x}"), "at most 0xffffffff")
        })
    }

    fn word(&mut self) -> Result<u32, TraceProblem> {
        let word = self.word_at(0)?;
        self.data = &self.data[INTEGER..];
        self.offset += INTEGER as u64;
        Ok(word)
    }

    /// A 64-bit value: its high word, then its low word.
    fn long(&mut self) -> Result<u64, TraceProblem> {
        let high = self.word()?;
        let low = self.word()?;
        Ok(u64::from(high) << 32 | u64::from(low))
    }

    fn decimal(&mut self) -> Result<Decimal, TraceProblem> {
        let integral = self.word()?;
        let offset = self.offset;
        let fraction = self.word()?;
        if fraction < Decimal::PARTS {
            return Ok(Decimal { integral, fraction });
        }
        Err(TraceProblem::new(offset, "a fraction is not below one; the hook is left out")
            .found(fraction, "at most 9999"))
    }

    /// The word at this place as kinds.
    fn kinds_at(&self, place: usize, known: u32) -> Result<Kinds, TraceProblem> {
        let bits = self.word_at(place)?;
        if bits & !known == 0 {
            return Ok(Kinds::of_bits(bits));
        }
        let offset = self.offset + (INTEGER * place) as u64;
        Err(TraceProblem::new(offset, "the hook has unknown kinds of data; it is left out")
            .found(format!("{bits:#x}"), format!("bits of {known:#x}")))
    }

    fn detailed(&mut self, is_scaled: bool) -> Result<DetailedValues, TraceProblem> {
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

fn summary(words: &mut Words<'_>) -> Result<Summary, TraceProblem> {
    words.expect_at_least(6)?;
    let kinds = words.kinds_at(0, Kinds::RAW | Kinds::SCALED | Kinds::THREAD)?;
    let count = words.word_at(1)?;
    let per_processor = if kinds.scaled { 6 } else { 2 };
    let of_system = per_processor;
    let of_thread = if kinds.thread { 2 } else { 0 };
    words.expect(4 + per_processor * u64::from(count) + of_system + of_thread)?;
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

fn system(words: &mut Words<'_>) -> Result<System, TraceProblem> {
    words.expect_at_least(9)?;
    let kinds = words.kinds_at(0, Kinds::RAW | Kinds::SCALED)?;
    words.expect(if kinds.scaled { 15 } else { 9 })?;
    words.word()?;
    Ok(System { kinds, elapsed_cycles: words.long()?, values: words.detailed(kinds.scaled)? })
}

fn processors(words: &mut Words<'_>) -> Result<Processors, TraceProblem> {
    words.expect_at_least(4)?;
    let kinds = words.kinds_at(0, Kinds::RAW | Kinds::SCALED)?;
    let count = words.word_at(1)?;
    let per_processor = if kinds.scaled { 12 } else { 6 };
    words.expect(4 + per_processor * u64::from(count))?;
    words.word()?;
    words.word()?;
    let elapsed_cycles = words.long()?;
    let mut processors = Vec::with_capacity(count as usize);
    for _ in 0..count {
        processors.push(words.detailed(kinds.scaled)?);
    }
    Ok(Processors { kinds, elapsed_cycles, processors })
}

fn thread(words: &mut Words<'_>) -> Result<Thread, TraceProblem> {
    words.expect(9)?;
    Ok(Thread {
        tid: words.word()?,
        elapsed_cycles: words.long()?,
        instructions: words.long()?,
        cycles: words.long()?,
        cpi: words.decimal()?,
    })
}

/// A count of integers (2), those, the length of a string, its bytes, padding.
fn label(data: &[u8], offset: u64) -> Result<Label, TraceProblem> {
    let count = integer(data, offset)?;
    if count != 2 {
        return Err(TraceProblem::new(offset, "the label has another number of integers; it is left out")
            .found(count, "2"));
    }
    let place = INTEGER * 3;
    let length_offset = offset + place as u64;
    let text = data.get(place..).unwrap_or_default();
    let length = integer(text, length_offset)?;
    let elapsed_cycles = Words { data: &data[INTEGER..place], offset: offset + INTEGER as u64 }.long()?;
    let text = &text[INTEGER..];
    let padded = length.checked_next_multiple_of(INTEGER as u64);
    if padded != Some(text.len() as u64) {
        return Err(TraceProblem::new(length_offset, "the label does not fill its record; it is left out")
            .found(format!("a length of {length} bytes"), format!("one that pads to {}", text.len())));
    }
    Ok(Label { elapsed_cycles, bytes: text[..length as usize].into() })
}

/// The integer that these bytes begin with.
fn integer(data: &[u8], offset: u64) -> Result<u64, TraceProblem> {
    match data.first_chunk() {
        Some(bytes) => Ok(u64::from_le_bytes(*bytes)),
        None => Err(TraceProblem::new(offset, "the hook ends before its data does; it is left out")
            .found(format!("{} bytes", data.len()), "8")),
    }
}

//! The columns of a row that describe its counter, as JSON.

use std::io;
use std::sync::Arc;

use tachograph_counters::set::Counter;

use super::json_line::write_text;

/// Maximum number of texts that are kept.
const MAX_KNOWN: usize = 256;

/// The texts of the last counters. Generating a text takes longer than writing it, and the rows of consecutive instances
/// usually have the same counters.
#[derive(Default)]
pub(super) struct CounterTexts {
    known_texts: Vec<CounterText>,
    /// The index of the text after the last one that was returned.
    next_index: usize,
}

struct CounterText {
    counter: Counter,
    /// The columns `counter`, `type` and `unit`.
    text: Vec<u8>,
}

impl CounterText {
    fn describes(&self, counter: &Counter) -> bool {
        let Counter { name, english_name, counter_type, described_unit, .. } = &self.counter;
        Arc::ptr_eq(name, &counter.name)
            && *counter_type == counter.counter_type
            && (english_name, described_unit) == (&counter.english_name, &counter.described_unit)
    }
}

impl CounterTexts {
    /// The columns `counter`, `type` and `unit` of a counter, with a comma before each.
    pub(super) fn get(&mut self, counter: &Counter) -> io::Result<&[u8]> {
        let (before, after) = self.known_texts.split_at(self.next_index.min(self.known_texts.len()));
        let found = after.iter().chain(before).position(|known| known.describes(counter));
        let index = match found {
            Some(distance) => (before.len() + distance) % self.known_texts.len(),
            None => {
                if self.known_texts.len() == MAX_KNOWN {
                    self.known_texts.clear();
                }
                self.known_texts.push(CounterText { counter: counter.clone(), text: text_of(counter)? });
                self.known_texts.len() - 1
            }
        };
        self.next_index = index + 1;
        Ok(&self.known_texts[index].text)
    }
}

fn text_of(counter: &Counter) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    write_text(&mut text, ",\"counter\":", &counter.name)?;
    write_text(&mut text, ",\"type\":", &counter.counter_type.to_string())?;
    write_text(&mut text, ",\"unit\":", &counter.unit())?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use tachograph_counters::CounterType;

    use super::*;

    #[test]
    fn each_counter_has_its_text() {
        let counter = |name: &str, counter_type| Counter::new(name, counter_type, 1);
        let mut counters: Vec<_> = (0..2 * MAX_KNOWN)
            .map(|index| counter(&index.to_string(), CounterType::LARGE_RAWCOUNT))
            .collect();
        // Differs only in one attribute from another counter.
        counters.push(Counter { counter_type: CounterType::BULK_COUNT, ..counters[0].clone() });
        counters.push(Counter { english_name: Some("Bytes".into()), ..counters[0].clone() });
        counters.push(Counter { described_unit: Some("W".into()), ..counters[0].clone() });
        let mut texts = CounterTexts::default();
        let few = [0, 1, 2, 0, 1, 2, 2, 1, 512, 513, 514, 0];
        for index in few.into_iter().chain(0..counters.len()).chain(few) {
            let expected = text_of(&counters[index]).expect("JSON");
            assert_eq!(texts.get(&counters[index]).expect("JSON"), expected);
            assert!(texts.known_texts.len() <= MAX_KNOWN);
        }
    }
}

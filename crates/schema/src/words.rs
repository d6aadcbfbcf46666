//! How attributes of counter sets and counters are written in manifests and in `#[derive(CounterSet)]`.
//!
//! [`SET_ATTRIBUTES`] and [`COUNTER_ATTRIBUTES`] are the only definitions of these attributes. They are used to parse
//! manifests and `#[derive(CounterSet)]`, and to generate code from manifests.

pub use crate::counter_set::{COUNTER_ATTRIBUTES, SET_ATTRIBUTES};

/// Where an attribute is written. The two notations can use different words for the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// An attribute of an XML element.
    Manifest,
    /// A key of `#[counter_set(...)]` or `#[counter(...)]`.
    Derive,
}

/// A list of `(word in manifests, word in #[derive(CounterSet)], value)`. A value with an empty word cannot be written in
/// that notation.
pub(crate) struct Words<V: 'static>(pub(crate) &'static [(&'static str, &'static str, V)]);

impl<V: Copy + PartialEq> Words<V> {
    pub(crate) fn parse(&self, text: &str, notation: Notation) -> Result<V, String> {
        let word = |&(manifest, derive, _): &(&'static str, &'static str, V)| match notation {
            Notation::Manifest => manifest,
            Notation::Derive => derive,
        };
        let known = || self.0.iter().filter(|known| !word(known).is_empty());
        let found = known().find(|known| word(known) == text);
        found.map(|(.., value)| *value).ok_or_else(|| {
            let words: Vec<_> = known().map(word).collect();
            format!("one of {}", words.join(", "))
        })
    }

    /// The word of a value in `#[derive(CounterSet)]`; empty for a value without a word.
    pub(crate) fn derive_word(&self, value: V) -> String {
        self.0.iter().find(|(.., known)| *known == value).map_or("", |(_, word, _)| word).to_owned()
    }
}

/// An attribute of a `T`: its names, and how it is parsed and written.
pub struct Attribute<T: 'static> {
    /// The name in manifests; `None` if manifests cannot set the attribute.
    pub(crate) manifest: Option<&'static str>,
    /// The key in `#[derive(CounterSet)]`.
    pub(crate) derive: &'static str,
    /// Whether the value in `#[derive(CounterSet)]` is a number, not a string literal.
    pub is_number: bool,
    /// Parses a value and stores it in the `T`.
    pub(crate) parse: fn(&mut T, &str, Notation) -> Result<(), String>,
    /// Writes the value as `#[derive(CounterSet)]` needs it.
    pub(crate) derive_text: fn(&T) -> String,
}

impl<T> Attribute<T> {
    /// The name of the attribute in a notation; `None` if it cannot be written there.
    pub fn name(&self, notation: Notation) -> Option<&'static str> {
        match notation {
            Notation::Manifest => self.manifest,
            Notation::Derive => Some(self.derive),
        }
    }

    /// Parses `text` and sets the attribute of `info`.
    ///
    /// # Errors
    ///
    /// A description of what was expected, if `text` is invalid. The attribute is not changed then.
    pub fn parse(&self, info: &mut T, text: &str, notation: Notation) -> Result<(), String> {
        (self.parse)(info, text, notation)
    }

    /// The value of the attribute as written in `#[derive(CounterSet)]`.
    pub fn derive_text(&self, info: &T) -> String {
        (self.derive_text)(info)
    }
}

pub(crate) const DETAIL_LEVELS: Words<u32> =
    Words(&[("standard", "standard", 100), ("advanced", "advanced", 200)]);

/// Defines an attribute: `attribute!(name in manifests, key in the derive macro, field)` for a field that can contain
/// any string. For a field with a fixed set of values, the fourth argument lists their [`Words`].
macro_rules! attribute {
    ($manifest:expr, $derive:literal, $field:ident) => {
        $crate::words::Attribute {
            manifest: $manifest,
            derive: $derive,
            is_number: false,
            parse: |info, text, _| {
                info.$field = $crate::Text::from(text.to_owned());
                Ok(())
            },
            derive_text: |info| info.$field.clone().into_owned(),
        }
    };
    ($manifest:expr, $derive:literal, $field:ident, $words:expr) => {
        $crate::words::Attribute {
            manifest: $manifest,
            derive: $derive,
            is_number: false,
            parse: |info, text, notation| {
                info.$field = $words.parse(text, notation)?;
                Ok(())
            },
            derive_text: |info| $words.derive_word(info.$field),
        }
    };
}

pub(crate) use attribute;

#[cfg(test)]
mod tests {
    use super::{COUNTER_ATTRIBUTES, Notation};
    use crate::{Aggregate, CounterInfo, CounterType};

    #[test]
    fn a_value_without_a_derive_word_can_be_written_in_manifests_only() {
        let mut info = CounterInfo::new(1, "Open", CounterType::RAWCOUNT);
        info.set("aggregate", "sum").unwrap();
        for text in ["undefined", ""] {
            let expected = "one of sum, avg, max, min".to_owned();
            assert_eq!(info.set("aggregate", text), Err(expected), "'{text}'");
        }
        assert_eq!(info.aggregate, Aggregate::Total);
        let aggregate = COUNTER_ATTRIBUTES.iter().find(|attribute| attribute.derive == "aggregate");
        aggregate.unwrap().parse(&mut info, "undefined", Notation::Manifest).unwrap();
        assert_eq!(info.aggregate, Aggregate::Undefined);
    }
}

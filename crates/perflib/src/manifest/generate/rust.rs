//! Generates Rust code: one struct with `#[derive(CounterSet)]` per counter set.

use std::collections::HashMap;
use std::fmt::Write as _;

use tachograph_counters::CounterType as T;
use tachograph_counters::wildcard::fold_case;
use tachograph_schema::words::{Attribute, COUNTER_ATTRIBUTES, Notation, SET_ATTRIBUTES};

use super::super::model::{Counter, CounterSet, Manifest, Provider};
use super::super::types::{takes_base, word_of};
use super::GenerateError;
use super::names::{Names, camel_case, rust_identifier, snake_case};
use crate::registration::{Attributes, CounterInfo};

/// Maximum length of a line with attributes.
const MAX_LINE: usize = 110;

/// Generates a struct for each counter set, for the crate `tachograph-publish`. Struct names are derived from the sets'
/// symbols, field names from the counters' symbols or names. If a base belongs to only one average or fraction, it
/// shares the field of that counter; other bases have their own fields. Counters without a name get a generated name.
///
/// The attribute `reference` is ignored, because the values are stored in the struct.
///
/// # Errors
///
/// A counter has a text type.
pub fn rust(manifest: &Manifest) -> Result<String, GenerateError> {
    let provider = &manifest.provider;
    let file = manifest.file.file_name().unwrap_or_default().to_string_lossy();
    let mut out = format!(
        "// Counter sets of {}. Generated: changes are lost.\n",
        doc_text(&file).unwrap_or("a manifest")
    );
    let mut names = Names::default();
    for set in &provider.counter_sets {
        let name = names.unique_name(&rust_identifier(camel_case(&set.symbol), "Counters"));
        write_struct(&mut out, provider, set, &name)?;
    }
    Ok(out)
}

fn write_struct(
    out: &mut String,
    provider: &Provider,
    set: &CounterSet,
    name: &str,
) -> Result<(), GenerateError> {
    let mut keys = vec![text_key("name", &set.info.name)];
    keys.push(format!("guid = \"{}\"", set.info.guid));
    keys.push(format!("provider_guid = \"{}\"", provider.guid.value));
    keys.push(text_key("provider", &provider.name));
    keys.extend(SET_ATTRIBUTES.iter().filter_map(|attribute| key_of(attribute, &set.info)));
    // Writing to a string cannot fail.
    let _ = writeln!(out);
    write_help(out, "", &set.info.help, &set.info.name, &mut keys);
    let _ = writeln!(out, "#[derive(::tachograph_publish::CounterSet)]");
    write_attribute(out, "", "counter_set", &keys);
    let _ = writeln!(out, "pub struct {name} {{");
    let fields = Fields::new(set);
    for (index, counter) in set.counters.iter().enumerate() {
        fields.write_field(out, index, counter)?;
    }
    let _ = writeln!(out, "}}");
    Ok(())
}

/// The fields of a generated struct.
struct Fields<'a> {
    set: &'a CounterSet,
    /// For each counter, the names of its field and of the counter.
    names: Vec<(String, String)>,
    /// The indexes of counters, by id.
    indexes: HashMap<u32, usize>,
    /// For each counter, the number of counters that it is a companion of.
    uses: Vec<u32>,
    /// For each counter, whether it is a base that shares the field of its counter.
    shares_field: Vec<bool>,
}

impl<'a> Fields<'a> {
    fn new(set: &'a CounterSet) -> Self {
        let indexes: HashMap<_, _> =
            set.counters.iter().enumerate().map(|(index, counter)| (counter.info.id, index)).collect();
        let mut uses = vec![0; set.counters.len()];
        let companions = |counter: &Counter| counter.info.companions();
        for index in set.counters.iter().flat_map(companions).filter_map(|id| indexes.get(&id)) {
            uses[*index] += 1;
        }
        let shares_field = vec![false; set.counters.len()];
        let mut fields = Self { set, names: names_of(set), indexes, uses, shares_field };
        for base in
            set.counters.iter().filter_map(|counter| fields.base_in_field(counter)).collect::<Vec<_>>()
        {
            fields.shares_field[base] = true;
        }
        fields
    }

    /// The index of the base that shares a counter's field. `None` if another counter uses the base, or if no field type holds
    /// both the counter's value and its base.
    fn base_in_field(&self, counter: &Counter) -> Option<usize> {
        pair_field(counter.info.counter_type)?;
        let index = *self.indexes.get(&counter.info.base_id?)?;
        (self.uses[index] == 1).then_some(index)
    }

    /// Writes the field of a counter; nothing if the counter is a base that shares the field of another counter.
    fn write_field(&self, out: &mut String, index: usize, counter: &Counter) -> Result<(), GenerateError> {
        if self.shares_field[index] {
            return Ok(());
        }
        let (field, name) = &self.names[index];
        let mut keys = vec![text_key("name", name), format!("id = {}", counter.info.id)];
        let field_type = match self.base_in_field(counter) {
            Some(base) => {
                keys.push(text_key("base", &self.names[base].1));
                keys.push(format!("base_id = {}", self.set.counters[base].info.id));
                pair_field(counter.info.counter_type).unwrap_or("Counter")
            }
            None => self.plain_field(counter, &mut keys)?,
        };
        self.push_display_keys(counter, &mut keys);
        write_help(out, "    ", &counter.info.help, name, &mut keys);
        write_attribute(out, "    ", "counter", &keys);
        let _ = writeln!(out, "    pub {field}: ::tachograph_publish::{field_type},");
        Ok(())
    }

    /// The type of a field with a single number. Adds the keys that it needs.
    fn plain_field(&self, counter: &Counter, keys: &mut Vec<String>) -> Result<&'static str, GenerateError> {
        let (field_type, default) = match counter.info.counter_type {
            T::TEXT => {
                let name = &counter.info.name;
                return Err(GenerateError::new(format!(
                    "counter '{name}' has a text type, but fields hold numbers"
                )));
            }
            T::RAWCOUNT
            | T::LARGE_RAWCOUNT
            | T::RAWCOUNT_HEX
            | T::LARGE_RAWCOUNT_HEX
            | T::ELAPSED_TIME
            | T::RAW_FRACTION
            | T::LARGE_RAW_FRACTION => ("Gauge", T::LARGE_RAWCOUNT),
            _ => ("Counter", T::BULK_COUNT),
        };
        if counter.info.counter_type != default {
            keys.push(format!("type = \"{}\"", word_of(counter.info.counter_type)));
        }
        let [base, time, frequency, multiplier] =
            counter.info.counter_type.companions().map(|needed| needed.is_some());
        // The derive macro rejects a companion that the type does not need.
        let roles = [
            ("base", counter.info.base_id, base || takes_base(counter.info.counter_type)),
            ("time", counter.info.time_id, time),
            ("frequency", counter.info.frequency_id, frequency),
            ("multiplier", counter.info.multiplier_id, multiplier),
        ];
        for (key, id, is_allowed) in roles {
            if let Some(index) = id.filter(|_| is_allowed).and_then(|id| self.indexes.get(&id)) {
                keys.push(format!("{key} = {}", self.names[*index].0));
            }
        }
        Ok(field_type)
    }

    /// Adds the keys for display and other attributes that differ from the defaults.
    fn push_display_keys(&self, counter: &Counter, keys: &mut Vec<String>) {
        let plain = CounterInfo::new(0, "", counter.info.counter_type);
        keys.extend(COUNTER_ATTRIBUTES.iter().filter_map(|attribute| {
            let key = key_of(attribute, &counter.info)?;
            (attribute.derive_text(&counter.info) != attribute.derive_text(&plain)).then_some(key)
        }));
        let known = Attributes::WORDS.iter().filter(|(_, word, _)| !word.is_empty());
        let display: Vec<_> = known
            .filter(|(.., attribute)| counter.info.attributes.has(*attribute))
            .map(|(_, word, _)| *word)
            .collect();
        if !display.is_empty() {
            keys.push(format!("display = \"{}\"", display.join(", ")));
        }
        if counter.info.attributes.has(Attributes::NO_DISPLAYABLE) {
            keys.push("no_display".to_owned());
        }
    }
}

/// An attribute as a key with its value. `None` for help texts, which become doc comments, and for attributes that are
/// not in both notations.
fn key_of<T>(attribute: &Attribute<T>, info: &T) -> Option<String> {
    attribute.name(Notation::Manifest)?;
    let (key, text) = (attribute.name(Notation::Derive)?, attribute.derive_text(info));
    match key {
        "help" => None,
        _ if attribute.is_number => Some(format!("{key} = {text}")),
        _ => Some(text_key(key, &text)),
    }
}

/// The field type that holds a value of this counter type together with its base.
fn pair_field(counter_type: T) -> Option<&'static str> {
    match counter_type {
        T::AVERAGE_TIMER => Some("Timer"),
        T::AVERAGE_BULK => Some("Average"),
        T::SAMPLE_FRACTION => Some("Fraction"),
        T::RAW_FRACTION => Some("Ratio"),
        _ => None,
    }
}

/// The names of fields and counters. A counter without a name is named after the counter whose base it is, or after
/// its id.
fn names_of(set: &CounterSet) -> Vec<(String, String)> {
    let mut fields = Names::default();
    let named_counters = || set.counters.iter().filter(|counter| !counter.info.name.is_empty());
    let mut used: std::collections::HashSet<String> =
        named_counters().map(|counter| fold_case(&counter.info.name)).collect();
    let bases: HashMap<u32, &str> =
        named_counters().filter_map(|counter| Some((counter.info.base_id?, &*counter.info.name))).collect();
    let mut names = Vec::new();
    for counter in &set.counters {
        let name = match (&*counter.info.name, bases.get(&counter.info.id)) {
            (name, _) if !name.is_empty() => name.to_owned(),
            (_, base_of) => {
                let from_base = base_of.map(|counter| format!("{counter} Base"));
                let from_id = std::iter::successors(Some(format!("Counter {}", counter.info.id)), |name| {
                    Some(format!("{name}_"))
                });
                let mut unused =
                    from_base.into_iter().chain(from_id).filter(|name| used.insert(fold_case(name)));
                unused.next().unwrap_or_default()
            }
        };
        let from_symbol =
            counter.symbol.as_deref().map(|symbol| snake_case(without_set(symbol, &set.symbol)));
        let field = from_symbol.filter(|field| !field.is_empty()).unwrap_or_else(|| snake_case(&name));
        let field = rust_identifier(field, &format!("counter_{}", counter.info.id));
        names.push((fields.unique_name(&field), name));
    }
    names
}

/// A counter's symbol without the prefix that is its set's symbol: in the set `Shop`, `ShopRequests` becomes
/// `Requests`.
fn without_set<'a>(symbol: &'a str, set: &str) -> &'a str {
    match symbol.strip_prefix(set) {
        Some(rest) if rest.starts_with(|c: char| c == '_' || c.is_ascii_uppercase()) => rest,
        _ => symbol,
    }
}

fn text_key(key: &str, text: &str) -> String {
    // `Debug` writes a valid Rust literal, with invisible characters escaped.
    format!("{key} = {text:?}")
}

/// Writes the help text as a doc comment. If a doc comment would change the text, adds it as a key instead, and writes
/// the name as the doc comment.
fn write_help(out: &mut String, indent: &str, text: &str, name: &str, keys: &mut Vec<String>) {
    match doc_text(text) {
        Some(text) => {
            let _ = writeln!(out, "{indent}/// {text}");
        }
        None => {
            keys.push(text_key("help", text));
            let name = doc_text(name).unwrap_or("A counter.");
            let _ = writeln!(out, "{indent}/// {name}");
        }
    }
}

/// The string, if a doc comment would not change it: one line, without invisible characters and markup.
fn doc_text(text: &str) -> Option<&str> {
    let is_plain =
        |c: char| (c.escape_debug().len() == 1 || c == '\'' || c == '"') && !"`<>[]*_\\#".contains(c);
    let is_trimmed = text.trim() == text && !text.contains("  ");
    (!text.is_empty() && is_trimmed && text.chars().all(is_plain)).then_some(text)
}

/// Writes `#[name(key, key)]`, on one line if it fits.
fn write_attribute(out: &mut String, indent: &str, name: &str, keys: &[String]) {
    let line = format!("{indent}#[{name}({})]", keys.join(", "));
    if line.chars().count() <= MAX_LINE {
        let _ = writeln!(out, "{line}");
        return;
    }
    let _ = writeln!(out, "{indent}#[{name}(");
    for key in keys {
        let _ = writeln!(out, "{indent}    {key},");
    }
    let _ = writeln!(out, "{indent})]");
}

//! Checks rules that concern more than one element or attribute.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use tachograph_counters::CounterType as T;
use tachograph_counters::wildcard::fold_case;
use tachograph_shm::naming::{fault_of_counter_name, fault_of_set_name};

use super::draft::{CounterDraft, Draft, ProviderDraft, SetDraft};
use super::element::Reader;
use super::model::ProviderType;
use super::reserved;
use super::types::{ROLES, takes_base, word_of};
use super::violation::{Located, Position, quote_for_message};
use crate::block::MAX_COUNTERS;
use crate::registration::Attributes;

/// Checks a draft and reports violations to `reader`.
pub(super) fn check(draft: &Draft, reader: &mut Reader<'_>) {
    let provider = &draft.provider;
    let sets = &provider.counter_sets;
    check_symbols(provider, reader);
    check_strings(sets, reader);
    let mut guids = Unique::default();
    let mut names = Unique::default();
    let mut uris = Unique::default();
    for set in sets {
        guids.check(set.guid.as_ref(), |guid| *guid, |guid| guid.to_string(), (&set.label, "guid"), reader);
        names.check(
            set.name.as_ref(),
            |name| fold_case(name),
            |name| quote_for_message(name),
            (&set.label, "name"),
            reader,
        );
        uris.check(set.uri.as_ref(), Arc::clone, |uri| quote_for_message(uri), (&set.label, "uri"), reader);
    }
    let mut counter_uris = Unique::default();
    let is_kernel = provider.provider_type.is_some_and(|found| found.value == ProviderType::KernelMode);
    for set in sets {
        check_set_name(set, reader);
        check_set(set, is_kernel, reader);
        for counter in &set.counters {
            let subject = (counter.label.as_str(), "uri");
            counter_uris.check(
                counter.uri.as_ref(),
                Arc::clone,
                |uri| quote_for_message(uri),
                subject,
                reader,
            );
        }
    }
}

/// Warns about names that counter paths cannot contain. Windows accepts such names, but consumers here omit the sets.
fn check_set_name(set: &SetDraft, reader: &mut Reader<'_>) {
    if let Some(name) = &set.name
        && let Some(fault) = fault_of_set_name(&name.value)
    {
        let expected = format!("another name: the name of a set {fault}");
        reader.warning(
            name.at,
            format_args!("{}, name", set.label),
            quote_for_message(&name.value),
            expected,
        );
    }
    for counter in
        set.counters.iter().filter(|counter| !counter.info.attributes.has(Attributes::NO_DISPLAYABLE))
    {
        if let Some(name) = &counter.name
            && let Some(fault) = fault_of_counter_name(&name.value)
        {
            let expected = format!("another name: the name of a counter {fault}");
            reader.warning(
                name.at,
                format_args!("{}, name", counter.label),
                quote_for_message(&name.value),
                expected,
            );
        }
    }
}

/// Checks that values are unique. Maps each value to its first position.
struct Unique<K>(HashMap<K, Position>);

impl<K> Default for Unique<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Unique<K> {
    fn check<V>(
        &mut self,
        found: Option<&Located<V>>,
        key: impl Fn(&V) -> K,
        show: impl Fn(&V) -> String,
        (label, attribute): (&str, &str),
        reader: &mut Reader<'_>,
    ) {
        let Some(found) = found else { return };
        let first = *self.0.entry(key(&found.value)).or_insert(found.at);
        if first != found.at {
            let expected = format!("another {attribute}: line {} has this one", first.line);
            reader.error(found.at, format_args!("{label}, {attribute}"), show(&found.value), expected);
        }
    }
}

/// The element that a symbol belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SymbolOwner {
    Provider,
    Set,
    Counter,
}

/// Checks that symbols do not conflict. They become names in one C file: the provider's handle, GUIDs and ids.
fn check_symbols(provider: &ProviderDraft, reader: &mut Reader<'_>) {
    let mut names: HashMap<String, Position> = HashMap::new();
    let mut check_symbol = |symbol: &Arc<str>, at: Position, label: &str, kind: SymbolOwner| {
        let guid = (kind != SymbolOwner::Counter).then(|| format!("{symbol}Guid"));
        // The symbol of a set is never a C name by itself, only a prefix.
        let own = (kind != SymbolOwner::Set).then_some(&**symbol);
        let reason = own.into_iter().chain(guid.as_deref()).find_map(|name| reason_reserved(name, kind));
        if let Some(reason) = reason {
            let expected = format!("another symbol: {reason}");
            reader.error(at, format_args!("{label}, symbol"), quote_for_message(symbol), expected);
            return;
        }
        for name in [Some(symbol.to_string()), guid].into_iter().flatten() {
            let first = *names.entry(name.clone()).or_insert(at);
            if first != at {
                let expected = format!("another symbol: line {} also creates the name {name}", first.line);
                reader.error(at, format_args!("{label}, symbol"), quote_for_message(symbol), expected);
                return;
            }
        }
    };
    if let Some(Located { value: Some(symbol), at }) = &provider.symbol {
        check_symbol(symbol, *at, "provider", SymbolOwner::Provider);
    }
    for set in &provider.counter_sets {
        if let Some(symbol) = &set.symbol {
            check_symbol(&symbol.value, symbol.at, &set.label, SymbolOwner::Set);
        }
        for counter in &set.counters {
            if let Some(Located { value: Some(symbol), at }) = &counter.symbol {
                check_symbol(symbol, *at, &counter.label, SymbolOwner::Counter);
            }
        }
    }
}

/// The reason why a name is reserved in a generated header without a prefix; `None` if it is not reserved.
fn reason_reserved(name: &str, kind: SymbolOwner) -> Option<&'static str> {
    if reserved::FUNCTIONS.contains(&name) {
        return Some("a function of the generated header has this name");
    }
    if kind == SymbolOwner::Provider && reserved::LOCALS.contains(&name) {
        return Some("a local variable of the generated header has this name");
    }
    reserved::reason_reserved(name)
}

/// Checks that each string id (`nameID`, `descriptionID`) is used for one text only.
fn check_strings(sets: &[SetDraft], reader: &mut Reader<'_>) {
    let mut texts: HashMap<u32, (&str, Position)> = HashMap::new();
    fn text(name: &Option<Located<Arc<str>>>) -> Option<&str> {
        name.as_ref().map(|name| &*name.value)
    }
    for set in sets {
        // A missing or invalid description has already been reported.
        let of_set = [
            (&set.label, "nameID", &set.name_id, text(&set.name)),
            (&set.label, "descriptionID", &set.description_id, set.is_valid.then_some(&*set.info.help)),
        ];
        let of_counters = set.counters.iter().flat_map(|counter| {
            let description = counter.has_description.then_some(&*counter.info.help);
            [
                (&counter.label, "nameID", &counter.name_id, text(&counter.name)),
                (&counter.label, "descriptionID", &counter.description_id, description),
            ]
        });
        for (label, attribute, id, text) in of_set.into_iter().chain(of_counters) {
            let (Some(id), Some(text)) = (id, text) else { continue };
            let (known, at) = *texts.entry(id.value).or_insert((text, id.at));
            if known != text {
                let expected =
                    format!("another id: in line {} it stands for {}", at.line, quote_for_message(known));
                reader.error(id.at, format_args!("{label}, {attribute}"), id.value.to_string(), expected);
            }
        }
    }
}

fn check_set(set: &SetDraft, is_kernel: bool, reader: &mut Reader<'_>) {
    let count = set.counters.len();
    if !(1..=MAX_COUNTERS).contains(&count) {
        let found = if count == 0 { "no counter".to_owned() } else { format!("{count} counters") };
        reader.error(set.at, &set.label, found, format!("1 to {MAX_COUNTERS} counters"));
    }
    let mut structs = Unique::default();
    for structure in &set.structs {
        let subject = (set.label.as_str(), "struct");
        structs.check(structure.name.as_ref(), Arc::clone, |name| quote_for_message(name), subject, reader);
    }
    if !is_kernel && let Some(structure) = set.structs.first() {
        let expected = "none: structures are for kernel mode providers";
        reader.error(structure.at, &set.label, "a struct", expected);
    }
    let mut ids = Unique::default();
    let mut names = Unique::default();
    let types: HashMap<u32, Option<T>> = set
        .counters
        .iter()
        .rev()
        .filter_map(|counter| Some((counter.id?.value, counter.counter_type.map(|found| found.value))))
        .collect();
    for counter in &set.counters {
        let label = &counter.label;
        ids.check(counter.id.as_ref(), |id| *id, u32::to_string, (label, "id"), reader);
        names.check(
            counter.name.as_ref(),
            |name| fold_case(name),
            |name| quote_for_message(name),
            (label, "name"),
            reader,
        );
        check_structure(counter, set, is_kernel, reader);
        check_attributes(counter, reader);
        check_companions(counter, &types, reader);
        if let Some(counter_type) = counter.counter_type.filter(|found| found.value == T::TEXT) {
            let found = word_of(counter_type.value);
            reader.warning(counter_type.at, format_args!("{label}, type"), found, "a type with a number");
        }
    }
    check_clocks(set, reader);
}

/// Checks `struct` and `field`: only kernel mode providers can have them, and the structure must exist.
fn check_structure(counter: &CounterDraft, set: &SetDraft, is_kernel: bool, reader: &mut Reader<'_>) {
    for (attribute, found) in [("struct", &counter.structure), ("field", &counter.field)] {
        if let Some(found) = found
            && !is_kernel
        {
            let expected = "none: structures are for kernel mode providers";
            reader.error(found.at, &counter.label, attribute, expected);
        }
    }
    if !is_kernel {
        return;
    }
    match (&counter.structure, &counter.field) {
        (Some(structure), field) => {
            let mut names = set.structs.iter().filter_map(|known| known.name.as_ref());
            if !names.any(|known| known.value == structure.value) {
                let subject = format!("{}, struct", counter.label);
                reader.error(
                    structure.at,
                    subject,
                    quote_for_message(&structure.value),
                    "the name of a struct of the set",
                );
            }
            if field.is_none() {
                reader.warning(structure.at, &counter.label, "struct without field", "both, or neither");
            }
        }
        (None, Some(field)) => {
            reader.warning(field.at, &counter.label, "field without struct", "both, or neither");
        }
        (None, None) => {}
    }
}

/// Warns about display attributes that exclude each other. perflib.h forbids such combinations, but the schema's own
/// sample contains them.
fn check_attributes(counter: &CounterDraft, reader: &mut Reader<'_>) {
    /// The effective attribute and the one without effect, each with its word in the schema.
    const CONFLICTS: [(Attributes, &str, Attributes, &str); 5] = [
        (Attributes::NO_DISPLAYABLE, "noDisplay", Attributes::NO_GROUP_SEPARATOR, "noDigitGrouping"),
        (Attributes::NO_DISPLAYABLE, "noDisplay", Attributes::DISPLAY_AS_REAL, "displayAsReal"),
        (Attributes::NO_DISPLAYABLE, "noDisplay", Attributes::DISPLAY_AS_HEX, "displayAsHex"),
        (Attributes::NO_GROUP_SEPARATOR, "noDigitGrouping", Attributes::DISPLAY_AS_HEX, "displayAsHex"),
        (Attributes::DISPLAY_AS_REAL, "displayAsReal", Attributes::DISPLAY_AS_HEX, "displayAsHex"),
    ];
    for (effective, effective_word, ignored, ignored_word) in CONFLICTS {
        if counter.info.attributes.has(effective) && counter.info.attributes.has(ignored) {
            let found = format!("{ignored_word} beside {effective_word}");
            let expected = format!("one of them: {effective_word} alone has an effect");
            reader.warning(counter.at, format_args!("{}, counterAttributes", counter.label), found, expected);
        }
    }
}

/// Checks the companions (base, time, frequency, multiplier) that the counter's type needs: the attribute is present,
/// and the counter that it names exists and has the required type.
fn check_companions(counter: &CounterDraft, types: &HashMap<u32, Option<T>>, reader: &mut Reader<'_>) {
    let label = &counter.label;
    let counter_type = counter.counter_type.map(|found| found.value);
    let needs = counter_type.map(T::companions).unwrap_or_default();
    let roles = ROLES.into_iter().zip(counter.has_companion_attribute);
    for (((role, is_named), named), needed) in roles.zip(&counter.companions).zip(needs) {
        let needs = |needed: T| {
            let word = counter_type.map(word_of).unwrap_or_default();
            format!("the id of a counter of type {}, which {word} needs", word_of(needed))
        };
        let Some(named) = named else {
            if let Some(needed) = needed
                && !is_named
            {
                reader.error(counter.at, label, format!("no {role}"), needs(needed));
            }
            continue;
        };
        let subject = format!("{label}, {role}");
        let id = named.value;
        if counter.id.is_some_and(|own| own.value == id) {
            reader.error(
                named.at,
                subject,
                format!("{id}, the counter itself"),
                "another counter of the set",
            );
            continue;
        }
        match (types.get(&id), needed) {
            (None, _) => reader.error(named.at, subject, id.to_string(), "the id of a counter of the set"),
            (Some(Some(found)), Some(needed)) if *found != needed => {
                reader.error(named.at, subject, format!("{id}, a {}", word_of(*found)), needs(needed));
            }
            _ if role == "baseID" && counter_type.is_some_and(|found| !takes_base(found)) => {
                let word = counter_type.map(word_of).unwrap_or_default();
                reader.warning(named.at, subject, id.to_string(), format!("none: {word} has no base"));
            }
            _ if role == "multiCounterID" && needed.is_none() && counter_type.is_some() => {
                let word = counter_type.map(word_of).unwrap_or_default();
                reader.warning(named.at, subject, id.to_string(), format!("none: {word} has no multiplier"));
            }
            _ => {}
        }
    }
    if counter_type == Some(T::COUNTER_MULTI_TIMER_INV) {
        check_multi_base(counter, types, reader);
    }
}

/// Warns if `perf_counter_multi_timer_inv` has no base. The schema's documentation requires a base, but \[MS-PCQ\] does
/// not.
fn check_multi_base(counter: &CounterDraft, types: &HashMap<u32, Option<T>>, reader: &mut Reader<'_>) {
    let expected =
        "the id of a counter of type perf_counter_multi_base, which the schema's documentation requires";
    match &counter.companions[0] {
        None if counter.has_companion_attribute[0] => {}
        None => reader.warning(counter.at, &counter.label, "no baseID", expected),
        Some(base) => {
            if let Some(Some(found)) = types.get(&base.value)
                && *found != T::MULTI_BASE
            {
                let found = format!("{}, a {}", base.value, word_of(*found));
                reader.warning(base.at, format_args!("{}, baseID", counter.label), found, expected);
            }
        }
    }
}

/// Warns if counters of a set use different clocks.
fn check_clocks(set: &SetDraft, reader: &mut Reader<'_>) {
    for role in [1, 2] {
        let mut first: Option<Located<u32>> = None;
        for counter in &set.counters {
            let Some(named) = counter.companions[role] else { continue };
            let first = *first.get_or_insert(named);
            if first.value != named.value {
                let expected = format!("{}, as in line {}: a set has one clock", first.value, first.at.line);
                let subject = format_args!("{}, {}", counter.label, ROLES[role]);
                reader.warning(named.at, subject, named.value.to_string(), expected);
            }
        }
    }
}

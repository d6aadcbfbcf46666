//! What counters of one set must be to each other.

use std::collections::HashMap;

use proc_macro2::{Ident, Span};
use syn::Error;
use tachograph_schema::{CellKind, CounterType};

use crate::attributes::Errors;
use crate::model::{Counter, Set};
use crate::types::word;

/// All that is wrong with a set.
pub(crate) fn check(set: &Set) -> Result<(), Error> {
    let mut errors = Errors::default();
    check_unique(set, &mut errors);
    for counter in &set.counters {
        check_companions(set, counter, &mut errors);
    }
    errors.finish()
}

fn check_unique(set: &Set, errors: &mut Errors) {
    let (mut ids, mut names) = (HashMap::new(), HashMap::new());
    let mut add = |id: u32, id_span: Span, name: &str, name_span: Span| {
        if let Some(other) = ids.insert(id, name.to_owned()) {
            errors.at(
                id_span,
                format!("\"{name}\" and \"{other}\" both have the id {id}: give one another `id`"),
            );
        }
        if let Some(other) = names.insert(name.to_lowercase(), name.to_owned()) {
            errors.at(
                name_span,
                format!("there is a counter \"{other}\" already; names are compared without case"),
            );
        }
    };
    for counter in &set.counters {
        add(counter.info.id, counter.spans.id, &counter.info.name, counter.spans.name);
    }
    for base in set.counters.iter().filter_map(|counter| counter.own_base.as_ref()) {
        let id = base.id.unwrap_or(u32::MAX);
        add(id, base.span, &base.name, base.span);
    }
    let without = set.counters.iter().filter_map(|counter| counter.own_base.as_ref());
    for base in without.filter(|base| base.id.is_none_or(|id| id == u32::MAX)) {
        errors.at(
            base.span,
            format!("there is no id left for the base \"{}\": give it one with base_id", base.name),
        );
    }
}

fn check_companions(set: &Set, counter: &Counter, errors: &mut Errors) {
    let [base, time, frequency, multiplier] = &counter.companions;
    let kind = word(counter.info.counter_type);
    let needed = counter.info.counter_type.companions();
    let wanted = |wanted: bool, key: &str, field: &Option<Ident>, text: &str, errors: &mut Errors| match field
    {
        None if wanted => {
            errors.at(
                counter.spans.counter_type,
                format!("a counter of type {kind} needs {text}: {key} = field"),
            );
        }
        Some(field) if !wanted => {
            errors.at(field.span(), format!("a counter of type {kind} has no {key}"));
        }
        _ => {}
    };
    let [base_type, needs_time, needs_frequency, needs_multiplier] = needed;
    wanted(needs_time.is_some(), "time", time, "the time of what it measures, another field", errors);
    wanted(
        needs_frequency.is_some(),
        "frequency",
        frequency,
        "the frequency of its time, another field",
        errors,
    );
    wanted(
        needs_multiplier.is_some(),
        "multiplier",
        multiplier,
        "how many things it is of, another field",
        errors,
    );
    for (field, key, expected) in [
        (base, "base", base_type),
        (time, "time", Some(CounterType::LARGE_RAWCOUNT)),
        (frequency, "frequency", Some(CounterType::LARGE_RAWCOUNT)),
        (multiplier, "multiplier", Some(CounterType::RAWCOUNT)),
    ] {
        if let Some(field) = field {
            check_companion(set, counter, field, key, expected, errors);
        }
    }
}

fn check_companion(
    set: &Set,
    counter: &Counter,
    field: &Ident,
    key: &str,
    expected: Option<CounterType>,
    errors: &mut Errors,
) {
    if *field == counter.field {
        errors.at(field.span(), format!("`{field}` cannot be its own {key}"));
        return;
    }
    let Some(companion) = set.counters.iter().find(|other| other.field == *field) else {
        errors.at(field.span(), format!("there is no field `{field}`"));
        return;
    };
    let found = companion.info.counter_type;
    if companion.own_base.is_some() || companion.info.cell != CellKind::Plain {
        errors.at(field.span(), format!("`{field}` keeps two numbers: a {key} is a Counter or a Gauge"));
    } else if let Some(expected) = expected
        && found != expected
    {
        errors.at(
            field.span(),
            format!(
                "the {key} of a counter of type {} is of type {}, but `{field}` is of type {}",
                word(counter.info.counter_type),
                word(expected),
                word(found)
            ),
        );
    } else if expected.is_none() && !found.is_base() {
        let text = format!(
            "a counter of type {} has no base, and `{field}` is none",
            word(counter.info.counter_type)
        );
        errors.at(field.span(), text);
    }
}

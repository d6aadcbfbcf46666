//! Checks the relations between the counters of a set: unique ids and names, and valid companions (base, time, frequency
//! and multiplier).

use std::collections::HashMap;

use proc_macro2::{Ident, Span};
use syn::Error;
use tachograph_schema::{CellKind, CounterType};

use crate::attributes::Errors;
use crate::model::{Counter, Set};
use crate::types;

/// Checks a set; the error combines all errors that were found.
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
    let mut check = |id: u32, id_span: Span, name: &str, name_span: Span| {
        if let Some(other) = ids.insert(id, name.to_owned()) {
            errors.push_at(
                id_span,
                format!("\"{name}\" and \"{other}\" have the same id {id}: set another `id`"),
            );
        }
        if let Some(other) = names.insert(name.to_lowercase(), name.to_owned()) {
            errors.push_at(
                name_span,
                format!("the set has a counter \"{other}\"; names must differ in more than case"),
            );
        }
    };
    for counter in &set.counters {
        check(counter.info.id, counter.spans.id, &counter.info.name, counter.spans.name);
    }
    for base in set.counters.iter().filter_map(|counter| counter.own_base.as_ref()) {
        let id = base.id.unwrap_or(u32::MAX);
        check(id, base.span, &base.name, base.span);
    }
    let own_bases = set.counters.iter().filter_map(|counter| counter.own_base.as_ref());
    for base in own_bases.filter(|base| base.id.is_none_or(|id| id == u32::MAX)) {
        errors.push_at(base.span, format!("no id is left for the base \"{}\": set base_id", base.name));
    }
}

fn check_companions(set: &Set, counter: &Counter, errors: &mut Errors) {
    let [base, time, frequency, multiplier] = &counter.companions;
    let type_name = types::name(counter.info.counter_type);
    let check_presence =
        |is_required: bool, key: &str, field: &Option<Ident>, requirement: &str, errors: &mut Errors| {
            match field {
                None if is_required => {
                    errors.push_at(
                        counter.spans.counter_type,
                        format!("a counter of type {type_name} requires {requirement}: add {key} = field"),
                    );
                }
                Some(field) if !is_required => {
                    errors.push_at(field.span(), format!("a counter of type {type_name} has no {key}"));
                }
                _ => {}
            }
        };
    let [base_type, time_type, frequency_type, multiplier_type] = counter.info.counter_type.companions();
    check_presence(time_type.is_some(), "time", time, "a time", errors);
    check_presence(frequency_type.is_some(), "frequency", frequency, "the frequency of its time", errors);
    check_presence(multiplier_type.is_some(), "multiplier", multiplier, "a multiplier", errors);
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
        errors.push_at(field.span(), format!("`{field}` cannot be its own {key}"));
        return;
    }
    let Some(companion) = set.counters.iter().find(|other| other.field == *field) else {
        errors.push_at(field.span(), format!("the struct has no field `{field}`"));
        return;
    };
    let found = companion.info.counter_type;
    if companion.own_base.is_some() || companion.info.cell != CellKind::Plain {
        errors.push_at(
            field.span(),
            format!("`{field}` stores two numbers: the {key} must be a Counter or a Gauge"),
        );
    } else if let Some(expected) = expected
        && found != expected
    {
        errors.push_at(
            field.span(),
            format!(
                "the {key} of a counter of type {} must have the type {}, but `{field}` has the type {}",
                types::name(counter.info.counter_type),
                types::name(expected),
                types::name(found)
            ),
        );
    } else if expected.is_none() && !found.is_base() {
        let text = format!(
            "a counter of type {} requires no base, and `{field}` is not a base",
            types::name(counter.info.counter_type)
        );
        errors.push_at(field.span(), text);
    }
}

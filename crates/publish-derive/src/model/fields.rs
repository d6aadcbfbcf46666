//! Parses the fields of the struct, which are its counters.

use proc_macro2::{Ident, Span};
use syn::spanned::Spanned;
use syn::{Field, FieldsNamed, Type as SynType};
use tachograph_schema::naming::fault_of_counter_name;
use tachograph_schema::words::COUNTER_ATTRIBUTES;
use tachograph_schema::{Attributes, CellKind, CounterInfo, CounterType};

use super::{Counter, OwnBase, Spans};
use crate::attributes::{AttributeKeys, Errors, Value, first_doc_paragraph};
use crate::types::{self, has_numeric_value};

/// The keys of `#[counter(...)]`, in addition to those of [`COUNTER_ATTRIBUTES`].
const COUNTER_KEYS: [&str; 11] = [
    "name",
    "id",
    "type",
    "base",
    "base_id",
    "display",
    "no_display",
    "striped",
    "time",
    "frequency",
    "multiplier",
];

/// The default number of stripes.
const DEFAULT_STRIPES: u32 = 16;

/// The Rust type of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldKind {
    Counter,
    Striped,
    Gauge,
    Timer,
    Average,
    Fraction,
    Ratio,
}

impl FieldKind {
    const ALL: [(&'static str, Self); 7] = [
        ("Counter", Self::Counter),
        ("StripedCounter", Self::Striped),
        ("Gauge", Self::Gauge),
        ("Timer", Self::Timer),
        ("Average", Self::Average),
        ("Fraction", Self::Fraction),
        ("Ratio", Self::Ratio),
    ];

    fn from_type(field_type: &SynType) -> Option<Self> {
        let SynType::Path(path) = field_type else { return None };
        let last = path.path.segments.last().filter(|last| last.arguments.is_empty())?;
        Self::ALL.iter().find(|(name, _)| last.ident == name).map(|(_, kind)| *kind)
    }

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| *name)
    }

    fn with_article(self) -> String {
        format!("{} {}", if self == Self::Average { "an" } else { "a" }, self.name())
    }

    /// The cell that stores the value.
    const fn cell(self) -> CellKind {
        match self {
            Self::Counter | Self::Striped | Self::Gauge => CellKind::Plain,
            Self::Timer => CellKind::Timer,
            Self::Average | Self::Fraction => CellKind::Pair,
            Self::Ratio => CellKind::Ratio,
        }
    }

    const fn default_type(self) -> CounterType {
        match self {
            Self::Counter | Self::Striped => CounterType::BULK_COUNT,
            Self::Gauge => CounterType::LARGE_RAWCOUNT,
            Self::Timer => CounterType::AVERAGE_TIMER,
            Self::Average => CounterType::AVERAGE_BULK,
            Self::Fraction => CounterType::SAMPLE_FRACTION,
            Self::Ratio => CounterType::RAW_FRACTION,
        }
    }

    /// Whether the field stores the value of its base together with its own.
    const fn stores_base(self) -> bool {
        matches!(self, Self::Timer | Self::Average | Self::Fraction | Self::Ratio)
    }

    /// The reason why a field of this type cannot have the counter type; `None` if it can.
    fn type_error(self, counter_type: CounterType) -> Option<String> {
        let name = types::name(counter_type);
        let needs_total = counter_type.needs_two_samples();
        match self {
            _ if !has_numeric_value(counter_type) => {
                Some(format!("a counter of type {name} has no numeric value, so it cannot be published"))
            }
            Self::Counter | Self::Striped => None,
            Self::Gauge if needs_total => {
                Some(format!("a Gauge can decrease, but type {name} is for running totals: use a Counter"))
            }
            Self::Gauge => None,
            _ if counter_type == self.default_type() => None,
            _ => Some(format!(
                "{} always has the type {}: for type {name} use a {}",
                self.with_article(),
                types::name(self.default_type()),
                if needs_total { "Counter" } else { "Gauge" }
            )),
        }
    }
}

/// Parses all fields. Returns the valid fields, with the ids of their bases.
pub(super) fn parse(fields: &FieldsNamed, errors: &mut Errors) -> Vec<Counter> {
    let mut counters: Vec<Counter> = Vec::new();
    for (index, field) in fields.named.iter().enumerate() {
        if let Some(counter) = parse_field(field, index as u32 + 1, errors) {
            counters.push(counter);
        }
    }
    assign_base_ids(&mut counters);
    counters
}

/// Assigns ids to the bases for which none is specified, starting after the largest id.
fn assign_base_ids(counters: &mut [Counter]) {
    let ids = counters.iter().flat_map(|counter| {
        let base = counter.own_base.as_ref().and_then(|base| base.id);
        [counter.info.id, base.unwrap_or(0)]
    });
    let mut last_id = ids.max().unwrap_or(0);
    for base in counters.iter_mut().filter_map(|counter| counter.own_base.as_mut()) {
        if base.id.is_none() {
            last_id = last_id.saturating_add(1);
            base.id = Some(last_id);
        }
    }
}

fn parse_field(field: &Field, default_id: u32, errors: &mut Errors) -> Option<Counter> {
    let ident = field.ident.clone()?;
    let mut keys = AttributeKeys::parse(
        &field.attrs,
        "counter",
        &COUNTER_KEYS,
        COUNTER_ATTRIBUTES,
        ident.span(),
        errors,
    );
    let Some(kind) = FieldKind::from_type(&field.ty) else {
        let names: Vec<_> = FieldKind::ALL.iter().map(|(name, _)| *name).collect();
        errors.push_at(
            field.ty.span(),
            format!(
                "the fields of a counter set must be counters: one of {}. Move other data out of the struct",
                names.join(", ")
            ),
        );
        return None;
    };
    let had_name = keys.has("name");
    let (name, name_span) =
        keys.take_text("name", errors).unwrap_or_else(|| (ident.to_string(), ident.span()));
    if !had_name {
        errors.push_at(
            keys.span,
            format!("the counter has no name: add #[counter(name = \"...\")] to `{ident}`"),
        );
    }
    check_name("counter", &name, name_span, errors);
    let (counter_type, type_span) = read_type(&mut keys, kind, errors)?;
    let (id, id_span) = read_id(&mut keys, "id", errors).unwrap_or((default_id, ident.span()));
    let companions = ["time", "frequency", "multiplier"].map(|key| keys.take_field(key, errors));
    let [time, frequency, multiplier] = companions;
    let (own_base, base) = read_base(&mut keys, kind, counter_type, type_span, errors);
    let mut info = CounterInfo::new(id, name, counter_type);
    info.help = first_doc_paragraph(&field.attrs).into();
    keys.take_into(COUNTER_ATTRIBUTES, &mut info, errors);
    info.attributes = read_display(&mut keys, counter_type, errors);
    info.cell = kind.cell();
    info.stripes = read_stripes(&mut keys, kind, errors);
    Some(Counter {
        field_type: field.ty.clone(),
        info,
        spans: Spans { id: id_span, name: name_span, counter_type: type_span },
        own_base,
        companions: [base, time, frequency, multiplier],
        field: ident,
    })
}

fn read_type(keys: &mut AttributeKeys, kind: FieldKind, errors: &mut Errors) -> Option<(CounterType, Span)> {
    let (name, span) = keys
        .take_text("type", errors)
        .unwrap_or_else(|| (types::name(kind.default_type()).to_owned(), keys.span));
    let Some(found) = types::find(&name) else {
        let similar = types::similar(&name);
        let hint = if similar.is_empty() {
            String::new()
        } else {
            format!(": did you mean {}?", similar.join(" or "))
        };
        errors.push_at(span, format!("\"{name}\" is not a counter type{hint}"));
        return None;
    };
    if let Some(error) = kind.type_error(found) {
        errors.push_at(span, error);
        return None;
    }
    Some((found, span))
}

fn read_id(keys: &mut AttributeKeys, key: &str, errors: &mut Errors) -> Option<(u32, Span)> {
    let (number, span) = keys.take_number(key, errors)?;
    // In queries, the id u32::MAX means all counters.
    match u32::try_from(number) {
        Ok(number) if number != u32::MAX => Some((number, span)),
        _ => {
            errors.push_at(span, format!("{key} must be 0 to 4294967294, not {number}"));
            None
        }
    }
}

fn read_display(keys: &mut AttributeKeys, counter_type: CounterType, errors: &mut Errors) -> Attributes {
    let mut attributes = Attributes::default();
    if keys.take_flag("no_display", errors) || counter_type.is_base() {
        attributes = Attributes::NO_DISPLAYABLE;
    }
    let allowed = Attributes::WORDS.iter().filter(|(_, word, _)| !word.is_empty());
    if let Some((words, span)) = keys.take_text("display", errors) {
        for word in words.split(',').map(str::trim) {
            match allowed.clone().find(|(_, name, _)| *name == word) {
                Some((.., attribute)) => attributes = attributes.with(*attribute),
                None => {
                    let allowed: Vec<_> = allowed.clone().map(|(_, word, _)| format!("\"{word}\"")).collect();
                    errors.push_at(
                        span,
                        format!("\"{word}\" is not a display attribute: use {}", allowed.join(", ")),
                    );
                }
            }
        }
    }
    attributes
}

fn read_stripes(keys: &mut AttributeKeys, kind: FieldKind, errors: &mut Errors) -> u32 {
    let Some((value, span)) = keys.take("striped") else {
        return if kind == FieldKind::Striped { DEFAULT_STRIPES } else { 0 };
    };
    match kind {
        FieldKind::Counter => {
            errors.push_at(span, "a Counter cannot be striped: use a StripedCounter, which has no `set`")
        }
        FieldKind::Gauge | FieldKind::Ratio => {
            errors.push_at(
                span,
                format!("a {} can be set, so it has a single cell and cannot be striped", kind.name()),
            );
        }
        _ => {}
    }
    let max = CounterInfo::MAX_STRIPES;
    match value {
        Value::Nothing => DEFAULT_STRIPES,
        Value::Number(stripes) if (1..=i64::from(max)).contains(&stripes) => stripes as u32,
        _ => {
            errors.push_at(span, format!("`striped` takes no value, or a number of stripes from 1 to {max}"));
            0
        }
    }
}

/// Reads the keys `base` and `base_id`. Returns the base that the field stores itself, or the other field that is its base.
fn read_base(
    keys: &mut AttributeKeys,
    kind: FieldKind,
    counter_type: CounterType,
    type_span: Span,
    errors: &mut Errors,
) -> (Option<OwnBase>, Option<Ident>) {
    let base_id = read_id(keys, "base_id", errors);
    let base = keys.take("base");
    if let (Some((_, span)), false) = (base_id, kind.stores_base()) {
        errors.push_at(
            span,
            format!(
                "`base_id` is the id of a base that the field stores, but {} stores none",
                kind.with_article()
            ),
        );
    }
    let [Some(base_type), ..] = counter_type.companions() else {
        let field = match base {
            Some((Value::Field(field), _)) => Some(field),
            Some((_, span)) => {
                errors.push_at(span, format!("a counter of type {} has no base", types::name(counter_type)));
                None
            }
            None => None,
        };
        return (None, field);
    };
    let kind_name = kind.with_article();
    match base {
        Some((Value::Text(name), span)) if kind.stores_base() => {
            check_name("base", &name.value(), span, errors);
            let id = base_id.map(|(id, _)| id);
            (Some(OwnBase { name: name.value(), id, span, counter_type: base_type }), None)
        }
        Some((Value::Field(field), _)) if !kind.stores_base() => (None, Some(field)),
        Some((Value::Field(_), span)) => {
            errors.push_at(
                span,
                format!(
                    "{kind_name} stores its base itself: write the name of the base in quotes, base = \"...\""
                ),
            );
            (None, None)
        }
        Some((_, span)) => {
            errors.push_at(
                span,
                format!("{kind_name} stores one number, so its base must be another field: base = field, without quotes. Only Timer, Average, Fraction and Ratio store their base"),
            );
            (None, None)
        }
        None if kind.stores_base() => {
            errors.push_at(
                keys.span,
                format!("the base of {kind_name} is a separate counter and has no name: add base = \"...\""),
            );
            (None, None)
        }
        None => {
            let text = format!(
                "a counter of type {} requires a base: add base = NAME, where NAME is a field with type = \"{}\"",
                types::name(counter_type),
                types::name(base_type)
            );
            errors.push_at(type_span, text);
            (None, None)
        }
    }
}

fn check_name(role: &str, name: &str, span: Span, errors: &mut Errors) {
    if let Some(reason) = fault_of_counter_name(name) {
        errors.push_at(span, format!("the name of a {role} {reason}"));
    }
}

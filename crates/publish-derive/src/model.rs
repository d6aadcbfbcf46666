//! The model of a counter set, parsed from the struct and its attributes.

mod fields;

use proc_macro2::{Ident, Span};
use syn::{Data, DeriveInput, Error, Fields, Type as SynType};
use tachograph_schema::naming::fault_of_set_name;
use tachograph_schema::words::SET_ATTRIBUTES;
use tachograph_schema::{CounterInfo, CounterSetInfo, CounterType, Guid, InstanceType};

use crate::attributes::{AttributeKeys, Errors, first_doc_paragraph};

/// The namespace of the generated GUIDs, for sets that do not specify a GUID.
const NAMESPACE: &[u8] = b"urn:tachograph:counter-sets";

/// The keys of `#[counter_set(...)]`, in addition to those of [`SET_ATTRIBUTES`].
const SET_KEYS: [&str; 3] = ["name", "guid", "provider_guid"];

/// A struct that derives `CounterSet`.
pub(crate) struct Set {
    /// The name of the struct.
    pub(crate) ident: Ident,
    /// The set without its counters.
    pub(crate) info: CounterSetInfo,
    pub(crate) counters: Vec<Counter>,
}

/// A field of the struct, which is a counter.
pub(crate) struct Counter {
    /// The name of the field.
    pub(crate) field: Ident,
    pub(crate) field_type: SynType,
    /// The counter without its companions.
    pub(crate) info: CounterInfo,
    /// Where the counter's id, name and type are written, for errors.
    pub(crate) spans: Spans,
    /// The base whose value the field stores together with its own, if any.
    pub(crate) own_base: Option<OwnBase>,
    /// The fields that are the counter's base, time, frequency and multiplier.
    pub(crate) companions: [Option<Ident>; 4],
}

/// The positions of a counter's id, name and type.
#[derive(Clone, Copy)]
pub(crate) struct Spans {
    pub(crate) id: Span,
    pub(crate) name: Span,
    pub(crate) counter_type: Span,
}

/// A base whose value a field stores together with its own.
pub(crate) struct OwnBase {
    pub(crate) name: String,
    /// The base's id. Without the key `base_id`, it is `None` until the ids of all counters are known.
    pub(crate) id: Option<u32>,
    /// Where the base's name is written, for errors.
    pub(crate) span: Span,
    pub(crate) counter_type: CounterType,
}

impl Set {
    pub(crate) fn parse(input: &DeriveInput) -> Result<Self, Error> {
        let mut errors = Errors::default();
        let fields = named_fields(input)?;
        let ident = input.ident.clone();
        let mut keys = AttributeKeys::parse(
            &input.attrs,
            "counter_set",
            &SET_KEYS,
            SET_ATTRIBUTES,
            ident.span(),
            &mut errors,
        );
        let had_name = keys.has("name");
        let name = match keys.take_text("name", &mut errors) {
            Some((name, span)) => {
                if let Some(reason) = fault_of_set_name(&name) {
                    errors.push_at(span, format!("the name of a counter set {reason}"));
                }
                name
            }
            None => {
                if !had_name {
                    let text = "the counter set has no name: add #[counter_set(name = \"...\")]";
                    errors.push_at(keys.span, text);
                }
                String::new()
            }
        };
        let guid = read_guid(&mut keys, "guid", &mut errors).unwrap_or_else(|| guid_of_name(&name));
        let mut info = CounterSetInfo::new(name, guid, InstanceType::Single);
        info.provider_guid = read_guid(&mut keys, "provider_guid", &mut errors).unwrap_or(guid);
        info.help = first_doc_paragraph(&input.attrs).into();
        keys.take_into(SET_ATTRIBUTES, &mut info, &mut errors);
        let set = Self { info, counters: fields::parse(fields, &mut errors), ident };
        errors.finish()?;
        Ok(set)
    }
}

fn named_fields(input: &DeriveInput) -> Result<&syn::FieldsNamed, Error> {
    if !input.generics.params.is_empty() {
        let text = "a counter set cannot have generic parameters";
        return Err(Error::new_spanned(&input.generics, text));
    }
    let text = "a counter set must be a struct with named fields, which are its counters";
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) if fields.named.is_empty() => {
                Err(Error::new(input.ident.span(), "a counter set must have at least one counter"))
            }
            Fields::Named(fields) => Ok(fields),
            _ => Err(Error::new(input.ident.span(), text)),
        },
        _ => Err(Error::new(input.ident.span(), text)),
    }
}

fn read_guid(keys: &mut AttributeKeys, key: &str, errors: &mut Errors) -> Option<Guid> {
    let (text, span) = keys.take_text(key, errors)?;
    let guid = text.parse().ok().filter(|_| text.contains('-'));
    if guid.is_none() {
        let text = format!("\"{text}\" is not a GUID such as \"{{b4fc721a-0378-476f-89ba-a5a79f810b36}}\"");
        errors.push_at(span, text);
    }
    guid
}

fn guid_of_name(name: &str) -> Guid {
    let namespace = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_URL, NAMESPACE);
    Guid::from_u128(uuid::Uuid::new_v5(&namespace, name.as_bytes()).as_u128())
}

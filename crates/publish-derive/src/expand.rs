//! Generates the implementation of `CounterSet`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use tachograph_schema::words::{Attribute, COUNTER_ATTRIBUTES, Notation, SET_ATTRIBUTES};
use tachograph_schema::{Attributes, CellKind, CounterInfo, CounterSetInfo, InstanceType};

use crate::model::{Counter, Set};

/// Generates the implementation of `CounterSet` for a struct.
pub(crate) fn expand(set: &Set) -> TokenStream {
    let ident = &set.ident;
    let CounterSetInfo { name, .. } = &set.info;
    let (guid, provider_guid) = (set.info.guid.to_u128(), set.info.provider_guid.to_u128());
    let is_single = set.info.instance_type == InstanceType::Single;
    let marker = new_ident(if is_single { "SingleInstance" } else { "MultipleInstances" });
    // The generated code starts from this description, and sets the attributes that differ.
    let default = CounterSetInfo::new(name.as_ref(), set.info.guid, InstanceType::Single);
    let attributes = attribute_code(SET_ATTRIBUTES, &set.info, &default);
    let counters = set.counters.iter().map(|counter| counter_code(&with_companion_ids(set, counter)));
    // Bases follow all counters, so that a field's index in the struct is also the index of its cell.
    let bases = set.counters.iter().filter_map(own_base_info).map(|base| counter_code(&base));
    let fields = set.counters.iter().enumerate().map(|(index, counter)| {
        let Counter { field, field_type, .. } = counter;
        quote_spanned!(field_type.span()=> #field: <#field_type as ::tachograph_publish::Cell>::bind(cells, #index)?)
    });
    quote! {
        #[automatically_derived]
        impl ::tachograph_publish::CounterSet for #ident {
            fn description() -> ::tachograph_publish::CounterSetInfo {
                let mut info = ::tachograph_publish::CounterSetInfo::new(
                    #name,
                    ::tachograph_publish::Guid::from_u128(#guid),
                    ::tachograph_publish::InstanceType::Single,
                );
                info.provider_guid = ::tachograph_publish::Guid::from_u128(#provider_guid);
                #attributes
                let mut set = info;
                #(#counters)*
                #(#bases)*
                set
            }

            fn bind(cells: &::tachograph_publish::Cells<'_>) -> ::std::option::Option<Self> {
                ::std::option::Option::Some(Self { #(#fields,)* })
            }
        }

        #[automatically_derived]
        impl ::tachograph_publish::#marker for #ident {}
    }
}

fn new_ident(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

/// The description of a counter, with the ids of its companions.
fn with_companion_ids(set: &Set, counter: &Counter) -> CounterInfo {
    let id_of = |field: &Ident| Some(set.counters.iter().find(|other| other.field == *field)?.info.id);
    let mut info = counter.info.clone();
    info.set_companion_ids(counter.companions.each_ref().map(|field| field.as_ref().and_then(id_of)));
    if let Some(base) = &counter.own_base {
        info.base_id = base.id;
    }
    info
}

/// The description of the base that a field stores together with its own value; `None` if it stores no base.
fn own_base_info(counter: &Counter) -> Option<CounterInfo> {
    let base = counter.own_base.as_ref()?;
    Some(CounterInfo {
        attributes: Attributes::NO_DISPLAYABLE,
        detail_level: counter.info.detail_level,
        aggregate: counter.info.aggregate,
        cell: CellKind::None,
        ..CounterInfo::new(base.id?, base.name.clone(), base.counter_type)
    })
}

/// Generates code that adds the description of a counter to the variable `set`.
fn counter_code(info: &CounterInfo) -> TokenStream {
    let CounterInfo { id, name, stripes, .. } = info;
    let (counter_type, attribute_bits) = (info.counter_type.0, info.attributes.0);
    let cell = new_ident(&format!("{:?}", info.cell));
    let companions = info.companion_ids().map(|id| match id {
        Some(id) => quote!(::std::option::Option::Some(#id)),
        None => quote!(::std::option::Option::None),
    });
    let attributes = attribute_code(COUNTER_ATTRIBUTES, info, &CounterInfo::new(*id, "", info.counter_type));
    quote! {
        let mut info = ::tachograph_publish::CounterInfo::new(#id, #name, #counter_type);
        info.attributes = ::tachograph_publish::Attributes(#attribute_bits);
        info.set_companion_ids([#(#companions),*]);
        info.cell = ::tachograph_publish::CellKind::#cell;
        info.stripes = #stripes;
        #attributes
        set.counters.push(info);
    }
}

/// Generates code that sets the attributes of the variable `info` that differ from those of `default`.
fn attribute_code<T>(attributes: &[Attribute<T>], info: &T, default: &T) -> TokenStream {
    let differing = attributes.iter().filter_map(|attribute| {
        let (key, text) = (attribute.name(Notation::Derive)?, attribute.derive_text(info));
        // The text is valid: it was parsed before.
        (text != attribute.derive_text(default)).then(|| quote!(let _ = info.set(#key, #text);))
    });
    quote!(#(#differing)*)
}

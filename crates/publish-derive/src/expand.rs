//! The generated code.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use tachograph_schema::words::{Attribute, COUNTER_ATTRIBUTES, Notation, SET_ATTRIBUTES};
use tachograph_schema::{Attributes, CellKind, CounterInfo, CounterSetInfo, InstanceType};

use crate::model::{Counter, Set};

/// Implements `CounterSet` for a set.
pub(crate) fn expand(set: &Set) -> TokenStream {
    let ident = &set.ident;
    let CounterSetInfo { name, .. } = &set.info;
    let (guid, provider_guid) = (set.info.guid.to_u128(), set.info.provider_guid.to_u128());
    let is_single = set.info.instance_type == InstanceType::Single;
    let marker = variant(if is_single { "SingleInstance" } else { "MultipleInstances" });
    // The description with which the generated code starts; its provider has the name of the set.
    let plain = CounterSetInfo::new(name.as_ref(), set.info.guid, InstanceType::Single);
    let attributes = attributes(SET_ATTRIBUTES, &set.info, &plain);
    let counters = set.counters.iter().map(|counter| describe(&with_companions(set, counter)));
    // Bases follow all counters, so that a field's index in the struct is also the index of its cell.
    let bases = set.counters.iter().filter_map(own_base).map(|base| describe(&base));
    let fields = set.counters.iter().enumerate().map(|(index, counter)| {
        let Counter { field, field_type, .. } = counter;
        quote_spanned!(field_type.span()=> #field: <#field_type as ::tachograph_publish::Cell>::bind(cells, #index)?)
    });
    quote! {
        #[automatically_derived]
        impl ::tachograph_publish::CounterSet for #ident {
            fn description() -> ::tachograph_publish::CounterSetInfo {
                let mut described = ::tachograph_publish::CounterSetInfo::new(
                    #name,
                    ::tachograph_publish::Guid::from_u128(#guid),
                    ::tachograph_publish::InstanceType::Single,
                );
                described.provider_guid = ::tachograph_publish::Guid::from_u128(#provider_guid);
                #attributes
                let mut set = described;
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

fn variant(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

/// The counter with the ids of its companions.
fn with_companions(set: &Set, counter: &Counter) -> CounterInfo {
    let id_of = |field: &Ident| Some(set.counters.iter().find(|other| other.field == *field)?.info.id);
    let mut info = counter.info.clone();
    info.set_companion_ids(counter.companions.each_ref().map(|field| field.as_ref().and_then(id_of)));
    if let Some(base) = &counter.own_base {
        info.base_id = base.id;
    }
    info
}

/// The base that a field stores, as a counter.
fn own_base(counter: &Counter) -> Option<CounterInfo> {
    let base = counter.own_base.as_ref()?;
    Some(CounterInfo {
        attributes: Attributes::NO_DISPLAYABLE,
        detail_level: counter.info.detail_level,
        aggregate: counter.info.aggregate,
        cell: CellKind::None,
        ..CounterInfo::new(base.id?, base.name.clone(), base.counter_type)
    })
}

/// Generates the description of a counter.
fn describe(info: &CounterInfo) -> TokenStream {
    let CounterInfo { id, name, stripes, .. } = info;
    let (word, bits) = (info.counter_type.0, info.attributes.0);
    let cell = variant(&format!("{:?}", info.cell));
    let companions = info.companion_ids().map(|id| match id {
        Some(id) => quote!(::std::option::Option::Some(#id)),
        None => quote!(::std::option::Option::None),
    });
    let attributes = attributes(COUNTER_ATTRIBUTES, info, &CounterInfo::new(*id, "", info.counter_type));
    quote! {
        let mut described = ::tachograph_publish::CounterInfo::new(#id, #name, #word);
        described.attributes = ::tachograph_publish::Attributes(#bits);
        described.set_companion_ids([#(#companions),*]);
        described.cell = ::tachograph_publish::CellKind::#cell;
        described.stripes = #stripes;
        #attributes
        set.counters.push(described);
    }
}

/// Generates the attributes that differ from those of `plain`.
fn attributes<T>(attributes: &[Attribute<T>], of: &T, plain: &T) -> TokenStream {
    let differing = attributes.iter().filter_map(|attribute| {
        let (key, text) = (attribute.name(Notation::Derive)?, attribute.derive_text(of));
        // The text is valid: it was parsed before.
        (text != attribute.derive_text(plain)).then(|| quote!(let _ = described.set(#key, #text);))
    });
    quote!(#(#differing)*)
}

//! The code that the derive adds.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::model::{Counter, NO_DISPLAY, Set};

/// The implementation of `CounterSet` for a set.
pub(crate) fn expand(set: &Set) -> TokenStream {
    let ident = &set.ident;
    let Set { name, guid, provider, provider_guid, help, instances_help, detail, .. } = set;
    let instances = variant(set.instances);
    let marker = variant(if set.instances == "Single" { "SingleInstance" } else { "MultipleInstances" });
    let counters = set.counters.iter().map(|counter| describe(set, counter));
    // Bases follow all counters, so that the place of a field's cell is its place in the struct.
    let bases = set.counters.iter().filter_map(describe_own_base);
    let fields = set.counters.iter().enumerate().map(|(place, counter)| {
        let Counter { field, field_type, .. } = counter;
        quote_spanned!(field_type.span()=> #field: <#field_type as ::tachograph_publish::Cell>::bind(cells, #place)?)
    });
    quote! {
        #[automatically_derived]
        impl ::tachograph_publish::CounterSet for #ident {
            fn description() -> ::tachograph_publish::Description {
                let mut set = ::tachograph_publish::Description::new(
                    #name,
                    ::tachograph_publish::Guid::from_u128(#guid),
                    ::tachograph_publish::InstanceKind::#instances,
                );
                set.provider = ::tachograph_publish::Guid::from_u128(#provider_guid);
                set.provider_name = ::std::string::String::from(#provider);
                set.help = ::std::string::String::from(#help);
                set.instances_help = ::std::string::String::from(#instances_help);
                set.detail_level = #detail;
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

fn describe(set: &Set, counter: &Counter) -> TokenStream {
    let Counter { id, name, help, unit, scale, detail, aggregate, attributes, stripes, .. } = counter;
    let word = counter.counter_type.0;
    let cell = variant(counter.kind.cell());
    let [base, time, frequency, multiplier] =
        counter.companions.each_ref().map(|field| id_of(set, field.as_ref()));
    let base = match &counter.own_base {
        Some(own) => some(own.id.unwrap_or_default()),
        None => base,
    };
    quote! {
        let mut counter = ::tachograph_publish::CounterDescription::new(#id, #name, #word);
        counter.help = ::std::string::String::from(#help);
        counter.unit = ::std::string::String::from(#unit);
        counter.attributes = #attributes;
        counter.detail_level = #detail;
        counter.default_scale = #scale;
        counter.base_id = #base;
        counter.time_id = #time;
        counter.frequency_id = #frequency;
        counter.multiplier_id = #multiplier;
        counter.aggregate = #aggregate;
        counter.cell = ::tachograph_publish::CellKind::#cell;
        counter.stripes = #stripes;
        set.counters.push(counter);
    }
}

fn describe_own_base(counter: &Counter) -> Option<TokenStream> {
    let base = counter.own_base.as_ref()?;
    let (id, name, word) = (base.id.unwrap_or_default(), &base.name, base.counter_type.0);
    let (detail, aggregate) = (counter.detail, counter.aggregate);
    Some(quote! {
        let mut base = ::tachograph_publish::CounterDescription::new(#id, #name, #word);
        base.attributes = #NO_DISPLAY;
        base.detail_level = #detail;
        base.aggregate = #aggregate;
        base.cell = ::tachograph_publish::CellKind::None;
        set.counters.push(base);
    })
}

fn id_of(set: &Set, field: Option<&Ident>) -> TokenStream {
    let id = field.and_then(|field| set.counters.iter().find(|counter| counter.field == *field));
    id.map_or_else(|| quote!(::std::option::Option::None), |counter| some(counter.id))
}

fn some(id: u32) -> TokenStream {
    quote!(::std::option::Option::Some(#id))
}

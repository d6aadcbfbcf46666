//! `#[derive(CounterSet)]`, which `tachograph-publish` re-exports.

#![forbid(unsafe_code)]

mod attributes;
mod check;
mod expand;
mod model;
mod types;

use proc_macro::TokenStream;
use syn::{DeriveInput, Error};

/// Implements `tachograph_publish::CounterSet`, whose documentation lists the keys of the two attributes.
#[proc_macro_derive(CounterSet, attributes(counter_set, counter))]
pub fn counter_set(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

fn derive(input: &DeriveInput) -> Result<proc_macro2::TokenStream, Error> {
    let set = model::Set::parse(input)?;
    check::check(&set)?;
    Ok(expand::expand(&set))
}

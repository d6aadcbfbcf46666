//! Generates code from manifests: Rust for `tachograph-publish`, and C for providers and consumers.

mod c_text;
mod consumer;
mod names;
mod provider;
mod rust;

use std::fmt;

pub use consumer::{consumer_header, consumer_header_of};
pub use provider::provider_header;
pub use rust::rust;

/// The reason that no code can be generated from a valid manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerateError {
    message: String,
}

impl GenerateError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for GenerateError {}

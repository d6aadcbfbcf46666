//! Parses attribute values. Errors describe the expected value.

use std::sync::Arc;

use tachograph_counters::CounterType;

use super::model::{Callback, ProviderType, SchemaVersion};
use super::types;
use crate::Guid;
use crate::block::{MAX_NAME_UNITS, WILDCARD_ID};
use crate::registration::Attributes;

/// A parsed value, or a description of the expected value.
pub(super) type Value<T> = Result<T, String>;

pub(super) fn non_empty(text: &str) -> Value<Arc<str>> {
    if text.is_empty() { Err("a string that is not empty".into()) } else { Ok(text.into()) }
}

pub(super) fn name(text: &str) -> Value<Arc<str>> {
    if text.is_empty() || text.encode_utf16().count() > MAX_NAME_UNITS {
        return Err(format!("1 to {MAX_NAME_UNITS} characters"));
    }
    if text.chars().any(char::is_control) {
        return Err("a single line without control characters".into());
    }
    Ok(text.into())
}

/// The name of a file, without a path.
pub(super) fn file_name(text: &str) -> Value<Arc<str>> {
    if text.is_empty() || text.contains(['/', '\\']) {
        return Err("the name of a file, without a path".into());
    }
    Ok(text.into())
}

/// A GUID in braces, such as `{b4fc721a-0378-476f-89ba-a5a79f810b36}`.
pub(super) fn guid(text: &str) -> Value<Guid> {
    let guid = text.parse().ok().filter(|_| text.starts_with('{'));
    guid.ok_or_else(|| "a GUID in braces, such as {b4fc721a-0378-476f-89ba-a5a79f810b36}".into())
}

/// An unsigned 32-bit number, in decimal or hexadecimal.
pub(super) fn parse_integer(text: &str) -> Value<u32> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let parsed = match hexadecimal {
        Some(digits) if (1..=8).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit()) => {
            u32::from_str_radix(digits, 16).ok()
        }
        Some(_) => None,
        None if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        None => None,
    };
    parsed.ok_or_else(|| "a number from 0 to 4294967295, in decimal or as 0x with 1 to 8 digits".into())
}

pub(super) fn counter_id(text: &str) -> Value<u32> {
    match parse_integer(text)? {
        WILDCARD_ID => Err("another number: this one selects all counters".into()),
        id => Ok(id),
    }
}

/// A C identifier; `None` if the text is empty.
pub(super) fn parse_symbol(text: &str) -> Value<Option<Arc<str>>> {
    if text.is_empty() {
        return Ok(None);
    }
    let is_identifier = text.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        && !text.starts_with(|c: char| c.is_ascii_digit());
    if !is_identifier {
        return Err("a C identifier".into());
    }
    if C_KEYWORDS.split_ascii_whitespace().any(|word| word == text) {
        return Err("a C identifier that is not a keyword of C or C++".into());
    }
    Ok(Some(text.into()))
}

pub(super) fn required_symbol(text: &str) -> Value<Arc<str>> {
    parse_symbol(text)?.ok_or_else(|| "a C identifier".into())
}

/// Keywords of C and C++.
const C_KEYWORDS: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t \
    class compl const const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit \
    export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr \
    operator or or_eq private protected public register reinterpret_cast restrict return short signed sizeof static \
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union \
    unsigned using virtual void volatile wchar_t while xor xor_eq main";

fn parse_word<T: Copy>(text: &str, words: &[(&str, T)]) -> Value<T> {
    words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning).ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        format!("one of {}", words.join(", "))
    })
}

pub(super) fn schema_version(text: &str) -> Value<SchemaVersion> {
    parse_word(
        text,
        &[("1.0", SchemaVersion::V1_0), ("1.1", SchemaVersion::V1_1), ("2.0", SchemaVersion::V2_0)],
    )
}

pub(super) fn parse_callback(text: &str) -> Value<Callback> {
    parse_word(text, &[("default", Callback::Default), ("custom", Callback::Custom)])
}

pub(super) fn provider_type(text: &str) -> Value<ProviderType> {
    parse_word(text, &[("userMode", ProviderType::UserMode), ("kernelMode", ProviderType::KernelMode)])
}

pub(super) fn counter_attribute(text: &str) -> Value<Attributes> {
    parse_word(text, &Attributes::WORDS.map(|(name, _, attribute)| (name, attribute)))
}

pub(super) fn counter_type(text: &str) -> Value<CounterType> {
    types::type_of(text)
}

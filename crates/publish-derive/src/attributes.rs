//! Parses `#[counter(...)]` and `#[counter_set(...)]`, which are lists of keys with optional values.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, ExprLit, Lit, LitInt, LitStr, Meta, Token};
use tachograph_schema::words::{Attribute as SchemaAttribute, Notation};

/// The errors found in a struct, which are reported together.
#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    pub(crate) fn push(&mut self, error: Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            all => *all = Some(error),
        }
    }

    /// Adds an error at a position in the source code.
    pub(crate) fn push_at(&mut self, span: Span, text: impl std::fmt::Display) {
        self.push(Error::new(span, text));
    }

    pub(crate) fn finish(self) -> Result<(), Error> {
        self.0.map_or(Ok(()), Err)
    }
}

/// The value of a key.
pub(crate) enum Value {
    /// A key without a value.
    Nothing,
    Text(LitStr),
    Number(i64),
    /// The name of a field.
    Field(Ident),
}

impl Value {
    const fn description(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Text(_) => "a string literal",
            Self::Number(_) => "a number",
            Self::Field(_) => "the name of a field",
        }
    }
}

/// A key with its value.
struct Entry {
    key: Ident,
    value: Value,
    /// The position of the value; of the key if it has no value.
    span: Span,
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let key = Ident::parse_any(input)?;
        if !input.peek(Token![=]) {
            return Ok(Self { span: key.span(), key, value: Value::Nothing });
        }
        input.parse::<Token![=]>()?;
        let span = input.span();
        let value = if input.peek(LitStr) {
            Value::Text(input.parse()?)
        } else if input.peek(Token![-]) || input.peek(LitInt) {
            let is_negative = input.parse::<Option<Token![-]>>()?.is_some();
            let number = input.parse::<LitInt>()?.base10_parse::<i64>()?;
            Value::Number(if is_negative { -number } else { number })
        } else if input.peek(syn::Ident::peek_any) {
            Value::Field(Ident::parse_any(input)?)
        } else {
            return Err(Error::new(span, "expected a string literal, a number, or the name of a field"));
        };
        Ok(Self { key, value, span })
    }
}

/// The keys of one `#[counter(...)]` or `#[counter_set(...)]` that have not been taken yet.
pub(crate) struct AttributeKeys {
    entries: Vec<Entry>,
    /// The position of the attribute, or of the struct or field if the attribute is absent.
    pub(crate) span: Span,
    allowed_keys: Vec<&'static str>,
}

impl AttributeKeys {
    /// Parses all attributes with this name. Keys that are in neither `keys` nor `schema_attributes` are errors.
    /// `owner_span` is the position of the struct or field.
    pub(crate) fn parse<T>(
        attributes: &[Attribute],
        name: &str,
        keys: &[&'static str],
        schema_attributes: &[SchemaAttribute<T>],
        owner_span: Span,
        errors: &mut Errors,
    ) -> Self {
        let schema_keys = schema_attributes.iter().filter_map(|attribute| attribute.name(Notation::Derive));
        let allowed_keys = keys.iter().copied().chain(schema_keys).collect();
        let mut parsed = Self { entries: Vec::new(), span: owner_span, allowed_keys };
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident(name)) {
            parsed.span = syn::spanned::Spanned::span(attribute);
            match attribute.parse_args_with(Punctuated::<Entry, Token![,]>::parse_terminated) {
                Ok(entries) => entries.into_iter().for_each(|entry| parsed.add(entry, errors)),
                Err(error) => errors.push(error),
            }
        }
        parsed
    }

    fn add(&mut self, entry: Entry, errors: &mut Errors) {
        let key = entry.key.to_string();
        if !self.allowed_keys.contains(&key.as_str()) {
            errors.push_at(
                entry.key.span(),
                format!("unknown key `{key}`: use one of {}", self.allowed_keys.join(", ")),
            );
        } else if self.entries.iter().any(|other| other.key == entry.key) {
            errors.push_at(entry.key.span(), format!("`{key}` is set twice"));
        } else {
            self.entries.push(entry);
        }
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    /// Removes a key, and returns its value and position.
    pub(crate) fn take(&mut self, key: &str) -> Option<(Value, Span)> {
        let index = self.entries.iter().position(|entry| entry.key == key)?;
        let entry = self.entries.swap_remove(index);
        Some((entry.value, entry.span))
    }

    /// Removes a key, and returns its string and position.
    pub(crate) fn take_text(&mut self, key: &str, errors: &mut Errors) -> Option<(String, Span)> {
        match self.take(key)? {
            (Value::Text(text), span) => Some((text.value(), span)),
            (other, span) => {
                errors
                    .push_at(span, format!("`{key}` must be a string literal, not {}", other.description()));
                None
            }
        }
    }

    /// Removes a key, and returns its number and position.
    pub(crate) fn take_number(&mut self, key: &str, errors: &mut Errors) -> Option<(i64, Span)> {
        match self.take(key)? {
            (Value::Number(number), span) => Some((number, span)),
            (other, span) => {
                errors.push_at(span, format!("`{key}` must be a number, not {}", other.description()));
                None
            }
        }
    }

    /// Removes a key, and returns the field that it names.
    pub(crate) fn take_field(&mut self, key: &str, errors: &mut Errors) -> Option<Ident> {
        match self.take(key)? {
            (Value::Field(field), _) => Some(field),
            (other, span) => {
                errors.push_at(
                    span,
                    format!(
                        "`{key}` must be the name of a field without quotes, not {}",
                        other.description()
                    ),
                );
                None
            }
        }
    }

    /// Removes a key without a value, and returns whether it was present.
    pub(crate) fn take_flag(&mut self, key: &str, errors: &mut Errors) -> bool {
        match self.take(key) {
            None => false,
            Some((Value::Nothing, _)) => true,
            Some((_, span)) => {
                errors.push_at(span, format!("`{key}` takes no value"));
                true
            }
        }
    }

    /// Removes the keys of these attributes of the schema, and sets the fields of `info` to their values.
    pub(crate) fn take_into<T>(
        &mut self,
        attributes: &[SchemaAttribute<T>],
        info: &mut T,
        errors: &mut Errors,
    ) {
        for attribute in attributes {
            let Some(key) = attribute.name(Notation::Derive) else { continue };
            let value = match attribute.is_number {
                true => self.take_number(key, errors).map(|(number, span)| (number.to_string(), span)),
                false => self.take_text(key, errors),
            };
            if let Some((text, span)) = value
                && let Err(expected) = attribute.parse(info, &text, Notation::Derive)
            {
                errors.push_at(span, format!("`{key}` must be {expected}, not {text}"));
            }
        }
    }
}

/// The first paragraph of the documentation comment.
pub(crate) fn first_doc_paragraph(attributes: &[Attribute]) -> String {
    let lines =
        attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).filter_map(|attribute| {
            match &attribute.meta {
                Meta::NameValue(pair) => match &pair.value {
                    Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
                    _ => None,
                },
                _ => None,
            }
        });
    let text = lines.collect::<Vec<_>>().join("\n");
    let lines = text.lines().map(str::trim).skip_while(|line| line.is_empty());
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

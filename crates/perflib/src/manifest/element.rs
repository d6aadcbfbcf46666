//! Reads attributes and children of a manifest's elements.

use std::fmt;

use roxmltree::{Attribute, Node};
use tachograph_schema::words::{Attribute as TextAttribute, Notation};

use super::text::Lines;
use super::values::Value;
use super::violation::{Located, Position, Severity, Violations, quote_for_message};

/// Attributes in these namespaces are ignored.
const OTHER_NAMESPACES: [&str; 2] =
    ["http://www.w3.org/XML/1998/namespace", "http://www.w3.org/2001/XMLSchema-instance"];

/// Reads a document and collects its violations.
pub(super) struct Reader<'a> {
    pub(super) lines: &'a Lines<'a>,
    pub(super) violations: &'a mut Violations,
}

impl Reader<'_> {
    /// The position of an element.
    pub(super) fn position_of(&self, node: Node<'_, '_>) -> Position {
        self.lines.position(node.range().start)
    }

    /// The position of an attribute.
    pub(super) fn at_attribute(&self, attribute: &Attribute<'_, '_>) -> Position {
        self.lines.position(attribute.range().start)
    }

    pub(super) fn error(
        &mut self,
        at: Position,
        subject: impl fmt::Display,
        found: impl Into<Box<str>>,
        expected: impl Into<Box<str>>,
    ) {
        self.violations.push(Severity::Error, at, subject.to_string(), found, expected);
    }

    pub(super) fn warning(
        &mut self,
        at: Position,
        subject: impl fmt::Display,
        found: impl Into<Box<str>>,
        expected: impl Into<Box<str>>,
    ) {
        self.violations.push(Severity::Warning, at, subject.to_string(), found, expected);
    }

    /// The value of an attribute, if it is present and valid.
    pub(super) fn optional_attribute<T>(
        &mut self,
        node: Node<'_, '_>,
        name: &str,
        parse: fn(&str) -> Value<T>,
    ) -> Option<Located<T>> {
        let attribute = node.attribute_node(name)?;
        let at = self.at_attribute(&attribute);
        match parse(attribute.value()) {
            Ok(value) => Some(Located { value, at }),
            Err(expected) => {
                let subject = format!("{}, {name}", label(node));
                self.error(at, subject, quote_for_message(attribute.value()), expected);
                None
            }
        }
    }

    /// Like [`optional`](Self::optional), but reports a missing attribute.
    pub(super) fn required_attribute<T>(
        &mut self,
        node: Node<'_, '_>,
        name: &str,
        parse: fn(&str) -> Value<T>,
    ) -> Option<Located<T>> {
        if node.attribute_node(name).is_none() {
            self.report_missing(node, name);
            return None;
        }
        self.optional_attribute(node, name, parse)
    }

    /// Reads the given attributes of an element, and sets them in `target`. Returns whether all are valid, and all
    /// `required` attributes are present.
    pub(super) fn read_into<T>(
        &mut self,
        node: Node<'_, '_>,
        attributes: &[TextAttribute<T>],
        target: &mut T,
        required: &[&str],
    ) -> bool {
        let mut is_valid = true;
        for attribute in attributes {
            let Some(name) = attribute.name(Notation::Manifest) else { continue };
            let Some(node_attribute) = node.attribute_node(name) else {
                if required.contains(&name) {
                    self.report_missing(node, name);
                    is_valid = false;
                }
                continue;
            };
            if let Err(expected) = attribute.parse(target, node_attribute.value(), Notation::Manifest) {
                let subject = format!("{}, {name}", label(node));
                self.error(
                    self.at_attribute(&node_attribute),
                    subject,
                    quote_for_message(node_attribute.value()),
                    expected,
                );
                is_valid = false;
            }
        }
        is_valid
    }

    /// Reports a missing attribute.
    fn report_missing(&mut self, node: Node<'_, '_>, name: &str) {
        self.error(
            self.position_of(node),
            label(node),
            format!("no {name}"),
            format!("the attribute {name}"),
        );
    }

    /// Reports attributes whose names are not in `known`.
    pub(super) fn check_attributes(&mut self, node: Node<'_, '_>, known: &[&str]) {
        for attribute in node.attributes() {
            let is_known = match attribute.namespace() {
                None => known.contains(&attribute.name()),
                Some(namespace) => OTHER_NAMESPACES.contains(&namespace),
            };
            if !is_known {
                let at = self.at_attribute(&attribute);
                let expected = match known {
                    [] => "no attribute".to_owned(),
                    known => format!("one of {}", known.join(", ")),
                };
                self.error(
                    at,
                    label(node),
                    format!("the attribute {}", quote_for_message(attribute.name())),
                    expected,
                );
            }
        }
    }

    /// The child elements with known names. Reports other elements and text.
    pub(super) fn known_children<'n, 'i>(&mut self, node: Node<'n, 'i>, known: &[&str]) -> Vec<Node<'n, 'i>> {
        let mut children = Vec::new();
        for child in node.children() {
            let expected = || match known {
                [] => "no content".to_owned(),
                known => format!("only {}", known.join(", ")),
            };
            if child.is_text() {
                let text = child.text().unwrap_or_default().trim();
                if !text.is_empty() {
                    let start = child.range().start + leading_space(child.text().unwrap_or_default());
                    let at = self.lines.position(start);
                    self.error(at, label(node), format!("the text {}", quote_for_message(text)), expected());
                }
            } else if child.is_element() {
                let name = child.tag_name();
                let is_same_namespace = name.namespace() == node.tag_name().namespace();
                if is_same_namespace && known.contains(&name.name()) {
                    children.push(child);
                } else {
                    let mut found = format!("the element {}", quote_for_message(name.name()));
                    if !is_same_namespace {
                        found += &format!(
                            " of namespace {}",
                            quote_for_message(name.namespace().unwrap_or_default())
                        );
                    }
                    self.error(self.position_of(child), label(node), found, expected());
                }
            }
        }
        children
    }

    /// The first child with this name. Reports further children with the name.
    pub(super) fn at_most_one<'n, 'i>(
        &mut self,
        parent: Node<'_, '_>,
        children: &[Node<'n, 'i>],
        name: &str,
    ) -> Option<Node<'n, 'i>> {
        let mut named = children.iter().filter(|child| child.tag_name().name() == name);
        let first = named.next().copied();
        for other in named {
            let at = self.position_of(*other);
            self.error(at, label(parent), format!("another {name}"), format!("one {name}"));
        }
        first
    }
}

fn leading_space(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// Describes an element in messages: its kind and its name, or another attribute that identifies it.
pub(super) fn label(node: Node<'_, '_>) -> String {
    let kind = node.tag_name().name();
    let named = ["name", "id", "symbol", "providerName"].iter().find_map(|name| node.attribute(*name));
    match named {
        Some(name) => format!("{kind} {}", quote_for_message(name)),
        None => kind.to_owned(),
    }
}

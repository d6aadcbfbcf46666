//! Converts the XML tree of a manifest to a draft. Checks each element and attribute separately.

use roxmltree::{Document, Node};
use tachograph_schema::words::{Attribute as TextAttribute, COUNTER_ATTRIBUTES, Notation, SET_ATTRIBUTES};
use tachograph_schema::{Attributes, CounterInfo, CounterSetInfo, CounterType, Guid, InstanceType};

use super::draft::{CounterDraft, Draft, ProviderDraft, SetDraft, StructDraft};
use super::element::{Reader, label};
use super::model::{ProviderType, SchemaVersion};
use super::types::ROLES;
use super::values;
use super::violation::{Position, quote_for_message};

const NAMESPACE: &str = "http://schemas.microsoft.com/win/2005/12/counters";

/// The draft of a document; `None` if the element `counters` or `provider` is missing.
pub(super) fn read(document: &Document<'_>, reader: &mut Reader<'_>) -> Option<Draft> {
    let counters = find_counters(document.root_element(), reader)?;
    let namespace = counters.tag_name().namespace().unwrap_or_default();
    if namespace != NAMESPACE {
        let at = reader.position_of(counters);
        reader.error(
            at,
            "counters",
            format!("the namespace {}", quote_for_message(namespace)),
            quote_for_message(NAMESPACE),
        );
    }
    reader.check_attributes(counters, &["schemaVersion"]);
    let schema_version = reader.required_attribute(counters, "schemaVersion", values::schema_version);
    let children = reader.known_children(counters, &["provider"]);
    let Some(provider) = reader.at_most_one(counters, &children, "provider") else {
        let at = reader.position_of(counters);
        reader.error(at, "counters", "no provider", "one provider");
        return None;
    };
    let version = schema_version.map(|version| version.value);
    Some(Draft { schema_version, provider: read_provider(provider, version, reader) })
}

/// The element `instrumentationManifest/instrumentation/counters`. Other kinds of elements next to it are ignored.
fn find_counters<'n, 'i>(root: Node<'n, 'i>, reader: &mut Reader<'_>) -> Option<Node<'n, 'i>> {
    if root.tag_name().name() != "instrumentationManifest" {
        let found = format!("the element {}", quote_for_message(root.tag_name().name()));
        reader.error(reader.position_of(root), "document", found, "instrumentationManifest");
        return None;
    }
    let mut parent = root;
    for name in ["instrumentation", "counters"] {
        let children: Vec<_> = parent.children().filter(Node::is_element).collect();
        let Some(child) = reader.at_most_one(parent, &children, name) else {
            reader.error(
                reader.position_of(parent),
                label(parent),
                format!("no {name}"),
                format!("one {name}"),
            );
            return None;
        };
        parent = child;
    }
    Some(parent)
}

fn read_provider(
    node: Node<'_, '_>,
    version: Option<SchemaVersion>,
    reader: &mut Reader<'_>,
) -> ProviderDraft {
    reader.check_attributes(
        node,
        &[
            "providerGuid",
            "applicationIdentity",
            "symbol",
            "callback",
            "providerType",
            "providerName",
            "resourceBase",
        ],
    );
    let guid = reader.required_attribute(node, "providerGuid", values::guid);
    let application_identity = reader.required_attribute(node, "applicationIdentity", values::file_name);
    let provider_type = reader.optional_attribute(node, "providerType", values::provider_type);
    let is_kernel =
        provider_type.is_some_and(|provider_type| provider_type.value == ProviderType::KernelMode);
    let symbol = reader.optional_attribute(node, "symbol", values::parse_symbol);
    let has_symbol = node.attribute("symbol").is_some_and(|symbol| !symbol.is_empty());
    if !is_kernel && !has_symbol {
        let at = symbol.as_ref().map_or_else(|| reader.position_of(node), |symbol| symbol.at);
        reader.error(at, label(node), "no symbol", "the attribute symbol, which user mode providers need");
    }
    let resource_base = reader.optional_attribute(node, "resourceBase", values::parse_integer);
    if let Some(attribute) = node.attribute_node("resourceBase")
        && version == Some(SchemaVersion::V2_0)
    {
        let at = reader.at_attribute(&attribute);
        reader.error(
            at,
            label(node),
            "resourceBase",
            "no resourceBase: version 2.0 uses nameID and descriptionID instead",
        );
    }
    let callback = reader.optional_attribute(node, "callback", values::parse_callback);
    let name = reader.optional_attribute(node, "providerName", values::name);
    let children = reader.known_children(node, &["counterSet"]);
    let counter_sets = children.into_iter().map(|set| read_set(set, version, reader)).collect();
    ProviderDraft {
        guid,
        name,
        application_identity,
        symbol,
        callback,
        provider_type,
        resource_base,
        counter_sets,
    }
}

fn read_set(node: Node<'_, '_>, version: Option<SchemaVersion>, reader: &mut Reader<'_>) -> SetDraft {
    let known = ["guid", "uri", "symbol", "name", "nameID", "descriptionID"];
    reader.check_attributes(node, &known_attributes(&known, SET_ATTRIBUTES));
    let mut info = CounterSetInfo::new("", Guid::default(), InstanceType::Single);
    let is_valid = reader.read_into(node, SET_ATTRIBUTES, &mut info, &["description"]);
    let [name_id, description_id] = ["nameID", "descriptionID"].map(|attribute| {
        check_string_id(node, attribute, version, true, reader);
        reader.optional_attribute(node, attribute, values::parse_integer)
    });
    let children = reader.known_children(node, &["structs", "counter"]);
    let mut structs = Vec::new();
    if let Some(all) = reader.at_most_one(node, &children, "structs") {
        reader.check_attributes(all, &[]);
        structs = reader
            .known_children(all, &["struct"])
            .into_iter()
            .map(|node| read_struct(node, reader))
            .collect();
        if structs.is_empty() {
            reader.error(
                reader.position_of(all),
                label(node),
                "structs without a struct",
                "at least one struct",
            );
        }
    }
    let counters: Vec<_> = children
        .iter()
        .filter(|child| child.tag_name().name() == "counter")
        .map(|counter| read_counter(*counter, version, reader))
        .collect();
    SetDraft {
        at: reader.position_of(node),
        label: label(node),
        guid: reader.required_attribute(node, "guid", values::guid),
        uri: reader.required_attribute(node, "uri", values::non_empty),
        symbol: reader.required_attribute(node, "symbol", values::required_symbol),
        name: reader.required_attribute(node, "name", values::name),
        info,
        is_valid,
        name_id,
        description_id,
        structs,
        counters,
    }
}

fn read_struct(node: Node<'_, '_>, reader: &mut Reader<'_>) -> StructDraft {
    reader.check_attributes(node, &["name", "type"]);
    reader.known_children(node, &[]);
    StructDraft {
        at: reader.position_of(node),
        name: reader.required_attribute(node, "name", values::non_empty),
        c_type: reader.required_attribute(node, "type", values::non_empty),
    }
}

fn read_counter(node: Node<'_, '_>, version: Option<SchemaVersion>, reader: &mut Reader<'_>) -> CounterDraft {
    let known = ["id", "uri", "type", "name", "nameID", "descriptionID", "symbol", "struct", "field"];
    reader.check_attributes(node, &known_attributes(&[&known, &ROLES[..]].concat(), COUNTER_ATTRIBUTES));
    let mut info = CounterInfo::new(0, "", CounterType::RAWCOUNT);
    let is_valid = reader.read_into(node, COUNTER_ATTRIBUTES, &mut info, &["detailLevel"]);
    let children = reader.known_children(node, &["counterAttributes"]);
    if let Some(all) = reader.at_most_one(node, &children, "counterAttributes") {
        info.attributes = read_counter_attributes(node, all, reader);
    }
    let is_displayed = !info.attributes.has(Attributes::NO_DISPLAYABLE);
    for name in ["name", "description"] {
        if is_displayed && node.attribute_node(name).is_none() {
            let expected = format!("the attribute {name}: only counters with noDisplay can omit it");
            reader.error(reader.position_of(node), label(node), format!("no {name}"), expected);
        }
    }
    let [name_id, description_id] =
        [("nameID", "name"), ("descriptionID", "description")].map(|(id, text)| {
            check_string_id(node, id, version, node.has_attribute(text), reader);
            reader.optional_attribute(node, id, values::parse_integer)
        });
    CounterDraft {
        at: reader.position_of(node),
        label: label(node),
        id: reader.required_attribute(node, "id", values::counter_id),
        uri: reader.required_attribute(node, "uri", values::non_empty),
        counter_type: reader.required_attribute(node, "type", values::counter_type),
        info,
        is_valid,
        name: reader.optional_attribute(node, "name", values::name),
        has_description: node.has_attribute("description"),
        name_id,
        description_id,
        symbol: reader.optional_attribute(node, "symbol", values::parse_symbol),
        companions: ROLES.map(|role| reader.optional_attribute(node, role, values::parse_integer)),
        has_companion_attribute: ROLES.map(|role| node.has_attribute(role)),
        structure: reader.optional_attribute(node, "struct", values::non_empty),
        field: reader.optional_attribute(node, "field", values::non_empty),
    }
}

/// The names of all attributes that an element can have: `names` and the attributes that a table lists.
fn known_attributes<T>(names: &[&'static str], attributes: &[TextAttribute<T>]) -> Vec<&'static str> {
    let texts = attributes.iter().filter_map(|attribute| attribute.name(Notation::Manifest));
    names.iter().copied().chain(texts).collect()
}

/// Reads `counterAttributes`, which has one to five attributes, each at most once.
fn read_counter_attributes(counter: Node<'_, '_>, all: Node<'_, '_>, reader: &mut Reader<'_>) -> Attributes {
    reader.check_attributes(all, &[]);
    let mut attributes = Attributes::default();
    let mut positions: Vec<(Attributes, Position)> = Vec::new();
    let children = reader.known_children(all, &["counterAttribute"]);
    if children.is_empty() {
        let at = reader.position_of(all);
        reader.error(at, label(counter), "counterAttributes without a counterAttribute", "1 to 5 of them");
    }
    for child in children {
        reader.check_attributes(child, &["name"]);
        reader.known_children(child, &[]);
        let Some(attribute) = reader.required_attribute(child, "name", values::counter_attribute) else {
            continue;
        };
        if attributes.has(attribute.value) {
            let first = positions.iter().find(|(known, _)| *known == attribute.value).map(|(_, at)| at.line);
            let expected = format!("each attribute once: line {} already has it", first.unwrap_or_default());
            let found = child.attribute("name").unwrap_or_default();
            reader.error(
                attribute.at,
                format!("{}, counterAttribute", label(counter)),
                quote_for_message(found),
                expected,
            );
        }
        attributes = attributes.with(attribute.value);
        positions.push((attribute.value, attribute.at));
    }
    attributes
}

/// Checks `nameID` or `descriptionID`, which version 2.0 requires for each text and earlier versions do not allow.
fn check_string_id(
    node: Node<'_, '_>,
    name: &str,
    version: Option<SchemaVersion>,
    has_text: bool,
    reader: &mut Reader<'_>,
) {
    match (node.attribute_node(name), version) {
        (Some(attribute), Some(SchemaVersion::V1_0 | SchemaVersion::V1_1)) => {
            let at = reader.at_attribute(&attribute);
            reader.error(at, label(node), name, format!("no {name} before version 2.0"));
        }
        (None, Some(SchemaVersion::V2_0)) if has_text => {
            let at = reader.position_of(node);
            let expected = format!("the attribute {name}, which version 2.0 needs");
            reader.error(at, label(node), format!("no {name}"), expected);
        }
        _ => {}
    }
}

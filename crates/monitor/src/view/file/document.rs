//! The tables and keys of a view file, before they are checked.

use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadView {
    pub(super) version: Spanned<i64>,
    pub(super) interval: Option<Spanned<f64>>,
    pub(super) points: Option<Spanned<i64>>,
    pub(super) title: Option<Spanned<String>>,
    pub(super) optional: Option<Spanned<bool>>,
    pub(super) group_by: Option<Spanned<String>>,
    /// Version 1: the kind of the only panel.
    pub(super) view: Option<Spanned<String>>,
    pub(super) range: Option<ReadRange>,
    /// Version 1: the counters of the only panel.
    #[serde(default)]
    pub(super) counter: Vec<Spanned<ReadCounter>>,
    #[serde(default)]
    pub(super) headline: Vec<Spanned<ReadCounter>>,
    #[serde(default)]
    pub(super) panel: Vec<Spanned<ReadPanel>>,
    #[serde(default)]
    pub(super) annotation: Vec<Spanned<ReadAnnotation>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadAnnotation {
    pub(super) begin: Spanned<String>,
    pub(super) end: Option<Spanned<String>>,
    pub(super) text: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadRange {
    pub(super) begin: Option<Spanned<String>>,
    pub(super) end: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadPanel {
    pub(super) title: Option<String>,
    pub(super) kind: Option<Spanned<String>>,
    pub(super) unit: Option<String>,
    pub(super) axis: Option<Spanned<String>>,
    pub(super) min: Option<Spanned<f64>>,
    pub(super) max: Option<Spanned<f64>>,
    #[serde(default)]
    pub(super) limits: Vec<Spanned<f64>>,
    #[serde(default)]
    pub(super) bands: Vec<Spanned<[f64; 2]>>,
    pub(super) width: Option<Spanned<i64>>,
    pub(super) height: Option<Spanned<i64>>,
    pub(super) min_size: Option<Spanned<Vec<i64>>>,
    pub(super) set: Option<Spanned<String>>,
    pub(super) machine: Option<Spanned<String>>,
    pub(super) columns: Option<Spanned<Vec<String>>>,
    pub(super) sort: Option<Spanned<String>>,
    pub(super) reversed: Option<Spanned<bool>>,
    pub(super) top: Option<Spanned<i64>>,
    pub(super) tree: Option<Spanned<String>>,
    pub(super) filter: Option<Spanned<String>>,
    pub(super) kernel_threads: Option<Spanned<bool>>,
    #[serde(default)]
    pub(super) counter: Vec<ReadCounter>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadCounter {
    pub(super) path: Spanned<String>,
    /// Alternative paths.
    #[serde(default, rename = "or")]
    pub(super) alternatives: Vec<Spanned<ReadAlternative>>,
    pub(super) label: Option<String>,
    #[serde(default)]
    pub(super) only_active: bool,
    #[serde(default)]
    pub(super) capacity: bool,
    pub(super) colour: Option<Spanned<i64>>,
    pub(super) scale: Option<Spanned<i64>>,
    #[serde(default = "yes")]
    pub(super) shown: bool,
    #[serde(default)]
    pub(super) highlighted: bool,
    #[serde(default)]
    pub(super) except: Vec<Spanned<String>>,
}

fn yes() -> bool {
    true
}

/// An alternative path: its text, or a TOML table with `path` and `label`.
pub(super) struct ReadAlternative {
    pub(super) path: String,
    pub(super) label: Option<String>,
}

impl<'de> Deserialize<'de> for ReadAlternative {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Alternative;
        impl<'de> Visitor<'de> for Alternative {
            type Value = ReadAlternative;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a counter path, or a table with path and label")
            }

            fn visit_str<E>(self, path: &str) -> Result<ReadAlternative, E> {
                Ok(ReadAlternative { path: path.to_owned(), label: None })
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ReadAlternative, A::Error> {
                let (mut path, mut label) = (None, None);
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "path" => path = Some(map.next_value()?),
                        "label" => label = Some(map.next_value()?),
                        _ => return Err(A::Error::unknown_field(&key, &["path", "label"])),
                    }
                }
                let path = path.ok_or_else(|| A::Error::missing_field("path"))?;
                Ok(ReadAlternative { path, label })
            }
        }
        deserializer.deserialize_any(Alternative)
    }
}

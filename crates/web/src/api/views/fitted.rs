//! What the page receives: a view whose paths, columns and times are those of the source.

use serde::Serialize;
use tachograph_monitor::scale::Scale;
use tachograph_monitor::{Alternative, Chosen};

/// A view, fitted to a source.
#[derive(Serialize)]
pub(super) struct FittedView {
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) interval: Option<f64>,
    pub(super) points: Option<usize>,
    pub(super) begin: Option<String>,
    pub(super) end: Option<String>,
    /// Counters whose values are in the first line.
    pub(super) headline: Vec<FittedCounter>,
    pub(super) panels: Vec<FittedPanel>,
    /// `name`: the instances of each name are one series.
    pub(super) group_by: Option<&'static str>,
    pub(super) annotations: Vec<FittedAnnotation>,
    /// The paths of an optional view that the source lacks.
    pub(super) missing: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct FittedAnnotation {
    pub(super) begin: String,
    pub(super) end: Option<String>,
    pub(super) text: String,
}

#[derive(Serialize)]
pub(super) struct FittedPanel {
    pub(super) title: Option<String>,
    pub(super) kind: &'static str,
    pub(super) unit: Option<String>,
    pub(super) axis: &'static str,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
    pub(super) limits: Vec<f64>,
    pub(super) bands: Vec<[f64; 2]>,
    /// The number of instances that are drawn at first: those with the largest maximum. `null`: all.
    pub(super) top: Option<usize>,
    pub(super) width: u8,
    pub(super) height: u8,
    pub(super) counters: Vec<FittedCounter>,
    pub(super) table: Option<FittedTable>,
}

#[derive(Serialize)]
pub(super) struct FittedCounter {
    pub(super) path: String,
    pub(super) or: Vec<FittedAlternative>,
    pub(super) label: Option<String>,
    pub(super) only_active: bool,
    /// The line style, counted from 1.
    pub(super) colour: Option<usize>,
    pub(super) scale: Option<i32>,
    pub(super) is_shown: bool,
    pub(super) is_highlighted: bool,
    pub(super) except: Vec<String>,
}

/// An alternative path, with its label if it has one.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum FittedAlternative {
    Path(String),
    Labelled { path: String, label: String },
}

#[derive(Serialize)]
pub(super) struct FittedTable {
    pub(super) set: String,
    /// The machine whose instances are shown; `null`: all machines.
    pub(super) machine: Option<String>,
    pub(super) columns: Vec<FittedColumn>,
    pub(super) sort: String,
    pub(super) is_descending: bool,
    pub(super) top: Option<usize>,
    pub(super) filter: String,
    pub(super) tree: &'static str,
    /// The counters with the ids of the process and of its parent, if the set has them.
    pub(super) process: Option<String>,
    pub(super) parent: Option<String>,
}

/// A column of a table; without a counter and a property it shows the names of instances.
#[derive(Serialize)]
pub(super) struct FittedColumn {
    pub(super) title: String,
    pub(super) counter: Option<String>,
    /// The description of the counter; empty without one.
    pub(super) help: String,
    /// A property of processes: `User`, `State`, `Command` or `Control Group`.
    pub(super) property: Option<String>,
    /// Whether the values are identifiers, such as process ids, so that the last value is shown instead of an average.
    pub(super) is_last: bool,
}

impl FittedCounter {
    pub(super) fn new(chosen: &Chosen) -> Self {
        Self {
            path: chosen.path.to_string(),
            or: chosen.alternatives.iter().map(FittedAlternative::new).collect(),
            label: chosen.label.clone(),
            only_active: chosen.only_active,
            colour: chosen.settings.style.map(|style| style.0 + 1),
            scale: match chosen.settings.scale {
                Scale::Default => None,
                Scale::Exponent(exponent) => Some(exponent),
            },
            is_shown: chosen.settings.is_shown,
            is_highlighted: chosen.settings.is_highlighted,
            except: chosen.except.clone(),
        }
    }
}

impl FittedAlternative {
    pub(super) fn new(alternative: &Alternative) -> Self {
        let path = alternative.path.to_string();
        match alternative.label.clone() {
            Some(label) => Self::Labelled { path, label },
            None => Self::Path(path),
        }
    }
}

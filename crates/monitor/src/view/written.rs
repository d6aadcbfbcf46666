//! Writes a view as TOML.

use serde::Serialize;
use tachograph_counters::civil::{Moment, TimeArgument};
use tachograph_counters::path::PathPattern;

use super::{AxisScale, Panel, View, ViewKind};
use crate::legend::{Alternative, Chosen, Settings};
use crate::palette::STYLES;
use crate::scale::Scale;
use crate::table::{TableSettings, TreeKind};

/// The version of the format that is written.
const VERSION: i64 = 2;

#[derive(Serialize)]
struct WrittenView<'a> {
    version: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    points: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    optional: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<WrittenRange>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    headline: Vec<WrittenCounter<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    panel: Vec<WrittenPanel<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    annotation: Vec<WrittenAnnotation<'a>>,
}

#[derive(Serialize)]
struct WrittenAnnotation<'a> {
    begin: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<String>,
    text: &'a str,
}

#[derive(Serialize)]
struct WrittenRange {
    #[serde(skip_serializing_if = "Option::is_none")]
    begin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<String>,
}

#[derive(Serialize)]
struct WrittenPanel<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'a str>,
    axis: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<f64>,
    #[serde(skip_serializing_if = "<[f64]>::is_empty")]
    limits: &'a [f64],
    #[serde(skip_serializing_if = "<[[f64; 2]]>::is_empty")]
    bands: &'a [[f64; 2]],
    #[serde(skip_serializing_if = "is_one")]
    width: u8,
    #[serde(skip_serializing_if = "is_one")]
    height: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_size: Option<[u16; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    columns: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    sort: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    reversed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    top: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<&'static str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    filter: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    kernel_threads: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    counter: Vec<WrittenCounter<'a>>,
}

static NO_TABLE: TableSettings = TableSettings {
    set: None,
    machine: None,
    columns: Vec::new(),
    sort: None,
    reversed: false,
    top: None,
    tree: TreeKind::None,
    filter: String::new(),
    kernel_threads: false,
};

fn is_one(share: &u8) -> bool {
    *share == 1
}

impl<'a> WrittenPanel<'a> {
    fn of(panel: &'a Panel) -> Self {
        // Other kinds of panels have no such keys.
        let table = if panel.kind == ViewKind::Table { &panel.table } else { &NO_TABLE };
        // If the user has switched the scale of the axis, its ends may be invalid for the new scale. Such ends would be rejected
        // in a file, so they are omitted.
        let is_allowed = |end: &f64| match panel.axis.scale {
            AxisScale::Scaled => false,
            AxisScale::Linear => true,
            AxisScale::Logarithmic => *end > 0.0,
        };
        Self {
            title: panel.title.as_deref(),
            kind: panel.kind.name(),
            unit: panel.unit.as_deref(),
            axis: panel.axis.scale.name(),
            min: panel.axis.min.filter(is_allowed),
            max: panel.axis.max.filter(is_allowed),
            limits: &panel.limits,
            bands: &panel.bands,
            width: panel.width,
            height: panel.height,
            min_size: panel.min_size.map(|(columns, lines)| [columns, lines]),
            set: table.set.as_deref(),
            machine: table.machine.as_deref(),
            columns: &table.columns,
            sort: table.sort.as_deref(),
            reversed: table.reversed,
            top: table.top.or(panel.max_lines.filter(|_| panel.kind.has_lines())),
            tree: (table.tree != TreeKind::None).then(|| table.tree.name()),
            filter: &table.filter,
            kernel_threads: table.kernel_threads,
            counter: panel.counters.iter().map(WrittenCounter::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct WrittenCounter<'a> {
    path: String,
    #[serde(rename = "or", skip_serializing_if = "Vec::is_empty")]
    alternatives: Vec<WrittenAlternative<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    only_active: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    capacity: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    colour: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<i32>,
    #[serde(skip_serializing_if = "is_true")]
    shown: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    highlighted: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    except: Vec<&'a str>,
}

/// An alternative path, with its label if it has one.
#[derive(Serialize)]
#[serde(untagged)]
enum WrittenAlternative<'a> {
    Path(String),
    Labelled { path: String, label: &'a str },
}

impl<'a> WrittenAlternative<'a> {
    fn of(alternative: &'a Alternative) -> Self {
        let path = alternative.path.to_string();
        match &alternative.label {
            Some(label) => Self::Labelled { path, label },
            None => Self::Path(path),
        }
    }
}

fn is_true(value: &bool) -> bool {
    *value
}

impl<'a> WrittenCounter<'a> {
    fn of(chosen: &'a Chosen) -> Self {
        let Settings { style, scale, is_shown, is_highlighted } = chosen.settings;
        Self {
            path: chosen.path.to_string(),
            alternatives: chosen.alternatives.iter().map(WrittenAlternative::of).collect(),
            label: chosen.label.as_deref(),
            only_active: chosen.only_active,
            capacity: chosen.is_capacity,
            colour: style.map(|style| style.0 % STYLES + 1),
            scale: match scale {
                Scale::Default => None,
                Scale::Exponent(exponent) => Some(exponent),
            },
            shown: is_shown,
            highlighted: is_highlighted,
            // `parse` rejects a path with `*` or `?`, even in a name.
            except: chosen.except.iter().map(String::as_str).filter(|path| is_literal(path)).collect(),
        }
    }
}

fn is_literal(path: &str) -> bool {
    PathPattern::parse(path).is_ok_and(|path| path.is_literal())
}

/// A time as the user wrote it: with its UTC offset if known.
fn time_text(time: TimeArgument) -> String {
    let text = |utc| Moment { utc, bias_minutes: 0 }.rfc3339();
    match time {
        TimeArgument::Utc(utc) => text(utc),
        TimeArgument::Local(local) => text(local).trim_end_matches("+00:00").to_owned(),
    }
}

pub(super) fn text_of(view: &View) -> String {
    let annotations = view.annotations.iter().map(|one| WrittenAnnotation {
        begin: time_text(one.begin),
        end: one.end.map(time_text),
        text: &one.text,
    });
    let has_range = view.begin.is_some() || view.end.is_some();
    let written = WrittenView {
        version: VERSION,
        interval: view.interval.map(|interval| interval.as_secs_f64()),
        points: view.points,
        title: view.title.as_deref(),
        optional: view.is_optional,
        group_by: view.sums_names.then_some("name"),
        range: has_range
            .then(|| WrittenRange { begin: view.begin.map(time_text), end: view.end.map(time_text) }),
        headline: view.headline.iter().map(WrittenCounter::of).collect(),
        panel: view.panels.iter().map(WrittenPanel::of).collect(),
        annotation: annotations.collect(),
    };
    // Every field has a TOML form.
    toml::to_string(&written).unwrap_or_default()
}

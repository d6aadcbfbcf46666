//! The paths that a user has chosen, and how their counters are shown.

use tachograph_counters::path::PathPattern;
use tachograph_counters::wildcard::eq_ignore_case;

use crate::palette::Style;
use crate::scale::Scale;
use crate::series::SeriesInfo;

/// How a counter is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Colour and line style; if `None`, the next free style is used. Applies only to the first instance of a path with
    /// wildcards.
    pub style: Option<Style>,
    /// The factor on the chart.
    pub scale: Scale,
    /// Whether the counter is on the chart.
    pub is_shown: bool,
    /// Whether the counter is highlighted.
    pub is_highlighted: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { style: None, scale: Scale::Default, is_shown: true, is_highlighted: false }
    }
}

/// A path to use in place of another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// The path.
    pub path: PathPattern,
    /// The short name of its counter; `None`: that of the path that it replaces.
    pub label: Option<String>,
}

/// A chosen path.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The path; with wildcards, it also selects instances that appear later.
    pub path: PathPattern,
    /// How its counters are shown.
    pub settings: Settings,
    /// Full paths that the user removed from the selection.
    pub except: Vec<String>,
    /// Paths to use in place of `path`, in order of preference, if the machine or log lacks it.
    pub alternatives: Vec<Alternative>,
    /// A short name for small charts, in place of the counter's name.
    pub label: Option<String>,
    /// Whether instances whose values in the visible range are all 0 are left out of charts.
    pub only_active: bool,
    /// Whether the counter is the total of which the other counters are parts, such as the size of the memory. It is not drawn,
    /// but the axis reaches it.
    pub is_capacity: bool,
}

impl Chosen {
    /// A path with default settings.
    pub fn new(path: PathPattern) -> Self {
        Self {
            path,
            settings: Settings::default(),
            except: Vec::new(),
            alternatives: Vec::new(),
            label: None,
            only_active: false,
            is_capacity: false,
        }
    }

    /// If `has` rejects the path, replaces it by the first alternative that `has` accepts. Returns false if `has` rejects
    /// all of them.
    pub(crate) fn resolve(&mut self, has: impl Fn(&PathPattern) -> bool) -> bool {
        if has(&self.path) {
            return true;
        }
        let Some(index) = self.alternatives.iter().position(|other| has(&other.path)) else { return false };
        // The path stays an alternative, for another machine or log.
        let Alternative { path, label } = self.alternatives.remove(index);
        let path = std::mem::replace(&mut self.path, path);
        let label = match label {
            Some(label) => self.label.replace(label),
            None => None,
        };
        self.alternatives.insert(0, Alternative { path, label });
        true
    }

    pub(super) fn selects(&self, info: &SeriesInfo) -> bool {
        info.is_selected_by(&self.path) && !self.except.iter().any(|path| is_path_of(path, info))
    }
}

/// Whether a path, with or without a machine, is the path of a series.
fn is_path_of(path: &str, info: &SeriesInfo) -> bool {
    eq_ignore_case(path, &info.path) || eq_ignore_case(path, info.path_without_machine())
}

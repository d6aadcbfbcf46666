//! The rows of a legend.

use std::sync::Arc;

use super::Settings;
use crate::palette::Style;
use crate::reduced::{Reduced, ReducedSeries};
use crate::scale::Scale;
use crate::series::SeriesInfo;

/// Id of an item; never reused within a legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(pub(super) u64);

/// A row of a legend: one counter of one instance.
#[derive(Clone, Debug)]
pub struct LegendItem {
    pub(super) id: ItemId,
    /// The id of the entry whose path selects the item.
    pub(super) entry: u64,
    pub(super) info: Option<Arc<SeriesInfo>>,
    pub(super) style: Style,
    pub(super) settings: Settings,
    /// Whether the user has changed the settings.
    pub(super) is_changed: bool,
    /// The index of the item's series in the last reduction.
    pub(super) row: Option<usize>,
}

impl LegendItem {
    /// Its id.
    pub fn id(&self) -> ItemId {
        self.id
    }

    /// Its series; `None` until one is found for its path.
    pub fn info(&self) -> Option<&Arc<SeriesInfo>> {
        self.info.as_ref()
    }

    /// Its colour and line.
    pub fn style(&self) -> Style {
        self.style
    }

    /// The factor on the chart.
    pub fn scale(&self) -> Scale {
        self.settings.scale
    }

    /// The scale's exponent of ten.
    pub fn exponent(&self) -> i32 {
        self.settings.scale.exponent(self.default_scale())
    }

    pub(super) fn default_scale(&self) -> i32 {
        self.info.as_ref().map_or(0, |info| info.counter.default_scale)
    }

    /// Whether it is on the chart.
    pub fn is_shown(&self) -> bool {
        self.settings.is_shown
    }

    /// Whether it is drawn highlighted.
    pub fn is_highlighted(&self) -> bool {
        self.settings.is_highlighted
    }

    /// The item's series in `reduced`, which must be the reduction of the last [`update`](super::Legend::update); `None` if
    /// absent.
    pub fn series<'a>(&self, reduced: &'a Reduced) -> Option<&'a ReducedSeries> {
        reduced.series.get(self.row?)
    }
}

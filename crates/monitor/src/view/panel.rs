//! Panels of a view.

use crate::legend::Chosen;
use crate::table::TableSettings;

/// How values are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ViewKind {
    /// Lines over time.
    #[default]
    Line,
    /// A bar per counter.
    Bars,
    /// A list of numbers by counter set.
    Report,
    /// A table: a row per instance, a column per counter.
    Table,
    /// Lines over time, with the area below them filled.
    Area,
    /// Areas over time, each on top of the previous one.
    Stacked,
    /// A row per counter, whose colour over time is the value. Terminals draw lines.
    HeatMap,
}

impl ViewKind {
    /// All kinds, in the order in which a monitor switches through them.
    pub const ALL: [Self; 7] =
        [Self::Line, Self::Bars, Self::Report, Self::Table, Self::Area, Self::Stacked, Self::HeatMap];

    /// The name of the kind in a file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Area => "area",
            Self::Stacked => "stacked",
            Self::Bars => "bars",
            Self::Report => "report",
            Self::Table => "table",
            Self::HeatMap => "heatmap",
        }
    }

    /// The next kind; the first one after the last. A heat map, which terminals draw as lines, is left out.
    #[must_use]
    pub fn next(self) -> Self {
        match Self::ALL[(self as usize + 1) % Self::ALL.len()] {
            Self::HeatMap => Self::default(),
            next => next,
        }
    }

    /// Whether each counter has a line, apart from those of other counters.
    pub fn has_lines(self) -> bool {
        matches!(self, Self::Line | Self::Area)
    }

    /// Whether values are drawn over time.
    pub fn is_chart(self) -> bool {
        matches!(self, Self::Line | Self::Area | Self::Stacked | Self::HeatMap)
    }
}

/// How an axis maps values to heights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum AxisScale {
    /// From 0 to 100; each counter is multiplied by a factor of its own ([`Scale`](crate::scale::Scale)).
    #[default]
    Scaled,
    /// Values in their unit.
    Linear,
    /// Values in their unit, by powers of ten.
    Logarithmic,
}

impl AxisScale {
    /// All scales, in the order in which a monitor switches through them.
    pub const ALL: [Self; 3] = [Self::Scaled, Self::Linear, Self::Logarithmic];

    /// The name in a file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scaled => "scaled",
            Self::Linear => "linear",
            Self::Logarithmic => "logarithmic",
        }
    }

    /// The next scale; the first one after the last.
    #[must_use]
    pub fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()]
    }
}

/// The axis of a panel. An end that is `None` is chosen for the visible values.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Axis {
    /// How values map to heights.
    pub scale: AxisScale,
    /// The lower end, in the counters' unit.
    pub min: Option<f64>,
    /// The upper end, in the counters' unit.
    pub max: Option<f64>,
}

/// The largest [`Panel::width`] and [`Panel::height`].
pub const MAX_SHARE: u8 = 4;

/// A panel: counters, and how they are shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The title; `None`: the name of the first counter's set.
    pub title: Option<String>,
    /// How values are shown.
    pub kind: ViewKind,
    /// The counters, in order.
    pub counters: Vec<Chosen>,
    /// The unit of the axis, as counter descriptions name it (`bytes/s`); `None`: that of the first counter.
    pub unit: Option<String>,
    /// The axis.
    pub axis: Axis,
    /// Values at which lines are drawn across the chart, in the counters' unit.
    pub limits: Vec<f64>,
    /// Ranges of values that are shaded across the chart, from low to high, in the counters' unit. Terminals do not show them.
    pub bands: Vec<[f64; 2]>,
    /// Of a chart of lines or areas: how many instances are drawn at first, those with the largest maximum; `None`: all. Terminals
    /// draw all.
    pub max_lines: Option<usize>,
    /// The settings of a panel of kind [`Table`](ViewKind::Table).
    pub table: TableSettings,
    /// A hint: the width relative to the other panels, 1 to [`MAX_SHARE`].
    pub width: u8,
    /// A hint: the height relative to the other panels, 1 to [`MAX_SHARE`].
    pub height: u8,
    /// The columns and lines that a terminal must have to show the panel among others; `None`: any size.
    pub min_size: Option<(u16, u16)>,
}

impl Default for Panel {
    fn default() -> Self {
        Self {
            title: None,
            kind: ViewKind::default(),
            counters: Vec::new(),
            unit: None,
            axis: Axis::default(),
            limits: Vec::new(),
            bands: Vec::new(),
            max_lines: None,
            table: TableSettings::default(),
            width: 1,
            height: 1,
            min_size: None,
        }
    }
}

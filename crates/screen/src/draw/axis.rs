//! The vertical axis of a panel.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tachograph_monitor::figures::{NumberForm, Unit, number};
use tachograph_monitor::scale::AXIS_TOP;
use tachograph_monitor::{AxisRange, AxisScale, LegendItem, ReducedSeries, ValueRange, ViewKind};

use crate::app::{App, Bands, Pane};
use crate::text::{row, width};

/// The axis of a panel for the visible values.
pub(super) enum PaneAxis {
    /// From 0 to 100, with a factor for each counter.
    Scaled,
    /// Values of one unit.
    Values { range: AxisRange, unit: Unit, form: NumberForm },
}

impl PaneAxis {
    /// The height of a counter's value, from 0 to 1.
    pub(super) fn share_of(&self, item: &LegendItem, value: f64) -> f64 {
        match self {
            Self::Scaled => {
                let default_scale = item.info().map_or(0, |info| info.counter.default_scale);
                (value * item.scale().factor(default_scale) / AXIS_TOP).clamp(0.0, 1.0)
            }
            Self::Values { range, .. } => range.share_of(value),
        }
    }

    /// The height of a limit, if it is on the axis.
    pub(super) fn share_of_limit(&self, limit: f64) -> Option<f64> {
        let (bottom, top) = match self {
            Self::Scaled => (0.0, AXIS_TOP),
            Self::Values { range, .. } => (range.bottom(), range.top()),
        };
        (bottom..=top).contains(&limit).then(|| match self {
            Self::Scaled => limit / AXIS_TOP,
            Self::Values { range, .. } => range.share_of(limit),
        })
    }

    /// Labels with their heights, from the bottom; up to `between` of them between the ends.
    pub(super) fn labels(&self, between: usize) -> Vec<(String, f64)> {
        match self {
            Self::Scaled => {
                let parts = between + 1;
                let shares = (0..=parts).map(|part| part as f64 / parts as f64);
                shares.map(|share| ((AXIS_TOP * share).to_string(), share)).collect()
            }
            Self::Values { range, unit, form } => {
                let text = |value: f64| match form {
                    NumberForm::Units => unit.tick(value),
                    NumberForm::Raw => number(value),
                };
                range.ticks(between).into_iter().map(|(value, share)| (text(value), share)).collect()
            }
        }
    }
}

impl App {
    /// The axis of a panel. If the counters of the panel have different units, each has its own scale.
    pub(super) fn axis_of(&self, pane: &Pane) -> PaneAxis {
        if pane.panel.axis.scale == AxisScale::Scaled {
            return PaneAxis::Scaled;
        }
        let items = pane.charted(&self.reduced);
        let mut units = items.iter().filter_map(|item| Some(Unit::of(&item.info()?.counter)));
        let first = units.next();
        if let Some(first) = &first
            && units.any(|unit| !unit.is_comparable(first))
        {
            return PaneAxis::Scaled;
        }
        let named = || Unit::named(pane.panel.unit.as_deref().unwrap_or_default());
        let unit = first.unwrap_or_else(named);
        let series: Vec<_> =
            items.iter().filter_map(|item| Some((*item, item.series(&self.reduced)?))).collect();
        let mut values = ValueRange::default();
        match pane.kind() {
            ViewKind::Bars => {
                series
                    .iter()
                    .filter_map(|(_, series)| self.shown_value(series))
                    .for_each(|value| values.add(value));
            }
            ViewKind::Stacked => {
                for column in 0..self.reduced.columns {
                    let average = |(_, series): &(&LegendItem, &ReducedSeries)| {
                        series.columns.get(column)?.average.filter(|value| value.is_finite())
                    };
                    values.add(series.iter().filter_map(average).sum());
                }
            }
            _ => {
                for (item, series) in &series {
                    let has_band = self.has_band(item, pane);
                    for column in &series.columns {
                        let ends =
                            [column.minimum, column.maximum].into_iter().filter(|_| has_band).flatten();
                        ends.chain(column.average).for_each(|value| values.add(value));
                    }
                }
            }
        }
        let range = AxisRange::new(&pane.panel.axis, values, &unit);
        PaneAxis::Values { range, unit, form: self.numbers }
    }

    /// Whether the minimum and maximum of a line are shown.
    pub(super) fn has_band(&self, item: &LegendItem, pane: &Pane) -> bool {
        match pane.bands {
            Bands::All => true,
            Bands::Selected => {
                !self.panes.is_grid() && Some(item.id()) == pane.selected || item.is_highlighted()
            }
            Bands::None => false,
        }
    }

    /// Writes the labels of the axis to the left of a plot with room for them; returns the plot. `edge` is the number of
    /// columns between the labels and the plot.
    pub(super) fn draw_labels(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        axis: &PaneAxis,
        min_width: u16,
        edge: u16,
    ) -> Rect {
        let rows = usize::from(area.height);
        let between = match rows {
            9.. => 3,
            3.. => 1,
            _ => 0,
        };
        let mut labels = axis.labels(between);
        if rows < 2 {
            labels.drain(..labels.len() - 1);
        }
        let widest = labels.iter().map(|(text, _)| width(text)).max().unwrap_or(0) as u16;
        let columns = (widest.max(min_width) + edge).min(area.width);
        for (text, share) in &labels {
            let line = row(area, row_of(*share, rows));
            let column = usize::from(columns - edge.min(columns)).saturating_sub(width(text));
            self.write_text(buffer, line, column, text, self.theme.dim());
        }
        Rect { x: area.x + columns, width: area.width - columns, ..area }
    }
}

/// The row of a plot that shows a height.
pub(super) fn row_of(share: f64, rows: usize) -> usize {
    let last = rows.saturating_sub(1) as f64;
    ((1.0 - share) * last + 0.5).floor().clamp(0.0, last) as usize
}

//! The vertical axes of a panel.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tachograph_monitor::figures::{NumberForm, Unit, number};
use tachograph_monitor::scale::AXIS_TOP;
use tachograph_monitor::{
    Axis, AxisRange, AxisScale, LegendItem, ReducedSeries, ValueRange, ViewKind, largest_possible,
};

use crate::app::{App, Bands, Pane};
use crate::text::{row, width};

/// The axis or axes of a panel, for its visible values.
pub(super) enum PaneAxis {
    /// An axis from 0 to 100. The values of each counter are multiplied by its own factor.
    Scaled,
    /// An axis for values of one unit, and an axis on the right if there are values of a second unit.
    Values { left: ValueAxis, right: Option<ValueAxis> },
}

/// An axis for values of one unit.
pub(super) struct ValueAxis {
    range: AxisRange,
    unit: Unit,
    form: NumberForm,
}

/// The minimum width of a panel, in columns, in which the axis on the right has labels.
const MIN_TWO_AXES: u16 = 36;

impl ValueAxis {
    /// The labels for this number of rows, and their heights from 0 to 1, starting at the bottom.
    fn labels(&self, rows: usize) -> Vec<(String, f64)> {
        let text = |value: f64| match self.form {
            NumberForm::Units => self.unit.tick(value),
            NumberForm::Raw => number(value),
        };
        let ticks = self.range.ticks(labels_between(rows), rows, &self.unit);
        ticks.into_iter().map(|(value, share)| (text(value), share)).collect()
    }
}

impl PaneAxis {
    /// The height of a counter's value, from 0 to 1.
    pub(super) fn share_of(&self, item: &LegendItem, value: f64) -> f64 {
        match self {
            Self::Scaled => {
                let default_scale = item.info().map_or(0, |info| info.counter.default_scale);
                (value * item.scale().factor(default_scale) / AXIS_TOP).clamp(0.0, 1.0)
            }
            Self::Values { left, right } => {
                let right = right.as_ref().filter(|right| has_unit(item, &right.unit));
                right.unwrap_or(left).range.share_of(value)
            }
        }
    }

    /// Whether a counter belongs to the axis on the right.
    pub(super) fn is_on_the_right(&self, item: &LegendItem) -> bool {
        match self {
            Self::Values { right: Some(right), .. } => has_unit(item, &right.unit),
            _ => false,
        }
    }

    /// The height of a limit, from 0 to 1; `None` if it is outside the axis on the left.
    pub(super) fn share_of_limit(&self, limit: f64) -> Option<f64> {
        let (bottom, top) = match self {
            Self::Scaled => (0.0, AXIS_TOP),
            Self::Values { left, .. } => (left.range.bottom(), left.range.top()),
        };
        (bottom..=top).contains(&limit).then(|| match self {
            Self::Scaled => limit / AXIS_TOP,
            Self::Values { left, .. } => left.range.share_of(limit),
        })
    }

    /// Whether a value of a counter is above one of the limits, which are those of the axis on the left.
    pub(super) fn exceeds(&self, item: &LegendItem, value: Option<f64>, limits: &[f64]) -> bool {
        let Some(value) = value else { return false };
        let value = match self {
            Self::Scaled => {
                let default_scale = item.info().map_or(0, |info| info.counter.default_scale);
                value * item.scale().factor(default_scale)
            }
            Self::Values { .. } if self.is_on_the_right(item) => return false,
            Self::Values { .. } => value,
        };
        limits.iter().any(|limit| value > *limit)
    }

    /// The labels on the left for this number of rows, and their heights from 0 to 1, starting at the bottom.
    pub(super) fn labels(&self, rows: usize) -> Vec<(String, f64)> {
        match self {
            Self::Scaled => {
                let parts = scaled_parts(rows);
                let shares = (0..=parts).map(|part| part as f64 / parts as f64);
                shares.map(|share| ((AXIS_TOP * share).to_string(), share)).collect()
            }
            Self::Values { left, .. } => left.labels(rows),
        }
    }

    /// The number of available rows to use, so that each label is in the row of its value.
    fn usable_rows(&self, rows: usize) -> usize {
        match self {
            Self::Scaled if rows > 4 && scaled_parts(rows - 1) > scaled_parts(rows) => rows - 1,
            Self::Scaled => rows,
            Self::Values { left, .. } => left.range.usable_rows(labels_between(rows), rows, &left.unit),
        }
    }
}

/// The number of equal parts of an axis from 0 to 100 that has this number of rows.
fn scaled_parts(rows: usize) -> usize {
    let parts = [4, 2].into_iter().filter(|parts| *parts <= labels_between(rows) + 1);
    parts.into_iter().find(|parts| rows.saturating_sub(1).is_multiple_of(*parts)).unwrap_or(1)
}

fn has_unit(item: &LegendItem, unit: &Unit) -> bool {
    item.info().is_some_and(|info| Unit::of(&info.counter).is_comparable(unit))
}

impl App {
    /// The axis of a panel. Two units get an axis each; if there are more, each counter gets its own scale.
    pub(super) fn axis_of(&self, pane: &Pane) -> PaneAxis {
        if pane.panel.axis.scale == AxisScale::Scaled {
            return PaneAxis::Scaled;
        }
        let items = pane.charted_items(&self.reduced);
        let mut units: Vec<Unit> = Vec::new();
        for unit in items.iter().filter_map(|item| Some(Unit::of(&item.info()?.counter))) {
            if !units.iter().any(|known| known.is_comparable(&unit)) {
                units.push(unit);
            }
        }
        // The unit that the panel names is on the left.
        let named = pane.panel.unit.as_deref().map(Unit::named);
        if let Some(named) = &named {
            units.sort_by_key(|unit| !unit.is_comparable(named));
        }
        let axis = |unit: &Unit, axis: &Axis| {
            let same_unit = || items.iter().copied().filter(|item| has_unit(item, unit));
            let mut values = self.values_of(same_unit(), pane);
            let capacities = pane.legend.capacities().filter(|item| has_unit(item, unit));
            let capacities = capacities.filter_map(|item| item.series(&self.reduced)?.summary.maximum);
            capacities.for_each(|capacity| values.add(capacity));
            let possible = |item: &LegendItem| {
                let info = item.info()?;
                largest_possible(info.set.english_name.as_deref().unwrap_or(&info.set.name), &info.counter)
            };
            // Unknown if the largest possible value of any counter is unknown.
            let bound = same_unit().map(possible).reduce(|one, other| Some(one?.max(other?))).flatten();
            let range = AxisRange::new(axis, values, unit, bound);
            ValueAxis { range, unit: unit.clone(), form: self.numbers }
        };
        let is_line = match pane.kind() {
            ViewKind::Line | ViewKind::Area | ViewKind::HeatMap => true,
            ViewKind::Stacked => !pane.is_stacked(&self.reduced),
            _ => false,
        };
        match &units[..] {
            [] => {
                let unit = named.unwrap_or_else(|| Unit::named(""));
                PaneAxis::Values { left: axis(&unit, &pane.panel.axis), right: None }
            }
            [unit] => PaneAxis::Values { left: axis(unit, &pane.panel.axis), right: None },
            [left, right] if is_line => {
                // The ends that the view fixes apply to the axis on the left.
                let free = Axis { min: None, max: None, ..pane.panel.axis };
                PaneAxis::Values { left: axis(left, &pane.panel.axis), right: Some(axis(right, &free)) }
            }
            _ => PaneAxis::Scaled,
        }
    }

    /// The range of the visible values of some counters of a panel.
    fn values_of<'a>(&self, items: impl Iterator<Item = &'a LegendItem>, pane: &Pane) -> ValueRange {
        let series: Vec<_> = items.filter_map(|item| Some((item, item.series(&self.reduced)?))).collect();
        let mut values = ValueRange::default();
        match pane.kind() {
            ViewKind::Bars => {
                series
                    .iter()
                    .filter_map(|(_, series)| self.shown_value(series))
                    .for_each(|value| values.add(value));
            }
            ViewKind::Stacked if pane.is_stacked(&self.reduced) => {
                for column in 0..self.reduced.columns {
                    let average = |(_, series): &(&LegendItem, &ReducedSeries)| {
                        self.drawn_value(series, column).filter(|value| value.is_finite())
                    };
                    values.add(series.iter().filter_map(average).sum());
                }
            }
            _ => {
                for (item, series) in &series {
                    let has_band = self.has_band(item, pane);
                    for (index, column) in series.columns.iter().enumerate() {
                        let ends =
                            [column.minimum, column.maximum].into_iter().filter(|_| has_band).flatten();
                        ends.chain(self.drawn_value(series, index)).for_each(|value| values.add(value));
                    }
                }
            }
        }
        values
    }

    /// The value that a chart shows in a column: the average of its intervals; in the newest column of a live chart the
    /// last value, which the list next to the chart shows too.
    pub(super) fn drawn_value(&self, series: &ReducedSeries, column: usize) -> Option<f64> {
        let found = series.columns.get(column)?;
        let is_newest = || series.columns[column + 1..].iter().all(|later| later.average.is_none());
        if self.facts.is_live && found.last.is_some() && is_newest() { found.last } else { found.average }
    }

    /// Whether a line has a band from minimum to maximum.
    pub(super) fn has_band(&self, item: &LegendItem, pane: &Pane) -> bool {
        match pane.bands {
            Bands::All => true,
            Bands::Selected => {
                !self.panes.is_grid() && Some(item.id()) == pane.selected || item.is_highlighted()
            }
            Bands::None => false,
        }
    }

    /// Writes the labels of the axis on the left of an area, and those of a second axis on the right; returns the plot
    /// between them. The plot can have one row less than the area, so that each label is in the row of its value. `edge` is
    /// the number of columns between the labels and the plot.
    pub(super) fn draw_labels(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        axis: &PaneAxis,
        min_width: u16,
        edge: u16,
    ) -> Rect {
        let rows = axis.usable_rows(usize::from(area.height));
        let area = Rect { y: area.bottom() - rows as u16, height: rows as u16, ..area };
        let shorten = |mut labels: Vec<(String, f64)>| {
            if rows < 2 {
                labels.drain(..labels.len() - 1);
            }
            labels
        };
        let widest = |labels: &[(String, f64)]| labels.iter().map(|(text, _)| width(text)).max().unwrap_or(0);
        let labels = shorten(axis.labels(rows));
        let columns = (widest(&labels) as u16).max(min_width).saturating_add(edge).min(area.width);
        for (text, share) in &labels {
            let line = row(area, row_of(*share, rows));
            let column = usize::from(columns - edge.min(columns)).saturating_sub(width(text));
            self.write_text(buffer, line, column, text, self.theme.dim());
        }
        let mut plot = Rect { x: area.x + columns, width: area.width - columns, ..area };
        if let PaneAxis::Values { right: Some(right), .. } = axis
            && area.width >= MIN_TWO_AXES
        {
            let labels = shorten(right.labels(rows));
            // With a space before the labels.
            plot.width = plot.width.saturating_sub(widest(&labels) as u16 + 1);
            for (text, share) in &labels {
                let column = usize::from(plot.right() - area.x) + 1;
                self.write_text(buffer, row(area, row_of(*share, rows)), column, text, self.theme.dim());
            }
        }
        plot
    }
}

/// The maximum number of labels between the ends of an axis with this number of rows.
fn labels_between(rows: usize) -> usize {
    match rows {
        9.. => 3,
        3.. => 1,
        _ => 0,
    }
}

/// The row of a plot for a height from 0 to 1.
pub(super) fn row_of(share: f64, rows: usize) -> usize {
    let last = rows.saturating_sub(1) as f64;
    ((1.0 - share) * last + 0.5).floor().clamp(0.0, last) as usize
}

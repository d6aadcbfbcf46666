//! The time range of the charts, and the number of columns into which it is divided.

use tachograph_monitor::Span;

use super::App;
use crate::canvas::Canvas;

/// The numbers of intervals on a live chart while there are few samples.
const FIRST_POINTS: [usize; 2] = [20, 50];

/// A column that is narrower than the interval by this factor has one sample at most, even if samples are slightly late.
const SINGLE_SAMPLE_SHARE: f64 = 0.9;

impl App {
    /// The time range and the number of columns of the figures that the screen needs; `None` if it needs none, for
    /// example while there are no samples.
    pub fn required_figures(&self) -> Option<(Span, usize)> {
        let dots = self.dots_across().max(1);
        if self.facts.is_live && self.panes.are_tables() && self.frozen.is_none() {
            // No chart is shown, and the cursor of a table needs a frozen screen.
            return None;
        }
        if !self.facts.is_live {
            return Some((self.span?, dots));
        }
        let end = self.frozen.or(self.times.newest().copied())?;
        let interval = self.interval_units();
        // Samples can be slightly early or late, so columns end halfway between two samples.
        let end = end.saturating_add((interval / 2).max(1));
        let points = self.shown_points();
        let length = interval.saturating_mul(points as i64);
        // A column consists of whole intervals.
        let columns = points.div_ceil(points.div_ceil(dots));
        Some((Span::new(end.saturating_sub(length), end), columns))
    }

    /// The number of intervals on a live chart: few at first, so that the chart is not nearly empty; more as samples
    /// are taken.
    pub(crate) fn shown_points(&self) -> usize {
        let samples = match self.frozen {
            Some(frozen) => self.times.iter().filter(|time| **time <= frozen).count(),
            None => self.times.iter().len(),
        };
        let steps = FIRST_POINTS.into_iter().find(|points| samples <= points + 1);
        steps.map_or(self.points, |points| points.min(self.points))
    }

    pub(crate) fn interval_units(&self) -> i64 {
        i64::try_from(self.interval.as_nanos() / 100).unwrap_or(i64::MAX).max(1)
    }

    /// For logs: the length of a time range in which each column of figures has one sample at most, in units of 100 ns. `None`
    /// if there are no figures.
    pub(super) fn length_of_single_samples(&self) -> Option<i64> {
        let values = self.reduced.series.iter().map(|series| series.summary.values).max()?;
        let (first, last) = self.reduced.covered()?;
        let interval = last.utc.since(first.utc) as f64 / values.max(1) as f64;
        let length = interval * SINGLE_SAMPLE_SHARE * self.dots_across() as f64;
        (length >= 1.0).then_some(length as i64)
    }

    /// The number of dots across the inside of the widest panel.
    ///
    /// The plot is narrower, but its width depends on the widths of the values at the cursor. If the number of columns depended
    /// on these widths, the values and the columns could change each other for ever.
    fn dots_across(&self) -> usize {
        if self.panes.are_tables() {
            // The cursor moves by columns of figures.
            return usize::from(self.areas.screen.width);
        }
        // Counted also while a chart has no plot yet, because the logs are being read.
        let is_chart = |index: usize| self.panes.iter().nth(index).is_some_and(|pane| pane.kind().is_chart());
        let charts = self.areas.panels.iter().filter(|panel| is_chart(panel.index));
        let width = charts.map(|panel| panel.area.width.saturating_sub(2)).max().unwrap_or_default();
        Canvas::dots_across(usize::from(width), self.theme.is_unicode)
    }
}

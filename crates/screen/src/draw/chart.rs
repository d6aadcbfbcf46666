//! The chart.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use tachograph_counters::civil::FileTime;
use tachograph_monitor::palette::{LineStyle, STYLES};
use tachograph_monitor::{Column, LegendItem, ReducedSeries, Span, ViewKind};

use super::axis::{PaneAxis, row_of};
use crate::app::{App, Pane};
use crate::canvas::{Canvas, Pen};
use crate::text::row;

/// Minimum width of the labels of the vertical axis, in columns.
const MIN_LABEL: u16 = 3;

/// The characters of lines in ASCII, and the marks on lines without colours: one per style.
pub(super) const MARKS: [u8; STYLES] = *b"*+ox#%@&ABCDEFGHIJKLMNPQRSTUVWYZ";

/// Without colours, a line has a mark in every twelfth column of characters.
const MARK_GAP: usize = 12;

/// By this number of columns, the marks of a line are right of those of the line with the previous style, so that they
/// do not hide each other.
const MARK_SHIFT: usize = 5;

/// A line does not connect two values whose distance in time exceeds this multiple of the median distance.
const MAX_GAP_FACTOR: f64 = 2.5;

impl App {
    /// Draws a chart with its axes; returns the plot.
    pub(super) fn draw_chart(&self, buffer: &mut Buffer, area: Rect, pane: &Pane) -> Rect {
        let axis = self.axis_of(pane);
        let above = Rect { height: area.height.saturating_sub(1), ..area };
        // Room for a space and the vertical line.
        let plot = self.draw_labels(buffer, above, &axis, MIN_LABEL, 2);
        let used = Rect { y: plot.y, height: area.bottom() - plot.y, ..area };
        self.draw_edges(buffer, used, plot, &axis);
        if !self.draw_placeholder(buffer, plot, pane) {
            self.draw_plot(buffer, plot, pane, &axis);
        }
        plot
    }

    /// Draws the lines or areas of a panel, the selection and the cursor.
    pub(super) fn draw_plot(&self, buffer: &mut Buffer, plot: Rect, pane: &Pane, axis: &PaneAxis) {
        if pane.is_stacked(&self.reduced) {
            self.draw_stack(buffer, plot, pane, axis);
            self.draw_brush(buffer, plot);
        } else {
            let mut canvas = Canvas::new(plot, self.theme.is_unicode);
            // Lines that are always 0 are drawn first, below others; highlighted and selected lines last, on top.
            let is_active = |item: &LegendItem| {
                let summary = item.series(&self.reduced).map(|series| &series.summary);
                summary.is_some_and(|it| it.minimum != Some(0.0) || it.maximum != Some(0.0))
            };
            let rank = |item: &LegendItem| {
                (is_active(item), item.is_highlighted(), Some(item.id()) == pane.selected)
            };
            let mut items = pane.charted_items(&self.reduced);
            items.sort_by_key(|item| rank(item));
            for item in items {
                if let Some(series) = item.series(&self.reduced) {
                    self.draw_line(&mut canvas, item, series, pane, axis);
                }
            }
            self.draw_brush(buffer, plot);
            canvas.draw(buffer, plot);
        }
        self.draw_limits(buffer, plot, pane, axis);
        self.draw_cursor(buffer, plot);
    }

    fn draw_limits(&self, buffer: &mut Buffer, plot: Rect, pane: &Pane, axis: &PaneAxis) {
        for share in pane.panel.limits.iter().filter_map(|limit| axis.share_of_limit(*limit)) {
            let y = plot.y + row_of(share, usize::from(plot.height)) as u16;
            for x in plot.x..plot.right() {
                if let Some(cell) = buffer.cell_mut((x, y))
                    && cell.symbol() == " "
                {
                    cell.set_symbol(self.theme.either("╌", "-")).set_style(self.theme.problem());
                }
            }
        }
    }

    fn draw_line(
        &self,
        canvas: &mut Canvas,
        item: &LegendItem,
        series: &ReducedSeries,
        pane: &Pane,
        axis: &PaneAxis,
    ) {
        let (width, height) = (canvas.width(), canvas.height());
        let columns = series.columns.len();
        let per_row = height / canvas.rows().max(1);
        let height_of = |value: f64| dot_row(axis.share_of(item, value), height, per_row);
        let is_area = pane.kind() == ViewKind::Area;
        let style = item.style();
        let mark = MARKS[style.0 % MARKS.len()];
        let pen = Pen { style: self.theme.line(style, item.is_highlighted()), mark, is_band: false };
        let has_band = self.has_band(item, pane);
        let band = Pen { style: self.theme.band(style), mark: b':', is_band: true };
        // Without colours, even the first lines are distinguished by line style.
        let line = match self.theme.background {
            Some(_) => style.line(),
            None => LineStyle::ALL[style.0 % LineStyle::ALL.len()],
        };
        let is_drawn = |x: usize| !self.theme.is_unicode || line.is_drawn_at(x);
        let max_distance = max_gap(&series.columns, &self.reduced.span);
        let has_marks = self.theme.background.is_none() && self.theme.is_unicode;
        let mut next_mark = style.0 * MARK_SHIFT % MARK_GAP;
        let mut is_marked = false;
        let mut before: Option<(usize, usize, FileTime)> = None;
        for (index, column) in series.columns.iter().enumerate() {
            let shown = self.drawn_value(series, index);
            let Some((shown, at)) = shown.zip(column.at).filter(|(value, _)| value.is_finite()) else {
                // An error interrupts the line; a column in which no interval ends does not.
                if column.errors > 0 {
                    before = None;
                }
                continue;
            };
            let x = dot_of(index, columns, width);
            let y = height_of(shown);
            if has_band && let (Some(minimum), Some(maximum)) = (column.minimum, column.maximum) {
                canvas.vertical(x, height_of(minimum), height_of(maximum), band);
            }
            if is_area {
                let from =
                    before.map_or(
                        x,
                        |(from, _, at_from)| {
                            if at.since(at_from) as f64 <= max_distance { from + 1 } else { x }
                        },
                    );
                for x in from.min(x)..=x {
                    canvas.vertical(x, y, height.saturating_sub(1), band);
                }
            }
            // Highlighted lines are two dots thick.
            for below in 0..=usize::from(item.is_highlighted()) {
                match before {
                    Some((from_x, from_y, from)) if at.since(from) as f64 <= max_distance => {
                        canvas.line((from_x, from_y + below), (x, y + below), pen, is_drawn);
                    }
                    _ => canvas.dot(x, y + below, pen),
                }
            }
            if has_marks && canvas.column_of(x) >= next_mark {
                canvas.mark(x, y, pen);
                next_mark = canvas.column_of(x) + MARK_GAP;
                is_marked = true;
            }
            before = Some((x, y, at));
        }
        // A short line has its mark at its end.
        if let Some((x, y, _)) = before.filter(|_| has_marks && !is_marked) {
            canvas.mark(x, y, pen);
        }
    }

    /// Draws the vertical line on the left of a plot, and the line with the times below it.
    fn draw_edges(&self, buffer: &mut Buffer, area: Rect, plot: Rect, axis: &PaneAxis) {
        let dim = self.theme.dim();
        let (tick, rule, corner, across) = (
            self.theme.either("┤", "+"),
            self.theme.either("│", "|"),
            self.theme.either("└", "+"),
            self.theme.either("─", "-"),
        );
        let rows = usize::from(plot.height);
        let column = usize::from((plot.x - area.x).saturating_sub(1));
        for index in 0..rows {
            self.write_text(buffer, row(area, index), column, rule, dim);
        }
        for (_, share) in axis.labels(rows) {
            self.write_text(buffer, row(area, row_of(share, rows)), column, tick, dim);
        }
        let line = row(area, rows);
        self.write_text(buffer, line, column, corner, dim);
        let Some(span) = self.shown_span().filter(|span| span.begin().0 > 0) else {
            self.write_text(buffer, line, column + 1, &across.repeat(usize::from(plot.width)), dim);
            return;
        };
        self.draw_times(buffer, Rect { x: plot.x, width: plot.width, ..line }, &span, across);
    }

    fn draw_brush(&self, buffer: &mut Buffer, plot: Rect) {
        let brushed = self.selected_span().or(self.brush.0).or(self.brush.1);
        let Some(brushed) = brushed.zip(self.shown_span()).and_then(|(brushed, all)| brushed.overlap(&all))
        else {
            return;
        };
        let ends = (self.column_at(plot, brushed.begin()), self.column_at(plot, brushed.last_moment()));
        let (Some(from), Some(to)) = ends else { return };
        let area = Rect { x: from, width: to - from + 1, ..plot };
        buffer.set_style(area, Style::new().add_modifier(Modifier::REVERSED));
    }

    fn draw_cursor(&self, buffer: &mut Buffer, plot: Rect) {
        let Some(x) = self.cursor.and_then(|cursor| self.column_at(plot, cursor.begin())) else { return };
        let mark = self.theme.either("│", "|");
        for y in plot.y..plot.bottom() {
            if let Some(cell) = buffer.cell_mut((x, y))
                && cell.symbol() == " "
            {
                cell.set_symbol(mark).set_style(self.theme.dim());
            }
        }
    }
}

/// The horizontal position of a column of figures, in dots: the first column at the left edge, the last at the right.
fn dot_of(column: usize, columns: usize, width: usize) -> usize {
    if columns >= width || columns < 2 {
        return column * width / columns.max(1);
    }
    (column * (width - 1) + (columns - 1) / 2) / (columns - 1)
}

/// In a chart with fewer rows of characters, the ends of the axis are at the edges of the chart.
const MIN_CENTRED_ROWS: usize = 3;

/// The row of dots for a height from 0 to 1. The ends of the axis are in the middle of the first and the last row of
/// characters, where their labels are.
fn dot_row(share: f64, dots: usize, dots_per_row: usize) -> usize {
    let dots_per_row = if dots < MIN_CENTRED_ROWS * dots_per_row { 1 } else { dots_per_row };
    let span = dots.saturating_sub(dots_per_row) as f64;
    let first = dots_per_row.saturating_sub(1) as f64 / 2.0;
    // If a value is between two dots in the middle of a character, it is drawn at the lower one.
    (first + (1.0 - share) * span + 0.5).floor().clamp(0.0, dots.saturating_sub(1) as f64) as usize
}

/// The maximum time between two values that a line connects, in units of 100 ns.
pub(super) fn max_gap(columns: &[Column], span: &Span) -> f64 {
    let times: Vec<_> = columns.iter().filter_map(|column| column.at).collect();
    let mut apart: Vec<_> = times.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    let width = span.length() as f64 / columns.len().max(1) as f64;
    if apart.is_empty() {
        return f64::INFINITY;
    }
    let middle = apart.len() / 2;
    let (_, typical, _) = apart.select_nth_unstable(middle);
    MAX_GAP_FACTOR * (*typical as f64).max(width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_in_the_rows_of_their_labels() {
        // Nine rows of four dots: 0, 25, 50, 75 and 100 % are in the rows 8, 6, 4, 2 and 0.
        let rows = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| dot_row(share, 36, 4) / 4);
        assert_eq!(rows, [8, 6, 4, 2, 0]);
        assert_eq!([0.0, 1.0].map(|share| dot_row(share, 36, 4)), [34, 2]);
        // ASCII has a dot per row.
        assert_eq!([0.0, 0.5, 1.0].map(|share| dot_row(share, 9, 1)), [8, 4, 0]);
        // A single row of four dots.
        assert_eq!([0.0, 1.0].map(|share| dot_row(share, 4, 4)), [3, 0]);
        assert_eq!(dot_row(0.5, 0, 4), 0);
    }

    #[test]
    fn columns_fill_the_width() {
        assert_eq!([0, 50, 99].map(|column| dot_of(column, 100, 150)), [0, 75, 149]);
        assert_eq!([0, 1].map(|column| dot_of(column, 2, 150)), [0, 149]);
        assert_eq!([0, 149].map(|column| dot_of(column, 150, 150)), [0, 149]);
        assert_eq!(dot_of(0, 1, 150), 0);
    }
}

//! The chart.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use tachograph_counters::civil::FileTime;
use tachograph_monitor::palette::{COLOURS, LineStyle};
use tachograph_monitor::{Column, LegendItem, ReducedSeries, Span, ViewKind};

use super::axis::{PaneAxis, labels_between, row_of};
use crate::app::{App, Pane};
use crate::canvas::{Canvas, Pen};
use crate::text::row;

/// Minimum width of the labels of the vertical axis, in columns.
const MIN_LABEL: u16 = 3;

/// The characters for lines in ASCII.
pub(super) const MARKS: [u8; COLOURS] = *b"*+ox#%@&";

/// A line does not connect two values that are farther apart in time than this multiple of the median distance.
const MAX_GAP_FACTOR: f64 = 2.5;

impl App {
    /// Draws a chart with its axes; returns the plot.
    pub(super) fn draw_chart(&self, buffer: &mut Buffer, area: Rect, pane: &Pane) -> Rect {
        let axis = self.axis_of(pane);
        let above = Rect { height: area.height.saturating_sub(1), ..area };
        // A space and the line.
        let plot = self.draw_labels(buffer, above, &axis, MIN_LABEL, 2);
        self.draw_edges(buffer, area, plot, &axis);
        if !self.draw_placeholder(buffer, plot, pane) {
            self.draw_plot(buffer, plot, pane, &axis);
        }
        plot
    }

    /// Draws the lines or areas of a panel, the selection and the cursor.
    pub(super) fn draw_plot(&self, buffer: &mut Buffer, plot: Rect, pane: &Pane, axis: &PaneAxis) {
        if pane.kind() == ViewKind::Stacked {
            self.draw_stack(buffer, plot, pane, axis);
            self.draw_brush(buffer, plot);
        } else {
            let mut canvas = Canvas::new(plot, self.theme.is_unicode);
            // Highlighted and selected lines are drawn last, on top.
            let rank = |item: &LegendItem| (item.is_highlighted(), Some(item.id()) == pane.selected);
            let mut items = pane.charted(&self.reduced);
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
        let height_of = |value: f64| {
            let share = 1.0 - axis.share_of(item, value);
            (share * (height.saturating_sub(1)) as f64).round() as usize
        };
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
        let mut before: Option<(usize, usize, FileTime)> = None;
        for (index, column) in series.columns.iter().enumerate() {
            let Some((average, at)) = column.average.zip(column.at).filter(|(value, _)| value.is_finite())
            else {
                // An error interrupts the line; a column in which no interval ends does not.
                if column.errors > 0 {
                    before = None;
                }
                continue;
            };
            let x = dot_of(index, columns, width);
            let y = height_of(average);
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
            before = Some((x, y, at));
        }
    }

    /// Draws the line to the left of a plot, and the one with the times below it.
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
        for (_, share) in axis.labels(labels_between(rows)) {
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

    pub(super) fn draw_times(&self, buffer: &mut Buffer, line: Rect, span: &Span, across: &str) {
        let dim = self.theme.dim();
        let width = usize::from(line.width);
        let label = |time: FileTime| -> String {
            let length = span.length();
            if length > 2 * FileTime::PER_DAY {
                let time_of_day = self.time_of_day(time, false);
                format!(
                    "{} {}",
                    self.date(time).as_deref().and_then(|date| date.get(5..)).unwrap_or_default(),
                    &time_of_day[..5.min(time_of_day.len())]
                )
            } else {
                self.time_of_day(time, length < 10 * FileTime::PER_SECOND)
            }
        };
        self.write_text(buffer, line, 0, &across.repeat(width), dim);
        let sample = label(span.begin()).len();
        let parts = (width / (sample + 6)).clamp(1, 8);
        for part in 0..=parts {
            let time =
                span.begin().saturating_add((span.length() as f64 * part as f64 / parts as f64) as i64);
            // The end is exclusive.
            let time = if part == parts { span.end().saturating_sub(1) } else { time };
            let text = label(time);
            let column = match part {
                0 => 0,
                _ if part == parts => width.saturating_sub(text.len()),
                _ => (width * part / parts).saturating_sub(text.len() / 2),
            };
            if part > 0 && width < 2 * text.len() + 2 {
                break;
            }
            self.write_text(buffer, line, column, &text, dim);
        }
    }

    fn draw_brush(&self, buffer: &mut Buffer, plot: Rect) {
        let brushed = self.brushed().or(self.brush.0).or(self.brush.1);
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

/// The horizontal position of a column of the figures, in dots: the first at the left edge, the last at the right.
fn dot_of(column: usize, columns: usize, width: usize) -> usize {
    if columns >= width || columns < 2 {
        return column * width / columns.max(1);
    }
    (column * (width - 1) + (columns - 1) / 2) / (columns - 1)
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
    fn columns_fill_the_width() {
        assert_eq!([0, 50, 99].map(|column| dot_of(column, 100, 150)), [0, 75, 149]);
        assert_eq!([0, 1].map(|column| dot_of(column, 2, 150)), [0, 149]);
        assert_eq!([0, 149].map(|column| dot_of(column, 150, 150)), [0, 149]);
        assert_eq!(dot_of(0, 1, 150), 0);
    }
}

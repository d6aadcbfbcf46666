//! The histogram: one bar per legend item.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tachograph_monitor::{LegendItem, ReducedSeries};

use super::axis::PaneAxis;
use super::chart::MARKS;
use super::report::VALUE_WIDTH;
use crate::app::{App, Pane};
use crate::text::{average_in, figure_in, row, truncate, width};

/// Blocks of one to eight eighths of a character's width.
const EIGHTHS: [&str; 8] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"];

impl App {
    /// The value shown in the histogram and the report: the last one for live data, the average for logs.
    pub(super) fn shown_value(&self, series: &ReducedSeries) -> Option<f64> {
        if self.facts.is_live { series.summary.last } else { series.summary.average }
    }

    /// [`shown_value`](Self::shown_value) formatted in at most `columns` columns.
    pub(super) fn shown_figure(&self, series: &ReducedSeries, columns: usize) -> String {
        let (counter, value) = (&series.info.counter, self.shown_value(series));
        if self.facts.is_live {
            return figure_in(counter, value, columns, self.numbers);
        }
        let ends = [series.summary.minimum, series.summary.maximum];
        average_in(counter, value, ends, series.summary.average_kind, columns, self.numbers)
    }

    pub(super) fn draw_histogram(&self, buffer: &mut Buffer, area: Rect, pane: &Pane) {
        if self.draw_placeholder(buffer, area, pane) {
            return;
        }
        let shown = pane.charted_items(&self.reduced);
        let axis = self.axis_of(pane);
        let room = usize::from(area.height).saturating_sub(1);
        // Scrolled so that the selected bar is visible.
        let selected = shown.iter().position(|item| Some(item.id()) == pane.selected).unwrap_or(0);
        let top = (selected + 1).saturating_sub(room);
        let label = usize::from(area.width) / 3;
        let bars = usize::from(area.width).saturating_sub(label + VALUE_WIDTH + 2);
        for (index, item) in shown.iter().skip(top).take(room).enumerate() {
            self.draw_bar(buffer, row(area, index), item, (label, bars), pane, &axis);
        }
        let line = row(area, room.min(shown.len().saturating_sub(top)));
        let dim = self.theme.dim();
        for (text, share) in axis.labels(1) {
            let column = label + 1 + (bars as f64 * share) as usize;
            let back = if share == 0.0 { 0 } else { width(&text) };
            self.write_text(buffer, line, column.saturating_sub(back), &text, dim);
        }
    }

    fn draw_bar(
        &self,
        buffer: &mut Buffer,
        line: Rect,
        item: &LegendItem,
        (label, bars): (usize, usize),
        pane: &Pane,
        axis: &PaneAxis,
    ) {
        let series = item.series(&self.reduced);
        let path = pane.legend.path_of(item);
        let name = match item.info() {
            Some(info) => match info.instance_name() {
                Some(instance) => format!("{} {}", info.counter.name, self.groups.text(instance)),
                None => info.counter.name.to_string(),
            },
            None => path,
        };
        let is_selected = Some(item.id()) == pane.selected;
        let style = if is_selected { self.theme.selected() } else { ratatui::style::Style::new() };
        let text = truncate(&name, label, self.theme.is_unicode).into_owned();
        self.write_text(buffer, line, label.saturating_sub(width(&text)), &text, style);
        let Some(series) = series else { return };
        let value = self.shown_value(series);
        let share = value.map_or(0.0, |value| axis.share_of(item, value));
        let style = self.theme.line(item.style(), item.is_highlighted());
        let bar = if self.theme.is_unicode {
            let eighths = (share * (bars * 8) as f64).round() as usize;
            let part = (eighths % 8).checked_sub(1).map_or("", |part| EIGHTHS[part]);
            format!("{}{part}", EIGHTHS[7].repeat(eighths / 8))
        } else {
            let mark = char::from(MARKS[item.style().0 % MARKS.len()]).to_string();
            mark.repeat((share * bars as f64).round() as usize)
        };
        self.write_text(buffer, line, label + 1, &bar, style);
        let text = self.shown_figure(series, VALUE_WIDTH);
        self.write_right_aligned(buffer, line, &text, ratatui::style::Style::new());
    }
}

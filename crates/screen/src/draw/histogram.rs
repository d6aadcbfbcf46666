//! A bar for each counter.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tachograph_monitor::scale::AXIS_TOP;
use tachograph_monitor::{LegendItem, ReducedSeries};

use super::chart::MARKS;
use crate::app::App;
use crate::text::{average_in, cut, figure_in, row, width};

/// Eighths of a character, from one to eight.
const EIGHTHS: [&str; 8] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"];

impl App {
    /// The value that histogram and report show: the current one of live data, the average of logs.
    fn shown_value(&self, series: &ReducedSeries) -> Option<f64> {
        if self.facts.is_live { series.summary.last } else { series.summary.average }
    }

    /// That value in at most so many columns.
    pub(super) fn shown_figure(&self, series: &ReducedSeries, columns: usize) -> String {
        let (counter_type, value) = (series.info.counter.counter_type, self.shown_value(series));
        if self.facts.is_live {
            return figure_in(counter_type, value, columns);
        }
        average_in(counter_type, value, series.summary.average_kind, columns)
    }

    pub(super) fn draw_histogram(&self, buffer: &mut Buffer, area: Rect) {
        if self.draw_nothing(buffer, area) {
            return;
        }
        let items = self.legend.sorted(&self.reduced);
        let shown: Vec<_> = items.into_iter().filter(|item| item.is_shown()).collect();
        let room = usize::from(area.height).saturating_sub(1);
        // The selected one stays in sight.
        let selected = shown.iter().position(|item| Some(item.id()) == self.selected).unwrap_or(0);
        let top = (selected + 1).saturating_sub(room);
        let label = usize::from(area.width) / 3;
        let value = 14;
        let bars = usize::from(area.width).saturating_sub(label + value + 2);
        for (number, item) in shown.iter().skip(top).take(room).enumerate() {
            self.draw_bar(buffer, row(area, number), item, (label, bars));
        }
        let axis = row(area, room.min(shown.len() - top));
        let dim = self.theme.dim();
        for (share, text) in [(0.0, "0"), (0.5, "50"), (1.0, "100")] {
            let place = label + 1 + (bars as f64 * share) as usize;
            let back = if share == 0.0 { 0 } else { text.len() };
            self.put(buffer, axis, place.saturating_sub(back), text, dim);
        }
    }

    fn draw_bar(&self, buffer: &mut Buffer, line: Rect, item: &LegendItem, (label, bars): (usize, usize)) {
        let series = item.series(&self.reduced);
        let path = self.legend.path_of(item);
        let name = match item.info() {
            Some(info) => match info.instance_name() {
                Some(instance) => format!("{} {instance}", info.counter.name),
                None => info.counter.name.to_string(),
            },
            None => path,
        };
        let is_selected = Some(item.id()) == self.selected;
        let style = if is_selected { self.theme.selected() } else { ratatui::style::Style::new() };
        let text = cut(&name, label, self.theme.is_unicode).into_owned();
        self.put(buffer, line, label.saturating_sub(width(&text)), &text, style);
        let Some(series) = series else { return };
        let counter = &series.info.counter;
        let value = self.shown_value(series);
        let scaled = value.unwrap_or(0.0) * item.scale().factor(counter.default_scale);
        let share = (scaled / AXIS_TOP).clamp(0.0, 1.0);
        let style = self.theme.line(item.style(), item.is_highlighted());
        let bar = if self.theme.is_unicode {
            let eighths = (share * (bars * 8) as f64).round() as usize;
            let part = (eighths % 8).checked_sub(1).map_or("", |part| EIGHTHS[part]);
            format!("{}{part}", EIGHTHS[7].repeat(eighths / 8))
        } else {
            let mark = char::from(MARKS[item.style().0 % MARKS.len()]).to_string();
            mark.repeat((share * bars as f64).round() as usize)
        };
        self.put(buffer, line, label + 1, &bar, style);
        let text = self.shown_figure(series, usize::MAX);
        self.put_right(buffer, line, &text, ratatui::style::Style::new());
    }
}

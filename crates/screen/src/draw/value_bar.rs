//! The value bar and the path of the selected counter.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use tachograph_monitor::figures::{NONE, duration, shown};

use crate::app::{App, Pane};
use crate::text::{average_in, figure_in, truncate_start, width};

impl App {
    /// Draws the path of the selected counter, and its value at the cursor.
    pub(super) fn draw_path(&self, buffer: &mut Buffer, area: Rect, pane: &Pane) {
        let Some(item) = pane.selected.and_then(|id| pane.legend.item(id)) else { return };
        let under = self.cursor_text(pane);
        let room = usize::from(area.width).saturating_sub(under.as_deref().map_or(0, |text| width(text) + 2));
        let path = pane.legend.path_of(item);
        let style = self.theme.line(item.style(), false).add_modifier(Modifier::BOLD);
        self.write_text(buffer, area, 0, &truncate_start(&path, room, self.theme.is_unicode), style);
        if let Some(under) = under {
            self.write_right_aligned(buffer, area, &under, Style::new());
        }
    }

    /// The time at the cursor, and the selected counter's values there.
    fn cursor_text(&self, pane: &Pane) -> Option<String> {
        let index = self.column_under_cursor()?;
        let item = pane.selected.and_then(|id| pane.legend.item(id))?;
        let series = item.series(&self.reduced)?;
        let column = series.columns.get(index)?;
        let time = self.time_of_day(column.at.unwrap_or_else(|| self.reduced.time_of(index)), false);
        let format = |value| shown(&series.info.counter, value, self.numbers);
        if column.values <= 1 {
            return Some(format!("at {time}: {}", format(column.average)));
        }
        let kind = series.summary.average_kind;
        let ends = [column.minimum, column.maximum];
        let average = average_in(&series.info.counter, column.average, ends, kind, usize::MAX, self.numbers);
        let (minimum, maximum) = (format(column.minimum), format(column.maximum));
        Some(format!("at {time}: {average} ({minimum} to {maximum}, {} values)", column.values))
    }

    pub(super) fn draw_value_bar(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        pane: &Pane,
        visible_rows: Option<(usize, usize, usize)>,
    ) {
        let item = pane.selected.and_then(|id| pane.legend.item(id));
        let series = item.and_then(|item| item.series(&self.reduced));
        let summary = series.map(|series| series.summary.clone()).unwrap_or_default();
        let length = self.shown_span().map_or(0, |span| span.length());
        let length = if self.reduced.columns == 0 { NONE.to_owned() } else { duration(length) };
        let room = usize::from(area.width);
        let pieces = |is_long: bool, columns: usize| -> Vec<(&str, String)> {
            let format = |value: Option<f64>| match series {
                Some(series) => figure_in(&series.info.counter, value, columns, self.numbers),
                None => NONE.to_owned(),
            };
            let average = series.map(|series| {
                let (average, ends) = (summary.average, [summary.minimum, summary.maximum]);
                average_in(&series.info.counter, average, ends, summary.average_kind, columns, self.numbers)
            });
            let name = |long: &'static str, short: &'static str| if is_long { long } else { short };
            vec![
                ("Last", format(summary.last)),
                (name("Average", "Avg"), average.unwrap_or_else(|| format(None))),
                (name("Minimum", "Min"), format(summary.minimum)),
                (name("Maximum", "Max"), format(summary.maximum)),
                (name("Duration", ""), length.clone()),
            ]
        };
        let total_width = |pieces: &[(&str, String)]| -> usize {
            pieces.iter().map(|(name, text)| name.len() + 3 + width(text)).sum::<usize>().saturating_sub(2)
        };
        let forms = [(true, usize::MAX), (false, usize::MAX), (false, 14), (false, 10), (false, 7)];
        let mut candidates = forms.map(|(is_long, columns)| pieces(is_long, columns)).into_iter();
        let figures =
            candidates.find(|pieces| total_width(pieces) <= room).unwrap_or_else(|| pieces(false, 7));
        let mut column = 0;
        for (name, text) in &figures {
            if column + name.len() + 1 + width(text) > room && column > 0 {
                break;
            }
            if !name.is_empty() {
                column = self.write_text(buffer, area, column, name, self.theme.dim()) + 1;
            }
            let bold = Style::new().add_modifier(Modifier::BOLD);
            column = self.write_text(buffer, area, column, text, bold) + 2;
        }
        if let Some((first, last, all)) = visible_rows {
            let rows = format!("{first}-{last}/{all}");
            if column + rows.len() <= room {
                self.write_right_aligned(buffer, area, &rows, self.theme.dim());
            }
        }
    }
}

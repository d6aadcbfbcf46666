//! The menu of ready-made views.

use ratatui::Frame;
use ratatui::style::{Modifier, Style};

use crate::app::{App, menu};
use crate::text::{row, width};

/// The mark of a view for which the machine or log has no counters.
const NOTHING_HERE: &str = " (nothing here)";

impl App {
    pub(super) fn draw_views(&self, frame: &mut Frame<'_>, selected: usize) {
        let entries: Vec<_> = menu().collect();
        let names = entries.iter().map(|(_, name, _)| width(name)).max().unwrap_or(0);
        let titles = entries.iter().map(|(.., title)| width(title)).max().unwrap_or(0);
        // 10: the edges, the key, and the spaces between.
        let columns = u16::try_from(names + titles + width(NOTHING_HERE) + 10).unwrap_or(u16::MAX);
        let rows = u16::try_from(entries.len() + 2).unwrap_or(u16::MAX);
        let inside = self.open_box(frame, "Views (Enter, or the digit)", columns.max(40), rows);
        // Scrolled so that the selected entry is visible.
        let first = (selected + 1).saturating_sub(usize::from(inside.height));
        let buffer = frame.buffer_mut();
        for (index, (key, name, title)) in entries.iter().enumerate().skip(first) {
            let line = row(inside, index - first);
            if index == selected {
                buffer.set_style(line, self.theme.selected());
            }
            let is_empty = self.has_view(name) == Some(false);
            let style = if is_empty && index != selected { self.theme.dim() } else { Style::new() };
            let bold = style.add_modifier(Modifier::BOLD);
            self.write_text(buffer, line, 1, &key.to_string(), bold);
            self.write_text(buffer, line, 3, name, style);
            let end = self.write_text(buffer, line, names + 6, title, style);
            if is_empty {
                self.write_text(buffer, line, end, NOTHING_HERE, style);
            }
        }
    }
}

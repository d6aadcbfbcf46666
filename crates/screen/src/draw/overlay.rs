//! What lies over the screen: the list of keys, messages, questions.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::symbols::border;
use ratatui::widgets::{Block, Clear};

use crate::app::{App, Prompt};
use crate::keys::{KEYS, Of};
use crate::text::{row, width};

impl App {
    /// Clears a box in the midst of the screen and gives what is inside of it.
    pub(super) fn open_box(&self, frame: &mut Frame<'_>, title: &str, columns: u16, rows: u16) -> Rect {
        let whole = self.areas.whole;
        let (columns, rows) = (columns.min(whole.width), rows.min(whole.height));
        let area = Rect {
            x: whole.x + (whole.width - columns) / 2,
            y: whole.y + (whole.height - rows) / 2,
            width: columns,
            height: rows,
        };
        frame.render_widget(Clear, area);
        let set = if self.theme.is_unicode { border::PLAIN } else { ASCII_BORDER };
        let block = Block::bordered().border_set(set).title(format!(" {title} "));
        let inside = block.inner(area);
        frame.render_widget(block, area);
        inside
    }

    pub(super) fn draw_help(&self, frame: &mut Frame<'_>, top: &mut usize) {
        let is_here = |of: Of| of == Of::Both || (of == Of::Live) == self.facts.is_live;
        let keys: Vec<_> = KEYS.iter().filter(|key| is_here(key.of)).collect();
        let longest = keys.iter().map(|key| key.shown.len()).max().unwrap_or(0);
        let mut lines: Vec<(String, String)> =
            keys.iter().map(|key| (key.shown.to_owned(), key.what.to_owned())).collect();
        for (keys, what) in [
            ("", ""),
            (
                "Mouse",
                "click: select, sort by a heading, set the cursor; drag: select time; wheel: zoom, move",
            ),
            ("In the tree", "Right Left: open, close; Space: mark; Enter: add; /: search or write a path"),
        ] {
            lines.push((keys.to_owned(), what.to_owned()));
        }
        let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
        let inside = self.open_box(frame, "Keys (Esc closes)", 100, rows);
        *top = (*top).min(lines.len().saturating_sub(usize::from(inside.height)));
        let buffer = frame.buffer_mut();
        for (number, (keys, what)) in lines.iter().skip(*top).take(usize::from(inside.height)).enumerate() {
            let line = row(inside, number);
            self.put(buffer, line, 1, keys, Style::new().add_modifier(Modifier::BOLD));
            self.put(buffer, line, longest + 3, what, Style::new());
        }
    }

    pub(super) fn draw_messages(&self, frame: &mut Frame<'_>, top: &mut usize) {
        let room = usize::from(self.areas.whole.width).saturating_sub(4).max(8);
        let mut lines = Vec::new();
        for message in self.messages.all() {
            let times = if message.count > 1 { format!(" ({} times)", message.count) } else { String::new() };
            wrap(&format!("{}{times}", message.text), room, |line| lines.push(line));
        }
        if lines.is_empty() {
            lines.push("no message".to_owned());
        }
        let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
        let inside = self.open_box(frame, "Messages (Esc closes)", u16::MAX, rows);
        *top = (*top).min(lines.len().saturating_sub(usize::from(inside.height)));
        let buffer = frame.buffer_mut();
        for (number, text) in lines.iter().skip(*top).take(usize::from(inside.height)).enumerate() {
            self.put(buffer, row(inside, number), 1, text, Style::new());
        }
    }

    pub(super) fn draw_prompt(&self, frame: &mut Frame<'_>, prompt: &Prompt) {
        let columns = u16::try_from(width(&prompt.question()) + 4).unwrap_or(u16::MAX).max(60);
        let inside = self.open_box(frame, &prompt.question(), columns, 4);
        let buffer = frame.buffer_mut();
        let line = row(inside, 0);
        // Of long answers the end is what is being written.
        let room = usize::from(line.width).saturating_sub(2);
        let text = crate::text::cut_start(&prompt.text, room, self.theme.is_unicode).into_owned();
        let style = if prompt.is_proposed { self.theme.selected() } else { Style::new() };
        let end = self.put(buffer, line, 1, &text, style);
        match &prompt.error {
            Some(error) => self.put(buffer, row(inside, 1), 1, error, self.theme.trouble()),
            None => self.put(buffer, row(inside, 1), 1, "Enter: do it   Esc: cancel", self.theme.dim()),
        };
        frame.set_cursor_position(Position { x: line.x + end as u16, y: line.y });
    }
}

/// Corners and edges in ASCII.
const ASCII_BORDER: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

/// Breaks a text between words.
pub(super) fn wrap(text: &str, columns: usize, mut line: impl FnMut(String)) {
    let mut now = String::new();
    for word in text.split_whitespace() {
        if !now.is_empty() && width(&now) + 1 + width(word) > columns {
            line(std::mem::take(&mut now));
        }
        if !now.is_empty() {
            now.push(' ');
        }
        now.push_str(word);
    }
    if !now.is_empty() {
        line(now);
    }
}

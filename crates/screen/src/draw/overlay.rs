//! Dialogs: the list of keys, the messages, and prompts.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::symbols::border;
use ratatui::widgets::{Block, Clear};

use tachograph_monitor::figures::escape_controls;
use unicode_width::UnicodeWidthChar as _;

use crate::app::{App, Prompt, PromptKind};
use crate::keys::listed_keys;
use crate::text::{row, width};

impl App {
    /// Draws a box in the middle of the screen; returns the area inside.
    pub(super) fn open_box(&self, frame: &mut Frame<'_>, title: &str, columns: u16, rows: u16) -> Rect {
        self.open_box_with(frame, title, "", columns, rows)
    }

    /// Like [`open_box`](Self::open_box), with text on the lower edge.
    fn open_box_with(
        &self,
        frame: &mut Frame<'_>,
        title: &str,
        below: &str,
        columns: u16,
        rows: u16,
    ) -> Rect {
        let screen = self.areas.screen;
        let (columns, rows) = (columns.min(screen.width), rows.min(screen.height));
        let area = Rect {
            x: screen.x + (screen.width - columns) / 2,
            y: screen.y + (screen.height - rows) / 2,
            width: columns,
            height: rows,
        };
        frame.render_widget(Clear, area);
        let set = if self.theme.is_unicode { border::PLAIN } else { ASCII_BORDER };
        let mut block = Block::bordered().border_set(set).title(format!(" {title} "));
        if !below.is_empty() {
            block = block.title_bottom(format!(" {below} "));
        }
        let inside = block.inner(area);
        frame.render_widget(block, area);
        inside
    }

    /// Draws lines in a box, starting with line `top`. Each line consists of two texts; the second texts are aligned.
    /// `columns` is the width of the box.
    pub(super) fn draw_lines(
        &self,
        frame: &mut Frame<'_>,
        title: &str,
        columns: u16,
        lines: &[(String, String)],
        top: &mut usize,
    ) {
        let second = lines.iter().map(|(first, _)| width(first)).max().unwrap_or(0);
        let second = if second == 0 { 1 } else { second + 3 };
        let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
        let room = usize::from(rows.min(self.areas.screen.height)).saturating_sub(2);
        *top = (*top).min(lines.len().saturating_sub(room));
        let last = (*top + room).min(lines.len());
        let below = if lines.len() > room {
            format!("{}-{last} of {}: Up Down PgUp PgDn scroll", *top + 1, lines.len())
        } else {
            String::new()
        };
        let inside = self.open_box_with(frame, title, &below, columns, rows);
        let buffer = frame.buffer_mut();
        for (index, (first, second_text)) in lines.iter().take(last).skip(*top).enumerate() {
            let line = row(inside, index);
            self.write_text(buffer, line, 1, first, Style::new().add_modifier(Modifier::BOLD));
            self.write_text(buffer, line, second, second_text, Style::new());
        }
    }

    pub(super) fn draw_help(&self, frame: &mut Frame<'_>, top: &mut usize) {
        let keys = listed_keys(self.facts.is_live, self.is_table());
        let keys = keys.into_iter().map(|key| (key.label, key.help));
        let all: Vec<_> = keys.chain(MORE_HELP).collect();
        let longest = all.iter().map(|(keys, _)| keys.len()).max().unwrap_or(0);
        // 6: two edges, a space next to each, and two spaces between the columns.
        let room = usize::from(HELP_WIDTH.min(self.areas.screen.width)).saturating_sub(longest + 6).max(8);
        let mut lines = Vec::new();
        for (keys, help) in all {
            let mut keys = keys.to_owned();
            if help.is_empty() {
                lines.push((keys, String::new()));
            } else {
                wrap(help, room, |line| lines.push((std::mem::take(&mut keys), line)));
            }
        }
        self.draw_lines(frame, "Keys (Esc closes)", HELP_WIDTH, &lines, top);
    }

    pub(super) fn draw_messages(&self, frame: &mut Frame<'_>, top: &mut usize) {
        let room = usize::from(self.areas.screen.width).saturating_sub(4).max(8);
        let mut lines = Vec::new();
        for message in &self.messages.messages {
            let times = if message.count > 1 { format!(" ({} times)", message.count) } else { String::new() };
            wrap(&format!("{}{times}", message.text), room, |line| lines.push((String::new(), line)));
        }
        if lines.is_empty() {
            lines.push((String::new(), "no messages".to_owned()));
        }
        self.draw_lines(frame, "Messages (Esc closes)", u16::MAX, &lines, top);
    }

    pub(super) fn draw_prompt(&self, frame: &mut Frame<'_>, prompt: &Prompt) {
        let question = prompt.question();
        if matches!(prompt.kind, PromptKind::Overwrite(_)) {
            return self.draw_yes_or_no(frame, &question);
        }
        let (text, style) = match &prompt.error {
            Some(error) => (error.as_str(), self.theme.problem()),
            None => ("Enter: OK   Esc: cancel", self.theme.dim()),
        };
        let columns = u16::try_from(width(&question).max(width(text)) + 4).unwrap_or(u16::MAX);
        let columns = columns.clamp(MIN_PROMPT, MAX_PROMPT);
        let lines = self.wrap_in_box(text, columns);
        let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(3);
        let inside = self.open_box(frame, &question, columns, rows);
        let buffer = frame.buffer_mut();
        for (index, text) in lines.iter().enumerate() {
            self.write_text(buffer, row(inside, 1 + index), 1, text, style);
        }
        let line = row(inside, 0);
        // The end of a long text is shown, because characters are added there.
        let room = usize::from(line.width).saturating_sub(2);
        let text = crate::text::truncate_start(&prompt.text, room, self.theme.is_unicode).into_owned();
        let style = if prompt.is_proposed { self.theme.selected() } else { Style::new() };
        let end = self.write_text(buffer, line, 1, &text, style);
        frame.set_cursor_position(Position { x: line.x + end as u16, y: line.y });
    }

    /// Draws a question that `y` confirms and any other key rejects.
    pub(super) fn draw_yes_or_no(&self, frame: &mut Frame<'_>, question: &str) {
        let lines = self.wrap_in_box(question, MIN_PROMPT);
        let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(3);
        let inside = self.open_box(frame, "Are you sure?", MIN_PROMPT, rows);
        let buffer = frame.buffer_mut();
        for (index, text) in lines.iter().enumerate() {
            self.write_text(buffer, row(inside, index), 1, text, Style::new());
        }
        self.write_text(buffer, row(inside, lines.len()), 1, "y: yes   any other key: no", self.theme.dim());
    }

    /// Wraps a string for a box with this number of columns, or for the screen if it is narrower.
    fn wrap_in_box(&self, text: &str, columns: u16) -> Vec<String> {
        let mut lines = Vec::new();
        let room = usize::from(columns.min(self.areas.screen.width)).saturating_sub(4).max(8);
        wrap(text, room, |line| lines.push(line));
        lines
    }
}

/// Width of a short prompt, in columns.
const MIN_PROMPT: u16 = 60;

/// Width of a prompt with a long error message, in columns.
const MAX_PROMPT: u16 = 100;

/// Width of the list of keys, in columns.
const HELP_WIDTH: u16 = 100;

/// The lines of the help after the list of keys.
const MORE_HELP: [(&str, &str); 3] = [
    ("", ""),
    ("Mouse", "click: select, sort by a column, set the cursor; drag: select time; wheel: zoom, scroll"),
    ("In the tree", "Right Left: open, close; Space: mark; Enter: add; /: search, or enter a path"),
];

/// A border in ASCII.
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

/// Breaks a string into lines, at spaces if possible. Words longer than a line are split. Control characters are
/// escaped.
pub(super) fn wrap(text: &str, columns: usize, mut line: impl FnMut(String)) {
    let mut now = String::new();
    for word in escape_controls(text).split_whitespace() {
        if !now.is_empty() && width(&now) + 1 + width(word) > columns {
            line(std::mem::take(&mut now));
        }
        if !now.is_empty() {
            now.push(' ');
        }
        for character in word.chars() {
            let more = character.width().unwrap_or_default();
            if !now.is_empty() && width(&now) + more > columns {
                line(std::mem::take(&mut now));
            }
            now.push(character);
        }
    }
    if !now.is_empty() {
        line(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_wrapped() {
        let lines_of = |text: &str, columns| {
            let mut lines = Vec::new();
            wrap(text, columns, |line| lines.push(line));
            lines
        };
        assert_eq!(lines_of("one two  three", 7), ["one two", "three"]);
        assert_eq!(lines_of("/a/very/long/path is", 8), ["/a/very/", "long/pat", "h is"]);
        assert_eq!(lines_of("プロセッサ", 5), ["プロ", "セッ", "サ"]);
        assert_eq!(lines_of("a\u{1b}b", 6), [r"a\u{1b", "}b"]);
        assert!(lines_of(" ", 4).is_empty());
    }
}

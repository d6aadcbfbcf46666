//! The tree of counters.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use tachograph_monitor::figures::grouped;

use super::overlay::wrap;
use crate::app::App;
use crate::text::{row, truncate_start, width};
use crate::tree::{Node, Tree};

/// The number of lines for the help text.
const HELP_LINES: u16 = 3;

impl App {
    pub(super) fn draw_tree(&mut self, frame: &mut Frame<'_>, tree: &mut Tree) {
        let screen = self.areas.screen;
        let inside = self.open_box(frame, "Add counters", screen.width.min(120), screen.height);
        let search = row(inside, 0);
        let help_lines = if inside.height >= 12 { HELP_LINES } else { 1 };
        let list = Rect { y: inside.y + 1, height: inside.height.saturating_sub(3 + help_lines), ..inside };
        self.areas.tree = list;
        let buffer = frame.buffer_mut();
        let label = "Search: ";
        let mut end = self.write_text(buffer, search, 0, label, self.theme.dim());
        let room = usize::from(search.width).saturating_sub(label.len() + 1);
        let text = truncate_start(&tree.search, room, self.theme.is_unicode).into_owned();
        end = self.write_text(buffer, search, end, &text, Style::new().add_modifier(Modifier::BOLD));
        if tree.search.is_empty() && !tree.is_searching {
            self.write_text(buffer, search, end, "(/: search; \\: enter a path)", self.theme.dim());
        }

        let rows = usize::from(list.height);
        tree.top = tree.top.min(tree.rows().len().saturating_sub(rows));
        if rows > 0 {
            tree.top =
                tree.top.clamp((tree.selected_index() + 1).saturating_sub(rows), tree.selected_index());
        }
        for (index, node) in tree.rows().iter().enumerate().skip(tree.top).take(rows) {
            let line = row(list, index - tree.top);
            if index == tree.selected_index() && !tree.is_searching {
                buffer.set_style(line, self.theme.selected());
            }
            let mark = if tree.is_marked(node) { self.theme.either("✓", "x") } else { " " };
            self.write_text(buffer, line, 0, mark, Style::new().add_modifier(Modifier::BOLD));
            let (depth, text) = self.row_of(tree, node);
            let arrow = match (tree.can_open(node), tree.is_open(node)) {
                (false, _) => " ",
                (true, true) => self.theme.either("▾", "-"),
                (true, false) => self.theme.either("▸", "+"),
            };
            self.write_text(buffer, line, 2 + 2 * depth, arrow, self.theme.dim());
            let style = if depth == 0 { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
            self.write_text(buffer, line, 4 + 2 * depth, &text, style);
        }
        if tree.rows().is_empty() {
            self.write_text(buffer, row(list, 0), 4, "no match", self.theme.dim());
        }

        let below =
            Rect { y: list.bottom(), height: inside.bottom().saturating_sub(list.bottom()), ..inside };
        let node = tree.node().cloned();
        let path = node.as_ref().and_then(|node| tree.path_of(node)).unwrap_or_default();
        let marked = match tree.mark_count() {
            0 => String::new(),
            marks => format!(" {marks} marked"),
        };
        let room = usize::from(below.width).saturating_sub(width(&marked));
        let path = truncate_start(&path, room, self.theme.is_unicode).into_owned();
        self.write_text(buffer, row(below, 0), 0, &path, Style::new().add_modifier(Modifier::BOLD));
        self.write_right_aligned(buffer, row(below, 0), &marked, Style::new());
        let mut lines = Vec::new();
        let help = node.and_then(|node| tree.help_of(&node)).unwrap_or_default();
        wrap(&help, usize::from(below.width), |line| lines.push(line));
        for (index, text) in lines.iter().take(usize::from(help_lines)).enumerate() {
            self.write_text(buffer, row(below, 1 + index), 0, text, Style::new());
        }
        let hint = if tree.is_searching {
            "Enter: go to list   Esc: clear"
        } else {
            "Right/Left: open/close  Space: mark  Enter: add  /: search  Esc: close"
        };
        self.write_text(buffer, row(below, usize::from(below.height) - 1), 0, hint, self.theme.dim());
        if let Some((_, lines)) = &tree.question {
            let lines = grouped(&lines.to_string());
            return self.draw_yes_or_no(frame, &format!("This adds {lines} lines. Continue? (y/n)"));
        }
        if tree.is_searching {
            frame.set_cursor_position(Position { x: search.x + end as u16, y: search.y });
        }
    }

    fn row_of(&self, tree: &Tree, node: &Node) -> (usize, String) {
        match node {
            Node::Set(set) => (0, tree.set(*set).map_or_else(String::new, |set| set.name.to_string())),
            Node::Counter(set, counter) => {
                let entry = tree.set(*set).and_then(|set| set.counters.get(*counter));
                (1, entry.map_or_else(String::new, |entry| entry.counter.name.to_string()))
            }
            Node::Instance(.., name) => (2, self.groups.text(name).into_owned()),
            Node::Message(.., text) => (2, format!("({text})")),
        }
    }
}

//! The table: a heading, the rows, and the totals below them.

mod details;
mod fitting;

use std::borrow::Cow;
use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use tachograph_monitor::figures::{NONE, Unit, grouped};
use tachograph_monitor::{
    ColumnContent, LegendItem, MissingColumn, Property, TableColumn, TableLine, TableModel, TreeKind,
};

use self::fitting::FittedColumn;
use crate::app::{App, Pane, Table};
use crate::text::{row, truncate, truncate_start, width};

/// The keys that the footer lists. Those that do not fit are omitted.
pub(super) const KEYS: &str = "?:keys|q:quit|< >:sort|/:filter|T:tree|Enter:details|a:chart|Tab:next table|1:lines|o:reverse|K:kernel|N:top";

/// The keys that the footer lists for a table among several panels.
pub(super) const GRID_KEYS: &str = "?:keys|q:quit|Tab:next panel|z:enlarge|< >:sort|/:filter|T:tree|Enter:details|a:chart|o:reverse|K:kernel";

/// Where the parts of a table were last drawn, to locate mouse events.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableAreas {
    /// The index of its panel.
    pub(crate) panel: usize,
    pub(crate) heading: Rect,
    /// The columns and their horizontal extents.
    pub(crate) headings: Vec<(usize, Range<u16>)>,
    pub(crate) rows: Rect,
}

/// Tables with fewer lines than `height` show at most `max` totals: (height, max).
const MAX_TOTALS: [(u16, usize); 3] = [(8, 1), (14, 2), (24, 3)];

/// The maximum depth at which rows of a tree are indented.
const MAX_DEPTH: usize = 10;

impl App {
    /// Draws the table of a panel: the heading, the rows, and the totals.
    pub(super) fn draw_table(&mut self, buffer: &mut Buffer, area: Rect, panel: usize) {
        // The table is moved out while it is drawn, because drawing updates it.
        let Some(mut table) = self.panes.take_table(panel) else {
            let text = self.panes.iter().nth(panel).map(|pane| self.no_table(pane)).unwrap_or_default();
            self.write_text(buffer, row(area, usize::from(area.height) / 2), 2, &text, self.theme.dim());
            return;
        };
        // Only the focused table shows its selected row, because keys act only on it.
        let is_focused = panel == self.panes.focus_index();
        let totals = table.model.reserved();
        let max_totals =
            MAX_TOTALS.iter().find(|(height, _)| area.height < *height).map_or(usize::MAX, |(_, max)| *max);
        let shown = totals.len().min(max_totals);
        let room = usize::from(area.height).saturating_sub(1);
        let shown = shown.min(room.saturating_sub(3));
        // The totals need one more line, for the horizontal line above them.
        let below = if shown > 0 { shown + 1 } else { 0 };
        table.room = room - below;
        table.scroll_to_selected();
        let columns = self.fitted_columns(&table, usize::from(area.width));
        let limits = self.panes.iter().nth(panel).map_or(Vec::new(), |pane| pane.panel.limits.clone());
        let unit = self.panes.iter().nth(panel).and_then(limited_unit);
        let limits = Limits { limits: &limits, unit: unit.as_ref() };
        self.areas.tables.push(TableAreas {
            panel,
            heading: row(area, 0),
            headings: self.draw_table_heading(buffer, row(area, 0), &table.model, &columns),
            rows: Rect { y: area.y + 1, height: table.room as u16, ..area },
        });
        for (index, line) in table.visible_lines().enumerate() {
            let is_selected = is_focused && line == table.selected_line && table.selected.is_some();
            let line = (line, is_selected);
            self.draw_table_line(buffer, row(area, 1 + index), &table.model, line, &columns, limits);
        }
        if table.model.lines().is_empty() {
            let is_reading = self.reading.is_some() || !self.facts.is_live && !table.model.has_figures();
            let text = match (table.model.filter().is_empty(), is_reading) {
                (false, _) => "no row contains these words (Esc: all rows)",
                (true, true) => "reading ...",
                (true, false) if self.facts.is_live => "no rows yet",
                (true, false) => "no rows in this time range",
            };
            self.write_text(buffer, row(area, table.room.min(2)), 2, text, self.theme.dim());
        }
        if shown > 0 {
            let rule = row(area, 1 + table.room);
            let line = self.theme.either("─", "-").repeat(usize::from(area.width));
            self.write_text(buffer, rule, 0, &line, self.theme.dim());
            let text = totals_text(&table.model, shown, usize::from(area.width).saturating_sub(4));
            self.write_text(buffer, rule, 1, &text, self.theme.dim());
            for (index, &row_index) in table.model.reserved().iter().take(shown).enumerate() {
                self.draw_cells(
                    buffer,
                    row(area, 2 + table.room + index),
                    &table.model,
                    row_index,
                    &columns,
                    None,
                );
            }
        }
        self.panes.put_table(panel, table);
    }

    /// Draws the headings; returns the horizontal extents of the columns.
    fn draw_table_heading(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        model: &TableModel,
        columns: &[FittedColumn],
    ) -> Vec<(usize, Range<u16>)> {
        let mut headings = Vec::with_capacity(columns.len());
        let bold = Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
        buffer.set_style(area, bold);
        let order = model.order();
        for fitted in columns {
            let column = &model.layout().columns[fitted.column];
            let is_sorted = order.column == fitted.column;
            let (unicode, ascii) = if order.is_descending { ("▾", "v") } else { ("▴", "^") };
            let mark = if is_sorted { self.theme.either(unicode, ascii) } else { "" };
            let text = format!(
                "{}{mark}",
                truncate(
                    &column.title,
                    fitted.width.saturating_sub(mark.len().min(1)),
                    self.theme.is_unicode
                )
            );
            let start =
                fitted.start + if column.is_text() { 0 } else { fitted.width.saturating_sub(width(&text)) };
            let style = if is_sorted { bold.add_modifier(Modifier::REVERSED) } else { bold };
            self.write_text(buffer, area, start, &text, style);
            let begin = area.x + fitted.start as u16;
            headings.push((fitted.column, begin..begin + fitted.width as u16 + 1));
        }
        headings
    }

    fn draw_table_line(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        model: &TableModel,
        (line, is_selected): (usize, bool),
        columns: &[FittedColumn],
        limits: Limits<'_>,
    ) {
        match &model.lines()[line] {
            TableLine::Group { name, rows } => {
                let bold = Style::new().add_modifier(Modifier::BOLD);
                let rows = match rows {
                    1 => "1 process".to_owned(),
                    rows => format!("{} processes", grouped(&rows.to_string())),
                };
                for fitted in columns {
                    let Some(text) = model.group_text(line, fitted.column, self.numbers) else { continue };
                    let start = fitted.start + fitted.width.saturating_sub(width(&text));
                    self.write_text(buffer, area, start, &text, bold);
                }
                // The group's name is in the column of names, like the names of totals, so that the sums have room.
                let names = columns
                    .iter()
                    .find(|fitted| model.layout().columns[fitted.column].content == ColumnContent::Name);
                let start = names.map_or(1, |fitted| fitted.start);
                let room = usize::from(area.width).saturating_sub(start + width(&rows) + 1);
                let name = truncate_start(&self.groups.text(name), room, self.theme.is_unicode).into_owned();
                let end = self.write_text(buffer, area, start, &name, bold);
                self.write_text(buffer, area, end + 1, &rows, self.theme.dim());
            }
            TableLine::Row { row: row_index, is_context, .. } => {
                if is_selected {
                    buffer.set_style(area, self.theme.selected());
                    self.write_text(buffer, area, 0, self.theme.either("▸", ">"), Style::new());
                }
                let prefix = self.tree_prefix(model, line);
                let look = Look { prefix: &prefix, is_dim: *is_context && !is_selected, is_selected, limits };
                self.draw_cells(buffer, area, model, *row_index, columns, Some(look));
            }
        }
    }

    /// Draws the cells of a row; `look` is `None` for totals.
    fn draw_cells(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        model: &TableModel,
        row_index: usize,
        columns: &[FittedColumn],
        look: Option<Look<'_>>,
    ) {
        for fitted in columns {
            let column = &model.layout().columns[fitted.column];
            let text = self.cell_text(model, row_index, fitted.column);
            let mut style =
                if look.as_ref().is_some_and(|look| look.is_dim) { self.theme.dim() } else { Style::new() };
            // Zeros and missing values are dim: they are frequent and uninteresting.
            let is_nothing =
                !column.is_text() && model.value(row_index, fitted.column).is_none_or(|value| value == 0.0);
            if is_nothing && !look.as_ref().is_some_and(|look| look.is_selected) {
                style = self.theme.dim();
            } else if model.order().column == fitted.column && look.is_some() {
                style = style.add_modifier(Modifier::BOLD);
            }
            let is_over =
                look.as_ref().is_some_and(|look| look.limits.are_exceeded(model, row_index, fitted.column));
            if is_over {
                style = style.patch(self.theme.warning());
            }
            if column.is_text() {
                let prefix = match (&column.content, &look) {
                    (ColumnContent::Name, Some(look)) => look.prefix,
                    _ => "",
                };
                let end = self.write_text(buffer, area, fitted.start, prefix, self.theme.dim());
                let room = (fitted.start + fitted.width).saturating_sub(end);
                let text = text.unwrap_or_default();
                // The end of a control group's path distinguishes it from others.
                let is_path = text.starts_with('/') && column.content == ColumnContent::Name;
                let fitting = if is_path {
                    truncate_start(&text, room, self.theme.is_unicode)
                } else {
                    truncate(&text, room, self.theme.is_unicode)
                };
                self.write_text(buffer, area, end, &fitting, style);
                continue;
            }
            // Totals have no value in some columns, such as ids.
            let has_no_total = look.is_none() && text.is_none();
            let text = if has_no_total { "" } else { text.as_deref().unwrap_or(NONE) };
            let text = if width(text) > fitted.width { "#".repeat(fitted.width) } else { text.to_owned() };
            let start = fitted.start + fitted.width.saturating_sub(width(&text));
            self.write_text(buffer, area, start, &text, style);
            if is_over {
                // In the space before the column if the value fills it.
                self.write_text(buffer, area, start.saturating_sub(1), self.theme.warning_mark(), style);
            }
        }
    }

    /// The text of a cell. Control groups have the names of their containers.
    pub(super) fn cell_text<'a>(
        &self,
        model: &'a TableModel,
        row: usize,
        column: usize,
    ) -> Option<Cow<'a, str>> {
        let text = model.text(row, column, self.numbers)?;
        let content = model.layout().columns.get(column).map(|column| &column.content);
        let is_group =
            matches!(content, Some(ColumnContent::Name | ColumnContent::Property(Property::Cgroup)));
        if !is_group || !text.starts_with('/') {
            return Some(text);
        }
        Some(match text {
            Cow::Borrowed(text) => self.groups.text(text),
            Cow::Owned(text) => self.groups.text(&text).into_owned().into(),
        })
    }

    /// The lines that connect a row with its parent.
    fn tree_prefix(&self, model: &TableModel, line: usize) -> String {
        let Some(TableLine::Row { depth, .. }) = model.lines().get(line) else { return String::new() };
        if *depth == 0 || model.tree() != TreeKind::Parent {
            return String::new();
        }
        let later = &model.lines()[line + 1..];
        // Whether another row of this depth follows below the same parent.
        let continues = |depth: usize| {
            let depths = later.iter().map(|line| match line {
                TableLine::Row { depth, .. } => *depth,
                TableLine::Group { .. } => 0,
            });
            depths.into_iter().find(|next| *next <= depth) == Some(depth)
        };
        let hidden = depth.saturating_sub(MAX_DEPTH);
        let mut prefix = String::new();
        for above in 1 + hidden..*depth {
            prefix.push_str(if continues(above) { self.theme.either("│ ", "| ") } else { "  " });
        }
        prefix.push_str(match continues(*depth) {
            true => self.theme.either("├ ", "|-"),
            false => self.theme.either("└ ", "`-"),
        });
        prefix
    }

    /// Draws the command line of the selected row; if it has none, the path of its counter in the sorted column.
    pub(super) fn draw_table_path(&self, buffer: &mut Buffer, area: Rect, table: &Table) {
        let Some(TableLine::Row { row: row_index, .. }) = table.model.lines().get(table.selected_line) else {
            return;
        };
        let Some(selected) = table.model.row(*row_index) else { return };
        let properties = table.model.properties(selected.id);
        let command = properties.and_then(|properties| properties.command.as_deref());
        let bold = Style::new().add_modifier(Modifier::BOLD);
        match (command.filter(|command| !command.is_empty()), selected.process) {
            (Some(command), _) => {
                let end = self.write_text(buffer, area, 0, selected.label(), bold);
                self.write_text(buffer, area, end + 2, command, Style::new());
            }
            _ => {
                let series = table.model.series(*row_index, table.model.order().column);
                let path = series.map_or(selected.label(), |series| &series.info.path);
                let path = truncate_start(path, usize::from(area.width), self.theme.is_unicode);
                self.write_text(buffer, area, 0, &path, bold);
            }
        }
    }

    /// Draws the line below a table, which describes what the table shows.
    pub(super) fn draw_table_status(&self, buffer: &mut Buffer, area: Rect, table: &Table) {
        let time = self.table_time();
        let room = usize::from(area.width).saturating_sub(width(&time) + 1);
        self.draw_table_facts(buffer, Rect { width: room as u16, ..area }, table, true, "");
        self.write_right_aligned(buffer, area, &time, Style::new());
    }

    /// Describes what a table shows, as far as there is room. `has_set`: with the name of the set; `edge`: the text
    /// around each fact.
    pub(super) fn draw_table_facts(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        table: &Table,
        has_set: bool,
        edge: &str,
    ) {
        let room = usize::from(area.width);
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let (all, matching) = table.model.counts();
        let [all, matching] = [all, matching].map(|count| grouped(&count.to_string()));
        let gap = if edge.is_empty() { 2 } else { 1 };
        let mut column = 0;
        let mut part = |text: &str, style: Style| {
            let begin = if column == 0 { 0 } else { column + gap };
            let text = format!("{edge}{text}{edge}");
            let fits = begin + width(&text) <= room;
            if fits {
                column = self.write_text(buffer, area, begin, &text, style);
            }
            fits
        };
        if has_set {
            part(&table.model.layout().set, bold);
        }
        if table.is_filtering || !table.model.filter().is_empty() {
            let cursor = if table.is_filtering { self.theme.either("▏", "_") } else { "" };
            part(&format!("filter: {}{cursor}", table.model.filter()), bold);
            part(&format!("{matching} of {all}"), Style::new());
        } else {
            part(&format!("{all} {}", if all == "1" { "row" } else { "rows" }), Style::new());
        }
        if let Some(text) = self.missing_columns_text(&table.model, room / 2) {
            part(&text, Style::new());
        }
        if table.model.hidden() > 0 {
            let threads = if table.model.hidden() == 1 { "thread" } else { "threads" };
            part(&format!("+{} idle kernel {threads} (K)", table.model.hidden()), self.theme.dim());
        }
        if let Some(max) = table.model.max_rows() {
            part(&format!("first {max}"), Style::new());
        }
        let order = table.model.order();
        if let Some(sorted) = table.model.layout().columns.get(order.column) {
            let direction = if order.is_descending { "largest first" } else { "smallest first" };
            let direction = if sorted.is_text() { "" } else { direction };
            // Values of processes that were present for only part of the range are weighted.
            let is_weighted = table.model.is_weighted() && !sorted.is_text() && !sorted.is_id();
            let weight = if is_weighted { " weighted by time present," } else { "" };
            let full = format!("by {}{weight} {direction}", sorted.title);
            // The two columns explain the order even without words.
            let times = self.theme.either("×", "x");
            let short =
                if is_weighted { format!("by {} {times} PRESENT %", sorted.title) } else { String::new() };
            let dim = self.theme.dim();
            if !part(full.trim_end(), dim) && is_weighted {
                part(&short, dim);
            }
        }
        match table.model.tree() {
            TreeKind::None => {}
            TreeKind::Parent => {
                part("tree by parent", Style::new());
            }
            TreeKind::Cgroup => {
                part("by control group", Style::new());
            }
        }
        let visible = table.visible_lines();
        if visible.len() < table.model.lines().len() {
            part(&format!("{}-{}", visible.start + 1, visible.end), self.theme.dim());
        }
    }

    /// Names the columns that are not shown: the first one with its reason, if it is known; else the columns without values, in
    /// about `room` characters. `None` if no column is missing.
    fn missing_columns_text(&self, model: &TableModel, room: usize) -> Option<String> {
        let missing = model.missing_columns();
        let reason = |column: &MissingColumn<'_>| self.reasons.of(&model.layout().set, &column.counters);
        let Some((first, why)) = missing.iter().find_map(|column| Some((column, reason(column)?))) else {
            return empty_columns_text(model, room);
        };
        let others = missing.iter().filter(|column| column.is_empty || reason(column).is_some()).count() - 1;
        let more = if others > 0 { format!(" ({others} more: !)") } else { String::new() };
        Some(format!("no {}: {why}{more}", first.title))
    }
}

/// Lists the columns that are omitted because no row has a value, in about `room` characters; `None` if no column is omitted.
fn empty_columns_text(model: &TableModel, room: usize) -> Option<String> {
    let columns = model.empty_columns();
    let (first, others) = columns.split_first()?;
    let all = format!("no values here: {}", columns.join(", "));
    Some(if width(&all) <= room || others.is_empty() {
        all
    } else {
        format!("no values here: {first} and {} more columns", others.len())
    })
}

/// Explains the first `shown` totals, in at most `room` characters.
fn totals_text(model: &TableModel, shown: usize, room: usize) -> String {
    let has = |start: &str| {
        model
            .reserved()
            .iter()
            .take(shown)
            .filter_map(|&row| model.row(row))
            .any(|row| row.label().starts_with(start))
    };
    let mut text = String::from(" totals, not sorted");
    for (start, meaning) in [
        ("_Exited", "; _Exited: processes new or ended since the last sample"),
        ("_Unattributed", "; _Unattributed: time that belongs to no visible process"),
    ] {
        if has(start) && width(&text) + width(meaning) < room {
            text.push_str(meaning);
        }
    }
    let meaning = "; / is without kernel memory (cgroup v1)";
    if has_group_above_root(model) && width(&text) + width(meaning) < room {
        text.push_str(meaning);
    }
    text.push(' ');
    if width(&text) <= room { text } else { String::new() }
}

/// Whether a control group has a larger value than the root in the column of memory. In version 1, the root
/// lacks the memory that the kernel uses for groups.
fn has_group_above_root(model: &TableModel) -> bool {
    let is_memory =
        |column: &TableColumn| column.counter().is_some_and(|it| &*it.name == "Memory Current Bytes");
    let Some(column) = model.layout().columns.iter().position(is_memory) else { return false };
    let is_root = |row: &&usize| model.row(**row).is_some_and(|row| row.label() == "/");
    let root = model.reserved().iter().find(is_root).and_then(|row| model.value(*row, column));
    let groups = (0..model.rows().len()).filter(|row| !model.reserved().contains(row));
    root.is_some_and(|root| groups.filter_map(|row| model.value(row, column)).any(|value| value > root))
}

struct Look<'a> {
    /// The lines of the tree before the name.
    prefix: &'a str,
    is_dim: bool,
    /// Whether it is the selected row. It is drawn reversed, so a dim text would look like a different background.
    is_selected: bool,
    limits: Limits<'a>,
}

/// The unit of a panel's limits: the one that the panel names, or else that of its first counter.
fn limited_unit(pane: &Pane) -> Option<Unit> {
    let named = pane.panel.unit.as_deref().map(Unit::named);
    let first = || pane.legend.items().iter().find_map(LegendItem::info);
    named.or_else(|| first().map(|info| Unit::of(&info.counter)))
}

/// The limits of a table.
#[derive(Clone, Copy)]
struct Limits<'a> {
    limits: &'a [f64],
    /// The unit of the columns to which they apply; `None`: only the column by which the rows are sorted.
    unit: Option<&'a Unit>,
}

impl Limits<'_> {
    /// Whether the value of a cell is above a limit.
    fn are_exceeded(self, model: &TableModel, row: usize, column: usize) -> bool {
        if self.limits.is_empty() {
            return false;
        }
        let counter = model.layout().columns.get(column).and_then(TableColumn::counter);
        let Some(counter) = counter.filter(|counter| !counter.is_identifier()) else { return false };
        let is_limited = match self.unit {
            Some(unit) => Unit::of(counter).is_comparable(unit),
            None => model.order().column == column,
        };
        is_limited
            && model.value(row, column).is_some_and(|value| self.limits.iter().any(|limit| value > *limit))
    }
}

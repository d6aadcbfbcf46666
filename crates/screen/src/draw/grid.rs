//! Several panels on a screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use tachograph_monitor::figures::{shown, shown_steady};
use tachograph_monitor::{LegendItem, ViewKind, are_of_several_machines};

use super::PanelArea;
use super::arrange::{LIST_SIZE, arrange};
use super::axis::PaneAxis;
use super::chart::MARKS;
use crate::app::{App, Pane};
use crate::text::{row, truncate, truncate_start, width};

/// The minimum and maximum width of the list next to a chart, in columns.
const LIST_WIDTH: (usize, usize) = (14, 34);

/// A chart of at least this number of lines has room for a line with times.
const MIN_WITH_TIMES: u16 = 4;

/// A small panel names more counters than this on its edges by value, because they do not all fit.
const MAX_ON_EDGES: usize = 4;

/// The maximum number of instances that a panel without activity names.
const MAX_NAMED: usize = 3;

/// Words in the names of counters of drops and errors. Without activity, their result is 0.
const FAULTS: [&str; 3] = ["Discarded", "Dropped", "Errors"];

/// A counter in the list of a panel.
struct Entry {
    name: String,
    value: String,
    /// The maximum of the shown time range.
    maximum: String,
    /// The value; the lowest number if missing.
    number: f64,
    /// Whether the value is 0 or missing.
    is_zero: bool,
    /// The style of the name.
    style: Style,
    /// The style of the value.
    value_style: Style,
}

impl App {
    /// Draws all panels; returns where they are.
    pub(super) fn draw_grid(&mut self, buffer: &mut Buffer, area: Rect) -> Vec<PanelArea> {
        let shown = self.panes.shown_indexes();
        let sizes = shown.iter().filter_map(|index| self.panes.iter().nth(*index));
        let sizes: Vec<_> = sizes.map(|pane| (pane.panel.width, pane.panel.height)).collect();
        let focus = shown.iter().position(|index| *index == self.panes.focus_index()).unwrap_or_default();
        let areas = arrange(&sizes, area, focus).into_iter().map(|(place, area)| (shown[place], area));
        let areas: Vec<_> = areas.collect();
        // Times are shown below the lowest charts.
        let is_chart = |index: usize| self.panes.iter().nth(index).is_some_and(|pane| pane.kind().is_chart());
        let charts = areas.iter().filter(|(index, _)| is_chart(*index));
        let bottom = charts.map(|(_, area)| area.bottom()).max().unwrap_or_default();
        let mut panels = Vec::with_capacity(areas.len());
        for (index, area) in areas {
            let Some(pane) = self.panes.iter().nth(index) else { continue };
            let mut drawn = PanelArea { index, area, plot: Rect::default(), report_top: pane.report_top };
            self.draw_panel(buffer, pane, &mut drawn, area.bottom() == bottom);
            if pane.kind() == ViewKind::Table {
                self.draw_table(buffer, inside_of(area), index);
                self.draw_table_edge(buffer, area, index);
            }
            panels.push(drawn);
        }
        panels
    }

    /// Draws a panel with its edges, but not its table; stores the plot and the first line of the report in `drawn`.
    fn draw_panel(&self, buffer: &mut Buffer, pane: &Pane, drawn: &mut PanelArea, has_times: bool) {
        let PanelArea { index, area, .. } = *drawn;
        let is_focused = index == self.panes.focus_index();
        let edge = if is_focused { Style::new() } else { self.theme.dim() };
        self.draw_edge(buffer, area, edge);
        let title_style = Style::new().add_modifier(match is_focused {
            true => Modifier::BOLD | Modifier::REVERSED,
            false => Modifier::BOLD,
        });
        let room = usize::from(area.width).saturating_sub(6);
        let title = self.title_with_capacity(pane);
        let title = format!(" {} ", truncate(&title, room, self.theme.is_unicode));
        let title_end = self.write_text(buffer, row(area, 0), 2, &title, title_style);
        let inside = inside_of(area);
        match pane.kind() {
            ViewKind::Bars => {
                self.draw_histogram(buffer, inside, pane);
                return;
            }
            ViewKind::Report => {
                drawn.report_top = self.draw_report(buffer, inside, pane);
                return;
            }
            // The caller draws the table, because drawing updates it.
            ViewKind::Table => return,
            ViewKind::Line | ViewKind::Area | ViewKind::Stacked | ViewKind::HeatMap => {}
        }
        if self.draw_placeholder(buffer, inside, pane) {
            return;
        }
        let axis = self.axis_of(pane);
        let mut entries = self.entries(pane, &axis, is_focused);
        if entries.is_empty() {
            let text = self.no_activity(pane);
            let text = truncate(&text, usize::from(inside.width), self.theme.is_unicode).into_owned();
            self.write_centred(buffer, row(inside, usize::from(inside.height) / 2), &text);
            return;
        }
        let has_list = area.width >= LIST_SIZE.0 && area.height >= LIST_SIZE.1;
        let mut chart = inside;
        let mut bottom_column = 1;
        let room = if has_list { usize::from(inside.height) } else { MAX_ON_EDGES };
        let is_stacked = pane.is_stacked(&self.reduced);
        if entries.len() > room && !is_stacked {
            // The largest values are shown; entries with equal values stay in order.
            entries.sort_by(|a, b| b.number.total_cmp(&a.number));
        }
        if has_list {
            chart.width -= self.draw_list(buffer, inside, &entries, is_stacked);
        } else {
            let (top, last) = (row(area, 0), row(area, usize::from(area.height) - 1));
            let rooms = [room_on_edge(top, title_end + 1), room_on_edge(last, 2)];
            let hidden = fit_on_edges(&mut entries, rooms);
            let (above, rest) = entries.split_at(fitting_count(&entries, rooms[0]));
            let (below, rest) = rest.split_at(fitting_count(rest, rooms[1]));
            self.draw_on_edge(buffer, top, title_end + 1, above);
            self.draw_on_edge(buffer, last, 2, below);
            let left = hidden + rest.len();
            if !below.is_empty() || left > 0 {
                bottom_column = usize::from(area.width);
            }
            if left > 0 {
                let text = format!("+{left}");
                let column = usize::from(area.width).saturating_sub(text.len() + 1);
                self.write_text(buffer, last, column, &text, self.theme.dim());
            }
        }
        // If counters are on the lower edge, the times of a log are on a line above it. The first line of the screen shows the
        // time of a live chart.
        let has_edge = bottom_column == 1;
        let has_line = has_times && !has_edge && !self.facts.is_live && chart.height >= MIN_WITH_TIMES;
        chart.height -= u16::from(has_line);
        let plot = self.draw_labels(buffer, chart, &axis, 0, 1);
        self.draw_plot(buffer, plot, pane, &axis);
        if (has_times && has_edge || has_line)
            && let Some(span) = self.shown_span().filter(|span| span.begin().0 > 0)
        {
            let y = if has_line { chart.bottom() } else { area.bottom() - 1 };
            let line = Rect { x: plot.x, width: plot.width, y, height: 1 };
            self.draw_times(buffer, line, &span, self.theme.either("─", "-"));
        }
        drawn.plot = plot;
    }

    /// The title of a panel with its capacity: `Memory 23.4 GiB`; of several machines: `Memory  web 23.4 GiB  db 7.7 GiB`.
    fn title_with_capacity(&self, pane: &Pane) -> String {
        let mut title = pane.title().into_owned();
        let are_named = are_of_several_machines(pane.legend.capacities());
        for item in pane.legend.capacities() {
            if let Some(series) = item.series(&self.reduced).filter(|series| series.summary.last.is_some()) {
                let value = shown(&series.info.counter, series.summary.last, self.numbers);
                match series.info.machine.as_deref().filter(|_| are_named) {
                    Some(machine) => title = format!("{title}  {machine} {value}"),
                    None => title = format!("{title} {value}"),
                }
            }
        }
        title
    }

    /// The text of a panel whose counters are all hidden, or are 0 and shown only while active. Names the instances of the
    /// counters. For drops and errors, the text is `0`, because "no activity" could mean that there were no packets.
    fn no_activity(&self, pane: &Pane) -> String {
        let mut names: Vec<&str> = Vec::new();
        for name in pane.legend.items().iter().filter_map(|item| item.info()?.instance_name()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut infos = pane.legend.items().iter().filter_map(LegendItem::info).peekable();
        let has_faults = infos.peek().is_some()
            && infos.all(|info| FAULTS.iter().any(|fault| info.counter.name.contains(fault)));
        let text = if has_faults { "0" } else { "no activity" };
        match names.len() {
            0 => text.to_owned(),
            count if count > MAX_NAMED => format!("{text}: {} and {} more", names[0], count - 1),
            _ => format!("{text}: {}", names.join(", ")),
        }
    }

    /// Draws the edges of a panel.
    fn draw_edge(&self, buffer: &mut Buffer, area: Rect, style: Style) {
        let [top_left, top_right, bottom_left, bottom_right, across, down] = match self.theme.is_unicode {
            true => ["╭", "╮", "╰", "╯", "─", "│"],
            false => ["+", "+", "+", "+", "-", "|"],
        };
        let inner = across.repeat(usize::from(area.width).saturating_sub(2));
        let last = usize::from(area.height) - 1;
        self.write_text(buffer, row(area, 0), 0, &format!("{top_left}{inner}{top_right}"), style);
        self.write_text(buffer, row(area, last), 0, &format!("{bottom_left}{inner}{bottom_right}"), style);
        for index in 1..last {
            let line = row(area, index);
            self.write_text(buffer, line, 0, down, style);
            self.write_text(buffer, line, usize::from(area.width) - 1, down, style);
        }
    }

    /// Describes what a table shows on the lower edge of its panel.
    fn draw_table_edge(&self, buffer: &mut Buffer, area: Rect, index: usize) {
        let Some(pane) = self.panes.iter().nth(index) else { return };
        let Some(table) = pane.shown_table() else { return };
        let line = Rect {
            x: area.x + 2,
            width: area.width.saturating_sub(4),
            ..row(area, usize::from(area.height) - 1)
        };
        // A panel without a title of its own shows the counter set as its title, so the set is not repeated here.
        let has_set = pane.panel.title.is_some() && !table.is_filtering;
        self.draw_table_facts(buffer, line, table, has_set, " ");
    }

    /// The counters of a panel with their values: at the cursor; without a cursor, the last value for live data, the
    /// average for logs.
    fn entries(&self, pane: &Pane, axis: &PaneAxis, is_focused: bool) -> Vec<Entry> {
        let column = self.column_under_cursor();
        let items = pane.charted_items(&self.reduced);
        let names = pane.legend.short_names(&items);
        let is_stacked = pane.is_stacked(&self.reduced);
        let entry = |(index, (item, mut name)): (usize, (&LegendItem, String))| {
            if name.starts_with('/') {
                name = self.groups.text(&name).into_owned();
            }
            let series = item.series(&self.reduced);
            let value = series.and_then(|series| match column {
                Some(column) => self.drawn_value(series, column),
                None => self.shown_value(series),
            });
            let (is_zero, shown_number) = (value.is_none_or(|value| value == 0.0), value);
            let mut value = match item.info() {
                Some(info) => shown_steady(&info.counter, value, self.numbers),
                None => String::new(),
            };
            let maximum = item.info().zip(series).map_or_else(String::new, |(info, series)| {
                shown_steady(&info.counter, series.summary.maximum, self.numbers)
            });
            let is_over = axis.exceeds(item, shown_number, &pane.panel.limits);
            if is_over {
                value.insert_str(0, self.theme.warning_mark());
            }
            if axis.is_on_the_right(item) {
                value.push_str(self.theme.either(" →", " >"));
            }
            let mut style = self.theme.line(item.style(), item.is_highlighted());
            if is_focused && Some(item.id()) == pane.selected && pane.items(&self.reduced).len() > 1 {
                style = style.add_modifier(Modifier::UNDERLINED);
            }
            if self.theme.background.is_none() || !self.theme.is_unicode {
                // Without colours, the character of the line distinguishes the counters.
                name.insert(0, ' ');
                match is_stacked {
                    true => name.insert_str(0, self.area_mark(index, item)),
                    false => name.insert(0, char::from(MARKS[item.style().0 % MARKS.len()])),
                }
            }
            let value_style = if is_over { self.theme.warning() } else { Style::new() };
            let number = shown_number.unwrap_or(f64::NEG_INFINITY);
            Entry { name, value, maximum, number, is_zero, style, value_style }
        };
        items.into_iter().zip(names).enumerate().map(entry).collect()
    }

    /// Lists the counters at the right of an area, and their maximums below if there is room; returns the width of the list.
    /// `is_reversed`: in reverse order, like stacked areas from top to bottom.
    fn draw_list(&self, buffer: &mut Buffer, area: Rect, entries: &[Entry], is_reversed: bool) -> u16 {
        let height = usize::from(area.height);
        let has_maximums = height >= 2 * (entries.len() + 1);
        let maximums = entries.iter().filter(|_| has_maximums).map(|entry| &entry.maximum);
        let values = entries.iter().map(|entry| &entry.value).chain(maximums);
        let value_width = values.map(|value| width(value)).max().unwrap_or(0);
        let name_width = entries.iter().map(|entry| width(&entry.name)).max().unwrap_or(0);
        let max = LIST_WIDTH.1.min(usize::from(area.width) * 9 / 20);
        let columns = (name_width + value_width + 3).clamp(LIST_WIDTH.0, max);
        let list = Rect { x: area.right() - columns as u16, width: columns as u16, ..area };
        // If there is room, a heading says which values these are.
        let has_heading = entries.len() < height;
        let heading = match self.column_under_cursor() {
            Some(_) => "at cursor",
            None if self.facts.is_live => "last",
            None => "mean",
        };
        let room = height - usize::from(has_heading);
        let shown = if entries.len() > room { room - 1 } else { entries.len() };
        let mut lines: Vec<&Entry> = entries.iter().take(shown).collect();
        if is_reversed {
            lines.reverse();
        }
        let mut index = 0;
        if has_heading {
            self.draw_list_heading(buffer, row(list, index), heading);
            index += 1;
        }
        for entry in &lines {
            self.draw_list_line(
                buffer,
                row(list, index),
                entry,
                (&entry.value, entry.value_style),
                value_width,
            );
            index += 1;
        }
        if shown < entries.len() {
            let text = format!("+{} more", entries.len() - shown);
            self.write_text(buffer, row(list, index), 1, &text, self.theme.dim());
        }
        if has_maximums {
            self.draw_list_heading(buffer, row(list, index), "max");
            for (below, entry) in (index + 1..).zip(&lines) {
                let value = (&*entry.maximum, Style::new());
                self.draw_list_line(buffer, row(list, below), entry, value, value_width);
            }
        }
        columns as u16
    }

    fn draw_list_heading(&self, buffer: &mut Buffer, line: Rect, heading: &str) {
        let column = usize::from(line.width).saturating_sub(heading.len() + 1);
        self.write_text(buffer, line, column, heading, self.theme.dim());
    }

    /// Draws the name of an entry and a value with its style.
    fn draw_list_line(
        &self,
        buffer: &mut Buffer,
        line: Rect,
        entry: &Entry,
        (value, style): (&str, Style),
        value_width: usize,
    ) {
        let columns = usize::from(line.width);
        let room = columns.saturating_sub(value_width + 3);
        // The end of a path, such as that of a control group, distinguishes it from others.
        let shorten = if entry.name.starts_with('/') { truncate_start } else { truncate };
        let name = shorten(&entry.name, room, self.theme.is_unicode);
        self.write_text(buffer, line, 1, &name, entry.style);
        self.write_text(buffer, line, columns.saturating_sub(width(value) + 1), value, style);
    }

    /// Writes counters on an edge of a panel.
    fn draw_on_edge(&self, buffer: &mut Buffer, line: Rect, mut column: usize, entries: &[Entry]) {
        for entry in entries {
            column = self.write_text(buffer, line, column, &format!(" {} ", entry.name), entry.style);
            column = self.write_text(buffer, line, column, &entry.value, entry.value_style);
            column = self.write_text(buffer, line, column, " ", Style::new());
            // Two entries share the space between them.
            column -= 1;
        }
    }
}

/// The width available to entries on an edge of a panel, starting at this column.
fn room_on_edge(line: Rect, column: usize) -> usize {
    usize::from(line.width).saturating_sub(1 + column)
}

/// The number of entries that fit on an edge with this room.
fn fitting_count(entries: &[Entry], room: usize) -> usize {
    let mut used = 0;
    let fits = |entry: &&Entry| {
        let end = used + width(&entry.name) + width(&entry.value) + 3;
        // Two entries share the space between them.
        used = end - 1;
        end <= room
    };
    entries.iter().take_while(fits).count()
}

/// Shortens entries until they fit on the two edges: removes the space before `%`, then entries that are 0, starting with
/// the last. Returns the number of removed entries. The remaining entries may still not fit.
fn fit_on_edges(entries: &mut Vec<Entry>, rooms: [usize; 2]) -> usize {
    let all_fit = |entries: &[Entry]| {
        let (_, below) = entries.split_at(fitting_count(entries, rooms[0]));
        fitting_count(below, rooms[1]) == below.len()
    };
    if all_fit(entries) {
        return 0;
    }
    for entry in entries.iter_mut() {
        entry.value = entry.value.replace(" %", "%");
    }
    let count = entries.len();
    while !all_fit(entries)
        && let Some(zero) = entries.iter().rposition(|entry| entry.is_zero)
    {
        entries.remove(zero);
    }
    count - entries.len()
}

/// The area inside the edges of a panel.
fn inside_of(area: Rect) -> Rect {
    Rect {
        x: area.x + 1,
        y: area.y + 1,
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(2),
    }
}

//! Drawing the screen into a buffer.

mod arrange;
mod axis;
mod chart;
mod footer;
mod grid;
mod header;
mod histogram;
mod legend;
mod overlay;
mod report;
mod stack;
mod table;
mod table_line;
mod times;
mod tree;
mod value_bar;
mod views;

use std::ops::Range;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_monitor::{ItemId, LegendColumn, ViewKind};

use crate::app::{App, Overlay, Pane, Table};
use crate::text::{row, width, write_text};

/// Where the parts of the screen were last drawn, to locate mouse events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Areas {
    /// The whole screen.
    pub(crate) screen: Rect,
    /// The panels that are shown.
    pub(crate) panels: Vec<PanelArea>,
    /// The index of the focused panel.
    pub(crate) focus: usize,
    pub(crate) legend: Rect,
    /// The column headings and their horizontal extents.
    pub(crate) headings: Vec<(LegendColumn, Range<u16>)>,
    /// The items shown in the legend, one per row.
    pub(crate) rows: Vec<ItemId>,
    /// The area of the tree's rows.
    pub(crate) tree: Rect,
    /// The tables that are shown.
    pub(crate) tables: Vec<table::TableAreas>,
}

impl Areas {
    /// The plot of the focused panel; empty if it is not shown.
    pub(crate) fn focused_plot(&self) -> Rect {
        let focused = self.panels.iter().find(|panel| panel.index == self.focus);
        focused.map(|panel| panel.plot).unwrap_or_default()
    }

    /// The table of the focused panel, if it is shown.
    pub(crate) fn focused_table(&self) -> Option<&table::TableAreas> {
        self.tables.iter().find(|table| table.panel == self.focus)
    }
}

/// Where a panel is on the screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PanelArea {
    /// The index of the panel.
    pub(crate) index: usize,
    pub(crate) area: Rect,
    /// The plot without the axes.
    pub(crate) plot: Rect,
    /// The first line of the report that is shown.
    pub(crate) report_top: usize,
}

/// Shown instead of a time outside the calendar, which a damaged log can contain.
const NO_TIME: &str = "-";

/// The minimum size of the screen.
const MIN_SIZE: (u16, u16) = (24, 8);

/// The minimum width of a screen, in columns, that lists keys next to a message.
const MIN_MESSAGE_AND_KEYS: u16 = 60;

/// The parts of the screen, from top to bottom.
struct Layout {
    header: Rect,
    body: Rect,
    path: Rect,
    value_bar: Rect,
    legend: Rect,
    footer: Rect,
}

impl Layout {
    fn new(area: Rect, items: usize, kind: ViewKind) -> Self {
        let has_path = area.height >= 18;
        let fixed = 3 + u16::from(has_path);
        let room = area.height.saturating_sub(fixed);
        let max = (room * 9 / 20).max(3).min(room);
        let preferred = u16::try_from(items.max(1)).unwrap_or(u16::MAX).saturating_add(1);
        let legend = if matches!(kind, ViewKind::Report | ViewKind::Table) { 0 } else { preferred.min(max) };
        let mut y = area.y;
        let mut part = |height: u16| {
            let part = Rect { y, height, ..area };
            y += height;
            part
        };
        Self {
            header: part(1),
            body: part(room - legend),
            path: part(u16::from(has_path)),
            value_bar: part(1),
            legend: part(legend),
            footer: part(1),
        }
    }
}

impl App {
    /// Draws the screen.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let buffer = frame.buffer_mut();
        self.areas = Areas { screen: area, ..Areas::default() };
        self.are_panels_changed |= self.panes.set_screen((area.width, area.height));
        if area.width < MIN_SIZE.0 || area.height < MIN_SIZE.1 {
            let mut line = 0;
            overlay::wrap("too small; q quits", usize::from(area.width), |text| {
                write_text(buffer, row(area, line), 0, &text, Style::new(), self.theme.is_unicode);
                line += 1;
            });
            return;
        }
        self.areas.focus = self.panes.focus_index();
        if self.panes.is_grid() {
            self.draw_header(buffer, Rect { height: 1, ..area });
            let line = self.panes.table_in_line();
            let height = area.height - 2 - u16::from(line.is_some());
            let panels = self.draw_grid(buffer, Rect { y: area.y + 1, height, ..area });
            if let Some(pane) = line.and_then(|index| self.panes.iter().nth(index)) {
                self.draw_first_rows(buffer, row(area, usize::from(area.height) - 2), pane);
            }
            if let Some(focused) = panels.iter().find(|panel| panel.index == self.panes.focus_index()) {
                self.panes.focused_mut().report_top = focused.report_top;
            }
            self.areas.panels = panels;
            self.draw_footer(buffer, row(area, usize::from(area.height) - 1));
        } else {
            self.draw_one(buffer, area);
        }
        self.draw_overlay(frame);
    }

    /// Draws the focused panel with its legend.
    fn draw_one(&mut self, buffer: &mut Buffer, area: Rect) {
        let pane = self.panes.focused_pane();
        let layout = Layout::new(area, pane.items(&self.reduced).len(), pane.kind());
        self.draw_header(buffer, layout.header);
        let (mut plot, mut report_top) = (Rect::default(), pane.report_top);
        match pane.kind() {
            ViewKind::Bars => self.draw_histogram(buffer, layout.body, pane),
            ViewKind::Report => report_top = self.draw_report(buffer, layout.body, pane),
            ViewKind::Table => return self.draw_one_table(buffer, &layout),
            ViewKind::Line | ViewKind::Area | ViewKind::Stacked | ViewKind::HeatMap => {
                plot = self.draw_chart(buffer, layout.body, pane);
            }
        }
        self.draw_path(buffer, layout.path, pane);
        let legend = self.draw_legend(buffer, layout.legend, pane);
        let visible_rows = legend.visible_rows;
        self.draw_value_bar(buffer, layout.value_bar, pane, visible_rows);
        let index = self.panes.focus_index();
        self.areas.panels.push(PanelArea { index, area: layout.body, plot, report_top });
        self.areas.legend = layout.legend;
        self.areas.headings = legend.headings;
        self.areas.rows = legend.rows;
        let pane = self.panes.focused_mut();
        (pane.legend_top, pane.report_top) = (legend.top, report_top);
        self.draw_footer(buffer, layout.footer);
    }

    /// Draws the table of the focused panel, and below it a line that describes the table.
    fn draw_one_table(&mut self, buffer: &mut Buffer, layout: &Layout) {
        let index = self.panes.focus_index();
        self.areas.panels.push(PanelArea { index, area: layout.body, plot: Rect::default(), report_top: 0 });
        self.draw_table(buffer, layout.body, index);
        if let Some(table) = self.table() {
            self.draw_table_path(buffer, layout.path, table);
            self.draw_table_status(buffer, layout.value_bar, table);
        }
        self.draw_footer(buffer, layout.footer);
    }

    /// Writes text into a line; returns the column after it.
    fn write_text(&self, buffer: &mut Buffer, area: Rect, column: usize, text: &str, style: Style) -> usize {
        write_text(buffer, area, column, text, style, self.theme.is_unicode)
    }

    /// Writes text at the right end of a line.
    fn write_right_aligned(&self, buffer: &mut Buffer, area: Rect, text: &str, style: Style) {
        let column = usize::from(area.width).saturating_sub(width(text));
        self.write_text(buffer, area, column, text, style);
    }

    /// Formats a time like `14:05:31`, optionally with milliseconds.
    pub(crate) fn time_of_day(&self, utc: FileTime, has_milliseconds: bool) -> String {
        match self.moment(utc).local().to_civil() {
            None => NO_TIME.to_owned(),
            Some(at) => {
                let text = format!("{:02}:{:02}:{:02}", at.hour(), at.minute(), at.second());
                if has_milliseconds { format!("{text}.{:03}", at.millisecond()) } else { text }
            }
        }
    }

    /// Formats a date like `2013-02-19`; `None` if the time is outside the calendar.
    pub(crate) fn date(&self, utc: FileTime) -> Option<String> {
        let at = self.moment(utc).local().to_civil()?;
        Some(format!("{:04}-{:02}-{:02}", at.year(), at.month(), at.day()))
    }

    /// Draws a message if there is nothing to chart; returns whether it did.
    fn draw_placeholder(&self, buffer: &mut Buffer, area: Rect, pane: &Pane) -> bool {
        let text = if pane.legend.is_empty() && self.reading.is_none() {
            "no counters: press a to add some"
        } else if self.is_reading(pane) {
            "reading ..."
        } else if pane.legend.items().is_empty() {
            return self.draw_waiting(buffer, area, pane);
        } else {
            return false;
        };
        self.write_centred(buffer, row(area, usize::from(area.height) / 2), text);
        true
    }

    /// Explains why a panel has no data, or which counters it is waiting for.
    fn draw_waiting(&self, buffer: &mut Buffer, area: Rect, pane: &Pane) -> bool {
        let middle = usize::from(area.height) / 2;
        let paths = pane.legend.paths();
        let has_wildcard =
            |path: &PathPattern| path.instance().is_some_and(|instance| !instance.is_literal());
        let Some(path) = paths.first().filter(|path| has_wildcard(path)) else {
            self.write_centred(buffer, row(area, middle), "no data for the selected counters yet");
            return true;
        };
        let set = &path.path().set;
        let excluded = pane.legend.excluded_instances();
        let (text, more) = if self.has_instances(set) {
            // Other counters of the set have values.
            let counters: Vec<_> = paths.iter().map(|path| path.path().counter.clone()).collect();
            (format!("no values here: {}", counters.join(", ")), "")
        } else if excluded.is_empty() {
            (format!("{set} has no instances"), "they are shown when they appear")
        } else {
            (
                format!("{set} has no instances except {}", excluded.join(", ")),
                "they are shown when they appear",
            )
        };
        let text = crate::text::truncate(&text, usize::from(area.width), self.theme.is_unicode);
        self.write_centred(buffer, row(area, middle), &text);
        if middle + 1 < usize::from(area.height) {
            self.write_centred(buffer, row(area, middle + 1), more);
        }
        true
    }

    /// Whether the counters of a panel can still appear, because logs are being read. Tables are read after charts.
    fn is_reading(&self, pane: &Pane) -> bool {
        let is_missing = |table: &Table| !self.facts.is_live && !table.model.has_figures();
        let mut tables = self.panes.iter().filter_map(Pane::shown_table);
        match pane.legend.items().is_empty() {
            true => self.reading.is_some() || tables.any(is_missing),
            false => self.reading.is_some() && self.reduced.series.is_empty(),
        }
    }

    /// Whether a set has instances, as far as the figures of charts and tables show.
    fn has_instances(&self, set: &str) -> bool {
        let is_in_charts = || {
            self.reduced
                .series
                .iter()
                .any(|series| eq_ignore_case(&series.info.set.name, set) && series.info.instance.is_some())
        };
        let mut tables = self.panes.iter().filter_map(Pane::shown_table);
        is_in_charts()
            || tables
                .any(|table| eq_ignore_case(&table.model.layout().set, set) && !table.model.rows().is_empty())
    }

    fn write_centred(&self, buffer: &mut Buffer, line: Rect, text: &str) {
        let column = usize::from(line.width).saturating_sub(width(text)) / 2;
        self.write_text(buffer, line, column, text, self.theme.dim());
    }

    fn draw_overlay(&mut self, frame: &mut Frame<'_>) {
        // Moved out while it is drawn, because drawing updates it.
        let mut overlay = std::mem::replace(&mut self.overlay, Overlay::None);
        match &mut overlay {
            Overlay::None => {}
            Overlay::Tree(tree) => self.draw_tree(frame, tree),
            Overlay::Help(top) => self.draw_help(frame, top),
            Overlay::Messages(top) => self.draw_messages(frame, top),
            Overlay::Prompt(prompt) => self.draw_prompt(frame, prompt),
            Overlay::Views(selected) => self.draw_views(frame, *selected),
            Overlay::Row(top) => self.draw_row(frame, top),
        }
        self.overlay = overlay;
    }
}

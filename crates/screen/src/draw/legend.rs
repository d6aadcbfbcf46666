//! The legend.

use std::collections::HashMap;
use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use tachograph_counters::AverageKind;
use tachograph_monitor::figures::NONE;
use tachograph_monitor::palette::LineStyle;
use tachograph_monitor::scale::Factor;
use tachograph_monitor::{ItemId, LegendColumn, LegendItem, are_of_several_machines};

use super::chart::MARKS;
use crate::app::{App, Pane};
use crate::text::{average_in, figure_in, row, steady_figure_in, truncate, width};

/// The minimum and the preferred width of a column.
struct ColumnWidth {
    column: LegendColumn,
    min: usize,
    preferred: usize,
}

/// Columns that can be omitted if there is not enough room, in the order in which they are omitted.
const OPTIONAL_COLUMNS: [LegendColumn; 9] = {
    use LegendColumn::*;
    [Machine, Parent, Set, Minimum, Maximum, Scale, Last, Show, Instance]
};

/// A legend on the screen.
#[derive(Default)]
pub(super) struct DrawnLegend {
    /// The first row that is shown.
    pub(super) top: usize,
    /// The column headings and their horizontal extents.
    pub(super) headings: Vec<(LegendColumn, Range<u16>)>,
    /// The items that are shown, one per row.
    pub(super) rows: Vec<ItemId>,
    /// If not all rows are shown: the first and the last visible one, counted from 1, and the total number of rows.
    pub(super) visible_rows: Option<(usize, usize, usize)>,
}

/// In a legend with at least this number of columns, headings and numbers are not shortened.
const WIDE: u16 = 110;

impl App {
    pub(super) fn draw_legend(&self, buffer: &mut Buffer, area: Rect, pane: &Pane) -> DrawnLegend {
        if area.height == 0 {
            return DrawnLegend { top: pane.legend_top, ..DrawnLegend::default() };
        }
        let items = pane.items(&self.reduced);
        let room = usize::from(area.height) - 1;
        let selected = items.iter().position(|item| Some(item.id()) == pane.selected);
        let mut top = pane.legend_top.min(items.len().saturating_sub(room));
        if let Some(selected) = selected {
            top = top.clamp((selected + 1).saturating_sub(room), selected);
        }
        let shown: Vec<_> = items.iter().skip(top).take(room).copied().collect();
        let cells: Vec<_> = shown.iter().map(|item| self.cells_of(item, area.width, pane)).collect();
        let limits = &pane.panel.limits;
        let axis = (!limits.is_empty()).then(|| self.axis_of(pane));
        let columns = fitting_columns(&cells, area.width, are_of_several_machines(items.iter().copied()));

        let heading = row(area, 0);
        let bold = Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
        buffer.set_style(heading, bold);
        let mut x = 1;
        let mut headings = Vec::new();
        for (column, columns) in &columns {
            let mark = match pane.legend.order() {
                Some(order) if order.column == *column => {
                    let (unicode, ascii) = if order.is_descending { ("▾", "v") } else { ("▴", "^") };
                    self.theme.either(unicode, ascii)
                }
                _ => "",
            };
            let mut title = column.title();
            if *columns < title.len() + usize::from(!mark.is_empty()) {
                title = cut_title(*column, *columns, mark);
            }
            let text = format!("{title}{mark}");
            let start = if column.is_number() { x + columns.saturating_sub(width(&text)) } else { x };
            let cell = Rect { width: (x + columns).min(usize::from(area.width)) as u16, ..heading };
            self.write_text(buffer, cell, start, &text, bold);
            let begin = area.x + x as u16;
            headings.push((*column, begin..begin + *columns as u16 + 1));
            x += columns + 1;
        }
        for (index, (item, cells)) in shown.iter().zip(&cells).enumerate() {
            let line = row(area, index + 1);
            let is_selected = Some(item.id()) == pane.selected;
            let mut base = Style::new();
            if !item.is_shown() || pane.only_item.is_some_and(|only| only != item.id()) {
                base = self.theme.dim();
            }
            if item.is_highlighted() {
                base = base.add_modifier(Modifier::BOLD);
            }
            if is_selected {
                buffer.set_style(line, self.theme.selected());
                self.write_text(buffer, line, 0, self.theme.either("▸", ">"), base);
            }
            let mut x = 1;
            for (column, columns) in &columns {
                let text = cells.get(column).map_or("", String::as_str);
                let text = match column.value(item, &self.reduced) {
                    Some(_) | None if column.is_number() && *column != LegendColumn::Scale => {
                        self.figure_of(item, *column, *columns)
                    }
                    _ => truncate(text, *columns, self.theme.is_unicode).into_owned(),
                };
                let start = if column.is_number() { x + columns.saturating_sub(width(&text)) } else { x };
                let value = column.value(item, &self.reduced).filter(|_| *column != LegendColumn::Scale);
                let is_over = axis.as_ref().is_some_and(|axis| axis.exceeds(item, value, limits));
                let style = match column {
                    LegendColumn::Colour => self.theme.line(item.style(), item.is_highlighted()),
                    _ if is_over => base.patch(self.theme.warning()),
                    _ => base,
                };
                if is_over {
                    // In the space before the column if the value fills it.
                    self.write_text(buffer, line, start.saturating_sub(1), self.theme.warning_mark(), style);
                }
                self.write_text(buffer, line, start, &text, style);
                x += columns + 1;
            }
        }
        let rows = shown.iter().map(|item| item.id()).collect();
        let visible_rows = (items.len() > room).then(|| (top + 1, top + shown.len(), items.len()));
        DrawnLegend { top, headings, rows, visible_rows }
    }

    fn figure_of(&self, item: &LegendItem, column: LegendColumn, columns: usize) -> String {
        let Some(series) = item.series(&self.reduced) else { return NONE.to_owned() };
        let (counter, value) = (&series.info.counter, column.value(item, &self.reduced));
        let is_arithmetic = series.summary.average_kind == AverageKind::Arithmetic;
        if self.facts.is_live && !is_arithmetic && !counter.is_identifier() {
            return steady_figure_in(counter, value, columns, self.numbers);
        }
        if column == LegendColumn::Average {
            let summary = &series.summary;
            let ends = [summary.minimum, summary.maximum];
            return average_in(counter, value, ends, summary.average_kind, columns, self.numbers);
        }
        figure_in(counter, value, columns, self.numbers)
    }

    fn cells_of(&self, item: &LegendItem, width: u16, pane: &Pane) -> HashMap<LegendColumn, String> {
        let cell = |column: LegendColumn| match column {
            LegendColumn::Show if item.is_shown() => self.theme.either("✓", "x").to_owned(),
            LegendColumn::Show => String::new(),
            LegendColumn::Colour => self.swatch(item, if width >= WIDE { 5 } else { 2 }, pane),
            LegendColumn::Scale => Factor(item.exponent()).to_string(),
            LegendColumn::Average | LegendColumn::Last | LegendColumn::Minimum | LegendColumn::Maximum => {
                let max = match width {
                    160.. => 20,
                    WIDE.. => 13,
                    _ => 10,
                };
                self.figure_of(item, column, max)
            }
            LegendColumn::Counter if item.info().is_none() => pane.legend.path_of(item),
            _ => self.groups.text(column.name(item).unwrap_or(NONE)).into_owned(),
        };
        LegendColumn::ALL.into_iter().map(|column| (column, cell(column))).collect()
    }

    /// A short piece of the item's line, for the column `Colour`.
    fn swatch(&self, item: &LegendItem, columns: usize, pane: &Pane) -> String {
        let style = item.style();
        let has_colours = self.theme.background.is_some();
        if !has_colours && pane.is_stacked(&self.reduced) {
            let charted = pane.charted_items(&self.reduced);
            let index = charted.iter().position(|charted| charted.id() == item.id());
            return self.area_mark(index.unwrap_or(usize::MAX), item).repeat(columns);
        }
        if !self.theme.is_unicode {
            return char::from(MARKS[style.0 % MARKS.len()]).to_string().repeat(columns);
        }
        let line = match self.theme.background {
            Some(_) => style.line(),
            None => LineStyle::ALL[style.0 % LineStyle::ALL.len()],
        };
        let piece = match line {
            LineStyle::Solid => "━",
            LineStyle::Dashed => "╍",
            LineStyle::Dotted => "┅",
            LineStyle::DashDotted => "┉",
        };
        if has_colours {
            return piece.repeat(columns);
        }
        // Without colours, the line has marks.
        let before = columns.saturating_sub(1) / 2;
        let mark = char::from(MARKS[style.0 % MARKS.len()]);
        format!("{}{mark}{}", piece.repeat(before), piece.repeat(columns.saturating_sub(before + 1)))
    }
}

/// Shortens a heading to the width of its column, with room for the sort mark.
fn cut_title(column: LegendColumn, columns: usize, mark: &str) -> &'static str {
    let title = column.title();
    let room = columns.saturating_sub(usize::from(!mark.is_empty()));
    &title[..room.min(title.len())]
}

/// Selects the columns that fit, and their widths. `has_machines`: the rows are of several machines, so their names are not omitted.
fn fitting_columns(
    cells: &[HashMap<LegendColumn, String>],
    room: u16,
    has_machines: bool,
) -> Vec<(LegendColumn, usize)> {
    let is_wide = room >= WIDE;
    let room = usize::from(room).saturating_sub(1);
    let longest = |column: LegendColumn| {
        cells.iter().filter_map(|cells| cells.get(&column)).map(|text| width(text)).max().unwrap_or(0)
    };
    let width_of = |column: LegendColumn| {
        let longest = longest(column);
        let title = column.title().len() + 1;
        let (min, preferred) = match column {
            LegendColumn::Show if is_wide => (5, 5),
            LegendColumn::Show => (1, 1),
            LegendColumn::Colour if is_wide => (6, 6),
            LegendColumn::Colour => (2, 2),
            LegendColumn::Scale => (6, 6),
            column if column.is_number() && is_wide => (longest.max(title), longest.max(title)),
            column if column.is_number() => (longest.max(8), longest.max(8)),
            // Counter names take precedence over sets, because the path of the selected counter shows its set.
            LegendColumn::Counter => (longest.min(if room < 79 { 12 } else { 20 }), longest.max(title)),
            LegendColumn::Instance => (8, longest.max(title)),
            _ => (longest.clamp(6, 8), longest.max(title)),
        };
        ColumnWidth { column, min, preferred }
    };
    let mut columns: Vec<_> = LegendColumn::ALL.into_iter().map(width_of).collect();
    let needed = |columns: &[ColumnWidth]| columns.iter().map(|width| width.min + 1).sum::<usize>();
    for column in OPTIONAL_COLUMNS.into_iter().filter(|it| !has_machines || *it != LegendColumn::Machine) {
        if needed(&columns) <= room {
            break;
        }
        columns.retain(|width| width.column != column);
    }
    let mut spare = room.saturating_sub(needed(&columns));
    let mut fitted = Vec::new();
    for ColumnWidth { column, min, preferred } in columns {
        let more = preferred.saturating_sub(min).min(spare);
        spare -= more;
        fitted.push((column, min + more));
    }
    fitted
}

//! The report: values by machine, counter set, counter and instance.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use tachograph_monitor::figures::NONE;
use tachograph_monitor::{LegendItem, SeriesInfo};

use crate::app::{App, Pane};
use crate::text::{row, truncate, truncate_start, width};

/// Width of a column of values, in characters.
pub(super) const VALUE_WIDTH: usize = 14;

/// The items of one counter set on one machine.
struct Block<'a> {
    machine: &'a str,
    set: &'a str,
    /// The labels of the instances, in order of appearance.
    instances: Vec<&'a str>,
    counters: Vec<&'a str>,
    items: Vec<(&'a SeriesInfo, &'a LegendItem)>,
}

impl App {
    /// Draws the report, starting with the line to which the panel is scrolled; returns this line, corrected to the
    /// length of the report.
    pub(super) fn draw_report(&self, buffer: &mut Buffer, area: Rect, pane: &Pane) -> usize {
        if self.draw_placeholder(buffer, area, pane) {
            return pane.report_top;
        }
        let mut lines: Vec<Vec<(usize, String, Style)>> = Vec::new();
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let mut machine = None;
        for block in self.blocks(pane) {
            if machine != Some(block.machine) {
                machine = Some(block.machine);
                lines.push(vec![(0, format!(r"\\{}", block.machine), bold)]);
            }
            self.lay_out_block(&block, usize::from(area.width), pane, &mut lines);
        }
        let room = usize::from(area.height);
        let top = pane.report_top.min(lines.len().saturating_sub(room));
        for (index, line) in lines.iter().skip(top).take(room).enumerate() {
            for (column, text, style) in line {
                self.write_text(buffer, row(area, index), *column, text, *style);
            }
        }
        top
    }

    fn blocks<'a>(&self, pane: &'a Pane) -> Vec<Block<'a>> {
        let mut blocks: Vec<Block<'a>> = Vec::new();
        for item in pane.items(&self.reduced) {
            let Some(info) = item.info() else { continue };
            let (machine, set) = (info.machine.as_deref().unwrap_or(NONE), &*info.set.name);
            let index = blocks.iter().position(|block| block.machine == machine && block.set == set);
            let index = index.unwrap_or_else(|| {
                let (instances, counters, items) = (Vec::new(), Vec::new(), Vec::new());
                blocks.push(Block { machine, set, instances, counters, items });
                blocks.len() - 1
            });
            let block = &mut blocks[index];
            let instance = info.instance.as_ref().map_or("", |instance| instance.label());
            if !block.instances.contains(&instance) {
                block.instances.push(instance);
            }
            if !block.counters.contains(&&*info.counter.name) {
                block.counters.push(&info.counter.name);
            }
            block.items.push((info, item));
        }
        blocks.sort_by_key(|block| block.machine);
        blocks
    }

    /// Adds a table with a line per counter and a column per instance, or several tables if not all instances fit side
    /// by side.
    fn lay_out_block(
        &self,
        block: &Block<'_>,
        room: usize,
        pane: &Pane,
        lines: &mut Vec<Vec<(usize, String, Style)>>,
    ) {
        let name_width = block.counters.iter().map(|name| width(name)).max().unwrap_or(0);
        let name_width = (name_width + 6).min(room / 2).max(12);
        let instances_per_table = (room.saturating_sub(name_width) / (VALUE_WIDTH + 1)).max(1);
        let mut is_first = true;
        for instances in block.instances.chunks(instances_per_table) {
            let right_aligned = |index: usize, text: String, style: Style| {
                let end = name_width + (index + 1) * (VALUE_WIDTH + 1);
                (end.saturating_sub(width(&text)), text, style)
            };
            let mut heading = Vec::new();
            if std::mem::take(&mut is_first) {
                let set =
                    truncate(block.set, name_width.saturating_sub(3), self.theme.is_unicode).into_owned();
                heading.push((2, set, Style::new().add_modifier(Modifier::BOLD)));
            }
            for (index, instance) in instances.iter().enumerate() {
                let text = truncate_start(&self.groups.text(instance), VALUE_WIDTH, self.theme.is_unicode)
                    .into_owned();
                heading.push(right_aligned(index, text, Style::new().add_modifier(Modifier::BOLD)));
            }
            lines.push(heading);
            for counter in &block.counters {
                let name =
                    truncate(counter, name_width.saturating_sub(5), self.theme.is_unicode).into_owned();
                let mut line = vec![(4, name, Style::new())];
                for (index, instance) in instances.iter().enumerate() {
                    let is_cell = |(info, _): &&(&SeriesInfo, &LegendItem)| {
                        *info.counter.name == **counter
                            && info.instance.as_ref().map_or("", |instance| instance.label()) == *instance
                    };
                    let Some((_, item)) = block.items.iter().find(is_cell) else { continue };
                    let text = match item.series(&self.reduced) {
                        Some(series) => self.shown_figure(series, VALUE_WIDTH),
                        None => NONE.to_owned(),
                    };
                    let style =
                        if Some(item.id()) == pane.selected { self.theme.selected() } else { Style::new() };
                    line.push(right_aligned(index, text, style));
                }
                lines.push(line);
            }
        }
    }
}

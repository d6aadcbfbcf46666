//! Stacked areas.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use tachograph_counters::civil::FileTime;
use tachograph_monitor::{LegendItem, ReducedSeries};

use super::axis::PaneAxis;
use super::chart::{MARKS, max_gap};
use crate::app::{App, Pane};

/// Blocks of one to eight eighths of a character's height.
const EIGHTHS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// The characters of areas if there are no colours.
const SHADES: [&str; 4] = ["█", "▒", "▓", "░"];

/// The number of parts of a character's height.
const PARTS: usize = 8;

impl App {
    /// Draws the counters of a panel on top of each other, the first at the bottom.
    pub(super) fn draw_stack(&self, buffer: &mut Buffer, plot: Rect, pane: &Pane, axis: &PaneAxis) {
        let items = pane.charted_items(&self.reduced);
        let layers: Vec<(&LegendItem, &ReducedSeries)> =
            items.into_iter().filter_map(|item| Some((item, item.series(&self.reduced)?))).collect();
        let (width, rows) = (usize::from(plot.width), usize::from(plot.height));
        let sources = self.sources(&layers);
        let mut tops = Vec::with_capacity(layers.len());
        for x in 0..width {
            let Some(column) = self.figures_at(&sources, x, width) else { continue };
            tops.clear();
            let mut sum = 0.0;
            for (item, series) in &layers {
                let value = self.drawn_value(series, column).filter(|value| value.is_finite()).unwrap_or(0.0);
                let share = match axis {
                    // Each counter has its own scale, so heights are added instead of values.
                    PaneAxis::Scaled => {
                        sum += axis.share_of(item, value);
                        sum.min(1.0)
                    }
                    PaneAxis::Values { .. } => {
                        sum += value;
                        axis.share_of(item, sum)
                    }
                };
                tops.push((share * (rows * PARTS) as f64).round() as usize);
            }
            for line in 0..rows {
                let Some((symbol, style)) = self.cell_of(&layers, &tops, line * PARTS) else { break };
                let position = (plot.x + x as u16, plot.y + (rows - 1 - line) as u16);
                if let Some(cell) = buffer.cell_mut(position) {
                    cell.set_symbol(symbol).set_style(style);
                }
            }
        }
    }

    /// The character of an area if there are no colours: the first four counters have shades, the others marks, since more
    /// shades could not be distinguished.
    pub(super) fn area_mark(&self, index: usize, item: &LegendItem) -> &'static str {
        let shade = SHADES.get(index).filter(|_| self.theme.is_unicode);
        shade.copied().unwrap_or(MARK_TEXTS[item.style().0 % MARK_TEXTS.len()])
    }

    /// For each column of figures: the column in which the interval that covers it ends.
    fn sources(&self, layers: &[(&LegendItem, &ReducedSeries)]) -> Vec<Option<usize>> {
        let count = self.reduced.columns;
        let column_time = |column: usize| {
            let mut columns = layers.iter().filter_map(|(_, series)| series.columns.get(column));
            columns.find(|column| column.average.is_some())?.at
        };
        let gap = layers.iter().map(|(_, series)| max_gap(&series.columns, &self.reduced.span));
        let gap = gap.fold(0.0, f64::max);
        let mut sources = vec![None; count];
        let mut before: Option<FileTime> = None;
        let mut next = 0;
        for column in 0..count {
            let Some(at) = column_time(column) else { continue };
            // After a gap, it is unknown when the interval began.
            let is_continued = before.is_some_and(|before| at.since(before) as f64 <= gap);
            let first = if is_continued { next } else { column };
            sources[first..=column].fill(Some(column));
            (before, next) = (Some(at), column + 1);
        }
        sources
    }

    /// The column of figures that a column of characters shows: the last one with values in it.
    fn figures_at(&self, sources: &[Option<usize>], x: usize, width: usize) -> Option<usize> {
        let count = sources.len();
        let first = x * count / width;
        let last = ((x + 1) * count / width).max(first + 1);
        sources.get(first..last.min(count))?.iter().rev().find_map(|source| *source)
    }

    /// The character that shows the layers in the row at height `bottom`; `None` above all layers. Heights are in
    /// eighths of a row.
    fn cell_of<'a>(
        &self,
        layers: &[(&LegendItem, &ReducedSeries)],
        tops: &[usize],
        bottom: usize,
    ) -> Option<(&'a str, Style)> {
        let lower = tops.iter().position(|top| *top > bottom)?;
        let top = tops[lower];
        let style_of = |index: usize| self.theme.line(layers[index].0.style(), false);
        if self.theme.background.is_none() || !self.theme.is_unicode {
            // Without partial blocks, a character shows one layer: that in its middle.
            let middle = tops.iter().position(|top| *top > bottom + PARTS / 2);
            // In the lowest row, a value that is not 0 is visible even if it is small.
            let index = middle.or(Some(lower).filter(|_| bottom == 0))?;
            return Some((self.area_mark(index, layers[index].0), style_of(index)));
        }
        if top >= bottom + PARTS {
            return Some((EIGHTHS[PARTS - 1], style_of(lower)));
        }
        // The rest of the character shows the layer that covers most of it.
        let symbol = EIGHTHS[(top - bottom - 1).min(PARTS - 1)];
        let covered = |index: &usize| {
            let from = tops[*index - 1].max(bottom);
            tops[*index].min(bottom + PARTS).saturating_sub(from)
        };
        let upper = (lower + 1..tops.len()).max_by_key(covered).filter(|index| covered(index) > 0);
        let style = style_of(lower);
        let Some(upper) = upper else { return Some((symbol, style)) };
        let is_upper_larger = covered(&upper) > top - bottom && tops[upper] < bottom + PARTS;
        if is_upper_larger {
            // Two layers end in this character: only the larger one is shown, up to its end.
            return Some((EIGHTHS[(tops[upper] - bottom - 1).min(PARTS - 1)], style_of(upper)));
        }
        match style_of(upper).fg {
            Some(colour) => Some((symbol, style.bg(colour))),
            None => Some((symbol, style)),
        }
    }
}

/// [`MARKS`] as text.
const MARK_TEXTS: [&str; MARKS.len()] = [
    "*", "+", "o", "x", "#", "%", "@", "&", "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M",
    "N", "P", "Q", "R", "S", "T", "U", "V", "W", "Y", "Z",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_style_has_its_own_mark() {
        let mut texts = MARK_TEXTS;
        assert!(texts.iter().zip(MARKS).all(|(text, mark)| text.as_bytes() == [mark]));
        texts.sort_unstable();
        assert!(texts.windows(2).all(|pair| pair[0] != pair[1]));
    }
}

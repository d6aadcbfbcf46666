//! Dots on a grid of characters: 2 x 4 dots per character in Braille, one dot per character in ASCII.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// A drawing made of dots. Lines are drawn over bands. A character has only one colour, so where several lines share
/// characters, the characters show these lines in turn, and each line remains visible in its own colour.
pub(crate) struct Canvas {
    columns: usize,
    rows: usize,
    is_braille: bool,
    lines: Vec<[Cell; MAX_SHARING]>,
    bands: Vec<Cell>,
    /// Characters on top of all dots: column, row, character.
    marks: Vec<(usize, usize, Cell)>,
}

/// The maximum number of lines that share a character. If there are more, those drawn first are not visible in it.
const MAX_SHARING: usize = 3;

#[derive(Clone, Copy, Default)]
struct Cell {
    /// In Braille, the bits of the dots; in ASCII, the character.
    dots: u8,
    style: Style,
}

/// The bits of the dots of a character, by row and column.
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

#[derive(Clone, Copy)]
pub(crate) struct Pen {
    pub(crate) style: Style,
    /// The character that represents a dot in ASCII.
    pub(crate) mark: u8,
    pub(crate) is_band: bool,
}

impl Canvas {
    /// An empty drawing with the size of `area`.
    pub(crate) fn new(area: Rect, is_braille: bool) -> Self {
        let (columns, rows) = (usize::from(area.width), usize::from(area.height));
        let count = columns * rows;
        let (lines, bands) = (vec![[Cell::default(); MAX_SHARING]; count], vec![Cell::default(); count]);
        Self { columns, rows, is_braille, lines, bands, marks: Vec::new() }
    }

    /// The number of dots across `columns` characters.
    pub(crate) fn dots_across(columns: usize, is_braille: bool) -> usize {
        columns * if is_braille { 2 } else { 1 }
    }

    /// Dots from left to right.
    pub(crate) fn width(&self) -> usize {
        Self::dots_across(self.columns, self.is_braille)
    }

    /// Characters from top to bottom.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Dots from top to bottom.
    pub(crate) fn height(&self) -> usize {
        self.rows * if self.is_braille { 4 } else { 1 }
    }

    /// Draws a dot; ignored if outside the drawing.
    pub(crate) fn dot(&mut self, x: usize, y: usize, pen: Pen) {
        if x >= self.width() || y >= self.height() {
            return;
        }
        let (column, row, bit) =
            if self.is_braille { (x / 2, y / 4, BITS[y % 4][x % 2]) } else { (x, y, pen.mark) };
        let index = row * self.columns + column;
        let cell = if pen.is_band {
            &mut self.bands[index]
        } else {
            let sharing = &mut self.lines[index];
            let is_known = |cell: &Cell| cell.dots != 0 && cell.style == pen.style;
            // The last drawn line comes first.
            match sharing.iter().position(is_known) {
                Some(known) => sharing[..=known].rotate_right(1),
                None => {
                    sharing.rotate_right(1);
                    sharing[0] = Cell::default();
                }
            }
            &mut sharing[0]
        };
        let is_same = self.is_braille && cell.style == pen.style;
        cell.dots = if is_same { cell.dots | bit } else { bit };
        cell.style = pen.style;
    }

    /// The column of characters that contains a column of dots.
    pub(crate) fn column_of(&self, x: usize) -> usize {
        if self.is_braille { x / 2 } else { x }
    }

    /// Draws the character of a pen in place of the character with this dot; ignored if outside the drawing.
    pub(crate) fn mark(&mut self, x: usize, y: usize, pen: Pen) {
        if x < self.width() && y < self.height() {
            let row = if self.is_braille { y / 4 } else { y };
            self.marks.push((self.column_of(x), row, Cell { dots: pen.mark, style: pen.style }));
        }
    }

    /// Draws a vertical line, both ends included.
    pub(crate) fn vertical(&mut self, x: usize, one: usize, other: usize, pen: Pen) {
        for y in one.min(other)..=one.max(other) {
            self.dot(x, y, pen);
        }
    }

    /// Draws a line from left to right, in the columns for which `is_drawn` is true.
    pub(crate) fn line(
        &mut self,
        from: (usize, usize),
        to: (usize, usize),
        pen: Pen,
        is_drawn: impl Fn(usize) -> bool,
    ) {
        let across = to.0.saturating_sub(from.0).max(1);
        let height_at = |step: usize| {
            let by = (to.1 as f64 - from.1 as f64) * step as f64 / across as f64;
            (from.1 as f64 + by).round().max(0.0) as usize
        };
        for step in 0..=to.0.saturating_sub(from.0) {
            let x = from.0 + step;
            if !is_drawn(x) {
                continue;
            }
            // Extends halfway to the previous dot and halfway to the next, so that steep lines have no gaps.
            let y = height_at(step);
            let before = if step == 0 { y } else { midpoint(height_at(step - 1), y) };
            let after = if step == across { y } else { midpoint(height_at(step + 1), y) };
            self.vertical(x, before, after, pen);
            self.dot(x, y, pen);
        }
        if to.0 == from.0 {
            self.vertical(from.0, from.1, to.1, pen);
        }
    }

    pub(crate) fn draw(&self, buffer: &mut Buffer, area: Rect) {
        for row in 0..self.rows {
            for column in 0..self.columns {
                let index = row * self.columns + column;
                let sharing = self.lines[index].iter().take_while(|cell| cell.dots != 0).count();
                let line = column.checked_rem(sharing).map(|turn| self.lines[index][turn]);
                let cell = line.unwrap_or(self.bands[index]);
                if cell.dots == 0 {
                    continue;
                }
                let code = if self.is_braille { 0x2800 + u32::from(cell.dots) } else { cell.dots.into() };
                let position = (area.x + column as u16, area.y + row as u16);
                if let (Some(character), Some(target)) = (char::from_u32(code), buffer.cell_mut(position)) {
                    target.set_char(character).set_style(cell.style);
                }
            }
        }
        for (column, row, cell) in &self.marks {
            if let Some(target) = buffer.cell_mut((area.x + *column as u16, area.y + *row as u16)) {
                target.set_char(char::from(cell.dots)).set_style(cell.style);
            }
        }
    }
}

/// The height halfway from `from` to `to`, rounded toward `to`.
fn midpoint(from: usize, to: usize) -> usize {
    if from > to { to + (from - to) / 2 } else { to - (to - from) / 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEN: Pen = Pen { style: Style::new(), mark: b'*', is_band: false };

    fn drawn_lines(is_braille: bool, draw: impl Fn(&mut Canvas)) -> Vec<String> {
        let area = Rect::new(0, 0, 4, 2);
        let mut canvas = Canvas::new(area, is_braille);
        draw(&mut canvas);
        let mut buffer = Buffer::empty(area);
        canvas.draw(&mut buffer, area);
        let line = |y| (0..4).map(|x| buffer[(x, y)].symbol().to_owned()).collect();
        (0..2).map(line).collect()
    }

    #[test]
    fn lines_are_drawn_in_dots() {
        assert_eq!(drawn_lines(true, |canvas| canvas.line((0, 7), (7, 0), PEN, |_| true)), ["  ⡠⠊", "⡠⠊  "]);
        assert_eq!(
            drawn_lines(true, |canvas| canvas.line((0, 3), (7, 3), PEN, |x| x % 2 == 0)),
            ["⡀⡀⡀⡀", "    "]
        );
        // A steep line has no gaps.
        assert_eq!(drawn_lines(true, |canvas| canvas.line((2, 7), (3, 0), PEN, |_| true)), [" ⢸  ", " ⡇  "]);
        assert_eq!(drawn_lines(true, |canvas| canvas.line((3, 0), (3, 7), PEN, |_| true)), [" ⢸  ", " ⢸  "]);
        assert_eq!(drawn_lines(false, |canvas| canvas.line((0, 1), (3, 0), PEN, |_| true)), ["  **", "**  "]);
    }

    #[test]
    fn lines_that_share_characters_keep_their_colours() {
        use ratatui::style::Color::{Red, Reset};
        let area = Rect::new(0, 0, 4, 1);
        let mut canvas = Canvas::new(area, true);
        let red = Pen { style: Style::new().red(), ..PEN };
        canvas.line((0, 3), (7, 3), PEN, |_| true);
        canvas.line((2, 0), (7, 0), red, |_| true);
        let mut buffer = Buffer::empty(area);
        canvas.draw(&mut buffer, area);
        let shown: Vec<_> = (0..4).map(|x| (buffer[(x, 0)].symbol().to_owned(), buffer[(x, 0)].fg)).collect();
        let expected = [("⣀", Reset), ("⣀", Reset), ("⠉", Red), ("⣀", Reset)];
        assert_eq!(shown, expected.map(|(symbol, colour)| (symbol.to_owned(), colour)));
    }

    #[test]
    fn marks_are_on_top() {
        let draw_mark = |canvas: &mut Canvas| {
            canvas.mark(5, 4, PEN);
            canvas.mark(8, 0, PEN);
            canvas.line((0, 7), (7, 7), PEN, |_| true);
        };
        assert_eq!(drawn_lines(true, draw_mark), ["    ", "⣀⣀*⣀"]);
    }

    #[test]
    fn bands_are_under_lines() {
        let band = Pen { is_band: true, ..PEN };
        let draw_both = |canvas: &mut Canvas| {
            canvas.dot(0, 0, PEN);
            canvas.vertical(0, 0, 7, band);
            canvas.dot(99, 99, PEN);
        };
        assert_eq!(drawn_lines(true, draw_both), ["⠁   ", "⡇   "]);
    }
}

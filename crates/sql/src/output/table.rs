//! A table for humans.

use std::io::{self, Write};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Schema};
use tachograph_monitor::figures::escape_controls;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::text::Cells;

/// Number of rows from which column widths are computed. On a terminal, wider cells of later rows are shortened.
const MEASURED_ROWS: usize = 1000;

/// The space between two columns.
const GAP: &str = "  ";

/// Columns are not shortened below this width.
const MIN_WIDTH: usize = 6;

/// Writes rows in aligned columns. On a terminal, columns that do not fit are shortened, widest first, and dropped from the end if
/// that is not enough.
pub(super) struct TableWriter<W> {
    out: W,
    headings: Vec<String>,
    is_number: Vec<bool>,
    max_width: Option<usize>,
    /// The first rows, until the widths are known.
    first: Vec<Vec<String>>,
    widths: Option<Vec<usize>>,
    rows: usize,
}

impl<W: Write> TableWriter<W> {
    pub(super) fn new(out: W, schema: &Schema, max_width: Option<usize>) -> Self {
        let is_number = |data_type: &DataType| data_type.is_numeric();
        Self {
            out,
            headings: schema
                .fields()
                .iter()
                .map(|field| escape_controls(field.name()).into_owned())
                .collect(),
            is_number: schema.fields().iter().map(|field| is_number(field.data_type())).collect(),
            max_width,
            first: Vec::new(),
            widths: None,
            rows: 0,
        }
    }

    pub(super) fn push(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let columns = Cells::new(batch).map_err(io::Error::other)?;
        for row in 0..batch.num_rows() {
            let cell = |index: usize| {
                let text = columns.columns()[index].text(row);
                let text = text.unwrap_or_else(|| "-".to_owned());
                escape_controls(&text).into_owned()
            };
            let cells: Vec<String> = (0..columns.columns().len()).map(cell).collect();
            self.rows += 1;
            match self.widths.is_some() {
                true => self.write_row(&cells)?,
                false => self.first.push(cells),
            }
            if self.widths.is_none() && self.first.len() >= MEASURED_ROWS {
                self.write_first()?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.widths.is_none() {
            self.write_first()?;
        }
        if self.rows == 0 {
            writeln!(self.out, "(no rows)")?;
        }
        self.out.flush()
    }

    /// Computes the widths, and writes the headings and the first rows.
    fn write_first(&mut self) -> io::Result<()> {
        let mut widths: Vec<usize> = self.headings.iter().map(|heading| heading.width()).collect();
        for cells in &self.first {
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = cell.width().max(*width);
            }
        }
        if let Some(max_width) = self.max_width {
            fit(&mut widths, &self.is_number, max_width);
        }
        self.widths = Some(widths);
        let headings = self.headings.clone();
        self.write_row(&headings)?;
        for cells in std::mem::take(&mut self.first) {
            self.write_row(&cells)?;
        }
        Ok(())
    }

    fn write_row(&mut self, cells: &[String]) -> io::Result<()> {
        let mut line = String::new();
        for ((cell, &width), &is_number) in
            cells.iter().zip(self.widths.as_deref().unwrap_or_default()).zip(&self.is_number)
        {
            if !line.is_empty() {
                line.push_str(GAP);
            }
            let shown = match self.max_width {
                Some(_) => shortened(cell, width),
                None => cell.clone(),
            };
            let blanks = std::iter::repeat_n(' ', width.saturating_sub(shown.width()));
            if is_number {
                line.extend(blanks);
                line.push_str(&shown);
            } else {
                line.push_str(&shown);
                line.extend(blanks);
            }
        }
        writeln!(self.out, "{}", line.trim_end())
    }
}

/// Narrows columns of text until all fit; if that is not enough, drops columns from the end.
fn fit(widths: &mut Vec<usize>, is_number: &[bool], max_width: usize) {
    let total = |widths: &[usize]| widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1);
    while total(widths) > max_width {
        let texts =
            widths.iter().enumerate().filter(|&(index, &width)| !is_number[index] && width > MIN_WIDTH);
        match texts.max_by_key(|&(_, width)| *width).map(|(index, _)| index) {
            Some(widest) => widths[widest] -= 1,
            None if widths.len() > 1 => drop(widths.pop()),
            None => break,
        }
    }
}

/// Shortens a text to `width` terminal columns; an ellipsis replaces its end.
fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (mut shown, mut used) = (String::new(), 1);
    for character in text.chars() {
        used += character.width().unwrap_or_default();
        if used > width {
            break;
        }
        shown.push(character);
    }
    shown.push('…');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_shortened_and_dropped_until_they_fit() {
        let fitted = |widths: &[usize], is_number: &[bool], max: usize| {
            let mut widths = widths.to_vec();
            fit(&mut widths, is_number, max);
            widths
        };
        assert_eq!(fitted(&[10, 10], &[false, true], 22), [10, 10]);
        assert_eq!(fitted(&[20, 10, 30], &[false, true, false], 44), [15, 10, 15]);
        assert_eq!(fitted(&[20, 10, 30], &[true, true, true], 40), [20, 10]);
        assert_eq!(fitted(&[50], &[true], 40), [50]);
    }

    #[test]
    fn long_texts_end_with_an_ellipsis() {
        assert_eq!(shortened("processor", 9), "processor");
        assert_eq!(shortened("processor", 5), "proc…");
        assert_eq!(shortened("プロセッサ", 5), "プロ…");
    }
}

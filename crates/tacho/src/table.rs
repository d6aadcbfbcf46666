//! Tables and numbers for people.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write};
use std::iter;

pub(crate) use tachograph_monitor::figures::{grouped, value, visible};
use unicode_width::UnicodeWidthStr;

/// Writes a table without lines, whose columns from `first_number` on are numbers, set to the right.
///
/// Its cells are made twice, to measure them and to write them, and never held: a table can have a row for each of a
/// million counters. Where a terminal is narrower than the table, its lines go on in the next one: nothing is cut off.
pub(crate) fn write_table<Row, const COLUMNS: usize>(
    out: &mut impl Write,
    header: [&str; COLUMNS],
    first_number: usize,
    rows: &[Row],
    cells: impl Fn(&Row) -> [String; COLUMNS],
) -> io::Result<()> {
    let mut widths = header.map(UnicodeWidthStr::width);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(cells(row)) {
            *width = visible(&cell).width().max(*width);
        }
    }
    let mut line = String::new();
    for row in iter::once(None).chain(rows.iter().map(Some)) {
        line.clear();
        let cells = match row {
            Some(row) => cells(row),
            None => header.map(str::to_owned),
        };
        for (number, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let cell = visible(cell);
            if number > 0 {
                line.push_str("  ");
            }
            push_padded(&mut line, &cell, width, number >= first_number);
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Appends a text, filled up with blanks to a number of columns on the screen.
pub(crate) fn push_padded(line: &mut String, text: &str, width: usize, is_right: bool) {
    let blanks = iter::repeat_n(' ', width.saturating_sub(text.width()));
    if is_right {
        line.extend(blanks);
        line.push_str(text);
    } else {
        line.push_str(text);
        line.extend(blanks);
    }
}

/// How wide the terminal is that standard output is, if it is one.
pub(crate) fn terminal_width() -> Option<usize> {
    let out = io::stdout();
    let size = if out.is_terminal() { rustix::termios::tcgetwinsize(&out).ok() } else { None };
    size.map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// Text is not wrapped into less than so many columns.
const LEAST_TEXT: usize = 20;

/// What a text begins with that stands in lines of its own for want of room.
const UNDER: &str = "    ";

/// Appends a text behind what its first line begins with, wrapped between words to a width; further lines stand under it.
pub(crate) fn push_wrapped(to: &mut String, start: &str, text: &str, width: usize) {
    let (mut shown, text) = (visible(start).into_owned(), visible(text));
    let indent = shown.width();
    let is_too_long = indent + text.width() > width;
    let is_wrapped = is_too_long && width.saturating_sub(indent) >= LEAST_TEXT;
    let end_line = |to: &mut String, shown: &str| {
        to.push_str(shown.trim_end());
        to.push('\n');
    };
    if is_too_long && !is_wrapped && indent > UNDER.len() && width >= UNDER.len() + LEAST_TEXT {
        end_line(to, &shown);
        return push_wrapped(to, UNDER, &text, width);
    }
    if !is_wrapped {
        shown.push_str(&text);
        return end_line(to, &shown);
    }
    let mut columns = indent;
    for word in text.split(' ') {
        if columns > indent && columns + word.width() > width {
            end_line(to, &shown);
            shown = " ".repeat(indent);
            columns = indent;
        }
        shown.push_str(word);
        shown.push(' ');
        columns += word.width() + 1;
    }
    end_line(to, &shown);
}

/// One line for people, ended, whatever is in the names that it holds.
pub(crate) fn line(text: impl Display) -> String {
    let mut line = visible(&text.to_string()).into_owned();
    line.push('\n');
    line
}

/// `1 sample`, `1,234 samples`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(&count.to_string()), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_cells_on_the_screen() {
        let mut out = Vec::new();
        let rows = [["Größe", "1", "x"], ["プロセッサ", "1,234", ""], ["a\u{1b}[31m\n", "", "y"]];
        write_table(&mut out, ["name", "number", "last"], 1, &rows, |row| row.map(str::to_owned)).unwrap();
        let expected = [
            "name              number  last",
            "Größe                  1     x",
            "プロセッサ         1,234",
            r"a\u{1b}[31m\u{a}             y",
            "",
        ];
        assert_eq!(String::from_utf8(out).unwrap(), expected.join("\n"));
        let mut out = Vec::new();
        write_table(&mut out, ["a", "b"], 2, &[(); 0], |()| unreachable!()).unwrap();
        assert_eq!(out, b"a  b\n");
    }

    #[test]
    fn text_is_wrapped_between_words_under_its_beginning() {
        let mut shown = String::new();
        push_wrapped(&mut shown, "  a  ", "one two three four five six seven", 26);
        assert_eq!(shown, "  a  one two three four\n     five six seven\n");
        shown.clear();
        push_wrapped(&mut shown, "  a  ", "one two three four five six seven", 20);
        assert_eq!(shown, "  a  one two three four five six seven\n");
        shown.clear();
        push_wrapped(&mut shown, "  a long beginning  ", "one two three four", 26);
        assert_eq!(shown, "  a long beginning\n    one two three four\n");
        shown.clear();
        push_wrapped(&mut shown, "  a  ", "", 80);
        assert_eq!(shown, "  a\n");
    }
}

//! Human-readable tables and numbers.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write};
use std::iter;

use tachograph_counters::set::Counter;
use tachograph_monitor::figures::{NumberForm, Unit, value};
pub(crate) use tachograph_monitor::figures::{escape_controls, grouped};
use unicode_width::UnicodeWidthStr;

/// Writes a table without ruling lines. The columns starting with `first_number` are right-aligned.
///
/// Cells are not stored, because a table can have a million rows; they are formatted once to measure them and again to
/// write them. Lines that are wider than the terminal are not truncated.
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
            *width = escape_controls(&cell).width().max(*width);
        }
    }
    let mut line = String::new();
    for row in iter::once(None).chain(rows.iter().map(Some)) {
        line.clear();
        let cells = match row {
            Some(row) => cells(row),
            None => header.map(str::to_owned),
        };
        for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let cell = escape_controls(cell);
            if index > 0 {
                line.push_str("  ");
            }
            push_padded(&mut line, &cell, width, index >= first_number);
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Formats a counter's value for a table: `-` if missing.
pub(crate) fn figure(counter: &Counter, figure: Option<f64>, form: NumberForm) -> String {
    match (figure, form) {
        (Some(figure), NumberForm::Units) => Unit::of(counter).text(figure),
        (figure, _) => value(counter.counter_type, figure),
    }
}

/// Appends `text`, padded with spaces to a display width.
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

/// The width of the terminal; `None` if standard output is not a terminal.
pub(crate) fn terminal_width() -> Option<usize> {
    let out = io::stdout();
    let size = if out.is_terminal() { rustix::termios::tcgetwinsize(&out).ok() } else { None };
    size.map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// The minimum width into which text is wrapped.
const MIN_TEXT: usize = 20;

/// The indent of a text that gets its own lines because the space beside its label is too narrow.
const INDENT: &str = "    ";

/// Appends a label and a text. The text is wrapped at words to `width`, and its further lines are indented to its start.
pub(crate) fn push_wrapped(to: &mut String, label: &str, text: &str, width: usize) {
    let (mut shown, text) = (escape_controls(label).into_owned(), escape_controls(text));
    let indent = shown.width();
    let is_too_long = indent + text.width() > width;
    let is_wrapped = is_too_long && width.saturating_sub(indent) >= MIN_TEXT;
    let end_line = |to: &mut String, shown: &str| {
        to.push_str(shown.trim_end());
        to.push('\n');
    };
    if is_too_long && !is_wrapped && indent > INDENT.len() && width >= INDENT.len() + MIN_TEXT {
        end_line(to, &shown);
        return push_wrapped(to, INDENT, &text, width);
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

/// Formats a line of output: escapes control characters, and adds a newline.
pub(crate) fn line(text: impl Display) -> String {
    let mut line = escape_controls(&text.to_string()).into_owned();
    line.push('\n');
    line
}

/// Formats a count with its noun: `1 sample`, `1,234 samples`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(&count.to_string()), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
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
    fn text_is_wrapped_at_words_and_indented() {
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

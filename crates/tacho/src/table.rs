//! Tables and numbers for people.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write};
use std::iter;

use tachograph_counters::CounterType;
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

/// A text with its control characters written out (`\u{1b}`): names in a log are from anywhere, and a terminal would do
/// what they say.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if character.is_control() {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// A number as people read it: digits in groups, three decimals, more where the number is small.
pub(crate) fn number(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return "0".to_owned();
    }
    if magnitude >= 1e15 {
        return format!("{value:.3e}");
    }
    if value.fract() == 0.0 {
        return grouped(&format!("{value:.0}"));
    }
    if magnitude >= 1.0 {
        return grouped(&format!("{value:.3}"));
    }
    if magnitude >= 1e-6 {
        // Three digits that say something.
        let decimals = 2 + (-magnitude.log10()).ceil().max(0.0) as usize;
        let text = format!("{value:.decimals$}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    format!("{value:.3e}")
}

/// A value as people read it: `-` where there is none, hexadecimal where the counter is.
pub(crate) fn value(counter_type: CounterType, value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if counter_type.is_hexadecimal() && value.fract() == 0.0 => {
            format!("{:#x}", value as i64)
        }
        Some(value) => number(value),
    }
}

/// `1 sample`, `1,234 samples`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(&count.to_string()), if count == 1 { one } else { many })
}

/// Puts commas between groups of three digits before the point.
pub(crate) fn grouped(digits: &str) -> String {
    let (sign, rest) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(whole, rest)| (whole, Some(rest)));
    let mut text = sign.to_owned();
    for (number, digit) in whole.chars().enumerate() {
        if number > 0 && (whole.len() - number).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
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

    #[test]
    fn control_characters_are_written_out() {
        for (text, shown) in [
            ("plain (日本) \u{301}", "plain (日本) \u{301}"),
            ("\u{0}\t\u{1b}]0;x\u{7}", r"\u{0}\u{9}\u{1b}]0;x\u{7}"),
            ("a\u{7f}b\u{9b}31m\r\n", r"a\u{7f}b\u{9b}31m\u{d}\u{a}"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn numbers_for_people() {
        for (value, text) in [
            (0.0, "0"),
            (53.90787244, "53.908"),
            (5309.188746893078, "5,309.189"),
            (-1234567.0, "-1,234,567"),
            (113057792.0, "113,057,792"),
            (0.15, "0.15"),
            (0.008170940934075234, "0.00817"),
            (9.2e18, "9.200e18"),
            (1.5e-9, "1.500e-9"),
            (999.9999, "1,000.000"),
            (0.99996, "1"),
        ] {
            assert_eq!(number(value), text, "{value}");
        }
    }
}

//! Human-readable tables and numbers.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write};
use std::iter;

use tachograph_counters::set::Counter;
use tachograph_monitor::figures::{NumberForm, Unit, value};
pub(crate) use tachograph_monitor::figures::{escape_controls, grouped};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A column of a table.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) heading: String,
    /// Whether the cells are right-aligned.
    pub(crate) is_number: bool,
    /// The order in which columns are dropped if the table is too wide: the highest rank first; rank 0 never.
    pub(crate) drop_rank: u8,
    /// Whether cells can be shortened if dropping columns is not enough.
    pub(crate) can_shrink: bool,
    /// To keep this column, the column that can be shortened is shortened to at least this width. `usize::MAX`: it is not
    /// shortened for this column.
    pub(crate) shortens_to: usize,
}

/// Columns are not shortened below this width.
const MIN_SHRUNK: usize = 16;

/// Replaces the middle of a text that is too long.
const ELLIPSIS: char = '…';

/// Writes a table without ruling lines. If it is wider than `max_width`, drops columns by rank, and if that is not
/// enough, replaces the middle of a column's cells by an ellipsis. Returns the headings of the dropped columns.
///
/// Cells are not stored, because a table can have a million rows; they are formatted once to measure them and again to
/// write them.
pub(crate) fn write_columns<Row>(
    out: &mut impl Write,
    columns: &[Column],
    max_width: Option<usize>,
    rows: &[Row],
    cells: impl Fn(&Row) -> Vec<String>,
) -> io::Result<Vec<String>> {
    let widths = widths(columns, rows, &cells);
    write_groups(out, columns, (widths, max_width), rows, |_| None, cells)
}

/// The width of each column: that of its widest cell or of its heading.
pub(crate) fn widths<Row>(
    columns: &[Column],
    rows: &[Row],
    cells: impl Fn(&Row) -> Vec<String>,
) -> Vec<usize> {
    let mut widths: Vec<_> = columns.iter().map(|column| column.heading.width()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(cells(row)) {
            *width = escape_controls(&cell).width().max(*width);
        }
    }
    widths
}

/// As [`write_columns`], for columns of known [`widths`]. Consecutive rows with the same `title` are a group; the
/// title is written on a line of its own before the first row of the group.
pub(crate) fn write_groups<Row>(
    out: &mut impl Write,
    columns: &[Column],
    (mut widths, max_width): (Vec<usize>, Option<usize>),
    rows: &[Row],
    title: impl Fn(&Row) -> Option<String>,
    cells: impl Fn(&Row) -> Vec<String>,
) -> io::Result<Vec<String>> {
    let max_width = max_width.unwrap_or(usize::MAX);
    let (shown, dropped) = select_columns(columns, &mut widths, max_width);
    let mut line = String::new();
    let mut last_title = None;
    for row in iter::once(None).chain(rows.iter().map(Some)) {
        let title = row.and_then(&title);
        if let Some(title) = title.as_ref().filter(|_| title != last_title) {
            writeln!(out, "{}", shortened(&escape_controls(title), max_width))?;
        }
        last_title = title;
        line.clear();
        let cells = match row {
            Some(row) => cells(row),
            None => columns.iter().map(|column| column.heading.clone()).collect(),
        };
        for (position, &index) in shown.iter().enumerate() {
            if position > 0 {
                line.push_str(GAP);
            }
            let cell = escape_controls(&cells[index]);
            let cell = shortened(&cell, widths[index]);
            push_padded(&mut line, &cell, widths[index], columns[index].is_number);
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(dropped.into_iter().map(|index| columns[index].heading.clone()).collect())
}

/// The space between two columns.
const GAP: &str = "  ";

/// Decides which columns are shown and which are dropped, and narrows one column if necessary.
pub(crate) fn select_columns(
    columns: &[Column],
    widths: &mut [usize],
    max_width: usize,
) -> (Vec<usize>, Vec<usize>) {
    let total = |shown: &[usize], widths: &[usize]| {
        let cells: usize = shown.iter().map(|&index| widths[index]).sum();
        cells + GAP.len() * shown.len().saturating_sub(1)
    };
    let mut shown: Vec<_> = (0..columns.len()).collect();
    let mut dropped = Vec::new();
    while total(&shown, widths) > max_width {
        let droppable = shown.iter().enumerate().filter(|(_, index)| columns[**index].drop_rank > 0);
        let Some((position, &index)) = droppable.max_by_key(|(_, index)| columns[**index].drop_rank) else {
            break;
        };
        let excess = total(&shown, widths) - max_width;
        let shrunk = shown.iter().find(|&&index| columns[index].can_shrink);
        if shrunk.is_some_and(|&shrunk| widths[shrunk] >= columns[index].shortens_to.saturating_add(excess)) {
            break;
        }
        dropped.push(shown.remove(position));
    }
    let excess = total(&shown, widths).saturating_sub(max_width);
    if let Some(&index) = shown.iter().find(|&&index| columns[index].can_shrink) {
        widths[index] = widths[index].min(widths[index].saturating_sub(excess).max(MIN_SHRUNK));
    }
    dropped.sort_unstable();
    (shown, dropped)
}

/// Shortens a text to `width` terminal columns; an ellipsis replaces its middle.
fn shortened(text: &str, width: usize) -> Cow<'_, str> {
    if text.width() <= width {
        return Cow::Borrowed(text);
    }
    let room = width.saturating_sub(1);
    // In a counter path, a short instance name is not shortened.
    let end_of_instance = text.rfind(r")\").map_or(0, |index| index + r")\".len());
    let instance = text[..end_of_instance].width();
    let instance = if instance <= room * 3 / 5 { instance } else { 0 };
    // The end of a text gets the larger part, because a counter path ends with the name of the counter.
    let max_start = instance + (room - instance) / 3;
    let (mut start, mut end) = (0, text.len());
    let mut used = 0;
    for character in text.chars() {
        used += character.width().unwrap_or_default();
        if used > max_start {
            break;
        }
        start += character.len_utf8();
    }
    let mut left = room - text[..start].width().min(room);
    for character in text.chars().rev() {
        let Some(rest) = left.checked_sub(character.width().unwrap_or_default()) else { break };
        left = rest;
        end -= character.len_utf8();
    }
    Cow::Owned(format!("{}{ELLIPSIS}{}", &text[..start], &text[end..]))
}

/// Writes a table without ruling lines, of any width. The columns from the index `first_number` are
/// right-aligned.
pub(crate) fn write_table<Row, const COLUMNS: usize>(
    out: &mut impl Write,
    header: [&str; COLUMNS],
    first_number: usize,
    rows: &[Row],
    cells: impl Fn(&Row) -> [String; COLUMNS],
) -> io::Result<()> {
    let column = |(index, heading): (usize, &str)| Column {
        heading: heading.to_owned(),
        is_number: index >= first_number,
        drop_rank: 0,
        can_shrink: false,
        shortens_to: usize::MAX,
    };
    let columns: Vec<_> = header.into_iter().enumerate().map(column).collect();
    write_columns(out, &columns, None, rows, |row| cells(row).into()).map(drop)
}

/// Formats a counter's value for a table: `-` if missing.
pub(crate) fn value_text(counter: &Counter, number: Option<f64>, form: NumberForm) -> String {
    match (number, form) {
        (Some(number), NumberForm::Units) => Unit::of(counter).text(number),
        (number, _) => value(counter.counter_type, number),
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

/// Appends a label and a text. The text is wrapped at words to `width`; continuation lines are indented to the start of
/// the text.
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
    fn wide_tables_lose_columns_by_rank_and_then_text() {
        let columns: Vec<_> = [("path", 0), ("a", 1), ("b", 0), ("c", 3), ("d", 2)]
            .into_iter()
            .enumerate()
            .map(|(index, (heading, drop_rank))| Column {
                heading: heading.to_owned(),
                is_number: index > 0,
                drop_rank,
                can_shrink: index == 0,
                shortens_to: usize::MAX,
            })
            .collect();
        let rows = [["プロセス with a quite long text", "12345", "12345", "12345", "12345"]];
        let written = |max_width: Option<usize>| {
            let mut out = Vec::new();
            let cells = |row: &[&str; 5]| row.map(str::to_owned).to_vec();
            let dropped = write_columns(&mut out, &columns, max_width, &rows, cells).unwrap();
            let text = String::from_utf8(out).unwrap();
            let last = text.lines().last().unwrap().to_owned();
            (last.split_whitespace().skip(6).map(str::len).collect::<Vec<_>>(), dropped.join(" "), last)
        };
        // 31 columns of text, and 7 for each number.
        for (width, count, dropped) in
            [(59, 4, ""), (58, 3, "c"), (52, 3, "c"), (51, 2, "c d"), (45, 2, "c d"), (44, 1, "a c d")]
        {
            let (numbers, found, line) = written(Some(width));
            assert_eq!((numbers.len(), &*found), (count, dropped), "{width}");
            assert!(line.width() <= width, "{line}");
        }
        for width in 23..38 {
            let (_, dropped, line) = written(Some(width));
            assert_eq!(dropped, "a c d");
            assert!(line.contains(ELLIPSIS) && line.ends_with("  12345"), "{line}");
            assert!((width - 1..=width).contains(&line.width()), "{width} {line}");
        }
        // A column is not narrowed further than MIN_SHRUNK.
        assert_eq!(written(Some(10)), written(Some(23)));
        assert_eq!(written(None).2.width(), 59);
    }

    #[test]
    fn text_is_shortened_for_important_columns() {
        let column = |heading: &str, drop_rank, shortens_to| Column {
            heading: heading.to_owned(),
            is_number: drop_rank > 0,
            drop_rank,
            can_shrink: drop_rank == 0,
            shortens_to,
        };
        // Column `b` is dropped before the path is shortened to fewer than 25 characters, and column `a` before 18.
        let columns =
            [column("path", 0, 0), column("a", 1, 18), column("b", 2, 25), column("c", 3, usize::MAX)];
        let shown = |max_width: usize| {
            let mut widths = vec![30, 5, 5, 5];
            let (shown, dropped) = select_columns(&columns, &mut widths, max_width);
            (widths[0], shown.len(), dropped)
        };
        assert_eq!(shown(51), (30, 4, vec![]));
        assert_eq!(shown(50), (30, 3, vec![3]));
        assert_eq!(shown(44), (30, 3, vec![3]));
        assert_eq!(shown(39), (25, 3, vec![3]));
        assert_eq!(shown(38), (30, 2, vec![2, 3]));
        assert_eq!(shown(36), (29, 2, vec![2, 3]));
        assert_eq!(shown(25), (18, 2, vec![2, 3]));
        assert_eq!(shown(24), (24, 1, vec![1, 2, 3]));
    }

    #[test]
    fn short_instances_of_paths_are_kept() {
        let path = r"\Process(bash#*)\IO Write Operations/sec";
        assert_eq!(shortened(path, 41), path);
        assert_eq!(shortened(path, 39), r"\Process(bash#*)\IO Writ…Operations/sec");
        assert_eq!(shortened(path, 30), r"\Process(bash#*)\IO W…ions/sec");
        let path = r"\Cgroup(/docker/0123456789abcdef0123456789abcdef)\Page Faults/sec";
        assert_eq!(shortened(path, 39), r"\Cgroup(/doc…789abcdef)\Page Faults/sec");
    }

    #[test]
    fn consecutive_rows_share_a_title() {
        let rows = [["a title of 21 columns", "1"], ["a title of 21 columns", "2"], ["b", "3"]];
        let column = |heading: &str| Column {
            heading: heading.to_owned(),
            is_number: true,
            drop_rank: 0,
            can_shrink: false,
            shortens_to: usize::MAX,
        };
        let columns = [column("name"), column("x")];
        let mut out = Vec::new();
        let cells = |row: &[&str; 2]| vec![row[1].to_owned(), "7".to_owned()];
        let widths = widths(&columns, &rows, cells);
        write_groups(&mut out, &columns, (widths, Some(12)), &rows, |row| Some(row[0].to_owned()), cells)
            .unwrap();
        let expected = ["name  x", "a t… columns", "   1  7", "   2  7", "b", "   3  7", ""];
        assert_eq!(String::from_utf8(out).unwrap(), expected.join("\n"));
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

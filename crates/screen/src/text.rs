//! Fitting strings into columns.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use tachograph_counters::AverageKind;
use tachograph_counters::set::Counter;
use tachograph_monitor::figures::{NONE, NumberForm, SEVERAL, escape_controls, grouped, shown, shown_steady};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The width of a string in columns, with control characters escaped.
pub(crate) fn width(text: &str) -> usize {
    escape_controls(text).width()
}

/// Truncates a string to `columns` columns; a mark at the end shows this. Control characters are escaped.
pub(crate) fn truncate(text: &str, columns: usize, is_unicode: bool) -> Cow<'_, str> {
    let text = escape_controls(text);
    if text.width() <= columns {
        return text;
    }
    let mut kept = String::new();
    let mut used = 1;
    for character in text.chars() {
        used += character.width().unwrap_or_default();
        if used > columns {
            break;
        }
        kept.push(character);
    }
    if columns > 0 {
        kept.push(if is_unicode { '…' } else { '~' });
    }
    kept.into()
}

/// Like [`cut`], but removes the beginning, because the end of a path is more informative.
pub(crate) fn truncate_start(text: &str, columns: usize, is_unicode: bool) -> Cow<'_, str> {
    let text = escape_controls(text);
    if text.width() <= columns {
        return text;
    }
    let mut used = 1;
    let mut begin = text.len();
    for (index, character) in text.char_indices().rev() {
        used += character.width().unwrap_or_default();
        if used > columns {
            break;
        }
        begin = index;
    }
    let mark = if columns == 0 {
        ""
    } else if is_unicode {
        "…"
    } else {
        "~"
    };
    format!("{mark}{}", &text[begin..]).into()
}

/// Formats a counter's value in at most `columns` columns. Raw numbers get fewer decimals if necessary, or an exponent.
/// If no form fits, returns a row of `#`.
pub(crate) fn figure_in(counter: &Counter, value: Option<f64>, columns: usize, form: NumberForm) -> String {
    format_shortened(shown(counter, value, form), value, columns, form)
}

/// Like [`figure_in`], with a fixed number of decimals if there is room, so that a figure that is updated does not
/// change its width.
pub(crate) fn steady_figure_in(
    counter: &Counter,
    value: Option<f64>,
    columns: usize,
    form: NumberForm,
) -> String {
    format_shortened(shown_steady(counter, value, form), value, columns, form)
}

fn format_shortened(text: String, value: Option<f64>, columns: usize, form: NumberForm) -> String {
    if text.width() <= columns {
        return text;
    }
    let Some(value) = value else { return NONE.to_owned() };
    let fits = |text: &String| text.width() <= columns;
    let shorter: Vec<String> = match form {
        NumberForm::Units => vec![text.replace(' ', "")],
        NumberForm::Raw => {
            let decimals = [1, 0].map(|decimals| grouped(&format!("{value:.decimals$}")));
            decimals.into_iter().chain([3, 1, 0].map(|decimals| format!("{value:.decimals$e}"))).collect()
        }
    };
    shorter.into_iter().find(fits).unwrap_or_else(|| "#".repeat(columns))
}

/// Marks an arithmetic average, which was computed from formatted values.
const ARITHMETIC: char = '*';

/// Formats an average like [`figure_in`], with a mark if it is arithmetic. `ends` are the smallest and the largest
/// value. For a counter of ids, returns the id, or `several` if `ends` differ.
pub(crate) fn average_in(
    counter: &Counter,
    average: Option<f64>,
    ends: [Option<f64>; 2],
    kind: AverageKind,
    columns: usize,
    form: NumberForm,
) -> String {
    if counter.is_identifier() && average.is_some() {
        return if ends[0] == ends[1] {
            figure_in(counter, ends[0], columns, form)
        } else {
            SEVERAL.to_owned()
        };
    }
    if kind != AverageKind::Arithmetic || average.is_none() {
        return figure_in(counter, average, columns, form);
    }
    let mut text = figure_in(counter, average, columns.saturating_sub(1), form);
    text.push(ARITHMETIC);
    text
}

/// Writes a string into the first line of an area, truncated at the right edge. Returns the column after it.
pub(crate) fn write_text(
    buffer: &mut Buffer,
    area: Rect,
    column: usize,
    text: &str,
    style: Style,
    is_unicode: bool,
) -> usize {
    let room = usize::from(area.width).saturating_sub(column);
    if room == 0 || area.height == 0 {
        return column;
    }
    let text = truncate(text, room, is_unicode);
    let x = area.x + column as u16;
    let (end, _) = buffer.set_stringn(x, area.y, &*text, room, style);
    usize::from(end - area.x)
}

/// Line `index` of an area; its height is 0 if it is outside the area.
pub(crate) fn row(area: Rect, index: usize) -> Rect {
    let index = index.min(usize::from(area.height)) as u16;
    Rect { y: area.y + index, height: u16::from(index < area.height), ..area }
}

#[cfg(test)]
mod tests {
    use tachograph_counters::CounterType;

    use super::*;

    #[test]
    fn texts_are_cut_to_columns() {
        assert_eq!(truncate("abc", 3, true), "abc");
        assert_eq!(truncate("abcd", 3, true), "ab…");
        assert_eq!(truncate("プロセッサ", 5, false), "プロ~");
        assert_eq!(truncate("abcd", 0, true), "");
        assert_eq!(truncate("a\u{1b}b", 20, true), r"a\u{1b}b");
        assert_eq!(truncate_start(r"\\vm\Set(i)\C", 6, true), r"…(i)\C");
    }

    #[test]
    fn figures_are_shortened() {
        let counter = Counter::new("Available Bytes", CounterType::RAWCOUNT, 1);
        let format = |value, columns| figure_in(&counter, Some(value), columns, NumberForm::Raw);
        assert_eq!(format(12_345_678.25, 14), "12,345,678.250");
        assert_eq!(format(12_345_678.25, 12), "12,345,678.2");
        assert_eq!(format(12_345_678.25, 10), "12,345,678");
        assert_eq!(format(12_345_678.25, 7), "1.235e7");
        assert_eq!(format(12_345_678.25, 2), "##");
        assert_eq!(figure_in(&counter, None, 2, NumberForm::Raw), "---");
        let average =
            |value, kind, columns| average_in(&counter, value, [None; 2], kind, columns, NumberForm::Raw);
        assert_eq!(average(Some(12_345_678.25), AverageKind::Arithmetic, 14), "12,345,678.2*");
        assert_eq!(average(Some(12_345_678.25), AverageKind::Raw, 14), "12,345,678.250");
        assert_eq!(average(None, AverageKind::Arithmetic, 14), "---");
        let id = Counter::new("ID Process", CounterType::RAWCOUNT, 1);
        let id_average = |ends| average_in(&id, Some(150.0), ends, AverageKind::Raw, 14, NumberForm::Units);
        assert_eq!(id_average([Some(100.0), Some(200.0)]), "several");
        assert_eq!(id_average([Some(150.0), Some(150.0)]), "150");
        let format = |value, columns| figure_in(&counter, Some(value), columns, NumberForm::Units);
        assert_eq!(format(12_345_678.25, 8), "11.8 MiB");
        assert_eq!(format(12_345_678.25, 7), "11.8MiB");
        assert_eq!(format(12_345_678.25, 6), "######");
    }
}

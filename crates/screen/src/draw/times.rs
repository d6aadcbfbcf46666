//! The times below a chart.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tachograph_counters::civil::FileTime;
use tachograph_monitor::Span;

use crate::app::App;
use crate::text::width;

/// The possible distances between labels, in units of 100 ns: round numbers of milliseconds, seconds, minutes, hours
/// and days.
const STEPS: [i64; 30] = {
    const MS: i64 = FileTime::PER_MILLISECOND;
    const S: i64 = FileTime::PER_SECOND;
    const M: i64 = 60 * S;
    const H: i64 = 60 * M;
    const D: i64 = 24 * H;
    [
        MS,
        10 * MS,
        100 * MS,
        200 * MS,
        500 * MS,
        S,
        2 * S,
        5 * S,
        10 * S,
        15 * S,
        20 * S,
        30 * S,
        M,
        2 * M,
        5 * M,
        10 * M,
        15 * M,
        20 * M,
        30 * M,
        H,
        2 * H,
        3 * H,
        6 * H,
        12 * H,
        D,
        2 * D,
        5 * D,
        10 * D,
        30 * D,
        365 * D,
    ]
};

/// The minimum number of columns between two labels.
const GAP: usize = 2;

impl App {
    /// Draws a line with labels at round times of a span; if there is no room for two, at its ends.
    pub(super) fn draw_times(&self, buffer: &mut Buffer, line: Rect, span: &Span, across: &str) {
        let dim = self.theme.dim();
        let columns = usize::from(line.width);
        self.write_text(buffer, line, 0, &across.repeat(columns), dim);
        let longest = width(&self.time_label(span.begin(), FileTime::PER_MILLISECOND));
        let per_column = |step: i64| columns as f64 * step as f64 / span.length().max(1) as f64;
        let fits = |step: &i64| {
            let room = width(&self.time_label(span.begin(), *step)).min(longest) + GAP;
            per_column(*step) >= room as f64
        };
        let Some(step) = STEPS.into_iter().find(fits) else { return };
        let labels = self.round_times(span, columns, step);
        let ends = [span.begin(), span.last_moment()].map(|time| self.time_of_day(time, false));
        let [begin, end] = &ends;
        if labels.len() < 2 && width(begin) + width(end) + GAP <= columns && step < FileTime::PER_DAY / 2 {
            self.write_text(buffer, line, 0, begin, dim);
            self.write_right_aligned(buffer, line, end, dim);
            return;
        }
        for (start, text) in labels {
            self.write_text(buffer, line, start, &text, dim);
        }
    }

    /// The labels at multiples of a step in local time, and their columns.
    fn round_times(&self, span: &Span, columns: usize, step: i64) -> Vec<(usize, String)> {
        let mut labels = Vec::new();
        let east = self.moment(span.begin()).local().since(span.begin());
        let mut local = (span.begin().0.saturating_add(east)).div_euclid(step).saturating_mul(step);
        while let Some(next) = local.checked_add(step) {
            local = next;
            let time = FileTime(local.saturating_sub(east));
            if time >= span.end() {
                break;
            }
            let text = self.time_label(time, step);
            let at = time.since(span.begin()) as f64 / span.length() as f64 * columns as f64;
            // A label is drawn only if it fits centred on its time.
            let half = width(&text) / 2;
            let start = (at as usize).checked_sub(half);
            if let Some(start) = start.filter(|start| start + width(&text) <= columns) {
                labels.push((start, text));
            }
        }
        labels
    }

    /// The label of a time, with no more digits than necessary. `step` is the time between labels.
    fn time_label(&self, time: FileTime, step: i64) -> String {
        const MINUTE: i64 = 60 * FileTime::PER_SECOND;
        let day = || self.date(time).and_then(|date| date.get(5..).map(str::to_owned)).unwrap_or_default();
        match step {
            _ if step >= FileTime::PER_DAY => day(),
            _ if step >= 12 * 60 * MINUTE => {
                format!("{} {}", day(), hours_and_minutes(&self.time_of_day(time, false)))
            }
            _ if step >= MINUTE => hours_and_minutes(&self.time_of_day(time, false)).to_owned(),
            _ => self.time_of_day(time, step < FileTime::PER_SECOND),
        }
    }
}

/// Hours and minutes of a time of day.
fn hours_and_minutes(text: &str) -> &str {
    text.get(..5).unwrap_or(text)
}

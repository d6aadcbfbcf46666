//! The visible time range, the cursor, and the selection.

use ratatui::layout::Rect;
use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::time_zone::TimeZone;
use tachograph_monitor::Span;

use super::{App, Request};

#[derive(Clone, Copy, Debug)]
pub(super) struct Drag {
    /// The time range of the column of characters where the button was pressed.
    pub(super) from: Span,
    pub(super) has_moved: bool,
}

/// Maximum number of time ranges that `Backspace` can return to.
const MAX_HISTORY: usize = 100;

impl App {
    pub(super) fn set_samples(&mut self, samples: Option<Span>, zone: TimeZone, requests: &mut Vec<Request>) {
        self.facts.zone = zone;
        let Some(samples) = samples else { return };
        let full_span = samples.in_milliseconds();
        self.full_span = Some(full_span);
        let requested = self.requested_span(samples);
        if requested.is_none() {
            self.messages.add("no samples in the requested time range: showing all", true);
        }
        self.span = Some(requested.unwrap_or(full_span));
        requests.push(Request::Figures);
    }

    /// The requested time range of the logs; `None` if it cannot contain samples.
    fn requested_span(&self, samples: Span) -> Option<Span> {
        // Rounded outward to whole milliseconds, which are short to display and to type.
        let full_span = samples.in_milliseconds();
        let to_utc =
            |time: Option<TimeArgument>| time.map(|time| self.facts.zone.argument_to_moment(time).utc);
        let begin = to_utc(self.requested_range.0).unwrap_or(full_span.begin());
        let end = to_utc(self.requested_range.1).unwrap_or(full_span.end());
        // The requested range can be empty; a `Span` cannot.
        let requested = (begin < end).then(|| Span::new(begin, end))?;
        requested.overlap(&samples)?;
        requested.overlap(&full_span)
    }

    /// Adjusts the chart after the logs have grown: a chart of the whole log or of the requested range is extended.
    pub(super) fn extend_samples(&mut self, samples: Span, requests: &mut Vec<Request>) {
        let (Some(before), Some(now)) = (self.full_span, self.span) else {
            return self.set_samples(Some(samples), self.facts.zone.clone(), requests);
        };
        let full_span = samples.in_milliseconds();
        self.full_span = Some(full_span);
        let span = if self.history.is_empty() {
            self.requested_span(samples).unwrap_or(full_span)
        } else if now == before {
            full_span
        } else {
            now.within(&full_span)
        };
        for earlier in self.history.iter_mut().filter(|earlier| **earlier == before) {
            *earlier = full_span;
        }
        if span != now {
            self.span = Some(span);
            requests.push(Request::Figures);
        }
    }

    pub(super) fn freeze(&mut self, requests: &mut Vec<Request>) {
        if self.frozen.take().is_some() {
            self.is_stepping = false;
            self.times.release();
            requests.extend([Request::Hold(None), Request::Figures]);
        } else if let Some(last) = self.times.newest().copied() {
            requests.push(self.freeze_at(last));
        }
    }

    pub(super) fn freeze_at(&mut self, last: FileTime) -> Request {
        self.frozen = Some(last);
        self.times.hold(|time| *time == last);
        Request::Hold(self.frozen)
    }

    /// Advances the frozen chart to the next sample, or requests a sample if there is no later one.
    pub(super) fn step_forward(&mut self, requests: &mut Vec<Request>) {
        let Some(frozen) = self.frozen else { return self.freeze(requests) };
        let Some(next) = self.times.iter().find(|time| **time > frozen).copied() else {
            self.is_stepping = true;
            requests.push(Request::Collect);
            return;
        };
        requests.extend([self.freeze_at(next), Request::Figures]);
    }

    pub(super) fn step_back(&mut self, requests: &mut Vec<Request>) {
        let Some(frozen) = self.frozen else { return self.freeze(requests) };
        match self.times.iter().rfind(|time| **time < frozen).copied() {
            Some(before) => requests.extend([self.freeze_at(before), Request::Figures]),
            None => self.messages.push_response("no older sample is kept", false),
        }
    }

    pub(super) fn show(&mut self, span: Span, requests: &mut Vec<Request>) {
        let (Some(full_span), Some(now)) = (self.full_span, self.span) else { return };
        // In whole milliseconds, so that the displayed range is exactly the range of the figures.
        let wide = span.in_milliseconds();
        let is_moved = span.length() == now.length();
        // Rounding must not change the length when the range is only moved.
        let end = if is_moved { wide.begin().saturating_add(now.length()) } else { wide.end() };
        let span = Span::new(wide.begin(), end).within(&full_span);
        if span == now {
            return;
        }
        if self.history.len() == MAX_HISTORY {
            self.history.remove(0);
        }
        self.history.push(now);
        self.span = Some(span);
        // Columns now have another width, so the cursor becomes a single moment: the time of the sample under it.
        let under = self.column_under_cursor().filter(|column| self.has_values(*column));
        let moment = under.map(|column| self.reduced.time_of(column));
        self.cursor = self.cursor.map(|cursor| {
            let moment = moment.unwrap_or_else(|| cursor.middle());
            Span::new(moment, moment)
        });
        self.cursor = self.cursor.filter(|cursor| span.contains(cursor.begin()));
        self.brush = (None, None);
        requests.push(Request::Figures);
    }

    pub(super) fn zoom_back(&mut self, requests: &mut Vec<Request>) {
        if let Some(before) = self.history.pop() {
            self.span = Some(before);
            requests.push(Request::Figures);
        }
    }

    /// Zooms around a moment, by default around the cursor, or else the middle.
    pub(super) fn zoom(&mut self, factor: f64, around: Option<FileTime>, requests: &mut Vec<Request>) {
        let Some(span) = self.span else { return };
        let share = around
            .or(self.cursor.map(|cursor| cursor.middle()))
            .map_or(0.5, |moment| share_of(&span, moment));
        let zoomed = span.zoomed(factor, share);
        if factor < 1.0 && zoomed.length() < FileTime::PER_MILLISECOND {
            return;
        }
        self.show(zoomed, requests);
    }

    pub(super) fn page_by(&mut self, share: f64, requests: &mut Vec<Request>) {
        if let Some(span) = self.span {
            self.show(span.moved(share), requests);
        }
    }

    /// The time range of the chart.
    pub(crate) fn shown_span(&self) -> Option<Span> {
        if self.reduced.columns > 0 { Some(self.reduced.span) } else { self.span }
    }

    /// Moves the cursor by this number of columns that have values, at most to the first or last one.
    pub(super) fn move_cursor(&mut self, steps: i64) {
        if self.shown_span().is_none() {
            return;
        }
        let with_values = |column: &usize| self.has_values(*column);
        let columns: Vec<_> = (0..self.reduced.columns.max(1)).filter(with_values).collect();
        let Some(last) = columns.len().checked_sub(1) else { return };
        let index = match self.column_under_cursor() {
            Some(under) => {
                // Under the cursor, there may be a column without values.
                let before = columns.partition_point(|column| *column < under) as i64;
                let is_between = columns.get(before as usize) != Some(&under);
                before + steps - i64::from(is_between && steps > 0)
            }
            None if steps > 0 => 0,
            None => last as i64,
        };
        let column = columns[index.clamp(0, last as i64) as usize];
        self.cursor = Some(self.reduced.span.column(column, self.reduced.columns));
    }

    /// Whether any series has a value in a column of figures.
    fn has_values(&self, column: usize) -> bool {
        self.values_in(column) > 0
    }

    /// The largest number of values that any series has in a column of figures.
    pub(crate) fn values_in(&self, column: usize) -> u64 {
        let columns = self.reduced.series.iter().filter_map(|series| series.columns.get(column));
        columns.map(|column| column.values).max().unwrap_or_default()
    }

    /// The column of figures under the cursor; if several are under it, the last one with values. A cursor at a single
    /// moment, such as a typed time, is usually between two samples: it is on the column of the later sample, because the
    /// values of that sample are for the interval that contains the moment.
    pub(crate) fn column_under_cursor(&self) -> Option<usize> {
        let (span, cursor) = (self.shown_span()?, self.cursor?);
        let column_of = |moment| span.column_of(moment, self.reduced.columns.max(1));
        let (first, last) = (column_of(cursor.begin())?, column_of(cursor.last_moment())?);
        if cursor.begin() != cursor.last_moment() {
            return (first..=last).rfind(|column| self.has_values(*column)).or(Some(first));
        }
        let with_values = |column: &usize| self.has_values(*column);
        let is_later = |column: &usize| self.reduced.time_of(*column) >= cursor.begin();
        let after = (first..self.reduced.columns).filter(with_values).find(is_later);
        after.or_else(|| (0..=first).rfind(with_values)).or(Some(first))
    }

    /// The time range of a column of characters in the focused plot.
    pub(super) fn column_span_at(&self, x: u16) -> Option<Span> {
        let (span, plot) = (self.shown_span()?, self.areas.focused_plot());
        let into = x.saturating_sub(plot.x).min(plot.width.saturating_sub(1));
        Some(span.column(usize::from(into), usize::from(plot.width)))
    }

    /// The column of characters in a plot that shows a moment.
    pub(crate) fn column_at(&self, plot: Rect, moment: FileTime) -> Option<u16> {
        let span = self.shown_span()?;
        let column = span.column_of(moment, usize::from(plot.width))?;
        Some(plot.x + column as u16)
    }

    pub(super) fn brush_at_cursor(&mut self, is_end: bool) {
        let Some(cursor) = self.cursor else {
            self.messages.push_response("no cursor: move it with Left and Right first", false);
            return;
        };
        if is_end {
            self.brush.1 = Some(cursor);
        } else {
            self.brush.0 = Some(cursor);
        }
        if self.selected_span().is_some() {
            self.messages.push_response("Enter zooms into the selection, Esc clears it", false);
        }
    }

    /// The selected time range, including the columns at both ends.
    pub(crate) fn selected_span(&self) -> Option<Span> {
        Some(self.brush.0?.joined(&self.brush.1?))
    }

    pub(super) fn zoom_into_brush(&mut self, requests: &mut Vec<Request>) {
        match self.selected_span() {
            Some(span) => {
                // Rounded outward to whole columns.
                let now = self.shown_span().unwrap_or(span);
                let count = self.reduced.columns.max(1);
                let column_of = |moment| now.column_of(moment, count);
                let begin =
                    column_of(span.begin()).map_or(span.begin(), |column| now.column_begin(column, count));
                let end = column_of(span.last_moment())
                    .map_or(span.end(), |column| now.column_begin(column + 1, count));
                self.show(Span::new(begin, end), requests);
            }
            None => self.messages.push_response("nothing selected: select a time range with [ and ]", false),
        }
    }

    pub(super) fn escape(&mut self, requests: &mut Vec<Request>) {
        if self.reading.is_some() {
            self.waiting_keys.clear();
            requests.push(Request::CancelReading);
            return;
        }
        // If there is nothing to clear, Esc shows all panels again.
        if self.cursor.is_none() && self.brush == (None, None) && self.panes.is_zoomed() {
            self.panes.set_zoomed(false);
        }
        self.cursor = None;
        self.brush = (None, None);
        self.drag = None;
    }
}

fn share_of(span: &Span, moment: FileTime) -> f64 {
    moment.since(span.begin()) as f64 / span.length() as f64
}

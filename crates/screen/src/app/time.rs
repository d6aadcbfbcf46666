//! The stretch of time that is shown, and the place in it.

use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::time_zone::TimeZone;
use tachograph_monitor::Span;

use super::{App, Request};

/// A stretch that the mouse is drawing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drag {
    /// The column of characters in which the button went down.
    pub(super) from: Span,
    pub(super) has_moved: bool,
}

/// More stretches than anybody goes back through.
const MOST_HISTORY: usize = 100;

impl App {
    pub(super) fn opened(&mut self, samples: Option<Span>, zone: TimeZone, requests: &mut Vec<Request>) {
        self.facts.zone = zone;
        let Some(samples) = samples else { return };
        let whole = samples.in_milliseconds();
        self.whole = Some(whole);
        let asked = self.asked_of(samples);
        if asked.is_none() {
            self.messages.say("there is no sample in this window of time: all is shown", true);
        }
        self.span = Some(asked.unwrap_or(whole));
        requests.push(Request::Figures);
    }

    /// The part of the logs that was asked for; `None` where none of their samples can be in it.
    fn asked_of(&self, samples: Span) -> Option<Span> {
        // Nothing lies outside, so that the ends may be what can be shown and written in few characters.
        let whole = samples.in_milliseconds();
        let of = |time: Option<TimeArgument>| time.map(|time| self.facts.zone.argument_to_moment(time).utc);
        let begin = of(self.asked.0).unwrap_or(whole.begin());
        let end = of(self.asked.1).unwrap_or(whole.end());
        // A span is never empty, and what was asked for may be.
        let asked = (begin < end).then(|| Span::new(begin, end))?;
        asked.overlap(&samples)?;
        asked.overlap(&whole)
    }

    /// The logs have more samples: what is shown whole, or as it was asked for, goes on with them.
    pub(super) fn grown(&mut self, samples: Span, requests: &mut Vec<Request>) {
        let (Some(before), Some(now)) = (self.whole, self.span) else {
            return self.opened(Some(samples), self.facts.zone.clone(), requests);
        };
        let whole = samples.in_milliseconds();
        self.whole = Some(whole);
        let span = if self.history.is_empty() {
            self.asked_of(samples).unwrap_or(whole)
        } else if now == before {
            whole
        } else {
            now.within(&whole)
        };
        for passed in self.history.iter_mut().filter(|passed| **passed == before) {
            *passed = whole;
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

    /// The picture ends with this sample from now on; what it needs is to stay.
    pub(super) fn freeze_at(&mut self, last: FileTime) -> Request {
        self.frozen = Some(last);
        self.times.hold(|time| *time == last);
        Request::Hold(self.frozen)
    }

    /// The next sample: one that was taken since, or else one that is taken now.
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
            None => self.messages.answer("this is the oldest sample that is kept", false),
        }
    }

    /// Shows another stretch of logs.
    pub(super) fn show(&mut self, span: Span, requests: &mut Vec<Request>) {
        let (Some(whole), Some(now)) = (self.whole, self.span) else { return };
        // The range that the screen tells is exactly the one that the figures are of.
        let wide = span.in_milliseconds();
        let is_moved = span.length() == now.length();
        // What is only moved grows by nothing, however often.
        let end = if is_moved { wide.begin().saturating_add(now.length()) } else { wide.end() };
        let span = Span::new(wide.begin(), end).within(&whole);
        if span == now {
            return;
        }
        if self.history.len() == MOST_HISTORY {
            self.history.remove(0);
        }
        self.history.push(now);
        self.span = Some(span);
        // What was a column has another width now.
        self.cursor = self.cursor.map(|cursor| Span::new(cursor.middle(), cursor.middle()));
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

    /// Zooms around a moment, or else around the cursor, or else the midst.
    pub(super) fn zoom(&mut self, factor: f64, around: Option<FileTime>, requests: &mut Vec<Request>) {
        let Some(span) = self.span else { return };
        let share = around
            .or(self.cursor.map(|cursor| cursor.middle()))
            .map_or(0.5, |moment| share_of(&span, moment));
        let zoomed = span.zoomed(factor, share);
        // Nothing is to be seen between two ticks of a clock.
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

    /// The stretch on the chart.
    pub(crate) fn shown_span(&self) -> Option<Span> {
        if self.reduced.columns > 0 { Some(self.reduced.span) } else { self.span }
    }

    pub(super) fn move_cursor(&mut self, columns: i64) {
        if self.shown_span().is_none() {
            return;
        }
        let count = self.reduced.columns.max(1);
        let now = match self.column_under_cursor() {
            Some(column) => column as i64 + columns,
            None if columns > 0 => 0,
            None => count as i64 - 1,
        };
        // A column in which nothing ends has nothing to tell: on to the next that has.
        let mut column = now.clamp(0, count as i64 - 1) as usize;
        while !self.has_values(column) {
            match column.checked_add_signed(columns.signum() as isize) {
                Some(next) if next < count => column = next,
                _ => break,
            }
        }
        self.cursor = Some(self.reduced.span.column(column, self.reduced.columns));
    }

    /// Whether any series has a value in a column of the figures.
    fn has_values(&self, column: usize) -> bool {
        let mut columns = self.reduced.series.iter().filter_map(|series| series.columns.get(column));
        columns.any(|column| column.values > 0)
    }

    /// The column of the figures that the cursor tells of: of several the last that has a value.
    pub(crate) fn column_under_cursor(&self) -> Option<usize> {
        let (span, cursor) = (self.shown_span()?, self.cursor?);
        let of = |moment| span.column_of(moment, self.reduced.columns.max(1));
        let (first, last) = (of(cursor.begin())?, of(cursor.last_moment())?);
        (first..=last).rfind(|column| self.has_values(*column)).or(Some(first))
    }

    /// The stretch of a column of characters of the plot.
    pub(super) fn stretch_at(&self, x: u16) -> Option<Span> {
        let (span, plot) = (self.shown_span()?, self.areas.plot);
        let into = x.saturating_sub(plot.x).min(plot.width.saturating_sub(1));
        Some(span.column(usize::from(into), usize::from(plot.width)))
    }

    /// The column of characters that a moment stands in.
    pub(crate) fn column_at(&self, moment: FileTime) -> Option<u16> {
        let (span, plot) = (self.shown_span()?, self.areas.plot);
        let column = span.column_of(moment, usize::from(plot.width))?;
        Some(plot.x + column as u16)
    }

    pub(super) fn brush_at_cursor(&mut self, is_end: bool) {
        let Some(cursor) = self.cursor else {
            self.messages.answer("Left and Right move a cursor; [ and ] take the time under it", false);
            return;
        };
        if is_end {
            self.brush.1 = Some(cursor);
        } else {
            self.brush.0 = Some(cursor);
        }
        if self.brushed().is_some() {
            self.messages.answer("Enter zooms into it, Esc forgets it", false);
        }
    }

    /// The stretch from one end that was set to the other, both of which belong to it.
    pub(crate) fn brushed(&self) -> Option<Span> {
        Some(self.brush.0?.joined(&self.brush.1?))
    }

    pub(super) fn zoom_into_brush(&mut self, requests: &mut Vec<Request>) {
        match self.brushed() {
            Some(span) => {
                // Whole columns: from where the first begins to where the last ends.
                let now = self.shown_span().unwrap_or(span);
                let count = self.reduced.columns.max(1);
                let of = |moment| now.column_of(moment, count);
                let begin = of(span.begin()).map_or(span.begin(), |column| now.column_begin(column, count));
                let end =
                    of(span.last_moment()).map_or(span.end(), |column| now.column_begin(column + 1, count));
                self.show(Span::new(begin, end), requests);
            }
            None => self.messages.answer("[ and ] choose a stretch of time", false),
        }
    }

    pub(super) fn escape(&mut self, requests: &mut Vec<Request>) {
        if self.reading.is_some() {
            requests.push(Request::CancelReading);
            return;
        }
        self.cursor = None;
        self.brush = (None, None);
        self.drag = None;
    }
}

fn share_of(span: &Span, moment: FileTime) -> f64 {
    moment.since(span.begin()) as f64 / span.length() as f64
}

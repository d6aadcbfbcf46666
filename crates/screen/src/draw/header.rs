//! The first line: the name of the machine or log, its state, the time range.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_monitor::figures::{grouped, shown};
use tachograph_monitor::{LegendItem, Span, are_of_several_machines};

use super::arrange::LIST_SIZE;
use super::{MIN_MESSAGE_AND_KEYS, NO_TIME};
use crate::app::App;
use crate::text::width;

/// The minimum width of a screen, in columns, on which two panels side by side list their counters below a heading.
const MIN_WIDTH_WITH_LISTS: u16 = 2 * LIST_SIZE.0;

/// The minimum number of columns for a log's name.
const MIN_NAME: usize = 8;

impl App {
    pub(super) fn draw_header(&self, buffer: &mut Buffer, area: Rect) {
        buffer.set_style(area, Style::new().add_modifier(Modifier::REVERSED));
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let range = self.shown_span().filter(|_| !self.facts.is_live && self.span.is_some());
        let range = range.map(|span| self.range(&span)).unwrap_or_default();
        // A long name is truncated to leave room for the time range.
        let room = usize::from(area.width).saturating_sub(width(&range) + 3).max(MIN_NAME);
        let name = crate::text::truncate(&self.facts.name, room, self.theme.is_unicode);
        let mut column = self.write_text(buffer, area, 1, &name, bold);
        let mut part = |text: &str, style: Style| {
            let fits = usize::from(area.width) >= column + 2 + width(text);
            if fits {
                column = self.write_text(buffer, area, column + 2, text, style);
            }
            fits
        };
        if let Some(title) = &self.title {
            part(title, Style::new());
        }
        let panel = self.panes.focused_pane().title();
        if self.panes.is_zoomed() && self.title.as_deref() != Some(&*panel) {
            part(&panel, Style::new());
        }
        // If a legend is shown, the time is next to the path of the selected counter.
        let has_legend = !self.panes.is_grid() && !self.is_table();
        if let Some(column) = self.column_under_cursor().filter(|_| !has_legend) {
            // A column can contain several samples; zooming in divides it.
            let average = match self.values_in(column) {
                0 | 1 => String::new(),
                values => format!(" (average of {values})"),
            };
            let time = self.time_of_day(self.reduced.time_of(column), false);
            part(&format!("cursor {time}{average}"), bold);
        }
        let has_headline = self.panes.is_grid();
        if has_headline && self.facts.is_live {
            self.headline_parts().iter().for_each(|text| {
                part(text, Style::new());
            });
        }
        if let Some(recording) = &self.recording {
            let mark = self.theme.either("●", "*");
            let samples = grouped(&recording.samples.to_string());
            let kilobytes = grouped(&recording.bytes.div_ceil(1024).to_string());
            part(
                &format!("{mark} {} {samples} samples, {kilobytes} KB", recording.file),
                self.theme.problem(),
            );
        }
        if let Some((read, all)) = self.reading {
            let percent = (read as f64 / all.max(1) as f64 * 100.0).min(100.0);
            part(&format!("reading {percent:.0} % (Esc cancels)"), bold);
        }
        if self.facts.is_live {
            if self.frozen.is_some() {
                part("FROZEN", bold);
            }
            let last = self.frozen.or(self.times.newest().copied());
            // Small panels have no heading that says which values they show.
            let what = if has_headline && area.width < MIN_WIDTH_WITH_LISTS { "last " } else { "" };
            let time = last.map(|last| format!("{what}{} ", self.time_of_day(last, false)));
            // If there is not enough room, the time takes precedence.
            let room = usize::from(area.width).saturating_sub(time.as_deref().map_or(0, width) + 1);
            for text in [format!("every {} s", self.interval.as_secs_f64()), self.points_text()] {
                if column + 2 + width(&text) <= room || area.width < MIN_MESSAGE_AND_KEYS {
                    column = self.write_text(buffer, area, column + 2, &text, Style::new());
                }
            }
            if let Some(text) = time.filter(|text| usize::from(area.width) > column + width(text) + 1) {
                self.write_right_aligned(buffer, area, &text, Style::new());
            }
        } else if let Some(span) = self.shown_span().filter(|_| !range.is_empty()) {
            // Without a cursor, panels show the averages over the range. The range takes precedence over the headline.
            let is_mean = self.panes.is_grid() && self.column_under_cursor().is_none();
            let texts = [format!("mean of {range}"), range, self.short_range(&span)];
            let mut texts = texts.iter().skip(usize::from(!is_mean));
            texts.any(|text| part(text, Style::new()));
            if has_headline {
                self.headline_parts().iter().for_each(|text| {
                    part(text, Style::new());
                });
            }
        }
    }

    /// Formats a time range in whole seconds, without the date: `18:50:17 - 19:00:17`.
    fn short_range(&self, span: &Span) -> String {
        let [begin, end] = [span.begin(), span.last_moment()].map(|time| self.time_of_day(time, false));
        format!("{begin} - {end}")
    }

    /// The parts of the first line: facts about the machine, and the values of the view's headline counters. A value
    /// without a label is appended to the part before it. Of several machines, each has one part, which begins with its name.
    fn headline_parts(&self) -> Vec<String> {
        let items = self.headline.sorted(&self.reduced);
        if items.is_empty() {
            return Vec::new();
        }
        let mut parts: Vec<String> =
            Some(self.facts.about.clone()).filter(|about| !about.is_empty()).into_iter().collect();
        if !are_of_several_machines(items.iter().copied()) {
            parts.extend(self.headline_values(&items));
            return parts;
        }
        let machine_of = |item: &LegendItem| item.info()?.machine.clone();
        let mut machines: Vec<_> = items.iter().filter_map(|item| machine_of(item)).collect();
        machines.sort_unstable();
        machines.dedup();
        for machine in machines {
            let own = items.iter().copied().filter(|item| machine_of(item).as_ref() == Some(&machine));
            let values = self.headline_values(&own.collect::<Vec<_>>()).join(" ");
            if !values.is_empty() {
                parts.push(format!("{machine} {values}"));
            }
        }
        parts
    }

    /// The values of headline counters with their labels.
    fn headline_values(&self, items: &[&LegendItem]) -> Vec<String> {
        let mut parts: Vec<String> = Vec::new();
        for (item, name) in items.iter().zip(self.headline.labels(items)) {
            let Some(series) = item.series(&self.reduced) else { continue };
            let value = match self.column_under_cursor() {
                Some(column) => self.drawn_value(series, column),
                None => series.summary.last,
            };
            let Some(value) = value else { continue };
            let value = shown(&series.info.counter, Some(value), self.numbers);
            match parts.last_mut().filter(|_| name.is_empty()) {
                Some(last) => *last = format!("{last} {value}"),
                None => parts.push(format!("{name} {value}").trim_start().to_owned()),
            }
        }
        parts
    }

    /// The time on the chart: `range 20 s` while there are few samples, later `range 100 s`.
    fn points_text(&self) -> String {
        let seconds = self.interval.as_secs_f64() * self.shown_points() as f64;
        let shown = match seconds {
            seconds if seconds <= 120.0 => format!("{} s", (seconds * 10.0).round() / 10.0),
            seconds if seconds < 7200.0 => format!("{} min", (seconds / 6.0).round() / 10.0),
            seconds => format!("{} h", (seconds / 360.0).round() / 10.0),
        };
        format!("range {shown}")
    }

    /// Formats a time range as the command line accepts it: `2013-02-19 18:50:17.844 - 19:00:17.841`.
    fn range(&self, span: &Span) -> String {
        let [begin, end] =
            [span.begin(), span.end()].map(|time| Some((self.date(time)?, self.exact_time(time)?)));
        match (begin, end) {
            (Some((date, begin)), Some((until, end))) if date == until => format!("{date} {begin} - {end}"),
            (None, None) => NO_TIME.to_owned(),
            (begin, end) => {
                let text = |time: Option<(String, String)>| {
                    time.map_or_else(|| NO_TIME.to_owned(), |(date, time)| format!("{date} {time}"))
                };
                format!("{} - {}", text(begin), text(end))
            }
        }
    }

    /// Formats a time like `14:05:31`, with as many decimals as needed. If the local time alone would parse as a
    /// different moment, because the clock was set back, the UTC offset is appended. `None` if the time is outside the
    /// calendar.
    fn exact_time(&self, utc: FileTime) -> Option<String> {
        let moment = self.moment(utc);
        let local = moment.local();
        local.to_civil()?;
        let mut text = self.time_of_day(utc, false);
        match local.0.rem_euclid(FileTime::PER_SECOND) {
            0 => {}
            part if part % FileTime::PER_MILLISECOND == 0 => {
                text += &format!(".{:03}", part / FileTime::PER_MILLISECOND);
            }
            part => text += &format!(".{part:07}"),
        }
        if self.facts.zone.argument_to_moment(TimeArgument::Local(local)).utc != utc {
            let east = -moment.bias_minutes;
            let (hours, minutes) = (east.abs() / 60, east.abs() % 60);
            text += &format!("{}{hours:02}:{minutes:02}", if east < 0 { '-' } else { '+' });
        }
        Some(text)
    }
}

//! Drawing the state into a buffer.

mod chart;
mod histogram;
mod legend;
mod overlay;
mod report;
mod tree;
mod value_bar;

use std::ops::Range;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_monitor::figures::grouped;
use tachograph_monitor::{ItemId, LegendColumn, Span, ViewKind};

use crate::app::{App, Overlay};
use crate::text::{put, row, width};

/// Where things were drawn, for the mouse.
#[derive(Clone, Debug, Default)]
pub(crate) struct Areas {
    pub(crate) whole: Rect,
    /// Where lines are drawn, without the axes.
    pub(crate) plot: Rect,
    /// The legend with its heading.
    pub(crate) legend: Rect,
    /// Which column of the legend stands where.
    pub(crate) headings: Vec<(LegendColumn, Range<u16>)>,
    /// The items in the rows of the legend.
    pub(crate) rows: Vec<ItemId>,
    /// Where the legend has more rows than room: the first and the last that are shown, and how many there are.
    pub(crate) hidden: Option<(usize, usize, usize)>,
    /// The rows of the tree.
    pub(crate) tree: Rect,
}

/// As much of a log's name is told also where there is little room.
const LEAST_NAME: usize = 8;

/// What stands for a time that no calendar has: a damaged log may hold any number.
const NO_TIME: &str = "-";

/// What is smaller than this has no room for a chart.
const LEAST: (u16, u16) = (24, 8);

/// The keys that the last line names, as far as there is room.
const LIVE_KEYS: [&str; 11] = [
    "?:keys",
    "q:quit",
    "a:add",
    "d:remove",
    "h:highlight",
    "x:hide",
    "=:fit",
    "s:sort",
    "g:view",
    "f:freeze",
    "r:record",
];

/// As [`LIVE_KEYS`], of logs.
const LOG_KEYS: [&str; 11] = [
    "?:keys",
    "q:quit",
    "a:add",
    "d:remove",
    "h:highlight",
    "=:fit",
    "g:view",
    "+-:zoom",
    "0:whole",
    "[ ]:select",
    "t:jump",
];

/// The parts of the screen from top to bottom.
struct Layout {
    header: Rect,
    body: Rect,
    path: Rect,
    value_bar: Rect,
    legend: Rect,
    footer: Rect,
}

impl Layout {
    fn new(area: Rect, items: usize, kind: ViewKind) -> Self {
        let has_path = area.height >= 18;
        let fixed = 3 + u16::from(has_path);
        let room = area.height.saturating_sub(fixed);
        let most = (room * 9 / 20).max(3).min(room);
        let wanted = u16::try_from(items.max(1)).unwrap_or(u16::MAX).saturating_add(1);
        let legend = if kind == ViewKind::Report { 0 } else { wanted.min(most) };
        let mut y = area.y;
        let mut part = |height: u16| {
            let part = Rect { y, height, ..area };
            y += height;
            part
        };
        Self {
            header: part(1),
            body: part(room - legend),
            path: part(u16::from(has_path)),
            value_bar: part(1),
            legend: part(legend),
            footer: part(1),
        }
    }
}

impl App {
    /// Draws everything.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let buffer = frame.buffer_mut();
        self.areas = Areas { whole: area, ..Areas::default() };
        if area.width < LEAST.0 || area.height < LEAST.1 {
            let mut number = 0;
            overlay::wrap("too small: q quits", usize::from(area.width), |text| {
                put(buffer, row(area, number), 0, &text, Style::new(), self.theme.is_unicode);
                number += 1;
            });
            return;
        }
        let layout = Layout::new(area, self.legend.items().len(), self.kind);
        self.draw_header(buffer, layout.header);
        match self.kind {
            ViewKind::Line => self.draw_chart(buffer, layout.body),
            ViewKind::Histogram => self.draw_histogram(buffer, layout.body),
            ViewKind::Report => self.draw_report(buffer, layout.body),
        }
        self.draw_path(buffer, layout.path);
        self.draw_legend(buffer, layout.legend);
        self.draw_value_bar(buffer, layout.value_bar);
        self.draw_footer(buffer, layout.footer);
        self.draw_overlay(frame);
    }

    /// Text in a line, in the characters that the terminal has.
    fn put(&self, buffer: &mut Buffer, area: Rect, column: usize, text: &str, style: Style) -> usize {
        put(buffer, area, column, text, style, self.theme.is_unicode)
    }

    /// Text at the right end of a line.
    fn put_right(&self, buffer: &mut Buffer, area: Rect, text: &str, style: Style) {
        let column = usize::from(area.width).saturating_sub(width(text));
        self.put(buffer, area, column, text, style);
    }

    fn draw_header(&self, buffer: &mut Buffer, area: Rect) {
        buffer.set_style(area, Style::new().add_modifier(Modifier::REVERSED));
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let range = self.shown_span().filter(|_| !self.facts.is_live && self.span.is_some());
        let range = range.map(|span| self.range(&span)).unwrap_or_default();
        // A long name makes room for the range.
        let room = usize::from(area.width).saturating_sub(width(&range) + 3).max(LEAST_NAME);
        let name = crate::text::cut(&self.facts.name, room, self.theme.is_unicode);
        let mut column = self.put(buffer, area, 1, &name, bold);
        let mut part = |text: &str, style: Style| {
            if usize::from(area.width) >= column + 2 + width(text) {
                column = self.put(buffer, area, column + 2, text, style);
            }
        };
        if let Some(recording) = &self.recording {
            let mark = self.theme.either("●", "*");
            let samples = grouped(&recording.samples.to_string());
            let kilobytes = grouped(&recording.bytes.div_ceil(1024).to_string());
            part(
                &format!("{mark} {} {samples} samples, {kilobytes} KB", recording.file),
                self.theme.trouble(),
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
            part(&format!("every {} s", self.interval.as_secs_f64()), Style::new());
            part(&format!("{} points", self.points), Style::new());
            if let Some(last) = self.frozen.or(self.times.newest().copied()) {
                let text = format!("{} ", self.time_of_day(last, false));
                if usize::from(area.width) > column + width(&text) + 1 {
                    self.put_right(buffer, area, &text, Style::new());
                }
            }
        } else if !range.is_empty() {
            part(&range, Style::new());
        }
    }

    /// From when to, and without, when: `2013-02-19 18:50:17.844 - 19:00:17.841`, each as a command reads it.
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

    /// `14:05:31`, with as many digits as it takes; where the clock was set back and shows it twice, with the offset from UTC.
    /// `None` where no calendar has it.
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

    fn draw_footer(&self, buffer: &mut Buffer, area: Rect) {
        if let Some((message, count)) = self.messages.news() {
            let style = if message.is_trouble { self.theme.trouble() } else { Style::new() };
            let more = if count > 1 { format!(" (+{}, ! shows all)", count - 1) } else { String::new() };
            let room = usize::from(area.width).saturating_sub(more.len());
            let text = crate::text::cut(&message.text, room, self.theme.is_unicode).into_owned();
            let column = self.put(buffer, area, 0, &text, style);
            self.put(buffer, area, column, &more, self.theme.dim());
            return;
        }
        let keys = if self.facts.is_live { &LIVE_KEYS } else { &LOG_KEYS };
        let mut column = 0;
        for key in keys.iter() {
            if column + key.len() > usize::from(area.width) {
                break;
            }
            column = self.put(buffer, area, column, key, self.theme.dim()) + 1;
        }
    }

    /// `14:05:31`, with milliseconds where they are wanted.
    pub(crate) fn time_of_day(&self, utc: FileTime, has_milliseconds: bool) -> String {
        match self.moment(utc).local().to_civil() {
            None => NO_TIME.to_owned(),
            Some(at) => {
                let text = format!("{:02}:{:02}:{:02}", at.hour(), at.minute(), at.second());
                if has_milliseconds { format!("{text}.{:03}", at.millisecond()) } else { text }
            }
        }
    }

    /// `2013-02-19`; `None` where no calendar has it.
    pub(crate) fn date(&self, utc: FileTime) -> Option<String> {
        let at = self.moment(utc).local().to_civil()?;
        Some(format!("{:04}-{:02}-{:02}", at.year(), at.month(), at.day()))
    }

    /// What stands where a chart would, while there is none.
    fn draw_nothing(&self, buffer: &mut Buffer, area: Rect) -> bool {
        let text = if self.legend.is_empty() && self.reading.is_none() {
            "no counter is chosen: a adds some"
        } else if self.reading.is_some() && self.reduced.series.is_empty() {
            "reading ..."
        } else if self.reduced.series.is_empty() && self.legend.items().is_empty() {
            "nothing there (yet) of the chosen counters"
        } else {
            return false;
        };
        let line = row(area, usize::from(area.height) / 2);
        let column = usize::from(area.width).saturating_sub(text.len()) / 2;
        self.put(buffer, line, column, text, self.theme.dim());
        true
    }

    fn draw_overlay(&mut self, frame: &mut Frame<'_>) {
        // Taken out while it is drawn, since it says where its rows are.
        let mut overlay = std::mem::replace(&mut self.overlay, Overlay::None);
        match &mut overlay {
            Overlay::None => {}
            Overlay::Tree(tree) => self.draw_tree(frame, tree),
            Overlay::Help(top) => self.draw_help(frame, top),
            Overlay::Messages(top) => self.draw_messages(frame, top),
            Overlay::Prompt(prompt) => self.draw_prompt(frame, prompt),
        }
        self.overlay = overlay;
    }
}

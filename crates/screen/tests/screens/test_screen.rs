//! A screen on a test terminal, with generated figures.

use std::path::Path;
use std::sync::Arc;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, MouseEvent, MouseEventKind};
use ratatui::style::Style;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::PathPattern;
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance};
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::{CounterType, Summary};
use tachograph_monitor::{
    Catalogue, Chosen, Column, CounterEntry, Reduced, ReducedSeries, SeriesId, SeriesInfo, SetEntry, Span,
    View,
};
use tachograph_screen::{App, Facts, Input, Request, Theme};

use crate::boards::Samples;

/// 2024-03-05 09:00:00 UTC.
pub(crate) const START: FileTime = FileTime(133_541_028_000_000_000);

/// A counter with generated values.
pub(crate) struct Line {
    pub(crate) set: &'static str,
    pub(crate) instance: Option<&'static str>,
    pub(crate) counter: &'static str,
    pub(crate) scale: i32,
    /// The value of the n-th interval.
    pub(crate) value: fn(u64) -> Option<f64>,
}

/// Four typical counters.
pub(crate) const LINES: [Line; 4] = [
    Line {
        set: "Processor Information",
        instance: Some("_Total"),
        counter: "% Processor Time",
        scale: 0,
        value: |second| Some(50.0 + 45.0 * (second as f64 / 8.0).sin()),
    },
    Line {
        set: "Processor Information",
        instance: Some("0,0"),
        counter: "% Processor Time",
        scale: 0,
        // This counter has a gap.
        value: |second| (!(30..40).contains(&second)).then_some((second % 20) as f64),
    },
    Line {
        set: "Memory",
        instance: None,
        counter: "Available Bytes",
        scale: -8,
        value: |second| Some(8e9 - second as f64 * 1e7),
    },
    Line {
        set: "PhysicalDisk",
        instance: Some("_Total"),
        counter: "Avg. Disk sec/Read",
        scale: 3,
        value: |second| Some(if second.is_multiple_of(10) { 0.02 } else { 0.0004 }),
    },
];

/// The generated counters reduced to columns; one value per second.
pub(crate) fn reduced(lines: &[Line], span: Span, columns: usize, seconds: u64) -> Reduced {
    let series = lines.iter().enumerate().map(|(index, line)| {
        let counter_type = match line.counter {
            name if name.ends_with("/sec") => CounterType::BULK_COUNT,
            name if name.contains("sec/") => CounterType::AVERAGE_TIMER,
            _ => CounterType::RAWCOUNT,
        };
        let mut counter = Counter::new(line.counter, counter_type, 1);
        counter.default_scale = line.scale;
        let mut set = CounterSet::new("WEB1", line.set, Extent::Table);
        set.has_instances = line.instance.is_some();
        let instance = line.instance.map(|name| Arc::new(Instance::new(None, name, 0)));
        let path = set.path(instance.as_deref().unwrap_or(&Instance::none()), &counter);
        let info = SeriesInfo {
            id: SeriesId(index as u64),
            path,
            machine: Some("WEB1".into()),
            set: Arc::new(set),
            counter,
            instance,
        };
        let mut screen = vec![Column::default(); columns];
        let mut all: Vec<(FileTime, f64)> = Vec::new();
        let mut sums = vec![0.0; columns];
        for second in 0..seconds {
            let at = START.saturating_add(second as i64 * FileTime::PER_SECOND);
            let Some(index) = span.column_of(at, columns) else { continue };
            let column = &mut screen[index];
            let Some(value) = (line.value)(second) else {
                column.errors += 1;
                continue;
            };
            column.values += 1;
            sums[index] += value;
            column.average = Some(sums[index] / column.values as f64);
            column.minimum = Some(column.minimum.map_or(value, |minimum: f64| minimum.min(value)));
            column.maximum = Some(column.maximum.map_or(value, |maximum: f64| maximum.max(value)));
            column.last = Some(value);
            column.at = Some(at);
            all.push((at, value));
        }
        let values = || all.iter().map(|(_, value)| *value);
        let of = |time: FileTime| Moment { utc: time, bias_minutes: -60 };
        let summary = Summary {
            values: all.len() as u64,
            intervals: all.len() as u64,
            last: values().next_back(),
            average: (!all.is_empty()).then(|| values().sum::<f64>() / all.len() as f64),
            minimum: values().reduce(f64::min),
            maximum: values().reduce(f64::max),
            first_time: all.first().map(|(at, _)| of(*at)),
            last_time: all.last().map(|(at, _)| of(*at)),
            ..Summary::default()
        };
        ReducedSeries { info: Arc::new(info), summary, columns: screen }
    });
    Reduced { span, columns, series: series.collect() }
}

/// A screen on a test terminal.
pub(crate) struct TestScreen {
    pub(crate) app: App,
    pub(crate) terminal: Terminal<TestBackend>,
    lines: &'static [Line],
    seconds: u64,
    pub(crate) requests: Vec<Request>,
    /// The number of instances of each set.
    pub(crate) instances: usize,
    /// Provides samples and figures that replace the generated ones.
    pub(crate) board: Option<Samples>,
    /// The figures that the screen has.
    pub(crate) figures: Option<Reduced>,
}

impl TestScreen {
    /// A live screen after n seconds.
    pub(crate) fn live(size: (u16, u16), seconds: u64, theme: Theme) -> Self {
        Self::new(true, size, seconds, theme, &LINES)
    }

    /// A log of n seconds.
    pub(crate) fn log(size: (u16, u16), seconds: u64) -> Self {
        Self::new(false, size, seconds, Theme::default(), &LINES)
    }

    pub(crate) fn new(
        is_live: bool,
        size: (u16, u16),
        seconds: u64,
        theme: Theme,
        lines: &'static [Line],
    ) -> Self {
        let counters = lines.iter().map(|line| {
            let instance = line.instance.map(|name| format!("({name})")).unwrap_or_default();
            let path = format!(r"\{}{instance}\{}", line.set, line.counter);
            Chosen::new(PathPattern::parse(&path).expect("a path"))
        });
        let view = View::of_counters(counters.collect());
        Self::with_view(is_live, size, seconds, theme, lines, view)
    }

    /// A screen with a view.
    pub(crate) fn with_view(
        is_live: bool,
        size: (u16, u16),
        seconds: u64,
        theme: Theme,
        lines: &'static [Line],
        view: View,
    ) -> Self {
        let name = if is_live { "web1" } else { "web1.blg" };
        let zone = TimeZone::fixed("W. Europe Standard Time", -60);
        let about = if is_live { "2 processors" } else { "" }.to_owned();
        let facts =
            Facts { is_live, name: name.to_owned(), about, zone: zone.clone(), has_properties: is_live };
        let mut screen = Self {
            app: App::new(facts, view, theme),
            terminal: Terminal::new(TestBackend::new(size.0, size.1)).expect("a buffer"),
            lines,
            seconds,
            requests: Vec::new(),
            instances: 2,
            board: None,
            figures: None,
        };
        if is_live {
            for second in 0..seconds {
                screen.input(Input::Collected(START.saturating_add(second as i64 * FileTime::PER_SECOND)));
            }
        } else {
            let last = START.saturating_add((seconds as i64 - 1) * FileTime::PER_SECOND);
            screen.input(Input::Opened(Some(Span::of_samples(START, last)), zone));
        }
        screen.draw();
        screen
    }

    /// Processes an input and performs the requests.
    pub(crate) fn input(&mut self, input: Input) {
        let requests = self.app.update(input);
        self.perform(requests);
    }

    pub(crate) fn perform(&mut self, requests: Vec<Request>) {
        for request in requests {
            if self.perform_by_board(&request) {
                continue;
            }
            match request {
                Request::Figures => {
                    if let Some((span, columns)) = self.app.required_figures() {
                        let figures = reduced(self.lines, span, columns, self.seconds);
                        self.input(Input::Figures(figures));
                    }
                }
                Request::Sets => self.input(Input::Sets(sets().into())),
                Request::Instances(set) => {
                    let instances = FixedCatalogue(self.instances).instances(&set);
                    self.input(Input::Instances(set, instances));
                }
                Request::Count(paths) => {
                    let lines = FixedCatalogue(self.instances).count(&paths, &self.app.paths());
                    self.input(Input::Counted(paths, lines));
                }
                other => self.requests.push(other),
            }
        }
    }

    pub(crate) fn press(&mut self, code: KeyCode) {
        self.input(Input::Terminal(Event::Key(KeyEvent::new(code, KeyModifiers::NONE))));
    }

    /// Types characters.
    pub(crate) fn type_in(&mut self, text: &str) {
        text.chars().for_each(|character| self.press(KeyCode::Char(character)));
    }

    pub(crate) fn mouse(&mut self, kind: MouseEventKind, (column, row): (u16, u16)) {
        let mouse = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
        self.input(Input::Terminal(Event::Mouse(mouse)));
    }

    pub(crate) fn draw(&mut self) {
        while self.app.take_changed() {
            let app = &mut self.app;
            self.terminal.draw(|frame| app.draw(frame)).expect("drawn");
            let requests = self.app.after_drawing();
            self.perform(requests);
        }
    }

    /// The lines of the screen, without trailing spaces.
    pub(crate) fn text(&mut self) -> String {
        self.draw();
        let buffer = self.terminal.backend().buffer();
        let mut text = String::new();
        for y in 0..buffer.area.height {
            let mut line = String::new();
            let mut skip = 0;
            for x in 0..buffer.area.width {
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                let symbol = buffer[(x, y)].symbol();
                line.push_str(symbol);
                skip = unicode_width::UnicodeWidthStr::width(symbol).saturating_sub(1);
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// The style of the first character of a text on the screen.
    #[track_caller]
    pub(crate) fn style_of(&mut self, what: &str) -> Style {
        let text = self.text();
        let found = text.lines().enumerate().find_map(|(y, line)| Some((line.find(what)?, y, line)));
        let (start, y, line) = found.unwrap_or_else(|| panic!("no '{what}' in\n{text}"));
        let x = unicode_width::UnicodeWidthStr::width(&line[..start]);
        self.terminal.backend().buffer()[(x as u16, y as u16)].style()
    }

    pub(crate) fn line(&mut self, index: usize) -> String {
        self.text().lines().nth(index).unwrap_or_default().to_owned()
    }

    /// The first line that contains a string.
    #[track_caller]
    pub(crate) fn line_with(&mut self, what: &str) -> String {
        let text = self.text();
        let found = text.lines().find(|line| line.contains(what));
        found.unwrap_or_else(|| panic!("no '{what}' in\n{text}")).to_owned()
    }

    /// Compares the screen with an expected one.
    #[track_caller]
    pub(crate) fn assert_matches(&mut self, name: &str) {
        let text = self.text();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/screens/shown/{name}.txt"));
        if std::env::var_os("TACHO_UPDATE").is_some() {
            std::fs::write(&file, &text).expect("written");
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(text == expected, "{name} is\n{text}\nexpected:\n{expected}");
    }
}

/// A catalogue with n instances of each set.
struct FixedCatalogue(usize);

impl Catalogue for FixedCatalogue {
    fn sets(&self) -> Vec<SetEntry> {
        sets()
    }

    fn instances(&self, _: &str) -> Result<Vec<String>, String> {
        if self.0 == 0 {
            return Ok(Vec::new());
        }
        let others = (0..self.0 - 1).map(|index| format!("0,{index}"));
        Ok(std::iter::once("_Total".to_owned()).chain(others).collect())
    }
}

/// The sets of the catalogue.
pub(crate) fn sets() -> Vec<SetEntry> {
    let entry = |name: &str, help: &str| CounterEntry {
        counter: Counter::new(name, CounterType::RAWCOUNT, 1),
        help: help.into(),
    };
    let set = |name: &str, has_instances, help: &str, counters: Vec<CounterEntry>| SetEntry {
        machine: Some("WEB1".into()),
        name: name.into(),
        help: help.into(),
        has_instances,
        counters,
    };
    vec![
        set(
            "Memory",
            false,
            "Memory of the machine.",
            vec![
                entry("Available Bytes", "Bytes that programs can allocate at once."),
                entry("Cache Bytes", "Bytes of the page cache."),
            ],
        ),
        set(
            "Processor Information",
            true,
            "Processors.",
            vec![
                entry("% Processor Time", "Share of the time in which the processor does not idle."),
                entry("% User Time", "Share of the time in which it runs programs."),
            ],
        ),
    ]
}

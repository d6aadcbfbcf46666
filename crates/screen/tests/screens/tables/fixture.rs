//! Processes and disks in tables on a screen.

use std::sync::Arc;

use ratatui::crossterm::event::KeyCode;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance};
use tachograph_counters::{CounterType, Summary};
use tachograph_monitor::{
    CounterEntry, ProcessProperties, Reduced, ReducedSeries, SeriesId, SeriesInfo, SetEntry, Span, View,
};
use tachograph_screen::{Input, Request, TableId, Theme};

use crate::test_screen::{LINES, START, TestScreen};
/// A process: name, index, id, parent, processor time in percent, memory in bytes, bytes written per second.
pub(super) type Process = (&'static str, u32, u32, u32, Option<f64>, f64, f64);

pub(super) const PROCESSES: [Process; 12] = [
    ("Idle", 0, 0, 0, Some(101.5), 0.0, 0.0),
    ("systemd", 0, 1, 0, Some(0.0), 19.6 * 1_048_576.0, 0.0),
    ("sshd", 0, 410, 1, Some(0.0), 6.2 * 1_048_576.0, 0.0),
    ("bash", 0, 977, 410, Some(0.25), 4.6 * 1_048_576.0, 0.0),
    ("cargo", 0, 1201, 977, Some(1.0), 72.3 * 1_048_576.0, 819.0),
    ("rustc", 0, 1300, 1201, Some(98.25), 1.43 * 1_073_741_824.0, 5_253_000.0),
    ("rustc", 1, 1301, 1201, Some(64.5), 390.0 * 1_048_576.0, 1_160_000.0),
    ("postgres", 0, 700, 1, Some(33.1), 22.9 * 1_073_741_824.0, 28_812_345.0),
    ("日本語の名前", 0, 800, 1, None, 1_048_576.0, 0.0),
    ("evil\u{1b}[2J", 0, 801, 1, Some(12.0), 1_048_576.0, 0.0),
    ("_Exited", 0, 0, 0, Some(1.4), 0.0, 0.0),
    ("_Total", 0, 0, 0, Some(312.0), 24.8 * 1_073_741_824.0, 35_226_164.0),
];

pub(super) const COUNTERS: [(&str, CounterType); 6] = [
    ("% Processor Time", CounterType::TIMER_100NS),
    ("Working Set", CounterType::LARGE_RAWCOUNT),
    ("Storage Write Bytes/sec", CounterType::BULK_COUNT),
    ("ID Process", CounterType::RAWCOUNT),
    ("Creating Process ID", CounterType::RAWCOUNT),
    ("Thread Count", CounterType::RAWCOUNT),
];

/// The figures of the processes over a span; `factor` multiplies the processor time of `bash`.
pub(super) fn figures(span: Span, factor: f64, processes: &[Process]) -> Reduced {
    let mut set = CounterSet::new("WEB1", "Process", Extent::Table);
    set.counters = COUNTERS.iter().map(|(name, kind)| Counter::new(*name, *kind, 10_000_000)).collect();
    let set = Arc::new(set);
    let mut series = Vec::new();
    for (index, counter) in set.counters.iter().enumerate() {
        for (row, process) in processes.iter().enumerate() {
            let &(name, number, id, parent, cpu, memory, written) = process;
            let value = match index {
                0 => cpu.map(|cpu| if name == "bash" { cpu * factor } else { cpu }),
                1 => Some(memory),
                2 => Some(written),
                3 => Some(f64::from(id)),
                4 => Some(f64::from(parent)),
                _ => Some(f64::from(id % 7 + 1)),
            };
            let instance = Arc::new(Instance::new(None, name, number));
            let at = Moment { utc: span.last_moment(), bias_minutes: -60 };
            let summary = Summary {
                values: value.map_or(0, |_| 1),
                intervals: value.map_or(0, |_| 1),
                average: value,
                last: value,
                minimum: value,
                maximum: value,
                first_time: Some(at),
                last_time: Some(at),
                ..Summary::default()
            };
            let info = SeriesInfo {
                id: SeriesId((index * 1000 + row) as u64),
                path: set.path(&instance, counter),
                machine: Some("WEB1".into()),
                set: Arc::clone(&set),
                counter: counter.clone(),
                instance: Some(instance),
            };
            series.push(ReducedSeries { info: Arc::new(info), summary, columns: Vec::new() });
        }
    }
    Reduced { span, columns: 1, series }
}

pub(super) fn sets() -> Arc<[SetEntry]> {
    let entry = |name: &str, counters: &[(&str, CounterType)]| SetEntry {
        machine: Some("WEB1".into()),
        name: name.into(),
        help: "".into(),
        has_instances: true,
        counters: counters
            .iter()
            .map(|(name, kind)| CounterEntry { counter: Counter::new(*name, *kind, 1), help: "".into() })
            .collect(),
    };
    let disk = [("% Disk Time", CounterType::TIMER_100NS)];
    [entry("PhysicalDisk", &disk), entry("Process", &COUNTERS), entry("Processor Information", &disk)].into()
}

/// A screen with the table of the processes.
pub(super) struct Tables {
    pub(super) screen: TestScreen,
    pub(super) factor: f64,
    pub(super) processes: Vec<Process>,
    pub(super) second: i64,
    /// The tables whose figures were requested, in order.
    pub(super) tables: Vec<TableId>,
}

impl Tables {
    pub(super) fn live(size: (u16, u16), theme: Theme) -> Self {
        let screen = TestScreen::live(size, 0, theme);
        Self::open(screen)
    }

    pub(super) fn log(size: (u16, u16)) -> Self {
        let mut tables = Self::open(TestScreen::log(size, 600));
        tables.screen.input(Input::Reading(None));
        tables.answer();
        tables
    }

    /// A live screen with a view.
    pub(super) fn of_view(size: (u16, u16), text: &str) -> Self {
        let view = View::parse(text).expect("a view");
        let screen = TestScreen::with_view(true, size, 0, Theme::default(), &LINES, view);
        let mut tables = Self::new(screen);
        tables.collect();
        tables.collect();
        tables
    }

    pub(super) fn new(screen: TestScreen) -> Self {
        let (processes, tables) = (PROCESSES.to_vec(), Vec::new());
        let mut tables = Self { screen, factor: 1.0, processes, second: 0, tables };
        tables.screen.input(Input::Sets(sets()));
        tables
    }

    pub(super) fn open(screen: TestScreen) -> Self {
        let mut tables = Self::new(screen);
        tables.type_in("4");
        tables.collect();
        tables.collect();
        tables
    }

    /// The table whose figures were requested last.
    pub(super) fn last(&self) -> TableId {
        self.tables.last().copied().unwrap_or_default()
    }

    pub(super) fn collect(&mut self) {
        self.second += 1;
        self.screen.input(Input::Collected(START.saturating_add(self.second * FileTime::PER_SECOND)));
        self.answer();
    }

    pub(super) fn press(&mut self, code: KeyCode) {
        self.screen.press(code);
        self.answer();
    }

    pub(super) fn type_in(&mut self, text: &str) {
        text.chars().for_each(|character| self.press(KeyCode::Char(character)));
    }

    /// Performs the requests of the table.
    pub(super) fn answer(&mut self) {
        self.screen.draw();
        while let Some(index) = self
            .screen
            .requests
            .iter()
            .position(|it| matches!(it, Request::Table(_) | Request::Properties(..)))
        {
            let request = self.screen.requests.remove(index);
            match request {
                Request::Table(id) => {
                    self.tables.push(id);
                    let Some((span, _)) = self.screen.app.required_table(id) else { continue };
                    let figures = figures(span, self.factor, &self.processes);
                    self.screen.input(Input::Table(id, figures.into()));
                }
                Request::Properties(id, wanted) => {
                    let read = wanted.into_iter().map(|(row, id)| (row, properties(id))).collect();
                    self.screen.input(Input::Properties(id, read));
                }
                _ => {}
            }
            self.screen.draw();
        }
    }

    pub(super) fn text(&mut self) -> String {
        self.answer();
        self.screen.text()
    }

    /// The ids in the order of the lines; the selected one in brackets.
    pub(super) fn ids(&mut self) -> Vec<String> {
        let text = self.text();
        let rows = text.lines().skip(2).take_while(|line| !line.starts_with('─'));
        let id = |line: &str| {
            let id = line.split_whitespace().find(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
            id.map(|id| if line.starts_with('▸') { format!("[{id}]") } else { id.to_owned() })
        };
        rows.filter_map(id).collect()
    }

    #[track_caller]
    pub(super) fn assert_matches(&mut self, name: &str) {
        self.answer();
        self.screen.assert_matches(name);
    }
}

pub(super) fn properties(id: u32) -> Option<ProcessProperties> {
    let command = match id {
        700 => "/usr/lib/postgresql/16/bin/postgres -D /var/lib/postgresql/16/main",
        1300 | 1301 => "rustc --crate-name tacho --edition=2024 crates/tacho/src/main.rs",
        801 => "evil\u{1b}]0;title\u{7}",
        800 => return None,
        _ => "",
    };
    Some(ProcessProperties {
        state: Some(match id {
            1300 => 'R',
            977 => 'D',
            _ => 'S',
        }),
        user: Some(if id == 700 { "postgres".into() } else { "root".into() }),
        cgroup: Some(if id > 900 { "/user.slice".into() } else { "/system.slice".into() }),
        command: Some(command.into()),
        parent: None,
        oom_score: Some(667),
    })
}

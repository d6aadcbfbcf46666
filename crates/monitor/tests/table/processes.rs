//! Logs of processes whose raw values the tests choose.

use std::ops::ControlFlow;
use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, InstanceTable, TitleIndexes};
use tachograph_counters::{CounterType, RawValue};
use tachograph_monitor::{Board as _, Catalogue as _, LogBoard, Span, TableFigures, TableLayout, TableModel};

use crate::fixture::{START, write_blg};

const SECOND: i64 = FileTime::PER_SECOND;

/// A process in one sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process {
    pub(crate) name: &'static str,
    /// The `#n` of its name.
    pub(crate) index: u32,
    pub(crate) id: i64,
    pub(crate) parent: i64,
    /// When it started, in seconds after the first sample.
    pub(crate) started: i64,
    /// Its processor time so far, in milliseconds.
    pub(crate) busy_ms: i64,
    pub(crate) memory: i64,
}

/// A process that was started long before the first sample.
pub(crate) const fn process(name: &'static str, id: i64, parent: i64, busy_ms: i64, memory: i64) -> Process {
    Process { name, index: 0, id, parent, started: -1000, busy_ms, memory }
}

/// A log with a sample per second.
pub(crate) struct ProcessLog {
    folder: tempfile::TempDir,
    table: InstanceTable,
    set: Arc<CounterSet>,
    samples: Vec<Sample>,
}

impl ProcessLog {
    pub(crate) fn new() -> Self {
        let mut set = CounterSet::new("HOST", "Process", Extent::Table);
        set.indexes = Some(TitleIndexes { name: 4000, help: 0 });
        set.counters = [
            ("% Processor Time", CounterType::TIMER_100NS),
            ("Working Set", CounterType::LARGE_RAWCOUNT),
            ("ID Process", CounterType::LARGE_RAWCOUNT),
            ("Creating Process ID", CounterType::LARGE_RAWCOUNT),
            ("Elapsed Time", CounterType::ELAPSED_TIME),
        ]
        .into_iter()
        .enumerate()
        .map(|(index, (name, counter_type))| {
            let mut counter = Counter::new(name, counter_type, SECOND);
            counter.indexes = Some(TitleIndexes { name: 4002 + 2 * index as u32, help: 0 });
            counter
        })
        .collect();
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            table: InstanceTable::default(),
            set: Arc::new(set),
            samples: Vec::new(),
        }
    }

    pub(crate) fn sample(&mut self, processes: &[Process]) {
        let now = START + self.samples.len() as i64 * SECOND;
        let mut group = Group::new(Arc::clone(&self.set));
        group.clocks.frequency = SECOND;
        group.clocks.system_time = FileTime(now);
        (group.clocks.object_time, group.clocks.object_frequency) = (now - START, SECOND);
        let instances = processes.iter().map(|it| self.table.intern(None, it.name, it.index));
        group.instances = instances.collect();
        for it in processes {
            group.values.extend([
                RawValue::new(it.busy_ms * 10_000, now),
                RawValue::new(it.memory, 0),
                RawValue::new(it.id, 0),
                RawValue::new(it.parent, 0),
                RawValue::new(it.started * SECOND, now - START),
            ]);
        }
        self.samples.push(Sample {
            at: Moment { utc: FileTime(now), bias_minutes: 0 },
            groups: vec![group],
            ..Sample::default()
        });
    }

    pub(crate) fn board(&self) -> LogBoard {
        let path = write_blg(self.folder.path(), "processes.blg", &self.samples);
        let mut board = LogBoard::open(vec![path], &mut |_| ControlFlow::Continue(())).expect("a log");
        board.set_paths(&[all()], &mut |_| ControlFlow::Continue(())).expect("a log");
        board
    }
}

pub(crate) fn all() -> PathPattern {
    PathPattern::parse(r"\Process(*)\*").expect("a path")
}

/// The span of the samples from `from` to `to` seconds after the first sample.
pub(crate) fn seconds(from: i64, to: i64) -> Span {
    Span::of_samples(FileTime(START + from * SECOND), FileTime(START + to * SECOND))
}

/// An empty table of the set `Process`.
pub(crate) fn model(board: &LogBoard) -> TableModel {
    let sets = board.catalogue().sets();
    let entry = sets.iter().find(|entry| &*entry.name == "Process").expect("the set");
    TableModel::new(TableLayout::of_set(entry))
}

/// The table of a span.
pub(crate) fn table(board: &mut LogBoard, span: Span) -> TableModel {
    let mut model = model(board);
    model.update(TableFigures::read(board, span, &[all()]).expect("figures"));
    model
}

/// The table of the whole log.
pub(crate) fn whole_table(board: &mut LogBoard) -> TableModel {
    let span = board.span().expect("samples");
    table(board, span)
}

/// The index of a column.
pub(crate) fn column(model: &TableModel, title: &str) -> usize {
    let columns = &model.layout().columns;
    columns.iter().position(|column| &*column.title == title).unwrap_or_else(|| panic!("no column {title}"))
}

//! Logs, of which any stretch can be charted.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use tachograph_counters::Statistics;
use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::logs::LogReport;
use tachograph_flow::query::LogQuery;
use tachograph_flow::sinks::{StatisticsOptions, StatisticsSink};
use tachograph_flow::{FlowError, Selection, Sink, Source, UnionScan};

use crate::board::Board;
use crate::catalogue::{Catalogue, CounterEntry, SetEntry};
use crate::reduced::{Reduced, Reduction};
use crate::series::{SeriesId, SeriesTable};
use crate::span::Span;

/// How far the reading of logs is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LogProgress {
    /// Bytes read so far, of all logs.
    pub bytes_read: u64,
    /// Bytes there are.
    pub bytes: u64,
}

/// One log or several, charted.
pub struct LogBoard {
    files: Vec<PathBuf>,
    zone: TimeZone,
    reports: Vec<LogReport>,
    span: Option<Span>,
    paths: Vec<PathPattern>,
    table: SeriesTable,
    buckets: Vec<(FileTime, Vec<(SeriesId, Statistics)>)>,
    catalogue: Arc<LogCatalogue>,
}

impl LogBoard {
    /// Opens logs: finds out what is in them. Nothing is chosen yet.
    ///
    /// `progress` is called now and then; when it breaks, the reading ends with an empty board.
    ///
    /// # Errors
    ///
    /// When a log cannot be opened or read.
    pub fn open(
        files: Vec<PathBuf>,
        progress: &mut dyn FnMut(LogProgress) -> ControlFlow<()>,
    ) -> Result<Self, FlowError> {
        let query = LogQuery::new(files.clone());
        let mut pipeline = query.samples()?;
        let zone = pipeline.reports.first().map_or_else(TimeZone::utc, |report| report.facts().zone.clone());
        let mut scan = UnionScan::default();
        let mut sample = Sample::default();
        let mut span: Option<Span> = None;
        while pipeline.source.next(&mut sample)? {
            scan.take(&sample)?;
            let here = Span::of_samples(sample.at.utc, sample.at.utc);
            span = Some(span.map_or(here, |span| span.joined(&here)));
            if progress(progress_of(&pipeline.reports)).is_break() {
                break;
            }
        }
        Ok(Self {
            files,
            zone,
            reports: pipeline.reports,
            span,
            paths: Vec::new(),
            table: SeriesTable::default(),
            buckets: Vec::new(),
            catalogue: Arc::new(LogCatalogue::of_scan(&scan)),
        })
    }

    /// The files.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The time zone of the first log.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// What became known of the logs: their formats, what is damaged.
    pub fn reports(&self) -> &[LogReport] {
        &self.reports
    }

    /// What there is to choose from.
    pub fn catalogue(&self) -> Arc<LogCatalogue> {
        Arc::clone(&self.catalogue)
    }

    /// The paths that are charted.
    pub fn paths(&self) -> &[PathPattern] {
        &self.paths
    }

    /// Charts these paths from now on. What is new is read once; the selection knows the paths that select nothing.
    ///
    /// # Errors
    ///
    /// When a log cannot be read.
    pub fn set_paths(
        &mut self,
        paths: &[PathPattern],
        progress: &mut dyn FnMut(LogProgress) -> ControlFlow<()>,
    ) -> Result<Selection, FlowError> {
        let selection = Selection::new(paths.to_vec());
        self.paths = paths.to_vec();
        self.buckets.clear();
        if paths.is_empty() {
            return Ok(selection);
        }
        let query = LogQuery { selection: selection.clone(), ..LogQuery::new(self.files.clone()) };
        let mut pipeline = query.samples()?;
        let options = StatisticsOptions { without_quantiles: true, ..StatisticsOptions::default() };
        let mut sink = StatisticsSink::new(options);
        let mut sample = Sample::default();
        let mut ids: Vec<SeriesId> = Vec::new();
        while pipeline.source.next(&mut sample)? {
            sink.take(&sample)?;
            if sample.is_baseline {
                continue;
            }
            let mut states = Vec::new();
            sink.cut(|number, state| states.push((number, state)));
            let mut cells = Vec::new();
            for (number, state) in states {
                while ids.len() <= number {
                    let Some(row) = sink.row(ids.len()) else { break };
                    ids.push(self.table.number(&row));
                }
                cells.push((ids[number], state));
            }
            self.buckets.push((sample.at.utc, cells));
            if progress(progress_of(&pipeline.reports)).is_break() {
                break;
            }
        }
        Ok(selection)
    }
}

fn progress_of(reports: &[LogReport]) -> LogProgress {
    LogProgress {
        bytes_read: reports.iter().map(LogReport::bytes_read).sum(),
        bytes: reports.iter().map(|report| report.facts().file_bytes).sum(),
    }
}

impl Board for LogBoard {
    fn span(&self) -> Option<Span> {
        self.span
    }

    fn reduce(&mut self, span: Span, columns: usize, paths: &[PathPattern]) -> Result<Reduced, FlowError> {
        let mut reduction = Reduction::new(span, columns);
        for (at, cells) in &self.buckets {
            if let Some(column) = span.column_of(*at, columns) {
                cells.iter().for_each(|(id, state)| reduction.add(*id, column, state.clone()));
            }
        }
        Ok(reduction.finish(&self.table, paths))
    }
}

/// What logs hold.
#[derive(Clone, Debug, Default)]
pub struct LogCatalogue {
    sets: Vec<(SetEntry, Vec<String>)>,
}

impl LogCatalogue {
    fn of_scan(scan: &UnionScan) -> Self {
        let mut sets: Vec<(SetEntry, Vec<String>)> = Vec::new();
        for group in scan.groups() {
            let place =
                sets.iter().position(|(entry, _)| entry.name == group.set.name).unwrap_or_else(|| {
                    let entry = SetEntry {
                        machine: Some(Arc::clone(&group.set.machine)).filter(|machine| !machine.is_empty()),
                        name: Arc::clone(&group.set.name),
                        help: "".into(),
                        has_instances: group.set.has_instances,
                        counters: Vec::new(),
                    };
                    sets.push((entry, Vec::new()));
                    sets.len() - 1
                });
            let (entry, instances) = &mut sets[place];
            for counter in &group.set.counters {
                if !entry.counters.iter().any(|known| known.counter.name == counter.name) {
                    entry.counters.push(CounterEntry { counter: counter.clone(), help: "".into() });
                }
            }
            for instance in &group.instances {
                if !instances.iter().any(|known| known == instance.label()) {
                    instances.push(instance.label().to_owned());
                }
            }
        }
        sets.sort_by_cached_key(|(set, _)| set.name.to_lowercase());
        Self { sets }
    }
}

impl Catalogue for LogCatalogue {
    fn sets(&self) -> Vec<SetEntry> {
        self.sets.iter().map(|(set, _)| set.clone()).collect()
    }

    fn instances(&self, set: &str) -> Result<Vec<String>, String> {
        let found = self.sets.iter().find(|(entry, _)| entry.name.eq_ignore_ascii_case(set));
        found
            .map(|(_, instances)| instances.clone())
            .ok_or_else(|| format!("the logs have no counter set '{set}'"))
    }
}

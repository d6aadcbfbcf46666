//! Queries over logs (files, counters, time range) and the pipelines that run them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::{Format, LogFacts, ReadOptions, expand_archives};

use crate::logs::{LogReport, LogSource};
use crate::merge::machines_of;
use crate::union::UnionScan;
use crate::{
    Chain, FlowError, Identity, InZone, Interleaved, Joined, Merge, NameSumsSource, Readahead,
    SeekableSource, Select, Selection, SideBySide, Sink, Source, Thin, Union, Window, WindowBounds,
    group_by_machine,
};

/// Logs of at least this size are read on a second thread. Reading smaller ones takes less time than starting a thread.
const READAHEAD_BYTES: u64 = 4 << 20;

/// Which logs and samples are read, and which counters.
#[derive(Clone, Debug)]
pub struct LogQuery {
    /// The logs.
    pub paths: Vec<PathBuf>,
    /// The time range.
    pub bounds: WindowBounds,
    /// Which samples to read: every n-th one; 0 and 1 mean all.
    pub every: u64,
    /// The counters.
    pub selection: Selection,
    /// If given, the selected instances with the same name are summed ([`NameSums`](crate::NameSums)), and this selection is
    /// applied to the sums. Has no effect on [`seekable`](Self::seekable).
    pub sums: Option<Selection>,
    /// Whether every sample of every machine becomes a row of the output log. Otherwise there is one row per sample of
    /// the first machine, with the latest values of the other machines.
    pub all_times: bool,
    /// The time zone of the output log; by default that of the first log.
    pub zone: Option<TimeZone>,
    /// How the logs are read.
    pub reading: ReadOptions,
}

/// A pipeline over logs, with reports that can be read while it runs.
pub struct Pipeline {
    /// The source to pull from.
    pub source: Box<dyn Source>,
    /// The reports of the logs, ordered by machine.
    pub reports: Vec<LogReport>,
    /// One count per machine; see [`Identity::renumbered`].
    renumbered: Vec<Arc<AtomicU64>>,
    dropped_samples: Arc<AtomicU64>,
}

impl Pipeline {
    /// Number of samples, of machines other than the first, that are not part of any row.
    pub fn dropped_samples(&self) -> u64 {
        self.dropped_samples.load(Ordering::Relaxed)
    }

    /// Number of pairs that were broken because a name now belongs to another process.
    pub fn renumbered(&self) -> u64 {
        self.renumbered.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }
}

impl LogQuery {
    /// A query for all samples and counters of these logs. The folder of an archive stands for the folders of its machines.
    pub fn new(paths: Vec<PathBuf>) -> Self {
        Self {
            paths: expand_archives(paths),
            bounds: WindowBounds::default(),
            every: 0,
            selection: Selection::new(Vec::new()),
            sums: None,
            all_times: false,
            zone: None,
            reading: ReadOptions::default(),
        }
    }

    /// The samples for statistics, each with the groups of its log. Machines are read one after another, so that the
    /// window applies to each in its own local time. The samples of a machine are in the order of time.
    ///
    /// # Errors
    ///
    /// When a log cannot be opened, or its first sample cannot be read.
    pub fn samples(&self) -> Result<Pipeline, FlowError> {
        let mut pipelines = self.pipelines(&self.logs_by_machine()?)?;
        if pipelines.len() == 1 {
            return Ok(pipelines.swap_remove(0));
        }
        let (mut sources, mut reports, mut renumbered) = (Vec::new(), Vec::new(), Vec::new());
        for pipeline in pipelines {
            sources.push(pipeline.source);
            reports.extend(pipeline.reports);
            renumbered.extend(pipeline.renumbered);
        }
        Ok(Pipeline {
            source: Box::new(Chain::new(sources)),
            reports,
            renumbered,
            dropped_samples: Arc::default(),
        })
    }

    /// One source per machine with random access to all of its samples, for charts, which read them repeatedly. The
    /// window and [`every`](Self::every) are ignored.
    ///
    /// # Errors
    ///
    /// See [`samples`](Self::samples).
    pub fn seekable(&self) -> Result<Vec<SeekableSource>, FlowError> {
        let open = |indexes: &Vec<usize>| {
            let logs = self.open(indexes)?;
            let reports = logs.iter().map(|log| log.report().clone()).collect();
            Ok(SeekableSource::new(Merge::new(logs), &self.selection, reports))
        };
        self.logs_by_machine()?.iter().map(open).collect()
    }

    fn open(&self, indexes: &[usize]) -> Result<Vec<LogSource>, FlowError> {
        indexes.iter().map(|&index| LogSource::open_with(&self.paths[index], &self.reading)).collect()
    }

    /// Opens a log for one pass over its samples. Values of counters that are not selected need not be read.
    fn open_selected(&self, path: &Path) -> Result<LogSource, FlowError> {
        let mut log = LogSource::open_with(path, &self.reading)?;
        self.selection.filter().iter().for_each(|filter| log.limit_counters(filter));
        Ok(log)
    }

    /// Returns the samples for an output log, and a scan: a list of all groups, counters and instances in these
    /// samples. All samples have the groups of the scan.
    ///
    /// To get the scan, this function reads the logs once. It calls `on_sample` after every sample with the current
    /// reports, and stops if `on_sample` returns an error.
    ///
    /// # Errors
    ///
    /// When a log cannot be opened or read, and the errors of `on_sample`.
    pub fn table(
        &self,
        mut on_sample: impl FnMut(&[LogReport]) -> Result<(), FlowError>,
    ) -> Result<(UnionScan, Pipeline), FlowError> {
        let mut scan = UnionScan::default();
        // Every machine is scanned separately, because even counters of samples that are not part of any row get columns.
        let (mut scanned, mut read) = (Vec::new(), Vec::new());
        for logs in self.logs_by_machine()? {
            let known = scan.groups().len();
            let mut pipeline = self.machine_in_zone(&logs)?;
            let mut sample = Sample::default();
            while pipeline.source.next(&mut sample)? {
                scan.push(&sample)?;
                on_sample(&pipeline.reports)?;
            }
            scan.finish()?;
            scanned.push((logs, scan.take_rows(), scan.groups().len() > known));
            read.extend(pipeline.reports);
        }
        // A machine without selected counters gets no rows, unless no machine has selected counters.
        if scanned.iter().any(|(_, _, has_groups)| *has_groups) {
            scanned.retain(|(_, _, has_groups)| *has_groups);
        }
        let mut machines = Vec::new();
        for (logs, rows, _) in scanned {
            if self.all_times {
                scan.add_rows(rows);
            } else if machines.is_empty() {
                scan.set_rows(rows);
            }
            machines.push(logs);
        }
        let interval = scan.typical_interval().unwrap_or_default();
        let mut pipeline = self.side_by_side(&machines, interval)?;
        for report in &pipeline.reports {
            read.iter().for_each(|earlier| report.copy_digits(earlier));
        }
        let union = Union::scanned(pipeline.source, &scan);
        // The samples of a single log are not joined.
        pipeline.source = if self.paths.len() == 1 { Box::new(union) } else { Box::new(Joined::new(union)) };
        Ok((scan, pipeline))
    }

    /// The samples for a copy of a single log, without a scan. They have the groups of the first sample.
    ///
    /// The source fails with [`FlowError::NewGroups`] if the log's counters change later; use [`table`](Self::table)
    /// then.
    ///
    /// # Errors
    ///
    /// When the log cannot be opened.
    pub fn copy(&self) -> Result<Pipeline, FlowError> {
        let mut pipeline = self.single()?;
        pipeline.source = Box::new(Union::of_first_sample(pipeline.source));
        Ok(pipeline)
    }

    /// The samples of the first log, for an output log, which has a single time zone.
    ///
    /// # Errors
    ///
    /// When the log cannot be opened.
    pub fn single(&self) -> Result<Pipeline, FlowError> {
        self.machine_in_zone(&[0])
    }

    /// The indexes of the logs of each machine.
    ///
    /// # Errors
    ///
    /// When a log cannot be opened or read.
    pub fn logs_by_machine(&self) -> Result<Vec<Vec<usize>>, FlowError> {
        if self.paths.len() == 1 {
            return Ok(vec![vec![0]]);
        }
        let mut machines = self
            .paths
            .iter()
            .map(|path| {
                let mut sample = Sample::default();
                let mut log = self.open_selected(path)?;
                Ok(if log.next(&mut sample)? { machines_of(&sample) } else { BTreeSet::new() })
            })
            .collect::<Result<Vec<_>, FlowError>>()?;
        // A log without samples has no known machine, so it is assigned to the machine of the first log with samples.
        if let Some(known) = machines.iter().find(|names| !names.is_empty()).cloned() {
            machines.iter_mut().filter(|names| names.is_empty()).for_each(|names| names.clone_from(&known));
        }
        Ok(group_by_machine(&machines))
    }

    fn pipelines(&self, machines: &[Vec<usize>]) -> Result<Vec<Pipeline>, FlowError> {
        machines.iter().map(|indexes| self.machine(indexes)).collect()
    }

    /// The samples of several machines as rows: one row per sample of the first machine, or of all machines with
    /// [`all_times`](Self::all_times).
    fn side_by_side(&self, machines: &[Vec<usize>], interval: i64) -> Result<Pipeline, FlowError> {
        let mut pipelines =
            machines.iter().map(|indexes| self.machine_in_zone(indexes)).collect::<Result<Vec<_>, _>>()?;
        let mut leader = pipelines.remove(0);
        if pipelines.is_empty() {
            return Ok(leader);
        }
        let followers: Vec<_> = pipelines
            .into_iter()
            .map(|follower| {
                leader.reports.extend(follower.reports);
                leader.renumbered.extend(follower.renumbered);
                follower.source
            })
            .collect();
        if self.all_times {
            let machines = std::iter::once(leader.source).chain(followers).collect();
            leader.source = Box::new(Interleaved::new(machines));
            return Ok(leader);
        }
        let side_by_side = SideBySide::new(leader.source, followers, interval);
        leader.dropped_samples = side_by_side.dropped_samples();
        leader.source = Box::new(side_by_side);
        Ok(leader)
    }

    /// The samples of one machine in the time zone of the output log.
    fn machine_in_zone(&self, indexes: &[usize]) -> Result<Pipeline, FlowError> {
        let mut pipeline = self.machine(indexes)?;
        // If this machine has the first log, it is already open. Opening it again would take its memory twice.
        let first = indexes.iter().position(|&index| index == 0);
        let zone = match (&self.zone, first) {
            (Some(zone), _) => zone.clone(),
            (None, Some(first)) => pipeline.reports[first].facts().zone.clone(),
            (None, None) => {
                LogSource::open_with(&self.paths[0], &self.reading)?.report().facts().zone.clone()
            }
        };
        // If all zones are the same, local times stay as recorded, even around a change of daylight saving time. An archive has the
        // zone of its first recording; later ones can have another UTC offset.
        let can_differ = |facts: &LogFacts| {
            facts.zone != zone || (facts.format == Format::Archive && !zone.has_daylight_time())
        };
        if pipeline.reports.iter().any(|report| can_differ(report.facts())) {
            pipeline.source = Box::new(InZone::new(pipeline.source, zone));
        }
        Ok(pipeline)
    }

    /// The samples of one machine, with the stages that all commands have in common.
    fn machine(&self, indexes: &[usize]) -> Result<Pipeline, FlowError> {
        let mut logs = indexes
            .iter()
            .map(|&index| self.open_selected(&self.paths[index]))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(begin) = self.bounds.begin {
            logs.iter_mut().try_for_each(|log| log.skip_before(begin))?;
        }
        let reports: Vec<_> = logs.iter().map(|log| log.report().clone()).collect();
        let bytes: u64 = reports.iter().map(|report| report.facts().file_bytes).sum();
        let window = Window::new(Merge::new(logs), self.bounds);
        let identity = Identity::new(Thin::new(window, self.every), self.selection.clone());
        let renumbered = vec![identity.renumbered()];
        let selected = Select::new(identity, self.selection.clone());
        let source: Box<dyn Source> =
            if bytes < READAHEAD_BYTES { Box::new(selected) } else { Box::new(Readahead::new(selected)?) };
        let source = match &self.sums {
            Some(sums) => Box::new(Select::new(NameSumsSource::new(source), sums.clone())),
            None => source,
        };
        Ok(Pipeline { source, reports, renumbered, dropped_samples: Arc::default() })
    }
}

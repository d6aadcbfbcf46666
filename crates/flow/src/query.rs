//! A question over logs: which files, which counters, which window; and the pipelines that answer it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::ReadOptions;

use crate::logs::{LogReport, LogSource};
use crate::merge::machines_of;
use crate::union::UnionScan;
use crate::{
    Chain, FlowError, Identity, InTurn, InZone, Joined, Merge, Readahead, Select, Selection, SideBySide,
    Sink, Source, Stretch, Thin, Union, Window, WindowBounds, machines_overlap,
};

/// Logs of which a second thread is worth its start: smaller ones are read before it runs.
const READAHEAD_BYTES: u64 = 4 << 20;

/// Which logs, and what of them.
#[derive(Clone, Debug)]
pub struct LogQuery {
    /// The logs.
    pub paths: Vec<PathBuf>,
    /// The window of time.
    pub bounds: WindowBounds,
    /// Every n-th sample; 0 and 1 mean all.
    pub every: u64,
    /// The counters.
    pub selection: Selection,
    /// Of several machines a row for each sample of every machine, in place of rows by the clock of the first.
    pub all_times: bool,
    /// The time zone of the log that is written, where that is not the first log's.
    pub zone: Option<TimeZone>,
    /// How the logs are read.
    pub reading: ReadOptions,
}

/// A pipeline over logs, ready to be run, and what can be asked of it meanwhile and afterwards.
pub struct Pipeline {
    /// The source to pull from.
    pub source: Box<dyn Source>,
    /// The logs behind it, those of one machine together.
    pub reports: Vec<LogReport>,
    renumbered: Vec<Arc<AtomicU64>>,
    left_out: Arc<AtomicU64>,
}

impl Pipeline {
    /// How many samples of other machines than the first had no row to go into.
    pub fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }

    /// How many pairs were broken because another process came to a name.
    pub fn renumbered(&self) -> u64 {
        self.renumbered.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }
}

impl LogQuery {
    /// All of these logs.
    pub fn new(paths: Vec<PathBuf>) -> Self {
        Self {
            paths,
            bounds: WindowBounds::default(),
            every: 0,
            selection: Selection::new(Vec::new()),
            all_times: false,
            zone: None,
            reading: ReadOptions::default(),
        }
    }

    /// All samples of all logs, each with the groups that its log has: what statistics take. One machine comes after
    /// another, so that each has its own window in its own local time; the samples of each are in the order of time.
    ///
    /// # Errors
    ///
    /// When a log cannot be opened or its first sample cannot be read.
    pub fn samples(&self) -> Result<Pipeline, FlowError> {
        let mut pipelines = self.pipelines(&self.stretches()?)?;
        if pipelines.len() == 1 {
            return Ok(pipelines.swap_remove(0));
        }
        let (mut sources, mut reports, mut renumbered) = (Vec::new(), Vec::new(), Vec::new());
        for pipeline in pipelines {
            sources.push(pipeline.source);
            reports.extend(pipeline.reports);
            renumbered.extend(pipeline.renumbered);
        }
        Ok(Pipeline { source: Box::new(Chain::new(sources)), reports, renumbered, left_out: Arc::default() })
    }

    /// All samples of all logs, whatever the window and the thinning, by machine, to be gone back to: what is charted is
    /// read again and again. What [`samples`](Self::samples) gives is these one after another.
    ///
    /// # Errors
    ///
    /// As [`samples`](Self::samples).
    pub fn seekable(&self) -> Result<Vec<Stretch>, FlowError> {
        let stretch = |numbers: &Vec<usize>| {
            let logs = self.open(numbers)?;
            let reports = logs.iter().map(|log| log.report().clone()).collect();
            Ok(Stretch::new(Merge::new(logs), &self.selection, reports))
        };
        self.stretches()?.iter().map(stretch).collect()
    }

    fn open(&self, numbers: &[usize]) -> Result<Vec<LogSource>, FlowError> {
        numbers.iter().map(|&number| LogSource::open_with(&self.paths[number], &self.reading)).collect()
    }

    /// What the logs hold, and their samples side by side with one fixed list of groups: what a log is written from.
    ///
    /// The scan reads the logs once. `each` is called after every sample of it with the logs read so far; where it fails, the
    /// scan ends.
    ///
    /// # Errors
    ///
    /// When a log cannot be opened or read, and what `each` fails with.
    pub fn table(
        &self,
        mut each: impl FnMut(&[LogReport]) -> Result<(), FlowError>,
    ) -> Result<(UnionScan, Pipeline), FlowError> {
        let mut scan = UnionScan::default();
        // Every machine is scanned by itself: also what fits into no row has its columns.
        let (mut scanned, mut read) = (Vec::new(), Vec::new());
        for stretch in self.stretches()? {
            let known = scan.groups().len();
            let mut pipeline = self.written_stretch(&stretch)?;
            let mut sample = Sample::default();
            while pipeline.source.next(&mut sample)? {
                scan.take(&sample)?;
                each(&pipeline.reports)?;
            }
            scan.finish()?;
            scanned.push((stretch, scan.take_rows(), scan.groups().len() > known));
            read.extend(pipeline.reports);
        }
        // A machine of which nothing was chosen gives no rows, unless that holds for all of them.
        if scanned.iter().any(|(_, _, is_chosen)| *is_chosen) {
            scanned.retain(|(_, _, is_chosen)| *is_chosen);
        }
        let mut stretches = Vec::new();
        for (stretch, rows, _) in scanned {
            if self.all_times {
                scan.add_rows(rows);
            } else if stretches.is_empty() {
                scan.set_rows(rows);
            }
            stretches.push(stretch);
        }
        let interval = scan.typical_interval().unwrap_or_default();
        let mut pipeline = self.side_by_side(&stretches, interval)?;
        for report in &pipeline.reports {
            read.iter().for_each(|earlier| report.know_digits(earlier));
        }
        let union = Union::scanned(pipeline.source, &scan);
        // The samples of one log stay as they are.
        pipeline.source = if self.paths.len() == 1 { Box::new(union) } else { Box::new(Joined::new(union)) };
        Ok((scan, pipeline))
    }

    /// The samples of one log with the groups of its first sample, without a scan: what one log is copied from.
    ///
    /// The source fails with [`FlowError::NewGroups`] where the log's counters change on the way; [`table`](Self::table)
    /// is for that case.
    ///
    /// # Errors
    ///
    /// When the log cannot be opened.
    pub fn copy(&self) -> Result<Pipeline, FlowError> {
        let mut pipeline = self.samples()?;
        pipeline.source = Box::new(Union::of_first_sample(pipeline.source));
        Ok(pipeline)
    }

    /// The logs grouped by machine: the numbers of those that make up one stretch of time.
    ///
    /// # Errors
    ///
    /// When a log cannot be opened or read.
    pub fn stretches(&self) -> Result<Vec<Vec<usize>>, FlowError> {
        if self.paths.len() == 1 {
            return Ok(vec![vec![0]]);
        }
        let mut machines = self
            .paths
            .iter()
            .map(|path| {
                let mut sample = Sample::default();
                let mut log = LogSource::open_with(path, &self.reading)?;
                Ok(if log.next(&mut sample)? { machines_of(&sample) } else { BTreeSet::new() })
            })
            .collect::<Result<Vec<_>, FlowError>>()?;
        // A log without samples is of no machine: it must not lead the others.
        if let Some(known) = machines.iter().find(|names| !names.is_empty()).cloned() {
            machines.iter_mut().filter(|names| names.is_empty()).for_each(|names| names.clone_from(&known));
        }
        Ok(machines_overlap(&machines))
    }

    fn pipelines(&self, stretches: &[Vec<usize>]) -> Result<Vec<Pipeline>, FlowError> {
        stretches.iter().map(|numbers| self.stretch(numbers)).collect()
    }

    /// The stretches as rows: of the first one's clock, whose typical interval is given, or of all clocks.
    fn side_by_side(&self, stretches: &[Vec<usize>], interval: i64) -> Result<Pipeline, FlowError> {
        let mut pipelines =
            stretches.iter().map(|numbers| self.written_stretch(numbers)).collect::<Result<Vec<_>, _>>()?;
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
            leader.source = Box::new(InTurn::new(machines));
            return Ok(leader);
        }
        let side_by_side = SideBySide::new(leader.source, followers, interval);
        leader.left_out = side_by_side.left_out();
        leader.source = Box::new(side_by_side);
        Ok(leader)
    }

    /// A stretch whose samples are to be written: in the local time of the log that is written.
    fn written_stretch(&self, numbers: &[usize]) -> Result<Pipeline, FlowError> {
        let mut stretch = self.stretch(numbers)?;
        // The first log may be open already: opening it again would take its memory twice.
        let first = numbers.iter().position(|&number| number == 0);
        let zone = match (&self.zone, first) {
            (Some(zone), _) => zone.clone(),
            (None, Some(first)) => stretch.reports[first].facts().zone.clone(),
            (None, None) => {
                LogSource::open_with(&self.paths[0], &self.reading)?.report().facts().zone.clone()
            }
        };
        // Local times of the same zone stay as they were recorded, also in hours that come twice or not at all.
        if stretch.reports.iter().any(|report| report.facts().zone != zone) {
            stretch.source = Box::new(InZone::new(stretch.source, zone));
        }
        Ok(stretch)
    }

    /// Merged, cut, thinned out, identified, selected: the stages that every command has in common.
    fn stretch(&self, numbers: &[usize]) -> Result<Pipeline, FlowError> {
        let logs = self.open(numbers)?;
        let reports: Vec<_> = logs.iter().map(|log| log.report().clone()).collect();
        let bytes: u64 = reports.iter().map(|report| report.facts().file_bytes).sum();
        let window = Window::new(Merge::new(logs), self.bounds);
        let identity = Identity::new(Thin::new(window, self.every), self.selection.clone());
        let renumbered = vec![identity.renumbered()];
        let selected = Select::new(identity, self.selection.clone());
        let source: Box<dyn Source> =
            if bytes < READAHEAD_BYTES { Box::new(selected) } else { Box::new(Readahead::new(selected)?) };
        Ok(Pipeline { source, reports, renumbered, left_out: Arc::default() })
    }
}

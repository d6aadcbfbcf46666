//! Taking samples of this machine.

mod problems;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::live::Outage;
use tachograph_flow::{Cadence, FlowError, Selection};
use tachograph_monitor::{
    Board as _, Catalogue as _, LiveBoard, MachineCatalogue, Reduced, RowId, RowProperties, Span,
    TableFigures,
};

use super::recording::ActiveRecording;
use crate::app::{CounterName, Existing, Input, TableId};

/// This machine as the source of the screen.
pub struct Live {
    /// The board, with the paths that are shown at the start. Users can add counters of the sets that the board
    /// [follows](LiveBoard::follow).
    pub board: LiveBoard,
    /// Returns messages about paths that select no counter.
    pub unmatched: fn(&Selection) -> Vec<String>,
    /// Returns why a counter (the names of its set and of the counter) is missing or has no values, if the reason is known.
    pub reason: fn(&str, &str) -> Option<String>,
    /// The machine's name.
    pub name: String,
    /// More about the machine for the first line, such as its number of processors.
    pub about: String,
    /// The time zone of displayed and recorded times.
    pub zone: TimeZone,
    /// Ticks per second of the performance counter.
    pub frequency: i64,
    /// Reads the properties of processes; `None` if processes have no properties.
    pub properties: Option<Box<dyn RowProperties>>,
}

pub(super) fn incomplete_message(error: &FlowError) -> String {
    format!("the recording is incomplete: {error}")
}

/// An interval of this length is long enough for accurate values, even if samples are usually taken less often.
const MIN_INTERVAL: Duration = Duration::from_millis(500);

/// Takes samples on schedule.
pub(super) struct LiveFeed {
    live: Live,
    paths: Vec<PathPattern>,
    /// Paths that are not shown at present, but are sampled for charts that may be shown again.
    background: Vec<PathPattern>,
    interval: Duration,
    cadence: Cadence,
    /// When the last sample was taken.
    last_collected: Option<Instant>,
    recording: Option<ActiveRecording>,
    /// The number of errors so far.
    errors: u64,
    /// Whether the last sample had values that could not be read, or a machine did not answer.
    is_incomplete: bool,
    /// The machines that did not answer the last sample.
    silent: Vec<Arc<str>>,
}

impl LiveFeed {
    pub(super) fn new(live: Live, paths: Vec<PathPattern>, interval: Duration) -> Self {
        let now = Instant::now();
        Self {
            live,
            paths,
            background: Vec::new(),
            interval,
            cadence: Cadence::new(now, interval),
            last_collected: None,
            recording: None,
            errors: 0,
            is_incomplete: false,
            silent: Vec::new(),
        }
    }

    /// The time until the next sample.
    pub(super) fn wait(&self) -> Duration {
        self.cadence.due().saturating_duration_since(Instant::now())
    }

    pub(super) fn collect_if_due(&mut self) -> Vec<Input> {
        if !self.wait().is_zero() {
            return Vec::new();
        }
        self.cadence.advance(Instant::now());
        // After a sample that was late, the next one can be due too soon. Its interval is added to the one after it.
        if self.is_too_soon() { Vec::new() } else { self.collect() }
    }

    /// Takes a sample now.
    pub(super) fn collect(&mut self) -> Vec<Input> {
        self.take_sample(false)
    }

    /// Whether a sample would be too close to the last one; see [`LiveBoard::recollect`].
    fn is_too_soon(&self) -> bool {
        let min = (self.interval / 2).min(MIN_INTERVAL);
        self.last_collected.is_some_and(|last| last.elapsed() < min)
    }

    /// Takes a sample before the next one is due, and the next one an interval later. If the last sample is too close, the new one
    /// replaces it, and is not recorded.
    fn collect_early(&mut self) -> Vec<Input> {
        let inputs = self.take_sample(self.is_too_soon());
        self.set_interval(self.interval);
        inputs
    }

    /// Takes a sample before the next one is due, unless the last sample is too close.
    pub(super) fn step(&mut self) -> Vec<Input> {
        if self.is_too_soon() { Vec::new() } else { self.collect_early() }
    }

    fn take_sample(&mut self, replaces_last: bool) -> Vec<Input> {
        let mut inputs = Vec::new();
        self.last_collected = Some(Instant::now());
        let known = Arc::clone(self.live.board.registry());
        let board = &mut self.live.board;
        let sample = if replaces_last { board.recollect() } else { board.collect() };
        let at = sample.at.utc;
        if let Some(recording) = self.recording.as_mut().filter(|_| !replaces_last) {
            match recording.push(sample) {
                Ok(notice) => inputs.extend(notice.map(Input::Problem)),
                Err(error) => {
                    self.recording = None;
                    inputs.push(Input::Problem(format!("recording stopped: {error}")));
                }
            }
            inputs.push(Input::Recording(self.recording.as_ref().map(ActiveRecording::state)));
        }
        let report = self.live.board.report();
        let outages = report.outages();
        let is_new = |outage: &&Outage| !self.silent.contains(&outage.machine);
        let new_outages: Vec<_> = outages.iter().filter(is_new).collect();
        inputs.extend(problems::message_of(&report.new_errors(), &new_outages));
        let errors = report.counts().errors();
        let is_incomplete = errors > self.errors || !outages.is_empty();
        let was_incomplete = std::mem::replace(&mut self.is_incomplete, is_incomplete);
        self.errors = errors;
        self.silent = outages.into_iter().map(|outage| outage.machine).collect();
        if was_incomplete && !is_incomplete {
            inputs.push(Input::Available);
        }
        if !Arc::ptr_eq(self.live.board.registry(), &known) {
            inputs.push(self.sets());
        }
        inputs.push(Input::Collected(at));
        inputs
    }

    fn sets(&self) -> Input {
        Input::Sets(self.catalogue().sets().into())
    }

    pub(super) fn catalogue(&self) -> MachineCatalogue {
        MachineCatalogue(Arc::clone(self.live.board.registry()))
    }

    /// Replaces the sampled paths. Takes a sample immediately, from which the rates of new counters are computed.
    pub(super) fn set_paths(&mut self, paths: Vec<PathPattern>) -> Vec<Input> {
        self.paths = paths;
        let selection = self.live.board.set_paths(&self.sampled_paths());
        let mut inputs: Vec<_> = (self.live.unmatched)(&selection).into_iter().map(Input::Notice).collect();
        inputs.extend(self.collect_early());
        inputs
    }

    /// Replaces the paths that are sampled for charts that may be shown again. Takes effect with
    /// [`set_paths`](Self::set_paths), which always follows.
    pub(super) fn set_background(&mut self, paths: Vec<PathPattern>) {
        self.background = paths;
    }

    /// The recorded paths, then the other paths of the legend, then those of charts that may be shown again.
    fn sampled_paths(&self) -> Vec<PathPattern> {
        let recorded = self.recording.iter().flat_map(ActiveRecording::paths);
        let mut paths: Vec<PathPattern> = Vec::new();
        for path in recorded.chain(&self.paths).chain(&self.background) {
            if !paths.contains(path) {
                paths.push(path.clone());
            }
        }
        paths
    }

    pub(super) fn set_interval(&mut self, interval: Duration) {
        self.interval = interval;
        let last = self.last_collected.unwrap_or_else(Instant::now);
        self.cadence = Cadence::new(last, interval);
        self.cadence.advance(last);
    }

    pub(super) fn set_points(&mut self, points: usize) {
        self.live.board.set_points(points);
    }

    pub(super) fn hold_samples(&mut self, until: Option<FileTime>) {
        self.live.board.hold(until);
    }

    /// Reduces the samples of these paths to columns.
    pub(super) fn reduce(
        &mut self,
        span: Span,
        columns: usize,
        paths: &[PathPattern],
    ) -> Result<Reduced, FlowError> {
        if paths.is_empty() {
            return Ok(Reduced { span, columns, series: Vec::new() });
        }
        self.live.board.reduce(span, columns, paths)
    }

    /// The figures of a table.
    pub(super) fn reduce_table(
        &mut self,
        span: Span,
        paths: &[PathPattern],
    ) -> Result<TableFigures, FlowError> {
        TableFigures::read(&mut self.live.board, span, paths)
    }

    pub(super) fn properties(&mut self, table: TableId, processes: Vec<(RowId, u32)>) -> Input {
        let mut read = |id| self.live.properties.as_mut()?.process(id);
        Input::Properties(table, processes.into_iter().map(|(row, id)| (row, read(id))).collect())
    }

    /// Why these counters are missing or have no values.
    pub(super) fn reasons(&self, counters: Vec<CounterName>) -> Input {
        let reason = |(set, counter): &CounterName| (self.live.reason)(set, counter);
        Input::Reasons(
            counters
                .into_iter()
                .map(|name| {
                    let reason = reason(&name);
                    (name, reason)
                })
                .collect(),
        )
    }

    pub(super) fn containers(&mut self, groups: Vec<Box<str>>) -> Input {
        let mut name = |path: &str| self.live.properties.as_mut()?.container(path);
        let found = groups.into_iter().map(|path| {
            let name = name(&path);
            (path, name)
        });
        Input::Containers(found.collect())
    }

    /// Starts a recording. Its first sample is the latest one on the board.
    pub(super) fn record(&mut self, path: &Path, may_overwrite: bool) -> Vec<Input> {
        let mut inputs = self.stop_recording();
        let has_background = !self.background.is_empty();
        if has_background {
            // A log has the counters of its first sample: only those that are shown.
            self.live.board.set_paths(&self.paths);
            inputs.extend(self.collect_early());
        }
        let Live { zone, frequency, .. } = &self.live;
        let begun = ActiveRecording::begin(path, may_overwrite, self.interval, zone, *frequency, &self.paths);
        let written = begun.and_then(|mut recording| {
            let notice = match self.live.board.samples().next_back() {
                Some(sample) => recording.push(sample)?,
                None => None,
            };
            Ok((recording, notice))
        });
        match written {
            Ok((recording, notice)) => {
                inputs.push(Input::Recording(Some(recording.state())));
                inputs.extend(notice.map(Input::Problem));
                self.recording = Some(recording);
            }
            Err(FlowError::Log(error))
                if error.io_error().is_some_and(|io| io.kind() == std::io::ErrorKind::AlreadyExists) =>
            {
                inputs.push(Input::Exists(Existing::Recording(path.to_path_buf())));
            }
            Err(error) => inputs.push(Input::Notice(format!("cannot record: {error}"))),
        }
        if has_background {
            self.live.board.set_paths(&self.sampled_paths());
        }
        inputs
    }

    pub(super) fn stop_recording(&mut self) -> Vec<Input> {
        let sampled = self.sampled_paths();
        let Some(recording) = self.recording.take() else { return Vec::new() };
        let message = match recording.finish() {
            Ok(message) => Input::Notice(message),
            Err(error) => Input::Problem(incomplete_message(&error)),
        };
        let mut inputs = Vec::new();
        let remaining = self.sampled_paths();
        if sampled != remaining {
            // Paths that were sampled only for the recording are removed. A sample without them is taken immediately,
            // because the next recording begins with the latest sample.
            self.live.board.set_paths(&remaining);
            inputs = self.collect_early();
        }
        inputs.extend([Input::Recording(None), message]);
        inputs
    }

    /// Finishes the recording, if any, when the screen ends; returns a message.
    ///
    /// # Errors
    ///
    /// If the log cannot be written.
    pub(super) fn finish(mut self) -> Result<Option<String>, FlowError> {
        self.recording.take().map(ActiveRecording::finish).transpose()
    }
}

#[cfg(test)]
mod tests;

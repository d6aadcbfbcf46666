//! Taking samples of this machine.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::{Cadence, FlowError, Selection};
use tachograph_monitor::{
    Board as _, Catalogue as _, LiveBoard, MachineCatalogue, Reduced, RowId, RowProperties, Span,
    TableFigures,
};

use super::recording::ActiveRecording;
use crate::app::{Existing, Input, TableId};

/// This machine as the source of the screen.
pub struct Live {
    /// The board, with the paths that are shown at the start. Users can add counters of the sets that the board
    /// [follows](LiveBoard::follow).
    pub board: LiveBoard,
    /// Returns messages about paths that select no counter.
    pub unmatched: fn(&Selection) -> Vec<String>,
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

/// Takes samples on schedule.
pub(super) struct LiveFeed {
    live: Live,
    paths: Vec<PathPattern>,
    interval: Duration,
    cadence: Cadence,
    last_collected: Instant,
    recording: Option<ActiveRecording>,
}

impl LiveFeed {
    pub(super) fn new(live: Live, paths: Vec<PathPattern>, interval: Duration) -> Self {
        let now = Instant::now();
        Self {
            live,
            paths,
            interval,
            cadence: Cadence::new(now, interval),
            last_collected: now,
            recording: None,
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
        self.collect()
    }

    /// Takes a sample now.
    pub(super) fn collect(&mut self) -> Vec<Input> {
        let mut inputs = Vec::new();
        self.last_collected = Instant::now();
        let known = Arc::clone(self.live.board.registry());
        let sample = self.live.board.collect();
        let at = sample.at.utc;
        if let Some(recording) = &mut self.recording {
            match recording.push(sample) {
                Ok(notice) => inputs.extend(notice.map(Input::Problem)),
                Err(error) => {
                    self.recording = None;
                    inputs.push(Input::Problem(format!("recording stopped: {error}")));
                }
            }
            inputs.push(Input::Recording(self.recording.as_ref().map(ActiveRecording::state)));
        }
        for problem in self.live.board.report().new_errors() {
            let others = match problem.counters.len().saturating_sub(1) {
                0 => String::new(),
                1 => " and 1 other counter".to_owned(),
                others => format!(" and {others} other counters"),
            };
            inputs.push(Input::Problem(format!("{}{others}: {}", problem.path, problem.reason)));
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
        inputs.extend(self.collect());
        inputs
    }

    /// The recorded paths, then the other paths of the legend.
    fn sampled_paths(&self) -> Vec<PathPattern> {
        let recorded = self.recording.iter().flat_map(ActiveRecording::paths);
        let mut paths: Vec<_> = recorded.cloned().collect();
        paths.extend(self.paths.iter().filter(|path| !paths.contains(path)).cloned().collect::<Vec<_>>());
        paths
    }

    pub(super) fn set_interval(&mut self, interval: Duration) {
        self.interval = interval;
        self.cadence = Cadence::new(self.last_collected, interval);
        self.cadence.advance(self.last_collected);
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
        if sampled != self.paths {
            // Paths that were sampled only for the recording are removed. A sample without them is taken immediately,
            // because the next recording begins with the latest sample.
            self.live.board.set_paths(&self.paths);
            inputs = self.collect();
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

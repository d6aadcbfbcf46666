//! Samples of this machine, taken between keys.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::{Cadence, FlowError, Selection};
use tachograph_monitor::{Board as _, Catalogue as _, LiveBoard, MachineCatalogue, Reduced, Span};

use super::recording::Recorded;
use crate::app::{Existing, Input};

/// This machine, as the command hands it in.
pub struct Live {
    /// The samples, of the paths that are shown first; what it [follows](LiveBoard::follow) there is to choose from.
    pub board: LiveBoard,
    /// What to say of paths that select nothing.
    pub complaints: fn(&Selection) -> Vec<String>,
    /// The machine's name.
    pub name: String,
    /// What times are shown in, and recorded.
    pub zone: TimeZone,
    /// Ticks per second of the performance counter.
    pub frequency: i64,
}

/// What is said of a recording that could not be completed.
pub(super) fn not_complete(error: &FlowError) -> String {
    format!("the recording is not complete: {error}")
}

/// Takes samples at their moments.
pub(super) struct LiveFeed {
    live: Live,
    paths: Vec<PathPattern>,
    interval: Duration,
    cadence: Cadence,
    last: Instant,
    recorded: Option<Recorded>,
}

impl LiveFeed {
    pub(super) fn new(live: Live, paths: Vec<PathPattern>, interval: Duration) -> Self {
        let now = Instant::now();
        Self { live, paths, interval, cadence: Cadence::new(now, interval), last: now, recorded: None }
    }

    /// How long it is to the next sample.
    pub(super) fn wait(&self) -> Duration {
        self.cadence.due().saturating_duration_since(Instant::now())
    }

    /// Takes the sample whose moment has come, if one has.
    pub(super) fn take_due(&mut self) -> Vec<Input> {
        if !self.wait().is_zero() {
            return Vec::new();
        }
        self.cadence.advance(Instant::now());
        self.collect()
    }

    /// Takes a sample now.
    pub(super) fn collect(&mut self) -> Vec<Input> {
        let mut inputs = Vec::new();
        self.last = Instant::now();
        let known = Arc::clone(self.live.board.registry());
        let sample = self.live.board.collect();
        let at = sample.at.utc;
        if let Some(recorded) = &mut self.recorded {
            match recorded.take(sample) {
                Ok(notice) => inputs.extend(notice.map(Input::Trouble)),
                Err(error) => {
                    self.recorded = None;
                    inputs.push(Input::Trouble(format!("the recording has ended: {error}")));
                }
            }
            inputs.push(Input::Recording(self.recorded.as_ref().map(Recorded::shown)));
        }
        for trouble in self.live.board.report().news() {
            let others = match trouble.counters.len().saturating_sub(1) {
                0 => String::new(),
                1 => " and 1 other counter".to_owned(),
                others => format!(" and {others} other counters"),
            };
            inputs.push(Input::Trouble(format!("{}{others}: {}", trouble.path, trouble.reason)));
        }
        if !Arc::ptr_eq(self.live.board.registry(), &known) {
            inputs.push(self.sets());
        }
        inputs.push(Input::Collected(at));
        inputs
    }

    pub(super) fn sets(&self) -> Input {
        Input::Sets(self.catalogue().sets().into())
    }

    pub(super) fn instances(&self, set: String) -> Input {
        let instances = self.catalogue().instances(&set);
        Input::Instances(set, instances)
    }

    pub(super) fn count(&self, wanted: Vec<PathPattern>, present: &[PathPattern]) -> Input {
        let lines = self.catalogue().count(&wanted, present);
        Input::Counted(wanted, lines)
    }

    fn catalogue(&self) -> MachineCatalogue {
        MachineCatalogue(Arc::clone(self.live.board.registry()))
    }

    /// Takes samples of other paths from now on, the first one at once: it opens the first interval of what is new.
    pub(super) fn set_paths(&mut self, paths: Vec<PathPattern>) -> Vec<Input> {
        self.paths = paths;
        let complaints = self.live.board.set_paths(&self.taken_paths());
        let mut inputs: Vec<_> = (self.live.complaints)(&complaints).into_iter().map(Input::Notice).collect();
        inputs.extend(self.collect());
        inputs
    }

    /// What samples are taken of: what is recorded, also when it is no more on the legend, and what is shown.
    fn taken_paths(&self) -> Vec<PathPattern> {
        let recorded = self.recorded.iter().flat_map(Recorded::paths);
        let mut paths: Vec<_> = recorded.cloned().collect();
        paths.extend(self.paths.iter().filter(|path| !paths.contains(path)).cloned().collect::<Vec<_>>());
        paths
    }

    pub(super) fn set_interval(&mut self, interval: Duration) {
        self.interval = interval;
        self.cadence = Cadence::new(self.last, interval);
        self.cadence.advance(self.last);
    }

    pub(super) fn set_points(&mut self, points: usize) {
        self.live.board.set_points(points);
    }

    pub(super) fn hold(&mut self, until: Option<FileTime>) {
        self.live.board.hold(until);
    }

    pub(super) fn reduce(&mut self, span: Span, columns: usize) -> Result<Reduced, FlowError> {
        if self.paths.is_empty() {
            return Ok(Reduced { span, columns, series: Vec::new() });
        }
        self.live.board.reduce(span, columns, &self.paths)
    }

    /// Begins to record, with the sample that is shown.
    pub(super) fn record(&mut self, path: &Path, is_overwritten: bool) -> Vec<Input> {
        let mut inputs = self.stop_recording();
        let Live { zone, frequency, .. } = &self.live;
        let begun = Recorded::begin(path, is_overwritten, self.interval, zone, *frequency, &self.paths);
        let written = begun.and_then(|mut recorded| {
            let notice = match self.live.board.samples().next_back() {
                Some(sample) => recorded.take(sample)?,
                None => None,
            };
            Ok((recorded, notice))
        });
        match written {
            Ok((recorded, notice)) => {
                inputs.push(Input::Recording(Some(recorded.shown())));
                inputs.extend(notice.map(Input::Trouble));
                self.recorded = Some(recorded);
            }
            Err(FlowError::Log(error))
                if error.io_error().is_some_and(|io| io.kind() == std::io::ErrorKind::AlreadyExists) =>
            {
                inputs.push(Input::Exists(Existing::Recording(path.to_path_buf())));
            }
            Err(error) => inputs.push(Input::Notice(format!("nothing is recorded: {error}"))),
        }
        inputs
    }

    pub(super) fn stop_recording(&mut self) -> Vec<Input> {
        let Some(recorded) = self.recorded.take() else { return Vec::new() };
        let said = match recorded.finish() {
            Ok(said) => Input::Notice(said),
            Err(error) => Input::Trouble(not_complete(&error)),
        };
        // What was taken for it alone is not needed any more.
        self.live.board.set_paths(&self.paths);
        vec![Input::Recording(None), said]
    }

    /// Completes a recording at the end.
    ///
    /// # Errors
    ///
    /// When that cannot be written.
    pub(super) fn finish(mut self) -> Result<Option<String>, FlowError> {
        self.recorded.take().map(Recorded::finish).transpose()
    }
}

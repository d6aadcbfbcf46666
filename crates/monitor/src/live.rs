//! The board of a machine, or of several machines, with live samples.

mod reducers;

use std::collections::HashSet;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::live::{Collect as _, LiveOptions, LiveReport, LiveSource, MachinesSource, Refresh};
use tachograph_flow::{FlowError, Selection};
use tachograph_perflib::{ErrorCode, Registry};

use crate::board::Board;
use crate::memory::{is_reusable, memory_of};
use crate::reduced::{Reduced, Reduction};
use crate::ring::Ring;
use crate::series::SeriesTable;
use crate::span::Span;
use reducers::{KeptReducer, Reducers};

/// The smallest number of intervals in a live chart.
pub const MIN_POINTS: usize = 2;
/// The largest number of intervals in a live chart.
pub const MAX_POINTS: usize = 1000;
/// The default [limit](LiveBoard::set_max_bytes) on the memory of a board's samples, in bytes.
pub const DEFAULT_MAX_BYTES: usize = 512 << 20;
/// A board keeps at least this many samples, even if they need more memory, because values are computed from them.
const MIN_SAMPLES: usize = 3;

/// A sample and its memory, in bytes.
struct Kept {
    sample: Sample,
    bytes: usize,
    /// Whether charts that contain this sample omit the one before it; see [`LiveBoard::recollect`].
    replaces_previous: bool,
}

/// A ring of the last raw samples of a machine, or of several. The caller decides when a sample is taken.
pub struct LiveBoard {
    source: BoardSource,
    /// The last samples: one more than `points`, because the oldest one opens the first interval.
    ring: Ring<Kept>,
    /// The limit of the memory of the samples in the ring, in bytes.
    max_bytes: usize,
    /// While samples are held: the time of the sample at which charts end.
    held_until: Option<FileTime>,
    /// A dropped sample whose buffers are reused.
    spare_sample: Option<Sample>,
    /// The number of intervals in a chart.
    points: usize,
    table: SeriesTable,
    reducers: Reducers,
}

/// Where samples come from.
enum BoardSource {
    Machine(Box<LiveSource>),
    Machines {
        source: Box<MachinesSource>,
        /// The registry of one of the machines; an empty one until any of them has been reached.
        registry: Arc<Registry>,
    },
}

impl LiveBoard {
    /// Opens a board for the counters that the paths select, with room for `points` intervals ([`MIN_POINTS`] to
    /// [`MAX_POINTS`]). The selection reports the paths that select nothing.
    ///
    /// # Errors
    ///
    /// Those of [`LiveSource::open`].
    pub fn open(
        registry: &Arc<Registry>,
        paths: &[PathPattern],
        points: usize,
        options: LiveOptions,
    ) -> Result<(Self, Selection), ErrorCode> {
        let (source, selection) = LiveSource::open(registry, paths, options)?;
        Ok((Self::new(BoardSource::Machine(Box::new(source)), points), selection))
    }

    /// Opens a board for the counters of several machines that the paths select, with room for `points` intervals. Paths are looked up
    /// in `registry` until a machine is reached.
    pub fn of_machines(
        mut source: MachinesSource,
        registry: Arc<Registry>,
        paths: &[PathPattern],
        points: usize,
    ) -> (Self, Selection) {
        let selection = source.set_paths(paths);
        let registry = source.any_registry().map_or(registry, Arc::clone);
        (Self::new(BoardSource::Machines { source: Box::new(source), registry }, points), selection)
    }

    fn new(source: BoardSource, points: usize) -> Self {
        let points = points.clamp(MIN_POINTS, MAX_POINTS);
        Self {
            source,
            ring: Ring::new(points + 1),
            max_bytes: DEFAULT_MAX_BYTES,
            held_until: None,
            spare_sample: None,
            points,
            table: SeriesTable::default(),
            reducers: Reducers::default(),
        }
    }

    /// Takes a sample now. Drops the oldest one if the ring is full.
    pub fn collect(&mut self) -> &Sample {
        self.take_sample(false)
    }

    /// Takes a sample now in place of the last one, if the two are close together: a kernel counts processor time in ticks of up
    /// to 10 ms, so the share of a much shorter interval than usual can exceed 100 %. Charts omit the last sample, unless they
    /// end there because it is [held](Self::hold).
    pub fn recollect(&mut self) -> &Sample {
        self.take_sample(true)
    }

    fn take_sample(&mut self, replaces_previous: bool) -> &Sample {
        self.make_room(1);
        let mut sample = self.spare_sample.take().unwrap_or_default();
        match &mut self.source {
            BoardSource::Machine(source) => source.collect(&mut sample),
            BoardSource::Machines { source, registry } => {
                source.collect(&mut sample);
                if let Some(now) = source.any_registry().filter(|now| !Arc::ptr_eq(now, registry)) {
                    *registry = Arc::clone(now);
                }
            }
        }
        let bytes = memory_of(&sample, self.ring.newest().map(|before| &before.sample));
        self.limit_memory(bytes, MIN_SAMPLES - 1);
        &self.ring.push(Kept { sample, bytes, replaces_previous }).sample
    }

    /// Limits the memory of the kept samples, in bytes. At least three samples are kept, even if they need more.
    pub fn set_max_bytes(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes;
        self.limit_memory(0, MIN_SAMPLES);
    }

    /// Drops samples while all samples and `further` bytes together need too much memory: first the oldest samples that are not
    /// held, but not the last `min` of these; then the oldest held samples.
    fn limit_memory(&mut self, further: usize, min: usize) {
        if let Some(oldest) = self.ring.iter_mut().next() {
            oldest.bytes = memory_of(&oldest.sample, None);
        }
        let mut total = self.ring.iter().map(|kept| kept.bytes).sum::<usize>() + further;
        while total > self.max_bytes {
            let Some((index, dropped)) = self.ring.drop_oldest(min) else { break };
            total -= dropped.bytes;
            self.reuse(dropped.sample);
            // The lists of instances that the dropped sample shared with the next one now count as memory of the next one.
            let mut later = self.ring.iter_mut().skip(index.saturating_sub(1));
            let before = if index == 0 { None } else { later.next() };
            if let Some(next) = later.next() {
                total -= next.bytes;
                next.bytes = memory_of(&next.sample, before.map(|kept| &kept.sample));
                total += next.bytes;
            }
        }
    }

    /// Drops the oldest samples until there is room for `further` new ones.
    fn make_room(&mut self, further: usize) {
        let Some(dropped) = self.ring.make_room(further) else { return };
        self.reuse(dropped.sample);
        // The table keeps the series of ended processes. From time to time, series without a sample are dropped.
        if self.table.len() > 64 && self.table.len() > 4 * self.max_sample_values() {
            self.drop_absent_series();
        }
    }

    /// Keeps a dropped sample for the next one, unless its buffers are too large for that.
    fn reuse(&mut self, dropped: Sample) {
        if self.ring.newest().is_some_and(|last| is_reusable(&dropped, &last.sample)) {
            self.spare_sample.get_or_insert(dropped);
        }
    }

    fn max_sample_values(&self) -> usize {
        self.samples().map(Sample::len).max().unwrap_or_default()
    }

    fn drop_absent_series(&mut self) {
        let Some(span) = self.span() else { return };
        if let Ok(reduced) = self.reduce_first(self.ring.iter().len(), span, 0, &[]) {
            let present: HashSet<_> = reduced.series.iter().map(|series| series.info.id).collect();
            self.table.retain(|id| present.contains(&id));
            self.reducers.clear();
        }
    }

    /// Replaces the sampled paths. Series that stay selected are not interrupted.
    pub fn set_paths(&mut self, paths: &[PathPattern]) -> Selection {
        match &mut self.source {
            BoardSource::Machine(source) => source.set_paths(paths),
            BoardSource::Machines { source, .. } => source.set_paths(paths),
        }
    }

    /// Follows counter sets that appear and disappear, as [`LiveSource::follow`] does. Has no effect on a board of several
    /// machines, whose source always follows the machines' sets.
    pub fn follow(&mut self, refresh: Refresh) {
        if let BoardSource::Machine(source) = &mut self.source {
            source.follow(refresh);
        }
    }

    /// The registry in which paths are looked up; with several machines, the registry of one of them.
    pub fn registry(&self) -> &Arc<Registry> {
        match &self.source {
            BoardSource::Machine(source) => source.registry(),
            BoardSource::Machines { registry, .. } => registry,
        }
    }

    /// The number of intervals that are kept.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Changes the number of intervals that are kept ([`MIN_POINTS`] to [`MAX_POINTS`]).
    pub fn set_points(&mut self, points: usize) {
        self.points = points.clamp(MIN_POINTS, MAX_POINTS);
        self.ring.set_room(self.points + 1);
    }

    /// Holds the sample of this time and all samples before it: they are kept, and charts end there even if more
    /// samples follow. Holding until another time does not release samples that are already held; `None` releases them.
    pub fn hold(&mut self, until: Option<FileTime>) {
        self.held_until = until;
        match until {
            Some(until) => self.ring.hold(|kept| kept.sample.at.utc == until),
            None => self.ring.release(),
        }
    }

    /// The values that could not be read.
    pub fn report(&self) -> LiveReport {
        match &self.source {
            BoardSource::Machine(source) => source.report(),
            BoardSource::Machines { source, .. } => source.report(),
        }
    }

    /// The samples, oldest first, including [held](Self::hold) ones. Once the ring is full, the first one only opens an
    /// interval.
    pub fn samples(&self) -> impl DoubleEndedIterator<Item = &Sample> + ExactSizeIterator {
        self.ring.iter().map(|kept| &kept.sample)
    }

    /// The span of the last `points` intervals of this length (in units of 100 ns), ending with the last sample: the visible
    /// range of a live chart with one column per interval.
    pub fn window(&self, interval: i64) -> Option<Span> {
        let last = self.ring.newest()?.sample.at.utc;
        // A sample can be early or late by a part of the interval, so the borders of columns are halfway between two
        // samples.
        let end = last.saturating_add((interval / 2).max(1));
        let length = interval.saturating_mul(self.points as i64);
        Some(Span::new(end.saturating_sub(length), end))
    }

    /// Reduces the samples that are in the span and among the first `count` of the ring.
    fn reduce_first(
        &mut self,
        count: usize,
        span: Span,
        columns: usize,
        paths: &[PathPattern],
    ) -> Result<Reduced, FlowError> {
        let mut reduction = Reduction::new(span, columns);
        // Reducers of single instances are not kept. They are cheap, and there can be many: tables use them for
        // instances whose name belonged to several processes.
        let is_single = |path: &PathPattern| path.instance().is_some_and(|instance| instance.is_literal());
        let is_kept = paths.is_empty() || !paths.iter().all(is_single);
        let mut new = KeptReducer::new(paths);
        let reducer = if is_kept { self.reducers.reducer_for(paths) } else { &mut new };
        reduction.reserve(reducer.series());
        let first = self.ring.partition_point(|kept| kept.sample.at.utc < span.begin());
        let replaces_previous =
            |index: usize| self.ring.iter().nth(index).is_some_and(|kept: &Kept| kept.replaces_previous);
        let baseline = (0..first).rev().find(|index| !replaces_previous(index + 1)).unwrap_or_default();
        let kept = self.ring.iter_mut().enumerate().take(count).skip(baseline);
        let mut kept = kept.take_while(|(_, kept)| kept.sample.at.utc < span.end()).peekable();
        while let Some((index, Kept { sample, .. })) = kept.next() {
            if kept.peek().is_some_and(|(_, next)| next.replaces_previous) {
                continue;
            }
            sample.is_baseline = index < first;
            let pushed = reducer.push(sample, &mut reduction, &mut self.table);
            sample.is_baseline = false;
            pushed?;
        }
        Ok(reducer.finish(reduction, &mut self.table))
    }
}

impl Board for LiveBoard {
    fn is_live(&self) -> bool {
        true
    }

    fn span(&self) -> Option<Span> {
        let time = |kept: Option<&Kept>| -> Option<FileTime> { Some(kept?.sample.at.utc) };
        Some(Span::of_samples(time(self.ring.oldest())?, time(self.ring.newest())?))
    }

    fn reduce(&mut self, span: Span, columns: usize, paths: &[PathPattern]) -> Result<Reduced, FlowError> {
        let held = self.held_until.and_then(|until| {
            let index = self.samples().rposition(|sample| sample.at.utc == until)?;
            Some(index + 1)
        });
        self.reduce_first(held.unwrap_or(self.ring.iter().len()), span, columns, paths)
    }
}

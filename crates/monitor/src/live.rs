//! The last samples of this machine.

use std::collections::HashSet;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::live::{LiveOptions, LiveReport, LiveSource, Refresh};
use tachograph_flow::{FlowError, Selection};
use tachograph_perflib::{ErrorCode, Registry};

use crate::board::Board;
use crate::reduced::{Reduced, Reduction};
use crate::reducer::Reducer;
use crate::ring::Ring;
use crate::series::SeriesTable;
use crate::span::Span;

/// The fewest intervals that a live chart shows.
pub const MIN_POINTS: usize = 2;
/// The most.
pub const MAX_POINTS: usize = 1000;

/// A ring of the last samples, raw. Whoever owns it says when the next one is taken.
pub struct LiveBoard {
    source: LiveSource,
    /// The last samples, one more than there are points: it opens the first interval.
    ring: Ring<Sample>,
    /// The time of the sample that charts end with, while those up to it are held.
    held_until: Option<FileTime>,
    /// A sample whose buffers can be used again.
    spare: Option<Sample>,
    points: usize,
    table: SeriesTable,
}

impl LiveBoard {
    /// A board of what the paths select, with room for `points` intervals ([`MIN_POINTS`] to [`MAX_POINTS`]); also the
    /// selection, which knows the paths that select nothing.
    ///
    /// # Errors
    ///
    /// The code of [`LiveSource::open`].
    pub fn open(
        registry: &Arc<Registry>,
        paths: &[PathPattern],
        points: usize,
        options: LiveOptions,
    ) -> Result<(Self, Selection), ErrorCode> {
        let (source, selection) = LiveSource::open(registry, paths, options)?;
        let table = SeriesTable::default();
        let points = points.clamp(MIN_POINTS, MAX_POINTS);
        let ring = Ring::new(points + 1);
        Ok((Self { source, ring, held_until: None, spare: None, points, table }, selection))
    }

    /// Takes a sample now. The oldest one is forgotten where there is no more room.
    pub fn collect(&mut self) -> &Sample {
        self.make_room(1);
        let mut sample = self.spare.take().unwrap_or_default();
        self.source.collect(&mut sample);
        self.ring.push(sample)
    }

    /// Leaves room for `further` samples.
    fn make_room(&mut self, further: usize) {
        let Some(gone) = self.ring.make_room(further) else { return };
        self.spare.get_or_insert(gone);
        // Processes that came and went leave their numbers behind: now and then those in no sample are forgotten.
        if self.table.len() > 64 && self.table.len() > 4 * self.values_at_once() {
            self.forget_series();
        }
    }

    fn values_at_once(&self) -> usize {
        self.ring.iter().map(Sample::len).max().unwrap_or_default()
    }

    fn forget_series(&mut self) {
        let Some(span) = self.span() else { return };
        if let Ok(reduced) = self.reduce_first(self.ring.iter().len(), span, 1, &[]) {
            let there: HashSet<_> = reduced.series.iter().map(|series| series.info.id).collect();
            self.table.retain(|id| there.contains(&id));
        }
    }

    /// Takes samples of what these paths select from now on; what was there before goes on undisturbed.
    pub fn set_paths(&mut self, paths: &[PathPattern]) -> Selection {
        self.source.set_paths(paths)
    }

    /// Follows counter sets that come and go, as [`LiveSource::follow`] does.
    pub fn follow(&mut self, refresh: Refresh) {
        self.source.follow(refresh);
    }

    /// The registry that paths are looked up in.
    pub fn registry(&self) -> &Arc<Registry> {
        self.source.registry()
    }

    /// How many intervals are kept.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Keeps so many intervals from now on ([`MIN_POINTS`] to [`MAX_POINTS`]).
    pub fn set_points(&mut self, points: usize) {
        self.points = points.clamp(MIN_POINTS, MAX_POINTS);
        self.ring.set_room(self.points + 1);
    }

    /// Holds the sample of this time and those before it: they stay, beside the last ones, however many come after them, and
    /// charts end with it. What is held already stays when the time is another one. `None`: what is held is let go.
    pub fn hold(&mut self, until: Option<FileTime>) {
        self.held_until = until;
        match until {
            Some(until) => self.ring.hold(|sample| sample.at.utc == until),
            None => self.ring.release(),
        }
    }

    /// What happens beside the samples: values that could not be read.
    pub fn report(&self) -> LiveReport {
        self.source.report()
    }

    /// The samples, oldest first, those that are [held](Self::hold) among them. The first one only opens an interval once the
    /// ring is full.
    pub fn samples(&self) -> impl DoubleEndedIterator<Item = &Sample> + ExactSizeIterator {
        self.ring.iter()
    }

    /// The span of the last `points` intervals of this length, in units of 100 ns, that ends with the last sample: what a
    /// chart shows whose right edge is now. A column an interval wide stands for each.
    pub fn window(&self, interval: i64) -> Option<Span> {
        let last = self.ring.newest()?.at.utc;
        // A sample may be early or late by a part of the interval: the borders lie in the midst between two.
        let end = last.saturating_add((interval / 2).max(1));
        let length = interval.saturating_mul(self.points as i64);
        Some(Span::new(end.saturating_sub(length), end))
    }

    /// Reduces what the first `count` samples have in the span.
    fn reduce_first(
        &mut self,
        count: usize,
        span: Span,
        columns: usize,
        paths: &[PathPattern],
    ) -> Result<Reduced, FlowError> {
        let mut reduction = Reduction::new(span, columns);
        let mut reducer = Reducer::default();
        let first = self.ring.partition_point(|sample| sample.at.utc < span.begin());
        for (number, sample) in self.ring.iter_mut().enumerate().take(count).skip(first.saturating_sub(1)) {
            if sample.at.utc >= span.end() {
                break;
            }
            sample.is_baseline = number < first;
            let taken = reducer.take(sample, &mut reduction, &mut self.table);
            sample.is_baseline = false;
            taken?;
        }
        reducer.cut(&mut reduction, &mut self.table);
        Ok(reduction.finish(&self.table, paths))
    }
}

impl Board for LiveBoard {
    fn span(&self) -> Option<Span> {
        let time = |sample: Option<&Sample>| -> Option<FileTime> { Some(sample?.at.utc) };
        Some(Span::of_samples(time(self.ring.oldest())?, time(self.ring.newest())?))
    }

    fn reduce(&mut self, span: Span, columns: usize, paths: &[PathPattern]) -> Result<Reduced, FlowError> {
        let held = self.held_until.and_then(|until| {
            let place = self.ring.iter().rposition(|sample| sample.at.utc == until)?;
            Some(place + 1)
        });
        self.reduce_first(held.unwrap_or(self.ring.iter().len()), span, columns, paths)
    }
}

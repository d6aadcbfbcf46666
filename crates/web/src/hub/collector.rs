//! The thread that collects samples.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tachograph_counters::IgnorePoison;
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_counters::set::CounterSet;
use tachograph_flow::Cadence;
use tachograph_flow::sinks::LiveValues;
use tachograph_monitor::{is_reusable, memory_of};
use tachograph_perflib::Registry;

use super::input::{Input, Missing};
use super::layout::SelectedColumns;
use super::streams::{Collected, Streams};
use super::{LiveSnapshot, PathState, Progress, Shared};
use crate::series::unix_seconds;

/// The ring keeps at least this many samples, even if they need more memory than allowed, because values are computed from them.
const MIN_SAMPLES: usize = 3;

/// Collects until the server stops.
pub(super) fn run(shared: &Arc<Shared>) {
    let _notifier = EndNotifier(shared);
    let mut streams = Streams::default();
    let mut collector: Option<Collector> = None;
    let mut applied = 0;
    loop {
        let mut state = shared.lock();
        if state.is_stopped {
            break;
        }
        let mut is_changed = state.requests_version != applied;
        applied = state.requests_version;
        is_changed |= state.requested.expire(Instant::now());
        state.new_subscribers.drain(..).for_each(|subscriber| streams.add(subscriber));
        if state.requested.is_empty() {
            collector = None;
            state.live = LiveSnapshot::default();
            streams.clear();
            shared.report_progress(applied, 0);
            let is_idle = |state: &mut super::State| !state.is_stopped && state.requests_version == applied;
            drop(shared.changed.wait_while(state, is_idle).ignore_poison());
            continue;
        }
        let changed = is_changed.then(|| state.requested.paths());
        drop(state);
        if let Some(paths) = changed {
            match &mut collector {
                Some(collector) if collector.paths == paths => {}
                Some(collector) => collector.change_paths(shared, paths),
                None => collector = Collector::open(shared, paths),
            }
            shared.report_progress(applied, collector.as_ref().map_or(0, |collector| collector.count));
        }
        let Some(collector) = &mut collector else {
            // The query could not be opened. Retry later.
            std::thread::sleep(shared.options.interval.min(Duration::from_secs(1)));
            continue;
        };
        if collector.wait(shared, applied) {
            collector.collect(shared, &mut streams);
            shared.report_progress(applied, collector.count);
        }
    }
}

/// Notifies waiting handlers when the thread ends, even by a panic.
struct EndNotifier<'a>(&'a Shared);

impl Drop for EndNotifier<'_> {
    fn drop(&mut self) {
        self.0.progress.send_modify(|progress| progress.has_ended = true);
    }
}

impl Shared {
    /// Stores a registry of one of the machines for handlers.
    fn publish(&self, registry: &Arc<Registry>) {
        let mut known = self.machine_registry.lock().ignore_poison();
        if !known.as_ref().is_some_and(|known| Arc::ptr_eq(known, registry)) {
            *known = Some(Arc::clone(registry));
        }
    }

    /// Notifies waiting handlers.
    fn report_progress(&self, requests_version: u64, samples: u64) {
        self.progress.send_modify(|progress| *progress = Progress { requests_version, samples, ..*progress });
    }
}

struct Collector {
    input: Input,
    paths: Vec<PathPattern>,
    /// The state of each path, by its string form.
    states: Arc<HashMap<String, PathState>>,
    /// The displayed values of the last sample.
    values: LiveValues,
    /// The sets of the last sample's groups.
    sets: Vec<Arc<CounterSet>>,
    cadence: Cadence,
    /// The number of samples since the collection began.
    count: u64,
    /// The memory of each sample in the ring, oldest first.
    sizes: VecDeque<usize>,
    /// A sample that was removed from the ring; the next collection reuses its buffers.
    spare: Option<Sample>,
}

impl Collector {
    fn open(shared: &Shared, paths: Vec<PathPattern>) -> Option<Self> {
        let (input, missing) = Input::open(shared, &paths)?;
        let mut collector = Self {
            input,
            paths,
            states: Arc::default(),
            values: LiveValues::default(),
            sets: Vec::new(),
            cadence: Cadence::new(Instant::now(), shared.options.interval),
            count: 0,
            sizes: VecDeque::new(),
            spare: None,
        };
        collector.update_states(shared, missing);
        Some(collector)
    }

    fn set_paths(&mut self, shared: &Shared, paths: Vec<PathPattern>) {
        self.paths = paths;
        let missing = self.input.set_paths(&self.paths);
        self.update_states(shared, missing);
    }

    /// Changes the collected paths, and drops samples of counters that are no longer collected.
    fn change_paths(&mut self, shared: &Shared, paths: Vec<PathPattern>) {
        let before = self.input.descriptions();
        self.set_paths(shared, paths);
        if !before.is_subset(&self.input.descriptions()) {
            self.remove_unrequested(shared);
        }
    }

    /// Removes columns that no path selects any longer from the samples in the ring. Otherwise these columns would use memory
    /// until the samples are dropped.
    fn remove_unrequested(&mut self, shared: &Shared) {
        // Columns are compared with the paths, not with the registry, because charts still show sets that the machine no longer has.
        let mut requested = SelectedColumns::new(self.paths.clone());
        let mut state = shared.lock();
        for kept in &mut state.live.samples {
            if !kept.groups.iter().all(|group| requested.selects_all(group)) {
                // Readers that hold the old sample are not affected.
                let mut sample = Sample::default();
                sample.copy_head(kept);
                sample.groups.extend(kept.groups.iter().filter_map(|group| requested.copy(group)));
                *kept = Arc::new(sample);
            }
        }
        let previous = std::iter::once(None).chain(state.live.samples.iter().map(|sample| Some(&**sample)));
        self.sizes = state
            .live
            .samples
            .iter()
            .zip(previous)
            .map(|(sample, before)| memory_of(sample, before))
            .collect();
        // The spare sample's buffers are sized for the removed groups.
        self.spare = None;
    }

    fn update_states(&mut self, shared: &Shared, missing: Missing) {
        let unmatched: HashMap<_, _> = missing.into_iter().collect();
        let state = |path: &PathPattern| {
            let text = path.to_string();
            let missing = unmatched.get(&text).cloned();
            let since = self.states.get(&text).map_or(self.count, |known| known.since);
            (text, PathState { since, missing })
        };
        self.states = Arc::new(self.paths.iter().map(state).collect());
        shared.lock().live.paths = Arc::clone(&self.states);
    }

    /// Waits until the next sample is due. Returns false if, before that, the server stops or the version of the requested
    /// paths differs from `applied`.
    fn wait(&self, shared: &Shared, applied: u64) -> bool {
        let due = self.cadence.due();
        let mut state = shared.lock();
        loop {
            if state.is_stopped || state.requests_version != applied {
                return false;
            }
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            state = shared.changed.wait_timeout(state, left).ignore_poison().0;
        }
    }

    fn collect(&mut self, shared: &Shared, streams: &mut Streams) {
        self.cadence.advance(Instant::now());
        if self.input.refresh(shared) {
            self.set_paths(shared, self.paths.clone());
        }
        let mut sample = self.spare.take().unwrap_or_default();
        self.input.collect(&mut sample);
        if let Some(registry) = self.input.any_registry() {
            shared.publish(registry);
        }
        self.count += 1;
        self.values.push(&sample);
        let has_same_sets = sample.has_sets(self.sets.iter());
        if !has_same_sets {
            self.sets = sample.groups.iter().map(|group| Arc::clone(&group.set)).collect();
        }
        let time = unix_seconds(sample.at.utc);
        let (samples, recording) = self.push_to_ring(shared, sample, streams.needed_samples());
        let collected = Collected {
            values: &self.values,
            has_changed: !has_same_sets || self.values.has_changed(),
            count: self.count,
            time,
            interval: shared.options.interval,
            samples: &samples,
            recording: &recording,
        };
        streams.publish(&collected, shared.runtime.get());
    }

    /// Adds a sample to the ring; returns the last samples in it, up to `needed`, and the event about the recording.
    fn push_to_ring(&mut self, shared: &Shared, sample: Sample, needed: usize) -> (Vec<Arc<Sample>>, Bytes) {
        let mut state = shared.lock();
        let state = &mut *state;
        let live = &mut state.live;
        let bytes = memory_of(&sample, live.samples.last().map(|sample| &**sample));
        live.samples.push(Arc::new(sample));
        live.count = self.count;
        live.report = self.input.report();
        self.sizes.push_back(bytes);
        let mut removed = Vec::new();
        let max_bytes = shared.options.max_bytes;
        let mut total: usize = self.sizes.iter().sum();
        while live.samples.len() > shared.options.points + 1
            || (live.samples.len() > MIN_SAMPLES && total > max_bytes)
        {
            removed.push(live.samples.remove(0));
            self.sizes.pop_front();
            // The oldest sample now holds the lists of instances that it shared with the removed one.
            if let (Some(oldest), Some(size)) = (live.samples.first(), self.sizes.front_mut()) {
                *size = memory_of(oldest, None);
            }
            total = self.sizes.iter().sum();
        }
        // The number of intervals for which there is room if further samples are as large.
        let room = max_bytes.saturating_sub(total) / bytes.max(1);
        live.points = (live.samples.len() - 1 + room)
            .clamp(MIN_SAMPLES - 1, shared.options.points.max(MIN_SAMPLES - 1));
        let samples = live.samples[live.samples.len().saturating_sub(needed)..].to_vec();
        // The buffers are reused unless a reader holds the sample.
        let last = live.samples.last();
        let reusable = removed.pop().filter(|dropped| last.is_some_and(|last| is_reusable(dropped, last)));
        self.spare = reusable.and_then(|sample| Arc::try_unwrap(sample).ok());
        (samples, state.recording.clone())
    }
}

//! The thread that collects.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::CounterSet;
use tachograph_flow::live::{LiveOptions, LiveSource};
use tachograph_flow::sinks::LiveValues;
use tachograph_flow::{Cadence, Selection, Source as _};
use tachograph_monitor::{Reducer, Reduction, SeriesTable, Span};
use tachograph_perflib::Registry;

use super::layout::is_column_of;
use super::streams::{Averages, Collected, Streams};
use super::{Live, PathState, Progress, RingSource, Shared};
use crate::series::unix_seconds;

/// Most raw values in the ring, about 24 bytes each. Where a sample has many, fewer samples are kept.
const MAX_RING_VALUES: usize = 6 << 20;
/// The fewest samples that are kept all the same.
const MIN_SAMPLES: usize = 3;

/// Collects until the server ends.
pub(super) fn run(shared: &Arc<Shared>) {
    let _end = End(shared);
    let mut streams = Streams::default();
    let mut collector: Option<Collector> = None;
    let mut applied = 0;
    loop {
        let mut state = shared.lock();
        if state.is_stopped {
            break;
        }
        let mut is_changed = state.wants != applied;
        applied = state.wants;
        is_changed |= state.wanted.expire(Instant::now());
        streams.forget_gone();
        state.arriving.drain(..).for_each(|arriving| streams.add(arriving));
        if state.wanted.is_empty() {
            collector = None;
            state.live = Live::default();
            shared.say(applied, 0);
            let is_idle = |state: &mut super::State| !state.is_stopped && state.wants == applied;
            drop(shared.changed.wait_while(state, is_idle).unwrap_or_else(PoisonError::into_inner));
            continue;
        }
        let wanted = is_changed.then(|| state.wanted.paths());
        drop(state);
        if let Some(paths) = wanted {
            match &mut collector {
                Some(collector) if collector.paths == paths => {}
                Some(collector) => collector.take_wants(shared, paths),
                None => collector = Collector::open(shared, paths),
            }
            shared.say(applied, collector.as_ref().map_or(0, |collector| collector.count));
        }
        let Some(collector) = &mut collector else {
            // This machine cannot be asked at all; that may pass.
            std::thread::sleep(shared.options.interval.min(Duration::from_secs(1)));
            continue;
        };
        if collector.wait(shared, applied) {
            collector.collect(shared, &mut streams);
            shared.say(applied, collector.count);
        }
    }
}

/// Tells who waits that nothing comes any more, also where the thread ends by a mistake.
struct End<'a>(&'a Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.progress.send_modify(|progress| progress.is_over = true);
    }
}

impl Shared {
    /// Tells handlers that wait how far the thread is.
    fn say(&self, wants: u64, samples: u64) {
        self.progress.send_modify(|progress| *progress = Progress { wants, samples, ..*progress });
    }
}

struct Collector {
    source: LiveSource,
    registry: Arc<Registry>,
    paths: Vec<PathPattern>,
    states: Arc<HashMap<String, PathState>>,
    values: LiveValues,
    /// The descriptions of the groups of the last sample.
    sets: Vec<Arc<CounterSet>>,
    cadence: Cadence,
    /// How many samples were taken.
    count: u64,
    spare: Option<Sample>,
}

impl Collector {
    fn open(shared: &Shared, paths: Vec<PathPattern>) -> Option<Self> {
        let registry = shared.registry();
        let options = &shared.options;
        let live = LiveOptions {
            bias_minutes: options.zone.bias_minutes,
            boot_time: options.boot_time,
            ..LiveOptions::default()
        };
        let (source, selection) = LiveSource::open(&registry, &paths, live).ok()?;
        let mut collector = Self {
            source,
            registry,
            paths,
            states: Arc::default(),
            values: LiveValues::default(),
            sets: Vec::new(),
            cadence: Cadence::new(Instant::now(), options.interval),
            count: 0,
            spare: None,
        };
        collector.note(shared, &selection);
        Some(collector)
    }

    fn set_paths(&mut self, shared: &Shared, paths: Vec<PathPattern>) {
        self.paths = paths;
        let selection = self.source.set_paths(&self.paths);
        self.note(shared, &selection);
    }

    /// Collects what is asked for now, and lets go of the rest.
    fn take_wants(&mut self, shared: &Shared, paths: Vec<PathPattern>) {
        let descriptions =
            |source: &LiveSource| source.descriptions().map(Arc::as_ptr).collect::<HashSet<_>>();
        let before = descriptions(&self.source);
        self.set_paths(shared, paths);
        if !before.is_subset(&descriptions(&self.source)) {
            self.forget_unwanted(shared);
        }
    }

    /// Takes out of the kept samples what nobody asks for any more: many values of few moments would stay for as long as the
    /// ring lasts.
    fn forget_unwanted(&mut self, shared: &Shared) {
        // By the paths: a set that has gone from the machine is on charts still.
        let is_asked = |set: &CounterSet| self.paths.iter().any(|path| is_column_of(path, set));
        let mut asked = HashMap::new();
        let mut is_wanted =
            |group: &Group| *asked.entry(Arc::as_ptr(&group.set)).or_insert_with(|| is_asked(&group.set));
        let mut state = shared.lock();
        for kept in &mut state.live.samples {
            if kept.groups.iter().all(&mut is_wanted) {
                continue;
            }
            // Whoever looks at it just now keeps it as it was.
            match Arc::get_mut(kept) {
                Some(sample) => sample.groups.retain(&mut is_wanted),
                None => {
                    let mut sample = Sample::default();
                    sample.take_head(kept);
                    sample.groups.extend(kept.groups.iter().filter(|group| is_wanted(group)).cloned());
                    *kept = Arc::new(sample);
                }
            }
        }
        // It has room for what is let go.
        self.spare = None;
    }

    /// Takes note of what became of each path.
    fn note(&mut self, shared: &Shared, selection: &Selection) {
        let unmatched: HashMap<_, _> = selection.unmatched().into_iter().collect();
        let state = |path: &PathPattern| {
            let text = path.to_string();
            let why = |advice: &Option<String>| match advice {
                Some(advice) => format!("not on this machine: {advice}"),
                None => "not on this machine".to_owned(),
            };
            let missing = unmatched.get(&text).map(why);
            let since = self.states.get(&text).map_or(self.count, |known| known.since);
            (text, PathState { since, missing })
        };
        self.states = Arc::new(self.paths.iter().map(state).collect());
        shared.lock().live.paths = Arc::clone(&self.states);
    }

    /// Waits for the next moment; false when something else is to be done before.
    fn wait(&self, shared: &Shared, applied: u64) -> bool {
        let due = self.cadence.due();
        let mut state = shared.lock();
        loop {
            if state.is_stopped || state.wants != applied {
                return false;
            }
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            state = shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn collect(&mut self, shared: &Shared, streams: &mut Streams) {
        self.cadence.advance(Instant::now());
        let registry = shared.registry();
        if !Arc::ptr_eq(&registry, &self.registry) {
            self.source.adopt(&registry);
            self.registry = registry;
            self.set_paths(shared, self.paths.clone());
        }
        let mut sample = self.spare.take().unwrap_or_default();
        self.source.collect(&mut sample);
        self.count += 1;
        self.values.take(&sample);
        let is_same = self.sets.len() == sample.groups.len()
            && self.sets.iter().zip(&sample.groups).all(|(set, group)| Arc::ptr_eq(set, &group.set));
        if !is_same {
            self.sets = sample.groups.iter().map(|group| Arc::clone(&group.set)).collect();
        }
        let time = unix_seconds(sample.at.utc);
        let samples = self.keep(shared, sample);
        let collected = Collected {
            values: &self.values,
            has_changed: !is_same || self.values.has_changed(),
            number: self.count,
            time,
            interval: shared.options.interval.as_secs_f64(),
        };
        let mut known: HashMap<usize, Arc<Averages>> = HashMap::new();
        streams.publish(&collected, |every| {
            Arc::clone(known.entry(every).or_insert_with(|| Arc::new(averages(&samples, every))))
        });
    }

    /// Puts a sample into the ring; gives all that is in it.
    fn keep(&mut self, shared: &Shared, sample: Sample) -> Vec<Arc<Sample>> {
        let values = sample.len().max(1);
        let most = (MAX_RING_VALUES / values).clamp(MIN_SAMPLES, shared.options.points + 1);
        let mut state = shared.lock();
        let live = &mut state.live;
        live.samples.push(Arc::new(sample));
        live.count = self.count;
        live.points = most - 1;
        live.report = self.source.report();
        let gone = live.samples.len().saturating_sub(most);
        let mut gone: Vec<_> = live.samples.drain(..gone).collect();
        let samples = live.samples.clone();
        drop(state);
        // Its buffers are used again, unless somebody looks at it just now.
        self.spare = gone.pop().and_then(|sample| Arc::try_unwrap(sample).ok());
        samples
    }
}

/// The averages over the last intervals, so many, of all that was collected.
fn averages(samples: &[Arc<Sample>], every: usize) -> Averages {
    let of_stream = &samples[samples.len().saturating_sub(every + 1)..];
    let ([first, _, ..], Some(last)) = (of_stream, of_stream.last()) else { return Averages::default() };
    let begin = Some(unix_seconds(first.at.utc));
    if every == 1 {
        return Averages { begin, by_path: None };
    }
    let span = Span::of_samples(first.at.utc.saturating_add(1), last.at.utc);
    let mut source = RingSource::window(of_stream.to_vec(), &[], (Some(span.begin()), None));
    let (mut reduction, mut table, mut reducer) =
        (Reduction::new(span, 1), SeriesTable::default(), Reducer::default());
    let mut sample = Sample::default();
    while source.next(&mut sample).is_ok_and(|more| more) {
        if reducer.take(&sample, &mut reduction, &mut table).is_err() {
            break;
        }
    }
    reducer.cut(&mut reduction, &mut table);
    let series = reduction.finish(&table, &[]).series;
    let by_path = series.into_iter().map(|series| (series.info.path.clone(), series.summary.average));
    Averages { begin, by_path: Some(by_path.collect()) }
}

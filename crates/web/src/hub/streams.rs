//! Readers that get every collection as server-sent events.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use tachograph_counters::path::PathPattern;
use tachograph_flow::sinks::LiveValues;
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;

use super::layout::{Cell, Layout};
use crate::series::SeriesName;

/// Most series of a stream.
const MAX_SERIES: usize = 10_000;
/// Most series of all different streams together.
const MAX_ALL_SERIES: usize = 100_000;
/// Most counter paths of all different streams together: each is looked up by itself when instances come or go.
const MAX_ALL_PATHS: usize = 1 << 13;

/// Events that always may wait for a reader.
const MIN_QUEUE: usize = 16;
/// Most events that wait for a reader.
const MAX_QUEUE: usize = 5000;
/// How long a reader may take nothing where events are small. A busy machine stops a handler, or a browser, for a while.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most bytes that wait for a reader beyond [`MIN_QUEUE`] events.
const MAX_QUEUE_BYTES: usize = 64 << 10;

/// How many events may wait for a reader of every n-th collection.
pub(super) fn queue_of(every: usize, interval: Duration) -> usize {
    let events = PATIENCE.as_nanos() / interval.as_nanos().saturating_mul(every as u128).max(1);
    usize::try_from(events).unwrap_or(MAX_QUEUE).clamp(MIN_QUEUE, MAX_QUEUE)
}

/// A reader that comes.
pub(super) struct Arriving {
    pub(super) paths: Vec<PathPattern>,
    pub(super) every: usize,
    pub(super) sender: Sender<Bytes>,
    pub(super) overrun: Arc<Notify>,
}

/// The readers that want the same.
struct Group {
    paths: Vec<PathPattern>,
    every: usize,
    layout: Layout,
    /// The event that names the series; empty while there was none.
    names: Bytes,
    readers: Vec<Reader>,
}

struct Reader {
    sender: Sender<Bytes>,
    overrun: Arc<Notify>,
    has_names: bool,
}

/// All streams.
#[derive(Default)]
pub(super) struct Streams(Vec<Group>);

/// What was collected.
pub(super) struct Collected<'a> {
    pub(super) values: &'a LiveValues,
    /// Whether other series are there than at the last time.
    pub(super) has_changed: bool,
    /// How many samples were taken, this one included.
    pub(super) number: u64,
    /// Unix seconds.
    pub(super) time: f64,
    /// Seconds from one collection to the next.
    pub(super) interval: f64,
}

impl Streams {
    pub(super) fn add(&mut self, Arriving { paths, every, sender, overrun }: Arriving) {
        let reader = Reader { sender, overrun, has_names: false };
        if let Some(group) = self.0.iter_mut().find(|group| group.every == every && group.paths == paths) {
            group.readers.push(reader);
            return;
        }
        let known: usize = self.0.iter().map(|group| group.paths.len()).sum();
        let is_too_much = known + paths.len() > MAX_ALL_PATHS;
        let (layout, names) = (Layout::default(), Bytes::new());
        let mut group = Group { paths, every, layout, names, readers: vec![reader] };
        if is_too_much {
            group.refuse("the streams are of too many different selections already; try again later");
        } else {
            self.0.push(group);
        }
    }

    /// Forgets who is gone.
    pub(super) fn forget_gone(&mut self) {
        for group in &mut self.0 {
            group.readers.retain(|reader| !reader.sender.is_closed());
        }
        // Of some groups the last reader was let go when it was sent something.
        self.0.retain(|group| !group.readers.is_empty());
    }

    /// Hands a collection to everybody whose turn it is. `averages` gives the averages of so many intervals, with the Unix
    /// time at which they begin.
    pub(super) fn publish(
        &mut self,
        collected: &Collected<'_>,
        mut averages: impl FnMut(usize) -> Arc<Averages>,
    ) {
        let mut series = 0;
        for group in &mut self.0 {
            if collected.has_changed || group.names.is_empty() {
                group.layout = Layout::of(collected.values, &group.paths);
                let count = group.layout.cells.len();
                if count > MAX_SERIES || series + count > MAX_ALL_SERIES {
                    let most = if count > MAX_SERIES { MAX_SERIES } else { MAX_ALL_SERIES };
                    group.refuse(&format!(
                        "{count} series: at most {most} are streamed; choose fewer counters"
                    ));
                    continue;
                }
                group.take_names(collected.interval);
            }
            series += group.layout.cells.len();
            if !collected.number.is_multiple_of(group.every as u64) {
                continue;
            }
            let averages = averages(group.every);
            group.publish(collected, &averages);
        }
    }
}

/// Averages of some intervals, for all that was collected.
#[derive(Default)]
pub(super) struct Averages {
    /// Unix seconds at which the first of the intervals begins.
    pub(super) begin: Option<f64>,
    /// By the path of the series; nothing where the values of the last interval are meant.
    pub(super) by_path: Option<std::collections::HashMap<String, Option<f64>>>,
}

#[derive(Serialize)]
struct Names<'a> {
    interval: f64,
    series: Vec<Named<'a>>,
}

#[derive(Serialize)]
struct Named<'a> {
    id: usize,
    #[serde(flatten)]
    name: SeriesName<'a>,
}

#[derive(Serialize)]
struct Values {
    time: f64,
    begin: Option<f64>,
    values: Vec<Option<f64>>,
}

impl Reader {
    /// Whether one more event of `bytes` may be queued, assuming that the queued events are of the same size.
    fn has_room_for(&self, bytes: usize) -> bool {
        let queued = self.sender.max_capacity() - self.sender.capacity();
        queued < MIN_QUEUE || queued.saturating_mul(bytes) < MAX_QUEUE_BYTES
    }
}

impl Group {
    /// Names the series anew, where they are others than before.
    fn take_names(&mut self, interval: f64) {
        let series = self.layout.cells.iter().enumerate().map(|(id, cell)| Named { id, name: cell.name() });
        let names = event("series", &Names { interval, series: series.collect() });
        if names != self.names {
            self.names = names;
            self.readers.iter_mut().for_each(|reader| reader.has_names = false);
        }
    }

    fn publish(&mut self, collected: &Collected<'_>, averages: &Averages) {
        let values: Vec<_> = match &averages.by_path {
            None => self.layout.values(collected.values).collect(),
            Some(by_path) => {
                let average = |cell: &Cell| by_path.get(&cell.path).copied().flatten();
                self.layout.cells.iter().map(average).collect()
            }
        };
        let sample = event("sample", &Values { time: collected.time, begin: averages.begin, values });
        let mut both = None;
        let names = &self.names;
        self.readers.retain_mut(|reader| {
            let text = if std::mem::replace(&mut reader.has_names, true) {
                sample.clone()
            } else {
                both.get_or_insert_with(|| Bytes::from([&names[..], &sample[..]].concat())).clone()
            };
            let is_sent = reader.has_room_for(text.len()) && reader.sender.try_send(text).is_ok();
            if !is_sent {
                // Too slow, or gone.
                reader.overrun.notify_one();
            }
            is_sent
        });
    }

    /// Says why nothing is streamed, and lets the readers go.
    fn refuse(&mut self, why: &str) {
        #[derive(Serialize)]
        struct Why<'a> {
            error: &'a str,
        }
        let text = event("error", &Why { error: why });
        for reader in self.readers.drain(..) {
            // Who does not take it is let go all the same.
            let _ = reader.sender.try_send(text.clone());
        }
    }
}

/// A server-sent event.
fn event(name: &str, data: &impl Serialize) -> Bytes {
    let mut text = format!("event: {name}\ndata: ").into_bytes();
    // Into memory, of values that JSON has: this does not fail.
    if serde_json::to_writer(&mut text, data).is_err() {
        return Bytes::new();
    }
    text.extend_from_slice(b"\n\n");
    Bytes::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn come(streams: &mut Streams, paths: &[PathPattern]) -> tokio::sync::mpsc::Receiver<Bytes> {
        let (sender, events) = tokio::sync::mpsc::channel(1);
        streams.add(Arriving { paths: paths.to_vec(), every: 1, sender, overrun: Arc::default() });
        events
    }

    #[test]
    fn readers_that_are_gone_are_forgotten() {
        let paths = [PathPattern::parse(r"\Set\Counter").expect("a path")];
        let values = LiveValues::default();
        let collected = Collected { values: &values, has_changed: true, number: 1, time: 0.0, interval: 1.0 };
        // Gone between two collections, or found gone by one.
        for is_found in [false, true] {
            let mut streams = Streams::default();
            let (first, second) = (come(&mut streams, &paths), come(&mut streams, &paths));
            drop(first);
            streams.forget_gone();
            assert_eq!(streams.0.len(), 1, "another one reads the same");
            drop(second);
            if is_found {
                streams.publish(&collected, |_| Arc::default());
            }
            streams.forget_gone();
            assert!(streams.0.is_empty());
        }
    }

    /// How many events a reader that takes none is sent, at most `tries`.
    fn sent_to_a_sleeper(queue: usize, path: &str, tries: usize) -> usize {
        let (sender, events) = tokio::sync::mpsc::channel(queue);
        let overrun = Arc::default();
        let reader = Reader { sender, overrun: Arc::clone(&overrun), has_names: false };
        let names = Bytes::from(path.to_owned());
        let (paths, layout) = (Vec::new(), Layout::default());
        let mut group = Group { paths, every: 1, layout, names, readers: vec![reader] };
        let values = LiveValues::default();
        let collected =
            Collected { values: &values, has_changed: false, number: 1, time: 0.0, interval: 1.0 };
        let mut sent = 0;
        while sent < tries && !group.readers.is_empty() {
            // Named again each time, so that each event has as many bytes.
            group.readers.iter_mut().for_each(|reader| reader.has_names = false);
            group.publish(&collected, &Averages::default());
            sent += group.readers.len();
        }
        drop(events);
        sent
    }

    #[test]
    fn a_reader_that_stops_for_a_while_stays() {
        let (fast, slow) = (Duration::from_millis(10), Duration::from_secs(60));
        assert_eq!((queue_of(1, fast), queue_of(5, fast), queue_of(1, slow)), (500, 100, MIN_QUEUE));
        assert_eq!(
            (queue_of(1, Duration::ZERO), queue_of(usize::MAX, Duration::MAX)),
            (MAX_QUEUE, MIN_QUEUE)
        );
        // Three seconds of small events wait; the queue ends after five.
        assert_eq!(sent_to_a_sleeper(queue_of(1, fast), "", 300), 300);
        assert_eq!(sent_to_a_sleeper(queue_of(1, fast), "", 1000), 500);
        // Of large ones as few as before.
        let large = "x".repeat(MAX_QUEUE_BYTES);
        assert_eq!(sent_to_a_sleeper(queue_of(1, fast), &large, 1000), MIN_QUEUE);
        assert_eq!(sent_to_a_sleeper(queue_of(1, slow), "", 1000), MIN_QUEUE);
    }

    #[test]
    fn different_selections_are_bounded() {
        let path = |number| PathPattern::parse(&format!(r"\Set\Counter {number}")).expect("a path");
        let mut paths: Vec<_> = (0..256).map(path).collect();
        let mut streams = Streams::default();
        let mut kept = Vec::new();
        let mut is_full = false;
        while !is_full && kept.len() < 512 {
            paths.rotate_left(1);
            let mut events = come(&mut streams, &paths);
            is_full = events.try_recv().is_ok_and(|event| event.starts_with(b"event: error"));
            kept.push(events);
        }
        assert_eq!((is_full, kept.len()), (true, MAX_ALL_PATHS / 256 + 1));
        // Who wants what another has finds room.
        paths.rotate_right(1);
        assert!(come(&mut streams, &paths).try_recv().is_err());
    }
}

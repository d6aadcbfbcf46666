//! Streams: collections as server-sent events.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::sinks::LiveValues;
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;

use super::layout::{Layout, SelectedSeries};
use super::window::WindowStatistics;
use crate::series::SeriesName;

/// Maximum number of series in a stream.
const MAX_SERIES: usize = 10_000;
/// Maximum number of series in all streams together. Streams with the same selection count once.
const MAX_ALL_SERIES: usize = 100_000;
/// Maximum number of counter paths in all streams together, because each is matched again when instances appear or disappear.
/// Streams with the same selection count once.
const MAX_ALL_PATHS: usize = 1 << 13;

/// A subscriber's queue has room for at least this number of events.
const MIN_QUEUE: usize = 16;
/// Maximum number of events in a subscriber's queue.
const MAX_QUEUE: usize = 5000;
/// If events are small, a subscriber is disconnected only after it has read nothing for this long. A busy machine can
/// delay handlers and browsers for seconds.
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// Maximum number of bytes in a subscriber's queue if it has more than [`MIN_QUEUE`] events.
const MAX_QUEUE_BYTES: usize = 64 << 10;

/// The queue length of a subscriber that gets one event per `every` collections.
pub(super) fn queue_length(every: usize, interval: Duration) -> usize {
    let events = MAX_PAUSE.as_nanos() / interval.as_nanos().saturating_mul(every as u128).max(1);
    usize::try_from(events).unwrap_or(MAX_QUEUE).clamp(MIN_QUEUE, MAX_QUEUE)
}

pub(super) struct NewSubscriber {
    pub(super) paths: Vec<PathPattern>,
    /// The subscriber gets one event per this number of collections.
    pub(super) every: usize,
    /// The number of intervals that the statistics in events cover; `None` for events without statistics.
    pub(super) window: Option<usize>,
    pub(super) sender: Sender<Bytes>,
    pub(super) overrun: Arc<Notify>,
}

/// The subscribers with the same selection.
struct SubscriberGroup {
    paths: Vec<PathPattern>,
    every: usize,
    window: Option<usize>,
    layout: Layout,
    /// The event that names the series; empty before the first collection.
    names: Bytes,
    subscribers: Vec<Subscriber>,
}

struct Subscriber {
    sender: Sender<Bytes>,
    overrun: Arc<Notify>,
    /// Whether the last [`SubscriberGroup::names`] was sent.
    has_names: bool,
}

#[derive(Default)]
pub(super) struct Streams(Vec<SubscriberGroup>);

/// A collection that is sent to subscribers.
pub(super) struct Collected<'a> {
    pub(super) values: &'a LiveValues,
    /// Whether the series differ from those of the last collection.
    pub(super) has_changed: bool,
    /// The number of samples since the collection began, including this one.
    pub(super) count: u64,
    /// The time of the sample, in Unix seconds.
    pub(super) time: f64,
    /// The time between two collections.
    pub(super) interval: Duration,
    /// The samples in the ring, including this one.
    pub(super) samples: &'a [Arc<Sample>],
}

impl Streams {
    pub(super) fn add(&mut self, NewSubscriber { paths, every, window, sender, overrun }: NewSubscriber) {
        let subscriber = Subscriber { sender, overrun, has_names: false };
        let is_same = |group: &&mut SubscriberGroup| {
            (group.every, group.window) == (every, window) && group.paths == paths
        };
        if let Some(group) = self.0.iter_mut().find(is_same) {
            group.subscribers.push(subscriber);
            return;
        }
        let known: usize = self.0.iter().map(|group| group.paths.len()).sum();
        let exceeds_limit = known + paths.len() > MAX_ALL_PATHS;
        let (layout, names) = (Layout::default(), Bytes::new());
        let mut group =
            SubscriberGroup { paths, every, window, layout, names, subscribers: vec![subscriber] };
        if exceeds_limit {
            group.reject("the limit of counter paths in all streams is reached; try again later");
        } else {
            self.0.push(group);
        }
    }

    pub(super) fn remove_closed(&mut self) {
        for group in &mut self.0 {
            group.subscribers.retain(|subscriber| !subscriber.sender.is_closed());
        }
        // Groups also become empty when `publish` disconnects their last subscriber.
        self.0.retain(|group| !group.subscribers.is_empty());
    }

    /// Sends a collection to all subscribers for which it is due. `averages` returns averages over a number of
    /// intervals.
    pub(super) fn publish(
        &mut self,
        collected: &Collected<'_>,
        mut averages: impl FnMut(usize) -> Arc<Averages>,
    ) {
        let mut series = 0;
        for group in &mut self.0 {
            if collected.has_changed || group.names.is_empty() {
                group.layout = Layout::new(collected.values, &group.paths);
                let count = group.layout.series.len();
                if count > MAX_SERIES || series + count > MAX_ALL_SERIES {
                    let limit = match count > MAX_SERIES {
                        true => format!("the limit of a stream is {MAX_SERIES}"),
                        false => format!("the limit of all streams together is {MAX_ALL_SERIES}"),
                    };
                    group.reject(&format!("{count} series: {limit}; select fewer counters"));
                    continue;
                }
                group.update_names(collected.interval.as_secs_f64());
            }
            series += group.layout.series.len();
            if !collected.count.is_multiple_of(group.every as u64) {
                continue;
            }
            let averages = averages(group.every);
            group.publish(collected, &averages);
        }
    }
}

/// The average of each series over the intervals since the previous event.
#[derive(Default)]
pub(super) struct Averages {
    /// The begin of the first interval, in Unix seconds.
    pub(super) begin: Option<f64>,
    /// Averages by the path of the series; `None` for one interval, whose values are used instead.
    pub(super) by_path: Option<std::collections::HashMap<String, Option<f64>>>,
}

/// The data of the event `series`.
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

/// The data of the event `sample`.
#[derive(Serialize)]
struct Values {
    /// The time of the sample, in Unix seconds.
    time: f64,
    /// The begin of the interval, in Unix seconds.
    begin: Option<f64>,
    /// In the order of the series.
    values: Vec<Option<f64>>,
}

impl Subscriber {
    /// Whether another event of `bytes` can be queued, assuming that the queued ones have the same size.
    fn has_room_for(&self, bytes: usize) -> bool {
        let queued = self.sender.max_capacity() - self.sender.capacity();
        queued < MIN_QUEUE || queued.saturating_mul(bytes) < MAX_QUEUE_BYTES
    }
}

impl SubscriberGroup {
    fn update_names(&mut self, interval: f64) {
        let series = self.layout.series.iter().enumerate().map(|(id, one)| Named { id, name: one.name() });
        let names = event("series", &Names { interval, series: series.collect() });
        if names != self.names {
            self.names = names;
            self.subscribers.iter_mut().for_each(|subscriber| subscriber.has_names = false);
        }
    }

    fn publish(&mut self, collected: &Collected<'_>, averages: &Averages) {
        let values: Vec<_> = match &averages.by_path {
            None => self.layout.values(collected.values).collect(),
            Some(by_path) => {
                let average = |one: &SelectedSeries| by_path.get(&one.path).copied().flatten();
                self.layout.series.iter().map(average).collect()
            }
        };
        let mut sample = event("sample", &Values { time: collected.time, begin: averages.begin, values });
        let statistics = self.window.and_then(|window| {
            WindowStatistics::new(collected.samples, &self.paths, &self.layout, window, collected.interval)
        });
        if let Some(statistics) = statistics {
            sample = Bytes::from([sample, event("statistics", &statistics)].concat());
        }
        let mut both = None;
        let names = &self.names;
        self.subscribers.retain_mut(|subscriber| {
            let text = if std::mem::replace(&mut subscriber.has_names, true) {
                sample.clone()
            } else {
                both.get_or_insert_with(|| Bytes::from([&names[..], &sample[..]].concat())).clone()
            };
            let is_sent = subscriber.has_room_for(text.len()) && subscriber.sender.try_send(text).is_ok();
            if !is_sent {
                // Too slow, or disconnected.
                subscriber.overrun.notify_one();
            }
            is_sent
        });
    }

    /// Sends an error to the subscribers and disconnects them.
    fn reject(&mut self, error: &str) {
        let text = event("error", &serde_json::json!({ "error": error }));
        for subscriber in self.subscribers.drain(..) {
            let _ = subscriber.sender.try_send(text.clone());
        }
    }
}

fn event(name: &str, data: &impl Serialize) -> Bytes {
    let mut text = format!("event: {name}\ndata: ").into_bytes();
    // Writing plain values to memory cannot fail.
    if serde_json::to_writer(&mut text, data).is_err() {
        return Bytes::new();
    }
    text.extend_from_slice(b"\n\n");
    Bytes::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscribe(streams: &mut Streams, paths: &[PathPattern]) -> tokio::sync::mpsc::Receiver<Bytes> {
        let (sender, events) = tokio::sync::mpsc::channel(1);
        streams.add(NewSubscriber {
            paths: paths.to_vec(),
            every: 1,
            window: None,
            sender,
            overrun: Arc::default(),
        });
        events
    }

    #[test]
    fn disconnected_subscribers_are_removed() {
        let paths = [PathPattern::parse(r"\Set\Counter").expect("a path")];
        let values = LiveValues::default();
        let collected = Collected {
            values: &values,
            has_changed: true,
            count: 1,
            time: 0.0,
            interval: Duration::from_secs(1),
            samples: &[],
        };
        // The subscriber disconnects between two collections, or during one.
        for is_during in [false, true] {
            let mut streams = Streams::default();
            let (first, second) = (subscribe(&mut streams, &paths), subscribe(&mut streams, &paths));
            drop(first);
            streams.remove_closed();
            assert_eq!(streams.0.len(), 1, "another subscriber has the same selection");
            drop(second);
            if is_during {
                streams.publish(&collected, |_| Arc::default());
            }
            streams.remove_closed();
            assert!(streams.0.is_empty());
        }
    }

    /// The number of events that are sent to a subscriber that reads nothing, up to `tries`.
    fn sent_without_reading(queue: usize, path: &str, tries: usize) -> usize {
        let (sender, events) = tokio::sync::mpsc::channel(queue);
        let overrun = Arc::default();
        let subscriber = Subscriber { sender, overrun: Arc::clone(&overrun), has_names: false };
        let names = Bytes::from(path.to_owned());
        let (paths, layout) = (Vec::new(), Layout::default());
        let mut group =
            SubscriberGroup { paths, every: 1, window: None, layout, names, subscribers: vec![subscriber] };
        let values = LiveValues::default();
        let collected = Collected {
            values: &values,
            has_changed: false,
            count: 1,
            time: 0.0,
            interval: Duration::from_secs(1),
            samples: &[],
        };
        let mut sent = 0;
        while sent < tries && !group.subscribers.is_empty() {
            // Sends the names each time, so that all events have the same size.
            group.subscribers.iter_mut().for_each(|subscriber| subscriber.has_names = false);
            group.publish(&collected, &Averages::default());
            sent += group.subscribers.len();
        }
        drop(events);
        sent
    }

    #[test]
    fn a_subscriber_that_pauses_stays_connected() {
        let (fast, slow) = (Duration::from_millis(10), Duration::from_secs(60));
        assert_eq!(
            (queue_length(1, fast), queue_length(5, fast), queue_length(1, slow)),
            (500, 100, MIN_QUEUE)
        );
        assert_eq!(
            (queue_length(1, Duration::ZERO), queue_length(usize::MAX, Duration::MAX)),
            (MAX_QUEUE, MIN_QUEUE)
        );
        // The queue holds five seconds of small events.
        assert_eq!(sent_without_reading(queue_length(1, fast), "", 300), 300);
        assert_eq!(sent_without_reading(queue_length(1, fast), "", 1000), 500);
        // It holds the minimum number of large events.
        let large = "x".repeat(MAX_QUEUE_BYTES);
        assert_eq!(sent_without_reading(queue_length(1, fast), &large, 1000), MIN_QUEUE);
        assert_eq!(sent_without_reading(queue_length(1, slow), "", 1000), MIN_QUEUE);
    }

    #[test]
    fn paths_of_different_selections_are_bounded() {
        let path = |id| PathPattern::parse(&format!(r"\Set\Counter {id}")).expect("a path");
        let mut paths: Vec<_> = (0..256).map(path).collect();
        let mut streams = Streams::default();
        let mut kept = Vec::new();
        let mut is_full = false;
        while !is_full && kept.len() < 512 {
            paths.rotate_left(1);
            let mut events = subscribe(&mut streams, &paths);
            is_full = events.try_recv().is_ok_and(|event| event.starts_with(b"event: error"));
            kept.push(events);
        }
        assert_eq!((is_full, kept.len()), (true, MAX_ALL_PATHS / 256 + 1));
        // A known selection is still accepted.
        paths.rotate_right(1);
        assert!(subscribe(&mut streams, &paths).try_recv().is_err());
    }
}

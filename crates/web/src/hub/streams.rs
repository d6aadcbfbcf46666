//! Streams: collections as server-sent events. Each event is computed, encoded and compressed once for all streams that get it.

mod encoded;
mod group;

use std::sync::{Arc, mpsc};
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::sinks::LiveValues;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;

use super::stream_selection::StreamSelection;
use encoded::QueuedBytes;
pub(crate) use encoded::{GZIP_HEADER, comment};
use group::{Delivery, Subscriber, SubscriberGroup};

/// Maximum number of series in a stream.
const MAX_SERIES: usize = 10_000;
/// Maximum number of series in all streams together. Streams with the same selection count once.
const MAX_TOTAL_SERIES: usize = 100_000;
/// Maximum number of counter paths in all streams together, because each is matched again when instances appear or disappear.
/// Streams with the same selection count once.
const MAX_TOTAL_PATHS: usize = 1 << 13;

/// Maximum number of values over which the events of one stream average: its series, times `every`.
const MAX_AVERAGED: usize = 1_000_000;
/// Like [`MAX_AVERAGED`], for all streams together. Streams with the same selection count once.
const MAX_TOTAL_AVERAGED: usize = 2_000_000;
/// Maximum number of values in the windows of all streams together, in one collection. Streams beyond the limit get no statistics.
/// Streams with the same selection count once.
const MAX_TOTAL_WINDOW_VALUES: usize = 1_000_000;

/// A subscriber's queue has room for at least this number of events.
const MIN_QUEUE: usize = 16;
/// Maximum number of events in a subscriber's queue.
const MAX_QUEUE: usize = 5000;
/// If events are small, a subscriber is disconnected only after it has read nothing for this long. A busy machine can
/// delay handlers and browsers for seconds.
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// Maximum number of bytes in a subscriber's queue if it has more than [`MIN_QUEUE`] events.
const MAX_QUEUE_BYTES: usize = 64 << 10;
/// Maximum number of bytes in the queues of all subscribers. Beyond it, subscribers that have not read their last event are
/// disconnected.
const MAX_TOTAL_QUEUE_BYTES: usize = 64 << 20;

/// If the task that sends events does not end within this time, streams miss a collection.
const MAX_SENDING: Duration = Duration::from_secs(1);

/// The queue length of a subscriber that gets one event per `every` collections.
pub(super) fn queue_length(every: usize, interval: Duration) -> usize {
    let events = MAX_PAUSE.as_nanos() / interval.as_nanos().saturating_mul(every as u128).max(1);
    usize::try_from(events).unwrap_or(MAX_QUEUE).clamp(MIN_QUEUE, MAX_QUEUE)
}

/// What a stream contains.
pub(crate) struct StreamRequest {
    pub(crate) paths: Vec<PathPattern>,
    /// There is one event per this number of collections.
    pub(crate) every: usize,
    /// The number of intervals that the statistics in events cover; `None` for events without statistics.
    pub(crate) window: Option<usize>,
    /// Whether each name has the sum of its instances.
    pub(crate) sums_names: bool,
    /// Whether the events are compressed.
    pub(crate) is_gzip: bool,
}

pub(super) struct NewSubscriber {
    pub(super) request: StreamRequest,
    pub(super) sender: Sender<Bytes>,
    /// Notified if the subscriber is too slow.
    pub(super) closing: Arc<Notify>,
}

/// All streams. Events are sent by a task of the runtime: there, waking the tasks of fifty connections takes no system call.
#[derive(Default)]
pub(super) struct Streams {
    groups: Vec<SubscriberGroup>,
    /// Subscribers that get their first event with the next collection.
    added: Vec<NewSubscriber>,
    queued: QueuedBytes,
    /// The task that sends the events of the last collection returns the subscribers here.
    sending: Option<mpsc::Receiver<Vec<Delivery>>>,
    /// Whether the series changed in a collection that was not sent.
    has_missed_change: bool,
}

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
    /// The last samples, including this one: at least [`Streams::needed_samples`], as far as the ring has them.
    pub(super) samples: &'a [Arc<Sample>],
    /// The event about the recording.
    pub(super) recording: &'a Bytes,
}

impl Streams {
    pub(super) fn add(&mut self, subscriber: NewSubscriber) {
        self.added.push(subscriber);
    }

    /// Removes all subscribers.
    pub(super) fn clear(&mut self) {
        *self = Self { queued: self.queued.clone(), ..Self::default() };
    }

    fn insert(&mut self, new: NewSubscriber) {
        let NewSubscriber { request, sender, closing } = new;
        let StreamRequest { paths, every, window, sums_names, is_gzip } = request;
        let subscriber = Subscriber { sender, is_gzip, closing, has_names: false };
        let is_same = |group: &&mut SubscriberGroup| {
            (group.collections_per_event, group.window, group.selection.sums_names())
                == (every, window, sums_names)
                && group.selection.paths == paths
        };
        if let Some(group) = self.groups.iter_mut().find(is_same) {
            group.subscribers.push(subscriber);
            return;
        }
        let known: usize = self.groups.iter().map(|group| group.selection.paths.len()).sum();
        let exceeds_limit = known + paths.len() > MAX_TOTAL_PATHS;
        let selection = StreamSelection::new(paths, sums_names);
        let mut group = SubscriberGroup::new(selection, every, window, subscriber);
        if exceeds_limit {
            group.reject("the limit of counter paths in all streams is reached; try again later");
        } else {
            self.groups.push(group);
        }
    }

    /// Removes subscribers that have disconnected, and adds new ones.
    fn update(&mut self) {
        for group in &mut self.groups {
            group.subscribers.retain(|subscriber| !subscriber.sender.is_closed());
        }
        // Groups also become empty when their last subscriber is too slow.
        self.groups.retain(|group| !group.subscribers.is_empty());
        for new in std::mem::take(&mut self.added) {
            self.insert(new);
        }
    }

    /// The number of latest samples that are needed to compute events.
    pub(super) fn needed_samples(&self) -> usize {
        let of_groups = self.groups.iter().map(|group| (group.collections_per_event, group.window));
        let of_added = self.added.iter().map(|new| (new.request.every, new.request.window));
        let needed = |(every, window): (usize, Option<usize>)| every.max(window.unwrap_or_default()) + 2;
        of_groups.chain(of_added).map(needed).max().unwrap_or_default()
    }

    /// Waits until the events of the last collection are queued; returns whether they are.
    fn finish_sending(&mut self) -> bool {
        let Some(sending) = &self.sending else { return true };
        match sending.recv_timeout(MAX_SENDING) {
            Ok(deliveries) => {
                for delivery in deliveries {
                    self.groups[delivery.group].subscribers = delivery.subscribers;
                }
            }
            Err(mpsc::RecvTimeoutError::Timeout) => return false,
            // The runtime is shutting down.
            Err(mpsc::RecvTimeoutError::Disconnected) => {}
        }
        self.sending = None;
        true
    }

    /// Sends a collection to all subscribers for which it is due. Without a runtime, it is sent on this thread.
    pub(super) fn publish(&mut self, collected: &Collected<'_>, runtime: Option<&Handle>) {
        if !self.finish_sending() {
            self.has_missed_change |= collected.has_changed;
            return;
        }
        self.update();
        let has_changed = collected.has_changed | std::mem::take(&mut self.has_missed_change);
        let (mut series, mut averaged) = (0, 0);
        let mut window_values = MAX_TOTAL_WINDOW_VALUES;
        let mut deliveries = Vec::new();
        for (index, group) in self.groups.iter_mut().enumerate() {
            let have_names_changed = group.selection.follow(collected.samples);
            if has_changed || have_names_changed || group.names.is_empty() {
                group.selection.update_layout(collected.values);
                if let Some(error) = group.excess(series, averaged) {
                    group.reject(&error);
                    continue;
                }
                group.update_names(collected.interval.as_secs_f64());
            }
            series += group.selection.read_value_count();
            averaged += group.averaged_value_count();
            if collected.count.is_multiple_of(group.collections_per_event as u64) {
                deliveries.push(group.publish(index, collected, &mut window_values, &self.queued));
            }
        }
        let (sender, sending) = mpsc::sync_channel(1);
        let queued = self.queued.clone();
        let send = move || {
            deliveries.iter_mut().for_each(|delivery| delivery.send(&queued));
            // At shutdown, the receiver may be gone.
            let _ = sender.send(deliveries);
        };
        self.sending = Some(sending);
        match runtime {
            Some(runtime) => drop(runtime.spawn(async { send() })),
            None => {
                send();
                self.finish_sending();
            }
        }
    }
}

/// The text of an event.
pub(crate) fn event(name: &str, data: &impl Serialize) -> Bytes {
    let mut text = Vec::new();
    write_event(&mut text, name, data);
    Bytes::from(text)
}

fn write_event(text: &mut Vec<u8>, name: &str, data: &impl Serialize) {
    let before = text.len();
    text.extend_from_slice(b"event: ");
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b"\ndata: ");
    // Writing plain values to memory cannot fail.
    match serde_json::to_writer(&mut *text, data) {
        Ok(()) => text.extend_from_slice(b"\n\n"),
        Err(_) => text.truncate(before),
    }
}

#[cfg(test)]
mod tests {
    use tachograph_counters::civil::{FileTime, Moment};
    use tachograph_counters::sample::Group;
    use tachograph_counters::set::{Counter, CounterSet, Extent, Instance};
    use tachograph_counters::{CounterType, RawValue};

    use super::*;

    fn request(paths: &[PathPattern]) -> StreamRequest {
        StreamRequest { paths: paths.to_vec(), every: 1, window: None, sums_names: false, is_gzip: false }
    }

    fn subscribe(streams: &mut Streams, paths: &[PathPattern]) -> tokio::sync::mpsc::Receiver<Bytes> {
        subscribe_with(streams, paths, 1)
    }

    fn subscribe_with(
        streams: &mut Streams,
        paths: &[PathPattern],
        queue: usize,
    ) -> tokio::sync::mpsc::Receiver<Bytes> {
        let (sender, events) = tokio::sync::mpsc::channel(queue);
        streams.add(NewSubscriber { request: request(paths), sender, closing: Arc::default() });
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
            recording: &Bytes::new(),
        };
        // The subscriber disconnects between two collections, or during one.
        for is_during in [false, true] {
            let mut streams = Streams::default();
            let (first, second) = (subscribe(&mut streams, &paths), subscribe(&mut streams, &paths));
            drop(first);
            streams.update();
            assert_eq!(streams.groups.len(), 1, "another subscriber has the same selection");
            streams.update();
            assert_eq!(streams.groups[0].subscribers.len(), 1);
            drop(second);
            if is_during {
                streams.groups[0]
                    .publish(0, &collected, &mut 0, &QueuedBytes::default())
                    .send(&QueuedBytes::default());
            }
            streams.update();
            assert!(streams.groups.is_empty());
        }
    }

    /// The number of events that are sent to a subscriber that reads nothing, up to `tries`.
    fn sent_without_reading(queue: usize, path: &str, tries: usize) -> usize {
        let (sender, events) = tokio::sync::mpsc::channel(queue);
        let subscriber = Subscriber { sender, is_gzip: false, closing: Arc::default(), has_names: false };
        let mut group = SubscriberGroup::new(StreamSelection::new(Vec::new(), false), 1, None, subscriber);
        group.names = Bytes::from(path.to_owned());
        let queued = QueuedBytes::default();
        let values = LiveValues::default();
        let collected = Collected {
            values: &values,
            has_changed: false,
            count: 1,
            time: 0.0,
            interval: Duration::from_secs(1),
            samples: &[],
            recording: &Bytes::new(),
        };
        let mut sent = 0;
        while sent < tries && !group.subscribers.is_empty() {
            // Sends the names each time, so that all events have the same size.
            group.subscribers.iter_mut().for_each(|subscriber| subscriber.has_names = false);
            let mut delivery = group.publish(0, &collected, &mut 0, &queued);
            delivery.send(&queued);
            group.subscribers = delivery.subscribers;
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
            streams.update();
            is_full = events.try_recv().is_ok_and(|event| event.starts_with(b"event: error"));
            kept.push(events);
        }
        assert_eq!((is_full, kept.len()), (true, MAX_TOTAL_PATHS / 256 + 1));
        // A known selection is still accepted.
        paths.rotate_right(1);
        let mut events = subscribe(&mut streams, &paths);
        streams.update();
        assert!(events.try_recv().is_err());
    }

    #[test]
    fn a_task_of_the_runtime_sends_the_events() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("threads");
        let (values, samples) = values_of(3);
        let paths = [PathPattern::parse(r"\Set(*)\Counter").expect("a path")];
        let mut streams = Streams::default();
        let mut events: Vec<_> = (0..50).map(|_| subscribe_with(&mut streams, &paths, 8)).collect();
        for count in 1..=5 {
            let collected = Collected {
                values: &values,
                has_changed: count == 3,
                count,
                time: count as f64,
                interval: Duration::from_secs(1),
                samples: &samples,
                recording: &Bytes::new(),
            };
            streams.publish(&collected, Some(runtime.handle()));
        }
        for events in &mut events {
            for count in 1..=5 {
                let event = runtime.block_on(events.recv()).expect("an event");
                let text = std::str::from_utf8(&event).expect("UTF-8");
                assert!(text.contains(&format!("{{\"time\":{count}.0,")), "in order: {text}");
                assert_eq!(text.contains("event: series"), count == 1);
            }
        }
        // The runtime ends with its tasks; then all streams are closed.
        drop(runtime);
        streams.clear();
        assert!(events.iter_mut().all(|events| events.is_closed()));
    }

    /// The series of a table of one counter with this number of instances.
    fn values_of(instances: u32) -> (LiveValues, Vec<Arc<Sample>>) {
        let mut set = CounterSet::new("MADE", "Set", Extent::Columns);
        set.has_instances = true;
        set.counters.push(Counter::new("Counter", CounterType::RAWCOUNT, 10_000_000));
        let mut group = Group::new(Arc::new(set));
        group.instances =
            (0..instances).map(|id| Arc::new(Instance::new(None, &format!("i{id}"), 0))).collect();
        group.values = vec![RawValue::new(7, 0); instances as usize];
        let sample = |second: i64| {
            let utc = FileTime(133_000_000_000_000_000 + second * FileTime::PER_SECOND);
            let at = Moment { utc, bias_minutes: 0 };
            Arc::new(Sample { at, groups: vec![group.clone()], ..Sample::default() })
        };
        let samples: Vec<_> = (0..12).map(sample).collect();
        let mut values = LiveValues::default();
        samples.iter().for_each(|sample| values.push(sample));
        (values, samples)
    }

    /// Subscribes `streams` streams to `\Set(*)\Counter`, each with another second path, so that their selections differ.
    /// Publishes one collection, and returns the events of each stream.
    fn published(instances: u32, streams: usize, every: usize, window: Option<usize>) -> Vec<String> {
        let (values, samples) = values_of(instances);
        let collected = Collected {
            values: &values,
            has_changed: true,
            count: every as u64,
            time: 1.0,
            interval: Duration::from_secs(1),
            samples: &samples,
            recording: &Bytes::new(),
        };
        let mut all = Streams::default();
        let subscribe = |index: usize| {
            let (sender, events) = tokio::sync::mpsc::channel(4);
            let more = format!(r"\Other\Counter {index}");
            let paths = [r"\Set(*)\Counter", &more].map(|path| PathPattern::parse(path).expect("a path"));
            let request = StreamRequest { every, window, ..request(&paths) };
            all.add(NewSubscriber { request, sender, closing: Arc::default() });
            events
        };
        let mut events: Vec<_> = (0..streams).map(subscribe).collect();
        all.publish(&collected, None);
        let text = |events: &mut tokio::sync::mpsc::Receiver<Bytes>| {
            let text = events.try_recv().expect("an event");
            String::from_utf8(text.to_vec()).expect("UTF-8")
        };
        events.iter_mut().map(text).collect()
    }

    #[test]
    fn windows_share_a_budget() {
        // 10,000 series with 10 intervals: 100,000 values each.
        let texts = published(10_000, 10, 1, Some(10));
        assert_eq!(texts.iter().filter(|text| text.contains("event: statistics")).count(), 10);
        assert!(texts.iter().all(|text| text.contains("event: sample")));
        // 200 streams of 500 series with 12 intervals: 6,000 values each, 1,200,000 in total.
        let texts = published(500, 200, 1, Some(12));
        assert_eq!(
            texts.iter().filter(|text| text.contains("event: statistics")).count(),
            MAX_TOTAL_WINDOW_VALUES / 6000
        );
        assert!(texts.iter().all(|text| text.contains("event: sample")), "values are sent in any case");
        // A window has at most the 12 samples of the ring, so this one is within the limit of a single window.
        let texts = published(10_000, 1, 1, Some(30));
        assert!(texts[0].contains("event: sample") && texts[0].contains("event: statistics"), "12 samples");
    }

    #[test]
    fn averages_share_a_budget() {
        let rejected = |texts: &[String]| texts.iter().filter(|text| text.contains("event: error")).count();
        let texts = published(1000, 3, 900, None);
        assert_eq!(rejected(&texts), 1, "900,000 values each, of which two million are allowed");
        assert!(texts[2].contains("reduce 'every'"));
        assert!(texts[0].contains(r#""values":[7.0,7.0"#));
        assert_eq!(rejected(&published(1100, 1, 1000, None)), 1);
        assert_eq!(rejected(&published(1100, 3, 1, None)), 0);
    }

    #[test]
    fn readers_with_queued_events_are_disconnected_if_all_queues_are_full() {
        let (values, samples) = values_of(2);
        let collected = Collected {
            values: &values,
            has_changed: false,
            count: 1,
            time: 1.0,
            interval: Duration::from_secs(1),
            samples: &samples,
            recording: &Bytes::new(),
        };
        let paths = [PathPattern::parse(r"\Set(*)\Counter").expect("a path")];
        let mut streams = Streams::default();
        let open = |streams: &mut Streams| {
            let (sender, events) = tokio::sync::mpsc::channel(100);
            streams.add(NewSubscriber { request: request(&paths), sender, closing: Arc::default() });
            events
        };
        let (slow, mut quick) = (open(&mut streams), open(&mut streams));
        streams.publish(&collected, None);
        assert!(quick.try_recv().is_ok());
        let before = streams.queued.total();
        assert!(before > 0, "the event of the slow reader");
        let large = streams.queued.track(vec![0; MAX_TOTAL_QUEUE_BYTES]);
        streams.publish(&collected, None);
        assert!(quick.try_recv().is_ok());
        assert_eq!(streams.groups[0].subscribers.len(), 1);
        drop((slow, large));
        assert_eq!(streams.queued.total(), 0);
    }

    #[test]
    fn the_recording_is_sent_when_it_changes_and_to_new_readers() {
        let (values, samples) = values_of(1);
        let mut streams = Streams::default();
        let publish = |streams: &mut Streams, recording: &'static str| {
            let collected = Collected {
                values: &values,
                has_changed: false,
                count: 1,
                time: 1.0,
                interval: Duration::from_secs(1),
                samples: &samples,
                recording: &Bytes::from_static(recording.as_bytes()),
            };
            streams.publish(&collected, None);
        };
        let paths = [PathPattern::parse(r"\Set(*)\Counter").expect("a path")];
        let text = |events: &mut tokio::sync::mpsc::Receiver<Bytes>| {
            String::from_utf8(events.try_recv().expect("an event").to_vec()).expect("UTF-8")
        };
        let (sender, mut first) = tokio::sync::mpsc::channel(4);
        let new = |sender| NewSubscriber { request: request(&paths), sender, closing: Arc::default() };
        streams.add(new(sender));
        publish(&mut streams, "event: recording\ndata: 1\n\n");
        assert_eq!(text(&mut first).matches("event: recording\ndata: 1\n\n").count(), 1);
        publish(&mut streams, "event: recording\ndata: 1\n\n");
        assert!(!text(&mut first).contains("recording"));
        let (sender, mut second) = tokio::sync::mpsc::channel(4);
        streams.add(new(sender));
        publish(&mut streams, "event: recording\ndata: 1\n\n");
        let names = text(&mut second);
        assert!(names.starts_with("event: series") && names.contains("event: recording"), "{names}");
        assert!(!text(&mut first).contains("recording"));
        publish(&mut streams, "event: recording\ndata: 2\n\n");
        assert!(text(&mut first).contains("data: 2") && text(&mut second).contains("data: 2"));
    }
}

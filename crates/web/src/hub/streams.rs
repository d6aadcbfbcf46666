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
mod tests;

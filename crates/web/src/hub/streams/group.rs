//! The subscribers with the same selection, which get the same events.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;

use super::encoded::{Deflater, QueuedBytes};
use super::{
    Collected, MAX_AVERAGED, MAX_QUEUE_BYTES, MAX_SERIES, MAX_TOTAL_AVERAGED, MAX_TOTAL_QUEUE_BYTES,
    MAX_TOTAL_SERIES, MIN_QUEUE, event, write_event,
};
use crate::hub::averages::averages;
use crate::hub::stream_selection::StreamSelection;
use crate::hub::window::WindowStatistics;
use crate::series::SeriesName;

/// The subscribers with the same selection.
pub(super) struct SubscriberGroup {
    pub(super) selection: StreamSelection,
    /// There is one event per this number of collections.
    pub(super) collections_per_event: usize,
    pub(super) window: Option<usize>,
    /// The event that names the series; empty before the first collection.
    pub(super) names: Bytes,
    /// The last `recording` event that was sent.
    recording: Bytes,
    deflater: Deflater,
    pub(super) subscribers: Vec<Subscriber>,
}

pub(super) struct Subscriber {
    pub(super) sender: Sender<Bytes>,
    pub(super) is_gzip: bool,
    pub(super) closing: Arc<Notify>,
    /// Whether the last [`SubscriberGroup::names`] was sent.
    pub(super) has_names: bool,
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
    /// When the interval begins, in Unix seconds.
    begin: Option<f64>,
    /// In the order of the series.
    values: Vec<Option<f64>>,
}

impl Subscriber {
    /// Whether another event of `bytes` can be queued, assuming that the queued ones have the same size. `is_full`:
    /// whether the queues of all subscribers together are full.
    pub(super) fn has_room_for(&self, bytes: usize, is_full: bool) -> bool {
        let queued = self.sender.max_capacity() - self.sender.capacity();
        match queued {
            0 => true,
            _ if is_full => false,
            _ => queued < MIN_QUEUE || queued.saturating_mul(bytes) < MAX_QUEUE_BYTES,
        }
    }
}

impl SubscriberGroup {
    pub(super) fn new(
        selection: StreamSelection,
        collections_per_event: usize,
        window: Option<usize>,
        first: Subscriber,
    ) -> Self {
        Self {
            selection,
            collections_per_event,
            window,
            names: Bytes::new(),
            recording: Bytes::new(),
            deflater: Deflater::default(),
            subscribers: vec![first],
        }
    }

    /// The number of values from which the averages of an event are computed; 0 if events contain values, not averages.
    pub(super) fn averaged_value_count(&self) -> usize {
        if self.collections_per_event == 1 {
            0
        } else {
            self.selection.read_value_count().saturating_mul(self.collections_per_event)
        }
    }

    /// The limit that the group exceeds, if any. `series` and `averaged` are the totals of the groups before it.
    pub(super) fn excess(&self, series: usize, averaged: usize) -> Option<String> {
        let (count, own) = (self.selection.read_value_count(), self.averaged_value_count());
        let limit = if count > MAX_SERIES {
            format!("the limit of a stream is {MAX_SERIES}")
        } else if series + count > MAX_TOTAL_SERIES {
            format!("the limit of all streams together is {MAX_TOTAL_SERIES}")
        } else if own > MAX_AVERAGED || averaged + own > MAX_TOTAL_AVERAGED {
            return Some(format!(
                "{count} series over {} collections each: too many values; select fewer counters or reduce 'every'",
                self.collections_per_event
            ));
        } else {
            return None;
        };
        Some(format!("{count} series: {limit}; select fewer counters"))
    }

    pub(super) fn update_names(&mut self, interval: f64) {
        let series =
            self.selection.layout.series.iter().enumerate().map(|(id, one)| Named { id, name: one.name() });
        let names = event("series", &Names { interval, series: series.collect() });
        if names != self.names {
            self.names = names;
            self.subscribers.iter_mut().for_each(|subscriber| subscriber.has_names = false);
        }
    }

    /// The events of a collection. `window_values` is the number of values that the windows of this and the remaining groups
    /// may have together; the values of this window are subtracted.
    pub(super) fn events(&self, collected: &Collected<'_>, window_values: &mut usize) -> Vec<u8> {
        let averages = averages(collected.samples, self.collections_per_event, &self.selection);
        let values = averages.values.unwrap_or_else(|| self.selection.values(collected.values));
        let mut text = Vec::new();
        write_event(&mut text, "sample", &Values { time: collected.time, begin: averages.begin, values });
        let statistics = self.window.and_then(|window| {
            let max = *window_values;
            WindowStatistics::new(collected.samples, &self.selection, window, collected.interval, max)
        });
        if let Some(statistics) = statistics {
            *window_values -= statistics.values().min(*window_values);
            write_event(&mut text, "statistics", &statistics);
        }
        text
    }

    /// Encodes the events of a collection, and moves the group's subscribers to the delivery. `index` is the index of the
    /// group.
    pub(super) fn publish(
        &mut self,
        index: usize,
        collected: &Collected<'_>,
        window_values: &mut usize,
        queued: &QueuedBytes,
    ) -> Delivery {
        let mut events = self.events(collected, window_values);
        let without_recording = events.len();
        if self.recording != *collected.recording {
            self.recording = collected.recording.clone();
            events.extend_from_slice(&self.recording);
        }
        // Subscribers without the names of the series get these first, and the state of the recording even if it is unchanged.
        let first_events = || [&self.names[..], &events[..without_recording], &self.recording[..]].concat();
        let deflater = &mut self.deflater;
        let mut texts: [[Option<Bytes>; 2]; 2] = Default::default();
        for subscriber in &mut self.subscribers {
            texts[usize::from(!subscriber.has_names)][usize::from(subscriber.is_gzip)].get_or_insert_with(
                || {
                    let text = if subscriber.has_names { events.clone() } else { first_events() };
                    queued.track(if subscriber.is_gzip { deflater.compress(&text) } else { text })
                },
            );
        }
        Delivery { group: index, subscribers: std::mem::take(&mut self.subscribers), texts }
    }

    /// Sends an error to the subscribers and disconnects them.
    pub(super) fn reject(&mut self, error: &str) {
        let text = event("error", &serde_json::json!({ "error": error }));
        for subscriber in self.subscribers.drain(..) {
            let text = match subscriber.is_gzip {
                true => self.deflater.compress(&text).into(),
                false => text.clone(),
            };
            let _ = subscriber.sender.try_send(text);
        }
    }
}

/// The events of a collection for the subscribers of a group.
pub(super) struct Delivery {
    /// The index of the group.
    pub(super) group: usize,
    pub(super) subscribers: Vec<Subscriber>,
    /// Indexed by whether the subscriber does not know the series yet, and whether it gets compressed events.
    texts: [[Option<Bytes>; 2]; 2],
}

impl Delivery {
    /// Queues the events. Removes subscribers that are too slow or disconnected.
    pub(super) fn send(&mut self, queued: &QueuedBytes) {
        let texts = &self.texts;
        self.subscribers.retain_mut(|subscriber| {
            let is_first = !std::mem::replace(&mut subscriber.has_names, true);
            let text = &texts[usize::from(is_first)][usize::from(subscriber.is_gzip)];
            let is_full = queued.total() > MAX_TOTAL_QUEUE_BYTES;
            let is_sent = text.as_ref().is_some_and(|text| {
                subscriber.has_room_for(text.len(), is_full)
                    && subscriber.sender.try_send(text.clone()).is_ok()
            });
            if !is_sent {
                subscriber.closing.notify_one();
            }
            is_sent
        });
    }
}

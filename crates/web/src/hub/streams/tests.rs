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
    assert_eq!((queue_length(1, fast), queue_length(5, fast), queue_length(1, slow)), (500, 100, MIN_QUEUE));
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
    let mut set = CounterSet::new("FAKE", "Set", Extent::Columns);
    set.has_instances = true;
    set.counters.push(Counter::new("Counter", CounterType::RAWCOUNT, 10_000_000));
    let mut group = Group::new(Arc::new(set));
    group.instances = (0..instances).map(|id| Arc::new(Instance::new(None, &format!("i{id}"), 0))).collect();
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

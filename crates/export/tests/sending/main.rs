//! Samples reach a receiver once and in order, whatever errors the receiver has.

mod receiver;
#[path = "../../../metrics/tests/metrics/shop.rs"]
mod shop;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use receiver::{Receiver, Series, decode_write_request};
use shop::Shop;
use tachograph_counters::IgnorePoison;
use tachograph_counters::civil::FileTime;
use tachograph_export::{Authorization, Export, ExportOptions, ExportSummary};
use tachograph_metrics::MetricsOptions;
use tachograph_perflib::Query;
use tempfile::TempDir;

/// The maximum time for events that must happen.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A query of the set `Shop`, and the folder of the queues and the messages of the exports that send it.
struct Fixture {
    shop: Shop,
    query: Query,
    queue_folder: TempDir,
    notices: Arc<Mutex<Vec<String>>>,
    /// The time of the last sample.
    last_sample: FileTime,
}

impl Fixture {
    fn new() -> Self {
        let (registry, shop) = shop::registry();
        let mut query = Query::open(&registry, None).expect("this machine");
        let path = tachograph_counters::path::PathPattern::parse(r"\Shop(*)\*").expect("a path");
        query.add_path(&path);
        let last_sample = FileTime(FileTime::UNIX_EPOCH.0 + 1_700_000_000 * FileTime::PER_SECOND);
        let queue_folder = tempfile::tempdir().expect("a folder");
        Self { shop, query, queue_folder, notices: Arc::default(), last_sample }
    }

    fn options(&self, targets: &[String]) -> ExportOptions {
        let notices = Arc::clone(&self.notices);
        ExportOptions {
            targets: targets.iter().map(|target| target.parse().expect("a target")).collect(),
            metrics: MetricsOptions::default(),
            authorization: None,
            certificates: None,
            queue: self.queue_folder.path().to_owned(),
            max_queue: 64 << 20,
            service: "shop".to_owned(),
            boot_time: FileTime(self.last_sample.0 - 100 * FileTime::PER_SECOND),
            notify: Arc::new(move |line: &str| notices.lock().ignore_poison().push(line.to_owned())),
        }
    }

    fn start(&self, targets: &[String]) -> Export {
        Export::start(self.query.registry(), self.options(targets)).expect("an export")
    }

    /// Takes a sample, one second after the last one.
    fn take_sample(&mut self, export: &mut Export) {
        self.last_sample = self.last_sample.saturating_add(FileTime::PER_SECOND);
        self.query.collect();
        export.push(&self.query, self.last_sample);
    }

    fn notices(&self) -> String {
        self.notices.lock().ignore_poison().join("\n")
    }
}

/// The summary of the only receiver.
fn only_summary(summaries: Vec<ExportSummary>) -> ExportSummary {
    let [summary] = &summaries[..] else { panic!("one receiver: {summaries:?}") };
    summary.clone()
}

/// The values of a series, in the order in which they were accepted.
fn values(receiver: &Receiver, name: &str) -> Vec<(i64, f64)> {
    let requests = receiver.accepted();
    let series = requests.iter().flat_map(|body| decode_write_request(body));
    let named = series.filter(|Series { labels, .. }| labels.contains(&("__name__".into(), name.into())));
    named.flat_map(|series| series.samples).collect()
}

#[test]
fn remote_write_sends_the_values_of_metrics() {
    let mut fixture = Fixture::new();
    let receiver = Receiver::start();
    let mut export = fixture.start(&[format!("prometheus={}", receiver.url())]);
    fixture.take_sample(&mut export);
    let summary = only_summary(export.finish(TIMEOUT));
    assert_eq!((summary.refused, summary.dropped, summary.waiting), (0, 0, 0));
    let request = &receiver.requests()[0];
    for header in [
        "POST /api/v1/write HTTP/1.1",
        "content-type: application/x-protobuf",
        "content-encoding: snappy",
        "x-prometheus-remote-write-version: 0.1.0",
    ] {
        assert!(request.head.contains(header), "{header} in {}", request.head);
    }
    let mut series = decode_write_request(&receiver.accepted()[0]);
    // The points that mark the end of the series can be in the same request.
    series.retain(|series| !series.samples[0].1.is_nan());
    let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = [
        ("tacho_shop_requests_total", 7.0),
        ("tacho_shop_request_seconds_total", 2.5),
        ("tacho_shop_request_requests_total", 5.0),
        ("tacho_shop_baskets", -3.0),
    ];
    for (name, value) in expected {
        let found: Vec<_> =
            series.iter().filter(|series| series.labels[0] == label("__name__", name)).collect();
        let [found] = &found[..] else { panic!("{name}: {found:?}") };
        assert_eq!(
            found.labels,
            [label("__name__", name), label("instance", "FAKE"), label("job", "shop"), label("name", "web")]
        );
        assert_eq!(found.samples, [(1_700_000_001_000, value)]);
    }
    assert_eq!(series.len(), 4, "the total is not exported: {series:?}");
}

#[test]
fn an_instance_that_ends_gets_a_stale_marker() {
    let mut fixture = Fixture::new();
    let receiver = Receiver::start();
    let mut export = fixture.start(&[format!("prometheus={}", receiver.url())]);
    fixture.take_sample(&mut export);
    fixture.shop.name("other");
    fixture.take_sample(&mut export);
    // A set that cannot be read has no instances.
    fixture.shop.fail(true);
    fixture.take_sample(&mut export);
    export.finish(TIMEOUT);
    let requests = receiver.accepted();
    let baskets: Vec<_> = requests
        .iter()
        .flat_map(|body| decode_write_request(body))
        .filter(|series| series.labels[0].1 == "tacho_shop_baskets")
        .map(|series| (series.labels[3].1.clone(), series.samples[0].0, series.samples[0].1.to_bits()))
        .collect();
    let stale = 0x7ff0_0000_0000_0002;
    let value = (-3.0_f64).to_bits();
    let second = 1_700_000_002_000;
    assert_eq!(
        baskets,
        [
            ("web".to_owned(), second - 1000, value),
            ("other".to_owned(), second, value),
            ("web".to_owned(), second, stale),
            ("other".to_owned(), second + 1000, stale),
        ]
    );
}

#[test]
fn samples_for_a_receiver_that_is_down_are_sent_later_in_order() {
    let mut fixture = Fixture::new();
    let receiver = Receiver::start();
    receiver.answer_with(&["503 Service Unavailable", "429 Too Many Requests", "500 Internal Server Error"]);
    let mut export = fixture.start(&[format!("prometheus={}", receiver.url())]);
    for requests in 1..=50 {
        fixture.shop.requests(requests);
        fixture.take_sample(&mut export);
    }
    let summary = only_summary(export.finish(TIMEOUT));
    assert_eq!((summary.refused, summary.dropped, summary.waiting), (0, 0, 0));
    assert_eq!((summary.sent, summary.failure), (50, None));
    let found: Vec<_> = values(&receiver, "tacho_shop_requests_total")
        .into_iter()
        .filter(|(_, value)| !value.is_nan())
        .collect();
    let expected: Vec<_> = (1..=50).map(|n| (1_700_000_000_000 + n * 1000, n as f64)).collect();
    assert_eq!(found, expected);
    let notices = fixture.notices();
    // One outage, with each of its causes.
    for once in ["503 Service Unavailable", "429 Too Many Requests", "500 Internal", "accepts samples again"]
    {
        assert_eq!(notices.matches(once).count(), 1, "{once} in {notices}");
    }
}

#[test]
fn unsent_samples_are_sent_by_the_next_run() {
    let mut fixture = Fixture::new();
    let receiver = Receiver::start();
    let target = [format!("prometheus={}", receiver.url())];
    receiver.go_down();
    let mut export = fixture.start(&target);
    for _ in 0..3 {
        fixture.take_sample(&mut export);
    }
    let summary = only_summary(export.finish(Duration::ZERO));
    assert_eq!((summary.sent, summary.waiting), (0, 3));
    receiver.come_up();
    // The thread of the first export may still hold the queue for a moment.
    let mut export = (0..600)
        .find_map(|_| {
            let export = Export::start(fixture.query.registry(), fixture.options(&target)).ok();
            if export.is_none() {
                std::thread::sleep(Duration::from_millis(100));
            }
            export
        })
        .expect("the queue is free");
    fixture.take_sample(&mut export);
    let summary = only_summary(export.finish(TIMEOUT));
    // The thread of the first export may have sent a sample after the receiver came up.
    assert!((3..=4).contains(&summary.sent), "{}", summary.sent);
    assert_eq!(summary.waiting, 0);
    let mut times: Vec<_> =
        values(&receiver, "tacho_shop_baskets").into_iter().map(|(time, _)| time).collect();
    assert!(times.is_sorted(), "{times:?}");
    times.dedup();
    // Each run ends with stale markers, one millisecond after its last sample.
    let after_start: Vec<_> = times.iter().map(|time| time - 1_700_000_000_000).collect();
    assert_eq!(after_start, [1000, 2000, 3000, 3001, 4000, 4001]);
}

#[test]
fn samples_next_to_a_refused_one_are_sent() {
    let mut fixture = Fixture::new();
    let receiver = Receiver::start();
    receiver.go_down();
    let mut export = fixture.start(&[format!("prometheus={}", receiver.url())]);
    for requests in 1..=5 {
        fixture.shop.requests(requests);
        fixture.take_sample(&mut export);
    }
    // Every request with this sample is rejected, like samples that are too old for Prometheus.
    receiver.refuse(|body| {
        let series = decode_write_request(body);
        series.iter().any(|series| series.samples.contains(&(1_700_000_003_000, 3.0)))
    });
    receiver.come_up();
    let summary = only_summary(export.finish(TIMEOUT));
    assert_eq!((summary.sent, summary.refused, summary.waiting), (4, 1, 0));
    let found: Vec<_> =
        values(&receiver, "tacho_shop_requests_total").into_iter().map(|(_, value)| value).collect();
    assert_eq!(found[..4], [1.0, 2.0, 4.0, 5.0]);
    let notices = fixture.notices();
    assert!(notices.contains("a sample was refused: 400 Bad Request: too old"), "{notices}");
}

#[test]
fn a_batch_that_always_fails_is_sent_in_parts() {
    let mut fixture = Fixture::new();
    let receiver = Receiver::start();
    receiver.go_down();
    let mut export = fixture.start(&[format!("prometheus={}", receiver.url())]);
    for requests in 1..=3 {
        fixture.shop.requests(requests);
        fixture.take_sample(&mut export);
    }
    // The receiver fails on requests with more than one sample.
    receiver.fail(|body| {
        let series = decode_write_request(body);
        let times: std::collections::BTreeSet<i64> =
            series.iter().map(|series| series.samples[0].0).collect();
        times.len() > 1
    });
    receiver.come_up();
    let summary = only_summary(export.finish(TIMEOUT));
    assert_eq!((summary.sent, summary.refused, summary.waiting), (3, 0, 0));
    let notices = fixture.notices();
    for once in ["500 Internal Server Error", "accepts samples again"] {
        assert_eq!(notices.matches(once).count(), 1, "{once} in {notices}");
    }
}

#[test]
fn the_last_cause_is_in_the_summary() {
    let mut fixture = Fixture::new();
    let receiver = Receiver::start();
    receiver.fail(|_| true);
    let mut export = fixture.start(&[format!("prometheus={}", receiver.url())]);
    fixture.take_sample(&mut export);
    let start = Instant::now();
    while only_summary(export.summary()).failure.is_none() {
        assert!(start.elapsed() < TIMEOUT, "no request failed");
        std::thread::sleep(Duration::from_millis(10));
    }
    let summary = only_summary(export.finish(Duration::ZERO));
    assert_eq!(summary.failure.as_deref(), Some("500 Internal Server Error: no reason given"));
    assert_eq!((summary.sent, summary.waiting), (0, 1));
}

#[test]
fn credentials_are_sent_and_samples_are_kept_if_they_are_wrong() {
    let mut fixture = Fixture::new();
    let receiver = Receiver::start();
    receiver.answer_with(&["401 Unauthorized"]);
    let mut options = fixture.options(&[format!("otlp={}", receiver.url())]);
    options.authorization = Some(Authorization::bearer("secret").expect("a token"));
    let mut export = Export::start(fixture.query.registry(), options).expect("an export");
    fixture.take_sample(&mut export);
    // The pause after status 401 is long, but ends when the export ends.
    let summary = only_summary(export.finish(TIMEOUT));
    assert_eq!((summary.sent, summary.refused, summary.waiting), (1, 0, 0));
    let requests = receiver.requests();
    assert!(requests.iter().all(|request| request.head.contains("authorization: Bearer secret")));
    assert!(requests[0].head.contains("POST /v1/metrics HTTP/1.1"), "{}", requests[0].head);
    assert!(requests[0].head.contains("content-encoding: gzip"), "{}", requests[0].head);
}

#[test]
fn samples_are_counted_and_reported_even_if_the_folder_of_the_queue_is_removed() {
    let mut fixture = Fixture::new();
    let receiver = Receiver::start();
    receiver.go_down();
    let mut export = fixture.start(&[format!("prometheus={}", receiver.url())]);
    fixture.take_sample(&mut export);
    let folder = only_summary(export.summary()).queue;
    // The open segment accepts samples until it is full. Creating the next segment fails, as on a full disk.
    std::fs::remove_dir_all(&folder).expect("removed");
    for _ in 0..3 {
        fixture.take_sample(&mut export);
    }
    // The sender counts dropped samples when it next accesses the queue.
    let start = Instant::now();
    loop {
        let summary = only_summary(export.summary());
        if summary.waiting + summary.dropped >= 4 {
            break;
        }
        assert!(start.elapsed() < TIMEOUT, "{summary:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

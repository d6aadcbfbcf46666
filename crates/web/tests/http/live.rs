//! This machine: current values, the ring, raw data blocks, metrics.

use std::io::Read as _;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;

use crate::client::{get, request, target};
use crate::stream::Events;
use crate::test_server::{Machine, TestOptions, TestServer};

#[test]
fn queries_return_current_values() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let parameters =
        [("path", r"\Things(*)\Things/sec"), ("path", r"\\fake\things(P1)\number"), ("path", r"\X\Y")];
    let response = get(server.address, &target("/api/query", &parameters)).json();
    let values: Vec<_> = response["series"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|series| (series["path"].as_str().expect("a path").to_owned(), series["value"].as_f64()))
        .collect();
    let path = |name: &str| format!(r"\\FAKE\Things({name}");
    let expected = [
        (path(r"p0)\Things/sec"), Some(0.0)),
        (path(r"p1)\Things/sec"), Some(1.0)),
        (path(r"p2)\Things/sec"), Some(2.0)),
        (path(r"P1)\Number"), Some(1.0)),
    ];
    assert_eq!(values, expected);
    assert_eq!(get(server.address, &target("/api/query", &[("path", r"\X\Y")])).status, 404);
}

#[test]
fn charts_statistics_and_exports_work_live() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let parameters = [("path", r"\Things(*)\Things/sec"), ("path", r"\No\Such"), ("columns", "5")];
    let series = target("/api/sources/live/series", &parameters);
    let mut events = Events::open(server.address, &parameters[..1]);
    (0..22).for_each(|_| drop(events.sample()));
    let chart = get(server.address, &series).json();
    assert!(chart["series"][2]["statistics"]["values"].as_u64() >= Some(20), "{chart}");
    assert_eq!(chart["series"][2]["average"], serde_json::json!([2.0, 2.0, 2.0, 2.0, 2.0]));
    assert_eq!(chart["missing"][0]["path"], r"\No\Such");
    // The end of a time range.
    let source = get(server.address, "/api/sources/live").json();
    let end = source["end"].as_str().expect("a time");
    let window = [("path", r"\Things(p2)\Things/sec"), ("end", end)];
    let statistics = get(server.address, &target("/api/sources/live/statistics", &window)).json();
    assert_eq!((&statistics[0]["average"], &statistics[0]["p50"]), (&2.into(), &2.into()));
    let export = get(server.address, &target("/api/sources/live/export", &window));
    assert!(export.text().starts_with(r#""(PDH-CSV 4.0)"#), "{}", export.text());
    let blg = [("path", r"\Things(p2)\*"), ("format", "blg")];
    let blg = get(server.address, &target("/api/sources/live/export", &blg));
    assert_eq!(blg.header("content-disposition"), Some("attachment; filename=\"FAKE.blg\""));
    assert!(blg.body.len() > 1000);
}

#[test]
fn sets_that_disappear_stay_on_the_chart() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let parameters = [("path", r"\Things(p2)\Things/sec"), ("columns", "5")];
    let mut events = Events::open(server.address, &parameters[..1]);
    (0..10).for_each(|_| drop(events.sample()));
    machine.is_bare.store(true, std::sync::atomic::Ordering::SeqCst);
    (0..3).for_each(|_| drop(events.sample()));
    // Other clients connect and disconnect.
    let others = [("path", r"\Things(p1)\Number")];
    drop(Events::open(server.address, &others));
    (0..3).for_each(|_| drop(events.sample()));
    let chart = get(server.address, &target("/api/sources/live/series", &parameters)).json();
    assert!(chart["series"][0]["statistics"]["values"].as_u64() >= Some(8), "{chart}");
}

/// Counters that were requested one after the other have separate groups in the ring. When their set is registered again, they
/// share a group.
#[test]
fn exports_have_one_column_per_series() {
    let machine = Machine::new(1);
    // The counter sets are checked once per second, and the ring has samples of three seconds.
    let interval = Duration::from_millis(100);
    let server = TestServer::start(&machine, TestOptions { interval, ..TestOptions::default() });
    let both = [("path", r"\Things(*)\Things/sec"), ("path", r"\Things(*)\Number")];
    let mut rate = Events::open(server.address, &both[..1]);
    rate.sample();
    let mut number = Events::open(server.address, &both[1..]);
    (0..3).for_each(|_| drop(number.sample()));
    for is_bare in [true, false] {
        machine.is_bare.store(is_bare, Ordering::SeqCst);
        let end = Instant::now() + Duration::from_secs(20);
        while number.sample()["values"].as_array().is_some_and(Vec::is_empty) != is_bare {
            assert!(Instant::now() < end, "the counter sets are not checked");
        }
    }
    (0..2).for_each(|_| drop(number.sample()));
    let export = get(server.address, &target("/api/sources/live/export", &both)).text();
    let header = export.lines().next().expect("a header");
    let columns: Vec<_> = header.split(',').skip(1).collect();
    assert_eq!(columns, [r#""\\FAKE\Things(p0)\Things/sec""#, r#""\\FAKE\Things(p0)\Number""#]);
    // Both counters have values before and after the absence of the set.
    let mut are_complete: Vec<_> = export.lines().skip(1).map(|row| row.ends_with(r#""0","0""#)).collect();
    are_complete.dedup();
    assert_eq!(are_complete, [false, true, false, true], "{export}");
}

#[test]
fn metrics_depend_on_path_and_accept_header() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let text = get(server.address, "/metrics");
    assert_eq!(text.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(text.text().contains("p2") && text.text().contains("tacho_build_info"), "{}", text.text());
    let one = get(server.address, &target("/metrics", &[("path", r"\Things(p1)\*")])).text();
    assert!(one.contains("p1") && !one.contains("p2"), "{one}");
    let accept = [("Accept", "application/openmetrics-text; version=1.0.0")];
    let open = request(server.address, "GET", "/metrics", &accept, b"");
    assert!(open.header("content-type").is_some_and(|kind| kind.starts_with("application/openmetrics-text")));
    assert!(open.text().ends_with("# EOF\n"));
}

#[test]
fn metrics_are_compressed_on_request() {
    let machine = Machine::new(50);
    let server = TestServer::start(&machine, TestOptions::default());
    let plain = get(server.address, "/metrics");
    assert_eq!((plain.header("content-encoding"), plain.header("vary")), (None, Some("accept-encoding")));
    let zipped = request(server.address, "GET", "/metrics", &[("Accept-Encoding", "gzip")], b"");
    assert_eq!((zipped.status, zipped.header("content-encoding")), (200, Some("gzip")));
    assert_eq!(zipped.header("content-type"), plain.header("content-type"));
    assert!(zipped.body.len() * 4 < plain.body.len(), "{} of {}", zipped.body.len(), plain.body.len());
    let mut text = String::new();
    GzDecoder::new(&zipped.body[..]).read_to_string(&mut text).expect("gzip");
    // Another scrape has the same lines, with other values.
    let names = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.rsplit_once(' ')).map(|(name, _)| name.to_owned()).collect()
    };
    assert_eq!(names(&text), names(&plain.text()));
}

#[test]
fn blocks_contain_their_size() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let response = get(server.address, &target("/api/block", &[("path", r"\Things(*)\*")]));
    assert_eq!(response.header("content-type"), Some("application/octet-stream"));
    let size = u32::from_le_bytes(response.body[..4].try_into().expect("four bytes"));
    assert_eq!(size as usize, response.body.len());
    assert_eq!(get(server.address, &target("/api/block", &[("path", r"\X\Y")])).status, 404);
}

#[test]
fn nothing_is_collected_without_requests() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    get(server.address, "/api/sources");
    std::thread::sleep(std::time::Duration::from_millis(100));
    // The only collections are those for the generated logs.
    let before = machine.collections.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(before, 101 + 3 + 11 + 11);
}

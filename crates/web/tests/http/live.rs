//! This machine: values of now, the ring, raw data blocks.

use tachograph_monitor::View;

use crate::client::{get, request, target};
use crate::made::{Machine, Served, Wishes};
use crate::stream::Events;

#[test]
fn values_of_now() {
    let machine = Machine::new(3);
    let served = Served::start(&machine, Wishes::default());
    let parameters =
        [("path", r"\Things(*)\Things/sec"), ("path", r"\\made\things(P1)\number"), ("path", r"\X\Y")];
    let answer = get(served.address, &target("/api/query", &parameters)).json();
    let values: Vec<_> = answer["series"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|series| (series["path"].as_str().expect("a path").to_owned(), series["value"].as_f64()))
        .collect();
    let path = |name: &str| format!(r"\\MADE\Things({name}");
    let wanted = [
        (path(r"p0)\Things/sec"), Some(0.0)),
        (path(r"p1)\Things/sec"), Some(1.0)),
        (path(r"p2)\Things/sec"), Some(2.0)),
        (path(r"P1)\Number"), Some(1.0)),
    ];
    assert_eq!(values, wanted);
    assert_eq!(get(served.address, &target("/api/query", &[("path", r"\X\Y")])).status, 404);
}

#[test]
fn the_ring_answers_like_a_log() {
    let machine = Machine::new(3);
    let served = Served::start(&machine, Wishes::default());
    let parameters = [("path", r"\Things(*)\Things/sec"), ("path", r"\No\Such"), ("columns", "5")];
    let series = target("/api/sources/live/series", &parameters);
    let mut events = Events::open(served.address, &parameters[..1]);
    (0..22).for_each(|_| drop(events.sample()));
    let chart = get(served.address, &series).json();
    assert!(chart["series"][2]["statistics"]["values"].as_u64() >= Some(20), "{chart}");
    assert_eq!(chart["series"][2]["average"], serde_json::json!([2.0, 2.0, 2.0, 2.0, 2.0]));
    assert_eq!(chart["missing"][0]["path"], r"\No\Such");
    // A stretch of it.
    let source = get(served.address, "/api/sources/live").json();
    let end = source["end"].as_str().expect("a time");
    let window = [("path", r"\Things(p2)\Things/sec"), ("end", end)];
    let statistics = get(served.address, &target("/api/sources/live/statistics", &window)).json();
    assert_eq!((&statistics[0]["average"], &statistics[0]["p50"]), (&2.into(), &2.into()));
    let export = get(served.address, &target("/api/sources/live/export", &window));
    assert!(export.text().starts_with(r#""(PDH-CSV 4.0)"#), "{}", export.text());
    let blg = [("path", r"\Things(p2)\*"), ("format", "blg")];
    let blg = get(served.address, &target("/api/sources/live/export", &blg));
    assert_eq!(blg.header("content-disposition"), Some("attachment; filename=\"MADE.blg\""));
    assert!(blg.body.len() > 1000);
}

/// A program that ended is on the charts of those who watched it.
#[test]
fn what_went_from_the_machine_stays_on_the_chart() {
    let machine = Machine::new(3);
    let served = Served::start(&machine, Wishes::default());
    let parameters = [("path", r"\Things(p2)\Things/sec"), ("columns", "5")];
    let mut events = Events::open(served.address, &parameters[..1]);
    (0..10).for_each(|_| drop(events.sample()));
    machine.is_bare.store(true, std::sync::atomic::Ordering::SeqCst);
    (0..3).for_each(|_| drop(events.sample()));
    // Others come and go meanwhile.
    let others = [("path", r"\Things(p1)\Number")];
    drop(Events::open(served.address, &others));
    (0..3).for_each(|_| drop(events.sample()));
    let chart = get(served.address, &target("/api/sources/live/series", &parameters)).json();
    assert!(chart["series"][0]["statistics"]["values"].as_u64() >= Some(8), "{chart}");
}

#[test]
fn metrics_are_of_what_is_asked_for() {
    let machine = Machine::new(3);
    let served = Served::start(&machine, Wishes::default());
    let text = get(served.address, "/metrics");
    assert_eq!(text.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(text.text().contains("p2") && text.text().contains("tacho_build_info"), "{}", text.text());
    let one = get(served.address, &target("/metrics", &[("path", r"\Things(p1)\*")])).text();
    assert!(one.contains("p1") && !one.contains("p2"), "{one}");
    let accept = [("Accept", "application/openmetrics-text; version=1.0.0")];
    let open = request(served.address, "GET", "/metrics", &accept, b"");
    assert!(open.header("content-type").is_some_and(|kind| kind.starts_with("application/openmetrics-text")));
    assert!(open.text().ends_with("# EOF\n"));
}

#[test]
fn raw_data_blocks() {
    let machine = Machine::new(3);
    let served = Served::start(&machine, Wishes::default());
    let answer = get(served.address, &target("/api/block", &[("path", r"\Things(*)\*")]));
    assert_eq!(answer.header("content-type"), Some("application/octet-stream"));
    let size = u32::from_le_bytes(answer.body[..4].try_into().expect("four bytes"));
    assert_eq!(size as usize, answer.body.len());
    assert_eq!(get(served.address, &target("/api/block", &[("path", r"\X\Y")])).status, 404);
}

#[test]
fn nothing_is_collected_for_nobody() {
    let machine = Machine::new(3);
    let served = Served::start(&machine, Wishes::default());
    get(served.address, "/api/sources");
    std::thread::sleep(std::time::Duration::from_millis(100));
    // The logs that the server shows were collected before.
    let before = machine.collections.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(before, 101 + 3 + 11 + 11);
}

#[test]
fn the_page_is_told_what_it_opens_with() {
    let machine = Machine::new(3);
    let plain = Served::start(&machine, Wishes::default());
    assert!(get(plain.address, "/api/sources").json()["view"].is_null());
    let text = r"
        version = 1
        points = 40
        view = 'report'
        [[counter]]
        path = '\\MADE\Things(*)\Number'
        scale = -2
        colour = 3
        except = ['\Things(p0)\Number']
        [[counter]]
        path = '\Things(p1)\Things/sec'
        shown = false
        highlighted = true";
    let view = View::parse(text).expect("a view");
    let served = Served::start(&machine, Wishes { view: Some(view), ..Wishes::default() });
    let wanted = serde_json::json!({
        "view": "report",
        "points": 40,
        "counters": [
            {
                "path": r"\Things(*)\Number", "colour": 3, "scale": -2, "is_shown": true, "is_highlighted": false,
                "except": [r"\Things(p0)\Number"],
            },
            {
                "path": r"\Things(p1)\Things/sec", "colour": null, "scale": null, "is_shown": false,
                "is_highlighted": true, "except": [],
            },
        ],
    });
    assert_eq!(get(served.address, "/api/sources").json()["view"], wanted);
}

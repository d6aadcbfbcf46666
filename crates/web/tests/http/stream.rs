//! Streams of events.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::client::{connect, get, target};
use crate::made::{Machine, Served, Wishes};

/// A reader of a stream.
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    pub(crate) fn open(address: SocketAddr, parameters: &[(&str, &str)]) -> Self {
        let mut stream = connect(address);
        let target = target("/api/stream", parameters);
        write!(stream, "GET {target} HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("sent");
        Self(BufReader::new(stream))
    }

    /// The next event: its name and its data; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<(String, Value)> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(text) = line.strip_prefix("event: ") {
                name = text.trim().to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((name, serde_json::from_str(data).expect("JSON")));
            }
        }
    }

    /// The time of the next sample, without a look at its values.
    pub(crate) fn time(&mut self) -> f64 {
        let mut line = Vec::new();
        loop {
            line.clear();
            assert!(self.0.read_until(b'\n', &mut line).expect("an event") > 0, "the stream goes on");
            if let Some(rest) = line.strip_prefix(b"data: {\"time\":") {
                let end = rest.iter().position(|&byte| byte == b',').expect("more fields");
                let text = std::str::from_utf8(&rest[..end]).expect("a number");
                return text.parse().expect("a number");
            }
        }
    }

    pub(crate) fn sample(&mut self) -> Value {
        loop {
            let (name, data) = self.next().expect("an event");
            if name == "sample" {
                return data;
            }
        }
    }
}

#[test]
fn samples_follow_the_names_of_their_series() {
    let machine = Machine::new(2);
    let served = Served::start(&machine, Wishes::default());
    let mut events = Events::open(served.address, &[("path", r"\Things(*)\*")]);
    let (name, series) = events.next().expect("an event");
    assert_eq!((name.as_str(), series["series"].as_array().expect("a list").len()), ("series", 4));
    assert_eq!(series["series"][1]["path"], r"\\MADE\Things(p1)\Things/sec");
    let first = events.sample();
    assert_eq!(first["values"], serde_json::json!([null, null, 0.0, 1.0]));
    let second = events.sample();
    assert_eq!(second["values"], serde_json::json!([0.0, 1.0, 0.0, 1.0]));
    assert_eq!(second["begin"], first["time"]);
    // An instance goes: the list is sent anew.
    machine.names.lock().expect("no panic").truncate(1);
    let series = loop {
        let (name, data) = events.next().expect("an event");
        if name == "series" {
            break data;
        }
    };
    assert_eq!(series["series"].as_array().expect("a list").len(), 2);
    assert_eq!(events.sample()["values"], serde_json::json!([0.0, 0.0]));
}

#[test]
fn others_that_come_and_go_disturb_nobody() {
    let machine = Machine::new(3);
    let served = Served::start(&machine, Wishes::default());
    let mut first = Events::open(served.address, &[("path", r"\Things(p2)\Things/sec")]);
    let mut events = Events::open(served.address, &[("path", r"\Things(p1)\Things/sec")]);
    first.sample();
    events.sample();
    events.sample();
    drop(first);
    for path in [r"\Things(*)\*", r"\Things(p0)\Number", r"\Things(p2)\Things/sec"] {
        Events::open(served.address, &[("path", path)]).sample();
        assert_eq!(events.sample()["values"], serde_json::json!([1.0]));
    }
    for _ in 0..20 {
        assert_eq!(events.sample()["values"], serde_json::json!([1.0]));
    }
}

#[test]
fn what_nobody_reads_any_more_is_let_go() {
    let machine = Machine::new(3);
    let served = Served::start(&machine, Wishes::default());
    let rests = || machine.rests.load(Ordering::SeqCst);
    let before = rests();
    let mut readers: Vec<_> =
        (0..5).map(|_| Events::open(served.address, &[("path", r"\Things(*)\*")])).collect();
    readers.iter_mut().for_each(|reader| drop(reader.sample()));
    assert_eq!(rests(), before);
    drop(readers);
    let end = Instant::now() + Duration::from_secs(20);
    while rests() == before {
        assert!(Instant::now() < end, "the provider does not rest");
        std::thread::yield_now();
    }
    // It can be asked again.
    Events::open(served.address, &[("path", r"\Things(*)\*")]).sample();
}

#[test]
fn kept_samples_lose_what_nobody_reads_any_more() {
    let machine = Machine::new(3);
    let interval = Duration::from_millis(100);
    let served = Served::start(&machine, Wishes { interval, ..Wishes::default() });
    let mut stays = Events::open(served.address, &[("path", r"\Things(p0)\Number")]);
    let rates = [("path", r"\Things(*)\Things/sec")];
    let mut goes = Events::open(served.address, &rates);
    (0..22).for_each(|_| drop(goes.sample()));
    drop(goes);
    let end = Instant::now() + Duration::from_secs(20);
    while machine.is_rate_read.load(Ordering::SeqCst) {
        assert!(Instant::now() < end, "what nobody reads is collected");
        stays.sample();
    }
    let chart = get(served.address, &target("/api/sources/live/series", &rates)).json();
    let values = chart["series"][2]["statistics"]["values"].as_u64();
    assert!(values.unwrap_or_default() < 10, "{chart}");
    // The others were not disturbed.
    let numbers = [("path", r"\Things(p0)\Number")];
    let chart = get(served.address, &target("/api/sources/live/series", &numbers)).json();
    assert!(chart["series"][0]["statistics"]["values"].as_u64() >= Some(20), "{chart}");
}

#[test]
fn averages_over_some_intervals() {
    let machine = Machine::new(3);
    let served = Served::start(&machine, Wishes::default());
    let mut events = Events::open(served.address, &[("path", r"\Things(p2)\*"), ("every", "5")]);
    events.sample();
    for _ in 0..3 {
        let sample = events.sample();
        assert_eq!(sample["values"], serde_json::json!([2.0, 2.0]));
        let (begin, end) =
            (sample["begin"].as_f64().expect("a time"), sample["time"].as_f64().expect("a time"));
        assert_eq!(end - begin, 5.0);
    }
}

#[test]
fn the_end_is_quick_while_streams_are_open() {
    let machine = Machine::new(3);
    let mut served = Served::start(&machine, Wishes::default());
    let mut streams: Vec<_> =
        (0..5).map(|_| Events::open(served.address, &[("path", r"\Things(*)\*")])).collect();
    streams.iter_mut().for_each(|stream| drop(stream.sample()));
    let start = Instant::now();
    served.stop();
    // Who waited for a stream would wait for ever.
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    for stream in &mut streams {
        while stream.next().is_some() {}
    }
}

/// Streams of many different paths would hold up the collection for all.
#[test]
fn paths_of_streams_count_with_all_others() {
    let machine = Machine::new(3);
    let served = Served::start(&machine, Wishes::default());
    let paths = |stream: usize| -> Vec<String> {
        (0..256).map(|number| format!(r"\Set {stream}\Counter {number}")).collect()
    };
    let mut usual = Events::open(served.address, &[("path", r"\Things(p1)\Number")]);
    usual.sample();
    // 2,048 paths are collected for all.
    let open = |stream: usize| {
        let paths = paths(stream);
        let parameters: Vec<_> = paths.iter().map(|path| ("path", path.as_str())).collect();
        let mut reader = BufReader::new(connect(served.address));
        let target = target("/api/stream", &parameters);
        let request = format!("GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", served.address);
        reader.get_mut().write_all(request.as_bytes()).expect("sent");
        let mut line = String::new();
        reader.read_line(&mut line).expect("an answer");
        (line.split(' ').nth(1).expect("a status").parse::<u16>().expect("a number"), reader)
    };
    let mut streams: Vec<_> = (0..7).map(open).collect();
    assert!(streams.iter().all(|(status, _)| *status == 200));
    assert_eq!(open(7).0, 429);
    // The others go on, and who wants what is collected already.
    usual.sample();
    assert_eq!(open(6).0, 200);
    let query = target("/api/query", &[("path", r"\Things(p1)\Number")]);
    assert_eq!(get(served.address, &query).status, 200);
    // One that goes makes room.
    streams.pop();
    let is_room = |_| {
        std::thread::sleep(Duration::from_millis(10));
        open(7).0 == 200
    };
    assert!((0..2000).any(is_room));
    usual.sample();
}

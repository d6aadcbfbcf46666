//! Streams of events.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::Value;
use tachograph_perflib::InstanceKey;

use crate::client::{connect, get, target};
use crate::test_server::{Machine, TestOptions, TestServer};

/// A client that reads a stream of events.
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    pub(crate) fn open(address: SocketAddr, parameters: &[(&str, &str)]) -> Self {
        Self::open_with(address, parameters, &[])
    }

    pub(crate) fn open_with(
        address: SocketAddr,
        parameters: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Self {
        let mut stream = connect(address);
        let target = target("/api/stream", parameters);
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        write!(stream, "GET {target} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n").expect("sent");
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

    /// The time of the next sample; its values are not parsed.
    pub(crate) fn time(&mut self) -> f64 {
        let mut line = Vec::new();
        loop {
            line.clear();
            assert!(self.0.read_until(b'\n', &mut line).expect("an event") > 0, "the stream ended");
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
fn the_names_of_the_series_precede_the_samples() {
    let machine = Machine::new(2);
    let server = TestServer::start(&machine, TestOptions::default());
    let mut events = Events::open(server.address, &[("path", r"\Things(*)\*")]);
    let (name, series) = events.next().expect("an event");
    assert_eq!((name.as_str(), series["series"].as_array().expect("a list").len()), ("series", 4));
    assert_eq!(series["series"][1]["path"], r"\\FAKE\Things(p1)\Things/sec");
    let first = events.sample();
    assert_eq!(first["values"], serde_json::json!([null, null, 0.0, 1.0]));
    let second = events.sample();
    assert_eq!(second["values"], serde_json::json!([0.0, 1.0, 0.0, 1.0]));
    assert_eq!(second["begin"], first["time"]);
    // When an instance disappears, the list is sent again.
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
fn other_streams_do_not_disturb_a_stream() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let mut first = Events::open(server.address, &[("path", r"\Things(p2)\Things/sec")]);
    let mut events = Events::open(server.address, &[("path", r"\Things(p1)\Things/sec")]);
    first.sample();
    events.sample();
    events.sample();
    drop(first);
    for path in [r"\Things(*)\*", r"\Things(p0)\Number", r"\Things(p2)\Things/sec"] {
        Events::open(server.address, &[("path", path)]).sample();
        assert_eq!(events.sample()["values"], serde_json::json!([1.0]));
    }
    for _ in 0..20 {
        assert_eq!(events.sample()["values"], serde_json::json!([1.0]));
    }
}

#[test]
fn providers_become_idle_without_readers() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let idle_count = || machine.idle_count.load(Ordering::SeqCst);
    let before = idle_count();
    let mut readers: Vec<_> =
        (0..5).map(|_| Events::open(server.address, &[("path", r"\Things(*)\*")])).collect();
    readers.iter_mut().for_each(|reader| drop(reader.sample()));
    assert_eq!(idle_count(), before);
    drop(readers);
    let end = Instant::now() + Duration::from_secs(20);
    while idle_count() == before {
        assert!(Instant::now() < end, "the provider is not idle");
        std::thread::yield_now();
    }
    // The set can be collected again.
    Events::open(server.address, &[("path", r"\Things(*)\*")]).sample();
}

#[test]
fn samples_in_the_ring_lose_counters_without_readers() {
    let machine = Machine::new(3);
    let interval = Duration::from_millis(100);
    let server = TestServer::start(&machine, TestOptions { interval, ..TestOptions::default() });
    let mut stays = Events::open(server.address, &[("path", r"\Things(p0)\Number")]);
    let rates = [("path", r"\Things(*)\Things/sec")];
    let mut goes = Events::open(server.address, &rates);
    (0..22).for_each(|_| drop(goes.sample()));
    drop(goes);
    let end = Instant::now() + Duration::from_secs(20);
    while machine.is_rate_read.load(Ordering::SeqCst) {
        assert!(Instant::now() < end, "a counter without readers is collected");
        stays.sample();
    }
    let chart = get(server.address, &target("/api/sources/live/series", &rates)).json();
    let values = chart["series"][2]["statistics"]["values"].as_u64();
    assert!(values.unwrap_or_default() < 10, "{chart}");
    // Other counters lose no samples.
    let numbers = [("path", r"\Things(p0)\Number")];
    let chart = get(server.address, &target("/api/sources/live/series", &numbers)).json();
    assert!(chart["series"][0]["statistics"]["values"].as_u64() >= Some(20), "{chart}");
}

#[test]
fn every_nth_event_has_averages() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let mut events = Events::open(server.address, &[("path", r"\Things(p2)\*"), ("every", "5")]);
    events.sample();
    for _ in 0..3 {
        let sample = events.sample();
        assert_eq!(sample["values"], serde_json::json!([2.0, 2.0]));
        let (begin, end) =
            (sample["begin"].as_f64().expect("a time"), sample["time"].as_f64().expect("a time"));
        assert_eq!(end - begin, 5.0);
    }
}

/// A machine with the instances w, w#1 and p3, which count 1, 2 and 3 things per second.
fn machine_of_one_name() -> Machine {
    let machine = Machine::new(4);
    let named = |name: &str, id: u32| Arc::new(InstanceKey::new(name, id, id.into()));
    *machine.names.lock().expect("no panic") = vec![named("w", 1), named("w", 2), named("p3", 3)];
    machine
}

#[test]
fn streams_have_sums_over_the_instances_of_a_name() {
    let machine = machine_of_one_name();
    let server = TestServer::start(&machine, TestOptions::default());
    let rates = ("path", r"\Things(*)\Things/sec");
    let mut each = Events::open(server.address, &[rates]);
    each.sample();
    let mut events = Events::open(server.address, &[rates, ("group_by", "name"), ("window", "5")]);
    let paths = |series: &Value| -> Vec<String> {
        let series = series["series"].as_array().expect("a list").iter();
        series.map(|one| one["path"].as_str().expect("a path").to_owned()).collect()
    };
    let (name, series) = events.next().expect("an event");
    assert_eq!(
        (name.as_str(), paths(&series)),
        (
            "series",
            [r"\\FAKE\Things(w)\Things/sec", r"\\FAKE\Things(p3)\Things/sec"].map(String::from).to_vec()
        )
    );
    // The first event has values, since earlier samples are known.
    for _ in 0..3 {
        assert_eq!(events.sample()["values"], serde_json::json!([3.0, 3.0]));
        let (name, window) = events.next().expect("an event");
        assert_eq!(name, "statistics");
        for one in window["statistics"].as_array().expect("a list") {
            assert_eq!(
                (&one["average"], &one["maximum"]),
                (&serde_json::json!(3.0), &serde_json::json!(3.0))
            );
        }
    }
    // Averages over several collections are also averages of the sums. Other streams still have each instance.
    let mut averages = Events::open(server.address, &[rates, ("group_by", "name"), ("every", "3")]);
    averages.sample();
    assert_eq!(averages.sample()["values"], serde_json::json!([3.0, 3.0]));
    assert_eq!(each.sample()["values"], serde_json::json!([1.0, 2.0, 3.0]));
    // An instance that appears is part of the sum of its name, and one that disappears leaves it.
    let names =
        |change: &dyn Fn(&mut Vec<Arc<InstanceKey>>)| change(&mut machine.names.lock().expect("no panic"));
    names(&|names| names.push(Arc::new(InstanceKey::new("w", 5, 5))));
    let mut until = |expected: Value| {
        let end = Instant::now() + Duration::from_secs(20);
        while events.sample()["values"] != expected {
            assert!(Instant::now() < end, "no sample has {expected}");
        }
    };
    until(serde_json::json!([8.0, 3.0]));
    names(&|names| names.truncate(2));
    until(serde_json::json!([3.0]));
    assert_eq!(get(server.address, &target("/api/stream", &[rates, ("group_by", "set")])).status, 400);
}

#[test]
fn shutdown_closes_streams() {
    let machine = Machine::new(3);
    let mut server = TestServer::start(&machine, TestOptions::default());
    let mut streams: Vec<_> =
        (0..5).map(|_| Events::open(server.address, &[("path", r"\Things(*)\*")])).collect();
    streams.iter_mut().for_each(|stream| drop(stream.sample()));
    let start = Instant::now();
    server.stop();
    // The server does not wait for streams to end.
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    for stream in &mut streams {
        while stream.next().is_some() {}
    }
}

/// Streams with many different paths would slow the collection for all clients.
#[test]
fn paths_of_streams_are_limited() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let paths = |stream: usize| -> Vec<String> {
        (0..256).map(|id| format!(r"\Set {stream}\Counter {id}")).collect()
    };
    let mut usual = Events::open(server.address, &[("path", r"\Things(p1)\Number")]);
    usual.sample();
    // At most 2,048 paths are collected.
    let open = |stream: usize| {
        let paths = paths(stream);
        let parameters: Vec<_> = paths.iter().map(|path| ("path", path.as_str())).collect();
        let mut reader = BufReader::new(connect(server.address));
        let target = target("/api/stream", &parameters);
        let request = format!("GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
        reader.get_mut().write_all(request.as_bytes()).expect("sent");
        let mut line = String::new();
        reader.read_line(&mut line).expect("a response");
        (line.split(' ').nth(1).expect("a status").parse::<u16>().expect("a number"), reader)
    };
    let mut streams: Vec<_> = (0..7).map(open).collect();
    assert!(streams.iter().all(|(status, _)| *status == 200));
    assert_eq!(open(7).0, 429);
    // Open streams continue, and requests for known paths are accepted.
    usual.sample();
    assert_eq!(open(6).0, 200);
    let query = target("/api/query", &[("path", r"\Things(p1)\Number")]);
    assert_eq!(get(server.address, &query).status, 200);
    // A stream that ends releases its paths.
    streams.pop();
    let has_room = |_| {
        std::thread::sleep(Duration::from_millis(10));
        open(7).0 == 200
    };
    assert!((0..2000).any(has_room));
    usual.sample();
}

#[test]
fn a_window_has_the_statistics_of_a_chart() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let paths = [("path", r"\Things(*)\Number"), ("path", r"\Things(p1)\Things/sec")];
    let mut events = Events::open(server.address, &[&paths[..], &[("window", "5")]].concat());
    let (mut series, mut compared) = (Vec::new(), 0);
    while compared < 3 {
        let (name, data) = events.next().expect("an event");
        match name.as_str() {
            "series" => series = data["series"].as_array().expect("series").clone(),
            "statistics" => {
                let time = |name: &str| data[name].as_str().expect("a time").to_owned();
                let (begin, end) = (time("begin"), time("end"));
                let range = [("begin", begin.as_str()), ("end", end.as_str()), ("columns", "1")];
                let chart =
                    get(server.address, &target("/api/sources/live/series", &[&paths[..], &range].concat()));
                let chart = chart.json();
                for (line, statistics) in
                    series.iter().zip(data["statistics"].as_array().expect("statistics"))
                {
                    let mut lines = chart["series"].as_array().expect("series").iter();
                    let expected =
                        lines.find(|other| other["path"] == line["path"]).map(|other| &other["statistics"]);
                    assert_eq!(Some(statistics), expected, "{}", line["path"]);
                }
                compared += usize::from(!series.is_empty());
            }
            _ => {}
        }
    }
    assert_eq!(get(server.address, &target("/api/stream", &[paths[0], ("window", "0")])).status, 400);
    assert_eq!(get(server.address, &target("/api/stream", &[paths[0], ("window", "31")])).status, 400);
}

#[test]
fn compressed_streams_have_the_same_events() {
    let machine = Machine::new(200);
    let server = TestServer::start(&machine, TestOptions::default());
    let parameters = [("path", r"\Things(*)\*"), ("window", "5")];
    let mut stream = connect(server.address);
    let query = target("/api/stream", &parameters);
    let host = server.address;
    write!(stream, "GET {query} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: gzip\r\n\r\n").expect("sent");
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head).expect("a header");
    }
    let head = head.to_ascii_lowercase();
    assert!(head.contains("content-encoding: gzip") && head.contains("vary: accept-encoding"), "{head}");
    // Reads the chunks of the body until five collections have arrived.
    let (mut bytes, mut text) = (Vec::new(), String::new());
    let events = |text: &str, name: &str| text.matches(&format!("event: {name}\n")).count();
    while events(&text, "statistics") < 5 {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a length");
        let mut chunk = vec![0; usize::from_str_radix(line.trim(), 16).expect("a length") + 2];
        std::io::Read::read_exact(&mut reader, &mut chunk).expect("a chunk");
        bytes.extend_from_slice(&chunk[..chunk.len() - 2]);
        let mut inflated = Vec::new();
        // Decompression ends with an error, because the stream continues after these bytes.
        let _ = std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut inflated);
        text = String::from_utf8(inflated).expect("UTF-8");
    }
    assert_eq!((events(&text, "series"), events(&text, "sample")), (1, 5), "{}", &text[..200]);
    assert!(text.ends_with("\n\n") && bytes.len() * 5 < text.len(), "{} of {}", bytes.len(), text.len());
    let last = text.lines().rfind(|line| line.starts_with("data: {\"time\"")).expect("a sample");
    let values: Value = serde_json::from_str(&last[6..]).expect("JSON");
    assert_eq!(values["values"][199], 199.0);
}

/// The series are as many as those of a thousand machines.
#[test]
fn kept_samples_stay_within_the_memory_limit() {
    const SERIES: usize = 60_000;
    const MAX_BYTES: usize = 32 << 20;
    let machine = Machine::new(SERIES as u32);
    let options =
        TestOptions { max_bytes: MAX_BYTES, interval: Duration::from_millis(1), ..TestOptions::default() };
    let server = TestServer::start(&machine, options);
    let all = target("/api/sources/live/series", &[("path", r"\Things(*)\Number"), ("columns", "1")]);
    let chart = target("/api/sources/live/series", &[("path", r"\Things(p1)\Number"), ("columns", "30")]);
    let end = Instant::now() + Duration::from_secs(60);
    let before = machine.collections.load(Ordering::SeqCst);
    // Collects more samples than can be kept. Each has 60,000 values of 24 bytes.
    let max = MAX_BYTES / (SERIES * 24);
    while machine.collections.load(Ordering::SeqCst) < before + 3 * max as u64 {
        // The request is refused, because it has too many series, but the counters are collected.
        get(server.address, &all);
        assert!(Instant::now() < end, "the machine is not collected");
    }
    let source = get(server.address, "/api/sources/live").json();
    let samples = source["samples"].as_u64().expect("a number") as usize;
    assert!(samples >= 3 && samples <= max && max < 31, "{samples} of {max}");
    assert_eq!(source["points"].as_u64(), Some(samples as u64 - 1), "clients know how much is kept");
    assert_eq!(get(server.address, &chart).status, 200);
}

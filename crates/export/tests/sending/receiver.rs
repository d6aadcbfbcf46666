//! A receiver for tests: an HTTP server that records its requests, and fails on demand.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use prost::Message;
use tachograph_counters::IgnorePoison;

/// A request: its head, with header names in lower case, and its body.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) head: String,
    body: Vec<u8>,
    is_accepted: bool,
}

/// Selects bodies.
type BodyFilter = Box<dyn Fn(&[u8]) -> bool + Send>;

#[derive(Default)]
struct State {
    requests: Vec<Request>,
    /// The status lines of the next answers, in reverse order.
    answers: Vec<&'static str>,
    is_down: bool,
    /// Selects the bodies that are not accepted.
    failing: Option<BodyFilter>,
    /// The status line for the bodies that `failing` selects.
    failure: &'static str,
}

#[derive(Clone)]
pub(crate) struct Receiver {
    state: Arc<Mutex<State>>,
    port: u16,
}

impl Receiver {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let receiver = Self { state: Arc::default(), port };
        let state = Arc::clone(&receiver.state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let state = Arc::clone(&state);
                // A broken connection ends only its own thread.
                thread::spawn(move || serve(&stream.ok()?, &state));
            }
        });
        receiver
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Sets the status lines of the next answers.
    pub(crate) fn answer_with(&self, answers: &[&'static str]) {
        self.state.lock().ignore_poison().answers = answers.iter().rev().copied().collect();
    }

    /// From now on, each connection is closed without an answer.
    pub(crate) fn go_down(&self) {
        self.state.lock().ignore_poison().is_down = true;
    }

    pub(crate) fn come_up(&self) {
        self.state.lock().ignore_poison().is_down = false;
    }

    /// Responds with status 400 to bodies for which `refuses` is true.
    pub(crate) fn refuse(&self, refuses: impl Fn(&[u8]) -> bool + Send + 'static) {
        self.set_failure("400 Bad Request", refuses);
    }

    /// Responds with status 500 to bodies for which `fails` is true.
    pub(crate) fn fail(&self, fails: impl Fn(&[u8]) -> bool + Send + 'static) {
        self.set_failure("500 Internal Server Error", fails);
    }

    fn set_failure(&self, failure: &'static str, is_failing: impl Fn(&[u8]) -> bool + Send + 'static) {
        let mut state = self.state.lock().ignore_poison();
        state.failing = Some(Box::new(is_failing));
        state.failure = failure;
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.state.lock().ignore_poison().requests.clone()
    }

    /// The bodies that were accepted.
    pub(crate) fn accepted(&self) -> Vec<Vec<u8>> {
        let requests = self.requests();
        requests.into_iter().filter(|request| request.is_accepted).map(|request| request.body).collect()
    }
}

/// Responds to the requests of a connection until it is closed.
fn serve(stream: &TcpStream, state: &Mutex<State>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(": ") {
                let name = name.to_ascii_lowercase();
                if name == "content-length" {
                    length = value.trim().parse().ok()?;
                }
                head.push_str(&format!("{name}: {value}"));
            } else {
                head.push_str(&line);
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let answer = {
            let mut state = state.lock().ignore_poison();
            if state.is_down {
                return None;
            }
            let is_failing = state.failing.as_ref().is_some_and(|is_failing| is_failing(&body));
            let answer =
                state.answers.pop().unwrap_or(if is_failing { state.failure } else { "204 No Content" });
            let is_accepted = answer.starts_with('2');
            state.requests.push(Request { head, body, is_accepted });
            answer
        };
        let text = if answer.starts_with('4') { "too old\n" } else { "" };
        let head = match answer.starts_with("204") {
            true => format!("HTTP/1.1 {answer}\r\n\r\n"),
            false => format!("HTTP/1.1 {answer}\r\nContent-Length: {}\r\n\r\n{text}", text.len()),
        };
        (&mut &*stream).write_all(head.as_bytes()).ok()?;
    }
}

/// A series of a request.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) samples: Vec<(i64, f64)>,
}

#[derive(Clone, PartialEq, Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    series: Vec<TimeSeries>,
}

#[derive(Clone, PartialEq, Message)]
struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, Eq, Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

/// Decodes the series of a remote-write body.
pub(crate) fn decode_write_request(body: &[u8]) -> Vec<Series> {
    let raw = snap::raw::Decoder::new().decompress_vec(body).expect("snappy");
    let request = WriteRequest::decode(&raw[..]).expect("a message");
    let series = |series: TimeSeries| Series {
        labels: series.labels.into_iter().map(|label| (label.name, label.value)).collect(),
        samples: series.samples.into_iter().map(|sample| (sample.timestamp, sample.value)).collect(),
    };
    request.series.into_iter().map(series).collect()
}

//! A proxy before the server, which records requests and causes failures.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::server::{exchange, split_head};

/// What the proxy does with the requests for ranges of objects.
#[derive(Default)]
pub(super) enum Fault {
    /// It forwards them.
    #[default]
    None,
    /// It never answers a request, not even for a list.
    Silence,
    /// The body of each answer ends a byte earlier than requested, and so does its length.
    Short,
    /// The connection is closed before the last byte of the next answer.
    Interruption,
    /// Before this request, something happens to the store.
    Before(usize, Box<dyn FnOnce() + Send>),
}

/// The state of a proxy.
#[derive(Default)]
struct State {
    fault: Fault,
    /// The requested ranges of objects, with their keys.
    ranges: Vec<(String, Range<u64>)>,
}

/// A proxy on loopback.
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Proxy {
    /// Starts a proxy before a server.
    pub(super) fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        // Ends with the process.
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let (connection, state) = (connection.expect("a connection"), Arc::clone(&shared));
                std::thread::spawn(move || serve(connection, server, &state));
            }
        });
        Self { address, state }
    }

    /// Sets what happens to the next requests.
    pub(super) fn set(&self, fault: Fault) {
        self.state.lock().expect("a state").fault = fault;
    }

    /// The ranges that were requested since the last call, with the keys of the objects.
    pub(super) fn take_ranges(&self) -> Vec<(String, Range<u64>)> {
        std::mem::take(&mut self.state.lock().expect("a state").ranges)
    }
}

/// Answers the one request of a connection.
fn serve(mut connection: TcpStream, server: SocketAddr, state: &Mutex<State>) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
        match connection.read(&mut buffer) {
            Ok(count @ 1..) => request.extend_from_slice(&buffer[..count]),
            // The client has closed the connection.
            _ => return,
        }
    }
    let (head, _) = split_head(&request);
    let range = head.lines().find_map(range_of);
    let (mut is_short, mut is_interrupted, mut happens) = (false, false, None);
    {
        let mut state = state.lock().expect("a state");
        if let Some(range) = &range {
            let target = head.split(' ').nth(1).unwrap_or_default();
            state.ranges.push((target.to_owned(), range.clone()));
        }
        match &mut state.fault {
            Fault::Silence => {
                drop(state);
                // Until the client closes the connection.
                while connection.read(&mut buffer).is_ok_and(|count| count > 0) {}
                return;
            }
            Fault::Before(0, _) if range.is_some() => {
                if let Fault::Before(_, action) = std::mem::take(&mut state.fault) {
                    happens = Some(action);
                }
            }
            Fault::Before(requests, _) if range.is_some() => *requests -= 1,
            Fault::Short => is_short = range.is_some(),
            Fault::Interruption if range.is_some() => {
                is_interrupted = true;
                state.fault = Fault::None;
            }
            _ => {}
        }
    }
    if let Some(action) = happens {
        action();
    }
    let head = head.trim_end().lines().filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
    let head = head.collect::<Vec<_>>().join("\r\n") + "\r\nConnection: close\r\n\r\n";
    let mut answer = exchange(server, head.as_bytes(), b"");
    if is_short || is_interrupted {
        answer.pop();
    }
    if is_short {
        let (head, body) = split_head(&answer);
        let length = format!("content-length: {}", body.len());
        let is_length = |line: &str| line.to_ascii_lowercase().starts_with("content-length:");
        let lines = head.trim_end().lines().map(|line| if is_length(line) { &length } else { line });
        let head = lines.collect::<Vec<_>>().join("\r\n") + "\r\n\r\n";
        answer = [head.as_bytes(), body].concat();
    }
    // The client may have closed the connection.
    let _ = connection.write_all(&answer);
}

/// The range in a header line of the form `Range: bytes=FIRST-LAST`.
fn range_of(line: &str) -> Option<Range<u64>> {
    let line = line.to_ascii_lowercase();
    let (first, last) = line.strip_prefix("range: bytes=")?.split_once('-')?;
    Some(first.parse().ok()?..last.parse::<u64>().ok()? + 1)
}

//! A client that can also send invalid requests.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

/// Connects, with timeouts for busy machines.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("an option");
    stream.set_write_timeout(Some(Duration::from_secs(60))).expect("an option");
    stream
}

/// Sends bytes; returns the response, or `None` if the server closes the connection without one.
pub(crate) fn send(address: SocketAddr, request: &[u8]) -> Option<Response> {
    let mut stream = connect(address);
    // The server can respond, and close the connection, before it has read the whole request.
    let _ = stream.write_all(request);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> Option<Response> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).expect("a header in ASCII");
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let mut response = Response { status, head, body: bytes[end + 4..].to_vec() };
    if response.header("transfer-encoding") == Some("chunked") {
        response.body = unchunked(&response.body);
    }
    Some(response)
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(line) = rest.windows(2).position(|window| window == b"\r\n") {
        let text = std::str::from_utf8(&rest[..line]).expect("a length");
        let length = usize::from_str_radix(text, 16).expect("a length");
        let end = (line + 2 + length).min(rest.len());
        body.extend_from_slice(&rest[line + 2..end]);
        rest = rest.get(end + 2..).unwrap_or_default();
    }
    body
}

/// Sends a request with additional headers. `body` can be empty.
pub(crate) fn request(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Response {
    let mut text = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        text += &format!("Host: {address}\r\n");
    }
    headers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
    if !body.is_empty() || method == "POST" {
        text += &format!("Content-Length: {}\r\n", body.len());
    }
    let bytes = [text.as_bytes(), b"\r\n", body].concat();
    send(address, &bytes).unwrap_or_else(|| panic!("no response to {method} {target}"))
}

pub(crate) fn get(address: SocketAddr, target: &str) -> Response {
    request(address, "GET", target, &[], b"")
}

pub(crate) fn post(address: SocketAddr, target: &str, content_type: &str, body: &[u8]) -> Response {
    request(address, "POST", target, &[("Content-Type", content_type)], body)
}

/// A request target: the path and the percent-encoded parameters.
pub(crate) fn target(path: &str, parameters: &[(&str, &str)]) -> String {
    let encoded = |text: &str| -> String {
        let byte = |byte: u8| match byte.is_ascii_alphanumeric() {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        };
        text.bytes().map(byte).collect()
    };
    let pairs: Vec<_> = parameters.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    format!("{path}?{}", pairs.join("&"))
}

//! The HTTP interface, with a fake machine and generated logs.

mod answers;
mod changing;
mod client;
mod compare;
mod hostile;
mod limits;
mod live;
mod logs;
mod machines;
mod readers;
mod recording;
mod safety;
mod sessions;
mod stream;
mod test_server;
mod tls;
mod views;

use client::{get, request};
use serde_json::Value;
use test_server::{Machine, TestOptions, TestServer};

/// Waits until a source is read.
fn wait_until_read(server: &TestServer, id: &str) -> Value {
    wait_until_read_with(server, id, &[])
}

/// Like [`wait_until_read`], with additional headers.
fn wait_until_read_with(server: &TestServer, id: &str, headers: &[(&str, &str)]) -> Value {
    for _ in 0..3000 {
        let source = request(server.address, "GET", &format!("/api/sources/{id}"), headers, b"").json();
        if source["state"] != "reading" {
            return source;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the log is still being read");
}

/// Whether to run tests that take minutes: only if the environment variable `TACHO_LONG` is set.
fn runs_long_tests() -> bool {
    std::env::var_os("TACHO_LONG").is_some()
}

#[test]
fn the_routes_are_those_of_the_openapi_description() {
    let machine = Machine::new(3);
    let server = TestServer::start(&machine, TestOptions::default());
    let description = get(server.address, "/api/openapi.json").json();
    let paths = description["paths"].as_object().expect("paths");
    assert!(paths.len() > 10);
    for (path, operations) in paths {
        let name = if path.starts_with("/assets") { "main.js" } else { "overview" };
        let target = path.replace("{id}", "live").replace("{name}", name);
        for method in ["GET", "POST", "DELETE", "PUT", "PATCH"] {
            let is_described = operations.get(method.to_lowercase()).is_some();
            let status = match (method, path.as_str()) {
                // A successful response would not end.
                ("GET", "/api/stream") => 400,
                _ => request(server.address, method, &target, &[], b"").status,
            };
            assert_eq!(status == 405, !is_described, "{method} {path}: {status}");
        }
    }
    assert_eq!(get(server.address, "/api/nothing").status, 404);
}

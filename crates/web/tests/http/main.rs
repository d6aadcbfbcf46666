//! The HTTP interface over a made machine and made logs: what it answers, and what it refuses.

mod changing;
mod client;
mod hostile;
mod limits;
mod live;
mod logs;
mod made;
mod readers;
mod safety;
mod stream;
mod tls;

use client::{get, request};
use made::{Machine, Served, Wishes};
use serde_json::Value;

/// Waits until a source is read.
fn ready(served: &Served, id: &str) -> Value {
    for _ in 0..3000 {
        let source = get(served.address, &format!("/api/sources/{id}")).json();
        if source["state"] != "reading" {
            return source;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the log is not read");
}

/// The tests that take minutes run where the variable `TACHO_LONG` says so.
fn is_long() -> bool {
    std::env::var_os("TACHO_LONG").is_some()
}

#[test]
fn every_route_is_described_and_nothing_else() {
    let machine = Machine::new(3);
    let served = Served::start(&machine, Wishes::default());
    let description = get(served.address, "/api/openapi.json").json();
    let paths = description["paths"].as_object().expect("paths");
    assert!(paths.len() > 10);
    for (path, operations) in paths {
        let target = path.replace("{id}", "live").replace("{name}", "main.js");
        for method in ["GET", "POST", "DELETE", "PUT", "PATCH"] {
            let is_described = operations.get(method.to_lowercase()).is_some();
            let status = match (method, path.as_str()) {
                // It goes on and on.
                ("GET", "/api/stream") => 400,
                _ => request(served.address, method, &target, &[], b"").status,
            };
            assert_eq!(status == 405, !is_described, "{method} {path}: {status}");
        }
    }
    assert_eq!(get(served.address, "/api/nothing").status, 404);
}

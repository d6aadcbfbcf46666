//! Several machines, some of which do not answer.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tachograph_counters::civil::FileTime;
use tachograph_flow::live::{LiveOptions, LiveReport, LiveSource, MachineMember, MachinesSource};
use tachograph_perflib::{ErrorCode, Failure, Registry};
use tachograph_web::MachineList;

use crate::client::{get, target};
use crate::test_server::{Machine, TestOptions, TestServer};

/// The machine FAKE, and silent machines, which keep their callers waiting until they are released.
struct Fleet {
    names: Vec<Arc<str>>,
    registry: Arc<Registry>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_released: bool,
    /// The number of attempts to read each silent machine.
    attempts: HashMap<String, usize>,
}

impl Fleet {
    fn new(machine: &Machine, silent: usize) -> Arc<Self> {
        let registry = (machine.options(Duration::from_secs(1)).registry)();
        let silent = (0..silent).map(|index| format!("silent{index}").into());
        let names = std::iter::once(Arc::from("FAKE")).chain(silent).collect();
        Arc::new(Self { names, registry, state: Mutex::default(), changed: Condvar::new() })
    }

    fn wait_for_attempts(&self, wanted: usize) {
        let state = self.state.lock().expect("no panic");
        let is_short = |state: &mut State| state.attempts.len() < wanted;
        let limit = Duration::from_secs(60);
        let (state, _) = self.changed.wait_timeout_while(state, limit, is_short).expect("no panic");
        assert!(state.attempts.len() >= wanted, "{:?}", state.attempts);
    }

    fn release(&self) {
        self.state.lock().expect("no panic").is_released = true;
        self.changed.notify_all();
    }
}

impl MachineList for Fleet {
    fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    fn registry(&self, machine: &str) -> Result<Arc<Registry>, Failure> {
        if machine == "FAKE" {
            return Ok(Arc::clone(&self.registry));
        }
        let mut state = self.state.lock().expect("no panic");
        *state.attempts.entry(machine.to_owned()).or_default() += 1;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| !state.is_released).expect("no panic"));
        Err(Failure::new(ErrorCode::SERVER_UNAVAILABLE, "does not answer"))
    }

    fn known_registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry)
    }

    fn source(&self, _: Duration) -> Result<MachinesSource, Failure> {
        let (source, _) =
            LiveSource::open(&self.registry, &[], LiveOptions::default()).expect("the fake machine");
        let member = MachineMember { source, boot_time: Box::new(|| FileTime(0)) };
        Ok(MachinesSource::new(vec![member], Duration::from_secs(1), 0, &LiveReport::default()))
    }
}

fn server(silent: usize) -> (Arc<Fleet>, TestServer, Machine) {
    let machine = Machine::new(4);
    let fleet = Fleet::new(&machine, silent);
    let machines = Some(Arc::clone(&fleet) as Arc<dyn MachineList>);
    let server = TestServer::start(&machine, TestOptions { machines, ..TestOptions::default() });
    (fleet, server, machine)
}

/// Repeats a request until `is_wanted` returns true for its response.
fn wait_for(server: &TestServer, request: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let response = get(server.address, request);
        assert_eq!(response.status, 200, "{}", response.text());
        let found = response.json();
        if is_wanted(&found) {
            return found;
        }
        assert!(Instant::now() < end, "{found}");
    }
}

#[test]
fn silent_machines_do_not_block_live_requests() {
    // There are more silent machines than threads for live requests, and several requests for each machine.
    let (fleet, server, _machine) = server(3);
    let address = server.address;
    let sets = |machine: &str| target("/api/sources/live/sets", &[("machine", machine)]);
    let requests: Vec<_> = (0..9)
        .map(|index| sets(&format!("silent{}", index % 3)))
        .map(|request| std::thread::spawn(move || get(address, &request).status))
        .collect();
    fleet.wait_for_attempts(3);
    assert_eq!(get(address, "/api/sources").status, 200);
    assert_eq!(get(address, "/api/views/overview?source=live").status, 200);
    assert_eq!(get(address, &sets("fake")).json()["sets"][0]["name"], "Things");
    assert_eq!(get(address, "/api/sources/live/sets").json()["sets"][0]["name"], "Things");
    let instances = target("/api/sources/live/instances", &[("set", "Things")]);
    assert_eq!(get(address, &instances).json()["instances"].as_array().map(Vec::len), Some(4));
    let table = target("/api/fleet", &[("path", r"\Things(*)\Number")]);
    assert_eq!(get(address, &table).json()["machines"], 4);
    fleet.release();
    for request in requests {
        assert_eq!(request.join().expect("no panic"), 404);
    }
    // Further requests fail immediately, without another attempt.
    assert_eq!(get(address, &sets("silent1")).status, 404);
    let state = fleet.state.lock().expect("no panic");
    assert!(state.attempts.values().all(|attempts| *attempts == 1), "{:?}", state.attempts);
    drop(state);
    assert_eq!(get(address, &sets("unknown")).status, 404);
}

#[test]
fn cells_and_charts_have_the_sum_of_the_instances() {
    let (_fleet, server, _machine) = server(1);
    let path = ("path", r"\Things(*)\Number");
    let has_values = |table: &Value| table["columns"][0]["all"]["average"].is_number();
    let table = wait_for(&server, &target("/api/fleet", &[path, ("path", r"\Things(p2)\*")]), has_values);
    // The instances have the numbers 0 to 3.
    assert_eq!(table["rows"][0]["machine"], "FAKE");
    assert_eq!(table["rows"][0]["statistics"][0]["average"], 6.0, "{table}");
    assert_eq!(table["columns"][0]["instance"], "*");
    assert_eq!(table["columns"][0]["shown"], path.1);
    assert_eq!(table["columns"][1]["shown"], r"\Things(p2)\Number");
    assert!(
        table["missing"][0]["reason"].as_str().is_some_and(|reason| reason.contains("omits 1")),
        "{table}"
    );
    let series = "/api/sources/live/series";
    let sums = [("columns", "4"), ("group_by", "machine")];
    let of_one = ("path", r"\\FAKE\Things(*)\Number");
    let across = ("across", "machines");
    for (request, name) in [
        ([&[of_one][..], &sums].concat(), r"\\FAKE\Things(*)\Number"),
        ([&[of_one, path][..], &sums].concat(), r"\\FAKE\Things(*)\Number"),
        ([&[path, across][..], &sums].concat(), r"\Things(*)\Number"),
    ] {
        let chart = get(server.address, &target(series, &request)).json();
        assert_eq!(chart["series"].as_array().map(Vec::len), Some(1), "{chart}");
        assert_eq!(chart["series"][0]["path"], name);
        assert_eq!(chart["series"][0]["statistics"]["average"], 6.0, "{chart}");
    }
    let others = [&[path, ("path", r"\Things(p1)\Number")][..], &sums].concat();
    assert_eq!(get(server.address, &target(series, &others)).status, 400);
}

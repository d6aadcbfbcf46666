//! Queries and names of other machines.

use std::sync::{Arc, Mutex};

use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_pdh::{Format, FormattedValue, NoValue, PdhStatus, Query, Value};
use tachograph_perflib::{Connector, ErrorCode, Failure, Registry};

use crate::fake_machine::Machine;

/// Connects to WEB2 and WEB3 unless `failure` is set.
#[derive(Debug)]
struct Machines {
    registries: Vec<Arc<Registry>>,
    failure: Mutex<Option<ErrorCode>>,
}

impl Connector for Machines {
    fn registry(&self, machine: &str) -> Result<Arc<Registry>, Failure> {
        assert!(!machine.starts_with('\\'), "{machine}");
        if let Some(code) = *self.failure.lock().expect("no panic") {
            return Err(Failure::new(code, "a failure of the test"));
        }
        let found = self.registries.iter().find(|registry| eq_ignore_case(registry.machine(), machine));
        found.cloned().ok_or_else(|| Failure::new(ErrorCode::BAD_NETWORK_PATH, "unknown"))
    }

    fn connected(&self) -> Vec<Arc<str>> {
        self.registries.iter().map(|registry| Arc::clone(registry.machine())).collect()
    }
}

struct Fixture {
    here: Machine,
    others: [Machine; 2],
    connector: Arc<Machines>,
}

fn fixture() -> Fixture {
    let (here, others) = (Machine::new(), [Machine::named("WEB2"), Machine::named("WEB3")]);
    let registries = others.iter().map(Machine::registry).collect();
    let connector = Arc::new(Machines { registries, failure: Mutex::default() });
    here.connect(Arc::clone(&connector) as Arc<dyn Connector>);
    Fixture { here, others, connector }
}

fn value(query: &Query, id: tachograph_pdh::CounterId) -> Result<f64, PdhStatus> {
    match query.formatted_value(id, Format::DOUBLE) {
        Ok(FormattedValue { value: Value::Double(double), .. }) => Ok(double),
        Ok(other) => panic!("{other:?}"),
        Err(NoValue { value_status, .. }) => Err(value_status),
    }
}

#[test]
fn names_of_other_machines_are_accepted() {
    let Fixture { here, others, connector } = fixture();
    let source = &here.source;
    assert_eq!(source.machines(), Ok([r"\\FAKE", r"\\WEB2", r"\\WEB3"].map(str::to_owned).to_vec()));
    assert_eq!(source.connect_machine(Some(r"\\web2")), Ok(()));
    let sets = others[0].source.objects(None, 400);
    for name in ["WEB2", r"\\web2"] {
        assert_eq!(source.objects(Some(name), 400), sets);
        let items = source.object_items(Some(name), "LogicalDisk", 400);
        assert_eq!(items, others[0].source.object_items(None, "LogicalDisk", 400));
        assert_eq!(source.default_object(Some(name)).as_deref(), Ok("Processor"));
    }
    // The instances are those of the other machine, and the paths have its name.
    others[0].after(1, |values| values.disks = vec![("/there".into(), 1, 2)]);
    let expanded = source.expand_wild_card_path(r"\\web2\LogicalDisk(*)\*", 0);
    assert_eq!(expanded, Ok(vec![r"\\WEB2\LogicalDisk(/there)\% Free Space".to_owned()]));
    assert_eq!(source.validate_path(r"\\web2\LogicalDisk(/there)\% Free Space"), Ok(()));
    assert_eq!(source.validate_path(r"\\web2\LogicalDisk(/)\% Free Space"), Err(PdhStatus::NO_INSTANCE));
    assert_eq!(source.validate_path(r"\\web4\System\System Up Time"), Err(PdhStatus::NO_MACHINE));
    for (code, status) in [
        (ErrorCode::SERVER_UNAVAILABLE, PdhStatus::NO_MACHINE),
        (ErrorCode::TIMEOUT, PdhStatus::NO_MACHINE),
        (ErrorCode::ACCESS_DENIED, PdhStatus::CANNOT_CONNECT_MACHINE),
        (ErrorCode::INVALID_DATA, PdhStatus::CANNOT_CONNECT_MACHINE),
    ] {
        *connector.failure.lock().expect("no panic") = Some(code);
        assert_eq!(source.connect_machine(Some("web2")), Err(status));
        let mut query = Query::open(source, 0);
        assert_eq!(query.add_counter(r"\\web2\System\System Up Time", 0), Err(status));
        assert!(query.add_counter(r"\System\System Up Time", 0).is_ok());
    }
}

#[test]
fn a_query_reads_several_machines_and_reports_those_that_fail() {
    let Fixture { here, others, .. } = fixture();
    let [web2, web3] = &others;
    let paths = [
        r"\System\Context Switches/sec",
        r"\\web2\System\Context Switches/sec",
        r"\\web3\Process(init)\Ticks/sec",
        r"\\web3\Process(*)\Ticks/sec",
    ];
    let (mut query, ids) = here.query(&paths);
    let [local, remote, single, all] = ids[..] else { panic!("four") };
    assert_eq!(
        query.info(remote).expect("an existing counter").full_path,
        r"\\WEB2\System\Context Switches/sec"
    );
    assert_eq!(query.collect(), Ok(()));
    let advance = |failure: Option<ErrorCode>| {
        here.after(1, |values| values.switches += 5);
        web2.after(1, |values| values.switches += 70);
        web3.after(1, |values| {
            values.failure = failure;
            values.processes.iter_mut().for_each(|(_, _, ticks)| *ticks += 3);
        });
    };
    advance(None);
    assert_eq!(query.collect(), Ok(()));
    assert_eq!((value(&query, local), value(&query, remote)), (Ok(5.0), Ok(70.0)));
    assert_eq!(value(&query, single), Ok(3.0));
    assert_eq!(query.formatted_array(all, Format::DOUBLE).map(|items| items.len()), Ok(3));
    advance(Some(ErrorCode::SERVER_UNAVAILABLE));
    assert_eq!(query.collect(), Ok(()));
    assert_eq!((value(&query, local), value(&query, remote)), (Ok(5.0), Ok(70.0)));
    assert_eq!(value(&query, single), Err(PdhStatus::NO_MACHINE));
    assert_eq!(query.info(all).expect("an existing counter").status, PdhStatus::NO_MACHINE);
    // If the machine answers but the set fails, the status is another one.
    advance(Some(ErrorCode::ACCESS_DENIED));
    assert_eq!(query.collect(), Ok(()));
    assert_eq!(value(&query, single), Err(PdhStatus::CSTATUS_INVALID_DATA));
    for _ in 0..2 {
        advance(None);
        assert_eq!(query.collect(), Ok(()));
    }
    assert_eq!(value(&query, single), Ok(3.0));
}

#[test]
fn a_query_can_read_only_another_machine() {
    let Fixture { here, others, .. } = fixture();
    let (mut query, ids) = here.query(&[r"\\web2\System\Context Switches/sec"]);
    assert_eq!(query.collect(), Ok(()));
    others[0].after(2, |values| values.switches += 70);
    assert_eq!(query.collect(), Ok(()));
    assert_eq!(value(&query, ids[0]), Ok(35.0));
    // A counter of a second machine can be added later.
    let second = query.add_counter(r"\\web3\System\Context Switches/sec", 0).expect("an existing counter");
    for _ in 0..2 {
        others.iter().for_each(|machine| machine.after(1, |values| values.switches += 1));
        assert_eq!(query.collect(), Ok(()));
    }
    assert_eq!((value(&query, ids[0]), value(&query, second)), (Ok(1.0), Ok(1.0)));
}

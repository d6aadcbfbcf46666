//! The provider functions of perflib.h in Rust form, checked against their documented behaviour.

use crate::seen;

use tachograph_publish::dynamic::{ControlCallback, Options, Provider, Request};
use tachograph_publish::{
    Attributes, CellKind, CounterDescription, Description, Guid, InstanceKind, PublishError, Publisher,
};
use tempfile::TempDir;

const PROVIDER: Guid = Guid::parse("{0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0}");
const PUMPS: Guid = Guid::parse("{5f2c9c3e-2f54-4b0e-9d4e-64a3d3a0c0a1}");

fn options(folder: &TempDir) -> Options {
    Options { publisher: Publisher::new().folder(folder.path()), ..Options::default() }
}

fn provider() -> (TempDir, Provider) {
    let folder = tempfile::tempdir().expect("a folder");
    let provider = Provider::start(PROVIDER, options(&folder)).expect("start provider");
    (folder, provider)
}

fn pumps(instances: InstanceKind) -> Description {
    let mut set = Description::new("Pumps", PUMPS, instances);
    set.counters = vec![
        CounterDescription::new(1, "Strokes/sec", 0x1041_0500),
        CounterDescription::new(7, "Pressure", 0x0001_0000),
    ];
    set
}

fn code<T: std::fmt::Debug>(result: Result<T, PublishError>) -> u32 {
    result.expect_err("an error").code()
}

#[test]
fn a_guid_can_be_started_twice() {
    let (folder, first) = provider();
    let second = Provider::start(PROVIDER, options(&folder)).expect("again");
    assert_eq!(first.guid(), second.guid());
    for provider in [&first, &second] {
        provider.register(pumps(InstanceKind::Multiple)).expect("each provider has its own sets");
    }
    assert_eq!(seen::sets(folder.path()).len(), 2);
    first.stop();
    assert_eq!(seen::sets(folder.path()).len(), 1);
    second.create_instance(PUMPS, "north", 0).expect("the other provider is not affected");
}

#[test]
fn names_that_paths_cannot_express_are_rejected() {
    let (folder, provider) = provider();
    let mut set = pumps(InstanceKind::Multiple);
    set.name = "Pumps (north)".into();
    let error = provider.register(set.clone()).expect_err("a path cannot contain it");
    assert_eq!(error.code(), 87);
    assert_eq!(
        error.to_string(),
        "the name of the counter set, 'Pumps (north)', cannot contain '(': counter paths do not allow it"
    );
    set.name = "Pumps".into();
    set.counters[0].name = "Strokes\\sec".into();
    assert_eq!(code(provider.register(set.clone())), 87);
    assert_eq!(seen::sets(folder.path()).len(), 0);
    // Counters that are not displayed need no valid name, and names that are in a manifest are empty here.
    set.counters[0].attributes = Attributes::NO_DISPLAYABLE;
    set.counters[1].name = "".into();
    set.name = "".into();
    provider.register(set).expect("registered");
}

#[test]
fn sets_are_registered_once_and_have_counters() {
    let (folder, provider) = provider();
    assert_eq!(code(provider.register(Description::new("Empty", PUMPS, InstanceKind::Single))), 87);
    provider.register(pumps(InstanceKind::Multiple)).expect("registered");
    assert_eq!(code(provider.register(pumps(InstanceKind::Single))), 183);
    let set = seen::set(folder.path());
    // The provider GUID in the description is ignored.
    assert_eq!((set.description().provider_guid, set.description().guid), (PROVIDER, PUMPS));
}

#[test]
fn invalid_descriptions_are_rejected() {
    let (folder, provider) = provider();
    let mut pair = pumps(InstanceKind::Multiple);
    pair.counters[1].cell = CellKind::Pair;
    assert_eq!(code(provider.register(pair)), 87);
    let mut striped = pumps(InstanceKind::Multiple);
    striped.counters[0].stripes = 4;
    assert_eq!(code(provider.register(striped)), 87);
    let mut repeated = pumps(InstanceKind::Multiple);
    repeated.counters[1].id = 1;
    assert_eq!(code(provider.register(repeated)), 87);
    assert_eq!(seen::all_entries(folder.path()), [""; 0]);
    provider.register(pumps(InstanceKind::Multiple)).expect("the rejected sets do not exist");
}

#[test]
fn instances_require_their_set() {
    let (folder, provider) = provider();
    assert_eq!(code(provider.create_instance(PUMPS, "north", 0)), 1168);
    assert_eq!(code(provider.delete_instance(PUMPS, "north", 0)), 1168);
    assert!(provider.query_instance(PUMPS, "north", 0).is_none());
    provider.register(pumps(InstanceKind::Multiple)).expect("registered");
    assert_eq!(code(provider.delete_instance(PUMPS, "north", 0)), 1168);
    let north = provider.create_instance(PUMPS, "north", 4).expect("room");
    assert_eq!((north.name(), north.id()), ("north", 4));
    assert_eq!(code(provider.create_instance(PUMPS, "north", 4)), 183);
    provider.create_instance(PUMPS, "north", 5).expect("another id");
    assert!(provider.query_instance(PUMPS, "north", 6).is_none());
    north.set(1, 9).expect("a counter");
    let same = provider.query_instance(PUMPS, "north", 4).expect("the instance");
    assert_eq!(same.value(1).expect("a counter"), 9);
    provider.delete_instance(PUMPS, "north", 4).expect("the instance");
    assert_eq!(code(provider.delete_instance(PUMPS, "north", 4)), 1168);
    let rows = seen::rows(&mut seen::set(folder.path()));
    assert_eq!(rows.iter().map(|row| (row.name.as_str(), row.id)).collect::<Vec<_>>(), [("north", 5)]);
    // Handles of a deleted instance can still be used, and the name is free.
    north.add(1, 1).expect("a counter");
    assert_eq!(provider.create_instance(PUMPS, "north", 4).expect("room").value(1).expect("a counter"), 0);
}

#[test]
fn a_single_instance_can_have_a_name() {
    let (folder, provider) = provider();
    provider.register(pumps(InstanceKind::Single)).expect("registered");
    let only = provider.create_instance(PUMPS, "Instance_1", 0).expect("the only instance");
    assert_eq!(code(provider.create_instance(PUMPS, "Instance_2", 1)), 183);
    only.set(7, 3).expect("a counter");
    assert_eq!(seen::row(folder.path()).values, [Some((0, None)), Some((3, None))]);
}

#[test]
fn values_wrap() {
    let (folder, provider) = provider();
    provider.register(pumps(InstanceKind::Multiple)).expect("registered");
    let north = provider.create_instance(PUMPS, "north", 0).expect("room");
    north.subtract(1, 1).expect("a counter");
    north.add(7, u64::MAX).expect("a counter");
    north.add(7, 3).expect("a counter");
    assert_eq!(seen::row(folder.path()).values, [Some((u64::MAX, None)), Some((2, None))]);
    north.set(1, 5).expect("a counter");
    north.subtract(1, 2).expect("a counter");
    assert_eq!(north.value(1).expect("a counter"), 3);
    for result in [north.set(2, 0), north.add(2, 0), north.subtract(2, 0), north.value(2).map(drop)] {
        assert_eq!(code(result), 1168);
    }
}

#[test]
fn only_counters_by_reference_have_references() {
    let (folder, provider) = provider();
    let mut set = pumps(InstanceKind::Multiple);
    set.counters[1].attributes = Attributes::BY_REFERENCE;
    provider.register(set).expect("registered");
    let north = provider.create_instance(PUMPS, "north", 0).expect("room");
    assert_eq!(code(north.set_reference(2, Box::new(|| 0))), 1168);
    assert_eq!(code(north.set_reference(1, Box::new(|| 0))), 87);
    assert_eq!(seen::row(folder.path()).values, [Some((0, None)), None], "no reference was set");
    north.set(7, 8).expect("a counter");
    assert_eq!(seen::row(folder.path()).values[1], Some((8, None)));
    north.set_reference(7, Box::new(|| 0)).expect("by reference");
    provider.delete_instance(PUMPS, "north", 0).expect("the instance");
    assert_eq!(code(north.set_reference(7, Box::new(|| 0))), 6);
}

#[test]
fn a_stopped_provider_rejects_all_calls() {
    let (folder, provider) = provider();
    let mut set = pumps(InstanceKind::Multiple);
    set.counters[1].attributes = Attributes::BY_REFERENCE;
    provider.register(set.clone()).expect("registered");
    let north = provider.create_instance(PUMPS, "north", 0).expect("room");
    provider.stop();
    provider.stop();
    assert_eq!(seen::all_entries(folder.path()), [""; 0]);
    assert_eq!(code(provider.register(set)), 6);
    assert_eq!(code(provider.create_instance(PUMPS, "north", 0)), 6);
    assert_eq!(code(provider.delete_instance(PUMPS, "north", 0)), 6);
    assert_eq!(code(north.set_reference(7, Box::new(|| 0))), 6);
    north.add(1, 1).expect("the memory of the instance is still valid");
}

#[test]
fn providers_and_instances_can_be_shared_by_threads() {
    let (folder, provider) = provider();
    provider.register(pumps(InstanceKind::Multiple)).expect("registered");
    let threads = 4;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let provider = &provider;
            scope.spawn(move || {
                for round in 0..200 {
                    let own = provider.create_instance(PUMPS, "own", thread).expect("room");
                    own.add(1, round).expect("a counter");
                    let shared = match provider.create_instance(PUMPS, "shared", 0) {
                        Ok(shared) => shared,
                        Err(_) => {
                            provider.query_instance(PUMPS, "shared", 0).expect("another thread created it")
                        }
                    };
                    shared.add(7, 1).expect("a counter");
                    provider.delete_instance(PUMPS, "own", thread).expect("the instance");
                }
            });
        }
    });
    let row = seen::row(folder.path());
    assert_eq!((row.name.as_str(), row.values[1]), ("shared", Some((200 * u64::from(threads), None))));
}

/// The environment variable of the child process, which runs with a low limit of open files.
const FEW_FILES: &str = "TACHO_TEST_FEW_FILES";

#[test]
fn too_many_open_files_are_reported_as_such() {
    // A limit applies to the whole process, so it is set in a child.
    if std::env::var_os(FEW_FILES).is_none() {
        let child = std::process::Command::new("sh")
            .args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().expect("this program"))
            .args(["--exact", "dynamic::too_many_open_files_are_reported_as_such"])
            .env(FEW_FILES, "1")
            .output()
            .expect("a child");
        let has_run = String::from_utf8_lossy(&child.stdout).contains("1 passed");
        assert!(child.status.success() && has_run, "{child:?}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let control = Some(std::sync::Arc::new(|_: &Request<'_>| Ok(())) as ControlCallback);
    let provider =
        Provider::start(PROVIDER, Options { control, ..options(&folder) }).expect("start provider");
    let mut held = Vec::new();
    let error = loop {
        match std::fs::File::open("/dev/null") {
            Ok(file) => held.push(file),
            Err(error) => break error,
        }
    };
    assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
    // With each file that is closed, starting fails at a later step: the folder, the file, the socket, or the threads.
    let mut failures = 0;
    while let Err(error) = provider.register(pumps(InstanceKind::Multiple)) {
        assert_eq!(error.code(), 1450, "after {failures} failures: {error}");
        assert!(
            error.to_string().ends_with("; raise the limit of open files (ulimit -n), or close some"),
            "{error}"
        );
        held.pop().expect("the provider starts before all files are closed");
        failures += 1;
    }
    assert!(failures > 2, "{failures}");
    drop(held);
    assert_eq!(seen::sets(folder.path()).len(), 1);
}

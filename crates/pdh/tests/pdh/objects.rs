//! Listing counter sets, counters and instances, as with PdhEnumObjects and PdhEnumObjectItems.

use tachograph_pdh::{ObjectItems, PdhStatus};

use crate::fake_machine::{Machine, log_source};

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn objects_of_a_machine_are_listed() {
    let source = Machine::new().source;
    assert_eq!(source.machines(), Ok(texts(&[r"\\FAKE"])));
    let all = texts(&["System", "Processor", "Process", "LogicalDisk", "Thread", "Empty", "Shop"]);
    for machine in [None, Some(""), Some("FAKE"), Some(r"\\fake"), Some(".")] {
        assert_eq!(source.objects(machine, 400), Ok(all.clone()), "{machine:?}");
    }
    assert_eq!(source.objects(Some("other"), 400), Err(PdhStatus::NO_MACHINE));
    let items = |object| source.object_items(None, object, 400);
    // Each instance name is listed once, without `#n`.
    let processes = ObjectItems {
        counters: texts(&["Ticks/sec", "ID Process"]),
        instances: Some(texts(&["bash", "init"])),
    };
    assert_eq!(items("process"), Ok(processes));
    assert_eq!(items("Thread").map(|items| items.instances), Ok(Some(texts(&["bash/0", "bash/1"]))));
    // A set that never has instances, and one that has none at the moment.
    assert_eq!(items("System").map(|items| items.instances), Ok(None));
    assert_eq!(items("Empty").map(|items| items.instances), Ok(Some(vec![])));
    // Companions are not listed.
    assert_eq!(items("LogicalDisk").map(|items| items.counters), Ok(texts(&["% Free Space"])));
    assert_eq!(items("Nothing"), Err(PdhStatus::NO_OBJECT));
    assert_eq!(items(""), Err(PdhStatus::INVALID_ARGUMENT));
    // Counters are selected by their detail level.
    let novice = source.object_items(None, "Process", 100).map(|items| items.counters);
    assert_eq!(novice, Ok(texts(&["Ticks/sec"])));
    assert_eq!(source.objects(None, 50), Ok(vec![]));
    assert_eq!(source.default_object(None).as_deref(), Ok("Processor"));
    assert_eq!(source.default_counter(None, "System").as_deref(), Ok("System Up Time"));
    assert_eq!(source.default_counter(None, "Nothing"), Err(PdhStatus::NO_OBJECT));
}

#[test]
fn objects_of_a_log_are_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    let machine = Machine::new();
    for (name, number) in [("a.blg", 8), ("a.csv", 1), ("a.tsv", 2)] {
        let paths = [r"\Process(*)\Ticks/sec", r"\System\System Up Time", r"\Process(init)\ID Process"];
        let source = log_source(machine.log(&folder.path().join(name), number, &paths));
        assert_eq!(source.machines(), Ok(texts(&[r"\\FAKE"])), "{name}");
        assert_eq!(source.objects(Some("fake"), 400), Ok(texts(&["Process", "System"])), "{name}");
        let items = ObjectItems {
            counters: texts(&["Ticks/sec", "ID Process"]),
            instances: Some(texts(&["bash", "init"])),
        };
        assert_eq!(source.object_items(None, "Process", 400), Ok(items), "{name}");
        assert_eq!(source.object_items(None, "System", 400).map(|items| items.instances), Ok(None), "{name}");
        assert_eq!(source.default_object(None).as_deref(), Ok("Process"));
        // bash is omitted: the log has another counter of it, but not ID Process.
        let all = source.expand_wild_card_path(r"\Process(*)\ID Process", 0);
        assert_eq!(all, Ok(texts(&[r"\\FAKE\Process(init)\ID Process"])), "{name}");
    }
}

//! Splitting, checking and expanding paths.

use tachograph_pdh::{
    InstanceElements, NO_EXPAND_COUNTERS, NO_EXPAND_INSTANCES, PathElements, PdhStatus, REFRESH_COUNTERS,
    make_counter_path, parse_counter_path, parse_instance_name,
};
use tachograph_perflib::ErrorCode;

use crate::fake_machine::{Machine, log_source};

fn elements(parts: [Option<&str>; 5], index: u32) -> PathElements {
    let [machine, object, parent, instance, counter] = parts.map(|part| part.map(str::to_owned));
    PathElements {
        machine,
        object: object.unwrap_or_default(),
        parent,
        instance,
        index,
        counter: counter.unwrap_or_default(),
    }
}

/// The ten documented forms.
#[test]
fn all_documented_forms_of_paths_round_trip() {
    for machine in [None, Some("web1")] {
        let forms: [(&str, Option<&str>, Option<&str>, u32); 5] = [
            ("(p/i#2)", Some("p"), Some("i"), 2),
            ("(p/i)", Some("p"), Some("i"), 0),
            ("(i#2)", None, Some("i"), 2),
            ("(i)", None, Some("i"), 0),
            ("", None, None, 0),
        ];
        for (text, parent, instance, index) in forms {
            let prefix = machine.map(|machine| format!(r"\\{machine}")).unwrap_or_default();
            let path = format!(r"{prefix}\Object{text}\Counter");
            let parts = elements([machine, Some("Object"), parent, instance, Some("Counter")], index);
            assert_eq!(parse_counter_path(&path, 0), Ok(parts.clone()), "{path}");
            assert_eq!(make_counter_path(&parts, 0), Ok(path));
        }
    }
}

#[test]
fn malformed_paths_are_rejected() {
    assert_eq!(parse_counter_path("", 0), Err(PdhStatus::INVALID_ARGUMENT));
    assert_eq!(parse_counter_path(r"\a\b", 1), Err(PdhStatus::NOT_IMPLEMENTED));
    for wrong in
        [r"\O(I\C", r"\OI)\C", r"\O/C", r"\O(I)C", r"\CM\O(I)\C", r"\CM\O\C", "blah", r"\System", r"\"]
    {
        assert_eq!(parse_counter_path(wrong, 0), Err(PdhStatus::INVALID_PATH), "{wrong}");
    }
}

#[test]
fn make_counter_path_checks_its_parts() {
    let whole = elements([Some(r"\\web1"), Some("O"), Some("p"), Some("i"), Some("C")], 1);
    assert_eq!(make_counter_path(&whole, 0), Ok(r"\\web1\O(p/i#1)\C".to_owned()));
    // Without an instance, parent and index are ignored.
    let without = PathElements { instance: None, ..whole.clone() };
    assert_eq!(make_counter_path(&without, 0), Ok(r"\\web1\O\C".to_owned()));
    let odd = PathElements { instance: Some("(i".to_owned()), ..whole.clone() };
    assert_eq!(make_counter_path(&odd, 0), Ok(r"\\web1\O(p/(i#1)\C".to_owned()));
    for invalid in [
        PathElements { object: String::new(), ..whole.clone() },
        PathElements { counter: String::new(), ..whole.clone() },
        // The path would be parsed into other parts.
        PathElements { object: "O(".to_owned(), ..whole.clone() },
        PathElements { instance: Some("a)b(c".to_owned()), ..whole.clone() },
        PathElements { counter: r"a\b".to_owned(), ..whole.clone() },
        PathElements { object: "x".repeat(1025), ..whole.clone() },
    ] {
        assert_eq!(make_counter_path(&invalid, 0), Err(PdhStatus::INVALID_ARGUMENT), "{invalid:?}");
    }
    assert_eq!(make_counter_path(&whole, 1), Err(PdhStatus::NOT_IMPLEMENTED));
}

#[test]
fn instance_names_are_split() {
    let parts = |parent: Option<&str>, name: &str, index| {
        Ok(InstanceElements { parent: parent.map(str::to_owned), name: name.to_owned(), index })
    };
    for (text, expected) in [
        ("i", parts(None, "i", 0)),
        ("i#3", parts(None, "i", 3)),
        ("p/i", parts(Some("p"), "i", 0)),
        ("p/i#3", parts(Some("p"), "i", 3)),
        ("p/i/j", parts(Some("p"), "i/j", 0)),
        ("/home", parts(None, "/home", 0)),
        ("Adapter #2", parts(None, "Adapter #2", 0)),
        ("", Err(PdhStatus::INVALID_ARGUMENT)),
        ("p/", Err(PdhStatus::INVALID_INSTANCE)),
    ] {
        assert_eq!(parse_instance_name(text), expected, "{text}");
    }
    assert!(parse_instance_name(&"x".repeat(259)).is_ok());
    assert_eq!(parse_instance_name(&"x".repeat(260)), Err(PdhStatus::INVALID_INSTANCE));
}

/// The documented behaviour of PdhValidatePath.
#[test]
fn validate_path_returns_the_documented_statuses() {
    let machine = Machine::new();
    let validate = |path: &str| machine.source.validate_path(path).err().unwrap_or(PdhStatus::SUCCESS);
    assert_eq!(validate(""), PdhStatus::INVALID_ARGUMENT);
    assert_eq!(validate(r"\System"), PdhStatus::BAD_COUNTERNAME);
    assert_eq!(validate("System Up Time"), PdhStatus::BAD_COUNTERNAME);
    assert_eq!(validate(r"\System\System Down Time"), PdhStatus::NO_COUNTER);
    assert_eq!(validate(r"\System\System Up Time"), PdhStatus::SUCCESS);
    assert_eq!(validate(r"\\fake\system\system up time"), PdhStatus::SUCCESS);
    assert_eq!(validate(r"\\.\System\System Up Time"), PdhStatus::SUCCESS);
    assert_eq!(validate(r"\\other\System\System Up Time"), PdhStatus::NO_MACHINE);
    assert_eq!(validate(r"\Sistem\System Up Time"), PdhStatus::NO_OBJECT);
    assert_eq!(validate(r"\System(x)\System Up Time"), PdhStatus::NO_INSTANCE);
    assert_eq!(validate(r"\Process\Ticks/sec"), PdhStatus::NO_INSTANCE);
    assert_eq!(validate(r"\Process(nobody)\Ticks/sec"), PdhStatus::NO_INSTANCE);
    assert_eq!(validate(r"\Process(bash#1)\Ticks/sec"), PdhStatus::SUCCESS);
    assert_eq!(validate(r"\Process(bash#0)\Ticks/sec"), PdhStatus::SUCCESS);
    assert_eq!(validate(r"\Process(bash#2)\Ticks/sec"), PdhStatus::NO_INSTANCE);
    assert_eq!(validate(r"\Process(b*)\Ticks/sec"), PdhStatus::SUCCESS);
    // The path of a companion is not valid.
    assert_eq!(validate(r"\LogicalDisk(/)\Size"), PdhStatus::NO_COUNTER);
}

#[test]
fn wildcards_expand_to_existing_paths() {
    let machine = Machine::new();
    let expand = |path: &str, flags| machine.source.expand_wild_card_path(path, flags);
    let paths = |texts: &[&str]| Ok(texts.iter().map(ToString::to_string).collect::<Vec<_>>());
    let all = r"\Process(*)\Ticks/sec";
    let three = [r"\Process(bash)\Ticks/sec", r"\Process(bash#1)\Ticks/sec", r"\Process(init)\Ticks/sec"];
    assert_eq!(expand(all, 0), paths(&three));
    assert_eq!(expand(all, REFRESH_COUNTERS), paths(&three));
    assert_eq!(expand(r"\process(*)\ticks/sec", 0), paths(&three));
    assert_eq!(expand(all, NO_EXPAND_INSTANCES), paths(&[all]));
    assert_eq!(expand(r"\Process(b*)\Ticks/sec", 0), paths(&three[..2]));
    assert_eq!(expand(r"\Process(*#*)\Ticks/sec", 0), paths(&three));
    // The machine is included if the path has one.
    assert_eq!(expand(r"\\FAKE\Process(i*)\Ticks/sec", 0), paths(&[r"\\FAKE\Process(init)\Ticks/sec"]));
    // Counters.
    let system = [r"\System\System Up Time", r"\System\Context Switches/sec"];
    assert_eq!(expand(r"\System\*", 0), paths(&system));
    assert_eq!(expand(r"\System\*", NO_EXPAND_COUNTERS), paths(&[r"\System\*"]));
    let init = [r"\Process(init)\Ticks/sec", r"\Process(init)\ID Process"];
    assert_eq!(expand(r"\Process(init)\*", 0), paths(&init));
    assert_eq!(expand(r"\Process(*)\*", 0).map(|paths| paths.len()), Ok(6));
    assert_eq!(
        expand(r"\Process(*)\*", NO_EXPAND_COUNTERS | NO_EXPAND_INSTANCES),
        paths(&[r"\Process(*)\*"])
    );
    // Parents.
    let threads = [r"\Thread(bash/0)\ID Thread", r"\Thread(bash/1)\ID Thread"];
    assert_eq!(expand(r"\Thread(*/*)\ID Thread", 0), paths(&threads));
    assert_eq!(expand(r"\Thread(*/1)\ID Thread", 0), paths(&threads[1..]));
    // Sets.
    assert_eq!(expand(r"\S*\*Time", 0), paths(&system[..1]));
    // Paths without wildcards, even of sets without instances, expand to themselves; instances are not looked up.
    assert_eq!(expand(system[0], 0), paths(&system[..1]));
    assert_eq!(expand(r"\Process(nobody)\Ticks/sec", 0), paths(&[r"\Process(nobody)\Ticks/sec"]));
    assert_eq!(expand(r"\Empty(*)\Count", 0), paths(&[]));
    assert_eq!(expand(r"\Shop\Sales", 0), paths(&[r"\Shop\Sales"]));
    assert_eq!(expand(r"\Shop(*)\Sales", 0), paths(&[r"\Shop(shop)\Sales"]));
    // Invalid paths.
    for (path, status) in [
        ("", PdhStatus::INVALID_ARGUMENT),
        ("sdfhsdhfd", PdhStatus::INVALID_PATH),
        (r"\System(*)\System Up Time", PdhStatus::INVALID_PATH),
        (r"\System(x)\System Up Time", PdhStatus::NO_INSTANCE),
        (r"\Process\Ticks/sec", PdhStatus::NO_INSTANCE),
        (r"\Nothing(*)\Count", PdhStatus::NO_OBJECT),
        (r"\Process(*)\Nothing", PdhStatus::NO_COUNTER),
        (r"\\other\Process(*)\Ticks/sec", PdhStatus::NO_MACHINE),
    ] {
        assert_eq!(expand(path, 0), Err(status), "{path}");
    }
    assert_eq!(expand(all, 8), Err(PdhStatus::INVALID_ARGUMENT));
    // New instances are found without a refresh.
    machine.after(1, |values| values.processes.push(("init".into(), 9, 0)));
    assert_eq!(expand(all, 0).map(|paths| paths.len()), Ok(4));
    machine.after(1, |values| values.failure = Some(ErrorCode::TIMEOUT));
    assert_eq!(expand(all, 0), Err(PdhStatus::QUERY_PERF_DATA_TIMEOUT));
}

/// An expanded path can be added, parsed and composed again, whatever the name of the process.
#[test]
fn expanded_paths_can_be_added_and_parsed() {
    let machine = Machine::new();
    let names = ["(abc", "q)", "a)b", "((", "(sd-pam)"];
    machine.after(1, |values| {
        values.processes = names.iter().zip(1..).map(|(name, id)| (name.to_string(), id, 0)).collect();
    });
    let expanded = machine.source.expand_wild_card_path(r"\Process(*)\ID Process", 0).expect("paths");
    assert_eq!(expanded.len(), names.len());
    for (path, name) in expanded.iter().zip(names) {
        let parts = parse_counter_path(path, 0).expect(path);
        assert_eq!((parts.object.as_str(), parts.instance.as_deref()), ("Process", Some(name)));
        assert_eq!(make_counter_path(&parts, 0).as_ref(), Ok(path));
        let (mut query, ids) = machine.query(&[path]);
        assert_eq!(query.collect(), Ok(()));
        assert!(!query.raw_value(ids[0]).expect("a value").status.is_error(), "{path}");
    }
}

/// Paths in a log are expanded with the log's machine.
#[test]
fn paths_of_a_log_include_its_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    let paths = [r"\Process(*)\Ticks/sec", r"\System\System Up Time"];
    let log = Machine::new().log(&folder.path().join("a.blg"), 8, &paths);
    let source = log_source(log);
    let expand = |path: &str| source.expand_wild_card_path(path, 0);
    let expected: Vec<_> =
        ["bash", "bash#1", "init"].iter().map(|name| format!(r"\\FAKE\Process({name})\Ticks/sec")).collect();
    assert_eq!(expand(r"\Process(*)\*"), Ok(expected));
    assert_eq!(expand(r"\*\*"), Ok(vec![r"\\FAKE\System\System Up Time".to_owned()]));
    assert_eq!(expand(r"\Processor(*)\*"), Err(PdhStatus::NO_OBJECT));
    assert_eq!(source.validate_path(r"\System\System Up Time"), Ok(()));
    assert_eq!(source.validate_path(r"\Process(nobody)\Ticks/sec"), Err(PdhStatus::NO_INSTANCE));
}

//! Counter paths and wildcards: the test cases of the reference ("Paths, logs and tools of the PDH world", 1.1 to
//! 1.3), and properties that hold for any text.

use proptest::prelude::*;
use tachograph_counters::path::{
    CounterPath, InstanceName, MAX_NAME_LENGTH, PathError, PathPart, PathPattern, split_index,
};
use tachograph_counters::wildcard::{Pattern, closest, eq_ignore_case, fold_case};

/// Path, machine, set, instance, counter.
type Row = (&'static str, Option<&'static str>, &'static str, Option<&'static str>, &'static str);

const ACCEPTED: &[Row] = &[
    (r"\O\CT", None, "O", None, "CT"),
    (r"\O\CT(i)", None, "O", None, "CT(i)"),
    (r"\O\CT(d:\f\i)", None, "O", None, r"CT(d:\f\i)"),
    (r"\\CM\O\CT", Some("CM"), "O", None, "CT"),
    (r"\O(I)\CT", None, "O", Some("I"), "CT"),
    (r"\O(I)\CT(i)x", None, "O", Some("I"), "CT(i)x"),
    (r"\O(I)\CT(d:\f\i)", None, "O", Some("I"), r"CT(d:\f\i)"),
    (r"\\CM\O(I)\CT", Some("CM"), "O", Some("I"), "CT"),
    (r"\O(d:\f\I)\CT", None, "O", Some(r"d:\f\I"), "CT"),
    (r"\O(d:\f\I(d))\CT", None, "O", Some(r"d:\f\I(d)"), "CT"),
    (r"\O(d:\f\I(d)x)\CT", None, "O", Some(r"d:\f\I(d)x"), "CT"),
    (r"\O(d:\f\I)\CT(d:\f\i)", None, "O", Some(r"d:\f\I"), r"CT(d:\f\i)"),
    (r"\\CM\O(d:\f\I)\CT(d:\f\i)", Some("CM"), "O", Some(r"d:\f\I"), r"CT(d:\f\i)"),
    (r"\O(I(info))\CT", None, "O", Some("I(info)"), "CT"),
    (r"\\CM\O(I(info))\CT", Some("CM"), "O", Some("I(info)"), "CT"),
    (
        r"\SQLServer:Databases(*)\Log File(s) Used Size (KB)",
        None,
        "SQLServer:Databases",
        Some("*"),
        "Log File(s) Used Size (KB)",
    ),
    (
        r"\\host\per processor network interface card activity(3, microsoft wi-fi directvirtual (gyfyg) adapter #2)\dpcs queued/sec",
        Some("host"),
        "per processor network interface card activity",
        Some("3, microsoft wi-fi directvirtual (gyfyg) adapter #2"),
        "dpcs queued/sec",
    ),
    (
        r"\\host\ (test this scenario) per processor network interface card activity(3, microsoft wi-fi directvirtual (gyfyg) adapter #2)\dpcs queued/sec",
        Some("host"),
        " (test this scenario) per processor network interface card activity",
        Some("3, microsoft wi-fi directvirtual (gyfyg) adapter #2"),
        "dpcs queued/sec",
    ),
    (
        r"\.NET CLR Exceptions(test hellp (dsdsd) #rfsfs #3)\# of Finallys / sec",
        None,
        ".NET CLR Exceptions",
        Some("test hellp (dsdsd) #rfsfs #3"),
        "# of Finallys / sec",
    ),
    (r"\Process (chrome.exe#4)\% Processor Time", None, "Process ", Some("chrome.exe#4"), "% Processor Time"),
    (
        r"\Synchronization(*)\Exec. Resource no-Waits AcqShrdStarveExcl/sec",
        None,
        "Synchronization",
        Some("*"),
        "Exec. Resource no-Waits AcqShrdStarveExcl/sec",
    ),
    (
        r"\BranchCache\Local Cache: Cache complete file segments",
        None,
        "BranchCache",
        None,
        "Local Cache: Cache complete file segments",
    ),
    (
        r"\Processor Information(0,_Total)\DPC Rate",
        None,
        "Processor Information",
        Some("0,_Total"),
        "DPC Rate",
    ),
    (
        r"\\host\Service Fabric Replicated Store((00000000-0000-0000-0000-000000000001:1325):1325)\# Keys",
        Some("host"),
        "Service Fabric Replicated Store",
        Some("(00000000-0000-0000-0000-000000000001:1325):1325"),
        "# Keys",
    ),
    (r"\PhysicalDisk(0 C:)\Avg. Disk Bytes/Read", None, "PhysicalDisk", Some("0 C:"), "Avg. Disk Bytes/Read"),
    // `/` is not a separator here, and an instance can have an empty name.
    (r"\O/X\C", None, "O/X", None, "C"),
    (r"\O()\C", None, "O", Some(""), "C"),
    (r"\O(a)b(c)\C", None, "O(a)b", Some("c"), "C"),
    // Instances with unbalanced parentheses.
    (r"\Process((abc)\ID Process", None, "Process", Some("(abc"), "ID Process"),
    (r"\Process(abc))\ID Process", None, "Process", Some("abc)"), "ID Process"),
    (r"\\CM\O(()\CT", Some("CM"), "O", Some("("), "CT"),
    (r"\O())\CT", None, "O", Some(")"), "CT"),
    (r"\O(())#2)\CT", None, "O", Some("())#2"), "CT"),
    (r"\Thread((abc/7#1)\CT", None, "Thread", Some("(abc/7#1"), "CT"),
    (r"\O((sd-pam)\CT(i)x", None, "O", Some("(sd-pam"), "CT(i)x"),
    (r"\O((I)\CT((d:)\f)", None, "O", Some("(I"), r"CT((d:)\f)"),
    (r"\O(d:\(f)\CT", None, "O", Some(r"d:\(f"), "CT"),
    (r"\O(a)\b)\CT", None, "O", Some(r"a)\b"), "CT"),
    (r"\O(a)b)\CT", None, "O", Some("a)b"), "CT"),
    (r"\O(*(*)\*", None, "O", Some("*(*"), "*"),
];

const REJECTED: &[&str] = &[
    r"\O(I\C",
    r"\OI)\C",
    r"\O/C",
    r"\O(I/C",
    r"\O(I/C)",
    r"\O(I\)C",
    r"\O(I\C)",
    r"\CM\O(I)\C",
    r"\CM\O\C",
    r"\\C\O(I)\C)",
    r"\\C\O\C)",
    // Names of sets and counters have balanced parentheses.
    r"\O)x(I))\C",
    r"\O(x(I)\C(",
    r"\O(I))\C)",
    r"\O(I))\C\D",
    r"\O\X((I)\C",
    "",
    r"\",
    r"\\",
    r"\\\",
    r"\\\O\C",
    r"\\CM",
    r"\\CM\O",
    r"\\CM\\C",
    r"\O",
    r"\O\",
    r"\(I)\C",
    r"\O(I)\",
    r"O\C",
    "blah",
    "/",
    "/O",
    "/O/",
    r"/\C",
    r"/O\",
    r"/O\C\D",
    r"/O(I\C)/",
    r"//\O/C",
    r"//CM\O",
    "///O/C",
    " \\O\\C",
];

#[test]
fn valid_paths_are_split_into_parts() {
    for &(text, machine, set, instance, counter) in ACCEPTED {
        let path = CounterPath::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let instance_text = path.instance.as_ref().map(InstanceName::as_str);
        assert_eq!(
            (path.machine.as_deref(), path.set.as_str(), instance_text, path.counter.as_str()),
            (machine, set, instance, counter),
            "{text}"
        );
        assert_eq!(path.to_string(), text);
    }
}

#[test]
fn invalid_paths_are_rejected() {
    for text in REJECTED {
        let error = CounterPath::parse(text).expect_err(text);
        assert!(error.offset() <= text.len(), "{text}: {error:?}");
        let message = error.to_string();
        assert!(!message.contains('\n') && !message.ends_with('.'), "{text}: {message}");
    }
}

#[test]
fn a_path_that_begins_with_a_slash_can_have_slashes_as_separators() {
    for (text, printed) in [
        ("/Processor(_Total)/% Processor Time", r"\Processor(_Total)\% Processor Time"),
        ("//WEB1/PhysicalDisk(0 C:)/Disk Reads/sec", r"\\WEB1\PhysicalDisk(0 C:)\Disk Reads/sec"),
        ("/Memory/Pages/sec", r"\Memory\Pages/sec"),
        (r"/O(d:\f/i)/C(a\b)", r"\O(d:\f/i)\C(a\b)"),
        ("/O (a/b) c/x/y", r"\O (a/b) c\x/y"),
        (r"/Processor(_Total)\% Processor Time", r"\Processor(_Total)\% Processor Time"),
        (r"/Process(x)\IO Read Bytes/sec", r"\Process(x)\IO Read Bytes/sec"),
        (r"/Memory\Pages/sec", r"\Memory\Pages/sec"),
        (r"/O/X\C", r"\O/X\C"),
        (r"//WEB1\Memory\Pages/sec", r"\\WEB1\Memory\Pages/sec"),
        (r"//WEB1/Memory\Pages/sec", r"\\WEB1\Memory\Pages/sec"),
        (r"//WEB1\Memory/Pages/sec", r"\\WEB1\Memory\Pages/sec"),
        (r"//WEB1/O(d:\f)/Pages/sec", r"\\WEB1\O(d:\f)\Pages/sec"),
        ("/Process((abc)/ID Process", r"\Process((abc)\ID Process"),
        (r"/Process((abc)\IO Read Bytes/sec", r"\Process((abc)\IO Read Bytes/sec"),
        (r"//WEB1/O(d:\f))/C(d:\f) x/sec", r"\\WEB1\O(d:\f))\C(d:\f) x/sec"),
    ] {
        let path = CounterPath::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(path.to_string(), printed);
        assert_eq!(CounterPath::parse(printed), Ok(path));
    }
}

#[test]
fn an_error_shows_the_quoted_path() {
    let set_form = r"quote it: '\Set(Instance)\Counter'";
    for (text, offset, ending) in [
        ("Processor(_Total)% Processor Time", 0, r"quote it: '\Processor(_Total)\% Processor Time'"),
        (r"Processor(_Total)\% Processor Time", 0, r"quote it: '\Processor(_Total)\% Processor Time'"),
        (r"System\System Up Time", 0, r"quote it: '\System\System Up Time'"),
        ("O(a(b))c", 0, r"quote it: '\O(a(b))\c'"),
        ("it's(x)y", 0, r"quote it: '\it'\''s(x)\y'"),
        ("a\u{1b}(x)y", 0, "quote it: '\\a\u{fffd}(x)\\y'"),
        ("ProcessorInformation", 0, set_form),
        (r"\Processor(_Total)% Processor Time", 34, r"quote it: '\Processor(_Total)\% Processor Time'"),
        (r"\O(I\C", 2, r"quote it: '\O(I)\C'"),
        (r"\OI)\C", 3, set_form),
        (r"\O\C)", 4, set_form),
        (r"\O\C(", 4, set_form),
        ("/O(I/C", 2, r"quote it: '\O(I)\C'"),
        (r"/O(I\C/sec", 2, r"quote it: '\O(I)\C/sec'"),
        ("/Processor(_Total)% Processor Time", 34, r"quote it: '\Processor(_Total)\% Processor Time'"),
    ] {
        let error = CounterPath::parse(text).expect_err(text);
        assert_eq!(error.offset(), offset, "{text}");
        let message = error.to_string();
        assert!(message.ends_with(ending), "{text}: {message}");
    }
    assert_eq!(
        CounterPath::parse("Processor(_Total)% Processor Time").unwrap_err().to_string(),
        r"a counter path begins with '\'; a shell removes the backslashes of unquoted text; quote it: '\Processor(_Total)\% Processor Time'"
    );
    assert_eq!(CounterPath::parse(r"\CM\O\C"), Err(PathError::StrayBackslash { offset: 5 }));
}

#[test]
fn names_and_paths_have_a_maximum_length() {
    let name = |length: usize| "ä".repeat(length);
    let path = |set: usize, instance: usize, counter: usize| {
        CounterPath::parse(&format!(r"\{}({})\{}", name(set), name(instance), name(counter)))
    };
    assert!(path(1, 1, MAX_NAME_LENGTH).is_ok());
    assert!(path(1, MAX_NAME_LENGTH, 1).is_ok());
    assert!(path(MAX_NAME_LENGTH, 1, 1).is_ok());
    assert!(path(900, 900, 244).is_ok());
    let too_long = |part, length, limit| Err(PathError::TooLong { part, length, limit });
    assert_eq!(path(1, 1, 1025), too_long(PathPart::Counter, 1025, 1024));
    assert_eq!(path(1, 1025, 1), too_long(PathPart::Instance, 1025, 1024));
    assert_eq!(path(1025, 1, 1), too_long(PathPart::Set, 1025, 1024));
    assert_eq!(path(900, 900, 245), too_long(PathPart::Path, 2049, 2048));
    let machine = format!(r"\\{}\O\C", name(1025));
    assert_eq!(CounterPath::parse(&machine), too_long(PathPart::Machine, 1025, 1024));
}

#[test]
fn instance_names_are_split() {
    for (text, with_parent, without) in [
        ("svchost", (None, "svchost", 0), (None, "svchost", 0)),
        ("svchost#2", (None, "svchost", 2), (None, "svchost", 2)),
        ("svchost#0", (None, "svchost#0", 0), (None, "svchost#0", 0)),
        ("svchost#02", (None, "svchost#02", 0), (None, "svchost#02", 0)),
        ("a#1#2", (None, "a#1", 2), (None, "a#1", 2)),
        ("explorer/7#12", (Some("explorer"), "7", 12), (None, "explorer/7", 12)),
        ("a/b/c", (Some("a"), "b/c", 0), (None, "a/b/c", 0)),
        ("a#1/b", (Some("a#1"), "b", 0), (None, "a#1/b", 0)),
        ("adapter #2", (None, "adapter #2", 0), (None, "adapter #2", 0)),
        ("#3", (None, "#3", 0), (None, "#3", 0)),
        ("C#", (None, "C#", 0), (None, "C#", 0)),
        ("a#+1", (None, "a#+1", 0), (None, "a#+1", 0)),
        ("a#4294967296", (None, "a#4294967296", 0), (None, "a#4294967296", 0)),
        ("a#4294967295", (None, "a", u32::MAX), (None, "a", u32::MAX)),
        ("/dev/sda", (Some(""), "dev/sda", 0), (None, "/dev/sda", 0)),
        ("", (None, "", 0), (None, "", 0)),
    ] {
        assert_eq!(InstanceName::from(text).split(true), with_parent, "{text}");
        assert_eq!(InstanceName::from(text).split(false), without, "{text}");
    }
}

#[test]
fn paths_are_compared_case_insensitively() {
    let path = |text: &str| CounterPath::parse(text).unwrap();
    let (one, other) =
        (path(r"\\WEB1\Process(SvcHost)\Handle Count"), path(r"\\web1\process(svchost)\handle count"));
    assert!(one.eq_ignore_case(&other));
    assert_ne!(one, other);
    assert!(!one.eq_ignore_case(&path(r"\Process(SvcHost)\Handle Count")));
    assert!(!one.eq_ignore_case(&path(r"\\WEB1\Process\Handle Count")));
    assert!(!one.eq_ignore_case(&path(r"\\WEB1\Process(SvcHost#1)\Handle Count")));
}

#[test]
fn instance_patterns_select_displayed_names() {
    let rows: &[(&str, &[&str], &[&str])] = &[
        ("svchost", &["svchost", "SVCHOST"], &["svchost#1", "x/svchost", "svchosts"]),
        ("svchost#2", &["svchost#2"], &["svchost", "svchost#22"]),
        ("svchost*", &["svchost", "svchost#1"], &["a/svchost"]),
        ("svchost#*", &["svchost", "svchost#0", "svchost#17"], &["svchosts", "svchosts#1"]),
        ("svchost#?", &["svchost", "svchost#7"], &["svchost#17"]),
        ("svchost#0", &["svchost", "svchost#0"], &["svchost#1"]),
        ("*#0", &["svchost", "a/b"], &["svchost#2"]),
        ("*#1?", &["a#10"], &["a", "a#1"]),
        ("*", &["", "svchost", "a/b#2", "a (b)"], &[]),
        ("*/*", &["a/b", "a/b#2", "/dev/sda"], &["a", "a#2"]),
        ("*/*#*", &["a/b", "a/b#2"], &["a", "a#2"]),
        ("*/0", &["explorer/0"], &["0", "explorer/0#1"]),
        ("adapter #2", &["adapter #2"], &["adapter"]),
        ("adapter*#0", &["adapter", "adapter #2"], &["adapter #2#1"]),
        ("0,?", &["0,0", "0,7"], &["0,_Total", "0,"]),
        ("C#", &["c#"], &["c"]),
    ];
    for (text, selected, others) in rows {
        let pattern = PathPattern::parse(&format!(r"\O({text})\C")).unwrap();
        for instance in *selected {
            assert!(pattern.matches("M", "o", Some(instance), "c"), "{text} selects {instance}");
        }
        for instance in *others {
            assert!(!pattern.matches("M", "o", Some(instance), "c"), "{text} does not select {instance}");
        }
        assert!(!pattern.matches("M", "o", None, "c"), "{text} needs an instance");
    }
}

#[test]
fn path_patterns_select_by_every_part() {
    let pattern = PathPattern::parse(r"\\Web1\Pro*\%*").unwrap();
    assert!(pattern.matches("WEB1", "Processor Queue", None, "% Busy"));
    assert!(pattern.matches(r"\\web1", "Processor Queue", None, "% Busy"));
    assert!(!pattern.matches("WEB2", "Processor Queue", None, "% Busy"));
    assert!(!pattern.matches("WEB1", "Processor Queue", Some("0"), "% Busy"));
    assert!(!pattern.matches("WEB1", "System", None, "% Busy"));
    assert!(!pattern.matches("WEB1", "Processor Queue", None, "Busy"));
    assert!(!pattern.is_literal() && pattern.instance().is_none());

    let anywhere = PathPattern::parse(r"\System\System Up Time").unwrap();
    assert!(anywhere.matches("WEB1", "SYSTEM", None, "system up time"));
    assert!(anywhere.is_literal());
    let some = PathPattern::parse(r"\\web?\System\System Up Time").unwrap();
    assert!(some.matches_machine("WEB1") && some.matches_machine(r"\\WEB2") && !some.matches_machine("DB"));
    assert_eq!(some.to_string(), r"\\web?\System\System Up Time");
}

#[test]
fn a_set_without_instances_and_with_parentheses_in_its_name_is_selected_by_its_printed_path() {
    let pattern = PathPattern::parse(r"\\WEB1\Cache (L2)\Hits").expect("a path");
    assert!(pattern.matches("WEB1", "cache (l2)", None, "Hits"));
    assert!(pattern.matches("WEB1", "Cache ", Some("L2"), "Hits"), "the set may have instances as well");
    assert!(
        !pattern.matches("WEB1", "Cache ", None, "Hits"),
        "without instances, only a set named 'Cache (L2)' matches"
    );
    assert!(!pattern.matches("WEB1", "Cache (L2)", Some("x"), "Hits"));
    for wild in [r"\Cache (*)\Hits", r"\Cache*(L2)\Hits"] {
        let pattern = PathPattern::parse(wild).expect("a path");
        assert!(!pattern.matches("WEB1", "Cache (L2)", None, "Hits"), "{wild} selects instances only");
    }
    let counters = PathPattern::parse(r"\Cache (L2)\*").expect("a path");
    assert!(counters.matches("WEB1", "Cache (L2)", None, "Hits"), "counters may have wildcards");
}

#[test]
fn wildcards_match_any_text_or_one_character() {
    for (pattern, name, expected) in [
        ("", "", true),
        ("", "a", false),
        ("*", "", true),
        ("**", "anything", true),
        ("?", "", false),
        ("?", "é", true),
        ("?", "ab", false),
        ("a*b*c", "a-b-b-c", true),
        ("a*b*c", "a-c-b", false),
        ("*.dll", "TZRES.DLL", true),
        ("Ä?*", "ärzte", true),
        ("straße", "STRASSE", false),
        ("kelvin", "\u{212a}elvin", true),
        ("k*n", "\u{212a}elvin", true),
        ("\u{130}x", "ix", true),
        ("*a", "aaab", false),
        ("*ab", "aaab", true),
    ] {
        assert_eq!(Pattern::new(pattern).matches(name), expected, "{pattern} against {name}");
    }
    assert!(Pattern::new("***").is_everything() && !Pattern::new("?").is_everything());
    assert!(Pattern::new("a").is_literal() && !Pattern::new("a?").is_literal());
    assert_eq!(Pattern::new("PhysicalDisk*").as_str(), "PhysicalDisk*");
}

#[test]
fn a_pattern_with_many_wildcards_is_fast() {
    // Backtracking into every `*` would take exponential time.
    let pattern = Pattern::new(&format!("{}b", "a*".repeat(500)));
    assert!(!pattern.matches(&"a".repeat(1024)));
}

#[test]
fn the_closest_name_is_found() {
    let sets = ["Processor", "Processor Information", "Process", "PhysicalDisk", "Memory"];
    for (wanted, found) in [
        ("processor", Some("Processor")),
        ("Proces", Some("Process")),
        ("Procesor Informaton", Some("Processor Information")),
        ("PhysicalDsik", Some("PhysicalDisk")),
        ("Memroy", Some("Memory")),
        ("Cache", None),
        ("", None),
    ] {
        assert_eq!(closest(wanted, sets.into_iter()), found, "{wanted}");
    }
    // Of candidates with equal distances, the first is returned. In a short name, one edit is allowed; exchanging two
    // adjacent letters is one edit.
    assert_eq!(closest("c", ["ab", "a", "b"].into_iter()), Some("a"));
    assert_eq!(closest("ab", ["ba"].into_iter()), Some("ba"));
}

/// A simple reference implementation of wildcards.
fn naive(pattern: &[char], name: &[char]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some(('*', rest)), _) => naive(rest, name) || (!name.is_empty() && naive(pattern, &name[1..])),
        (Some(('?', rest)), Some((_, others))) => naive(rest, others),
        (Some((wanted, rest)), Some((found, others))) => {
            eq_ignore_case(&wanted.to_string(), &found.to_string()) && naive(rest, others)
        }
        _ => false,
    }
}

/// A text with balanced parentheses, and backslashes only inside them.
fn balanced() -> impl Strategy<Value = String> {
    let plain = "[A-Za-z0-9 %#/.:,*?äÖ]{0,6}";
    let inside = plain.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|text| format!("({text})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!(r"{a}\{b}")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("{a}({b})x")),
        ]
    });
    (plain, inside, plain, any::<bool>()).prop_map(|(before, group, after, has_group)| {
        if has_group { format!("{before}({group}){after}") } else { format!("{before}{after}") }
    })
}

/// A text of the characters that are special in paths.
fn path_like() -> impl Strategy<Value = String> {
    prop_oneof![r"[\\/()#ab*]{0,24}", r"\\{1,2}[\\()aé#/ ]{0,24}", any::<String>()]
}

proptest! {
    #[test]
    fn parsing_never_panics_and_printing_restores_the_text(text in path_like()) {
        match CounterPath::parse(&text) {
            Ok(path) if text.starts_with('\\') => prop_assert_eq!(path.to_string(), text),
            Ok(path) => {
                prop_assert!(text.starts_with('/'));
                prop_assert_eq!(path.to_string().len(), text.len());
                prop_assert_eq!(CounterPath::parse(&path.to_string()), Ok(path));
            }
            Err(error) => {
                prop_assert!(text.is_char_boundary(error.offset()));
                let message = error.to_string();
                // The suggestion is a path.
                if let Some((_, quoted)) = message.split_once("quote it: ") {
                    let meant = quoted[1..quoted.len() - 1].replace(r"'\''", "'");
                    prop_assert!(CounterPath::parse(&meant).is_ok(), "{}", message);
                }
            }
        }
    }

    #[test]
    fn printed_parts_are_parsed(
        machine in proptest::option::of("[A-Za-z0-9.()-]{1,8}"),
        set in balanced().prop_filter("a set has a name, which does not end with a parenthesis", |set| {
            !set.is_empty() && !set.ends_with(')')
        }),
        instance in proptest::option::of(balanced()),
        counter in balanced().prop_filter("a counter has a name", |counter| !counter.is_empty()),
    ) {
        let path = CounterPath { machine, set, instance: instance.map(InstanceName::from), counter };
        prop_assert_eq!(CounterPath::parse(&path.to_string()), Ok(path));
    }

    #[test]
    fn every_instance_can_be_selected(instance in r"[ab()/# ]{0,12}|[^\\]{0,12}") {
        let path = CounterPath {
            machine: None,
            set: "Process".to_owned(),
            instance: Some(InstanceName::from(instance.as_str())),
            counter: "Bytes (in)".to_owned(),
        };
        let read = CounterPath::parse(&path.to_string());
        let mut depth = 0_isize;
        let mut lowest = 0;
        for letter in instance.chars() {
            depth += match letter { '(' => 1, ')' => -1, _ => 0 };
            lowest = lowest.min(depth);
        }
        if (depth, lowest) == (0, -1) {
            // The printed path is parsed as a path of another set, so `?` is needed to select the instance.
            prop_assert_ne!(read.map(|read| read.set), Ok(path.set));
            let masked = instance.replace(['(', ')'], "?");
            let pattern = PathPattern::parse(&format!(r"\Process({masked})\Bytes (in)")).unwrap();
            prop_assert!(pattern.matches("M", "Process", Some(&instance), "Bytes (in)"));
        } else {
            prop_assert_eq!(read, Ok(path));
        }
    }

    #[test]
    fn joined_instance_parts_are_split(
        parent in proptest::option::of("[a-z ]{1,6}"),
        name in "[a-z/ ]{0,5}[a-z/]",
        index in any::<u32>(),
    ) {
        let joined = InstanceName::from_parts(parent.as_deref(), &name, index);
        let has_parent = parent.is_some();
        prop_assert_eq!(joined.split(has_parent), (parent.as_deref(), name.as_str(), index));
    }

    #[test]
    fn split_instance_names_are_joined(text in "[a/ #019]{0,8}") {
        let (name, index) = split_index(&text);
        prop_assert_eq!(InstanceName::from_parts(None, name, index), InstanceName::from(text.as_str()));
        for has_parent in [false, true] {
            let instance = InstanceName::from(text.as_str());
            let (parent, name, index) = instance.split(has_parent);
            prop_assert_eq!(InstanceName::from_parts(parent, name, index), instance.clone());
        }
    }

    #[test]
    fn wildcards_match_by_their_definition(pattern in "[abAé*?]{0,8}", name in "[abBÉ]{0,10}") {
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        prop_assert_eq!(Pattern::new(&pattern).matches(&name), naive(&letters(&pattern), &letters(&name)));
    }

    #[test]
    fn a_pattern_without_wildcards_matches_equal_names(a in any::<String>(), b in any::<String>()) {
        prop_assert!(eq_ignore_case(&a, &a));
        prop_assert_eq!(eq_ignore_case(&a, &b), fold_case(&a) == fold_case(&b));
        let pattern = Pattern::new(&a);
        prop_assert!(pattern.matches(&a));
        prop_assert!(!pattern.is_literal() || pattern.matches(&b) == eq_ignore_case(&a, &b));
    }

    #[test]
    fn the_closest_name_to_a_candidate_is_itself(names in proptest::collection::vec("[a-c]{1,6}", 1..6)) {
        for name in &names {
            let found = closest(name, names.iter().map(String::as_str));
            prop_assert_eq!(found, Some(name.as_str()));
        }
    }
}

//! Tests for the tables of counter sets in all crates: ids stay frozen, registrations are valid, descriptions are
//! complete, and `docs/counters.md` is up to date. The feature `conformance` exports these tests to other crates.
//!
//! If the environment variable `TACHO_UPDATE` is set, new counters are added to `frozen.tsv`, and `docs/counters.md`
//! is regenerated.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use tachograph_counters::CounterType;
use tachograph_perflib::Guid;
use tachograph_perflib::registration::{CounterInfo, counter_of};

use crate::table::SetTable;

/// Windows counters in common use.
const WINDOWS_NAMES: &str = include_str!("windows_names.tsv");

fn is_update() -> bool {
    std::env::var_os("TACHO_UPDATE").is_some()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn type_name(counter_type: CounterType) -> String {
    counter_type.name().map_or_else(|| format!("{:#010x}", counter_type.0), str::to_owned)
}

/// The counters of a set, including companions such as bases.
fn counters(set: &SetTable) -> Vec<CounterInfo> {
    set.info().counters.clone()
}

/// The set, the id and the text of a counter's line in `frozen.tsv`.
fn frozen_line(set: &SetTable, counter: &CounterInfo) -> (String, u32, String) {
    let guid = Guid::from_u128(set.guid);
    let kind = type_name(counter.counter_type);
    let line = format!("{guid}\t{}\t{}\t{}\t{kind}", set.name, counter.id, counter.name);
    (set.name.to_owned(), counter.id, line)
}

/// Checks that GUIDs, ids, names and types match `file`.
///
/// # Panics
///
/// When the check fails.
pub fn check_frozen(sets: &[&SetTable], file: &Path) {
    let in_tables: Vec<_> = sets
        .iter()
        .flat_map(|set| counters(set).into_iter().map(move |counter| frozen_line(set, &counter)))
        .collect();
    let lines: HashSet<&str> = in_tables.iter().map(|(_, _, line)| line.as_str()).collect();
    let text = read(file);
    let frozen: Vec<&str> = text.lines().collect();

    let broken: Vec<&&str> = frozen.iter().filter(|line| !lines.contains(**line)).collect();
    assert!(
        broken.is_empty(),
        "GUIDs, ids, names and types of counters are frozen: logs and consumers rely on them. Restore in the tables:\n{broken:#?}"
    );

    let frozen: HashSet<&str> = frozen.into_iter().collect();
    let new: Vec<_> = in_tables.iter().filter(|(_, _, line)| !frozen.contains(line.as_str())).collect();
    if is_update() {
        // `in_tables` includes all frozen counters, as checked above.
        let mut sorted = in_tables.clone();
        sorted.sort();
        let text = sorted.iter().fold(String::new(), |text, (_, _, line)| text + line + "\n");
        fs::write(file, text).expect("written");
    } else {
        let file = file.display();
        assert!(new.is_empty(), "new counters; this test adds them to {file} with TACHO_UPDATE=1:\n{new:#?}");
    }
}

/// Checks that every set can be registered, and has a help text and a description of its instances, if any.
///
/// # Panics
///
/// When the check fails.
pub fn check_registrations(sets: &[&SetTable]) {
    for set in sets {
        assert_eq!(set.info().check(), Ok(()), "{}", set.name);
        assert!(!set.help.is_empty(), "{}", set.name);
        assert_eq!(
            set.info().has_instances(),
            !set.instances.is_empty(),
            "{}: description of its instances",
            set.name
        );
    }
}

/// Checks that GUIDs, names and ids are unique.
///
/// # Panics
///
/// When the check fails.
pub fn check_unique(sets: &[&SetTable]) {
    let mut guids = HashMap::new();
    let mut names = HashSet::new();
    for set in sets {
        let other = guids.insert(set.guid, set.name);
        assert_eq!(other, None, "the GUID of {} is taken", set.name);
        assert!(names.insert(set.name.to_lowercase()), "{} occurs twice", set.name);
        let (mut ids, mut names) = (HashSet::new(), HashSet::new());
        for counter in counters(set) {
            let (set, id, name) = (set.name, counter.id, &counter.name);
            assert!(ids.insert(id), "{set}: id {id} occurs twice");
            assert!(names.insert(name.to_lowercase()), "{set}: {name} occurs twice");
            assert!(id < 200, "{set}: id {id}: ids must be below 200");
        }
    }
}

/// Checks that every counter has a help text, a source, and a unit that matches its type and name.
///
/// # Panics
///
/// When the check fails.
pub fn check_descriptions(sets: &[&SetTable]) {
    let mut problems = String::new();
    for set in sets {
        for counter in counters(set).iter().filter(|counter| counter.is_displayable()) {
            let (set, name) = (set.name, &counter.name);
            for (what, text) in [("source", &counter.source), ("help", &counter.help)] {
                if text.trim().is_empty() {
                    let _ = writeln!(problems, "{set}\\{name}: no {what}");
                }
            }
            if !counter.help.ends_with(['.', ')']) {
                let _ = writeln!(problems, "{set}\\{name}: the help is not a sentence: {}", counter.help);
            }
            // If type and name imply no unit (Working Set) or only 1/s, the table may give a more specific one.
            let implied = counter_of(counter).implied_unit();
            let exact = ["%", "seconds", "bytes", "bytes/s"];
            if exact.contains(&&*implied) && *implied != *counter.unit {
                let _ = writeln!(
                    problems,
                    "{set}\\{name}: unit '{}', but its type and name imply '{implied}'",
                    counter.unit
                );
            }
        }
    }
    assert!(problems.is_empty(), "{problems}");
}

/// Checks that every companion is used by a counter.
///
/// # Panics
///
/// When the check fails.
pub fn check_companions(sets: &[&SetTable]) {
    for set in sets {
        let all = counters(set);
        for companion in all.iter().filter(|counter| !counter.is_displayable()) {
            let is_used = all.iter().any(|counter| counter.companions().any(|id| id == companion.id));
            assert!(is_used, "{}: {} is a companion of no counter", set.name, companion.name);
        }
    }
}

/// Checks that `docs/counters.md` matches the tables.
///
/// # Panics
///
/// When the check fails.
pub fn check_page(sets: &[&SetTable], file: &Path) {
    let page = page(sets);
    if is_update() {
        fs::create_dir_all(file.parent().expect("a folder")).expect("created");
        fs::write(file, page).expect("written");
    } else {
        assert!(
            read(file) == page,
            "{} does not match the tables; this test regenerates it with TACHO_UPDATE=1",
            file.display()
        );
    }
}

/// Checks that counters with Windows names have the types and scales of Windows, and that every Windows counter in
/// common use exists or is listed with the reason why not.
///
/// # Panics
///
/// When the check fails.
pub fn check_windows_names(sets: &[&SetTable]) {
    let all: BTreeMap<(String, String), CounterInfo> = sets
        .iter()
        .flat_map(|set| counters(set).into_iter().map(move |counter| (set.name, counter)))
        .map(|(set, counter)| ((set.to_owned(), counter.name.to_string()), counter))
        .collect();
    let mut problems = String::new();
    for WindowsName { set, counter, kind, scale, absent } in windows_names(WINDOWS_NAMES) {
        match (all.get(&(set.to_owned(), counter.to_owned())), absent) {
            (None, "") => {
                let _ =
                    writeln!(problems, "{set}\\{counter} is missing: add it, or give the reason in the list");
            }
            (None, _) => {}
            (Some(_), reason) if !reason.is_empty() => {
                let _ = writeln!(problems, "{set}\\{counter} exists, but the list says: {reason}");
            }
            (Some(info), _) => {
                let ours = type_name(info.counter_type);
                if !kind.is_empty() && ours != kind {
                    let _ = writeln!(problems, "{set}\\{counter} is of type {ours}, on Windows {kind}");
                }
                if !scale.is_empty() && info.default_scale.to_string() != scale {
                    let _ = writeln!(
                        problems,
                        "{set}\\{counter} has scale {}, on Windows {scale}",
                        info.default_scale
                    );
                }
            }
        }
    }
    assert!(problems.is_empty(), "{problems}");
}

/// A line of `windows_names.tsv`: a Windows counter in common use.
struct WindowsName<'a> {
    set: &'a str,
    counter: &'a str,
    /// The counter type; empty if no source documents it.
    kind: &'a str,
    /// The default scale.
    scale: &'a str,
    /// Why Linux lacks this counter; empty if Linux has it.
    absent: &'a str,
}

fn windows_names(text: &str) -> Vec<WindowsName<'_>> {
    let line = |line| {
        let mut words = str::split(line, '\t');
        let mut word = || words.next().unwrap_or_default();
        WindowsName { set: word(), counter: word(), kind: word(), scale: word(), absent: word() }
    };
    text.lines().skip(1).map(line).collect()
}

/// The content of `docs/counters.md`.
fn page(sets: &[&SetTable]) -> String {
    let mut page = String::from(
        "# Counters of this machine\n\n\
         Generated from the tables of `crates/system` and `crates/cpi`; do not edit. Regenerate it with\n\
         `TACHO_UPDATE=1 cargo test -p tachograph-cpi tables_tests`.\n\n\
         If Linux has the equivalent of a Windows counter, the counter has the set, name and type of Windows. Counters that a\n\
         machine does not have are absent from its list; a value that cannot be read is an error of that counter with its\n\
         cause, never 0. GUIDs and ids are frozen.\n\n\
         Scale is an exponent of ten for charts and changes no value. Counters that only divide others (bases) are not listed.\n\n",
    );
    for set in sets {
        let count = counters(set).iter().filter(|counter| counter.is_displayable()).count();
        let plural = if count == 1 { "" } else { "s" };
        let _ = writeln!(page, "- [{}](#{}): {count} counter{plural}", set.name, anchor(set.name));
    }
    let _ = writeln!(page, "- [{ABSENT}](#{})", anchor(ABSENT));
    for set in sets {
        let _ = writeln!(page, "\n## {}\n\n{}\n", set.name, set.help);
        let _ = writeln!(page, "- GUID: `{}`", Guid::from_u128(set.guid));
        let instances = if set.instances.is_empty() { "none" } else { set.instances };
        let _ = writeln!(page, "- Instances: {instances}");
        if !set.total.is_empty() {
            let _ = writeln!(page, "- `_Total`: {}", set.total);
        } else if !set.instances.is_empty() {
            let _ = writeln!(page, "- `_Total`: none");
        }
        page.push_str("\n| id | counter | type | unit | scale | source | help |\n");
        page.push_str("| ---: | --- | --- | --- | ---: | --- | --- |\n");
        for counter in counters(set).iter().filter(|counter| counter.is_displayable()) {
            let unit =
                if counter.unit.is_empty() { String::new() } else { format!("`{}`", cell(&counter.unit)) };
            let _ = writeln!(
                page,
                "| {} | `{}` | `{}` | {unit} | {} | `{}` | {} |",
                counter.id,
                cell(&counter.name),
                type_name(counter.counter_type),
                counter.default_scale,
                cell(&counter.source).replace('`', ""),
                cell(&counter.help),
            );
        }
    }
    let _ = writeln!(page, "\n## {ABSENT}\n\nWindows counters in common use that Linux cannot provide.\n");
    page.push_str("| set | counter | why |\n| --- | --- | --- |\n");
    for name in windows_names(WINDOWS_NAMES).iter().filter(|name| !name.absent.is_empty()) {
        let _ = writeln!(page, "| {} | `{}` | {} |", name.set, cell(name.counter), cell(name.absent));
    }
    page
}

const ABSENT: &str = "Windows counters that Linux lacks";

/// The anchor of a heading in Markdown.
fn anchor(heading: &str) -> String {
    heading.to_lowercase().replace(' ', "-")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

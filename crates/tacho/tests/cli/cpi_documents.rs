//! docs/json.md on `tacho cpi`: its examples have the keys of the real output, and its tables explain each key.

use std::path::Path;

use serde_json::Value;
use tachograph_cpi::trace::Trace;
use tachograph_cpi::{CpiData, Measured, Mode, ProcessorData, ProcessorState};

use crate::cpi::objects;
use crate::run::Folder;

/// The section with this heading, and its fenced blocks of a language.
#[track_caller]
fn section(heading: &str, language: &str) -> (String, Vec<String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (_, section) = page.split_once(&format!("\n## {heading}\n")).expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default().to_owned();
    let fence = format!("```{language}\n");
    let blocks = section.split(&fence).skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect();
    (section, blocks)
}

/// The keys of an object and of nested objects, in order; of a list, those of its last value.
fn keys(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.last().into_iter().for_each(|value| keys(value, found)),
        Value::Object(object) => {
            for (key, value) in object {
                found.push(key.clone());
                keys(value, found);
            }
        }
        _ => {}
    }
}

fn keys_of(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    keys(value, &mut found);
    found
}

#[track_caller]
fn assert_explained(section: &str, keys: &[String]) {
    assert!(!keys.is_empty());
    for key in keys {
        assert!(section.contains(&format!("\n| `{key}` |")), "{key}");
    }
}

#[test]
fn samples_have_the_keys_of_the_examples() {
    let folder = Folder::new();
    let (section, blocks) = section("cpi -f json", "jsonl");
    let example = objects(&blocks[0]);
    let of_system = folder.run(["cpi", "-r", "0.02", "-f", "json"]);
    let of_command = folder.run(["cpi", "-f", "json", "-o", "-", "--", "true"]);
    for (printed, example) in [(of_system, &example[0]), (of_command, &example[1])] {
        assert_eq!(printed.status, 0, "{printed:?}");
        assert_eq!(keys_of(&objects(&printed.stdout)[0]), keys_of(example));
        assert_explained(&section, &keys_of(example));
    }
    assert_eq!(example.len(), 2);
}

#[test]
fn csv_has_the_columns_of_the_example() {
    let folder = Folder::new();
    let (_, blocks) = section("cpi -f csv", "text");
    let printed = folder.run(["cpi", "-r", "0.02", "-f", "csv"]).stdout;
    assert_eq!(printed.lines().next(), blocks[0].lines().next());
    let columns = |line: &str| line.split(',').count();
    assert!(
        blocks[0].lines().all(|line| columns(line) == columns(&printed[..printed.find('\n').unwrap_or(0)]))
    );
}

/// Writes the trace of the examples.
fn example(folder: &Folder) {
    let measured = Measured {
        instructions: 2_000_000_000,
        cycles: 4_000_000_000,
        cycles_scaled: 3_000_000_000,
        core_cycles: 2_500_000_000,
        busy_ticks: 75,
        elapsed_ticks: 100,
        ..Measured::default()
    };
    let data = CpiData {
        elapsed_cycles: 4_000_000_000,
        ended_at: 37_277_629_584_957,
        processors: vec![ProcessorData { state: ProcessorState::Measured, measured }],
        system: measured,
        is_scaled: true,
        ..CpiData::default()
    };
    let trace = Trace::create(&folder.path("cpi.nrm2")).expect("a file");
    trace.write(&data, 3, Mode::TRACE_EVERYTHING, Some("begin")).expect("a trace");
    trace.close().expect("a trace");
}

#[test]
fn hooks_equal_the_examples() {
    let folder = Folder::new();
    example(&folder);
    let (page, blocks) = section("cpi --read -f json", "jsonl");
    assert_eq!(blocks, [folder.prints(["cpi", "--read", "cpi.nrm2", "-f", "json"])]);
    objects(&blocks[0]).iter().for_each(|hook| assert_explained(&page, &keys_of(hook)));
    let kinds = ["label_start", "summary", "system", "processors", "thread", "label_end", "other"];
    assert!(kinds.iter().all(|kind| page.contains(&format!("`{kind}`"))));
    let (_, blocks) = section("cpi --read -f csv", "text");
    assert_eq!(blocks, [folder.prints(["cpi", "--read", "cpi.nrm2", "-f", "csv"])]);
}

//! docs/json.md: its examples are the real output, and its tables explain each key.

use std::path::Path;

use serde_json::Value;
use tachograph_counters::CounterType;

use crate::log_fixture::{LogFixture, counter, one, raw, rows};
use crate::run::Folder;

/// The log of the examples: two samples of three counters.
fn example() -> Folder {
    let folder = Folder::new();
    let mut log = LogFixture::new("WEB1")
        .value("Memory", counter("Available Bytes", CounterType::LARGE_RAWCOUNT))
        .column("Process", counter("% Processor Time", CounterType::TIMER_100NS));
    log.at(0, vec![one(raw(4_194_304, 0)), rows(&[("sql", [raw(0, 0)])])]);
    log.at(
        1,
        vec![
            one(raw(4_194_816, 0)),
            rows(&[("sql", [raw(3_125_000, 10_000_000)]), ("sql#1", [raw(0, 10_000_000)])]),
        ],
    );
    log.write(&folder.path("web1.blg"));
    folder
}

/// The page, and its fenced blocks of a language.
fn page(language: &str) -> (String, Vec<String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let fence = format!("```{language}\n");
    let blocks =
        page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or_default().to_owned());
    let blocks = blocks.collect();
    (page, blocks)
}

#[test]
fn the_examples_are_the_real_output() {
    let folder = example();
    let (_, blocks) = page("json");
    let [stats, list, _, relog, _] = &blocks[..] else { panic!("{blocks:#?}") };
    assert_eq!(
        [stats, list, relog],
        [
            &folder.prints(["stats", "-f", "json", "web1.blg"]),
            &folder.prints(["list", "-f", "json", "web1.blg"]),
            &folder.prints(["relog", "web1.blg", "-f", "json", "-o", "-"]),
        ]
    );
    assert_eq!(page("csv").1, [folder.prints(["stats", "-f", "csv", "web1.blg"])]);
}

#[test]
fn the_examples_of_this_machine_have_the_keys_of_the_output() {
    let folder = Folder::new();
    let (_, blocks) = page("json");
    let all_keys = |text: &str| {
        let mut found = Vec::new();
        for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
            keys(&value.expect("JSON"), &mut found);
        }
        found.dedup();
        found
    };
    let path = r"\Processor Information(*)\% Processor Time";
    let printed = folder.run(["list", "-f", "json", "-qx", path]);
    assert_eq!(all_keys(&printed.stdout), all_keys(&blocks[2]));
    let printed = folder.run(["query", "-f", "json", "-sc", "2", "-si", "0.05", path]);
    assert_eq!(all_keys(&printed.stdout), all_keys(&blocks[4]));
}

#[test]
fn keys_of_options_are_explained() {
    let folder = example();
    let (page, _) = page("json");
    let options = ["--every", "1s", "--percentile", "1,99.9", "--deviation", "--slope", "--maximum-time"];
    for row in folder.stats(&[&["web1.blg"], &options[..]].concat()) {
        let object = row.as_object().expect("an object");
        let is_explained = |key: &str| page.contains(&format!("\n| `{key}`"));
        // All percentiles are explained together.
        let unknown: Vec<_> = object.keys().filter(|key| !is_explained(key) && *key != "p99.9").collect();
        assert!(unknown.is_empty() && page.contains("`p99.9`"), "{unknown:?}");
        assert_eq!(object.len(), 22 + 2 + 5);
    }
}

/// All keys of nested objects, except counter paths.
fn keys(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        Value::Object(object) => {
            for (key, value) in object.iter().filter(|(key, _)| !key.starts_with('\\')) {
                found.push(key.clone());
                keys(value, found);
            }
        }
        _ => {}
    }
}

#[test]
fn each_key_is_explained() {
    let (page, blocks) = page("json");
    for block in &blocks {
        for value in serde_json::Deserializer::from_str(block).into_iter::<Value>() {
            let mut found = Vec::new();
            keys(&value.expect("JSON"), &mut found);
            assert!(!found.is_empty());
            for key in found {
                assert!(page.contains(&format!("\n| `{key}` |")), "{key}");
            }
        }
    }
}

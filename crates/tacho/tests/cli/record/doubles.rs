//! Floating-point counters are stored exactly in every format.

use serde_json::Value;

use crate::run::{Folder, Outcome};

// Types and semantics of metrics, as numbered in MMV files.
pub(super) const UNSIGNED_64: u32 = 3;
const DOUBLE: u32 = 5;

const COUNTER: u32 = 1;
pub(super) const INSTANT: u32 = 3;
/// A value without a short decimal form.
const VALUE: f64 = 1.0 / 3.0;

/// A metric: its name, type, semantics, and the bits of its value.
pub(super) type Metric<'a> = (&'a str, u32, u32, u64);

/// An MMV file (version 1; mmv(5)) of metrics without instances.
pub(super) fn mmv(metrics: &[Metric<'_>]) -> Vec<u8> {
    const METRICS_AT: usize = 40 + 2 * 16;
    const METRIC_BYTES: usize = 104;
    let count = metrics.len() as u32;
    let values_at = METRICS_AT + METRIC_BYTES * metrics.len();
    let mut bytes = b"MMV\0".to_vec();
    let words = |bytes: &mut Vec<u8>, words: &[u32]| {
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    };
    let long = |bytes: &mut Vec<u8>, long: usize| bytes.extend((long as u64).to_ne_bytes());
    words(&mut bytes, &[1]);
    // The header: both generations, two sections (3: metrics, 4: values), no flags, no process, a cluster.
    long(&mut bytes, 1);
    long(&mut bytes, 1);
    words(&mut bytes, &[2, 0, 0, 7]);
    for (section, at) in [(3, METRICS_AT), (4, values_at)] {
        words(&mut bytes, &[section, count]);
        long(&mut bytes, at);
    }
    for (item, (name, kind, semantics, _)) in (1..).zip(metrics) {
        let mut slot = [0; 64];
        slot[..name.len()].copy_from_slice(name.as_bytes());
        bytes.extend(slot);
        // No unit, no instance domain, no help texts.
        words(&mut bytes, &[item, *kind, *semantics, 0, u32::MAX, 0]);
        long(&mut bytes, 0);
        long(&mut bytes, 0);
    }
    for (index, (.., value)) in metrics.iter().enumerate() {
        bytes.extend(value.to_ne_bytes());
        for part in [0, METRICS_AT + METRIC_BYTES * index, 0] {
            long(&mut bytes, part);
        }
    }
    bytes
}

/// Records a gauge, a total and an integer from an MMV file.
fn record(command: &str, log: &str) -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("mmv")).expect("a new folder");
    let metrics = [
        ("temp", DOUBLE, INSTANT, VALUE.to_bits()),
        ("energy", DOUBLE, COUNTER, (1e6 * VALUE).to_bits()),
        ("loaves", UNSIGNED_64, INSTANT, 7),
    ];
    folder.write("mmv/oven", mmv(&metrics));
    let mut recording = folder.command([command, r"\mmv oven\*", "-si", "0.02", "-sc", "3", "-o", log]);
    let recording = recording.env("TACHO_MMV_DIR", folder.path("mmv")).output();
    let ran = Outcome::from(recording.expect("start command"));
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    assert!(!ran.stderr.contains("left out"), "{}", ran.stderr);
    folder
}

#[test]
fn every_format_stores_doubles_exactly() {
    for (command, log) in [("record", "a.blg"), ("query", "a.blg"), ("record", "a.csv")] {
        let folder = record(command, log);
        let ran = folder.run(["stats", log, "-f", "json"]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let rows: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        for (name, value) in [("temp", VALUE), ("energy", 1e6 * VALUE), ("loaves", 7.0)] {
            let end = format!(r"\mmv oven\{name}");
            let has_path = |row: &&Value| row["path"].as_str().is_some_and(|path| path.ends_with(&end));
            let rows = rows.as_array().expect("rows");
            let row = rows.iter().find(has_path).unwrap_or_else(|| panic!("no {name}: {}", ran.stdout));
            for key in ["last", "minimum", "maximum"] {
                assert_eq!(row[key].as_f64(), Some(value), "{command} {log}: {row}");
            }
        }
        assert_eq!(folder.run(["check", log]).status, 0, "{command} {log}");
    }
}

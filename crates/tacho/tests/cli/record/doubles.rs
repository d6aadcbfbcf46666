//! Counters of floating point numbers, which a BLG cannot hold.

use std::process::Command;

use crate::run::{Folder, Ran};

pub(super) const UNSIGNED_64: u32 = 3;
const DOUBLE: u32 = 5;

/// An MMV file (version 1; mmv(5)) of metrics without instances, all of the value 0.
pub(super) fn mmv(metrics: &[(&str, u32)]) -> Vec<u8> {
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
    // The generation, twice, two sections, no flags, no process, and a cluster.
    long(&mut bytes, 1);
    long(&mut bytes, 1);
    words(&mut bytes, &[2, 0, 0, 7]);
    for (section, at) in [(3, METRICS_AT), (4, values_at)] {
        words(&mut bytes, &[section, count]);
        long(&mut bytes, at);
    }
    for (item, (name, kind)) in (1..).zip(metrics) {
        let mut slot = [0; 64];
        slot[..name.len()].copy_from_slice(name.as_bytes());
        bytes.extend(slot);
        // An instant value without unit, of no instance domain, without texts.
        words(&mut bytes, &[item, *kind, 3, 0, u32::MAX, 0]);
        long(&mut bytes, 0);
        long(&mut bytes, 0);
    }
    for number in 0..metrics.len() {
        for part in [0, 0, METRICS_AT + METRIC_BYTES * number, 0] {
            long(&mut bytes, part);
        }
    }
    bytes
}

/// A folder in which the program `oven` publishes.
fn oven(metrics: &[(&str, u32)]) -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("mmv")).expect("a new folder");
    folder.write("mmv/oven", mmv(metrics));
    folder
}

fn run(folder: &Folder, command: &str, rest: &[&str]) -> Ran {
    let arguments = [&[command, r"\mmv oven\*", "-si", "0.02", "-sc", "2", "-o"], rest].concat();
    let mut command: Command = folder.command(arguments);
    Ran::from(command.env("TACHO_MMV_DIR", folder.path("mmv")).output().expect("the command starts"))
}

#[track_caller]
fn columns(folder: &Folder, log: &str) -> String {
    let ran = folder.run(["relog", log, "-q"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    ran.stdout
}

const LEFT_OUT: &str =
    "tacho: '\\mmv oven\\temp' holds floating point numbers, which a BLG cannot hold: left out\n";

#[test]
fn a_blg_is_recorded_without_them() {
    let folder = oven(&[("temp", DOUBLE), ("loaves", UNSIGNED_64)]);
    for command in ["record", "query"] {
        let log = format!("{command}.blg");
        let ran = run(&folder, command, &[&log]);
        assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
        assert!(ran.stderr.starts_with(LEFT_OUT), "{}", ran.stderr);
        let columns = columns(&folder, &log);
        assert!(columns.contains("loaves") && !columns.contains("temp"), "{columns}");
    }
}

#[test]
fn a_text_holds_them() {
    let folder = oven(&[("temp", DOUBLE), ("loaves", UNSIGNED_64)]);
    let ran = run(&folder, "record", &["a.csv"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(!ran.stderr.contains("left out"), "{}", ran.stderr);
    assert!(folder.text("a.csv").contains(r"\mmv oven\temp"));
}

#[test]
fn nothing_is_recorded_where_nothing_remains() {
    let folder = oven(&[("temp", DOUBLE), ("top", DOUBLE)]);
    folder.write("a.blg", "mine");
    for command in ["record", "query"] {
        run(&folder, command, &["a.blg", "-y"]).refused(
            2,
            r"'\mmv oven\temp' and 1 other counter hold floating point numbers, which a BLG cannot hold: nothing remains; write CSV or TSV instead",
        );
        assert_eq!(folder.text("a.blg"), "mine");
    }
}

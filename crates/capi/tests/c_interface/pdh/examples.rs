//! The programs of examples/c that use pdh.h.

use std::path::PathBuf;

use super::programs::log_for;
use crate::compiler::{Link, Program, output, succeed};

fn example(name: &str, link: Link<'_>) -> Program {
    Program::compile(&format!("../../examples/c/{name}"), "c17", link, &[])
}

#[test]
fn counters_of_this_machine_are_printed() {
    let program = example("pdh_query.c", Link::Shared);
    let paths = [r"\Memory\Available Bytes", r"\Processor Information(*)\% Processor Time"];
    let printed = succeed(program.command(&["-n", "1"]).args(paths));
    let values: Vec<(&str, f64)> = printed
        .lines()
        .filter_map(|line| {
            let (name, value) = line.rsplit_once(": ")?;
            Some((name, value.parse().ok()?))
        })
        .collect();
    let value_of = |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let available = value_of(r"\Memory\Available Bytes []").expect("a value");
    assert!(available > 1e6, "{printed}");
    let total = value_of(r"\Processor Information(*)\% Processor Time [_Total]").expect("a value");
    assert!((0.0..=100.0).contains(&total), "{printed}");
    assert!(values.len() >= 3, "each processor has a line: {printed}");

    let refused = output(&mut program.command(&[r"\Memory\No Such Counter"]));
    assert_eq!(refused.status.code(), Some(1));
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(text.contains("0xC0000BB9") && text.contains("PDH_CSTATUS_NO_COUNTER"), "{text}");
}

#[test]
fn the_values_and_statistics_of_a_log_are_printed() {
    let program = example("pdh_log.c", Link::Static);
    let log = log_for(&program);
    let path = r"\PhysicalDisk(0 C:)\Avg. Disk sec/Read";
    let printed = succeed(&mut program.command(&[&log, &PathBuf::from(path)]));
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[..3], ["12:00:00\t ", "12:00:01\t0.14999999999999999", "12:00:02\t0"]);
    assert_eq!(lines.len(), 12, "{printed}");
    assert_eq!(lines[11], format!("{path}: minimum 0, maximum 0.15, mean 0.15"));

    let all = succeed(&mut program.command(&[&log]));
    let statistics: Vec<&str> = all.lines().filter(|line| line.contains(": minimum")).collect();
    assert_eq!(statistics.len(), 8, "{all}");
    assert!(statistics.contains(&r"\\BOX\Process(idle#1)\% Processor Time: minimum 50, maximum 50, mean 50"));
    assert!(
        statistics.contains(&r"\\BOX\Memory\Available Bytes: minimum 5e+09, maximum 5.00001e+09, mean 5e+09"),
        "{all}"
    );
}

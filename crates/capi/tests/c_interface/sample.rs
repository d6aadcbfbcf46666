//! The sample program of perfutil.h.

use tachograph::boundary::IsCpiSupported;
use tachograph::code;

use crate::compiler::{Link, Program, output};
use crate::library::library_with_fake_machine;

/// Checks the sample's table: a line `System CPU0 CPU1 ...`, and four rows with a value for each column.
fn check_table(printed: &str) {
    let lines: Vec<Vec<&str>> = printed.lines().map(|line| line.split_whitespace().collect()).collect();
    let names: Vec<&str> = lines.iter().skip(1).map(|line| line[0]).collect();
    assert_eq!(names, ["cpi", "cpi_wb", "idle%", "busy%"], "{printed}");
    assert_eq!(lines[0][..2], ["System", "CPU0"], "{printed}");
    for line in &lines[1..] {
        assert_eq!(line.len(), lines[0].len() + 1, "{printed}");
        for value in &line[1..] {
            assert!(value.parse::<f64>().is_ok(), "{printed}");
        }
    }
}

#[test]
fn the_sample_compiles_without_a_warning_and_runs() {
    // Without hardware counters, the sample prints the code with its name, and ends.
    let is_supported = IsCpiSupported() == 1;
    for (standard, link) in [
        ("c99", Link::Static),
        ("c99", Link::Shared),
        ("c17", Link::Static),
        ("c17", Link::Shared),
        ("c++17", Link::Static),
        ("c++17", Link::Shared),
    ] {
        let program = Program::compile("sample.c", standard, link, &["-DROUNDS=5", "-DCALLS=100"]);
        let output = output(&mut program.command(&[""; 0]));
        let printed = String::from_utf8_lossy(&output.stdout);
        let case = format!("{standard} {link:?}: {printed}");
        if is_supported {
            assert_eq!(output.status.code(), Some(0), "{case}");
            check_table(&printed);
        } else {
            assert_eq!(output.status.code(), Some(1), "{case}");
            let expected: Vec<String> = code::ALL
                .iter()
                .filter(|(code, _)| code.0 < 0)
                .map(|(code, name)| format!("CpiInit: rc = {} ({})\n", code.0, name.to_str().expect("ASCII")))
                .collect();
            assert!(expected.iter().any(|line| *line == printed), "{case}");
            assert!(output.stderr.len() > 20, "{case}");
        }
    }
}

/// The fake machine has counters, so this test runs on every machine.
#[test]
fn the_sample_prints_its_table_on_the_fake_machine() {
    let library = library_with_fake_machine();
    let options = ["-DROUNDS=2", "-DCALLS=10"];
    let program = Program::compile("sample_on_fake_machine.c", "c99", Link::StaticAt(&library), &options);
    let output = output(&mut program.command(&[""; 0]));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let printed = String::from_utf8_lossy(&output.stdout);
    check_table(&printed);
    // The values of processor 0 by the formula: 1,000,000 cycles for 400,000 instructions, busy for half of the time.
    let first: Vec<&str> =
        printed.lines().skip(1).map(|line| line.split_whitespace().nth(2).expect("CPU0")).collect();
    assert_eq!(first, ["2.50", "1.25", "50.00", "50.00"], "{printed}");
}

//! Programs written for Windows: the compatibility folder, a consumer like Microsoft's sample, and a calculation like
//! Microsoft's sample function.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Stdio;

use tachograph_counters::{Calculator, CounterType, FormatOptions, RawValue};

use crate::compiler::{Link, Program, compiler, source, succeed};
use crate::library::crate_folder;
use crate::perflib::{SHORT_WCHAR, numbers_of};

/// A text with non-ASCII characters, one of them beyond 16 bits.
const TEXT: &str = "Zürich😀";

/// For `#pragma comment`; g++ before 13 has no other option.
const PRAGMAS: &str = "-Wno-unknown-pragmas";

#[test]
fn the_folder_can_be_included_before_and_after_other_headers() {
    let mut printed = Vec::new();
    for standard in ["c17", "c++11", "c++17", "c++20"] {
        for options in [&[PRAGMAS][..], &[PRAGMAS, SHORT_WCHAR], &[PRAGMAS, SHORT_WCHAR, "-DAFTER"]] {
            let program = Program::compile("compat.c", standard, Link::Shared, options);
            let text = succeed(&mut program.command(&[TEXT]));
            assert!(
                text.contains("Zürich😀|Zürich😀|  Zürich😀|Zürich😀  |Zü|n\n"),
                "{standard} {options:?}: {text}"
            );
            // C++ prints additional lines at the end.
            printed.push(text.lines().take(9).map(str::to_owned).collect::<Vec<_>>());
        }
    }
    assert!(printed.iter().all(|lines| *lines == printed[0]));
}

#[test]
fn the_folder_behaves_as_documented() {
    for (standard, options) in [
        ("c17", &[][..]),
        ("c17", &[SHORT_WCHAR]),
        ("c11", &[SHORT_WCHAR, "-DUNICODE"]),
        ("c++11", &[SHORT_WCHAR]),
        ("c++17", &[]),
        ("c++17", &[SHORT_WCHAR, "-O2", "-D_FORTIFY_SOURCE=2"]),
    ] {
        let program = Program::compile("compat_rules.c", standard, Link::Shared, options);
        assert_eq!(succeed(&mut program.command(&["Zü😀"])), "", "{standard} {options:?}");
    }
}

/// The lines of the consumer, which are all of `_Total`: the percentage, and the number of counters.
fn totals(printed: &str) -> Vec<(f64, usize)> {
    let words = printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    words
        .map(|words| match words[..] {
            ["_Total", share, "known", known] => {
                (share.trim_end_matches('%').parse().expect("a number"), known.parse().expect("a number"))
            }
            _ => panic!("{printed}"),
        })
        .collect()
}

#[test]
fn a_consumer_written_for_windows_compiles_and_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let main = source("cpu_perf_main.cpp");
    let main = main.to_str().expect("UTF-8");
    for link in [Link::Shared, Link::Static] {
        let options = [PRAGMAS, SHORT_WCHAR, "-Wno-missing-braces", "-DPAUSE=20", main];
        let program = Program::compile("cpu_perf.cpp", "c++17", link, &options);
        let totals = totals(&succeed(program.command(&[""; 0]).current_dir(&folder)));
        assert_eq!(totals.len(), 10);
        for (share, known) in totals {
            assert!((-20.0..=100.0).contains(&share), "{share}");
            assert!(known > 5);
        }
    }
}

#[test]
fn each_header_can_be_included_alone() {
    for header in std::fs::read_dir(crate_folder().join("compat")).expect("the folder") {
        let header = header.expect("an entry").path();
        let name = header.file_name().expect("its name").to_string_lossy().into_owned();
        // These headers are included by the others.
        let is_for_cpp = ["regex", "windows.h", "guiddef.h", "strsafe.h"].contains(&&*name);
        let standards = [(name.contains('.'), "c17"), (is_for_cpp, "c++17")];
        for (_, standard) in standards.into_iter().filter(|(is_wanted, _)| *is_wanted) {
            let mut command = compiler(standard);
            command.arg("-I").arg(crate_folder().join("compat")).args(["-fsyntax-only", "-include"]);
            succeed(command.arg(&header).arg(source("empty.c")));
        }
    }
}

/// Calculates cases with the C function, and returns the lines that it printed.
fn calculated(cases: &[Case]) -> Vec<String> {
    let program = Program::compile("calculated.c", "c17", Link::Shared, &[SHORT_WCHAR]);
    let mut command = program.command(&[""; 0]);
    let mut run = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("run program");
    let mut input = run.stdin.take().expect("its input");
    for (counter_type, older, newer, base) in cases {
        let [first, second, multi] = older;
        let [newer_first, newer_second, newer_multi] = newer;
        writeln!(
            input,
            "{} {first} {second} {multi} {newer_first} {newer_second} {newer_multi} {base}",
            counter_type.0
        )
        .expect("written");
    }
    drop(input);
    let output = run.wait_with_output().expect("wait for program");
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

/// Type; first number, second number and multiplier of the older and of the newer value; time base.
type Case = (CounterType, [i64; 3], [i64; 3], i64);

fn by_the_library((counter_type, older, newer, base): &Case) -> Option<f64> {
    let raw = |[first, second, multi]: [i64; 3]| RawValue {
        multi_count: u32::try_from(multi).expect("a multiplier"),
        ..RawValue::new(first, second)
    };
    let options = FormatOptions::default();
    Calculator::new(*counter_type, *base).format(Some(&raw(*older)), &raw(*newer), &options).ok()
}

/// The number before a suffix.
fn number(text: &str) -> Option<f64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(|number| number as f64);
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && !"+-.e".contains(c)).unwrap_or(text.len());
    text[..end].trim_end_matches('e').parse().ok()
}

/// Intended differences between Microsoft's sample function and the library. Each begins with its number in a list of
/// disagreements between Microsoft's publications, which is not part of this repository.
const DEVIATIONS: &[(CounterType, &str)] = &[
    (CounterType::COUNTER_COUNTER, "1: rates are cut to whole numbers"),
    (CounterType::BULK_COUNT, "1: rates are cut to whole numbers"),
    (CounterType::SAMPLE_COUNTER, "1: rates are cut to whole numbers (and 2: no base is used in either)"),
    (CounterType::COUNTER_MULTI_TIMER, "6, 7: divided by the time base, in whole seconds"),
];

#[test]
fn every_type_is_calculated_as_by_the_library_except_for_known_differences() {
    let older = [1_000_003, 20_000_017, 4];
    let newer = [1_700_010, 50_000_023, 4];
    let base = 10_000_000;
    // All types with a number that the header defines.
    let types: BTreeSet<CounterType> = numbers_of("winperf.h", "PERF_")
        .keys()
        .filter_map(|name| CounterType::from_name(name))
        .filter(|counter_type| counter_type.formula().is_some())
        .collect();
    assert_eq!(types.len(), 31);
    let cases: Vec<Case> = types.iter().map(|counter_type| (*counter_type, older, newer, base)).collect();
    let printed = calculated(&cases);
    assert_eq!(printed.len(), cases.len());
    for (case, printed) in cases.iter().zip(&printed) {
        let expected = by_the_library(case).expect("a value");
        let found = number(printed).unwrap_or_else(|| panic!("{:?}: {printed}", case.0));
        let is_named = DEVIATIONS.iter().find(|(counter_type, _)| *counter_type == case.0);
        let is_equal = (found - expected).abs() <= expected.abs() * 1e-14;
        match is_named {
            Some((_, what)) => assert!(!is_equal, "{:?}: no longer different: {what}", case.0),
            None => assert!(is_equal, "{:?}: {found} instead of {expected}", case.0),
        }
        if is_named.is_some_and(|(_, what)| what.starts_with('1')) {
            assert_eq!(found, expected.trunc(), "{:?}", case.0);
        }
    }
    // Types without a number.
    let bases = [CounterType::AVERAGE_BASE, CounterType::RAW_BASE, CounterType::NO_DATA, CounterType::TEXT];
    let cases: Vec<Case> = bases.iter().map(|counter_type| (*counter_type, older, newer, base)).collect();
    assert!(calculated(&cases).iter().all(|printed| printed == "not calculated"));
    assert!(cases.iter().all(|case| by_the_library(case).is_none()));
}

#[test]
fn the_sample_function_has_other_known_differences() {
    let cases = [
        // The numbers are those of DEVIATIONS.
        // 12: a value that is smaller than the previous one is rejected, even for types whose values may decrease.
        (CounterType::RAWCOUNT, [9, 0, 1], [8, 0, 1], 100),
        (CounterType::RAW_FRACTION, [9, 10, 1], [8, 10, 1], 100),
        // 7: an interval below a second.
        (CounterType::COUNTER_MULTI_TIMER, [0, 0, 1], [10, 50, 1], 100),
        // 1: a third of an event per second.
        (CounterType::COUNTER_COUNTER, [0, 0, 1], [1, 300, 1], 100),
        // Not in the list: nothing happened in the interval, but the function still divides.
        (CounterType::TIMER_INV_100NS, [5, 7, 1], [5, 7, 1], 100),
    ];
    let printed = calculated(&cases);
    assert_eq!(printed[..4], ["refused", "refused", "refused", "0/sec"]);
    let library: Vec<_> = cases.iter().map(by_the_library).collect();
    assert_eq!(library[..3], [Some(8.0), Some(80.0), Some(20.0)]);
    assert!(library[3].is_some_and(|rate| (rate - 1.0 / 3.0).abs() < 1e-12));
    assert_eq!(library[4], Some(0.0));
    assert!(printed[4].contains("nan"), "{}", printed[4]);
}

#[test]
fn every_form_of_wmain_works() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("entry.c");
    let check = "{ return argc == 2 && argv[1][0] == 'Z' && argv[1][1] == 0xFC && !argv[2] ? 0 : 1; }";
    let leave = "{ if (argc != 2 || argv[1][1] != 0xFC) exit(1); return; }";
    let with_environment = "{ return argc == 2 && argv[1][1] == 0xFC && envp ? 0 : 1; }";
    for (standard, text) in [
        ("c17", "int __cdecl wmain(void) { return 0; }".to_owned()),
        ("c99", "void wmain(void) { return; }".to_owned()),
        ("c17", format!("int wmain(int argc, WCHAR *argv[]) {check}")),
        ("c17", format!("void __cdecl wmain(int argc, WCHAR **argv) {leave}")),
        ("c17", format!("int wmain(int argc, WCHAR **argv, WCHAR **envp) {with_environment}")),
        ("c17", format!("#include <tchar.h>\nint _tmain(int argc, TCHAR *argv[]) {check}")),
        ("c++17", "int wmain() { }".to_owned()),
        ("c++17", "void wmain(void) { }".to_owned()),
        ("c++11", format!("int __cdecl wmain(int argc, wchar_t *argv[]) {check}")),
        ("c++17", format!("void wmain(int argc, PWSTR argv[]) {leave}")),
        (
            "c++17",
            format!("extern \"C\" int wmain(int argc, wchar_t **argv, wchar_t **envp) {with_environment}"),
        ),
    ] {
        std::fs::write(&file, format!("#include <windows.h>\n{text}\n")).expect("written");
        let options = [SHORT_WCHAR, "-O2", "-DUNICODE"];
        let program = Program::compile(file.to_str().expect("UTF-8"), standard, Link::Shared, &options);
        let run = program.command(&["Zü"]).status().expect("run program");
        assert!(run.success(), "{standard}: {text}");
    }
}

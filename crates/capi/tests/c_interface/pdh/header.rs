//! pdh.h and pdhmsg.h agree with the Rust side.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use tachograph_pdh::PdhStatus;

use crate::compiler::{compiler, source, succeed};
use crate::library::{built_library, crate_folder};

/// Every C and C++ standard that pdh.h supports.
const STANDARDS: [&str; 6] = ["c11", "c17", "c++11", "c++14", "c++17", "c++20"];

#[test]
fn pdh_h_compiles_without_warnings_with_windows_layout_in_every_standard() {
    for standard in STANDARDS {
        let short = standard.contains("++").then_some("-fshort-wchar");
        for options in [&[][..], &["-DUNICODE"][..], &["-DWITH_WINDOWS_H"][..]] {
            let mut command = compiler(standard);
            command.args(short).args(options).arg("-I").arg(crate_folder().join("compat"));
            succeed(command.arg("-fsyntax-only").arg(source("pdh_header.c")));
        }
    }
}

/// Each header can be included alone, or first.
#[test]
fn each_header_can_be_included_alone() {
    for standard in STANDARDS {
        for header in ["pdh.h", "pdhmsg.h"] {
            let language = if standard.contains("++") { "c++" } else { "c" };
            let mut command = compiler(standard);
            succeed(
                command
                    .args(["-x", language, "-fsyntax-only"])
                    .arg(crate_folder().join("include").join(header)),
            );
        }
    }
}

#[test]
fn every_status_code_is_that_of_the_library() {
    let macros = succeed(compiler("c11").args(["-E", "-dM"]).arg(crate_folder().join("include/pdhmsg.h")));
    let in_header: BTreeMap<u32, &str> = macros
        .lines()
        .filter_map(|line| {
            let (name, value) = line.strip_prefix("#define PDH_")?.split_once(' ')?;
            let digits = value.strip_prefix("((uint32_t)0x")?.strip_suffix(')')?;
            Some((u32::from_str_radix(digits, 16).expect("a number"), name))
        })
        .collect();
    assert!(in_header.len() > 80, "{} codes", in_header.len());
    for (code, name) in in_header {
        assert_eq!(PdhStatus(code).name(), Some(format!("PDH_{name}").as_str()), "{code:#x}");
    }
}

/// The functions that pdh.h declares, found by the word before the parenthesis of each declaration.
pub(crate) fn declared() -> BTreeSet<String> {
    let text = succeed(compiler("c11").args(["-E", "-P"]).arg(crate_folder().join("include/pdh.h")));
    text.split(';')
        .filter_map(|declaration| {
            let (before, _) = declaration.split_once('(')?;
            let name = before.rsplit([' ', '*', '\n']).find(|word| !word.is_empty())?;
            name.starts_with("Pdh").then(|| name.to_owned())
        })
        .collect()
}

fn symbols(arguments: &[&str], extension: &str) -> BTreeSet<String> {
    let symbols = succeed(Command::new("nm").args(arguments).arg(built_library(extension)));
    let names = symbols.lines().filter_map(|line| line.rsplit(' ').next());
    names.filter(|name| name.starts_with("Pdh")).map(str::to_owned).collect()
}

#[test]
fn both_libraries_export_exactly_the_declared_functions() {
    let declared = declared();
    assert_eq!(symbols(&["-D", "--defined-only"], "so"), declared);
    assert_eq!(symbols(&["-g", "--defined-only"], "a"), declared);
    // The required functions, each in all its forms.
    for name in [
        "OpenQuery",
        "AddCounter",
        "AddEnglishCounter",
        "GetFormattedCounterArray",
        "GetRawCounterArray",
        "ExpandWildCardPath",
        "ParseCounterPath",
        "MakeCounterPath",
        "ParseInstanceName",
        "ValidatePath",
        "EnumObjects",
        "EnumObjectItems",
        "GetCounterInfo",
        "BindInputDataSource",
        "GetDataSourceTimeRange",
        "OpenLog",
        "UpdateLog",
    ] {
        assert!(
            declared.contains(&format!("Pdh{name}W")) && declared.contains(&format!("Pdh{name}A")),
            "{name}"
        );
    }
    for name in [
        "CollectQueryData",
        "CollectQueryDataEx",
        "CollectQueryDataWithTime",
        "GetFormattedCounterValue",
        "GetRawCounterValue",
        "CalculateCounterFromRawValue",
        "FormatFromRawValue",
        "ComputeCounterStatistics",
        "SetCounterScaleFactor",
        "GetCounterTimeBase",
        "RemoveCounter",
        "CloseQuery",
        "SetQueryTimeRange",
        "ReadRawLogRecord",
        "CloseLog",
    ] {
        assert!(declared.contains(&format!("Pdh{name}")), "{name}");
    }
}

//! The headers agree with the Rust code.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;

use tachograph::code;
use tachograph::data::{CpiDataBlock, MAX_CPUS};
use tachograph_cpi::Mode;

use crate::compiler::{Link, Program, STANDARDS, compiler, output, source, succeed};
use crate::library::{built_library, crate_folder};

#[test]
fn perfutil_h_compiles_without_warnings_in_every_standard() {
    for standard in STANDARDS {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = compiler(standard);
        succeed(command.arg("-c").arg(source("header.c")).arg("-o").arg(folder.path().join("header.o")));
    }
}

#[test]
fn another_max_cpus_has_another_layout() {
    for standard in STANDARDS {
        let mut command = compiler(standard);
        succeed(
            command.args(["-DMAX_CPUS=128", "-DOTHER_MAX_CPUS", "-fsyntax-only"]).arg(source("header.c")),
        );
    }
}

#[test]
fn calls_with_another_max_cpus_do_not_compile() {
    for standard in ["c99", "c++17"] {
        let folder = tempfile::tempdir().expect("a folder");
        let object = folder.path().join("sample.o");
        let mut command = compiler(standard);
        command
            .arg("-I")
            .arg(crate_folder().join("compat"))
            .arg("-c")
            .arg(source("sample.c"))
            .arg("-o")
            .arg(object);
        succeed(&mut command);
        let rejected = output(command.arg("-DMAX_CPUS=128"));
        assert!(!rejected.status.success());
        let text = String::from_utf8_lossy(&rejected.stderr);
        assert!(text.contains("leave it undefined, or define it as 1024"), "{text}");
    }
}

/// The Rust structure has the layout of the C structure.
#[test]
fn the_layout_is_that_of_the_c_compiler() {
    let program = Program::compile("header.c", "c99", Link::Shared, &[]);
    let printed = succeed(&mut program.command(&[""; 0]));
    let c: BTreeMap<&str, usize> = printed
        .lines()
        .map(|line| {
            let (member, offset) = line.split_once(' ').expect("a member and its offset");
            (member, offset.parse().expect("a number"))
        })
        .collect();
    macro_rules! offsets {
        ($($member:ident)*) => {
            [$((stringify!($member), offset_of!(CpiDataBlock, $member))),*]
        };
    }
    let members = offsets!(num_cpus tid elapsed_cycles raw_cpi raw_sys_cpi scaled_cpi scaled_sys_cpi
                           cpu_busy sys_busy thread_cpi);
    let rust = members.into_iter().chain([("size", size_of::<CpiDataBlock>())]);
    assert_eq!(c, rust.collect::<BTreeMap<&str, usize>>());
    assert_eq!(size_of::<CpiDataBlock>(), 24_624);
}

/// The constants of the Rust side by their C names.
fn constants() -> BTreeMap<String, i64> {
    let mut all: BTreeMap<String, i64> = code::ALL
        .iter()
        .map(|(code, name)| (name.to_str().expect("ASCII").to_owned(), i64::from(code.0)))
        .collect();
    for (name, mode) in [
        ("CPI_TYPE_RAW", Mode::RAW),
        ("CPI_TYPE_SCALED", Mode::SCALED),
        ("CPI_TYPE_ONTHREAD", Mode::ON_THREAD),
        ("CPI_TYPE_TRACE_ON_GET", Mode::TRACE_ON_GET),
        ("CPI_TYPE_TRACE_ONLY_ON_GET", Mode::TRACE_ONLY_ON_GET),
        ("CPI_TYPE_TRACE_SUMMARY", Mode::TRACE_SUMMARY),
        ("CPI_TYPE_TRACE_DETAILED", Mode::TRACE_DETAILED),
        ("CPI_TYPE_TRACE_EVERYTHING", Mode::TRACE_EVERYTHING),
        ("CPI_TYPE_ALL", Mode::ALL),
    ] {
        all.insert(name.to_owned(), i64::from(mode.bits()));
    }
    all.insert("MAX_CPUS".to_owned(), MAX_CPUS as i64);
    all
}

#[test]
fn the_header_and_the_library_have_the_same_constants() {
    let macros = succeed(compiler("c99").args(["-E", "-dM"]).arg(crate_folder().join("include/perfutil.h")));
    let in_header: BTreeMap<String, i64> = macros
        .lines()
        .filter_map(|line| {
            let (name, value) = line.strip_prefix("#define ")?.split_once(' ')?;
            let is_ours = name.starts_with("PU_") || name.starts_with("CPI_") || name == "MAX_CPUS";
            is_ours.then(|| {
                let text = value.trim_matches(['(', ')']);
                let value = match text.strip_prefix("0x") {
                    Some(digits) => i64::from_str_radix(digits, 16),
                    None => text.parse(),
                };
                (name.to_owned(), value.unwrap_or_else(|_| panic!("{line} is not a number")))
            })
        })
        .collect();
    assert_eq!(in_header, constants());
}

/// The functions that a header declares, found by the word before the parenthesis of each declaration after preprocessing.
fn declared_in(name: &str) -> BTreeSet<String> {
    let header = crate_folder().join("include").join(name);
    let mut is_header = false;
    let mut text = String::new();
    for line in succeed(compiler("c99").arg("-E").arg(&header)).lines() {
        if line.starts_with("# ") {
            is_header = line.contains(&format!("{name}\""));
        } else if is_header {
            text.push_str(line);
            text.push(' ');
        }
    }
    text.split(';')
        .filter(|declaration| !declaration.contains("typedef"))
        .filter_map(|declaration| {
            let (before, _) = declaration.split_once('(')?;
            before.rsplit([' ', '*']).find(|word| !word.is_empty()).map(str::to_owned)
        })
        .collect()
}

/// The functions of all headers except pdh.h, which has tests of its own.
fn declared() -> BTreeSet<String> {
    let perfutil = declared_in("perfutil.h");
    assert_eq!(perfutil.len(), 15);
    let perflib = declared_in("perflib.h");
    // 9 for consumers, 14 for providers, 3 of Tachograph.
    assert_eq!(perflib.len(), 26, "{perflib:?}");
    perfutil.into_iter().chain(perflib).collect()
}

#[test]
fn the_shared_library_exports_exactly_the_declared_functions() {
    let symbols =
        succeed(std::process::Command::new("nm").args(["-D", "--defined-only"]).arg(built_library("so")));
    let exported: BTreeSet<String> = symbols
        .lines()
        .filter_map(|line| line.rsplit(' ').next())
        .filter(|name| !name.starts_with("Pdh"))
        .map(str::to_owned)
        .collect();
    assert_eq!(exported, declared());
}

#[test]
fn the_shared_library_has_its_soname() {
    let dynamic = succeed(std::process::Command::new("readelf").arg("-d").arg(built_library("so")));
    assert!(dynamic.contains("Library soname: [libtachograph.so.0]"), "{dynamic}");
}

#[test]
fn the_static_library_has_every_function_too() {
    let symbols =
        succeed(std::process::Command::new("nm").args(["-g", "--defined-only"]).arg(built_library("a")));
    let defined: BTreeSet<&str> = symbols.lines().filter_map(|line| line.rsplit(' ').next()).collect();
    for function in declared() {
        assert!(defined.contains(function.as_str()), "{function}");
    }
    assert!(!defined.contains("TachoUseFakeMachine"), "the function is only for tests");
}

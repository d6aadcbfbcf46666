//! perflib.h and winperf.h: their constants, and programs that check the results of the functions.

use std::collections::BTreeMap;

use tachograph_counters::CounterType;

use crate::compiler::{Link, Program, STANDARDS, compiler, succeed};
use crate::library::crate_folder;

/// The option that makes wide characters 16 bits wide.
pub(crate) const SHORT_WCHAR: &str = "-fshort-wchar";

#[test]
fn layouts_and_constants_are_those_of_windows() {
    for standard in STANDARDS {
        for options in [&[][..], &[SHORT_WCHAR]] {
            let program = Program::compile("perflib_layout.c", standard, Link::Shared, options);
            assert_eq!(succeed(&mut program.command(&[""; 0])), "as on Windows\n");
        }
    }
}

/// The numbers that a header defines, by name.
pub(crate) fn numbers_of(header: &str, prefix: &str) -> BTreeMap<String, u32> {
    let macros =
        succeed(compiler("c17").args(["-E", "-dM"]).arg(crate_folder().join("include").join(header)));
    let numbers = macros.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("#define ")?.split_once(' ')?;
        let value = match value.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => value.parse().ok()?,
        };
        name.starts_with(prefix).then(|| (name.to_owned(), value))
    });
    numbers.collect()
}

#[test]
fn counter_types_have_the_values_of_the_library() {
    let in_header = numbers_of("winperf.h", "PERF_");
    let mut named = 0;
    for (name, word) in &in_header {
        if let Some(known) = CounterType::from_name(name) {
            assert_eq!(CounterType(*word), known, "{name}");
            named += 1;
        }
    }
    // All types that Windows defines.
    assert_eq!(named, 40);
}

/// The codes of `tachograph/errors.h`, by name.
pub(crate) fn error_codes() -> BTreeMap<String, u32> {
    let prefixes = ["ERROR_", "RPC_S_"].into_iter();
    prefixes.flat_map(|prefix| numbers_of("tachograph/errors.h", prefix)).collect()
}

#[test]
fn error_codes_have_the_values_of_the_library() {
    let in_header = error_codes();
    assert_eq!(in_header.len(), 24);
    for (name, code) in in_header {
        let known = tachograph_perflib::ErrorCode(code).name();
        // Success is not an error, and only the C interface has the code of an invalid handle.
        assert!(
            known == Some(&*name) || ["ERROR_SUCCESS", "ERROR_INVALID_HANDLE"].contains(&&*name),
            "{name}"
        );
    }
}

/// The error codes of publishing are in a table, in a doc comment of crates/publish/src/error.rs.
#[test]
fn the_header_defines_every_error_code_of_publishing() {
    let source = std::fs::read_to_string(crate_folder().join("../publish/src/error.rs")).expect("the source");
    let in_header = numbers_of("tachograph/errors.h", "ERROR_");
    let rows = source.lines().filter_map(|line| line.trim().strip_prefix("/// | ")?.split_once(" | `"));
    let codes: Vec<_> = rows.filter_map(|(code, rest)| Some((rest.split_once('`')?.0, code))).collect();
    assert!(codes.len() > 10, "{codes:?}");
    for (name, code) in codes {
        assert_eq!(in_header.get(name).map(u32::to_string).as_deref(), Some(code), "{name}");
    }
}

#[test]
fn consumers_get_the_counters_of_this_machine() {
    for (standard, link, options) in
        [("c99", Link::Static, &[][..]), ("c17", Link::Shared, &[]), ("c++17", Link::Shared, &[SHORT_WCHAR])]
    {
        let program = Program::compile("perflib_consumer.c", standard, link, options);
        succeed(&mut program.command(&[""; 0]));
    }
}

#[test]
fn many_threads_consume_concurrently() {
    let program = Program::compile("perflib_threads.c", "c17", Link::Shared, &[]);
    succeed(&mut program.command(&[""; 0]));
}

#[test]
fn consumers_get_what_providers_publish() {
    for (standard, link, options) in [("c17", Link::Static, &[][..]), ("c++17", Link::Shared, &[SHORT_WCHAR])]
    {
        let program = Program::compile("perflib_provider.c", standard, link, options);
        for part in ["windows", "values", "callback", "single", "threads"] {
            let folder = private_folder();
            succeed(program.command(&[part]).env("TACHO_RUNTIME_DIR", folder.path()));
            let remaining = std::fs::read_dir(folder.path()).expect("the folder").count();
            assert_eq!(remaining, 0, "{part}: published files are left");
        }
    }
}

/// A runtime folder for one program.
pub(crate) fn private_folder() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let owner_only = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(folder.path(), owner_only).expect("the folder is ours");
    folder
}

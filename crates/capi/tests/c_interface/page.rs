//! Tests that docs/c-interface.md is up to date.

use tachograph::code;

use crate::compiler::{STANDARDS, compiler, succeed};
use crate::library::crate_folder;

/// docs/c-interface.md.
pub(crate) fn page() -> String {
    std::fs::read_to_string(crate_folder().join("../../docs/c-interface.md")).expect("the page")
}

/// Compiles the first C program in a Markdown text.
pub(crate) fn compile_program(text: &str, standards: &[&str]) {
    let (_, rest) = text.split_once("```c\n").expect("a program");
    let (program, _) = rest.split_once("```").expect("its end");
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("program.c");
    std::fs::write(&source, program).expect("written");
    for standard in standards {
        succeed(compiler(standard).arg("-fsyntax-only").arg(&source));
    }
}

#[test]
fn the_program_of_the_page_compiles_without_a_warning() {
    compile_program(&page(), &STANDARDS);
}

#[test]
fn the_page_has_every_code_with_its_number() {
    let page = page();
    for (code, name) in code::ALL.iter().filter(|(code, _)| code.0 < 0) {
        let name = name.to_str().expect("ASCII");
        let forms = [format!("`{name}` | {} |", code.0), format!("`{name}` ({})", code.0)];
        assert!(forms.iter().any(|text| page.contains(text)), "{name}");
    }
}

#[test]
fn the_page_has_every_code_of_perflib_with_its_number() {
    let page = page();
    for (name, number) in crate::perflib::error_codes() {
        assert!(page.contains(&format!("`{name}` | {number} |")), "{name}");
    }
}

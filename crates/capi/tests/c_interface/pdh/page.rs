//! Checks that the section on pdh.h in docs/c-interface.md and the man page agree with the header.

use super::header::declared;
use crate::library::crate_folder;
use crate::page::{compile_program, page};

/// The section.
fn section() -> String {
    let page = page();
    let (_, section) = page.split_once("\n## pdh.h\n").expect("the section");
    section.split("\n## ").next().expect("its text").to_owned()
}

#[test]
fn the_program_of_the_section_compiles_without_a_warning() {
    compile_program(&section(), &["c11", "c17"]);
}

#[test]
fn the_section_names_every_function() {
    let section = section();
    for function in declared() {
        // The section names a function without its suffix W or A, and with or without its suffix H.
        let name = function.trim_end_matches(['W', 'A']);
        let named = [name, name.trim_end_matches('H')];
        assert!(named.iter().any(|name| section.contains(&format!("`{name}`"))), "{function}");
    }
}

#[test]
fn the_functions_of_the_man_page_exist() {
    let page = std::fs::read_to_string(crate_folder().join("man/pdh.3")).expect("the man page");
    let declared = declared();
    let named = page.lines().filter_map(|line| line.strip_prefix(".Fn Pdh")?.split_whitespace().next());
    let named: Vec<String> = named.map(|name| format!("Pdh{name}")).collect();
    assert!(named.len() > 7);
    for function in named {
        assert!(declared.contains(&function), "{function}");
    }
}

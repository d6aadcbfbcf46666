//! Tests of all tables of this crate. (`docs/counters.md` is tested in `cpi`.)
//!
//! `TACHO_UPDATE=1 cargo test -p tachograph-system tables_tests` adds new counters to `frozen.tsv`.

use std::path::Path;

use crate::conformance;
use crate::table::SetTable;

fn tables() -> Vec<&'static SetTable> {
    crate::tables().collect()
}

#[test]
fn ids_names_and_types_are_frozen() {
    conformance::check_frozen(&tables(), &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/frozen.tsv"));
}

#[test]
fn registrations_are_valid() {
    conformance::check_registrations(&tables());
}

#[test]
fn guids_names_and_ids_are_unique() {
    conformance::check_unique(&tables());
}

#[test]
fn a_repeated_set_repeats_no_other_set() {
    for table in tables() {
        let Some(name) = table.repeats else { continue };
        let repeated = tables().into_iter().find(|set| set.name == name).expect("a set of this crate");
        assert_eq!(repeated.repeats, None, "{}", table.name);
    }
}

#[test]
fn every_counter_is_described() {
    conformance::check_descriptions(&tables());
}

#[test]
fn companions_belong_to_counters() {
    conformance::check_companions(&tables());
}

#[test]
fn windows_counters_have_windows_types() {
    conformance::check_windows_names(&tables());
}

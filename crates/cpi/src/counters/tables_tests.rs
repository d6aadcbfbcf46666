//! Checks this crate's counter tables, and `docs/counters.md`, which lists the counters of all crates.
//!
//! `TACHO_UPDATE=1 cargo test -p tachograph-cpi tables_tests` adds new counters to `frozen.tsv` and rewrites
//! `docs/counters.md`.

use std::path::{Path, PathBuf};

use tachograph_system::conformance;
use tachograph_system::table::SetTable;

use super::TABLES;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn all() -> Vec<&'static SetTable> {
    tachograph_system::tables().chain(TABLES.iter().copied()).collect()
}

#[test]
fn frozen_names_do_not_change() {
    conformance::check_frozen(TABLES, &path("src/counters/frozen.tsv"));
}

#[test]
fn registrations_are_valid() {
    conformance::check_registrations(TABLES);
    conformance::check_companions(TABLES);
    conformance::check_descriptions(TABLES);
}

#[test]
fn nothing_is_defined_twice() {
    conformance::check_unique(&all());
}

#[test]
fn the_page_is_up_to_date() {
    conformance::check_page(&all(), &path("../../docs/counters.md"));
}

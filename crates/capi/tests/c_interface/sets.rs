//! tachograph/sets.h: names, GUIDs and ids of this machine's counter sets, which never change.

use std::sync::Arc;

use tachograph_perflib::manifest::generate::consumer_header_of;
use tachograph_perflib::registration::CounterSetInfo;

use crate::compiler::{STANDARDS, compiler, source, succeed};
use crate::library::crate_folder;
use crate::perflib::SHORT_WCHAR;

fn generated() -> String {
    let mut sets: Vec<Arc<CounterSetInfo>> =
        tachograph_system::known_sets().chain(tachograph_cpi::counters::known_sets()).collect();
    sets.sort_by(|a, b| a.name.cmp(&b.name));
    consumer_header_of("tachograph/sets.h", sets.iter().map(|set| &**set))
}

#[test]
fn the_header_is_current() {
    let path = crate_folder().join("include/tachograph/sets.h");
    let generated = generated();
    if std::env::var_os("TACHO_UPDATE").is_some() {
        std::fs::write(&path, &generated).expect("written");
    }
    let current = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        current == generated,
        "TACHO_UPDATE=1 cargo test -p tachograph-capi --test c_interface sets writes it"
    );
}

#[test]
fn the_header_compiles_when_included_alone() {
    for standard in STANDARDS {
        for option in ["-fno-short-wchar", SHORT_WCHAR] {
            let mut command = compiler(standard);
            command.args([option, "-fsyntax-only", "-include"]);
            succeed(command.arg(crate_folder().join("include/tachograph/sets.h")).arg(source("empty.c")));
        }
    }
}

//! Runs the check of the fuzz target `manifest` with its seeds. If TACHO_UPDATE is set, the generated seeds are written first.

#[path = "../../../../fuzz/manifest_checks.rs"]
mod checks;

use std::path::Path;

use crate::{KERNEL, SHOP};

#[test]
fn seeds_of_the_fuzz_target_pass() {
    let utf16: Vec<u8> =
        "\u{feff}".encode_utf16().chain(KERNEL.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    let seeds = [("shop", SHOP.as_bytes()), ("kernel", KERNEL.as_bytes()), ("utf16", &utf16)];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/manifest");
    for (name, bytes) in seeds {
        if std::env::var_os("TACHO_UPDATE").is_some() {
            std::fs::write(folder.join(name), bytes).expect("writable");
        }
        let current = std::fs::read(folder.join(name)).expect("checked in");
        assert!(current == bytes, "{name} differs from what this test generates: run it with TACHO_UPDATE=1");
    }
    for entry in std::fs::read_dir(folder).expect("the folder of the seeds") {
        let path = entry.expect("an entry").path();
        eprintln!("{}", path.display());
        checks::manifest(&std::fs::read(&path).expect("readable"));
    }
}

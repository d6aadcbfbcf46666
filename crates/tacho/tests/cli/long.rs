//! Tests of minutes: logs larger than the memory limit. Run if TACHO_LONG is set.

use std::process::Command;

use crate::generate_log::{Records, write_log};
use crate::run::Folder;

/// The limit of data memory in kB.
const LIMIT_KB: u32 = 100_000;

#[test]
fn long_a_log_of_gigabytes_needs_less_than_100_megabytes() {
    if std::env::var_os("TACHO_LONG").is_none() {
        return;
    }
    for records in [Records::Multi, Records::Block] {
        let folder = Folder::new();
        let log = std::fs::File::create(folder.path("big.blg")).expect("a file");
        let values = write_log(log, records, 200, 2 << 30);
        assert!(values > 40_000_000, "{values}");
        for arguments in
            ["check big.blg", "stats big.blg -f csv", "relog big.blg -o out.csv", "relog big.blg -o out.blg"]
        {
            // Limits memory that is used, not address space that is only reserved.
            let script = format!("ulimit -d {LIMIT_KB}; exec \"$TACHO\" {arguments} > printed");
            let status = Command::new("sh")
                .args(["-c", &script])
                .env("TACHO", env!("CARGO_BIN_EXE_tacho"))
                .current_dir(folder.path(""))
                .status()
                .expect("a shell");
            assert!(status.success(), "{arguments}: {status}");
        }
    }
}

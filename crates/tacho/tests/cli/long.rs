//! What takes minutes: logs larger than any memory that the command may use. Runs where TACHO_LONG is set.

use std::process::Command;

use crate::made_log::{Records, write_log};
use crate::run::Folder;

/// Data memory that the command may use, in kB.
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
            // The limit holds for what is written to, not for address space that is only set aside.
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

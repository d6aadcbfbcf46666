//! Runs the fuzz target on its seeds. If `TACHO_WRITE_SEEDS` is set, first regenerates them.

use std::fs;
use std::path::PathBuf;

use crate::checks;
use crate::writer::{File, Indom};

#[test]
fn seeds_satisfy_the_fuzz_target() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/mmv");
    if std::env::var_os("TACHO_WRITE_SEEDS").is_some() {
        fs::create_dir_all(&folder).expect("created");
        for version in [1, 2, 3] {
            let mut file = File::shop(version);
            let instances = vec![(1, "a".to_owned())];
            file.indoms.push(Indom { serial: 9, short: "", long: "", instances });
            fs::write(folder.join(format!("version_{version}")), file.image().bytes).expect("written");
        }
    }
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("seeds") {
        let path = entry.expect("an entry").path();
        checks::mmv(&fs::read(&path).expect("read"));
        count += 1;
    }
    assert!(count >= 3, "{count} seeds");
}

//! Runs the fuzz target on its seeds. If TACHO_WRITE_SEEDS is set, the seeds that `seeds` generates are rewritten first.

use crate::checks;

use std::path::PathBuf;

use crate::fixture;

/// The generated seeds: a trace file with every kind of hook (record of CPI); a file of several sections, whose hooks lack
/// labels, busy shares, threads or processors, and with a record of another tool; and damaged files.
fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let with = |mut file: Vec<u8>, offset: usize, field: &[u8]| {
        file[offset..][..field.len()].copy_from_slice(field);
        file
    };
    let small = fixture::small_file();
    let plain = fixture::hooks(&fixture::data(1, false, false), 0, true, true, None);
    let alone = fixture::hooks(&fixture::data(0, false, true), 1, true, true, Some(""));
    let mut other = fixture::record(3, 0xDEAD_BEEF, 5, &[0xFF; 20]);
    other[2] = 0x12;
    let records = [&*plain, &*other, &*alone].concat();
    let sections =
        [fixture::section(1, 2, &records), fixture::section(3, 0, &plain), fixture::section(0, 0, &[])]
            .concat();
    vec![
        ("small", small.clone()),
        ("sections", sections),
        ("cut", small[..small.len() - 20].to_vec()),
        ("uncounted", [&*small, &*plain].concat()),
        ("text_mode", with(small.clone(), 8, &[0x0D])),
        ("long_record", [with(small.clone(), 512, &[0xFE, 0xFF]), small.clone()].concat()),
        ("high_word", with(small.clone(), 0x248 + 4, &[1])),
        ("many_processors", with(small, 0x250, &[0xFF; 4])),
    ]
}

#[test]
fn the_fuzz_target_accepts_all_seeds() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/cpi_trace");
    let seeds = seeds();
    if std::env::var_os("TACHO_WRITE_SEEDS").is_some() {
        std::fs::create_dir_all(&folder).expect("a writable folder");
        for (name, bytes) in &seeds {
            std::fs::write(folder.join(name), bytes).expect("a writable folder");
        }
    }
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).expect("the folder of the seeds") {
        let path = entry.expect("an entry").path();
        eprintln!("{}", path.display());
        checks::cpi_trace(&std::fs::read(&path).expect("readable"));
        count += 1;
    }
    assert!(count >= seeds.len(), "{count} seeds");
    for (name, bytes) in &seeds {
        let there = std::fs::read(folder.join(name)).expect("checked in");
        assert!(
            there == *bytes,
            "{name} differs from what this test generates: run it with TACHO_WRITE_SEEDS=1"
        );
    }
}

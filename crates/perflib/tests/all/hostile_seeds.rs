//! Runs the checks of the fuzz targets with their seeds. If TACHO_WRITE_SEEDS is set, the generated seeds are written first.

use crate::blocks_vectors;
use crate::checks;

use std::path::PathBuf;

use blocks_vectors as vectors;
use checks::Owned;
use tachograph_counters::civil::FileTime;
use tachograph_perflib::block::Stamp;

fn folder(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target)
}

/// Runs the check of a fuzz target with its seeds. The stored seeds must contain the generated ones; if TACHO_WRITE_SEEDS is set,
/// those are written first.
fn run(target: &str, generated: &[(String, Vec<u8>)], check: fn(&[u8])) {
    if std::env::var_os("TACHO_WRITE_SEEDS").is_some() {
        std::fs::create_dir_all(folder(target)).expect("a writable folder");
        for (name, bytes) in generated {
            std::fs::write(folder(target).join(name), bytes).expect("a writable folder");
        }
    }
    let mut count = 0;
    for entry in std::fs::read_dir(folder(target)).expect("the folder of the seeds") {
        let path = entry.expect("an entry").path();
        eprintln!("{}", path.display());
        check(&std::fs::read(&path).expect("readable"));
        count += 1;
    }
    assert!(count >= generated.len(), "{count} seeds");
    for (name, bytes) in generated {
        let stored = std::fs::read(folder(target).join(name)).expect("checked in");
        assert!(
            stored == *bytes,
            "{name} differs from the output of this test: run it with TACHO_WRITE_SEEDS=1"
        );
    }
}

/// Seeds from the examples of the reference with these letters.
fn examples(letters: &str) -> Vec<(String, Vec<u8>)> {
    let chosen = vectors::ALL.iter().filter(|(name, _)| letters.contains(name));
    chosen.map(|(name, block)| (format!("worked_{}", name.to_lowercase()), vectors::bytes(block))).collect()
}

#[test]
fn seeds_of_perflib_block_pass() {
    let mut seeds = examples("ABCDEFGHM");
    let stamp = Stamp { ticks: 1, frequency: 1_000_000_000, system_time: FileTime::UNIX_EPOCH };
    let row = |name: &str, id| (name.to_owned(), id, vec![Some(7), None, Some(u64::MAX)]);
    let results = [
        Owned::CounterSet(vec![9, 1, 4], vec![row("sda", 0), row("sda", 0), row("", 1)]),
        Owned::Single(None),
        Owned::Instances(vec![]),
        Owned::Error(1460),
    ];
    let mut mixed = Vec::new();
    checks::write(&stamp, &results, &mut mixed).expect("small");
    seeds.push(("mixed".into(), mixed));
    seeds.push(("identifiers".into(), [vectors::F, vectors::G].map(vectors::bytes).concat()));
    run("perflib_block", &seeds, checks::perflib_block);
}

#[test]
fn seeds_of_perflib_registration_pass() {
    let mut seeds = examples("IJ");
    let name = "Disk".encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
    seeds.push(("name".into(), name));
    seeds.push(("guid".into(), vectors::bytes(vectors::I)[..16].to_vec()));
    seeds.push(("counter".into(), vectors::bytes(vectors::I)[0x50..0x80].to_vec()));
    // Offsets relative to the end of the headers.
    let mut relative = vectors::bytes(vectors::J);
    relative[0x0C] = 0;
    relative[0x14] = 0x14;
    seeds.push(("relative".into(), relative));
    run("perflib_registration", &seeds, checks::perflib_registration);
}

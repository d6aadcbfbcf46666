//! Runs the check of the fuzz target `published` with its seeds. If TACHO_WRITE_SEEDS is set, the seeds are written first; they
//! differ each time, because a file contains a random number and a process id.

#[path = "../../../../fuzz/published_checks.rs"]
mod checks;

use std::path::PathBuf;

use tachograph_shm::InstanceKind;

use crate::fixtures::{publish, set, shop, with_timer};

#[test]
fn seeds_are_read_completely() {
    let seeds = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/published");
    if std::env::var_os("TACHO_WRITE_SEEDS").is_some() {
        write(&seeds);
    }
    let mut count = 0;
    for entry in std::fs::read_dir(&seeds).expect("the folder of the seeds") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("readable");
        let rows = checks::published(&bytes);
        assert!(rows > 0, "{}: the seed must be the file of a live set", path.display());
        // Truncated at many lengths.
        for length in (0..bytes.len()).step_by(97) {
            checks::published(&bytes[..length]);
        }
        // With some bits of the header, the description and the slots flipped.
        let mut flipped = bytes.clone();
        for bit in (0..bytes.len() * 8).step_by(149) {
            flipped[bit / 8] ^= 1 << (bit % 8);
            checks::published(&flipped);
            flipped[bit / 8] ^= 1 << (bit % 8);
        }
        count += 1;
    }
    assert!(count >= 4, "{count} seeds");
}

fn write(seeds: &PathBuf) {
    std::fs::create_dir_all(seeds).expect("a writable folder");
    for (name, kind) in [
        ("multiple", InstanceKind::Multiple),
        ("single", InstanceKind::Single),
        ("total", InstanceKind::MultipleAggregate),
        ("history", InstanceKind::SingleAggregateHistory),
    ] {
        let folder = tempfile::tempdir().expect("create folder");
        let mut description = with_timer(shop(kind));
        description.counters[0].stripes = 2;
        let file = publish(folder.path(), description);
        let names: &[&str] = match kind {
            InstanceKind::Single => &[""],
            _ => &["a", "b", "a name that continues in another slot, since it is longer than a cache line"],
        };
        let slots: Vec<_> =
            names.iter().map(|name| file.create_instance(name, 3).expect("create instance")).collect();
        set(&slots[0], 1, 7);
        let bytes = std::fs::read(file.path().expect("a file")).expect("its bytes");
        // The file ends after the used slots.
        let word = |index: usize| {
            u64::from_le_bytes(bytes[index * 8..][..8].try_into().expect("eight bytes")) as usize
        };
        let (slots_at, slot_bytes, slots) = (word(3), word(4), word(17));
        let used = slots_at + slots * slot_bytes;
        std::fs::write(seeds.join(name), &bytes[..used]).expect("a writable folder");
    }
}

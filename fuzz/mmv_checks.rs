//! The fuzz target of the MMV reader. crates/mmv/tests/mmv runs the same function over the checked-in seeds and broken files.

#![allow(unreachable_pub, reason = "the fuzz target and the tests include it as a module")]

use tachograph_mmv::image_providers;
use tachograph_perflib::{Clock, Rows};

/// Reads any bytes as an MMV file. Asserts that the result is an error that names a field, or sets that can be registered and collected.
pub fn mmv(data: &[u8]) {
    let mut sets = match image_providers("fuzz", data) {
        Ok(sets) => sets,
        Err(error) => {
            // The error's offset can be outside the file if a broken field contains it.
            assert!(!error.field().is_empty() && !error.to_string().is_empty());
            return;
        }
    };
    let clock = Clock::of_this_machine();
    let mut names = Vec::new();
    for set in &mut sets {
        let info = set.info().clone();
        info.check().unwrap_or_else(|error| panic!("{error}"));
        assert!(info.name.starts_with("mmv fuzz"));
        names.push(info.name.to_string());
        let mut rows = Rows::unfiltered(info);
        rows.clear(clock.now());
        set.collect(&mut rows).expect("an image can always be collected");
        let identities: Vec<u64> = rows.instances().iter().map(|instance| instance.identity()).collect();
        assert!(!identities.contains(&0));
        // Every value has 32 bytes in the file.
        let values = rows.all_values().iter().filter(|value| value.status.is_good()).count();
        assert!(32 * values <= data.len(), "{values} values of {} bytes", data.len());
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "names of sets");
}

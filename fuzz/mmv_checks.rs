//! What must hold for any bytes that the reader of MMV files gets. The same function runs over the checked-in seeds and over
//! broken files as plain tests (crates/system/tests/mmv).

#![allow(unreachable_pub, reason = "the target and the plain tests have it as a module")]

use tachograph_perflib::{Clock, Rows};
use tachograph_system::mmv::image_providers;

/// Bytes that may be an MMV file: sets that are read can be registered, and collecting gives what was described; else
/// the error has a place in the file.
pub fn mmv(data: &[u8]) {
    let mut sets = match image_providers("fuzz", data) {
        Ok(sets) => sets,
        Err(error) => {
            // An offset of a text may lead anywhere; it is that offset that is told then.
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
        let mut rows = Rows::of_everything(info);
        rows.clear(clock.now());
        set.collect(&mut rows).expect("an image has values");
        let identities: Vec<u64> = rows.instances().iter().map(|instance| instance.identity()).collect();
        assert!(!identities.contains(&0));
        // Every value has 32 bytes in the file; cells without one are left out.
        let told = rows.all_values().iter().filter(|value| value.status.is_good()).count();
        assert!(32 * told <= data.len(), "{told} values of {} bytes", data.len());
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "names of sets");
}

//! Collecting allocates nothing once the instances are known. A separate test program, because it counts allocations.

use std::path::Path;
use std::sync::Arc;

use peak_alloc::PeakAlloc;
use tachograph_perflib::{Clock, Provider, Rows};
use tachograph_system::{Roots, providers};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// A fake machine with block devices that are built on others.
fn stacked(folder: &Path) -> Roots {
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        std::fs::write(path, text).expect("written");
    };
    let device =
        |number: u32, name: &str| format!("   8 {number} {name} 100 10 2000 300 50 5 1000 400 2 500 700\n");
    write(
        "proc/diskstats",
        &[device(0, "sda"), device(1, "sda1"), device(2, "md0"), device(3, "dm-0")].concat(),
    );
    write("sys/block/md0/slaves/sda1/size", "1\n");
    write("sys/block/dm-0/slaves/md0/size", "1\n");
    write("sys/block/md0/md/raid_disks", "2\n");
    Roots {
        root: folder.into(),
        proc: folder.join("proc"),
        sys: folder.join("sys"),
        ..Roots::of_this_machine()
    }
}

/// The bytes allocated by each sample after the third. Samples in which instances appear or disappear are skipped, because
/// other programs start processes and open sockets during the test.
fn allocated(provider: &mut dyn Provider, clock: &Clock) -> Vec<usize> {
    let name = provider.info().name.clone();
    let mut rows = Rows::unfiltered(Arc::clone(provider.info()));
    let mut allocated = Vec::new();
    for sample in 0..43 {
        let known = rows.instances().to_vec();
        rows.clear(clock.now());
        let before = ALLOCATED.current_usage();
        ALLOCATED.reset_peak_usage();
        provider.collect(&mut rows).unwrap_or_else(|failure| panic!("{name}: {failure}"));
        let bytes = ALLOCATED.peak_usage().saturating_sub(before);
        if sample >= 3 && known == rows.instances() {
            allocated.push(bytes);
        }
    }
    assert!(!allocated.is_empty(), "{name}: the instances change all the time");
    allocated
}

/// Collects all counters and instances of a fake machine with stacked devices, and of this machine. This is a single
/// test, because tests run in parallel and would count each other's allocations.
#[test]
fn collecting_allocates_nothing_after_the_third_sample() {
    let clock = Clock::of_this_machine();
    let folder = tempfile::tempdir().expect("a folder");
    let sets = ["Block Device Member", "RAID Array"];
    let mut checked = 0;
    for mut provider in providers(&stacked(folder.path())) {
        if sets.contains(&&*provider.info().name) {
            assert_eq!(allocated(&mut *provider, &clock), [0; 40], "{}", provider.info().name);
            checked += 1;
        }
    }
    assert_eq!(checked, sets.len());
    for mut provider in providers(&Roots::of_this_machine()) {
        let allocated = allocated(&mut *provider, &clock);
        // A process that lived only during the collection is in neither list of instances, but memory may be allocated for
        // it. Therefore only most samples have to be without allocations.
        let without_allocation = allocated.iter().filter(|&&bytes| bytes == 0).count();
        assert!(2 * without_allocation > allocated.len(), "{}: {allocated:?}", provider.info().name);
    }
}

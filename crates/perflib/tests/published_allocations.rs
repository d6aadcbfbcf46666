//! Collecting published sets does not allocate in the steady state, and the memory of removed instances is released.

use std::sync::Arc;

use peak_alloc::PeakAlloc;
use tachograph_counters::CounterType;
use tachograph_counters::path::PathPattern;
use tachograph_perflib::published::Published;
use tachograph_perflib::{Clock, Query, Registry};
use tachograph_shm::{CounterDescription, Description, Guid, InstanceKind, Options, SetFile};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// The peak memory while `action` runs, minus the memory in use before.
fn peak_bytes_of(action: impl FnOnce()) -> usize {
    ALLOCATED.reset_peak_usage();
    let before = ALLOCATED.current_usage();
    action();
    ALLOCATED.peak_usage().saturating_sub(before)
}

#[test]
fn collecting_published_sets_does_not_allocate() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options { folder: Some(folder.path().to_owned()), ..Options::default() };
    let mut kept = Vec::new();
    for (number, kind) in [
        (1, InstanceKind::Multiple),
        (2, InstanceKind::MultipleAggregate),
        (3, InstanceKind::SingleAggregateHistory),
    ] {
        let guid = Guid::from_u128(number);
        let mut description = Description::new(format!("Shop {number}"), guid, kind);
        for id in 1..=5 {
            let counter = CounterDescription::new(id, format!("Counter {id}"), CounterType::BULK_COUNT.0);
            description.counters.push(counter);
        }
        let file = SetFile::create(description, &options).expect("a set");
        file.go_live().expect("a name");
        let slots: Vec<_> =
            (0..50).map(|id| file.create_instance(&format!("x{id}"), id).expect("an instance")).collect();
        kept.push((file, slots));
    }
    let mut registry = Registry::new("HERE", Clock::of_this_machine());
    Published::in_folders(vec![folder.path().to_owned()]).add_to(&mut registry, None);
    let mut query = Query::open(&Arc::new(registry), None).expect("a query");
    for path in [r"\Shop*(*)\*", r"\Shop 3\*"] {
        assert!(!query.add_path(&PathPattern::parse(path).expect("a path")).is_empty(), "{path}");
    }
    // Wait, because a folder that changed recently is listed again by each collection, which allocates.
    std::thread::sleep(std::time::Duration::from_millis(100));
    for _ in 0..3 {
        query.collect();
    }
    let mut allocated_bytes = [0; 20];
    for bytes in &mut allocated_bytes {
        *bytes = peak_bytes_of(|| {
            for _ in 0..50 {
                query.collect();
            }
        });
    }
    // The test harness's thread can allocate at the same time.
    let without_allocation = allocated_bytes.iter().filter(|&&bytes| bytes == 0).count();
    assert!(without_allocation >= 18, "{allocated_bytes:?}");
    let rows: usize = query.sets().iter().map(|set| set.rows().instances().len()).sum();
    assert_eq!(rows, 50 + 51 + 1);
    // The memory of instances that have ended is released.
    let before = ALLOCATED.current_usage();
    for id in 0..10_000 {
        let slot = kept[0].0.create_instance("short-lived", id).expect("an instance");
        query.collect();
        drop(slot);
    }
    query.collect();
    query.collect();
    let left = ALLOCATED.current_usage().saturating_sub(before);
    assert!(left < 20_000, "{left} bytes are left");
}

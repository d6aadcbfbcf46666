//! Sets with aggregates.

use tachograph_perflib::Query;
use tachograph_perflib::block::{Content, Identifier, decode};
use tachograph_shm::{Aggregate, Description, InstanceKind, SetFile, Slot};

use crate::fixtures::{Consumer, publish, rows, set, shop, with_timer};

const PATHS: [&str; 2] = [r"\Shop\Requests/sec", r"\Shop\Open Orders"];

fn instance(file: &SetFile, name: &str, values: [u64; 2]) -> Slot {
    let slot = file.create_instance(name, 0).expect("create instance");
    set(&slot, 0, values[0]);
    set(&slot, 1, values[1]);
    slot
}

/// The description of a set whose gauge is aggregated by its maximum.
fn with_maximum(kind: InstanceKind) -> Description {
    let mut description = shop(kind);
    description.counters[1].aggregate = Aggregate::Maximum;
    description
}

#[test]
fn an_aggregate_set_has_one_row() {
    let folder = tempfile::tempdir().expect("create folder");
    let file = publish(folder.path(), with_maximum(InstanceKind::SingleAggregate));
    let first = instance(&file, "a", [1, 9]);
    let mut consumer = Consumer::new(folder.path(), &PATHS);
    assert_eq!(consumer.collect(), rows([("", [1, 9])]));
    let _second = instance(&file, "b", [10, 5]);
    let other = publish(folder.path(), with_maximum(InstanceKind::SingleAggregate));
    let _third = instance(&other, "a", [100, 7]);
    assert_eq!(consumer.collect(), rows([("", [111, 9])]));
    let before = consumer.identities();
    first.end();
    // In the previous sample, another instance had this name.
    assert_eq!(consumer.collect(), rows([("#1", [110, 7])]));
    assert_ne!(consumer.identities(), before, "a total of other instances has another identity");
}

#[test]
fn a_multiple_aggregate_set_has_the_instances_and_the_total() {
    let folder = tempfile::tempdir().expect("create folder");
    let file = publish(folder.path(), shop(InstanceKind::MultipleAggregate));
    let _slots = [instance(&file, "a", [1, 2]), instance(&file, "b", [3, 4])];
    let all = [r"\Shop(*)\*"];
    let mut consumer = Consumer::new(folder.path(), &all);
    assert_eq!(consumer.collect(), rows([("a", [1, 2]), ("b", [3, 4]), ("_Total", [4, 6])]));
    let identity = consumer.identities()[2];
    let mut alone = Consumer::new(folder.path(), &[r"\Shop(_Total)\*"]);
    assert_eq!(alone.collect(), rows([("_Total", [4, 6])]));
    let mut one = Consumer::new(folder.path(), &[r"\Shop(b)\*"]);
    assert_eq!(one.collect(), rows([("b", [3, 4])]));
    // A new instance starts at 0, so sums continue.
    let third = instance(&file, "c", [0, 0]);
    assert_eq!(consumer.collect().len(), 4);
    assert_eq!(consumer.identities()[3], identity);
    drop(third);
    assert_eq!(consumer.collect().len(), 3);
    // The name is reused after a sample in which it does not occur.
    let names: Vec<_> = consumer.collect().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "b", "_Total"]);
    assert_ne!(consumer.identities()[2], identity);
}

#[test]
fn an_instance_with_the_name_of_the_total_does_not_replace_it() {
    let folder = tempfile::tempdir().expect("create folder");
    let file = publish(folder.path(), shop(InstanceKind::MultipleAggregate));
    let _slots =
        [instance(&file, "_Total", [5, 6]), instance(&file, "_TOTAL", [1, 2]), instance(&file, "a", [3, 4])];
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\*"]);
    let expected = [("_Total#1", [5, 6]), ("_TOTAL#1", [1, 2]), ("a", [3, 4]), ("_Total", [9, 12])];
    assert_eq!(consumer.collect(), rows(expected));

    // A PerfLib consumer uses the plain name, in upper or lower case.
    let guid = consumer.query.sets()[0].rows().info().guid;
    let mut query = Query::open(&consumer.registry, None).expect("open query");
    let names = ["_Total", "_total"];
    let mut identifiers = names.map(|name| Identifier {
        set: guid,
        status: 0,
        counter_id: None,
        instance_id: None,
        index: 0,
        name: name.into(),
    });
    query.add(&mut identifiers);
    query.collect();
    let mut bytes = Vec::new();
    query.data(&mut bytes).expect("a block");
    let block = decode(&bytes).expect("a block");
    for result in block.results() {
        let Content::MultipleCounters(_, values) = result.content() else { panic!("{result:?}") };
        let values: Vec<_> = values.collect();
        assert_eq!(values, [Some(9), Some(12)], "{result:?}");
    }
    assert_eq!(block.results().count(), names.len());
}

#[test]
fn ended_instances_stay_in_the_history() {
    let folder = tempfile::tempdir().expect("create folder");
    let file = publish(folder.path(), with_maximum(InstanceKind::SingleAggregateHistory));
    let first = instance(&file, "a", [1, 9]);
    let _second = instance(&file, "b", [10, 5]);
    let mut consumer = Consumer::new(folder.path(), &PATHS);
    assert_eq!(consumer.collect(), rows([("", [11, 9])]));
    let before = consumer.identities();
    first.end();
    assert_eq!(consumer.collect(), rows([("", [11, 9])]));
    assert_eq!(consumer.identities(), before, "the total continues");
    drop(file);
    drop((first, _second));
    assert_eq!(consumer.collect(), rows::<2, 0>([]));
}

/// Instances start and end continuously; their values are never lost or counted twice.
#[test]
fn a_history_is_consistent_while_instances_end() {
    let folder = tempfile::tempdir().expect("create folder");
    let file = publish(folder.path(), with_timer(shop(InstanceKind::SingleAggregateHistory)));
    let _stays = instance(&file, "stays", [1, 1]);
    let mut consumer = Consumer::new(folder.path(), &PATHS[..1]);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..20_000_u64 {
                let slot = file.create_instance("x", 0).expect("create instance");
                set(&slot, 0, 1);
                drop(slot);
                if round % 16 == 0 {
                    std::thread::yield_now();
                }
            }
            is_over.store(true, std::sync::atomic::Ordering::Release);
        });
        let mut last = 0;
        while !is_over.load(std::sync::atomic::Ordering::Acquire) {
            consumer.query.collect();
            let queried = &consumer.query.sets()[0];
            // Too many changes during the read are reported as an error.
            let Ok(()) = queried.outcome() else { continue };
            let now = queried.rows().values(0)[0].first;
            assert!(now >= last && now <= 20_001, "{now} after {last}");
            last = now;
        }
    });
    assert_eq!(consumer.collect(), rows([("", [20_001])]));
}

//! Encoding and decoding again returns the same names and numbers, whatever they are.

use crate::checks;

use checks::{Owned, owned, write};
use proptest::collection::vec;
use proptest::prelude::*;
use tachograph_counters::civil::FileTime;
use tachograph_perflib::Guid;
use tachograph_perflib::block::{
    DecodeOptions, Identifier, Stamp, decode_identifiers, decode_instances, decode_with, push_instance,
};

fn ids() -> impl Strategy<Value = Vec<u32>> {
    prop_oneof![
        proptest::collection::hash_set(0..u32::MAX, 1..6),
        proptest::collection::hash_set(0..300u32, 60..80)
    ]
    .prop_map(|ids| ids.into_iter().collect())
}

fn rows(values: usize) -> impl Strategy<Value = Vec<checks::Row>> {
    vec(("[a-c#/ 0-9äß😀_*()]{0,9}", any::<u32>(), vec(any::<Option<u64>>(), values)), 0..5)
}

fn results() -> impl Strategy<Value = Vec<Owned>> {
    let result = prop_oneof![
        (1..u32::MAX).prop_map(Owned::Error),
        any::<Option<u64>>().prop_map(Owned::Single),
        ids().prop_flat_map(|ids| {
            vec(any::<Option<u64>>(), ids.len()).prop_map(move |values| Owned::Counters(ids.clone(), values))
        }),
        rows(1).prop_map(Owned::Instances),
        ids().prop_flat_map(|ids| rows(ids.len()).prop_map(move |rows| Owned::CounterSet(ids.clone(), rows))),
    ];
    vec(result, 0..6)
}

proptest! {
    #[test]
    fn blocks_round_trip(
        results in results(),
        ticks in any::<i64>(),
        frequency in 1..i64::MAX,
        time in any::<i64>(),
    ) {
        let stamp = Stamp { ticks, frequency, system_time: FileTime(time) };
        let mut out = Vec::new();
        write(&stamp, &results, &mut out).unwrap();
        let block = decode_with(&out, DecodeOptions::CONSUMER).unwrap();
        prop_assert_eq!(block.total_bytes(), out.len());
        prop_assert_eq!(block.stamp(), stamp);
        prop_assert_eq!(owned(&block), results);
    }

    #[test]
    fn instance_lists_round_trip(rows in rows(0)) {
        let mut out = Vec::new();
        for (name, id, _) in &rows {
            push_instance(&mut out, name, *id).unwrap();
        }
        let read: Vec<_> = decode_instances(&out).unwrap().map(|i| (i.name.to_string(), i.id, vec![])).collect();
        prop_assert_eq!(read, rows);
    }

    #[test]
    fn identifiers_round_trip(
        set in any::<u128>(),
        numbers in any::<(u32, u32)>(),
        ids in (proptest::option::of(0..u32::MAX), proptest::option::of(0..u32::MAX)),
        name in "[a-c#/ 0-9äß😀_*?()]{0,9}",
    ) {
        let identifier = Identifier {
            set: Guid::from_u128(set),
            status: numbers.0,
            counter_id: ids.0,
            instance_id: ids.1,
            index: numbers.1,
            name,
        };
        let mut out = Vec::new();
        identifier.push(&mut out).unwrap();
        identifier.push(&mut out).unwrap();
        let read: Vec<_> = decode_identifiers(&out).unwrap().collect();
        prop_assert_eq!(read, [Ok(identifier.clone()), Ok(identifier)]);
    }
}

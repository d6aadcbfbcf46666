//! Checks that PerfLib's decoders must pass for any bytes, one function per fuzz target. They also run on the
//! checked-in seeds as a plain test (crates/perflib/tests/all/hostile_seeds.rs).

#![allow(dead_code, unreachable_pub, reason = "each target uses one function of this module")]

use tachograph_perflib::ErrorCode;
use tachograph_perflib::block::{
    Block, BlockWriter, Content, DecodeOptions, Instances, Stamp, WriteError, decode, decode_identifiers,
    decode_instances, decode_with, push_instance, write_statuses,
};
use tachograph_perflib::registration::{
    Request, decode_counter, decode_guid, decode_set, decode_strings, decode_text, encode,
};

/// Name, number and values of an instance.
pub type Row = (String, u32, Vec<Option<u64>>);

/// An owned result.
#[derive(Clone, Debug, PartialEq)]
pub enum Owned {
    Error(u32),
    Single(Option<u64>),
    Counters(Vec<u32>, Vec<Option<u64>>),
    Instances(Vec<Row>),
    CounterSet(Vec<u32>, Vec<Row>),
}

/// The results of a block.
pub fn owned(block: &Block<'_>) -> Vec<Owned> {
    let results = block.results();
    let count = results.len();
    let owned: Vec<_> = results
        .map(|result| {
            result.expect_kind(result.kind()).expect("its own kind");
            match result.content() {
                Content::Error(code) => Owned::Error(code.0),
                Content::SingleCounter(value) => Owned::Single(value),
                Content::MultipleCounters(ids, values) => {
                    assert_eq!(ids.len(), values.len());
                    Owned::Counters(ids.iter().collect(), values.collect())
                }
                Content::MultipleInstances(instances) => Owned::Instances(rows(instances, 1)),
                Content::CounterSet(instances) => {
                    let ids = instances.ids().expect("ids");
                    assert!(!ids.is_empty());
                    Owned::CounterSet(ids.iter().collect(), rows(instances, ids.len()))
                }
            }
        })
        .collect();
    assert_eq!(owned.len(), count);
    block.expect_results(count).expect("the same number");
    owned
}

fn rows(instances: Instances<'_>, values: usize) -> Vec<Row> {
    let count = instances.len();
    let rows: Vec<_> = instances
        .map(|instance| (instance.name().to_string(), instance.id(), instance.values().collect::<Vec<_>>()))
        .collect();
    assert_eq!(rows.len(), count);
    assert!(rows.iter().all(|(_, _, row)| row.len() == values));
    rows
}

/// Writes results as a block.
pub fn write(stamp: &Stamp, results: &[Owned], out: &mut Vec<u8>) -> Result<(), WriteError> {
    let mut block = BlockWriter::begin(out, stamp);
    for result in results {
        let (mut instances, rows) = match result {
            Owned::Error(code) => {
                block.error(ErrorCode(*code))?;
                continue;
            }
            Owned::Single(value) => {
                block.single_counter(*value)?;
                continue;
            }
            Owned::Counters(ids, values) => {
                block.multiple_counters(ids, values)?;
                continue;
            }
            Owned::Instances(rows) => (block.multiple_instances()?, rows),
            Owned::CounterSet(ids, rows) => (block.counterset(ids)?, rows),
        };
        for (name, id, values) in rows {
            instances.instance(name, *id)?;
            values.iter().try_for_each(|&value| instances.value(value))?;
        }
        instances.close()?;
    }
    block.finish()
}

/// Input: bytes that may be a raw data block, an instance list or identifiers. Decoded data survives encoding and
/// decoding, and the lenient decoder accepts whatever the strict one does.
pub fn perflib_block(data: &[u8]) {
    let mut again = Vec::new();
    match decode_with(data, DecodeOptions::CONSUMER) {
        Ok(block) => {
            assert!(block.total_bytes() <= data.len());
            let results = owned(&block);
            if let Ok(strict) = decode(data) {
                assert_eq!(owned(&strict), results);
            }
            write(&block.stamp(), &results, &mut again).expect("what was read can be written");
            let block_again =
                decode_with(&again, DecodeOptions::CONSUMER).expect("what was written can be read");
            assert_eq!(block_again.stamp(), block.stamp());
            assert_eq!(owned(&block_again), results);
        }
        Err(error) => {
            assert_eq!(error.code(), ErrorCode::INVALID_DATA);
            assert!(error.offset <= data.len(), "{error}");
            assert!(decode(data).is_err());
        }
    }

    match decode_instances(data) {
        Ok(list) => {
            again.clear();
            list.clone().for_each(|i| push_instance(&mut again, &i.name.to_string(), i.id).expect("small"));
            let names = decode_instances(&again).expect("what was written can be read");
            assert!(names.map(|i| (i.name.to_string(), i.id)).eq(list.map(|i| (i.name.to_string(), i.id))));
        }
        Err(error) => assert_eq!(error.code(), ErrorCode::INVALID_DATA),
    }

    let mut bytes = data.to_vec();
    let statuses = write_statuses(&mut bytes, std::iter::repeat(3));
    match decode_identifiers(data) {
        Ok(identifiers) => {
            statuses.expect("the same check");
            for identifier in decode_identifiers(&bytes).expect("the sizes are the same").flatten() {
                assert_eq!(identifier.status, 3);
            }
            for identifier in identifiers.flatten() {
                again.clear();
                identifier.push(&mut again).expect("small");
                let mut decoded = decode_identifiers(&again).expect("what was written can be read");
                assert_eq!(decoded.next(), Some(Ok(identifier)));
                assert_eq!(decoded.next(), None);
            }
        }
        Err(error) => {
            assert_eq!(error.code(), ErrorCode::INVALID_PARAMETER);
            assert!(statuses.is_err() && bytes == data);
        }
    }
}

/// Input: bytes that may be registration data. A decoded set can be registered, and survives encoding and decoding.
pub fn perflib_registration(data: &[u8]) {
    match decode_set(data) {
        Ok(set) => {
            set.check().unwrap_or_else(|error| panic!("{error}"));
            let mut bytes = Vec::new();
            encode(&set, Request::CounterSet, &mut bytes).expect("small");
            assert_eq!(decode_set(&bytes), Ok(set));
        }
        Err(error) => assert_eq!(error.code(), ErrorCode::INVALID_REGISTRATION),
    }
    match decode_counter(data) {
        Ok(counter) => assert_ne!(counter.id, u32::MAX),
        Err(error) => assert_eq!(error.code(), ErrorCode::INVALID_REGISTRATION),
    }
    match decode_strings(data) {
        Ok(strings) => {
            assert_eq!(strings.iter().len(), strings.len());
            for (_, text) in strings.iter().take(1000) {
                assert!(text.is_none_or(|text| 2 * text.len() + 2 <= data.len()));
            }
        }
        Err(error) => assert_eq!(error.code(), ErrorCode::INVALID_DATA),
    }
    match decode_text(data) {
        Ok(text) => assert_eq!(2 * text.len() + 2, data.len()),
        Err(error) => assert_eq!(error.code(), ErrorCode::INVALID_DATA),
    }
    assert_eq!(decode_guid(data).is_ok(), data.len() == 16);
}

use tachograph_counters::civil::FileTime;

use super::{BlockWriter, Stamp, WriteError};
use crate::ErrorCode;
use crate::block::decode_with;
use crate::block::{Content, DecodeOptions, decode};

const STAMP: Stamp = Stamp { ticks: 0, frequency: 1, system_time: FileTime::UNIX_EPOCH };

#[test]
fn results_beyond_the_size_limit_are_rejected() {
    let mut out = Vec::new();
    let mut block = BlockWriter::begin(&mut out, &STAMP);
    block.max_bytes = 48 + 32 + 16;
    block.single_counter(Some(1)).unwrap();
    assert_eq!(block.single_counter(Some(2)), Err(WriteError::TooLarge));
    assert_eq!(block.multiple_counters(&[1], &[None]), Err(WriteError::TooLarge));
    assert_eq!(block.multiple_instances().err(), Some(WriteError::TooLarge));
    assert_eq!(block.counterset(&[1]).err(), Some(WriteError::TooLarge));
    assert_eq!(block.results(), 1);
    block.error(ErrorCode::OUT_OF_MEMORY).unwrap();
    assert_eq!(block.error(ErrorCode::OUT_OF_MEMORY), Err(WriteError::TooLarge));
    block.finish().unwrap();
    assert_eq!(out.len(), 96);
    assert_eq!(decode(&out).unwrap().results().len(), 2);
}

#[test]
fn instances_within_the_size_limit_are_kept() {
    let mut out = Vec::new();
    let mut block = BlockWriter::begin(&mut out, &STAMP);
    block.max_bytes = 48 + 16 + 8 + 2 * 32 - 8;
    let mut instances = block.multiple_instances().unwrap();
    instances.instance("abc", 1).unwrap();
    instances.value(None).unwrap();
    assert_eq!(instances.instance("b", 2), Err(WriteError::TooLarge));
    instances.close().unwrap();
    block.finish().unwrap();
    assert_eq!(out.len(), 104);
    let block = decode_with(&out, DecodeOptions::CONSUMER).unwrap();
    let Some(Content::MultipleInstances(mut instances)) = block.results().next().map(|r| r.content()) else {
        panic!("{block:?}")
    };
    assert_eq!(instances.len(), 1);
    assert!(instances.next().unwrap().values().eq([None]));
}

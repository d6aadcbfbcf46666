//! Encodes and decodes the example blocks of the reference (`blocks_vectors.rs`), with the writers and from raw
//! structures.

use crate::blocks_vectors;
use crate::checks;

use blocks_vectors as vectors;
use checks::{Owned, owned, write};
use tachograph_counters::civil::FileTime;
use tachograph_perflib::block::raw::{
    CounterData, CounterSetInstance, CounterSetTemplate, CounterTemplate, DataHeader, InstanceHeader,
    MultiCounters, MultiInstances, ResultHeader,
};
use tachograph_perflib::block::{
    BlockWriter, CallError, Content, DecodeOptions, Expected, Found, Identifier, Kind, MAX_NAME_UNITS, Rule,
    Stamp, WriteError, decode, decode_identifiers, decode_instances, decode_with, grow_and_retry,
    push_instance, write_statuses,
};
use tachograph_perflib::{ErrorCode, Guid};
use zerocopy::{FromBytes, IntoBytes};

const STAMP: Stamp =
    Stamp { ticks: 2_006_530_743_703, frequency: 2_630_633, system_time: FileTime(131_246_703_908_743_382) };

const SET: Guid = Guid::from_u128(0x1234_5678_9abc_def0_1122_3344_5566_7788);

/// A row of the reference.
fn row(name: &str, id: u32, values: &[u64]) -> checks::Row {
    (name.into(), id, values.iter().copied().map(Some).collect())
}

/// The contents of the reference's blocks.
fn reference_contents() -> [(&'static str, Vec<Owned>); 6] {
    [
        (vectors::A, vec![Owned::Error(0x106A)]),
        (vectors::B, vec![Owned::Single(Some(0x0123_4567_89AB_CDEF))]),
        (vectors::C, vec![Owned::Counters(vec![1, 4, 6], vec![Some(100), Some(5_000_000_000), Some(7)])]),
        (
            vectors::D,
            vec![Owned::Instances(vec![
                row("0,0", 0, &[4_903_144_765_625]),
                row("_Total", 1, &[9_800_000_000_000]),
            ])],
        ),
        (
            vectors::E,
            vec![Owned::CounterSet(
                vec![0, 3],
                vec![
                    row("0,0", 0, &[4_903_144_765_625, 574_088_259]),
                    row("0,_Total", 1, &[4_903_144_765_625, 574_088_259]),
                ],
            )],
        ),
        (vectors::M, vec![Owned::Single(Some(42)), Owned::Error(0x106A)]),
    ]
}

#[test]
fn blocks_of_the_reference_are_decoded() {
    for (hexadecimal, expected) in reference_contents() {
        let bytes = vectors::bytes(hexadecimal);
        for options in [DecodeOptions::default(), DecodeOptions::CONSUMER] {
            let block = decode_with(&bytes, options).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(block.stamp(), STAMP);
            assert_eq!(block.total_bytes(), bytes.len());
            assert_eq!(owned(&block), expected);
        }
    }
}

/// The writer writes every value with 8 bytes, so examples with values of 4 bytes are adjusted.
#[test]
fn blocks_of_the_reference_are_encoded() {
    let mut out = Vec::new();
    for (hexadecimal, results) in reference_contents() {
        write(&STAMP, &results, &mut out).unwrap();
        assert_eq!(owned(&decode(&out).unwrap()), results);
        let mut expected = vectors::bytes(hexadecimal);
        // Blocks with values of 4 bytes differ from the writer's output only in the data size.
        let narrow: &[usize] = match hexadecimal {
            vectors::C => &[0x58, 0x78],
            vectors::E => &[0x78, 0xB8],
            vectors::M => &[0x40],
            _ => &[],
        };
        for &at in narrow {
            assert_eq!(expected[at], 4);
            expected[at] = 8;
        }
        assert_eq!(out, expected);
    }
}

/// Block E, built from structures.
#[test]
fn raw_structures_match_the_reference() {
    let header = DataHeader {
        total_bytes: 200.into(),
        result_count: 1.into(),
        ticks: STAMP.ticks.into(),
        system_time_100ns: STAMP.system_time.0.into(),
        frequency: STAMP.frequency.into(),
        system_time: [2016u16, 11, 6, 26, 21, 46, 30, 874].map(Into::into),
    };
    let result = ResultHeader {
        status: 0.into(),
        kind: Kind::CounterSet.number().into(),
        bytes: 152.into(),
        reserved: 0.into(),
    };
    let mut built = Vec::new();
    built.extend(header.as_bytes());
    built.extend(result.as_bytes());
    built.extend(MultiCounters { bytes: 16.into(), counter_count: 2.into() }.as_bytes());
    built.extend([0u32, 3].map(u32::to_le_bytes).concat());
    built.extend(MultiInstances { total_bytes: 120.into(), instance_count: 2.into() }.as_bytes());
    for (name, id, bytes) in [("0,0", 0, 16), ("0,_Total", 1, 32)] {
        let end = built.len() + bytes as usize;
        built.extend(InstanceHeader { bytes: bytes.into(), id: id.into() }.as_bytes());
        built.extend(name.encode_utf16().flat_map(u16::to_le_bytes));
        built.resize(end, 0);
        built.extend(CounterData { data_bytes: 8.into(), bytes: 16.into() }.as_bytes());
        built.extend(4_903_144_765_625u64.to_le_bytes());
        built.extend(CounterData { data_bytes: 4.into(), bytes: 16.into() }.as_bytes());
        built.extend(574_088_259u64.to_le_bytes());
    }
    assert_eq!(built, vectors::bytes(vectors::E));
}

#[test]
fn provider_structures_match_the_reference() {
    let bytes = vectors::bytes(vectors::K);
    let (set, rest) = CounterSetTemplate::ref_from_prefix(&bytes).unwrap();
    assert_eq!(Guid::from_bytes(set.set), SET);
    assert_eq!(Guid::from_bytes(set.provider).to_string(), "{0fedcba9-8765-4321-8899-aabbccddeeff}");
    assert_eq!((set.counter_count.get(), set.instance_type.get()), (2, 2));
    let counters = <[CounterTemplate]>::ref_from_bytes(rest).unwrap();
    let fields =
        counters.iter().map(|c| (c.id.get(), c.counter_type.get(), c.data_bytes.get(), c.detail_level.get()));
    assert!(fields.eq([(1, 0x1041_0500, 8, 100), (2, 0x0001_0000, 4, 100)]));
    assert!(counters.iter().all(|c| c.attributes == 0 && c.scale == 0 && c.offset == 0));
    assert_eq!([set.as_bytes(), counters.as_bytes()].concat(), bytes);

    let bytes = vectors::bytes(vectors::L);
    let (instance, values) = CounterSetInstance::ref_from_prefix(&bytes).unwrap();
    assert_eq!(Guid::from_bytes(instance.set), SET);
    assert_eq!((instance.bytes.get(), instance.id.get()), (64, 5));
    assert_eq!((instance.name_offset.get(), instance.name_bytes.get()), (0x30, 12));
    assert_eq!(values[..16], [1234u64.to_le_bytes(), 9u64.to_le_bytes()].concat());
    assert_eq!(bytes[0x30..0x3C], "disk0\0".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
}

#[test]
fn instance_lists_match_the_reference() {
    let mut out = Vec::new();
    push_instance(&mut out, "_Total", 0).unwrap();
    push_instance(&mut out, "C:", 1).unwrap();
    assert_eq!(out, vectors::bytes(vectors::H));
    let list: Vec<_> = decode_instances(&out).unwrap().map(|i| (i.name.to_string(), i.id)).collect();
    assert_eq!(list, [("_Total".into(), 0), ("C:".into(), 1)]);
    assert_eq!(decode_instances(&[]).unwrap().count(), 0);
}

#[test]
fn identifiers_match_the_reference() {
    let processor: Guid = "{b4fc721a-0378-476f-89ba-a5a79f810b36}".parse().unwrap();
    let all = Identifier::new(processor, "*");
    let seven = Identifier { counter_id: Some(7), ..Identifier::new(SET, "") };
    let mut out = Vec::new();
    all.push(&mut out).unwrap();
    assert_eq!(out, vectors::bytes(vectors::F));
    seven.push(&mut out).unwrap();
    assert_eq!(out[48..], vectors::bytes(vectors::G));
    let decoded: Vec<_> = decode_identifiers(&out).unwrap().collect();
    assert_eq!(decoded, [Ok(all.clone()), Ok(seven.clone())]);

    // For a single-instance set, 48 bytes with an empty name are accepted too.
    let mut long = vectors::bytes(vectors::G);
    long[20] = 48;
    long.extend([0; 8]);
    assert_eq!(decode_identifiers(&long).unwrap().collect::<Vec<_>>(), [Ok(seven.clone())]);

    write_statuses(&mut out, [0, 4202, 9]).unwrap();
    let statuses: Vec<_> = decode_identifiers(&out).unwrap().map(|i| i.map(|i| i.status)).collect();
    assert_eq!(statuses, [Ok(0), Ok(4202)]);
    write_statuses(&mut out, [5]).unwrap();
    let statuses: Vec<_> = decode_identifiers(&out).unwrap().map(|i| i.map(|i| i.status)).collect();
    assert_eq!(statuses, [Ok(5), Ok(4202)]);
}

#[test]
fn empty_blocks_are_decoded() {
    let mut out = Vec::new();
    write(&STAMP, &[], &mut out).unwrap();
    assert_eq!(out.len(), 48);
    assert_eq!(decode(&out).unwrap().results().len(), 0);
    let results = [Owned::CounterSet(vec![9, 2], vec![]), Owned::Instances(vec![])];
    write(&STAMP, &results, &mut out).unwrap();
    assert_eq!(owned(&decode(&out).unwrap()), results);
}

/// Tachograph's form of a missing value: 16 bytes with data size 0.
#[test]
fn missing_values_need_the_option() {
    let mut out = Vec::new();
    let results = [Owned::Single(None), Owned::Counters(vec![5, 2], vec![None, Some(0)])];
    write(&STAMP, &results, &mut out).unwrap();
    assert_eq!(out[0x40..0x50], [0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(decode(&out).unwrap_err().rule, Rule::ValueWidth);
    let options = DecodeOptions { allow_missing_values: true, ..DecodeOptions::default() };
    assert_eq!(owned(&decode_with(&out, options).unwrap()), results);
    // A missing value must be 16 bytes long.
    let mut wide = vectors::bytes(vectors::B);
    wide.extend([0; 8]);
    for (at, value) in [(0x00, 88), (0x38, 40), (0x40, 0), (0x44, 24)] {
        wide[at] = value;
    }
    assert_eq!(decode_with(&wide, options).unwrap_err().rule, Rule::ValueWidth);
    wide[0x40] = 8;
    assert_eq!(owned(&decode(&wide).unwrap()), [Owned::Single(Some(0x0123_4567_89AB_CDEF))]);
}

#[test]
fn a_result_with_data_and_an_error_does_not_affect_others() {
    let mut bytes = vectors::bytes(vectors::M);
    bytes[0x30] = 5;
    let error = decode(&bytes).unwrap_err();
    assert_eq!((error.rule, error.offset, error.found), (Rule::DataWithErrorStatus, 0x30, Found::Number(5)));
    let options = DecodeOptions { allow_failed_data: true, ..DecodeOptions::default() };
    let block = decode_with(&bytes, options).unwrap();
    assert_eq!(owned(&block), [Owned::Error(5), Owned::Error(0x106A)]);
    assert_eq!(block.results().next().unwrap().kind(), Kind::Error);
}

#[test]
fn results_must_match_the_query() {
    let bytes = vectors::bytes(vectors::E);
    let block = decode(&bytes).unwrap();
    block.expect_results(1).unwrap();
    let error = block.expect_results(2).unwrap_err();
    assert_eq!(
        (error.rule, error.found, error.expected),
        (Rule::ResultCount, Found::Number(1), Expected::Exactly(2))
    );
    let result = block.results().next().unwrap();
    assert_eq!(result.offset(), 0x30);
    result.expect_kind(Kind::for_query(true, true)).unwrap();
    let error = result.expect_kind(Kind::for_query(false, true)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "offset 0x34: H5: the kind of a result is unknown or does not match the query (found 6, expected 4)"
    );
    // Errors match any query.
    let bytes = vectors::bytes(vectors::A);
    decode(&bytes).unwrap().results().next().unwrap().expect_kind(Kind::SingleCounter).unwrap();
    for kind in [0, 1, 2, 4, 6] {
        assert_eq!(Kind::from_number(kind).unwrap().number(), kind);
    }
    assert!([3, 5, 7, 8, u32::MAX].into_iter().all(|kind| Kind::from_number(kind).is_none()));
}

/// The size of the ids can include or exclude the padding of an odd number of ids.
#[test]
fn ids_with_and_without_padding_in_their_size_are_decoded() {
    let mut bytes = vectors::bytes(vectors::C);
    bytes[0x40] = 20;
    assert_eq!(owned(&decode(&bytes).unwrap()), reference_contents()[2].1);
}

#[test]
fn names_are_truncated_without_nuls() {
    let mut out = Vec::new();
    let astral = "😀".repeat(600);
    for (name, read) in [
        ("", ""),
        ("a\0b", "ab"),
        (&*"x".repeat(2000), &*"x".repeat(MAX_NAME_UNITS)),
        // 1023 is odd: the last surrogate pair is omitted.
        (&*astral, &*"😀".repeat(511)),
        ("ä\u{FFFF}\u{7}", "ä\u{FFFF}\u{7}"),
    ] {
        out.clear();
        push_instance(&mut out, name, 1).unwrap();
        assert_eq!(out.len() % 8, 0);
        let decoded = decode_instances(&out).unwrap().next().unwrap();
        assert!(decoded.name == read, "{:?}", decoded.name);
        assert_eq!(decoded.name.to_string(), read);
        let mut text = "-".to_owned();
        decoded.name.push_to(&mut text);
        assert_eq!(text[1..], *read);
        assert_eq!(
            (decoded.name.len(), decoded.name.is_empty()),
            (read.encode_utf16().count(), read.is_empty())
        );
        out.clear();
        Identifier::new(SET, name).push(&mut out).unwrap();
        assert_eq!(decode_identifiers(&out).unwrap().next().unwrap().unwrap().name, read);
    }
}

#[test]
fn wrong_calls_of_the_writer_are_errors() {
    let mut out = Vec::new();
    let mut block = BlockWriter::begin(&mut out, &STAMP);
    assert_eq!(block.error(ErrorCode(0)), Err(WriteError::NoErrorCode));
    assert_eq!(block.counterset(&[]).err(), Some(WriteError::Ids));
    assert_eq!(block.counterset(&[u32::MAX]).err(), Some(WriteError::Ids));
    assert_eq!(block.counterset(&vec![0; 65_537]).err(), Some(WriteError::Ids));
    assert_eq!(block.multiple_counters(&[], &[]), Err(WriteError::Ids));
    let wrong = WriteError::Values { found: 2, expected: 1 };
    assert_eq!(block.multiple_counters(&[1], &[None, None]), Err(wrong));
    assert_eq!(wrong.code(), ErrorCode::INVALID_DATA);
    assert_eq!(WriteError::TooLarge.code(), ErrorCode::OUT_OF_MEMORY);

    let mut instances = block.counterset(&[1, 2]).unwrap();
    assert_eq!(instances.value(None), Err(WriteError::Values { found: 1, expected: 0 }));
    instances.instance("a", 0).unwrap();
    instances.value(Some(1)).unwrap();
    assert_eq!(instances.instance("b", 0), Err(WriteError::Values { found: 1, expected: 2 }));
    instances.value(Some(2)).unwrap();
    assert_eq!(instances.value(Some(3)), Err(WriteError::Values { found: 3, expected: 2 }));
    instances.close().unwrap();

    let mut instances = block.multiple_instances().unwrap();
    instances.instance("unfinished", 0).unwrap();
    assert_eq!(instances.close(), Err(WriteError::Values { found: 0, expected: 1 }));
    block.error(ErrorCode::TIMEOUT).unwrap();
    block.multiple_instances().unwrap().instance("unfinished too", 0).unwrap();
    assert_eq!(block.results(), 2);
    block.finish().unwrap();
    let expected = [Owned::CounterSet(vec![1, 2], vec![row("a", 0, &[1, 2])]), Owned::Error(1460)];
    assert_eq!(owned(&decode(&out).unwrap()), expected);

    let without_frequency = Stamp { frequency: 0, ..STAMP };
    assert_eq!(BlockWriter::begin(&mut out, &without_frequency).finish(), Err(WriteError::NoFrequency));
}

#[test]
fn a_large_enough_buffer_is_not_reallocated() {
    let results = reference_contents().map(|(_, results)| results).concat();
    let mut out = Vec::new();
    write(&STAMP, &results, &mut out).unwrap();
    let (address, capacity, first) = (out.as_ptr(), out.capacity(), out.clone());
    for _ in 0..10 {
        write(&STAMP, &results, &mut out).unwrap();
    }
    assert_eq!((out.as_ptr(), out.capacity()), (address, capacity));
    assert_eq!(out, first);
}

#[test]
fn trailing_bytes_are_ignored() {
    let mut bytes = vectors::bytes(vectors::B);
    bytes.extend([0xFF; 11]);
    let block = decode(&bytes).unwrap();
    assert_eq!(block.total_bytes(), 80);
    assert_eq!(block.header().total_bytes, 80);
    assert!(matches!(block.results().next().unwrap().content(), Content::SingleCounter(Some(_))));
}

#[test]
fn grow_and_retry_grows_the_buffer() {
    let mut buffer = Vec::new();
    let mut sizes = vec![];
    let written = grow_and_retry(&mut buffer, |room| {
        sizes.push(room.len());
        // The data grows from 10 to 20 between the calls.
        let needed = if sizes.len() == 1 { 10 } else { 20 };
        if room.len() < needed { Err(CallError::TooSmall(needed)) } else { Ok(needed) }
    });
    assert_eq!(written.unwrap().len(), 20);
    assert_eq!(sizes, [0, 10, 20]);
    let mut calls = 0;
    let error = grow_and_retry(&mut buffer, |room| {
        calls += 1;
        Err(CallError::TooSmall(room.len() + 1))
    });
    assert_eq!((error, calls), (Err(ErrorCode::INVALID_DATA), 16));
    assert_eq!(
        grow_and_retry(&mut buffer, |_| Err(CallError::TooSmall(usize::MAX))),
        Err(ErrorCode::INVALID_DATA)
    );
    assert_eq!(grow_and_retry(&mut buffer, |room| Ok(room.len() + 1)), Err(ErrorCode::INVALID_DATA));
    let denied = ErrorCode::ACCESS_DENIED;
    assert_eq!(grow_and_retry(&mut buffer, |_| Err(CallError::Failed(denied))), Err(denied));
}

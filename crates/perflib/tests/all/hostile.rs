//! Invalid blocks: one case per rule in the reference's section 6, and arbitrary bytes.

use crate::blocks_vectors;
use crate::checks;
use crate::reference_cases::{Case, Change, REFERENCE_CASES, changed};

use blocks_vectors as vectors;
use proptest::collection::vec;
use proptest::prelude::*;
use tachograph_perflib::ErrorCode;
use tachograph_perflib::block::{
    BlockError, DecodeOptions, Found, Rule, decode, decode_identifiers, decode_instances, decode_with,
};

use Change::{Cut, Put};

/// Cases for rules without a case in the table.
#[rustfmt::skip]
const OTHER_CASES: [Case; 14] = [
    (vectors::B, &[Put(0x00, 0x40), Put(0x38, 0x10)], Some(Rule::ValueHeaderMissing), 0x40, 0),
    (vectors::E, &[Put(0x1C, 0x8000_0000)], Some(Rule::ClockFrequency), 0x18, -9_223_372_036_852_145_175),
    (vectors::E, &[Put(0x38, 0x94)], Some(Rule::ResultSizeUnaligned), 0x38, 148),
    (vectors::A, &[Put(0x30, 0x106A + 1), Put(0x00, 0x38)], Some(Rule::ResultCount), 0x04, 1),
    (vectors::B, &[Put(0x34, 0), Put(0x30, 9)], Some(Rule::BytesAfterContent), 0x40, 16),
    (vectors::E, &[Put(0x04, 2), Put(0x38, 0x10)], Some(Rule::IdsHeaderMissing), 0x40, 0),
    (vectors::E, &[Put(0x40, 0x12)], Some(Rule::IdsSizeUnaligned), 0x40, 18),
    (vectors::E, &[Put(0x48, 0xFFFF_FFFF), Put(0x4C, 0xFFFF_FFFF)], Some(Rule::WildcardId), 0x48, 0xFFFF_FFFF),
    (vectors::E, &[Put(0x04, 2), Put(0x38, 0x20)], Some(Rule::InstancesHeaderMissing), 0x50, 0),
    (vectors::E, &[Put(0x50, 0x74)], Some(Rule::InstancesSizeUnaligned), 0x50, 116),
    // The first instance extends into the second.
    (vectors::E, &[Put(0x58, 0x50)], Some(Rule::InstanceHeaderMissing), 0xC8, 0),
    (vectors::E, &[Put(0x58, 0x60)], Some(Rule::ValueHeaderMissing), 0xC8, 0),
    // The instances are interpreted as ids.
    (vectors::D, &[Put(0x34, 6)], Some(Rule::InstancesHeaderMissing), 0x90, 0),
    (vectors::E, &[Put(0x00, 0xC0), Put(0x38, 0x90), Put(0x50, 0x70)], Some(Rule::ValueSizeTooLarge), 0xBC, 16),
];

#[track_caller]
fn check(cases: &[Case]) {
    for &(block, changes, rule, offset, found) in cases {
        let bytes = changed(block, changes);
        match (decode(&bytes), rule) {
            (Ok(block), None) => assert!(!checks::owned(&block).is_empty()),
            (Err(error), Some(rule)) => {
                let expected = (rule, offset, Found::Number(found));
                assert_eq!((error.rule, error.offset, error.found), expected, "{changes:x?}: {error}");
                assert_eq!(error.code(), ErrorCode::INVALID_DATA);
                assert!(error.to_string().starts_with(&format!("offset {offset:#x}: {rule}: ")));
            }
            (result, rule) => panic!("{changes:x?}: {result:?} instead of {rule:?}"),
        }
    }
}

#[test]
fn changed_blocks_of_the_reference_violate_rules() {
    check(&REFERENCE_CASES);
}

#[test]
fn other_changed_blocks_violate_rules() {
    check(&OTHER_CASES);
}

#[test]
fn lone_surrogates_are_replaced() {
    let bytes = changed(vectors::E, &[Put(0x60, 0xD800_D800)]);
    let checks::Owned::CounterSet(_, rows) = &checks::owned(&decode(&bytes).unwrap())[0] else { panic!() };
    assert_eq!(rows[0].0, "\u{FFFD}\u{FFFD}0");
}

/// A block with one result of kind 6 with these ids and no instances.
fn with_ids(ids: &[u32]) -> Vec<u8> {
    let mut bytes = vectors::bytes(vectors::E)[..0x50].to_vec();
    bytes.truncate(0x48);
    bytes.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let ids_end = bytes.len();
    bytes.extend([8, 0, 0, 0, 0, 0, 0, 0]);
    for (at, number) in
        [(0x00, bytes.len()), (0x38, bytes.len() - 0x30), (0x40, ids_end - 0x40), (0x44, ids.len())]
    {
        bytes[at..at + 4].copy_from_slice(&(number as u32).to_le_bytes());
    }
    bytes
}

#[test]
fn duplicates_among_many_ids_are_found() {
    let max_ids: Vec<u32> = (0..65_536).collect();
    decode(&with_ids(&max_ids)).unwrap();
    let falling: Vec<u32> = (0..65_536).rev().collect();
    decode(&with_ids(&falling)).unwrap();
    let error = decode(&with_ids(&(0..65_537).collect::<Vec<_>>())).unwrap_err();
    assert_eq!((error.rule, error.found), (Rule::TooManyIds, Found::Number(65_537)));
    let mut with_duplicate = falling;
    with_duplicate[40_000] = with_duplicate[7];
    let error = decode(&with_ids(&with_duplicate)).unwrap_err();
    assert_eq!((error.rule, error.offset), (Rule::DuplicateId, 0x48 + 4 * 40_000));
}

/// Changes the concatenated identifiers F and G. Some changes invalidate the whole list, others only one identifier.
#[test]
fn invalid_identifiers_are_rejected() {
    let both = [vectors::F, vectors::G].concat();
    let decode_all = |bytes: &[u8]| -> Result<Vec<Option<Rule>>, BlockError> {
        Ok(decode_identifiers(bytes)?.map(|item| item.err().map(|error| error.rule)).collect())
    };
    #[rustfmt::skip]
    let for_all: [(&[Change], Rule); 6] = [
        (&[Cut(48 + 39)], Rule::IdentifierHeaderMissing),
        (&[Put(0x14, 39)], Rule::IdentifierSizeTooSmall),
        (&[Put(0x14, 0)], Rule::IdentifierSizeTooSmall),
        (&[Put(0x14, 90)], Rule::IdentifierSizeTooLarge),
        (&[Put(0x14, 44)], Rule::IdentifierSizeUnaligned),
        (&[Put(0x14, 0xFFFF_FFF8)], Rule::IdentifierSizeTooLarge),
    ];
    for (changes, rule) in for_all {
        let error = decode_identifiers(&changed(&both, changes)).unwrap_err();
        assert_eq!((error.rule, error.code()), (rule, ErrorCode::INVALID_PARAMETER), "{changes:x?}: {error}");
    }
    // An unterminated name does not affect the other identifier.
    let bytes = changed(&both, &[Put(0x28, 0x002A_002A), Put(0x2C, 0x002A_002A)]);
    assert_eq!(decode_all(&bytes).unwrap(), [Some(Rule::IdentifierNameUnterminated), None]);
    let mut long = vectors::bytes(vectors::F);
    long.truncate(0x28);
    long.extend([0x41, 0].repeat(1024));
    long.extend([0; 8]);
    let size = (long.len() as u32).to_le_bytes();
    long[0x14..0x18].copy_from_slice(&size);
    assert_eq!(decode_all(&long).unwrap(), [Some(Rule::IdentifierNameTooLong)]);
    long[0x28 + 2 * 1023] = 0;
    assert_eq!(decode_all(&long).unwrap(), [None]);
    assert_eq!(decode_all(&[]).unwrap(), []);
}

#[test]
fn invalid_instance_lists_are_rejected() {
    #[rustfmt::skip]
    let cases: [(&[Change], Rule, usize); 8] = [
        (&[Cut(0x18 + 7)], Rule::InstanceHeaderMissing, 0x18),
        (&[Cut(0x18 + 8)], Rule::InstanceSizeTooLarge, 0x18),
        (&[Put(0x00, 8)], Rule::InstanceSizeTooSmall, 0x00),
        (&[Put(0x00, 0)], Rule::InstanceSizeTooSmall, 0x00),
        (&[Put(0x00, 20)], Rule::InstanceSizeUnaligned, 0x00),
        (&[Put(0x00, 0x30)], Rule::InstanceSizeTooLarge, 0x00),
        (&[Put(0x18, 0xFFFF_FFFF)], Rule::InstanceSizeTooLarge, 0x18),
        (&[Put(0x20, 0x0041_0041), Put(0x24, 0x0041_0041)], Rule::InstanceNameUnterminated, 0x20),
    ];
    for (changes, rule, offset) in cases {
        let error = decode_instances(&changed(vectors::H, changes)).unwrap_err();
        assert_eq!(
            (error.rule, error.offset, error.code()),
            (rule, offset, ErrorCode::INVALID_DATA),
            "{error}"
        );
    }
    let mut long = [0x41, 0].repeat(4 + 1024);
    long[..8].copy_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
    long.extend([0; 8]);
    let size = (long.len() as u32).to_le_bytes();
    long[..4].copy_from_slice(&size);
    assert_eq!(decode_instances(&long).unwrap_err().rule, Rule::InstanceNameTooLong);
    long[8 + 2 * 1023] = 0;
    assert_eq!(decode_instances(&long).unwrap().next().unwrap().name.len(), 1023);
}

/// Runs all decoders with the checks that the fuzz targets use.
fn run(bytes: &[u8]) {
    checks::perflib_block(bytes);
    checks::perflib_registration(bytes);
}

#[test]
fn truncated_data_is_rejected() {
    for (name, block) in vectors::ALL {
        let bytes = vectors::bytes(block);
        for length in 0..bytes.len() {
            run(&bytes[..length]);
            assert!(decode(&bytes[..length]).is_err(), "{name} {length}");
        }
        run(&bytes);
    }
}

#[test]
fn changed_numbers_cause_no_panic() {
    for (_, block) in vectors::ALL {
        let bytes = vectors::bytes(block);
        for at in (0..bytes.len()).step_by(4) {
            let old = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
            let near = [1, 8].into_iter().flat_map(|by| [old.wrapping_add(by), old.wrapping_sub(by)]);
            let far = [0, 1, 7, 8, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFF8, 0xFFFF_FFFF];
            for number in near.chain(far) {
                let mut bytes = bytes.clone();
                bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
                run(&bytes);
            }
        }
    }
}

#[test]
fn flipped_bits_cause_no_panic() {
    for (_, block) in vectors::ALL {
        let mut bytes = vectors::bytes(block);
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            run(&bytes);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// Bytes at any address are accepted: no structure needs alignment.
#[test]
fn blocks_at_odd_addresses_are_decoded() {
    for (_, block) in vectors::DATA {
        let bytes = vectors::bytes(block);
        for shift in 1..8 {
            let mut shifted = vec![0; shift];
            shifted.extend(&bytes);
            let shifted_block = decode(&shifted[shift..]).unwrap();
            assert_eq!(checks::owned(&shifted_block), checks::owned(&decode(&bytes).unwrap()));
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_cause_no_panic(bytes in vec(any::<u8>(), 0..300)) {
        run(&bytes);
    }

    #[test]
    fn arbitrary_numbers_in_a_block_cause_no_panic(
        block in 0..vectors::ALL.len(),
        changes in vec((0usize..50, prop_oneof![0u32..300, any::<u32>()]), 1..4),
    ) {
        let mut bytes = vectors::bytes(vectors::ALL[block].1);
        for (index, number) in changes {
            let at = 4 * (index % (bytes.len() / 4));
            bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        run(&bytes);
        // The options of consumers accept everything that the default options accept.
        prop_assert!(decode(&bytes).is_err() || decode_with(&bytes, DecodeOptions::CONSUMER).is_ok());
    }
}

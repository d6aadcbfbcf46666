//! The negative test vectors of the reference. Tests of other crates use this file, too.

use tachograph_perflib::block::Rule;

use crate::blocks_vectors as vectors;

use Change::{Cut, Put};

/// A change of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// Truncates the block to this length.
    Cut(usize),
    /// Replaces the 32-bit number at this offset.
    Put(usize, u32),
}

/// The bytes of a changed block.
#[track_caller]
pub(crate) fn changed(block: &str, changes: &[Change]) -> Vec<u8> {
    let mut bytes = vectors::bytes(block);
    for &change in changes {
        match change {
            Cut(length) => bytes.truncate(length),
            Put(at, number) => {
                assert_ne!(bytes[at..at + 4], number.to_le_bytes(), "the change has no effect");
                bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
            }
        }
    }
    bytes
}

/// Block, changes, violated rule (`None`: accepted), offset, value found.
pub(crate) type Case = (&'static str, &'static [Change], Option<Rule>, usize, i64);

/// The cases of table 6.1 of the reference.
#[rustfmt::skip]
pub(crate) const REFERENCE_CASES: [Case; 40] = [
    (vectors::E, &[Cut(47)], Some(Rule::BlockTooShort), 0x00, 47),
    (vectors::E, &[Cut(199)], Some(Rule::BlockSizeTooLarge), 0x00, 200),
    (vectors::E, &[Put(0x00, 0x2F)], Some(Rule::BlockSizeTooSmall), 0x00, 47),
    (vectors::E, &[Put(0x00, 0xD0)], Some(Rule::BlockSizeTooLarge), 0x00, 208),
    (vectors::E, &[Put(0x00, 0xC4)], Some(Rule::BlockSizeUnaligned), 0x00, 196),
    (vectors::E, &[Put(0x04, 0xFFFF_FFFF)], Some(Rule::ResultCount), 0x04, 0xFFFF_FFFF),
    (vectors::E, &[Put(0x04, 2)], Some(Rule::ResultHeaderMissing), 0xC8, 0),
    (vectors::E, &[Put(0x04, 0)], Some(Rule::BytesAfterResults), 0x30, 152),
    (vectors::E, &[Put(0x18, 0)], Some(Rule::ClockFrequency), 0x18, 0),
    (vectors::E, &[Put(0x38, 0x0F)], Some(Rule::ResultSizeTooSmall), 0x38, 15),
    (vectors::E, &[Put(0x38, 0xA0)], Some(Rule::ResultSizeTooLarge), 0x38, 160),
    (vectors::E, &[Put(0x38, 0x90)], Some(Rule::InstancesSizeTooLarge), 0x50, 120),
    (vectors::E, &[Put(0x34, 3)], Some(Rule::ResultKind), 0x34, 3),
    (vectors::E, &[Put(0x34, 0)], Some(Rule::ErrorWithoutCode), 0x30, 0),
    (vectors::E, &[Put(0x30, 5)], Some(Rule::DataWithErrorStatus), 0x30, 5),
    (vectors::E, &[Put(0x40, 4)], Some(Rule::IdsSizeTooSmall), 0x40, 4),
    (vectors::E, &[Put(0x40, 0x90)], Some(Rule::IdsSizeTooLarge), 0x40, 144),
    (vectors::E, &[Put(0x44, 0x4000_0002)], Some(Rule::IdCount), 0x44, 0x4000_0002),
    (vectors::E, &[Put(0x44, 3)], Some(Rule::IdCount), 0x44, 3),
    (vectors::E, &[Put(0x44, 0)], Some(Rule::NoIds), 0x44, 0),
    (vectors::E, &[Put(0x4C, 0)], Some(Rule::DuplicateId), 0x4C, 0),
    (vectors::E, &[Put(0x4C, 0xFFFF_FFFF)], Some(Rule::WildcardId), 0x4C, 0xFFFF_FFFF),
    (vectors::E, &[Put(0x50, 0x80)], Some(Rule::InstancesSizeTooLarge), 0x50, 128),
    (vectors::E, &[Put(0x50, 4)], Some(Rule::InstancesSizeTooSmall), 0x50, 4),
    (vectors::E, &[Put(0x54, 3)], Some(Rule::InstanceCount), 0x54, 3),
    (vectors::E, &[Put(0x54, 0xFFFF_FFFF)], Some(Rule::InstanceCount), 0x54, 0xFFFF_FFFF),
    (vectors::E, &[Put(0x54, 1)], Some(Rule::BytesAfterInstances), 0x88, 64),
    (vectors::E, &[Put(0x58, 8)], Some(Rule::InstanceSizeTooSmall), 0x58, 8),
    (vectors::E, &[Put(0x58, 0x12)], Some(Rule::InstanceSizeUnaligned), 0x58, 18),
    (vectors::E, &[Put(0x58, 0x1000)], Some(Rule::InstanceSizeTooLarge), 0x58, 0x1000),
    (vectors::E, &[Put(0x64, 0x0041_0030)], Some(Rule::InstanceNameUnterminated), 0x60, 8),
    (vectors::E, &[Put(0x60, 0xD800_D800)], None, 0, 0),
    (vectors::E, &[Put(0x68, 9)], Some(Rule::ValueWidth), 0x68, 9),
    (vectors::E, &[Put(0x68, 0)], Some(Rule::ValueWidth), 0x68, 0),
    (vectors::E, &[Put(0x6C, 8)], Some(Rule::ValueSizeTooSmall), 0x6C, 8),
    (vectors::E, &[Put(0x6C, 0x12)], Some(Rule::ValueSizeUnaligned), 0x6C, 18),
    (vectors::E, &[Put(0x6C, 0xFFFF_FFF8)], Some(Rule::ValueSizeTooLarge), 0x6C, 0xFFFF_FFF8),
    (vectors::A, &[Put(0x30, 0)], Some(Rule::ErrorWithoutCode), 0x30, 0),
    (vectors::B, &[Put(0x38, 0x10)], Some(Rule::ValueHeaderMissing), 0x40, 0),
    (vectors::C, &[Put(0x44, 2)], Some(Rule::BytesAfterContent), 0x78, 16),
];

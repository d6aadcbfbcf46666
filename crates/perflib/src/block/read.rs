//! Decodes untrusted raw data blocks.

mod ids;
mod instances;
mod results;
mod values;

pub use ids::Ids;
pub use instances::{Instance, Instances};
pub use results::{Content, QueryResult, Results};
pub use values::Values;

use super::error::{BlockError, Expected, Rule, count};
use super::raw::{DataHeader, ResultHeader};
use super::section::{Section, SizeRules};
use super::stamp::Stamp;

/// Exceptions to the rules. The default has no exceptions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecodeOptions {
    /// Accept data size 0 in a `PERF_COUNTER_DATA` of 16 bytes as a value that could not be read (`None`). Tachograph
    /// writes such values, although [`Rule::ValueWidth`] forbids them.
    pub allow_missing_values: bool,
    /// Treat a result with data and an error status ([`Rule::DataWithErrorStatus`]) as an error result without data.
    /// Otherwise the whole block is rejected.
    pub allow_failed_data: bool,
}

impl DecodeOptions {
    /// The options of Tachograph's consumers: both exceptions, so that an error in one result does not affect the
    /// others.
    pub const CONSUMER: Self = Self { allow_missing_values: true, allow_failed_data: true };
}

const HEADER_BYTES: usize = size_of::<DataHeader>();
const SIZE_RULES: SizeRules = SizeRules {
    field: 0,
    min: (Rule::BlockSizeTooSmall, HEADER_BYTES),
    max: Rule::BlockSizeTooLarge,
    alignment: (Rule::BlockSizeUnaligned, 8),
};

/// A completely checked raw data block.
///
/// It borrows the bytes. Iterators over results, instances and values do not allocate.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    header: &'a DataHeader,
    /// The results, from the end of the header to the end of the block.
    section: Section<'a>,
    options: DecodeOptions,
}

/// Checks all rules of a block. Blocks with missing values, which Tachograph itself writes, need the exceptions of
/// [`decode_with`].
///
/// Bytes after the block are ignored. Memory is allocated only to find duplicates if a result has more than 64 unsorted
/// counter ids: 8 bytes per id.
///
/// # Errors
///
/// The first violated [`Rule`] for raw data blocks (`D1` to `C6`); the code is
/// [`ErrorCode::INVALID_DATA`](crate::ErrorCode::INVALID_DATA).
pub fn decode(bytes: &[u8]) -> Result<Block<'_>, BlockError> {
    decode_with(bytes, DecodeOptions::default())
}

/// Like [`decode`], but with exceptions. Consumers use [`DecodeOptions::CONSUMER`], because Tachograph's blocks often
/// have missing values.
///
/// # Errors
///
/// Same as [`decode`].
pub fn decode_with(bytes: &[u8], options: DecodeOptions) -> Result<Block<'_>, BlockError> {
    let block = reopen(bytes, options)?;
    let mut rest = block.section;
    for _ in 0..block.header.result_count.get() {
        QueryResult::check(&mut rest, options)?;
    }
    rest.expect_end(Rule::BytesAfterResults)?;
    Ok(block)
}

/// Opens a block that [`decode_with`] has accepted before, and checks only its header. If the block was not accepted,
/// iterators end at the first violation.
///
/// # Errors
///
/// The first violated rule for the header.
pub fn reopen(bytes: &[u8], options: DecodeOptions) -> Result<Block<'_>, BlockError> {
    let mut rest = Section::all(bytes);
    let header: &DataHeader = rest.peek(Rule::BlockTooShort)?;
    let section = rest.split_off(header.total_bytes.get(), &SIZE_RULES)?.skip_bytes(HEADER_BYTES);

    let results = header.result_count.get();
    let max = section.bytes.len() / size_of::<ResultHeader>();
    if usize::try_from(results).map_or(true, |results| results > max) {
        return Err(BlockError::number(Rule::ResultCount, 4, results, Expected::AtMost(count(max))));
    }
    if header.frequency.get() <= 0 {
        return Err(BlockError::number(Rule::ClockFrequency, 24, header.frequency, Expected::AtLeast(1)));
    }
    Ok(Block { header, section, options })
}

impl<'a> Block<'a> {
    /// The time of the collection.
    pub fn stamp(&self) -> Stamp {
        Stamp::from_header(self.header)
    }

    /// The header.
    pub fn header(&self) -> &'a DataHeader {
        self.header
    }

    /// The size of the block, without any bytes after it in the buffer.
    pub fn total_bytes(&self) -> usize {
        HEADER_BYTES + self.section.bytes.len()
    }

    /// The results, in the order of the identifiers' indexes.
    pub fn results(&self) -> Results<'a> {
        Results { remaining: self.header.result_count.get(), rest: self.section, options: self.options }
    }

    /// Checks that the block has one result per identifier.
    ///
    /// # Errors
    ///
    /// [`Rule::ResultCount`] if the numbers of results and identifiers differ.
    pub fn expect_results(&self, identifiers: usize) -> Result<(), BlockError> {
        let results = self.header.result_count.get();
        match usize::try_from(results) {
            Ok(results) if results == identifiers => Ok(()),
            _ => {
                Err(BlockError::number(Rule::ResultCount, 4, results, Expected::Exactly(count(identifiers))))
            }
        }
    }
}

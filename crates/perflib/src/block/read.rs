//! Decoding of raw data blocks that are not trusted.

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

/// What a decoder lets pass beyond the rules. The default lets nothing pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecodeOptions {
    /// A value of data size 0 in a `PERF_COUNTER_DATA` of 16 bytes is one that cannot be read now (`None`). Tachograph
    /// writes them; from others rule C5 forbids them.
    pub allow_missing_values: bool,
    /// A result of data that has an error status (rule H7) is an error result: its data is not looked at, its status is
    /// reported. Otherwise it rejects the whole block.
    pub allow_failed_data: bool,
}

impl DecodeOptions {
    /// What Tachograph's own consumers use: both allowed, so that one query's trouble stays with it.
    pub const CONSUMER: Self = Self { allow_missing_values: true, allow_failed_data: true };
}

const HEADER: usize = size_of::<DataHeader>();
const SIZE: SizeRules =
    SizeRules { field: 0, least: (Rule::D2, HEADER), most: Rule::D3, multiple: (Rule::D4, 8) };

/// A raw data block that was checked from its first byte to its last.
///
/// It borrows the bytes and is walked with iterators; nothing is allocated for results, instances or values.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    header: &'a DataHeader,
    /// The results, from the end of the header to the end of the block.
    section: Section<'a>,
    options: DecodeOptions,
}

/// Checks a block by all rules and gives a view of it; what Tachograph's own blocks need beyond is said at
/// [`decode_with`].
///
/// Bytes after the end that the block says it has are not looked at. Memory beyond the view: 8 bytes per counter id of
/// one result, where there are more than 64 and they do not rise.
///
/// # Errors
///
/// The first [`Rule`] that the bytes break, `D1` to `C6`; the code is
/// [`ErrorCode::INVALID_DATA`](crate::ErrorCode::INVALID_DATA).
pub fn decode(bytes: &[u8]) -> Result<Block<'_>, BlockError> {
    decode_with(bytes, DecodeOptions::default())
}

/// As [`decode`], but lets pass what the options allow. Consumers take [`DecodeOptions::CONSUMER`]: values that cannot be
/// read now are usual in blocks of Tachograph.
///
/// # Errors
///
/// As [`decode`].
pub fn decode_with(bytes: &[u8], options: DecodeOptions) -> Result<Block<'_>, BlockError> {
    let mut rest = Section::all(bytes);
    let header: &DataHeader = rest.head(Rule::D1)?;
    let section = rest.take(header.total_bytes.get(), &SIZE)?.after(HEADER);

    let results = header.result_count.get();
    let most = section.bytes.len() / size_of::<ResultHeader>();
    if usize::try_from(results).map_or(true, |results| results > most) {
        return Err(BlockError::number(Rule::D5, 4, results, Expected::AtMost(count(most))));
    }
    if header.frequency.get() <= 0 {
        return Err(BlockError::number(Rule::D6, 24, header.frequency, Expected::AtLeast(1)));
    }
    let mut left = section;
    for _ in 0..results {
        QueryResult::check(&mut left, options)?;
    }
    left.end(Rule::D7)?;
    Ok(Block { header, section, options })
}

impl<'a> Block<'a> {
    /// When the block was made.
    pub fn stamp(&self) -> Stamp {
        Stamp::of(self.header)
    }

    /// The header as it stands in the block.
    pub fn header(&self) -> &'a DataHeader {
        self.header
    }

    /// How many bytes the block has; others can follow it in the buffer.
    pub fn total_bytes(&self) -> usize {
        HEADER + self.section.bytes.len()
    }

    /// The results, in the order of the handle's queries by their index.
    pub fn results(&self) -> Results<'a> {
        Results { left: self.header.result_count.get(), rest: self.section, options: self.options }
    }

    /// Checks that the block has one result for each query of its handle.
    ///
    /// # Errors
    ///
    /// [`Rule::D5`].
    pub fn expect_results(&self, queries: usize) -> Result<(), BlockError> {
        let results = self.header.result_count.get();
        match usize::try_from(results) {
            Ok(results) if results == queries => Ok(()),
            _ => Err(BlockError::number(Rule::D5, 4, results, Expected::Exactly(count(queries)))),
        }
    }
}

//! Errors in decoded bytes.

use std::fmt;

use tachograph_counters::CounterType;

use crate::{ErrorCode, Guid};

macro_rules! rules {
    ($($rule:ident $name:literal $code:ident $text:literal;)*) => {
        /// A rule that valid data must follow.
        ///
        /// The documentation of a variant is its short name, which messages contain, and the violation. The letter of
        /// the short name denotes the subject of the rule. In raw data blocks: `D` the block, `H` the header of a result,
        /// `M` counter ids (multiple counters), `I` instances, `N` the name of an instance, `C` a value (counter data).
        /// Elsewhere: `Q` identifiers (queries), `R` registrations, `S` string blocks, `T` single strings, `G` GUIDs.
        ///
        /// Source: "Using the PerfLib Functions to Consume Counter Data", whose sample code checks some of these rules.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Rule {
            $(
                #[doc = concat!("`", $name, "`: ", $text, ".")]
                $rule,
            )*
        }

        impl Rule {
            /// The short name in messages, such as `D3`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$rule => $name,)*
                }
            }

            /// The violation, in a few words.
            pub const fn violation(self) -> &'static str {
                match self {
                    $(Self::$rule => $text,)*
                }
            }

            /// The Win32 code that a function returns for data that violates the rule.
            pub const fn code(self) -> ErrorCode {
                match self {
                    $(Self::$rule => ErrorCode::$code,)*
                }
            }
        }
    };
}

rules! {
    BlockTooShort "D1" INVALID_DATA "the block is shorter than its header";
    BlockSizeTooSmall "D2" INVALID_DATA "the block's size is below that of its header";
    BlockSizeTooLarge "D3" INVALID_DATA "the block's size is beyond the available bytes";
    BlockSizeUnaligned "D4" INVALID_DATA "the block's size is not a multiple of 8";
    ResultCount "D5" INVALID_DATA "the number of results differs from the number of queries";
    ClockFrequency "D6" INVALID_DATA "the frequency of the performance counter is not positive";
    BytesAfterResults "D7" INVALID_DATA "trailing bytes after the last result";
    ResultHeaderMissing "H1" INVALID_DATA "there is no room for the header of a result";
    ResultSizeTooSmall "H2" INVALID_DATA "a result's size is below that of its header";
    ResultSizeTooLarge "H3" INVALID_DATA "a result's size is beyond the end of the block";
    ResultSizeUnaligned "H4" INVALID_DATA "a result's size is not a multiple of 8";
    ResultKind "H5" INVALID_DATA "the kind of a result is unknown or does not match the query";
    ErrorWithoutCode "H6" INVALID_DATA "an error result has no error";
    DataWithErrorStatus "H7" INVALID_DATA "a result with data has an error status";
    BytesAfterContent "H8" INVALID_DATA "trailing bytes in a result";
    IdsHeaderMissing "M1" INVALID_DATA "there is no room for the header of the counter ids";
    IdsSizeTooSmall "M2" INVALID_DATA "the size of the counter ids is below that of their header";
    IdsSizeTooLarge "M3" INVALID_DATA "the size of the counter ids is beyond the end of the result";
    IdsSizeUnaligned "M4" INVALID_DATA "the size of the counter ids is not a multiple of 4";
    IdCount "M5" INVALID_DATA "the number of counter ids does not match their size";
    NoIds "M6" INVALID_DATA "no counter id";
    TooManyIds "M7" INVALID_DATA "too many counter ids";
    DuplicateId "M8" INVALID_DATA "duplicate counter id";
    WildcardId "M9" INVALID_DATA "a counter id is the wildcard";
    InstancesHeaderMissing "I1" INVALID_DATA "there is no room for the header of the instances";
    InstancesSizeTooSmall "I2" INVALID_DATA "the size of the instances is below that of their header";
    InstancesSizeTooLarge "I3" INVALID_DATA "the size of the instances is beyond the end of the result";
    InstancesSizeUnaligned "I4" INVALID_DATA "the size of the instances is not a multiple of 8";
    InstanceCount "I5" INVALID_DATA "the number of instances does not match their size";
    BytesAfterInstances "I6" INVALID_DATA "trailing bytes after the last instance";
    InstanceHeaderMissing "N1" INVALID_DATA "there is no room for the header of an instance";
    InstanceSizeTooSmall "N2" INVALID_DATA "an instance's size has no room for a name";
    InstanceSizeTooLarge "N3" INVALID_DATA "an instance's size is beyond the end of the instances";
    InstanceSizeUnaligned "N4" INVALID_DATA "an instance's size is not a multiple of 8";
    InstanceNameUnterminated "N5" INVALID_DATA "an instance's name is not terminated";
    InstanceNameTooLong "N6" INVALID_DATA "an instance's name is too long";
    ValueHeaderMissing "C1" INVALID_DATA "there is no room for the header of a value";
    ValueSizeTooSmall "C2" INVALID_DATA "a value's size has no room for a value";
    ValueSizeTooLarge "C3" INVALID_DATA "a value's size is beyond the end of its container";
    ValueSizeUnaligned "C4" INVALID_DATA "a value's size is not a multiple of 8";
    ValueWidth "C5" INVALID_DATA "a value is not 4 or 8 bytes wide";
    ValueWiderThanSize "C6" INVALID_DATA "a value is wider than its size allows";
    IdentifierHeaderMissing "Q1" INVALID_PARAMETER "there is no room for an identifier";
    IdentifierSizeTooSmall "Q2" INVALID_PARAMETER "an identifier's size is below that of its fixed part";
    IdentifierSizeTooLarge "Q3" INVALID_PARAMETER "an identifier's size is beyond the end of the identifiers";
    IdentifierSizeUnaligned "Q4" INVALID_PARAMETER "an identifier's size is not a multiple of 8";
    IdentifierNameUnterminated "Q5" INVALID_PARAMETER "an identifier's name is not terminated";
    IdentifierNameTooLong "Q6" INVALID_PARAMETER "an identifier's name is too long";
    RegistrationTooShort "R1" INVALID_REGISTRATION "the registration is shorter than its header";
    CounterCount "R2" INVALID_REGISTRATION "the set has no counters or too many";
    RegistrationLength "R3" INVALID_REGISTRATION "the registration's length does not match its number of counters";
    InstanceType "R4" INVALID_REGISTRATION "the instance type is unknown";
    DetailLevel "R5" INVALID_REGISTRATION "a detail level is neither 100 nor 200";
    DuplicateCounterId "R6" INVALID_REGISTRATION "duplicate counter id";
    WildcardCounterId "R7" INVALID_REGISTRATION "a counter id is the wildcard";
    DefaultScale "R8" INVALID_REGISTRATION "a default scale is out of range";
    CompanionMissing "R9" INVALID_REGISTRATION "a counter has no companion, but its type needs one";
    CompanionUnknown "R10" INVALID_REGISTRATION "a companion is not in the set";
    CompanionIsItself "R11" INVALID_REGISTRATION "a counter is its own companion";
    CompanionType "R12" INVALID_REGISTRATION "a companion has the wrong type";
    OtherSet "R13" INVALID_REGISTRATION "the registration belongs to another set";
    StringBlockTooShort "S1" INVALID_DATA "the string block is shorter than its header";
    StringBlockSizeTooLarge "S2" INVALID_DATA "the string block's size is beyond the available bytes";
    StringBlockSizeTooSmall "S3" INVALID_DATA "the string block's size has no room for its counters";
    StringOffsetOdd "S4" INVALID_DATA "a string's offset is odd";
    StringOffsetOutside "S5" INVALID_DATA "a string's offset is outside the strings";
    StringUnterminated "S6" INVALID_DATA "a string is not terminated";
    TextLengthOdd "T1" INVALID_DATA "the string's length is odd";
    TextUnterminated "T2" INVALID_DATA "the string is not terminated";
    NulInText "T3" INVALID_DATA "a NUL before the end of the string";
    GuidLength "G1" INVALID_DATA "a GUID is not 16 bytes long";
}

/// Writes the short name, such as `D3`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The value that violates a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The value of a field, or a number of bytes or items.
    Number(i64),
    /// A counter type.
    Type(CounterType),
    /// A GUID.
    Guid(Guid),
}

/// The value that a rule expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// This number.
    Exactly(i64),
    /// This number or more.
    AtLeast(i64),
    /// This number or less.
    AtMost(i64),
    /// A number in this inclusive range.
    Between(i64, i64),
    /// A multiple of this number.
    MultipleOf(i64),
    /// A counter type.
    Type(CounterType),
    /// A GUID.
    Guid(Guid),
    /// Anything else, in words.
    Words(&'static str),
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Type(counter_type) => write!(f, "{counter_type}"),
            Self::Guid(guid) => write!(f, "{guid}"),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(number) => write!(f, "{number}"),
            Self::AtLeast(number) => write!(f, "at least {number}"),
            Self::AtMost(number) => write!(f, "at most {number}"),
            Self::Between(min, max) => write!(f, "{min} to {max}"),
            Self::MultipleOf(number) => write!(f, "a multiple of {number}"),
            Self::Type(counter_type) => write!(f, "{counter_type}"),
            Self::Guid(guid) => write!(f, "{guid}"),
            Self::Words(words) => f.write_str(words),
        }
    }
}

/// A violated rule, where it was violated, and the values found and expected.
///
/// ```
/// use tachograph_perflib::{ErrorCode, block};
///
/// let error = block::decode(&[0; 47]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "offset 0x0: D1: the block is shorter than its header (found 47, expected at least 48)"
/// );
/// assert_eq!(error.code(), ErrorCode::INVALID_DATA);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockError {
    /// The rule.
    pub rule: Rule,
    /// Offset in the decoded bytes.
    pub offset: usize,
    /// The value found.
    pub found: Found,
    /// The value expected.
    pub expected: Expected,
}

impl BlockError {
    /// The Win32 code that a function returns for the invalid data.
    pub const fn code(&self) -> ErrorCode {
        self.rule.code()
    }

    pub(crate) fn number(rule: Rule, offset: usize, found: impl Into<i64>, expected: Expected) -> Self {
        Self { rule, offset, found: Found::Number(found.into()), expected }
    }

    /// The error for a number of bytes or items that violates a rule.
    pub(crate) fn count(rule: Rule, offset: usize, found: usize, expected: Expected) -> Self {
        Self::number(rule, offset, count(found), expected)
    }
}

/// Converts a number of bytes or items in memory to the type that errors use. It always fits.
pub(crate) fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Writes one line: offset, rule, violation, found, expected.
impl fmt::Display for BlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, offset, found, expected } = self;
        write!(f, "offset {offset:#x}: {rule}: {} (found {found}, expected {expected})", rule.violation())
    }
}

impl std::error::Error for BlockError {}

impl From<BlockError> for ErrorCode {
    fn from(error: BlockError) -> Self {
        error.code()
    }
}

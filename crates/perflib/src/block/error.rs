//! What is wrong with bytes that were read.

use std::fmt;

use tachograph_counters::CounterType;

use crate::{ErrorCode, Guid};

macro_rules! rules {
    ($($rule:ident $code:ident $text:literal;)*) => {
        /// A rule that bytes broke.
        ///
        /// `D`, `H`, `M`, `I`, `N`, `C` are the rules of raw data blocks: the block (data), a result (header), its counter
        /// ids (multiple counters), its instances, one instance (name), one value (counter data). `Q` are those of
        /// identifiers (queries), `R` of a registration, `S` of string blocks, `T` of single texts, `G` of GUIDs.
        ///
        /// Source: "Using the PerfLib Functions to Consume Counter Data", whose sample checks some of them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Rule {
            $(
                #[doc = concat!("Broken when ", $text, ".")]
                $rule,
            )*
        }

        impl Rule {
            /// The name, such as `D3`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$rule => stringify!($rule),)*
                }
            }

            /// What is so when the rule is broken, in a few words.
            pub const fn broken(self) -> &'static str {
                match self {
                    $(Self::$rule => $text,)*
                }
            }

            /// The Win32 code with which a function refuses such bytes.
            pub const fn code(self) -> ErrorCode {
                match self {
                    $(Self::$rule => ErrorCode::$code,)*
                }
            }
        }
    };
}

rules! {
    D1 INVALID_DATA "the block is shorter than its header";
    D2 INVALID_DATA "the block's size is below that of its header";
    D3 INVALID_DATA "the block's size is beyond the bytes at hand";
    D4 INVALID_DATA "the block's size is no multiple of 8";
    D5 INVALID_DATA "the number of results does not fit";
    D6 INVALID_DATA "the frequency of the performance counter is not positive";
    D7 INVALID_DATA "bytes are left over after the last result";
    H1 INVALID_DATA "there is no room for the header of a result";
    H2 INVALID_DATA "a result's size is below that of its header";
    H3 INVALID_DATA "a result's size is beyond the end of the block";
    H4 INVALID_DATA "a result's size is no multiple of 8";
    H5 INVALID_DATA "the kind of a result is unknown or does not fit the query";
    H6 INVALID_DATA "an error result has no error";
    H7 INVALID_DATA "a result of data has an error status";
    H8 INVALID_DATA "bytes are left over in a result";
    M1 INVALID_DATA "there is no room for the header of the counter ids";
    M2 INVALID_DATA "the size of the counter ids is below that of their header";
    M3 INVALID_DATA "the size of the counter ids is beyond the end of the result";
    M4 INVALID_DATA "the size of the counter ids is no multiple of 4";
    M5 INVALID_DATA "the number of counter ids does not fit their size";
    M6 INVALID_DATA "there is no counter id";
    M7 INVALID_DATA "there are too many counter ids";
    M8 INVALID_DATA "a counter id stands twice";
    M9 INVALID_DATA "a counter id is the wildcard";
    I1 INVALID_DATA "there is no room for the header of the instances";
    I2 INVALID_DATA "the size of the instances is below that of their header";
    I3 INVALID_DATA "the size of the instances is beyond the end of the result";
    I4 INVALID_DATA "the size of the instances is no multiple of 8";
    I5 INVALID_DATA "the number of instances does not fit their size";
    I6 INVALID_DATA "bytes are left over after the last instance";
    N1 INVALID_DATA "there is no room for the header of an instance";
    N2 INVALID_DATA "an instance's size has no room for a name";
    N3 INVALID_DATA "an instance's size is beyond the end of the instances";
    N4 INVALID_DATA "an instance's size is no multiple of 8";
    N5 INVALID_DATA "an instance's name has no end";
    N6 INVALID_DATA "an instance's name is too long";
    C1 INVALID_DATA "there is no room for the header of a value";
    C2 INVALID_DATA "a value's size has no room for a value";
    C3 INVALID_DATA "a value's size is beyond the end of what holds it";
    C4 INVALID_DATA "a value's size is no multiple of 8";
    C5 INVALID_DATA "a value is not 4 or 8 bytes wide";
    C6 INVALID_DATA "a value is wider than its size allows";
    Q1 INVALID_PARAMETER "there is no room for an identifier";
    Q2 INVALID_PARAMETER "an identifier's size is below that of its fixed part";
    Q3 INVALID_PARAMETER "an identifier's size is beyond the end of the identifiers";
    Q4 INVALID_PARAMETER "an identifier's size is no multiple of 8";
    Q5 INVALID_PARAMETER "an identifier's name has no end";
    Q6 INVALID_PARAMETER "an identifier's name is too long";
    R1 INVALID_REGISTRATION "the registration is shorter than its header";
    R2 INVALID_REGISTRATION "the set has no counter or too many";
    R3 INVALID_REGISTRATION "the registration's length does not fit its number of counters";
    R4 INVALID_REGISTRATION "the instance type is unknown";
    R5 INVALID_REGISTRATION "a detail level is neither 100 nor 200";
    R6 INVALID_REGISTRATION "a counter id stands twice";
    R7 INVALID_REGISTRATION "a counter id is the wildcard";
    R8 INVALID_REGISTRATION "a default scale is beyond the range";
    R9 INVALID_REGISTRATION "a counter lacks a companion that its type needs";
    R10 INVALID_REGISTRATION "a companion is not in the set";
    R11 INVALID_REGISTRATION "a counter is its own companion";
    R12 INVALID_REGISTRATION "a companion has the wrong type";
    R13 INVALID_REGISTRATION "the registration is another set's";
    S1 INVALID_DATA "the string block is shorter than its header";
    S2 INVALID_DATA "the string block's size is beyond the bytes at hand";
    S3 INVALID_DATA "the string block's size has no room for its counters";
    S4 INVALID_DATA "a string's offset is odd";
    S5 INVALID_DATA "a string's offset is not among the strings";
    S6 INVALID_DATA "a string has no end";
    T1 INVALID_DATA "a text's length is odd";
    T2 INVALID_DATA "a text has no end";
    T3 INVALID_DATA "a text ends before its bytes do";
    G1 INVALID_DATA "a GUID is not 16 bytes long";
}

/// `D3`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What stood where a rule was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A number: the field's, or how many bytes were there.
    Number(i64),
    /// A counter type.
    Type(CounterType),
    /// A GUID.
    Guid(Guid),
}

/// What should have stood there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// This number.
    Exactly(i64),
    /// This number or more.
    AtLeast(i64),
    /// This number or less.
    AtMost(i64),
    /// A number of this range, the ends included.
    Between(i64, i64),
    /// A multiple of this number.
    MultipleOf(i64),
    /// A counter type.
    Type(CounterType),
    /// A GUID.
    Guid(Guid),
    /// Something that takes words.
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
            Self::Between(least, most) => write!(f, "{least} to {most}"),
            Self::MultipleOf(number) => write!(f, "a multiple of {number}"),
            Self::Type(counter_type) => write!(f, "{counter_type}"),
            Self::Guid(guid) => write!(f, "{guid}"),
            Self::Words(words) => f.write_str(words),
        }
    }
}

/// Bytes broke a rule: which, where, what was found there and what was expected.
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
    /// Offset in the bytes.
    pub offset: usize,
    /// What was found there.
    pub found: Found,
    /// What was expected.
    pub expected: Expected,
}

impl BlockError {
    /// The Win32 code with which a function refuses such bytes.
    pub const fn code(&self) -> ErrorCode {
        self.rule.code()
    }

    /// A broken rule about a number.
    pub(crate) fn number(rule: Rule, offset: usize, found: impl Into<i64>, expected: Expected) -> Self {
        Self { rule, offset, found: Found::Number(found.into()), expected }
    }

    /// A broken rule about a number of bytes or items.
    pub(crate) fn count(rule: Rule, offset: usize, found: usize, expected: Expected) -> Self {
        Self::number(rule, offset, count(found), expected)
    }
}

/// A number of bytes or items as errors show it; none in memory is beyond the range.
pub(crate) fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// One line: offset, rule, what is so, found, expected.
impl fmt::Display for BlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, offset, found, expected } = self;
        write!(f, "offset {offset:#x}: {rule}: {} (found {found}, expected {expected})", rule.broken())
    }
}

impl std::error::Error for BlockError {}

impl From<BlockError> for ErrorCode {
    fn from(error: BlockError) -> Self {
        error.code()
    }
}

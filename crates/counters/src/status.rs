//! The status of a raw or formatted value.

use std::fmt;

/// The status of a value, which is a PDH code.
///
/// 0 and 1 mean that the value is valid. A code with the high bit set means that there is no value.
/// Source: pdhmsg.h; "Performance Data Helper Error Codes".
///
/// ```
/// use tachograph_counters::Status;
///
/// assert_eq!(Status(0xC000_0BBA).name(), Some("PDH_CSTATUS_INVALID_DATA"));
/// assert!(Status::VALID_DATA.is_good() && Status::NO_INSTANCE.is_error());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Status(pub u32);

/// Defines the codes of a newtype of `u32`. Each has a constant, Windows' name and a short description.
#[macro_export]
macro_rules! named_codes {
    ($codes:ident: $($constant:ident = $code:literal $name:literal $text:literal;)*) => {
        impl $codes {
            $(
                #[doc = concat!("`", $name, "`: ", $text, ".")]
                #[doc(alias = $name)]
                pub const $constant: Self = Self($code);
            )*

            /// Windows' name; `None` for an unknown code.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some($name),)*
                    _ => None,
                }
            }

            /// The code with this Windows name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self($code)),)*
                    _ => None,
                }
            }

            /// A short description; `None` for an unknown code.
            pub const fn meaning(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

named_codes! { Status:
    VALID_DATA = 0x0000_0000 "PDH_CSTATUS_VALID_DATA" "valid";
    NEW_DATA = 0x0000_0001 "PDH_CSTATUS_NEW_DATA" "valid, and the raw data changed";
    NO_MACHINE = 0x8000_07D0 "PDH_CSTATUS_NO_MACHINE" "the machine was not reachable, or the sample could not be taken";
    NO_INSTANCE = 0x8000_07D1 "PDH_CSTATUS_NO_INSTANCE" "the instance is not present";
    MORE_DATA = 0x8000_07D2 "PDH_MORE_DATA" "the buffer is too small";
    ITEM_NOT_VALIDATED = 0x8000_07D3 "PDH_CSTATUS_ITEM_NOT_VALIDATED" "added, but not validated yet";
    RETRY = 0x8000_07D4 "PDH_RETRY" "retry";
    NO_DATA = 0x8000_07D5 "PDH_NO_DATA" "the collection returned no data";
    NEGATIVE_DENOMINATOR = 0x8000_07D6 "PDH_CALC_NEGATIVE_DENOMINATOR" "the base or the clock decreased";
    NEGATIVE_TIMEBASE = 0x8000_07D7 "PDH_CALC_NEGATIVE_TIMEBASE" "the time base is not positive";
    NEGATIVE_VALUE = 0x8000_07D8 "PDH_CALC_NEGATIVE_VALUE" "the counter decreased";
    END_OF_LOG_FILE = 0x8000_07DA "PDH_END_OF_LOG_FILE" "end of the log";
    NO_OBJECT = 0xC000_0BB8 "PDH_CSTATUS_NO_OBJECT" "the counter set was not found";
    NO_COUNTER = 0xC000_0BB9 "PDH_CSTATUS_NO_COUNTER" "the counter was not found";
    CSTATUS_INVALID_DATA = 0xC000_0BBA "PDH_CSTATUS_INVALID_DATA" "the counter was found, but its data is not valid";
    MEMORY_ALLOCATION_FAILURE = 0xC000_0BBB "PDH_MEMORY_ALLOCATION_FAILURE" "out of memory";
    INVALID_HANDLE = 0xC000_0BBC "PDH_INVALID_HANDLE" "the handle is not valid";
    INVALID_ARGUMENT = 0xC000_0BBD "PDH_INVALID_ARGUMENT" "the type cannot be formatted, or an argument is out of range";
    FUNCTION_NOT_FOUND = 0xC000_0BBE "PDH_FUNCTION_NOT_FOUND" "there is no formula for the type";
    NO_COUNTERNAME = 0xC000_0BBF "PDH_CSTATUS_NO_COUNTERNAME" "the path is empty";
    BAD_COUNTERNAME = 0xC000_0BC0 "PDH_CSTATUS_BAD_COUNTERNAME" "the path cannot be parsed";
    INVALID_PATH = 0xC000_0BC4 "PDH_INVALID_PATH" "the path is not valid";
    INVALID_INSTANCE = 0xC000_0BC5 "PDH_INVALID_INSTANCE" "the instance is not valid";
    INVALID_DATA = 0xC000_0BC6 "PDH_INVALID_DATA" "the counter has no valid data";
    NO_MORE_DATA = 0xC000_0BCC "PDH_NO_MORE_DATA" "no record follows in the log";
}

impl Status {
    /// Whether a value with this status is valid.
    pub const fn is_good(self) -> bool {
        !self.is_error()
    }

    /// Whether a value with this status is missing: the high bit is set.
    pub const fn is_error(self) -> bool {
        self.0 & 0x8000_0000 != 0
    }
}

/// Writes Windows' name, or the code as `0x...`.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&format!("{:#010x}", self.0)),
        }
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} ({:#010x})", self.0)
    }
}

impl std::error::Error for Status {}

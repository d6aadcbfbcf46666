//! The binary format of registration data, the result of `PerfQueryCounterSetRegistrationInfo`.
//!
//! | request | writer | decoder |
//! | --- | --- | --- |
//! | the set with its counters | [`encode`] | [`decode_set`] |
//! | one counter | [`encode`] | [`decode_counter`] |
//! | names or help texts of the counters | [`encode`] | [`decode_strings`] |
//! | one name or help text | [`encode`] | [`decode_text`] |
//! | the provider's GUID | [`encode`] | [`decode_guid`] |

mod encode;
mod set;
mod strings;
mod text;

use crate::block::WILDCARD_ID;

pub use encode::{MAX_REGISTRATION_BYTES, encode};
pub use set::{RegisteredCounter, RegisteredSet, decode_counter, decode_set, expect_guid};
pub use strings::{Strings, decode_strings};
pub use text::{decode_guid, decode_text};

/// Stored instead of the id of a companion that a counter does not have.
const NO_COMPANION: u32 = WILDCARD_ID;

/// Stored instead of the offset of a missing string.
const NO_STRING: u32 = WILDCARD_ID;

/// A request for a part of a set's registration (`PERF_REG_*`).
///
/// Requests for texts can have a language: an LCID, or 0 for the default. Only English is available; other languages
/// fail with [`ErrorCode::RESOURCE_LANG_NOT_FOUND`](crate::ErrorCode::RESOURCE_LANG_NOT_FOUND).
///
/// Source: perflib.h; \[MS-PCQ\].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// The set with its counters.
    #[doc(alias = "PERF_REG_COUNTERSET_STRUCT")]
    CounterSet,
    /// The counter with this id.
    #[doc(alias = "PERF_REG_COUNTER_STRUCT")]
    Counter(u32),
    /// The set's name in a language.
    #[doc(alias = "PERF_REG_COUNTERSET_NAME_STRING")]
    CounterSetName(u32),
    /// The set's help text in a language.
    #[doc(alias = "PERF_REG_COUNTERSET_HELP_STRING")]
    CounterSetHelp(u32),
    /// The counters' names in a language.
    #[doc(alias = "PERF_REG_COUNTER_NAME_STRINGS")]
    CounterNames(u32),
    /// The counters' help texts in a language.
    #[doc(alias = "PERF_REG_COUNTER_HELP_STRINGS")]
    CounterHelps(u32),
    /// The provider's name.
    #[doc(alias = "PERF_REG_PROVIDER_NAME")]
    ProviderName,
    /// The provider's GUID.
    #[doc(alias = "PERF_REG_PROVIDER_GUID")]
    ProviderGuid,
    /// The set's name in English.
    #[doc(alias = "PERF_REG_COUNTERSET_ENGLISH_NAME")]
    EnglishCounterSetName,
    /// The counters' names in English.
    #[doc(alias = "PERF_REG_COUNTER_ENGLISH_NAMES")]
    EnglishCounterNames,
}

impl Request {
    /// The request with this code; `None` if the code is not in 1 to 10. Depending on the code, the argument is a
    /// counter id, a language, or ignored.
    ///
    /// ```
    /// use tachograph_perflib::registration::Request;
    ///
    /// assert_eq!(Request::from_number(2, 7), Some(Request::Counter(7)));
    /// assert_eq!(Request::from_number(9, 0), Some(Request::EnglishCounterSetName));
    /// assert_eq!(Request::from_number(11, 0), None);
    /// ```
    pub const fn from_number(code: u32, argument: u32) -> Option<Self> {
        Some(match code {
            1 => Self::CounterSet,
            2 => Self::Counter(argument),
            3 => Self::CounterSetName(argument),
            4 => Self::CounterSetHelp(argument),
            5 => Self::CounterNames(argument),
            6 => Self::CounterHelps(argument),
            7 => Self::ProviderName,
            8 => Self::ProviderGuid,
            9 => Self::EnglishCounterSetName,
            10 => Self::EnglishCounterNames,
            _ => return None,
        })
    }

    /// The code.
    pub const fn number(self) -> u32 {
        match self {
            Self::CounterSet => 1,
            Self::Counter(_) => 2,
            Self::CounterSetName(_) => 3,
            Self::CounterSetHelp(_) => 4,
            Self::CounterNames(_) => 5,
            Self::CounterHelps(_) => 6,
            Self::ProviderName => 7,
            Self::ProviderGuid => 8,
            Self::EnglishCounterSetName => 9,
            Self::EnglishCounterNames => 10,
        }
    }

    /// The language, if the request has one.
    const fn language(self) -> Option<u32> {
        match self {
            Self::CounterSetName(language)
            | Self::CounterSetHelp(language)
            | Self::CounterNames(language)
            | Self::CounterHelps(language) => Some(language),
            _ => None,
        }
    }
}

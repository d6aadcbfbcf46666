//! Registration data as bytes: what `PerfQueryCounterSetRegistrationInfo` gives.
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

pub use encode::{MAX_REGISTRATION_BYTES, encode};
pub use set::{RegisteredCounter, RegisteredSet, decode_counter, decode_set, expect_guid};
pub use strings::{Strings, decode_strings};
pub use text::{decode_guid, decode_text};

/// What is asked of a set's registration (`PERF_REG_*`).
///
/// Texts are asked for in a language: an LCID, 0 for the default one. There is one language, English; others are answered
/// with [`ErrorCode::RESOURCE_LANG_NOT_FOUND`](crate::ErrorCode::RESOURCE_LANG_NOT_FOUND).
///
/// Source: perflib.h; \[MS-PCQ\].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// The set with its counters.
    #[doc(alias = "PERF_REG_COUNTERSET_STRUCT")]
    CounterSet,
    /// The counter of this id.
    #[doc(alias = "PERF_REG_COUNTER_STRUCT")]
    Counter(u32),
    /// The set's name in a language.
    #[doc(alias = "PERF_REG_COUNTERSET_NAME_STRING")]
    CounterSetName(u32),
    /// What the set is about, in a language.
    #[doc(alias = "PERF_REG_COUNTERSET_HELP_STRING")]
    CounterSetHelp(u32),
    /// The counters' names in a language.
    #[doc(alias = "PERF_REG_COUNTER_NAME_STRINGS")]
    CounterNames(u32),
    /// What the counters count, in a language.
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
    /// The request of a code and its argument, which is a counter's id or a language; where neither belongs it is ignored.
    /// `None` for a code that is not 1 to 10.
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

    /// The language asked for, where one is.
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

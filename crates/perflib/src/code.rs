//! The Win32 result codes of PerfLib functions, identifiers and result blocks.

use std::fmt;

use tachograph_counters::named_codes;

/// A Win32 error code: the reason that a call, an identifier or a result failed.
///
/// Source: "System Error Codes"; \[MS-PCQ\].
///
/// ```
/// use tachograph_perflib::ErrorCode;
///
/// assert_eq!(ErrorCode::INVALID_PARAMETER.0, 87);
/// assert_eq!(ErrorCode::GUID_NOT_FOUND.to_string(), "the counter set is not registered (4200)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ErrorCode(pub u32);

named_codes! { ErrorCode:
    PATH_NOT_FOUND = 3 "ERROR_PATH_NOT_FOUND" "no active instance has that name";
    ACCESS_DENIED = 5 "ERROR_ACCESS_DENIED" "access is denied";
    NOT_ENOUGH_MEMORY = 8 "ERROR_NOT_ENOUGH_MEMORY" "the caller's buffer is too small";
    INVALID_DATA = 13 "ERROR_INVALID_DATA" "invalid data";
    OUT_OF_MEMORY = 14 "ERROR_OUTOFMEMORY" "out of memory";
    WRITE_FAULT = 29 "ERROR_WRITE_FAULT" "the operating system refused a call that publishing needs";
    NOT_SUPPORTED = 50 "ERROR_NOT_SUPPORTED" "not supported";
    BAD_NETWORK_PATH = 53 "ERROR_BAD_NETPATH" "cannot reach the machine";
    INVALID_PARAMETER = 87 "ERROR_INVALID_PARAMETER" "the identifier is not valid for its counter set";
    ALREADY_EXISTS = 183 "ERROR_ALREADY_EXISTS" "already added or registered";
    NO_DATA = 232 "ERROR_NO_DATA" "no data";
    NOT_FOUND = 1168 "ERROR_NOT_FOUND" "no such item";
    NO_SUCH_GROUP = 1319 "ERROR_NO_SUCH_GROUP" "no such group";
    INTERNAL_ERROR = 1359 "ERROR_INTERNAL_ERROR" "the provider failed";
    NO_SYSTEM_RESOURCES = 1450 "ERROR_NO_SYSTEM_RESOURCES" "system resources are exhausted";
    TIMEOUT = 1460 "ERROR_TIMEOUT" "the provider did not answer in time";
    SERVER_UNAVAILABLE = 1722 "RPC_S_SERVER_UNAVAILABLE" "no agent answers at the machine's address";
    RESOURCE_LANG_NOT_FOUND = 1815 "ERROR_RESOURCE_LANG_NOT_FOUND" "the language is not installed";
    GUID_NOT_FOUND = 4200 "ERROR_WMI_GUID_NOT_FOUND" "the counter set is not registered";
    INSTANCE_NOT_FOUND = 4201 "ERROR_WMI_INSTANCE_NOT_FOUND" "the counter set has no instances";
    ITEM_ID_NOT_FOUND = 4202 "ERROR_WMI_ITEMID_NOT_FOUND" "the counter set has no such counter";
    INVALID_REGISTRATION = 4211 "ERROR_WMI_INVALID_REGINFO" "the data does not fit the registration";
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.meaning() {
            Some(meaning) => write!(f, "{meaning} ({})", self.0),
            None => write!(f, "Win32 code {}", self.0),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name().unwrap_or("ErrorCode"), self.0)
    }
}

impl std::error::Error for ErrorCode {}

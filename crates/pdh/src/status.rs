//! The status of a call or of a value.

use std::fmt;

use tachograph_counters::{Status, named_codes};

/// The status of a PDH call or of a value: a code from pdhmsg.h.
///
/// 0 is success. `0x8...` are warnings (a value is missing now and may exist later), `0xC...` are errors. A *call* and a
/// *value* each have their own status: check both.
///
/// Source: pdhmsg.h; "Performance Data Helper Error Codes".
///
/// ```
/// use tachograph_pdh::PdhStatus;
///
/// assert_eq!(PdhStatus(0xC000_0BC6), PdhStatus::INVALID_DATA);
/// assert_eq!(PdhStatus::INVALID_DATA.to_string(), "PDH_INVALID_DATA");
/// assert!(PdhStatus::NO_DATA.is_error() && !PdhStatus::NEW_DATA.is_error());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[doc(alias = "PDH_STATUS")]
#[must_use]
pub struct PdhStatus(pub u32);

/// The result of a PDH function.
pub type Result<T> = std::result::Result<T, PdhStatus>;

named_codes! { PdhStatus:
    VALID_DATA = 0x0000_0000 "PDH_CSTATUS_VALID_DATA" "success; of a value: valid";
    NEW_DATA = 0x0000_0001 "PDH_CSTATUS_NEW_DATA" "the value is valid and new";
    NO_MACHINE = 0x8000_07D0 "PDH_CSTATUS_NO_MACHINE" "the machine is not reachable, or the sample could not be taken";
    NO_INSTANCE = 0x8000_07D1 "PDH_CSTATUS_NO_INSTANCE" "the instance is not present";
    MORE_DATA = 0x8000_07D2 "PDH_MORE_DATA" "the buffer is too small";
    ITEM_NOT_VALIDATED = 0x8000_07D3 "PDH_CSTATUS_ITEM_NOT_VALIDATED" "added to the query, not collected yet";
    RETRY = 0x8000_07D4 "PDH_RETRY" "retry";
    NO_DATA = 0x8000_07D5 "PDH_NO_DATA" "nothing could be collected";
    NEGATIVE_DENOMINATOR = 0x8000_07D6 "PDH_CALC_NEGATIVE_DENOMINATOR" "the base or the clock went backwards";
    NEGATIVE_TIMEBASE = 0x8000_07D7 "PDH_CALC_NEGATIVE_TIMEBASE" "the time base is not positive";
    NEGATIVE_VALUE = 0x8000_07D8 "PDH_CALC_NEGATIVE_VALUE" "the counter went backwards";
    DIALOG_CANCELLED = 0x8000_07D9 "PDH_DIALOG_CANCELLED" "the dialog was cancelled";
    END_OF_LOG_FILE = 0x8000_07DA "PDH_END_OF_LOG_FILE" "end of the log";
    ASYNC_QUERY_TIMEOUT = 0x8000_07DB "PDH_ASYNC_QUERY_TIMEOUT" "the collecting thread did not end in time";
    CANNOT_SET_DEFAULT_REALTIME_DATASOURCE = 0x8000_07DC "PDH_CANNOT_SET_DEFAULT_REALTIME_DATASOURCE"
        "the default source of real-time data cannot be changed any more";
    UNABLE_MAP_NAME_FILES = 0x8000_0BD5 "PDH_UNABLE_MAP_NAME_FILES" "the files of names cannot be mapped";
    PLA_VALIDATION_WARNING = 0x8000_0BF3 "PDH_PLA_VALIDATION_WARNING" "a warning about a collection's settings";
    NO_OBJECT = 0xC000_0BB8 "PDH_CSTATUS_NO_OBJECT" "the counter set was not found";
    NO_COUNTER = 0xC000_0BB9 "PDH_CSTATUS_NO_COUNTER" "the counter was not found";
    CSTATUS_INVALID_DATA = 0xC000_0BBA "PDH_CSTATUS_INVALID_DATA" "the counter exists, its value is invalid";
    MEMORY_ALLOCATION_FAILURE = 0xC000_0BBB "PDH_MEMORY_ALLOCATION_FAILURE" "out of memory";
    INVALID_HANDLE = 0xC000_0BBC "PDH_INVALID_HANDLE" "the handle is closed, of another kind or invalid";
    INVALID_ARGUMENT = 0xC000_0BBD "PDH_INVALID_ARGUMENT" "an argument is invalid, or the type cannot be formatted";
    FUNCTION_NOT_FOUND = 0xC000_0BBE "PDH_FUNCTION_NOT_FOUND" "the counter type has no formula";
    NO_COUNTERNAME = 0xC000_0BBF "PDH_CSTATUS_NO_COUNTERNAME" "the path is empty";
    BAD_COUNTERNAME = 0xC000_0BC0 "PDH_CSTATUS_BAD_COUNTERNAME" "the path cannot be parsed";
    INVALID_BUFFER = 0xC000_0BC1 "PDH_INVALID_BUFFER" "the buffer is invalid";
    INSUFFICIENT_BUFFER = 0xC000_0BC2 "PDH_INSUFFICIENT_BUFFER" "the buffer is too small, and its size was not zero";
    CANNOT_CONNECT_MACHINE = 0xC000_0BC3 "PDH_CANNOT_CONNECT_MACHINE" "the machine cannot be reached";
    INVALID_PATH = 0xC000_0BC4 "PDH_INVALID_PATH" "the path is invalid";
    INVALID_INSTANCE = 0xC000_0BC5 "PDH_INVALID_INSTANCE" "the instance is invalid";
    INVALID_DATA = 0xC000_0BC6 "PDH_INVALID_DATA" "the counter has no valid data";
    NO_DIALOG_DATA = 0xC000_0BC7 "PDH_NO_DIALOG_DATA" "the dialog's data is missing";
    CANNOT_READ_NAME_STRINGS = 0xC000_0BC8 "PDH_CANNOT_READ_NAME_STRINGS" "names and texts cannot be read";
    LOG_FILE_CREATE_ERROR = 0xC000_0BC9 "PDH_LOG_FILE_CREATE_ERROR" "the log cannot be created or written";
    LOG_FILE_OPEN_ERROR = 0xC000_0BCA "PDH_LOG_FILE_OPEN_ERROR" "the log cannot be opened or read";
    LOG_TYPE_NOT_FOUND = 0xC000_0BCB "PDH_LOG_TYPE_NOT_FOUND" "the log type is unknown, or cannot be used here";
    NO_MORE_DATA = 0xC000_0BCC "PDH_NO_MORE_DATA" "the log has no further record";
    ENTRY_NOT_IN_LOG_FILE = 0xC000_0BCD "PDH_ENTRY_NOT_IN_LOG_FILE" "the log has no such entry";
    DATA_SOURCE_IS_LOG_FILE = 0xC000_0BCE "PDH_DATA_SOURCE_IS_LOG_FILE" "the data source is a log";
    DATA_SOURCE_IS_REAL_TIME = 0xC000_0BCF "PDH_DATA_SOURCE_IS_REAL_TIME" "the data source is a machine, in real time";
    UNABLE_READ_LOG_HEADER = 0xC000_0BD0 "PDH_UNABLE_READ_LOG_HEADER" "the log's header cannot be read";
    FILE_NOT_FOUND = 0xC000_0BD1 "PDH_FILE_NOT_FOUND" "the file was not found";
    FILE_ALREADY_EXISTS = 0xC000_0BD2 "PDH_FILE_ALREADY_EXISTS" "the file already exists";
    NOT_IMPLEMENTED = 0xC000_0BD3 "PDH_NOT_IMPLEMENTED" "the function or option is not implemented";
    STRING_NOT_FOUND = 0xC000_0BD4 "PDH_STRING_NOT_FOUND" "the text was not found";
    UNKNOWN_LOG_FORMAT = 0xC000_0BD6 "PDH_UNKNOWN_LOG_FORMAT" "the file is not a log of a known format";
    UNKNOWN_LOGSVC_COMMAND = 0xC000_0BD7 "PDH_UNKNOWN_LOGSVC_COMMAND" "the logging service does not know the command";
    LOGSVC_QUERY_NOT_FOUND = 0xC000_0BD8 "PDH_LOGSVC_QUERY_NOT_FOUND" "the logging service does not know the query";
    LOGSVC_NOT_OPENED = 0xC000_0BD9 "PDH_LOGSVC_NOT_OPENED" "the logging service cannot be reached";
    WBEM_ERROR = 0xC000_0BDA "PDH_WBEM_ERROR" "a WMI error";
    ACCESS_DENIED = 0xC000_0BDB "PDH_ACCESS_DENIED" "access was denied";
    LOG_FILE_TOO_SMALL = 0xC000_0BDC "PDH_LOG_FILE_TOO_SMALL" "the log is too small to hold the data";
    INVALID_DATASOURCE = 0xC000_0BDD "PDH_INVALID_DATASOURCE" "the data source is invalid";
    INVALID_SQLDB = 0xC000_0BDE "PDH_INVALID_SQLDB" "the database lacks the tables of a log";
    NO_COUNTERS = 0xC000_0BDF "PDH_NO_COUNTERS" "no counters";
    SQL_ALLOC_FAILED = 0xC000_0BE0 "PDH_SQL_ALLOC_FAILED" "SQL: no memory for a statement";
    SQL_ALLOCCON_FAILED = 0xC000_0BE1 "PDH_SQL_ALLOCCON_FAILED" "SQL: no memory for a connection";
    SQL_EXEC_DIRECT_FAILED = 0xC000_0BE2 "PDH_SQL_EXEC_DIRECT_FAILED" "SQL: a statement failed";
    SQL_FETCH_FAILED = 0xC000_0BE3 "PDH_SQL_FETCH_FAILED" "SQL: a row could not be read";
    SQL_ROWCOUNT_FAILED = 0xC000_0BE4 "PDH_SQL_ROWCOUNT_FAILED" "SQL: rows could not be counted";
    SQL_MORE_RESULTS_FAILED = 0xC000_0BE5 "PDH_SQL_MORE_RESULTS_FAILED" "SQL: further results could not be read";
    SQL_CONNECT_FAILED = 0xC000_0BE6 "PDH_SQL_CONNECT_FAILED" "SQL: no connection";
    SQL_BIND_FAILED = 0xC000_0BE7 "PDH_SQL_BIND_FAILED" "SQL: a column could not be bound";
    CANNOT_CONNECT_WMI_SERVER = 0xC000_0BE8 "PDH_CANNOT_CONNECT_WMI_SERVER" "WMI cannot be reached";
    PLA_COLLECTION_ALREADY_RUNNING = 0xC000_0BE9 "PDH_PLA_COLLECTION_ALREADY_RUNNING" "the collection is running";
    PLA_ERROR_SCHEDULE_OVERLAP = 0xC000_0BEA "PDH_PLA_ERROR_SCHEDULE_OVERLAP" "start and end of the collection overlap";
    PLA_COLLECTION_NOT_FOUND = 0xC000_0BEB "PDH_PLA_COLLECTION_NOT_FOUND" "the collection does not exist";
    PLA_ERROR_SCHEDULE_ELAPSED = 0xC000_0BEC "PDH_PLA_ERROR_SCHEDULE_ELAPSED" "the collection's schedule has elapsed";
    PLA_ERROR_NOSTART = 0xC000_0BED "PDH_PLA_ERROR_NOSTART" "the collection did not start";
    PLA_ERROR_ALREADY_EXISTS = 0xC000_0BEE "PDH_PLA_ERROR_ALREADY_EXISTS" "a collection with this name exists";
    PLA_ERROR_TYPE_MISMATCH = 0xC000_0BEF "PDH_PLA_ERROR_TYPE_MISMATCH" "the settings are of another type";
    PLA_ERROR_FILEPATH = 0xC000_0BF0 "PDH_PLA_ERROR_FILEPATH" "the collection's file name is invalid";
    PLA_SERVICE_ERROR = 0xC000_0BF1 "PDH_PLA_SERVICE_ERROR" "the collecting service failed";
    PLA_VALIDATION_ERROR = 0xC000_0BF2 "PDH_PLA_VALIDATION_ERROR" "the collection's settings are invalid";
    PLA_ERROR_NAME_TOO_LONG = 0xC000_0BF4 "PDH_PLA_ERROR_NAME_TOO_LONG" "the collection's name is too long";
    INVALID_SQL_LOG_FORMAT = 0xC000_0BF5 "PDH_INVALID_SQL_LOG_FORMAT" "the name does not have the form SQL:DSN!LogSet";
    COUNTER_ALREADY_IN_QUERY = 0xC000_0BF6 "PDH_COUNTER_ALREADY_IN_QUERY" "the counter is already in the query";
    BINARY_LOG_CORRUPT = 0xC000_0BF7 "PDH_BINARY_LOG_CORRUPT" "the binary log is damaged";
    LOG_SAMPLE_TOO_SMALL = 0xC000_0BF8 "PDH_LOG_SAMPLE_TOO_SMALL" "the log has fewer than two samples";
    OS_LATER_VERSION = 0xC000_0BF9 "PDH_OS_LATER_VERSION" "the log was written by a later version of the system";
    OS_EARLIER_VERSION = 0xC000_0BFA "PDH_OS_EARLIER_VERSION" "the log was written by an earlier version of the system";
    INCORRECT_APPEND_TIME = 0xC000_0BFB "PDH_INCORRECT_APPEND_TIME" "the appended sample is not later than the log's last";
    UNMATCHED_APPEND_COUNTER = 0xC000_0BFC "PDH_UNMATCHED_APPEND_COUNTER" "the appended sample has other counters than the log";
    SQL_ALTER_DETAIL_FAILED = 0xC000_0BFD "PDH_SQL_ALTER_DETAIL_FAILED" "SQL: a table could not be changed";
    QUERY_PERF_DATA_TIMEOUT = 0xC000_0BFE "PDH_QUERY_PERF_DATA_TIMEOUT" "a provider did not answer in time";
}

impl PdhStatus {
    /// Success; `ERROR_SUCCESS` in C.
    #[doc(alias = "ERROR_SUCCESS")]
    pub const SUCCESS: Self = Self::VALID_DATA;

    /// Whether the result is missing, that is, whether the high bit is set.
    #[must_use]
    pub const fn is_error(self) -> bool {
        Status(self.0).is_error()
    }
}

impl From<Status> for PdhStatus {
    fn from(status: Status) -> Self {
        Self(status.0)
    }
}

impl From<PdhStatus> for Status {
    fn from(status: PdhStatus) -> Self {
        Self(status.0)
    }
}

/// Displays the name in pdhmsg.h, or `0x...` for an unknown code.
impl fmt::Display for PdhStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&format!("{:#010x}", self.0)),
        }
    }
}

impl fmt::Debug for PdhStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} ({:#010x})", self.0)
    }
}

impl std::error::Error for PdhStatus {}

//! Return codes: their values and names.

use tachograph_cpi::ErrorKind;

/// A return code: 0 for success, negative for an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Code(pub i32);

/// Defines the codes with their values and names, and the table of all codes.
macro_rules! codes {
    ($($constant:ident = $number:literal $name:literal $text:literal;)*) => {
        impl Code {
            $(
                #[doc = concat!("`", stringify!($constant), "`: ", $text, ".")]
                pub const $constant: Self = Self($number);
            )*
        }

        /// Every code with its name.
        pub const ALL: &[(Code, &std::ffi::CStr)] = &[$((Code::$constant, $name)),*];
    };
}

codes! {
    PU_SUCCESS = 0 c"PU_SUCCESS" "success";
    PU_FAILURE = -1 c"PU_FAILURE" "any other error";
    PU_ERROR_INVALID_FUNCTION = -2 c"PU_ERROR_INVALID_FUNCTION" "never returned";
    PU_ERR_NULL_PTR = -3 c"PU_ERR_NULL_PTR" "an argument is a null pointer";
    PU_ERR_FILE_ERROR = -4 c"PU_ERR_FILE_ERROR" "the trace file could not be created or written";
    PU_ERROR_ACCESS_DENIED = -5 c"PU_ERROR_ACCESS_DENIED" "the system denies access";
    PU_ERR_NOT_INITIALIZED = -6 c"PU_ERR_NOT_INITIALIZED" "no handle exists";
    PU_ERROR_NOT_ENOUGH_MEMORY = -8 c"PU_ERROR_NOT_ENOUGH_MEMORY" "out of memory";
    PU_ERROR_INVALID_PARAMETER = -87 c"PU_ERROR_INVALID_PARAMETER" "unknown mode bits or minor code, closed handle";
    PU_ERROR_INSUFFICIENT_BUFFER = -122 c"PU_ERROR_INSUFFICIENT_BUFFER" "more processors than `MAX_CPUS`";
    PU_ERROR_INTERNAL_ERROR = -200 c"PU_ERROR_INTERNAL_ERROR" "a bug in the library";
    PU_ERROR_INCORRECT_STATE = -201 c"PU_ERROR_INCORRECT_STATE" "a trace is open, or an earlier call panicked";
    PU_ERROR_NO_BUFFER = -202 c"PU_ERROR_NO_BUFFER" "no trace is open";
    PU_ERROR_THREAD_NOT_FOUND = -203 c"PU_ERROR_THREAD_NOT_FOUND" "the thread does not exist";
    PU_ERROR_NO_TARGET_CPU = -204 c"PU_ERROR_NO_TARGET_CPU" "the processor is offline";
    PU_ERROR_BUFFER_FULL = -205 c"PU_ERROR_BUFFER_FULL" "the trace is full";
    PU_ERROR_HOOK_TOO_LONG = -208 c"PU_ERROR_HOOK_TOO_LONG" "a hook is longer than its length field can hold";
    PU_ERROR_NOT_SUPPORTED = -210 c"PU_ERROR_NOT_SUPPORTED" "the kernel or the hardware lacks a required feature";
    PU_ERROR_FACILITY_BUSY = -211 c"PU_ERROR_FACILITY_BUSY" "another program holds the counters exclusively";
    PU_ERROR_EVENT_NOT_SUPPORTED = -213 c"PU_ERROR_EVENT_NOT_SUPPORTED" "the machine lacks the counter";
    PU_ERROR_INVALID_CPI_DATA = -216 c"PU_ERROR_INVALID_CPI_DATA" "the interval has no CPI";
    PU_ERROR_EVENT_ALL_CTRS_IN_USE = -226 c"PU_ERROR_EVENT_ALL_CTRS_IN_USE" "all counters are in use";
    PU_ERROR_NOT_VALID_IN_VM = -234 c"PU_ERROR_NOT_VALID_IN_VM" "the virtual machine lacks the counter";
    PU_ERROR_INSUFFICIENT_RESOURCES = -241 c"PU_ERROR_INSUFFICIENT_RESOURCES" "too many open files";
    PU_ERROR_INVALID_THREAD = -255 c"PU_ERROR_INVALID_THREAD" "never returned";
}

impl Code {
    /// The name of the code; `None` if it is unknown.
    pub fn name(self) -> Option<&'static std::ffi::CStr> {
        ALL.iter().find(|(code, _)| *code == self).map(|(_, name)| *name)
    }
}

/// Maps each kind of error to its code.
impl From<ErrorKind> for Code {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::EventNotSupported { in_virtual_machine: false } => Self::PU_ERROR_EVENT_NOT_SUPPORTED,
            ErrorKind::EventNotSupported { in_virtual_machine: true } => Self::PU_ERROR_NOT_VALID_IN_VM,
            ErrorKind::AccessDenied | ErrorKind::Blocked => Self::PU_ERROR_ACCESS_DENIED,
            ErrorKind::NoSystemCall | ErrorKind::NotSupported => Self::PU_ERROR_NOT_SUPPORTED,
            ErrorKind::ProcessorOffline => Self::PU_ERROR_NO_TARGET_CPU,
            ErrorKind::NoSuchThread => Self::PU_ERROR_THREAD_NOT_FOUND,
            ErrorKind::TooManyFiles => Self::PU_ERROR_INSUFFICIENT_RESOURCES,
            ErrorKind::Busy => Self::PU_ERROR_FACILITY_BUSY,
            ErrorKind::OutOfMemory => Self::PU_ERROR_NOT_ENOUGH_MEMORY,
            ErrorKind::NeverRan => Self::PU_ERROR_INVALID_CPI_DATA,
            ErrorKind::AllCountersInUse => Self::PU_ERROR_EVENT_ALL_CTRS_IN_USE,
            ErrorKind::InvalidArgument => Self::PU_ERROR_INVALID_PARAMETER,
            ErrorKind::NoTrace => Self::PU_ERROR_NO_BUFFER,
            ErrorKind::TraceFull => Self::PU_ERROR_BUFFER_FULL,
            ErrorKind::HookTooLong => Self::PU_ERROR_HOOK_TOO_LONG,
            ErrorKind::TraceFile => Self::PU_ERR_FILE_ERROR,
            // `Refused` (EINVAL), `System`, and future kinds: the message has the cause.
            _ => Self::PU_FAILURE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_error_has_the_code_of_the_table() {
        let table = [
            (ErrorKind::EventNotSupported { in_virtual_machine: false }, -213),
            (ErrorKind::EventNotSupported { in_virtual_machine: true }, -234),
            (ErrorKind::AccessDenied, -5),
            (ErrorKind::Blocked, -5),
            (ErrorKind::NoSystemCall, -210),
            (ErrorKind::NotSupported, -210),
            (ErrorKind::Refused, -1),
            (ErrorKind::ProcessorOffline, -204),
            (ErrorKind::NoSuchThread, -203),
            (ErrorKind::TooManyFiles, -241),
            (ErrorKind::Busy, -211),
            (ErrorKind::OutOfMemory, -8),
            (ErrorKind::NeverRan, -216),
            (ErrorKind::AllCountersInUse, -226),
            (ErrorKind::InvalidArgument, -87),
            (ErrorKind::NoTrace, -202),
            (ErrorKind::TraceFull, -205),
            (ErrorKind::HookTooLong, -208),
            (ErrorKind::TraceFile, -4),
            (ErrorKind::System, -1),
        ];
        for (kind, number) in table {
            assert_eq!(Code::from(kind), Code(number), "{kind:?}");
        }
    }

    #[test]
    fn each_code_and_name_exists_once() {
        for (index, (code, name)) in ALL.iter().enumerate() {
            assert_eq!(code.name(), Some(*name));
            assert!(!ALL[..index].iter().any(|(_, other)| other == name), "{name:?}");
            assert!(code.0 <= 0);
        }
        assert_eq!(Code(-7).name(), None);
        assert_eq!(Code(1).name(), None);
    }
}

//! The Win32 code and message of a failed function of perflib.h, and the last error of each thread.

use std::cell::Cell;

use tachograph_perflib::{ErrorCode, Failure as SetFailure};

use crate::code::Code;
use crate::failure::{Failure, call_or};
use crate::handles::{HandleError, HandleKind};

/// Windows' `ERROR_INVALID_HANDLE`.
pub(crate) const INVALID_HANDLE: ErrorCode = ErrorCode(6);

thread_local! {
    /// The code that `GetLastError` returns on Windows.
    static LAST_CODE: Cell<u32> = const { Cell::new(0) };
}

/// The code that [`set_last_code`] stored for this thread, or 0.
pub(crate) fn last_code() -> u32 {
    LAST_CODE.try_with(Cell::get).unwrap_or(0)
}

/// Stores a code for this thread. Has no effect while the thread ends, if its thread-local variables have been destroyed.
pub(crate) fn set_last_code(code: u32) {
    let _ = LAST_CODE.try_with(|last| last.set(code));
}

/// Why a function failed: its return code, and a message with the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) code: ErrorCode,
    pub(crate) text: String,
}

impl ApiError {
    pub(crate) fn new(code: ErrorCode, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    /// An argument is a null pointer.
    pub(crate) fn null(argument: &str) -> Self {
        Self::new(ErrorCode::INVALID_PARAMETER, format!("The argument {argument} is a null pointer."))
    }

    /// The handle in this argument is not an open handle of kind `K`.
    pub(crate) fn handle<K: HandleKind>(error: HandleError, argument: &str) -> Self {
        let code = match error {
            HandleError::Null => return Self::null(argument),
            HandleError::Exhausted => ErrorCode::NO_SYSTEM_RESOURCES,
            HandleError::Closed | HandleError::Unknown | HandleError::OtherKind(_) => INVALID_HANDLE,
        };
        Self::new(code, error.describe::<K>())
    }

    /// An invalid argument.
    pub(crate) fn argument(text: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMETER, text)
    }
}

impl From<ErrorCode> for ApiError {
    fn from(code: ErrorCode) -> Self {
        Self::new(code, code.to_string())
    }
}

impl From<SetFailure> for ApiError {
    fn from(failure: SetFailure) -> Self {
        Self::new(failure.code, failure.reason.to_string())
    }
}

/// Runs the body of a function, and returns its code. Stores the message of a failure for the thread. A buffer that is too
/// small is not a failure: callers query the required size in this way.
pub(crate) fn call(body: impl FnOnce() -> Result<(), ApiError>) -> u32 {
    call_or_else(|code| code, || body().map(|()| 0))
}

/// Like [`call`], for a function with another result type: `from_code` converts an error code to it.
pub(crate) fn call_or_else<T>(
    from_code: impl FnOnce(u32) -> T,
    body: impl FnOnce() -> Result<T, ApiError>,
) -> T {
    // This value is used if the body panics.
    let code = Cell::new(ErrorCode::INTERNAL_ERROR);
    let result = call_or(
        |_| None,
        || match body() {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                code.set(error.code);
                if error.code == ErrorCode::NOT_ENOUGH_MEMORY {
                    return Ok(None);
                }
                Err(Failure::new(Code::PU_FAILURE, error.text))
            }
        },
    );
    result.unwrap_or_else(|| from_code(code.get().0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_internal_error() {
        assert_eq!(call(|| Ok(())), 0);
        assert_eq!(call(|| Err(ApiError::null("phQuery"))), 87);
        assert_eq!(call(|| Err(ErrorCode::NOT_ENOUGH_MEMORY.into())), 8);
        assert_eq!(call(|| panic!("a test")), 1359);
        assert_eq!(call_or_else(|code| code + 1, || Err(ErrorCode::NOT_FOUND.into())), 1169);
    }

    #[test]
    fn each_thread_has_its_own_last_code() {
        set_last_code(87);
        std::thread::spawn(|| assert_eq!(last_code(), 0)).join().expect("the thread does not panic");
        assert_eq!(last_code(), 87);
    }
}

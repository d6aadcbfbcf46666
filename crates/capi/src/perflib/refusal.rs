//! The Win32 code with which a function of perflib.h fails, and the last error of each thread.

use std::cell::Cell;

use tachograph_perflib::{ErrorCode, Failure as SetFailure};

use crate::code::Code;
use crate::failure::{Failure, call_or};
use crate::handles::{HandleError, HandleKind};

/// Windows' `ERROR_INVALID_HANDLE`.
pub(crate) const INVALID_HANDLE: ErrorCode = ErrorCode(6);

thread_local! {
    /// What `GetLastError` gives on Windows.
    static LAST_CODE: Cell<u32> = const { Cell::new(0) };
}

/// The code of this thread's last failure that a program can ask for; 0 where there was none.
pub(crate) fn last_code() -> u32 {
    LAST_CODE.try_with(Cell::get).unwrap_or(0)
}

/// Keeps a code for this thread. One that ends may have lost its place already: then nobody can ask for it.
pub(crate) fn set_last_code(code: u32) {
    let _ = LAST_CODE.try_with(|last| last.set(code));
}

/// Why a function failed: the code that it returns, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: ErrorCode,
    pub(crate) text: String,
}

impl Refusal {
    pub(crate) fn new(code: ErrorCode, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    /// A null pointer in the place of this argument.
    pub(crate) fn null(argument: &str) -> Self {
        Self::new(ErrorCode::INVALID_PARAMETER, format!("The argument {argument} is a null pointer."))
    }

    /// The handle of kind `K` in the place of this argument cannot be used.
    pub(crate) fn handle<K: HandleKind>(error: HandleError, argument: &str) -> Self {
        let code = match error {
            HandleError::Null => return Self::null(argument),
            HandleError::Exhausted => ErrorCode::NO_SYSTEM_RESOURCES,
            HandleError::Closed | HandleError::Unknown | HandleError::OtherKind(_) => INVALID_HANDLE,
        };
        Self::new(code, error.describe::<K>())
    }

    /// An argument that is wrong in itself.
    pub(crate) fn argument(text: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMETER, text)
    }
}

impl From<ErrorCode> for Refusal {
    fn from(code: ErrorCode) -> Self {
        Self::new(code, code.to_string())
    }
}

impl From<SetFailure> for Refusal {
    fn from(failure: SetFailure) -> Self {
        Self::new(failure.code, failure.reason.to_string())
    }
}

/// Runs the body of a function, and returns its code. A failure's text is kept for the thread; that a buffer is too small is
/// part of the protocol of sizes, and no failure.
pub(crate) fn call(body: impl FnOnce() -> Result<(), Refusal>) -> u32 {
    call_or_else(|code| code, || body().map(|()| 0))
}

/// As [`call`], for a function with another result: `failed` makes it of the code.
pub(crate) fn call_or_else<T>(failed: impl FnOnce(u32) -> T, body: impl FnOnce() -> Result<T, Refusal>) -> T {
    // What stays where the body panics.
    let code = Cell::new(ErrorCode::INTERNAL_ERROR);
    let done = call_or(
        |_| None,
        || match body() {
            Ok(value) => Ok(Some(value)),
            Err(refusal) => {
                code.set(refusal.code);
                if refusal.code == ErrorCode::NOT_ENOUGH_MEMORY {
                    return Ok(None);
                }
                Err(Failure::new(Code::PU_FAILURE, refusal.text))
            }
        },
    );
    done.unwrap_or_else(|| failed(code.get().0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_internal_error() {
        assert_eq!(call(|| Ok(())), 0);
        assert_eq!(call(|| Err(Refusal::null("phQuery"))), 87);
        assert_eq!(call(|| Err(ErrorCode::NOT_ENOUGH_MEMORY.into())), 8);
        assert_eq!(call(|| panic!("a test")), 1359);
        assert_eq!(call_or_else(|code| code + 1, || Err(ErrorCode::NOT_FOUND.into())), 1169);
    }

    #[test]
    fn the_last_code_is_of_its_thread() {
        set_last_code(87);
        std::thread::spawn(|| assert_eq!(last_code(), 0)).join().expect("the thread ends well");
        assert_eq!(last_code(), 87);
    }
}

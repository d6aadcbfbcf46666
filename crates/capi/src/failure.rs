//! The return code of a failed call, and the message of each thread's last failure.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use tachograph_cpi::Error;

use crate::code::Code;

/// A return code, and a message with the cause and a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) text: Cow<'static, str>,
}

impl Failure {
    pub(crate) fn new(code: Code, text: impl Into<Cow<'static, str>>) -> Self {
        Self { code, text: text.into() }
    }

    pub(crate) fn null(argument: &str) -> Self {
        Self::new(Code::PU_ERR_NULL_PTR, format!("The argument {argument} is a null pointer."))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(error.kind().into(), error.to_string())
    }
}

thread_local! {
    /// The message of the last failure, NUL-terminated.
    static LAST_TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Stores the message of a failure for the calling thread.
fn set_last_text(text: &str) {
    // While a thread ends, its thread-local variables may have been destroyed already.
    let _ = LAST_TEXT.try_with(|last| {
        let mut last = last.borrow_mut();
        last.clear();
        last.extend(text.bytes().filter(|byte| *byte != 0));
        last.push(0);
    });
}

/// The message of this thread's last failure, or "". The pointer is valid until the thread's next failure.
pub(crate) fn last_text() -> *const c_char {
    LAST_TEXT
        .try_with(|last| {
            let last = last.borrow();
            CStr::from_bytes_with_nul(&last).map_or(c"".as_ptr(), CStr::as_ptr)
        })
        .unwrap_or(c"".as_ptr())
}

/// Runs the body of a call. On a failure or panic, stores the message for the thread and returns `on_failure(code)`.
pub(crate) fn call_or<T>(on_failure: impl FnOnce(Code) -> T, body: impl FnOnce() -> Result<T, Failure>) -> T {
    // State that a panic could leave inconsistent is protected by locks, which the panic poisons: see `instance.rs`.
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => return value,
        Ok(Err(failure)) => failure,
        Err(payload) => {
            let cause = payload.downcast_ref::<&str>().copied();
            let cause = cause.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            Failure::new(
                Code::PU_ERROR_INTERNAL_ERROR,
                format!(
                    "Internal error in libtachograph: {}. Please report it with the steps to reproduce it.",
                    cause.unwrap_or("no cause given")
                ),
            )
        }
    };
    set_last_text(&failure.text);
    on_failure(failure.code)
}

/// Runs the body of a call that returns a code.
pub(crate) fn call(body: impl FnOnce() -> Result<(), Failure>) -> c_int {
    call_or(|code| code.0, || body().map(|()| Code::PU_SUCCESS.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> String {
        LAST_TEXT.with(|last| {
            let last = last.borrow();
            let text = CStr::from_bytes_with_nul(&last).expect("terminated by NUL");
            text.to_str().expect("UTF-8").to_owned()
        })
    }

    #[test]
    fn a_panic_becomes_a_code_and_a_message() {
        assert_eq!(call(|| panic!("lost {} sheep", 2)), -200);
        assert_eq!(
            text(),
            "Internal error in libtachograph: lost 2 sheep. Please report it with the steps to reproduce it."
        );
        assert_eq!(call(|| panic!("one word")), -200);
        assert_eq!(
            text(),
            "Internal error in libtachograph: one word. Please report it with the steps to reproduce it."
        );
        assert_eq!(call(|| std::panic::panic_any(7_u8)), -200);
        assert_eq!(
            text(),
            "Internal error in libtachograph: no cause given. Please report it with the steps to reproduce it."
        );
        assert_eq!(call_or(|_| 0, || panic!("a call that returns another type")), 0);
    }

    #[test]
    fn success_keeps_the_message_and_nul_bytes_are_removed() {
        assert_eq!(call(|| Err(Failure::new(Code::PU_FAILURE, "a\0b"))), -1);
        assert_eq!(call(|| Ok(())), 0);
        assert_eq!(text(), "ab");
    }

    #[test]
    fn each_thread_has_its_own_message() {
        assert_eq!(call(|| Err(Failure::null("handle"))), -3);
        std::thread::spawn(|| {
            assert!(LAST_TEXT.with(|last| last.borrow().is_empty()));
            assert_eq!(call(|| Err(Failure::new(Code::PU_FAILURE, "other"))), -1);
        })
        .join()
        .expect("the thread does not panic");
        assert_eq!(text(), "The argument handle is a null pointer.");
    }
}

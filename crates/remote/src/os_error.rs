//! The texts of operating system errors.

use std::io;

/// The text of an operating system error, without its number, which says nothing to most readers.
pub(crate) fn os_error_text(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

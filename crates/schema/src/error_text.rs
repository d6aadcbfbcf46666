//! The messages of I/O errors.

use std::io;

/// The message of an I/O error, without the error number that [`io::Error`] appends to the operating system's messages.
///
/// The function is in this crate because all other crates can depend on it.
///
/// ```
/// let error = std::io::Error::from_raw_os_error(2);
/// assert_eq!(tachograph_schema::io_error_text(&error), "No such file or directory");
/// ```
pub fn io_error_text(error: &io::Error) -> String {
    let mut text = error.to_string();
    if let Some(number) = error.raw_os_error()
        && let Some(message) = text.strip_suffix(&format!(" (os error {number})"))
    {
        text.truncate(message.len());
    }
    text
}

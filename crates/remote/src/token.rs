//! The secret that consumers send.

use std::fmt;
use std::path::Path;

use crate::secret_file::read_secret_file;

/// The secret that consumers send. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Vec<u8>);

impl Token {
    /// The minimum length of a token.
    pub const MIN_LENGTH: usize = 16;

    /// A token of at least [`MIN_LENGTH`](Self::MIN_LENGTH) printable ASCII characters, without spaces.
    ///
    /// # Errors
    ///
    /// A message, which does not contain the token.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.len() < Self::MIN_LENGTH {
            return Err(format!("a token must have at least {} characters", Self::MIN_LENGTH));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("a token must consist of printable ASCII characters without spaces".to_owned());
        }
        Ok(Self(text.as_bytes().to_vec()))
    }

    /// Reads a token from a file: its first line, trimmed.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, if other users can read or write it, or if it contains no valid token.
    pub fn read(file: &Path) -> Result<Self, String> {
        let failed = |error: &str| format!("{}: {error}", file.display());
        let bytes = read_secret_file(file).map_err(|error| error.to_string())?;
        let text = str::from_utf8(&bytes).map_err(|_| failed("not UTF-8; the first line must be a token"))?;
        Self::new(text.lines().next().unwrap_or_default().trim()).map_err(|error| failed(&error))
    }

    /// The bytes of the token.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(...)")
    }
}

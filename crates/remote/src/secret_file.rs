//! Files with a secret: a token or a private key.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustls::pki_types::pem;
use tachograph_counters::io_error_text;

const MAX_BYTES: u64 = 1 << 20;

/// Why a file with a secret cannot be used. The message names the file.
#[derive(Debug)]
pub struct SecretFileError {
    path: PathBuf,
    reason: Reason,
}

#[derive(Debug)]
enum Reason {
    Io(io::Error),
    Folder,
    /// Other users can read or write the file.
    Exposed,
    /// Other users can read or write the device or pipe.
    ExposedDevice,
    TooLong,
}

impl SecretFileError {
    /// The error of the operating system, if the file could not be read.
    pub fn io_error(&self) -> Option<&io::Error> {
        match &self.reason {
            Reason::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for SecretFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.reason {
            Reason::Io(error) => write!(f, "{path}: {}", io_error_text(error)),
            Reason::Folder => write!(f, "{path}: is a folder; a file is required"),
            Reason::Exposed => {
                write!(f, "{path}: other users can read or write this file; run 'chmod g-w,o-rw' on it")
            }
            Reason::ExposedDevice => {
                write!(f, "{path}: is not a regular file, and other users can read or write it; use a file")
            }
            Reason::TooLong => write!(f, "{path}: longer than {MAX_BYTES} bytes"),
        }
    }
}

impl std::error::Error for SecretFileError {}

/// Reads a file that other users can neither read nor write.
///
/// # Errors
///
/// If the file cannot be read, is a folder or too long, or if other users can read or write it.
pub fn read_secret_file(path: &Path) -> Result<Vec<u8>, SecretFileError> {
    let failed = |reason| SecretFileError { path: path.to_owned(), reason };
    let unreadable = |error| failed(Reason::Io(error));
    let file = File::open(path).map_err(unreadable)?;
    // Metadata of the open file, because the path may refer to another file by now.
    let metadata = file.metadata().map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(failed(Reason::Folder));
    }
    // Reading by the group can be intended, writing cannot.
    if metadata.mode() & 0o026 != 0 {
        let is_file = metadata.is_file();
        return Err(failed(if is_file { Reason::Exposed } else { Reason::ExposedDevice }));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failed(Reason::TooLong));
    }
    Ok(bytes)
}

/// Why a PEM file is invalid. The error's own text contains the line in which a section starts, and with it the whole key if
/// the file has only one line.
pub fn describe_pem_error(error: &pem::Error) -> String {
    match error {
        pem::Error::IllegalSectionStart { .. } => {
            "not a PEM file: a line that begins with '-----BEGIN' must end with '-----'".to_owned()
        }
        pem::Error::MissingSectionEnd { .. } => {
            "not a complete PEM file: the line '-----END ...-----' is missing".to_owned()
        }
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::PrivateKeyDer;
    use rustls::pki_types::pem::PemObject as _;

    use super::*;

    #[test]
    fn errors_of_pem_files_do_not_contain_the_key() {
        for (text, expected) in [
            ("-----BEGIN PRIVATE KEY----- MIGHAgEA\n", "must end with"),
            ("-----BEGIN PRIVATE KEY----- MIGHAgEA -----END PRIVATE KEY-----\n", "-----END"),
            ("-----BEGIN PRIVATE KEY-----\nMIGHAgEA\n", "-----END"),
        ] {
            let error = PrivateKeyDer::from_pem_slice(text.as_bytes()).expect_err("not PEM");
            let message = describe_pem_error(&error);
            assert!(message.contains(expected), "{message}");
            // 77, 73 are the first bytes of the key as numbers.
            assert!(!message.contains("MIGH") && !message.contains("77, 73"), "{message}");
        }
    }
}

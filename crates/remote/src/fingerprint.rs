//! Fingerprints of certificates.

use std::fmt;
use std::path::Path;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use crate::secret_file::describe_pem_error;

/// The SHA-256 of a certificate in DER form.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

const PREFIX: &str = "sha256:";

impl Fingerprint {
    /// The fingerprint of a certificate in DER form.
    pub fn of(certificate: &[u8]) -> Self {
        let mut fingerprint = [0; 32];
        // The hash of this cipher suite is SHA-256.
        if let Some(suite) = ring::cipher_suite::TLS13_AES_128_GCM_SHA256.tls13() {
            let hash = suite.common.hash_provider.hash(certificate);
            if let Some(hash) = hash.as_ref().first_chunk() {
                fingerprint = *hash;
            }
        }
        Self(fingerprint)
    }

    /// The fingerprint of the first certificate of a PEM file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or has no certificate.
    pub fn of_file(path: &Path) -> Result<Self, String> {
        let certificate = CertificateDer::from_pem_file(path);
        certificate
            .map(|der| Self::of(&der))
            .map_err(|error| format!("{}: {}", path.display(), describe_pem_error(&error)))
    }
}

impl std::str::FromStr for Fingerprint {
    type Err = String;

    /// Parses `sha256:` and 64 hexadecimal digits, which can be separated by colons as OpenSSL prints them.
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "a fingerprint is 'sha256:' and 64 hexadecimal digits".to_owned();
        let has_prefix = text.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX));
        let digits = if has_prefix { &text[PREFIX.len()..] } else { text };
        let digits: Vec<u32> = digits
            .chars()
            .filter(|c| *c != ':')
            .map(|c| c.to_digit(16).ok_or_else(expected))
            .collect::<Result<_, _>>()?;
        let mut fingerprint = [0; 32];
        if digits.len() != 64 {
            return Err(expected());
        }
        for (byte, pair) in fingerprint.iter_mut().zip(digits.chunks(2)) {
            *byte = (pair[0] << 4 | pair[1]) as u8;
        }
        Ok(Self(fingerprint))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_sha_256() {
        // FIPS 180-4, the message "abc".
        let expected = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Fingerprint::of(b"abc").to_string(), expected);
        assert_eq!(expected.parse(), Ok(Fingerprint::of(b"abc")));
        let openssl =
            expected.as_bytes()[7..].chunks(2).map(|pair| String::from_utf8_lossy(pair).to_uppercase());
        let openssl = openssl.collect::<Vec<_>>().join(":");
        assert_eq!(openssl.parse(), Ok(Fingerprint::of(b"abc")));
        assert!("sha256:ba78".parse::<Fingerprint>().is_err());
        assert!(expected.replace('f', "g").parse::<Fingerprint>().is_err());
    }
}

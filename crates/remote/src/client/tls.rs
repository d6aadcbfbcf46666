//! Trust in an agent: its certificate has a known fingerprint, or is signed by a known authority.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tachograph_perflib::IgnorePoison;

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
        certificate.map(|der| Self::of(&der)).map_err(|error| format!("{}: {error}", path.display()))
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

/// Whom a consumer trusts.
#[derive(Clone, Debug)]
pub enum Trust {
    /// The agent whose certificate has this fingerprint.
    Fingerprint(Fingerprint),
    /// Agents with a certificate for their host name, signed by an authority of this PEM file.
    Authority(std::path::PathBuf),
}

/// The configuration of TLS, and what it found.
#[derive(Clone, Debug)]
pub(super) struct Tls {
    pub(super) config: Arc<ClientConfig>,
    pinned: Option<Arc<PinnedCertificate>>,
}

impl Tls {
    pub(super) fn new(trust: &Trust) -> Result<Self, String> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let mut authority = None;
        let (builder, pinned) = match trust {
            Trust::Fingerprint(expected) => {
                let pinned =
                    Arc::new(PinnedCertificate { expected: *expected, found: Mutex::default(), provider });
                let verifier = Arc::clone(&pinned) as Arc<dyn ServerCertVerifier>;
                (builder.dangerous().with_custom_certificate_verifier(verifier), Some(pinned))
            }
            Trust::Authority(file) => {
                let named = |error: &dyn fmt::Display| format!("{}: {error}", file.display());
                let pem = std::fs::read(file).map_err(|error| named(&error))?;
                if let Some(config) = of_authority(&pem) {
                    return Ok(Self { config, pinned: None });
                }
                authority = Some(pem.clone());
                let mut roots = RootCertStore::empty();
                for certificate in CertificateDer::pem_slice_iter(&pem) {
                    let certificate = certificate.map_err(|error| named(&error))?;
                    roots.add(certificate).map_err(|error| named(&error))?;
                }
                let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
                    .build()
                    .map_err(|error| named(&error))?;
                (builder.with_webpki_verifier(verifier), None)
            }
        };
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let config = Arc::new(config);
        if let Some(pem) = authority {
            let mut known = AUTHORITIES.lock().ignore_poison();
            known.retain(|(_, config)| config.strong_count() > 0);
            known.push((pem, Arc::downgrade(&config)));
        }
        Ok(Self { config, pinned })
    }

    /// Why a certificate was refused, in words.
    pub(super) fn refusal(&self, error: &Error) -> String {
        let pinned = self.pinned.as_ref();
        match pinned.and_then(|pinned| Some((pinned.expected, (*pinned.found.lock().ignore_poison())?))) {
            Some((expected, found)) if expected != found => format!(
                "its certificate has the fingerprint {found}, but {expected} is expected; if the certificate was renewed, \
                 copy the new line of 'tacho agent setup' to machines.toml"
            ),
            _ => error.to_string(),
        }
    }
}

/// The configurations in use, by the certificates of their authorities: the machines of a fleet share one.
static AUTHORITIES: Mutex<Vec<(Vec<u8>, Weak<ClientConfig>)>> = Mutex::new(Vec::new());

/// The configuration with these certificates of authorities, if it is in use.
fn of_authority(pem: &[u8]) -> Option<Arc<ClientConfig>> {
    let known = AUTHORITIES.lock().ignore_poison();
    known.iter().find(|(authorities, _)| authorities == pem)?.1.upgrade()
}

/// Accepts one certificate only. Names and dates of the certificate are ignored: its fingerprint was copied from the agent's
/// machine, as with SSH keys.
#[derive(Debug)]
struct PinnedCertificate {
    expected: Fingerprint,
    /// The fingerprint of the certificate that was last received.
    found: Mutex<Option<Fingerprint>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinnedCertificate {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let found = Fingerprint::of(certificate);
        *self.found.lock().ignore_poison() = Some(found);
        match found == self.expected {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
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

//! Trust in consumers: an agent accepts those whose certificate has a known fingerprint, or is signed by a known authority.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
};

use crate::Fingerprint;
use crate::secret_file::describe_pem_error;

/// The consumers that an agent accepts, by their certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientTrust {
    /// A PEM file of authorities; consumers with a certificate that one of them signed are accepted.
    pub authorities: Option<PathBuf>,
    /// Consumers whose certificate has one of these fingerprints are accepted. The certificate's names and dates are ignored.
    pub fingerprints: Vec<Fingerprint>,
}

impl ClientTrust {
    /// The verifier for a TLS server, which requires a certificate.
    ///
    /// # Errors
    ///
    /// If the file of authorities cannot be read.
    pub fn verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, String> {
        let provider = Arc::new(ring::default_provider());
        let authority = match &self.authorities {
            None => None,
            Some(file) => {
                let builder =
                    WebPkiClientVerifier::builder_with_provider(read_roots(file)?, Arc::clone(&provider));
                Some(builder.build().map_err(|error| format!("{}: {error}", file.display()))?)
            }
        };
        let algorithms = provider.signature_verification_algorithms;
        Ok(Arc::new(KnownClientVerifier { fingerprints: self.fingerprints.clone(), authority, algorithms }))
    }
}

#[derive(Debug)]
struct KnownClientVerifier {
    fingerprints: Vec<Fingerprint>,
    authority: Option<Arc<dyn ClientCertVerifier>>,
    algorithms: WebPkiSupportedAlgorithms,
}

/// The methods of a verifier that verify signatures, which prove that the peer has the private key of its certificate. They
/// do not depend on which certificates are trusted.
macro_rules! verify_signatures {
    () => {
        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.algorithms)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.algorithms.supported_schemes()
        }
    };
}
pub(crate) use verify_signatures;

impl ClientCertVerifier for KnownClientVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        // There are no hints, because a consumer must send a pinned certificate even if no authority has signed it.
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let found = Fingerprint::of(certificate);
        if self.fingerprints.contains(&found) {
            return Ok(ClientCertVerified::assertion());
        }
        match &self.authority {
            Some(authority) => authority.verify_client_cert(certificate, intermediates, now),
            None => Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)),
        }
    }

    verify_signatures!();
}

/// The authorities of a PEM file.
fn read_roots(file: &Path) -> Result<Arc<RootCertStore>, String> {
    let pem = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    parse_roots(file, &pem)
}

/// The authorities in the content of a PEM file.
pub(crate) fn parse_roots(file: &Path, pem: &[u8]) -> Result<Arc<RootCertStore>, String> {
    let with_path = |error: &dyn fmt::Display| format!("{}: {error}", file.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| with_path(&describe_pem_error(&error)))?;
        roots.add(certificate).map_err(|error| with_path(&error))?;
    }
    if roots.is_empty() {
        return Err(with_path(&"contains no certificate"));
    }
    Ok(Arc::new(roots))
}

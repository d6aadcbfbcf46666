//! TLS certificates, and random numbers.

use std::path::Path;
use std::sync::Arc;

use tachograph_remote::{ClientTrust, describe_pem_error, read_secret_file};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::options::ServeError;

/// Creates a TLS acceptor from PEM files. With `clients`, clients must present a certificate that it accepts.
pub(crate) fn acceptor(
    certificate: &Path,
    key: &Path,
    clients: Option<&ClientTrust>,
) -> Result<TlsAcceptor, ServeError> {
    let failed = |path: &Path, error: &dyn std::fmt::Display| {
        ServeError::failure(format!("{}: {error}", path.display()))
    };
    let invalid = |path: &Path, error: &pem::Error, expected: &str| match error {
        pem::Error::Io(error) => ServeError::io(path.display(), error),
        pem::Error::NoItemsFound => failed(path, &format_args!("contains no {expected}")),
        error => failed(path, &describe_pem_error(error)),
    };
    let chain: Vec<_> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| invalid(certificate, &error, "certificate"))?;
    if chain.is_empty() {
        return Err(failed(certificate, &"contains no certificate"));
    }
    let secret = PrivateKeyDer::from_pem_slice(&read_secret_file(key)?)
        .map_err(|error| invalid(key, &error, "private key"))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| ServeError::failure(error.to_string()))?;
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(clients) => builder.with_client_cert_verifier(clients.verifier().map_err(ServeError::failure)?),
    };
    let mut config = builder.with_single_cert(chain, secret).map_err(|error| failed(certificate, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// A random number that cannot be guessed; 0 if the system's random number generator fails.
pub(crate) fn random() -> u64 {
    let mut bytes = [0; 8];
    match ring::default_provider().secure_random.fill(&mut bytes) {
        Ok(()) => u64::from_le_bytes(bytes),
        Err(_) => 0,
    }
}

/// A random 256-bit number, as hexadecimal digits.
///
/// # Errors
///
/// If the system's random number generator fails.
pub fn random_secret() -> Result<String, ServeError> {
    let mut bytes = [0; 32];
    ring::default_provider()
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| ServeError::failure("the system's random number generator failed"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

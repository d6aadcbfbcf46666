//! Certificates and random numbers.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::options::ServeError;
use crate::secret_file;

/// What makes connections secret, from PEM files: the certificate with those that vouch for it, and its key.
pub(crate) fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, ServeError> {
    let wrong =
        |path: &Path, error: &dyn std::fmt::Display| ServeError::work(format!("{}: {error}", path.display()));
    let chain: Vec<_> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| wrong(certificate, &error))?;
    if chain.is_empty() {
        return Err(wrong(certificate, &"there is no certificate in it"));
    }
    let secret = PrivateKeyDer::from_pem_slice(&secret_file::read(key)?).map_err(|error| match error {
        pem::Error::NoItemsFound => wrong(key, &"there is no private key in it"),
        other => wrong(key, &other),
    })?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| ServeError::work(error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| wrong(certificate, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// A number that nobody can guess, as 64 hexadecimal digits.
pub(crate) fn secret() -> Result<String, ServeError> {
    let mut bytes = [0; 32];
    ring::default_provider()
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| ServeError::work("this machine gives no random numbers"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

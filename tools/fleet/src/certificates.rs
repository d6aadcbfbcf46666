//! One authority, and a certificate for each address.

use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// An authority, with the key that all agents share.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    key: KeyPair,
    provider: Arc<CryptoProvider>,
}

impl Authority {
    pub(crate) fn new() -> Result<Self, Box<dyn Error>> {
        let mut parameters = CertificateParams::new(Vec::new())?;
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)?;
        Ok(Self { issuer, key: KeyPair::generate()?, provider: Arc::new(ring::default_provider()) })
    }

    /// The certificate of the authority.
    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Accepts connections as the agent at an address.
    pub(crate) fn acceptor(&self, address: Ipv4Addr) -> Result<TlsAcceptor, Box<dyn Error>> {
        let certificate =
            CertificateParams::new(vec![address.to_string()])?.signed_by(&self.key, &self.issuer)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

//! Trust in an agent: its certificate has a known fingerprint, or is signed by a known authority.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
};
use tachograph_perflib::IgnorePoison;

use crate::Fingerprint;
use crate::client_trust::{roots_of, verify_signatures};
use crate::secret_file::read_secret_file;

/// Whom a consumer trusts.
#[derive(Clone, Debug)]
pub enum Trust {
    /// The agent whose certificate has this fingerprint.
    Fingerprint(Fingerprint),
    /// Agents with a certificate for their host name, signed by an authority of this PEM file.
    Authority(PathBuf),
}

/// The certificate of a consumer, for agents that require one (`tacho agent --client-ca`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientIdentity {
    /// A PEM file with the certificate, and the chain to its authority.
    pub certificate: PathBuf,
    /// A PEM file with the private key, which other users must not be able to read.
    pub key: PathBuf,
}

impl ClientIdentity {
    fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
        let named = |file: &Path, error: &dyn fmt::Display| format!("{}: {error}", file.display());
        let chain =
            CertificateDer::pem_file_iter(&self.certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = chain.map_err(|error| named(&self.certificate, &error))?;
        let key = read_secret_file(&self.key).map_err(|error| error.to_string())?;
        let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| named(&self.key, &error))?;
        Ok((chain, key))
    }
}

/// Number of sessions of a server that rustls keeps for resumption.
const SESSIONS_OF_SERVER: usize = 8;

/// The configuration of TLS, and what it found.
#[derive(Clone, Debug)]
pub(super) struct Tls {
    pub(super) config: Arc<ClientConfig>,
    pinned: Option<Arc<PinnedCertificate>>,
}

impl Tls {
    pub(super) fn new(trust: &Trust, identity: Option<&ClientIdentity>) -> Result<Self, String> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        // Links with a certificate of their own have a configuration of their own.
        let mut authorities = None;
        let (builder, pinned) = match trust {
            Trust::Fingerprint(expected) => {
                let algorithms = provider.signature_verification_algorithms;
                let pinned =
                    Arc::new(PinnedCertificate { expected: *expected, found: Mutex::default(), algorithms });
                let verifier = Arc::clone(&pinned) as Arc<dyn ServerCertVerifier>;
                (builder.dangerous().with_custom_certificate_verifier(verifier), Some(pinned))
            }
            Trust::Authority(file) => {
                let pem = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
                if identity.is_none() {
                    if let Some(config) = config_of(&pem) {
                        return Ok(Self { config, pinned: None });
                    }
                    authorities = Some(pem.clone());
                }
                let roots = roots_of(file, &pem)?;
                let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider)
                    .build()
                    .map_err(|error| format!("{}: {error}", file.display()))?;
                (builder.with_webpki_verifier(verifier), None)
            }
        };
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (chain, key) = identity.read()?;
                let config = builder.with_client_auth_cert(chain, key);
                config.map_err(|error| format!("{}: {error}", identity.certificate.display()))?
            }
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        if authorities.is_none() {
            // This configuration is for one server, and by default there is memory for 32.
            config.resumption = Resumption::in_memory_sessions(SESSIONS_OF_SERVER);
        }
        let config = Arc::new(config);
        if let Some(pem) = authorities {
            let mut known = CONFIGS.lock().ignore_poison();
            known.retain(|(_, config)| config.strong_count() > 0);
            known.push((pem, Arc::downgrade(&config)));
        }
        Ok(Self { config, pinned })
    }

    /// Why a certificate was refused, and what to do.
    pub(super) fn refusal(&self, error: &Error) -> String {
        let pinned = self.pinned.as_ref();
        match pinned.and_then(|pinned| Some((pinned.expected, (*pinned.found.lock().ignore_poison())?))) {
            Some((expected, found)) if expected != found => format!(
                "its certificate has the fingerprint {found}, but {expected} is expected; if the certificate was renewed, \
                 copy the new line of 'tacho agent setup' to machines.toml"
            ),
            Some(_) => error.to_string(),
            None => format!(
                "{error}; check that 'ca' in machines.toml is the authority of its certificate, and that 'address' has a \
                 name of the certificate, or use the fingerprint that 'tacho agent setup' prints"
            ),
        }
    }
}

/// The configurations in use, by the certificates of their authorities: the machines of a fleet share one.
static CONFIGS: Mutex<Vec<(Vec<u8>, Weak<ClientConfig>)>> = Mutex::new(Vec::new());

/// The configuration with these certificates of authorities, if it is in use.
fn config_of(pem: &[u8]) -> Option<Arc<ClientConfig>> {
    let known = CONFIGS.lock().ignore_poison();
    known.iter().find(|(authorities, _)| authorities == pem)?.1.upgrade()
}

/// Why an agent ended the handshake, and what to do.
pub(super) fn alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired
        | AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::CertificateExpired
        | AlertDescription::UnknownCA
        | AlertDescription::AccessDenied
        // The signature is not that of an authority with the same name.
        | AlertDescription::DecryptError => format!(
            "it accepts only consumers with certain certificates ({alert:?}); set client_cert and client_key in machines.toml, \
             and pass the certificate's authority to 'tacho agent --client-ca', or its fingerprint to --client-fingerprint"
        ),
        _ => format!("it ended the TLS connection ({alert:?})"),
    }
}

/// Accepts one certificate only. Names and dates of the certificate are ignored: its fingerprint was copied from the agent's
/// machine, as with SSH keys.
#[derive(Debug)]
struct PinnedCertificate {
    expected: Fingerprint,
    /// The fingerprint of the certificate that was last received.
    found: Mutex<Option<Fingerprint>>,
    algorithms: WebPkiSupportedAlgorithms,
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

    verify_signatures!();
}

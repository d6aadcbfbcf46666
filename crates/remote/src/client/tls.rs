//! Trust in an agent: its certificate has a known fingerprint, or is signed by a known authority.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
};
use tachograph_perflib::IgnorePoison;

use crate::Fingerprint;
use crate::client_trust::{parse_roots, verify_signatures};
use crate::secret_file::{describe_pem_error, read_secret_file};

/// Which agents a consumer trusts.
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
        let with_path =
            |file: &Path, error: &pem::Error| format!("{}: {}", file.display(), describe_pem_error(error));
        let chain =
            CertificateDer::pem_file_iter(&self.certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = chain.map_err(|error| with_path(&self.certificate, &error))?;
        let key = read_secret_file(&self.key).map_err(|error| error.to_string())?;
        let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| with_path(&self.key, &error))?;
        Ok((chain, key))
    }
}

/// A TLS configuration, with the verifier of a pinned certificate.
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
        let (builder, pinned) = match trust {
            Trust::Fingerprint(expected) => {
                let algorithms = provider.signature_verification_algorithms;
                let pinned = Arc::new(PinnedCertificate {
                    expected: *expected,
                    last_received: Mutex::default(),
                    algorithms,
                });
                let verifier = Arc::clone(&pinned) as Arc<dyn ServerCertVerifier>;
                (builder.dangerous().with_custom_certificate_verifier(verifier), Some(pinned))
            }
            Trust::Authority(file) => {
                let pem = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
                (builder.with_webpki_verifier(shared_verifier(file, pem, provider)?), None)
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
        config.resumption = Resumption::in_memory_sessions(SESSION_TICKETS);
        Ok(Self { config: Arc::new(config), pinned })
    }

    /// Why a certificate was refused, and what to do.
    pub(super) fn refusal_reason(&self, error: &Error) -> String {
        let pinned = self.pinned.as_ref();
        match pinned
            .and_then(|pinned| Some((pinned.expected, (*pinned.last_received.lock().ignore_poison())?)))
        {
            Some((expected, found)) if expected != found => format!(
                "its certificate has the fingerprint {found}, but {expected} is expected; if the certificate was renewed, \
                 copy the new line of 'tacho agent setup' to machines.toml"
            ),
            Some(_) => error.to_string(),
            None => format!(
                "{error}; check that 'ca' in machines.toml is the authority of its certificate, and that 'address' is a \
                 name in the certificate, or use the fingerprint that 'tacho agent setup' prints"
            ),
        }
    }
}

/// The number of session tickets that are kept per agent. With a ticket, reconnecting needs no full handshake. Each link has its
/// own tickets, so that all agents of a fleet can be reconnected quickly after a network outage.
const SESSION_TICKETS: usize = 8;

/// The contents of the authorities' PEM file, and the verifier that uses them.
type SharedVerifier = (Vec<u8>, Weak<WebPkiServerVerifier>);

/// The verifiers in use. The machines of a fleet have the same authorities, so they share one verifier.
static VERIFIERS: Mutex<Vec<SharedVerifier>> = Mutex::new(Vec::new());

/// The verifier with the authorities in `pem`, the contents of `file`.
fn shared_verifier(
    file: &Path,
    pem: Vec<u8>,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, String> {
    let mut verifiers = VERIFIERS.lock().ignore_poison();
    let found = verifiers.iter().find(|(authorities, _)| *authorities == pem);
    if let Some(verifier) = found.and_then(|(_, verifier)| verifier.upgrade()) {
        return Ok(verifier);
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(parse_roots(file, &pem)?, provider)
        .build()
        .map_err(|error| format!("{}: {error}", file.display()))?;
    verifiers.retain(|(_, verifier)| verifier.strong_count() > 0);
    verifiers.push((pem, Arc::downgrade(&verifier)));
    Ok(verifier)
}

/// Why an agent ended the handshake, and what to do.
pub(super) fn alert_message(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired
        | AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::CertificateExpired
        | AlertDescription::UnknownCA
        | AlertDescription::AccessDenied
        // Another authority with the same name signed the certificate.
        | AlertDescription::DecryptError => format!(
            "it accepts only consumers with certain certificates ({alert:?}); set client_cert and client_key in machines.toml, \
             and pass the certificate's authority to 'tacho agent --client-ca', or its fingerprint to --client-fingerprint"
        ),
        _ => format!("it ended the TLS connection ({alert:?})"),
    }
}

/// Accepts one certificate only. Names and dates of the certificate are ignored, because its fingerprint was copied from the
/// agent's machine, as with SSH keys.
#[derive(Debug)]
struct PinnedCertificate {
    expected: Fingerprint,
    /// The fingerprint of the certificate that was last received.
    last_received: Mutex<Option<Fingerprint>>,
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
        *self.last_received.lock().ignore_poison() = Some(found);
        match found == self.expected {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)),
        }
    }

    verify_signatures!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_share_the_authorities_but_not_the_sessions() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/tests/http/tls/cert.pem");
        let trust = Trust::Authority(file.clone());
        let tls: Vec<_> = (0..2).map(|_| Tls::new(&trust, None).expect("an authority")).collect();
        assert!(!Arc::ptr_eq(&tls[0].config, &tls[1].config), "each machine has its own sessions");
        let verifier = || {
            let pem = std::fs::read(&file).expect("a file");
            shared_verifier(&file, pem, Arc::new(ring::default_provider())).expect("an authority")
        };
        let (one, other) = (verifier(), verifier());
        assert!(Arc::ptr_eq(&one, &other));
        let users = Arc::strong_count(&one);
        drop(tls);
        assert!(Arc::strong_count(&one) < users, "the configurations have used the same verifier");
    }
}

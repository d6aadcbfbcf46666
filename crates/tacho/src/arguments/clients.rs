//! The arguments with which a server accepts clients by their certificates.

use std::path::PathBuf;

use clap::Args;
use tachograph_remote::{ClientTrust, Fingerprint};

/// The clients that are accepted by their certificates.
#[derive(Clone, Debug, Args)]
pub(crate) struct ClientArguments {
    /// Accept only clients with a certificate that an authority of this PEM file has signed. They need no token, except that
    /// of --token-file.
    #[arg(long, value_name = "FILE")]
    client_ca: Option<PathBuf>,
    /// Accept only clients whose certificate has this fingerprint, as 'tacho agent setup' prints it. They need no token,
    /// except that of --token-file. Can be repeated, and combined with --client-ca.
    #[arg(long = "client-fingerprint", value_name = "SHA256")]
    client_fingerprints: Vec<Fingerprint>,
}

impl ClientArguments {
    /// The clients; `None` if a certificate is not required.
    pub(crate) fn trust(&self) -> Option<ClientTrust> {
        let trust = ClientTrust {
            authorities: self.client_ca.clone(),
            fingerprints: self.client_fingerprints.clone(),
        };
        (trust != ClientTrust::default()).then_some(trust)
    }
}

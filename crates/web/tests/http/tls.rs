//! TLS, and listening on public addresses.

use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tachograph_web::{ServeOptions, Server, Token, Uploads};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::client::{connect, get, send};
use crate::test_server::{Machine, TestOptions, TestServer};

/// A certificate for localhost, and its key, which only this user can read. They are used only in these tests.
pub(crate) struct Files {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    _folder: tempfile::TempDir,
}

pub(crate) fn files() -> Files {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http/tls");
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("key.pem");
    std::fs::copy(source.join("key.pem"), &key).expect("a copy");
    std::fs::set_permissions(&key, Permissions::from_mode(0o600)).expect("permissions");
    Files { certificate: source.join("cert.pem"), key, _folder: folder }
}

/// Options of a server without TLS and without a token.
fn options(machine: &Machine, address: &str) -> ServeOptions {
    ServeOptions {
        services: tachograph_web::Services::All,
        metrics: Default::default(),
        repeating_sets: Vec::new(),
        processes: None,
        address: address.parse().expect("an address"),
        tls: None,
        clients: None,
        token: None,
        embedding: Default::default(),
        recordings: None,
        hosts: Vec::new(),
        live: machine.options(Duration::from_secs(1)),
        logs: Vec::new(),
        uploads: Uploads::default(),
        memory: Default::default(),
        encoding: None,
        release: None,
        log: None,
        notices: None,
        view: None,
        views: None,
    }
}

#[test]
fn tls_connections_work_and_cookies_are_secure() {
    let machine = Machine::new(1);
    let Files { certificate, key, _folder } = files();
    let token = Some("a-token-of-many-letters");
    let options = TestOptions { tls: Some((certificate.clone(), key)), token, ..TestOptions::default() };
    let server = TestServer::start(&machine, options);
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&certificate).expect("a certificate")).expect("a root");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let ask = |request: &str| {
        let name = "localhost".try_into().expect("a name");
        let client = ClientConnection::new(Arc::new(config.clone()), name).expect("a client");
        let mut stream = StreamOwned::new(client, connect(server.address));
        let port = server.address.port();
        let text = format!("{request} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n");
        let json = "Content-Type: application/json\r\nContent-Length: 35\r\n\r\n";
        let body = r#"{"token":"a-token-of-many-letters"}"#;
        let end = if request.starts_with("POST") { format!("{json}{body}") } else { "\r\n".to_owned() };
        stream.write_all(format!("{text}{end}").as_bytes()).expect("sent");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        response
    };
    assert!(ask("GET /").starts_with("HTTP/1.1 200"));
    assert!(ask("GET /api/sources").starts_with("HTTP/1.1 401"));
    let response = ask("POST /api/login").to_ascii_lowercase();
    assert!(response.starts_with("http/1.1 204"), "{response}");
    assert!(response.contains("set-cookie: __host-tacho-") && response.contains("; secure"), "{response}");
    // Plain HTTP gets no response, and closes only its connection.
    let plain = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    assert!(send(server.address, plain.as_bytes()).is_none());
    assert!(ask("GET /").starts_with("HTTP/1.1 200"));
}

#[test]
fn public_addresses_require_a_token_or_tls() {
    let machine = Machine::new(1);
    let options = |address: &str| options(&machine, address);
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let refused = Server::bind(options(address)).err().expect("refused");
        assert!(refused.is_usage() && refused.to_string().contains("--token-file"), "{refused}");
    }
    let token = Some(Token::new("a-token-of-many-letters").expect("a token"));
    assert!(Server::bind(ServeOptions { token, ..options("0.0.0.0:0") }).is_ok());
    for text in ["", "short", "with blanks in the token", "umlauts-are-not-täken"] {
        assert!(Token::new(text).is_err(), "{text}");
    }
    // A file that is not a certificate, and a key that does not belong to the certificate.
    let Files { certificate, key, _folder } = files();
    for tls in [(key.clone(), key.clone()), (certificate.clone(), certificate), ("/none".into(), key)] {
        let options = ServeOptions { tls: Some(tls), ..options("127.0.0.1:0") };
        let message = Server::bind(options).err().expect("refused").to_string();
        assert!(!message.contains("os error"), "{message}");
    }
    let missing = ServeOptions { logs: vec!["/no/such/log.blg".into()], ..options("127.0.0.1:0") };
    let message = Server::bind(missing).err().expect("refused").to_string();
    assert_eq!(message, "/no/such/log.blg: No such file or directory");
    // The message names a port that is in use.
    let server = TestServer::start(&machine, TestOptions::default());
    let taken: SocketAddr = server.address;
    let refused = Server::bind(options(&taken.to_string())).err().expect("refused").to_string();
    assert!(refused.contains(&taken.port().to_string()), "{refused}");
    assert_eq!(get(taken, "/").status, 200);
}

#[test]
fn a_key_that_other_users_can_read_is_refused() {
    let machine = Machine::new(1);
    let Files { certificate, key, _folder } = files();
    let bind = || {
        let tls = Some((certificate.clone(), key.clone()));
        Server::bind(ServeOptions { tls, ..options(&machine, "127.0.0.1:0") })
    };
    assert!(bind().is_ok());
    for mode in [0o644, 0o602, 0o604] {
        std::fs::set_permissions(&key, Permissions::from_mode(mode)).expect("permissions");
        let refused = bind().err().expect("refused").to_string();
        assert!(refused.contains("chmod g-w,o-rw") && refused.contains("key.pem"), "{refused}");
    }
}

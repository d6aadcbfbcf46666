//! `tacho serve` that accepts clients by their certificates.

use tachograph_remote::Fingerprint;

use crate::several::Served;
use crate::{Certificate, Setup};

#[test]
fn serve_accepts_clients_by_their_certificates() {
    let setup = Setup::new();
    let folder = setup.folder.path();
    let (known, unknown) =
        (Certificate::new(folder, "known", None), Certificate::new(folder, "unknown", None));
    let fingerprint = Fingerprint::of_file(&known.certificate).expect("a certificate").to_string();
    let [certificate, key, token] =
        ["cert.pem", "key.pem", "token"].map(|name| setup.agent_file(name).display().to_string());
    let by_fingerprint = ["--client-fingerprint", &*fingerprint];
    let tls = [&["--tls-cert", &*certificate, "--tls-key", &key], &by_fingerprint[..]].concat();
    let query = ["query", "-s", "web1", r"\System\Processes", "-si", "0.2", "-sc", "1", "-f", "json"];

    let served = Served::start(&setup, &tls);
    let line = setup.line_for(served.port);
    setup.write_machines(&known.line(&line));
    assert!(setup.prints(&query).contains("Processes"));
    for refused in [unknown.line(&line), line] {
        setup.write_machines(&refused);
        let message = setup.fails(&query);
        assert!(message.contains("--client-fingerprint"), "{message}");
    }

    // With a token file, clients need both.
    let served = Served::start(&setup, &[&tls[..], &["--token-file", &token]].concat());
    let line = setup.line_for(served.port);
    setup.write_machines(&known.line_with_token(&line));
    assert!(setup.prints(&query).contains("Processes"));
    for refused in [known.line(&line), unknown.line_with_token(&line)] {
        setup.write_machines(&refused);
        setup.fails(&query);
    }

    let message = setup.fails(&[&["serve", "--port", "0"], &by_fingerprint[..]].concat());
    assert!(message.contains("--tls-cert"), "{message}");
}

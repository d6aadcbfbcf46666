//! `tacho agent setup`: creates the agent's key, certificate and token.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::ExitCode;

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use tachograph_remote::{DEFAULT_PORT, Fingerprint, Token, read_secret_file};
use tachograph_web::random_secret;

use super::Files;
use crate::failure::{Failure, notify};

pub(super) fn run(files: &Files, address: Option<&str>, name: Option<&str>) -> Result<ExitCode, Failure> {
    let machine = tachograph_machine::name();
    let name = name.map_or_else(|| machine.to_lowercase(), str::to_owned);
    create_folder(&files.folder)?;
    let is_new_key = !files.key.exists();
    // A certificate is useless without its key.
    let is_new_certificate = is_new_key || !files.certificate.exists();
    if is_new_certificate {
        create_certificate(files, &machine)?;
    }
    let is_new_token = !files.token.exists();
    if is_new_token {
        let token = random_secret()?;
        write(&files.token, format!("{token}\n").as_bytes(), 0o600)?;
    }
    let fingerprint = Fingerprint::of_file(&files.certificate).map_err(Failure::runtime)?;
    read_secret_file(&files.key).map_err(Failure::runtime)?;
    let token = Token::read(&files.token).map_err(Failure::runtime)?;
    let token = String::from_utf8_lossy(token.bytes());
    let address = match address.map(str::to_owned).or_else(route_address) {
        Some(address) => address,
        None => {
            notify(
                "this machine has no default route: its address in the line is its host name, which the other machines must be \
                 able to resolve; --address HOST sets another",
            );
            format!("{machine}:{DEFAULT_PORT}")
        }
    };
    let folder = files.folder.display();
    let all = [("key.pem", is_new_key), ("cert.pem", is_new_certificate), ("token", is_new_token)];
    let names = |wanted| {
        let names = all.iter().filter(|(_, is_new)| *is_new == wanted).map(|(name, _)| *name);
        names.collect::<Vec<_>>().join(", ")
    };
    let (created, kept) = (names(true), names(false));
    if !created.is_empty() {
        notify(format_args!("created {created} in {folder}"));
    }
    if !kept.is_empty() {
        notify(format_args!(
            "kept {kept} in {folder}; to renew a file, remove it and run this command again"
        ));
    }
    notify(
        "add this line to ~/.config/tachograph/machines.toml (mode 600) of each machine that reads the counters:",
    );
    // The name is quoted if TOML requires it.
    let is_bare = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    let key = if is_bare { name.clone() } else { format!("\"{name}\"") };
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{key} = {{ address = \"{address}\", fingerprint = \"{fingerprint}\", token = \"{token}\" }}"
    )?;
    out.flush()?;
    notify(format_args!(
        "then start 'tacho agent' on this machine (or restart it, so that it reads new files), and try 'tacho list -s {name}' \
         on the others; keep the token secret"
    ));
    Ok(ExitCode::SUCCESS)
}

fn create_folder(folder: &Path) -> Result<(), Failure> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).map_err(|error| failed(parent, &error))?;
    }
    fs::DirBuilder::new().mode(0o700).create(folder).map_err(|error| failed(folder, &error))
}

/// Creates a self-signed certificate for the key in its file, or for a new key if the file is missing.
fn create_certificate(files: &Files, machine: &str) -> Result<(), Failure> {
    let failed = |error: rcgen::Error| Failure::runtime(format!("cannot create a certificate: {error}"));
    let has_key = files.key.exists();
    let key = match has_key {
        true => read_key(&files.key)?,
        false => KeyPair::generate().map_err(failed)?,
    };
    let mut parameters = CertificateParams::new(vec![machine.to_owned()]).map_err(failed)?;
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, machine);
    // Uses the default validity, from 1975 to 4096: consumers check the fingerprint, not the dates.
    let certificate = parameters.self_signed(&key).map_err(failed)?;
    // Writing the new certificate can fail, for example if the disk is full. The old one must not remain with the new key.
    match fs::remove_file(&files.certificate) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(self::failed(&files.certificate, &error));
        }
        _ => {}
    }
    if !has_key {
        write(&files.key, key.serialize_pem().as_bytes(), 0o600)?;
    }
    write(&files.certificate, certificate.pem().as_bytes(), 0o644)
}

fn read_key(file: &Path) -> Result<KeyPair, Failure> {
    let pem = read_secret_file(file).map_err(Failure::runtime)?;
    // The error could contain a part of the key.
    let invalid = || Failure::runtime(format!("{}: not a PEM file with a private key", file.display()));
    let pem = str::from_utf8(&pem).map_err(|_| invalid())?;
    KeyPair::from_pem(pem).map_err(|_| invalid())
}

/// Writes a new file with these permissions. An incomplete file is never visible under its name.
fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Failure> {
    let temporary = path.with_extension("new");
    let store = || -> io::Result<()> {
        let _ = fs::remove_file(&temporary);
        let mut file: File = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
        // The mode of a new file is limited by the umask.
        file.set_permissions(Permissions::from_mode(mode))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    store().map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::runtime(format!("{}: {error}", path.display()))
}

/// The local address that packets to the default route get, with the port of agents; `None` without such a route.
fn route_address() -> Option<String> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // Connecting a UDP socket sends nothing; it only selects the local address. The destination is reserved for
    // documentation.
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    Some(format!("{}:{DEFAULT_PORT}", socket.local_addr().ok()?.ip()))
}

//! Reading `machines.toml`.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Machine, split_address};
use crate::client::{ClientIdentity, Trust};
use crate::token::Token;

const MAX_BYTES: u64 = 1 << 20;

/// The path of the file within a configuration folder.
const CONFIG_FILE: &str = "tachograph/machines.toml";

/// Why a file of machines cannot be used. The message names the file and the machine, and contains no token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachinesError(String);

impl fmt::Display for MachinesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MachinesError {}

/// A machine as written in the file, under its name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { address = \"HOST\" }")]
struct Entry {
    /// `HOST[:PORT]`.
    address: String,
    fingerprint: Option<String>,
    /// A PEM file.
    ca: Option<PathBuf>,
    token: Option<String>,
    token_file: Option<PathBuf>,
    /// PEM files.
    client_cert: Option<PathBuf>,
    client_key: Option<PathBuf>,
    #[serde(default)]
    groups: Vec<String>,
}

/// The user's file and the system's file.
pub(super) fn files_of_user() -> Vec<PathBuf> {
    let path_from =
        |variable| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let user = path_from("XDG_CONFIG_HOME").or_else(|| Some(path_from("HOME")?.join(".config")));
    user.map(|folder| folder.join(CONFIG_FILE)).into_iter().chain([file_of_system()]).collect()
}

/// The system's file.
pub(super) fn file_of_system() -> PathBuf {
    Path::new("/etc").join(CONFIG_FILE)
}

/// The machines of a file, sorted by name; none if it does not exist.
pub(super) fn read(file: &Path) -> Result<Vec<Machine>, MachinesError> {
    let failed = |error: &dyn fmt::Display| MachinesError(format!("{}: {error}", file.display()));
    match std::fs::metadata(file) {
        // Opening a pipe would wait.
        Ok(metadata) if !metadata.is_file() => return Err(failed(&"is not a regular file")),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(&error)),
    }
    let open_file = File::open(file).map_err(|error| failed(&error))?;
    let metadata = open_file.metadata().map_err(|error| failed(&error))?;
    if metadata.mode() & 0o002 != 0 {
        // Other users could change the address to which the token is sent.
        return Err(failed(&format_args!(
            "other users can write this file; run 'chmod o-w {}'",
            file.display()
        )));
    }
    let mut text = String::new();
    open_file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| failed(&error))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(failed(&format_args!("longer than {MAX_BYTES} bytes")));
    }
    let entries: BTreeMap<String, Entry> =
        toml::from_str(&text).map_err(|error| failed(&describe(&error, &text)))?;
    let is_exposed = metadata.mode() & 0o006 != 0;
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut machines = Vec::with_capacity(entries.len());
    for (name, entry) in entries {
        let machine = entry.into_machine(&name, file, folder, is_exposed);
        machines.push(machine.map_err(|error| failed(&format_args!("'{name}': {error}")))?);
    }
    Ok(machines)
}

/// The line, the column and the cause of a syntax error. The error's own text repeats the line, which can contain a token.
fn describe(error: &toml::de::Error, text: &str) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    // `invalid type: string "...", expected ...` contains the value.
    let cause = match error.message().rsplit_once(", expected ") {
        Some((found, expected)) if found.starts_with("invalid type: ") => format!("expected {expected}"),
        _ => error.message().to_owned(),
    };
    format!("line {line}, column {column}: {cause}")
}

/// A path of the file, which is relative to the file's folder. `~` is not expanded, because a program that reads only the
/// system's file must not use the home folder that its caller has set.
fn in_folder(folder: &Path, path: &Path) -> Result<PathBuf, String> {
    match path.starts_with("~") {
        true => Err(format!(
            "'{}': '~' is not expanded; write the path from '/', or relative to {}",
            path.display(),
            folder.display()
        )),
        false => Ok(folder.join(path)),
    }
}

/// Checks the name of a machine.
///
/// # Errors
///
/// A message with the rules, if the name violates one.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_valid = |c: char| !c.is_control() && !"\\/@*?,\" ".contains(c);
    match !name.is_empty() && name.chars().all(is_valid) {
        true => Ok(()),
        false => {
            Err("a machine's name is not empty, and has no spaces and none of \\ / @ * ? , \"".to_owned())
        }
    }
}

impl Entry {
    fn into_machine(
        self,
        name: &str,
        file: &Path,
        folder: &Path,
        is_exposed: bool,
    ) -> Result<Machine, String> {
        check_name(name)?;
        let (host, port) = split_address(&self.address)
            .ok_or_else(|| format!("address = \"{}\": expected HOST or HOST:PORT", self.address))?;
        let trust = match (self.fingerprint, self.ca) {
            (Some(_), Some(_)) => return Err("either fingerprint or ca, not both".to_owned()),
            (Some(fingerprint), None) => Some(Trust::Fingerprint(fingerprint.parse()?)),
            (None, Some(ca)) => Some(Trust::Authority(in_folder(folder, &ca)?)),
            (None, None) => None,
        };
        let token = match (self.token, self.token_file) {
            (Some(_), Some(_)) => return Err("either token or token_file, not both".to_owned()),
            (Some(_), None) if is_exposed => {
                return Err(format!(
                    "token: other users can read or write this file; run 'chmod 600 {}', or use token_file",
                    file.display()
                ));
            }
            (Some(token), None) => Some(Token::new(&token)?),
            (None, Some(token_file)) => Some(Token::read(&in_folder(folder, &token_file)?)?),
            (None, None) => None,
        };
        let identity = match (self.client_cert, self.client_key) {
            (Some(certificate), Some(key)) => {
                let (certificate, key) = (in_folder(folder, &certificate)?, in_folder(folder, &key)?);
                Some(ClientIdentity { certificate, key })
            }
            (None, None) => None,
            _ => return Err("client_cert and client_key belong together".to_owned()),
        };
        Ok(Machine {
            name: name.to_owned(),
            host,
            port,
            trust,
            token,
            identity,
            groups: self.groups,
            file: file.to_owned(),
        })
    }
}

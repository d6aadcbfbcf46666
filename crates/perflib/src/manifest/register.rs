//! Registering manifests, and taking registrations back.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, RenameFlags};
use tachograph_counters::wildcard::eq_ignore_case;

use super::registered::{read_regular, registered_in};
use super::{Folders, MAX_BYTES, Manifest, Violations, parse};
use crate::Guid;
use crate::registration::CounterSetInfo;

/// Why a manifest was not registered, or a registration not taken back.
#[derive(Debug)]
pub enum RegisterError {
    /// The manifest breaks rules.
    Invalid(Box<Violations>),
    /// A set, or the provider, is there already.
    Taken(String),
    /// There is no such registration.
    NotRegistered(String),
    /// The environment names no folder for registrations.
    NoFolder,
    /// The folder or file cannot be read or written.
    Io {
        /// The folder or file.
        file: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(violations) => write!(f, "the manifest has {} errors", violations.errors()),
            Self::Taken(what) | Self::NotRegistered(what) => f.write_str(what),
            Self::NoFolder => {
                f.write_str("there is no folder for registrations: set TACHO_MANIFEST_DIR, or HOME")
            }
            Self::Io { file, error } => write!(f, "{}: {error}", file.display()),
        }
    }
}

impl std::error::Error for RegisterError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// What was registered.
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    /// The registered copy.
    pub file: PathBuf,
    /// What it says.
    pub manifest: Manifest,
    /// The warnings.
    pub violations: Violations,
}

fn at(file: &Path) -> impl Fn(io::Error) -> RegisterError + '_ {
    move |error| RegisterError::Io { file: file.to_path_buf(), error }
}

/// Checks a manifest and keeps a copy in the target folder, named by the provider's GUID. The copy appears whole or not
/// at all, and replaces nothing. The target folder is made where it is missing.
///
/// `is_taken` tells the sets that belong to this machine, whose names and GUIDs cannot be registered.
///
/// # Errors
///
/// [`RegisterError::Invalid`] for a manifest with errors, [`RegisterError::Taken`] where a GUID or name of a set is
/// registered already or belongs to this machine, or the provider is registered; else what the file system says.
pub fn register(
    file: &Path,
    folders: &Folders,
    is_taken: impl Fn(&CounterSetInfo) -> bool,
) -> Result<Registration, RegisterError> {
    let target = folders.target.as_deref().ok_or(RegisterError::NoFolder)?;
    // What was checked is what is registered, whatever becomes of the file meanwhile.
    let mut bytes = Vec::new();
    let mut source = io::Read::take(File::open(file).map_err(at(file))?, MAX_BYTES as u64 + 1);
    io::Read::read_to_end(&mut source, &mut bytes).map_err(at(file))?;
    let checked = parse(file, &bytes);
    let Some(manifest) = checked.manifest else {
        return Err(RegisterError::Invalid(Box::new(checked.violations)));
    };
    std::fs::DirBuilder::new().recursive(true).mode(0o755).create(target).map_err(at(target))?;
    // Two registrations at a time could both find their GUIDs free.
    let folder = lock(target)?;
    check_free(&manifest, folders, is_taken)?;
    let copy = target.join(file_name(manifest.provider.guid.value));
    write_new(&copy, &bytes, target)?;
    folder.sync_all().map_err(at(target))?;
    Ok(Registration { file: copy, manifest, violations: checked.violations })
}

/// The name of a provider's registration: `{...}.man`.
fn file_name(provider: Guid) -> String {
    format!("{provider}.man")
}

fn lock(folder: &Path) -> Result<File, RegisterError> {
    let handle = File::open(folder).map_err(at(folder))?;
    rustix::fs::flock(&handle, FlockOperation::LockExclusive).map_err(|error| at(folder)(error.into()))?;
    Ok(handle)
}

fn check_free(
    manifest: &Manifest,
    folders: &Folders,
    is_taken: impl Fn(&CounterSetInfo) -> bool,
) -> Result<(), RegisterError> {
    let registered = registered_in(&folders.search);
    let provider = manifest.provider.guid.value;
    if let Some(known) = registered.sets.iter().find(|known| known.info.provider_guid == provider) {
        let file = known.file.display();
        return Err(RegisterError::Taken(format!(
            "{file}: provider {provider} is registered; unregister it first"
        )));
    }
    for info in manifest.counter_sets() {
        let name = format!("counter set '{}' {}", info.name, info.guid);
        if is_taken(&info) {
            let message = format!("{name}: a counter set of this machine has this name or GUID");
            return Err(RegisterError::Taken(message));
        }
        let known = registered
            .sets
            .iter()
            .find(|known| known.info.guid == info.guid || eq_ignore_case(&known.info.name, &info.name));
        if let Some(known) = known {
            let what = if known.info.guid == info.guid { "GUID" } else { "name" };
            let message =
                format!("{name}: {} has registered this {what}; unregister it first", known.file.display());
            return Err(RegisterError::Taken(message));
        }
    }
    Ok(())
}

/// Writes a file that does not exist, beside its place, and moves it there.
fn write_new(file: &Path, bytes: &[u8], folder: &Path) -> Result<(), RegisterError> {
    let taken = || {
        let message = format!("{}: the provider is registered; unregister it first", file.display());
        RegisterError::Taken(message)
    };
    if file.symlink_metadata().is_ok() {
        return Err(taken());
    }
    // The folder is locked, so that nobody else writes this one; what a crash left goes.
    let partial = folder.join(".registration.partial");
    match std::fs::remove_file(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&partial)(error)),
        _ => {}
    }
    let written = write_partial(&partial, bytes).map_err(at(&partial)).and_then(|()| {
        match rustix::fs::renameat_with(
            rustix::fs::CWD,
            &partial,
            rustix::fs::CWD,
            file,
            RenameFlags::NOREPLACE,
        ) {
            // Some file systems cannot refuse to replace; a second name can.
            Err(rustix::io::Errno::INVAL) => {
                std::fs::hard_link(&partial, file).and_then(|()| std::fs::remove_file(&partial))
            }
            other => other.map_err(io::Error::from),
        }
        .map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => taken(),
            _ => at(file)(error),
        })
    });
    if written.is_err() {
        // The error is told; a leftover is cleared by the next registration.
        let _ = std::fs::remove_file(&partial);
    }
    written
}

fn write_partial(partial: &Path, bytes: &[u8]) -> io::Result<()> {
    // A new file: a link in its place is an error.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(partial)?;
    // Whatever the umask says, consumers of other users read registrations.
    file.set_permissions(std::fs::Permissions::from_mode(0o644))?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// What to take back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unregister<'a> {
    /// The provider of this manifest.
    Manifest(&'a Path),
    /// The provider of this GUID, or the provider whose only counter set has it.
    Guid(Guid),
}

/// Takes a registration back. Gives the file that was removed.
///
/// # Errors
///
/// [`RegisterError::NotRegistered`] where there is none, or where the GUID is that of one of several sets, which stay
/// together; [`RegisterError::Invalid`] for a manifest with errors; else what the file system says.
pub fn unregister(what: Unregister<'_>, folders: &Folders) -> Result<PathBuf, RegisterError> {
    let guid = match what {
        Unregister::Guid(guid) => guid,
        Unregister::Manifest(file) => {
            let checked = super::read(file).map_err(at(file))?;
            match checked.manifest {
                Some(manifest) => manifest.provider.guid.value,
                None => return Err(RegisterError::Invalid(Box::new(checked.violations))),
            }
        }
    };
    let file = find(guid, folders, matches!(what, Unregister::Guid(_)))?;
    let folder = file.parent().map(lock).transpose()?;
    std::fs::remove_file(&file).map_err(at(&file))?;
    if let Some(folder) = folder {
        folder.sync_all().map_err(at(&file))?;
    }
    Ok(file)
}

/// The file of a provider, or of the provider of a set.
fn find(guid: Guid, folders: &Folders, may_be_set: bool) -> Result<PathBuf, RegisterError> {
    // By its name also where it is damaged.
    let named = folders.search.iter().map(|folder| folder.join(file_name(guid)));
    if let Some(file) = named.into_iter().find(|file| file.symlink_metadata().is_ok()) {
        return Ok(file);
    }
    let registered = registered_in(&folders.search);
    if let Some(set) = registered.sets.iter().find(|set| set.info.provider_guid == guid) {
        return Ok(set.file.to_path_buf());
    }
    let not_registered = |message: String| RegisterError::NotRegistered(message);
    let set = registered.sets.iter().find(|set| may_be_set && set.info.guid == guid);
    let Some(set) = set else { return Err(not_registered(format!("{guid} is not registered"))) };
    let count = read_regular(&set.file, MAX_BYTES)
        .ok()
        .and_then(|bytes| parse(&set.file, &bytes).manifest)
        .map_or(0, |manifest| manifest.provider.counter_sets.len());
    match count {
        1 => Ok(set.file.to_path_buf()),
        _ => Err(not_registered(format!(
            "{guid} is one of {count} counter sets that stay together: unregister their provider, {}",
            set.info.provider_guid
        ))),
    }
}

//! Registers and unregisters manifests.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, RenameFlags};
use tachograph_counters::wildcard::eq_ignore_case;

use super::registered::{read_regular, registered_in};
use super::{Folders, MAX_BYTES, Manifest, Violations, parse};
use crate::Guid;
use crate::registration::CounterSetInfo;

/// The reason why a manifest was not registered or unregistered.
#[derive(Debug)]
pub enum RegisterError {
    /// The manifest has errors.
    Invalid(Box<Violations>),
    /// A set or the provider is already registered.
    Taken(String),
    /// No such registration.
    NotRegistered(String),
    /// The environment defines no folder for registrations.
    NoFolder,
    /// A folder or file cannot be read or written.
    Io {
        /// The folder or file.
        file: PathBuf,
        /// The error.
        error: io::Error,
    },
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(violations) => {
                write!(f, "the manifest is invalid; errors: {}", violations.errors())
            }
            Self::Taken(what) | Self::NotRegistered(what) => f.write_str(what),
            Self::NoFolder => f.write_str("no folder for registrations: set TACHO_MANIFEST_DIR or HOME"),
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

/// A successful registration.
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    /// The registered copy.
    pub file: PathBuf,
    /// The manifest.
    pub manifest: Manifest,
    /// The warnings about the manifest.
    pub violations: Violations,
}

fn io_error(file: &Path) -> impl Fn(io::Error) -> RegisterError + '_ {
    move |error| RegisterError::Io { file: file.to_path_buf(), error }
}

/// Checks a manifest and copies it to the target folder, under the provider's GUID. The copy is atomic and never
/// replaces a file. A missing target folder is created.
///
/// `is_taken` returns whether a name or GUID belongs to a built-in set of this machine, which cannot be registered.
///
/// # Errors
///
/// [`RegisterError::Invalid`] for a manifest with errors; [`RegisterError::Taken`] if the provider, or the GUID or name
/// of a set, is already registered or belongs to this machine; or an error of the file system.
pub fn register(
    file: &Path,
    folders: &Folders,
    is_taken: impl Fn(&CounterSetInfo) -> bool,
) -> Result<Registration, RegisterError> {
    let target = folders.target.as_deref().ok_or(RegisterError::NoFolder)?;
    // The checked bytes are copied, even if the file changes in the meantime.
    let mut bytes = Vec::new();
    let mut source = io::Read::take(File::open(file).map_err(io_error(file))?, MAX_BYTES as u64 + 1);
    io::Read::read_to_end(&mut source, &mut bytes).map_err(io_error(file))?;
    let checked = parse(file, &bytes);
    let Some(manifest) = checked.manifest else {
        return Err(RegisterError::Invalid(Box::new(checked.violations)));
    };
    create_folder(target).map_err(io_error(target))?;
    // Locked, because two concurrent registrations could both find that their GUIDs are free.
    let folder = lock(target)?;
    check_free(&manifest, folders, is_taken)?;
    let copy = target.join(file_name(manifest.provider.guid.value));
    write_new(&copy, &bytes, target)?;
    folder.sync_all().map_err(io_error(target))?;
    Ok(Registration { file: copy, manifest, violations: checked.violations })
}

/// The name of a provider's registration: `{...}.man`.
fn file_name(provider: Guid) -> String {
    format!("{provider}.man")
}

/// Locks a folder against concurrent registrations until the returned file is closed.
fn lock(folder: &Path) -> Result<File, RegisterError> {
    let handle = File::open(folder).map_err(io_error(folder))?;
    rustix::fs::flock(&handle, FlockOperation::LockExclusive)
        .map_err(|error| io_error(folder)(error.into()))?;
    Ok(handle)
}

/// Checks that neither the provider nor a set of the manifest is already registered or belongs to this machine.
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
            let message = format!("{name}: a counter set of this machine already has this name or GUID");
            return Err(RegisterError::Taken(message));
        }
        let known = registered
            .sets
            .iter()
            .find(|known| known.info.guid == info.guid || eq_ignore_case(&known.info.name, &info.name));
        if let Some(known) = known {
            let what = if known.info.guid == info.guid { "GUID" } else { "name" };
            let message = format!(
                "{name}: this {what} is already registered by {}; unregister that first",
                known.file.display()
            );
            return Err(RegisterError::Taken(message));
        }
    }
    Ok(())
}

/// Creates a file: writes it under a temporary name and renames it.
fn write_new(file: &Path, bytes: &[u8], folder: &Path) -> Result<(), RegisterError> {
    let taken = || {
        let message = format!("{}: the provider is registered; unregister it first", file.display());
        RegisterError::Taken(message)
    };
    if file.symlink_metadata().is_ok() {
        return Err(taken());
    }
    // The folder is locked, so an existing temporary file was left by a crash.
    let partial = folder.join(".registration.partial");
    match std::fs::remove_file(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error(&partial)(error)),
        _ => {}
    }
    let written = write_partial(&partial, bytes).map_err(io_error(&partial)).and_then(|()| {
        match rustix::fs::renameat_with(
            rustix::fs::CWD,
            &partial,
            rustix::fs::CWD,
            file,
            RenameFlags::NOREPLACE,
        ) {
            // Not all file systems support RENAME_NOREPLACE; a hard link never replaces.
            Err(rustix::io::Errno::INVAL) => {
                std::fs::hard_link(&partial, file).and_then(|()| std::fs::remove_file(&partial))
            }
            other => other.map_err(io::Error::from),
        }
        .map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => taken(),
            _ => io_error(file)(error),
        })
    });
    if written.is_err() {
        // If this fails, the next registration removes the file.
        let _ = std::fs::remove_file(&partial);
    }
    written
}

/// Creates the folder of registrations and its missing parents. Overrides the umask: consumers of other users must be
/// able to reach the registrations.
fn create_folder(folder: &Path) -> io::Result<()> {
    let missing: Vec<_> =
        folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
    std::fs::create_dir_all(folder)?;
    missing
        .into_iter()
        .try_for_each(|folder| std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)))
}

fn write_partial(partial: &Path, bytes: &[u8]) -> io::Result<()> {
    // `create_new` fails if the name exists, even as a link.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(partial)?;
    // Overrides the umask: consumers of other users must be able to read registrations.
    file.set_permissions(std::fs::Permissions::from_mode(0o644))?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// The registration to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unregister<'a> {
    /// The provider in this manifest file.
    Manifest(&'a Path),
    /// The provider with this GUID, or the provider whose only counter set has this GUID.
    Guid(Guid),
}

/// Unregisters a provider. Returns the removed file.
///
/// # Errors
///
/// [`RegisterError::NotRegistered`] for an unknown provider, or if the GUID belongs to one of several sets of a
/// provider; [`RegisterError::Invalid`] for a manifest with errors; or an error of the file system.
pub fn unregister(what: Unregister<'_>, folders: &Folders) -> Result<PathBuf, RegisterError> {
    let guid = match what {
        Unregister::Guid(guid) => guid,
        Unregister::Manifest(file) => {
            let checked = super::read(file).map_err(io_error(file))?;
            match checked.manifest {
                Some(manifest) => manifest.provider.guid.value,
                None => return Err(RegisterError::Invalid(Box::new(checked.violations))),
            }
        }
    };
    let file = find(guid, folders, matches!(what, Unregister::Guid(_)))?;
    let folder = file.parent().map(lock).transpose()?;
    std::fs::remove_file(&file).map_err(io_error(&file))?;
    if let Some(folder) = folder {
        folder.sync_all().map_err(io_error(&file))?;
    }
    Ok(file)
}

/// The registered file of a provider. If `may_be_set`, `guid` can also be the GUID of the provider's only set.
fn find(guid: Guid, folders: &Folders, may_be_set: bool) -> Result<PathBuf, RegisterError> {
    // Search by file name first, so that a damaged manifest can be unregistered too.
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
            "{guid} is one of {count} counter sets of a provider: unregister the provider, {}",
            set.info.provider_guid
        ))),
    }
}

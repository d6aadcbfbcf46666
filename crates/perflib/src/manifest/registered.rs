//! Reads the counter sets of registered manifests.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags};
use tachograph_counters::wildcard::fold_case;

use super::{Folders, MAX_BYTES, Manifest, Severity, parse};
use crate::Guid;
use crate::registration::CounterSetInfo;

/// Maximum number of manifests that are read per folder.
pub const MAX_MANIFESTS: usize = 4096;
/// Maximum total size of the manifests that are read, in bytes.
pub const MAX_REGISTERED_BYTES: usize = 64 << 20;
/// Maximum number of problems that are stored.
const MAX_PROBLEMS: usize = 1000;

/// A counter set of a registered manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisteredManifestSet {
    /// The complete description of the set, which passes [`CounterSetInfo::check`].
    pub info: Arc<CounterSetInfo>,
    /// The manifest's file.
    pub file: Arc<Path>,
}

/// A registered manifest or counter set that was omitted, or a folder that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationProblem {
    /// The file or folder.
    pub file: PathBuf,
    /// The reason.
    pub message: String,
}

/// Writes one line: `FILE: MESSAGE`.
impl fmt::Display for RegistrationProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.message)
    }
}

/// All registered counter sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Registered {
    /// The sets, in the order of folders and files. GUIDs are unique, and names are unique when case is ignored.
    pub sets: Vec<RegisteredManifestSet>,
    /// The problems, at most a thousand.
    pub problems: Vec<RegistrationProblem>,
}

/// The counter sets of all registered manifests, from the [folders of the environment](Folders::from_environment).
///
/// Files that cannot be read or are not valid manifests, and sets with a duplicate GUID or name, are reported as
/// problems. Links are not followed. Reads up to [`MAX_MANIFESTS`] files per folder and [`MAX_REGISTERED_BYTES`] in
/// total.
pub fn registered() -> Registered {
    registered_in(&Folders::from_environment().search)
}

/// Like [`registered`], but reads these folders. If a GUID or name is registered twice, the first one is used.
pub fn registered_in(folders: &[PathBuf]) -> Registered {
    let mut registered = Registered::default();
    let mut bytes_left = MAX_REGISTERED_BYTES;
    let (mut guids, mut names) = (HashMap::new(), HashMap::new());
    for folder in folders {
        for file in registered.read_folder(folder) {
            let Some(manifest) = registered.read_manifest(&file, &mut bytes_left) else { continue };
            for info in manifest.counter_sets() {
                registered.add(info, &manifest.file, &mut guids, &mut names);
            }
        }
    }
    registered
}

impl Registered {
    /// Removes sets whose name or GUID is already taken by a set of this machine, and reports them as problems.
    #[must_use]
    pub fn without(mut self, is_taken: impl Fn(&CounterSetInfo) -> bool) -> Self {
        let (taken, sets) = self.sets.into_iter().partition(|set| is_taken(&set.info));
        self.sets = sets;
        let taken: Vec<RegisteredManifestSet> = taken;
        for RegisteredManifestSet { info, file } in taken {
            let message = format!(
                "counter set '{}' {} has the name or GUID of a set of this machine",
                info.name, info.guid
            );
            self.report(&file, message);
        }
        self
    }

    fn report(&mut self, file: &Path, message: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(RegistrationProblem { file: file.to_path_buf(), message: message.into() });
        }
    }

    /// Lists the manifests in a folder, sorted by path; empty if the folder does not exist. Reports problems.
    fn read_folder(&mut self, folder: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    self.report(folder, error.to_string());
                }
                return files;
            }
        };
        // Limit the number of entries, because the folder can also contain other files.
        for entry in entries.take(16 * MAX_MANIFESTS) {
            let Ok(entry) = entry else { break };
            let name = entry.file_name();
            let bytes = name.as_encoded_bytes();
            // The name of a file that is still being written starts with a dot.
            if bytes.starts_with(b".") || !bytes.to_ascii_lowercase().ends_with(b".man") {
                continue;
            }
            if files.len() == MAX_MANIFESTS {
                self.report(
                    folder,
                    format!("it has more than {MAX_MANIFESTS} manifests; the others are omitted"),
                );
                break;
            }
            files.push(entry.path());
        }
        files.sort();
        files
    }

    /// Reads a manifest; reports it and returns `None` if it is not valid.
    fn read_manifest(&mut self, file: &Path, bytes_left: &mut usize) -> Option<Manifest> {
        let bytes = match read_regular(file, (*bytes_left).min(MAX_BYTES)) {
            Ok(bytes) => bytes,
            Err(message) => {
                self.report(file, message);
                return None;
            }
        };
        *bytes_left = bytes_left.saturating_sub(bytes.len());
        let checked = parse(file, &bytes);
        if checked.manifest.is_none() {
            let errors = checked.violations.errors();
            let mut list = checked.violations.list().iter();
            let message = match list.find(|violation| violation.severity == Severity::Error) {
                Some(first) if errors == 1 => first.to_string(),
                Some(first) => {
                    format!("{first} (the first of {errors} errors; 'tacho manifest check' lists them)")
                }
                None => "it is not a manifest".to_owned(),
            };
            self.report(file, message);
        }
        checked.manifest
    }

    fn add(
        &mut self,
        info: CounterSetInfo,
        file: &Arc<Path>,
        guids: &mut HashMap<Guid, Arc<Path>>,
        names: &mut HashMap<String, Arc<Path>>,
    ) {
        let name = fold_case(&info.name);
        let known = guids.get(&info.guid).map(|first| (first, "GUID"));
        if let Some((first, what)) = known.or_else(|| names.get(&name).map(|first| (first, "name"))) {
            let first = first.display();
            let message = format!(
                "counter set '{}' {}: this {what} is already registered by {first}",
                info.name, info.guid
            );
            return self.report(file, message);
        }
        guids.insert(info.guid, Arc::clone(file));
        names.insert(name, Arc::clone(file));
        self.sets.push(RegisteredManifestSet { info: Arc::new(info), file: Arc::clone(file) });
    }
}

/// The bytes of a regular file; links are rejected. The error is a message for the user.
pub(super) fn read_regular(file: &Path, limit: usize) -> Result<Vec<u8>, String> {
    // `NONBLOCK`, because opening a pipe must not block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let handle = match rustix::fs::open(file, flags, Mode::empty()) {
        Ok(handle) => handle,
        Err(rustix::io::Errno::LOOP) => return Err("it is a link; only regular files are read".into()),
        Err(error) => return Err(io::Error::from(error).to_string()),
    };
    let metadata = rustix::fs::fstat(&handle).map_err(|error| io::Error::from(error).to_string())?;
    if FileType::from_raw_mode(metadata.st_mode) != FileType::RegularFile {
        return Err("it is not a regular file".into());
    }
    let mut bytes = Vec::new();
    let read = File::from(handle).take(limit as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    if bytes.len() > limit {
        return Err(format!("it has more than {limit} bytes"));
    }
    Ok(bytes)
}

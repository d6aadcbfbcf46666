//! The counter sets of registered manifests.

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

/// How many manifests of a folder are read.
pub const MAX_MANIFESTS: usize = 4096;
/// How many bytes of manifests are read in all.
pub const MAX_REGISTERED_BYTES: usize = 64 << 20;
const MAX_PROBLEMS: usize = 1000;

/// A counter set that a manifest registered.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisteredManifestSet {
    /// The set with its provider, texts, ids and companions. It passes [`CounterSetInfo::check`].
    pub info: Arc<CounterSetInfo>,
    /// The registered manifest.
    pub file: Arc<Path>,
}

/// Something in a folder of registrations that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationProblem {
    /// The file or folder.
    pub file: PathBuf,
    /// What is wrong with it.
    pub message: String,
}

/// `FILE: what is wrong`, one line.
impl fmt::Display for RegistrationProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.message)
    }
}

/// All registered counter sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Registered {
    /// The sets in the order of the folders and files. No two have the same GUID, or the same name in any case.
    pub sets: Vec<RegisteredManifestSet>,
    /// What was left out; at most a thousand problems.
    pub problems: Vec<RegistrationProblem>,
}

/// The counter sets of all registered manifests, from the [folders of the environment](Folders::of_environment).
///
/// What cannot be read, is no manifest, or repeats a GUID or name is left out and told among the problems; there is no
/// error. Links are not followed. At most [`MAX_MANIFESTS`] files of a folder and [`MAX_REGISTERED_BYTES`] in all are read.
pub fn registered() -> Registered {
    registered_in(&Folders::of_environment().search)
}

/// As [`registered`], from these folders. Of two sets with the same GUID or name the first holds.
pub fn registered_in(folders: &[PathBuf]) -> Registered {
    let mut registered = Registered::default();
    let mut bytes_left = MAX_REGISTERED_BYTES;
    let (mut guids, mut names) = (HashMap::new(), HashMap::new());
    for folder in folders {
        for file in registered.files_of(folder) {
            let Some(manifest) = registered.manifest_of(&file, &mut bytes_left) else { continue };
            for info in manifest.counter_sets() {
                registered.add(info, &manifest.file, &mut guids, &mut names);
            }
        }
    }
    registered
}

impl Registered {
    /// Leaves out the sets that `is_taken` says somebody else has, such as this machine's own.
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
            self.problem(&file, message);
        }
        self
    }

    fn problem(&mut self, file: &Path, message: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(RegistrationProblem { file: file.to_path_buf(), message: message.into() });
        }
    }

    /// The manifests of a folder, sorted. A folder that is not there has none.
    fn files_of(&mut self, folder: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    self.problem(folder, error.to_string());
                }
                return files;
            }
        };
        // A folder of other files ends, too.
        for entry in entries.take(16 * MAX_MANIFESTS) {
            let Ok(entry) = entry else { break };
            let name = entry.file_name();
            let bytes = name.as_encoded_bytes();
            // What begins with a dot is being written.
            if bytes.starts_with(b".") || !bytes.to_ascii_lowercase().ends_with(b".man") {
                continue;
            }
            if files.len() == MAX_MANIFESTS {
                self.problem(
                    folder,
                    format!("it has more than {MAX_MANIFESTS} manifests; the others are left out"),
                );
                break;
            }
            files.push(entry.path());
        }
        files.sort();
        files
    }

    fn manifest_of(&mut self, file: &Path, bytes_left: &mut usize) -> Option<Manifest> {
        let bytes = match read_regular(file, (*bytes_left).min(MAX_BYTES)) {
            Ok(bytes) => bytes,
            Err(message) => {
                self.problem(file, message);
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
                Some(first) => format!("{first} ({errors} in all; 'tacho manifest check' shows them)"),
                None => "it is no manifest".to_owned(),
            };
            self.problem(file, message);
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
            let message =
                format!("counter set '{}' {}: {first} has registered this {what}", info.name, info.guid);
            return self.problem(file, message);
        }
        guids.insert(info.guid, Arc::clone(file));
        names.insert(name, Arc::clone(file));
        self.sets.push(RegisteredManifestSet { info: Arc::new(info), file: Arc::clone(file) });
    }
}

/// The bytes of a regular file that is no link. The error is for people.
pub(super) fn read_regular(file: &Path, limit: usize) -> Result<Vec<u8>, String> {
    // A pipe would keep the caller waiting.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let handle = match rustix::fs::open(file, flags, Mode::empty()) {
        Ok(handle) => handle,
        Err(rustix::io::Errno::LOOP) => return Err("this is a link; only files are read".into()),
        Err(error) => return Err(io::Error::from(error).to_string()),
    };
    let facts = rustix::fs::fstat(&handle).map_err(|error| io::Error::from(error).to_string())?;
    if FileType::from_raw_mode(facts.st_mode) != FileType::RegularFile {
        return Err("this is no regular file".into());
    }
    let mut bytes = Vec::new();
    let read = File::from(handle).take(limit as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    if bytes.len() > limit {
        return Err(format!("it has more than {limit} bytes"));
    }
    Ok(bytes)
}

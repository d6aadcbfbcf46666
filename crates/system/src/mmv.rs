//! Programs that publish values through PCP's memory-mapped values (MMV): their files as counter sets.
//!
//! A program that is linked with `libpcp_mmv`, or with one of the libraries that write the same files (Parfait for Java,
//! Speed for Go, Hornet for Rust), makes one file in a folder that everybody knows. Such a file is read here as one
//! counter set of the values without instances, `mmv NAME`, and one for each instance domain, `mmv NAME SERIAL`; how
//! its metrics become counters is described in `docs/mmv.md`.
//!
//! The files are not trusted. They are read with `pread` into buffers, never mapped: a mapping dies with a file that
//! shrinks. A file has at most 8 MiB, 4,096 metrics, 1,024 instance domains, 65,536 instances and 2^20 values with their
//! empty places; all together take at most 256 MiB.
//!
//! Source: mmv(5), PMAPI(3); mmv_stats.h, mmv_dev.h and pmapi.h of PCP 6.0.3.

mod budget;
mod error;
mod file;
mod header;
mod image;
mod layout;
mod plan;
mod problem;
mod process;
mod raw;
mod set;
mod text;
mod units;
mod value;

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FileType;
use rustix::io::Errno;
use tachograph_counters::wildcard::fold_case;
use tachograph_perflib::{Guid, Provider};

use crate::shared::Shared;
use budget::Budget;
use file::{WatchedFile, kind_of};
use problem::Cause;
use set::MmvSet;

pub use error::LayoutError;
pub use image::image_providers;
pub use problem::Problem;

/// Where PCP has the files on Debian and most other systems.
const PCP_FOLDER: &str = "/var/lib/pcp/tmp/mmv";

/// The most files that are looked at in a folder.
const MOST_FILES: usize = 4096;

/// The most problems that are kept.
const MOST_PROBLEMS: usize = 1000;

/// The counter sets of MMV files, and what of the files is none.
#[derive(Default)]
pub struct Found {
    /// A provider for each counter set, in the order of the folders and the files' names.
    pub providers: Vec<Box<dyn Provider>>,
    /// Files and metrics that are left out, with their causes; at most a thousand.
    pub problems: Vec<Problem>,
    /// How many problems there are beyond those.
    pub more_problems: usize,
}

impl Found {
    fn tell(&mut self, path: &Path, cause: impl Into<Cause>) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(Problem::new(path, cause.into()));
        } else {
            self.more_problems += 1;
        }
    }
}

/// The folders that hold MMV files: those of `TACHO_MMV_DIR` (separated by `:`; empty for none), else PCP's own and
/// `$PCP_TMP_DIR/mmv`.
pub fn default_folders() -> Vec<PathBuf> {
    folders_of(std::env::var_os("TACHO_MMV_DIR"), std::env::var_os("PCP_TMP_DIR"))
}

fn folders_of(told: Option<OsString>, of_pcp: Option<OsString>) -> Vec<PathBuf> {
    let is_folder = |folder: &PathBuf| !folder.as_os_str().is_empty();
    match told {
        Some(folders) => std::env::split_paths(&folders).filter(is_folder).collect(),
        None => {
            let other = of_pcp.map(PathBuf::from).filter(is_folder).map(|folder| folder.join("mmv"));
            std::iter::once(PathBuf::from(PCP_FOLDER)).chain(other).collect()
        }
    }
}

/// The counter sets of the MMV files that are in these folders now.
///
/// A set whose name or GUID is `taken`, by another counter set of this machine, is left out and told. A folder that is
/// not there has no files. A file whose process is gone, where it asks for that to be heeded, is passed over.
///
/// The providers never wait for anybody, as long as the folder's file system does not. While its file is away, or
/// its process gone, a set has no instances; a file that comes in its place is another program: its instances
/// have new identities. Where it describes other counters, collecting fails until the sets are looked for again.
///
/// ```
/// use tachograph_system::mmv;
///
/// let found = mmv::providers(&mmv::default_folders(), &|_, _| false);
/// for provider in &found.providers {
///     println!("{}", provider.info().name);
/// }
/// for problem in &found.problems {
///     eprintln!("{problem}");
/// }
/// ```
pub fn providers(folders: &[PathBuf], taken: &dyn Fn(&str, Guid) -> bool) -> Found {
    let mut found = Found::default();
    let budget = Budget::new(budget::MOST_BYTES);
    let (mut seen, mut names) = (HashSet::new(), HashSet::new());
    for folder in folders {
        // One folder under two names would be told twice.
        let Ok(real) = folder.canonicalize() else { continue };
        if !seen.insert(real) {
            continue;
        }
        for path in files(folder, &mut found) {
            add_file(&path, &budget, taken, &mut names, &mut found);
        }
    }
    found
}

/// The regular files of a folder by name; hidden ones and folders are passed over.
fn files(folder: &Path, found: &mut Found) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                found.tell(folder, Errno::from_io_error(&error).unwrap_or(Errno::IO));
            }
            return files;
        }
    };
    for (number, entry) in entries.enumerate() {
        if number == MOST_FILES {
            found.tell(folder, Cause::MoreFiles(MOST_FILES));
            break;
        }
        let Ok(entry) = entry else { continue };
        if !entry.file_name().as_bytes().starts_with(b".") {
            files.push(entry.path());
        }
    }
    files.sort_unstable();
    files.retain(|path| match rustix::fs::lstat(path).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        Ok(FileType::RegularFile) => true,
        Ok(FileType::Directory) | Err(_) => false,
        Ok(other) => {
            found.tell(path, Cause::NotRegular(kind_of(other)));
            false
        }
    });
    files
}

fn add_file(
    path: &Path,
    budget: &Budget,
    taken: &dyn Fn(&str, Guid) -> bool,
    names: &mut HashSet<String>,
    found: &mut Found,
) {
    let (file, left_out) = match WatchedFile::new(path, budget) {
        Ok(Some(opened)) => opened,
        Ok(None) => return,
        Err(cause) => return found.tell(path, cause),
    };
    for what in left_out {
        found.tell(path, what);
    }
    let sets = file.sets();
    let shared = Shared::new(file);
    for (serial, info) in sets {
        if taken(&info.name, info.guid) || !names.insert(fold_case(&info.name)) {
            found.tell(path, Cause::Taken(Arc::from(&*info.name)));
            continue;
        }
        found.providers.push(Box::new(MmvSet::new(serial, info, path, shared.clone())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_told_or_those_of_pcp() {
        let folders = |told: Option<&str>, of_pcp: Option<&str>| {
            let folders = folders_of(told.map(OsString::from), of_pcp.map(OsString::from));
            folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(folders(None, None), [PCP_FOLDER]);
        assert_eq!(folders(None, Some("/x")), [PCP_FOLDER, "/x/mmv"]);
        assert_eq!(folders(None, Some("")), [PCP_FOLDER]);
        assert_eq!(folders(Some("/a:/b"), Some("/x")), ["/a", "/b"]);
        assert_eq!(folders(Some(""), Some("/x")), [""; 0]);
    }
}

//! Counter sets from the memory-mapped value (MMV) files of PCP.
//!
//! A program that uses `libpcp_mmv`, Parfait (Java), Speed (Go) or Hornet (Rust) writes a file to a well-known
//! folder. In the file NAME, the metrics without instances become the counter set `mmv NAME`, and the metrics of each
//! instance domain become `mmv NAME SERIAL`. `docs/mmv.md` describes how metrics become counters.
//!
//! The files are untrusted. They are read with `pread` and not mapped: if a mapped file shrinks, reading the mapping
//! kills the process (SIGBUS). Limits of a file: 8 MiB, 4,096 metrics, 1,024 instance domains, 65,536 instances and
//! 2^20 values. All files together may take up to 256 MiB of memory.
//!
//! Source: mmv(5), PMAPI(3); mmv_stats.h, mmv_dev.h and pmapi.h of PCP 6.0.3.

#![forbid(unsafe_code)]

mod budget;
mod error;
mod header;
mod image_set;
mod layout;
mod mmv_set;
mod plan;
mod problem;
mod process;
mod raw;

mod text;
mod units;
mod value;
mod watched_file;

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
use tachograph_perflib::{Guid, Provider, SharedReading};

use budget::Budget;
use mmv_set::MmvSet;
use problem::Cause;
use watched_file::{WatchedFile, file_kind};

pub use error::LayoutError;
pub use image_set::image_providers;
pub use problem::Problem;

/// PCP's folder on Debian and most other systems.
const PCP_FOLDER: &str = "/var/lib/pcp/tmp/mmv";

/// The maximum number of directory entries that are read per folder.
const MAX_FILES: usize = 4096;

/// The maximum number of problems that are stored; further problems are only counted.
const MAX_PROBLEMS: usize = 1000;

/// The counter sets of MMV files, and the problems found in the files.
#[derive(Default)]
pub struct MmvSets {
    /// A provider for each counter set, in the order of the folders and the files' names.
    pub providers: Vec<Box<dyn Provider>>,
    /// The first thousand files and metrics that were skipped, with the causes.
    pub problems: Vec<Problem>,
    /// The number of further problems, which are not in `problems`.
    pub more_problems: usize,
}

impl MmvSets {
    fn report(&mut self, path: &Path, cause: impl Into<Cause>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem::new(path, cause.into()));
        } else {
            self.more_problems += 1;
        }
    }
}

/// The folders of MMV files: those listed in `TACHO_MMV_DIR` (separated by `:`; an empty value means none), or by
/// default PCP's own folder and `$PCP_TMP_DIR/mmv`.
pub fn default_folders() -> Vec<PathBuf> {
    folders_from(std::env::var_os("TACHO_MMV_DIR"), std::env::var_os("PCP_TMP_DIR"))
}

fn folders_from(configured: Option<OsString>, pcp_tmp: Option<OsString>) -> Vec<PathBuf> {
    let is_named = |folder: &PathBuf| !folder.as_os_str().is_empty();
    match configured {
        Some(folders) => std::env::split_paths(&folders).filter(is_named).collect(),
        None => {
            let other = pcp_tmp.map(PathBuf::from).filter(is_named).map(|folder| folder.join("mmv"));
            std::iter::once(PathBuf::from(PCP_FOLDER)).chain(other).collect()
        }
    }
}

/// The counter sets of the MMV files that are currently in these folders.
///
/// A set is skipped and reported if another set in these files has the same name, or if `is_taken` returns true for the
/// name and GUID of the set. A missing folder counts as empty. A file with the `PROCESS` flag is skipped if its process
/// has ended.
///
/// While its file or process is gone, a set has no instances. If the file is replaced, the new instances have new
/// identities. If the new file describes different counters, the old providers fail; call this function again to get
/// new providers.
///
/// ```
/// let found = tachograph_mmv::providers(&tachograph_mmv::default_folders(), &|_, _| false);
/// for provider in &found.providers {
///     println!("{}", provider.info().name);
/// }
/// for problem in &found.problems {
///     eprintln!("{problem}");
/// }
/// ```
pub fn providers(folders: &[PathBuf], is_taken: &dyn Fn(&str, Guid) -> bool) -> MmvSets {
    let mut found = MmvSets::default();
    let budget = Budget::new(budget::MAX_BYTES);
    let (mut seen, mut names) = (HashSet::new(), HashSet::new());
    for folder in folders {
        // Read a folder once, even if it is listed under two paths.
        let Ok(canonical) = folder.canonicalize() else { continue };
        if !seen.insert(canonical) {
            continue;
        }
        for path in files(folder, &mut found) {
            add_file(&path, &budget, is_taken, &mut names, &mut found);
        }
    }
    found
}

/// The regular, non-hidden files of a folder, sorted by name.
fn files(folder: &Path, found: &mut MmvSets) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                found.report(folder, Errno::from_io_error(&error).unwrap_or(Errno::IO));
            }
            return files;
        }
    };
    for (index, entry) in entries.enumerate() {
        if index == MAX_FILES {
            found.report(folder, Cause::MoreFiles(MAX_FILES));
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
            found.report(path, Cause::NotRegular(file_kind(other)));
            false
        }
    });
    files
}

fn add_file(
    path: &Path,
    budget: &Budget,
    is_taken: &dyn Fn(&str, Guid) -> bool,
    names: &mut HashSet<String>,
    found: &mut MmvSets,
) {
    let (file, skipped) = match WatchedFile::new(path, budget) {
        Ok(Some(opened)) => opened,
        Ok(None) => return,
        Err(cause) => return found.report(path, cause),
    };
    for item in skipped {
        found.report(path, item);
    }
    let sets = file.sets();
    let shared = SharedReading::new(file);
    for (serial, info) in sets {
        if is_taken(&info.name, info.guid) || !names.insert(fold_case(&info.name)) {
            found.report(path, Cause::NameTaken(Arc::from(&*info.name)));
            continue;
        }
        found.providers.push(Box::new(MmvSet::new(serial, info, path, shared.clone())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_the_configured_ones_or_those_of_pcp() {
        let folders = |configured: Option<&str>, pcp_tmp: Option<&str>| {
            let folders = folders_from(configured.map(OsString::from), pcp_tmp.map(OsString::from));
            folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(folders(None, None), [PCP_FOLDER]);
        assert_eq!(folders(None, Some("/x")), [PCP_FOLDER, "/x/mmv"]);
        assert_eq!(folders(None, Some("")), [PCP_FOLDER]);
        assert_eq!(folders(Some("/a:/b"), Some("/x")), ["/a", "/b"]);
        assert_eq!(folders(Some(""), Some("/x")), [""; 0]);
    }
}

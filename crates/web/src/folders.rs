//! The folders whose logs clients can open.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Maximum depth of subfolders that are listed.
const MAX_DEPTH: usize = 5;
/// Maximum number of listed logs.
const MAX_LOGS: usize = 5_000;
/// Maximum number of directory entries that are read.
const MAX_ENTRIES: usize = 100_000;

/// Folders, with the names that clients see.
pub(crate) struct Folders(Vec<(String, PathBuf)>);

/// A log that clients can open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ListedLog {
    /// The folder's name and the relative path, separated by `/`.
    pub(crate) name: String,
    pub(crate) bytes: u64,
    #[serde(skip)]
    path: PathBuf,
}

impl Folders {
    /// Folders with the same name get a number: `logs`, `logs-2`.
    pub(crate) fn new(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut named: Vec<(String, PathBuf)> = Vec::new();
        for folder in folders {
            let name = folder
                .file_name()
                .map_or_else(|| "logs".to_owned(), |name| name.to_string_lossy().into_owned());
            let is_taken = |name: &str| named.iter().any(|(known, _)| known == name);
            let numbered = (2..).map(|suffix| format!("{name}-{suffix}"));
            let name = std::iter::once(name.clone()).chain(numbered).find(|name| !is_taken(name));
            named.push((name.unwrap_or_default(), folder));
        }
        Self(named)
    }

    /// The name that clients see for a folder.
    pub(crate) fn name_of(&self, folder: &Path) -> Option<String> {
        self.0.iter().find(|(_, known)| known == folder).map(|(name, _)| name.clone())
    }

    /// The logs that exist now, sorted by name.
    pub(crate) fn logs(&self) -> Vec<ListedLog> {
        let mut logs = Vec::new();
        let mut entries = 0;
        for (name, folder) in &self.0 {
            list_folder(folder, name, 0, &mut entries, &mut logs);
        }
        logs.sort_by(|a, b| a.name.cmp(&b.name));
        logs
    }

    /// The file of each of these logs; `None` if no folder contains the log. The folders are listed once, and only if at
    /// least one name begins with a folder's name.
    pub(crate) fn find(&self, names: &[String]) -> Vec<Option<PathBuf>> {
        let is_possible = names.iter().any(|name| self.folder_of(name).is_some());
        let logs = if is_possible { self.logs() } else { Vec::new() };
        names.iter().map(|name| self.file_of(name, &logs)).collect()
    }

    fn folder_of(&self, name: &str) -> Option<&Path> {
        let (_, folder) = self.0.iter().find(|(folder, _)| {
            name.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
        })?;
        Some(folder)
    }

    /// The file with this name. The name is looked up, never used as a path, and the file must be inside the folder.
    fn file_of(&self, name: &str, logs: &[ListedLog]) -> Option<PathBuf> {
        let folder = self.folder_of(name)?;
        let log = &logs[logs.binary_search_by(|log| log.name.as_str().cmp(name)).ok()?];
        let (file, folder) = (fs::canonicalize(&log.path).ok()?, fs::canonicalize(folder).ok()?);
        file.starts_with(folder).then_some(file)
    }
}

fn list_folder(folder: &Path, name: &str, depth: usize, entries_seen: &mut usize, logs: &mut Vec<ListedLog>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        *entries_seen += 1;
        if *entries_seen > MAX_ENTRIES || logs.len() >= MAX_LOGS {
            return;
        }
        let (Ok(kind), Ok(entry_name)) = (entry.file_type(), entry.file_name().into_string()) else {
            continue;
        };
        let name = format!("{name}/{entry_name}");
        // Symbolic links are not followed, because they can lead out of the folder.
        if kind.is_dir() && depth < MAX_DEPTH {
            list_folder(&entry.path(), &name, depth + 1, entries_seen, logs);
        } else if kind.is_file() && is_log(&entry_name) {
            let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
            logs.push(ListedLog { name, bytes, path: entry.path() });
        }
    }
}

fn is_log(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| {
        ["blg", "csv", "tsv"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_logs_inside_the_folders_are_found() {
        let root = tempfile::tempdir().expect("a folder");
        let make = |name: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, "x").expect("a file");
        };
        make("logs/a.blg");
        make("logs/deep/B.CSV");
        make("logs/notes.txt");
        make("more/logs/c.tsv");
        make("secret.blg");
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(root.path().join(to), root.path().join(name)).expect("a link");
        };
        link("secret.blg", "logs/link.blg");
        link("more", "logs/linked");
        let folders = Folders::new([root.path().join("logs"), root.path().join("more/logs")]);
        let names: Vec<_> = folders.logs().into_iter().map(|log| log.name).collect();
        assert_eq!(names, ["logs-2/c.tsv", "logs/a.blg", "logs/deep/B.CSV"]);
        let find = |name: &str| folders.find(&[name.to_owned()]).remove(0);
        let several = ["logs/deep/B.CSV", "none", "logs-2/c.tsv"].map(str::to_owned);
        let found: Vec<_> = folders.find(&several).iter().map(Option::is_some).collect();
        assert_eq!(found, [true, false, true]);
        assert!(find("logs/deep/B.CSV").is_some_and(|path| path.ends_with("logs/deep/B.CSV")));
        for name in [
            "logs/../secret.blg",
            "../secret.blg",
            "logs/link.blg",
            "logs/linked/logs/c.tsv",
            "logs//a.blg",
            "logs/./a.blg",
            "a.blg",
            "logs/notes.txt",
            "logs",
            "",
            "/etc/passwd",
            "logs/a.blg\0",
        ] {
            assert_eq!(find(name), None, "{name}");
        }
    }
}

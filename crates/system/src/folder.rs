//! Folders in /sys whose entries are devices, which are added and removed.

use std::io;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
use tachograph_perflib::Failure;

use crate::error_texts::unreadable_failure;
use crate::open_file::OpenFile;
use crate::scan::parse_number;

/// The names of up to 4,096 entries of a folder, sorted by the number at their end, then by name.
pub(crate) fn sorted_entries(folder: &Path) -> io::Result<Vec<String>> {
    let names = std::fs::read_dir(folder)?.take(4096).map_while(Result::ok);
    let mut names: Vec<String> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let last_number = |name: &str| {
        let digits = name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
        parse_number(&name.as_bytes()[digits..])
    };
    names.sort_by(|a, b| (last_number(a), a).cmp(&(last_number(b), b)));
    Ok(names)
}

/// A folder and the names of its entries, which are updated at each sample.
#[derive(Debug)]
pub(crate) struct FolderEntries {
    folder: PathBuf,
    /// `None` if the folder must be listed again.
    names: Option<Vec<String>>,
}

impl FolderEntries {
    /// The folder with its current entries.
    pub(crate) fn new(folder: PathBuf) -> io::Result<Self> {
        let names = Some(sorted_entries(&folder)?);
        Ok(Self { folder, names })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The names from the last listing, in the order of [`sorted_entries`].
    pub(crate) fn names(&self) -> &[String] {
        self.names.as_deref().unwrap_or_default()
    }

    /// Lists the folder again if its entries have changed; returns whether they have. Allocates nothing if they have not.
    pub(crate) fn update(&mut self) -> Result<bool, Failure> {
        let Self { folder, names } = self;
        let mut update = || match names {
            Some(known) if has_entries(folder, known)? => Ok(false),
            _ => {
                *names = Some(sorted_entries(folder)?);
                Ok(true)
            }
        };
        update().map_err(|error| unreadable_failure(self.folder.display(), &error))
    }

    /// Makes the next update list the folder again.
    pub(crate) fn forget(&mut self) {
        self.names = None;
    }
}

/// Whether a folder has exactly these entries. Allocates nothing.
pub(crate) fn has_entries(folder: &Path, known: &[String]) -> io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(CWD, folder, flags, Mode::empty())?;
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut names = RawDir::new(folder, &mut buffer);
    let mut count = 0;
    while let Some(entry) = names.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        if !known.iter().any(|known| known.as_bytes() == name) {
            return Ok(false);
        }
        count += 1;
    }
    Ok(count == known.len())
}

/// Reads a short text file, without the line end; `None` if it cannot be read or is empty.
pub(crate) fn read_text(path: &Path) -> Option<String> {
    let mut file = OpenFile::new(path);
    let text = String::from_utf8_lossy(file.read().ok()?).trim().replace(char::is_control, "\u{fffd}");
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    #[test]
    fn entries_are_sorted_by_their_number_and_compared() {
        let machine =
            Machine::new(&[("sys/x/hwmon10/a", ""), ("sys/x/hwmon2/a", ""), ("sys/x/AC/a", " one\ttwo\n")]);
        let folder = machine.path("sys/x");
        let mut known = sorted_entries(&folder).expect("listed");
        assert_eq!(known, ["AC", "hwmon2", "hwmon10"]);
        assert!(has_entries(&folder, &known).expect("listed"));
        machine.remove("sys/x/hwmon2");
        assert!(!has_entries(&folder, &known).expect("listed"), "one is missing");
        known.remove(1);
        assert!(has_entries(&folder, &known).expect("listed"));
        machine.write("sys/x/hwmon3/a", "");
        assert!(!has_entries(&folder, &known).expect("listed"), "one is new");
        assert_eq!(read_text(&machine.path("sys/x/AC/a")).as_deref(), Some("one\u{fffd}two"));
        assert_eq!(read_text(&machine.path("sys/x/hwmon10/a")), None);
        assert!(
            sorted_entries(&machine.path("sys/y")).is_err()
                && has_entries(&machine.path("sys/y"), &[]).is_err()
        );
    }
}

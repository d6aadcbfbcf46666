//! The inodes of the interfaces' folders in sysfs.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::path::PathBuf;

use rustix::fs::{RawDir, SeekFrom, seek};

use super::interface::Interface;

/// The folders of interfaces in sysfs. One pass over their inodes shows which interfaces were recreated under the
/// same name; reading each `ifindex` would take ten times as long.
pub(super) struct Inodes {
    path: PathBuf,
    folder: Option<File>,
    /// For each entry of the folder, by its position, the index of the interface that was last found there.
    order: Vec<usize>,
}

impl Inodes {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, folder: None, order: Vec::new() }
    }

    /// Sets the inode of each interface.
    pub(super) fn check(&mut self, interfaces: &mut [Interface]) -> io::Result<()> {
        let folder = match &self.folder {
            Some(folder) => folder,
            None => self.folder.insert(File::open(&self.path)?),
        };
        seek(folder, SeekFrom::Start(0))?;
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut entries = RawDir::new(folder, &mut buffer);
        let mut index = 0;
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name.starts_with(b".") {
                continue;
            }
            let is_listed = |interface: &Interface| *interface.name == *name;
            let hint = self.order.get(index).copied();
            let hint = hint.filter(|&hint| interfaces.get(hint).is_some_and(is_listed));
            let found = hint.or_else(|| interfaces.iter().position(is_listed));
            match (found, self.order.get_mut(index)) {
                (Some(found), Some(known)) => *known = found,
                (found, None) => self.order.push(found.unwrap_or(usize::MAX)),
                (None, Some(_)) => {}
            }
            index += 1;
            if let Some(interface) = found.map(|found| &mut interfaces[found]) {
                interface.set_inode(entry.ino());
            }
        }
        Ok(())
    }
}

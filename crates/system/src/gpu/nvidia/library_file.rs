//! Whether the library of NVIDIA's driver is installed. It is not loaded, because that wakes the cards.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::open_file::OpenFile;
use crate::roots::Roots;

/// The folders that the dynamic loader searches, besides those in its cache.
const FOLDERS: [&str; 4] = ["lib64", "usr/lib64", "lib", "usr/lib"];

/// The maximum number of entries of a folder that are read.
const MAX_ENTRIES: usize = 20_000;

/// Whether the dynamic loader finds a library: a file if the name is a path, otherwise in `LD_LIBRARY_PATH`, in the loader's
/// cache, and in the usual folders.
pub(super) fn is_installed(roots: &Roots, library: &OsStr) -> bool {
    if library.as_bytes().contains(&b'/') {
        return Path::new(library).exists();
    }
    let of_environment = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    std::env::split_paths(&of_environment).any(|folder| folder.join(library).exists())
        || is_cached(roots, library)
        || folders(roots).any(|folder| folder.join(library).exists())
}

/// Whether the loader's cache has the library, and the file that it names exists.
fn is_cached(roots: &Roots, library: &OsStr) -> bool {
    let mut cache = OpenFile::new(roots.root.join("etc/ld.so.cache"));
    let Ok(cache) = cache.read() else { return false };
    // The paths in the cache end with a NUL.
    let paths = cache.split(|&byte| byte == 0).filter(|text| text.starts_with(b"/"));
    let mut files = paths.map(|path| Path::new(OsStr::from_bytes(path)));
    files.any(|path| {
        path.file_name() == Some(library)
            && path.strip_prefix("/").is_ok_and(|path| roots.root.join(path).exists())
    })
}

/// The usual folders, and those of an architecture below them, such as `usr/lib/x86_64-linux-gnu`.
fn folders(roots: &Roots) -> impl Iterator<Item = PathBuf> {
    FOLDERS.iter().map(|folder| roots.root.join(folder)).flat_map(|folder| {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().take(MAX_ENTRIES).flatten();
        let is_of_architecture = |path: &PathBuf| path.as_os_str().as_bytes().ends_with(b"-linux-gnu");
        let below: Vec<_> = entries.map(|entry| entry.path()).filter(is_of_architecture).collect();
        std::iter::once(folder).chain(below)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    #[test]
    fn a_library_is_found_as_the_loader_finds_it() {
        let machine = Machine::new(&[("usr/lib/x86_64-linux-gnu/libother.so.1", "")]);
        let is_found = |name: &str| is_installed(&machine.roots, name.as_ref());
        assert!(!is_found("libnone.so.1"));
        assert!(is_found("libother.so.1"), "in a folder of the architecture");
        machine.write("opt/gpu/libnone.so.1", "");
        assert!(!is_found("libnone.so.1"), "in a folder that the loader does not search");
        machine.write("etc/ld.so.cache", b"glibc-ld.so.cache1.1\0libnone.so.1\0/opt/gpu/libnone.so.1\0\xff");
        assert!(is_found("libnone.so.1"), "in the cache");
        machine.remove("opt/gpu/libnone.so.1");
        assert!(!is_found("libnone.so.1"), "the cache names a file that was removed");
        assert!(is_found(&machine.path("etc/ld.so.cache").display().to_string()), "a path");
    }
}

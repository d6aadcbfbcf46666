//! The mounted file systems, for the labels `device` and `fstype`.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A mounted file system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountedFileSystem {
    /// The mount point, which is the name of the instance.
    pub mount_point: String,
    /// The device or other source, such as `/dev/sda1`.
    pub device: String,
    /// The type, such as `ext4`.
    pub fs_type: String,
}

/// The mounted file systems of a machine, by mount point.
#[derive(Debug, Default)]
pub struct MountTable(HashMap<String, MountedFileSystem>);

impl MountTable {
    pub(super) fn find(&self, mount_point: &str) -> Option<&MountedFileSystem> {
        self.0.get(mount_point)
    }
}

impl FromIterator<MountedFileSystem> for MountTable {
    /// Of several file systems with the same mount point, only the last one is kept, because it hides the others.
    fn from_iter<I: IntoIterator<Item = MountedFileSystem>>(mounted: I) -> Self {
        Self(mounted.into_iter().map(|one| (one.mount_point.clone(), one)).collect())
    }
}

/// A function that returns the file systems that are mounted now, or the same object as before if nothing has changed. It is
/// called in each scrape that exports file systems.
#[derive(Clone)]
pub struct MountsNow(pub Arc<dyn Fn() -> Arc<MountTable> + Send + Sync>);

impl fmt::Debug for MountsNow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MountsNow(...)")
    }
}

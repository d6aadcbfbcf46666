//! Creates the socket of a set's file.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, lchown};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use tachograph_shm::Readers;

use crate::signals::effective_user;

/// Creates a socket at `path` to which `readers` may connect, and listens.
///
/// A new socket has permissions that depend on the umask, and may be accessible to all. So it is created in a private folder,
/// and moved to `path` after its permissions are set.
pub(super) fn listen(path: &Path, readers: Readers) -> io::Result<UnixListener> {
    let private = path.with_extension("sock-new");
    DirBuilder::new().mode(0o700).create(&private)?;
    let folder = PrivateFolder::open(&private)?;
    let listener = listen_in(&folder, path, readers);
    // After an error, the folder may still contain the socket.
    let _ = fs::remove_file(folder.socket());
    let _ = fs::remove_dir(&private);
    listener
}

/// A folder that no other user can enter. Its contents are accessed by its descriptor: users who may write to the parent
/// folder can rename it, and replace it by another folder or a link.
struct PrivateFolder(File);

impl PrivateFolder {
    /// Opens a folder; fails if it is not private to this user.
    fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(path)?;
        let metadata = file.metadata()?;
        // The set-group-id bit is not checked: it is inherited from the parent folder.
        if metadata.uid() != effective_user() || metadata.mode() & 0o777 != 0o700 {
            let (uid, mode) = (metadata.uid(), metadata.mode() & 0o7777);
            return Err(io::Error::other(format!(
                "'{}', the folder for creating the socket, is not private: it belongs to user {uid} and has mode {mode:o}",
                path.display()
            )));
        }
        Ok(Self(file))
    }

    /// The path of the socket in this folder. It always fits into the 107 bytes of a socket address.
    fn socket(&self) -> PathBuf {
        format!("/proc/self/fd/{}/s", self.0.as_raw_fd()).into()
    }
}

/// Creates the socket in the private folder, sets its permissions, and moves it to `path`.
fn listen_in(folder: &PrivateFolder, path: &Path, readers: Readers) -> io::Result<UnixListener> {
    let socket = folder.socket();
    let listener = UnixListener::bind(&socket)?;
    // `set_permissions` follows symbolic links, so check that the socket is not one.
    let metadata = fs::symlink_metadata(&socket)?;
    if !metadata.file_type().is_socket() || metadata.uid() != effective_user() {
        return Err(io::Error::other("the socket in the private folder was replaced by another file"));
    }
    let mode = match readers {
        Readers::Owner => 0o600,
        Readers::Group(gid) => {
            lchown(&socket, None, Some(gid))?;
            0o660
        }
    };
    fs::set_permissions(&socket, Permissions::from_mode(mode))?;
    fs::rename(&socket, path)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn mode_of(path: &Path) -> u32 {
        fs::symlink_metadata(path).expect("the socket exists").mode() & 0o7777
    }

    #[test]
    fn a_folder_is_private_if_only_its_owner_may_enter_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let private = folder.path().join("private");
        DirBuilder::new().mode(0o700).create(&private).expect("a folder");
        assert!(PrivateFolder::open(&private).is_ok());
        fs::set_permissions(&private, Permissions::from_mode(0o2700)).expect("a mode");
        assert!(PrivateFolder::open(&private).is_ok());
        let link = folder.path().join("link");
        symlink(&private, &link).expect("a link");
        assert!(PrivateFolder::open(&link).is_err(), "no link is followed");
        for mode in [0o710, 0o770, 0o702, 0o2770] {
            fs::set_permissions(&private, Permissions::from_mode(mode)).expect("a mode");
            assert!(PrivateFolder::open(&private).is_err(), "{mode:o}");
        }
    }

    /// A member of the group may replace the private folder between any two steps.
    #[test]
    fn files_in_a_folder_that_replaced_the_private_one_are_not_changed() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = |name: &str| parent.path().join(name);
        let gid = fs::metadata(parent.path()).expect("the folder").gid();
        DirBuilder::new().mode(0o700).create(path("x.sock-new")).expect("a folder");
        let folder = PrivateFolder::open(&path("x.sock-new")).expect("the folder is private");
        fs::rename(path("x.sock-new"), path("away")).expect("renamed");
        fs::write(path("victim"), "secret").expect("written");
        fs::set_permissions(path("victim"), Permissions::from_mode(0o600)).expect("a mode");
        fs::create_dir(path("x.sock-new")).expect("a folder");
        symlink(path("victim"), path("x.sock-new/s")).expect("a link");
        // A link at the destination of the socket is not followed either.
        symlink(path("victim"), path("x.sock")).expect("a link");
        let _listener = listen_in(&folder, &path("x.sock"), Readers::Group(gid)).expect("the socket listens");
        assert_eq!(mode_of(&path("victim")), 0o600);
        assert_eq!(fs::read_to_string(path("victim")).expect("read"), "secret");
        assert!(fs::symlink_metadata(path("x.sock-new/s")).expect("still there").is_symlink());
        assert!(fs::symlink_metadata(path("x.sock")).expect("the socket").file_type().is_socket());
        assert_eq!(mode_of(&path("x.sock")), 0o660);
    }

    #[test]
    fn sockets_can_be_created_in_a_folder_with_an_inherited_group() {
        let parent = tempfile::tempdir().expect("a folder");
        fs::set_permissions(parent.path(), Permissions::from_mode(0o2770)).expect("a mode");
        let _listener = listen(&parent.path().join("x.sock"), Readers::Owner).expect("the socket listens");
        assert_eq!(mode_of(&parent.path().join("x.sock")), 0o600);
        assert_eq!(fs::read_dir(parent.path()).expect("read").count(), 1);
    }
}

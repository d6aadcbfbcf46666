//! The socket beside a set's file.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::path::Path;

use tachograph_shm::Readers;

/// Listens at `path`, for whom the readers are.
///
/// A socket comes into being with the rights that the process gives to all it makes, which may be those of everybody. So
/// it is made in a folder of its own that nobody else can enter, and moved out of it when its rights are right.
pub(super) fn listen(path: &Path, readers: Readers) -> io::Result<UnixListener> {
    let private = path.with_extension("sock-new");
    DirBuilder::new().mode(0o700).create(&private)?;
    let listener = listen_in(&private, path, readers);
    // Empty again, or with a socket in it that nobody listens at.
    let _ = fs::remove_file(private.join("s"));
    let _ = fs::remove_dir(&private);
    listener
}

fn listen_in(private: &Path, path: &Path, readers: Readers) -> io::Result<UnixListener> {
    let made = private.join("s");
    // The path of a socket has at most 107 bytes. By the number of its folder it always fits.
    let folder = File::open(private)?;
    let listener = UnixListener::bind(format!("/proc/self/fd/{}/s", folder.as_raw_fd()))?;
    match readers {
        Readers::Owner => fs::set_permissions(&made, Permissions::from_mode(0o600))?,
        Readers::Group(gid) => {
            chown(&made, None, Some(gid))?;
            fs::set_permissions(&made, Permissions::from_mode(0o660))?;
        }
    }
    fs::rename(&made, path)?;
    Ok(listener)
}

//! `/proc/self/mountinfo`: the mounted file systems.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::ordered::split_complete_lines;
use crate::scan::{lines, parse_number, unescape, words};

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(super) id: u64,
    pub(super) parent: u64,
    pub(super) major_minor: (u32, u32),
    /// The folder within the file system that is mounted here; `/` for the whole file system.
    pub(super) root: PathBuf,
    pub(crate) mount_point: PathBuf,
    pub(crate) fs_type: String,
    pub(super) source: String,
    pub(super) is_read_only: bool,
    /// The options of the file system. Those of cgroups of version 1 include the controllers.
    pub(crate) super_options: String,
}

/// The kind of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Interfaces of the kernel that look like files.
    Pseudo,
    /// In memory, or layered on other file systems.
    Memory,
    /// A read-only image, always full.
    Image,
    /// Data on devices of this machine.
    Local,
    /// Data on another machine, or provided by a process: system calls can block forever.
    Remote,
}

/// Types of file systems of the kind [`Pseudo`](Kind::Pseudo).
const PSEUDO: &[&str] = &[
    "autofs",
    "binder",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "cpuset",
    "debugfs",
    "devpts",
    "efivarfs",
    "fusectl",
    "futexfs",
    "mqueue",
    "nsfs",
    "pipefs",
    "proc",
    "pstore",
    "resctrl",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "smackfs",
    "sockfs",
    "sysfs",
    "tracefs",
    "usbfs",
    "functionfs",
    "gadgetfs",
    "ibmasmfs",
    "xenfs",
];
/// Types of file systems of the kind [`Memory`](Kind::Memory).
const MEMORY: &[&str] = &[
    "tmpfs",
    "ramfs",
    "devtmpfs",
    "hugetlbfs",
    "rootfs",
    "overlay",
    "aufs",
    "unionfs",
    "shiftfs",
    "ecryptfs",
];
/// Types of file systems of the kind [`Image`](Kind::Image).
const IMAGES: &[&str] = &["squashfs", "iso9660", "udf", "erofs", "cramfs", "romfs"];
/// Types of file systems of the kind [`Remote`](Kind::Remote).
const REMOTE: &[&str] = &[
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "ceph",
    "afs",
    "coda",
    "ncpfs",
    "lustre",
    "orangefs",
    "beegfs",
    "gpfs",
    "gfs",
    "pvfs2",
    "virtiofs",
    "vboxsf",
    "vmhgfs",
    "prl_fs",
    "panfs",
    "glusterfs",
    "wekafs",
    "davfs",
];
/// FUSE programs for remote data whose source does not indicate that it is remote.
const REMOTE_FUSE: &[&str] = &[
    "s3fs",
    "gcsfuse",
    "goofys",
    "sshfs",
    "rclone",
    "glusterfs",
    "juicefs",
    "mfs",
    "lizardfs",
    "mergerfs",
    "blobfuse2",
];
/// File systems on several devices, whose device numbers are anonymous (major number 0).
const POOLS: &[&str] = &["zfs", "btrfs", "bcachefs"];

impl Line {
    pub(super) fn kind(&self) -> Kind {
        let is_in = |list: &[&str]| list.contains(&self.fs_type.as_str());
        let is_on_device = self.major_minor.0 != 0 || self.source.starts_with("/dev/");
        if is_in(PSEUDO) {
            Kind::Pseudo
        } else if is_in(MEMORY) {
            Kind::Memory
        } else if is_in(IMAGES) {
            Kind::Image
        } else if is_in(REMOTE) {
            Kind::Remote
        } else if let Some(program) =
            self.fs_type.strip_prefix("fuse").map(|rest| rest.trim_start_matches('.'))
        {
            // Even if the data is on a device, system calls are answered by a process.
            let holds_data = is_on_device || self.source.contains(':') || REMOTE_FUSE.contains(&program);
            if holds_data { Kind::Remote } else { Kind::Pseudo }
        } else if is_on_device || is_in(POOLS) {
            Kind::Local
        } else {
            Kind::Pseudo
        }
    }
}

/// The lines of a table, without malformed or unfinished ones.
pub(crate) fn parse(text: &[u8]) -> Vec<Line> {
    lines(split_complete_lines(text).0).filter_map(line).collect()
}

fn line(text: &[u8]) -> Option<Line> {
    // Spaces in names are escaped, so this is the separator after the optional fields.
    let separator = text.windows(3).position(|bytes| bytes == b" - ")?;
    let (head, tail) = (&text[..separator], &text[separator + 3..]);
    let mut words = words(head);
    let id = parse_number(words.next()?)?;
    let parent = parse_number(words.next()?)?;
    let device = words.next()?;
    let colon = device.iter().position(|&byte| byte == b':')?;
    let parse_part = |digits: &[u8]| parse_number(digits).and_then(|value| u32::try_from(value).ok());
    let major_minor = (parse_part(&device[..colon])?, parse_part(&device[colon + 1..])?);
    let root = path(words.next()?);
    let mount_point = path(words.next()?);
    let options = words.next()?;
    // The source can be empty, so the fields are split at single spaces.
    let mut fields = tail.split(|&byte| byte == b' ');
    let fs_type = fields.next().filter(|name| !name.is_empty())?;
    let fs_type = String::from_utf8_lossy(&unescape(fs_type)).into_owned();
    let source = String::from_utf8_lossy(&unescape(fields.next().unwrap_or_default())).into_owned();
    let is_ro = |options: &[u8]| options.split(|&byte| byte == b',').any(|option| option == b"ro");
    let super_options = fields.next().unwrap_or_default();
    let is_read_only = is_ro(options) || is_ro(super_options);
    let super_options = String::from_utf8_lossy(super_options).into_owned();
    Some(Line { id, parent, major_minor, root, mount_point, fs_type, source, is_read_only, super_options })
}

fn path(word: &[u8]) -> PathBuf {
    OsString::from_vec(unescape(word)).into()
}

/// The mounts that can be reached by a path. A mount is hidden by a later mount at the same mount point or at a folder above it.
pub(super) fn reachable_mounts(lines: &[Line]) -> Vec<&Line> {
    let by_id: HashMap<u64, usize> = lines.iter().enumerate().map(|(index, line)| (line.id, index)).collect();
    let mut latest: HashMap<&Path, usize> = HashMap::new();
    for (index, line) in lines.iter().enumerate() {
        latest.insert(&line.mount_point, index);
    }
    let lies_on = |line: &Line, other: &Line| {
        let mut parent = line.parent;
        // A malformed table can contain a cycle.
        for _ in 0..lines.len() {
            if parent == other.id {
                return true;
            }
            match by_id.get(&parent) {
                Some(&index) if lines[index].parent != parent => parent = lines[index].parent,
                _ => return false,
            }
        }
        false
    };
    let is_reachable = |(index, line): &(usize, &Line)| {
        line.mount_point.ancestors().all(|folder| match latest.get(folder) {
            Some(&later) if later > *index => folder != line.mount_point && lies_on(line, &lines[later]),
            _ => true,
        })
    };
    lines.iter().enumerate().filter(is_reachable).map(|(_, line)| line).collect()
}

/// The file systems other than the kernel's own: each once, at its shortest mount point, in the order of the table. `is_folder`
/// distinguishes mounted folders from mounted files, which containers often have.
pub(super) fn file_systems(lines: &[Line], is_folder: impl Fn(&Line) -> bool) -> Vec<Line> {
    let is_root = |line: &Line| line.mount_point == Path::new("/");
    let mut shortest: HashMap<(u32, u32), (usize, &Line)> = HashMap::new();
    let mut chosen: Vec<&Line> = Vec::new();
    let candidates = reachable_mounts(lines).into_iter().filter(|line| {
        // The root is always included, because in a container it is the writable file system.
        is_root(line)
            || line.kind() != Kind::Pseudo
                && line.fs_type != "devtmpfs"
                && (line.root == Path::new("/") || is_folder(line))
    });
    for line in candidates {
        let length = line.mount_point.as_os_str().len();
        match shortest.get_mut(&line.major_minor) {
            Some((known, _)) if *known <= length => {}
            Some(known) => *known = (length, line),
            None => {
                shortest.insert(line.major_minor, (length, line));
            }
        }
        chosen.push(line);
    }
    let ids: HashSet<u64> = shortest.values().map(|(_, line)| line.id).collect();
    chosen.into_iter().filter(|line| ids.contains(&line.id)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(lines: &[Line]) -> Vec<&str> {
        lines.iter().map(|line| line.mount_point.to_str().unwrap_or("?")).collect()
    }

    #[test]
    fn escapes_and_optional_fields_are_parsed() {
        let text = b"36 35 98:0 /mnt1 /mnt/my\\040disk\\134x rw,noatime shared:1 master:2 - ext3 /dev/my\\040root rw,errors=continue\n";
        let lines = parse(text);
        assert_eq!(lines.len(), 1);
        let line = &lines[0];
        assert_eq!((line.id, line.parent, line.major_minor), (36, 35, (98, 0)));
        assert_eq!(line.mount_point, Path::new("/mnt/my disk\\x"));
        assert_eq!((line.fs_type.as_str(), line.source.as_str()), ("ext3", "/dev/my root"));
        assert!(!line.is_read_only);
        assert_eq!(line.kind(), Kind::Local);
    }

    #[test]
    fn the_source_can_be_empty() {
        let lines =
            parse(b"36 35 0:50 / /a rw shared:1 - tmpfs  ro,size=4k\n37 35 0:51 / /b rw - ramfs  rw\n");
        let read: Vec<_> = lines
            .iter()
            .map(|line| (line.fs_type.as_str(), line.source.as_str(), line.is_read_only))
            .collect();
        assert_eq!(read, [("tmpfs", "", true), ("ramfs", "", false)]);
    }

    #[test]
    fn malformed_lines_are_skipped() {
        let text = b"\n36\n36 35\n36 35 98 / /a rw - ext4 /dev/a rw\n36 35 98:x / /a rw - ext4 a rw\n1 2 3:4 / /b rw\n\
            1 2 99999999999:4 / /b rw - ext4 b rw\n5 2 3:4 / /c rw - ext4 /dev/c rw\n6 2 3:5 / /d rw - ext4 /de";
        assert_eq!(points(&parse(text)), ["/c"]);
        assert_eq!(unescape(b"a\\0"), b"a\\0");
        assert_eq!(unescape(b"a\\777"), b"a\\777");
        assert_eq!(unescape(b"a\\+12"), b"a\\+12");
    }

    #[test]
    fn mounts_below_later_ones_are_hidden() {
        let text = b"22 27 0:21 / /proc rw - proc proc rw\n\
            27 1 254:0 / / rw - ext4 /dev/vda rw\n\
            30 27 8:1 / /mnt/a rw - ext4 /dev/sda1 rw\n\
            31 27 8:2 / /b rw - ext4 /dev/sda2 rw\n\
            32 27 8:3 / /b rw - ext4 /dev/sda3 rw\n\
            33 27 8:4 / /mnt rw - ext4 /dev/sda4 rw\n\
            34 33 8:5 / /mnt/c rw - ext4 /dev/sda5 rw\n";
        let lines = parse(text);
        let reached: Vec<u64> = reachable_mounts(&lines).iter().map(|line| line.id).collect();
        assert_eq!(reached, [22, 27, 32, 33, 34]);
    }

    #[test]
    fn a_cycle_of_parents_does_not_loop_forever() {
        let lines = parse(
            b"1 2 8:1 / /a/b rw - ext4 x rw\n2 1 8:2 / /a/b/c rw - ext4 x rw\n9 8 8:3 / /a rw - ext4 x rw\n",
        );
        assert_eq!(reachable_mounts(&lines).len(), 1);
    }

    #[test]
    fn each_file_system_is_listed_once() {
        let text = b"27 1 0:50 / / rw - overlay overlay rw\n\
            28 27 0:6 / /dev rw - devtmpfs udev rw\n\
            29 27 0:23 / /dev/shm rw - tmpfs tmpfs rw\n\
            40 27 8:1 /containers/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n\
            41 27 8:1 /data /srv/data rw - ext4 /dev/sda1 rw\n\
            42 27 8:1 /data /srv/d rw - ext4 /dev/sda1 rw\n\
            43 27 0:60 / /nfs rw - nfs4 server:/export rw\n\
            44 27 0:61 / /run/user/1/gvfs rw - fuse.gvfsd-fuse gvfsd-fuse rw\n\
            45 27 8:17 / /win rw - fuseblk /dev/sdb1 rw\n\
            46 27 0:62 / /home rw - btrfs /dev/sdc1 rw\n\
            47 27 7:1 / /snap/x/1 ro - squashfs /dev/loop1 ro\n\
            48 27 0:63 / /tank rw - zfs tank rw\n\
            49 27 0:64 / /auto rw - autofs systemd-1 rw\n";
        let chosen = file_systems(&parse(text), |line| line.mount_point != Path::new("/etc/hosts"));
        assert_eq!(
            points(&chosen),
            ["/", "/dev/shm", "/srv/d", "/nfs", "/win", "/home", "/snap/x/1", "/tank"]
        );
        let kinds: Vec<Kind> = chosen.iter().map(Line::kind).collect();
        use Kind::*;
        assert_eq!(kinds, [Memory, Memory, Local, Remote, Remote, Local, Image, Local]);
        assert!(chosen[6].is_read_only && !chosen[2].is_read_only);
    }
}

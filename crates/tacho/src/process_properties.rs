//! Properties of processes for the table of the monitor: `/proc/PID` and the names of users.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_monitor::{ProcessProperties, RowProperties};

/// Maximum number of bytes that are read of a file of a process.
const MAX_BYTES: u64 = 4096;

/// Maximum size of the file of users, in bytes.
const MAX_USER_BYTES: u64 = 1 << 20;

/// Reads properties of the processes of this machine.
pub(crate) struct ProcessReader {
    proc: PathBuf,
    users: HashMap<u32, Arc<str>>,
}

impl ProcessReader {
    /// A reader for this machine.
    pub(crate) fn of_this_machine() -> Self {
        Self::new(Path::new("/proc"), Path::new("/etc/passwd"))
    }

    fn new(proc: &Path, users: &Path) -> Self {
        Self { proc: proc.to_path_buf(), users: users_of(&read(users, MAX_USER_BYTES).unwrap_or_default()) }
    }

    fn user(&mut self, id: u32) -> Arc<str> {
        Arc::clone(self.users.entry(id).or_insert_with(|| id.to_string().into()))
    }
}

impl RowProperties for ProcessReader {
    fn process(&mut self, id: u32) -> Option<ProcessProperties> {
        let folder = self.proc.join(id.to_string());
        let status = read(&folder.join("status"), MAX_BYTES)?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|rest| rest.split_whitespace().next())
        };
        let user = field("Uid").and_then(|text| text.parse().ok()).map(|id| self.user(id));
        let of = |file: &str| read(&folder.join(file), MAX_BYTES);
        // The arguments end with NUL.
        let command = of("cmdline").map(|text| text.trim_end_matches('\0').replace('\0', " ").into());
        Some(ProcessProperties {
            state: field("State").and_then(|text| text.chars().next()),
            user,
            cgroup: of("cgroup").and_then(|text| cgroup_of(&text).map(Arc::from)),
            command,
            parent: field("PPid").and_then(|text| text.parse().ok()),
            oom_score: of("oom_score").and_then(|text| text.trim().parse().ok()),
        })
    }
}

/// The beginning of a file as text; `None` if it cannot be read.
fn read(file: &Path, max: u64) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(max).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The users by id, from lines such as `root:x:0:0:root:/root:/bin/bash`; the first name of an id counts.
fn users_of(text: &str) -> HashMap<u32, Arc<str>> {
    let mut users = HashMap::new();
    for line in text.lines() {
        let mut fields = line.split(':');
        let (name, id) = (fields.next(), fields.nth(1).and_then(|id| id.parse().ok()));
        if let (Some(name), Some(id)) = (name, id) {
            users.entry(id).or_insert_with(|| name.into());
        }
    }
    users
}

/// The path of the control group: that of version 2, or the longest one of version 1, which is the most specific.
fn cgroup_of(text: &str) -> Option<&str> {
    let paths = || text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let unified = text.lines().find_map(|line| line.strip_prefix("0::")).filter(|path| *path != "/");
    unified.or_else(|| paths().max_by_key(|path| path.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, ProcessReader) {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("created");
            std::fs::write(path, text).expect("written");
        }
        let reader = ProcessReader::new(&folder.path().join("proc"), &folder.path().join("passwd"));
        (folder, reader)
    }

    #[test]
    fn properties_are_read_from_the_files_of_the_process() {
        let (_folder, mut reader) = machine(&[
            ("passwd", "root:x:0:0:root:/root:/bin/bash\nbroken\nalias:x:0:0::/:\nwww:x:33:33::/:/bin/sh\n"),
            ("proc/7/status", "Name:\tnginx\nState:\tD (disk sleep)\nPPid:\t1\nUid:\t33\t33\t33\t33\n"),
            ("proc/7/cmdline", "nginx\0-g\0daemon off;\0"),
            ("proc/7/cgroup", "4:memory:/\n1:name=systemd:/system.slice/nginx.service\n0::/\n"),
            ("proc/7/oom_score", "667\n"),
            ("proc/8/status", "Name:\tkthreadd\nState:\tS\nUid:\t1000\t0\t0\t0\n"),
            ("proc/8/cmdline", ""),
            ("proc/8/cgroup", "0::/init.scope\n3:cpu:/a/longer/path\n"),
        ]);
        let properties = reader.process(7).expect("a process");
        assert_eq!(properties.state, Some('D'));
        assert_eq!(properties.user.as_deref(), Some("www"));
        assert_eq!(properties.command.as_deref(), Some("nginx -g daemon off;"));
        assert_eq!(properties.cgroup.as_deref(), Some("/system.slice/nginx.service"));
        assert_eq!((properties.parent, properties.oom_score), (Some(1), Some(667)));
        let kernel_thread = reader.process(8).expect("a process");
        assert_eq!(kernel_thread.user.as_deref(), Some("1000"), "a user without a name");
        assert_eq!(kernel_thread.command.as_deref(), Some(""));
        assert_eq!(kernel_thread.cgroup.as_deref(), Some("/init.scope"));
        assert_eq!(kernel_thread.oom_score, None);
        assert_eq!(reader.process(9), None);
    }
}

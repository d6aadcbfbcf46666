//! Properties of a process that are not counters: state, user, control group, command line.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, read};
use rustix::path::Arg;

use super::reader::is_gone;
use super::stat;
use super::task_identity::readable;
use crate::roots::Roots;
use crate::scan::{lines, parse_number, parse_signed, words};
use crate::users::Users;

/// The maximum number of bytes of a command line that are read; a longer one is truncated and ends with `…`.
pub const MAX_COMMAND_LINE: usize = 4096;

/// The maximum number of bytes that are read of any other file of a process.
const MAX_BYTES: usize = 64 << 10;

/// Reads the properties of processes.
///
/// Every read opens the files of the process and allocates the texts, so read only the processes that are shown.
///
/// ```
/// use tachograph_system::{ProcessReader, Roots};
///
/// let mut reader = ProcessReader::new(&Roots::of_this_machine());
/// let own = reader.read(std::process::id(), None)?.expect("this process is alive");
/// assert_eq!(own.pid, std::process::id());
/// // The id may be given to another process; the identity is not.
/// assert!(reader.read(own.pid, Some(own.identity))?.is_some());
/// assert!(reader.read(own.pid, Some(own.identity + (1 << 22)))?.is_none());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ProcessReader {
    roots: Roots,
    users: Users,
    buffer: Vec<u8>,
}

/// The properties of a process at the time of the read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessProperties {
    /// The process id.
    pub pid: u32,
    /// Distinguishes processes that reuse an id: the identity of the instance in the sets `Process` and `Process V2`.
    pub identity: u64,
    /// The id of the parent; 0 if it has none.
    pub parent: u32,
    /// The kernel's name (comm).
    pub name: String,
    /// What the main thread does.
    pub state: ProcessState,
    /// The nice value of the main thread, from -20 (most urgent) to 19.
    pub nice: i64,
    /// The number of threads.
    pub threads: u64,
    /// The effective user id; `None` if it cannot be read.
    pub user_id: Option<u32>,
    /// The name of the user in /etc/passwd.
    pub user: Option<Arc<str>>,
    /// The path of the control group. If it differs between hierarchies, the first path other than the root is used: that of
    /// version 2, of systemd's hierarchy, or of another one.
    pub cgroup: Option<String>,
    /// The arguments, separated by blanks; at most [`MAX_COMMAND_LINE`] bytes. `None` for kernel threads and
    /// zombies.
    pub command_line: Option<String>,
    /// How likely the OOM killer is to choose this process: 0 (never) to 2000.
    pub oom_score: Option<u32>,
}

/// The state of a process, as in `man 5 proc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProcessState {
    /// Running, or ready to run.
    Running,
    /// In an interruptible wait.
    Sleeping,
    /// In an uninterruptible wait, usually for a disk.
    DiskSleep,
    /// Stopped by a signal.
    Stopped,
    /// Stopped by a debugger.
    Traced,
    /// Ended, but not yet reaped by its parent.
    Zombie,
    /// An idle kernel thread.
    Idle,
    /// Another state: the kernel's letter.
    Other(char),
}

impl ProcessReader {
    /// Creates a reader; nothing is read yet.
    pub fn new(roots: &Roots) -> Self {
        Self { roots: roots.clone(), users: Users::new(roots), buffer: Vec::new() }
    }

    /// Reads the properties of a process; `None` if no process has this id, or if `identity` is given and the process has
    /// another one. All values are of the same process, even if the id is reused during the read.
    ///
    /// # Errors
    ///
    /// When /proc cannot be read, or the stat file has an unknown format. Other files that cannot be read leave their
    /// fields empty.
    pub fn read(&mut self, pid: u32, identity: Option<u64>) -> io::Result<Option<ProcessProperties>> {
        let Some(folder) = self.open(pid)? else { return Ok(None) };
        let Some(stat) = self.file(&folder, "stat", MAX_BYTES)? else { return Ok(None) };
        let line = stat::parse(stat).ok_or_else(|| unknown_format(pid, "stat"))?;
        let stat = line.stat;
        let mut properties = ProcessProperties {
            pid,
            identity: stat.identity(pid),
            parent: stat.parent,
            name: readable(line.name).into_owned(),
            state: ProcessState::from_letter(stat.state),
            nice: stat.nice,
            threads: stat.threads,
            user_id: None,
            user: None,
            cgroup: None,
            command_line: None,
            oom_score: None,
        };
        if identity.is_some_and(|identity| identity != properties.identity) {
            return Ok(None);
        }
        properties.user_id = self.read_optional(&folder, "status", user_id);
        properties.user = properties.user_id.and_then(|id| self.users.name(id));
        properties.cgroup = self.read_optional(&folder, "cgroup", cgroup);
        properties.oom_score =
            self.read_optional(&folder, "oom_score", |text| parse_signed(text.trim_ascii())?.try_into().ok());
        if let Ok(Some(text)) = self.file(&folder, "cmdline", MAX_COMMAND_LINE) {
            properties.command_line = command_line(text);
        }
        Ok(Some(properties))
    }

    /// The state of a process, and the id of its parent; `None` as in [`read`](Self::read). Reads one file, while `read` reads
    /// five.
    ///
    /// # Errors
    ///
    /// When the stat file cannot be read, or has an unknown format.
    pub fn state(&mut self, pid: u32, identity: u64) -> io::Result<Option<(ProcessState, u32)>> {
        let path = self.roots.proc.join(format!("{pid}/stat"));
        let Some(text) = self.file(CWD, &path, MAX_BYTES)? else { return Ok(None) };
        let stat = stat::parse(text).ok_or_else(|| unknown_format(pid, "stat"))?.stat;
        let is_same = stat.identity(pid) == identity;
        Ok(is_same.then_some((ProcessState::from_letter(stat.state), stat.parent)))
    }

    /// The proportional set size (PSS) of a process in bytes: its memory, with shared memory divided by the number of processes
    /// that share it. `None` as in [`read`](Self::read). The kernel visits every page of the process, which can take
    /// milliseconds.
    ///
    /// # Errors
    ///
    /// When the user has no permission, or the file has an unknown format.
    pub fn proportional_bytes(&mut self, pid: u32, identity: Option<u64>) -> io::Result<Option<u64>> {
        let Some(folder) = self.open(pid)? else { return Ok(None) };
        let Some(text) = self.file(&folder, "stat", MAX_BYTES)? else { return Ok(None) };
        let found = stat::parse(text).map(|line| line.stat.identity(pid));
        if identity.is_some() && identity != found {
            return Ok(None);
        }
        match self.file(&folder, "smaps_rollup", MAX_BYTES)? {
            // Kernel threads have no memory.
            Some([]) => Ok(Some(0)),
            Some(text) => {
                let bytes = proportional_bytes(text);
                bytes.ok_or_else(|| unknown_format(pid, "smaps_rollup")).map(Some)
            }
            None => Ok(None),
        }
    }

    /// Opens the folder of a process. The open folder is never that of a later process with the same id.
    fn open(&self, pid: u32) -> io::Result<Option<OwnedFd>> {
        let path = self.roots.proc.join(pid.to_string());
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        ignore_missing(openat(CWD, path, flags, Mode::empty()))
    }

    /// The first bytes of a file of a process; `None` if the process has ended.
    fn file(&mut self, folder: impl AsFd, name: impl Arg, max_bytes: usize) -> io::Result<Option<&[u8]>> {
        let Some(file) =
            ignore_missing(openat(folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()))?
        else {
            return Ok(None);
        };
        // The buffer is never shortened, so that it is filled with zeros only once.
        if self.buffer.len() < max_bytes {
            self.buffer.resize(max_bytes, 0);
        }
        let mut length = 0;
        while length < max_bytes {
            match read(&file, &mut self.buffer[length..max_bytes]) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(Errno::INTR) => {}
                Err(error) if is_gone(error) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(&self.buffer[..length]))
    }

    fn read_optional<T>(
        &mut self,
        folder: impl AsFd,
        name: &str,
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        self.file(folder, name, MAX_BYTES).ok().flatten().and_then(parse)
    }
}

fn unknown_format(pid: u32, file: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/{file}: unknown format"))
}

fn ignore_missing<T>(result: Result<T, Errno>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_gone(error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl ProcessState {
    fn from_letter(letter: u8) -> Self {
        match letter {
            b'R' => Self::Running,
            b'S' => Self::Sleeping,
            b'D' => Self::DiskSleep,
            b'T' => Self::Stopped,
            b't' => Self::Traced,
            b'Z' => Self::Zombie,
            b'I' => Self::Idle,
            _ => Self::Other(char::from(letter)),
        }
    }

    /// The kernel's letter.
    pub fn letter(self) -> char {
        match self {
            Self::Running => 'R',
            Self::Sleeping => 'S',
            Self::DiskSleep => 'D',
            Self::Stopped => 'T',
            Self::Traced => 't',
            Self::Zombie => 'Z',
            Self::Idle => 'I',
            Self::Other(letter) => letter,
        }
    }
}

impl fmt::Display for ProcessState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Running => "running",
            Self::Sleeping => "sleeping",
            Self::DiskSleep => "disk sleep",
            Self::Stopped => "stopped",
            Self::Traced => "traced",
            Self::Zombie => "zombie",
            Self::Idle => "idle",
            Self::Other(_) => "unknown",
        })
    }
}

/// The effective user id, from a status file.
fn user_id(text: &[u8]) -> Option<u32> {
    let line = lines(text).find_map(|line| line.strip_prefix(b"Uid:"))?;
    parse_number(words(line).nth(1)?)?.try_into().ok()
}

/// The path of the control group, from lines such as `0::/user.slice` and `5:memory:/a`.
fn cgroup(text: &[u8]) -> Option<String> {
    let groups = lines(text).filter_map(|line| {
        let mut parts = line.splitn(3, |&byte| byte == b':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let rank = match controllers {
            b"" => 0,
            b"name=systemd" => 1,
            _ => 2,
        };
        Some((path == b"/", rank, path))
    });
    // `min_by_key` returns the first of equal keys.
    let (_, _, path) = groups.min_by_key(|(is_root, rank, _)| (*is_root, *rank))?;
    Some(readable(path).into_owned())
}

/// The arguments, which the kernel separates by zero bytes.
fn command_line(text: &[u8]) -> Option<String> {
    let is_cut = text.len() >= MAX_COMMAND_LINE;
    let end = text.iter().rposition(|&byte| byte != 0)? + 1;
    let joined: Vec<u8> = text[..end].iter().map(|&byte| if byte == 0 { b' ' } else { byte }).collect();
    let mut line = readable(&joined).into_owned();
    if is_cut {
        line.push('…');
    }
    Some(line)
}

/// The proportional size, from a line such as `Pss:    1234 kB`.
fn proportional_bytes(text: &[u8]) -> Option<u64> {
    let line = lines(text).find_map(|line| line.strip_prefix(b"Pss:"))?;
    parse_number(words(line).next()?)?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::testing::Machine;

    const STAT: &str = "12 (a b) S 7 1 1 0 -1 0 1 0 2 0 5 6 0 0 30 10 3 0 500 409600 25 0\n";

    fn machine() -> Machine {
        Machine::new(&[
            ("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nbad line\nann:x:1000:1000::/home/ann:/bin/sh\n"),
            ("proc/12/stat", STAT),
            ("proc/12/status", "Name:\ta b\nUid:\t0\t1000\t0\t0\n"),
            ("proc/12/cgroup", "3:memory:/m\n1:name=systemd:/system.slice/a.service\n0::/\n"),
            ("proc/12/cmdline", "/bin/a\0-x\0two\nlines\0\0"),
            ("proc/12/oom_score", "666\n"),
            (
                "proc/12/smaps_rollup",
                "0-1 ---p 0 00:00 0 [rollup]\nRss:  20 kB\nPss:    12 kB\nPss_Dirty: 1 kB\n",
            ),
        ])
    }

    fn read_process(machine: &Machine) -> Option<ProcessProperties> {
        ProcessReader::new(&machine.roots).read(12, None).expect("read")
    }

    #[test]
    fn every_property_has_its_value() {
        let expected = ProcessProperties {
            pid: 12,
            identity: 500 << 22 | 12,
            parent: 7,
            name: "a b".to_owned(),
            state: ProcessState::Sleeping,
            nice: 10,
            threads: 3,
            user_id: Some(1000),
            user: Some("ann".into()),
            cgroup: Some("/system.slice/a.service".to_owned()),
            command_line: Some("/bin/a -x two\u{fffd}lines".to_owned()),
            oom_score: Some(666),
        };
        assert_eq!(read_process(&machine()), Some(expected));
        assert_eq!(ProcessState::Sleeping.to_string(), "sleeping");
    }

    #[test]
    fn a_process_that_reuses_an_id_is_not_returned() {
        let machine = machine();
        let mut reader = ProcessReader::new(&machine.roots);
        let identity = reader.read(12, None).expect("read").expect("a process").identity;
        assert!(reader.read(12, Some(identity)).expect("read").is_some());
        assert_eq!(reader.state(12, identity).expect("read"), Some((ProcessState::Sleeping, 7)));
        assert_eq!(reader.proportional_bytes(12, Some(identity)).expect("read"), Some(12 << 10));
        machine.write("proc/12/stat", STAT.replace(" 500 ", " 501 "));
        assert_eq!(reader.read(12, Some(identity)).expect("read"), None);
        assert_eq!(reader.state(12, identity).expect("read"), None);
        assert_eq!(reader.proportional_bytes(12, Some(identity)).expect("read"), None);
        assert_eq!(reader.read(13, None).expect("read"), None);
    }

    #[test]
    fn missing_and_malformed_files_leave_their_fields_empty() {
        let machine = machine();
        for file in ["status", "cgroup", "oom_score"] {
            machine.write(&format!("proc/12/{file}"), "\0x\n\n:");
        }
        machine.remove("proc/12/cmdline");
        let found = read_process(&machine).expect("a process");
        assert_eq!((found.user_id, found.user, found.cgroup), (None, None, None));
        assert_eq!((found.oom_score, found.command_line), (None, None));
        machine.write("proc/12/stat", "12 (a b) S");
        assert!(ProcessReader::new(&machine.roots).read(12, None).is_err());
        assert!(ProcessReader::new(&machine.roots).state(12, 500 << 22 | 12).is_err());
        machine.write("proc/12/smaps_rollup", "Pss: x kB\n");
        assert!(ProcessReader::new(&machine.roots).proportional_bytes(12, None).is_err());
    }

    #[test]
    fn the_group_is_the_first_below_a_root() {
        let found = |text: &str| cgroup(text.as_bytes());
        assert_eq!(found("0::/user.slice\n1:name=systemd:/other\n").as_deref(), Some("/user.slice"));
        assert_eq!(found("4:memory:/m\n3:cpu:/c\n0::/\n").as_deref(), Some("/m"));
        assert_eq!(found("4:memory:/\n0::/\n").as_deref(), Some("/"));
        assert_eq!(found("0::/a:b\n").as_deref(), Some("/a:b"));
        assert_eq!(found("garbage\n"), None);
    }

    #[test]
    fn a_long_command_line_is_truncated() {
        let machine = machine();
        machine.write("proc/12/cmdline", "é".repeat(100_000));
        let line = read_process(&machine).expect("a process").command_line.expect("a command line");
        assert_eq!(line.chars().count(), MAX_COMMAND_LINE / 2 + 1);
        assert!(line.ends_with("é…"));
        machine.write("proc/12/cmdline", "");
        assert_eq!(read_process(&machine).expect("a process").command_line, None);
    }

    #[test]
    fn a_process_of_this_machine_has_its_properties() {
        let mut child = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().expect("sleep runs");
        let pid = child.id();
        let text = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).expect("read");
        // Waits until the child runs `sleep`.
        while !text("stat").contains("(sleep) S ") {
            std::thread::yield_now();
        }
        let mut reader = ProcessReader::new(&Roots::of_this_machine());
        let found = reader.read(pid, None).expect("read").expect("alive");
        assert_eq!(found.command_line.as_deref(), Some("sleep 600"));
        assert_eq!(found.parent, std::process::id());
        assert_eq!(found.user_id, Some(rustix::process::geteuid().as_raw()));
        assert_eq!(found.oom_score, text("oom_score").trim().parse().ok());
        assert!(text("cgroup").contains(found.cgroup.as_deref().expect("a group")));
        assert!(reader.proportional_bytes(pid, Some(found.identity)).expect("read").expect("alive") > 0);
        child.kill().expect("killed");
        child.wait().expect("waited for");
        assert_eq!(reader.read(pid, Some(found.identity)).expect("read"), None);
    }
}

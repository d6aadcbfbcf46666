//! Mounted file systems and their space.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tachograph_perflib::{ErrorCode, Failure, InstanceKey, Moments};

use super::mount_table::{Kind, Line, file_systems, parse};
use super::space::{Answer, PATIENCE, Seen, Space, Threads};
use crate::Roots;
use crate::file::KeptFile;
use crate::ordered::bring;
use crate::shared::Reading;

/// How old the answer of a slow file system may be when it is passed on.
const OLDEST_ANSWER: Duration = Duration::from_secs(60);

/// A mounted file system.
#[derive(Debug)]
pub(super) struct Mount {
    pub(super) line: Line,
    pub(super) kind: Kind,
    /// Its mount point as an instance; its identity does not tell file systems apart.
    pub(super) key: Arc<InstanceKey>,
    /// Tells it from all others that ever were.
    pub(super) number: u64,
    /// The block device that it lies on.
    pub(super) device: Option<(u32, u32)>,
    /// What it said when it was measured.
    pub(super) space: Result<Space, Arc<str>>,
    path: Arc<PathBuf>,
    measured: Option<Moments>,
    may_hang: bool,
    /// A question is under way.
    asked: Option<Instant>,
    is_waited_for: bool,
    /// It let us wait in vain: from now on the answer that came since the last time is taken, until it is quick again.
    is_slow: bool,
    /// What failed last, made into a reason once.
    error: Option<(Option<i32>, Arc<str>)>,
    hangs: Option<Arc<str>>,
}

/// The content of `/proc/self/mountinfo`, and what the file systems in it say.
#[derive(Debug)]
pub(super) struct Mounts {
    path: PathBuf,
    file: KeptFile,
    watch: Watch,
    seen: Seen,
    threads: Threads,
    pub(super) mounts: Vec<Mount>,
    last_number: u64,
    deadline: Option<(Moments, Instant)>,
}

/// Tells whether the table of mounts changed since the last time.
#[derive(Debug, Default)]
struct Watch(Option<File>);

impl Watch {
    /// Before the table is read, so that no change is lost.
    fn changed(&mut self, path: &Path) -> bool {
        let Some(file) = &self.0 else {
            // Only the kernel's own file tells; a made one is read every time.
            const PROC: u64 = 0x9fa0;
            let file = File::open(path).ok();
            self.0 =
                file.filter(|file| rustix::fs::fstatfs(file).is_ok_and(|found| found.f_type as u64 == PROC));
            if let Some(file) = &self.0 {
                let _ = is_marked(file);
            }
            return true;
        };
        is_marked(file).unwrap_or(true)
    }
}

fn is_marked(file: &File) -> io::Result<bool> {
    let mut files = [PollFd::new(file, PollFlags::PRI)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    Ok(poll(&mut files, Some(&at_once))? > 0)
}

impl Mounts {
    pub(super) fn new(roots: &Roots, seen: Seen) -> Self {
        let path = roots.proc.join("self/mountinfo");
        Self {
            file: KeptFile::new(&path),
            path,
            watch: Watch::default(),
            threads: Threads::new(seen.clone()),
            seen,
            mounts: Vec::new(),
            last_number: 0,
            deadline: None,
        }
    }

    pub(super) fn are_readable(&mut self) -> bool {
        self.file.is_readable()
    }

    /// Asks those file systems for their space that are wanted and were not asked at this moment. Those that may hang are
    /// waited for together, until one deadline.
    pub(super) fn measure(&mut self, at: Moments, wanted: impl Fn(&Mount) -> bool) {
        let now = Instant::now();
        let deadline = match self.deadline {
            Some((moment, deadline)) if moment == at => deadline,
            _ => now + PATIENCE,
        };
        self.deadline = Some((at, deadline));
        let mut waiting = 0;
        // What came since the last time.
        take(&self.threads, &mut self.mounts, now, &mut waiting);
        for mount in self.mounts.iter_mut().filter(|mount| mount.measured != Some(at)) {
            if !wanted(mount) {
                continue;
            }
            mount.measured = Some(at);
            if !mount.may_hang {
                let found = (self.seen.space)(&mount.path);
                mount.set(found);
                continue;
            }
            if mount.asked.is_some() {
                mount.give_up();
                continue;
            }
            mount.asked = Some(now);
            mount.is_waited_for = !mount.is_slow;
            waiting += usize::from(mount.is_waited_for);
            self.threads.ask(mount.number, &mount.path);
        }
        while waiting > 0 && take(&self.threads, &mut self.mounts, deadline, &mut waiting) {}
        if waiting > 0 {
            for mount in self.mounts.iter_mut().filter(|mount| mount.is_waited_for) {
                mount.is_waited_for = false;
                mount.give_up();
            }
        }
    }

    #[cfg(test)]
    pub(super) fn threads(&self) -> usize {
        self.threads.count()
    }
}

fn take(threads: &Threads, mounts: &mut [Mount], deadline: Instant, waiting: &mut usize) -> bool {
    threads.answers(deadline, |answer| {
        // A file system that is mounted no more has no place.
        if let Some(mount) = mounts.iter_mut().find(|mount| mount.number == answer.number) {
            *waiting -= usize::from(mount.is_waited_for);
            mount.take(answer);
        }
    })
}

impl Mount {
    fn new(line: Line, number: u64, may_hang: bool, seen: &Seen) -> Self {
        let device = if line.major_minor.0 != 0 {
            Some(line.major_minor)
        } else {
            // Several devices, as bcachefs has, are separated by colons: the first stands for all.
            let first = line.source.split(':').next().filter(|path| path.starts_with("/dev/"));
            first.and_then(|path| (seen.block_device)(Path::new(path)))
        };
        let name = line.mount_point.to_string_lossy();
        Self {
            kind: line.kind(),
            key: Arc::new(InstanceKey::new(&*name, 0, 0)),
            number,
            device,
            space: Ok(Space::default()),
            path: Arc::new(line.mount_point.clone()),
            line,
            measured: None,
            may_hang,
            asked: None,
            is_waited_for: false,
            is_slow: false,
            error: None,
            hangs: None,
        }
    }

    fn set(&mut self, found: io::Result<Space>) {
        let error = match found {
            Ok(space) => {
                self.space = Ok(space);
                return;
            }
            Err(error) => error,
        };
        let code = error.raw_os_error();
        let known =
            self.error.as_ref().filter(|(known, _)| *known == code).map(|(_, reason)| Arc::clone(reason));
        let reason = known.unwrap_or_else(|| format!("{}: {error}", self.key.name()).into());
        self.error = Some((code, Arc::clone(&reason)));
        self.space = Err(reason);
    }

    fn take(&mut self, answer: Answer) {
        let is_old = self.asked.is_some_and(|since| since.elapsed() > OLDEST_ANSWER);
        self.is_slow = answer.took > PATIENCE && !is_old;
        self.asked = None;
        self.is_waited_for = false;
        self.hangs = None;
        self.set(answer.space);
    }

    fn give_up(&mut self) {
        self.is_slow = true;
        let reason = self.hangs.get_or_insert_with(|| {
            format!("{} ({}): no answer to statfs yet", self.key.name(), self.line.fs_type).into()
        });
        self.space = Err(Arc::clone(reason));
    }
}

impl Reading for Mounts {
    fn read(&mut self, _at: Moments) -> Result<(), Failure> {
        if !self.watch.changed(&self.path) {
            return Ok(());
        }
        let text = match self.file.read() {
            Ok(text) => text,
            Err(error) => {
                // Read it next time, whatever the watch says.
                self.watch = Watch::default();
                return Err(Failure::new(ErrorCode::NO_DATA, format!("{}: {error}", self.path.display())));
            }
        };
        let table = parse(text);
        let remote: Vec<&Path> = table
            .iter()
            .filter(|line| line.kind() == Kind::Remote)
            .map(|line| line.mount_point.as_path())
            .collect();
        // The way to what is mounted below leads through it.
        let may_hang = |line: &Line| remote.iter().any(|path| line.mount_point.starts_with(path));
        let is_folder = |line: &Line| may_hang(line) || (self.seen.is_folder)(&line.mount_point);
        let mut next = 0;
        for line in file_systems(&table, is_folder) {
            if !bring(&mut self.mounts, next, |known| known.line == line) {
                self.last_number += 1;
                let may_hang = may_hang(&line);
                self.mounts.insert(next, Mount::new(line, self.last_number, may_hang, &self.seen));
            }
            next += 1;
        }
        self.mounts.truncate(next);
        Ok(())
    }
}

//! Mounted file systems and their space.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tachograph_perflib::{Failure, InstanceKey, Reading, Timestamps};

use super::mount_table::{Kind, Line, file_systems, parse};
use super::space::{Answer, FileSystemCalls, MAX_WAIT, Space, StatfsThreads};
use crate::error_texts::ErrorTexts;
use crate::open_file::OpenFile;
use crate::ordered::move_if_present;
use crate::roots::Roots;

/// The maximum age of a slow file system's answer: if it is older, the next measurement waits for a new answer.
const OLDEST_ANSWER: Duration = Duration::from_secs(60);

/// A mounted file system.
#[derive(Debug)]
pub(super) struct Mount {
    pub(super) line: Line,
    pub(super) kind: Kind,
    /// The instance, named after the mount point, without an identity.
    pub(super) key: Arc<InstanceKey>,
    /// Unique among all mounts since this process started.
    pub(super) id: u64,
    /// The file system's block device.
    pub(super) device: Option<(u32, u32)>,
    /// The result of the last measurement.
    pub(super) space: Result<Space, Arc<str>>,
    path: Arc<PathBuf>,
    /// The moment of the last measurement.
    measured: Option<Timestamps>,
    /// Whether `statfs` can block.
    can_block: bool,
    /// When the pending request was made; `None` if no answer is pending.
    requested: Option<Instant>,
    /// Whether the current measurement waits for the answer.
    is_waited_for: bool,
    /// Whether the file system has missed the deadline. Until it is fast again, its last answer is used without
    /// waiting.
    is_slow: bool,
    errors: ErrorTexts,
    /// The reason for missing values while the file system does not answer.
    no_answer: Option<Arc<str>>,
}

/// The content of `/proc/self/mountinfo`, and the space of the file systems.
#[derive(Debug)]
pub(super) struct Mounts {
    path: PathBuf,
    file: OpenFile,
    watch: Watch,
    calls: FileSystemCalls,
    threads: StatfsThreads,
    pub(super) mounts: Vec<Mount>,
    last_id: u64,
    /// The deadline for answers in the measurement of a moment.
    deadline: Option<(Timestamps, Instant)>,
}

/// Detects changes to the mount table.
#[derive(Debug, Default)]
struct Watch(Option<File>);

impl Watch {
    /// Whether the table may have changed. Call this before reading the table, so that no change is lost.
    fn may_have_changed(&mut self, path: &Path) -> bool {
        let Some(file) = &self.0 else {
            // Only procfs notifies of changes; other files are read each time.
            const PROC: u64 = 0x9fa0;
            let file = File::open(path).ok();
            self.0 =
                file.filter(|file| rustix::fs::fstatfs(file).is_ok_and(|found| found.f_type as u64 == PROC));
            if let Some(file) = &self.0 {
                let _ = has_changed(file);
            }
            return true;
        };
        has_changed(file).unwrap_or(true)
    }
}

fn has_changed(file: &File) -> io::Result<bool> {
    let mut files = [PollFd::new(file, PollFlags::PRI)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    Ok(poll(&mut files, Some(&at_once))? > 0)
}

impl Mounts {
    pub(super) fn new(roots: &Roots, calls: FileSystemCalls) -> Self {
        let path = roots.proc.join("self/mountinfo");
        Self {
            file: OpenFile::new(&path),
            path,
            watch: Watch::default(),
            threads: StatfsThreads::new(calls.clone()),
            calls,
            mounts: Vec::new(),
            last_id: 0,
            deadline: None,
        }
    }

    pub(super) fn are_readable(&mut self) -> bool {
        self.file.is_readable()
    }

    /// Measures the requested file systems, unless they were already measured at this moment. File systems that can block
    /// share one deadline.
    pub(super) fn measure(&mut self, at: Timestamps, is_wanted: impl Fn(&Mount) -> bool) {
        let now = Instant::now();
        let deadline = match self.deadline {
            Some((moment, deadline)) if moment == at => deadline,
            _ => now + MAX_WAIT,
        };
        self.deadline = Some((at, deadline));
        let mut waiting = 0;
        // Process answers that arrived after an earlier deadline.
        push_answers(&self.threads, &mut self.mounts, now, &mut waiting);
        for mount in self.mounts.iter_mut().filter(|mount| mount.measured != Some(at)) {
            if !is_wanted(mount) {
                continue;
            }
            mount.measured = Some(at);
            if !mount.can_block {
                let found = (self.calls.space)(&mount.path);
                mount.set_space(found);
                continue;
            }
            if mount.requested.is_some() {
                mount.give_up();
                continue;
            }
            mount.requested = Some(now);
            mount.is_waited_for = !mount.is_slow;
            waiting += usize::from(mount.is_waited_for);
            self.threads.request(mount.id, &mount.path);
        }
        while waiting > 0 && push_answers(&self.threads, &mut self.mounts, deadline, &mut waiting) {}
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

/// Sets the space of the file systems that have answered; if there are no answers, waits for the first one. Returns `false` if
/// none arrives before `deadline`. Decrements `waiting` for each awaited answer.
fn push_answers(
    threads: &StatfsThreads,
    mounts: &mut [Mount],
    deadline: Instant,
    waiting: &mut usize,
) -> bool {
    threads.answers(deadline, |answer| {
        // The file system may have been unmounted.
        if let Some(mount) = mounts.iter_mut().find(|mount| mount.id == answer.id) {
            *waiting -= usize::from(mount.is_waited_for);
            mount.push_answer(answer);
        }
    })
}

impl Mount {
    fn new(line: Line, id: u64, can_block: bool, calls: &FileSystemCalls) -> Self {
        let device = if line.major_minor.0 != 0 {
            Some(line.major_minor)
        } else {
            // Several devices (bcachefs) are separated by colons; the first one is used.
            let first = line.source.split(':').next().filter(|path| path.starts_with("/dev/"));
            first.and_then(|path| (calls.block_device)(Path::new(path)))
        };
        let name = line.mount_point.to_string_lossy();
        Self {
            kind: line.kind(),
            key: Arc::new(InstanceKey::new(&*name, 0, 0)),
            id,
            device,
            space: Ok(Space::default()),
            path: Arc::new(line.mount_point.clone()),
            line,
            measured: None,
            can_block,
            requested: None,
            is_waited_for: false,
            is_slow: false,
            errors: ErrorTexts::default(),
            no_answer: None,
        }
    }

    fn set_space(&mut self, found: io::Result<Space>) {
        self.space = found.map_err(|error| self.errors.get(&error, self.key.name()));
    }

    fn push_answer(&mut self, answer: Answer) {
        let is_old = self.requested.is_some_and(|since| since.elapsed() > OLDEST_ANSWER);
        self.is_slow = answer.took > MAX_WAIT && !is_old;
        self.requested = None;
        self.is_waited_for = false;
        self.no_answer = None;
        self.set_space(answer.space);
    }

    /// Marks the file system as slow, and its space as unknown.
    fn give_up(&mut self) {
        self.is_slow = true;
        let reason = self.no_answer.get_or_insert_with(|| {
            format!("{} ({}): no answer to statfs yet", self.key.name(), self.line.fs_type).into()
        });
        self.space = Err(Arc::clone(reason));
    }
}

impl Reading for Mounts {
    fn read(&mut self, _at: Timestamps) -> Result<(), Failure> {
        if !self.watch.may_have_changed(&self.path) {
            return Ok(());
        }
        // After an error, re-read the table at the next sample in any case.
        let text = self.file.read_or_fail().inspect_err(|_| self.watch = Watch::default())?;
        let table = parse(text);
        let remote: Vec<&Path> = table
            .iter()
            .filter(|line| line.kind() == Kind::Remote)
            .map(|line| line.mount_point.as_path())
            .collect();
        // Resolving a path below a remote file system can require a query to that file system.
        let can_block = |line: &Line| remote.iter().any(|path| line.mount_point.starts_with(path));
        let is_folder = |line: &Line| can_block(line) || (self.calls.is_folder)(&line.mount_point);
        let mut next = 0;
        for line in file_systems(&table, is_folder) {
            if !move_if_present(&mut self.mounts, next, |known| known.line == line) {
                self.last_id += 1;
                let can_block = can_block(&line);
                self.mounts.insert(next, Mount::new(line, self.last_id, can_block, &self.calls));
            }
            next += 1;
        }
        self.mounts.truncate(next);
        Ok(())
    }
}

//! Detects that a process has not run since its stat file was read, so that the file need not be read again.
//!
//! The kernel writes `schedstat` in a fifth of the time of `stat`. While a process with a single thread does not run (is at
//! rest), its own actions cannot change `stat`. Other processes can change its parent, its priority and, if they share its
//! memory, its virtual size. So [`ProcessSet`](super::process_set::ProcessSet) compares the parent, and reads `stat` if the
//! priority or the virtual size is requested.

use rustix::io::Errno;

use super::reader::{Reader, Task, TaskFile};
use super::stat::Stat;
use super::waits::Schedule;

/// After a process has run, this number of reads do not check whether it is at rest.
const PAUSE: u8 = 8;

/// The stat file of a process, remembered until the process runs.
#[derive(Debug)]
pub(super) struct UnchangedStat {
    schedstat: TaskFile,
    /// The schedule that was read before `stat` is read.
    schedule: Option<Schedule>,
    remembered: Option<RememberedStat>,
    /// The number of further reads without a check. A new process is not checked at first, because many end before the next
    /// sample.
    pause: u8,
}

/// The content of the files of a process when it did not run.
#[derive(Clone, Copy, Debug)]
struct RememberedStat {
    /// Read before `stat`.
    schedule: Schedule,
    stat: Stat,
    /// The identity of the parent at that time.
    parent: u64,
}

impl Default for UnchangedStat {
    fn default() -> Self {
        Self { schedstat: TaskFile::default(), schedule: None, remembered: None, pause: 1 }
    }
}

impl UnchangedStat {
    /// The parent of the process in the remembered stat file.
    pub(super) fn parent(&self) -> Option<u32> {
        self.remembered.map(|seen| seen.stat.parent)
    }

    /// Returns the remembered stat file if it still applies: the process has not run, and `parent`, the identity of its
    /// parent, is the same.
    ///
    /// # Errors
    ///
    /// When the schedstat file cannot be read.
    pub(super) fn check(
        &mut self,
        reader: &mut Reader,
        pid: u32,
        parent: Option<u64>,
    ) -> Result<Option<Stat>, Errno> {
        self.schedule = None;
        if self.pause > 0 {
            self.pause -= 1;
            return Ok(None);
        }
        // A file that was closed in the meantime may be that of another process with the same id.
        let seen = self.remembered.take().filter(|_| self.schedstat.is_open());
        let text = reader.read(&mut self.schedstat, Task::Process(pid), "schedstat");
        let schedule = text.inspect_err(|_| self.pause = PAUSE)?;
        self.schedule = Schedule::parse(schedule).filter(|schedule| schedule.has_run());
        let Some(seen) = seen else { return Ok(None) };
        if self.schedule != Some(seen.schedule) {
            self.pause = PAUSE;
        } else if parent == Some(seen.parent) {
            self.remembered = Some(seen);
            return Ok(Some(seen.stat));
        }
        Ok(None)
    }

    /// Remembers a stat file that was read after [`check`](Self::check). `parent` is the identity of the parent, if known.
    pub(super) fn remember(&mut self, stat: &Stat, parent: Option<u64>) {
        self.remembered = None;
        let Some(schedule) = self.schedule.take() else { return };
        // The times of a running process grow, but its schedstat file shows that only later. If too many files are open, the
        // schedstat file cannot stay open.
        match parent {
            Some(parent) if stat.threads == 1 && stat.state != b'R' && self.schedstat.is_open() => {
                self.remembered = Some(RememberedStat { schedule, stat: *stat, parent });
            }
            _ => self.pause = PAUSE,
        }
    }

    /// Closes the file; returns the number of closed files.
    pub(super) fn close(&mut self) -> usize {
        self.remembered = None;
        self.schedstat.close()
    }
}

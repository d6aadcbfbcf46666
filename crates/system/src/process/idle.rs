//! The time in which processors had nothing to do, from `/proc/stat`.

use std::sync::Arc;

use crate::Roots;
use crate::file::KeptFile;
use crate::scan::{number, words};

/// Reads the idle time of all processors.
#[derive(Debug)]
pub(super) struct Idle {
    file: KeptFile,
    /// The most that was read: waiting for storage is idle time that the kernel may take back.
    ticks: u64,
    pub(super) reason: Arc<str>,
}

/// Idle time in the kernel's ticks, and the processors that are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Idleness {
    pub(super) ticks: u64,
    pub(super) processors: u64,
}

impl Idle {
    pub(super) fn new(roots: &Roots) -> Self {
        Self {
            file: KeptFile::new(roots.proc.join("stat")),
            ticks: 0,
            reason: "/proc/stat: the line cpu cannot be read".into(),
        }
    }

    /// The idle time now, where the file tells it.
    pub(super) fn read(&mut self) -> Option<Idleness> {
        let found = parse(self.file.read().ok()?)?;
        self.ticks = self.ticks.max(found.ticks);
        Some(Idleness { ticks: self.ticks, ..found })
    }
}

fn parse(text: &[u8]) -> Option<Idleness> {
    let mut lines = text.split_inclusive(|&byte| byte == b'\n');
    let line = lines.next()?.strip_prefix(b"cpu ")?.strip_suffix(b"\n")?;
    let mut fields = words(line).skip(3).map(number);
    let idle = fields.next()??;
    // Kernels before 2.6 count no waiting.
    let waiting = fields.next().flatten().unwrap_or_default();
    let processors = lines.take_while(|line| line.starts_with(b"cpu")).count() as u64;
    Some(Idleness { ticks: idle.saturating_add(waiting), processors })
}

//! The idle time of the processors, from `/proc/stat`.

use std::sync::Arc;

use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::scan::{number, words};

/// Reads the idle time of all processors.
///
/// The kernel's own sum falls when a processor goes offline. This sum adds the increases of each processor, so it
/// never falls.
#[derive(Debug)]
pub(super) struct IdleReader {
    file: OpenFile,
    processors: Vec<Processor>,
    ticks: u64,
    /// The number of reads.
    reads: u64,
    pub(super) reason: Arc<str>,
}

#[derive(Debug)]
struct Processor {
    id: u64,
    ticks: u64,
    /// The number of the last read that found this processor.
    last_read: u64,
}

/// Idle time in the kernel's ticks, and the number of online processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IdleTime {
    pub(super) ticks: u64,
    pub(super) processors: u64,
}

/// The kernel sometimes takes back a little idle time (iowait). A larger decrease means that the processor was
/// offline in between.
const MAX_DECREASE: u64 = 100;

impl IdleReader {
    pub(super) fn new(roots: &Roots) -> Self {
        Self {
            file: OpenFile::new(roots.proc.join("stat")),
            processors: Vec::new(),
            ticks: 0,
            reads: 0,
            reason: "/proc/stat: the idle time of the processors cannot be read".into(),
        }
    }

    /// The current idle time; `None` if the file cannot be read.
    pub(super) fn read(&mut self) -> Option<IdleTime> {
        let text = self.file.read().ok()?;
        self.reads += 1;
        let mut count = 0;
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            let Some(line) = line.strip_prefix(b"cpu") else { break };
            let line = line.strip_suffix(b"\n")?;
            if line.first() == Some(&b' ') {
                continue;
            }
            let (id, ticks) = parse(line)?;
            count += 1;
            self.ticks += match self.processors.iter_mut().find(|known| known.id == id) {
                Some(known) => {
                    let added = ticks.saturating_sub(known.ticks);
                    if ticks > known.ticks || known.ticks - ticks > MAX_DECREASE {
                        known.ticks = ticks;
                    }
                    known.last_read = self.reads;
                    added
                }
                None => {
                    self.processors.push(Processor { id, ticks, last_read: self.reads });
                    // Idle time from before a processor appeared belongs to no interval.
                    if self.reads == 1 { ticks } else { 0 }
                }
            };
        }
        self.processors.retain(|processor| processor.last_read == self.reads);
        (count > 0).then_some(IdleTime { ticks: self.ticks, processors: count })
    }
}

/// The id of a processor and its idle time.
fn parse(line: &[u8]) -> Option<(u64, u64)> {
    let mut fields = words(line);
    let id = number(fields.next()?)?;
    let mut fields = fields.skip(3).map(number);
    let idle = fields.next()??;
    // Kernels before 2.6 have no iowait.
    let iowait = fields.next().flatten().unwrap_or_default();
    Some((id, idle.saturating_add(iowait)))
}

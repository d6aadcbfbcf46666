//! The time in which processors had nothing to do, from `/proc/stat`.

use std::sync::Arc;

use crate::Roots;
use crate::file::KeptFile;
use crate::scan::{number, words};

/// Reads the idle time of all processors.
///
/// The sum over the processors that the kernel gives falls when one goes off; here each adds what it was idle since the
/// reading before, so that the time of a processor that went stays in the sum.
#[derive(Debug)]
pub(super) struct Idle {
    file: KeptFile,
    processors: Vec<Processor>,
    ticks: u64,
    /// Counts the readings.
    reading: u64,
    pub(super) reason: Arc<str>,
}

#[derive(Debug)]
struct Processor {
    number: u64,
    ticks: u64,
    /// The reading that it was met in last.
    seen: u64,
}

/// Idle time in the kernel's ticks, and the processors that are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Idleness {
    pub(super) ticks: u64,
    pub(super) processors: u64,
}

/// Waiting for storage is idle time that the kernel may take back, a little; who lost more than this went off and on.
const MOST_TAKEN_BACK: u64 = 100;

impl Idle {
    pub(super) fn new(roots: &Roots) -> Self {
        Self {
            file: KeptFile::new(roots.proc.join("stat")),
            processors: Vec::new(),
            ticks: 0,
            reading: 0,
            reason: "/proc/stat: the idle time of the processors cannot be read".into(),
        }
    }

    /// The idle time now, where the file tells it.
    pub(super) fn read(&mut self) -> Option<Idleness> {
        let text = self.file.read().ok()?;
        self.reading += 1;
        let mut count = 0;
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            let Some(line) = line.strip_prefix(b"cpu") else { break };
            let line = line.strip_suffix(b"\n")?;
            if line.first() == Some(&b' ') {
                continue;
            }
            let (number, ticks) = parse(line)?;
            count += 1;
            self.ticks += match self.processors.iter_mut().find(|known| known.number == number) {
                Some(known) => {
                    let added = ticks.saturating_sub(known.ticks);
                    if ticks > known.ticks || known.ticks - ticks > MOST_TAKEN_BACK {
                        known.ticks = ticks;
                    }
                    known.seen = self.reading;
                    added
                }
                None => {
                    self.processors.push(Processor { number, ticks, seen: self.reading });
                    // What a processor counted before it came has no interval.
                    if self.reading == 1 { ticks } else { 0 }
                }
            };
        }
        self.processors.retain(|processor| processor.seen == self.reading);
        (count > 0).then_some(Idleness { ticks: self.ticks, processors: count })
    }
}

/// The number of a processor, and its idle time.
fn parse(line: &[u8]) -> Option<(u64, u64)> {
    let mut fields = words(line);
    let name = number(fields.next()?)?;
    let mut fields = fields.skip(3).map(number);
    let idle = fields.next()??;
    // Kernels before 2.6 count no waiting.
    let waiting = fields.next().flatten().unwrap_or_default();
    Some((name, idle.saturating_add(waiting)))
}

//! `/proc/net/softnet_stat`: what each processor did with received packets.

use std::path::PathBuf;

use crate::error_texts::error_text;
use crate::open_file::OpenFile;
use crate::ordered::split_complete_lines;
use crate::roots::Roots;
use crate::scan::{lines, parse_hexadecimal, words};
use crate::wrapping_sum::WrappingSum;

/// The number of counts per processor.
pub(super) const COUNTS: usize = 5;

/// The columns of the counts: processed, dropped, squeezed, received from other processors, flow limit.
const COLUMNS: [usize; COUNTS] = [0, 1, 2, 9, 10];
/// The columns of the backlog and of the processor's id, since Linux 5.10.
const BACKLOG: usize = 11;
const ID: usize = 12;
const MAX_COLUMNS: usize = ID + 1;

/// The counts of all processors, extended to 64 bits because the kernel's numbers have 32 bits and wrap.
#[derive(Debug)]
pub(super) struct Softnet {
    path: PathBuf,
    file: OpenFile,
    processors: Vec<Processor>,
    has_backlog: bool,
}

#[derive(Debug)]
struct Processor {
    id: u32,
    /// Whether the last read has found a line of the processor.
    is_listed: bool,
    counts: [WrappingSum; COUNTS],
    backlog: u64,
}

/// The counts of a processor in the order of [`COLUMNS`], and the number of packets that wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SoftnetCounts {
    pub(super) counts: [u64; COUNTS],
    pub(super) backlog: u64,
}

impl Softnet {
    pub(super) fn new(roots: &Roots) -> Self {
        let path = roots.proc.join("net/softnet_stat");
        Self { file: OpenFile::new(&path), path, processors: Vec::new(), has_backlog: false }
    }

    /// Closes the file until the next read.
    pub(super) fn close(&mut self) {
        self.file.close();
    }

    /// Reads the file. `online` are the ids of the online processors, sorted; they are needed because the lines of older
    /// kernels have no ids.
    pub(super) fn read(&mut self, mut online: impl Iterator<Item = u32>) -> Result<(), String> {
        let text = self.file.read().map_err(|error| error_text(self.path.display(), &error))?;
        self.processors.iter_mut().for_each(|processor| processor.is_listed = false);
        for line in lines(split_complete_lines(text).0) {
            let mut columns = [0; MAX_COLUMNS];
            let mut count = 0;
            for (column, word) in columns.iter_mut().zip(words(line)) {
                *column = parse_hexadecimal(word).ok_or_else(|| malformed_error(&self.path))?;
                count += 1;
            }
            if count <= COLUMNS[COUNTS - 1] {
                return Err(malformed_error(&self.path));
            }
            let next = online.next();
            let id = if count > ID { u32::try_from(columns[ID]).ok() } else { next };
            let id = id.ok_or_else(|| malformed_error(&self.path))?;
            self.has_backlog |= count > BACKLOG;
            let known = self.processors.iter().position(|processor| processor.id == id);
            let index = known.unwrap_or(self.processors.len());
            if known.is_none() {
                let counts = [WrappingSum::default(); COUNTS];
                self.processors.push(Processor { id, is_listed: false, counts, backlog: 0 });
            }
            let processor = &mut self.processors[index];
            for (sum, column) in processor.counts.iter_mut().zip(COLUMNS) {
                sum.current = columns[column];
                sum.update(known.is_none(), true);
            }
            processor.backlog = columns[BACKLOG];
            processor.is_listed = true;
        }
        Ok(())
    }

    /// Whether the kernel reports the backlog.
    pub(super) fn has_backlog(&self) -> bool {
        self.has_backlog
    }

    /// The counts of a processor.
    pub(super) fn counts(&self, processor: u32) -> Result<SoftnetCounts, String> {
        let found = self.processors.iter().find(|known| known.id == processor && known.is_listed);
        let found = found.ok_or_else(|| format!("{}: no line of this processor", self.path.display()))?;
        Ok(SoftnetCounts { counts: found.counts.map(|sum| sum.total), backlog: found.backlog })
    }
}

fn malformed_error(path: &std::path::Path) -> String {
    format!("{}: malformed line", path.display())
}

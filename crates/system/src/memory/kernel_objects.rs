//! Objects of the kernel that `/proc/sys` counts: open files, inodes, directory entries, pseudo terminals.

use tachograph_perflib::Row;

use crate::error_texts::{LastReason, error_text};
use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::scan::{parse_number, words};

/// A counter and its file.
struct Source {
    id: u32,
    path: &'static str,
    /// The index of the number in the file.
    field: usize,
    /// The index of the number to subtract, which counts the unused objects.
    unused: Option<usize>,
}

const fn source(id: u32, path: &'static str, field: usize, unused: Option<usize>) -> Source {
    Source { id, path, field, unused }
}

/// The counters, grouped by file.
const SOURCES: &[Source] = &[
    source(super::system::FILE_HANDLES, "sys/fs/file-nr", 0, Some(1)),
    source(super::system::FILE_HANDLE_LIMIT, "sys/fs/file-nr", 2, None),
    source(super::system::INODES, "sys/fs/inode-nr", 0, Some(1)),
    source(super::system::UNUSED_DENTRIES, "sys/fs/dentry-state", 1, None),
    source(super::system::TERMINALS, "sys/kernel/pty/nr", 0, None),
    source(super::system::TERMINAL_LIMIT, "sys/kernel/pty/max", 0, None),
];

/// The files of the counters.
pub(super) struct KernelObjects(Vec<ObjectFile>);

struct ObjectFile {
    file: OpenFile,
    sources: &'static [Source],
    reason: LastReason,
}

impl KernelObjects {
    /// The files of the counters, as far as they can be read.
    pub(super) fn new(roots: &Roots) -> Self {
        let files = SOURCES.chunk_by(|one, other| one.path == other.path).map(|sources| ObjectFile {
            file: OpenFile::in_one_piece(roots.proc.join(sources[0].path)),
            sources,
            reason: LastReason::default(),
        });
        Self(files.filter_map(|mut file| file.file.is_readable().then_some(file)).collect())
    }

    /// Whether the file of a counter is readable.
    pub(super) fn has_counter(&self, id: u32) -> bool {
        self.0.iter().any(|file| file.sources.iter().any(|source| source.id == id))
    }

    /// Sets the values that the row wants.
    pub(super) fn set_counters(&mut self, row: &mut Row<'_>) {
        for ObjectFile { file, sources, reason } in &mut self.0 {
            if !sources.iter().any(|source| row.wants(source.id)) {
                continue;
            }
            let numbers = match file.read() {
                Ok(text) => numbers(text),
                Err(error) => {
                    let text = error_text(file.path().display(), &error);
                    row.fail_all(sources.iter().map(|source| source.id), reason.intern(&text));
                    continue;
                }
            };
            for source in *sources {
                let used = |count: u64| match source.unused {
                    Some(index) => numbers[index].map(|unused| count.saturating_sub(unused)),
                    None => Some(count),
                };
                match numbers[source.field].and_then(used) {
                    Some(value) => row.set(source.id, value),
                    None => {
                        let text = format!("{}: a number is missing", file.path().display());
                        row.fail(source.id, reason.intern(&text));
                    }
                }
            }
        }
    }
}

/// The first numbers of a file; `None` for each missing number. A line without a newline is ignored.
fn numbers(text: &[u8]) -> [Option<u64>; 3] {
    let mut numbers = [None; 3];
    for (number_at, word) in numbers.iter_mut().zip(words(text.strip_suffix(b"\n").unwrap_or_default())) {
        *number_at = parse_number(word);
    }
    numbers
}

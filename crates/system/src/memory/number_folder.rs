//! Sets whose counters are files of a folder in `/sys`, with one number each: huge pages, merged pages.

use std::path::Path;
use std::sync::Arc;

use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows};

use super::system::reuse;
use crate::number_file::SmallFile;
use crate::table::SetTable;

/// A counter and its file.
pub(super) struct FileCounter {
    pub(super) id: u32,
    /// The name of the file. Counters of the same file follow each other, so that it is read once.
    pub(super) file: &'static str,
    /// Whether the file counts pages and the counter bytes.
    pub(super) is_in_bytes: bool,
}

pub(super) const fn counter(id: u32, file: &'static str) -> FileCounter {
    FileCounter { id, file, is_in_bytes: false }
}

pub(super) const fn bytes(id: u32, file: &'static str) -> FileCounter {
    FileCounter { id, file, is_in_bytes: true }
}

/// A provider of one set.
pub(super) struct NumberFolders {
    info: Arc<CounterSetInfo>,
    counters: &'static [FileCounter],
    folders: Vec<NumberFolder>,
}

/// An instance.
pub(super) struct NumberFolder {
    key: Arc<InstanceKey>,
    page_bytes: u64,
    /// The file of each counter; `None` if it is missing.
    files: Vec<Option<SmallFile>>,
    reason: Option<Arc<str>>,
}

impl NumberFolder {
    pub(super) fn new(
        key: InstanceKey,
        folder: &Path,
        page_bytes: u64,
        counters: &'static [FileCounter],
    ) -> Self {
        let file = |counter: &FileCounter| {
            let mut file = SmallFile::new(folder.join(counter.file));
            file.number().is_ok().then_some(file)
        };
        Self { key: Arc::new(key), page_bytes, files: counters.iter().map(file).collect(), reason: None }
    }
}

/// The provider, if a folder has a file of the set.
pub(super) fn provider(
    table: &SetTable,
    counters: &'static [FileCounter],
    folders: Vec<NumberFolder>,
) -> Option<Box<dyn Provider>> {
    let has = |id: u32| {
        let index = counters.iter().position(|counter| counter.id == id);
        index.is_some_and(|index| folders.iter().any(|folder| folder.files[index].is_some()))
    };
    let info = table.info_of(has);
    let has_any = !info.counters.is_empty();
    has_any.then(|| -> Box<dyn Provider> { Box::new(NumberFolders { info, counters, folders }) })
}

impl Provider for NumberFolders {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        for NumberFolder { key, page_bytes, files, reason } in &mut self.folders {
            if !rows.wants_instance(key.full_name(), key.id()) {
                continue;
            }
            let mut row = rows.push(key);
            let mut last = None;
            for (counter, file) in self.counters.iter().zip(files) {
                if !row.wants(counter.id) {
                    continue;
                }
                let Some(file) = file else {
                    row.omit(counter.id);
                    continue;
                };
                let number = match last {
                    Some((name, number)) if name == counter.file => Ok(number),
                    _ => file.number(),
                };
                match number {
                    Ok(number) => {
                        last = Some((counter.file, number));
                        let factor = if counter.is_in_bytes { *page_bytes } else { 1 };
                        row.set(counter.id, number.saturating_mul(factor));
                    }
                    Err(text) => row.fail(counter.id, reuse(reason, &text)),
                }
            }
        }
        Ok(())
    }
}

//! Sets whose instances are folders in `/sys` with a small file per counter: huge pages, merged pages, RAID arrays.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows};

use crate::error_texts::{LastReason, error_text};
use crate::number_file::SmallFile;
use crate::scan::parse_single_number;
use crate::table::SetTable;

/// A counter and its file.
pub(crate) struct FileCounter {
    pub(crate) id: u32,
    /// The name of the file. Counters of the same file are adjacent, so that the file is read once.
    pub(crate) file: &'static str,
    /// Returns the value, from the text of the file and the size of a page in bytes; `None` if the text is malformed.
    pub(crate) parse: fn(&[u8], u64) -> Option<FileValue>,
}

/// The value of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileValue {
    Number(u64),
    /// A number and its base.
    Ratio(u64, u64),
    /// The counter has no value now.
    Absent,
}

/// A counter whose file has one number.
pub(crate) const fn counter(id: u32, file: &'static str) -> FileCounter {
    FileCounter { id, file, parse: |text, _| Some(FileValue::Number(parse_single_number(text)?)) }
}

/// A counter in bytes whose file has a number of pages.
pub(crate) const fn bytes(id: u32, file: &'static str) -> FileCounter {
    FileCounter {
        id,
        file,
        parse: |text, page_bytes| {
            Some(FileValue::Number(parse_single_number(text)?.saturating_mul(page_bytes)))
        },
    }
}

/// The folder of an instance.
pub(crate) struct CounterFolder {
    key: Arc<InstanceKey>,
    page_bytes: u64,
    /// The file of each counter.
    files: Vec<SmallFile>,
    reason: LastReason,
}

impl CounterFolder {
    pub(crate) fn new(
        key: Arc<InstanceKey>,
        folder: &Path,
        page_bytes: u64,
        counters: &[FileCounter],
    ) -> Self {
        let files = counters.iter().map(|counter| SmallFile::new(folder.join(counter.file))).collect();
        Self { key, page_bytes, files, reason: LastReason::default() }
    }

    /// Whether the file of `counter`, the counter with this index, can be read and has a value.
    fn has_counter(&self, index: usize, counter: &FileCounter) -> bool {
        self.files[index].is_readable(|text| (counter.parse)(text, self.page_bytes).is_some())
    }

    /// Adds the row of the folder if it is selected. Counters whose file is missing have no value.
    pub(crate) fn push_row(&mut self, counters: &[FileCounter], rows: &mut Rows) {
        let Self { key, page_bytes, files, reason } = self;
        if !rows.wants_instance(key.full_name(), key.id()) {
            return;
        }
        let mut row = rows.push(key);
        let mut buffer = [0; 64];
        // The name of the file whose content is in the buffer.
        let mut last = "";
        let mut length = 0;
        for (counter, file) in counters.iter().zip(files) {
            if !row.wants(counter.id) {
                continue;
            }
            if last != counter.file {
                last = "";
                match file.read(&mut buffer) {
                    Ok(text) => (last, length) = (counter.file, text.len()),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        row.omit(counter.id);
                        continue;
                    }
                    Err(error) => {
                        row.fail(counter.id, reason.intern(&error_text(file.path().display(), &error)));
                        continue;
                    }
                }
            }
            let text = &buffer[..length];
            match (counter.parse)(text, *page_bytes) {
                Some(FileValue::Number(number)) => row.set(counter.id, number),
                Some(FileValue::Ratio(number, base)) => row.set_with_base(counter.id, number, base),
                Some(FileValue::Absent) => row.omit(counter.id),
                None => {
                    let text = String::from_utf8_lossy(text);
                    let text = format!("{}: unexpected content: {text:?}", file.path().display());
                    row.fail(counter.id, reason.intern(&text));
                }
            }
        }
    }

    /// Closes the files until the next read.
    pub(crate) fn close(&mut self) {
        self.files.iter_mut().for_each(SmallFile::close);
    }
}

/// The provider of a set whose folders do not change while the machine runs.
struct CounterFolders {
    info: Arc<CounterSetInfo>,
    counters: &'static [FileCounter],
    folders: Vec<CounterFolder>,
}

/// The provider, if a folder has a file of the set.
pub(crate) fn provider(
    table: &SetTable,
    counters: &'static [FileCounter],
    folders: Vec<CounterFolder>,
) -> Option<Box<dyn Provider>> {
    let has_counter = |id: u32| {
        let index = counters.iter().position(|counter| counter.id == id);
        index.is_some_and(|index| folders.iter().any(|folder| folder.has_counter(index, &counters[index])))
    };
    let info = table.info_of(has_counter);
    let has_any = !info.counters.is_empty();
    has_any.then(|| -> Box<dyn Provider> { Box::new(CounterFolders { info, counters, folders }) })
}

impl Provider for CounterFolders {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        self.folders.iter_mut().for_each(|folder| folder.push_row(self.counters, rows));
        Ok(())
    }

    fn idle(&mut self) {
        self.folders.iter_mut().for_each(CounterFolder::close);
    }
}

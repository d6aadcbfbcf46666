//! Reads the sets in a folder.
#![allow(dead_code, reason = "each test binary uses some")]

use std::path::Path;

use tachograph_shm::folder::Folder;
use tachograph_shm::{Reading, SetReader};

/// What a reader read of an instance. A value is `(value, base)`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) id: u32,
    pub(crate) is_history: bool,
    pub(crate) values: Vec<Option<(u64, Option<u64>)>>,
}

/// The names of the published files in a folder.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    Folder::open(folder).and_then(|folder| folder.files()).expect("the folder")
}

/// The names of all directory entries, including hidden ones.
pub(crate) fn all_entries(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The live sets.
pub(crate) fn sets(folder: &Path) -> Vec<SetReader> {
    let folder = Folder::open(folder).expect("the folder");
    let names = folder.files().expect("its files");
    let sets = names.iter().map(|name| SetReader::open(&folder, name).expect("a published set"));
    sets.filter(SetReader::is_alive).collect()
}

/// The only set.
pub(crate) fn set(folder: &Path) -> SetReader {
    let mut sets = sets(folder);
    assert_eq!(sets.len(), 1, "one set");
    sets.pop().expect("one set")
}

/// All instances of a set.
pub(crate) fn rows(set: &mut SetReader) -> Vec<Row> {
    let counters = set.description().counters.len();
    let mut rows = Vec::new();
    let mut name = String::new();
    set.read(|instance| {
        assert!(instance.read_name(&mut name), "a complete name");
        let values =
            (0..counters).map(|counter| instance.value(counter).map(|Reading { value, base }| (value, base)));
        let values = values.collect();
        let is_history = instance.history().is_some();
        rows.push(Row { name: name.clone(), id: instance.id(), is_history, values });
    })
    .expect("a valid file");
    rows
}

/// The only instance of the only set.
pub(crate) fn row(folder: &Path) -> Row {
    let mut rows = rows(&mut set(folder));
    assert_eq!(rows.len(), 1, "one instance: {rows:?}");
    rows.pop().expect("one")
}

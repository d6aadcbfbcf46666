//! A set for tests, and its instances as a reader sees them.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::{Path, PathBuf};

use tachograph_shm::folder::Folder;
use tachograph_shm::{
    Aggregate, Attributes, CellKind, CounterDescription, Description, Guid, InstanceKind, OpenError, Options,
    Reading, SetFile, SetReader,
};

pub(crate) const SET: Guid = Guid::parse("{11111111-2222-3333-4444-555555555555}");

/// Indexes of the counters in the set.
pub(crate) const PLAIN: usize = 0;
pub(crate) const TIMER: usize = 1;
pub(crate) const BASE: usize = 2;
pub(crate) const STRIPED: usize = 3;
pub(crate) const RATIO: usize = 4;
pub(crate) const RATIO_BASE: usize = 5;
pub(crate) const REFERENCE: usize = 6;

/// A set with a cell of each kind.
pub(crate) fn description(instances: InstanceKind) -> Description {
    let mut set = Description::new("Shop", SET, instances);
    set.help = "Activity of the shop.".into();
    set.label = "shopd".into();
    let counter = |id, name: &str, cell| {
        let mut counter = CounterDescription::new(id, name, 0x1041_0500);
        counter.cell = cell;
        counter.unit = "orders".into();
        counter.help = format!("Help of {name}.").into();
        counter
    };
    let mut plain = counter(1, "Orders/sec", CellKind::Plain);
    plain.aggregate = Aggregate::Total;
    let mut timer = counter(2, "Avg. sec/Order", CellKind::Timer);
    timer.base_id = Some(3);
    let base = counter(3, "Orders Base", CellKind::None);
    let mut striped = counter(4, "Hits/sec", CellKind::Plain);
    striped.stripes = 4;
    let mut ratio = counter(5, "% Pool", CellKind::Ratio);
    ratio.base_id = Some(6);
    let ratio_base = counter(6, "Pool Base", CellKind::None);
    let mut reference = counter(7, "By Reference", CellKind::Plain);
    reference.attributes = Attributes::BY_REFERENCE;
    set.counters = vec![plain, timer, base, striped, ratio, ratio_base, reference];
    set
}

pub(crate) fn options(folder: &Path) -> Options {
    Options { folder: Some(folder.to_owned()), ..Options::default() }
}

/// A live set in the folder.
pub(crate) fn publish(folder: &Path, instances: InstanceKind) -> SetFile {
    let set = SetFile::create(description(instances), &options(folder)).expect("a set");
    set.go_live().expect("rename file");
    set
}

/// What a reader read of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadInstance {
    pub(crate) name: String,
    pub(crate) id: u32,
    pub(crate) serial: u64,
    pub(crate) history: Option<u64>,
    pub(crate) values: Vec<Option<Reading>>,
}

impl ReadInstance {
    pub(crate) fn value(&self, counter: usize) -> u64 {
        self.values[counter].expect("a value").value
    }
}

/// Reads the instances that are consistent and have complete names.
pub(crate) fn read_instances(reader: &mut SetReader) -> Vec<ReadInstance> {
    let mut seen = Vec::new();
    let counters = reader.description().counters.len();
    reader
        .read(|instance| {
            let mut name = String::new();
            let has_name = instance.read_name(&mut name);
            let values = (0..counters).map(|counter| instance.value(counter)).collect();
            let (id, serial, history) = (instance.id(), instance.serial(), instance.history());
            if has_name && instance.is_consistent() {
                seen.push(ReadInstance { name, id, serial, history, values });
            }
        })
        .expect("a valid file");
    seen
}

pub(crate) fn files(folder: &Path) -> Vec<String> {
    Folder::open(folder).expect("the folder").files().expect("its files")
}

pub(crate) fn open(folder: &Path) -> Result<SetReader, OpenError> {
    let files = files(folder);
    assert_eq!(files.len(), 1, "{files:?}");
    SetReader::open(&Folder::open(folder).expect("the folder"), &files[0])
}

/// The paths of all directory entries, including hidden ones.
pub(crate) fn all_entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

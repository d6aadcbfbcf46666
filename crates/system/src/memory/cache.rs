//! `Cache`, from `/proc/vmstat`: the counters of the Windows set that Linux has.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows, Timestamps};

use super::keyed::{KeyedFile, SharedText};
use crate::table::{CounterInfo, SetTable};

const DIRTY_PAGES: u32 = 1;
const DIRTY_PAGE_THRESHOLD: u32 = 2;

#[rustfmt::skip]
pub(super) const TABLE: SetTable = SetTable {
    name: "Cache",
    guid: 0x1876c4f6_e192_59fc_814d_074bb825d8e4,
    instance_type: InstanceType::Single,
    help: "The page cache. Linux does not count hits, misses and background writing separately, as \
           Windows does; Paging Activity has the total of written pages.",
    instances: "",
    total: "",
    repeats: None,
    counters: &[
        CounterInfo::row(DIRTY_PAGES, "Dirty Pages", CounterType::RAWCOUNT, "", 0, "/proc/vmstat: nr_dirty",
            "Pages of the page cache with changes that are not written yet."),
        CounterInfo::row(DIRTY_PAGE_THRESHOLD, "Dirty Page Threshold", CounterType::RAWCOUNT, "", 0,
            "/proc/vmstat: nr_dirty_threshold",
            "The number of dirty pages above which the kernel slows down programs that write."),
    ],
};

/// The keys, in the order of the ids.
const KEYS: &[&str] = &["nr_dirty", "nr_dirty_threshold"];
const IDS: [u32; 2] = [DIRTY_PAGES, DIRTY_PAGE_THRESHOLD];

struct Cache {
    info: Arc<CounterSetInfo>,
    instance: Arc<InstanceKey>,
    vmstat: KeyedFile,
}

/// The provider, if `/proc/vmstat` can be read.
pub(super) fn provider(vmstat: &SharedText) -> Option<Box<dyn Provider>> {
    let mut vmstat = KeyedFile::new(vmstat, "", KEYS);
    vmstat.read(Timestamps::default());
    let has_counter =
        |id| IDS.iter().position(|&other| other == id).is_some_and(|key| vmstat.value(key).is_some());
    let info = TABLE.info_of(has_counter);
    let has_any = !info.counters.is_empty();
    has_any.then(|| -> Box<dyn Provider> { Box::new(Cache { info, instance: Arc::default(), vmstat }) })
}

impl Provider for Cache {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        self.vmstat.read(rows.timestamps());
        let mut row = rows.push(&self.instance);
        for (key, id) in IDS.into_iter().enumerate() {
            match self.vmstat.value(key) {
                Some(value) => row.set(id, value),
                None => row.fail(id, self.vmstat.reason(key)),
            }
        }
        Ok(())
    }

    fn idle(&mut self) {
        self.vmstat.close();
    }
}

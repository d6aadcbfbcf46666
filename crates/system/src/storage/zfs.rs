//! `ZFS ARC`: the cache of ZFS, from `/proc/spl/kstat/zfs/arcstats`.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows};

use crate::open_file::OpenFile;
use crate::ordered::split_complete_lines;
use crate::roots::Roots;
use crate::scan::{lines, parse_number, words};
use crate::table::{CounterInfo, SetTable};

const HIT_RATIO: u32 = 20;

const SIZE: CounterType = CounterType::LARGE_RAWCOUNT;
const RATE: CounterType = CounterType::BULK_COUNT;

#[rustfmt::skip]
pub(super) static TABLE: SetTable = SetTable {
    name: "ZFS ARC",
    guid: 0xf7bfe803_b9f6_50a6_a1a5_59357fa7f792,
    instance_type: InstanceType::Single,
    help: "The adaptive replacement cache of ZFS, which is the page cache of its file systems: its size, and how often data was found there.",
    instances: "",
    total: "",
    repeats: None,
    counters: &[
        row(1, "Size Bytes", SIZE, "bytes", -6, "arcstats: size", "The size of the cache."),
        row(2, "Target Bytes", SIZE, "bytes", -6, "arcstats: c", "The target size of the cache; it shrinks if programs need memory."),
        row(3, "Minimum Bytes", SIZE, "bytes", -6, "arcstats: c_min", "The smallest target."),
        row(4, "Maximum Bytes", SIZE, "bytes", -6, "arcstats: c_max", "The largest target."),
        row(5, "Data Bytes", SIZE, "bytes", -6, "arcstats: data_size", "The part of the cache that holds the content of files."),
        row(6, "Metadata Bytes", SIZE, "bytes", -6, "arcstats: metadata_size", "The part of the cache that holds metadata."),
        row(7, "Recently Used Bytes", SIZE, "bytes", -6, "arcstats: mru_size", "The part of the cache with data that was used once."),
        row(8, "Frequently Used Bytes", SIZE, "bytes", -6, "arcstats: mfu_size", "The part of the cache with data that was used several times."),
        row(9, "Compressed Bytes", SIZE, "bytes", -6, "arcstats: compressed_size", "The size of the data in the cache as it is stored."),
        row(10, "Uncompressed Bytes", SIZE, "bytes", -6, "arcstats: uncompressed_size", "The size of the data in the cache when it is decompressed."),
        row(11, "Hits/sec", RATE, "1/s", 0, "arcstats: hits", "Reads that found their data in the cache."),
        row(12, "Misses/sec", RATE, "1/s", 0, "arcstats: misses", "Reads that did not find their data in the cache."),
        row(13, "Prefetch Misses/sec", RATE, "1/s", 0, "arcstats: prefetch_data_misses", "Prefetch reads whose data was not in the cache."),
        row(14, "Throttles/sec", RATE, "1/s", 0, "arcstats: memory_throttle_count", "How often writes were slowed down for lack of memory."),
        row(15, "L2 Size Bytes", SIZE, "bytes", -6, "arcstats: l2_size", "The size of the data in the second-level cache on disks (L2ARC)."),
        row(16, "L2 Hits/sec", RATE, "1/s", 0, "arcstats: l2_hits", "Reads that found their data in the second-level cache."),
        row(17, "L2 Misses/sec", RATE, "1/s", 0, "arcstats: l2_misses", "Reads that did not find their data in the second-level cache either."),
        row(18, "L2 Read Bytes/sec", RATE, "bytes/s", -4, "arcstats: l2_read_bytes", "Bytes read from the second-level cache."),
        row(19, "L2 Write Bytes/sec", RATE, "bytes/s", -4, "arcstats: l2_write_bytes", "Bytes written to the second-level cache."),
        row(HIT_RATIO, "% Hits", CounterType::SAMPLE_FRACTION, "%", 0, "arcstats: hits / (hits + misses)",
            "The share of the reads of the interval that found their data in the cache.").base(21),
        CounterInfo::companion(21, "% Hits Base", CounterType::SAMPLE_BASE),
    ],
};

const fn row(
    id: u32,
    name: &'static str,
    counter_type: CounterType,
    unit: &'static str,
    scale: i32,
    source: &'static str,
    help: &'static str,
) -> CounterInfo {
    CounterInfo::row(id, name, counter_type, unit, scale, source, help)
}

/// The keys of the counters 1 to 19.
const KEYS: [&str; 19] = [
    "size",
    "c",
    "c_min",
    "c_max",
    "data_size",
    "metadata_size",
    "mru_size",
    "mfu_size",
    "compressed_size",
    "uncompressed_size",
    "hits",
    "misses",
    "prefetch_data_misses",
    "memory_throttle_count",
    "l2_size",
    "l2_hits",
    "l2_misses",
    "l2_read_bytes",
    "l2_write_bytes",
];
/// The indexes of `hits` and `misses` in [`KEYS`].
const HITS: usize = 10;
const MISSES: usize = 11;

type Values = [Option<u64>; KEYS.len()];

struct ZfsCache {
    info: Arc<CounterSetInfo>,
    instance: Arc<InstanceKey>,
    file: OpenFile,
    missing: Arc<str>,
}

/// The provider, if ZFS is loaded.
pub(super) fn provider(roots: &Roots) -> Option<Box<dyn Provider>> {
    let mut file = OpenFile::new(roots.proc.join("spl/kstat/zfs/arcstats"));
    let values = parse(file.read().ok()?);
    let has_counter = |key: usize| values.get(key).is_some_and(Option::is_some);
    let info = TABLE.info_of(|id| match id {
        HIT_RATIO => has_counter(HITS) && has_counter(MISSES),
        id => has_counter(id as usize - 1),
    });
    let missing = format!("{}: a number is missing", file.path().display()).into();
    let set = ZfsCache { info, instance: Arc::default(), file, missing };
    (!set.info.counters.is_empty()).then(|| Box::new(set) as Box<dyn Provider>)
}

/// Checks that ZFS is loaded.
pub(super) fn check(roots: &Roots) -> Result<(), String> {
    match provider(roots) {
        Some(_) => Ok(()),
        None => Err("the module zfs is not loaded".to_owned()),
    }
}

/// The values of lines such as `hits    4    12345`: key, type, value.
fn parse(text: &[u8]) -> Values {
    let mut values = [None; KEYS.len()];
    for line in lines(split_complete_lines(text).0) {
        let mut words = words(line);
        let Some(key) = words.next() else { continue };
        if let Some(index) = KEYS.iter().position(|known| known.as_bytes() == key) {
            values[index] = words.nth(1).and_then(parse_number);
        }
    }
    values
}

impl Provider for ZfsCache {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let values = parse(self.file.read_or_fail()?);
        let mut row = rows.push(&self.instance);
        for (id, value) in (1..).zip(values) {
            match value {
                Some(value) => row.set(id, value),
                None => row.fail(id, &self.missing),
            }
        }
        match values[HITS].zip(values[MISSES]) {
            Some((hits, misses)) => row.set_with_base(HIT_RATIO, hits, hits.wrapping_add(misses)),
            None => row.fail(HIT_RATIO, &self.missing),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Machine, at, collect, first_value, value};

    const FILE: &str = "proc/spl/kstat/zfs/arcstats";

    /// Every key, with its id times a thousand as value.
    fn text() -> String {
        let lines = KEYS.iter().zip(1..).map(|(key, id)| format!("{key:31} 4    {}\n", id * 1000));
        format!("9 1 0x01 147 39984 4 7\nname  type data\n{}other 4 1\n", lines.collect::<String>())
    }

    #[test]
    fn every_counter_has_its_value() {
        let machine = Machine::new(&[(FILE, &text())]);
        let mut provider = provider(&machine.roots).expect("a provider");
        let rows = collect(&mut *provider, at(1));
        for id in 1..HIT_RATIO {
            assert_eq!(first_value(&rows, "", id), i64::from(id) * 1000);
        }
        let ratio = value(&rows, "", HIT_RATIO);
        assert_eq!((ratio.first, ratio.second), (11_000, 23_000));
        assert_eq!(check(&machine.roots), Ok(()));
    }

    #[test]
    fn missing_and_malformed_lines_are_errors() {
        let machine = Machine::new(&[(FILE, &text())]);
        let mut set = provider(&machine.roots).expect("a provider");
        for broken in ["hits\n", "hits 4\n", "hits 4 x\n", "hits 4 99999999999999999999\n", "hits 4 12"] {
            machine.write(FILE, format!("{}{broken}", text().replace("hits ", "other ")));
            let rows = collect(&mut *set, at(1));
            assert!(!value(&rows, "", 11).status.is_good(), "{broken:?}");
            assert!(!value(&rows, "", HIT_RATIO).status.is_good(), "{broken:?}");
            assert_eq!(first_value(&rows, "", 12), 12_000);
        }
        machine.write(FILE, text().replace("l2_", "l3_"));
        let newer = provider(&machine.roots).expect("a provider");
        assert!(newer.info().position(16).is_none() && newer.info().position(11).is_some());
        machine.write(FILE, "");
        assert!(provider(&machine.roots).is_none());
        assert_eq!(check(&machine.roots).expect_err("a reason"), "the module zfs is not loaded");
    }
}

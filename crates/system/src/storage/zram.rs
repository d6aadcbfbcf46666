//! `Zram`: compressed block devices in memory, from `/sys/block/zram*`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Row, Rows, SharedReading};

use super::device_list::DeviceList;
use super::diskstats::{Device, Diskstats};
use crate::error_texts::{LastReason, error_text};
use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::scan::{parse_number, words};
use crate::table::{CounterInfo, SetTable};

const COMPRESSED_SIZE: u32 = 10;
const DISK_SIZE: u32 = 9;

#[rustfmt::skip]
pub(super) static TABLE: SetTable = SetTable {
    name: "Zram",
    guid: 0x8df09cfb_50ad_5d54_b048_294d61d2e476,
    instance_type: InstanceType::Multiple,
    help: "Compressed block devices in memory, which are usually used for swap: the size of their content and the memory that they occupy.",
    instances: "zram devices under the kernel's name (zram0), in the kernel's order, then _Total.",
    total: "The sums over all devices.",
    repeats: None,
    counters: &[
        row(1, "Original Bytes", "bytes", "/sys/block/zram*/mm_stat: first",
            "The uncompressed size of the content of the device."),
        row(2, "Compressed Bytes", "bytes", "/sys/block/zram*/mm_stat: second",
            "The compressed size of the content of the device."),
        row(3, "Memory Used Bytes", "bytes", "/sys/block/zram*/mm_stat: third",
            "Memory that the device occupies, including fragmentation and metadata."),
        row(4, "Memory Limit Bytes", "bytes", "/sys/block/zram*/mm_stat: fourth",
            "The maximum memory that the device may occupy; 0 without a limit."),
        row(5, "Peak Memory Used Bytes", "bytes", "/sys/block/zram*/mm_stat: fifth",
            "The maximum memory that the device has occupied."),
        row(6, "Same-Filled Pages", "", "/sys/block/zram*/mm_stat: sixth",
            "Pages filled with a single value, which need no memory."),
        row(7, "Compacted Pages", "", "/sys/block/zram*/mm_stat: seventh",
            "Pages that compaction has freed since the device was created."),
        row(8, "Incompressible Pages", "", "/sys/block/zram*/mm_stat: eighth",
            "Pages that the device holds uncompressed."),
        CounterInfo::row(DISK_SIZE, "Disk Size Bytes", CounterType::LARGE_RAWCOUNT, "bytes", -6, "/sys/block/zram*/disksize",
            "The size of the device; 0 if it is not initialized."),
        CounterInfo::row(COMPRESSED_SIZE, "% Compressed Size", CounterType::RAW_FRACTION, "%", 0, "/sys/block/zram*/mm_stat: second / first",
            "Compressed Bytes in percent of Original Bytes: 25 is a compression ratio of 4.").base(11),
        CounterInfo::companion(11, "% Compressed Size Base", CounterType::RAW_BASE),
    ],
};

const fn row(
    id: u32,
    name: &'static str,
    unit: &'static str,
    source: &'static str,
    help: &'static str,
) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::LARGE_RAWCOUNT, unit, 0, source, help)
}

/// The number of fields of `mm_stat` that are read. They are the counters 1 to 8.
const FIELDS: usize = 8;

/// The fields of `mm_stat`, then the size of the device.
type Values = [Option<u64>; FIELDS + 1];

/// The provider. It updates its list when devices are added or removed.
pub(super) struct Zram {
    info: Arc<CounterSetInfo>,
    sys: PathBuf,
    devices: DeviceList<ZramDevice>,
    total: Arc<InstanceKey>,
    /// The reason for missing values.
    missing: Arc<str>,
}

struct ZramDevice {
    key: Arc<InstanceKey>,
    mm_stat: OpenFile,
    disk_size: OpenFile,
    reason: LastReason,
}

impl Zram {
    pub(super) fn new(roots: &Roots, stats: SharedReading<Diskstats>) -> Self {
        Self {
            info: TABLE.info(),
            sys: roots.sys.clone(),
            devices: DeviceList::new(stats),
            total: Arc::new(InstanceKey::new("_Total", 0, 0).reserved()),
            missing: "mm_stat or disksize of a device: a number is missing".into(),
        }
    }
}

impl ZramDevice {
    /// `None` if the device is not a zram device, or the kernel has no `mm_stat` (before Linux 4.1).
    fn new(sys: &Path, device: &Device) -> Option<Self> {
        let name = std::str::from_utf8(device.kernel_name()).ok().filter(|name| name.starts_with("zram"))?;
        let folder = sys.join("block").join(name);
        let mut mm_stat = OpenFile::new(folder.join("mm_stat"));
        let disk_size = OpenFile::new(folder.join("disksize"));
        mm_stat.is_readable().then(|| Self {
            key: Arc::clone(&device.key),
            mm_stat,
            disk_size,
            reason: LastReason::default(),
        })
    }

    fn read(&mut self) -> Values {
        let mut values = [None; FIELDS + 1];
        let mut fill = |file: &mut OpenFile, values: &mut [Option<u64>]| match file.read() {
            Ok(text) => {
                let line = text.strip_suffix(b"\n").unwrap_or_default();
                for (value, word) in values.iter_mut().zip(words(line)) {
                    *value = parse_number(word);
                }
            }
            Err(error) => _ = self.reason.intern(&error_text(file.path().display(), &error)),
        };
        let (fields, size) = values.split_at_mut(FIELDS);
        fill(&mut self.mm_stat, fields);
        fill(&mut self.disk_size, size);
        values
    }
}

impl Provider for Zram {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let Self { sys, devices, total, missing, .. } = self;
        devices.update(rows.timestamps(), |device| ZramDevice::new(sys, device))?;
        let mut sums: Values = [Some(0); FIELDS + 1];
        for device in &mut devices.items {
            let values = device.read();
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum = sum.zip(value).map(|(sum, value)| sum.saturating_add(value));
            }
            if rows.wants_instance(device.key.name(), device.key.id()) {
                let reason = device.reason.last().unwrap_or(missing);
                fill(&mut rows.push(&device.key), values, reason);
            }
        }
        if !devices.items.is_empty() && rows.wants_instance("_Total", 0) {
            fill(&mut rows.push(total), sums, missing);
        }
        Ok(())
    }

    fn idle(&mut self) {
        self.devices.clear();
    }
}

fn fill(row: &mut Row<'_>, values: Values, reason: &Arc<str>) {
    for (id, value) in (1..=DISK_SIZE).zip(values) {
        match value {
            Some(value) => row.set(id, value),
            None => row.fail(id, reason),
        }
    }
    match values[1].zip(values[0]) {
        // Without content there is no ratio.
        Some((_, 0)) => row.omit(COMPRESSED_SIZE),
        Some((compressed, original)) => row.set_with_base(COMPRESSED_SIZE, compressed, original),
        None => row.fail(COMPRESSED_SIZE, reason),
    }
}

//! `RAID Array`: the state of md devices, from `/sys/block/md*/md`.

use std::path::PathBuf;
use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, Provider, Rows, SharedReading};

use super::device_list::DeviceList;
use super::devices;
use super::diskstats::Diskstats;
use crate::counter_folder::{CounterFolder, FileCounter, FileValue};
use crate::roots::Roots;
use crate::scan::{parse_number, parse_single_number, words};
use crate::table::{CounterInfo, SetTable};

const DISKS: u32 = 1;
const DEGRADED: u32 = 2;
const STATE: u32 = 3;
const ACTION: u32 = 4;
const COMPLETED: u32 = 5;
const SPEED: u32 = 7;
const MISMATCHES: u32 = 8;

/// The states and actions, whose values are their indexes. See Documentation/admin-guide/md.rst of Linux.
const STATES: &[&str] = &[
    "clear",
    "inactive",
    "suspended",
    "readonly",
    "read-auto",
    "clean",
    "active",
    "write-pending",
    "active-idle",
    "broken",
];
const ACTIONS: &[&str] = &["idle", "resync", "recover", "check", "repair", "reshape", "frozen"];

#[rustfmt::skip]
pub(super) static TABLE: SetTable = SetTable {
    name: "RAID Array",
    guid: 0x13e0a480_cb1b_5eab_b599_b4768e2e8224,
    instance_type: InstanceType::Multiple,
    help: "The state of the RAID arrays of the md driver: missing disks, and the progress of a resync.",
    instances: "md devices under the kernel's name (md0), in the kernel's order. Metadata containers are excluded.",
    total: "",
    repeats: None,
    counters: &[
        row(DISKS, "Disks", "", "/sys/block/md*/md/raid_disks", "The number of disks of the complete array, without spares."),
        row(DEGRADED, "Degraded Disks", "", "/sys/block/md*/md/degraded",
            "The number of disks that are missing or not yet rebuilt: 0 if the array is complete."),
        row(STATE, "State", "", "/sys/block/md*/md/array_state",
            "0 clear, 1 inactive, 2 suspended, 3 readonly, 4 read-auto, 5 clean, 6 active, 7 write-pending, 8 active-idle, \
             9 broken. clean and active are the usual states."),
        row(ACTION, "Sync Action", "", "/sys/block/md*/md/sync_action",
            "0 idle, 1 resync, 2 recover (a spare is rebuilt), 3 check, 4 repair, 5 reshape, 6 frozen."),
        CounterInfo::row(COMPLETED, "% Sync Completed", CounterType::RAW_FRACTION, "%", 0,
            "/sys/block/md*/md/sync_completed",
            "The progress of the running sync action; no value if none is running.").base(6),
        CounterInfo::companion(6, "% Sync Completed Base", CounterType::RAW_BASE),
        row(SPEED, "Sync Bytes Per Second", "bytes", "/sys/block/md*/md/sync_speed",
            "The speed of the running sync action, averaged by the kernel over the last 30 seconds; 0 if none is running."),
        row(MISMATCHES, "Mismatched Sectors", "", "/sys/block/md*/md/mismatch_cnt",
            "The sectors that differed between the disks in the last check or repair."),
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

/// The counters and their files. An array without redundancy lacks some of the files, because it cannot be synced.
const FILES: &[FileCounter] = &[
    file(DISKS, "raid_disks", first_number),
    file(DEGRADED, "degraded", first_number),
    file(STATE, "array_state", |text, _| index(text, STATES)),
    file(ACTION, "sync_action", |text, _| index(text, ACTIONS)),
    file(COMPLETED, "sync_completed", parse_completed),
    file(SPEED, "sync_speed", parse_speed),
    file(MISMATCHES, "mismatch_cnt", first_number),
];

const fn file(id: u32, file: &'static str, parse: fn(&[u8], u64) -> Option<FileValue>) -> FileCounter {
    FileCounter { id, file, parse }
}

/// The provider. It updates its list when arrays are added or removed.
pub(super) struct RaidArrays {
    info: Arc<CounterSetInfo>,
    sys: PathBuf,
    arrays: DeviceList<CounterFolder>,
}

impl RaidArrays {
    pub(super) fn new(roots: &Roots, stats: SharedReading<Diskstats>) -> Self {
        Self { info: TABLE.info(), sys: roots.sys.clone(), arrays: DeviceList::new(stats) }
    }
}

impl Provider for RaidArrays {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let Self { sys, arrays, .. } = self;
        arrays.update(rows.timestamps(), |device| {
            let folder = devices::array_folder(sys, device.kernel_name())?;
            Some(CounterFolder::new(Arc::clone(&device.key), &folder, 1, FILES))
        })?;
        arrays.items.iter_mut().for_each(|array| array.push_row(FILES, rows));
        Ok(())
    }

    fn idle(&mut self) {
        self.arrays.clear();
    }
}

/// The index of the only word of a file.
fn index(text: &[u8], names: &[&str]) -> Option<FileValue> {
    let text = text.strip_suffix(b"\n")?;
    let index = names.iter().position(|name| name.as_bytes() == text)?;
    Some(FileValue::Number(index as u64))
}

/// `raid_disks` is "2 (1)" while the array is reshaped from 1 to 2 disks.
fn first_number(text: &[u8], _: u64) -> Option<FileValue> {
    Some(FileValue::Number(parse_number(words(text.strip_suffix(b"\n")?).next()?)?))
}

fn parse_completed(text: &[u8], _: u64) -> Option<FileValue> {
    match text.strip_suffix(b"\n")? {
        b"none" => Some(FileValue::Absent),
        // The kernel first syncs another array on the same disks.
        b"delayed" => Some(FileValue::Ratio(0, 1)),
        text => {
            let mut fields = words(text);
            let done = parse_number(fields.next()?)?;
            let slash = fields.next()?;
            let whole = parse_number(fields.next()?)?;
            (slash == b"/").then_some(FileValue::Ratio(done, whole))
        }
    }
}

fn parse_speed(text: &[u8], _: u64) -> Option<FileValue> {
    match text.strip_suffix(b"\n")? {
        b"none" => Some(FileValue::Number(0)),
        text => Some(FileValue::Number(parse_single_number(text)?.saturating_mul(1024))),
    }
}

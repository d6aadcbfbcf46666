//! `RAID Array`: the state of md devices, from `/sys/block/md*/md`.

use std::path::Path;
use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Row, Rows, SharedReading};

use super::devices;
use super::diskstats::{Device, Diskstats};
use crate::error_texts::error_text;
use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::scan::{number, only_number, words};
use crate::table::{CounterInfo, SetTable};

const DISKS: u32 = 1;
const DEGRADED: u32 = 2;
const STATE: u32 = 3;
const ACTION: u32 = 4;
const COMPLETED: u32 = 5;
const SPEED: u32 = 7;
const MISMATCHES: u32 = 8;

/// The states and actions in the order of their numbers, as in Documentation/admin-guide/md.rst of Linux.
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
    counters: &[
        row(DISKS, "Disks", "", "/sys/block/md*/md/raid_disks", "The number of disks that the complete array has, without spares."),
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

/// The counters and their files.
const FILES: [(u32, &str); 7] = [
    (DISKS, "raid_disks"),
    (DEGRADED, "degraded"),
    (STATE, "array_state"),
    (ACTION, "sync_action"),
    (COMPLETED, "sync_completed"),
    (SPEED, "sync_speed"),
    (MISMATCHES, "mismatch_cnt"),
];

/// The provider. It updates its list when arrays are added or removed.
pub(super) struct RaidArrays {
    info: Arc<CounterSetInfo>,
    stats: SharedReading<Diskstats>,
    roots: Roots,
    arrays: Vec<Array>,
    /// [`Diskstats::changes`] when the arrays were listed.
    listed_at: Option<u64>,
}

struct Array {
    key: Arc<InstanceKey>,
    files: [ArrayFile; FILES.len()],
}

struct ArrayFile {
    file: OpenFile,
    reason: Option<Arc<str>>,
}

impl RaidArrays {
    pub(super) fn new(roots: &Roots, stats: SharedReading<Diskstats>) -> Self {
        Self { info: TABLE.info(), stats, roots: roots.clone(), arrays: Vec::new(), listed_at: None }
    }
}

impl Array {
    fn new(device: &Device, folder: &Path) -> Self {
        let file =
            |(_, name): (u32, &str)| ArrayFile { file: OpenFile::new(folder.join(name)), reason: None };
        Self { key: Arc::clone(&device.key), files: FILES.map(file) }
    }
}

impl Provider for RaidArrays {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let Self { stats, roots, arrays, listed_at, .. } = self;
        stats.at(rows.timestamps(), |stats| {
            if *listed_at != Some(stats.changes) {
                *listed_at = Some(stats.changes);
                let array = |device: &Device| {
                    let folder = devices::array_folder(&roots.sys, device.kernel_name())?;
                    Some(Array::new(device, &folder))
                };
                *arrays = stats.devices.iter().filter_map(array).collect();
            }
        })?;
        for Array { key, files } in arrays {
            if !rows.wants_instance(key.full_name(), key.id()) {
                continue;
            }
            let mut row = rows.push(key);
            for ((id, _), ArrayFile { file, reason }) in FILES.into_iter().zip(files) {
                if row.wants(id) {
                    set(&mut row, id, file, reason);
                }
            }
        }
        Ok(())
    }
}

fn set(row: &mut Row<'_>, id: u32, file: &mut OpenFile, reason: &mut Option<Arc<str>>) {
    let text = match file.read() {
        Ok(b"none\n") if id == COMPLETED => return row.omit(id),
        // An array without redundancy cannot be synced.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return row.omit(id),
        Ok(text) => match value(id, text) {
            Some((value, Some(base))) => return row.set_with_base(id, value, base),
            Some((value, None)) => return row.set(id, value),
            None => format!("{}: unknown value", file.path().display()),
        },
        Err(error) => error_text(file.path().display(), &error),
    };
    if reason.as_deref() != Some(text.as_str()) {
        *reason = None;
    }
    row.fail(id, reason.get_or_insert_with(|| text.into()));
}

/// The value of a counter in the text of its file, and its base.
fn value(id: u32, text: &[u8]) -> Option<(u64, Option<u64>)> {
    let text = text.strip_suffix(b"\n")?;
    let index =
        |names: &[&str]| names.iter().position(|name| name.as_bytes() == text).map(|index| index as u64);
    match id {
        STATE => Some((index(STATES)?, None)),
        ACTION => Some((index(ACTIONS)?, None)),
        COMPLETED => {
            // `delayed`: another array on the same disks is synced first.
            if text == b"delayed" {
                return Some((0, Some(1)));
            }
            let mut fields = words(text);
            let done = number(fields.next()?)?;
            let slash = fields.next()?;
            let whole = number(fields.next()?)?;
            (slash == b"/").then_some((done, Some(whole)))
        }
        SPEED if text == b"none" => Some((0, None)),
        SPEED => Some((only_number(text)?.saturating_mul(1024), None)),
        // `raid_disks` is "2 (1)" while the array is reshaped from 1 to 2 disks.
        _ => Some((number(words(text).next()?)?, None)),
    }
}

//! The transfers of control groups by disk: the set `Cgroup Disk`.

use std::path::PathBuf;
use std::sync::Arc;

use tachograph_perflib::{InstanceKey, Rows};

use super::table::{Form, IO_KEYS, READ_BYTES};
use super::values::RunningTotal;
use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::scan::{lines, parse_number, words};

/// The maximum number of disks of a group.
const MAX_DISKS: usize = 1024;

/// The number of counters: bytes and operations of reads, writes and discards. Arrays of values are in the order of the ids,
/// from `READ_BYTES`.
const COUNTERS: usize = IO_KEYS.len();

/// The names of disks by their device numbers (`8:0`).
#[derive(Debug)]
pub(super) struct DiskNames {
    sys: PathBuf,
}

/// The transfers of a group from and to a disk.
pub(super) struct DiskTransfers {
    /// The device number, as text.
    device: Box<[u8]>,
    key: Arc<InstanceKey>,
    totals: [RunningTotal; COUNTERS],
    /// The values of the last sample; `None` if no file has a value.
    values: [Option<u64>; COUNTERS],
    /// The number of the last sample that found the disk.
    sample: u64,
}

impl DiskNames {
    pub(super) fn new(roots: &Roots) -> Self {
        Self { sys: roots.sys.clone() }
    }

    /// The name of a disk: `sda`, or `vg0-root` for a mapped device; the number if the disk is unknown.
    fn name(&self, device: &str) -> String {
        let folder = self.sys.join("dev/block").join(device);
        let mut mapped = OpenFile::new(folder.join("dm/name"));
        if let Ok(name) = mapped.read()
            && !name.trim_ascii().is_empty()
        {
            return String::from_utf8_lossy(name.trim_ascii()).into_owned();
        }
        let target = std::fs::read_link(&folder).ok();
        let name = target.as_deref().and_then(|target| target.file_name());
        // The kernel writes `!` for the `/` in names such as `cciss/c0d0`.
        name.map_or_else(|| device.to_owned(), |name| name.to_string_lossy().replace('!', "/"))
    }
}

/// Sets the values of a group's disks from a file of the group. `form` is the format of the file, `sample` the number of the
/// sample.
pub(super) fn read(
    disks: &mut Vec<DiskTransfers>,
    form: &Form,
    text: &[u8],
    sample: u64,
    group: &InstanceKey,
    names: &DiskNames,
) {
    for line in lines(text) {
        let mut words = words(line);
        let Some(mut device) = words.next().filter(|word| is_device(word)) else { continue };
        match *form {
            Form::Io => {
                for word in words {
                    // Some kernels write no newline after a device without transfers.
                    if is_device(word) {
                        device = word;
                        continue;
                    }
                    let Some((key, id)) = IO_KEYS.iter().find(|(key, _)| word.starts_with(key)) else {
                        continue;
                    };
                    let value = parse_number(&word[key.len()..]);
                    set_counter(disks, device, *id, value, sample, group, names);
                }
            }
            Form::IoLines(ids) => {
                let directions: [&[u8]; 3] = [b"Read", b"Write", b"Discard"];
                let direction = words.next();
                let Some(index) = directions.iter().position(|name| Some(*name) == direction) else {
                    continue;
                };
                let value = words.next().and_then(parse_number);
                set_counter(disks, device, ids[index], value, sample, group, names);
            }
            _ => return,
        }
    }
}

fn set_counter(
    disks: &mut Vec<DiskTransfers>,
    device: &[u8],
    id: u32,
    value: Option<u64>,
    sample: u64,
    group: &InstanceKey,
    names: &DiskNames,
) {
    let known = disks.iter().position(|disk| *disk.device == *device);
    let disk = match known {
        Some(known) => &mut disks[known],
        None if disks.len() < MAX_DISKS => {
            let name = names.name(&String::from_utf8_lossy(device));
            let name = format!("{} {name}", group.name());
            disks.push(DiskTransfers {
                device: device.into(),
                key: Arc::new(InstanceKey::new(name, group.id(), group.identity())),
                totals: [RunningTotal::default(); COUNTERS],
                values: [None; COUNTERS],
                sample,
            });
            let last = disks.len() - 1;
            &mut disks[last]
        }
        None => return,
    };
    if std::mem::replace(&mut disk.sample, sample) != sample {
        disk.values = [None; COUNTERS];
    }
    let index = (id - READ_BYTES) as usize;
    disk.values[index] = value.map(|value| disk.totals[index].push(value));
}

/// Adds the rows of the disks that were found in a sample, and removes the other disks.
pub(super) fn push_rows(disks: &mut Vec<DiskTransfers>, sample: u64, rows: &mut Rows) {
    disks.retain(|disk| disk.sample == sample);
    for disk in disks {
        if !rows.wants_instance(disk.key.name(), disk.key.id()) {
            continue;
        }
        let mut row = rows.push(&disk.key);
        for (id, value) in (READ_BYTES..).zip(disk.values) {
            match value {
                Some(value) => row.set(id, value),
                None => row.omit(id),
            }
        }
    }
}

/// Whether a word is a device number such as `8:0`. (The last line of a file of version 1 begins with `Total`.)
fn is_device(word: &[u8]) -> bool {
    let mut parts = word.splitn(2, |&byte| byte == b':').map(parse_number);
    matches!((parts.next(), parts.next()), (Some(Some(_)), Some(Some(_))))
}

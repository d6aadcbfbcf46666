//! `/proc/diskstats`: input and output of each block device.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_perflib::{Failure, InstanceKey, Reading, Timestamps};

use super::devices;
use crate::open_file::OpenFile;
use crate::ordered::{move_if_present, split_complete_lines};
use crate::roots::Roots;
use crate::scan::{lines, parse_number, parse_single_number, words};

/// The values of a device's line, indexed by [`field`].
pub(super) type Numbers = [u64; 17];

/// Indexes of the fields after the device's name.
pub(super) mod field {
    pub(in crate::storage) const READS: usize = 0;
    pub(in crate::storage) const MERGED_READS: usize = 1;
    pub(in crate::storage) const READ_SECTORS: usize = 2;
    pub(in crate::storage) const READ_MS: usize = 3;
    pub(in crate::storage) const WRITES: usize = 4;
    pub(in crate::storage) const MERGED_WRITES: usize = 5;
    pub(in crate::storage) const WRITE_SECTORS: usize = 6;
    pub(in crate::storage) const WRITE_MS: usize = 7;
    pub(in crate::storage) const IN_FLIGHT: usize = 8;
    pub(in crate::storage) const BUSY_MS: usize = 9;
    pub(in crate::storage) const QUEUE_MS: usize = 10;
    pub(in crate::storage) const DISCARDS: usize = 11;
    pub(in crate::storage) const MERGED_DISCARDS: usize = 12;
    pub(in crate::storage) const DISCARD_SECTORS: usize = 13;
    pub(in crate::storage) const DISCARD_MS: usize = 14;
    pub(in crate::storage) const FLUSHES: usize = 15;
    pub(in crate::storage) const FLUSH_MS: usize = 16;

    /// The minimum number of fields in a line.
    pub(in crate::storage) const MIN: usize = 11;
    /// With discards: Linux 4.18.
    pub(in crate::storage) const WITH_DISCARDS: usize = 15;
    /// With flushes: Linux 5.5.
    pub(in crate::storage) const WITH_FLUSHES: usize = 17;
}

/// A millisecond in units of 100 ns.
pub(super) const MS: u64 = 10_000;

/// A block device: a disk, a partition, or a stacked device (dm, md).
#[derive(Debug)]
pub(super) struct Device {
    pub(super) major_minor: (u32, u32),
    /// The kernel's name.
    name: Box<[u8]>,
    pub(super) key: Arc<InstanceKey>,
    /// Whether this is a disk, and not a partition or a stacked device.
    pub(super) is_disk: bool,
    /// Whether this is built on other devices, a file or memory, and therefore an instance of the counter set
    /// `Block Device`.
    pub(super) is_stacked: bool,
    /// Whether the driver creates the device before it is used (nbd, loop, zram); it is hidden until then.
    is_precreated: bool,
    /// The number of fields in the device's line; 0 if the line is malformed.
    pub(super) fields: usize,
    /// The values last read from the kernel.
    last_read: Numbers,
    /// The values as 64-bit totals, which decrease only when the device is reset. `IN_FLIGHT` is not a total but the
    /// kernel's current value.
    pub(super) numbers: Numbers,
    /// Clock time minus busy time, in 100 ns. Decreases only when the device is reset.
    pub(super) idle: u64,
    /// `/sys/block/NAME/diskseq`, which changes when another disk gets the name (Linux 5.15).
    sequence: Option<Sequence>,
    /// Distinguishes the device from earlier ones of the same name.
    incarnation: u64,
}

/// The sequence number of a disk.
#[derive(Debug)]
struct Sequence {
    path: PathBuf,
    file: Option<File>,
    /// The sequence number, as last read.
    number: u64,
}

/// The content of `/proc/diskstats` at one moment.
#[derive(Debug)]
pub(super) struct Diskstats {
    file: OpenFile,
    sys: PathBuf,
    pub(super) devices: Vec<Device>,
    /// The number of devices that appeared after the first read, plus the number of resets.
    incarnations: u64,
    /// Incremented when a disk that PhysicalDisk shows is added, removed, reset or first used.
    pub(super) disk_changes: u64,
    /// Incremented when any device is added, removed, reset or first used.
    pub(super) device_changes: u64,
    was_read: bool,
}

impl Diskstats {
    pub(super) fn new(roots: &Roots) -> Self {
        Self {
            file: OpenFile::new(roots.proc.join("diskstats")),
            sys: roots.sys.clone(),
            devices: Vec::new(),
            incarnations: 0,
            disk_changes: 1,
            device_changes: 1,
            was_read: false,
        }
    }

    /// The number of fields in this kernel's lines. `None` if the file cannot be read; the maximum if it is empty.
    pub(super) fn field_count(&mut self) -> Option<usize> {
        let text = self.file.read().ok()?;
        let counts = lines(text).map(|line| words(line).count().saturating_sub(3));
        Some(counts.max().unwrap_or(field::WITH_FLUSHES))
    }

    /// The device with this major and minor number. `hint` is the index at which the device was last found, and is updated.
    pub(super) fn find(&self, major_minor: (u32, u32), hint: &mut usize) -> Option<&Device> {
        let is_wanted = |device: &&Device| device.major_minor == major_minor;
        if self.devices.get(*hint).as_ref().is_some_and(is_wanted) {
            return self.devices.get(*hint);
        }
        *hint = self.devices.iter().position(|device| is_wanted(&device))?;
        self.devices.get(*hint)
    }
}

impl Reading for Diskstats {
    fn read(&mut self, at: Timestamps) -> Result<(), Failure> {
        let text = self.file.read_or_fail()?;
        let (mut changed, mut shown_changed) = (false, false);
        let mut next = 0;
        let (whole, unfinished) = split_complete_lines(text);
        let all = lines(whole)
            .map(|line| (line, true))
            .chain((!unfinished.is_empty()).then_some((unfinished, false)));
        for (line, is_whole) in all {
            let mut words = words(line);
            let Some((major, minor, name)) = name_of(&mut words) else { continue };
            let (fields, read) = if is_whole { numbers(words) } else { (0, Numbers::default()) };
            let is_known = move_if_present(&mut self.devices, next, |known| {
                known.major_minor == (major, minor) && *known.name == *name
            });
            if !is_known {
                self.incarnations += u64::from(self.was_read);
                let disk = self.devices[..next].iter().rev().find(|device| device.is_disk);
                let disk = disk.map(|disk| disk.key.name());
                let device = Device::new(&self.sys, (major, minor), name, disk, self.incarnations);
                self.devices.insert(next, device);
            }
            let device = &mut self.devices[next];
            let (was_shown, was_used) = (is_known && device.is_shown(), is_known && device.is_used());
            let is_reset = device.update(fields, &read, at) && is_known;
            if is_reset {
                self.incarnations += 1;
                device.incarnation = self.incarnations;
                device.renew_key();
            }
            changed |= !is_known || is_reset || was_used != device.is_used();
            shown_changed |= was_shown != device.is_shown() || is_reset && was_shown;
            next += 1;
        }
        let removed = &self.devices[next..];
        changed |= !removed.is_empty();
        shown_changed |= removed.iter().any(Device::is_shown);
        self.devices.truncate(next);
        self.disk_changes += u64::from(shown_changed);
        self.device_changes += u64::from(changed);
        self.was_read = true;
        Ok(())
    }
}

fn name_of<'a>(words: &mut impl Iterator<Item = &'a [u8]>) -> Option<(u32, u32, &'a [u8])> {
    let mut parse_part = || parse_number(words.next()?)?.try_into().ok();
    let (major, minor) = (parse_part()?, parse_part()?);
    Some((major, minor, words.next()?))
}

/// The fields of a line and their count, which is 0 if there are too few or one is malformed.
fn numbers<'a>(words: impl Iterator<Item = &'a [u8]>) -> (usize, Numbers) {
    let mut numbers = Numbers::default();
    let mut count = 0;
    for (slot, word) in numbers.iter_mut().zip(words) {
        let Some(value) = parse_number(word) else { return (0, numbers) };
        *slot = value;
        count += 1;
    }
    (if count < field::MIN { 0 } else { count }, numbers)
}

/// The increase of a kernel counter; `None` if it has decreased. Counters of 32 bits, such as all times in milliseconds,
/// wrap, so a decrease by more than 2^31 is treated as an increase.
fn increase(old: u64, new: u64) -> Option<u64> {
    const WRAP: u64 = 1 << 32;
    if new >= old {
        return Some(new - old);
    }
    let forward = new.wrapping_sub(old) % WRAP;
    (old < WRAP && forward < WRAP / 2).then_some(forward)
}

impl Device {
    fn new(sys: &Path, major_minor: (u32, u32), name: &[u8], disk: Option<&str>, incarnation: u64) -> Self {
        let text = String::from_utf8_lossy(name);
        let is_disk = devices::is_disk(sys, &text, disk);
        let sequence = is_disk.then(|| Sequence::new(sys, &text)).flatten();
        let mut device = Self {
            major_minor,
            name: name.into(),
            key: Arc::new(InstanceKey::new(devices::display_name(sys, &text), 0, 0)),
            is_disk,
            is_stacked: devices::is_stacked(&text),
            is_precreated: devices::is_precreated(&text),
            fields: 0,
            last_read: Numbers::default(),
            numbers: Numbers::default(),
            idle: 0,
            sequence,
            incarnation,
        };
        device.renew_key();
        device
    }

    /// Whether PhysicalDisk shows the device.
    pub(super) fn is_shown(&self) -> bool {
        self.is_disk && self.is_used()
    }

    /// Whether the device was ever used; drivers create some devices in advance.
    pub(super) fn is_used(&self) -> bool {
        !(self.is_precreated && self.numbers.iter().all(|&number| number == 0))
    }

    /// The name in `/proc/diskstats`.
    pub(super) fn kernel_name(&self) -> &[u8] {
        &self.name
    }

    /// Distinguishes the device from others of the same name.
    pub(super) fn identity(&self) -> u64 {
        let sequence = self.sequence.as_ref().map_or(0, |sequence| sequence.number);
        sequence << 32 | self.incarnation & u64::from(u32::MAX)
    }

    fn renew_key(&mut self) {
        self.key = Arc::new(InstanceKey::new(self.key.name(), 0, self.identity()));
    }

    /// Updates the values. Returns whether the name now belongs to another device or the kernel's counters restarted.
    fn update(&mut self, fields: usize, read: &Numbers, at: Timestamps) -> bool {
        self.fields = fields;
        let is_another = self.sequence.as_mut().is_some_and(Sequence::update);
        use field::{READ_SECTORS, READS, WRITE_SECTORS, WRITES};
        let counts = [READS, READ_SECTORS, WRITES, WRITE_SECTORS];
        let is_restarted = fields > 0
            && counts.into_iter().any(|index| increase(self.last_read[index], read[index]).is_none());
        let is_reset = is_another || is_restarted;
        if is_reset {
            (self.last_read, self.numbers, self.idle) = (Numbers::default(), Numbers::default(), 0);
        }
        if fields == 0 {
            return is_reset;
        }
        for (index, &new) in read.iter().enumerate() {
            if index == field::IN_FLIGHT {
                self.numbers[index] = new;
            } else if let Some(step) = increase(self.last_read[index], new) {
                // If a field that is not in `counts` has decreased, this branch is skipped, so its total stays constant until
                // the kernel's value catches up.
                self.numbers[index] = self.numbers[index].wrapping_add(step);
                self.last_read[index] = new;
            }
        }
        // Busy time has tick resolution, so it can increase by more than the elapsed time.
        let busy = self.numbers[field::BUSY_MS].saturating_mul(MS);
        self.idle = self.idle.max((at.system_time.0.max(0) as u64).saturating_sub(busy));
        is_reset
    }
}

impl Sequence {
    fn new(sys: &Path, name: &str) -> Option<Self> {
        let path = sys.join("block").join(devices::file_name(name)).join("diskseq");
        let mut sequence = Self { path, file: None, number: 0 };
        sequence.number = sequence.read()?;
        Some(sequence)
    }

    fn read(&mut self) -> Option<u64> {
        let mut buffer = [0; 32];
        let mut read = |file: &Option<File>| -> io::Result<usize> {
            file.as_ref().ok_or(io::ErrorKind::NotFound)?.read_at(&mut buffer, 0)
        };
        let length = read(&self.file).or_else(|_| {
            // Reading the open file of a removed disk fails. The path may now belong to another disk.
            self.file = File::open(&self.path).ok();
            read(&self.file)
        });
        parse_single_number(&buffer[..length.ok()?])
    }

    /// Reads the number again, and returns whether it has changed. If it cannot be read, it is considered unchanged.
    fn update(&mut self) -> bool {
        let Some(number) = self.read() else { return false };
        let changed = number != self.number;
        self.number = number;
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_wraps_has_increased_and_one_that_decreases_has_no_increase() {
        assert_eq!(increase(5, 7), Some(2));
        assert_eq!(increase(u32::MAX.into(), 4), Some(5));
        assert_eq!(increase(1000, 5), None);
        assert_eq!(increase(1 << 40, 5), None);
        assert_eq!(increase(100, 98), None);
    }
}

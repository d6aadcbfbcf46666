//! `/proc/diskstats`: what each block device did.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_perflib::{ErrorCode, Failure, InstanceKey, Moments};

use super::devices;
use crate::Roots;
use crate::file::KeptFile;
use crate::ordered::{bring, finished};
use crate::scan::{lines, number, only_number, words};
use crate::shared::Reading;

/// The numbers of a device, at the places of [`field`].
pub(super) type Numbers = [u64; 17];

/// Places of the numbers of a line after the name.
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

    /// How many numbers a line has at least.
    pub(in crate::storage) const FEWEST: usize = 11;
    /// With discards: Linux 4.18.
    pub(in crate::storage) const WITH_DISCARDS: usize = 15;
    /// With flushes: Linux 5.5.
    pub(in crate::storage) const WITH_FLUSHES: usize = 17;
}

/// 100 ns units of a millisecond.
pub(super) const MS: u64 = 10_000;

/// A block device: disk, partition, or one that lies on others.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) major_minor: (u32, u32),
    name: Box<[u8]>,
    pub(super) key: Arc<InstanceKey>,
    /// Whether it is one of PhysicalDisk's.
    pub(super) is_disk: bool,
    /// Whether it is a disk only once it was used.
    is_slot: bool,
    /// How many numbers its line had; 0: the line could not be read.
    pub(super) fields: usize,
    /// As they were read last.
    read: Numbers,
    /// As they are passed on: 64 bits wide, never going back.
    pub(super) numbers: Numbers,
    /// System time less the busy time, in 100 ns: never goes back.
    pub(super) idle: u64,
    /// `/sys/block/NAME/diskseq`: another one for another disk under the same name (Linux 5.15).
    sequence: Option<Sequence>,
    /// Which of those that had this name it is.
    birth: u64,
}

#[derive(Debug)]
struct Sequence {
    path: PathBuf,
    file: Option<File>,
    number: u64,
}

/// The content of `/proc/diskstats` at one moment.
#[derive(Debug)]
pub(super) struct Diskstats {
    path: PathBuf,
    file: KeptFile,
    sys: PathBuf,
    pub(super) devices: Vec<Device>,
    /// How many devices came after the first reading.
    births: u64,
    /// Changes when a disk comes, goes or starts anew.
    pub(super) generation: u64,
    was_read: bool,
}

impl Diskstats {
    pub(super) fn new(roots: &Roots) -> Self {
        let path = roots.proc.join("diskstats");
        Self {
            file: KeptFile::new(&path),
            path,
            sys: roots.sys.clone(),
            devices: Vec::new(),
            births: 0,
            generation: 1,
            was_read: false,
        }
    }

    /// How many numbers this kernel's lines have; `None` where there is no such file. An empty one has the most: a
    /// device may come.
    pub(super) fn fields_here(&mut self) -> Option<usize> {
        let text = self.file.read().ok()?;
        let counts = lines(text).map(|line| words(line).count().saturating_sub(3));
        Some(counts.max().unwrap_or(field::WITH_FLUSHES))
    }

    /// The device of these numbers. `hint` is where it was found last.
    pub(super) fn find(&self, major_minor: (u32, u32), hint: &mut usize) -> Option<&Device> {
        let is = |device: &&Device| device.major_minor == major_minor;
        if self.devices.get(*hint).as_ref().is_some_and(is) {
            return self.devices.get(*hint);
        }
        *hint = self.devices.iter().position(|device| is(&device))?;
        self.devices.get(*hint)
    }
}

impl Reading for Diskstats {
    fn read(&mut self, at: Moments) -> Result<(), Failure> {
        let text = self
            .file
            .read()
            .map_err(|error| Failure::new(ErrorCode::NO_DATA, format!("{}: {error}", self.path.display())))?;
        let mut changed = false;
        let mut next = 0;
        let (whole, cut) = finished(text);
        let all = lines(whole).map(|line| (line, true)).chain((!cut.is_empty()).then_some((cut, false)));
        for (line, is_whole) in all {
            let mut words = words(line);
            let Some((major, minor, name)) = name_of(&mut words) else { continue };
            let (fields, read) = if is_whole { numbers(words) } else { (0, Numbers::default()) };
            let is_known = bring(&mut self.devices, next, |known| {
                known.major_minor == (major, minor) && *known.name == *name
            });
            if !is_known {
                self.births += u64::from(self.was_read);
                let disk = self.devices[..next].iter().rev().find(|device| device.is_disk);
                let disk = disk.map(|disk| disk.key.name());
                let device = Device::new(&self.sys, (major, minor), name, disk, self.births);
                self.devices.insert(next, device);
                changed = true;
            }
            let device = &mut self.devices[next];
            let was_shown = device.is_shown();
            let is_anew = device.update(fields, &read, at) && is_known;
            if is_anew {
                self.births += 1;
                device.birth = self.births;
                device.name_anew();
            }
            changed |= is_anew || was_shown != device.is_shown();
            next += 1;
        }
        changed |= next < self.devices.len();
        self.devices.truncate(next);
        self.generation += u64::from(changed);
        self.was_read = true;
        Ok(())
    }
}

fn name_of<'a>(words: &mut impl Iterator<Item = &'a [u8]>) -> Option<(u32, u32, &'a [u8])> {
    let mut part = || number(words.next()?)?.try_into().ok();
    let (major, minor) = (part()?, part()?);
    Some((major, minor, words.next()?))
}

/// The numbers of a line and how many there are: 0 where they are too few or no numbers.
fn numbers<'a>(words: impl Iterator<Item = &'a [u8]>) -> (usize, Numbers) {
    let mut numbers = Numbers::default();
    let mut count = 0;
    for (place, word) in numbers.iter_mut().zip(words) {
        let Some(value) = number(word) else { return (0, numbers) };
        *place = value;
        count += 1;
    }
    (if count < field::FEWEST { 0 } else { count }, numbers)
}

/// How far a counter of the kernel came. Where it is 32 bits wide (times in milliseconds always are), it starts again
/// at 0 after 2^32: a step back by more than half of that is one forward. `None`: it went back.
fn advance(old: u64, new: u64) -> Option<u64> {
    const WRAP: u64 = 1 << 32;
    if new >= old {
        return Some(new - old);
    }
    let forward = new.wrapping_sub(old) % WRAP;
    (old < WRAP && forward < WRAP / 2).then_some(forward)
}

impl Device {
    fn new(sys: &Path, major_minor: (u32, u32), name: &[u8], disk: Option<&str>, birth: u64) -> Self {
        let text = String::from_utf8_lossy(name);
        let is_disk = devices::is_disk(sys, &text, disk);
        let sequence = is_disk.then(|| Sequence::new(sys, &text)).flatten();
        let mut device = Self {
            major_minor,
            name: name.into(),
            key: Arc::new(InstanceKey::new(&*text, 0, 0)),
            is_disk,
            is_slot: devices::is_slot(&text),
            fields: 0,
            read: Numbers::default(),
            numbers: Numbers::default(),
            idle: 0,
            sequence,
            birth,
        };
        device.name_anew();
        device
    }

    /// Whether PhysicalDisk shows it.
    pub(super) fn is_shown(&self) -> bool {
        self.is_disk && !(self.is_slot && self.numbers.iter().all(|&number| number == 0))
    }

    /// What it is beyond its name.
    pub(super) fn identity(&self) -> u64 {
        let sequence = self.sequence.as_ref().map_or(0, |sequence| sequence.number);
        sequence << 32 | self.birth & u64::from(u32::MAX)
    }

    fn name_anew(&mut self) {
        self.key = Arc::new(InstanceKey::new(self.key.name(), 0, self.identity()));
    }

    /// Takes over what was read; `true` when it is another device than before.
    fn update(&mut self, fields: usize, read: &Numbers, at: Moments) -> bool {
        self.fields = fields;
        let is_another = self.sequence.as_mut().is_some_and(Sequence::changed);
        if fields == 0 {
            return is_another;
        }
        use field::{READ_SECTORS, READS, WRITE_SECTORS, WRITES};
        let counts = [READS, READ_SECTORS, WRITES, WRITE_SECTORS];
        let is_restarted = counts.into_iter().any(|place| advance(self.read[place], read[place]).is_none());
        let is_anew = is_another || is_restarted;
        if is_anew {
            (self.read, self.numbers, self.idle) = (Numbers::default(), Numbers::default(), 0);
        }
        for (place, &new) in read.iter().enumerate() {
            if place == field::IN_FLIGHT {
                self.numbers[place] = new;
            } else if let Some(step) = advance(self.read[place], new) {
                // What went back by a little is held until it catches up.
                self.numbers[place] = self.numbers[place].wrapping_add(step);
                self.read[place] = new;
            }
        }
        // The busy time is counted in steps of the kernel's clock and may outrun an interval.
        let busy = self.numbers[field::BUSY_MS].saturating_mul(MS);
        self.idle = self.idle.max((at.system_time.0.max(0) as u64).saturating_sub(busy));
        is_anew
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
        let mut once = |file: &Option<File>| -> io::Result<usize> {
            file.as_ref().ok_or(io::ErrorKind::NotFound)?.read_at(&mut buffer, 0)
        };
        let length = once(&self.file).or_else(|_| {
            // The file of a disk that is gone answers no more; that of its successor does.
            self.file = File::open(&self.path).ok();
            once(&self.file)
        });
        only_number(&buffer[..length.ok()?])
    }

    /// Reads it again; `true` when it is another one. One that cannot be read now stays what it was.
    fn changed(&mut self) -> bool {
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
    fn steps_of_counters() {
        assert_eq!(advance(5, 7), Some(2));
        assert_eq!(advance(u32::MAX.into(), 4), Some(5));
        assert_eq!(advance(1000, 5), None);
        assert_eq!(advance(1 << 40, 5), None);
        assert_eq!(advance(100, 98), None);
    }
}

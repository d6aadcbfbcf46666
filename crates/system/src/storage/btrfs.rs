//! `Btrfs Device`: the errors of the devices of btrfs file systems, from `/sys/fs/btrfs/*/devinfo/*/error_stats`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows};

use crate::error_texts::{LastReason, error_text};
use crate::folder::{has_entries, read_text, sorted_entries};
use crate::number_file::SmallFile;
use crate::ordered::split_complete_lines;
use crate::roots::Roots;
use crate::scan::{lines, parse_number, words};
use crate::table::{CounterInfo, SetTable};

#[rustfmt::skip]
pub(super) static TABLE: SetTable = SetTable {
    name: "Btrfs Device",
    guid: 0x5d899d8a_a04a_5af4_bc7f_cc8fbb87a013,
    instance_type: InstanceType::Multiple,
    help: "Errors of the devices of btrfs file systems. The file system stores them; 'btrfs device stats -z' resets them.",
    instances: "The label of the file system, or its UUID if it has none, and the number of the device: \
        `data/1`. The list is updated when file systems are mounted or unmounted.",
    total: "",
    repeats: None,
    counters: &[
        row(1, "Write Errors", "error_stats: write_errs", "Writes that the device reported as failed."),
        row(2, "Read Errors", "error_stats: read_errs", "Reads that the device reported as failed."),
        row(3, "Flush Errors", "error_stats: flush_errs", "Flushes of the device's cache that failed."),
        row(4, "Corruption Errors", "error_stats: corruption_errs", "Blocks whose checksum did not match."),
        row(5, "Generation Errors", "error_stats: generation_errs", "Blocks whose generation is not the expected one, because a write was lost."),
    ],
};

const fn row(id: u32, name: &'static str, source: &'static str, help: &'static str) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::LARGE_RAWCOUNT, "", 0, source, help)
}

/// The keys of the counters 1 to 5.
const KEYS: [&[u8]; 5] = [b"write_errs", b"read_errs", b"flush_errs", b"corruption_errs", b"generation_errs"];

/// The number of samples after which the list of file systems is compared with the folders.
const COMPARE_SAMPLES: u64 = 10;

/// The maximum number of devices.
const MAX_DEVICES: usize = 4096;

struct BtrfsDevices {
    info: Arc<CounterSetInfo>,
    folder: PathBuf,
    /// The folder of the file systems and the folders of their devices, each with the entries that it had when it was listed.
    listed: Vec<(PathBuf, Vec<String>)>,
    devices: Vec<Device>,
    /// The number of samples so far.
    sample: u64,
    malformed: Arc<str>,
}

struct Device {
    key: Arc<InstanceKey>,
    file: SmallFile,
    reason: LastReason,
}

/// The provider, if a btrfs file system is mounted.
pub(super) fn provider(roots: &Roots) -> Option<Box<dyn Provider>> {
    let folder = roots.sys.join("fs/btrfs");
    let (listed, devices) = list(&folder);
    let malformed = format!("{}: a number is missing in error_stats", folder.display()).into();
    let set = BtrfsDevices { info: TABLE.info(), folder, listed, devices, sample: 0, malformed };
    (!set.devices.is_empty()).then(|| Box::new(set) as Box<dyn Provider>)
}

/// Checks that a btrfs file system is mounted.
pub(super) fn check(roots: &Roots) -> Result<(), String> {
    match provider(roots) {
        Some(_) => Ok(()),
        None => {
            Err("no mounted btrfs file system has error counts (they need Linux 5.14 or later)".to_owned())
        }
    }
}

type Listed = Vec<(PathBuf, Vec<String>)>;

fn list(folder: &Path) -> (Listed, Vec<Device>) {
    let mut devices = Vec::new();
    let systems = sorted_entries(folder).unwrap_or_default();
    let mut listed = vec![(folder.to_owned(), systems.clone())];
    for system in systems {
        let path = folder.join(&system);
        let label = read_text(&path.join("label")).unwrap_or(system);
        // Folders that do not belong to a file system, such as `features`, have no devices.
        let Ok(names) = sorted_entries(&path.join("devinfo")) else { continue };
        for device in &names {
            let file = SmallFile::new(path.join("devinfo").join(device).join("error_stats"));
            if file.is_readable(|_| true) && devices.len() < MAX_DEVICES {
                let key = Arc::new(InstanceKey::with_parent(&label, device, 0, 0));
                devices.push(Device { key, file, reason: LastReason::default() });
            }
        }
        listed.push((path.join("devinfo"), names));
    }
    (listed, devices)
}

impl Provider for BtrfsDevices {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        self.sample += 1;
        let is_same = |(folder, names): &(PathBuf, Vec<String>)| {
            has_entries(folder, names).is_ok_and(|is_same| is_same)
        };
        let mut is_changed = self.sample.is_multiple_of(COMPARE_SAMPLES) && !self.listed.iter().all(is_same);
        for device in &mut self.devices {
            if !rows.wants_instance(device.key.full_name(), 0) {
                continue;
            }
            let mut buffer = [0; 512];
            match device.file.read(&mut buffer) {
                Ok(text) => {
                    let mut row = rows.push(&device.key);
                    for (id, value) in (1..).zip(parse(text)) {
                        match value {
                            Some(value) => row.set(id, value),
                            None => row.fail(id, &self.malformed),
                        }
                    }
                }
                // The file system was unmounted, or the device was removed.
                Err(error) if matches!(error.raw_os_error(), Some(2 | 19)) => is_changed = true,
                Err(error) => {
                    let text = error_text(device.file.path().display(), &error);
                    rows.push(&device.key).fail_all(1..=KEYS.len() as u32, device.reason.intern(&text));
                }
            }
        }
        if is_changed {
            (self.listed, self.devices) = list(&self.folder);
        }
        Ok(())
    }

    fn idle(&mut self) {
        self.devices.iter_mut().for_each(|device| device.file.close());
    }
}

fn parse(text: &[u8]) -> [Option<u64>; KEYS.len()] {
    let mut values = [None; KEYS.len()];
    for line in lines(split_complete_lines(text).0) {
        let mut words = words(line);
        let Some(key) = words.next() else { continue };
        if let Some(index) = KEYS.iter().position(|known| *known == key) {
            values[index] = words.next().and_then(parse_number);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Machine, at, check_idle, collect, first_value, names, value};

    const STATS: &str = "write_errs 1\nread_errs 2\nflush_errs 3\ncorruption_errs 4\ngeneration_errs 5\n";
    const FOLDER: &str = "sys/fs/btrfs";

    fn machine() -> Machine {
        let machine = Machine::new(&[]);
        for (path, content) in [
            ("features/compress_zstd", "0\n"),
            ("11111111-2222/label", "data\n"),
            ("11111111-2222/devinfo/1/error_stats", STATS),
            ("11111111-2222/devinfo/2/error_stats", "write_errs 7\n"),
            ("33333333-4444/label", "\n"),
            ("33333333-4444/devinfo/1/error_stats", STATS),
        ] {
            machine.write(&format!("{FOLDER}/{path}"), content);
        }
        machine
    }

    #[test]
    fn every_counter_has_its_value() {
        let machine = machine();
        let rows = collect(&mut *provider(&machine.roots).expect("a provider"), at(1));
        assert_eq!(names(&rows), ["data/1", "data/2", "33333333-4444/1"]);
        assert_eq!([1, 2, 3, 4, 5].map(|id| first_value(&rows, "data/1", id)), [1, 2, 3, 4, 5]);
        assert_eq!(first_value(&rows, "data/2", 1), 7);
        assert!(!value(&rows, "data/2", 2).status.is_good());
        assert!(rows.errors()[0].reason.ends_with("a number is missing in error_stats"));
    }

    #[test]
    fn mounted_and_unmounted_file_systems_are_found() {
        let machine = machine();
        let mut set = provider(&machine.roots).expect("a provider");
        collect(&mut *set, at(1));
        machine.remove(&format!("{FOLDER}/11111111-2222"));
        machine.write(&format!("{FOLDER}/5/devinfo/9/error_stats"), STATS);
        let found =
            (2..13).any(|second| names(&collect(&mut *set, at(second))) == ["5/9", "33333333-4444/1"]);
        assert!(found);
        machine.remove(FOLDER);
        assert!(provider(&machine.roots).is_none());
        assert!(check(&machine.roots).is_err());
        assert_eq!(check(&self::machine().roots), Ok(()));
    }

    #[test]
    fn an_idle_set_closes_its_files() {
        let machine = machine();
        check_idle(&machine, "", &mut *provider(&machine.roots).expect("a provider"));
    }
}

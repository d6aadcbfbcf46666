//! Fake machines for tests: folders that replace /proc and /sys.

use std::fs;
use std::path::Path;

use tachograph_counters::RawValue;
use tachograph_counters::civil::FileTime;
use tachograph_perflib::{FREQUENCY, Provider, Rows, Timestamps};
use tempfile::TempDir;

use crate::roots::Roots;

/// A fake machine with 100 ticks per second and pages of 4,096 bytes.
pub(crate) struct Machine {
    folder: TempDir,
    pub(crate) roots: Roots,
}

impl Machine {
    /// Creates a machine with these files, such as `("proc/stat", "cpu 1 2")`.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let roots = Roots {
            root: folder.path().to_owned(),
            proc: folder.path().join("proc"),
            sys: folder.path().join("sys"),
            ticks_per_second: 100,
            page_bytes: 4096,
        };
        let machine = Self { folder, roots };
        for (path, content) in files {
            machine.write(path, content);
        }
        machine
    }

    /// Writes a file in place, so that already open descriptors see the new content.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, content).expect("written");
    }

    pub(crate) fn remove(&self, path: &str) {
        let path = self.path(path);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.expect("removed");
    }

    /// The number of open files in a folder of this machine.
    pub(crate) fn open_files(&self, folder: &str) -> usize {
        let folder = self.path(folder);
        let descriptors = fs::read_dir("/proc/self/fd").expect("descriptors").flatten();
        let targets = descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
        targets.filter(|target| target.starts_with(&folder)).count()
    }

    pub(crate) fn path(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join(Path::new(path))
    }
}

/// The timestamps of a moment, given in seconds since the fake machine booted, which was at 2026-01-01 00:00:00 UTC.
pub(crate) fn at(seconds: i64) -> Timestamps {
    let ticks = seconds * FREQUENCY;
    let time = FileTime(134_116_992_000_000_000 + ticks);
    Timestamps { ticks, system_time: time, wall: time }
}

/// Collects all counters of all instances.
pub(crate) fn collect(provider: &mut dyn Provider, moment: Timestamps) -> Rows {
    let mut rows = Rows::unfiltered(provider.info().clone());
    rows.clear(moment);
    provider.collect(&mut rows).expect("collected");
    rows
}

/// Checks that a set has no open files in a folder before its first collection and while it is idle, and that it continues
/// with the same values.
pub(crate) fn check_idle(machine: &Machine, folder: &str, provider: &mut dyn Provider) {
    let name = provider.info().name.clone();
    assert_eq!(machine.open_files(folder), 0, "{name}: files are open before they are needed");
    let before = collect(provider, at(1));
    assert!(machine.open_files(folder) > 0 && !before.instances().is_empty(), "{name}: no file stays open");
    provider.idle();
    assert_eq!(machine.open_files(folder), 0, "{name}: files are open while the set is idle");
    let after = collect(provider, at(1));
    assert_eq!(after.instances(), before.instances());
    assert_eq!(after.all_values(), before.all_values());
}

/// The names of all rows (`parent/name`), in order.
pub(crate) fn names(rows: &Rows) -> Vec<&str> {
    rows.instances().iter().map(|instance| instance.full_name()).collect()
}

/// The raw value of a counter of the first instance of this name.
pub(crate) fn value(rows: &Rows, instance: &str, id: u32) -> RawValue {
    let row = names(rows).iter().position(|name| *name == instance);
    let row = row.unwrap_or_else(|| panic!("no instance {instance:?} in {:?}", names(rows)));
    let column = rows.column(id).unwrap_or_else(|| panic!("no counter {id}"));
    rows.values(row)[column]
}

/// Like [`value`], but returns only the number; panics if the status is not good.
pub(crate) fn first_value(rows: &Rows, instance: &str, id: u32) -> i64 {
    let raw = value(rows, instance, id);
    assert!(raw.status.is_good(), "{instance} {id}: {}", raw.status);
    raw.first
}

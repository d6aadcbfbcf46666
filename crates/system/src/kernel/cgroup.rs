//! `Cgroup`: the resources used by control groups (versions 1 and 2).

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, accessat, fstat, openat};
use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, Provider, Rows};

use crate::absence::Requirement;
use crate::descriptors::Descriptors;
use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::scan::{lines, words};
use crate::table::SetTable;

mod disks;
mod mount;
mod names;
mod table;
mod tree;
mod values;

use disks::DiskNames;
use mount::Mount;
pub use names::ContainerNames;
use names::Names;
use table::{
    ANONYMOUS, DISCARD_BYTES, DISCARDS, EVENTS_MAX, FILE, MEMORY_CURRENT, MEMORY_USED, PRIVILEGED_TIME,
    PROCESSOR_TIME, READ_BYTES, READS, TASK_LIMIT, TASKS, USER_TIME, WRITE_BYTES, WRITES,
};
pub(crate) use table::{CONTAINER, DISK, TABLE};
use table::{
    CPU_FULL, CPU_SOME, EVENTS_HIGH, EVENTS_LOW, EVENTS_OOM, IO_FULL, IO_SOME, MEMORY_FULL, MEMORY_SOME, SLAB,
};
use table::{FILES, FileTable, LEGACY_FILES, PERIODS, THROTTLED_PERIODS, THROTTLED_TIME};
use tree::{Group, HierarchyFiles, MAX_HIERARCHIES, Shown, Walk};

/// The maximum number of files that stay open; further files are opened for each read.
const MAX_OPEN_FILES: u64 = 32_768;

/// The providers of `Cgroup`, `Container` and `Cgroup Disk`, if a hierarchy is mounted.
pub(crate) fn providers(roots: &Roots) -> Vec<Box<dyn Provider>> {
    // The sets use only a part of the limit, because other sets also keep files open.
    let budget = Descriptors::of_this_process().share(4).min(MAX_OPEN_FILES) as isize / 3;
    let mounts = open_mounts(roots);
    let sets = [cgroups(&mounts, budget), containers(roots, &mounts, budget), disks(roots, &mounts, budget)];
    sets.into_iter().flatten().map(|cgroups| Box::new(cgroups) as Box<dyn Provider>).collect()
}

/// What these sets require.
pub(crate) const REQUIREMENTS: &[Requirement] = &[
    Requirement { table: &TABLE, ids: &[], check: check_hierarchy },
    Requirement { table: &CONTAINER, ids: &[], check: check_hierarchy },
    Requirement { table: &DISK, ids: &[], check: check_disks },
    Requirement { table: &TABLE, ids: ONLY_VERSION_2_MEMORY, check: check_memory },
    Requirement { table: &CONTAINER, ids: ONLY_VERSION_2_MEMORY, check: check_memory },
    Requirement { table: &TABLE, ids: PRESSURE, check: check_pressure },
    Requirement { table: &CONTAINER, ids: PRESSURE, check: check_pressure },
    Requirement { table: &TABLE, ids: OF_CPUACCT, check: |roots| check_groups(roots, "cpuacct") },
    Requirement { table: &TABLE, ids: OF_CPU, check: |roots| check_groups(roots, "cpu") },
    Requirement { table: &TABLE, ids: OF_MEMORY, check: |roots| check_groups(roots, "memory") },
    Requirement { table: &TABLE, ids: OF_BLKIO, check: |roots| check_groups(roots, "blkio") },
    Requirement { table: &TABLE, ids: OF_PIDS, check: |roots| check_groups(roots, "pids") },
    Requirement { table: &TABLE, ids: PRESSURE, check: check_groups_of_version_2 },
];

/// Counters that the controllers of version 1 provide.
const OF_CPUACCT: &[u32] = &[PROCESSOR_TIME, USER_TIME, PRIVILEGED_TIME];
const OF_CPU: &[u32] = &[PERIODS, THROTTLED_PERIODS, THROTTLED_TIME];
const OF_MEMORY: &[u32] = &[MEMORY_CURRENT, MEMORY_USED, EVENTS_MAX, ANONYMOUS, FILE];
const OF_BLKIO: &[u32] = &[READ_BYTES, WRITE_BYTES, DISCARD_BYTES, READS, WRITES, DISCARDS];
const OF_PIDS: &[u32] = &[TASKS, TASK_LIMIT];

/// Counters that the memory controller of version 1 does not have.
const ONLY_VERSION_2_MEMORY: &[u32] = &[EVENTS_LOW, EVENTS_HIGH, EVENTS_OOM, SLAB];

/// Counters that version 1 does not have.
const PRESSURE: &[u32] = &[CPU_SOME, CPU_FULL, MEMORY_SOME, MEMORY_FULL, IO_SOME, IO_FULL];

fn check_hierarchy(roots: &Roots) -> Result<(), String> {
    match mount::mounts(roots).is_empty() {
        false => Ok(()),
        true => Err("no hierarchy of control groups is mounted".to_owned()),
    }
}

fn check_memory(roots: &Roots) -> Result<(), String> {
    let mounts = mount::mounts(roots);
    match mounts.iter().flat_map(|mount| &mount.controllers).flatten().any(|name| name == "memory") {
        false => Ok(()),
        true => {
            Err("the memory controller uses version 1 of control groups, which does not count this"
                .to_owned())
        }
    }
}

fn check_pressure(roots: &Roots) -> Result<(), String> {
    match mount::mounts(roots).iter().any(|mount| mount.controllers.is_none()) {
        true => Ok(()),
        false => Err("version 2 of control groups, which is required for this, is not mounted".to_owned()),
    }
}

/// Checks that a hierarchy of version 1 with this controller has groups. Without groups, its counters have no values.
fn check_groups(roots: &Roots, controller: &str) -> Result<(), String> {
    let mounts = mount::mounts(roots);
    // Each group of version 2 has its processor time, without a controller.
    let is_in_version_2 = |mount: &mount::Mount| mount.controllers.is_none() && has_groups(&mount.path);
    if controller == "cpuacct" && mounts.iter().any(is_in_version_2) {
        return Ok(());
    }
    let has_controller =
        |mount: &&mount::Mount| mount.controllers.iter().flatten().any(|name| name == controller);
    match mounts.iter().find(has_controller) {
        Some(mount) if !has_groups(&mount.path) => Err(controllers_with_groups(&mounts)),
        _ => Ok(()),
    }
}

/// Describes which controllers of version 1 have groups: `cgroup v1: only memory has groups`.
fn controllers_with_groups(mounts: &[mount::Mount]) -> String {
    let used = mounts.iter().filter(|mount| has_groups(&mount.path));
    let names = used.flat_map(|mount| mount.controllers.iter().flatten());
    let is_shown = |name: &&String| LEGACY_FILES.iter().any(|table| table.controller == **name);
    let names: Vec<_> = names.filter(is_shown).map(String::as_str).collect();
    match &names[..] {
        [] => "cgroup v1: no controller has groups".to_owned(),
        [name] => format!("cgroup v1: only {name} has groups"),
        names => format!("cgroup v1: only {} have groups", names.join(", ")),
    }
}

/// Checks that the hierarchy of version 2, if it is mounted, has groups.
fn check_groups_of_version_2(roots: &Roots) -> Result<(), String> {
    match mount::mounts(roots).iter().find(|mount| mount.controllers.is_none()) {
        Some(mount) if !has_groups(&mount.path) => Err("cgroup v2: no groups".to_owned()),
        _ => Ok(()),
    }
}

/// Whether a hierarchy has groups other than its root.
fn has_groups(folder: &std::path::Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().map_while(Result::ok);
    entries.take(MAX_FILES_OF_ROOT).any(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
}

/// The maximum number of files of a root group among which groups are searched. Kernels have about a hundred.
const MAX_FILES_OF_ROOT: usize = 4096;

fn check_disks(roots: &Roots) -> Result<(), String> {
    match disks(roots, &open_mounts(roots), 0) {
        Some(_) => Ok(()),
        None => Err("no controller of control groups counts transfers: io (version 2) or blkio (version 1)"
            .to_owned()),
    }
}

/// The set `Cgroup`: all groups, by their paths.
fn cgroups(mounts: &[OpenMount], budget: isize) -> Option<Cgroups> {
    Cgroups::new(&TABLE, mounts, Walk::new(budget, Shown::Paths))
}

/// The set `Container`: the groups that are containers, pods or systemd units.
fn containers(roots: &Roots, mounts: &[OpenMount], budget: isize) -> Option<Cgroups> {
    Cgroups::new(&CONTAINER, mounts, Walk::new(budget, Shown::Named(Names::new(roots))))
}

/// The set `Cgroup Disk`: the disks of each group.
fn disks(roots: &Roots, mounts: &[OpenMount], budget: isize) -> Option<Cgroups> {
    Cgroups::new(&DISK, mounts, Walk::new(budget, Shown::Disks(DiskNames::new(roots))))
}

/// A mounted hierarchy, whose folder all sets share.
struct OpenMount {
    mount: Mount,
    folder: Arc<OwnedFd>,
}

/// The mounted hierarchies whose folders can be opened.
fn open_mounts(roots: &Roots) -> Vec<OpenMount> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = |mount: Mount| {
        let folder = Arc::new(openat(CWD, &mount.path, flags, Mode::empty()).ok()?);
        Some(OpenMount { mount, folder })
    };
    mount::mounts(roots).into_iter().filter_map(open).collect()
}

impl Cgroups {
    fn new(table: &SetTable, mounts: &[OpenMount], mut walk: Walk) -> Option<Self> {
        let unified = mounts.iter().filter(|open| open.mount.controllers.is_none());
        let mut hierarchies = Vec::with_capacity(MAX_HIERARCHIES);
        hierarchies.extend(unified.filter_map(|mount| Hierarchy::unified(mount, &mut walk)).next());
        let mut known: Vec<&str> = Vec::new();
        for mount in mounts {
            let Some(controllers) = &mount.mount.controllers else { continue };
            let is_new = |table: &&FileTable| {
                controllers.iter().any(|name| name == table.controller) && !known.contains(&table.controller)
            };
            let tables: Vec<_> = LEGACY_FILES.iter().filter(is_new).collect();
            known.extend(tables.iter().map(|table| table.controller));
            if !tables.is_empty() && hierarchies.len() < MAX_HIERARCHIES {
                hierarchies.extend(Hierarchy::legacy(mount, tables, &mut walk));
            }
        }
        let ids = hierarchies.iter().fold(0, |ids, hierarchy| ids | hierarchy.files.ids);
        let info = table.info_of(|id| ids & 1 << id != 0);
        let mut cgroups = Cgroups { info, hierarchies, walk };
        // Closes the files, because the set may never be queried.
        cgroups.idle();
        (!cgroups.info.counters.is_empty()).then_some(cgroups)
    }
}

fn has_word(text: &[u8], expected: &str) -> bool {
    lines(text).flat_map(words).any(|word| word == expected.as_bytes())
}

fn is_in(folder: &OwnedFd, file: &str) -> bool {
    accessat(folder, file, Access::EXISTS, AtFlags::empty()).is_ok()
}

struct Cgroups {
    info: Arc<CounterSetInfo>,
    /// The hierarchy of version 2, if any, then those of version 1.
    hierarchies: Vec<Hierarchy>,
    walk: Walk,
}

/// A mounted hierarchy.
struct Hierarchy {
    root: Group,
    folder: Arc<OwnedFd>,
    files: HierarchyFiles,
    /// The controllers of the visible root of version 2. The controllers of other groups are listed by their parents.
    controllers: Option<OpenFile>,
    /// The content of `controllers` at the last read.
    enabled: Vec<u8>,
}

impl Hierarchy {
    /// A hierarchy of version 2; `None` if it cannot be read.
    fn unified(mount: &OpenMount, walk: &mut Walk) -> Option<Self> {
        let mut controllers = OpenFile::new(mount.mount.path.join("cgroup.controllers"));
        // Every group of version 2 has this file.
        let enabled = controllers.read().ok()?.to_vec();
        let mut hierarchy = Self::open(mount, HierarchyFiles::new(FILES.iter().collect(), false))?;
        let available = hierarchy.probe(walk);
        let is_enabled = |controller: &str| has_word(&enabled, controller);
        let mut ids = 0;
        for (table, is_available) in FILES.iter().zip(available) {
            if is_available || !table.controller.is_empty() && is_enabled(table.controller) {
                table.ids().for_each(|id| ids |= 1 << id);
            }
        }
        if !is_enabled("cpu") && !is_in(&hierarchy.folder, "cpu.max") {
            [PERIODS, THROTTLED_PERIODS, THROTTLED_TIME].iter().for_each(|id| ids &= !(1 << id));
        }
        hierarchy.files.ids = ids;
        hierarchy.enabled = enabled;
        hierarchy.controllers = Some(controllers);
        Some(hierarchy)
    }

    /// A hierarchy of version 1 with these files; `None` if it cannot be read.
    fn legacy(mount: &OpenMount, tables: Vec<&'static FileTable>, walk: &mut Walk) -> Option<Self> {
        let mut hierarchy = Self::open(mount, HierarchyFiles::new(tables, true))?;
        // Only the root of a hierarchy has this file.
        hierarchy.files.has_kernel_root = is_in(&hierarchy.folder, "cgroup.sane_behavior");
        let available = hierarchy.probe(walk);
        let mut ids = 0;
        for (table, is_available) in hierarchy.files.tables.iter().zip(available) {
            if is_available || !table.is_optional {
                table.ids().for_each(|id| ids |= 1 << id);
            }
        }
        hierarchy.files.ids = ids;
        Some(hierarchy)
    }

    fn open(mount: &OpenMount, files: HierarchyFiles) -> Option<Self> {
        let folder = Arc::clone(&mount.folder);
        let inode = fstat(&folder).ok()?.st_ino;
        let root = Group::root(inode, files.tables.len());
        Some(Self { root, folder, files, controllers: None, enabled: Vec::new() })
    }

    fn probe(&mut self, walk: &mut Walk) -> Vec<bool> {
        walk.probe(&mut self.root, self.folder.as_fd(), &self.files.tables)
    }
}

impl Provider for Cgroups {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        for hierarchy in &mut self.hierarchies {
            if let Some(controllers) = &mut hierarchy.controllers
                && let Ok(enabled) = controllers.read()
                && *enabled != *hierarchy.enabled
            {
                hierarchy.enabled.clear();
                hierarchy.enabled.extend_from_slice(enabled);
                hierarchy.root.retry_absent();
            }
        }
        self.walk.collect(&mut self.hierarchies, rows);
        Ok(())
    }

    fn idle(&mut self) {
        for hierarchy in &mut self.hierarchies {
            self.walk.close_all(&mut hierarchy.root);
        }
    }
}

#[cfg(test)]
mod legacy_tests;
#[cfg(test)]
mod tests;

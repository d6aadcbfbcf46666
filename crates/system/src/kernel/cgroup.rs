//! `Cgroup`: the resources used by control groups (version 2).

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, accessat, fstat, openat};
use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, Provider, Rows};

use crate::descriptors::Descriptors;
use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::scan::{lines, words};

mod mount;
mod table;
mod tree;
mod values;

pub(crate) use table::TABLE;
use table::{FILES, PERIODS, THROTTLED_PERIODS, THROTTLED_TIME};
use tree::{Group, Walk};

/// The maximum number of files that stay open; further files are opened for each read.
const MAX_OPEN_FILES: u64 = 32_768;

/// The provider, if a hierarchy of version 2 is mounted.
pub(crate) fn provider(roots: &Roots) -> Option<Box<dyn Provider>> {
    // Use only a part of the limit, because other sets also keep files open.
    let budget = Descriptors::of_this_process().share(4).min(MAX_OPEN_FILES) as isize;
    cgroups(roots, budget).map(|cgroups| Box::new(cgroups) as Box<dyn Provider>)
}

fn cgroups(roots: &Roots, budget: isize) -> Option<Cgroups> {
    mount::mount_points(roots).into_iter().find_map(|path| {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, &path, flags, Mode::empty()).ok()?;
        let inode = fstat(&folder).ok()?.st_ino;
        let mut controllers = OpenFile::new(path.join("cgroup.controllers"));
        // Every group of version 2 has this file.
        let enabled = controllers.read().ok()?.to_vec();

        let mut cgroups = Cgroups {
            info: TABLE.info(),
            root: Group::root(inode),
            folder,
            controllers,
            enabled,
            walk: Walk::new(budget),
        };
        let available = cgroups.walk.probe(&mut cgroups.root, cgroups.folder.as_fd());
        let is_enabled = |controller: &str| has_word(&cgroups.enabled, controller);
        let is_throttling = is_enabled("cpu") || is_in(&cgroups.folder, "cpu.max");
        let has = |id: u32| {
            if [PERIODS, THROTTLED_PERIODS, THROTTLED_TIME].contains(&id) {
                return is_throttling;
            }
            FILES.iter().zip(available).any(|(file, is_available)| {
                let is_possible =
                    is_available || (!file.controller.is_empty() && is_enabled(file.controller));
                is_possible && file.ids().any(|known| known == id)
            })
        };
        cgroups.info = TABLE.info_of(has);
        (!cgroups.info.counters.is_empty()).then_some(cgroups)
    })
}

fn has_word(text: &[u8], expected: &str) -> bool {
    lines(text).flat_map(words).any(|word| word == expected.as_bytes())
}

fn is_in(folder: &OwnedFd, file: &str) -> bool {
    accessat(folder, file, Access::EXISTS, AtFlags::empty()).is_ok()
}

struct Cgroups {
    info: Arc<CounterSetInfo>,
    root: Group,
    folder: OwnedFd,
    /// The controllers of the visible root. The controllers of other groups are listed by their parents.
    controllers: OpenFile,
    enabled: Vec<u8>,
    walk: Walk,
}

impl Provider for Cgroups {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        if let Ok(enabled) = self.controllers.read()
            && *enabled != *self.enabled
        {
            self.enabled.clear();
            self.enabled.extend_from_slice(enabled);
            self.root.retry_absent();
        }
        self.walk.collect(&mut self.root, self.folder.as_fd(), rows);
        Ok(())
    }

    fn idle(&mut self) {
        self.walk.close_all(&mut self.root);
    }
}

#[cfg(test)]
mod tests;

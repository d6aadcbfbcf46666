//! `Cgroup`: what the control groups of version 2 use.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, accessat, fstat, openat};
use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, Provider, Rows};

use crate::Roots;
use crate::descriptors::Descriptors;
use crate::file::KeptFile;
use crate::scan::{lines, words};

mod mount;
mod table;
mod tree;
mod values;

pub(crate) use table::TABLE;
use table::{FILES, PERIODS, THROTTLED_PERIODS, THROTTLED_TIME};
use tree::{Group, Walk};

/// How many files are kept open at most; beyond that files are opened for each reading.
const MAX_OPEN_FILES: u64 = 32_768;

/// The provider, where a hierarchy of version 2 is mounted.
pub(crate) fn provider(roots: &Roots) -> Option<Box<dyn Provider>> {
    // Other sets of this process keep files open too.
    let budget = Descriptors::of_this_process().share(4).min(MAX_OPEN_FILES) as isize;
    cgroups(roots, budget).map(|cgroups| Box::new(cgroups) as Box<dyn Provider>)
}

fn cgroups(roots: &Roots, budget: isize) -> Option<Cgroups> {
    mount::mount_points(roots).into_iter().find_map(|path| {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, &path, flags, Mode::empty()).ok()?;
        let inode = fstat(&folder).ok()?.st_ino;
        let mut controllers = KeptFile::new(path.join("cgroup.controllers"));
        // The file is in every group: what lacks it is no hierarchy.
        let enabled = controllers.read().ok()?.to_vec();

        let mut cgroups = Cgroups {
            info: TABLE.info(),
            root: Group::root(inode),
            folder,
            controllers,
            enabled,
            walk: Walk::new(budget),
        };
        let here = cgroups.walk.probe(&mut cgroups.root, cgroups.folder.as_fd());
        let is_enabled = |controller: &str| has_word(&cgroups.enabled, controller);
        let is_throttling = is_enabled("cpu") || is_in(&cgroups.folder, "cpu.max");
        let has = |id: u32| {
            if [PERIODS, THROTTLED_PERIODS, THROTTLED_TIME].contains(&id) {
                return is_throttling;
            }
            FILES.iter().zip(here).any(|(file, is_here)| {
                let is_possible = is_here || (!file.controller.is_empty() && is_enabled(file.controller));
                is_possible && file.ids().any(|known| known == id)
            })
        };
        cgroups.info = TABLE.info_of(has);
        (!cgroups.info.counters.is_empty()).then_some(cgroups)
    })
}

fn has_word(text: &[u8], wanted: &str) -> bool {
    lines(text).flat_map(words).any(|word| word == wanted.as_bytes())
}

fn is_in(folder: &OwnedFd, file: &str) -> bool {
    accessat(folder, file, Access::EXISTS, AtFlags::empty()).is_ok()
}

struct Cgroups {
    info: Arc<CounterSetInfo>,
    root: Group,
    folder: OwnedFd,
    /// Which controllers the root of what we see has. For other groups their parent says so.
    controllers: KeptFile,
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
            self.root.look_again();
        }
        self.walk.collect(&mut self.root, self.folder.as_fd(), rows);
        Ok(())
    }

    fn rest(&mut self) {
        self.walk.rest(&mut self.root);
    }
}

#[cfg(test)]
mod tests;

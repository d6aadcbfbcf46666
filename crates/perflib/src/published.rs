//! Counter sets that applications publish in shared memory, as providers of a registry.
//!
//! ```text
//! folders -> Catalog: files, by set and owner -> Group -> PublishedSet (a Provider) -> Rows
//! ```
//!
//! - The files of a set and an owner are one set: processes are side by side, in the order of their start. A set of another
//!   user than this process's is one of its own, with the owner's number in its name (`Shop [uid 1000]`) and a GUID derived
//!   from both, so that it never joins another's.
//! - Each collection sees who came and who is gone. An instance is known by the random number of its file and its own
//!   number in it, so a program that was started again is never paired with the one before.
//! - A set may not have the name or the GUID of a set of this machine, nor a name that no counter path can mean. Such sets
//!   are left out, and a [`Notice`] says so.
//! - Processes may publish different descriptions of a set, such as an old and a new version of a program. The one that was
//!   started last says what the set is; of the others a counter is read where id, type and companions agree.
//! - Sets of registered manifests are there also while no process publishes them, without instances.
//!
//! Bounds: [`MAX_FILES`] files, [`MAX_INSTANCES`] instances and [`MAX_VALUES`] values of a set. Described in
//! docs/shared-memory.md.

mod aggregate;
mod catalog;
mod control;
mod describe;
mod file;
mod group;
mod keys;
mod member;
mod names;
mod notice;
mod plan;
mod set;
mod source;
mod total;
mod wanted;

use std::path::PathBuf;
use std::sync::Arc;

use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_shm::folder::runtime_folders;

use crate::registration::CounterSetInfo;
use crate::{Guid, Registry};
use catalog::Catalog;
use group::GroupKey;
use member::Member;

pub use catalog::MAX_FILES;
pub use file::{MAX_INSTANCES, MAX_VALUES};
pub(crate) use group::Group;
pub(crate) use notice::publishers_of;
pub use notice::{Notice, Publisher};
pub(crate) use set::PublishedSet;

/// The published counter sets of some folders, and the registered ones that nobody publishes now.
///
/// ```
/// use tachograph_perflib::published::Published;
/// use tachograph_perflib::{Clock, Registry};
///
/// let mut registry = Registry::new("WEB1", Clock::of_this_machine());
/// Published::in_folders(vec!["/no/such/folder".into()]).add_to(&mut registry, None);
/// assert_eq!(registry.counter_sets().count(), 0);
/// assert!(registry.notices().is_empty());
/// ```
#[derive(Debug)]
pub struct Published {
    catalog: Arc<Catalog>,
    user: u32,
    reserved: Vec<(Arc<str>, Guid)>,
    registered: Vec<Arc<CounterSetInfo>>,
}

impl Published {
    /// Those of the folders that the environment and the machine name.
    pub fn of_this_machine() -> Self {
        Self::in_folders(runtime_folders())
    }

    /// Those of these folders.
    pub fn in_folders(folders: Vec<PathBuf>) -> Self {
        Self {
            catalog: Arc::new(Catalog::new(folders)),
            user: rustix::process::geteuid().as_raw(),
            reserved: Vec::new(),
            registered: Vec::new(),
        }
    }

    /// Makes the sets of this user those that have no mark; else they are those of the user of this process.
    #[must_use]
    pub fn seen_by(mut self, user: u32) -> Self {
        self.user = user;
        self
    }

    /// Keeps a name and a GUID from being published. Those of the sets of a registry are kept anyway.
    pub fn reserve(&mut self, name: impl Into<Arc<str>>, guid: Guid) {
        self.reserved.push((name.into(), guid));
    }

    /// Takes the sets of registered manifests, in the place of those that it had.
    pub fn set_registered(&mut self, sets: impl IntoIterator<Item = Arc<CounterSetInfo>>) {
        self.registered = sets.into_iter().collect();
    }

    /// Adds the sets that there are now to a registry, which has the sets of the machine. Sets that another registry of the
    /// same `Published` has as well are shared with it.
    pub fn add_to(&self, registry: &mut Registry, before: Option<&Registry>) {
        self.catalog.look_at_all();
        for (path, why) in self.catalog.troubles() {
            registry.notice(Notice::new(None, format!("{}: {why}", path.display())));
        }
        let mut groups: Vec<_> =
            self.catalog.groups().into_iter().map(|group| (group.members(), group)).collect();
        // One's own first; of several with one name, the one that was there first keeps it.
        groups.sort_by_key(|(members, group)| {
            let key = group.key();
            (key.owner != self.user, members.first().map(|member| member.order()), key)
        });
        for (members, group) in &groups {
            if let Some(info) = self.info_of(group.key(), members, registry) {
                self.add(registry, before, info, group);
            }
        }
        for info in &self.registered {
            let is_published = registry.counter_sets().any(|known| known.guid == info.guid);
            if is_published || self.is_reserved(registry, &info.name, info.guid) {
                continue;
            }
            let mut info = CounterSetInfo::clone(info);
            info.is_per_process = describe::is_per_process(info.instance_type);
            match describe::check(&info) {
                Ok(()) => {
                    let set = info.guid;
                    let group = self.catalog.group(GroupKey { set, owner: self.user });
                    self.add(registry, before, info, &group);
                }
                Err(why) => registry.notice(Notice::refused(&info.name, None, &why)),
            }
        }
    }

    /// What a group is registered as; nothing, and a notice, where it cannot be shown.
    fn info_of(
        &self,
        key: GroupKey,
        members: &[Arc<Member>],
        registry: &mut Registry,
    ) -> Option<CounterSetInfo> {
        let guid = key.set;
        let registered = self.registered.iter().find(|known| known.guid == guid).map(|known| &**known);
        // The one that was started last.
        let newest = members.last()?;
        let refuse = |registry: &mut Registry, name: &str, why: &str| {
            registry.notice(Notice::refused(name, Some(newest), why));
        };
        let mut info = match describe::info_of(newest.description(), registered) {
            Ok(info) => info,
            Err(why) => {
                refuse(registry, &newest.description().name, &why);
                return None;
            }
        };
        if self.is_reserved(registry, &info.name, guid) {
            refuse(registry, &info.name, "its name or GUID is that of a counter set of this machine");
            return None;
        }
        if key.owner != self.user {
            info.name = names::marked_name(&info.name, key.owner).into();
            info.guid = names::marked_guid(guid, key.owner);
            if let Err(why) = describe::check(&info) {
                refuse(registry, &info.name, &why);
                return None;
            }
        }
        for member in members {
            if source::Sources::new(&info, member.description()).is_otherwise {
                registry.notice(Notice::described_otherwise(&info.name, member, newest));
            }
        }
        Some(info)
    }

    /// Whether a set of the machine has this name or GUID, as far as the registry has no published set by it.
    fn is_reserved(&self, registry: &Registry, name: &str, guid: Guid) -> bool {
        let is_it = |known: &str, known_guid: Guid| known_guid == guid || eq_ignore_case(known, name);
        self.reserved.iter().any(|(known, known_guid)| is_it(known, *known_guid))
            || registry.of_machine().any(|info| is_it(&info.name, info.guid))
    }

    fn add(
        &self,
        registry: &mut Registry,
        before: Option<&Registry>,
        info: CounterSetInfo,
        group: &Arc<Group>,
    ) {
        let other = registry.counter_sets().find(|known| eq_ignore_case(&known.name, &info.name));
        if let Some(other) = other {
            let why = format!("another set, {}, has its name", other.guid);
            let newest = group.members().last().cloned();
            registry.notice(Notice::refused(&info.name, newest.as_deref(), &why));
            return;
        }
        if before.is_some_and(|before| registry.share_published(before, &info, group)) {
            return;
        }
        let info = Arc::new(info);
        let set = PublishedSet::new(Arc::clone(&info), Arc::clone(&self.catalog), Arc::clone(group));
        if let Err(code) = registry.register_published(set, Arc::clone(group)) {
            registry.notice(Notice::refused(&info.name, None, &code.to_string()));
        }
    }
}

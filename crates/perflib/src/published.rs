//! Providers for counter sets that applications publish in shared memory.
//!
//! ```text
//! folders -> Catalog (all files) -> MemberGroup (the files of one set and owner) -> PublishedSet (a Provider) -> Rows
//! ```
//!
//! - All files with the same set and owner form one set, which contains the instances of all these processes, ordered
//!   by start time. Sets of other users are separate: the owner's uid is appended to the name (`Shop [uid 1000]`), and
//!   the GUID is derived from the set's GUID and the uid.
//! - Each collection detects new and dead processes. An instance is identified by the random number in its file and its
//!   serial number within the file, so a restarted program is never confused with its predecessor.
//! - A set is omitted, with a [`Notice`], if its name or GUID belongs to a set of this machine, or if counter paths
//!   cannot contain its name.
//! - Processes can publish different descriptions of a set, for example if two versions of a program are running. The
//!   process that started last defines the set. From the other processes, only counters with the same id, type and
//!   companions (such as bases) are read.
//! - Sets of registered manifests always exist. While no process publishes them, they have no instances.
//!
//! Limits: [`MAX_FILES`] files, and [`MAX_INSTANCES`] instances and [`MAX_VALUES`] values per set. The file format is
//! described in docs/shared-memory.md.

mod aggregate;
mod catalog;
mod control;
mod describe;
pub(crate) mod group;
mod instance_keys;
mod member;
mod names;
pub(crate) mod notice;
mod process_reader;
mod read_plan;
mod requested_counters;
mod set;
mod source;
mod total_row;

use std::path::PathBuf;
use std::sync::Arc;

use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_shm::folder::runtime_folders;

use crate::registration::CounterSetInfo;
use crate::{Guid, Registry};
use catalog::Catalog;
use group::MemberGroup;
use member::{GroupKey, Member};
use set::PublishedSet;

pub use catalog::MAX_FILES;
pub use notice::{Notice, Publisher};
pub use process_reader::{MAX_INSTANCES, MAX_VALUES};

/// The counter sets that are published in the given folders, and the sets of registered manifests.
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
    /// The user whose sets have no uid in their names.
    user: u32,
    /// Names and GUIDs that published sets cannot use.
    reserved: Vec<(Arc<str>, Guid)>,
    /// The sets of registered manifests.
    registered: Vec<Arc<CounterSetInfo>>,
}

impl Published {
    /// The sets that are published in this machine's runtime folders, including those that the environment specifies.
    pub fn of_this_machine() -> Self {
        Self::in_folders(runtime_folders())
    }

    /// The sets that are published in these folders.
    pub fn in_folders(folders: Vec<PathBuf>) -> Self {
        Self {
            catalog: Arc::new(Catalog::new(folders)),
            user: rustix::process::geteuid().as_raw(),
            reserved: Vec::new(),
            registered: Vec::new(),
        }
    }

    /// Shows the sets of `user` without a uid in their names. The default is the effective user of this process.
    #[must_use]
    pub fn for_user(mut self, user: u32) -> Self {
        self.user = user;
        self
    }

    /// Reserves a name and a GUID, so that published sets cannot use them. The names and GUIDs of the machine's sets
    /// are always reserved.
    pub fn reserve(&mut self, name: impl Into<Arc<str>>, guid: Guid) {
        self.reserved.push((name.into(), guid));
    }

    /// Replaces the sets of registered manifests.
    pub fn set_registered(&mut self, sets: impl IntoIterator<Item = Arc<CounterSetInfo>>) {
        self.registered = sets.into_iter().collect();
    }

    /// Adds the current sets to a registry that already has the sets of the machine. `previous` is an earlier registry
    /// that this `Published` added sets to; unchanged sets are shared with it.
    pub fn add_to(&self, registry: &mut Registry, previous: Option<&Registry>) {
        self.catalog.scan_all();
        for (path, why) in self.catalog.errors() {
            registry.add_notice(Notice::new(None, format!("{}: {why}", path.display())));
        }
        let mut groups: Vec<_> =
            self.catalog.groups().into_iter().map(|group| (group.members(), group)).collect();
        // The user's own sets come first. Of sets with equal names, the one that was published first is used.
        groups.sort_by_key(|(members, group)| {
            let key = group.key();
            (key.owner != self.user, members.first().map(|member| member.order()), key)
        });
        for (members, group) in &groups {
            if let Some(info) = self.group_registration(group.key(), members, registry) {
                self.add(registry, previous, info, group);
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
                    self.add(registry, previous, info, &group);
                }
                Err(why) => registry.add_notice(Notice::omitted(&info.name, None, &why)),
            }
        }
    }

    /// The registration of a group. If the group cannot be shown, adds a notice and returns `None`.
    fn group_registration(
        &self,
        key: GroupKey,
        members: &[Arc<Member>],
        registry: &mut Registry,
    ) -> Option<CounterSetInfo> {
        let guid = key.set;
        let registered = self.registered.iter().find(|known| known.guid == guid).map(|known| &**known);
        let newest = members.last()?;
        let omit = |registry: &mut Registry, name: &str, why: &str| {
            registry.add_notice(Notice::omitted(name, Some(newest), why));
        };
        let mut info = match describe::to_registration(&newest.description, registered) {
            Ok(info) => info,
            Err(why) => {
                omit(registry, &newest.description.name, &why);
                return None;
            }
        };
        if self.is_reserved(registry, &info.name, guid) {
            omit(registry, &info.name, "its name or GUID belongs to a counter set of this machine");
            return None;
        }
        if key.owner != self.user {
            info.name = names::name_with_owner(&info.name, key.owner).into();
            info.guid = names::guid_with_owner(guid, key.owner);
            if let Err(why) = describe::check(&info) {
                omit(registry, &info.name, &why);
                return None;
            }
        }
        for member in members {
            if source::Sources::new(&info, &member.description).differs {
                registry.add_notice(Notice::version_conflict(&info.name, member, newest));
            }
        }
        Some(info)
    }

    /// Whether the name or GUID is reserved or belongs to one of the machine's own sets.
    fn is_reserved(&self, registry: &Registry, name: &str, guid: Guid) -> bool {
        let matches = |known: &str, known_guid: Guid| known_guid == guid || eq_ignore_case(known, name);
        self.reserved.iter().any(|(known, known_guid)| matches(known, *known_guid))
            || registry.machine_sets().any(|info| matches(&info.name, info.guid))
    }

    fn add(
        &self,
        registry: &mut Registry,
        previous: Option<&Registry>,
        info: CounterSetInfo,
        group: &Arc<MemberGroup>,
    ) {
        let other = registry.counter_sets().find(|known| eq_ignore_case(&known.name, &info.name));
        if let Some(other) = other {
            let why = format!("the set {} has the same name", other.guid);
            let newest = group.members().last().cloned();
            registry.add_notice(Notice::omitted(&info.name, newest.as_deref(), &why));
            return;
        }
        if previous.is_some_and(|previous| registry.share_published_from(previous, &info, group)) {
            return;
        }
        let info = Arc::new(info);
        let set = PublishedSet::new(Arc::clone(&info), Arc::clone(&self.catalog), Arc::clone(group));
        if let Err(code) = registry.register_published(Box::new(set), Arc::clone(group)) {
            registry.add_notice(Notice::omitted(&info.name, None, &code.to_string()));
        }
    }
}

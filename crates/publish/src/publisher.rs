//! The options for publishing counter sets.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use tachograph_shm::naming::{fault_of_counter_name, fault_of_set_name};
use tachograph_shm::{Attributes, CounterSetInfo, Options, Readers, SetFile};

use crate::control::{ControlCallback, Request};
use crate::{MultipleInstances, PublishError, Published, PublishedSet, SingleInstance, tsc};

/// Where counter sets are published, and which users may read them.
///
/// The default folder is the first usable one of `TACHO_RUNTIME_DIR`, `/run/tachograph` and
/// `$XDG_RUNTIME_DIR/tachograph`. The first and the last are created if they are missing. By default, only the owner
/// may read.
///
/// ```
/// use tachograph_publish::{Counter, CounterSet, Publisher};
///
/// /// Activity of the shop.
/// #[derive(CounterSet)]
/// #[counter_set(name = "Shop")]
/// struct Shop {
///     /// Answered requests.
///     #[counter(name = "Requests/sec")]
///     requests: Counter,
/// }
///
/// # let folder = tempfile::tempdir()?;
/// # let publisher = Publisher::new().folder(folder.path());
/// # let _ = stringify!(
/// let publisher = Publisher::new();
/// # );
/// let shop = publisher.start::<Shop>()?;
/// shop.requests.add(1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Publisher {
    /// `None` for the default folder.
    folder: Option<PathBuf>,
    group: Group,
    /// The maximum number of instances of a set; 0 for the default.
    capacity: u32,
    /// The name of this process's instance; `None` for the name of the program.
    label: Option<String>,
    /// Called for requests from consumers.
    control: Option<ControlCallback>,
}

/// The group whose members may read the sets.
#[derive(Clone, Debug, Default)]
enum Group {
    #[default]
    None,
    Name(String),
    Id(u32),
}

impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher")
            .field("folder", &self.folder)
            .field("group", &self.group)
            .field("capacity", &self.capacity)
            .field("label", &self.label)
            .field("has_control", &self.control.is_some())
            .finish()
    }
}

impl Publisher {
    /// The default folder, with the owner as the only reader.
    pub fn new() -> Self {
        Self::default()
    }

    /// Publishes in this folder, which must not be used for other files: abandoned files are removed from it. Consumers
    /// find the folder through their `TACHO_RUNTIME_DIR`.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Lets the members of this group read too: files get the mode `0640`. The name is looked up in `/etc/group` when a set
    /// is started.
    #[must_use]
    pub fn group(mut self, name: impl Into<String>) -> Self {
        self.group = Group::Name(name.into());
        self
    }

    /// Like [`group`](Self::group), but takes the group's id.
    #[must_use]
    pub fn gid(mut self, gid: u32) -> Self {
        self.group = Group::Id(gid);
        self
    }

    /// The maximum number of instances that a set can have at a time; 0 means the default, 65,536. A set that would
    /// exceed 1 GiB holds fewer. The memory of an instance is allocated when it is created.
    #[must_use]
    pub fn capacity(mut self, instances: u32) -> Self {
        self.capacity = instances;
        self
    }

    /// The name of this process's instance, if several processes publish a single-instance set. The default is the name
    /// of the program.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Calls `callback` for requests from consumers, such as the start and the end of a collection.
    ///
    /// Each set gets a thread that listens on the socket of its file, and one more per connected consumer. The callback
    /// runs on these threads, one call at a time, and should return within a second: consumers do not wait longer. It
    /// must not wait for a lock that is held by the thread that stops the set. The threads block all signals except
    /// fault signals such as `SIGSEGV`.
    #[must_use]
    pub fn control(
        mut self,
        callback: impl Fn(&Request<'_>) -> Result<(), u32> + Send + Sync + 'static,
    ) -> Self {
        self.control = Some(Arc::new(callback));
        self
    }

    /// Publishes a set with one instance.
    ///
    /// # Errors
    ///
    /// The folder is missing, unsuitable, full or not writable; the group does not exist.
    pub fn start<S: SingleInstance>(&self) -> Result<Published<S>, PublishError> {
        Published::start(self)
    }

    /// Like [`start`](Self::start), but never fails: on an error, calls `report`, and the counters work in the
    /// process's memory, without consumers. So a missing or full folder does not prevent an application from starting.
    ///
    /// # Panics
    ///
    /// If there is not enough memory for the counters (a few kilobytes).
    pub fn start_or_unpublished<S: SingleInstance>(&self, report: impl FnOnce(PublishError)) -> Published<S> {
        Published::start(self).unwrap_or_else(|error| {
            report(error);
            Published::unpublished()
        })
    }

    /// Publishes a set that can have many instances. At first it has no instances.
    ///
    /// # Errors
    ///
    /// Same as [`start`](Self::start).
    pub fn start_set<S: MultipleInstances>(&self) -> Result<PublishedSet<S>, PublishError> {
        PublishedSet::start(self)
    }

    /// Like [`start_set`](Self::start_set), but never fails: on an error, calls `report`, and the set works in the
    /// process's memory, without consumers. Its capacity may be smaller if the process cannot reserve the memory for all
    /// instances.
    ///
    /// # Panics
    ///
    /// If there is not enough memory for a single instance.
    pub fn start_set_or_unpublished<S: MultipleInstances>(
        &self,
        report: impl FnOnce(PublishError),
    ) -> PublishedSet<S> {
        PublishedSet::start(self).unwrap_or_else(|error| {
            report(error);
            PublishedSet::unpublished(self.capacity)
        })
    }

    /// The callback, if any.
    pub(crate) fn callback(&self) -> Option<&ControlCallback> {
        self.control.as_ref()
    }

    /// Creates the file of a set. Consumers do not see the set yet.
    pub(crate) fn create(
        &self,
        mut description: CounterSetInfo,
        has_control: bool,
    ) -> Result<SetFile, PublishError> {
        tsc::prepare();
        if let Some(label) = &self.label {
            description.label = label.clone().into();
        }
        check_names(&description)?;
        let (folder, readers) = (self.folder.clone(), self.readers()?);
        let options = Options { folder, readers, capacity: self.capacity, has_control };
        Ok(SetFile::create(description, &options)?)
    }

    /// Which users may read the sets. Looks up the id of the group.
    pub(crate) fn readers(&self) -> Result<Readers, PublishError> {
        Ok(match &self.group {
            Group::None => Readers::Owner,
            Group::Id(gid) => Readers::Group(*gid),
            Group::Name(name) => Readers::Group(gid_of(name)?),
        })
    }
}

/// The id of a group in `/etc/group`. Groups of a directory service must be specified by their id.
fn gid_of(name: &str) -> Result<u32, PublishError> {
    let groups = std::fs::read("/etc/group").unwrap_or_default();
    find_gid(&groups, name).ok_or_else(|| PublishError::UnknownGroup(name.to_owned()))
}

fn find_gid(groups: &[u8], name: &str) -> Option<u32> {
    groups.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        let matches = fields.next() == Some(name.as_bytes());
        let gid = fields.nth(1)?;
        matches.then(|| std::str::from_utf8(gid).ok()?.parse().ok()).flatten()
    })
}

/// Checks that counter paths can contain the names. Names may be empty, since a manifest may supply them.
fn check_names(description: &CounterSetInfo) -> Result<(), PublishError> {
    let error = |what: &str, name: &str, reason| {
        PublishError::Name(format!("the name of {what}, '{}', {reason}", name.escape_debug()))
    };
    if !description.name.is_empty()
        && let Some(reason) = fault_of_set_name(&description.name)
    {
        return Err(error("the counter set", &description.name, reason));
    }
    for counter in &description.counters {
        let is_named = !counter.attributes.has(Attributes::NO_DISPLAYABLE) && !counter.name.is_empty();
        if is_named && let Some(reason) = fault_of_counter_name(&counter.name) {
            return Err(error("the counter", &counter.name, reason));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_by_their_whole_name() {
        let groups = b"root:x:0:\ntach:x:5:\ntacho:x:990:anna,ben\nbroken:x\nbad:x:many:\n";
        assert_eq!(find_gid(groups, "tacho"), Some(990));
        assert_eq!(find_gid(groups, "root"), Some(0));
        assert_eq!(find_gid(groups, "broken"), None);
        assert_eq!(find_gid(groups, "bad"), None);
        assert_eq!(find_gid(groups, "tac"), None);
        assert_eq!(find_gid(b"", "tacho"), None);
    }
}

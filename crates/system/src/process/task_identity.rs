//! The list of known tasks, and their names and identities.

use std::borrow::Cow;
use std::sync::Arc;

use tachograph_perflib::InstanceKey;

/// Adds and removes tasks so that `known` has exactly the tasks with the ids in `listed`. Both lists are sorted by id; if they
/// match, nothing is moved. `spare` provides memory for the new list.
pub(super) fn update_tasks<T>(
    known: &mut Vec<T>,
    spare: &mut Vec<T>,
    listed: &[u32],
    id_of: impl Fn(&T) -> u32,
    mut new: impl FnMut(u32) -> T,
) {
    if known.len() == listed.len() && known.iter().zip(listed).all(|(task, &id)| id_of(task) == id) {
        return;
    }
    spare.clear();
    let mut old = known.drain(..).peekable();
    for &id in listed {
        while old.next_if(|task| id_of(task) < id).is_some() {}
        spare.push(old.next_if(|task| id_of(task) == id).unwrap_or_else(|| new(id)));
    }
    drop(old);
    std::mem::swap(known, spare);
}

/// Adds the ids of known threads to a list from the kernel, sorts the list, and removes duplicates. The kernel can omit a living
/// thread when another one ends in the meantime; if the thread were dropped, its earlier values would be counted again.
/// Conversely, the kernel can list a thread twice.
pub(super) fn add_known(listed: &mut Vec<u32>, known: impl Iterator<Item = u32>) {
    listed.extend(known);
    if !listed.is_sorted() {
        listed.sort_unstable();
    }
    listed.dedup();
}

/// The name and instance of a task. Ids are reused, and a task can change its name.
#[derive(Debug, Default)]
pub(super) struct TaskIdentity {
    /// The kernel's name.
    name: Box<[u8]>,
    /// `None` before the first read of the task.
    key: Option<Arc<InstanceKey>>,
}

impl TaskIdentity {
    /// Whether the task has this name and identity.
    #[inline]
    pub(super) fn matches(&self, name: &[u8], identity: u64) -> bool {
        self.has_identity(identity) && *self.name == *name
    }

    /// Whether the task has this identity.
    pub(super) fn has_identity(&self, identity: u64) -> bool {
        self.key.as_ref().is_some_and(|key| key.identity() == identity)
    }

    /// The instance; `None` before the first read.
    #[inline]
    pub(super) fn key(&self) -> Option<&Arc<InstanceKey>> {
        self.key.as_ref()
    }

    /// Sets name and instance.
    pub(super) fn set(&mut self, name: &[u8], key: InstanceKey) {
        self.name = name.into();
        self.key = Some(Arc::new(key));
    }

    /// The kernel's name.
    pub(super) fn name(&self) -> &[u8] {
        &self.name
    }
}

/// Converts a name, which can contain any bytes, to one for display.
pub(super) fn readable(name: &[u8]) -> Cow<'_, str> {
    if name.is_empty() {
        return "unnamed".into();
    }
    let text = String::from_utf8_lossy(name);
    if text.contains(char::is_control) {
        return text.replace(char::is_control, "\u{fffd}").into();
    }
    text
}

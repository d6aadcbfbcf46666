//! The published sets of a registry.

use std::sync::Arc;

use super::Registry;
use crate::host::Host;
use crate::published::group::MemberGroup;
use crate::published::notice::{Notice, Publisher, publishers_of};
use crate::registration::CounterSetInfo;
use crate::{ErrorCode, Guid, Provider};

impl Registry {
    pub(crate) fn register_published(
        &mut self,
        set: Box<dyn Provider>,
        group: Arc<MemberGroup>,
    ) -> Result<(), ErrorCode> {
        let info = Arc::clone(set.info());
        self.add(info, Host::Inline(set), Some(group))
    }

    /// Adds the published set with exactly this description and group from another registry, sharing its provider.
    /// Returns whether the other registry has it.
    pub(crate) fn share_published_from(
        &mut self,
        other: &Self,
        info: &CounterSetInfo,
        group: &Arc<MemberGroup>,
    ) -> bool {
        let has_group = |known: &Arc<MemberGroup>| Arc::ptr_eq(known, group);
        self.share_entry(other, |entry| {
            *entry.info == *info && entry.published.as_ref().is_some_and(has_group)
        })
    }

    /// A registry that shares the sets of this registry, except for the published sets.
    #[must_use]
    pub fn without_published(&self) -> Self {
        Self {
            machine: Arc::clone(&self.machine),
            clock: self.clock.clone(),
            entries: self.entries.iter().filter(|entry| entry.published.is_none()).cloned().collect(),
            notices: Vec::new(),
            connector: self.connector.clone(),
        }
    }

    /// The machine's own sets, which applications do not publish.
    pub(crate) fn machine_sets(&self) -> impl Iterator<Item = &Arc<CounterSetInfo>> {
        self.entries.iter().filter(|entry| entry.published.is_none()).map(|entry| &entry.info)
    }

    /// Whether a set is published by applications, or belongs to a registered manifest.
    pub fn is_published(&self, set: Guid) -> bool {
        self.entry(set).is_ok_and(|entry| entry.published.is_some())
    }

    /// The processes that currently publish a set, ordered by start time; empty if the set is not published.
    pub fn publishers(&self, set: Guid) -> Vec<Publisher> {
        let group = self.entry(set).ok().and_then(|entry| entry.published.as_ref());
        group.map_or_else(Vec::new, |group| publishers_of(group))
    }

    /// Published sets and files that cannot be read or shown.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Adds a notice.
    pub fn add_notice(&mut self, notice: Notice) {
        self.notices.push(notice);
    }
}

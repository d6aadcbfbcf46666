//! The provider of one counter set of another machine.

use std::sync::Arc;
use std::time::Instant;

use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{CollectionId, Failure, InstanceFilter, Provider, Rows, SetSelection};

use super::Link;
use crate::frame::FillBuffers;
use crate::limits::MAX_FILTERS_PER_SELECTION;

/// A counter set of another machine. All providers of a collection share one exchange with the agent.
pub(super) struct RemoteSet {
    info: Arc<CounterSetInfo>,
    link: Arc<Link>,
    /// The selections of the queries that use the set, the most recently used one last.
    selections: Vec<Arc<SetSelection>>,
    buffers: FillBuffers,
}

/// Maximum number of selections that are remembered.
const MAX_REMEMBERED_SELECTIONS: usize = 16;

impl RemoteSet {
    pub(super) fn new(info: Arc<CounterSetInfo>, link: Arc<Link>) -> Self {
        Self { info, link, selections: Vec::new(), buffers: FillBuffers::default() }
    }

    /// The selection for these rows: the same object as in earlier collections, so that the link finds the query.
    fn selection_for(&mut self, rows: &Rows) -> Arc<SetSelection> {
        if let Some(known) = self.known_selection(rows) {
            return known;
        }
        let mut counter_ids: Vec<u32> = rows.selected_ids().collect();
        for column in 0..rows.width() {
            // A companion that is never displayed has no column, but its value is needed.
            for companion in rows.counter(column).companions() {
                if !counter_ids.contains(&companion) {
                    counter_ids.push(companion);
                }
            }
        }
        let instances = match rows.filters().len() > MAX_FILTERS_PER_SELECTION {
            true => vec![InstanceFilter::all()],
            false => rows.filters().to_vec(),
        };
        let new = SetSelection { set: self.info.guid, counter_ids, instances };
        let new = Arc::new(new);
        if self.selections.len() >= MAX_REMEMBERED_SELECTIONS {
            self.selections.remove(0);
        }
        self.selections.push(Arc::clone(&new));
        new
    }

    /// The remembered selection for these rows, which becomes the most recently used one.
    fn known_selection(&mut self, rows: &Rows) -> Option<Arc<SetSelection>> {
        let is_same = |known: &Arc<SetSelection>| {
            rows.width() <= known.counter_ids.len()
                && rows.selected_ids().eq(known.counter_ids.iter().copied().take(rows.width()))
                && match rows.filters().len() > MAX_FILTERS_PER_SELECTION {
                    // The agent sends all instances, and this side filters them.
                    true => known.instances == [InstanceFilter::all()],
                    false => rows.filters() == known.instances,
                }
        };
        let index = self.selections.iter().position(is_same)?;
        let known = self.selections.remove(index);
        self.selections.push(Arc::clone(&known));
        Some(known)
    }
}

impl Provider for RemoteSet {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn request(&mut self, rows: &Rows, collection: CollectionId) {
        match rows.width() {
            0 => self.link.add_instance_list(collection, self.info.guid),
            _ => {
                let selection = self.selection_for(rows);
                self.link.add_selection(collection, &selection);
            }
        }
    }

    fn prepare(&mut self, _: &Rows, collection: CollectionId, until: Instant) {
        self.link.prepare(collection, until);
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        if rows.width() == 0 {
            let instances = self.link.instances(rows.timestamps(), self.info.guid)?;
            for instance in instances {
                if !self.info.has_instances() || rows.wants_instance(instance.full_name(), instance.id()) {
                    rows.push(&instance);
                }
            }
            return Ok(());
        }
        let selection = self.selection_for(rows);
        let link = Arc::clone(&self.link);
        let buffers = &mut self.buffers;
        link.with_values(rows.timestamps(), &selection, |frame, result| {
            frame.fill_with(result, &selection, buffers, rows)
        })
    }
}

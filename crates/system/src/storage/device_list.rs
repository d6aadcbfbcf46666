//! The block devices that a set shows, listed again when devices are added or removed.

use tachograph_perflib::{Failure, SharedReading, Timestamps};

use super::diskstats::{Device, Diskstats};

/// A list with an item per block device of a set.
pub(super) struct DeviceList<T> {
    stats: SharedReading<Diskstats>,
    pub(super) items: Vec<T>,
    /// [`Diskstats::changes`] when the items were listed.
    listed_at: Option<u64>,
}

impl<T> DeviceList<T> {
    pub(super) fn new(stats: SharedReading<Diskstats>) -> Self {
        Self { stats, items: Vec::new(), listed_at: None }
    }

    /// If the devices have changed, lists them again; `item` returns the item of a device, or `None` if the set does not have it.
    pub(super) fn update(
        &mut self,
        at: Timestamps,
        item: impl FnMut(&Device) -> Option<T>,
    ) -> Result<(), Failure> {
        let Self { stats, items, listed_at } = self;
        stats.at(at, |stats| {
            if *listed_at != Some(stats.device_changes) {
                *listed_at = Some(stats.device_changes);
                items.clear();
                items.extend(stats.devices.iter().filter_map(item));
            }
        })
    }

    /// Drops all items until the next update.
    pub(super) fn clear(&mut self) {
        (self.items, self.listed_at) = (Vec::new(), None);
    }
}

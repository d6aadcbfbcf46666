//! The block devices that a set shows, listed again when devices are added or removed.

use tachograph_perflib::{Failure, SharedReading, Timestamps};

use super::diskstats::{Device, Diskstats};

/// Something per block device.
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

    /// Lists the items again if the devices have changed.
    pub(super) fn update(
        &mut self,
        at: Timestamps,
        item: impl FnMut(&Device) -> Option<T>,
    ) -> Result<(), Failure> {
        let Self { stats, items, listed_at } = self;
        stats.at(at, |stats| {
            if *listed_at != Some(stats.changes) {
                *listed_at = Some(stats.changes);
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
